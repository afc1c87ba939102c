"""The DuckDB file or folder of Parquet files that tables are written to.

Both are made anew beside the old one and take its place whole. A folder takes two renames for that:
a process that is killed between them leaves the old tables in a hidden folder beside it. Only what
publishing wrote is ever replaced: the table `INDEX` lists it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from ldpsql.reports.atomic import flush_file, lock_file, replace_file
from ldpsql.sql.quoting import DUCKDB_SETTINGS
from ldpsql.workbench.publish.queries import INDEX
from ldpsql_device.errors import StoreError

DUCKDB_SUFFIXES = (".duckdb", ".db", ".ddb")
_OBJECTS = """
    SELECT IF(schema_name = 'main', table_name, schema_name || '.' || table_name)
    FROM duckdb_tables()
    UNION ALL SELECT 'view ' || view_name FROM duckdb_views() WHERE NOT internal
    UNION ALL SELECT 'sequence ' || sequence_name FROM duckdb_sequences()
    UNION ALL SELECT 'macro ' || function_name FROM duckdb_functions() WHERE NOT internal
    UNION ALL SELECT 'type ' || type_name FROM duckdb_types() WHERE NOT internal
"""
"""All that a database holds, by name; tables of `main` alone can be what publishing wrote."""


def is_duckdb(target: Path) -> bool:
    """Whether a target is a DuckDB file, not a folder."""
    return target.suffix.lower() in DUCKDB_SUFFIXES


def write_tables(tables: Mapping[str, pa.Table], target: Path) -> None:
    """Have the target hold these tables, `INDEX` among them, and no others.

    StoreError as of `check_target`; OSError as the file system does.
    """
    place = Path(os.path.realpath(target))
    with _alone_in(place.parent):
        check_target(target)
        write = _write_duckdb if is_duckdb(target) else _write_folder
        write(tables, place)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other process publishes into a folder: two renames must not meet others."""
    if os.name != "posix":
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        lock_file(descriptor, wait=True)
        yield
    finally:
        os.close(descriptor)


def check_target(target: Path) -> None:
    """StoreError where something is there that publishing did not write, or that is in use."""
    if not target.exists():
        return
    there, written = _list_duckdb(target) if is_duckdb(target) else _list_folder(target)
    if there - written:
        raise StoreError(
            f"{target} holds something that `ldpsql publish` did not write; publish to a "
            f"{'file' if is_duckdb(target) else 'folder'} of its own"
        )


def _list_duckdb(target: Path) -> tuple[set[str], set[str]]:
    """The tables that are there, and those that publishing wrote."""
    if target.with_name(f"{target.name}.wal").exists():
        raise StoreError(
            f"{target} is open for writing, or was when its program ended (there is "
            f"{target.name}.wal); close it, or publish to another file"
        )
    try:
        with duckdb.connect(target, read_only=True, config={**DUCKDB_SETTINGS}) as connection:
            there = {name for (name,) in connection.sql(_OBJECTS).fetchall()}
            if INDEX not in there:
                return there, set()
            listed = connection.sql(f"SELECT table_name FROM {INDEX}").fetchall()
            return there, {INDEX, *(name for (name,) in listed)}
    except duckdb.Error as error:
        reason = "is no DuckDB file that this version reads; publish to another file"
        if "lock" in str(error):
            reason = "is open for writing in another program; close it there"
        raise StoreError(f"{target} {reason}") from None


def _list_folder(target: Path) -> tuple[set[str], set[str]]:
    """The files that are there, and those that publishing wrote."""
    there = {path.name for path in target.iterdir()}
    try:
        index = pq.read_table(target / f"{INDEX}.parquet", columns=["table_name"])
    except (OSError, pa.ArrowException):
        return there, set()
    names = [INDEX, *index.column("table_name").to_pylist()]
    return there, {f"{name}.parquet" for name in names}


def _write_duckdb(tables: Mapping[str, pa.Table], target: Path) -> None:
    # Made elsewhere: DuckDB would leave its log beside the file if it were killed.
    with tempfile.TemporaryDirectory(prefix="ldpsql-") as folder:
        made = Path(folder, "answers.duckdb")
        with duckdb.connect(made, config={**DUCKDB_SETTINGS}) as connection:
            for name, rows in tables.items():
                connection.from_arrow(rows).create(name)
        with replace_file(target) as temporary:
            shutil.copyfile(made, temporary)
            if target.exists():
                shutil.copymode(target, temporary)


def _write_folder(tables: Mapping[str, pa.Table], target: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as beside:
        made, old = Path(beside, "new"), Path(beside, "old")
        made.mkdir()
        if target.exists():
            shutil.copymode(target, made)
        for name, rows in tables.items():
            with replace_file(made / f"{name}.parquet") as temporary:
                pq.write_table(rows, temporary)
        try:
            if target.exists():
                target.rename(old)
            made.rename(target)
        except BaseException:
            if old.exists() and not target.exists():
                old.rename(target)
            raise
    flush_file(target.parent)
