"""The epsilon of one question, split over many surveys or hidden in one.

A person is asked the same yes-or-no question. The collector succeeds if it can tell the answer from
what left the device.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.giving import PLENTY, reports_of, sealed_anew, yes_or_no
from support.surveys import ANYTHING, category, survey_toml, unsound

from ldpsql.designer import design
from ldpsql_device.answer import respond
from ldpsql_device.errors import BudgetSpent, NotAllowed
from ldpsql_device.ledger import Ledger
from ldpsql_device.policy import Policy
from ldpsql_device.reports import numbers_of
from ldpsql_device.survey import Survey

MANY = 60


def majority(reports):
    """What most reports say; the answer is their last number."""
    return sum(numbers[-1] for numbers in reports) * 2 > len(reports)


@pytest.mark.parametrize("truth", [False, True])
def test_asking_under_other_fingerprints_draws_no_fresh_reports(memory_folder, truth):
    surveys = list(sealed_anew(yes_or_no("2"), MANY))
    ledger = Ledger(memory_folder / "ledger", total=4, per_attribute=2)
    assert len(reports_of(surveys, {"positive": truth}, ledger)) == 1
    assert ledger.spent() == 2


@pytest.mark.parametrize("truth", [False, True])
def test_control_without_budgets_the_majority_tells_the_answer(memory_folder, truth):
    """Wrong with probability 4e-12: half of 60 reports lie, each with 12 %."""
    ledger = Ledger(memory_folder / "ledger", **PLENTY)
    given = reports_of(sealed_anew(yes_or_no("2"), MANY), {"positive": truth}, ledger)
    assert len(given) == MANY
    assert majority(given) == truth


def test_many_small_epsilons_add_up_exactly(memory_folder):
    """Ten times 0.001 are 0.01, with floats or without."""
    surveys = list(sealed_anew(yes_or_no("0.001"), 30))
    ledger = Ledger(memory_folder / "ledger", total=1, per_attribute=0.01)
    assert len(reports_of(surveys, {"positive": True}, ledger)) == 10
    assert ledger.spent() == Fraction(1, 100)
    plenty = Ledger(memory_folder / "control", **PLENTY)
    assert len(reports_of(surveys, {"positive": True}, plenty)) == 30


def renamed(number):
    return yes_or_no("1", f"positive_{number}")


def test_only_the_total_resists_renamed_attributes(memory_folder):
    surveys = [renamed(number) for number in range(12)]
    record = {f"positive_{number}": True for number in range(12)}
    ledger = Ledger(memory_folder / "ledger", total=3, per_attribute=1)
    assert len(reports_of(surveys, record, ledger)) == 3
    control = Ledger(memory_folder / "control", total=100, per_attribute=1)
    assert len(reports_of(surveys, record, control)) == 12


def test_the_deltas_of_many_surveys_are_counted(memory_folder):
    """Of 200 answers that are clear with 2 % each, one is, with 98 %."""
    state = category("state", "CA", "NY", "WA")
    text = survey_toml(state, epsilon="0.001", mechanism="truthful", options={"delta": 0.02})
    survey = Survey.from_json(design(text).device_text)
    assert survey.guarantee.delta == Fraction(2, 100)
    surveys = list(sealed_anew(survey, 200))
    ledger = Ledger(memory_folder / "ledger", total=1, per_attribute=1, delta="0.05")
    assert len(reports_of(surveys, {"state": "NY"}, ledger)) == 2
    none = Ledger(memory_folder / "none", total=1, per_attribute=1)
    assert reports_of(surveys, {"state": "NY"}, none) == []
    control = Ledger(memory_folder / "control", total=1, per_attribute=1, delta=4)
    assert len(reports_of(surveys, {"state": "NY"}, control)) == 200


def test_a_large_epsilon_is_refused(memory_folder):
    survey = yes_or_no("20")
    with pytest.raises(NotAllowed, match="asks for epsilon 20"):
        respond(survey, {"positive": True}, policy=Policy(2))
    # The control: who allows it gives the answer away.
    for truth in (False, True):
        given = [respond(survey, {"positive": truth}, policy=Policy(20)) for _ in range(20)]
        assert {numbers_of(report, survey)[-1] for report in given} == {truth}


def test_the_crowd_that_a_survey_claims_does_not_count():
    """A small epsilon of the shuffled batch of a billion is a large one of the report."""
    text = survey_toml(
        '[dimension.positive]\ntype = "bool"\n',
        epsilon="0.5",
        mechanism="grr",
        trust="shuffle",
        users=10**9,
        delta="1e-10",
    )
    survey = Survey.from_json(design(text).device_text)
    assert float(survey.guarantee.epsilon) > 10
    with pytest.raises(NotAllowed, match=r"asks for epsilon 1\d"):
        respond(survey, {"positive": True}, policy=Policy(2))
    for truth in (False, True):
        given = [respond(survey, {"positive": truth}, policy=Policy(20)) for _ in range(10)]
        assert {numbers_of(report, survey)[-1] for report in given} == {truth}


def test_a_survey_that_promises_nothing_exceeds_every_budget(memory_folder):
    ledger = Ledger(memory_folder / "ledger", **PLENTY)
    with pytest.raises(BudgetSpent, match="promises no privacy, which no budget covers"):
        respond(unsound(), {"age": 30}, policy=ANYTHING, ledger=ledger)
    assert ledger.spent() == 0
    assert respond(unsound(), {"age": 30}, policy=ANYTHING)
