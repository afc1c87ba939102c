"""An oracle by NULL: whether a value is missing may be the secret."""

from __future__ import annotations

import pytest
from support.strict_device import make_strict, seen
from support.surveys import MIXED_RECORD, integer, measure, mix, survey_toml

from ldpsql.designer import design
from ldpsql_device.errors import SurveyError

SURVEYS = dict.fromkeys(MIXED_RECORD, mix())
SURVEYS["spent"] = design(survey_toml(measure("spent", 0, 9), mechanism="ehio"))
RECORD = {**MIXED_RECORD, "spent": 3.5}


def without(name):
    """The record without a value: null, not there, not a number."""
    left = {key: value for key, value in RECORD.items() if key != name}
    return [{**left, name: None}, left, {**left, name: float("nan")}, {}]


@pytest.mark.parametrize("name", SURVEYS)
def test_a_missing_value_does_not_show(name):
    survey = SURVEYS[name]
    assert {seen(survey, record) for record in [RECORD, *without(name)]} == {seen(survey, RECORD)}


@pytest.mark.parametrize("name", SURVEYS)
def test_control_a_device_that_refuses_tells_who_has_none(name, monkeypatch):
    make_strict(monkeypatch)
    for record in without(name):
        assert seen(SURVEYS[name], record) != seen(SURVEYS[name], RECORD)


@pytest.mark.parametrize("key", ['nulls = "reject"', 'missing = "reject"', 'on_missing = "drop"'])
def test_no_survey_can_ask_for_a_refusal(key):
    with pytest.raises(SurveyError):
        design(survey_toml(integer("x", 0, 9)) + key + "\n")
