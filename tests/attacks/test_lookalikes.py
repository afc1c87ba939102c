"""A survey whose names look like those that a person knows, and are others."""

from __future__ import annotations

import json
import re

import pytest
from support.surveys import category, integer, survey_toml

from ldpsql.designer import design
from ldpsql.randomize.table import match_columns
from ldpsql_device import schema
from ldpsql_device.errors import RecordError, SurveyError
from ldpsql_device.survey import Survey, canonical

LOOKALIKES = ["\u0430ge", "a\u200bge", "age\u00ad", "\uff41ge", "a\u0301ge", "Age", "age "]
"""A Cyrillic letter, letters of no width, a wide one, an accent, a capital, a space."""


def base():
    columns = (integer("age", 0, 9), category("state", "a", "b"))
    return json.loads(design(survey_toml(*columns, epsilon="1", mechanism="grr")).device_text)


def with_column(name):
    """The survey, with `state` called by another name."""
    data = base()
    data["schema"]["dimension"][1]["name"] = name
    return canonical(data)


@pytest.mark.parametrize("name", LOOKALIKES)
@pytest.mark.parametrize("what", ["column", "table"])
def test_what_looks_like_another_name_is_no_survey(what, name, monkeypatch):
    text = with_column(name) if what == "column" else canonical({**base(), "table": name})
    with pytest.raises(SurveyError, match=f"is not a {what} name") as refusal:
        Survey.from_json(text)
    assert str(refusal.value).isascii()
    # The control: without the rule it is a survey.
    monkeypatch.setattr(schema, "_NAME", re.compile(".*"))
    read = Survey.from_json(text)
    assert name == (read.table if what == "table" else read.schema.dimensions[1].name)


HIDDEN = ["Age\u200b", "\u202eegA", "a\u034fge", "A\u3164"]
"""Labels that look like others, or as their author wishes, by characters that are not seen."""


def with_label(label):
    data = base()
    data["schema"]["dimension"][1]["label"] = label
    return canonical(data)


@pytest.mark.parametrize("label", HIDDEN)
def test_a_label_hides_nothing(label, monkeypatch):
    with pytest.raises(SurveyError, match="can be seen") as refusal:
        Survey.from_json(with_label(label))
    assert str(refusal.value).isascii()
    # The control: without the rule it is a label.
    monkeypatch.setattr(schema, "_UNSEEN", re.compile("(?!)"))
    assert Survey.from_json(with_label(label)).schema.labels == {"state": label}


def test_a_label_that_is_anothers_name_leads_no_table_astray(monkeypatch):
    """Values of one column would be read as those of another, and charged to its name."""
    with pytest.raises(SurveyError, match="also stands for age"):
        Survey.from_json(with_label("Age"))
    monkeypatch.setattr(schema.Schema, "_find_labels", lambda _: {"state": "Age"})
    survey = Survey.from_json(with_label("Age"))
    with pytest.raises(RecordError, match="more than one column age"):
        match_columns(survey.schema, ["age", "Age"])
    assert match_columns(survey.schema, ["Age"]) == {"age": "Age", "state": "Age"}
