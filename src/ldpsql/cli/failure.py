"""What is said when something goes wrong, and the exit codes.

0 fine; 1 the query or the data is at fault, or a promise does not hold; 2 usage; 3 the store
cannot be reached; 130 interrupted.
"""

from __future__ import annotations

import os
from pathlib import Path

import click

from ldpsql.errors import Located
from ldpsql_device.errors import Error, StoreError

OK, AT_FAULT, USAGE, UNREACHABLE, INTERRUPTED = 0, 1, 2, 3, 130


def report(error: Exception) -> int:
    """Say on stderr what went wrong, and give the exit code."""
    if isinstance(error, click.exceptions.Abort):
        return INTERRUPTED
    if isinstance(error, Error):
        return _report_ours(error)
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "ldpsql"
        _say(f"{_one_line(error.format_message())} (see {command} --help)")
        return USAGE
    if isinstance(error, OSError) and error.strerror:
        _say(f"{error.filename or 'the output'}: {error.strerror}")
        return AT_FAULT
    if isinstance(error, MemoryError):
        _say("there is not enough memory for this; fewer people, codes or --jobs need less")
        return AT_FAULT
    _report_bug(error)
    return AT_FAULT


def _report_ours(error: Error) -> int:
    """One line, and under it the caret lines where SQL is at fault."""
    _say(_one_line(str(error)))
    caret = error.caret() if isinstance(error, Located) else ""
    if caret:
        click.echo(caret, err=True)
    return UNREACHABLE if isinstance(error, StoreError) else AT_FAULT


def _report_bug(error: Exception) -> None:
    """Name an unexpected error by its kind and place only: its text might quote a record."""
    import traceback  # noqa: PLC0415  (needed almost never)

    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    _say(
        f"this is a bug in ldpsql ({type(error).__name__} in {place}); "
        "LDPSQL_DEBUG=1 shows the traceback"
    )
    if os.environ.get("LDPSQL_DEBUG"):
        traceback.print_exception(error)


def _say(message: str) -> None:
    click.echo(f"ldpsql: error: {message}", err=True)


def _one_line(text: str) -> str:
    return " ".join(text.split())
