"""Epsilon as an exact decimal.

The only transcendental number a mechanism needs is e^epsilon; `Epsilon.odds` is a rational just
below it, and every threshold is derived from that fraction by integer arithmetic.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property

from ldpsql_device.errors import InterfaceError, SurveyError

SMALLEST_EPSILON, LARGEST_EPSILON = Decimal("0.001"), Decimal(20)
LARGEST_PRECISION = 20
_DIGITS = Context(prec=60)
_NUMBER = re.compile(r"[0-9]{1,100}(\.[0-9]{1,100}|/[0-9]{1,100})?([eE][+-]?[0-9]{1,3})?")


@dataclass(frozen=True)
class Epsilon:
    """A privacy budget, kept as the exact decimal that was written down.

    >>> Epsilon.parse("0.1").value + Epsilon.parse("0.2").value == Decimal("0.3")
    True

    Raises SurveyError outside 0.001 .. 20: above, a report hides nothing; below, it says nothing,
    and the rounding of 64-bit thresholds would no longer be small against it.
    """

    value: Decimal

    def __post_init__(self) -> None:
        if len(self.value.as_tuple().digits) > LARGEST_PRECISION:
            raise SurveyError(f"epsilon has at most {LARGEST_PRECISION} digits")
        if not self.value.is_finite() or not SMALLEST_EPSILON <= self.value <= LARGEST_EPSILON:
            raise SurveyError(
                f"epsilon must lie between {SMALLEST_EPSILON} and {LARGEST_EPSILON}, "
                f"not {self.value}"
            )

    @classmethod
    def parse(cls, text: str | int | float | Decimal) -> Epsilon:
        """Read an epsilon; a float is taken by its shortest decimal form, so 0.1 means 0.1."""
        try:
            return cls(Decimal(str(text)))
        except InvalidOperation:
            raise SurveyError(f"epsilon must be a number, not {text!r:.60}") from None

    @cached_property
    def odds(self) -> Fraction:
        """A rational lower bound of e^epsilon, less than 1e-50 (relatively) below it."""
        return odds_below(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        return format(_DIGITS.normalize(self.value), "f")


Number = str | float | Decimal | Fraction | Epsilon


def odds_below(value: Decimal) -> Fraction:
    """A rational lower bound of e^value, less than 1e-50 (relatively) below it.

    `Decimal.exp` is correctly rounded, so one unit in the last place below it is a lower bound.
    """
    return Fraction(_DIGITS.next_minus(_DIGITS.exp(value)))


def exact(number: Number, name: str) -> Fraction:
    """A number of at least 0, exactly; a float is taken by its shortest decimal form.

    InterfaceError, which says what it is for, for anything else.
    """
    written = "one of too many digits"
    try:
        written = str(number)
        if _NUMBER.fullmatch(written):
            return Fraction(written)
    except (ValueError, ZeroDivisionError):
        pass
    raise InterfaceError(f"{name} is a number of at least 0, below 1e1000, not {written!r:.40}")


def decimal_text(value: Fraction) -> str:
    """A sum of decimals as a decimal; anything else to 60 digits."""
    quotient = _DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))
    return format(_DIGITS.normalize(quotient), "f")
