"""SQL text: the one place that quotes names and writes literals, and expressions over columns.

Collector code that builds SQL for DuckDB calls `quote` and `literal`. Nothing else escapes a quote.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING

from ldpsql.errors import Place, QueryError
from ldpsql_device.schema import RESERVED_PREFIX
from ldpsql_device.values import Value

if TYPE_CHECKING:
    from ldpsql.sql.lookups import PublicTable

DECLARED = f"{RESERVED_PREFIX}declared"
"""The name under which an expression finds the table of declared values."""

DUCKDB_SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}
"""Every connection to DuckDB has these: it loads no code, and reads no variable of Python's."""

DUCKDB_TYPES = {
    "int": "BIGINT",
    "float": "DOUBLE",
    "text": "VARCHAR",
    "bool": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}
"""DuckDB's name of every type of column, by the word of a survey file."""


@dataclass(frozen=True)
class Scalar:
    """A scalar SQL expression over columns of one survey, checked against the allow-list.

    text: DuckDB SQL; columns stand in it by their declared names, quoted, those of joined tables by
    the names in `Join.columns`.  columns: the declared names on which its value depends, each once,
    all of dimensions or all of public columns.  kind: DuckDB's name of its type, BOOLEAN, BIGINT,
    DOUBLE, VARCHAR, DATE or TIMESTAMP.  joins: whose columns it reads.  tables: what its subqueries
    read.
    """

    text: str
    columns: tuple[str, ...]
    kind: str
    place: Place = field(compare=False)
    joins: tuple[Join, ...] = ()
    tables: tuple[PublicTable, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Join:
    """A join of people with public rows: a person has a row for every row that matches.

    sql: the SELECT over `tables` that gives the public rows.  columns: for each of their columns
    the name that stands for it in a `Scalar`, and its kind.  on: when a row matches; it may read
    the joins before.  is_left: whether a person without a match has a row of NULLs.
    number: the name of the dimension that numbers the rows which match a person, where these may be
    several, and of the condition that there are so many.
    """

    alias: str
    sql: str
    tables: tuple[PublicTable, ...]
    columns: tuple[tuple[str, str], ...]
    on: Scalar
    is_left: bool
    number: str

    @property
    def is_met(self) -> Scalar:
        """Whether a person has as many rows as a number says."""
        return Scalar(quote(f"{self.number}?"), self.on.columns, "BOOLEAN", self.on.place, (self,))


def quote(name: str) -> str:
    """A name as a quoted SQL identifier, its own quotes doubled.

    >>> quote('a "b" c')
    '"a ""b"" c"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(value: Value | None) -> str:
    """A value as an SQL literal; None is NULL.

    Numbers are written in their shortest form that reads back as the same number, dates and
    timestamps with their type. Raises QueryError for infinities, NaN and texts with a zero byte,
    which SQL has no literal for.

    >>> literal("it's"), literal(0.1), literal(datetime(2026, 1, 31))
    ("'it''s'", '0.1', "TIMESTAMP '2026-01-31 00:00:00'")
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        if not math.isfinite(value):
            raise QueryError("a number in SQL must be finite")
        return repr(value)
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(' ')}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if "\0" in value:
        raise QueryError("a string in SQL cannot hold the character 0")
    return "'" + value.replace("'", "''") + "'"
