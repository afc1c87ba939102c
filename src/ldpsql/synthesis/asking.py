"""Small tables of a survey, as its reports estimate them; run by the collector on reports.

A design is asked whether it can answer a table by planning its cells; one that cannot says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ldpsql.boxes import Box, CodeSet, LinearQuery
from ldpsql.decoders.base import AnyEstimator as Estimator
from ldpsql.errors import UnsupportedSQL
from ldpsql.numerics import Array
from ldpsql.store.base import Selection, Store
from ldpsql.survey import Survey
from ldpsql.synthesis.columns import ModelAxis
from ldpsql.synthesis.consistency import NoisyShares
from ldpsql_device.errors import DataError


@dataclass(frozen=True)
class ReportedShares:
    """What the reports of a survey say about small tables.

    people: number of reports, those of earlier rounds included.  everybody: answers from all
    reports.  by_cell: answers from the reports in each cell of the public axis, in its order.
    """

    survey: Survey
    people: int
    everybody: Estimator
    by_cell: tuple[Estimator, ...] = ()

    @classmethod
    def of(cls, store: Store, survey: Survey, keys: Sequence[str] = ()) -> ReportedShares:
        """Read the histograms; DataError where there are no reports.

        The design's default estimator answers: a post-processed one has been where this goes.

        keys: public columns whose combinations are the cells of the public axis.
        """
        design = survey.design
        ((_, histogram),) = store.histograms(survey.table, Selection())
        if histogram.people == 0:
            raise DataError(f"{survey.table} has no reports to draw a table from; ingest some")
        earlier = design.earlier
        split = store.histograms(survey.table, Selection(keys=tuple(keys))) if keys else []
        return cls(
            survey,
            earlier + histogram.people,
            design.estimator(histogram),
            tuple(design.estimator(part) for _, part in split),
        )

    def ask(self, axes: Sequence[ModelAxis]) -> NoisyShares | None:
        """The shares of the people by cells of dimensions, at most one measure and one public
        axis, in this order; None where the design does not answer, or the reports cannot tell.

        The two cells of a measure are the lower and the upper bound: how many people at each
        would have the same sum.
        """
        dimensions = [axis for axis in axes if axis.kind == "dimension"]
        measures = [axis.index for axis in axes if axis.kind == "measure"]
        is_split = any(axis.kind == "public" for axis in axes)
        cells = product(*([(axis.index, side) for side in axis.sides] for axis in dimensions))
        try:
            rows = [self._plan(cell, measures) for cell in cells]
            estimators = self.by_cell if is_split else (self.everybody,)
            parts = [self._estimate(estimator, rows, measures) for estimator in estimators]
        except UnsupportedSQL:
            return None
        shape = tuple(axis.size for axis in axes)
        shares, variances = (
            np.stack(part, axis=-1).reshape(shape) for part in zip(*parts, strict=True)
        )
        is_estimable = np.isfinite(shares).all() and np.isfinite(variances).all()
        return NoisyShares(shares, variances) if is_estimable else None

    def _plan(self, cell: Sequence[tuple[int, CodeSet]], measures: Sequence[int]) -> list[Any]:
        """The count of a cell, and the sum of the measure in it if there is one."""
        design = self.survey.design
        sides: list[CodeSet | None] = [None] * len(design.domain.sizes)
        for index, side in cell:
            sides[index] = side
        box = Box(tuple(sides)).normal(design.domain.sizes)
        queries = [LinearQuery.count(box), *(LinearQuery.sum(m, box) for m in measures)]
        return [design.prepare(query) for query in queries]

    def _estimate(
        self, estimator: Estimator, rows: Sequence[Sequence[Any]], measures: Sequence[int]
    ) -> tuple[Array, Array]:
        """Shares of all people and their variances, (rows,), or (rows, 2) with a measure."""
        answers = estimator.answer_rows(rows)
        if measures:
            # From (count, sum) to the people at the lower and at the upper bound.
            low, high = self.survey.design.domain.bounds[measures[0]]
            to_bounds = np.array([[high, -1.0], [-low, 1.0]]) / (high - low)
            # What reports cannot tell has an infinite variance, which no linear map makes finite.
            with np.errstate(invalid="ignore"):
                answers = [answer.map(to_bounds) for answer in answers]
        shares = np.array([answer.values for answer in answers]) / self.people
        variances = np.array([answer.stderr**2 for answer in answers]) / self.people**2
        return (shares, variances) if measures else (shares[:, 0], variances[:, 0])
