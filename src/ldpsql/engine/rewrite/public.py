"""Public. Sees parameters. Comparisons of public columns, as DuckDB SQL.

The text is built from checked literals only: numbers by their shortest form, strings and names
with their quotes doubled, dates from their parts.
"""

from __future__ import annotations

import math
from datetime import date, datetime

from ldpsql.parser.query import Atom, Comparison, Membership
from ldpsql_device.domains import Value
from ldpsql_device.errors import QueryError
from ldpsql_device.schema import PublicColumn


def condition(atom: Atom, column: PublicColumn) -> str:
    """An atom over a public column as SQL; QueryError, without a place, for another type."""
    name = quoted(column.name)
    if isinstance(atom, Comparison):
        return f"{name} {atom.op} {_literal(atom.literal, column)}"
    if isinstance(atom, Membership):
        return f"{name} IN ({', '.join(_literal(value, column) for value in atom.literals)})"
    return f"{name} IS NULL"


def quoted(name: str) -> str:
    """A name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _literal(value: Value | None, column: PublicColumn) -> str:
    if value is None:
        return "NULL"
    if column.is_numeric and isinstance(value, int | float) and not isinstance(value, bool):
        return _number(value)
    if column.type == "text" and isinstance(value, str):
        return _text(value)
    if column.type == "bool" and isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if column.type in ("date", "timestamp") and isinstance(value, str | date):
        return _moment(value, column)
    raise QueryError(
        f"{column.name} is a column of type {column.type} "
        f"and cannot be compared with {str(value)[:40]!r}"
    )


def _number(value: int | float) -> str:
    if not math.isfinite(value):
        raise QueryError("a number in a comparison must be finite")
    return repr(value)


def _text(value: str) -> str:
    if "\0" in value:
        raise QueryError("a string in a comparison cannot hold the character 0")
    return "'" + value.replace("'", "''") + "'"


def _moment(value: str | date, column: PublicColumn) -> str:
    moment = _parsed(value, column) if isinstance(value, str) else value
    if not isinstance(moment, datetime):
        return f"DATE '{moment.isoformat()}'"
    if column.type == "date" and isinstance(value, str):
        # DuckDB reads a string as the column's type, so the time of day must not matter.
        if moment.time() != datetime.min.time():
            raise QueryError(f"{value[:40]!r} is not a date", hint="write 2026-01-31")
        return f"DATE '{moment.date().isoformat()}'"
    return f"TIMESTAMP '{moment.isoformat(' ')}'"


def _parsed(text: str, column: PublicColumn) -> datetime:
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise QueryError(f"{text[:40]!r} is not a {column.type}", hint="write 2026-01-31") from None
    if moment.tzinfo is not None:
        raise QueryError(f"{text[:40]!r} has a time zone", hint="write local time without one")
    return moment
