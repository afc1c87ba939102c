"""A snapshot of a store in a file beside it, which readers open in its place.

DuckDB lets a file be written by one process while no other has it open. Readers of the snapshot
do not have the store open between two questions: they load the snapshot into memory. It is a
store without reports and ids: surveys, batches, look-up tables, what is kept of decoded reports,
and the counts of equal reports of every survey that has few of them. It is put in its place whole
after every change, and says of which state of the store it is (`opening.find_state`), so that an
outdated one is told. Nobody writes into a snapshot, so what is most of it, the counts, the sums of
single parts, and what follows from designs, is read when it is needed, from the file that was
found, which stays open.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from ldpsql.sql.quoting import literal, quote
from ldpsql.store import fold
from ldpsql.store.copying import COPY, attach_new
from ldpsql.store.layout import (
    ALONE,
    FORMAT,
    LARGE,
    LOOKUPS,
    MARKER,
    Layout,
    create,
    lookup_table,
)
from ldpsql.store.opening import (
    Connection,
    explain_failures,
    find_state,
    open_memory,
    permit_as,
    transaction,
    write_whole,
)
from ldpsql.store.ownership import is_foreign

MOST_COUNTS = 250_000
"""Rows of a histogram that a snapshot holds; it leaves out a longer one."""
_TABLE = "ldpsql_snapshot"


def companion_of(path: Path) -> Path:
    """Where the snapshot of a store lies."""
    place = Path(os.path.realpath(path))
    return place.with_name(f"{place.name}.snapshot")


@dataclass(frozen=True)
class Snapshot:
    """A snapshot in memory.

    state: of the store when it was made.  made: when that was.
    """

    connection: Connection
    state: str
    made: datetime


def load(path: Path) -> Snapshot | None:
    """Read the snapshot of a store; None where there is none that this version can read."""
    companion = companion_of(path)
    if not _is_genuine(companion, path):
        return None
    connection = open_memory()
    try:
        state, made = _attach(connection, companion)
        _take(connection)
    except (duckdb.Error, ValueError):  # it was removed, or is damaged, or is something else
        connection.close()
        return None
    return Snapshot(connection, state, made.replace(tzinfo=UTC))


def _take(connection: Connection) -> None:
    """Copy what is attached into memory, but for counts, the sums of parts, and what follows from
    designs, for which views stand."""
    connection.execute("BEGIN")
    has_views = False
    for schema, name, comment in _list_tables(connection, COPY):
        place = f"{quote(schema)}.{quote(name)}"
        # Where a file that is open cannot be replaced, none is to stay open.
        is_large = schema == "main" and name.startswith(LARGE)
        is_view = os.name == "posix" and is_large
        has_views |= is_view
        if schema != "main":
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quote(schema)}")
        kind = "VIEW" if is_view else "TABLE"
        connection.execute(f"CREATE {kind} {place} AS FROM {COPY}.{place}")
        if comment is not None:
            connection.execute(f"COMMENT ON TABLE {place} IS {literal(comment)}")
    connection.execute("COMMIT")
    if not has_views:
        connection.execute(f"DETACH {COPY}")


def _list_tables(cursor: Connection, database: str) -> list[tuple[str, str, str | None]]:
    """Schema, name and comment of every table of a database."""
    query = "SELECT schema_name, table_name, comment FROM duckdb_tables() WHERE database_name = ?"
    return cursor.execute(query, [database]).fetchall()


def find_published(path: Path) -> str | None:
    """Of which state of a store its snapshot is; None where there is none, or one that more people
    may read than the store."""
    companion = companion_of(path)
    with suppress(duckdb.Error, ValueError, OSError):
        more = companion.stat().st_mode & ~path.stat().st_mode & 0o777
        if not more and _is_genuine(companion, path):
            with open_memory() as connection:
                return _attach(connection, companion)[0]
    return None


def _is_genuine(companion: Path, path: Path) -> bool:
    """Whether a file was put there by who may write to the store, as far as its owner tells."""
    try:
        found = companion.lstat()
        is_own = not is_foreign(found, companion.parent, path.stat().st_uid)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and is_own


def _attach(connection: Connection, companion: Path) -> tuple[str, datetime]:
    """Attach a snapshot: of which state it is, and when it was made; ValueError for one of another
    version."""
    connection.execute(f"ATTACH {literal(str(companion))} AS {COPY} (READ_ONLY)")
    [(state, made)] = connection.execute(
        f"SELECT state, made FROM {COPY}.{_TABLE}, {COPY}.{MARKER} WHERE format = {FORMAT}"
    ).fetchall()
    return state, made


def remove(path: Path) -> None:
    """Remove the snapshot of a store, which readers then open itself."""
    companion_of(path).unlink(missing_ok=True)


def publish(cursor: Connection, path: Path, layouts: Iterable[Layout]) -> None:
    """Put a snapshot of a store beside it.

    cursor: of the store, through which nobody writes meanwhile, and in no transaction.  layouts: of
    the surveys that can be read. StoreError where it cannot be written.
    """
    with suppress(duckdb.Error):  # where others read in this process, the log stays
        cursor.execute("CHECKPOINT")  # or closing the store would change its state
    state = find_state(path)
    companion = companion_of(path)
    with explain_failures(path):
        if companion.is_symlink():  # or the file that somebody has it lead to would be replaced
            companion.unlink()
    with write_whole(companion) as unfinished:
        with attach_new(cursor, unfinished), transaction(cursor):
            for statement in _statements(cursor, layouts):
                cursor.execute(statement)
            cursor.execute(
                f"CREATE TABLE {COPY}.{_TABLE} AS SELECT ?::VARCHAR AS state, ?::TIMESTAMP AS made",
                [state, datetime.now(UTC).replace(tzinfo=None)],
            )
        permit_as(path, unfinished)


def _statements(cursor: Connection, layouts: Iterable[Layout]) -> Iterable[str]:
    """The statements that fill a snapshot."""
    [(own,)] = cursor.execute("SELECT current_database()").fetchall()
    there = {(schema, name): comment for schema, name, comment in _list_tables(cursor, own)}
    for table in (MARKER, "surveys", "seen", "statements", ALONE):
        if ("main", table) in there:
            yield f"CREATE TABLE {COPY}.{table} AS FROM {table}"
    # The digests of files are of use to ingestion alone.
    yield f"CREATE TABLE {COPY}.batches AS SELECT * REPLACE (NULL::VARCHAR AS id) FROM batches"
    if ("main", "decoded") in there:
        last = "SELECT max(number) FROM batches b WHERE b.survey = d.survey"
        yield f"CREATE TABLE {COPY}.decoded AS FROM decoded d WHERE batch >= ({last})"
        for (key,) in cursor.execute(f"SELECT survey FROM {COPY}.decoded").fetchall():
            for table in (f"{kind}_{key}" for kind in ("parts", "sums", "whole", "derived")):
                if ("main", table) in there:  # sums of earlier versions lack what was derived
                    yield f"CREATE TABLE {COPY}.{quote(table)} AS FROM {quote(table)}"
    for layout in layouts:
        progress = fold.FoldProgress.of(cursor, layout)
        if progress.merged + progress.recent <= MOST_COUNTS:
            yield create(f"{COPY}.{layout.reports}", layout.kept_columns)
            yield from fold.merge_into(f"{COPY}.", layout, progress.counted)
    for (schema, name), comment in there.items():
        if schema == LOOKUPS:
            yield f"CREATE SCHEMA IF NOT EXISTS {COPY}.{LOOKUPS}"
            yield f"CREATE TABLE {COPY}.{lookup_table(name)} AS FROM {lookup_table(name)}"
            yield f"COMMENT ON TABLE {COPY}.{lookup_table(name)} IS {literal(comment)}"
