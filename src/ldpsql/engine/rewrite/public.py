"""Comparisons of public columns, as DuckDB SQL; every value is written by `ldpsql.sql`."""

from __future__ import annotations

from datetime import date, datetime

from ldpsql.errors import QueryError
from ldpsql.parser.query import Atom, Comparison, Membership
from ldpsql.sql import literal, quote
from ldpsql_device.schema import PublicColumn
from ldpsql_device.values import Value


def condition(atom: Atom, column: PublicColumn) -> str:
    """An atom over a public column as SQL; QueryError, without a place, for another type."""
    name = quote(column.name)
    if isinstance(atom, Comparison):
        return f"{name} {atom.op} {_literal_for(atom.literal, column)}"
    if isinstance(atom, Membership):
        return f"{name} IN ({', '.join(_literal_for(value, column) for value in atom.literals)})"
    return f"{name} IS NULL"


def _literal_for(value: Value | None, column: PublicColumn) -> str:
    """The literal of a value that is compared with a column; QueryError where it does not fit."""
    if column.type in ("date", "timestamp") and isinstance(value, str | date):
        return literal(_moment(value, column))
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = (
        value is None
        or (column.is_numeric and is_number)
        or (column.type == "text" and isinstance(value, str))
        or (column.type == "bool" and isinstance(value, bool))
    )
    if not fits:
        raise QueryError(
            f"{column.name} is a column of type {column.type} "
            f"and cannot be compared with {str(value)[:40]!r}"
        )
    return literal(value)


def _moment(value: str | date, column: PublicColumn) -> date:
    """A date or timestamp; a text is read as the column's type, as DuckDB reads it."""
    if not isinstance(value, str):
        return value
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        raise QueryError(
            f"{value[:40]!r} is not a {column.type}", hint="write 2026-01-31"
        ) from None
    if moment.tzinfo is not None:
        raise QueryError(f"{value[:40]!r} has a time zone", hint="write local time without one")
    if column.type == "timestamp":
        return moment
    if moment.time() != datetime.min.time():
        raise QueryError(f"{value[:40]!r} is not a date", hint="write 2026-01-31")
    return moment.date()
