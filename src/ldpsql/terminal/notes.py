"""Notes beside an answer, on stderr."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from textwrap import wrap

import click

from ldpsql.wording.texts import lines_of, one_line


def show_notes(notes: Iterable[str]) -> None:
    """Each on a line of its own, as of `show_line`."""
    for note in notes:
        show_line(f"note: {note}")


def show_line(text: str) -> None:
    """A line, which a terminal gets broken between words, and a file whole.

    A collector at an address may have said it, and a terminal obeys escape sequences: blanks stand
    for them.
    """
    line = one_line(text)
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        line = "\n".join(wrap(line, width, break_long_words=False, break_on_hyphens=False))
    click.echo(line, err=True)


def show_text(text: str = "", *, err: bool = False) -> None:
    """Lines as they are, on stdout or stderr, for whoever reads them; see `show_line`."""
    click.echo(lines_of(text), err=err)
