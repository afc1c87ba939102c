"""Histograms out of a DuckDB store: every one is read whole, by one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ldpsql.boxes import Weight
from ldpsql.report import Histogram, Integers
from ldpsql.sql import quote
from ldpsql.store.base import Moment, Selection
from ldpsql.store.duckdb import fold
from ldpsql.store.duckdb.layout import COUNT_COLUMN, Layout
from ldpsql.store.duckdb.opening import Connection
from ldpsql_device.arrow import ARROW_TYPES
from ldpsql_device.errors import InternalError
from ldpsql_device.schema import RESERVED_PREFIX

_PEOPLE = f"{RESERVED_PREFIX}people"
_KEY = f"{RESERVED_PREFIX}key"


@dataclass(frozen=True)
class Reading:
    """How to read a selection of one survey's reports.

    counted: the last batch in the histogram table (see `fold.Progress`).  is_merged: whether that
    table holds everything, with one row per report, so that all of its columns need no counting.
    """

    layout: Layout
    selection: Selection
    counted: int
    is_merged: bool

    @classmethod
    def of(cls, cursor: Connection, layout: Layout, selection: Selection) -> Reading:
        """At the state of the store that the cursor sees."""
        progress = fold.Progress.of(cursor, layout)
        return cls(layout, selection, progress.counted, progress.recent == 0)

    def sizes(self, cursor: Connection) -> Integers:
        """Reports of every type, shape (report types,)."""
        owner = self.layout.report_type
        cursor.execute(self._query([owner.sql], self._once_per_person))
        columns = cursor.fetchnumpy()
        sizes = np.zeros(self.layout.format.types, dtype=np.int64)
        sizes[columns[owner.name].astype(np.int64)] = columns[_PEOPLE]
        return sizes

    def histograms(self, cursor: Connection) -> list[tuple[tuple[Any, ...], Histogram]]:
        """One histogram per combination of key values, ascending, NULL last."""
        keys = [self._public(key) for key in self.selection.keys]
        query = self._query([*(column.sql for column in self.layout.counted_columns), *keys])
        if not keys:
            cursor.execute(query)
            return [((), self._histogram(cursor.fetchnumpy(), slice(None), 1))]
        listed, order = ", ".join(keys), ", ".join(f"{key} ASC NULLS LAST" for key in keys)
        values = cursor.execute(
            f"SELECT DISTINCT {listed} FROM {self._source} WHERE {self._condition} ORDER BY {order}"
        ).fetchall()
        numbers = ", ".join(map(quote, self._numbers))
        cursor.execute(
            f"SELECT dense_rank() OVER (ORDER BY {order}) - 1 AS {_KEY}, {numbers} "
            f"FROM ({query}) ORDER BY {_KEY}"
        )
        columns = cursor.fetchnumpy()
        bounds = np.searchsorted(columns[_KEY], np.arange(len(values) + 1))
        return [
            (key, self._histogram(columns, slice(start, end), len(values)))
            for key, start, end in zip(values, bounds[:-1], bounds[1:], strict=True)
        ]

    def public_people(self, cursor: Connection) -> pa.Table:
        """People per combination of all public values, ascending, NULL last."""
        keys = [column.sql for column in self.layout.public_columns]
        order = ", ".join(f"{key} ASC NULLS LAST" for key in keys)
        query = f"{self._query(keys, self._once_per_person)} ORDER BY {order}"
        rows = cursor.execute(query).fetchall()
        columns = zip(*rows, strict=True) if rows else ([] for _ in (*keys, _PEOPLE))
        types = {column.name: ARROW_TYPES[column.type] for column in self.layout.public}
        return pa.table(
            [
                pa.array(values, type=kind)
                for values, kind in zip(columns, (*types.values(), pa.int64()), strict=True)
            ],
            names=[*types, _PEOPLE],
        )

    def _histogram(
        self, columns: Mapping[str, NDArray[Any]], rows: slice, siblings: int
    ) -> Histogram:
        """The histogram of some rows of a result."""
        return Histogram.of(
            self.layout.format.types,
            [columns[column.name][rows] for column in self.layout.counted_columns],
            columns[_PEOPLE][rows],
            {pair: columns[_moment(i)][rows] for i, pair in enumerate(self._moments)},
            unary=self.layout.format.unary,
            siblings=siblings,
        )

    def _query(self, groups: Sequence[str], condition: str = "true") -> str:
        """People and moments, by groups of columns."""
        keys = ", ".join(groups)
        width = len(self.layout.counted_columns) + len(self.layout.public_columns)
        is_counted = self.is_merged and len(set(groups)) == width
        add = "" if is_counted else "sum"
        sums = "".join(
            f", {add}({COUNT_COLUMN} * {self._product(pair)})::DOUBLE AS {_moment(i)}"
            for i, pair in enumerate(self._moments)
        )
        return (
            f"SELECT {keys}, {add}({COUNT_COLUMN})::BIGINT AS {_PEOPLE}{sums} FROM {self._source} "
            f"WHERE {self._condition} AND {condition} {'' if is_counted else f'GROUP BY {keys}'}"
        )

    @cached_property
    def _moments(self) -> tuple[Moment, ...]:
        """The moments asked for, and each of their weights alone."""
        weights = [w for pair in self.selection.moments for w in pair if w is not None]
        single: list[Moment] = [(weight, None) for weight in weights]
        return tuple(dict.fromkeys([*self.selection.moments, *single]))

    @property
    def _source(self) -> str:
        return fold.counts(self.layout, self.counted)

    @property
    def _condition(self) -> str:
        return f"({self.selection.condition})" if self.selection.condition else "true"

    @property
    def _once_per_person(self) -> str:
        """Picks rows that together count every person once."""
        layout = self.layout
        return f"{layout.counted_columns[1].sql} = -1" if layout.format.unary else "true"

    @property
    def _numbers(self) -> tuple[str, ...]:
        """The columns of a result besides the keys."""
        counted = (column.name for column in self.layout.counted_columns)
        return (*counted, _PEOPLE, *(_moment(i) for i in range(len(self._moments))))

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
                return quote(column.name)
        raise InternalError(f"{name} is not a public column of {self.layout.key}")


def _moment(index: int) -> str:
    return f"{RESERVED_PREFIX}moment_{index}"
