"""`ingest`: runs at the collector and sees reports."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ldpsql.engine.collector import open_collector
from ldpsql.errors import pluralize
from ldpsql.store import open_store
from ldpsql.store.incoming import SUFFIXES
from ldpsql.store.intake import Intake, expand
from ldpsql.terminal import options
from ldpsql.terminal.notes import show_text
from ldpsql.terminal.progress import Progress

if TYPE_CHECKING:
    from ldpsql.engine.collector import Filled
    from ldpsql.store import Batch


@click.command()
@click.argument("paths", nargs=-1, required=True)
@options.collector_or_database
@click.option("--survey", type=options.EXISTING, help="Needed if the files do not carry it.")
@click.option("--skip-invalid", is_flag=True, help="Keep the good rows of a file with bad ones.")
@click.option(
    "--keep",
    type=click.Choice(["reports", "counts"]),
    default="reports",
    help="With counts, delete the reports once they are counted.",
)
@click.option(
    "--accept-smaller-batch",
    is_flag=True,
    help="Take a shuffled batch that is smaller than designed; every answer then states the "
    "weaker promise.",
)
@options.shufflers
@options.wait
def ingest(
    paths: tuple[str, ...],
    database: Path | str,
    survey: Path | None,
    patience: float,
    **settings: Any,
) -> None:
    """Add files of reports to the database; directories and globs are expanded.

    Every file is taken whole or not at all. Every report counts once, by its id: repeats are
    dropped, whatever file, order or encoding brings them, for as long as the survey lets devices
    send them again. A file whose content was taken before is skipped. A refused file ends the
    command; the files before it stay taken. A survey with trust = "shuffle" takes only batches that
    a shuffler wrote (`ldpsql shuffle`, `ldpsql serve --shuffler`).
    """

    def tell(batch: Batch) -> None:
        taken = pluralize(batch.reports, "report")
        if batch.known:
            taken = batch.withdrawn or "already there"
        repeats = f", {pluralize(batch.repeats, 'repeat')} dropped" if batch.repeats else ""
        skipped = f", {pluralize(batch.skipped, 'row')} skipped" if batch.skipped else ""
        show_text(f"{batch.name}: {taken}{repeats}{skipped}", err=True)

    asked = None if survey is None else Intake.read(survey)
    files = expand(paths, SUFFIXES)  # before a database is made for none
    with Progress("ingesting", sys.stderr) as progress:
        opened: Filled | None = open_collector(database)
        if opened is None:
            opened = open_store(database, read_only=False, patience=patience)
        with closing(opened) as store:
            store.ingest(files, survey=asked, tell=tell, progress=progress.advance, **settings)
