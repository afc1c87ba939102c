"""The types of columns, and domains: which values a dimension may hold, and the code of each.

Two classes serve every type of dimension: `Ordered` (int, float, date, timestamp: bins between
edges) and `Listed` (category, bool: values written out); codes are 0..size-1. What SQL needs of a
domain beyond values and codes, and Arrow types, are the collector's.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ldpsql_device.errors import SurveyError, expect

LARGEST_DOMAIN = 1 << 20
EPOCH = datetime(1970, 1, 1)

_MICROSECOND = timedelta(microseconds=1)
_HALVES = re.compile("[\ud800-\udfff]")
_BEYOND, _BEYOND_INT, _NAN = 1e308, int(1e308), math.nan
_LONG = 2**1000  # written in place, it would be computed anew, and by short numbers alone
_FINE = ("ns", "ps", "fs", "as", "generic")
_DIGITS = 19
"""Of a whole number that fits 64 bits."""
_UNITS = {"hour": ("h", 1), "day": ("D", 1), "week": ("D", 7), "month": ("M", 1)}
"""NumPy's name of what a unit is counted in, and how many of these it is."""

INSIDE, OUTSIDE, MISSING = 0, 1, 2
"""Where a value of a record stands: in a domain, beyond it, or nowhere; the last also for None and
for a value of another type. The first two are the truth value of being outside."""

Value = int | float | str | bool | date | datetime


def is_number(value: Any) -> bool:
    """Whether a value is a number; true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_int(value: Any) -> bool:
    """A whole number that fits 64 bits with a sign."""
    return is_number(value) and isinstance(value, int) and -(2**63) <= value < 2**63


def _is_float(value: Any) -> bool:
    return _is_int(value) or (isinstance(value, float) and math.isfinite(value))


def _is_text(value: Any) -> bool:
    """A text that UTF-8 can hold: without halves of characters."""
    return isinstance(value, str) and not _HALVES.search(value)


def _is_date(value: Any) -> bool:
    return isinstance(value, date) and not isinstance(value, datetime)


def _is_timestamp(value: Any) -> bool:
    return isinstance(value, datetime) and value.tzinfo is None


TYPES: Mapping[str, Callable[[Any], bool]] = {
    "int": _is_int,
    "float": _is_float,
    "text": _is_text,
    "bool": lambda value: isinstance(value, bool),
    "date": _is_date,
    "timestamp": _is_timestamp,
}
"""Types of public columns, by the word of a survey file: whether a value is of the type."""

_EXACT = frozenset(map(id, (int, float, str, bool, type(None), date, datetime)))
"""Types by identity: to hash or compare a stranger's type calls its metaclass."""


def plain(value: Any, longest: int | None = None) -> Any:
    """A value as one of Python's own int, float, str, bool, date or datetime; None for all others.

    NumPy's scalars, decimals and subclasses become what they stand for, without calling anything
    that a subclass overrides but a comparison (NaT differs from itself). Never raises.

    longest: of the characters of a text that has to be copied, so many are enough.
    """
    if id(type(value)) in _EXACT:
        return value
    try:
        if isinstance(value, np.datetime64):
            value = _from_numpy(value)
        elif isinstance(value, np.timedelta64):  # which NumPy calls an integer
            value = None
        elif isinstance(value, np.integer | np.bool_):
            value = np.generic.item(value)
        elif isinstance(value, np.floating):
            value = np.generic.__float__(value)
        elif isinstance(value, Decimal):
            exact = Decimal(value)
            is_whole = exact.adjusted() < _DIGITS and exact == exact.to_integral_value()
            value = int(exact) if is_whole else float(exact)
        elif isinstance(value, datetime):
            whole = datetime.combine(datetime.date(value), datetime.timetz(value))
            value = whole if value == value else None  # noqa: PLR0124
        elif isinstance(value, date):
            value = date.fromordinal(date.toordinal(value))
        elif isinstance(value, str):
            value = str.__getitem__(value, slice(longest))
        elif isinstance(value, int):
            value = int.__pos__(value)
        elif isinstance(value, float):
            value = float.__pos__(value)
    except Exception:  # whatever a stranger's class does, it is no value
        return None
    return value if id(type(value)) in _EXACT else None


