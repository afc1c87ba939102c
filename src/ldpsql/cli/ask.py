"""`query`, the default command, and `explain`."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from ldpsql.terminal import options


@click.command()
@click.argument("sql", required=False)
@options.add_asking_options
def query(sql: str | None, **settings: Any) -> None:
    """Answer a SELECT over the reports: `ldpsql "SELECT COUNT(*) FROM app WHERE age >= 30"`.

    Without SQL, or with -, it is read from stdin. Every estimate in a table shows its +/-; a
    trailing ~ marks a weak one: its +/- exceeds a third of what it is measured by.
    """
    answer(_text(sql), **settings)


@click.command()
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
    **settings: Any,
) -> None:
    """Open the database, answer one SQL text, and write the result."""
    options.keep_inputs(target, database, *weights)
    parameters = options.read_parameters(values)

    from ldpsql.dbapi.asking import make_session, open_to_ask, write_result  # noqa: PLC0415  (heavy)

    with closing(open_to_ask(database)) as store:
        result = make_session(store, weights, **settings).execute(sql, parameters)
        write_result(result, form, target, intervals=intervals)


def _text(sql: str | None) -> str:
    """The SQL argument, or what stdin holds."""
    if sql is not None and sql != "-":
        return sql
    if sql is None and sys.stdin.isatty():
        raise click.UsageError('no SQL was given; write ldpsql "SELECT ..."')
    from ldpsql.parser.source import MAX_LENGTH  # noqa: PLC0415

    return options.stdin().read(MAX_LENGTH + 1)  # one more is refused
