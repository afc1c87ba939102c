"""What all designs share that answer from a table of cells."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from ldpsql.boxes import LinearQuery
from ldpsql.decoders.base import Design
from ldpsql.decoders.cells import (
    CellSum,
    Channel,
    GivenTable,
    ReportedTable,
    TableEstimator,
    describe_cells,
    plan_cells,
    shape_of,
)
from ldpsql.estimate import Array
from ldpsql.report import Histogram
from ldpsql_device.schema import RecordDomain


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
        reported = ReportedTable(histogram=histogram, channel=self.channel)
        return TableEstimator(self.channel, reported)

    def variance(self, queries: Sequence[CellSum], people: int) -> Array:
        """Predicted variance if records are spread evenly over all cells, shape (k,)."""
        cells = self.channel.cells
        evenly = GivenTable(np.full(cells, people / cells))
        return np.diagonal(TableEstimator(self.channel, evenly).answer(queries).covariance).copy()
