"""Public. Sees parameters. Domains from the keys of a survey file; SurveyError for bad ones."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from typing import Any

from ldpsql_device.domains.base import LARGEST_DOMAIN, Value
from ldpsql_device.domains.ordered import Ordered
from ldpsql_device.errors import SurveyError

UNITS = ("hour", "day", "week", "month")
_STEPS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}


def int_domain(low: int, high: int, *, bin_width: int = 1) -> Ordered:
    """Whole numbers low..high inclusive, in bins of `bin_width` from `low` on."""
    _whole(low, high, bin_width)
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
    _whole(*edges)
    return Ordered("int", tuple(edges), (("edges", tuple(edges)),))


def float_edges(edges: list[float]) -> Ordered:
    """Real numbers in bins edges[i] <= value < edges[i + 1]; the last bin is closed."""
    _finite(*edges)
    return Ordered("float", tuple(map(float, edges)), (("edges", tuple(edges)),))


def float_bins(low: float, high: float, count: int) -> Ordered:
    """Real numbers from low to high, both included, in `count` bins of equal width."""
    _finite(low, high)
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
    moments = _starts(opening, closing, unit)
    edges: tuple[Value, ...] = tuple(moments)
    if kind == "date":
        edges = tuple(moment.date() for moment in moments)
    keys = (("range", (start.isoformat(), end.isoformat())), ("unit", unit))
    return Ordered(kind, edges, keys)


def _starts(opening: datetime, closing: datetime, unit: str) -> list[datetime]:
    """The starts of all units that meet the range, and of the one after them."""
    if (closing - opening) / _STEPS.get(unit, timedelta(days=28)) > LARGEST_DOMAIN:
        raise SurveyError(f"the range has more than {LARGEST_DOMAIN} codes")
    moments = [_floor(opening, unit)]
    try:
        while moments[-1] <= closing:
            moments.append(_following(moments[-1], unit))
    except OverflowError:
        raise SurveyError("the range must end before the year 9999 does") from None
    return moments


def _floor(moment: datetime, unit: str) -> datetime:
    if unit == "hour":
        return moment.replace(minute=0, second=0, microsecond=0)
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "week":
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if unit == "month" else day


def _following(moment: datetime, unit: str) -> datetime:
    if unit == "month":
        return _floor(moment + timedelta(days=31), "month")
    return moment + _STEPS[unit]


def _moment(value: Value) -> date:
    """A date or datetime as it was given, or as its ISO text says."""
    found = _from_text(value) if isinstance(value, str) else value
    if not isinstance(found, date):
        raise SurveyError(f"{value!r} is not a date or timestamp (write 2026-01-31)")
    if isinstance(found, datetime) and found.tzinfo is not None:
        raise SurveyError("a range is given without a time zone")
    return found


def _from_text(text: str) -> date | None:
    for kind in (date, datetime):
        try:
            return kind.fromisoformat(text)
        except ValueError:
            continue
    return None


def _midnight(moment: date) -> datetime:
    if isinstance(moment, datetime):
        return moment
    return datetime(moment.year, moment.month, moment.day)


def _whole(*values: Any) -> None:
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        raise SurveyError("an int domain is given by whole numbers")
    if not all(abs(value) < 2**62 for value in values):
        raise SurveyError("an int domain must fit 62 bits")


def _finite(*values: Any) -> None:
    for value in values:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not abs(value) < 1e300:
            raise SurveyError("a float domain is given by finite numbers below 1e300")
