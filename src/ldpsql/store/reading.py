"""Histograms out of a DuckDB store: every one is read whole, by one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ldpsql.reports.arrow_types import ARROW_TYPES
from ldpsql.reports.report import Histogram, Histograms, Integers
from ldpsql.sql.quoting import quote
from ldpsql.store.base import Selection
from ldpsql.store.counting import (
    KEY,
    PEOPLE,
    Counting,
    moment,
    order_ascending,
)
from ldpsql.store.layout import COUNT_COLUMN, Layout
from ldpsql.store.opening import Connection


class Reading:
    """Reads a selection of one survey's histogram rows."""

    def __init__(
        self,
        cursor: Connection,
        table: Layout,
        selection: Selection,
        source: str,
        *,
        is_merged: bool = False,
        has_moments: bool = False,
    ) -> None:
        """source: a subquery of histogram rows, as the cursor sees it.  is_merged: whether it has
        one row per report, so that all of its columns need no counting.  has_moments: whether it
        has a column for every moment of the selection, of all people of a row."""
        self.cursor, self.table, self.source = cursor, table, source
        self.counting, self.is_merged, self.has_moments = (
            Counting(table, selection),
            is_merged,
            has_moments,
        )

    def sizes(self) -> Integers:
        """Reports of every type, shape (report types,)."""
        owner = self.table.report_type
        self.cursor.execute(self._query([owner.sql], self.table.once))
        columns = self.cursor.fetchnumpy()
        sizes = np.zeros(self.table.format.types, dtype=np.int64)
        sizes[columns[owner.name].astype(np.int64)] = columns[PEOPLE]
        return sizes

    def histograms(self) -> Sequence[tuple[tuple[Any, ...], Histogram]]:
        """One histogram per combination of key values, ascending, NULL last."""
        counted, keys = self.table.counted_columns, self.counting.keys
        query = self._query([*(column.sql for column in counted), *keys])
        if not keys:
            self.cursor.execute(query)
            return [((), self._histogram(self.cursor.fetchnumpy()))]
        order = order_ascending(self.counting.key_names)
        values = self.cursor.execute(
            f"SELECT DISTINCT {', '.join(keys)} FROM {self.source} "
            f"WHERE {self.counting.condition} ORDER BY {order}"
        ).fetchall()
        moments = (moment(i) for i in range(len(self.counting.moments)))
        numbers = ", ".join(map(quote, (*(column.name for column in counted), PEOPLE, *moments)))
        self.cursor.execute(
            f"SELECT dense_rank() OVER (ORDER BY {order}) - 1 AS {KEY}, {numbers} "
            f"FROM ({query}) ORDER BY {KEY}"
        )
        columns = self.cursor.fetchnumpy()
        return Histograms(
            self.table.format.types,
            values,
            np.searchsorted(columns[KEY], np.arange(len(values) + 1)),
            tuple(columns[column.name] for column in counted),
            columns[PEOPLE],
            {pair: columns[moment(i)] for i, pair in enumerate(self.counting.moments)},
            self.table.format.unary,
        )

    def public_people(self) -> pa.Table:
        """People per combination of all public values, ascending, NULL last."""
        keys = [column.sql for column in self.table.public_columns]
        query = f"{self._query(keys, self.table.once)} ORDER BY {order_ascending(keys)}"
        rows = self.cursor.execute(query).fetchall()
        columns = zip(*rows, strict=True) if rows else ([] for _ in (*keys, PEOPLE))
        types = {column.name: ARROW_TYPES[column.type] for column in self.table.intake.public}
        types[PEOPLE] = pa.int64()
        arrays = map(pa.array, columns, types.values())
        return pa.table(list(arrays), names=list(types))

    def _histogram(self, columns: Mapping[str, NDArray[Any]]) -> Histogram:
        """The histogram of a result."""
        return Histogram.of(
            self.table.format.types,
            [columns[column.name] for column in self.table.counted_columns],
            columns[PEOPLE],
            {pair: columns[moment(i)] for i, pair in enumerate(self.counting.moments)},
            unary=self.table.format.unary,
        )

    def _query(self, groups: Sequence[str], condition: str = "true") -> str:
        """People and moments, by groups of columns."""
        keys = ", ".join(groups)
        every = (*self.table.counted_columns, *self.table.public_columns)
        is_counted = self.is_merged and {column.sql for column in every} <= set(groups)
        add = "" if is_counted else "sum"
        sums = "".join(
            f", {add}({each})::DOUBLE AS {moment(i)}" for i, each in enumerate(self._moments())
        )
        return (
            f"SELECT {keys}, {add}({COUNT_COLUMN})::BIGINT AS {PEOPLE}{sums} FROM {self.source} "
            f"WHERE {self.counting.condition} AND {condition} "
            f"{'' if is_counted else 'GROUP BY ALL'}"
        )

    def _moments(self) -> list[str]:
        """The amount that a row of the source adds to every moment."""
        if self.has_moments:
            return [moment(place) for place in range(len(self.counting.moments))]
        return [f"{COUNT_COLUMN} * {product}" for product in self.counting.products()]
