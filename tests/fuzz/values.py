"""Python values that nobody meant, written as expressions: what a case holds of them is text."""

from __future__ import annotations

import enum
import random
import uuid
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from support.odd_values import Strange


class Whole(int):
    """A subclass, whose equality fails."""

    def __eq__(self, other: object) -> bool:
        raise OSError

    __hash__ = int.__hash__


class Text(str):
    """A subclass, whose hash and length fail."""

    __slots__ = ()

    def __hash__(self) -> int:
        raise OSError

    def __len__(self) -> int:
        raise OSError


class Real(float):
    """A subclass, whose order fails."""

    def __lt__(self, other: object) -> bool:
        raise OSError

    def __float__(self) -> float:
        raise OSError


class Colour(enum.StrEnum):
    """Texts with names of their own."""

    CA = "CA"


VALUES = (
    *("None", "True", "False", "0", "1", "-1", "5", "1 << 63", "-(1 << 63)", "1 << 64", "10**400"),
    *("10**5000", "0.5", "-0.0", "nan", "inf", "-inf", "1e308", "5e-324", "1j", "Fraction(1, 3)"),
    *("''", "'CA'", "'2026-01-01'", r"'\ud800'", r"'a\0b'", "'x' * 5000", "'5'", "' 5 '"),
    *("b'CA'", "b''", "bytearray(b'5')", "memoryview(b'5')", "uuid.UUID(int=1)", "Colour.CA"),
    *("date(2026, 1, 1)", "date.min", "date.max", "datetime(2026, 1, 1, 12)", "datetime.max"),
    *("datetime(2026, 1, 1, tzinfo=UTC)", "datetime.max.replace(tzinfo=UTC)", "time(12)"),
    *("datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))", "timedelta(1)"),
    *("Decimal('1.5')", "Decimal('NaN')", "Decimal('sNaN')", "Decimal('1e400')", "Decimal('-0')"),
    *("Decimal('Infinity')", "Decimal('1e-400')", "Decimal('1.' + '0' * 60 + '1')"),
    *(
        "np.int8(5)",
        "np.uint64(2**64 - 1)",
        "np.float16(0.1)",
        "np.float32('nan')",
        "np.bool(True)",
    ),
    *("np.longdouble('1e4000')", "np.str_('CA')", "np.bytes_(b'CA')", "np.void(b'ab')"),
    *("np.datetime64('2026-01-01')", "np.datetime64('NaT')", "np.datetime64(10**15, 'Y')"),
    *("np.datetime64('2026-01-01T00:00:00.123456789')", "np.timedelta64(1, 'D')", "np.array(5)"),
    *("np.array([1, 2])", "np.array('CA', dtype=object)", "np.float64(0.5)", "np.complex64(1)"),
    *("pa.scalar(5)", "pa.scalar(None)", "pa.array([1])", "pl.Series([1])", "pl.lit(5)"),
    *("[]", "[1, [2]]", "{}", "{'a': 1}", "()", "set()", "range(3)", "object()", "int", "..."),
    *(
        "(each for each in [1])",
        "[[]] * 3",
        "'ß'",
        "'ca'",
        r"'C\u0041'",
        r"'\u202eCA'",
        "'=1+1'",
        "-1e-400",
        "2**53 + 1",
        "1e22",
    ),
)
FAILING = ("Strange()", "Whole(5)", "Text('CA')", "Real(0.5)")
"""Values whose own methods fail: what a record holds is never looked at so that this shows."""
_NAMES: dict[str, Any] = {
    **{each.__name__: each for each in (Strange, Whole, Text, Real, Colour)},
    **{each.__name__: each for each in (date, datetime, time, timedelta, timezone)},
    **{each.__name__: each for each in (Decimal, Fraction, uuid)},
    "UTC": UTC,
    "nan": nan,
    "inf": inf,
    "np": np,
    "pa": pa,
    "pl": pl,
}


def value_of(expression: str, **names: Any) -> Any:
    """The value of an expression of a case."""
    return eval(expression, {**_NAMES, **names})


def draw_expression(chosen: random.Random, more: Sequence[str] = ()) -> str:
    """Any value, at times within others."""
    what, values = chosen.random(), (*VALUES, *more)
    if what < 0.9:
        return chosen.choice(values)
    if what < 0.95:
        return f"[{', '.join(chosen.choices(values, k=chosen.randint(1, 3)))}]"
    return f"{{'a': {chosen.choice(values)}}}"
