"""Runs at the collector. Sees reports. The public columns of a synthetic table.

Public values travel in clear, so their joint distribution is known exactly: people are drawn from
its combinations. A few public columns with few combinations together are an axis of the model, on
which private columns may depend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ldpsql.estimate import Array
from ldpsql.synthesis.axes import Integers
from ldpsql_device.schema import RESERVED_PREFIX

LARGEST_PUBLIC = 16
PEOPLE = f"{RESERVED_PREFIX}people"


@dataclass(frozen=True)
class PublicPeople:
    """Combinations of public values.

    values: the public columns, one row per combination.  counts: people per combination, (r,).
    keys: the columns of the public axis.  cell: the cell of each combination on it, (r,).
    """

    values: pa.Table
    counts: Integers
    keys: tuple[str, ...]
    cell: Integers

    @classmethod
    def of(cls, found: pa.Table) -> PublicPeople:
        """From the store's `public_people`.

        The axis takes column after column as long as it has at most 16 cells; in ascending order
        of their values, NULL last, which is the order of the store's histograms.
        """
        values = found.drop_columns([PEOPLE])
        counts = found.column(PEOPLE).to_numpy().astype(np.int64)
        keys: list[str] = []
        cell = np.zeros(len(counts), dtype=np.int64)
        for name in values.column_names:
            tried = _cells(values, [*keys, name])
            if tried.max(initial=0) < LARGEST_PUBLIC:
                keys, cell = [*keys, name], tried
        return cls(values, counts, tuple(keys), cell)

    @property
    def independent(self) -> tuple[str, ...]:
        """Columns with so many values that private columns cannot depend on them."""
        return tuple(name for name in self.values.column_names if name not in self.keys)

    @property
    def shares(self) -> Array:
        """Shares of the people by cell of the axis, exact."""
        return np.asarray(np.bincount(self.cell, self.counts) / self.counts.sum())

    @cached_property
    def _order(self) -> tuple[NDArray[np.int64], Array, Integers]:
        order = np.argsort(self.cell, kind="stable")
        cumulative = np.concatenate([[0.0], np.cumsum(self.counts[order].astype(np.float64))])
        first = np.searchsorted(self.cell[order], np.arange(self.cell.max(initial=0) + 2))
        return order, cumulative, first

    def draw(self, cells: Integers, random: np.random.Generator) -> pa.Table:
        """Public values of people whose cells are given."""
        order, cumulative, first = self._order
        low, high = cumulative[first[cells]], cumulative[first[cells + 1]]
        at = low + random.random(len(cells)) * (high - low)
        place = np.searchsorted(cumulative, at, side="right") - 1
        chosen = order[np.clip(place, first[cells], first[cells + 1] - 1)]
        return self.values.take(pa.array(chosen))


def _cells(values: pa.Table, keys: Sequence[str]) -> Integers:
    """The cell of each row: rows are in ascending order of all columns, and so are cells."""
    ranks = [_ranks(values.column(key)) for key in keys]
    return np.unique(np.stack(ranks), axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _ranks(column: pa.ChunkedArray) -> Integers:
    """The place of each value among the distinct ones, ascending, NULL last."""
    ranks = pc.rank(column, sort_keys="ascending", tiebreaker="dense")
    return np.asarray(ranks.to_numpy(), dtype=np.int64)
