"""Sees raw values and reports, for evaluation only. CALM over all attributes of Adult and of Bank.

CALM's marginals hold every pair; how many attributes each has is chosen by the expected error. For
cells of one, two and three attributes, drawn at random: the squared error of their shares of
people, unbiased from what was collected (with what the plan predicts at the true shares, for these
people and no others) and by CALM, which also fits triples, in the first `calm_runs` of the runs,
for it takes long. Source: docs/spec/shuffle.md#3.6.
"""

from __future__ import annotations

import functools
import math
import zlib
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.figures import Cases, Figure, Measured, Row, Verdict
from benchmarks.figures.curves import exact, sampled
from benchmarks.figures.shuffle_calm import CALM, COVERED
from benchmarks.figures.shuffle_marginals import SEED, WHOLE, People, people_of
from benchmarks.figures.verdicts import Value, in_every_case, is_above, is_near, tally
from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.estimators.linear import EvenSource, LinearEstimator
from ldpsql.marginals.decoder import CollectedMarginals
from ldpsql.marginals.designs import ArrDesign
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.report import question_shares
from ldpsql.terminal.figures import Panel, draw_figure
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.shuffled import Central
from ldpsql_lab.simulation import SeededEntropy, histogram_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

MECHANISMS = ("srr-ms", "arr-ss", "psrr-ss", "srr-ss")
NEAR = 0.25
"""The share within which a measured error is the predicted one."""
WAYS = (1, 2, 3)


def random_cells(people: People, ways: int, count: int) -> tuple[list[LinearQuery], np.ndarray]:
    """Cells of so many attributes, all attributes and codes alike, and their true shares."""
    random = np.random.default_rng([ways, count])
    sizes = people.domain.sizes
    queries, truths = [], []
    for _ in range(count):
        axes = random.choice(len(sizes), ways, replace=False)
        chosen = {int(axis): int(random.integers(sizes[axis])) for axis in axes}
        sides = (((chosen[i], chosen[i] + 1),) if i in chosen else None for i in range(len(sizes)))
        queries.append(LinearQuery.count(Box(tuple(sides))))
        inside = np.all([people.codes[:, axis] == code for axis, code in chosen.items()], axis=0)
        truths.append(inside.mean())
    return queries, np.array(truths)


def predicted(
    design: CollectedMarginals, people: People, queries: Sequence[LinearQuery], truths: np.ndarray
) -> float:
    """The mean expected squared error of shares, unbiased, for these people."""
    n, sizes = len(people.codes), people.domain.sizes
    shares = []
    for axes in design.marginals:
        own = tuple(sizes[axis] for axis in axes)
        cells = np.ravel_multi_index(tuple(people.codes[:, axis] for axis in axes), own)
        shares.append(np.bincount(cells, minlength=math.prod(own)) / n)
    if isinstance(design, ArrDesign):
        shares = [np.concatenate(shares) / len(shares)]
    groups = question_shares(design.plan) * n
    source = EvenSource(n, groups, design.answers, lambda group, nodes: shares[group][nodes])
    answers = LinearEstimator(source).answer_rows([[design.prepare(query)] for query in queries])
    variances = np.array([float(answer.covariance[0, 0]) for answer in answers])
    return float((variances / n**2 - truths * (1.0 - truths) / n).mean())


def measure(
    cases: Cases,
    *,
    tables: Sequence[str],
    mechanisms: Sequence[str],
    epsilons: Sequence[str],
    cells: int,
    runs: int,
    calm_runs: int,
    seed: int,
) -> Measured:
    """Squared errors of every mechanism on every table."""
    rows: list[Row] = []
    for table in tables:
        for epsilon in epsilons:
            for name in mechanisms:
                own = (table, name, epsilon, cells, runs, calm_runs, seed)
                names = ("table", "mechanism", "epsilon", "cells", "runs", "calm_runs", "seed")
                key = dict(zip(names, own, strict=True))
                rows += cases.rows(key, functools.partial(_rows, *own))
    lines = []
    for table in tables:
        people = people_of(table)
        sizes = people.domain.sizes
        lines.append(f"{people.line}, {len(sizes)} attributes of {min(sizes)} to {max(sizes)}")
    return Measured(rows, "; ".join(lines))


