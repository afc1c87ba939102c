"""Columns as SQL sees them: their names, labels, bins, and the codes that a comparison selects.

A device knows values and codes (`ldpsql_device.values`); what is here turns codes back into
values that stand for them (GROUP BY) and literals into sets of codes (WHERE). Where a literal
falls inside a bin there is no such set, and the comparison is refused with the nearest literals
that work. Literals are compared in Python's exact arithmetic.
"""

from __future__ import annotations

import math
import operator
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import chain
from typing import Any

from ldpsql.algebra.boxes import NOTHING, CodeSet, code_set, codes, complement
from ldpsql.errors import QueryError, list_some
from ldpsql.sql.quoting import literal as sql_literal
from ldpsql.sql.quoting import quote
from ldpsql_device.description import Edges, values_of
from ldpsql_device.schema import Attribute, Dimension, PublicColumn, Schema
from ldpsql_device.values import Domain, Listed, Ordered, Value, microseconds

Point = int | float | Fraction
COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_DAY = 86_400_000_000
_SHOWN = 5


def find_dimension(schema: Schema, name: str) -> int | None:
    """Index of a dimension by its name (SQL names ignore case), or None."""
    return _position(schema.dimensions, name)


def find_measure(schema: Schema, name: str) -> int | None:
    """Index of a measure by its name, or None."""
    return _position(schema.measures, name)


def find_public_column(schema: Schema, name: str) -> PublicColumn | None:
    """A public column by its name, or None."""
    index = _position(schema.public, name)
    return None if index is None else schema.public[index]


def _position(attributes: Sequence[Attribute], name: str) -> int | None:
    for index, attribute in enumerate(attributes):
        if attribute.name.lower() == name.lower():
            return index
    return None


def labels(dimension: Dimension) -> list[Value | None]:
    """One value per code, to stand for it in an answer; None for the code of NULL.

    A bin is named by its lower edge, which is the value itself where it holds one value. QueryError
    for a category with a code that stands for several values.
    """
    nulls: list[Value | None] = [None] if dimension.has_null else []
    return [*domain_labels(dimension.domain), *nulls]


def domain_labels(domain: Domain) -> list[Value]:
    """One value per code of a domain, without that of NULL; QueryError as for `labels`."""
    if isinstance(domain, Listed) and domain.merged:
        raise _one_code(domain, next(c for c in domain.merged if domain.merged.count(c) > 1))
    return list(domain.values if isinstance(domain, Listed) else Edges(domain)[:-1])


def is_listed_out(domain: Domain) -> bool:
    """Whether every code is that of a single value, and not of a bin."""
    if isinstance(domain, Listed):
        return not domain.merged
    return domain.is_discrete and domain.points[-1] - domain.points[0] == domain.size


def code_names(dimension: Dimension) -> list[str]:
    """Every code in words: its label, or all values that share it."""
    domain, nulls = dimension.domain, ["NULL"] if dimension.has_null else []
    if isinstance(domain, Listed):
        own = [" or ".join(map(str, values_of(domain, code))) for code in range(domain.size)]
        return own + nulls
    return [str(label) for label in domain_labels(domain)] + nulls


def null_codes(dimension: Dimension) -> CodeSet:
    """The codes that stand for NULL: one or none."""
    size = dimension.domain.size
    return ((size, size + 1),) if dimension.has_null else NOTHING


def present_codes(dimension: Dimension) -> CodeSet:
    """The codes that stand for a value."""
    return ((0, dimension.domain.size),)


