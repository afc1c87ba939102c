"""SQL text: the one place that quotes names and writes literals, and expressions over columns.

Collector code that builds SQL for DuckDB calls `quote` and `literal`. Nothing else escapes a quote.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import date, datetime

from ldpsql.errors import Place, QueryError
from ldpsql_device.values import Value

DUCKDB_SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}
"""Every connection to DuckDB has these: it loads no code, and reads no variable of Python's."""


@dataclass(frozen=True)
class Scalar:
    """A scalar SQL expression over columns of one survey, checked against the allow-list.

    text: DuckDB SQL; columns stand in it by their declared names, quoted.  columns: these names,
    each once, all of dimensions or all of public columns.  kind: DuckDB's name of its type,
    BOOLEAN, BIGINT, DOUBLE, VARCHAR, DATE or TIMESTAMP.
    """

    text: str
    columns: tuple[str, ...]
    kind: str
    place: Place = field(compare=False)


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
