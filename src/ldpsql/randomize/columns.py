"""Arrow columns of many people to codes and numbers.

The same rules as for one record (`Dimension.code`, `Measure.threshold`, `PublicColumn.read`),
column by column. Every value has a code; only a column whose Arrow type is another than the
survey's is refused.
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

from ldpsql.reports.arrow_types import ARROW_TYPES, HOLDS, is_text
from ldpsql_device.entropy import Words
from ldpsql_device.errors import RecordError
from ldpsql_device.schema import Dimension, Measure, PublicColumn
from ldpsql_device.values import Listed, Ordered

Mask = NDArray[np.bool_]
Integers = NDArray[np.int64]
Reals = NDArray[np.float64]
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)

_MILLISECONDS_A_DAY = 86_400_000
_CLOSE = 2.0**-49


@contextmanager
def refuse_errors(
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
class EncodedColumn:
    """An encoded column of n people.

    values: codes of a dimension, int64, or numbers of a measure between its bounds, float64, NaN
    where one is missing; what travels in clear is an Arrow array.  outside, missing: whose value
    was outside the domain or the bounds, and whose was missing or unreadable, each of shape (n,).
    """

    values: Any
    outside: Mask
    missing: Mask


def dimension_codes(
    dimension: Dimension, column: pa.Array, words_of: Callable[[Mask], Words], place: int
) -> EncodedColumn:
    """Codes of a column. words_of, place: what the drawn codes of some rows come from, see
    `Schema.draws`."""
    codes, outside, missing = _find(dimension, column)
    added = {2: dimension.declared, 3: dimension.domain.size}
    _, *choices = dimension.choices
    for rows, choice in zip((outside, missing), choices, strict=True):
        if choice and rows.any():
            drawn = draw_codes(words_of(rows), place, dimension.declared)
            codes[rows] = added.get(choice, drawn)
    return EncodedColumn(codes, outside, missing)


def draw_codes(words: Words, place: int, size: int) -> Integers:
    """floor((word * place mod 2^64) * size / 2^64), shape (n,), for a place and a size that leave
    all products below 2^64."""
    digits = words * np.uint64(place)
    low = (digits & _LOW) * np.uint64(size) >> _HALF
    return (((digits >> _HALF) * np.uint64(size) + low) >> _HALF).astype(np.int64)


def measure_numbers(measure: Measure, column: pa.Array) -> EncodedColumn:
    """Numbers of a column, moved between the bounds."""
    values = read_reals(measure.name, column)
    numbers, missing = np.clip(values, *measure.bounds), np.isnan(values)
    return EncodedColumn(numbers, (numbers != values) & ~missing, missing)


def round_to_levels(measure: Measure, numbers: NDArray[np.float64], words: Words) -> Integers:
    """`measure.code(*measure.threshold(number), word)` of many people, shape (n,), for numbers
    within bounds or NaN.

    A number's place among the steps is off by a few roundings of 2^-53 relative to all steps, and
    so is a word's share. Only where such a share is within _CLOSE of what divides two levels can
    the level be wrong; those people's are computed exactly.
    """
    (low, high), steps = measure.bounds, measure.steps
    places = (numbers - low) / (high - low) * steps
    missing = np.isnan(places)
    places[missing] = (measure.stand_in - low) / (high - low) * steps
    shares = np.ldexp(words.astype(np.float64), -64)
    if measure.rounding == "linear":
        # As many levels are passed as whole numbers j have j + share < place.
        beyond = places - shares
        levels = np.maximum(np.ceil(beyond), 0.0).astype(np.int64)
        gaps = np.abs(beyond - np.rint(beyond))
    else:
        step = np.floor(places)
        rest = places - step
        down, up = (1.0 - rest) ** 2 / 2.0, 1.0 - rest**2 / 2.0
        levels = (step + 1.0 - (shares < down) + (shares >= up)).astype(np.int64)
        # Where a place is rounded across a level, its words mean the same but for these few.
        ends = (shares - down, shares - up, shares, 1.0 - shares)
        gaps = np.min(np.abs(ends), axis=0)
    for row in np.flatnonzero(gaps <= _CLOSE * steps):
        threshold, _ = measure.threshold(float(numbers[row]))
        levels[row] = measure.level(threshold, int(words[row]))
    if measure.has_null:
        levels[missing] = measure.levels
    return levels


def public_column(declared: PublicColumn, column: pa.Array) -> EncodedColumn:
    """A column in clear, as its declared type, an Arrow array between its bounds, with null for
    what does not fit."""
    kind, target = declared.type, ARROW_TYPES[declared.type]
    fits = _is_number if kind == "int" else _IS_OF_TYPE[kind]
    if not (fits(column.type) or pa.types.is_null(column.type)):
        raise _wrong_type(declared.name, column.type, kind)
    typed = cast_column(column, target)
    if kind == "float":
        finite = pa.array(np.isfinite(read_reals(declared.name, typed)))
        typed = pc.if_else(finite, typed, pa.scalar(None, target))
    missing, outside = _find_missing(typed), np.zeros(len(typed), dtype=np.bool_)
    if declared.bounds is not None:
        low, high = (pa.scalar(bound, target) for bound in declared.bounds)
        is_low, is_high = pc.less(typed, low), pc.greater(typed, high)
        beyond = pc.fill_null(pc.or_(is_low, is_high), False)
        outside = beyond.to_numpy(zero_copy_only=False)
        typed = pc.if_else(is_low, low, pc.if_else(is_high, high, typed))
    return EncodedColumn(typed, outside, missing)


def cast_column(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column as another type, with null for what cannot be read as such.

    Each value is read once, however often it occurs, and halving finds the few bad ones among many
    good ones in few steps.
    """
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        encoded = column.dictionary_encode()
    return pa.concat_arrays(_cast(encoded.dictionary, kind)).take(encoded.indices)


