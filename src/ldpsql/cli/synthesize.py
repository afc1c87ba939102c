"""`synthesize`: a table of made-up people, as a file."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from ldpsql.cli import options
from ldpsql.cli.formats import TABLE_SUFFIXES, Document, write_document

_MOST_ROWS = 10**10


@click.command(short_help="Draw a table of made-up people.")
@options.database
@click.option("--table", "table", metavar="NAME", help="Which survey.  [default: the only one]")
@click.option(
    "-n",
    "--rows",
    type=click.IntRange(1, _MOST_ROWS),
    help="How many people.  [default: as many as reports]",
)
@click.option(
    "-o",
    "--output",
    "target",
    required=True,
    type=options.TABLE_FILE,
    help=f"File for the table; its suffix says how: {', '.join(TABLE_SUFFIXES)}.",
)
@click.option("--seed", type=click.IntRange(0), help="The same seed draws the same table.")
def synthesize(
    database: Path, table: str | None, rows: int | None, target: Path, seed: int | None
) -> None:
    """Draw a table of made-up people that agrees with what the reports tell.

    Its columns are those of the survey, its rows belong to nobody: run any SQL on it, or train a
    model. Notes say which tables of columns it keeps, how well, and what it does not keep. It is
    made from the reports alone and costs nobody any privacy.
    """
    options.keep_inputs(target, database)
    options.check_writable(target)

    from ldpsql.store import open_store  # noqa: PLC0415  (what is heavy comes late)
    from ldpsql.synthesis import Synthesizer  # noqa: PLC0415

    with closing(open_store(database, read_only=True)) as store:
        synthesizer = Synthesizer.of(store, table)
    batches = synthesizer.batches(rows, seed)
    write_document(Document(schema=synthesizer.columns, batches=batches), None, target)
    for note in synthesizer.notes:
        click.echo(f"note: {note}", err=True)
