"""What is got out of reports: `query`, the default command, `explain`, `synthesize`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ldpsql.cli import options
from ldpsql.cli.formats import TABLE_SUFFIXES, Document, write_document
from ldpsql.cli.notes import show_notes
from ldpsql.cli.progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa

    from ldpsql.engine.session import Session
    from ldpsql.remote import RemoteSession, RemoteStore
    from ldpsql.store.base import Store

_MOST_ROWS = 10**10


@click.command(short_help="Answer a SELECT (the default command).")
@click.argument("sql", required=False)
@options.add_asking_options
def query(sql: str | None, **settings: Any) -> None:
    """Answer a SELECT over the reports: `ldpsql "SELECT COUNT(*) FROM app WHERE age >= 30"`.

    Without SQL, or with -, it is read from stdin. Every estimate in a table shows its +/-; a
    trailing ~ marks a weak one, whose standard error exceeds a fifth of its value.
    """
    answer(_text(sql), **settings)


@click.command(short_help="Show how a SELECT would be answered, and how well.")
@click.argument("sql", required=False)
@click.option("--verbose", "-v", is_flag=True, help="Show the plan after every rewrite.")
@options.settings
@options.parameters
@options.output()
def explain(sql: str | None, verbose: bool, **settings: Any) -> None:
    """Show boxes, tree nodes, groups, the predicted standard error and the guarantee, without
    answering.
    """
    keyword = "EXPLAIN VERBOSE " if verbose else "EXPLAIN "
    answer(keyword + _text(sql), form=None, intervals=False, **settings)


def answer(
    sql: str,
    database: Path | str,
    values: tuple[str, ...],
    form: str | None,
    target: Path | None,
    intervals: bool,
    weights: tuple[Path, ...],
    plot: bool = False,
    **settings: Any,
) -> None:
    """Open the database, answer one SQL text, and write the result."""
    if plot and (form or target or intervals):
        raise click.UsageError("--plot draws on the terminal; leave out --format, --intervals, -o")
    options.keep_inputs(target, database, *weights)
    parameters = options.read_parameters(values)

    from ldpsql.cli.results import write_result  # noqa: PLC0415  (what is heavy is loaded when needed)

    with closing(open_to_ask(database)) as store:
        result = make_session(store, weights, **settings).execute(sql, parameters)
        write_result(result, form, target, intervals=intervals, plot=plot)


def open_to_ask(database: Path | str) -> Store | RemoteStore:
    """The store in a file, or a collector."""
    if options.is_collector(database):
        from ldpsql.remote import RemoteStore  # noqa: PLC0415

        return RemoteStore(str(database), None)

    from ldpsql.store import read_store  # noqa: PLC0415

    return read_store(database)


def make_session(
    store: Store | RemoteStore, weights: tuple[Path, ...], **settings: Any
) -> Session | RemoteSession:
    """What answers questions; settings: as of a `Session`."""
    from ldpsql.margins import read_margins  # noqa: PLC0415
    from ldpsql.store.base import Store  # noqa: PLC0415

    margins = read_margins(weights)
    if isinstance(store, Store):
        from ldpsql.engine.session import Session  # noqa: PLC0415

        return Session(store, weights=margins, **settings)

    from ldpsql.remote import RemoteSession  # noqa: PLC0415

    return RemoteSession(store, weights=margins, **settings)


def _text(sql: str | None) -> str:
    """The SQL argument, or what stdin holds."""
    if sql is not None and sql != "-":
        return sql
    if sql is None and sys.stdin.isatty():
        raise click.UsageError('no SQL was given; write ldpsql "SELECT ..."')
    from ldpsql.parser.source import MAX_LENGTH  # noqa: PLC0415

    return options.stdin().read(MAX_LENGTH + 1)  # one more is refused


@click.command(short_help="Draw a table of made-up people.")
@options.collector_or_database
@click.option("--table", "table", metavar="NAME", help="Which survey.  [default: the only one]")
@click.option(
    "-n",
    "--rows",
    type=options.people(1, _MOST_ROWS),
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

    from ldpsql.store import read_store  # noqa: PLC0415  (what is heavy comes late)
    from ldpsql.synthesis import Synthesizer  # noqa: PLC0415
    from ldpsql.synthesis.synthesizer import NOTES_KEY  # noqa: PLC0415

    batches: Iterable[pa.Table]
    with Progress("synthesizing", sys.stderr) as progress:
        if options.is_collector(database):
            from ldpsql.remote import RemoteStore  # noqa: PLC0415

            made = RemoteStore(str(database), None).synthesize(rows, table, seed)
            batches, schema = [made], made.schema
            notes = made.schema.metadata[NOTES_KEY.encode()].decode().splitlines()
        else:
            with closing(read_store(database)) as store:
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
