"""Local epsilons from a promise for shuffled reports."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import pytest
from support.blanket_mechanism import LyingGrr, ShufflingGrr, StatingGrr

from ldpsql.audit.exact import domain_of_codes, worst_odds
from ldpsql.mechanisms.base import Retuner, check_promise, find_epsilon, require_local
from ldpsql.mechanisms.registry import mechanism
from ldpsql.shuffle.accountant import clones, keeps, largest_local
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.shuffled import Central, Shuffled

TRUST = Shuffled.parse("0.5", "1e-6", 20_000)
DOMAIN = domain_of_codes("3x2", 0)


@pytest.mark.parametrize("name", ["grr", "hio", "fourier", "staircase", "olh", "oue", "hrr"])
def test_every_mechanism_gets_more_than_its_local_epsilon_alone_says(name):
    """The largest epsilon that its blankets allow: a little more would break the promise."""
    alone = largest_local(lambda local: (clones(local.odds),), TRUST.central)
    design = mechanism(name).design(DOMAIN, TRUST.central, {})
    assert float(design.epsilon) > float(alone) + 0.4
    check_promise(design, TRUST)
    more = Epsilon(design.epsilon.value + Decimal("0.002"))
    recipe = mechanism(name)
    is_kept = isinstance(recipe, Retuner)
    above = recipe.retune(design, more) if is_kept else recipe.design(DOMAIN, more, {})
    assert not keeps(above.blankets(), TRUST.central, more)


@pytest.mark.parametrize("name", ["fourier", "staircase"])
def test_other_odds_leave_the_questions_as_they_are(name):
    """And make the design that a survey with these questions and odds has."""
    recipe, one, three = mechanism(name), Epsilon.parse("1"), Epsilon.parse("3")
    made = recipe.design(DOMAIN, one, {})
    other = recipe.retune(made, three)
    assert other.epsilon == three
    assert other.to_json().keys() == made.to_json().keys()
    assert recipe.restore(DOMAIN, three, json.loads(json.dumps(other.to_json()))) == other
    assert worst_odds(other) <= three.odds
    assert float(worst_odds(other)) == pytest.approx(float(three.odds), rel=1e-9)
    # Negative control: the questions for three times the epsilon are others.
    assert recipe.design(DOMAIN, three, {}).plan != other.plan


def test_a_mechanism_that_chooses_its_budgets_does():
    design = ShufflingGrr().design(DOMAIN, TRUST.central, {})
    most = StatingGrr().design(DOMAIN, TRUST.central, {}).epsilon
    assert design.epsilon.value == most.value / 10


def test_few_people_leave_the_local_promise():
    central = Central(Epsilon.parse("0.25"), Fraction(1, 10**12), 3)
    design = mechanism("grr").design(DOMAIN, central, {})
    assert Decimal("0.25") <= design.epsilon.value < Decimal("0.27")


def test_a_design_with_too_much_epsilon_is_refused_with_what_it_achieves():
    design = mechanism("grr").design(DOMAIN, Epsilon.parse("6"), {})
    found = find_epsilon(design, TRUST, 20_000)
    assert found > Decimal("0.5")
    with pytest.raises(SurveyError, match=str(found)):
        check_promise(design, TRUST)
    # Negative control: a statement that is taken on trust would let it pass.
    check_promise(LyingGrr().design(DOMAIN, Epsilon.parse("6"), {}), TRUST)


def test_what_makes_no_promise_for_one_report_makes_none_for_many():
    with pytest.raises(SurveyError, match="not differentially private"):
        mechanism("lgrr").design(domain_of_codes("8", 0), TRUST.central, {})
    with pytest.raises(SurveyError, match="rounds"):
        require_local(mechanism("ahead").design(domain_of_codes("16", 0), Epsilon.parse("1"), {}))


def test_more_reports_hide_better_and_dishonest_ones_do_not():
    design = mechanism("grr").design(DOMAIN, TRUST.central, {})
    figures = [find_epsilon(design, TRUST, n) for n in (10, 1000, 20_000, 200_000)]
    assert figures == sorted(figures, reverse=True)
    assert figures[0] <= design.epsilon.value
    assert figures[2] <= Decimal("0.5") < figures[1]
    half = Shuffled.parse("0.5", "1e-6", 40_000, "0.5")
    assert find_epsilon(design, half, 40_000) == figures[2]
    assert find_epsilon(design, half, 2) == design.epsilon.value


@pytest.mark.parametrize("name", ["cprr", "jurr", "tdrr"])
def test_what_is_disclosed_is_not_hidden_by_shuffling(name):
    """The accountant takes any two records; sensitive values alone are not enough for it."""
    spared = domain_of_codes("3x2", 0, "2x1")
    with pytest.raises(SurveyError, match=r"locally private for every record; .* is .*-ULDP"):
        mechanism(name).design(spared, TRUST.central, {})
    assert mechanism(name).design(DOMAIN, TRUST.central, {}).guarantee.kind == "local"
