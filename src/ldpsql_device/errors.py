"""Every error this library raises, in one tree.

The names and the shape are those of PEP 249, so that code written for any
database driver catches what it expects; the leaves say what went wrong here.

    Error
    ├── InterfaceError            the library was called in a way it does not offer
    └── DatabaseError
        ├── DataError             a value is at fault
        │   ├── RecordError       a person's record does not fit the survey (device)
        │   └── ReportError       a report does not fit its survey (collector)
        ├── OperationalError      the store cannot be reached, or is damaged
        │   └── StoreError
        ├── IntegrityError        two things that must agree do not
        │   └── FingerprintError  a report, file or store belongs to another survey
        ├── InternalError         a bug in this library
        ├── ProgrammingError      the question is wrong
        │   ├── SurveyError       a survey file is wrong
        │   └── QueryError        unknown name, wrong type, syntax
        └── NotSupportedError     the question is right, but outside the subset
            └── UnsupportedSQL

A message says what, where, and what to do, on one line. Errors about SQL carry
their place and draw a caret under it (`Located`). No message ever contains a
value from a person's record.
"""

from __future__ import annotations

from dataclasses import dataclass


class Error(Exception):
    """The root: `except ldpsql.Error` catches everything this library raises."""


class InterfaceError(Error):
    """The library was called in a way it does not offer."""


class DatabaseError(Error):
    """Anything that has to do with data, stores or SQL."""


class DataError(DatabaseError):
    """A value is at fault."""


class RecordError(DataError):
    """A person's record does not fit the survey. Raised on the device, never with the value."""


class ReportError(DataError):
    """A report does not fit its survey."""


class OperationalError(DatabaseError):
    """Something outside the program's control failed."""


class StoreError(OperationalError):
    """The store is missing, locked or damaged."""


class IntegrityError(DatabaseError):
    """Two things that must agree do not."""


class FingerprintError(IntegrityError):
    """A report, a file or a store belongs to another survey."""


class InternalError(DatabaseError):
    """A bug in this library: please report it."""


class ProgrammingError(DatabaseError):
    """The question is wrong."""


class SurveyError(ProgrammingError):
    """A survey file is wrong; the message names the key."""


class NotSupportedError(DatabaseError):
    """The question is right, but this library does not answer it."""


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
        self.reason = reason
        self.sql = sql
        self.place = place
        self.hint = hint
        where = f" at {place.line}:{place.column}" if place else ""
        way_out = f"; {hint}" if hint else ""
        super().__init__(f"{reason}{where}{way_out}")

    def caret(self) -> str:
        """The source line and a caret under the place; empty without a place."""
        lines = self.sql.splitlines()
        if self.place is None or not 1 <= self.place.line <= len(lines):
            return ""
        source = lines[self.place.line - 1]
        start = min(self.place.column, len(source) + 1) - 1
        width = max(1, min(self.place.length, len(source) - start))
        window = max(0, start - 60)
        shown = source[window : window + 100]
        return f"  {shown}\n  {' ' * (start - window)}{'^' * min(width, 100 - (start - window))}"


class QueryError(Located, ProgrammingError):
    """SQL that names something unknown, compares the wrong types, or does not parse."""


class UnsupportedSQL(Located, NotSupportedError):
    """SQL outside the subset that can be answered from randomized reports."""
