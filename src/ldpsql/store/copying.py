"""Copies of a store: some of its surveys in a new file, or all of them in its own place.

What was deleted stays in a file until DuckDB writes over it; a copy does not have it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ldpsql.reports.atomic import flush_file
from ldpsql.sql.quoting import literal, quote
from ldpsql.store.layout import ALONE, MARKER, survey_tables
from ldpsql.store.opening import (
    Connection,
    connect,
    disconnect,
    permit_as,
    write_whole,
)
from ldpsql_device.errors import StoreError

COPY = "ldpsql_copy"
"""The name of another database while statements copy to it, or from it."""


def export(cursor: Connection, target: Path, keys: Sequence[str]) -> None:
    """Write surveys to a new store, which appears whole or not at all.

    keys: their names in lower case; none for all, and look-up tables. Nobody may write through the
    cursor's store meanwhile. StoreError for a file that is there, and as the file system says.
    """
    if target.exists():
        raise StoreError(f"{target} already exists; name another file")
    with write_whole(target) as unfinished:
        _fill(cursor, unfinished, keys)
        flush_file(unfinished)  # which takes a while, in which somebody may make the other file
        if target.exists():
            raise StoreError(f"{target} was created by somebody else meanwhile; name another file")


def vacuum(path: Path, patience: float) -> None:
    """Put a copy of a store in its place, which nothing has that was deleted.

    Others wait as for any writer. Who is killed leaves the store as it was. StoreError as `connect`
    and where there is no room for the copy.
    """
    connection = connect(path, read_only=False, patience=patience)
    try:
        # The old file is locked until it is gone; who opens its name from then on has the new one,
        # and who has opened the old one without its lock looks again.
        with write_whole(path) as unfinished:
            connection.execute("CHECKPOINT")  # or its log would be taken for one of the copy
            _fill(connection, unfinished, ())
            permit_as(path, unfinished)
    finally:
        disconnect(connection, path)


def _fill(cursor: Connection, unfinished: Path, keys: Sequence[str]) -> None:
    """Copy surveys, or everything, into a new file."""
    with attach_new(cursor, unfinished):
        if not keys:
            copy_all(cursor)
        for table, condition in _find_tables(cursor, keys) if keys else ():
            cursor.execute(
                f"CREATE TABLE {COPY}.main.{quote(table)} AS FROM {quote(table)} WHERE {condition}"
            )


@contextmanager
def attach_new(cursor: Connection, path: Path) -> Iterator[None]:
    """A new database, `COPY`, in a file that is whole at the end."""
    cursor.execute(f"ATTACH {literal(str(path))} AS {COPY} (READ_WRITE)")
    try:
        yield
        cursor.execute(f"CHECKPOINT {COPY}")
    finally:
        cursor.execute(f"DETACH {COPY}")


def copy_all(cursor: Connection) -> None:
    """Copy everything into `COPY`."""
    [(source,)] = cursor.execute("SELECT current_database()").fetchall()
    cursor.execute(f"COPY FROM DATABASE {quote(source)} TO {COPY}")


def _find_tables(cursor: Connection, keys: Sequence[str]) -> list[tuple[str, str]]:
    """The tables that surveys need, and which of their rows."""
    listed = ", ".join(map(literal, keys))
    conditions = {MARKER: "true", "seen": "true", "surveys": f"name IN ({listed})"}
    of_surveys = ("batches", "decoded", ALONE, "statements")
    conditions |= dict.fromkeys(of_surveys, f"survey IN ({listed})")
    conditions |= {table: "true" for key in keys for table in survey_tables(key)}
    there = cursor.execute(
        "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() "
        "AND schema_name = 'main'"
    ).fetchall()
    return [(table, conditions[table]) for (table,) in there if table in conditions]
