"""What a question is answered with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from ldpsql.engine.arithmetic import Interval
from ldpsql.estimate import CONFIDENCE, Array, Estimates
from ldpsql.survey import Survey
from ldpsql_device.errors import NotSupportedError
from ldpsql_device.guarantee import Guarantee

GUARANTEE_KEY = "ldpsql.guarantee"
"""Key of the metadata of an Arrow schema: what the people behind a table were promised."""


def no_estimates() -> Estimates:
    """For results whose columns are not estimates: refuses."""
    raise NotSupportedError(
        "this result has no estimates: only aggregates selected from a survey's table have a "
        "covariance, not what an outer query computes from them"
    )


@dataclass(frozen=True)
class Result:
    """One answer.

    table: the output, names may repeat.  intervals: for the index of every output column that is
    an estimate, its standard errors and interval ends, one per row.
    estimates: computes those of all estimate columns of all rows, (rows x columns,) row by row,
    with their covariance.  notes: what the reader should know.  surveys: those that were asked.
    reports: how many reports they hold.  explain: the plan, where it was asked for.
    typical: for the index of every output column that is a post-processed estimate, its typical
    errors, shape (rows,).  estimators, guarantees: which estimator answered, and what people were
    promised and got, survey by survey.  level: of the intervals.
    """

    table: pa.Table
    intervals: Mapping[int, Interval] = field(default_factory=dict)
    estimates: Callable[[], Estimates] = no_estimates
    notes: tuple[str, ...] = ()
    surveys: tuple[Survey, ...] = ()
    reports: int = 0
    explain: str | None = None
    typical: Mapping[int, Array] = field(default_factory=dict)
    estimators: tuple[str, ...] = ()
    guarantees: tuple[Guarantee, ...] = ()
    level: float = CONFIDENCE

    @property
    def columns(self) -> list[pa.Field]:
        """Names, which may repeat, and Arrow types of the output."""
        return list(self.table.schema)

    @property
    def promised(self) -> tuple[Guarantee, ...]:
        """`guarantees`, or what the surveys promise where nothing is known of their batches."""
        return self.guarantees or tuple(survey.guarantee for survey in self.surveys)
