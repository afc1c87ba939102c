"""Numbers with error bars as text: rounded to what the error allows, weak ones told apart; and
numbers of people, as they are written."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

WEAK = 1 / 3
"""A number is weak where half of its interval exceeds this share of its scale: a coefficient of
variation of about a sixth, above which statistical offices warn of an estimate."""
_TOO_NOISY = 100.0  # times the reports


@dataclass(frozen=True)
class Figure:
    """An estimate, its standard error, and its interval; NaN where unknown.

    typical: the typical error of a post-processed estimate, else None.  scale: what its interval
    is measured by; None for its value.
    """

    value: float
    stderr: float
    low: float
    high: float
    typical: float | None = None
    scale: float | None = None

    @property
    def is_weak(self) -> bool:
        """Whether half of the interval exceeds a third of the scale, or nothing of the interval
        was possible, so that only the nearest possible number is left of it."""
        return self.times > 1.0 or self.is_impossible

    @property
    def is_too_noisy(self) -> bool:
        """Whether a hundred times as many reports would still leave it weak."""
        return self.times > _TOO_NOISY and not self.is_impossible

    @property
    def is_impossible(self) -> bool:
        """Whether no possible number was within the interval."""
        return self.low == self.high and self.stderr > 0

    @property
    def times(self) -> float:
        """How many times as many reports it takes for half of the interval to be a third of the
        scale; NaN where the interval is unknown."""
        half = (self.high - self.low) / 2
        half = half if math.isfinite(half) else 2 * self.stderr
        scale = WEAK * (abs(self.value) if self.scale is None else self.scale)
        return (half / scale) ** 2 if scale else math.inf if half > 0 else 0.0

    def __str__(self) -> str:
        """`value ± half-width`, or `value [low, high]` where the interval is lopsided.

        The typical error follows, `(typ. x)`. Rounded to two significant digits of the
        half-width. Without an error bar only where value, error and interval agree that there is
        no error.
        """
        if self.typical is None:
            return self._with_bar()
        if math.isfinite(self.typical) and self.typical > 0:
            return f"{self._with_bar()} (typ. {format_number(self.typical, _places(self.typical))})"
        return f"{self._with_bar()} (typ. {'0' if self.typical == 0 else '?'})"

    def _with_bar(self) -> str:
        half = (self.high - self.low) / 2
        if not math.isfinite(half):
            return f"{number(self.value)} ± ?"
        if self.low == self.value == self.high and self.stderr == 0:
            return number(self.value)
        if half <= 0 or not self.low <= self.value <= self.high:
            return f"{number(self.value)} [{number(self.low)}, {number(self.high)}]"
        places = _places(half)
        value = format_number(self.value, places)
        if abs((self.high - self.value) - (self.value - self.low)) <= 0.2 * half:
            return f"{value} ± {format_number(half, places)}"
        return f"{value} [{format_number(self.low, places)}, {format_number(self.high, places)}]"


def _places(value: float) -> int:
    """Decimal places that show two significant digits."""
    return 1 - math.floor(math.log10(value))


def format_number(value: float, places: int) -> str:
    """A number with this many decimal places; negative ones round to tens, hundreds, ..."""
    text = f"{round(value, places):.{max(places, 0)}f}"
    return text.lstrip("-") if not any(digit in "123456789" for digit in text) else text


def number(value: float) -> str:
    """A number with up to ten digits, and no exponent where it is not needed."""
    if not math.isfinite(value):
        return str(value)
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:.10g}"


def significant(value: float) -> str:
    """A number with three significant digits, never with an exponent."""
    return number(round(value, _places(value) + 1 if value > 0 else 0))


def plain(value: Any) -> str:
    """Any other value of a result: NULL, true, 2026-01-31."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, date):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    return str(value)


def about(count: float) -> str:
    """A count rounded up to two significant digits: about this many."""
    scale = 10 ** max(0, math.floor(math.log10(max(count, 1))) - 1)
    return f"{math.ceil(count / scale) * scale:,d}"


def in_words(count: float) -> str:
    """A count rounded up to two significant digits, with at most three digits: 4 million."""
    size = int(about(count).replace(",", ""))
    for power, name in ((9, "billion"), (6, "million"), (3, "thousand")):
        if size >= 10**power:
            return f"{size / 10**power:g} {name}" if size < 10**12 else "more than 999 billion"
    return str(size)


def tell_forged(least: float, most: float, unit: str = "") -> str:
    """The effect of one forged report on a number, which it moves by `least` to `most`.

    >>> tell_forged(-11.7, 26.04, "people")
    'one forged report can add up to 26 people, or take away up to 11.7'
    """
    words = f" {unit}" if unit else ""
    if math.isnan(least) or math.isnan(most):
        return "what one forged report can do is not known"
    if not math.isfinite(most - least):
        return "nothing limits what one forged report can do"
    ends = [significant(max(end, 0.0)) for end in (most, -least)]
    if least >= 0.0:
        return f"one forged report can add up to {ends[0]}{words}"
    if most <= 0.0:
        return f"one forged report can take away up to {ends[1]}{words}"
    return f"one forged report can add up to {ends[0]}{words}, or take away up to {ends[1]}"


def read_people(text: str) -> int:
    """A number of people, such as 45000, 45k, 1m or 1.5m; ValueError for anything else."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([km]?)", text.strip().replace("_", ""), re.I)
    number = Decimal(match[1]).scaleb({"": 0, "k": 3, "m": 6}[match[2].lower()]) if match else None
    if number is None or number != int(number):
        raise ValueError(f"{text!r:.60} is not a number of people; write 45000, 45k, 1m or 1.5m")
    return int(number)
