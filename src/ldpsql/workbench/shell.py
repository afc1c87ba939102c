"""`shell`: statements and commands one after another, typed at a prompt or out of a pipe."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ldpsql.dbapi.asking import make_session, open_to_ask, write_result
from ldpsql.errors import did_you_mean
from ldpsql.parser.catalog import describe, describe_lookup
from ldpsql.parser.source import is_blank, split_statements
from ldpsql.terminal import options
from ldpsql.terminal.failure import INTERRUPTED, OK, report
from ldpsql.terminal.formats import BY_NAME
from ldpsql.terminal.notes import show_line, show_notes, show_text
from ldpsql.terminal.text import labelled_lines, table_lines
from ldpsql_device.description import name_with_label
from ldpsql_device.errors import InterfaceError

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completion

    from ldpsql.sql.lookups import PublicTable
    from ldpsql.survey import Survey
    from ldpsql.workbench.completion import Names

_WORDS = {"help": ".help", "quit": ".quit", "exit": ".quit"}
"""Commands that are understood without their dot."""
_SWITCH = ("on", "off")
_DEEPEST = 8  # files that read files


@click.command()
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
    **settings: Any,
) -> None:
    """Read statements, each ended by a semicolon, and answer them. Errors do not end the shell.

    `ldpsql people.duckdb` opens it, too. At a terminal Tab completes, the arrow keys recall
    questions, also those of earlier sessions, Ctrl-C clears the line, and Ctrl-D ends the shell.
    LDPSQL_HISTORY names the file that remembers questions, never answers ("" for none). From a pipe
    there is no prompt, and the exit code says whether any statement failed.
    """
    own = Shell(database, settings, form, intervals=intervals)
    try:
        if sys.stdin.isatty() and (sys.stdout.isatty() or sys.stderr.isatty()):
            _converse(own)
        else:
            own.run(options.stdin())
            ctx.exit(own.code)
    finally:
        own.close()


def _converse(own: Shell) -> None:
    """Ask at a prompt until there are no more questions."""
    import os  # noqa: PLC0415

    from ldpsql.workbench.prompt import Prompt, history_file  # noqa: PLC0415  (for terminals alone)

    def ask(history: Path | None) -> Prompt:
        return Prompt(own.is_complete, own.offers, own.takes_file, history)

    # Ctrl-C ends what is being done, and SIGTERM the shell.
    signal.signal(signal.SIGTERM, _end)
    names = ", ".join(own.names.tables) or "no surveys yet"
    show_line(f"{own.place}: {names}")
    show_text("Statements end with ;  help lists the commands, quit leaves.", err=True)
    try:
        prompt = ask(history_file(os.environ))
    except OSError as error:
        show_notes([f"the history is not kept: {error.filename}: {error.strerror}"])
        prompt = ask(None)
    while not own.is_over:
        try:
            text = prompt.read()
        except EOFError:
            return
        try:
            own.run(text.splitlines(keepends=True))
        except KeyboardInterrupt:
            show_text("interrupted", err=True)


def _end(*_: object) -> None:
    # Any other exception would be shown by the event loop of the prompt, which then goes on.
    raise SystemExit(INTERRUPTED)


@dataclass(frozen=True)
class _Command:
    """A command of the shell.

    takes: what stands behind it, for the help.  explanation: what it does.  run: does it, with the
    words behind it.  offers: what may stand behind it.
    """

    takes: str
    explanation: str
    run: Callable[[Shell, str], None]
    offers: Callable[[Shell], Iterable[str]] = lambda _: ()


class Shell:
    """Where statements are answered, how, and where to: everything that commands change.

    place: the file or address.  code: the largest exit code of what failed.  is_over: whether
    somebody wants to leave.
    """

    def __init__(
        self,
        place: Path | str,
        settings: Mapping[str, Any],
        form: str | None,
        *,
        intervals: bool,
    ) -> None:
        """Open a store; settings: as of `make_session`."""
        self.place, self._settings = place, dict(settings)
        self._form, self._intervals = form, intervals
        self._store = open_to_ask(place)
        self._session = make_session(self._store, **settings)
        self._target: Path | None = None
        self._has_written, self._has_timer = False, False
        self._depth = 0
        self._names: Names | None = None
        self.code, self.is_over = OK, False

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    @property
    def names(self) -> Names:
        """The tables that can be asked, as they were when first wanted of this store."""
        from ldpsql.workbench.completion import Names  # noqa: PLC0415  (a pipe completes nothing)

        if self._names is None:
            self._names = Names.of(self._store.surveys(), self._store.lookups())
        return self._names

    def run(self, lines: Iterable[str]) -> None:
        """Do what stands in some lines, whatever fails; `code` tells."""
        for text in _inputs(iter(lines)):
            if self.is_over:
                return
            try:
                self._do(text)
            except (BrokenPipeError, click.exceptions.Abort):
                raise
            except Exception as error:
                self.code = max(self.code, report(error))

    def _do(self, text: str) -> None:
        started = time.perf_counter()
        if text.startswith("."):
            word, _, rest = text.encode(errors="replace").decode().partition(" ")
            if word not in COMMANDS:
                meant = did_you_mean(word, COMMANDS)
                raise InterfaceError(f"no command {word!r:.40}; {meant}.help lists them")
            COMMANDS[word].run(self, rest.strip())
            return
        self._answer(text)
        if self._has_timer:
            show_text(f"time: {time.perf_counter() - started:.3f} s", err=True)

    def _answer(self, sql: str) -> None:
        result = self._session.execute(sql)
        write_result(
            result,
            self._form,
            self._target,
            intervals=self._intervals,
            append=self._has_written,
        )
        self._has_written = self._target is not None

    # -- at a prompt ---------------------------------------------------------------------------

    def is_complete(self, text: str) -> bool:
        """Whether Enter may end an input: a command, nothing, or whole statements."""
        if not text.strip() or _is_command(text):
            return True
        *_, last = split_statements(text)
        return is_blank(last)

    def offers(self, before: str) -> Iterator[Completion]:
        """Completions of a text."""
        from ldpsql.workbench.completion import offer_commands  # noqa: PLC0415

        if before.lstrip().startswith("."):
            known = {word: tuple(own.offers(self)) for word, own in COMMANDS.items()}
            return offer_commands(before.lstrip(), known)
        return self.names.offers(before)

    def takes_file(self, before: str) -> bool:
        """Whether the name of a file is what stands behind a text."""
        word, blank, _ = before.lstrip().partition(" ")
        return bool(blank) and word in (".read", ".open", ".output")

    # -- commands ------------------------------------------------------------------------------

    def help(self, _: str) -> None:
        """List the commands."""
        facts = [(f"{word} {own.takes}".strip(), own.explanation) for word, own in COMMANDS.items()]
        show_text(HELP)
        show_text("\n".join(labelled_lines(facts, indent=21)))

    def quit(self, _: str) -> None:
        """End after this."""
        self.is_over = True

    def list_tables(self, _: str) -> None:
        """Name the surveys and look-up tables."""
        names = [survey.table for survey in self._store.surveys()]
        names += [_name_lookup(table) for table in self._store.lookups()]
        show_text("\n".join(names) or "no surveys")

    def describe(self, names: str) -> None:
        """Tell the columns of tables."""
        lookups = {table.name: table for table in self._store.lookups()}
        asked = names.lower().split()
        lines = [_columns(own) for own in self._surveys(n for n in asked if n not in lookups)]
        if not asked:
            lines = [_columns(own) for own in self._store.surveys()]
        lines += [_lookup_columns(lookups[name]) for name in asked or lookups if name in lookups]
        show_text("\n".join(lines) or "no surveys")

    def promise(self, names: str) -> None:
        """Tell what surveys promise."""
        asked = names.split()
        surveys = self._surveys(asked) if asked else self._store.surveys()
        show_text("\n".join(map(_promise, surveys)) or "no surveys")

    def _surveys(self, names: Iterable[str]) -> list[Survey]:
        return [self._store.survey(name) for name in names]

    def set_form(self, name: str) -> None:
        """Say or choose the format of answers."""
        if name:
            self._form = _one_of(name, tuple(BY_NAME), "format")
        else:
            show_text(self._form or "table")

    def set_timer(self, word: str) -> None:
        """Say or choose whether the time of an answer is told."""
        self._has_timer = _switch(word, is_on=self._has_timer)

    def set_estimator(self, name: str) -> None:
        """Say or choose which estimator answers."""
        if name:
            chosen = None if name == "default" else _one_of(name, self._estimators(), "estimator")
            self._change(estimator=chosen)
        else:
            show_text(self._settings["estimator"] or "default")

    def _estimators(self) -> tuple[str, ...]:
        surveys = self._store.surveys()
        known = (name for survey in surveys for name in survey.design.estimators)
        return ("default", *dict.fromkeys(known))

    def set_confidence(self, text: str) -> None:
        """Say or choose the level of intervals."""
        if text:
            self._change(confidence=options.level(text))
        else:
            show_text(f"{self._settings['confidence']:g}")

    def open(self, text: str) -> None:
        """Say or choose what is asked."""
        if not text:
            show_text(str(self.place))
            return
        former = self.place, self._store, self._names
        self.place = options.read_place(text)
        self._store = open_to_ask(self.place)
        try:
            self._change()
            if self._names is not None:  # somebody is at a prompt
                self._names = None
                show_line(f"{self.place}: {', '.join(self.names.tables)}")
        except BaseException:
            self.close()
            self.place, self._store, self._names = former
            self._change()
            raise
        former[1].close()

    def _change(self, **changed: Any) -> None:
        """Go on with other settings, or another store; where they make no sense, as before."""
        settings = {**self._settings, **changed}
        self._session = make_session(self._store, **settings)
        self._settings = settings

    def read(self, name: str) -> None:
        """Do what stands in a file."""
        if not name:
            raise InterfaceError(".read needs the name of a file")
        if self._depth >= _DEEPEST:
            raise InterfaceError(f"{name}: at most {_DEEPEST} files may read one another")
        self._depth += 1
        try:
            with (
                Path(name).expanduser().open(encoding="utf-8-sig", errors="surrogateescape") as file
            ):
                self.run(file)
        finally:
            self._depth -= 1

    def set_target(self, name: str) -> None:
        """Choose the file for the answers to come, or standard output."""
        target = Path(name).expanduser() if name else None
        if target is not None:
            options.keep_inputs(target, self.place)
            options.check_writable(target)
        self._target, self._has_written = target, False


def _is_command(text: str) -> bool:
    """Whether a line is a command, with its dot or as a word."""
    return text.lstrip().startswith(".") or text.strip(" \t\r\n;").lower() in _WORDS


def _inputs(lines: Iterator[str]) -> Iterator[str]:
    """Commands, with their dots, and statements, without the semicolon, which the last may lack."""
    buffer = ""
    for line in lines:
        if _is_command(line) and is_blank(buffer):
            text = line.strip(" \t\r\n")
            yield text if text.startswith(".") else _WORDS[text.strip(";").strip().lower()]
            buffer = ""
            continue
        buffer += line
        if ";" in line:
            *complete, buffer = split_statements(buffer)
            yield from (statement for statement in complete if not is_blank(statement))
    if not is_blank(buffer):
        yield buffer


def _one_of(name: str, known: Sequence[str], what: str) -> str:
    if name not in known:
        meant = did_you_mean(name, known)
        raise InterfaceError(f"no {what} {name!r:.40}; {meant}there are {', '.join(known)}")
    return name


def _switch(word: str, *, is_on: bool) -> bool:
    """The new state of a switch after a word; without a word the present one is shown."""
    if not word:
        show_text(_SWITCH[0] if is_on else _SWITCH[1])
        return is_on
    return _one_of(word, _SWITCH, "choice") == "on"


def _name_lookup(table: PublicTable) -> str:
    return f"{table.name} (look-up table)"


def _lookup_columns(table: PublicTable) -> str:
    rows = [(name, "lookup", kind) for name, kind in describe_lookup(table)]
    lines = table_lines(rows[0], rows[1:], [False] * 3)
    return "\n".join([_name_lookup(table), *(f"  {line}" for line in lines)])


def _columns(survey: Survey) -> str:
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
    facts = (
        ("survey", survey.table),
        ("mechanism", survey.design.name),
        ("guarantee", str(survey.guarantee)),
        ("protects", survey.design.guarantee.protects),
        ("fingerprint", survey.fingerprint),
    )
    return "\n".join(labelled_lines(facts))


HELP = """\
Statements end with ; and may span lines: SELECT COUNT(*) FROM app WHERE a > 3;
EXPLAIN SELECT ... says which reports answer, and how well."""

COMMANDS: Mapping[str, _Command] = {
    ".tables": _Command("", "the surveys and look-up tables that can be asked", Shell.list_tables),
    ".schema": _Command("[TABLE]", "their columns", Shell.describe, lambda own: own.names.tables),
    ".survey": _Command(
        "[TABLE]",
        "mechanism, guarantee and fingerprint",
        Shell.promise,
        lambda own: own.names.tables,
    ),
    ".open": _Command("FILE|URL", "ask another database or collector", Shell.open),
    ".estimator": _Command(
        "[NAME]", "which estimator answers", Shell.set_estimator, Shell._estimators
    ),
    ".confidence": _Command("[LEVEL]", "level of the intervals and of the ±", Shell.set_confidence),
    ".mode": _Command("[FORMAT]", f"{', '.join(BY_NAME)}", Shell.set_form, lambda _: BY_NAME),
    ".timer": _Command(
        "[on|off]", "say how long an answer took", Shell.set_timer, lambda _: _SWITCH
    ),
    ".output": _Command("[FILE]", "where answers go from now on", Shell.set_target),
    ".read": _Command("FILE", "do what stands in a file", Shell.read),
    ".help": _Command("", "this text; also help", Shell.help),
    ".quit": _Command("", "leave; also quit, exit, Ctrl-D", Shell.quit),
}
