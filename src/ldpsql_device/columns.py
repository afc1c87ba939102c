"""Arrow columns of many people to codes and numbers.

The same rules as for one record (`Dimension.code`, `Measure.number`, `PublicColumn.checked`),
column by column. What does not fit becomes a `Misfit`, which knows the rows but not the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ldpsql_device.arrow import ARROW_TYPES
from ldpsql_device.entropy import Words
from ldpsql_device.errors import RecordError
from ldpsql_device.schema import Dimension, Measure, PublicColumn
from ldpsql_device.values import Listed, Ordered

Mask = NDArray[np.bool_]
Integers = NDArray[np.int64]
Reals = NDArray[np.float64]

_MILLISECONDS_A_DAY = 86_400_000
_ROWS_SHOWN = 5
_CLOSE = 2.0**14
_MISSING = 'is missing (the survey says nulls = "reject")'


@contextmanager
def refusing(
    kinds: type[Exception] | tuple[type[Exception], ...], refuse: Callable[[Exception], RecordError]
) -> Iterator[None]:
    """Raise `refuse(error)` in place of an error of these kinds, without a trace of the latter.

    `raise ... from None` only hides the first error: it stays in `__context__`, where a crash
    reporter or a debugger finds it, and Arrow's texts quote the value that they are about.
    """
    try:
        yield
    except kinds as error:
        refusal = refuse(error)
        try:
            raise refusal from None
        finally:
            refusal.__context__ = None


@dataclass(frozen=True)
class Misfit:
    """Rows of a column that do not fit the survey: `rows` has shape (n,)."""

    column: str
    reason: str
    rows: Mask

    def error(self, first_row: int) -> RecordError:
        """An error for it; `first_row` is the number of the first row, counted from 1."""
        numbers = np.flatnonzero(self.rows) + first_row
        shown = ", ".join(map(str, numbers[:_ROWS_SHOWN]))
        more = ", ..." if len(numbers) > _ROWS_SHOWN else ""
        rows = "row" if len(numbers) == 1 else "rows"
        return RecordError(f"{self.column} {self.reason} in {rows} {shown}{more}")


def dimension_codes(dimension: Dimension, column: pa.Array) -> tuple[Integers, list[Misfit]]:
    """Codes of a column, shape (n,); rows that do not fit hold some other integer."""
    missing = _missing(column)
    codes = _codes(dimension, column, missing)
    strangers = (codes < 0) & ~missing
    misfits = []
    if dimension.nulls == "value":
        codes[missing] = dimension.domain.size
    elif missing.any():
        misfits.append(Misfit(dimension.name, _MISSING, missing))
    if strangers.any():
        reason = f"does not hold one of the {dimension.domain.describe()}"
        if isinstance(dimension.domain, Ordered):
            reason = f"lies outside its domain {dimension.domain.describe()}"
        misfits.append(Misfit(dimension.name, reason, strangers))
    return codes, misfits


def measure_numbers(measure: Measure, column: pa.Array) -> tuple[Reals, Mask, list[Misfit]]:
    """Numbers of a column between the bounds, which rows were clamped, and what does not fit;
    each of shape (n,)."""
    values, missing = _reals(measure.name, column), _missing(column)
    infinite = ~np.isfinite(values) & ~missing
    low, high = measure.bounds
    usable = np.where(np.isfinite(values), values, low)
    outside: Mask = (usable < low) | (usable > high)
    rejects = measure.on_out_of_range == "reject"
    reasons = (
        ("is missing", missing),
        ("is not a finite number", infinite),
        (measure.complaint, outside if rejects else np.zeros_like(outside)),
    )
    misfits = [Misfit(measure.name, reason, rows) for reason, rows in reasons if rows.any()]
    return np.clip(usable, low, high), outside, misfits


def round_to_levels(measure: Measure, numbers: NDArray[np.float64], words: Words) -> Integers:
    """`word < measure.threshold(number)` of many people, shape (n,), for numbers within bounds.

    (number - low) / (high - low) 2^64 in floating point is off by less than 3 * 2^11 (three
    roundings of 2^-53, relative to at most 2^64), a word by at most 2^10. Only where the two are
    closer than 2^14 can the comparison be wrong; those people's are made exactly.
    """
    low, high = measure.bounds
    gaps = words.astype(np.float64) - np.ldexp((numbers - low) / (high - low), 64)
    levels = (gaps < 0).astype(np.int64)
    for row in np.flatnonzero(np.abs(gaps) <= _CLOSE):
        levels[row] = int(words[row]) < measure.threshold(float(numbers[row]))
    return levels


def public_column(declared: PublicColumn, column: pa.Array) -> tuple[pa.Array, list[Misfit]]:
    """A column in clear, as its declared type, and what does not fit."""
    kind, target = declared.type, ARROW_TYPES[declared.type]
    if not (_IS_OF_TYPE[kind](column.type) or pa.types.is_null(column.type)):
        raise _wrong_type(declared.name, column.type, kind)
    missing = _missing(column)
    misfits = []
    if declared.nulls == "reject" and missing.any():
        misfits.append(Misfit(declared.name, _MISSING, missing))
    misfit = RecordError(f"{declared.name} holds values that do not fit {target}")
    with refusing(pa.ArrowException, lambda _: misfit):
        typed = column.cast(target)
    if kind == "float":
        infinite = ~np.isfinite(_reals(declared.name, typed)) & ~missing
        if infinite.any():
            misfits.append(Misfit(declared.name, "is not a finite number", infinite))
    return typed, misfits


def _codes(dimension: Dimension, column: pa.Array, missing: Mask) -> Integers:
    """Codes, -1 for values outside the domain; anything where a value is missing."""
    domain = dimension.domain
    if pa.types.is_null(column.type):
        return np.full(len(column), -1, dtype=np.int64)
    if isinstance(domain, Listed):
        return _listed_codes(dimension.name, domain, column)
    assert isinstance(domain, Ordered)
    points, whole = _POINTS[domain.type](dimension.name, column)
    codes = domain.codes_at(points)
    codes[~whole & ~missing] = -1
    return codes


def _listed_codes(name: str, domain: Listed, column: pa.Array) -> Integers:
    if pa.types.is_dictionary(column.type):
        of_entry = _listed_codes(name, domain, column.dictionary)
        entries = _filled(column.indices)
        return of_entry[entries] if len(of_entry) else np.full(len(column), -1, dtype=np.int64)
    values = pa.array(domain.values)
    kind = "int" if pa.types.is_integer(values.type) else "text"
    if not _IS_OF_TYPE["bool" if domain.type == "bool" else kind](column.type):
        raise _wrong_type(name, column.type, domain.type)
    if pa.types.is_integer(column.type):
        column = pa.array(_int_points(name, column)[0], mask=_missing(column))
    codes = pc.index_in(column.cast(values.type), value_set=values)
    return _filled(codes, absent=-1).astype(np.int64)


Points = tuple[NDArray[Any], Mask]


def _all(column: pa.Array) -> Mask:
    return np.ones(len(column), dtype=np.bool_)


def _int_points(name: str, column: pa.Array) -> Points:
    """Whole numbers as int64, and which are whole; those beyond 63 bits become the limits."""
    if pa.types.is_floating(column.type):
        values = _filled(column).astype(np.float64)
        whole = np.isfinite(values) & (values == np.floor(values))
        return np.clip(np.where(whole, values, 0.0), -(2.0**62), 2.0**62).astype(np.int64), whole
    if not pa.types.is_integer(column.type):
        raise _wrong_type(name, column.type, "int")
    values = _filled(column)
    if values.dtype == np.uint64:
        values = np.minimum(values, np.uint64(2**63 - 1))
    return values.astype(np.int64, copy=False), _all(column)


def _date_points(name: str, column: pa.Array) -> Points:
    if not pa.types.is_date(column.type):
        raise _wrong_type(name, column.type, "date")
    if pa.types.is_date64(column.type):
        return _filled(column.view(pa.int64())) // _MILLISECONDS_A_DAY, _all(column)
    return _filled(column.view(pa.int32())).astype(np.int64), _all(column)


def _timestamp_points(name: str, column: pa.Array) -> Points:
    if not _IS_OF_TYPE["timestamp"](column.type):
        raise _wrong_type(name, column.type, "timestamp without a time zone")
    ticks = _filled(column.view(pa.int64()))
    if column.type.unit == "ns":
        return ticks // 1000, _all(column)
    scale = {"s": 1_000_000, "ms": 1_000, "us": 1}[column.type.unit]
    limit = (2**63 - 1) // scale
    return np.clip(ticks, -limit, limit) * scale, _all(column)


_POINTS: Mapping[str, Callable[[str, pa.Array], Points]] = {
    "int": _int_points,
    "float": lambda name, column: (_reals(name, column), _all(column)),
    "date": _date_points,
    "timestamp": _timestamp_points,
}


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds strings, dictionary-encoded or not."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    is_one = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(check(kind) for check in is_one)


def _is_number(kind: pa.DataType) -> bool:
    is_one = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(check(kind) for check in is_one)


_IS_OF_TYPE: Mapping[str, Callable[[pa.DataType], bool]] = {
    "int": pa.types.is_integer,
    "float": _is_number,
    "text": is_text,
    "bool": pa.types.is_boolean,
    "date": pa.types.is_date,
    "timestamp": lambda kind: pa.types.is_timestamp(kind) and kind.tz is None,
}


def _reals(name: str, column: pa.Array) -> Reals:
    """A numeric column as float64, NaN where it is missing."""
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if not _is_number(column.type):
        raise _wrong_type(name, column.type, "number")
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    reals: Reals = column.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    return reals


def _missing(column: pa.Array) -> Mask:
    if pa.types.is_dictionary(column.type):
        missing, of_entry = _missing(column.indices), _missing(column.dictionary)
        return missing | of_entry[_filled(column.indices)] if of_entry.any() else missing
    if not column.null_count:
        return np.zeros(len(column), dtype=np.bool_)
    mask: Mask = column.is_null().to_numpy(zero_copy_only=False)
    return mask


def _filled(column: pa.Array, absent: int = 0) -> NDArray[Any]:
    """A numeric column as numpy, `absent` where a value is missing."""
    if column.null_count:
        column = pc.fill_null(column, pa.scalar(absent, type=column.type))
    filled: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return filled


def _wrong_type(name: str, given: pa.DataType, wanted: str) -> RecordError:
    return RecordError(f"{name} is of type {given} in the data, but the survey asks for {wanted}")
