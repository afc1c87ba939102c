"""A mechanism that offers a second estimator, whose answers can be worked out by hand.

Unbiased answers are exact, with variance 100 and no covariance. "smooth" ones are 10 % larger, with
three replicates: factor x value + shift.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from support.noise_free import BoxCounter, ExactBoxes, exact_survey, known
from support.surveys import ANYTHING

from ldpsql.algebra.boxes import LinearQuery
from ldpsql.algebra.estimate import Array, Estimates
from ldpsql.estimators.base import JointEstimator
from ldpsql.randomize.table import randomize_batch
from ldpsql.reports.report import Histogram
from ldpsql.store import open_store
from ldpsql.store.store import Store
from ldpsql.survey import Survey
from ldpsql_device.schema import Dimension, Measure, PublicColumn, Schema
from ldpsql_device.values import int_domain
from ldpsql_lab.simulation import SeededEntropy

__all__ = ["known"]
SCHEMA = Schema(
    (Dimension("age", int_domain(0, 9)),),
    (Measure("pay", (0.0, 10.0)),),
    (PublicColumn("shop", "text"),),
)
FACTORS = np.array([0.9, 1.0, 1.2])
SHIFTS = np.array([4.0, -6.0, 0.0])
GROWTH = 1.1
STDERR = 10.0


@dataclass(frozen=True)
class Plain(JointEstimator[LinearQuery]):
    """Exact answers that claim a variance."""

    counter: BoxCounter

    def answer(self, queries: Sequence[LinearQuery]) -> Estimates:
        values = self.counter.answer(queries).values
        return Estimates(values, STDERR**2 * np.eye(len(values)))

    def influence(self, queries: Sequence[LinearQuery], slopes: Array) -> Array:
        return self.counter.influence(queries, slopes)


@dataclass(frozen=True)
class Grown(JointEstimator[LinearQuery]):
    """What stands for smoothing."""

    plain: Plain

    def answer(self, queries: Sequence[LinearQuery]) -> Estimates:
        unbiased = self.plain.answer(queries)
        values = GROWTH * unbiased.values
        replicates = FACTORS[:, None] * values + SHIFTS[:, None]
        return replace(unbiased, values=values, replicates=replicates)

    def influence(self, queries: Sequence[LinearQuery], slopes: Array) -> Array:
        return self.plain.influence(queries, slopes)


@dataclass(frozen=True, eq=False)
class TwoEstimators(ExactBoxes):
    """The exact double with a choice."""

    def estimator(self, histogram: Histogram) -> Plain:  # type: ignore[override]
        return Plain(BoxCounter(self, histogram.load(0)))

    @property
    def estimators(self) -> Mapping[str, Any]:
        return {
            "unbiased": self.estimator,
            "smooth": lambda histogram: Grown(self.estimator(histogram)),
        }


def people(count: int = 300) -> pa.Table:
    """Made-up people."""
    random = np.random.default_rng(4)
    return pa.table(
        {
            "age": random.integers(0, 10, count),
            "pay": random.integers(0, 11, count).astype(float),
            "shop": np.array(["north", "south"])[random.integers(0, 2, count)],
        }
    )


def survey_of_two(estimator: str | None = None) -> Survey:
    """A survey whose design offers both estimators."""
    return replace(exact_survey("app", SCHEMA, people(), TwoEstimators), estimator=estimator)


def stored(survey: Survey, path: Any = None) -> Store:
    """A store with everybody's reports; inside `known`."""
    reports, _ = randomize_batch(survey, people(), SeededEntropy(1), policy=ANYTHING)
    store = open_store(path, read_only=False)
    store.ingest_table(reports, survey)
    return store
