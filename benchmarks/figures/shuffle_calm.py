"""Sees raw values and reports, for evaluation only. Marginals of several attributes, shuffled.

Mean squared error of the share of people in a cell, over all cells of all marginals of two and of
three of the eight binary attributes of a table, delta = 1 / people. CALM collects marginals that
hold every pair, as wide as has the least expected error, makes them consistent and non-negative,
and fits triples that none holds by maximum entropy. Beside it: all pairs, and FT (parities of up to
two), unbiased and with triples by maximum entropy, and collected triples.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.figures import Cases, Figure, Measured, Row, Verdict
from benchmarks.figures.curves import sampled
from benchmarks.figures.shuffle_marginals import CLICKS, People, people_of
from benchmarks.figures.verdicts import Value, in_every_case, is_above, tally
from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.mechanisms.registry import mechanism
from ldpsql.terminal.figures import Panel, draw_figure
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.shuffled import Central
from ldpsql_lab.simulation import SeededEntropy, histogram_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


@dataclass(frozen=True)
class Contestant:
    """A mechanism with options; ways: up to how many attributes are collected together.

    is_calm: whether answers are of marginals made consistent and non-negative.
    """

    mechanism: str
    options: tuple[tuple[str, int], ...]
    ways: int
    is_calm: bool = False

    def estimator(self, attributes: int) -> str:
        """Which answers a question on so many attributes."""
        if self.is_calm:
            return "calm"
        return "unbiased" if attributes <= self.ways else "maxent"


PAIRS, COVERED = (("ways", 2),), (("ways", 0), ("cover", 2))
CALM = "CALM with {}"
PSRR, BEST = CALM.format("PSRR-SS"), CALM.format("SRR-SS")
CALMS = {
    CALM.format(name.upper()): Contestant(name, COVERED, 2, is_calm=True)
    for name in ("srr-ms", "arr-ss", "psrr-ss", "srr-ss")
}
CONTESTANTS = {
    **CALMS,
    "all pairs by SRR-SS": Contestant("srr-ss", PAIRS, 2),
    "all triples by SRR-SS": Contestant("srr-ss", (("ways", 3),), 3),
    "FT: parities of up to two": Contestant("ft", PAIRS, 2),
    "FT: parities of up to three": Contestant("ft", (("ways", 3),), 3),
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
    people, contestant = people_of(name), CONTESTANTS[label]
    n = len(people.codes)
    central = Central(Epsilon.parse(epsilon), Fraction(1, n), n)
    maker = mechanism(contestant.mechanism)
    design = maker.design(people.domain, central, dict(contestant.options))
    first = zlib.crc32(f"{name} {label} {epsilon}".encode())
    asked = {}
    for k in (2, 3):
        queries, truths = cells(people, k)
        asked[k] = [design.prepare(query) for query in queries], truths
    errors: dict[int, list[float]] = {2: [], 3: []}
    for seed in range(first, first + runs):
        histogram = histogram_of(design.randomize(people.codes, SeededEntropy(seed)))
        for k, (queries, truths) in asked.items():
            estimator = design.estimators[contestant.estimator(k)](histogram)
            found = estimator.values(queries)
            errors[k].append(float(((found / n - truths) ** 2).mean()))
    return [
        {
            "data": name,
            "people": n,
            "epsilon": float(epsilon),
            "mechanism": label,
            "local_epsilon": float(design.epsilon),
            "attributes": k,
            "estimator": contestant.estimator(k),
            "marginals": len(design.marginals),
            "width": max(map(len, design.marginals)),
            "mse": (found := Value.over(errors[k])).mean,
            "stderr": found.stderr,
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
                curves.append(sampled(label, rows, "epsilon", _value))
            title = f"{name}, {k} attributes"
            panels.append(
                Panel(title, "central epsilon", "mean squared error", tuple(curves), log_y=True)
            )
    return draw_figure(
        "Marginals of several attributes, shuffled", panels, note=found.data, columns=2
    )


def _value(row: Row) -> Value:
    return Value.of(row, "mse")


def judge(found: Measured) -> list[Verdict]:
    """Whether fitting triples to pairs beats collecting them."""
    others = [CALM.format(name) for name in ("SRR-MS", "ARR-SS")]
    return [
        _closer(found, "all pairs by SRR-SS", ["all triples by SRR-SS"], "collected ones"),
        _closer(found, PSRR, [name for name in CONTESTANTS if name.startswith("FT")], "from FT"),
        _closer(found, PSRR, others, "from CALM with SRR-MS and ARR-SS"),
        _closer(
            found,
            BEST,
            ["all pairs by SRR-SS"],
            "(ours) from maximum entropy over all pairs",
        ),
    ]


def _closer(found: Measured, one: str, others: Sequence[str], words: str) -> Verdict:
    """The squared error of triples is less than by others, wherever both were asked."""
    votes, ratios = [], []
    rows = found.where(mechanism=one, attributes=3)
    for row in rows:
        for other in others:
            same = {"data": row["data"], "epsilon": row["epsilon"], "attributes": 3}
            (beside,) = found.where(mechanism=other, **same)
            values = _value(beside), _value(row)
            votes.append(is_above(*values, cases=len(rows) * len(others)))
            ratios.append(row["mse"] / beside["mse"])
    ours, theirs = ("(ours) ", words.removeprefix("(ours) ")) if "(ours)" in words else ("", words)
    between = f"squared error {min(ratios):.2f} to {max(ratios):.2f} times theirs"
    return Verdict(
        f"{ours}triples from {one} are closer to the truth than {theirs}",
        in_every_case(votes),
        f"{tally(votes)}; {between}",
    )


_EPSILONS = ("0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1")
FIGURES = (
    Figure(
        name="shuffle-figure-5",
        source="Liu, Wang, Wang 2022, Figure 5 (marginals of three attributes, CALM and FT)",
        measure=measure,
        draw=draw,
        judge=judge,
        quick={"tables": ("kosarak_head",), "epsilons": ("0.2", "1"), "runs": 4},
        full={"tables": tuple(CLICKS), "epsilons": _EPSILONS, "runs": 20},
    ),
)
