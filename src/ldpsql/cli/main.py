"""The entry point of `ldpsql`, and its default command."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.abc import MetaPathFinder
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from ldpsql import extensions
from ldpsql.cli.ask import query
from ldpsql.cli.commands import GROUP, Commands
from ldpsql.errors import did_you_mean
from ldpsql.terminal import options
from ldpsql.terminal.failure import INTERRUPTED, OK, report

_GROUP_OPTIONS = ("--help", "-h", "--version")


class Verbs(click.Group):
    """A group whose default command is `query`, and which never shows a traceback."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the verb first: options may stand before it, and SQL needs none."""
        with _reader_may_leave(ctx):
            return super().parse_args(ctx, self._verb_first(args, ctx))

    def _verb_first(self, args: list[str], ctx: click.Context) -> list[str]:
        is_asked_by_shell = ctx.resilient_parsing and not args  # which commands there are
        if is_asked_by_shell or (args and args[0] in _GROUP_OPTIONS):
            return args
        if args[:1] == ["help"] or (not args and sys.stdin.isatty()):
            return [*args[1:], "--help"]
        place = _first_argument(args)
        if place is None:
            return ["query", *args]
        verb = args[place]
        is_word = verb.replace("-", "").replace("_", "").isalnum()  # which no SQL is
        is_command = is_word and verb in self.commands
        if not is_command and options.is_place(verb):
            return self._verb_of_place(verb, [*args[:place], *args[place + 1 :]], ctx)
        if is_command:
            end = place + (2 if isinstance(self.commands[verb], click.Group) else 1)
            return [*args[place:end], *args[:place], *args[end:]]
        if not is_word:
            return ["query", *args]
        hint = did_you_mean(verb, self.commands) or f"there are {', '.join(self.commands)}"
        raise click.UsageError(f"no command {verb!r}; {hint.strip()}", ctx)

    def _verb_of_place(self, place: str, others: list[str], ctx: click.Context) -> list[str]:
        """The words of the command that is meant with a database; its shell, where none is
        named."""
        following = _first_argument(others)
        is_named = any(word == "--db" or word.startswith("--db=") for word in others)
        if is_named or (following is not None and options.is_place(others[following])):
            raise click.UsageError(f"two databases are named, {place} and another; name one", ctx)
        if following is None:
            return ["shell", "--db", place, *others]
        return self._verb_first([*others, "--db", place], ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(Commands().help_lines().items()))
        if refused := extensions.refused(GROUP):
            formatter.write_paragraph()
            formatter.write_text(f"Left out, for a name is a-z, 0-9 and -: {', '.join(refused)}.")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer the commands without importing any."""
        lines = Commands().help_lines().items()
        found = [CompletionItem(n, help=text) for n, text in lines if n.startswith(incomplete)]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _reader_may_leave(ctx):
            return super().invoke(ctx)

    def main(self, args: Sequence[str] | None = None, *_: Any, **extra: Any) -> NoReturn:
        """Run and leave with the exit code, for whoever calls the group as click does."""
        sys.exit(self.run(args, **extra))

    def run(self, args: Sequence[str] | None = None, **extra: Any) -> int:
        """Run, report an error in one line, and return the exit code."""
        extra.update(standalone_mode=False, prog_name="ldpsql")
        try:
            code: int | None = super().main(args, **extra)
        except Exception as error:
            code = report(error)
        return code or OK


@contextmanager
def _reader_may_leave(ctx: click.Context) -> Iterator[None]:
    """A reader of stdout that stops reading, such as `head`, is not an error."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        ctx.exit(OK)


def _first_argument(args: list[str]) -> int | None:
    """Index of the first word that is neither an option of `query` nor an option's value."""
    takes_value = {
        name: not option.is_flag
        for option in query.params
        if isinstance(option, click.Option)
        for name in option.opts
    }
    position = 0
    while position < len(args):
        word = args[position]
        if not word.startswith("-") or word == "-":
            return position
        position += 2 if takes_value.get(word, False) else 1
    return None


@click.group(
    cls=Verbs,
    commands=Commands(),
    invoke_without_command=False,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 80,
        "show_default": True,
    },
    epilog="Exit codes: 0 fine, 1 query, data or promise at fault, 2 wrong usage, 3 store "
    "unreachable.",
)
@click.version_option(package_name="ldpsql", message="%(prog)s %(version)s")
def cli() -> None:
    """Ask SQL questions about data that nobody but its owner ever saw.

    `ldpsql people.duckdb "SELECT ..."` answers from the reports in a database, and
    `ldpsql https://collect.example "SELECT ..."` from those of a collector. Every number comes with
    an error bar. Without SQL a shell opens. Before that come `design`, `randomize` (on the devices)
    and `ingest`.
    """


class _Lenient(io.FileIO):
    """A file that drops what cannot be written."""

    def write(self, data: Any, /) -> int:
        """How much was taken, which is all where nothing can be written."""
        with suppress(OSError):
            return super().write(data) or 0
        return len(data)


def open_streams() -> None:
    """Have all standard streams, whatever the caller closed.

    Otherwise the next file that is opened takes the number of a closed one, and output goes there.
    There is nothing to read then, writing output fails, and messages are dropped, as they are where
    they cannot be written; the exit code says the same without them.
    """
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # which takes the lowest number that is free
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    encoding = "utf-8" if sys.stderr is None else sys.stderr.encoding
    messages = io.BufferedWriter(_Lenient(2, "w", closefd=False))
    sys.stderr = io.TextIOWrapper(messages, encoding, "backslashreplace", line_buffering=True)


class NoPandas(MetaPathFinder):
    """Lets no module find pandas."""

    def find_spec(self, fullname: str, *_: Any) -> None:
        """None, which leaves a module to other finders; ModuleNotFoundError for pandas."""
        if fullname == "pandas":
            raise ModuleNotFoundError("the command line does not use pandas", name=fullname)


def main() -> NoReturn:
    """The console script `ldpsql`.

    What it does beyond calling `cli` makes a question over a small store cost .48 seconds of
    processor time and not .95; importing its libraries takes .33 of them.
    """
    open_streams()
    # Arrow imports pandas with the first array that it makes, to recognize data frames, which no
    # command has: .18 s.
    sys.meta_path.insert(0, NoPandas())
    # What imports create lives on, so looking through it for garbage is waste: .03 s.
    gc.set_threshold(200_000, 20, 20)
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:  # clean up as after Ctrl-C
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = cli.run()
    except KeyboardInterrupt:
        code = INTERRUPTED
    # The interpreter's own way out looks through every object first (.15 s), and everything that
    # must be closed is closed by now.
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # what could not be written has been said before
            stream.flush()
    os._exit(code)
