"""`publish`: answers as ordinary tables, for programs that know nothing of error bars."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from ldpsql.cli import options
from ldpsql.cli.notes import show_notes
from ldpsql.cli.progress import Progress
from ldpsql.errors import pluralize
from ldpsql_device.errors import NotSupportedError

_DATABASES = (".duckdb", ".db", ".ddb")


@click.command(short_help="Write answers as ordinary tables, for BI tools.")
@click.option(
    "--to",
    "target",
    required=True,
    metavar="FILE.duckdb|FOLDER|postgresql://...",
    help="Where the tables go. Only tables of an earlier run are ever replaced.",
)
@click.option(
    "--table", "names", multiple=True, metavar="NAME", help="Which survey.  [default: all]"
)
@click.option(
    "--ways",
    type=click.IntRange(0, 2),
    default=2,
    help="Up to how many columns per table.",
)
@click.option(
    "--queries",
    type=options.EXISTING,
    metavar="FILE.sql",
    help="Also publish the queries of this file, each below a line `-- name: TABLE`.",
)
@click.option(
    "--file-format",
    "form",
    type=click.Choice(["parquet", "csv"]),
    help="Of the files in a folder.  [default: parquet]",
)
@options.settings
def publish(
    target: str,
    names: tuple[str, ...],
    ways: int,
    queries: Path | None,
    form: str | None,
    *,
    database: Path | str,
    weights: tuple[Path, ...],
    seconds: float,
    **settings: Any,
) -> None:
    """Write the answers about every column and every pair of columns as ordinary tables, with error
    bars and comments. Metabase, Tableau, Grafana or dbt need nothing else.

    Questions cost no privacy. Run it once per refresh: tables whose answers changed are replaced
    whole; without new reports nothing is touched.
    """
    from ldpsql import dbapi  # noqa: PLC0415  (what is heavy is loaded when needed)
    from ldpsql.publish.postgresql import is_postgresql, without_password  # noqa: PLC0415
    from ldpsql.publish.tables import answer_tables, read_queries  # noqa: PLC0415

    is_remote = is_postgresql(target)
    if not is_remote and "://" in target:
        raise click.UsageError(f"--to takes a file, a folder or postgresql://, not {target!a:.60}")
    path = Path(target)
    is_database = not is_remote and path.suffix.lower() in _DATABASES
    if form is not None and (is_remote or is_database):
        raise click.UsageError("--file-format is for a folder")
    if is_database:
        if isinstance(database, Path) and path.exists() and path.samefile(database):
            raise click.UsageError(f"--to would replace {database}, which holds the reports")
        options.check_writable(path)
    elif not is_remote and path.suffix and not path.is_dir():
        raise click.UsageError(
            f"--to takes a file that ends in {', '.join(_DATABASES)}, or a folder; {path.name!r} "
            "looks like neither"
        )
    asked = [] if queries is None else read_queries(queries)
    connection = dbapi.connect(
        database,
        read_only=None if options.is_collector(database) else True,
        weights=weights,
        timeout=seconds,
        **settings,
    )
    with closing(connection), Progress("answering", sys.stderr) as progress:
        known = [connection.session.store.survey(name) for name in dict.fromkeys(names)]
        surveys = known or connection.surveys
        made = answer_tables(
            connection.session, surveys, asked, ways=ways, progress=progress.advance
        )
    show_notes(made.notes)
    if not made.tables:
        raise NotSupportedError("there is nothing to publish: no survey has a table to answer")
    is_changed, place = _write(made.tables, target, form or "parquet"), target
    if is_remote:
        place = without_password(target)
    what = pluralize(len(made.tables), "table")
    click.echo(f"{place}: {what}{'' if is_changed else ', nothing new'}", err=True)


def _write(tables: Any, target: str, form: Any) -> bool:
    """Whether anything changed."""
    from ldpsql.publish.duckdb import publish_to_duckdb  # noqa: PLC0415
    from ldpsql.publish.folder import publish_to_folder  # noqa: PLC0415
    from ldpsql.publish.postgresql import is_postgresql, publish_to_postgresql  # noqa: PLC0415

    if is_postgresql(target):
        return publish_to_postgresql(tables, target)
    if Path(target).suffix.lower() in _DATABASES:
        return publish_to_duckdb(tables, Path(target))
    return publish_to_folder(tables, Path(target), form)
