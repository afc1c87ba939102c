"""Domains: which values a dimension may hold, and the code 0..size-1 of each of them.

Two classes serve every type: `Ordered` (int, float, date, timestamp: bins between edges) and
`Listed` (category, bool: values written out). What SQL needs of a domain beyond values and codes
is in `ldpsql.domains`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsql_device.errors import RecordError, SurveyError
from ldpsql_device.types import Value, plain

LARGEST_DOMAIN = 1 << 20
UNITS = ("hour", "day", "week", "month")
EPOCH = datetime(1970, 1, 1)

_MICROSECOND = timedelta(microseconds=1)
_DAY = 86_400_000_000
_BEYOND = 1e308
_STEPS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}


@dataclass(frozen=True)
class Listed:
    """Values in the order of their codes (category: all strings or all ints; bool)."""

    type: str
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.values) <= LARGEST_DOMAIN:
            raise SurveyError(f"values must list 1 to {LARGEST_DOMAIN} values, chosen by a person")
        if len({type(value) for value in self.values}) != 1:
            raise SurveyError("the values of a category must be all strings or all ints")
        if len(set(self.values)) != len(self.values):
            raise SurveyError("the values of a category must differ")

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.values)

    @cached_property
    def _codes(self) -> dict[Value, int]:
        return {value: code for code, value in enumerate(self.values)}

    def code(self, value: Value) -> int:
        """Code of one value; RecordError, which never shows the value, if it is not listed.

        Strings are compared code point by code point, without any normalisation.
        """
        value = plain(value)
        same_type = type(value) is type(self.values[0])  # True == 1, but is not the same value
        code = self._codes.get(value) if same_type else None
        if code is None:
            raise RecordError("is not one of the declared values")
        return code

    def has_own_code(self, value: Value) -> bool:
        """Whether the value is declared; each of them has a code of its own."""
        return type(value) is type(self.values[0]) and value in self._codes

    def describe(self) -> str:
        """The extent in words, for messages."""
        return "false, true" if self.type == "bool" else f"{self.size} declared values"


BOOL = Listed("bool", (False, True))


@dataclass(frozen=True)
class Ordered:
    """Values on a line: code i holds edges[i] <= value < edges[i + 1].

    Every value has a *point*, its exact place on the number line: itself for int and float, days
    since 1970-01-01 for a date, microseconds since then for a timestamp. All comparisons are made
    between points. `keys` are the keys of the survey file, kept so that the survey can be written
    down again. A float domain is closed at its upper end; an int, date or timestamp domain is not.
    """

    type: str
    edges: tuple[Value, ...]
    keys: tuple[tuple[str, Any], ...]

    def __post_init__(self) -> None:
        if not 2 <= len(self.edges) <= LARGEST_DOMAIN + 1:
            raise SurveyError(f"a domain has 1 to {LARGEST_DOMAIN} codes, not {self.size}")
        if (np.diff(self.edge_array) <= 0).any():
            raise SurveyError("the edges of a domain must increase")

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.edges) - 1

    @property
    def is_discrete(self) -> bool:
        """Whether values have a next value, so that <= v is < next(v): all types but float."""
        return self.type != "float"

    @property
    def is_closed(self) -> bool:
        """Whether the last edge itself belongs to the domain."""
        return self.type == "float"

    @cached_property
    def points(self) -> tuple[int | float, ...]:
        """The edges as points."""
        if self.type in ("int", "float"):
            return self.edges  # type: ignore[return-value]
        unit = _DAY if self.type == "date" else 1
        return tuple(microseconds(edge) // unit for edge in self.edges)

    @cached_property
    def edge_array(self) -> NDArray[Any]:
        """The edges as points: int64 for discrete types, float64 for float."""
        return np.array(self.points, dtype=np.int64 if self.is_discrete else np.float64)

    def code(self, value: Value) -> int:
        """Code of one value; RecordError, which never shows the value, if it lies outside."""
        point = self._point(plain(value))
        lowest, highest = self.points[0] - 1, self.points[-1] + 1
        if not self.is_discrete:
            lowest, highest = -_BEYOND, _BEYOND
        nearest = min(max(point, lowest), highest)  # so that it fits the array's type
        code = int(self.codes_at(np.array([nearest], self.edge_array.dtype))[0])
        if code < 0:
            raise RecordError(f"lies outside its domain {self.describe()}")
        return code

    def has_own_code(self, value: Value) -> bool:
        """Whether a whole number is the only value of its code."""
        if type(value) is not int or not self.points[0] <= value < self.points[-1]:
            return False
        code = self.code(value)
        return self.points[code + 1] - self.points[code] == 1

    def codes_at(self, points: NDArray[Any]) -> NDArray[np.int64]:
        """Codes of many values given as points of `edge_array`'s type; -1 for those outside."""
        if self._spacing:
            return self._codes_by_division(points, self._spacing)
        codes: NDArray[np.int64] = np.searchsorted(self.edge_array, points, side="right") - 1
        if self.is_closed:
            codes[points == self.edge_array[-1]] = self.size - 1
        codes[codes >= self.size] = -1
        return codes

    @cached_property
    def _spacing(self) -> int:
        """Width of all bins but a shorter last one, where a discrete domain has such; else 0."""
        widths = np.diff(self.edge_array)
        even = self.is_discrete and (widths[:-1] == widths[0]).all() and widths[-1] <= widths[0]
        return int(widths[0]) if even else 0

    def _codes_by_division(self, points: NDArray[Any], width: int) -> NDArray[np.int64]:
        """`codes_at` for evenly spaced edges: several times faster than a search."""
        first, last = self.edge_array[0], self.edge_array[-1]
        outside = (points < first) | (points >= last)
        codes: NDArray[np.int64] = points - first  # may wrap around, but only outside
        if width > 1:
            codes //= width
        if outside.any():
            codes[outside] = -1
        return codes

    def describe(self) -> str:
        """The extent in words, for messages: [18, 90]."""
        first, last = self.edges[0], self.edges[-1]
        if isinstance(last, datetime):
            return f"[{first}, {last})"
        if isinstance(last, date):
            return f"[{first}, {last - timedelta(days=1)}]"
        return f"[{first}, {last - 1 if isinstance(last, int) else last}]"

    def _point(self, value: Any) -> int | float:
        """The point of a record's value; RecordError if it is not of this domain's type."""
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if self.type == "int" and number and (isinstance(value, int) or value.is_integer()):
            return int(value)
        if self.type == "float" and number:
            if not value - value == 0:
                raise RecordError("is not a finite number")
            return value  # type: ignore[no-any-return]
        if self.type == "timestamp" and isinstance(value, datetime):
            if value.tzinfo is not None:
                raise RecordError("has a time zone; give local or UTC time without one")
            return microseconds(value)
        if self.type == "date" and isinstance(value, date) and not isinstance(value, datetime):
            return microseconds(value) // _DAY
        raise RecordError(f"is not of type {self.type}")


