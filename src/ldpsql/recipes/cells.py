"""What all designs share that answer from a table of cells."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpsql.boxes import LinearQuery
from ldpsql.decoders.base import Design, Estimators
from ldpsql.decoders.cells import (
    CellSum,
    Channel,
    GivenTable,
    MatrixChannel,
    ReportedTable,
    TableEstimator,
    describe_cells,
    plan_cells,
    shape_of,
)
from ldpsql.estimate import Array
from ldpsql.record_domain import RecordDomain
from ldpsql.report import Histogram
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.guarantee import Guarantee, local_guarantee
from ldpsql_device.plan import WORDS, Digit, Face, Part, Plan, Rows, Staircase, Term


def refuse_cells(domain: RecordDomain, most: int, name: str) -> str | None:
    """Why a recipe of at most so many cells does not take a domain; None where it does."""
    cells = math.prod(shape_of(domain))
    if cells <= most:
        return None
    signs = ", signs of measures included," if domain.bounds else ""
    return (
        f"{name} is for at most {most} combinations of codes{signs} and there are "
        f"{cells}; use wider bins, fewer attributes, or fourier"
    )


def flat_digit(sizes: Sequence[int]) -> Digit:
    """The number of a cell, row by row over all attributes of a record."""
    return Digit(flat_terms(range(len(sizes)), sizes), math.prod(sizes))


def flat_terms(axes: Sequence[int], sizes: Sequence[int], width: int = 1) -> tuple[Term, ...]:
    """The number of a combination of bins of some attributes, row by row.

    sizes: bins of each.  width: codes of a bin.
    """
    return tuple(Term(axis, math.prod(sizes[j + 1 :]), width) for j, axis in enumerate(axes))


class TableDesign(Design[CellSum]):
    """Plans, answers and predictions of a design, from its channel."""

    @property
    @abstractmethod
    def channel(self) -> Channel:
        """What the collector knows of how reports come about."""

    def prepare(self, query: LinearQuery) -> CellSum:
        """The query by cells."""
        return plan_cells(query, self.domain)

    def describe(self, planned: CellSum) -> list[str]:
        """How many cells are summed, for EXPLAIN."""
        return describe_cells(planned, self.domain)

    def estimator(self, histogram: Histogram) -> TableEstimator:
        """Unbiased."""
        reported = ReportedTable(histogram, self.channel)
        return TableEstimator(self.channel, reported)

    def variance(self, queries: Sequence[CellSum], people: int) -> Array:
        """Predicted variance if records are spread evenly over all cells, shape (k,)."""
        cells = self.channel.cells
        evenly = GivenTable(np.full(cells, people / cells))
        return np.diagonal(TableEstimator(self.channel, evenly).answer(queries).covariance).copy()


@dataclass(frozen=True, eq=False)
class RowsDesign(TableDesign):
    """One question about the cell, answered by a row of words for each cell."""

    domain: RecordDomain
    epsilon: Epsilon

    @property
    @abstractmethod
    def response(self) -> Rows | Staircase:
        """The rows, one per cell."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and (
            (self.domain, self.epsilon, self.to_json())
            == (other.domain, other.epsilon, other.to_json())
        )

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def plan(self) -> Plan:
        """The question."""
        sizes = shape_of(self.domain)
        return Plan(sizes, (), (Face(1, (Part((flat_digit(sizes),), self.response),)),))

    @cached_property
    def channel(self) -> MatrixChannel:
        """The rows as the collector uses them."""
        rows = np.array(self.response.table.rows, dtype=np.float64)
        return MatrixChannel(rows.T / WORDS)

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon-LDP for the whole private record."""
        return local_guarantee(self.epsilon)

    @property
    def estimators(self) -> Estimators[CellSum]:
        """The unbiased one only."""
        return {"unbiased": self.estimator}
