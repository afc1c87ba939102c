"""Epsilon as an exact decimal, its rational odds, guarantees, composition."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from ldpsql.errors import SurveyError
from ldpsql.privacy import Epsilon, Guarantee, compose


@pytest.mark.parametrize("text", ["0.001", "0.1", "1", "2.5", "20"])
def test_odds_lie_just_below_the_exponential(text: str) -> None:
    """A lower bound, by 80 digits of the series, and closer than 1e-50."""
    value, term, total = Fraction(Decimal(text)), Fraction(1), Fraction(1)
    for k in range(1, 250):
        term *= value / k
        total += term
    odds = Epsilon.parse(text).odds
    assert odds < total
    assert total - odds < total / 10**50


@pytest.mark.parametrize(
    "text", ["0", "-1", "0.0009", "20.01", "nan", "inf", "much", "1." + "0" * 30]
)
def test_what_is_no_budget_is_refused(text: str) -> None:
    """Outside the range, no number, or more digits than anybody means."""
    with pytest.raises(SurveyError):
        Epsilon.parse(text)


def test_decimals_are_exact_in_any_context() -> None:
    """An application's own decimal settings change neither sums nor fingerprints."""
    budgets = [Epsilon.parse("0.1"), Epsilon.parse("0.2"), Epsilon.parse("1.2345")]
    with localcontext() as context:
        context.prec = 3
        assert compose(budgets) == Decimal("1.5345")
        assert str(budgets[2]) == "1.2345"
    assert str(Epsilon.parse("2.0")) == str(Epsilon.parse(2)) == "2"


def test_a_guarantee_says_what_it_promises() -> None:
    """An epsilon belongs to a promise, and only to a promise."""
    two = Epsilon.parse("2")
    assert str(Guarantee("local", two, "everything")) == "2-LDP"
    assert str(Guarantee("none", None, "nothing")) == "not differentially private"
    for kind, epsilon in (("local", None), ("none", two), ("central", two)):
        with pytest.raises(SurveyError):
            Guarantee(kind, epsilon, "?")
