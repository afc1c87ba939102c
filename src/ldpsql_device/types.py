"""The types a column may have: which values are of a type, and how JSON holds them.

Their Arrow types are in `ldpsql_device.arrow`, their DuckDB types in `ldpsql.store.duckdb.layout`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np

Value = int | float | str | bool | date | datetime


@dataclass(frozen=True)
class ColumnType:
    """A type of column.

    name: the word of a survey file.  fits: whether a Python value is of the type.  is_number:
    whether values can be summed.
    """

    name: str
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
        ColumnType("int", _is_int, is_number=True),
        ColumnType("float", _is_float, is_number=True),
        ColumnType("text", lambda value: isinstance(value, str)),
        ColumnType("bool", lambda value: isinstance(value, bool)),
        ColumnType("date", _is_date),
        ColumnType("timestamp", _is_timestamp),
    )
}
"""Every type of column by the word of a survey file; those of a category are text or int."""


def plain(value: Any) -> Any:
    """A numpy number, bool or string as Python's own; anything else as it is."""
    if isinstance(value, np.integer | np.floating | np.bool_ | np.str_):
        return value.item()
    return value
