"""Sees raw values and reports, for evaluation only. Marginals of several attributes, shuffled.

Mean squared error of the share of people in a cell, over all cells of all marginals of two and of
three of the eight binary attributes of a table, delta = 1 / people. CALM (SRR-SS over pairs) and FT
(parities of up to two) answer pairs unbiased, and triples by maximum entropy; collected triples
answer both without.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.figures import Cases, Figure, Measured, Row, Verdict
from benchmarks.figures.shuffle_marginals import CLICKS, People, people_of
from ldpsql.boxes import Box, LinearQuery
from ldpsql.plots import Curve, Panel, draw_figure
from ldpsql.recipes.registry import mechanism
from ldpsql.simulation import SeededEntropy, histogram_of
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.guarantee import Central

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

CONTESTANTS = {
    "CALM: SRR-SS over pairs": ("srr-ss", 2),
    "CALM: ARR-SS over pairs": ("arr-ss", 2),
    "SRR-SS over triples": ("srr-ss", 3),
    "FT: parities of up to two": ("ft", 2),
    "FT: parities of up to three": ("ft", 3),
}


def cells(people: People, ways: int) -> tuple[list[LinearQuery], np.ndarray]:
    """Every cell of every marginal of so many attributes, and its true share."""
    queries, truths = [], []
    count = len(people.domain.sizes)
    for axes in combinations(range(count), ways):
        for values in product((0, 1), repeat=ways):
            chosen = dict(zip(axes, values, strict=True))
            sides = (((chosen[i], chosen[i] + 1),) if i in chosen else None for i in range(count))
            queries.append(LinearQuery.count(Box(tuple(sides))))
            truths.append((people.codes[:, axes] == values).all(axis=1).mean())
    return queries, np.array(truths)


def _rows(name: str, label: str, epsilon: str, runs: int) -> list[Row]:
    people, (maker, ways) = people_of(name), CONTESTANTS[label]
    n = len(people.codes)
    central = Central(Epsilon.parse(epsilon), Fraction(1, n), n)
    design = mechanism(maker).design(people.domain, central, {"ways": ways})
    first = zlib.crc32(f"{name} {label} {epsilon}".encode())
    asked = {k: cells(people, k) for k in (2, 3)}
    errors: dict[int, list[float]] = {2: [], 3: []}
    for seed in range(first, first + runs):
        histogram = histogram_of(design.randomize(people.codes, SeededEntropy(seed)))
        for k, (queries, truths) in asked.items():
            estimator = design.estimators["unbiased" if k <= ways else "maxent"](histogram)
            found = estimator.answer([design.prepare(query) for query in queries]).values
            errors[k].append(float(((found / n - truths) ** 2).mean()))
    return [
        {
            "data": name,
            "people": n,
            "epsilon": float(epsilon),
            "mechanism": label,
            "local_epsilon": float(design.epsilon),
            "attributes": k,
            "estimator": "unbiased" if k <= ways else "maxent",
            "mse": float(np.mean(errors[k])),
            "runs": runs,
        }
        for k in (2, 3)
    ]


def measure(cases: Cases, tables: Sequence[str], epsilons: Sequence[str], runs: int) -> Measured:
    """Mean squared errors of every contestant on every table."""
    rows = []
    for name in tables:
        for epsilon in epsilons:
            for label in CONTESTANTS:
                key = {"table": name, "epsilon": epsilon, "label": label, "runs": runs}
                rows += cases.rows(key, lambda a=name, b=label, c=epsilon: _rows(a, b, c, runs))
    return Measured(rows, "; ".join(people_of(name).line for name in tables))


def draw(found: Measured) -> Drawing:
    """A panel per table and number of attributes."""
    panels = []
    for name in found.values("data"):
        for k in found.values("attributes"):
            curves = []
            for label in found.values("mechanism"):
                rows = found.where(data=name, mechanism=label, attributes=k)
                x = [row["epsilon"] for row in rows]
                curves.append(Curve(label, x, [row["mse"] for row in rows]))
            title = f"{name}, {k} attributes"
            panels.append(
                Panel(title, "central epsilon", "mean squared error", tuple(curves), log_y=True)
            )
    return draw_figure(
        "Marginals of several attributes, shuffled", panels, note=found.data, columns=2
    )


def judge(found: Measured) -> list[Verdict]:
    """Whether fitting triples to pairs beats collecting them."""
    ratios = []
    for row in found.where(mechanism="CALM: SRR-SS over pairs", attributes=3):
        same = {"data": row["data"], "epsilon": row["epsilon"], "attributes": 3}
        (other,) = found.where(mechanism="SRR-SS over triples", **same)
        ratios.append(row["mse"] / other["mse"])
    return [
        Verdict(
            "triples fitted to collected pairs are closer than collected triples",
            max(ratios) < 1.0,
            f"squared error {min(ratios):.2f} to {max(ratios):.2f} of theirs",
        )
    ]


FIGURES = (
    Figure(
        name="shuffle-calm",
        source="Liu, Wang, Wang 2022, marginals of several attributes (CALM and FT)",
        measure=measure,
        draw=draw,
        judge=judge,
        quick={"tables": ("kosarak_head",), "epsilons": ("0.2", "1"), "runs": 1},
        full={"tables": tuple(CLICKS), "epsilons": ("0.2", "0.4", "0.6", "0.8", "1"), "runs": 10},
    ),
)
