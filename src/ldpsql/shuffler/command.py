"""`shuffle`: runs at the shuffler and sees single reports."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ldpsql.errors import pluralize
from ldpsql.shuffler import shuffle_reports
from ldpsql.store.intake import Intake
from ldpsql.terminal import options
from ldpsql.terminal.notes import show_text
from ldpsql.terminal.progress import Progress
from ldpsql_device.signature import SigningKey


@click.command()
@click.argument("reports", nargs=-1, required=True, type=click.Path(path_type=Path))
@options.published_survey
@click.option(
    "--key",
    metavar="KEY",
    type=options.EXISTING,
    help="Sign the batch with this private key (`ldpsql keygen`).",
)
@options.output(options.REPORT_FILE, "Parquet file for the batch.", required=True)
def shuffle(reports: tuple[Path, ...], survey: Path, key: Path | None, target: Path) -> None:
    """Put the reports of Parquet files and directories into one batch, in random order.

    This is for surveys with trust = "shuffle". Whoever runs it sees single reports and must not
    work with the collector. It refuses to make a batch that is smaller than the survey was designed
    for.
    """
    options.keep_inputs(target, survey)
    published, own = Intake.read(survey), None if key is None else SigningKey.read(key)
    with Progress("shuffling", sys.stderr) as progress:
        count = shuffle_reports(published, reports, target, key=own, progress=progress.advance)
    show_text(f"{target}: {pluralize(count, 'report')}, shuffled", err=True)
