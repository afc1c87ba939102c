"""Counting equal reports, in SQL.

The histogram table holds counts of the reports of batches 1..counted; the reports of later
batches, its *tail*, are counted when they are read. `merge_if_worthwhile` moves the tail into the
table when there is enough of it and it shrinks by it, so that reading stays cheap and reports that
are nearly all different are not written twice. Unary reports, of which single bits are counted,
have no tail.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ldpsql.sql.quoting import literal
from ldpsql.store.counting import count_reports
from ldpsql.store.layout import BATCH_COLUMN, COUNT_COLUMN, Layout, create
from ldpsql.store.opening import Connection
from ldpsql_device.errors import StoreError

RECOUNT = "ldpsql_recount"
_SMALL = 10_000
_WORTHWHILE = 2


@dataclass(frozen=True)
class FoldProgress:
    """How far the histogram of a survey goes.

    counted: the last batch in the table.  merged: rows of the table when equal reports were last
    merged.  recent: rows that a reader has to merge: what was appended since then, and the tail.
    """

    counted: int
    merged: int
    recent: int

    @classmethod
    def of(cls, cursor: Connection, layout: Layout) -> FoldProgress:
        """As the cursor sees it; StoreError for a survey that is not in the store."""
        key = literal(layout.key)
        rows = cursor.execute(
            f"SELECT counted, merged, (SELECT count(*) FROM {layout.histogram}) FROM surveys "
            f"WHERE name = {key}"
        ).fetchall()
        if not rows:
            raise StoreError(f"the survey {layout.key} was removed from the store")
        [(counted, merged, size)] = rows
        # A statement of its own takes half as long as a subquery that depends on another one.
        tail = sum_reports(cursor, layout, f"kept AND number > {counted}")
        return cls(counted, merged, size - merged + (0 if layout.format.unary else tail))


def sum_reports(cursor: Connection, layout: Layout, condition: str) -> int:
    """How many reports the batches of a survey have of which a condition holds."""
    query = "SELECT coalesce(sum(reports), 0)::BIGINT FROM batches WHERE survey = ? AND "
    [(reports,)] = cursor.execute(query + condition, [layout.key]).fetchall()
    return int(reports)


def counts(layout: Layout, counted: int) -> str:
    """A subquery: histogram rows, of which several may stand for equal reports."""
    table = f"SELECT {layout.keys}, {COUNT_COLUMN} FROM {layout.histogram}"
    if layout.format.unary:
        return f"({table})"
    tail = (
        f"SELECT {layout.keys}, 1::BIGINT AS {COUNT_COLUMN} FROM {layout.reports} "
        f"WHERE {BATCH_COLUMN} > {counted}"
    )
    return f"({table} UNION ALL {tail})"


def append(cursor: Connection, layout: Layout, reports: str, into: str | None = None) -> None:
    """Add the counts of a subquery of reports to the table, or to another one of its columns."""
    for query in count_reports(layout, reports):
        cursor.execute(f"INSERT INTO {into or layout.histogram} {query}")


def merge_if_worthwhile(cursor: Connection, layout: Layout, before: int) -> bool:
    """After some batches: merge what is recent into the table if that pays; whether it did.

    before: what was recent before them. It is looked at when it has doubled and is no less than the
    table, so that all merges together cost no more than a few passes over the reports.
    """
    progress = FoldProgress.of(cursor, layout)
    now = progress.recent
    has_doubled = now >= _SMALL and now.bit_length() != before.bit_length()
    pays = has_doubled and now >= progress.merged and _shrinks(cursor, layout, progress)
    if pays:
        merge(cursor, layout)
    return pays


def _shrinks(cursor: Connection, layout: Layout, progress: FoldProgress) -> bool:
    """Whether merging would leave at most half of the recent rows."""
    form = layout.format
    if not layout.public_columns:  # then there is a limit to how many different rows there can be
        bits = float(sum(form.bits) + form.types)
        most = bits if form.unary else math.exp2(form.bits_per_report)
        if most * _WORTHWHILE <= progress.recent:
            return True
    [(rows, different)] = cursor.execute(
        f"SELECT count(*), approx_count_distinct(hash({layout.keys})) "
        f"FROM {counts(layout, progress.counted)}"
    ).fetchall()
    return bool(different * _WORTHWHILE <= rows)


def merge(cursor: Connection, layout: Layout) -> None:
    """Rewrite the table with one row per report, the tail included, sorted by report type so that
    one type is read fast."""
    for statement in merge_into("", layout, FoldProgress.of(cursor, layout).counted):
        cursor.execute(statement)


def merge_into(database: str, layout: Layout, counted: int) -> tuple[str, str]:
    """The statements that do so, or that count all reports into the table of a copy of the store.

    database: the name of the copy and a dot, or nothing.  counted: the last batch in the table.
    """
    keys, key, table = layout.keys, literal(layout.key), f"{database}{layout.histogram}"
    return (
        f"CREATE OR REPLACE TABLE {table} AS SELECT {keys}, sum({COUNT_COLUMN})::BIGINT "
        f"AS {COUNT_COLUMN} FROM {counts(layout, counted)} GROUP BY {keys} "
        f"HAVING sum({COUNT_COLUMN}) <> 0 ORDER BY {layout.report_type.sql}",
        f"UPDATE {database}surveys SET merged = (SELECT count(*) FROM {table}), counted = "
        f"coalesce((SELECT max(number) FROM batches WHERE survey = {key}), 0) WHERE name = {key}",
    )


def refresh(cursor: Connection, layout: Layout) -> None:
    """Count all reports anew; StoreError where some of them were deleted."""
    key = literal(layout.key)
    deleted = f"SELECT count(*) FROM batches WHERE survey = {key} AND NOT kept"
    if cursor.execute(deleted).fetchall() != [(0,)]:
        raise StoreError(
            f"the histogram of {layout.key} cannot be counted anew: reports were deleted once "
            "counted"
        )
    count_anew(cursor, layout)


def count_anew(cursor: Connection, layout: Layout) -> None:
    """Count the reports that are there, and nothing else."""
    cursor.execute(layout.ddl[1])
    key = literal(layout.key)
    cursor.execute(f"UPDATE surveys SET counted = 0, merged = 0 WHERE name = {key}")
    if layout.format.unary:
        append(cursor, layout, f"SELECT * FROM {layout.reports}")
    merge(cursor, layout)


def recount(cursor: Connection, layout: Layout, batches: str) -> None:
    """Count the reports of some batches that are in the table into a temporary one, `RECOUNT`.

    batches: a condition on their numbers.
    """
    counted = "true"
    if not layout.format.unary:
        counted = f"{BATCH_COLUMN} <= {FoldProgress.of(cursor, layout).counted}"
    cursor.execute(create(RECOUNT, layout.histogram_columns, "TEMP TABLE"))
    reports = f"SELECT * FROM {layout.reports} WHERE {batches} AND {counted}"
    append(cursor, layout, reports, RECOUNT)


def withdraw(cursor: Connection, layout: Layout, numbers: Sequence[int]) -> None:
    """Delete the reports of some batches, of which all are there, and take them out of the table.

    Counts are whole numbers: what is left is what would be there had they never come.
    """
    own = f"{BATCH_COLUMN} IN ({', '.join(map(str, numbers))})"
    recount(cursor, layout, own)
    cursor.execute(f"DELETE FROM {layout.reports} WHERE {own}")
    if cursor.execute(f"FROM {RECOUNT} LIMIT 1").fetchall():
        cursor.execute(
            f"INSERT INTO {layout.histogram} SELECT {layout.keys}, -{COUNT_COLUMN} FROM {RECOUNT}"
        )
        merge(cursor, layout)
    cursor.execute(f"DROP TABLE {RECOUNT}")


def delete_reports(cursor: Connection, layout: Layout, numbers: Sequence[int]) -> None:
    """Delete the reports of some batches, once they are counted."""
    listed = ", ".join(map(str, numbers))
    if not layout.format.unary and max(numbers) > FoldProgress.of(cursor, layout).counted:
        merge(cursor, layout)
    cursor.execute(f"DELETE FROM {layout.reports} WHERE {BATCH_COLUMN} IN ({listed})")
    own = f"survey = {literal(layout.key)} AND number IN ({listed})"
    cursor.execute(f"UPDATE batches SET kept = false WHERE {own}")
