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

from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql.sql.arrow_arrays import gather
from ldpsql.sql.quoting import literal
from ldpsql.store import fold
from ldpsql.store.known import KnownIds, hash_ids
from ldpsql.store.layout import (
    BATCH_COLUMN,
    LAST,
    LAST_COLUMN,
    OWN_ID,
    Layout,
    create,
)
from ldpsql.store.opening import Connection

TABLE = "ldpsql_arrived"
"""The temporary table of reports that are no repeats, while a batch is taken."""
_INCOMING, _NEW, _REMEMBERED = "ldpsql_incoming", "ldpsql_new", "ldpsql_remembered"
_AT_ONCE, _PART, _MOST_PARTS = 1 << 16, 1 << 18, 32
"""Rows that go into the table at once; new ids that are looked for at once, in how many parts at
most, because ids that came in many commits are in no order and read for each."""


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
    cursor.execute(create(TABLE, (*layout.kept_columns, *own_id), "TEMP TABLE"))
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
        cursor.execute(create(TABLE, layout.kept_columns[1:], "TEMP TABLE"))
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
        own = f"{LAST_COLUMN} = {literal(last)}"
        cursor.execute(create(TABLE, (OWN_ID, LAST), "TEMP TABLE"))
        cursor.execute(f"INSERT INTO {TABLE} FROM {layout.ids} WHERE {own}")
        cursor.execute(f"DELETE FROM {layout.ids} WHERE {own}")
        for digit in "0123456789abcdef":  # a sixteenth at once, for DuckDB sorts in memory
            first, final = (f"UUID '{UUID(digit + 31 * rest)}'" for rest in "0f")
            part = f"{ID_COLUMN} BETWEEN {first} AND {final}"
            ordered = f"FROM {TABLE} WHERE {part} ORDER BY {ID_COLUMN}"
            cursor.execute(f"INSERT INTO {layout.ids} {ordered}")
    cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")


def _drop_repeats(
    cursor: Connection, layout: Layout, arrived: int, last: date, known: KnownIds | None
) -> int:
    """Delete repeats from the temporary table and remember the ids of the others; how many.

    Ids are sorted, as they are kept. So none of them came twice where each is larger than the one
    before it, whatever DuckDB takes for that one; and those that are remembered are looked for
    part by part.
    """
    cursor.execute(create(_NEW, (OWN_ID,), "TEMP TABLE"))
    cursor.execute(f"INSERT INTO {_NEW} SELECT {ID_COLUMN} FROM {TABLE} ORDER BY {ID_COLUMN}")
    compared = f"SELECT {ID_COLUMN} > lag({ID_COLUMN}) OVER () AS is_larger FROM {_NEW}"
    counted = f"SELECT count(*) FROM ({compared}) WHERE is_larger"
    [(larger,)] = cursor.execute(counted).fetchall()
    firsts = f"SELECT min(rowid) FROM {TABLE} GROUP BY {ID_COLUMN}"
    is_repeat = [f"rowid NOT IN ({firsts})"] if larger < arrived - 1 else []
    cursor.execute(create(_REMEMBERED, (OWN_ID,), "TEMP TABLE"))
    for remembered, new in _split(arrived) if known is None else _suspect(cursor, known):
        cursor.execute(
            f"INSERT INTO {_REMEMBERED} "
            f"FROM (SELECT {ID_COLUMN} FROM {layout.ids} WHERE {remembered}) "
            f"SEMI JOIN (FROM {_NEW} WHERE {new}) USING ({ID_COLUMN})"
        )
    if cursor.execute(f"FROM {_REMEMBERED} LIMIT 1").fetchall():
        is_repeat.append(f"{ID_COLUMN} IN (FROM {_REMEMBERED})")
    ids = _NEW
    if is_repeat:
        deleted = cursor.execute(f"DELETE FROM {TABLE} WHERE {' OR '.join(is_repeat)}").fetchall()
        arrived -= deleted[0][0]
        ids = f"(SELECT {ID_COLUMN} FROM {TABLE} ORDER BY {ID_COLUMN})"
    until = literal(last)
    cursor.execute(f"INSERT INTO {layout.ids} SELECT {ID_COLUMN}, {until} FROM {ids}")
    for name in (_NEW, _REMEMBERED):
        cursor.execute(f"DROP TABLE {name}")
    return arrived


def _split(arrived: int) -> Iterator[tuple[str, str]]:
    """Conditions on remembered and on new ids that divide both into parts that match.

    A part of the new ones fits into a processor's cache, and ids are kept in sorted runs, of which
    DuckDB reads little else.
    """
    count = min(_MOST_PARTS, 1 + arrived // _PART)
    for place in range(count):
        first, final = (place << 128) // count, (place + 1 << 128) // count - 1
        part = f"{ID_COLUMN} BETWEEN UUID '{UUID(int=first)}' AND UUID '{UUID(int=final)}'"
        yield part, part


def _suspect(cursor: Connection, known: KnownIds) -> Iterator[tuple[str, str]]:
    """The same for those of the new ids that may be remembered, if any. All are added."""
    new = cursor.sql(hash_ids(_NEW, ", rowid")).to_arrow_table()
    hashes = new.column("hashed").to_numpy()
    rows = new.column("rowid").to_numpy()[known.find(hashes)]
    known.add(hashes)
    if len(rows):
        yield "true", f"rowid IN ({', '.join(map(str, rows.tolist()))})"