Domain = Listed | Ordered


def microseconds(moment: Any) -> int:
    """Microseconds from the epoch to a naive datetime, or to the start of a date."""
    return int((_midnight(moment) - EPOCH) // _MICROSECOND)


def int_domain(low: int, high: int, *, bin_width: int = 1) -> Ordered:
    """Whole numbers low..high inclusive, in bins of `bin_width` from `low` on."""
    _require_whole(low, high, bin_width)
    if bin_width < 1:
        raise SurveyError("bin_width must be at least 1")
    if high < low:
        raise SurveyError(f"domain [{low}, {high}] is empty")
    if (high - low) // bin_width >= LARGEST_DOMAIN:
        raise SurveyError(f"domain [{low}, {high}] has more than {LARGEST_DOMAIN} codes")
    keys: tuple[tuple[str, Any], ...] = (("domain", (low, high)),)
    if bin_width != 1:
        keys += (("bin_width", bin_width),)
    return Ordered("int", (*range(low, high + 1, bin_width), high + 1), keys)


def int_edges(edges: list[int]) -> Ordered:
    """Whole numbers in bins edges[i] <= value < edges[i + 1]."""
    _require_whole(*edges)
    return Ordered("int", tuple(edges), (("edges", tuple(edges)),))


def float_edges(edges: list[float]) -> Ordered:
    """Real numbers in bins edges[i] <= value < edges[i + 1]; the last bin is closed."""
    _require_finite(*edges)
    return Ordered("float", tuple(map(float, edges)), (("edges", tuple(edges)),))


def float_bins(low: float, high: float, count: int) -> Ordered:
    """Real numbers from low to high, both included, in `count` bins of equal width.

    The inner edges are low + (high - low) * i / count, computed in IEEE doubles from left to
    right, so that every language finds the same ones.
    """
    _require_finite(low, high)
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= LARGEST_DOMAIN:
        raise SurveyError(f"bins must be a whole number from 1 to {LARGEST_DOMAIN}")
    span = float(high) - float(low)
    if not 0 < span < math.inf:
        raise SurveyError("domain must be [low, high] with low < high")
    inner = tuple(float(low) + span * i / count for i in range(count))
    return Ordered("float", (*inner, float(high)), (("domain", (low, high)), ("bins", count)))


def time_range(kind: str, first: Value, last: Value, unit: str) -> Ordered:
    """Dates or timestamps from `first` to `last` inclusive, one code per hour, day, week, month.

    A `last` without a time of day includes the whole day. The range is widened to whole units;
    a week starts on Monday.
    """
    allowed = UNITS if kind == "timestamp" else UNITS[1:]
    if unit not in allowed:
        raise SurveyError(f"unit must be one of {', '.join(allowed)}, not {unit!r}")
    start, end = _moment(first), _moment(last)
    opening, closing = _midnight(start), _midnight(end)
    if not isinstance(end, datetime):
        closing = closing.replace(hour=23, minute=59, second=59, microsecond=999_999)
    if closing < opening:
        raise SurveyError("the range ends before it starts")
    if (closing - opening) / _STEPS.get(unit, timedelta(days=28)) > LARGEST_DOMAIN:
        raise SurveyError(f"the range has more than {LARGEST_DOMAIN} codes")
    moments = [_start_of(opening, unit)]
    try:
        while moments[-1] <= closing:
            step = _STEPS.get(unit)
            following = moments[-1] + (step or timedelta(days=31))
            moments.append(following if step else _start_of(following, "month"))
    except OverflowError:
        raise SurveyError("the range must end before the year 9999 does") from None
    edges: tuple[Value, ...] = tuple(moments)
    if kind == "date":
        edges = tuple(moment.date() for moment in moments)
    keys = (("range", (start.isoformat(), end.isoformat())), ("unit", unit))
    return Ordered(kind, edges, keys)


def _start_of(moment: datetime, unit: str) -> datetime:
    """The start of the hour, day, week or month that a moment lies in."""
    if unit == "hour":
        return moment.replace(minute=0, second=0, microsecond=0)
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "week":
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if unit == "month" else day


def _moment(value: Value) -> date:
    """A date or datetime as it was given, or as its ISO text says."""
    moment: Any = value
    if isinstance(value, str):
        try:
            moment = date.fromisoformat(value)
        except ValueError:
            try:
                moment = datetime.fromisoformat(value)
            except ValueError:
                moment = None
    if not isinstance(moment, date):
        raise SurveyError(f"{value!r} is not a date or timestamp (write 2026-01-31)")
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        raise SurveyError("a range is given without a time zone")
    return moment


def _midnight(moment: date) -> datetime:
    if isinstance(moment, datetime):
        return moment
    return datetime(moment.year, moment.month, moment.day)


def _require_whole(*values: Any) -> None:
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        raise SurveyError("an int domain is given by whole numbers")
    if not all(abs(value) < 2**62 for value in values):
        raise SurveyError("an int domain must fit 62 bits")


def _require_finite(*values: Any) -> None:
    for value in values:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not abs(value) < 1e300:
            raise SurveyError("a float domain is given by finite numbers below 1e300")
