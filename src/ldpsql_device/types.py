"""The types a column may have: one row says everything that any part of the product needs.

The rows hold text and functions of the standard library only, so that a device can load them;
names of DuckDB and Arrow types are resolved where those libraries are at home.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np

Value = int | float | str | bool | date | datetime

_WHOLE = r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"


@dataclass(frozen=True)
class ColumnType:
    """A type of column.

    name: the word of a survey file.  duckdb: the type it is stored as.  duckdb_pattern: matches
    the names of all DuckDB types that may be read as it.  arrow: alias of its Arrow type.
    text_pattern: matches its values written as text, None where any text is one.  json_types: what
    DuckDB's `json_type` says of its values in JSON.  fits: whether a Python value is of the type.
    is_number: whether values can be summed.
    """

    name: str
    duckdb: str
    duckdb_pattern: str
    arrow: str
    text_pattern: str | None
    json_types: tuple[str, ...]
    fits: Callable[[Any], bool]
    is_number: bool = False

    @property
    def is_moment(self) -> bool:
        """Whether values are dates or timestamps, which JSON holds as ISO 8601 text."""
        return self.name in ("date", "timestamp")

    def to_json(self, value: Value | None) -> Any:
        """A value of the type as JSON holds it; None is null."""
        return value.isoformat() if isinstance(value, date) else value

    def from_json(self, value: Any) -> Value | None:
        """The inverse of `to_json`; ValueError for anything that is not of the type."""
        if isinstance(value, str) and self.is_moment:
            value = (date if self.name == "date" else datetime).fromisoformat(value)
        if value is not None and not self.fits(value):
            raise ValueError(f"not of type {self.name}")
        return float(value) if self.name == "float" and value is not None else value


def _is_int(value: Any) -> bool:
    """A whole number that fits 64 bits with a sign."""
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _is_float(value: Any) -> bool:
    return _is_int(value) or (isinstance(value, float) and math.isfinite(value))


def _is_date(value: Any) -> bool:
    return isinstance(value, date) and not isinstance(value, datetime)


def _is_timestamp(value: Any) -> bool:
    return isinstance(value, datetime) and value.tzinfo is None


TYPES: Mapping[str, ColumnType] = {
    row.name: row
    for row in (
        ColumnType(
            "int",
            duckdb="BIGINT",
            duckdb_pattern=_WHOLE,
            arrow="int64",
            text_pattern=r"[+-]?[0-9]{1,20}",
            json_types=("UBIGINT", "BIGINT"),
            fits=_is_int,
            is_number=True,
        ),
        ColumnType(
            "float",
            duckdb="DOUBLE",
            duckdb_pattern=rf"{_WHOLE}|FLOAT|DOUBLE|DECIMAL\(.*\)",
            arrow="double",
            text_pattern=r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?",
            json_types=("UBIGINT", "BIGINT", "DOUBLE"),
            fits=_is_float,
            is_number=True,
        ),
        ColumnType(
            "text",
            duckdb="VARCHAR",
            duckdb_pattern=r"VARCHAR|ENUM\(.*\)",
            arrow="string",
            text_pattern=None,
            json_types=("VARCHAR",),
            fits=lambda value: isinstance(value, str),
        ),
        ColumnType(
            "bool",
            duckdb="BOOLEAN",
            duckdb_pattern=r"BOOLEAN",
            arrow="bool",
            text_pattern=r"[Tt]rue|[Ff]alse|TRUE|FALSE",
            json_types=("BOOLEAN",),
            fits=lambda value: isinstance(value, bool),
        ),
        ColumnType(
            "date",
            duckdb="DATE",
            duckdb_pattern=r"DATE",
            arrow="date32[day]",
            text_pattern=_DAY,
            json_types=("VARCHAR",),
            fits=_is_date,
        ),
        ColumnType(
            "timestamp",
            duckdb="TIMESTAMP",
            duckdb_pattern=r"TIMESTAMP(_S|_MS|_NS)?|DATE",
            arrow="timestamp[us]",
            text_pattern=rf"{_DAY}([T ][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]+)?)?)?",
            json_types=("VARCHAR",),
            fits=_is_timestamp,
        ),
    )
}
"""Every type of column by the word of a survey file; those of a category are text or int."""


def plain(value: Any) -> Any:
    """A numpy number, bool or string as Python's own; anything else as it is."""
    if isinstance(value, np.integer | np.floating | np.bool_ | np.str_):
        return value.item()
    return value
