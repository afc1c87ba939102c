"""Public. Sees parameters. What all designs share that answer from a table of cells."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ldpsql.boxes import LinearQuery
from ldpsql.decoders.base import Design
from ldpsql.estimate import Array
from ldpsql.mechanisms.cells.estimator import Channel, GivenTable, ReportedTable, TableEstimator
from ldpsql.mechanisms.cells.query import CellSum, described, planned
from ldpsql.report import Histogram
from ldpsql_device.schema import RecordDomain


class TableDesign(Design[CellSum]):
    """Plans, answers and predictions of a design, from its channel."""

    domain: RecordDomain

    @cached_property
    def channel(self) -> Channel:
        """What the collector knows of how reports come about."""
        raise NotImplementedError

    def prepare(self, query: LinearQuery) -> CellSum:
        """The query by cells."""
        return planned(query, self.domain)

    def describe(self, query: CellSum) -> list[str]:
        """How many cells are summed, for EXPLAIN."""
        return described(query, self.domain)

    def estimator(self, histogram: Histogram) -> TableEstimator:
        """Collector. Unbiased."""
        return TableEstimator(
            self.channel, ReportedTable(histogram=histogram, channel=self.channel)
        )

    def variance(self, queries: Sequence[CellSum], people: int) -> Array:
        """Predicted variance if records are spread evenly over all cells, shape (k,)."""
        cells = self.channel.cells
        evenly = GivenTable(np.full(cells, people / cells))
        return np.diagonal(TableEstimator(self.channel, evenly).answer(queries).covariance).copy()