def _rows(
    table: str, name: str, epsilon: str, cells: int, runs: int, calm_runs: int, seed: int
) -> list[Row]:
    people = people_of(table)
    n = len(people.codes)
    central = Central(Epsilon.parse(epsilon), Fraction(1, n), n)
    design = mechanism(name).design(people.domain, central, dict(COVERED))
    asked = {ways: random_cells(people, ways, cells) for ways in WAYS}
    first = zlib.crc32(f"{seed} {table} {name} {epsilon}".encode())
    errors: dict[tuple[int, str], list[float]] = {}
    for run in range(runs):
        histogram = histogram_of(design.randomize(people.codes, SeededEntropy(first + run)))
        kinds = ("unbiased", "calm") if run < calm_runs else ("unbiased",)
        made = {kind: design.estimators[kind](histogram) for kind in kinds}
        for ways, (queries, truths) in asked.items():
            prepared = [design.prepare(query) for query in queries]
            for kind, estimator in made.items():
                if kind == "calm" or ways <= 2:
                    found = estimator.values(prepared) / n
                    squares = float(((found - truths) ** 2).mean())
                    errors.setdefault((ways, kind), []).append(squares)
    return [
        {
            "data": table.partition(",")[0],
            "people": n,
            "mechanism": name,
            "epsilon": float(epsilon),
            "local_epsilon": float(design.epsilon),
            "marginals": len(design.marginals),
            "width": max(map(len, design.marginals)),
            "attributes": ways,
            "estimator": kind,
            "predicted": predicted(design, people, *asked[ways]) if kind != "calm" else math.nan,
            "measured": (value := Value.over(found)).mean,
            "stderr": value.stderr,
            "runs": len(found),
        }
        for (ways, kind), found in errors.items()
    ]


def draw(found: Measured) -> Drawing:
    """Errors over the number of attributes, one panel per table and epsilon."""
    panels = []
    for table in found.values("data"):
        for epsilon in found.values("epsilon"):
            curves = []
            for name in found.values("mechanism"):
                same = {"data": table, "epsilon": epsilon, "mechanism": name}
                rows = found.where(**same, estimator="calm")
                curves.append(sampled(CALM.format(name.upper()), rows, "attributes", _value))
                rows = found.where(**same, estimator="unbiased")
                label = f"{name.upper()}, predicted before fitting"
                curves.append(exact(label, rows, "attributes", "predicted"))
            title = f"{table}, central epsilon {epsilon:g}"
            label = "mean squared error of a share"
            panels.append(Panel(title, "attributes of a cell", label, tuple(curves), log_y=True))
    return draw_figure("CALM over all attributes", panels, note=found.data, columns=2)


def _value(row: Row) -> Value:
    return Value.of(row, "measured")


def judge(found: Measured) -> list[Verdict]:
    """Predicted against measured, what CALM's steps give, and which mechanism is best."""
    plain = found.where(estimator="unbiased")
    near = [is_near(_value(row), Value(row["predicted"]), NEAR, len(plain)) for row in plain]
    ratios = [row["measured"] / row["predicted"] for row in plain]
    closer, gains = [], []
    for row in plain:
        same = {key: row[key] for key in ("data", "epsilon", "mechanism", "attributes")}
        (calm,) = found.where(**same, estimator="calm")
        closer.append(is_above(_value(row), _value(calm), cases=len(plain)))
        gains.append(calm["measured"] / row["measured"])
    best = []
    triples = {"attributes": 3, "estimator": "calm"}
    for row in found.where(mechanism="psrr-ss", **triples):
        for other in ("srr-ms", "arr-ss"):
            same = {"data": row["data"], "epsilon": row["epsilon"], "mechanism": other}
            best += [(theirs, row) for theirs in found.where(**same, **triples)]
    votes = [is_above(_value(theirs), _value(own), cases=len(best)) for theirs, own in best]
    between = [own["measured"] / theirs["measured"] for theirs, own in best]
    return [
        Verdict(
            f"(ours) unbiased errors of one and two attributes are as predicted, to within "
            f"{NEAR:.0%}",
            in_every_case(near),
            f"{tally(near)}; measured over predicted {min(ratios):.2f} to {max(ratios):.2f}",
        ),
        Verdict(
            "(ours) CALM's consistent, non-negative marginals are closer to the truth than "
            "unbiased ones",
            in_every_case(closer),
            f"{tally(closer)}; squared error {min(gains):.2f} to {max(gains):.2f} times theirs",
        ),
        Verdict(
            "triples from CALM with PSRR-SS are closer to the truth than from CALM with SRR-MS "
            "and ARR-SS",
            in_every_case(votes),
            f"{tally(votes)}; squared error {min(between):.2f} to {max(between):.2f} times theirs",
        ),
    ]


FIGURES = (
    Figure(
        name="shuffle-calm-whole",
        source="Liu, Wang, Wang 2022, Figure 5 with all attributes of Adult and Bank",
        measure=measure,
        draw=draw,
        judge=judge,
        quick={
            "tables": ("bank_marketing, all attributes",),
            "mechanisms": ("arr-ss", "psrr-ss"),
            "epsilons": ("1",),
            "cells": 100,
            "runs": 10,
            "calm_runs": 2,
            "seed": SEED,
        },
        full={
            "tables": tuple(WHOLE),
            "mechanisms": MECHANISMS,
            "epsilons": ("0.2", "0.6", "1"),
            "cells": 300,
            "runs": 40,
            "calm_runs": 20,
            "seed": SEED,
        },
    ),
)
