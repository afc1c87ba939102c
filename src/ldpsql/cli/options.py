"""Options that several commands share, and checks of the files that they name."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO, TypeVar

import click

from ldpsql.cli.formats import BY_NAME, TABLE_SUFFIXES
from ldpsql.estimate import CONFIDENCE

Command = TypeVar("Command", bound=Callable[..., Any])

database = click.option(
    "--db",
    "database",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="LDPSQL_DB",
    default="ldpsql.duckdb",
    show_envvar=True,
    help="The DuckDB file that holds the reports.",
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
    "em, maxent, adaptive, published).  [default: what the survey says]",
)

output_format = click.option(
    "--format",
    "form",
    type=click.Choice(list(BY_NAME)),
    help="Output format.  [default: table, or what the suffix of -o says]",
)

output = click.option(
    "-o",
    "--output",
    "target",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file instead of stdout.",
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
    "COLUMN_typical) to machine-readable formats.",
)

survey_file = click.Path(exists=True, dir_okay=False, path_type=Path)


class HalfWidth(click.ParamType[float]):
    """A share of the people between 0 and 1, as ±2%, +-2%, 2% or 0.02."""

    name = "share"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The share as a number."""
        text = str(value).strip()
        for sign in ("±", "+/-", "+-"):
            text = text.removeprefix(sign)
        number = text.strip().removesuffix("%")
        try:
            share = float(number) / (100 if text.endswith("%") else 1)
        except ValueError:
            share = 0.0
        if not 0.0 < share < 1.0:
            self.fail(f"{value!r} is not a share of the people; write ±2% or 0.02", param, ctx)
        return share


class OutputFile(click.Path):
    """A file to write, whose suffix says how.

    what: it is, for the error; suffixes: it may have.
    """

    def __init__(self, what: str, suffixes: Sequence[str]) -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self._what, self._suffixes = what, suffixes

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path, if it ends in one of the suffixes."""
        path = Path(str(super().convert(value, param, ctx)))
        if path.suffix.lower() not in self._suffixes:
            *others, last = self._suffixes
            one = f"is one of {', '.join(self._suffixes)}" if others else f"ends in {last}"
            self.fail(f"{self._what} {one}, not {path.name!r}", param, ctx)
        return path


REPORT_FILE = OutputFile("a file of reports", (".parquet",))
TABLE_FILE = OutputFile("a table", TABLE_SUFFIXES)


class CommaList(click.ParamType[tuple[Any, ...]]):
    """Values with commas between them, at least one, and none below `least`."""

    name = "list"

    def __init__(self, kind: type, least: float | None = None) -> None:
        self._kind, self._least = kind, least

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Any, ...]:
        """The values."""
        if isinstance(value, tuple):
            return value
        try:
            values = tuple(
                self._kind(part.strip()) for part in str(value).split(",") if part.strip()
            )
        except ValueError:
            values = ()
        if not values:
            self.fail(f"{value!r} is not a list of values with commas between them", param, ctx)
        if self._least is not None and min(values) < self._least:
            self.fail(f"{value!r} holds a number below {self._least:g}", param, ctx)
        return values


def check_writable(target: Path) -> None:
    """OSError, before any work, where a file could not be written in the end."""
    folder = target.parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(folder))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))


def keep_inputs(target: Path | None, *inputs: Path | None) -> None:
    """UsageError, before any work, where the output would replace a file that the command reads."""
    for source in inputs:
        if target is not None and source is not None and _same_file(target, source):
            raise click.UsageError(f"-o would replace {source}, which is read; name another file")


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there
        return False


def asking(command: Command) -> Command:
    """The options of every command that answers questions."""
    for option in (intervals, output, output_format, parameters, estimator, confidence, database):
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
    parts = [pair.partition("=") for pair in pairs]
    for key, equals, _ in parts:
        if not equals or not key:
            raise click.UsageError(f"an option of a mechanism is KEY=VALUE, not {key!r}")
    return {key: _value(text) for key, _, text in parts}


def stdin() -> TextIO:
    """Standard input; bytes that are not UTF-8 come as surrogates, which the parser refuses."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")
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
