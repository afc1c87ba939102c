"""Every error this library raises, in one tree; `ldpsql.errors` adds those about SQL.

The names and the shape are those of PEP 249, so that code written for any database driver catches
what it expects; the leaves say what went wrong here.

A message says what, where, and what to do, on one line. No message ever contains a value from a
person's record.
"""

from __future__ import annotations

import os


def one_line(text: str) -> str:
    """The text with a space for what does not print, or turns the direction of writing."""
    return "".join(character if character.isprintable() else " " for character in text)


class Error(Exception):
    """The root: `except ldpsql.Error` catches everything this library raises."""

    def __str__(self) -> str:
        """The message in one line: a prompt, a notebook or a log shows what it may quote."""
        said = one_line(super().__str__())
        return said if len(said) < 2_000 else f"{said[:1_200]} ... {said[-700:]}"

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in the place of a traceback: the message, in one line.

        AttributeError where LDPSQL_DEBUG is set, upon which IPython shows the traceback.
        """
        if os.environ.get("LDPSQL_DEBUG"):
            raise AttributeError("LDPSQL_DEBUG asks for the traceback")
        return [f"{type(self).__name__}: {self}"]


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


class NotAllowed(OperationalError):
    """A device does not answer a survey, or not now: by the app's policy, the day, or what was
    given before. It depends on these alone: nothing of a record was looked at."""


class BudgetSpent(OperationalError):
    """What a person gives in all does not cover one more answer."""


class NotAsked(NotAllowed):
    """A survey asks this device in some of its periods, and not in this one."""


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


def expect(holds: object, problem: str) -> None:
    """SurveyError that says what is wrong with a survey, unless it holds."""
    if not holds:
        raise SurveyError(problem)
