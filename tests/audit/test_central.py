"""Auditing what shuffled batches promise."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal

import pytest
from support.blanket_mechanism import LyingGrr, StatingGrr
from support.blankets import randomized_response

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.audit.check import audit_central
from ldpsql.audit.exact import blankets_cover, domain_of_codes, enumerate_blankets
from ldpsql.mechanisms.registry import MECHANISMS, mechanism
from ldpsql.reports.channel import enumerate_law
from ldpsql.shuffle.accountant import clones, delta_of
from ldpsql.survey import Survey
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import Schema
from ldpsql_device.shuffled import Shuffled

TRUST = Shuffled.parse("0.5", "1e-6", 20_000, "0.9")
SCHEMA = Schema.from_keys({"dimension": {"a": {"type": "int", "domain": [0, 4]}}})


@pytest.fixture(scope="module")
def survey():
    return Survey.of("app", SCHEMA, TRUST, "grr")


def test_a_local_survey_has_nothing_to_audit():
    assert audit_central(Survey.of("app", SCHEMA, "1", "grr")) is None


def test_the_designed_batch_holds_and_a_small_one_does_not(survey):
    usual, small = audit_central(survey), audit_central(survey, 5000)
    assert usual.holds
    assert usual.reports == 20_000
    assert usual.epsilon <= Decimal("0.5")
    assert not small.holds
    assert Decimal("0.5") < small.epsilon <= survey.epsilon.value
    assert small.to_json()["achieved_epsilon"] == format(small.epsilon, "f")
    assert small.to_json()["people"] == 4500
    assert "5,000 reports does not keep" in small.problems[0]


def test_one_report_has_the_local_promise_alone(survey):
    assert audit_central(survey, 1).epsilon == survey.epsilon.value


@pytest.mark.parametrize("name", ["grr", "hio", "oue", "olh", "hrr"])
def test_enumerated_channels_are_no_worse_than_clones(name):
    """Every mechanism's exact channel against the theorem that any mechanism relies on."""
    design = mechanism(name).design(domain_of_codes("2x2", 0), Epsilon.parse("2"), {})
    found = enumerate_blankets(enumerate_law(design.plan))
    for people, epsilon in ((20, Decimal("0.5")), (2000, Decimal("0.1"))):
        assert (
            0
            < delta_of(found, people, epsilon)
            <= delta_of([clones(design.epsilon.odds)], people, epsilon)
        )


def test_the_enumerated_blanket_of_randomized_response_is_the_closed_one():
    design = mechanism("grr").design(domain_of_codes("6", 0), Epsilon.parse("2"), {})
    law = enumerate_law(design.plan)
    found = enumerate_blankets(law)
    (known,) = {max(row) for row in law.probabilities}
    assert len(found) == 1
    assert delta_of(found, 500, Decimal("0.3")) == pytest.approx(
        delta_of([randomized_response(6, known)], 500, Decimal("0.3")), rel=1e-9
    )


def test_a_false_statement_is_found():
    one = Epsilon.parse("1")
    for maker, right in ((StatingGrr(), True), (LyingGrr(), False)):
        made = maker.design(domain_of_codes("5", 0), one, {})
        assert blankets_cover(made, enumerate_law(made.plan)) == right


def test_a_survey_with_a_false_statement_fails_its_audit():
    made = LyingGrr().design(RecordDomain.of(SCHEMA), Epsilon.parse("6"), {})
    survey = Survey("app", SCHEMA, made, shuffled=TRUST)
    found = audit_central(survey)
    assert not found.holds
    assert "not those of its enumerated channel" in found.problems[0]


def stating() -> list[str]:
    made = {}
    for name, maker in MECHANISMS.items():
        with suppress(SurveyError):
            made[name] = maker.design(domain_of_codes("2x2x2", 0), Epsilon.parse("2"), {})
    return [name for name, design in made.items() if design.blankets()]


def shapes() -> list[object]:
    """Each mechanism and shape; the product of the trees of `hi` takes long to enumerate."""
    return [
        pytest.param(
            name, shape, marks=[pytest.mark.slow] if (name, shape) == ("hi", "2x2x2") else []
        )
        for name in stating()
        for shape in ("2x2x2", "4")
    ]


@pytest.mark.parametrize(("name", "shape"), shapes())
def test_what_registered_mechanisms_state_is_what_their_channels_are(name, shape):
    try:
        design = mechanism(name).design(domain_of_codes(shape, 0), Epsilon.parse("2"), {})
    except SurveyError:
        pytest.skip("not for this shape")
    assert blankets_cover(design, enumerate_law(design.plan))
