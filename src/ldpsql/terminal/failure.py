"""Error messages, and the exit codes.

0 fine; 1 the query or the data is at fault, or a promise does not hold; 2 usage; 3 the store
cannot be reached; 130 interrupted.
"""

from __future__ import annotations

import os
from pathlib import Path

import click

from ldpsql.errors import Located
from ldpsql.terminal.notes import show_line, show_text
from ldpsql_device.errors import Error, StoreError

OK, AT_FAULT, USAGE, UNREACHABLE, INTERRUPTED = 0, 1, 2, 3, 130


def report(error: Exception) -> int:
    """Say on stderr what went wrong, and give the exit code."""
    if isinstance(error, click.exceptions.Abort):
        return INTERRUPTED
    code = AT_FAULT
    if isinstance(error, Error):
        message = " ".join(str(error).split())
        code = UNREACHABLE if isinstance(error, StoreError) else AT_FAULT
    elif isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        message = " ".join(error.format_message().split())
        message += f" (see {context.command_path if context else 'ldpsql'} --help)"
        code = USAGE
    elif isinstance(error, OSError) and error.strerror:
        message = f"{error.filename or 'the output'}: {error.strerror}"
    elif isinstance(error, MemoryError):
        message = "there is not enough memory for this; fewer people, codes or --jobs need less"
    else:
        message = _bug(error)
    show_line(f"ldpsql: error: {message}")
    if isinstance(error, Located) and (caret := error.caret()):
        show_text(caret, err=True)
    return code


def _bug(error: Exception) -> str:
    """Name an unexpected error by its kind and place only: its text might quote a record."""
    import traceback  # noqa: PLC0415  (needed almost never)

    if os.environ.get("LDPSQL_DEBUG"):
        traceback.print_exception(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"this is a bug in ldpsql ({type(error).__name__} in {Path(frame.filename).name}:"
        f"{frame.lineno}); LDPSQL_DEBUG=1 shows the traceback"
    )
