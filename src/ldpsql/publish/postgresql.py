"""Tables in a PostgreSQL database, with comments, by psycopg (`ldpsql[postgresql]`).

All of them are replaced in one transaction. A table whose columns stay is emptied and filled, so
that views and grants on it stay, too, and whoever reads meanwhile sees what was there before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pyarrow as pa

from ldpsql.publish.duckdb import comment_statements
from ldpsql.publish.tables import INDEX, AnswerTable, index_table
from ldpsql.sql import quote
from ldpsql_device.errors import NotSupportedError, StoreError

if TYPE_CHECKING:
    from psycopg import Cursor

_LOCK = 0x6C647073716C  # "ldpsql" in ASCII: two that publish at once wait for each other
_COLUMNS = """
SELECT c.relname, c.relkind::text, a.attname, format_type(a.atttypid, a.atttypmod)
FROM pg_class c LEFT JOIN pg_attribute a
  ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind NOT IN ('i', 'I', 't')
ORDER BY c.relname, a.attnum
"""
_TESTS = {
    "bigint": (pa.types.is_integer,),
    "double precision": (pa.types.is_floating, pa.types.is_decimal),
    "boolean": (pa.types.is_boolean,),
    "date": (pa.types.is_date,),
    "timestamp without time zone": (pa.types.is_timestamp,),
    "text": (pa.types.is_string, pa.types.is_large_string, pa.types.is_null),
}
Columns = Sequence[tuple[str, str]]
"""Names and PostgreSQL's types."""


def is_postgresql(place: str) -> bool:
    """Whether a target is such a database."""
    return place.startswith(("postgresql://", "postgres://"))


def without_password(url: str) -> str:
    """The address as it may be shown."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "postgresql://..."
    return f"postgresql://{parts.hostname or ''}{port}{parts.path}"


def publish_to_postgresql(tables: Sequence[AnswerTable], url: str) -> bool:
    """Whether anything changed. The tables are those of the first schema of the search path.

    NotSupportedError without psycopg, and for columns of a type that has no counterpart; StoreError
    where the database cannot be reached or does not let us, or has a table in the way.
    """
    try:
        import psycopg  # noqa: PLC0415  (optional)
    except ImportError:
        raise NotSupportedError(
            "publishing to PostgreSQL needs psycopg: pip install ldpsql[postgresql]"
        ) from None
    wanted = {table.name: _columns(table.name, table.rows) for table in tables}
    index = index_table(tables)
    place = without_password(url)
    try:
        psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:  # which may quote the password
        raise StoreError(f"{place} is not an address that PostgreSQL can read") from None
    try:
        with psycopg.connect(url) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            there = _tables(cursor)
            known = _digests(cursor) if INDEX in there else {}
            for name in there.keys() & (wanted.keys() - known.keys()):
                raise StoreError(
                    f"{place} has a table or view {name} that `ldpsql publish` did not make; "
                    "publish to a schema of its own: ?options=-csearch_path%3DNAME"
                )
            new = {table.name: table.digest for table in tables}
            if new == known and all(there.get(name) == kinds for name, kinds in wanted.items()):
                return False
            for name in known.keys() - new.keys():
                cursor.execute(_sql(f"DROP TABLE IF EXISTS {quote(name)}"))
            for table in tables:
                same = there.get(table.name) == wanted[table.name]
                if same and known.get(table.name) == table.digest:
                    continue
                _fill(cursor, table.name, table.rows, wanted[table.name], there)
                for statement in comment_statements(table):
                    cursor.execute(_sql(statement))
            _fill(cursor, INDEX, index, _columns(INDEX, index), there)
    except psycopg.Error as error:
        # Its first line may name the host and the user; the password is in none.
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise StoreError(f"{place}: {said}; nothing was changed") from None
    return True


def _sql(text: str) -> bytes:
    """A statement that is made here, of quoted names and literals."""
    return text.encode()


def _columns(name: str, rows: pa.Table) -> Columns:
    found = []
    for field in rows.schema:
        kind = next((k for k, known in _TESTS.items() if any(t(field.type) for t in known)), None)
        if kind is None:
            raise NotSupportedError(
                f"{name}: PostgreSQL has no column for {field.name}, which is {field.type}; "
                "publish to a folder or a DuckDB file"
            )
        found.append((field.name, kind))
    return found


def _tables(cursor: Cursor) -> dict[str, Columns | None]:
    """What is in the schema: columns of tables, None for views and whatever else has a name."""
    found: dict[str, Columns | None] = {}
    for name, kind, column, kind_of_column in cursor.execute(_COLUMNS).fetchall():
        if kind != "r":
            found[name] = None
            continue
        known = found.setdefault(name, [])
        assert isinstance(known, list)
        if column is not None:
            known.append((column, kind_of_column))
    return found


def _digests(cursor: Cursor) -> dict[str, str]:
    """Digests of the tables that were published before."""
    return dict(cursor.execute(_sql(f"SELECT table_name, digest FROM {INDEX}")).fetchall())


def _fill(
    cursor: Cursor,
    name: str,
    rows: pa.Table,
    columns: Columns,
    there: Mapping[str, Columns | None],
) -> None:
    """Replace the rows of a table; a new one where there is none with these columns."""
    if there.get(name) == columns:
        cursor.execute(_sql(f"DELETE FROM {quote(name)}"))
    else:
        cursor.execute(_sql(f"DROP TABLE IF EXISTS {quote(name)}"))
        declared = ", ".join(f"{quote(column)} {kind}" for column, kind in columns)
        cursor.execute(_sql(f"CREATE TABLE {quote(name)} ({declared})"))
    listed = ", ".join(quote(column) for column, _ in columns)
    with cursor.copy(_sql(f"COPY {quote(name)} ({listed}) FROM STDIN")) as copy:
        for batch in rows.to_batches(max_chunksize=10_000):
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                copy.write_row(row)
