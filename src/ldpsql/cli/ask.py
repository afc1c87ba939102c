"""What is got out of reports: `query`, the default command, `explain` and `synthesize`."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from ldpsql.cli import options
from ldpsql.cli.formats import TABLE_SUFFIXES, Document, write_document

_MOST_ROWS = 10**10


@click.command(short_help="Answer a SELECT (the default command).")
@click.argument("sql", required=False)
@options.asking
def query(sql: str | None, **settings: Any) -> None:
    """Answer a SELECT over the reports: `ldpsql "SELECT COUNT(*) FROM app WHERE age >= 30"`.

    Without SQL, or with -, it is read from stdin. Every estimate in a table shows its +/-; a
    trailing ~ marks a weak one, whose standard error exceeds a fifth of its value.
    """
    answer(_text(sql), **settings)


@click.command(short_help="Show how a SELECT would be answered, and how well.")
@click.argument("sql", required=False)
@click.option("--verbose", "-v", is_flag=True, help="Show the plan after every rewrite.")
@options.database
@options.confidence
@options.estimator
@options.parameters
@options.output()
def explain(sql: str | None, verbose: bool, **settings: Any) -> None:
    """Show boxes, tree nodes, groups, the predicted standard error and the guarantee."""
    keyword = "EXPLAIN VERBOSE " if verbose else "EXPLAIN "
    answer(keyword + _text(sql), form=None, intervals=False, **settings)


def answer(
    sql: str,
    database: Path,
    values: tuple[str, ...],
    form: str | None,
    target: Path | None,
    intervals: bool,
    **settings: Any,
) -> None:
    """Open the database, answer one SQL text, and write the result."""
    options.keep_inputs(target, database)
    parameters = options.read_parameters(values)

    from ldpsql.cli.results import write_result  # noqa: PLC0415  (what is heavy is loaded when needed)
    from ldpsql.engine.session import Session  # noqa: PLC0415
    from ldpsql.store import open_store  # noqa: PLC0415

    with closing(open_store(database, read_only=True)) as store:
        result = Session(store, **settings).execute(sql, parameters)
        write_result(result, form, target, intervals=intervals)


def _text(sql: str | None) -> str:
    """The SQL argument, or what stdin holds."""
    if sql is not None and sql != "-":
        return sql
    if sql is None and sys.stdin.isatty():
        raise click.UsageError('no SQL was given; write ldpsql "SELECT ..."')
    return options.stdin().read()


@click.command(short_help="Draw a table of made-up people.")
@options.database
@click.option("--table", "table", metavar="NAME", help="Which survey.  [default: the only one]")
@click.option(
    "-n",
    "--rows",
    type=click.IntRange(1, _MOST_ROWS),
    help="How many people.  [default: as many as reports]",
)
@options.output(
    options.TABLE_FILE,
    f"File for the table; its suffix says how: {', '.join(TABLE_SUFFIXES)}.",
    required=True,
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
