"""Local epsilons from a promise for shuffled reports."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from support.blanket_mechanism import LyingGrr, ShufflingGrr, StatingGrr

from ldpsql.audit.exact import domain_of_codes
from ldpsql.mechanisms.base import check_promise, find_epsilon, require_local
from ldpsql.mechanisms.registry import mechanism
from ldpsql.shuffle.accountant import keeps, largest_local_of_any
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.shuffled import Central, Shuffled

TRUST = Shuffled.parse("0.5", "1e-6", 20_000)
DOMAIN = domain_of_codes("3x2", 0)


@pytest.mark.parametrize("name", ["grr", "hio", "fourier", "oue"])
def test_any_mechanism_gets_what_clones_give(name):
    design = mechanism(name).design(DOMAIN, TRUST.central, {})
    assert design.epsilon == largest_local_of_any(TRUST.central)
    assert design.epsilon.value > 3
    check_promise(design, TRUST)


def test_stated_blankets_give_more():
    design = StatingGrr().design(DOMAIN, TRUST.central, {})
    assert float(design.epsilon) > float(largest_local_of_any(TRUST.central)) + 0.5
    check_promise(design, TRUST)
    above = StatingGrr().design(DOMAIN, Epsilon(design.epsilon.value + Decimal("0.001")), {})
    assert not keeps(above.blankets(), TRUST.central, above.epsilon)


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
