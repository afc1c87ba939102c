"""Runs at the collector. Sees reports. Small tables of a survey, as its reports estimate them.

A design is asked whether it can answer a table by planning its cells; one that cannot says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ldpsql.boxes import Box, CodeSet, LinearQuery
from ldpsql.mechanisms.base import Estimator, StagedDesign
from ldpsql.store.base import Selection, Store
from ldpsql.survey import Survey
from ldpsql.synthesis.axes import Axis
from ldpsql.synthesis.consistency import Noisy
from ldpsql_device.errors import DataError, UnsupportedSQL

Side = tuple[int, CodeSet]


@dataclass(frozen=True)
class Group:
    """Some of the people: how many, and what their reports say."""

    people: int
    estimator: Estimator


@dataclass(frozen=True)
class Reported:
    """What the reports of a survey say about small tables.

    everybody: all people.  groups: people by cell of the public axis, in its order.
    """

    survey: Survey
    everybody: Group
    groups: tuple[Group, ...] = ()

    @classmethod
    def of(cls, store: Store, survey: Survey, keys: Sequence[str] = ()) -> Reported:
        """Read the histogram; DataError where there are no reports.

        The design's default estimator answers: a post-processed one has been where this goes.

        keys: public columns whose combinations are the cells of the public axis.
        """
        make = survey.design.estimator
        ((_, histogram),) = store.histograms(survey.table, Selection())
        earlier = survey.design.earlier if isinstance(survey.design, StagedDesign) else 0
        if histogram.people == 0:
            raise DataError(f"{survey.table} has no reports to draw a table from; ingest some")
        everybody = Group(earlier + histogram.people, make(histogram))
        split = store.histograms(survey.table, Selection(keys=tuple(keys))) if keys else []
        return cls(survey, everybody, tuple(Group(h.people, make(h)) for _, h in split))

    @property
    def people(self) -> int:
        """Number of reports, those of earlier rounds included."""
        return self.everybody.people

    def ask(self, axes: Sequence[Axis]) -> Noisy | None:
        """The shares of the people by cells of dimensions, at most one measure and one public
        axis, in this order; None where the design does not answer, or the reports cannot tell.

        The two cells of a measure are the lower and the upper bound: how many people at each
        would have the same sum.
        """
        try:
            found = self._told(axes)
        except UnsupportedSQL:
            return None
        told = np.isfinite(found.shares).all() and np.isfinite(found.variances).all()
        return found if told else None

    def _told(self, axes: Sequence[Axis]) -> Noisy:
        dimensions = [axis for axis in axes if axis.kind == "dimension"]
        measures = [axis.index for axis in axes if axis.kind == "measure"]
        sides = [tuple((axis.index, side) for side in axis.sides) for axis in dimensions]
        rows = [self._planned(cell, measures) for cell in product(*sides)]
        is_split = any(axis.kind == "public" for axis in axes)
        groups = self.groups if is_split else (self.everybody,)
        parts = [self._cells(group, rows, measures) for group in groups]
        shape = tuple(axis.size for axis in axes)
        return Noisy(
            np.stack([part.shares for part in parts], axis=-1).reshape(shape),
            np.stack([part.variances for part in parts], axis=-1).reshape(shape),
        )

    def _planned(self, cell: Sequence[Side], measures: Sequence[int]) -> list[Any]:
        """The count of a cell, and the sum of the measure in it if there is one."""
        design = self.survey.design
        sides: list[CodeSet | None] = [None] * len(design.domain.sizes)
        for index, side in cell:
            sides[index] = side
        box = Box(tuple(sides)).normal(design.domain.sizes)
        queries = [LinearQuery.count(box), *(LinearQuery.sum(m, box) for m in measures)]
        return [design.plan(query) for query in queries]

    def _cells(self, group: Group, rows: Sequence[Sequence[Any]], measures: Sequence[int]) -> Noisy:
        """Shares of all people, cell by cell: (rows,), or (rows, 2) with a measure."""
        answers = group.estimator.answer_rows(rows)
        if measures:
            # What reports cannot tell has an infinite variance, which no linear map makes finite.
            with np.errstate(invalid="ignore"):
                answers = [answer.map(self._to_bounds(measures[0])) for answer in answers]
        shares = np.array([answer.values for answer in answers])
        variances = np.array([answer.stderr**2 for answer in answers])
        if not measures:
            shares, variances = shares[:, 0], variances[:, 0]
        return Noisy(shares / self.people, variances / self.people**2)

    def _to_bounds(self, measure: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """From (count, sum) to the people at the lower and at the upper bound."""
        low, high = self.survey.design.domain.bounds[measure]
        return np.array([[high, -1.0], [-low, 1.0]]) / (high - low)
