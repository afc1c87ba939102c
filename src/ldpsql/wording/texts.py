"""Texts from strangers made inert: a function for each place where a text is shown.

Public values, labels, aliases, names of files and look-up tables are written by anybody, and are
quoted by errors and notes. A terminal obeys control characters, whoever reads is misled by those
that turn the direction of writing, and spreadsheets, Markdown, HTML and matplotlib have languages
of their own. Data, such as Arrow, Parquet and JSON, hold a text as it came.
"""

from __future__ import annotations

import json
import re
import unicodedata
from html import escape

from ldpsql_device.errors import one_line

__all__ = ["figure_text", "html_text", "json_text", "lines_of", "markdown_text", "one_line"]
__all__ += ["spreadsheet_text"]

_FORMULA_STARTS = ("=", "+", "-", "@")
_MARKDOWN = re.compile(r"[\\`*_{}\[\]<>&|~$@^]|:(?=//)|(?<=\{)%|(?<=www)\.", re.I)
"""The beginning of markup, an address that becomes a link, mathematics, or a template."""
_BEYOND_ASCII = re.compile(r"[^\n -~]")


def lines_of(text: str) -> str:
    """Several lines for a terminal, a log or a prompt, each as of `one_line`; a tab stays."""
    return "\n".join("\t".join(map(one_line, line.split("\t"))) for line in text.split("\n"))


def spreadsheet_text(text: str) -> str:
    """A cell of a file that spreadsheets open: a ' stands before what they would run as a formula.

    They leave out what nobody sees before it, and some read the full-width forms of its signs.
    """
    place = next((n for n, letter in enumerate(text) if letter.isprintable() and letter != " "), -1)
    first = unicodedata.normalize("NFKC", text[place : place + 1])
    return f"'{text}" if place >= 0 and first.startswith(_FORMULA_STARTS) else text


def markdown_text(text: str) -> str:
    """A cell of a table in Markdown: no markup, no picture and no link, and no end of the cell."""
    return _MARKDOWN.sub(r"\\\g<0>", one_line(text).strip())


def html_text(text: str) -> str:
    """A text within HTML or a quoted attribute; lines stay lines."""
    return escape(lines_of(text))


def figure_text(text: str) -> str:
    """A text in a picture of matplotlib, which else reads what stands between $ as mathematics."""
    return one_line(text).replace("$", r"\$")


def json_text(text: str) -> str:
    """The same JSON, with \\u escapes for what nobody sees, so that a terminal can show it."""

    def write(found: re.Match[str]) -> str:
        return found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1]

    return _BEYOND_ASCII.sub(write, text)
