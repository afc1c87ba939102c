"""Notes beside an answer, on stderr."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from textwrap import wrap

import click

from ldpsql.text import one_line


def show_notes(notes: Iterable[str]) -> None:
    """Each on a line of its own, which a terminal gets broken between words, and a file whole."""
    for note in notes:
        text = one_line(f"note: {note}")
        width = shutil.get_terminal_size().columns
        folded = wrap(text, width, break_long_words=False, break_on_hyphens=False)
        click.echo("\n".join(folded) if sys.stderr.isatty() else text, err=True)
