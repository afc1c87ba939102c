"""Taking the surveys of one store into another: batches, ids, reports and counts.

A batch that both have, by its file's digest, stays as it is; what else both may have is for
`rules` to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql.sql.quoting import literal
from ldpsql.store import decoded, fold
from ldpsql.store.layout import (
    BATCH_COLUMN,
    COUNT_COLUMN,
    LAST,
    LAST_COLUMN,
    OWN_ID,
    Layout,
    create,
)
from ldpsql.store.opening import Connection
from ldpsql.store.rules import BatchIds, Imported, require_explained, require_reports

_ROWS = 100_000
_INCOMING, _IDS = "ldpsql_incoming", "ldpsql_imported"
_COLUMNS = "number, id, name, reports, skipped, kept, day, taken, withdrawn, withdrawn_on"


def take(source: Connection, cursor: Connection, layout: Layout, oldest: date) -> Imported:
    """Add what another store has of a survey.

    source, cursor: of the other store and of this one, which has the survey already, each within a
    transaction.  oldest: ids that were to be remembered until a day before this one are forgotten.
    What the reports decode to is left to the caller. DataError for what cannot be told apart.
    """
    theirs, ours = _batches(source, layout), _batches(cursor, layout)
    common = {own: theirs[own].number for own in theirs if own in ours}
    pairs = [(theirs[own], ours[own]) for own in common]
    require_reports(layout.key, (their for their, _ in pairs))
    cursor.execute(create(_IDS, (OWN_ID, LAST), "TEMP TABLE"))
    ids = f"SELECT {ID_COLUMN}::VARCHAR, {LAST_COLUMN} FROM {layout.ids}"
    _insert(source, ids, cursor, f"INSERT INTO {_IDS} SELECT * FROM")
    their_days, our_days = (
        {day for (day,) in cursor.execute(f"SELECT DISTINCT {LAST_COLUMN} FROM {table}").fetchall()}
        for table in (_IDS, layout.ids)
    )
    shared = cursor.execute(
        f"SELECT {LAST_COLUMN}, count(*) FROM {_IDS} SEMI JOIN {layout.ids} USING ({ID_COLUMN}) "
        "GROUP BY ALL"
    ).fetchall()
    require_explained(layout.key, pairs, their_days, our_days, dict(shared))
    _take_ids(cursor, layout, oldest)
    key = literal(layout.key)
    offset = decoded.find_last_batch(cursor, layout.key)
    listed = ", ".join(map(str, common.values())) or "-1"
    rows = source.execute(
        f"SELECT {_COLUMNS} FROM batches WHERE survey = {key} AND number NOT IN ({listed}) "
        "ORDER BY number"
    ).fetchall()
    for number, *rest in rows:
        marks = ", ".join("?" for _ in rest)
        cursor.execute(f"INSERT INTO batches VALUES ({key}, {number + offset}, {marks})", rest)
    _take_reports(source, cursor, layout, listed, offset)
    reports = sum(row[3] for row in rows)
    return Imported(layout.intake.table, reports, len(rows), len(common))


def _batches(cursor: Connection, layout: Layout) -> Mapping[str, BatchIds]:
    """The batches of a survey that have an id."""
    rows = cursor.execute(
        "SELECT id, number, taken, coalesce(withdrawn, reports), kept OR reports = 0 FROM batches "
        "WHERE survey = ? AND id IS NOT NULL",
        [layout.key],
    ).fetchall()
    days = layout.intake.schedule
    return {
        own: BatchIds(number, taken and days.last_sending_day(taken), people, not is_kept)
        for own, number, taken, people, is_kept in rows
    }


def _insert(source: Connection, query: str, cursor: Connection, into: str) -> None:
    """Insert the rows of a query to another store, piece by piece."""
    for batch in source.sql(query).to_arrow_reader(_ROWS):
        cursor.register(_INCOMING, batch)
        cursor.execute(f"{into} {_INCOMING}")
        cursor.unregister(_INCOMING)


def _take_ids(cursor: Connection, layout: Layout, oldest: date) -> None:
    """Remember the other store's ids, each for as long as one of the two would."""
    day = literal(oldest)
    cursor.execute(
        f"DELETE FROM {layout.ids} WHERE {ID_COLUMN} IN (SELECT {ID_COLUMN} FROM {_IDS} i JOIN "
        f"{layout.ids} o USING ({ID_COLUMN}) WHERE i.{LAST_COLUMN} > o.{LAST_COLUMN})"
    )
    cursor.execute(
        f"INSERT INTO {layout.ids} SELECT {ID_COLUMN}, {LAST_COLUMN} FROM {_IDS} ANTI JOIN "
        f"{layout.ids} USING ({ID_COLUMN}) WHERE {LAST_COLUMN} >= {day} ORDER BY {ID_COLUMN}"
    )
    cursor.execute(f"DROP TABLE {_IDS}")


def _take_reports(
    source: Connection, cursor: Connection, layout: Layout, left_out: str, offset: int
) -> None:
    """Add the reports of all batches but some, and the counts of those that were deleted."""
    _insert(
        source,
        f"SELECT {BATCH_COLUMN} + {offset}, {layout.columns} FROM {layout.reports} "
        f"WHERE {BATCH_COLUMN} NOT IN ({left_out})",
        cursor,
        f"INSERT INTO {layout.reports} FROM",
    )
    if layout.format.unary:
        new = f"SELECT * FROM {layout.reports} WHERE {BATCH_COLUMN} > {offset}"
        fold.append(cursor, layout, new)
    fold.recount(source, layout, "true")
    _insert(
        source,
        f"SELECT {layout.keys}, sum({COUNT_COLUMN})::BIGINT FROM (FROM {layout.histogram} "
        f"UNION ALL SELECT {layout.keys}, -{COUNT_COLUMN} FROM {fold.RECOUNT}) "
        f"GROUP BY {layout.keys} HAVING sum({COUNT_COLUMN}) <> 0",
        cursor,
        f"INSERT INTO {layout.histogram} FROM",
    )
    source.execute(f"DROP TABLE {fold.RECOUNT}")
