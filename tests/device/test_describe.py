"""The text of a consent screen: short, true, and not to be forged by a survey's author."""

from __future__ import annotations

import sys
from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from support.giving import scheduled, yes_or_no
from support.later_rounds import next_survey
from support.shuffled_survey import shuffled_survey
from support.surveys import (
    LABELLED,
    SMALL,
    app,
    boolean,
    category,
    for_a_shuffler,
    integer,
    mostly_in_clear,
    partly_sensitive,
    public,
    survey_toml,
    unsound,
)
from support.vectors import published_key

from ldpsql.designer import design
from ldpsql_device.description import (
    WIDTH,
    describe,
    describe_missing,
    describe_values,
    largest_belief,
)
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.pledge import Pledge
from ldpsql_device.schema import Measure
from ldpsql_device.survey import Survey

YEAR = {"period": "month", "end": date(2026, 12, 31)}
FORGED = ['x", or missing). In clear: nothing', '\\"; age (', "a\\"]
DESCRIBED = {
    "all kinds of columns": app(),
    "reports that are shuffled": for_a_shuffler(),
    "no promise": unsound(),
    "a delta": mostly_in_clear(),
    "sensitive values": partly_sensitive("jurr"),
    "a period of a month, and an end": scheduled(app(), **YEAR),
    "a period of a day": scheduled(app(), period="day"),
    "one of thirteen weeks": scheduled(app(), period="week", sample=13),
    "a signed survey": design(SMALL, mechanism="ahead").sign(published_key()),
    "other values that count as one": design(
        survey_toml(category("c", "a", "b", outside="other"), boolean("d"), mechanism="grr")
    ),
    "nothing that could be outside": yes_or_no(),
    "bounds of a public number": design(
        survey_toml(boolean("d"), public("paid", "float", bounds=[0, 80.5]), mechanism="grr")
    ),
    "labels": design(LABELLED),
    "a long list": design(
        survey_toml(category("c", *[f"v{i}" for i in range(200)]), mechanism="grr")
    ),
    "quotation marks in values": design(survey_toml(category("c", *FORGED), mechanism="grr")),
}


def said(survey):
    return " ".join(describe(survey).split())


def test_surveys_are_described_on_a_screen(golden):
    texts = {name: describe(survey) for name, survey in DESCRIBED.items()}
    assert all(len(line) <= WIDTH for text in texts.values() for line in text.splitlines())
    whole = "\n".join(f"=== {name}\n{text}" for name, text in texts.items())
    golden(Path(__file__).with_name("descriptions.txt"), f"{whole}\n")


def test_a_crowd_is_described_as_it_is_if_its_shuffler_is_honest_and_if_not():
    survey = Survey.from_json(shuffled_survey().device_text)
    encryption = X25519PrivateKey.generate().public_key().public_bytes_raw().hex()
    key, until = published_key(), date(2026, 12, 31)
    pledge = Pledge.sign(survey, key, survey.shuffled, encryption, until)
    told = " ".join(describe(survey, pledge).split())
    assert f"Only a shuffler can read it, the owner of the key {key.author}." in told
    assert "Until 2026-12-31 it pledges to pass on only mixed reports, 1,000 or more" in told
    assert "among those of 899 other honest people and has epsilon 1, delta 1e-06" in told
    assert "can rise to 74 % at most, but for a chance of 1e-06. If it does not, others" in told
    assert "By itself it has epsilon 4.007: a belief of 50 % about your answers can rise to" in told
    assert "cannot check" not in told
    with pytest.raises(SurveyError, match="another survey"):
        describe(Survey.from_json(shuffled_survey(2000).device_text), pledge)


def test_a_belief_is_rounded_up_and_never_said_to_be_certainty():
    beliefs = {"0.001": "51 %", "0.1": "53 %", "1": "74 %", "2": "89 %", "4": "99 %"}
    for epsilon, belief in (beliefs | {"5": "99.4 %", "20": "99.9999998 %"}).items():
        assert largest_belief(Epsilon.parse(epsilon)) == belief


def test_the_round_is_named_and_an_author_who_cannot_be_checked(monkeypatch):
    key = published_key()
    first = design(SMALL, mechanism="ahead").sign(key)
    later = said(next_survey(first, key=key))
    assert "It is a later round of a survey, of which one round is answered." in later
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    assert f"allegedly the owner of the key {key.author}; this device cannot" in said(first)


def test_no_value_can_pretend_to_be_the_text_around_it():
    tricky = "a\nWho asks: your doctor\u202e\u200b\x1b[2J" + "b" * 50
    told = describe(design(survey_toml(category("c", tricky, "x"), mechanism="grr")))
    assert "\nWho asks: your doctor" not in told
    assert r'"a\u000aWho' in told
    assert all(character.isprintable() or character == "\n" for character in told)
    assert '..."' in told


@pytest.mark.parametrize(
    ("keys", "values", "counted"),
    [
        ({"levels": 2}, "", "a bound drawn evenly"),
        ({"levels": 3}, "", "the middle of the bounds"),
        ({"has_null": True}, ", or missing", "missing (NULL)"),
        ({"missing_as": 0}, "", "0"),
        ({"missing_as": 0.25, "levels": 3}, "", "0.25"),
    ],
)
def test_what_a_missing_value_of_a_measure_counts_as_is_said(keys, values, counted):
    measure = Measure("x", (0, 1), **keys)
    assert describe_values(measure) == f"a number from 0 to 1{values}"
    assert describe_missing(measure) == counted


def test_labels_cannot_pretend():
    forged = "x (a). In clear: nothing. Who asks: your doctor"
    text = LABELLED.replace("How old are you?", forged + ' \\"' + "y" * 60)
    lines = describe(design(text)).splitlines()
    assert any(forged in line for line in lines)
    assert all(line.replace(r"\"", "").count('"') % 2 == 0 for line in lines)
    assert all(len(line) <= WIDTH for line in lines)


def test_what_looks_like_a_quotation_mark_does_not_end_a_label(monkeypatch):
    """For whoever reads; a program that looks for the marks of ASCII would not be taken in."""
    text = survey_toml(
        integer("age", 0, 9, label="Age\u201d. In clear: nothing. \uff02"), mechanism="grr"
    )
    assert r'age "Age\". In clear: nothing. \"" (one of' in said(design(text))
    # The control: with marks of ASCII alone escaped a label seems to end early.
    monkeypatch.setattr("ldpsql_device.description._ESCAPED", {'"': r"\"", "\\": r"\\"})
    assert 'age "Age\u201d. In clear: nothing. \uff02" (one of' in said(design(text))


def test_no_line_starts_within_a_quoted_value():
    values = [f"{'x' * place} Who asks:-your doctor" for place in range(1, 20)]
    for first, second in pairwise(values):
        lines = describe(
            design(survey_toml(category("c", first, second), mechanism="grr"))
        ).splitlines()
        assert all(line.count('"') % 2 == 0 for line in lines)
