"""`schema` reads a data file's column names and types, never its values."""

from __future__ import annotations

from pathlib import Path

import click

from ldpsql.cli import options


@click.command(short_help="Write a starter survey file for a data file.")
@click.argument("data", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--table", help="Name of the table in SQL.  [default: the file's name]")
@options.output
def schema(data: Path, table: str | None, target: Path | None) -> None:
    """Write a survey file with the columns and types of DATA, a Parquet or CSV file.

    Every bound is left for a person to fill in: bounds taken from private data would leak it.
    """
    options.keep_inputs(target, data)

    from ldpsql.designer.starter import column_types, starter_text  # noqa: PLC0415

    text = starter_text(table or data.stem, column_types(data))
    if target is None:
        click.echo(text, nl=False)
        return
    from ldpsql_device.atomic import replace_file  # noqa: PLC0415

    with replace_file(target) as temporary:
        temporary.write_text(text, encoding="utf-8")
