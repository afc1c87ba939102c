"""`synthesize`: a table of made-up people that agrees with the reports."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ldpsql.dbapi.asking import open_to_ask
from ldpsql.engine.collector import AnsweringStore
from ldpsql.synthesis import Synthesizer
from ldpsql.synthesis.synthesizer import MOST_ROWS, NOTES_KEY
from ldpsql.terminal import options
from ldpsql.terminal.formats import TABLE_SUFFIXES, Document, write_document
from ldpsql.terminal.notes import show_notes
from ldpsql.terminal.progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa


@click.command()
@options.collector_or_database
@click.option("--table", "table", metavar="NAME", help="Which survey.  [default: the only one]")
@click.option(
    "-n",
    "--rows",
    type=options.people(1, MOST_ROWS),
    metavar="N",
    help="How many people, such as 45000, 45k or 1.5m.  [default: as many as reports]",
)
@options.output(
    options.TABLE_FILE,
    f"File for the table; its suffix says how: {', '.join(TABLE_SUFFIXES)}.",
    required=True,
)
@click.option("--seed", type=click.IntRange(0), help="The same seed draws the same table.")
def synthesize(
    database: Path | str, table: str | None, rows: int | None, target: Path, seed: int | None
) -> None:
    """Draw a table of made-up people that agrees with the reports.

    It has the survey's columns, and its rows belong to nobody: run any SQL on it, or train a model.
    Notes say which combinations of columns it preserves, how well, and what it does not preserve.
    It is made from the reports alone and costs nobody any privacy.
    """
    options.keep_inputs(target, database)
    options.check_writable(target)

    batches: Iterable[pa.Table]
    with Progress("synthesizing", sys.stderr) as progress:
        with closing(open_to_ask(database)) as store:
            if isinstance(store, AnsweringStore):
                made = store.synthesize(rows, table, seed)
                batches, schema = [made], made.schema
                notes = made.schema.metadata[NOTES_KEY.encode()].decode().splitlines()
            else:
                synthesizer = Synthesizer.of(store, table)
                batches, schema = synthesizer.batches(rows, seed), synthesizer.columns
                notes = list(synthesizer.notes)
        counted = _count(batches, rows, progress)
        write_document(Document(schema=schema, batches=counted), None, target)
    show_notes(notes)


def _count(
    batches: Iterable[pa.Table], total: int | None, progress: Progress
) -> Iterator[pa.Table]:
    """The batches, with progress by rows."""
    done = 0
    for batch in batches:
        yield batch
        done += batch.num_rows
        progress.advance(done, total)
