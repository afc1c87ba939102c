"""Sees raw values and reports, for evaluation only. Errors of one-attribute counts once shuffled.

Sum over all cells of all attributes of the squared error of a frequency (SSE), over the central
epsilon, delta = 1 / people: `predicted` from the variances at the true frequencies, for these
people and no others (the n f (1 - f) of drawing people, which the error bars of the product hold
besides, is left out), and `measured` from whole runs: every person's report is drawn, counted
and estimated from.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from benchmarks.figures import Cases, Figure, Measured, Row, Verdict, data
from ldpsql.boxes import Box, LinearQuery
from ldpsql.decoders.base import Codes
from ldpsql.decoders.linear import EvenSource, LinearEstimator
from ldpsql.decoders.marginals import CollectedMarginals
from ldpsql.plots import Curve, Panel, draw_figure
from ldpsql.recipes.marginal_designs import ArrDesign
from ldpsql.recipes.registry import mechanism
from ldpsql.record_domain import RecordDomain
from ldpsql.report import question_shares
from ldpsql.simulation import SeededEntropy, histogram_of
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.guarantee import Central

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

CLICKS = {name: tuple(f"top{i}" for i in range(8)) for name in ("kosarak_head", "bms_webview2")}
TABLES: Mapping[str, tuple[str, ...]] = {
    **CLICKS,
    "bank_marketing": (
        *("job", "marital", "education", "has_default", "housing", "loan", "contact", "month"),
        *("poutcome", "subscribed"),
    ),
    "adult": (
        *("workclass", "education", "marital_status", "occupation", "relationship", "race"),
        *("sex", "native_country", "income"),
    ),
    "acs_income_2018": (
        *("state", "sex", "race5", "married", "schooling", "class_worker", "relationship"),
        "income_gt_50k",
    ),
}
STAND_IN = {"bank_marketing": 12, "adult": 41, "acs_income_2018": 51}
LARGEST_TABLE = 200_000
TIE = 1e-6
"""Two mechanisms may have the same channel; their predictions then differ by rounding only."""
BEST = "SRR-SS"


@dataclass(frozen=True)
class Contestant:
    """A mechanism and its calibration; `is_local` for one that gets no more than the central
    epsilon, without a shuffler."""

    mechanism: str
    options: tuple[tuple[str, Any], ...] = ()
    is_local: bool = False


PUBLISHED = (("calibration", "published"),)
CONTESTANTS = {
    BEST: Contestant("srr-ss"),
    "PSRR-SS": Contestant("psrr-ss"),
    "ARR-SS": Contestant("arr-ss"),
    "ARR-SS, sum to one": Contestant("arr-ss", (("sum_to_one", True),)),
    "SRR-MS": Contestant("srr-ms"),
    "SUE-MS": Contestant("sue-ms"),
    "SOLH": Contestant("solh"),
    "PSRR-SS, published": Contestant("psrr-ss", PUBLISHED),
    "SRR-MS, published": Contestant("srr-ms", PUBLISHED),
    "ARR-SS, published": Contestant("arr-ss", PUBLISHED),
    "OUE, local": Contestant("oue-ms", is_local=True),
}


@dataclass(frozen=True)
class People:
    """Codes (n, d), their domain, and true frequencies attribute by attribute."""

    codes: Codes
    domain: RecordDomain
    line: str

    @property
    def frequencies(self) -> list[np.ndarray]:
        """Of the codes of each attribute."""
        columns = zip(self.codes.T, self.domain.sizes, strict=True)
        return [np.bincount(c, minlength=size) / len(c) for c, size in columns]


def people_of(name: str) -> People:
    """The table as codes; every k-th person where there are too many."""
    columns = TABLES[name]
    table, line = data.people(name, columns, lambda: _stand_in(name))
    step = table.num_rows // LARGEST_TABLE
    if step > 1:
        table = table.take(np.arange(0, table.num_rows, step)).slice(0, LARGEST_TABLE)
        line += f", of whom {table.num_rows:,}"
    codes = []
    for column in columns:
        kinds, own = np.unique(np.array(table.column(column).to_pylist(), str), return_inverse=True)
        codes.append((own, len(kinds)))
    domain = RecordDomain(columns, tuple(size for _, size in codes), (), (), ())
    return People(np.stack([own for own, _ in codes], axis=1).astype(np.int64), domain, line)


def _stand_in(name: str) -> pa.Table:
    random = np.random.default_rng(1)
    size = STAND_IN.get(name, 2)
    columns = TABLES[name]
    sizes = [max(2, round(size ** (1.0 - i / len(columns)))) for i in range(len(columns))]
    return pa.table(
        {
            column: np.minimum(random.geometric(0.5, 40_000) - 1, own - 1)
            for column, own in zip(columns, sizes, strict=True)
        }
    )


def every_cell(design: CollectedMarginals) -> list[Any]:
    """Planned counts of all cells of all attributes."""
    count = len(design.domain.sizes)
    sides = (
        ((axis, code), [None] * count)
        for axis, size in enumerate(design.domain.sizes)
        for code in range(size)
    )
    planned = []
    for (axis, code), free in sides:
        free[axis] = ((code, code + 1),)
        planned.append(design.prepare(LinearQuery.count(Box(tuple(free)))))
    return planned


def predicted(design: CollectedMarginals, people: People) -> float:
    """The expected SSE for these people."""
    n, shares = len(people.codes), people.frequencies
    if isinstance(design, ArrDesign):
        whole = np.concatenate([share / len(shares) for share in shares])
        shares_at = [whole]
    else:
        shares_at = shares
    sizes = question_shares(design.plan) * n
    source = EvenSource(n, sizes, design.answers, lambda group, nodes: shares_at[group][nodes])
    estimator = LinearEstimator(source)
    total = sum(float(estimator.answer([query]).covariance[0, 0]) for query in every_cell(design))
    drawing = sum(float((share * (1.0 - share)).sum()) for share in shares)
    return total / n**2 - drawing / n


def measured(design: CollectedMarginals, people: People, seeds: Sequence[int]) -> float:
    """The mean SSE of runs with these seeds, each with a report of everybody."""
    truth, planned = np.concatenate(people.frequencies), every_cell(design)
    found = []
    for seed in seeds:
        reports = design.randomize(people.codes, SeededEntropy(seed))
        answer = design.estimator(histogram_of(reports)).answer(planned)
        found.append(float(((answer.values / len(people.codes) - truth) ** 2).sum()))
    return float(np.mean(found))


def _design(contestant: Contestant, people: People, epsilon: str) -> CollectedMarginals:
    maker, options = mechanism(contestant.mechanism), dict(contestant.options)
    n, budget = len(people.codes), Epsilon.parse(epsilon)
    if contestant.is_local:
        return maker.design(people.domain, budget, options)
    return maker.design(people.domain, Central(budget, Fraction(1, n), n), options)


def _rows(name: str, label: str, epsilon: str, runs: int) -> list[Row]:
    people = people_of(name)
    row: Row = {
        "data": name,
        "people": len(people.codes),
        "attributes": len(people.domain.sizes),
        "cells": sum(people.domain.sizes),
        "epsilon": float(epsilon),
        "mechanism": label,
        "local_epsilon": float("nan"),
        "predicted": float("nan"),
        "measured": float("nan"),
        "runs": runs,
    }
    try:
        design = _design(CONTESTANTS[label], people, epsilon)
    except SurveyError:  # a published budget below the least that a survey may have
        return [row]
    row["local_epsilon"] = float(design.epsilon)
    row["predicted"] = predicted(design, people)
    first = zlib.crc32(f"{name} {label} {epsilon}".encode())
    row["measured"] = measured(design, people, range(first, first + runs))
    return [row]


def measure(
    cases: Cases, tables: Sequence[str], epsilons: Sequence[str], runs: int, without: Sequence[str]
) -> Measured:
    """SSE of every contestant on every table."""
    rows = []
    for name in tables:
        for epsilon in epsilons:
            for label in CONTESTANTS:
                if label not in without:
                    key = {"table": name, "epsilon": epsilon, "label": label, "runs": runs}
                    rows += cases.rows(key, lambda a=name, b=label, c=epsilon: _rows(a, b, c, runs))
    return Measured(rows, "; ".join(people_of(name).line for name in tables))


def draw(found: Measured) -> Drawing:
    """A panel per table, with the measured errors."""
    panels = []
    for name in found.values("data"):
        curves = []
        for label in found.values("mechanism"):
            rows = found.where(data=name, mechanism=label)
            x = [row["epsilon"] for row in rows]
            curves.append(Curve(label, x, [row["measured"] for row in rows]))
        panels.append(
            Panel(name, "central epsilon", "sum of squared errors", tuple(curves), log_y=True)
        )
    return draw_figure("Counts of one attribute, shuffled", panels, note=found.data)


def judge(found: Measured) -> list[Verdict]:
    """Whether SRR-SS is the most accurate, and whether predictions are right."""
    worse, off = [], []
    for row in found.rows:
        best = found.where(data=row["data"], epsilon=row["epsilon"], mechanism=BEST)[0]
        if row["predicted"] < best["predicted"] * (1.0 - TIE):
            worse.append((row["predicted"] / best["predicted"], row))
        if row["predicted"] == row["predicted"]:
            off.append(abs(row["measured"] / row["predicted"] - 1.0))
    names = "; ".join(
        f"{row['mechanism']} on {row['data']} at {row['epsilon']}: {ratio:.3f} of its error"
        for ratio, row in sorted(worse, key=lambda pair: pair[0])[:3]
    )
    return [
        Verdict(
            "SRR-SS is at least as accurate as every other at every central epsilon",
            not worse,
            names or f"{len(found.rows)} cases",
        ),
        Verdict(
            "errors are those predicted",
            max(off) < 1.0,
            f"measured and predicted SSE differ by {np.median(off):.1%} in the median, "
            f"{max(off):.0%} at most, in {found.rows[0]['runs']} runs",
        ),
    ]


_EPSILONS = ("0.2", "0.4", "0.6", "0.8", "1")
_SLOW = ("SOLH", "SUE-MS")
FIGURES = tuple(
    Figure(
        name=name,
        source=source,
        measure=measure,
        draw=draw,
        judge=judge,
        quick={"tables": tables[:1], "epsilons": ("0.2", "1"), "runs": 3, "without": _SLOW},
        full={"tables": tables, "epsilons": _EPSILONS, "runs": 10, "without": ()},
    )
    for name, source, tables in (
        ("shuffle-figure-4", "Liu, Wang, Wang 2022, Figure 4 (binary attributes)", tuple(CLICKS)),
        (
            "shuffle-figure-5",
            "Liu, Wang, Wang 2022, Figure 5 (categorical attributes)",
            ("bank_marketing", "adult", "acs_income_2018"),
        ),
    )
)
