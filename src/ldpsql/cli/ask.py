"""What is got out of reports: `query`, the default command, `explain`, `synthesize`, `shell`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ldpsql.cli import options
from ldpsql.cli.failure import report
from ldpsql.cli.formats import TABLE_SUFFIXES, Document, write_document
from ldpsql.text import one_line, table_lines
from ldpsql_device.errors import Error

if TYPE_CHECKING:
    import pyarrow as pa

    from ldpsql.engine.session import Session
    from ldpsql.lookups import PublicTable
    from ldpsql.remote import RemoteSession, RemoteStore
    from ldpsql.store.base import Store
    from ldpsql.survey import Survey

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
    """Show boxes, tree nodes, groups, the predicted standard error and the guarantee."""
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

    from ldpsql.cli.results import write_result  # noqa: PLC0415  (what is heavy is loaded when needed)

    with _open_asker(database, weights, settings) as session:
        result = session.execute(sql, parameters)
        write_result(result, form, target, intervals=intervals)


@contextmanager
def _open_asker(
    database: Path | str, weights: tuple[Path, ...], settings: Mapping[str, Any]
) -> Iterator[Session | RemoteSession]:
    """What answers questions: the store in a file, or a collector."""
    from ldpsql.margins import read_margins  # noqa: PLC0415

    if isinstance(database, str):
        from ldpsql.remote import RemoteSession, RemoteStore  # noqa: PLC0415

        yield RemoteSession(RemoteStore(database, None), weights=read_margins(weights), **settings)
        return

    from ldpsql.engine.session import Session  # noqa: PLC0415
    from ldpsql.store import read_store  # noqa: PLC0415

    with closing(read_store(database)) as store:
        yield Session(store, weights=read_margins(weights), **settings)


def _text(sql: str | None) -> str:
    """The SQL argument, or what stdin holds."""
    if sql is not None and sql != "-":
        return sql
    if sql is None and sys.stdin.isatty():
        raise click.UsageError('no SQL was given; write ldpsql "SELECT ..."')
    return options.stdin().read()


@click.command(short_help="Draw a table of made-up people.")
@options.collector_or_database
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
    database: Path | str, table: str | None, rows: int | None, target: Path, seed: int | None
) -> None:
    """Draw a table of made-up people that agrees with what the reports tell.

    Its columns are those of the survey, its rows belong to nobody: run any SQL on it, or train a
    model. Notes say which tables of columns it keeps, how well, and what it does not keep. It is
    made from the reports alone and costs nobody any privacy.
    """
    options.keep_inputs(target, database)
    options.check_writable(target)

    from ldpsql.store import read_store  # noqa: PLC0415  (what is heavy comes late)
    from ldpsql.synthesis import Synthesizer  # noqa: PLC0415
    from ldpsql.synthesis.synthesizer import NOTES_KEY  # noqa: PLC0415

    batches: Iterable[pa.Table]
    if isinstance(database, str):
        from ldpsql.remote import RemoteStore  # noqa: PLC0415

        made = RemoteStore(database, None).synthesize(rows, table, seed)
        batches, schema = [made], made.schema
        notes = made.schema.metadata[NOTES_KEY.encode()].decode().splitlines()
    else:
        with closing(read_store(database)) as store:
            synthesizer = Synthesizer.of(store, table)
        batches, schema = synthesizer.batches(rows, seed), synthesizer.columns
        notes = list(synthesizer.notes)
    write_document(Document(schema=schema, batches=batches), None, target)
    for note in notes:
        click.echo(f"note: {one_line(note)}", err=True)


HELP = """\
Statements end with ; and may span lines: SELECT COUNT(*) FROM table WHERE age >= 30;
EXPLAIN SELECT ... says which reports answer, and how well, without asking them.
.tables          the surveys and look-up tables that can be asked
.schema [TABLE]  their columns
.survey [TABLE]  mechanism, guarantee and fingerprint
.help            this text
.quit            leave (or Ctrl-D)"""


@click.command(short_help="Ask questions one after another.")
@options.settings
@options.output_format
@options.intervals
@click.pass_context
def shell(
    ctx: click.Context,
    /,
    database: Path | str,
    form: str | None,
    intervals: bool,
    weights: tuple[Path, ...],
    **settings: Any,
) -> None:
    """Read statements, each ended by a semicolon, and answer them; an error does not end it.

    From a pipe there is no prompt, and the exit code is 1 if any statement failed.
    """
    from ldpsql.cli.results import write_result  # noqa: PLC0415

    interactive, failed = sys.stdin.isatty(), False
    with _open_asker(database, weights, settings) as session:
        for text in _inputs(_lines(interactive=interactive)):
            if text in (".quit", ".exit"):
                break
            try:
                if text.startswith("."):
                    click.echo(_dot_command(session.store, text.encode(errors="replace").decode()))
                else:
                    write_result(session.execute(text), form, None, intervals=intervals)
            except Error as error:
                report(error)
                failed = True
    if failed and not interactive:
        ctx.exit(1)


def _lines(*, interactive: bool) -> Iterator[str]:
    """Lines from a pipe, or typed at a prompt."""
    if not interactive:
        yield from options.stdin()
        return
    with suppress(ImportError):  # line editing and history, where Python has them
        import readline  # noqa: F401, PLC0415
    click.echo("Statements end with ;  .help lists the commands, .quit leaves.", err=True)
    while True:
        try:
            yield input("ldpsql> ") + "\n"
        except EOFError:
            click.echo()
            return


def _inputs(lines: Iterator[str]) -> Iterator[str]:
    """Dot commands and statements, without the semicolon; the last one may lack it."""
    from ldpsql.parser.source import is_blank, split_statements  # noqa: PLC0415

    buffer = ""
    for line in lines:
        if line.lstrip().startswith(".") and is_blank(buffer):
            yield line.strip()
            buffer = ""
            continue
        *complete, buffer = split_statements(buffer + line)
        yield from (statement for statement in complete if not is_blank(statement))
    if not is_blank(buffer):
        yield buffer


def _dot_command(store: Store | RemoteStore, text: str) -> str:
    word, *arguments = text.split()
    if word == ".help":
        return HELP
    if word not in _COMMANDS:
        return f"no command {word}; .help lists them"
    of_survey, of_lookup = _COMMANDS[word]
    lookups = {table.name: table for table in store.lookups()} if of_lookup else {}
    asked = [name.lower() for name in arguments]
    surveys = [store.survey(name) for name in asked if name not in lookups]
    lines = [of_survey(survey) for survey in (surveys if asked else store.surveys())]
    lines += [
        of_lookup(lookups[name]) for name in asked or lookups if of_lookup and name in lookups
    ]
    return "\n".join(lines) or "no surveys"


def _name_lookup(table: PublicTable) -> str:
    return f"{table.name} (look-up table)"


def _lookup_columns(table: PublicTable) -> str:
    from ldpsql.parser.catalog import describe_lookup  # noqa: PLC0415

    rows = [(name, "lookup", kind) for name, kind in describe_lookup(table)]
    lines = table_lines(rows[0], rows[1:], [False] * 3)
    return "\n".join([_name_lookup(table), *(f"  {line}" for line in lines)])


def _columns(survey: Survey) -> str:
    from ldpsql.parser.catalog import describe  # noqa: PLC0415
    from ldpsql_device.describe import name_with_label  # noqa: PLC0415

    rows = []
    for column in describe(survey.schema):
        extent = column.get("declared_values") or column.get("domain") or ""
        nulls = "NULL" if column["is_nullable"] == "YES" else ""
        shown = ", or ".join(filter(None, (extent, nulls)))
        name = name_with_label(column["column_name"], column["label"])
        rows.append((name, column["role"], column["type"], shown))
    lines = table_lines(rows[0], rows[1:], [False] * 4)
    name = name_with_label(survey.table, survey.label)
    return "\n".join([name, *(f"  {line}" for line in lines)])


def _promise(survey: Survey) -> str:
    return (
        f"{survey.table}: {survey.design.name}, {survey.guarantee}; protects "
        f"{survey.design.guarantee.protects}; fingerprint {survey.fingerprint}"
    )


_COMMANDS: Mapping[str, tuple[Callable[[Survey], str], Callable[[PublicTable], str] | None]] = {
    ".tables": (lambda survey: survey.table, _name_lookup),
    ".schema": (_columns, _lookup_columns),
    ".survey": (_promise, None),
}
"""What the commands say of a survey, and of a look-up table."""
