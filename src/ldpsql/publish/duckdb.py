"""Tables in a DuckDB file of their own, with comments.

A new file takes the place of the old one whole. Programs that have the old one open for reading go
on with it until they open it again, and keep nobody from publishing.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from ldpsql.publish.tables import INDEX, AnswerTable, index_table
from ldpsql.sql import DUCKDB_SETTINGS, literal, quote
from ldpsql_device.atomic import replace_file
from ldpsql_device.errors import StoreError


def publish_to_duckdb(tables: Sequence[AnswerTable], target: Path) -> bool:
    """Whether the file changed: it holds these tables and no others then.

    StoreError for a file that publishing did not write, or that another program is writing; OSError
    as the file system does.
    """
    new = {table.name: table.digest for table in tables}
    if _digests(target) == new:
        return False
    # Made elsewhere: DuckDB would leave its log beside the file if it were killed.
    with tempfile.TemporaryDirectory(prefix="ldpsql-") as folder:
        made = Path(folder, "answers.duckdb")
        with duckdb.connect(made, config={**DUCKDB_SETTINGS}) as connection:
            for table in tables:
                _create(connection, table.name, table.rows)
                for statement in comment_statements(table):
                    connection.execute(statement)
            _create(connection, INDEX, index_table(tables))
        with replace_file(target) as temporary:
            shutil.copyfile(made, temporary)
    return True


def _create(connection: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
    connection.register("answers", rows)
    connection.execute(f"CREATE TABLE {quote(name)} AS FROM answers")
    connection.unregister("answers")


def comment_statements(table: AnswerTable) -> list[str]:
    """COMMENT ON the table and its columns, as DuckDB and PostgreSQL take it."""
    name = quote(table.name)
    statements = [f"COMMENT ON TABLE {name} IS {literal(table.comment)}"]
    for column, comment in zip(table.rows.column_names, table.comments, strict=True):
        value = literal(comment or None)
        statements.append(f"COMMENT ON COLUMN {name}.{quote(column)} IS {value}")
    return statements


def _digests(target: Path) -> dict[str, str] | None:
    """What the file holds: digests by table; None where there is no file."""
    if not target.exists():
        return None
    if target.with_name(f"{target.name}.wal").exists():
        raise StoreError(
            f"{target} is open for writing, or was when its program ended (there is "
            f"{target.name}.wal); close it, or publish to another file"
        )
    try:
        with duckdb.connect(target, read_only=True, config={**DUCKDB_SETTINGS}) as connection:
            names = "SELECT table_name FROM information_schema.tables"
            there = {name for (name,) in connection.execute(names).fetchall()}
            if INDEX in there:
                index = f"SELECT table_name, digest FROM {INDEX}"
                digests = dict(connection.execute(index).fetchall())
                if there == {INDEX, *digests}:
                    return digests
    except duckdb.Error as error:
        if "lock" in str(error):
            reason = "is open for writing in another program; close it there"
        else:
            reason = "is no DuckDB file that this version reads; publish to another file"
        raise StoreError(f"{target} {reason}") from None
    raise StoreError(
        f"{target} holds something that `ldpsql publish` did not write; publish to a file of its "
        "own"
    )
