"""Runs on the device. Sees raw values. From a person's record to codes and signs.

Only declared columns are read: a device may pass its whole record, and whatever the survey does
not name is never looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsql.mechanisms.base import Codes, Entropy
from ldpsql_device.domains import Value
from ldpsql_device.domains.base import plain
from ldpsql_device.errors import RecordError
from ldpsql_device.schema import PublicColumn, Schema

Record = Mapping[str, Value | None]


def encode(schema: Schema, record: Record, entropy: Entropy) -> Codes:
    """One person's codes and signs, shape (1, d + k).

    RecordError, which names the column and never shows the value, for a column that is missing
    or does not fit.
    """
    codes = [dimension.code(_look_up(record, dimension.name)) for dimension in schema.dimensions]
    fractions = [measure.fraction(_look_up(record, measure.name)) for measure in schema.measures]
    signs = round_signs(np.array([fractions], dtype=np.float64), entropy)
    return np.concatenate([np.array([codes], dtype=np.int64), signs], axis=1)


def round_signs(fractions: NDArray[np.float64], entropy: Entropy) -> Codes:
    """1 with probability `fractions`, else 0, elementwise: stochastic rounding to a bound.

    A fraction becomes a threshold of 63 bits, which a random integer of 63 bits is compared
    with: 0 never gives 1, and 1 always does. The words drawn depend on the shape alone.
    """
    thresholds = np.ldexp(fractions, 63).astype(np.uint64)
    draws = entropy.words(fractions.size).reshape(fractions.shape) >> np.uint64(1)
    return (draws < thresholds).astype(np.int64)


def public_values(schema: Schema, record: Record) -> dict[str, Value | None]:
    """What travels in clear, by column; RecordError for a value that does not fit."""
    return {
        column.name: public_value(column, _look_up(record, column.name)) for column in schema.public
    }


def public_value(column: PublicColumn, value: Any) -> Value | None:
    """One public value as its column's type; RecordError if it is of another."""
    value = plain(value)
    if value is None:
        if column.nulls == "reject":
            raise RecordError(f'{column.name} is missing (the survey says nulls = "reject")')
        return None
    if not _FITS[column.type](value):
        raise RecordError(f"{column.name} is not of type {column.type}")
    return float(value) if column.type == "float" else value


def _look_up(record: Record, name: str) -> Value | None:
    if name not in record:
        raise RecordError(f"the record has no column {name} (give None for a missing value)")
    return record[name]


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _is_float(value: Any) -> bool:
    return _is_int(value) or (isinstance(value, float) and math.isfinite(value))


_FITS: Mapping[str, Callable[[Any], bool]] = {
    "int": _is_int,
    "float": _is_float,
    "text": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "date": lambda value: isinstance(value, date) and not isinstance(value, datetime),
    "timestamp": lambda value: isinstance(value, datetime) and value.tzinfo is None,
}