def _from_numpy(value: np.datetime64) -> Any:
    """A date of one that counts days or more, a datetime of any other, None of NaT; the first or
    the last one that Python has for one beyond."""
    unit, _ = np.datetime_data(value.dtype)
    own = [] if unit in _FINE else [value.dtype]  # these reach the years 1677 to 2262 at most
    for kind in (*own, np.dtype("M8[D]" if unit in ("Y", "M", "W", "D") else "M8[us]")):
        low, high = (np.datetime64(end).astype(kind) for end in (datetime.min, datetime.max))
        moment = value.astype(kind)
        value = min(max(low, moment), high) if moment == moment else moment  # noqa: PLR0124
    return value.item()


def _is_whole(value: Any) -> bool:
    """Whether a plain value is a whole number, or an infinity; in the same steps for all."""
    kind = type(value)  # here and below choices are places in tuples, as rare jumps are slow
    number: float = (5.5, value)[kind is float]
    return (kind is int) | min(max(number, -(2.0**62)), 2.0**62).is_integer()


def is_real(value: Any) -> bool:
    """Whether a plain value is a number, or an infinity; in the same steps for all."""
    kind = type(value)
    number: float = (_NAN, value)[kind is float]
    return (kind is int) | (number == number)  # noqa: PLR0124


@dataclass(frozen=True)
class Listed:
    """Values written out (category: all strings or all ints; bool).

    merged: the code of every value where some share one, each code first used after all below it;
    empty where every value has a code of its own, in their order.  is_whole: whether the values,
    but for the last one, are texts of whole numbers, which are what records hold.
    size: number of codes.
    """

    type: str
    values: tuple[Value, ...]
    merged: tuple[int, ...] = ()
    is_whole: bool = False
    size: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        count = len(self.values)
        object.__setattr__(self, "size", max(self.merged) + 1 if self.merged else count)
        if not 1 <= count <= LARGEST_DOMAIN:
            raise SurveyError(f"values must list 1 to {LARGEST_DOMAIN} values, chosen by a person")
        if len({type(value) for value in self.values}) != 1:
            raise SurveyError("the values of a category must be all strings or all ints")
        expect(len(set(self.values)) == count, "the values of a category must differ")
        first = tuple(dict.fromkeys(self.merged))
        if self.merged and (
            len(self.merged) != count or first != tuple(range(self.size)) or self.size == count
        ):
            raise SurveyError(
                "merged lists a code for every value, each first used after all below it, and some "
                "code twice"
            )

    @property
    def codes(self) -> Sequence[int]:
        """The code of every value."""
        return self.merged or range(len(self.values))

    @cached_property
    def recorded(self) -> tuple[Value, ...]:
        """The values as records hold them."""
        if not self.is_whole:
            return self.values
        return (*(int(str(value)) for value in self.values[:-1]), self.values[-1])

    @cached_property
    def _places(self) -> dict[Any, int]:
        """The places of the values by their keys; of numbers without the text that is last."""
        numbered = enumerate(self.recorded)
        return {self._key(value): place for place, value in numbered if type(value) is self._kind}

    def _key(self, value: Any) -> Any:
        """What a value is looked up by: for every text a new one, so that all have to be hashed."""
        if self._kind is str:  # filled with what no survey can hold; one of both makes the new text
            return value.ljust(self.longest, "\ud800")[: self.longest]
        return _nearest_int(value) if self._kind is int else value

    @cached_property
    def _kind(self) -> Any:
        """The Python type of what records hold."""
        return type(self.recorded[0])

    @cached_property
    def longest(self) -> int:
        """Characters of a text that need to be looked at: one more than the longest text has."""
        return 1 + max(len(value) if isinstance(value, str) else 0 for value in self.values)

    def find(self, value: Any) -> tuple[int, int]:
        """The code of a plain value, and where it stands; 0 for one that has no code.

        Texts are compared code point by code point, without any normalisation.
        """
        fits = (type(value) is self._kind) | (self._kind is int and _is_whole(value))
        given: Any = (self.recorded[0], value)[fits]
        place = self._places.get(self._key(given), 0)
        is_outside = int(self.recorded[place] != given)
        return self.codes[place], (MISSING, is_outside)[fits]

    def has_own_code(self, value: Any) -> bool:
        """Whether a value of a record is declared, and no other has its code."""
        code, standing = self.find(value)
        return standing == INSIDE and self.codes.count(code) == 1