def _cast(column: pa.Array, kind: pa.DataType) -> list[pa.Array]:
    try:
        return [column.cast(kind)]
    except pa.ArrowInvalid:
        if len(column) == 1:
            return [pa.nulls(1, kind)]
    half = len(column) // 2
    return _cast(column[:half], kind) + _cast(column[half:], kind)


def _find(dimension: Dimension, column: pa.Array) -> tuple[Integers, Mask, Mask]:
    """The nearest codes, whose values are outside the domain, and whose cannot be read."""
    domain, missing = dimension.domain, _find_missing(column)
    if pa.types.is_null(column.type):
        return np.zeros(len(column), dtype=np.int64), ~missing, missing
    if isinstance(domain, Listed):
        codes, readable = _listed_codes(dimension.name, domain, column)
        outside = codes < 0
        codes[outside] = 0
    else:
        points, readable = _POINTS[domain.type](dimension.name, column)
        codes, outside = find_codes(domain, points)
    if readable is not None:
        missing = missing | ~readable
    return codes, outside & ~missing, missing


def find_codes(domain: Ordered, points: NDArray[Any]) -> tuple[Integers, Mask]:
    """Codes nearest to many points of `edge_array`'s type, and which of these are outside.

    NaN is outside and has some code.
    """
    lowest, highest = domain.limits
    nearest = np.clip(points, lowest, highest)
    outside = nearest != points
    found = np.searchsorted(domain.edge_array, nearest, side="right")
    return np.minimum(found, domain.size) - 1, outside


def _listed_codes(name: str, domain: Listed, column: pa.Array) -> tuple[Integers, Mask | None]:
    """Codes, -1 for values that are not declared, and which can be read (None for all that are
    there)."""
    if pa.types.is_dictionary(column.type):
        of_entry, readable = _listed_codes(name, domain, column.dictionary)
        entries = _fill_absent(column.indices)
        if not len(of_entry):
            return np.full(len(column), -1, dtype=np.int64), None
        return of_entry[entries], None if readable is None else readable[entries]
    values, readable = pa.array(domain.recorded[: -1 if domain.is_whole else None]), None
    if pa.types.is_integer(values.type):
        points, readable = _int_points(name, column)
        column = pa.array(points)
    elif not _IS_OF_TYPE["bool" if domain.type == "bool" else "text"](column.type):
        raise _wrong_type(name, column.type, domain.type)
    codes = pc.index_in(column.cast(values.type), value_set=values)
    found = _fill_absent(codes, absent=-1).astype(np.int64)
    if domain.merged:
        found = np.where(found < 0, -1, np.array(domain.merged)[found])
    return found, readable


