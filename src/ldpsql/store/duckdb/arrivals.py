"""Reports on their way into a DuckDB store: those whose ids are known are dropped.

A file or a body of any size waits in a temporary table, together with its ids. What is new goes
from there to the survey's tables, ids and reports each in an order of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

import pyarrow as pa

from ldpsql.sql import literal
from ldpsql.store.duckdb.layout import OWN_ID, Layout, create
from ldpsql.store.duckdb.opening import Connection
from ldpsql_device.arrow import ID_COLUMN

TABLE = "ldpsql_arrived"
"""The temporary table of reports that are no repeats, while a batch is taken."""
_INCOMING, _FIRST = "ldpsql_incoming", "ldpsql_first"


def receive(
    cursor: Connection, layout: Layout, reports: Iterable[pa.RecordBatch], last: date
) -> int:
    """Fill the temporary table and remember the new ids; how many reports are new.

    last: until which day the ids are remembered. Of several reports with one id the first counts.
    A survey of shuffled reports has no ids, and nothing is dropped.
    """
    has_ids, arrived = layout.intake.shuffled is None, 0
    columns = (*layout.report_columns, *layout.public_columns, *([OWN_ID] if has_ids else []))
    cursor.execute(create(TABLE, columns, "TEMP TABLE"))
    for batch in reports:
        cursor.register(_INCOMING, batch)
        cursor.execute(f"INSERT INTO {TABLE} FROM {_INCOMING}")
        arrived += batch.num_rows
    return _drop_repeats(cursor, layout, arrived, last) if has_ids else arrived


def _drop_repeats(cursor: Connection, layout: Layout, arrived: int, last: date) -> int:
    known = f"SELECT {ID_COLUMN} FROM {layout.ids} SEMI JOIN {TABLE} USING ({ID_COLUMN})"
    cursor.execute(
        f"CREATE OR REPLACE TEMP TABLE {_FIRST} AS SELECT min(rowid) AS row FROM {TABLE} "
        f"WHERE {ID_COLUMN} NOT IN ({known}) GROUP BY {ID_COLUMN}"
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
