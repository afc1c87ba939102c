"""`publish`: answers as ordinary tables, for programs that know nothing of error bars."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from ldpsql.dbapi.asking import make_session, open_to_ask
from ldpsql.errors import pluralize
from ldpsql.terminal import options
from ldpsql.terminal.notes import show_text
from ldpsql.terminal.progress import Progress
from ldpsql.workbench.publish.queries import answer_queries, read_queries
from ldpsql.workbench.publish.targets import DUCKDB_SUFFIXES, check_target, is_duckdb, write_tables


@click.command()
@click.option(
    "--queries",
    required=True,
    type=options.EXISTING,
    metavar="FILE.sql",
    help="The queries, each below a line `-- name: TABLE`.",
)
@click.option(
    "--to",
    "target",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE.duckdb|FOLDER",
    help="Where the tables go. Only tables of an earlier run are ever replaced.",
)
@options.settings
def publish(
    queries: Path, target: Path, *, database: Path | str, weights: tuple[Path, ...], **settings: Any
) -> None:
    """Write the answers to a file of named queries as ordinary tables, with error bars as columns:
    a DuckDB file, or a folder of Parquet files. Metabase, Tableau, Grafana or dbt need nothing
    else.

    Questions cost no privacy. Run it once per refresh: the tables are replaced whole.
    """
    is_other = target.suffix or target.is_file()
    if ":/" in str(target) or (is_other and not is_duckdb(target) and not target.is_dir()):
        raise click.UsageError(
            f"--to takes a file that ends in {', '.join(DUCKDB_SUFFIXES)}, or a folder, not "
            f"{str(target)!a:.60}"
        )
    asked = read_queries(queries)
    options.check_writable(target)
    check_target(target)
    with Progress("publishing", sys.stderr) as progress:
        progress.show(f"opening {database}")
        with closing(open_to_ask(database)) as store:
            session = make_session(store, weights, **settings)
            progress.show("answering")
            tables = answer_queries(session, asked, progress.advance)
        progress.show(f"writing {target}")
        write_tables(tables, target)
    show_text(f"{target}: {pluralize(len(asked), 'table')}", err=True)
