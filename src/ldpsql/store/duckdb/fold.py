"""Counting equal reports, in SQL.

The histogram table holds counts of the reports of batches 1..counted; the reports of later
batches, its *tail*, are counted when they are read. `merge_if_worthwhile` moves the tail into the
table when there is enough of it and it shrinks by it, so that reading stays cheap and reports that
are nearly all different are not written twice. Unary reports, of which single bits are counted,
have no tail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ldpsql.sql import literal
from ldpsql.store.duckdb.layout import (
    BATCH_COLUMN,
    COUNT_COLUMN,
    Layout,
    names,
)
from ldpsql.store.duckdb.opening import Connection
from ldpsql_device.errors import StoreError
from ldpsql_device.schema import RESERVED_PREFIX

_WORD_BITS = 32
_SMALL = 10_000
_WORTHWHILE = 2
_FIRST, _BYTE, _SHIFT = (RESERVED_PREFIX + name for name in ("first", "byte", "shift"))


@dataclass(frozen=True)
class Progress:
    """How far the histogram of a survey goes.

    version: changes with the histogram.  counted: the last batch in the table.  merged: rows of
    the table when equal reports were last merged; it may have been appended to since.
    """

    version: int
    counted: int
    merged: int


def progress(cursor: Connection, layout: Layout) -> Progress:
    """The state of a survey's histogram."""
    row = cursor.execute(
        f"SELECT version, counted, merged FROM surveys WHERE name = {literal(layout.key)}"
    ).fetchone()
    if row is None:
        raise StoreError(f"the survey {layout.key} was removed from the store")
    return Progress(*row)


def counts(layout: Layout, counted: int) -> str:
    """A subquery: histogram rows, of which several may stand for equal reports."""
    table = f"SELECT {layout.counted_names}, {COUNT_COLUMN} FROM {layout.histogram}"
    if layout.format.unary:
        return f"({table})"
    tail = (
        f"SELECT {layout.counted_names}, 1::BIGINT AS {COUNT_COLUMN} FROM {layout.reports} "
        f"WHERE {BATCH_COLUMN} > {counted}"
    )
    return f"({table} UNION ALL {tail})"


def append(cursor: Connection, layout: Layout, reports: str) -> None:
    """Add the counts of a subquery of reports to the table."""
    for statement in _folds(layout, reports):
        cursor.execute(f"INSERT INTO {layout.histogram} {statement}")


def _folds(layout: Layout, reports: str) -> list[str]:
    """SELECTs whose rows together are the histogram of a subquery of reports."""
    keys = layout.counted_names
    if not layout.format.unary:
        return [f"SELECT {keys}, count(*) FROM ({reports}) GROUP BY {keys}"]
    words = range(len(layout.report_columns) - 1)
    return [_people(layout, reports), *(_bits_of_word(layout, word, reports) for word in words)]


def _people(layout: Layout, reports: str) -> str:
    """The rows with bit -1, which count reports."""
    public = "".join(f", {column.sql}" for column in layout.public_columns)
    return f"SELECT {layout.selector.sql}, -1{public}, count(*) FROM ({reports}) GROUP BY ALL"


def _bits_of_word(layout: Layout, number: int, reports: str) -> str:
    """One row per bit of a word, by way of one count per byte: faster than one sum per bit."""
    word = layout.report_columns[number + 1].sql
    keys = names((layout.selector, *layout.public_columns))
    public = "".join(f", {column.sql}" for column in layout.public_columns)
    by_byte = " UNION ALL ".join(
        f"SELECT {keys}, {_WORD_BITS * number + first} AS {_FIRST}, "
        f"({word}::UINTEGER >> {first}) & 255 AS {_BYTE}, count(*) AS {COUNT_COLUMN} "
        f"FROM ({reports}) GROUP BY ALL"
        for first in range(0, _WORD_BITS, 8)
    )
    return (
        f"SELECT {layout.selector.sql}, {_FIRST} + {_SHIFT}{public}, sum({COUNT_COLUMN}) "
        f"FROM ({by_byte}), range(8) AS shifts({_SHIFT}) WHERE ({_BYTE} >> {_SHIFT}) & 1 = 1 "
        "GROUP BY ALL"
    )