BOOL = Listed("bool", (False, True))


@dataclass(frozen=True)
class Ordered:
    """Values on a line: code i holds those from edge i on, below edge i + 1.

    Every value has a *point*, its exact place on the number line: itself for int and float, days
    since 1970-01-01 for a date, microseconds since then for a timestamp. All comparisons are made
    between points. `keys` are the keys of the survey file, from which the edges follow; the survey
    can be written down again by them. A float domain is closed at its upper end; an int, date or
    timestamp domain is not.

    edge_array: the points of the edges, int64 for discrete types, float64 for float.
    size: number of codes.  is_discrete: whether values have a next value, so that <= v is
    < next(v): all types but float.  longest: see `Listed`.
    """

    longest: ClassVar[int] = 0
    type: str
    edge_array: Any = field(repr=False, compare=False)
    keys: tuple[tuple[str, Any], ...]
    size: int = field(init=False, repr=False, compare=False)
    is_discrete: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        is_float = self.type == "float"
        points = np.asarray(self.edge_array, dtype=np.float64 if is_float else np.int64)
        vars(self).update(size=len(points) - 1, is_discrete=not is_float, edge_array=points)
        if not 1 <= self.size <= LARGEST_DOMAIN:
            raise SurveyError(f"a domain has 1 to {LARGEST_DOMAIN} codes, not {self.size}")
        expect(not (np.diff(points) <= 0).any(), "the edges of a domain must increase")

    @property
    def is_log(self) -> bool:
        """Whether its edges are on a log scale: codes do not depend on it, but between two edges
        answers interpolate in the logarithm."""
        return ("scale", "log") in self.keys

    @cached_property
    def points(self) -> tuple[int | float, ...]:
        """Of the edges."""
        return tuple(self.edge_array.tolist())

    def find(self, value: Any) -> tuple[int, int]:
        """The code nearest to a plain value, and where that stands; the first for one without."""
        fits = _FITS[self.type](value)
        point = _POINT[self.type]((self._first, value)[fits])
        lowest, highest = self.limits
        nearest = min(max(point, lowest), highest)
        code = min(bisect_right(self.points, nearest), self.size) - 1
        is_outside = int(nearest != point)
        return code, (MISSING, is_outside)[fits]

    def has_own_code(self, value: Any) -> bool:
        """Whether a whole number is the only value of its code."""
        lowest, highest = self.limits
        if type(value) is not int or not lowest <= value <= highest:
            return False
        code, _ = self.find(value)
        return self.points[code + 1] - self.points[code] == 1

    @cached_property
    def _first(self) -> Value:
        """The first edge, which stands in for what cannot be read."""
        first: Value = self.edge_array[0].astype(NUMPY_TYPES[self.type]).item()
        return first

    @cached_property
    def limits(self) -> tuple[int | float, int | float]:
        """The first and the last point of the domain."""
        return self.points[0], self.points[-1] - (1 if self.is_discrete else 0)


