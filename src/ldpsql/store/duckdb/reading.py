"""Runs at the collector. Sees reports. Histograms out of the store.

A histogram is a small head (sizes and totals, one query) and rows that are fetched one selector
at a time, or, where public columns are grouped by, all at once and split in numpy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ldpsql.boxes import Weight
from ldpsql.report import Histogram, Integers, Reals, Rows
from ldpsql.store.base import Moment, Selection
from ldpsql.store.duckdb.fold import counts
from ldpsql.store.duckdb.layout import COUNT_COLUMN, Layout, quoted
from ldpsql.store.duckdb.opening import Connection
from ldpsql_device.columns import ARROW_TYPES
from ldpsql_device.errors import InternalError
from ldpsql_device.schema import RESERVED_PREFIX

Arrays = Mapping[str, NDArray[Any]]
_PEOPLE = f"{RESERVED_PREFIX}people"
_KEY = f"{RESERVED_PREFIX}key"


@dataclass(frozen=True)
class Head:
    """Sizes per selector, shape (selectors,), and totals of all moments."""

    sizes: Integers
    totals: Mapping[Moment, float]


@dataclass(frozen=True)
class Reading:
    """How to read a selection of one survey's reports.

    counted: the last batch in the histogram table (see `fold.Progress`).
    """

    layout: Layout
    selection: Selection
    counted: int

    @cached_property
    def moments(self) -> tuple[Moment, ...]:
        """The moments asked for, and each of their weights alone."""
        weights = [w for pair in self.selection.moments for w in pair if w is not None]
        alone: list[Moment] = [(weight, None) for weight in weights]
        return tuple(dict.fromkeys([*self.selection.moments, *alone]))

    def head(self, cursor: Connection) -> Head:
        """Sizes and totals, by one query."""
        people_only = f"{self._bit} = -1" if self.layout.format.unary else "true"
        found = self._fetch(cursor, (self.layout.selector.sql,), people_only)
        sizes = np.zeros(self.layout.format.selectors, dtype=np.int64)
        sizes[_integers(found[self.layout.selector.name])] = _integers(found[_PEOPLE])
        totals = {pair: float(values.sum()) for pair, values in self._moments_of(found).items()}
        return Head(sizes, totals)

    def rows(self, cursor: Connection, selector: int) -> Rows:
        """The rows of one selector, equal reports merged."""
        columns = [column.sql for column in self.layout.counted_columns[1:]]
        condition = f"{self.layout.selector.sql} = {int(selector)}"
        return self._rows_of(self._fetch(cursor, columns, condition))

    def all_rows(self, cursor: Connection) -> Rows:
        """The rows of all selectors, the selector being their first column."""
        columns = [column.sql for column in self.layout.counted_columns]
        return self._rows_of(self._fetch(cursor, columns, "true"), first=0)

    def public_people(self, cursor: Connection) -> pa.Table:
        """People per combination of all public values, ascending, NULL last."""
        keys = [quoted(column.name) for column in self.layout.public]
        people_only = f"{self._bit} = -1" if self.layout.format.unary else "true"
        order = ", ".join(f"{key} ASC NULLS LAST" for key in keys)
        rows = cursor.execute(f"{self._query(keys, people_only)} ORDER BY {order}").fetchall()
        columns = zip(*rows, strict=True) if rows else ([] for _ in (*keys, _PEOPLE))
        kinds = {column.name: ARROW_TYPES[column.type] for column in self.layout.public}
        return pa.table(
            [
                pa.array(values, type=kind)
                for values, kind in zip(columns, (*kinds.values(), pa.int64()), strict=True)
            ],
            names=[*kinds, _PEOPLE],
        )

    def grouped(self, cursor: Connection) -> list[tuple[tuple[Any, ...], Histogram]]:
        """One histogram per combination of key values, ascending, NULL last."""
        keys = ", ".join(self._public(key) for key in self.selection.keys)
        order = ", ".join(f"{self._public(key)} ASC NULLS LAST" for key in self.selection.keys)
        values = cursor.execute(
            f"SELECT DISTINCT {keys} FROM {self._source} WHERE {self._condition} ORDER BY {order}"
        ).fetchall()
        columns = [column.sql for column in self.layout.counted_columns]
        groups = [*columns, *(self._public(key) for key in self.selection.keys)]
        cursor.execute(
            f"SELECT dense_rank() OVER (ORDER BY {order}) - 1 AS {_KEY}, * FROM "
            f"({self._query(groups, 'true')}) ORDER BY {_KEY}, {self.layout.selector.sql}"
        )
        found: Arrays = cursor.fetchnumpy()
        bounds = np.searchsorted(_integers(found[_KEY]), np.arange(len(values) + 1))
        return [
            (
                key,
                self._split({name: found[name][start:end] for name in self._numeric}, len(values)),
            )
            for key, start, end in zip(values, bounds[:-1], bounds[1:], strict=True)
        ]

    def _split(self, found: Arrays, siblings: int) -> Histogram:
        """The histogram whose rows, sorted by selector, are given."""
        selector = _integers(found[self.layout.selector.name])
        people = _integers(found[_PEOPLE])
        counting = np.ones(len(people), dtype=bool)
        if self.layout.format.unary:
            counting = _integers(found[self.layout.counted_columns[1].name]) == -1
        sizes = np.zeros(self.layout.format.selectors, dtype=np.int64)
        np.add.at(sizes, selector[counting], people[counting])
        totals = {
            pair: float(values[counting].sum()) for pair, values in self._moments_of(found).items()
        }

        def load(wanted: int) -> Rows:
            start, end = np.searchsorted(selector, [wanted, wanted + 1])
            return self._rows_of({name: found[name][start:end] for name in self._numeric})

        return Histogram(sizes, load, lambda: self._rows_of(found, first=0), totals, siblings)

    def _fetch(self, cursor: Connection, groups: Iterable[str], condition: str) -> Arrays:
        cursor.execute(self._query(groups, condition))
        found: Arrays = cursor.fetchnumpy()
        return found

    def _query(self, groups: Iterable[str], condition: str) -> str:
        """People and moments, by groups of columns; one row in all where there are none."""
        keys = ", ".join(groups)
        sums = "".join(
            f", sum({COUNT_COLUMN} * {self._product(pair)})::DOUBLE AS {_moment(i)}"
            for i, pair in enumerate(self.moments)
        )
        selected = f"{keys}, " if keys else ""
        grouped = f"GROUP BY {keys}" if keys else "HAVING count(*) > 0"
        return (
            f"SELECT {selected}sum({COUNT_COLUMN})::BIGINT AS {_PEOPLE}{sums} "
            f"FROM {self._source} WHERE {self._condition} AND {condition} {grouped}"
        )

    @property
    def _source(self) -> str:
        return counts(self.layout, self.counted)

    @property
    def _condition(self) -> str:
        return f"({self.selection.condition})" if self.selection.condition else "true"

    @property
    def _bit(self) -> str:
        return self.layout.counted_columns[1].sql

    @cached_property
    def _numeric(self) -> tuple[str, ...]:
        """The columns of a result that are numbers for sure."""
        counted = (column.name for column in self.layout.counted_columns)
        return (*counted, _PEOPLE, *(_moment(i) for i in range(len(self.moments))))

    def _product(self, pair: Moment) -> str:
        return " * ".join(self._weight(weight) for weight in pair if weight is not None)

    def _weight(self, weight: Weight) -> str:
        column = self._public(weight.column)
        if weight.kind == "present":
            return f"({column} IS NOT NULL)::DOUBLE"
        return f"coalesce({column}, 0)::DOUBLE"

    def _public(self, name: str) -> str:
        """A public column, quoted as it is written in the schema."""
        for column in self.layout.public:
            if column.name.lower() == name.lower():
                return quoted(column.name)
        raise InternalError(f"{name} is no public column of {self.layout.key}")

    def _rows_of(self, found: Arrays, first: int = 1) -> Rows:
        """Rows with the counted columns from `first` on; 1 leaves out the selector."""
        counted = self.layout.counted_columns[first:]
        columns = tuple(_integers(found[column.name]) for column in counted)
        return Rows(columns, _integers(found[_PEOPLE]), self._moments_of(found))

    def _moments_of(self, found: Arrays) -> dict[Moment, Reals]:
        return {
            pair: np.asarray(found[_moment(i)], dtype=np.float64)
            for i, pair in enumerate(self.moments)
        }


def _moment(index: int) -> str:
    return f"{RESERVED_PREFIX}moment_{index}"


def _integers(values: NDArray[Any]) -> Integers:
    return np.asarray(values, dtype=np.int64)
