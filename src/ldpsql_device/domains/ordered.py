"""Public. Sees parameters. Domains on a line, cut into bins.

Every value has a *point*, its exact place on the number line: itself for int and float, days
since 1970-01-01 for a date, microseconds since then for a timestamp. All comparisons are made
between points, in Python's exact arithmetic for literals and in numpy for records.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsql.boxes import NOTHING, CodeSet, complement
from ldpsql_device.domains.base import LARGEST_DOMAIN, Value, plain
from ldpsql_device.errors import QueryError, RecordError, SurveyError

Point = int | float | Fraction
EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_DAY = 86_400_000_000
_BEYOND = 1e308


@dataclass(frozen=True)
class Ordered:
    """Values on a line: code i holds edges[i] <= value < edges[i + 1].

    `keys` are the keys of the survey file, kept so that the survey can be written down again.
    A float domain is closed at its upper end; an int, date or timestamp domain is not.
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
        return tuple(_microseconds(edge) // unit for edge in self.edges)

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
        found = int(self.codes_at(np.array([nearest], self.edge_array.dtype))[0])
        if found < 0:
            raise RecordError(f"lies outside its domain {self.describe()}")
        return found

    def codes_at(self, points: NDArray[Any]) -> NDArray[np.int64]:
        """Codes of many values given as points of `edge_array`'s type; -1 for those outside."""
        if self._spacing:
            return self._codes_by_division(points, self._spacing)
        found: NDArray[np.int64] = np.searchsorted(self.edge_array, points, side="right") - 1
        if self.is_closed:
            found[points == self.edge_array[-1]] = self.size - 1
        found[found >= self.size] = -1
        return found

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
        found: NDArray[np.int64] = points - first  # may wrap around, but only outside
        if width > 1:
            found //= width
        if outside.any():
            found[outside] = -1
        return found

    def labels(self) -> list[Value]:
        """The lower edge of each bin (the value itself where a bin holds one value)."""
        return list(self.edges[:-1])

    def matching(self, comparison: str, literal: Value) -> CodeSet:
        """Codes whose values all satisfy the comparison; see `Domain.matching`."""
        point = self._literal(literal)
        if comparison in ("=", "<>"):
            equal = self._equal(point)
            return equal if comparison == "=" else complement(equal, self.size)
        cut = self._cut(point, inclusive=comparison in ("<=", ">"))
        return _span(0, cut) if comparison in ("<", "<=") else _span(cut, self.size)

    def bins(self, width: float) -> list[tuple[Value, CodeSet]]:
        """Bins anchored at 0, as floor(value / width) * width gives them.

        The upper end of a float domain belongs to the last bin.
        """
        step = self._step(width)
        start, number = 0, math.floor(_decimal(self.points[0]) / step)
        result: list[tuple[Value, CodeSet]] = []
        while start < self.size:
            lower, upper = self._typed(number * step), self._typed((number + 1) * step)
            end = self.size if upper >= self.points[-1] else self._cut(upper, inclusive=False)
            if end > start:
                result.append((lower, _span(start, end)))
            start, number = end, number + 1
        return result

    def spec(self) -> dict[str, Any]:
        """The keys of a survey file that give this domain back."""
        keys = {key: list(v) if isinstance(v, tuple) else v for key, v in self.keys}
        return {"type": self.type, **keys}

    def describe(self) -> str:
        """The extent in words, for messages: [18, 90]."""
        first, last = self.edges[0], self.edges[-1]
        if isinstance(last, datetime):
            return f"[{first}, {last})"
        if isinstance(last, date):
            return f"[{first}, {last - timedelta(days=1)}]"
        return f"[{first}, {last - 1 if isinstance(last, int) else last}]"

    def extent(self, low: int, high: int) -> str:
        """Values of codes low..high-1: 18..29 where there is a last one, else [0.5, 2.0)."""
        first, end = self.edges[low], self.edges[high]
        last: Value | None = None
        if isinstance(end, date) and not isinstance(end, datetime):
            last = end - timedelta(days=1)
        elif isinstance(end, int):
            last = end - 1
        if last is None:
            return f"[{first}, {end}{']' if self.is_closed and high == self.size else ')'}"
        return f"{first}" if first == last else f"{first}..{last}"

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
            return _microseconds(value)
        if self.type == "date" and isinstance(value, date) and not isinstance(value, datetime):
            return _microseconds(value) // _DAY
        raise RecordError(f"is not of type {self.type}")

    def _literal(self, literal: Value) -> Point:
        """The point of a query's literal; QueryError if it cannot be compared with this type."""
        if self.type in ("int", "float"):
            number = isinstance(literal, int | float) and not isinstance(literal, bool)
            if number and literal == literal:  # noqa: PLR0124  (not NaN)
                return literal  # type: ignore[return-value]
        else:
            moment = _parsed(literal, self.type) if isinstance(literal, str) else literal
            if isinstance(moment, datetime) and moment.tzinfo is not None:
                raise QueryError(f"{literal!r} has a time zone", hint="write local time without")
            if isinstance(moment, date):
                exact = _microseconds(moment)
                return exact if self.type == "timestamp" else Fraction(exact, _DAY)
        raise QueryError(f"a column of type {self.type} cannot be compared with {literal!r}")

    def _cut(self, point: Point, *, inclusive: bool) -> int:
        """Number of codes whose values are all < point (<= if inclusive).

        QueryError where the point falls inside a bin. A discrete point is first moved to the
        next value, so that only "<" remains; on a continuous line "<= edge" cuts the bin that
        starts at the edge, and "< last edge" the bin that is closed there.
        """
        first, last = self.points[0], self.points[-1]
        if point > last or (point == last and (inclusive or not self.is_closed)):
            return self.size
        if point < first or (point == first and not inclusive):
            return 0
        wanted = point
        if self.is_discrete:
            wanted = math.floor(point) + 1 if inclusive else math.ceil(point)
        position = bisect_left(self.points, wanted)
        cuts_edge = not self.is_discrete and (inclusive or position == self.size)
        if cuts_edge or self.points[position] != wanted:
            raise self._unaligned(point)
        return position

    def _equal(self, point: Point) -> CodeSet:
        if not self.points[0] <= point <= self.points[-1]:
            return NOTHING
        if not self.is_discrete:
            raise QueryError(
                f"a {self.type} column is collected in bins, so = has no exact answer",
                hint="write a range between two edges",
            )
        if point != math.floor(point):
            return NOTHING
        return _span(self._cut(point, inclusive=False), self._cut(point, inclusive=True))

    def _unaligned(self, point: Point) -> QueryError:
        code = min(max(bisect_right(self.points, point) - 1, 0), self.size - 1)
        low, high = self.edges[code], self.edges[code + 1]
        if self.is_closed and code == self.size - 1:
            extent, hint = f"{low} up to and including {high}", f">= {low}, < {low} or <= {high}"
        else:
            extent, hint = f"{low} up to {high}", f">= or < with {low} or {high}"
        return QueryError(
            f"this has no exact answer: all values from {extent} share one code",
            hint=f"write {hint}",
        )

    def _step(self, width: float) -> Fraction:
        if self.type not in ("int", "float"):
            raise QueryError(f"bin() takes an int or float column, not {self.type}")
        if not 0 < width < math.inf:
            raise QueryError("the width of bin() must be a positive number")
        if self.type == "int" and width != math.floor(width):
            raise QueryError("the width of bin() must be whole for an int column")
        return _decimal(width)

    def _typed(self, exact: Fraction) -> int | float:
        """A multiple of a bin width: the whole number, or the float nearest to it."""
        return int(exact) if self.type == "int" else float(exact)


def _span(low: int, high: int) -> CodeSet:
    return ((low, high),) if low < high else NOTHING


def _decimal(number: float) -> Fraction:
    """The number as it is written, so that 0.1 is a tenth and 3 * 0.1 meets the edge 0.3."""
    return Fraction(repr(number))


def _microseconds(moment: Any) -> int:
    """Microseconds from the epoch to a naive datetime, or to the start of a date."""
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    return int((moment - EPOCH) // _MICROSECOND)


def _parsed(text: str, kind: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise QueryError(f"{text!r} is not a {kind} (write 2026-01-31)") from None
