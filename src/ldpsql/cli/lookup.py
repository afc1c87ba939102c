"""`lookup`: tables that everybody may see, and that questions may join with people."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from ldpsql.errors import pluralize
from ldpsql.sql.lookups import PublicTable
from ldpsql.store import open_store, read_store
from ldpsql.terminal import options
from ldpsql.terminal.notes import show_text
from ldpsql.terminal.text import table_lines


@click.group()
def lookup() -> None:
    """Keep public tables that questions may join with people.

    First `ldpsql lookup add regions.csv`, then `SELECT region, COUNT(*) FROM people JOIN regions
    USING (state) GROUP BY region`. Put nothing private into them.
    """


@lookup.command(short_help="Add a CSV or Parquet file.")
@click.argument("file", type=click.Path(path_type=Path))
@options.database
@click.option("--name", metavar="NAME", help="Of the table.  [default: that of the file]")
@click.option("--replace", is_flag=True, help="Replace a look-up table of that name.")
def add(file: Path, database: Path, name: str | None, replace: bool) -> None:
    """Add the rows of FILE, a CSV or Parquet file, to the database as a look-up table.

    The first row of a CSV file names the columns; an empty field is NULL, and a column is of
    numbers, true and false, dates or timestamps if all of its fields are.
    """
    table = PublicTable.read(file, name)
    with closing(open_store(database, read_only=False)) as store:
        store.add_lookup(table, replace=replace)
    columns = ", ".join(table.rows.column_names)
    show_text(f"{table.name}: {pluralize(table.rows.num_rows, 'row')} of {columns}", err=True)


@lookup.command("list", short_help="List the look-up tables.")
@options.database
def list_tables(database: Path) -> None:
    """List the look-up tables of the database."""
    with closing(read_store(database)) as store:
        found = [
            (table.name, str(table.rows.num_rows), ", ".join(table.rows.column_names))
            for table in store.lookups()
        ]
    lines = table_lines(("table", "rows", "columns"), found, [False, True, False])
    show_text("\n".join(lines) if found else "no look-up tables")


@lookup.command(short_help="Remove a look-up table.")
@click.argument("name")
@options.database
def remove(name: str, database: Path) -> None:
    """Remove the look-up table NAME from the database."""
    with closing(open_store(database, read_only=False)) as store:
        store.remove_lookup(name)
    show_text(f"{name.lower()}: removed", err=True)