def match_codes(domain: Domain, comparison: str, literal: Value) -> CodeSet:
    """Codes whose every value satisfies `value <comparison> literal`.

    QueryError where some code holds values that do and values that do not, or where the literal
    is of another type. Strings compare by code point.
    """
    if isinstance(domain, Listed):
        if type(literal) is not type(domain.values[0]):
            raise QueryError(f"a column of type {domain.type} cannot be compared with {literal!r}")
        compare, found = COMPARISONS[comparison], dict[int, bool]()
        for code, value in zip(domain.codes, domain.values, strict=True):
            if found.setdefault(code, compare(value, literal)) != compare(value, literal):
                raise _one_code(domain, code)
        return codes(code for code, is_inside in found.items() if is_inside)
    point = _point(domain, literal)
    if comparison in ("=", "<>"):
        equal = _equal(domain, point)
        return equal if comparison == "=" else complement(equal, domain.size)
    cut = _cut(domain, point, inclusive=comparison in ("<=", ">"))
    return _span(0, cut) if comparison in ("<", "<=") else _span(cut, domain.size)


def members(domain: Domain, literals: Sequence[Value]) -> CodeSet:
    """Codes whose every value is one of some literals; errors as for `match_codes`."""
    if isinstance(domain, Listed):
        wanted = code_set(
            chain.from_iterable(match_codes(_apart(domain), "=", v) for v in literals)
        )
        inside = {place for low, high in wanted for place in range(low, high)}
        found: dict[int, bool] = {}
        for place, code in enumerate(domain.codes):
            if found.setdefault(code, place in inside) != (place in inside):
                raise _one_code(domain, code)
        return codes(code for code, is_inside in found.items() if is_inside)
    if not domain.is_discrete:
        return code_set(chain.from_iterable(match_codes(domain, "=", value) for value in literals))
    points: dict[int, set[Point]] = {}
    for point in (_point(domain, literal) for literal in literals):
        if domain.points[0] <= point < domain.points[-1] and point == math.floor(point):
            points.setdefault(bisect_right(domain.points, point) - 1, set()).add(point)
    for code, own in points.items():
        if len(own) < domain.points[code + 1] - domain.points[code]:
            raise _inside_a_bin(domain, min(own))
    return codes(points)


def _apart(domain: Listed) -> Listed:
    """The same values, each with a code of its own."""
    return Listed(domain.type, domain.values) if domain.merged else domain


def divide(domain: Domain, literals: Sequence[Value]) -> Domain:
    """The domain with codes of their own for the values that comparisons with some literals tell
    apart; it is for comparisons alone. QueryError for a literal of another type."""
    if isinstance(domain, Listed):
        return _apart(domain)
    points, first, last = set[Point](domain.points), domain.points[0], domain.points[-1]
    for point in (_point(domain, literal) for literal in literals):
        if first <= point <= last:
            ends = (math.floor(point), math.floor(point) + 1, math.ceil(point))
            points.update(ends if domain.is_discrete else (point,))
    inner: Sequence[Any] = sorted(point for point in points if first <= point <= last)
    return Ordered(domain.type, inner, ()) if len(inner) > len(domain.points) else domain


def list_ranges(dimension: Dimension, wanted: CodeSet) -> str:
    """SQL that holds for some codes of an ordered dimension, in ranges from edge to edge."""
    domain, name = dimension.domain, _write_name(dimension)
    assert isinstance(domain, Ordered)
    edges, parts = Edges(domain), list[str]()
    for low, high in wanted:
        is_closed = not domain.is_discrete and high == domain.size
        ends = [f"{name} >= {sql_literal(edges[low])}"] * (low > 0 or high == domain.size)
        ends += [f"{name} {'<=' if is_closed else '<'} {sql_literal(edges[high])}"] * (
            high < domain.size or low == 0
        )
        parts.append(" AND ".join(ends))
    return f"({' OR '.join(parts)})" if len(parts) > 1 else "".join(parts)


