"""Product form against listed plans: bytes, expected error, and coverage of intervals."""

from __future__ import annotations

import gzip
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import print_table
from ldpsql.algebra.boxes import Box, LinearQuery, Side
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import Kind, Workload
from ldpsql.designer.fairness import weigh_fairly
from ldpsql.estimators.base import make_estimator
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.recipe import mean_variance
from ldpsql.reports.report import Histogram
from ldpsql.survey import Survey
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.schema import Dimension, Measure, Schema
from ldpsql_device.values import int_domain
from ldpsql_lab.simulation import SeededEntropy

PEOPLE, SURVEYS, ASKED = 10_000, 200, 12


@dataclass(frozen=True)
class Case:
    """Dimensions of so many codes, some asked by equality only, and measures."""

    sizes: tuple[int, ...]
    measures: int
    epsilon: str
    equality: tuple[int, ...] = ()

    def __str__(self) -> str:
        sizes = [f"{m}=" if axis in self.equality else str(m) for axis, m in enumerate(self.sizes)]
        return f"{' x '.join(sizes)} | {self.measures} | {self.epsilon}"

    @cached_property
    def schema(self) -> Schema:
        """Whole numbers; texts of categories would be the same for both forms."""
        dimensions = (
            Dimension(f"d{axis}", int_domain(0, size - 1)) for axis, size in enumerate(self.sizes)
        )
        measures = (Measure(f"m{number}", (0.0, 1.0)) for number in range(self.measures))
        return Schema(tuple(dimensions), tuple(measures))

    def survey(self, form: str) -> Survey:
        """In one form, for the default workload of two predicates, weighed as `design` does."""
        kinds: dict[int, Kind] = dict.fromkeys(self.equality, "equality")
        everyday = Workload.everyday(RecordDomain.of(self.schema), kinds, 2)
        workload = weigh_fairly(everyday, Epsilon.parse(self.epsilon))
        return Survey.of("people", self.schema, self.epsilon, "fourier", {"form": form}, workload)

    def people(self, number: int, seed: int) -> NDArray[np.int64]:
        """Codes around the middle, and levels of measures that grow with the first of them."""
        random = np.random.default_rng(seed)
        codes = [
            random.normal(size / 2, size / 5, number).clip(0, size - 1).astype(np.int64)
            for size in self.sizes
        ]
        high = random.random(number) < 0.2 + 0.6 * codes[0] / self.sizes[0]
        return np.stack([*codes, *(high.astype(np.int64) for _ in range(self.measures))], axis=1)


CASES = (
    Case((74, 2), 1, "2", (1,)),
    Case((64, 64), 0, "1"),
    Case((64, 64), 0, "2"),
    Case((50, 100), 0, "1", (0,)),
    Case((400, 50), 0, "1", (0,)),
    Case((300, 24, 7, 60), 1, "2", (0,)),
    Case((24, 7, 265, 100), 0, "2"),
    Case((24, 7, 265, 100), 2, "1"),
    Case((24, 7, 265, 100), 2, "2"),
    Case((256, 100, 64, 32, 8, 5), 1, "1"),
)
COVERED = (Case((24, 50), 0, "0.5"), Case((24, 50), 1, "1"), Case((24, 7, 40), 1, "2"))


def run(cases: Sequence[Case] = CASES, covered: Sequence[Case] = COVERED) -> None:
    """Print all tables."""
    rows = []
    for case in cases:
        started = time.process_time()
        listed = case.survey("listed")
        between = time.process_time()
        product = case.survey("product")
        ended = time.process_time()
        ours, theirs = design_of(product), design_of(listed)
        error = math.sqrt(mean_variance(ours) / mean_variance(theirs))
        rows.append(
            (
                case,
                f"{compressed(listed) / 1e3:.1f}",
                f"{compressed(product) / 1e3:.1f}",
                f"{error:.4f}",
                theirs.plan.questions,
                ours.plan.questions,
                f"{between - started:.1f}",
                f"{ended - between:.1f}",
                choice(case.survey("auto")),
            )
        )
    print_table(
        "Surveys in product form",
        (
            "dimensions",
            "measures",
            "epsilon",
            "listed (kB)",
            "product form (kB)",
            "its error",
            "questions",
            "in product form",
            "design (CPU s)",
            "in product form",
            "taken",
        ),
        rows,
    )
    print()
    print_table(
        f"Coverage of 95 % intervals in product form, {SURVEYS} surveys of {PEOPLE} people",
        ("dimensions", "measures", "epsilon", "COUNT", "SUM"),
        ((case, *coverage(case, SURVEYS)) for case in covered),
    )


