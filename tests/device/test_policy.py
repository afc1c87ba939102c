"""What an app lets a survey take, and what it refuses by the survey alone."""

from __future__ import annotations

import sys
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from support.surveys import (
    RECORD,
    SMALL,
    app,
    for_a_shuffler,
    mostly_in_clear,
    partly_sensitive,
    unsound,
)

from ldpsql.designer import design
from ldpsql_device.answer import respond
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import (
    InterfaceError,
    NotAllowed,
    NotSupportedError,
    OperationalError,
    SurveyError,
)
from ldpsql_device.policy import Policy
from ldpsql_device.signature import SigningKey
from ldpsql_device.survey import Survey as DeviceSurvey

IN_CLEAR = frozenset({"day", "version"})


@pytest.mark.parametrize(
    ("policy", "survey", "said"),
    [
        (Policy(2), app, r"survey app sends day, version in clear, which the policy does not"),
        (Policy(2, public={"day"}), app, r"survey app sends version in clear"),
        (
            Policy("1.999", public=IN_CLEAR),
            app,
            r"asks for epsilon 2 of every report, and the .*1.9",
        ),
        (
            Policy(2, public=IN_CLEAR, tables={"other"}),
            app,
            r"has another (name|fingerprint) than those that",
        ),
        (
            Policy(2, public=IN_CLEAR, fingerprints=()),
            app,
            r"has another (name|fingerprint) than those that",
        ),
        (Policy(20), unsound, r"survey small is not differentially private"),
        (
            Policy(20, disclosure=True),
            mostly_in_clear,
            r"sends state in clear with probability 0.9 ",
        ),
        (Policy(20, max_delta="0.8999"), mostly_in_clear, r"sends state in clear with probability"),
        (
            Policy(20, max_delta=1),
            lambda: partly_sensitive("cprr"),
            r"does not protect all values of age, state: a report may give",
        ),
        (
            Policy(20, max_delta=1),
            lambda: partly_sensitive("jurr", states=3),
            r"does not protect all values of age: a report may",
        ),
    ],
)
def test_a_survey_that_takes_more_is_refused_in_one_line(policy, survey, said):
    for refused in (survey(), DeviceSurvey.from_json(survey().device_text)):
        with pytest.raises(NotAllowed, match=said) as error:
            policy.require(refused)
        assert "\n" not in str(error.value)
        assert str(error.value).endswith("; nothing was sent")
        assert isinstance(error.value, OperationalError)


def test_what_is_allowed_exactly_is_answered():
    own = app()
    Policy(2, public=IN_CLEAR, tables={"app"}, fingerprints={own.fingerprint}).require(own)
    Policy(1, max_delta="0.9").require(mostly_in_clear())
    Policy(0, no_guarantee=True).require(unsound())
    Policy(2, disclosure=True).require(partly_sensitive("jurr"))


def test_sensitive_values_are_nothing_to_allow_where_all_are_protected():
    """Of a mechanism that ignores what is declared, and of one that finds nothing to spare."""
    Policy(2).require(partly_sensitive("grr"))
    assert respond(partly_sensitive("cprr", states=3), RECORD, policy=Policy(2))


def test_a_shuffled_survey_counts_by_its_local_epsilon():
    """No device can know whether the shuffler kept apart from the collector."""
    asked = for_a_shuffler()
    local = asked.design.epsilon
    assert local.value > Decimal("0.5")
    with pytest.raises(NotAllowed, match=f"asks for epsilon {local} of every report"):
        Policy(local.value - Decimal("0.001")).require(asked)
    Policy(local).require(asked)


def test_a_refusal_looks_at_no_record():
    class Untouchable(dict):
        def __getitem__(self, key):
            raise AssertionError(key)

        __contains__ = get = __iter__ = __getitem__

    with pytest.raises(NotAllowed):
        respond(app(), Untouchable(), policy=Policy(1))


def test_numbers_are_exact():
    assert Policy(0.1).max_epsilon == Fraction(1, 10) == Policy(Epsilon.parse("0.1")).max_epsilon
    Policy(0.3).require(design(SMALL, epsilon="0.3"))
    with pytest.raises(NotAllowed, match=r"allows 0\.29999999999999999 "):
        Policy("0.29999999999999999").require(design(SMALL, epsilon="0.3"))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Policy(-1),
        lambda: Policy(float("inf")),
        lambda: Policy(float("nan")),
        lambda: Policy(True),
        lambda: Policy("much"),
        lambda: Policy(1, max_delta="1/0"),
        lambda: Policy(1, public="city"),
        lambda: Policy(1, tables="app"),
        lambda: Policy(1, renewal="week"),
    ],
)
def test_a_policy_that_says_nothing_clear_is_refused(wrong):
    with pytest.raises(InterfaceError):
        wrong()


def test_only_true_accepts():
    assert not Policy(1, disclosure="no").disclosure
    assert not Policy(1, no_guarantee=1).no_guarantee


def test_only_pinned_authors_are_answered(tmp_path):
    ours, theirs = (SigningKey.create(tmp_path / name) for name in ("ours", "theirs"))
    policy = Policy(2, public=IN_CLEAR, authors={ours.author})
    policy.require(app().sign(ours))
    for other in (app(), app().sign(theirs)):
        with pytest.raises(NotAllowed, match="has another author than those that the policy"):
            policy.require(other)


def test_a_pinned_author_without_a_signature_that_holds_is_refused(tmp_path, monkeypatch):
    """Who edits a signed survey cannot sign it, and a device that cannot check says so."""
    ours = SigningKey.create(tmp_path / "ours")
    policy = Policy(2, public=IN_CLEAR, authors={ours.author})
    edited = replace(app().sign(ours), table="other")
    with pytest.raises(SurveyError, match="the signature is not its author's"):
        policy.require(edited)
    signed = app().sign(ours)
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    with pytest.raises(NotSupportedError, match=r"pip install ldpsql-device\[sign\]"):
        policy.require(signed)


@pytest.mark.parametrize(
    "wrong",
    ["1e5000", "1_0", "１", " 1", "1 ", "+1", "1/0", True, pytest.param(10**5000, id="huge")],
)
def test_a_budget_is_a_plain_number(wrong):
    with pytest.raises(InterfaceError, match="max_epsilon is a number"):
        Policy(wrong)


@pytest.mark.parametrize("wrong", ["A" * 64, "0" * 63, "0" * 65, f"{'0' * 64}\n", 5, "１" * 64])
def test_pinned_keys_and_fingerprints_can_match(wrong):
    for name in ("authors", "fingerprints"):
        with pytest.raises(InterfaceError, match=f"{name} holds texts of 64 lower-case"):
            Policy(1, **{name: {"0" * 64, wrong}})
