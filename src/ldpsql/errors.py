"""The errors about SQL, in the tree of `ldpsql_device.errors`: they know their place in the text.

ProgrammingError
└── QueryError                unknown name, wrong type, syntax
NotSupportedError
└── UnsupportedSQL            outside the subset
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Self

from ldpsql_device.errors import Error, NotSupportedError, ProgrammingError

_LONGEST = 900
"""Letters of a reason, and of a hint: names in them may be as long as a text."""


@dataclass(frozen=True)
class Place:
    """Where in an SQL text something stands: 1-based line and column, length in characters."""

    line: int
    column: int
    length: int = 1


class Located(Error):
    """Base of errors about SQL: keeps the text and the place, and draws the caret.

    `str(error)` is one line, "reason at line:column; way out"; `error.caret()` the two
    lines below it, or an empty string where no place is known.
    """

    def __init__(
        self, reason: str, *, sql: str = "", place: Place | None = None, hint: str = ""
    ) -> None:
        reason, hint = (
            said if len(said) <= _LONGEST else f"{said[:_LONGEST]} ..." for said in (reason, hint)
        )
        self.reason = reason
        self.sql = sql
        self.place = place
        self.hint = hint
        where = f" at {place.line}:{place.column}" if place else ""
        way_out = f"; {hint}" if hint else ""
        super().__init__(f"{reason}{where}{way_out}")

    def at(self, sql: str, place: Place | None) -> Self:
        """The same error at a place of an SQL text."""
        return type(self)(self.reason, sql=sql, place=place, hint=self.hint)

    def caret(self) -> str:
        """The source line and a caret under the place, on 80 columns; empty without a place."""
        lines = self.sql.splitlines()
        if self.place is None or not 1 <= self.place.line <= len(lines):
            return ""
        source = lines[self.place.line - 1]
        start = min(self.place.column, len(source) + 1) - 1
        width = max(1, min(self.place.length, len(source) - start))
        window = max(0, start - 50)
        shown = source[window : window + 78]
        return f"  {shown}\n  {' ' * (start - window)}{'^' * min(width, 78 - (start - window))}"


class QueryError(Located, ProgrammingError):
    """SQL that names something unknown, compares the wrong types, or does not parse."""


class UnsupportedSQL(Located, NotSupportedError):
    """SQL outside the subset that can be answered from randomized reports."""


def pluralize(count: int, noun: str) -> str:
    """A number of things in words: 1 report, 2 reports."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def did_you_mean(
    name: str, names: Iterable[str], write: Callable[[str], str] = lambda name: name
) -> str:
    """The beginning of a hint, which names what comes close to an unknown name; empty if nothing
    does. write: how a name is shown."""
    known = {each.lower(): each for each in names}
    close = get_close_matches(name.lower(), known, n=1)
    return f"did you mean {write(known[close[0]])}? " if close else ""


def list_some(
    texts: Sequence[str], most: int, *, count: int | None = None, separator: str = ", "
) -> str:
    """The first of some texts in words: a, b and 3 more; count: how many there are, if not all are
    given."""
    more = (len(texts) if count is None else count) - most
    return separator.join(texts[:most]) + (f" and {more} more" if more > 0 else "")
