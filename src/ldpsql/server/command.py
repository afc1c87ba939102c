"""`serve`: one process that owns the database, takes reports and answers analysts over HTTP; and
`token`: who may ask it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ldpsql import extensions
from ldpsql.server import PLACES
from ldpsql.server.tokens import Tokens
from ldpsql.store import open_store
from ldpsql.store.intake import Intake, end_of_statement
from ldpsql.store.rules import IngestPolicy
from ldpsql.terminal import options
from ldpsql.terminal.notes import show_text
from ldpsql.terminal.text import table_lines
from ldpsql_device.errors import NotSupportedError, OperationalError, StoreError
from ldpsql_device.signature import SigningKey
from ldpsql_device.statement import Statement
from ldpsql_device.survey import read_text, utc_today

if TYPE_CHECKING:
    from ldpsql.server.receiver import Receiver

LEAST_MEMORY, MEMORY = 100, 500
"""Of the database, in MB."""
_SOON = timedelta(14)
"""An author who is asked for another statement so long before one ends has time to sign it."""


@click.command()
@options.database
@click.option("--new", is_flag=True, help="Make the file of --db where there is none.")
@click.option(
    "--survey",
    "surveys",
    multiple=True,
    type=options.EXISTING,
    help="A published survey to ask. May be repeated. Surveys in the database are always asked.",
)
@click.option(
    "--statement",
    "statements",
    multiple=True,
    type=options.EXISTING,
    help="What `ldpsql statement` wrote about a survey, to hand out with it. The database keeps "
    "the latest. May be repeated.",
)
@click.option("--host", default="127.0.0.1", help="The address to listen at.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8080, help="0 for a free one.")
@click.option(
    "--origin",
    "origins",
    multiple=True,
    metavar="URL",
    help="A site whose pages may send reports, such as https://app.example. May be repeated.",
)
@click.option(
    "--rate",
    type=click.FloatRange(0, min_open=True),
    help="The most reports a second that a survey takes, averaged over ten seconds; more are "
    "refused for a while (429).  [default: any number]",
)
@click.option(
    "--places",
    type=click.IntRange(2, 64),
    default=PLACES,
    show_default=True,
    help="How many questions of analysts are worked on at once; as many uploads of files, and as "
    "many requests about tables, beside them. One token holds at most half.",
)
@click.option(
    "--memory",
    metavar="MB",
    type=click.IntRange(min=LEAST_MEMORY),
    default=MEMORY,
    show_default=True,
    help="The most memory that the database may take; what does not fit is read from its file. "
    "The process and its answers need some 200 MB more. A shuffler needs little.",
)
@options.option(
    "--shuffler",
    "folder",
    excludes=["--shuffler-key"],
    metavar="DIRECTORY",
    type=click.Path(file_okay=False, path_type=Path),
    help='Act as the shuffler of surveys with trust = "shuffle": batches of their reports appear '
    "in this directory. --db names the file where reports wait.",
)
@options.option(
    "--collector",
    needs=["--shuffler"],
    metavar="URL",
    help="Hand the shuffler's batches to this `ldpsql serve`, with a relay's token in "
    "LDPSQL_TOKEN.",
)
@options.option(
    "--key",
    "key_file",
    needs=["--shuffler"],
    metavar="KEY",
    type=options.EXISTING,
    help="Sign what the shuffler pledges, and its batches, with this private key (`ldpsql "
    "keygen`). It then takes reports that are sealed for it alone.",
)
@options.shufflers
@options.option("--tls-key", needs=["--tls-certificate"], type=options.EXISTING, help="For https.")
@options.option("--tls-certificate", needs=["--tls-key"], type=options.EXISTING, help="For https.")
def serve(
    database: Path,
    new: bool,
    surveys: tuple[Path, ...],
    statements: tuple[Path, ...],
    host: str,
    port: int,
    origins: tuple[str, ...],
    rate: float | None,
    places: int,
    memory: int,
    folder: Path | None,
    collector: str | None,
    key_file: Path | None,
    shufflers: tuple[str, ...],
    tls_key: Path | None,
    tls_certificate: Path | None,
) -> None:
    """Hand out surveys, take devices' reports and answer analysts, until stopped (Ctrl-C, SIGTERM).

    Acknowledged reports are in the database. Repeats count once. All reports of a survey that come
    on one day make one batch. No address, user agent or time of arrival is kept or logged. Until it
    stops, the database belongs to this process. Analysts need a token (ldpsql token add). Browsers
    get a page at the printed address.

    With --shuffler it is a shuffler, which must not work with the collector. It drops repeats and
    passes no ids on. As soon as there are as many reports as the survey was designed for, they
    leave in random order, as a file that `ldpsql ingest` takes. With --key it hands out a pledge
    for each survey, by which devices know it, and reports arrive encrypted for it alone.
    """

    from ldpsql.server.remote import RemoteStore  # noqa: PLC0415

    try:
        from ldpsql.server.app import make_app  # noqa: PLC0415
        from ldpsql.server.forward import Forwarder  # noqa: PLC0415
        from ldpsql.server.run import serve as listen  # noqa: PLC0415
        from ldpsql.server.writer import Writer  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise NotSupportedError(
            f"serve needs {error.name}: install it with `pip install 'ldpsql[serve]'`"
        ) from None

    tls = {"ssl_keyfile": tls_key, "ssl_certfile": tls_certificate} if tls_key else {}

    def complain(what: str) -> None:
        show_text(f"ldpsql: {what}", err=True)

    def tell(address: str) -> None:
        shown = address.replace("http:", "https:", 1) if tls else address
        show_text(f"{database} at {shown} (Ctrl-C stops it)", err=True)

    if not (new or database.exists()):
        ways = "start an empty one with --new" + (", or `ldpsql ingest` reports" * (folder is None))
        raise StoreError(f"there is no {database}; {ways}, or name another file")
    with ExitStack() as opened:
        if folder is None:
            receiver: Receiver = open_store(database, read_only=False, memory=memory)
        else:
            shuffler = extensions.require("ldpsql.receivers", "shuffler", "the shuffler")
            key = None if key_file is None else SigningKey.read(key_file)
            receiver = shuffler(database, folder, complain, key)
        opened.enter_context(closing(receiver))
        intakes = list(map(Intake.read, surveys))
        for intake in intakes:
            receiver.register(intake)
        _keep_statements(receiver, statements, complain)
        _name_ending(receiver, [intake.table for intake in intakes], complain)
        receiver.tidy()
        if collector is not None and folder is not None:
            opened.enter_context(Forwarder(folder, RemoteStore(collector, None), complain))
        writer, tokens = Writer(receiver, "http", complain), Tokens.beside(database)
        app = make_app(
            receiver,
            writer,
            tokens,
            origins=origins,
            rate=rate,
            places=places,
            shufflers=IngestPolicy(shufflers=shufflers).shufflers,
        )
        listen(app, host=host, port=port, tell=tell, **tls)


def _keep_statements(
    receiver: Receiver, paths: Iterable[Path], complain: Callable[[str], None]
) -> None:
    for path in paths:
        try:
            receiver.keep_statement(Statement.from_json(read_text(path)))
        except StoreError:
            raise
        except OperationalError as error:  # a restart must not fail for what was true before
            complain(f"{path} is not handed out: {error}")


def _name_ending(
    receiver: Receiver, tables: Iterable[str], complain: Callable[[str], None]
) -> None:
    """Complain of statements that have ended, or soon will."""
    for table in tables:
        said = receiver.find_statement(receiver.intake(table))
        if said is not None and (end := end_of_statement(said)) < utc_today() + _SOON:
            complain(
                f"devices believe the statement about {table} until {end}, and answer nothing "
                "afterwards; sign another one (`ldpsql statement --to`)"
            )


@click.group()
def token() -> None:
    """Say who may ask `ldpsql serve`.

    Hashes of the tokens are kept beside the database, in DB.tokens. `serve` reads them again
    whenever they change.
    """


@token.command(short_help="Make a token.")
@click.argument("name")
@options.database
@click.option(
    "--role",
    type=click.Choice(["analyst", "admin", "relay"]),
    default="analyst",
    help="An analyst asks; a relay brings reports; an admin does both.",
)
def add(name: str, database: Path, role: str) -> None:
    """Make a token for NAME and print it. It is shown once and stored nowhere."""
    show_text(Tokens.beside(database).add(name, role))


@token.command("list", short_help="List whose tokens there are.")
@options.database
def list_tokens(database: Path) -> None:
    """List the names of tokens, and what they are for."""
    known = Tokens.beside(database).read_known().values()
    lines = table_lines(("name", "role"), [(t.name, t.role) for t in known], [False, False])
    show_text("\n".join(lines) if known else "no tokens")


@token.command(short_help="Remove a token.")
@click.argument("name")
@options.database
def remove(name: str, database: Path) -> None:
    """Revoke the token of NAME."""
    Tokens.beside(database).remove(name)
    show_text(f"{name}: removed", err=True)
