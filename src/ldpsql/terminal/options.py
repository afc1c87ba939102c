"""Options that several commands share, and checks of the files that they name."""

from __future__ import annotations

import errno
import io
import math
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TextIO, TypeVar

import click

from ldpsql.algebra.estimate import CONFIDENCE
from ldpsql.limits import SECONDS
from ldpsql.terminal.formats import BY_NAME, TABLE_SUFFIXES
from ldpsql.wording.numbers import read_people

Command = TypeVar("Command", bound=Callable[..., Any])
MOST_PEOPLE = 10_000_000_000
EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)


class Option(click.Option):
    """An option that says, by their flags, which others it excludes and which it needs.

    An argument goes by the name that the usage line gives it. UsageError where that is not kept.
    """

    def __init__(
        self,
        *declarations: Any,
        excludes: Sequence[str] = (),
        needs: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        super().__init__(*declarations, **settings)
        self.excludes, self.needs = excludes, needs

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """Check what stands on the command line beside this option."""
        if self.name in opts:
            flag, given = self.opts[0], set[str]()
            for parameter in ctx.command.params:
                if isinstance(opts.get(parameter.name or ""), str | bool | list | tuple):
                    given |= {*parameter.opts, parameter.human_readable_name.strip("[]")}
            for other in self.excludes:
                if other in given:
                    raise click.UsageError(f"{flag} and {other} exclude each other; give one", ctx)
            for other in self.needs:
                if other not in given:
                    raise click.UsageError(f"{flag} needs {other}; give both", ctx)
        return super().handle_parse_result(ctx, opts, args)


option = partial(click.option, cls=Option)


def read_place(text: str) -> Path | str:
    """A file, or an address as it is."""
    return text if "://" in text else Path(text)


database = click.option(
    "--db",
    "database",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="LDPSQL_DB",
    default="ldpsql.duckdb",
    show_envvar=True,
    help="The DuckDB file that holds the reports.",
)

wait = click.option(
    "--wait",
    "patience",
    metavar="SECONDS",
    type=click.FloatRange(0),
    default=5.0,
    help="How long to wait while another process uses the file.",
)

collector_or_database = click.option(
    "--db",
    "database",
    type=read_place,
    envvar="LDPSQL_DB",
    default="ldpsql.duckdb",
    show_envvar=True,
    metavar="FILE|URL",
    help="The DuckDB file that holds the reports; or the address of `ldpsql serve`, with a token"
    " in LDPSQL_TOKEN; or a folder of report files that Spark reads: "
    "spark:///path/to/reports/?survey=FILE.",
)


confidence = click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=CONFIDENCE,
    help="Level of the intervals and of the +/-.",
)

estimator = click.option(
    "--estimator",
    metavar="NAME",
    help="Which of the mechanism's estimators answers: unbiased, or another that it has (smooth, "
    "em, maxent, calm, adaptive, published).  [default: what the survey says]",
)

timeout = click.option(
    "--timeout",
    "seconds",
    metavar="SECONDS",
    type=click.FloatRange(0, min_open=True),
    default=SECONDS,
    help="How long a statement may take.",
)

weights = click.option(
    "--weights",
    metavar="FILE",
    multiple=True,
    type=EXISTING,
    help="CSV with public margins of the population, such as age,sex,people. Answers are then "
    "about the whole population, including those who did not take part. May be repeated.",
)

one_population = click.option(
    "--one-population",
    is_flag=True,
    help="Treat surveys joined by UNION ALL as samples of one population: combine them by "
    "inverse variance instead of adding them up.",
)

census = click.option(
    "--census",
    is_flag=True,
    help="Treat those who answered as the whole population: intervals leave out the error of "
    "sampling.",
)

output_format = click.option(
    "--format",
    "form",
    type=click.Choice(list(BY_NAME)),
    help="Output format.  [default: table, or what the suffix of -o says]",
)

parameters = click.option(
    "--param",
    "values",
    multiple=True,
    metavar="[NAME=]VALUE",
    help="Value of the next ?, or of :NAME; may be repeated. Quote '7' to keep it a string.",
)

intervals = click.option(
    "--intervals",
    is_flag=True,
    help="Add COLUMN_stderr, COLUMN_low and COLUMN_high (with --estimator smooth also "
    "COLUMN_typical) to every format; a table has them in place of the +/-.",
)

FOLDER = click.Path(file_okay=False, path_type=Path)

shufflers = click.option(
    "--shuffler-key",
    "shufflers",
    multiple=True,
    metavar="PUBLIC_KEY",
    help="Take shuffled batches only from the shuffler that has this key (`ldpsql keygen` prints "
    "it), by its signature. May be repeated.",
)
published_survey = click.option(
    "--survey", required=True, type=EXISTING, help="The published survey."
)


