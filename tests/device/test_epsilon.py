"""Epsilon as an exact decimal, and guarantees."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest

from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.guarantee import Guarantee

ONE = Epsilon.parse("1")


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("0.1", "0.1"),
        (0.1, "0.1"),
        (2, "2"),
        ("2.50", "2.5"),
        ("1e-3", "0.001"),
        (Decimal("20.0"), "20"),
    ],
)
def test_an_epsilon_is_the_decimal_that_was_written(given: object, value: str) -> None:
    """A float by its shortest decimal; text without trailing zeros or exponents."""
    epsilon = Epsilon.parse(given)
    assert epsilon.value == Decimal(value)
    assert str(epsilon) == value
    assert float(epsilon) == float(value)
    assert epsilon == Epsilon.parse(value)


@pytest.mark.parametrize(
    "given", ["0", "-1", "0.0009999", "20.0001", "nan", "sNaN", "inf", "-inf", 1e308, math.nan]
)
def test_an_epsilon_outside_its_range_is_refused(given: object) -> None:
    """Zero says nothing, twenty hides nothing."""
    with pytest.raises(SurveyError, match=r"between 0\.001 and 20"):
        Epsilon.parse(given)


def test_more_digits_than_anybody_means_are_refused() -> None:
    """A survey's fingerprint would differ by what nobody can see."""
    with pytest.raises(SurveyError):
        Epsilon.parse("1." + "0" * 30)


@pytest.mark.parametrize("given", ["", "two", "1,5", "1/2", True, None])
def test_what_is_no_number_is_refused(given: object) -> None:
    """By name, on one line."""
    with pytest.raises(SurveyError, match="must be a number"):
        Epsilon.parse(given)


@pytest.mark.parametrize("given", ["0.001", "0.1", "0.69314718", "1", "2.5", "7", "19.999", "20"])
def test_odds_lie_just_below_the_exponential(given: str) -> None:
    """Never above, so no threshold made from them gives too much away."""
    epsilon = Epsilon.parse(given)
    exact = Fraction(Context(prec=120).exp(epsilon.value))
    assert epsilon.odds < exact
    assert exact - epsilon.odds < exact / 10**50


def test_a_guarantee_names_what_it_promises() -> None:
    """Epsilon without trailing zeros, delta only where there is one."""
    assert str(Guarantee("local", Epsilon.parse("2.0"))) == "2-LDP"
    small = Guarantee("local", ONE, Fraction(1, 10**6))
    assert str(small) == "1-LDP, delta 1e-06"
    assert str(Guarantee("none", None)) == "not differentially private"


def test_a_guarantee_has_an_epsilon_exactly_when_it_promises_something() -> None:
    """A promise without a number, and a number without a promise, are refused."""
    with pytest.raises(SurveyError, match="exactly when"):
        Guarantee("local", None)
    with pytest.raises(SurveyError, match="exactly when"):
        Guarantee("none", ONE)
    with pytest.raises(SurveyError, match="unknown kind"):
        Guarantee("central", ONE)