def design_of(survey: Survey) -> FourierDesign:
    """Of a survey of this mechanism."""
    assert isinstance(survey.design, FourierDesign)
    return survey.design


def choice(survey: Survey) -> str:
    """The form that a survey got by itself, and why."""
    design = design_of(survey)
    if design.table.products:
        return "product form"
    if design.forms is None:
        return "listed, as that is small"
    if design.forms.worst is None:
        return "listed, by the mean error"
    return f"listed: {design.forms.worst:.3f} for one class"


def compressed(survey: Survey) -> int:
    """Bytes of the survey file as devices fetch it, by gzip."""
    return len(gzip.compress(survey.device_text.encode(), 9))


def histogram_of(design: FourierDesign, codes: NDArray[np.int64], seed: int) -> Histogram:
    """One drawn report per row, counted."""
    columns = design.randomize(codes, SeededEntropy(seed)).columns.values()
    key = np.stack([column.astype(np.int64) for column in columns], axis=1)
    rows, counts = np.unique(key, axis=0, return_counts=True)
    return Histogram(design.plan.questions, (rows[:, 0], rows[:, 1]), counts)


def coverage(case: Case, surveys: int, width: float = 1.96) -> tuple[str, str]:
    """Share of intervals that hold the expected answers: people are drawn anew for each survey.

    width: half of an interval's, in standard errors.
    """
    design = design_of(case.survey("product"))
    random = np.random.default_rng(7)
    asked: list[LinearQuery] = []
    for _ in range(ASKED):
        chosen = random.choice(len(case.sizes), 2, replace=False)
        sides: list[Side] = [None] * len(case.sizes)
        for axis in chosen:
            low, high = sorted(random.integers(0, case.sizes[axis] + 1, 2).tolist())
            sides[axis] = ((min(low, case.sizes[axis] - 1), max(high, low + 1)),)
        asked.append(LinearQuery.count(Box(tuple(sides))))
        if case.measures:
            asked.append(LinearQuery.sum(0, Box(tuple(sides))))
    queries = list(map(design.prepare, asked))
    everybody = case.people(1_000_000, 3)
    expected = np.array([truth(query, everybody, len(case.sizes)) for query in asked])
    hits = np.zeros(len(asked))
    for seed in range(surveys):
        codes = everybody[np.random.default_rng(seed).integers(0, len(everybody), PEOPLE)]
        found = make_estimator(design, histogram_of(design, codes, 100 + seed)).answer(queries)
        errors = np.abs(found.values - expected * len(codes))
        hits += errors <= width * np.sqrt(np.diag(found.covariance))
    kinds = np.array([query.measure is None for query in asked])
    shares = [f"{hits[own].mean() / surveys:.4f}" if own.any() else "" for own in (kinds, ~kinds)]
    return shares[0], shares[1]


def truth(query: LinearQuery, codes: NDArray[np.int64], dimensions: int) -> float:
    """Mean of a query over people."""
    ((_, box),) = query.terms
    inside = np.ones(len(codes), dtype=bool)
    for axis, side in enumerate(box.sides):
        if side is not None:
            ((low, high),) = side
            inside &= (codes[:, axis] >= low) & (codes[:, axis] < high)
    values: Any = 1.0 if query.measure is None else codes[:, dimensions + query.measure]
    return float((inside * values).mean())