def people(least: int, most: int) -> Callable[[object], int]:
    """A type of option: a number of people between two others."""

    def read(value: object) -> int:
        try:
            number = read_people(str(value))
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
        if not least <= number <= most:
            raise click.BadParameter(
                f"the number of people must lie between {least:,} and {most:,}, not {number:,}"
            )
        return number

    return read


def half_width(text: str) -> float:
    """A share of the people between 0 and 1, as ±2%, +-2%, 2% or 0.02."""
    number = text.strip()
    for sign in ("±", "+/-", "+-"):
        number = number.removeprefix(sign)
    try:
        share = float(number.strip().removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 0.0 < share < 1.0:
        raise click.BadParameter(f"{text!r} is not a share of the people; write ±2% or 0.02")
    return share


def level(text: str) -> float:
    """A level of confidence; `Session` says which make sense."""
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a number between 0 and 1") from None


def file_with_suffix(what: str, *suffixes: str) -> Callable[[str], Path]:
    """A type of option: a file to write, whose suffix says how. what: it is, for the error."""

    def read(text: str) -> Path:
        path = Path(text)
        if path.suffix.lower() not in suffixes:
            one = f"is one of {', '.join(suffixes)}" if suffixes[1:] else f"ends in {suffixes[0]}"
            raise click.BadParameter(f"{what} {one}, not {path.name!r}")
        return path

    return read


REPORT_FILE = file_with_suffix("a file of reports", ".parquet")
TABLE_FILE = file_with_suffix("a table", *TABLE_SUFFIXES)


def comma_list(kind: Callable[[str], Any], least: float = -math.inf) -> Callable[[str], Any]:
    """A type of option: values with commas between them, at least one, and none below `least`."""

    def read(text: str) -> tuple[Any, ...]:
        try:
            values = tuple(kind(part.strip()) for part in text.split(",") if part.strip())
        except ValueError:
            values = ()
        if not values:
            raise click.BadParameter(f"{text!r} is not a list of values with commas between them")
        if least > -math.inf and min(values) < least:
            raise click.BadParameter(f"{text!r} holds a number below {least:g}")
        return values

    return read


def output(
    kind: click.ParamType[Any] | Callable[[str], Path] | None = None,
    explanation: str = "Write to this file instead of stdout.",
    *,
    required: bool = False,
) -> Callable[[Command], Command]:
    """The option -o of a command."""
    return click.option(
        "-o",
        "--output",
        "target",
        metavar="FILE",
        type=kind or click.Path(dir_okay=False, path_type=Path),
        required=required,
        help=explanation,
    )


def check_writable(target: Path) -> None:
    """OSError, before any work, where a file could not be written in the end."""
    folder = target.parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(folder))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))


def is_place(word: str) -> bool:
    """Whether a word of a command line is a database or an address, and no SQL."""
    if re.match(r"[a-z]\w*://", word, re.I):
        return True
    is_named_so = word.lower().endswith((".duckdb", ".ddb", ".db")) and not re.search(r"\s", word)
    return is_named_so or os.path.isfile(word)  # noqa: PTH113  (a long text is no error)


def keep_inputs(target: Path | None, *inputs: Path | str | None) -> None:
    """UsageError, before any work, where the output would replace a file that the command reads."""
    for source in inputs:
        if not target or not isinstance(source, Path):
            continue
        if target.exists() and source.exists() and target.samefile(source):
            raise click.UsageError(f"-o would replace the input {source}; name another file")


def add_asking_options(command: Command) -> Command:
    """The options of every command that answers questions."""
    for option in (intervals, output(), output_format, parameters):
        command = option(command)
    return settings(command)


def settings(command: Command) -> Command:
    """The options that say of whom, and how, questions are answered."""
    for option in (
        census,
        one_population,
        weights,
        estimator,
        confidence,
        timeout,
        collector_or_database,
    ):
        command = option(command)
    return command


def read_parameters(values: Sequence[str]) -> list[Any] | dict[str, Any] | None:
    """Positional or named parameters from the command line; UsageError for a mixture."""
    if not values:
        return None
    parts = [value.partition("=") for value in values]
    named = [bool(equals) and name.isidentifier() for name, equals, _ in parts]
    if all(named):
        return {name: _value(text) for name, _, text in parts}
    if any(named):
        raise click.UsageError("--param takes either values or NAME=VALUE, not both in one call")
    return [_value(text) for text in values]


def read_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """Read KEY=VALUE pairs; UsageError for anything else."""
    for pair in pairs:
        if "=" not in pair[1:]:
            raise click.UsageError(f"an option of a mechanism is KEY=VALUE, not {pair!r}")
    return {key: _value(text) for key, _, text in (pair.partition("=") for pair in pairs)}


def stdin() -> TextIO:
    """Standard input, without a byte order mark; bytes that are not UTF-8 come as surrogates, which
    the parser refuses."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8-sig", errors="surrogateescape")
    return sys.stdin


def _value(text: str) -> Any:
    """A number or truth value if it reads as one, else the text, without enclosing quotes."""
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1]
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
