"""Reports on their way into a DuckDB store: those whose ids are known are dropped.

A file or a body of any size waits in a temporary table, together with its ids. What is new goes
from there to the survey's tables, ids and reports each in an order of their own. What comes one by
one is put in order later, many commits at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from uuid import UUID

import numpy as np
import pyarrow as pa

from ldpsql.arrow_arrays import gather
from ldpsql.sql import literal
from ldpsql.store.counting import Column
from ldpsql.store.duckdb import fold
from ldpsql.store.duckdb.known import KnownIds, hash_ids
from ldpsql.store.duckdb.layout import (
    BATCH_COLUMN,
    LAST,
    LAST_COLUMN,
    OWN_ID,
    Layout,
    create,
)
from ldpsql.store.duckdb.opening import Connection
from ldpsql_device.arrow import ID_COLUMN

TABLE = "ldpsql_arrived"
"""The temporary table of reports that are no repeats, while a batch is taken."""
_INCOMING, _FIRST = "ldpsql_incoming", "ldpsql_first"
_BATCH = Column(BATCH_COLUMN, "UINTEGER")
_AT_ONCE = 1 << 16


def receive(
    cursor: Connection,
    layout: Layout,
    files: Sequence[Iterable[pa.RecordBatch]],
    number: int,
    last: date,
    known: KnownIds | None,
) -> list[int]:
    """Fill the temporary table and remember the new ids; how many reports of each file are new.

    number: of the batch of the first file; the others follow.  last: until which day the ids are
    remembered.  known: which ids may be there, to which the new ones are added; all are looked for
    without. Of several reports with one id the first counts. A survey of shuffled reports has no
    ids, and nothing is dropped.
    """
    has_ids, arrived = layout.intake.shuffled is None, 0
    own_id = (OWN_ID,) if has_ids else ()
    cursor.execute(create(TABLE, (_BATCH, *_columns(layout), *own_id), "TEMP TABLE"))
    for rows in gather(_number(files, number), _AT_ONCE):
        cursor.register(_INCOMING, rows)
        cursor.execute(f"INSERT INTO {TABLE} FROM {_INCOMING}")
        arrived += rows.num_rows
    new = _drop_repeats(cursor, layout, arrived, last, known) if has_ids else arrived
    if len(files) == 1:
        return [new]
    counted = f"SELECT {BATCH_COLUMN}, count(*) FROM {TABLE} GROUP BY ALL"
    by_batch = dict(cursor.execute(counted).fetchall())
    return [by_batch.get(number + place, 0) for place in range(len(files))]


def _number(files: Sequence[Iterable[pa.RecordBatch]], first: int) -> Iterator[pa.RecordBatch]:
    """The reports of files with the numbers of their batches."""
    for number, file in enumerate(files, first):
        for rows in file:
            own = np.full(rows.num_rows, number, dtype=np.uint32)
            yield rows.add_column(0, BATCH_COLUMN, pa.array(own))


def tidy(cursor: Connection, layout: Layout) -> None:
    """Make one batch of every day and source of what came in commits of its own; see `Store.tidy`.

    A batch is either counted in the histogram or in its tail, so one that is partly counted stays
    in two parts until the next merge.
    """
    counted = fold.FoldProgress.of(cursor, layout).counted
    groups = cursor.execute(
        "SELECT name, day, list(number), max(number), sum(reports)::BIGINT FROM batches "
        "WHERE survey = ? AND kept AND day IS NOT NULL "
        f"GROUP BY name, day, number <= {counted} HAVING count(*) > 1",
        [layout.key],
    ).fetchall()
    for name, day, numbers, number, reports in groups:
        commits = ", ".join(map(str, numbers))
        own = f"{BATCH_COLUMN} IN ({commits})"
        cursor.execute(create(TABLE, _columns(layout), "TEMP TABLE"))
        cursor.execute(
            f"INSERT INTO {TABLE} SELECT {layout.columns} FROM {layout.reports} WHERE {own}"
        )
        cursor.execute(f"DELETE FROM {layout.reports} WHERE {own}")
        ordered = f"SELECT {number}, * FROM {TABLE} ORDER BY {layout.columns}"
        cursor.execute(f"INSERT INTO {layout.reports} {ordered}")
        cursor.execute(
            f"DELETE FROM batches WHERE survey = ? AND number IN ({commits})", [layout.key]
        )
        row = [layout.key, number, None, name, reports, 0, True, day, day]
        cursor.execute("INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)", row)
    for last in {layout.intake.schedule.last_sending_day(day) for _, day, *_ in groups}:
        own = f"{LAST_COLUMN} = DATE {literal(last.isoformat())}"
        cursor.execute(create(TABLE, (OWN_ID, LAST), "TEMP TABLE"))
        cursor.execute(f"INSERT INTO {TABLE} FROM {layout.ids} WHERE {own}")
        cursor.execute(f"DELETE FROM {layout.ids} WHERE {own}")
        for digit in "0123456789abcdef":  # a sixteenth at once, for DuckDB sorts in memory
            first, final = (f"UUID '{UUID(digit + 31 * rest)}'" for rest in "0f")
            part = f"{ID_COLUMN} BETWEEN {first} AND {final}"
            ordered = f"FROM {TABLE} WHERE {part} ORDER BY {ID_COLUMN}"
            cursor.execute(f"INSERT INTO {layout.ids} {ordered}")
    cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")


def _columns(layout: Layout) -> tuple[Column, ...]:
    return (*layout.report_columns, *layout.public_columns)


def _drop_repeats(
    cursor: Connection, layout: Layout, arrived: int, last: date, known: KnownIds | None
) -> int:
    looked_for = TABLE if known is None else _suspect(cursor, known)
    there = f"SELECT {ID_COLUMN} FROM {layout.ids} SEMI JOIN {looked_for} USING ({ID_COLUMN})"
    is_new = f"WHERE {ID_COLUMN} NOT IN ({there}) " if looked_for else ""
    cursor.execute(
        f"CREATE OR REPLACE TEMP TABLE {_FIRST} AS SELECT min(rowid) AS row FROM {TABLE} "
        f"{is_new}GROUP BY {ID_COLUMN}"
    )
    [(new,)] = cursor.execute(f"SELECT count(*) FROM {_FIRST}").fetchall()
    if new < arrived:
        cursor.execute(f"DELETE FROM {TABLE} WHERE rowid NOT IN (SELECT row FROM {_FIRST})")
    cursor.execute(f"DROP TABLE {_FIRST}")
    cursor.execute(
        f"INSERT INTO {layout.ids} SELECT {ID_COLUMN}, DATE {literal(last.isoformat())} "
        f"FROM {TABLE} ORDER BY {ID_COLUMN}"
    )
    return int(new)


def _suspect(cursor: Connection, known: KnownIds) -> str:
    """Those of the arrived whose ids may be there, as a subquery; "" for none. All are added."""
    arrived = cursor.sql(hash_ids(TABLE, ", rowid")).to_arrow_table()
    hashes = arrived.column("hashed").to_numpy()
    rows = arrived.column("rowid").to_numpy()[known.find(hashes)]
    known.add(hashes)
    listed = ", ".join(map(str, rows.tolist()))
    return f"(SELECT {ID_COLUMN} FROM {TABLE} WHERE rowid IN ({listed}))" if listed else ""
