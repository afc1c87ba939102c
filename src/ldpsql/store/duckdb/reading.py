"""Histograms out of a DuckDB store: every one is read whole, by one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

_PEOPLE, _KEY = f"{RESERVED_PREFIX}people", f"{RESERVED_PREFIX}key"


class Reading:
    """Reads a selection of one survey's reports, as a cursor sees the store."""

    def __init__(
        self, cursor: Connection, layout: Layout, selection: Selection, rows: str | None = None
    ) -> None:
        """rows: a subquery of histogram rows, in the place of those of all reports."""
        self.cursor, self.layout = cursor, layout
        self.keys, self.key_names = list[str](), list[str]()
        for place, key in enumerate(selection.keys):
            name = text = self._public(key) if isinstance(key, str) else f"{_KEY}_{place}"
            if not isinstance(key, str):
                text = f"CAST({key.text} AS {key.kind}) AS {name}"
            self.keys.append(text)
            self.key_names.append(name)
        self.condition = f"({selection.condition})" if selection.condition else "true"
        # The moments asked for, and each of their weights alone.
        single = [(w, None) for pair in selection.moments for w in pair if w is not None]
        self.moments: list[Moment] = list(dict.fromkeys([*selection.moments, *single]))
        self.is_merged = False
        if rows is None:
            progress = fold.Progress.of(cursor, layout)
            rows = fold.counts(layout, progress.counted)
            # Then the table holds one row per report, and all of its columns need no counting.
            self.is_merged = progress.recent == 0
        self.source = rows
        # Picks rows that together count every person once.
        self.once = f"{layout.counted_columns[1].sql} = -1" if layout.format.unary else "true"

    def sizes(self) -> Integers:
        """Reports of every type, shape (report types,)."""
        owner = self.layout.report_type
        self.cursor.execute(self._query([owner.sql], self.once))
        columns = self.cursor.fetchnumpy()
        sizes = np.zeros(self.layout.format.types, dtype=np.int64)
        sizes[columns[owner.name].astype(np.int64)] = columns[_PEOPLE]
        return sizes

    def histograms(self) -> list[tuple[tuple[Any, ...], Histogram]]:
        """One histogram per combination of key values, ascending, NULL last."""
        counted = self.layout.counted_columns
        query = self._query([*(column.sql for column in counted), *self.keys])
        if not self.keys:
            self.cursor.execute(query)
            return [((), self._histogram(self.cursor.fetchnumpy(), slice(None), 1))]
        order = order_ascending(self.key_names)
        values = self.cursor.execute(
            f"SELECT DISTINCT {', '.join(self.keys)} FROM {self.source} WHERE {self.condition} "
            f"ORDER BY {order}"
        ).fetchall()
        moments = (_moment(i) for i in range(len(self.moments)))
        numbers = ", ".join(map(quote, (*(column.name for column in counted), _PEOPLE, *moments)))
        self.cursor.execute(
            f"SELECT dense_rank() OVER (ORDER BY {order}) - 1 AS {_KEY}, {numbers} "
            f"FROM ({query}) ORDER BY {_KEY}"
        )
        columns = self.cursor.fetchnumpy()
        bounds = np.searchsorted(columns[_KEY], np.arange(len(values) + 1))
        return [
            (key, self._histogram(columns, slice(start, end), len(values)))
            for key, start, end in zip(values, bounds[:-1], bounds[1:], strict=True)
        ]

    def public_people(self) -> pa.Table:
        """People per combination of all public values, ascending, NULL last."""
        keys = [column.sql for column in self.layout.public_columns]
        query = f"{self._query(keys, self.once)} ORDER BY {order_ascending(keys)}"
        rows = self.cursor.execute(query).fetchall()
        columns = zip(*rows, strict=True) if rows else ([] for _ in (*keys, _PEOPLE))
        types = {column.name: ARROW_TYPES[column.type] for column in self.layout.intake.public}
        types[_PEOPLE] = pa.int64()
        arrays = map(pa.array, columns, types.values())
        return pa.table(list(arrays), names=list(types))

    def _histogram(
        self, columns: Mapping[str, NDArray[Any]], rows: slice, siblings: int
    ) -> Histogram:
        """The histogram of some rows of a result."""
        return Histogram.of(
            self.layout.format.types,
            [columns[column.name][rows] for column in self.layout.counted_columns],
            columns[_PEOPLE][rows],
            {pair: columns[_moment(i)][rows] for i, pair in enumerate(self.moments)},
            unary=self.layout.format.unary,
            siblings=siblings,
        )

    def _query(self, groups: Sequence[str], condition: str = "true") -> str:
        """People and moments, by groups of columns."""
        keys = ", ".join(groups)
        every = (*self.layout.counted_columns, *self.layout.public_columns)
        is_counted = self.is_merged and {column.sql for column in every} <= set(groups)
        add = "" if is_counted else "sum"
        sums = "".join(
            f", {add}({COUNT_COLUMN} * {self._product(pair)})::DOUBLE AS {_moment(i)}"
            for i, pair in enumerate(self.moments)
        )
        return (
            f"SELECT {keys}, {add}({COUNT_COLUMN})::BIGINT AS {_PEOPLE}{sums} FROM {self.source} "
            f"WHERE {self.condition} AND {condition} {'' if is_counted else 'GROUP BY ALL'}"
        )

    def _product(self, pair: Moment) -> str:
        return " * ".join(self.weight(weight) for weight in pair if weight is not None)

    def weight(self, weight: Weight) -> str:
        """The SQL of a public weight of one person."""
        column = self._public(weight.column)
        is_present = weight.kind == "present"
        return f"({column} IS NOT NULL)::DOUBLE" if is_present else f"coalesce({column}, 0)::DOUBLE"

    def _public(self, name: str) -> str:
        """A public column, quoted as it is written in the schema."""
        for column in self.layout.public_columns:
            if column.name.lower() == name.lower():
                return column.sql
        raise InternalError(f"{name} is not a public column of {self.layout.key}")


def _moment(index: int) -> str:
    return f"{RESERVED_PREFIX}moment_{index}"


def order_ascending(keys: Sequence[str]) -> str:
    """An SQL list of what to order by; NULL comes last."""
    return ", ".join(f"{key} ASC NULLS LAST" for key in keys)