def nearest_ranges(dimension: Dimension, asked: Sequence[tuple[str, Value]]) -> list[str]:
    """Conditions at edges that are near some comparisons with an ordered dimension, joined by AND,
    or by OR where all are equalities; the nearest first. QueryError where one has another type."""
    domain = dimension.domain
    assert isinstance(domain, Ordered)
    points, size = domain.points, domain.size
    if all(op in ("=", "<>") for op, _ in asked):
        inside = [_point(domain, value) for _, value in asked]
        held = codes(
            bisect_right(points[:-1], point) - 1
            for point in inside
            if points[0] <= point <= points[-1]
        )
        is_negative = asked[0][0] == "<>"
        return [list_ranges(dimension, complement(held, size) if is_negative else held)]
    ends: list[list[int]] = [[0], [size]]
    for op, value in asked:
        point = _point(domain, value)
        code = min(max(bisect_right(points, point) - 1, 0), size - 1)
        near = sorted((code, code + 1), key=lambda edge: abs(float(points[edge]) - float(point)))
        ends[op in ("<", "<=")] = [min(max(edge, 0), size) for edge in near]
    found = [(low, high) for low in ends[0] for high in ends[1] if low < high]
    whole = (0, size)
    ranges = [list_ranges(dimension, (each,)) for each in found if each != whole]
    return list(dict.fromkeys(ranges))[:2]


def _write_name(dimension: Dimension) -> str:
    return dimension.name if dimension.name.isidentifier() else quote(dimension.name)


def is_outside(domain: Domain, comparison: str, literal: Value) -> bool:
    """Whether a comparison with an ordered domain is about values that all lie outside of it.

    QueryError for a literal of another type.
    """
    if isinstance(domain, Listed):
        return False
    point, first, last = _point(domain, literal), domain.points[0], domain.points[-1]
    if not first <= point <= last:
        return True
    positive = "=" if comparison == "<>" else comparison
    return not match_codes(divide(domain, (literal,)), positive, literal)


def bins(domain: Domain, width: float) -> list[tuple[Value, CodeSet]]:
    """(lower end, codes) of each bin [k * width, (k + 1) * width) that meets the domain.

    The upper end of a float domain belongs to the last bin. QueryError for a domain without
    numbers, a width that is not positive (or not whole for an int column), and a bin whose ends
    fall inside a code.
    """
    if isinstance(domain, Listed) or domain.type not in ("int", "float"):
        raise QueryError(f"bin() takes an int or float column, not {domain.type}")
    if not 0 < width < math.inf:
        raise QueryError("the width of bin() must be a positive number")
    if domain.type == "int" and width != math.floor(width):
        raise QueryError("the width of bin() must be whole for an int column")
    kind = int if domain.type == "int" else float
    step = _decimal(width)
    start, number = 0, math.floor(_decimal(domain.points[0]) / step)
    result: list[tuple[Value, CodeSet]] = []
    while start < domain.size:
        lower, upper = kind(number * step), kind((number + 1) * step)
        end = domain.size if upper >= domain.points[-1] else _cut(domain, upper, inclusive=False)
        if end > start:
            result.append((lower, _span(start, end)))
        start, number = end, number + 1
    return result


def extent(domain: Domain, low: int, high: int) -> str:
    """Values of codes low..high-1 in words: 18..29 where there is a last one, else [0.5, 2.0)."""
    if isinstance(domain, Listed):
        inside = zip(domain.values, domain.codes, strict=True)
        return ", ".join(str(value) for value, code in inside if low <= code < high)
    first, end = Edges(domain)[low], Edges(domain)[high]
    last: Value | None = None
    if isinstance(end, date) and not isinstance(end, datetime):
        last = end - timedelta(days=1)
    elif isinstance(end, int):
        last = end - 1
    if last is None:
        return f"[{first}, {end}{']' if not domain.is_discrete and high == domain.size else ')'}"
    return f"{first}" if first == last else f"{first}..{last}"


def _point(domain: Ordered, literal: Value) -> Point:
    """The point of a query's literal; QueryError if it cannot be compared with this type."""
    if domain.type in ("int", "float"):
        number = isinstance(literal, int | float) and not isinstance(literal, bool)
        if number and literal == literal:  # noqa: PLR0124  (not NaN)
            return literal  # type: ignore[return-value]
    else:
        moment = read_moment(literal, domain.type) if isinstance(literal, str) else literal
        if isinstance(moment, datetime) and moment.tzinfo is not None:
            raise QueryError(f"{literal!r} has a time zone", hint="write local time without one")
        if isinstance(moment, date):
            exact = microseconds(moment)
            return exact if domain.type == "timestamp" else Fraction(exact, _DAY)
    reason = f"a column of type {domain.type} cannot be compared with {literal!r:.60}"
    is_number = domain.type in ("int", "float") and isinstance(literal, str)
    raise QueryError(reason, hint="write a number, without quotes" if is_number else "")