Points = tuple[NDArray[Any], Mask | None]
"""Points of a column's values, and which of them can be read; None for all that are there."""


def _int_points(name: str, column: pa.Array) -> Points:
    """Whole numbers as int64; those beyond 62 bits become the limits."""
    if pa.types.is_floating(column.type):
        values = _fill_absent(column).astype(np.float64)
        whole = (values == np.floor(values)) & ~np.isnan(values)
        return np.clip(np.where(whole, values, 0.0), -(2.0**62), 2.0**62).astype(np.int64), whole
    if not pa.types.is_integer(column.type):
        raise _wrong_type(name, column.type, "int")
    values = _fill_absent(column)
    if values.dtype == np.uint64:
        values = np.minimum(values, np.uint64(2**63 - 1))
    return values.astype(np.int64, copy=False), None


def _float_points(name: str, column: pa.Array) -> Points:
    reals = read_reals(name, column)
    return reals, ~np.isnan(reals)


def _date_points(name: str, column: pa.Array) -> Points:
    if not pa.types.is_date(column.type):
        raise _wrong_type(name, column.type, "date")
    if pa.types.is_date64(column.type):
        return _fill_absent(column.view(pa.int64())) // _MILLISECONDS_A_DAY, None
    return _fill_absent(column.view(pa.int32())).astype(np.int64), None


def _timestamp_points(name: str, column: pa.Array) -> Points:
    if not _IS_OF_TYPE["timestamp"](column.type):
        raise _wrong_type(name, column.type, "timestamp without a time zone")
    ticks = _fill_absent(column.view(pa.int64()))
    if column.type.unit == "ns":
        return ticks // 1000, None
    scale = {"s": 1_000_000, "ms": 1_000, "us": 1}[column.type.unit]
    limit = (2**63 - 1) // scale
    return np.clip(ticks, -limit, limit) * scale, None


_POINTS: Mapping[str, Callable[[str, pa.Array], Points]] = {
    "int": _int_points,
    "float": _float_points,
    "date": _date_points,
    "timestamp": _timestamp_points,
}


def _is_number(kind: pa.DataType) -> bool:
    return HOLDS["int"](kind) or HOLDS["float"](kind)


_IS_OF_TYPE: Mapping[str, Callable[[pa.DataType], bool]] = {
    **HOLDS,
    "float": _is_number,
    "text": is_text,
}


def read_reals(name: str, column: pa.Array) -> Reals:
    """A numeric column as float64, NaN where it is missing."""
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if not _is_number(column.type):
        raise _wrong_type(name, column.type, "number")
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    reals: Reals = column.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    return reals


def _find_missing(column: pa.Array) -> Mask:
    if pa.types.is_dictionary(column.type):
        missing, of_entry = _find_missing(column.indices), _find_missing(column.dictionary)
        return missing | of_entry[_fill_absent(column.indices)] if of_entry.any() else missing
    if not column.null_count:
        return np.zeros(len(column), dtype=np.bool_)
    mask: Mask = column.is_null().to_numpy(zero_copy_only=False)
    return mask


def _fill_absent(column: pa.Array, absent: int = 0) -> NDArray[Any]:
    """A numeric column as numpy, `absent` where a value is missing."""
    if column.null_count:
        column = pc.fill_null(column, pa.scalar(absent, type=column.type))
    filled: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return filled


def _wrong_type(name: str, given: pa.DataType, wanted: str) -> RecordError:
    return RecordError(f"{name} is of type {given} in the data, but the survey asks for {wanted}")