def tail(cursor: Connection, layout: Layout) -> int:
    """Reports that are kept but not in the table."""
    if layout.format.unary:
        return 0
    row = cursor.execute(
        "SELECT coalesce(sum(b.reports), 0)::BIGINT FROM batches b JOIN surveys s ON b.survey = "
        f"s.name AND b.number > s.counted WHERE b.kept AND s.name = {literal(layout.key)}"
    ).fetchone()
    return 0 if row is None else int(row[0])


def recent(cursor: Connection, layout: Layout) -> int:
    """Rows that a reader has to merge: the tail, and what was appended since the last merge."""
    appended = _rows(cursor, layout.histogram) - progress(cursor, layout).merged
    return appended + tail(cursor, layout)


def merge_if_worthwhile(cursor: Connection, layout: Layout, before: int) -> None:
    """After some batches: merge what is recent into the table if that pays.

    before: what was recent before them. It is looked at when it has doubled and is no less than the
    table, so that all merges together cost no more than a few passes over the reports.
    """
    now = recent(cursor, layout)
    if now < _SMALL or now.bit_length() == before.bit_length():
        return
    state = progress(cursor, layout)
    if now >= state.merged and _shrinks(cursor, layout, state, now):
        merge(cursor, layout)


def _shrinks(cursor: Connection, layout: Layout, state: Progress, rows: int) -> bool:
    """Whether merging would leave at most half of the recent rows."""
    if not layout.public_columns and _alphabet(layout) * _WORTHWHILE <= rows:
        return True
    source = counts(layout, state.counted)
    row = cursor.execute(
        f"SELECT count(*), approx_count_distinct(hash({layout.counted_names})) FROM {source}"
    ).fetchone()
    return row is not None and row[1] * _WORTHWHILE <= row[0]


def _alphabet(layout: Layout) -> float:
    """How many different rows a histogram without public columns can have."""
    if layout.format.unary:
        return float(sum(layout.format.bits) + layout.format.selectors)
    return math.exp2(layout.format.bits_per_report)


def merge(cursor: Connection, layout: Layout) -> None:
    """Rewrite the table with one row per report, the tail included."""
    state = progress(cursor, layout)
    if not layout.format.unary and _rows(cursor, layout.histogram) == 0:
        _replace(cursor, layout, _counted_reports(layout, state.counted))
        return
    keys = layout.counted_names
    _replace(
        cursor,
        layout,
        f"SELECT {keys}, sum({COUNT_COLUMN})::BIGINT AS {COUNT_COLUMN} "
        f"FROM {counts(layout, state.counted)} GROUP BY {keys}",
    )


def refresh(cursor: Connection, layout: Layout) -> None:
    """Count all reports anew; StoreError where some of them were deleted."""
    row = cursor.execute(
        f"SELECT count(*) FROM batches WHERE survey = {literal(layout.key)} AND NOT kept"
    ).fetchone()
    if row != (0,):
        raise StoreError(
            f"the histogram of {layout.key} cannot be counted anew: reports were deleted once "
            "counted"
        )
    if layout.format.unary:
        cursor.execute(layout.ddl()[1])
        append(cursor, layout, f"SELECT * FROM {layout.reports}")
        merge(cursor, layout)
        return
    _replace(cursor, layout, _counted_reports(layout, 0))


def _counted_reports(layout: Layout, after: int) -> str:
    """The histogram of the reports that came after a batch."""
    keys = layout.counted_names
    return (
        f"SELECT {keys}, count(*) AS {COUNT_COLUMN} FROM {layout.reports} "
        f"WHERE {BATCH_COLUMN} > {after} GROUP BY {keys}"
    )


def _replace(cursor: Connection, layout: Layout, query: str) -> None:
    """Put the rows of a query in the table's place, sorted so that a selector is found fast."""
    cursor.execute(
        f"CREATE OR REPLACE TABLE {layout.histogram} AS {query} ORDER BY {layout.selector.sql}"
    )
    cursor.execute(
        f"UPDATE surveys SET merged = {_rows(cursor, layout.histogram)}, counted = coalesce(("
        f"SELECT max(number) FROM batches WHERE survey = {literal(layout.key)}), 0) "
        f"WHERE name = {literal(layout.key)}"
    )


def _rows(cursor: Connection, source: str) -> int:
    row = cursor.execute(f"SELECT count(*) FROM {source}").fetchone()
    return 0 if row is None else int(row[0])