_ISO = re.compile(r"\s*\d{4}-\d\d-\d\d(?:\s*\Z|[T ]\d\d:\d\d)", re.ASCII)
"""How a moment begins that Python reads as DuckDB does."""


def as_day(value: Value | None) -> date | None:
    """The day that a literal names, as a date or a text without a time; None for any other."""
    if isinstance(value, str):
        try:
            return date.fromisoformat(value.strip())
        except ValueError:
            return None
    is_day = isinstance(value, date) and not isinstance(value, datetime)
    return value if is_day else None  # type: ignore[return-value]


def read_moment(text: str, kind: str) -> datetime:
    """The date or timestamp in a text, as DuckDB reads it; QueryError for anything else."""
    try:
        moment = datetime.fromisoformat(text.strip() if _ISO.match(text) else "")
    except ValueError:
        reason = f"{text[:40]!r} is not a {kind}"
        raise QueryError(reason, hint="write 2026-01-31") from None
    if moment.tzinfo is not None:
        reason = f"{text[:40]!r} has a time zone"
        raise QueryError(reason, hint="write local time without one")
    return moment


def _cut(domain: Ordered, point: Point, *, inclusive: bool) -> int:
    """Number of codes whose values are all < point (<= if inclusive).

    QueryError where the point falls inside a bin. A discrete point is first moved to the
    next value, so that only "<" remains; on a continuous line "<= edge" cuts the bin that
    starts at the edge, and "< last edge" the bin that is closed there.
    """
    first, last = domain.points[0], domain.points[-1]
    if point > last or (point == last and (inclusive or domain.is_discrete)):
        return domain.size
    if point < first or (point == first and not inclusive):
        return 0
    wanted = point
    if domain.is_discrete:
        wanted = math.floor(point) + 1 if inclusive else math.ceil(point)
    position = bisect_left(domain.points, wanted)
    cuts_edge = not domain.is_discrete and (inclusive or position == domain.size)
    if cuts_edge or domain.points[position] != wanted:
        raise _inside_a_bin(domain, point)
    return position


def _equal(domain: Ordered, point: Point) -> CodeSet:
    if not domain.points[0] <= point <= domain.points[-1]:
        return NOTHING
    if not domain.is_discrete:
        raise QueryError(
            f"a {domain.type} column is collected in bins, so = has no exact answer",
            hint="write a range between two edges",
        )
    if point != math.floor(point):
        return NOTHING
    return _span(_cut(domain, point, inclusive=False), _cut(domain, point, inclusive=True))


def _one_code(domain: Listed, code: int) -> QueryError:
    """The error for a question that tells values of one code apart."""
    values = [repr(value) for value in values_of(domain, code)]
    return QueryError(
        f"this has no exact answer: {list_some(values, _SHOWN)} share one code",
        hint="ask about all of them together, as with IN",
    )


def _inside_a_bin(domain: Ordered, point: Point) -> QueryError:
    code = min(max(bisect_right(domain.points, point) - 1, 0), domain.size - 1)
    low, high = Edges(domain)[code], Edges(domain)[code + 1]
    if not domain.is_discrete and code == domain.size - 1:
        held, hint = f"{low} up to and including {high}", f">= {low}, < {low} or <= {high}"
    else:
        held, hint = f"{low} up to {high}", f">= or < with {low} or {high}"
    return QueryError(
        f"this has no exact answer: all values from {held} share one code",
        hint=f"write {hint}",
    )


def _span(low: int, high: int) -> CodeSet:
    return ((low, high),) if low < high else NOTHING


def _decimal(number: float) -> Fraction:
    """The number as it is written, so that 0.1 is a tenth and 3 * 0.1 meets the edge 0.3."""
    return Fraction(repr(number))