def microseconds(moment: Any) -> int:
    """Microseconds from the epoch to a naive datetime, or to the start of a date."""
    return int((_midnight(moment) - EPOCH) // _MICROSECOND)


def _nearest_int(value: Any) -> int:
    """A whole number, or an infinity, moved to 2^62 at most, which lies beyond all edges. Both are
    computed for everybody: what stands in for a float, and for an int."""
    is_float = type(value) is float
    of_float = int(min(max((5.5, value)[is_float], -(2.0**62)), 2.0**62))
    of_int = min(max((value, 5)[is_float], -(2**62)), 2**62)
    return (of_int, of_float)[is_float]


def nearest_double(value: Any) -> float:
    """A number, or an infinity, as a double between -10^308 and 10^308. As above; and ints beyond
    2^53, which take longer to convert, have a stand-in of their own."""
    is_float = type(value) is float
    of_float: float = min(max((5.5, value)[is_float], -_BEYOND), _BEYOND)
    whole = (value, 5)[is_float]
    is_short = (whole >= -(2**53)) & (whole <= 2**53)
    of_short = float((5, whole)[is_short])
    of_long = float(min(max((whole, _LONG)[is_short], -_BEYOND_INT), _BEYOND_INT))
    return ((of_long, of_short)[is_short], of_float)[is_float]


# Per type of ordered domain, by plain values: whether one can be read, and the point of one that
# can. Both take the same steps whatever the value.
_FITS: Mapping[str, Callable[[Any], bool]] = {
    "int": _is_whole,
    "float": is_real,
    "date": lambda value: type(value) is date,
    "timestamp": lambda value: type(value) is datetime and value.tzinfo is None,
}
_POINT: Mapping[str, Callable[[Any], int | float]] = {
    "int": _nearest_int,
    "float": nearest_double,
    "date": lambda value: value.toordinal() - EPOCH.toordinal(),
    "timestamp": microseconds,
}
NUMPY_TYPES = {"int": "i8", "float": "f8", "date": "M8[D]", "timestamp": "M8[us]"}
"""NumPy's types of their edges."""

Domain = Listed | Ordered


def int_domain(low: int, high: int, *, bin_width: int = 1) -> Ordered:
    """Whole numbers low..high inclusive, in bins of `bin_width` from `low` on."""
    _require_whole(low, high, bin_width)
    expect(bin_width >= 1, "bin_width must be at least 1")
    expect(high >= low, f"domain [{low}, {high}] is empty")
    if (high - low) // bin_width >= LARGEST_DOMAIN:
        raise SurveyError(f"domain [{low}, {high}] has more than {LARGEST_DOMAIN} codes")
    width = (("bin_width", bin_width),) if bin_width != 1 else ()
    starts = low + bin_width * np.arange((high - low) // bin_width + 1)
    edges = np.append(starts, high + 1)
    return Ordered("int", edges, (("domain", (low, high)), *width))


def int_edges(edges: list[int], scale: str | None = None) -> Ordered:
    """Whole numbers in bins edges[i] <= value < edges[i + 1]; scale: see `Ordered.is_log`."""
    _require_whole(*edges)
    return Ordered("int", edges, (("edges", tuple(edges)), *_read_scale(edges, scale)))


def float_edges(edges: list[float], scale: str | None = None) -> Ordered:
    """Real numbers in bins edges[i] <= value < edges[i + 1]; the last bin is closed."""
    _require_finite(*edges)
    return Ordered("float", edges, (("edges", tuple(edges)), *_read_scale(edges, scale)))


def _read_scale(edges: Sequence[Any], scale: Any) -> tuple[tuple[str, str], ...]:
    expect(scale in (None, "log"), 'scale must be "log"')
    expect(scale is None or min(edges, default=0) >= 0, "a log scale has no negative edges")
    return () if scale is None else (("scale", scale),)


def float_bins(low: float, high: float, count: int) -> Ordered:
    """Real numbers from low to high, both included, in `count` bins of equal width.

    The inner edges are low + (high - low) * i / count, computed in IEEE doubles from left to
    right, so that every language finds the same ones.
    """
    _require_finite(low, high)
    if type(count) is not int or not 1 <= count <= LARGEST_DOMAIN:
        raise SurveyError(f"bins must be a whole number from 1 to {LARGEST_DOMAIN}")
    span = float(high) - float(low)
    expect(0 < span < math.inf, "domain must be [low, high] with low < high")
    edges = np.append(float(low) + span * np.arange(count) / count, float(high))
    return Ordered("float", edges, (("domain", (low, high)), ("bins", count)))


def time_range(kind: str, first: Value, last: Value, unit: str) -> Ordered:
    """Dates or timestamps from `first` to `last` inclusive, one code per hour, day, week, month.

    A `last` without a time of day includes the whole day. The range is widened to whole units;
    a week starts on Monday.
    """
    allowed = [name for name in _UNITS if kind == "timestamp" or name != "hour"]
    expect(unit in allowed, f"unit must be one of {', '.join(allowed)}, not {unit!r:.60}")
    start, end = _moment(first), _moment(last)
    closing = end if isinstance(end, datetime) else datetime.combine(end, time.max)
    expect(closing >= _midnight(start), "the range ends before it starts")
    counted, step = _UNITS[unit]
    opens, closes = (
        np.datetime64(moment, "us").astype(f"M8[{counted}]").astype(np.int64)
        for moment in (_midnight(start), closing)
    )
    opens -= (opens - 4) % 7 if unit == "week" else 0  # 1970-01-05 was a Monday
    if (closes - opens) // step >= LARGEST_DOMAIN:
        raise SurveyError(f"the range has more than {LARGEST_DOMAIN} codes")
    numbers = np.arange(opens, closes + step + 1, step)[: (closes - opens) // step + 2]
    resolution = "D" if kind == "date" else "us"
    edges = numbers.astype(f"M8[{counted}]").astype(f"M8[{resolution}]")
    expect(edges[-1] < np.datetime64("10000-01-01"), "the range must end before the year 9999 does")
    keys = (("range", (start.isoformat(), end.isoformat())), ("unit", unit))
    return Ordered(kind, edges.astype(np.int64), keys)


def time_edges(kind: str, edges: Sequence[Value]) -> Ordered:
    """Dates or timestamps in bins edges[i] <= value < edges[i + 1]; edges are whole seconds."""
    moments = [_moment(edge) for edge in edges]
    written = tuple(moment.isoformat() for moment in moments)
    example, length = ("2026-01-31", 10) if kind == "date" else ("2026-01-31T00:00:00", 19)
    for edge, text in zip(edges, written, strict=True):
        if len(text) != length or (isinstance(edge, str) and edge != text):
            raise SurveyError(
                f"an edge of a {kind} dimension is written {example}, not {edge!r:.60}"
            )
    points = np.array([microseconds(moment) for moment in moments], dtype=np.int64)
    unit = 86_400_000_000 if kind == "date" else 1
    return Ordered(kind, points // unit, (("edges", written),))


def _moment(value: Value) -> date:
    """A date or datetime as it was given, or as its ISO text says."""
    moment: Any = value
    if isinstance(value, str):
        try:
            # A date alone is a range's whole day, so that it is not read as its midnight.
            moment = (date if len(value) <= 10 else datetime).fromisoformat(value)
        except ValueError:
            moment = None
    if not isinstance(moment, date):
        raise SurveyError(f"{value!r:.60} is not a date or timestamp (write 2026-01-31)")
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        raise SurveyError("a range is given without a time zone")
    return moment


def _midnight(moment: date) -> datetime:
    return moment if isinstance(moment, datetime) else datetime.combine(moment, time.min)


def _require_whole(*values: Any) -> None:
    expect(all(type(value) is int for value in values), "an int domain is given by whole numbers")
    expect(all(abs(value) < 2**62 for value in values), "an int domain must fit 62 bits")


def _require_finite(*values: Any) -> None:
    if not all(is_number(value) and abs(value) < 1e300 for value in values):
        raise SurveyError("a float domain is given by finite numbers below 1e300")
