"""Surveys that were published are read and answered as they were, whatever later versions write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.golden_surveys import FOLDER, answer, read
from support.resealing import resealed

from ldpsql import survey as survey_module
from ldpsql.mechanisms.registry import MECHANISMS
from ldpsql.store import open_store
from ldpsql.survey import Survey
from ldpsql_device.errors import SurveyError

FILES = sorted(FOLDER.parent.glob("*/*.json.gz"))


def name_of(path: Path) -> str:
    return path.name.removesuffix(".json.gz")


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_it_answers_what_it_answered_when_it_was_published(path):
    kept = read(path)
    survey = Survey.from_json(kept["survey"])
    assert survey.design.name == name_of(path)
    found = answer(survey, kept["reports"])
    assert [value for value, _ in found] == pytest.approx(
        [value for value, _ in kept["answers"]], rel=1e-9, abs=1e-6
    )
    assert [error for _, error in found] == pytest.approx(
        [error for _, error in kept["answers"]], rel=1e-6
    )
    other = [column[::2] for column in kept["reports"]]
    assert [value for value, _ in answer(survey, other)] != [value for value, _ in found]


def test_there_is_one_of_every_mechanism():
    assert {name_of(path) for path in FILES} == {*MECHANISMS}


@pytest.mark.fast(10)
@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_version_that_writes_other_texts_reads_this_one(path, monkeypatch):
    """It adds a key to every part, and is not asked what it would write in the place of a text."""

    def refuse(*_: object, **__: object) -> str:
        raise AssertionError("a survey was written to be read")

    kept = read(path)
    kind = type(Survey.from_json(kept["survey"]).design)
    written = kind.to_json
    monkeypatch.setattr(survey_module, "write_survey", refuse)
    monkeypatch.setattr(kind, "to_json", lambda design: {**written(design), "later": 1})
    survey = Survey.from_json(kept["survey"])
    assert survey.to_json() == kept["survey"]
    with open_store(None, read_only=False) as store:
        store.register(survey)
        assert store.survey("app").fingerprint == survey.fingerprint
        assert store.check() == []


@pytest.mark.parametrize("name", ["fourier", "hio", "grr", "oue"])
def test_the_form_of_the_text_says_nothing(name):
    kept = read(FOLDER / f"{name}.json.gz")["survey"]
    data = json.loads(kept)
    other = json.dumps(dict(reversed(data.items())), indent=3, ensure_ascii=True)
    assert Survey.from_json(other).fingerprint == Survey.from_json(kept).fingerprint


@pytest.mark.parametrize("name", ["hio", "grr", "oue"])
def test_a_decoder_that_does_not_fit_the_plan_is_refused(name):
    """It would answer wrongly: what devices do is told by the plan alone."""
    survey = Survey.from_json(read(FOLDER / f"{name}.json.gz")["survey"])

    def weaken(device, _):
        text = json.dumps(device["plan"])
        odds = device["plan"]["odds"]
        device["plan"]["odds"] = [_less(each) for each in odds]
        assert json.dumps(device["plan"]) != text

    with pytest.raises(SurveyError, match="decoder"):
        Survey.from_json(resealed(survey, weaken))


def _less(words: int | str) -> int | str:
    return str(int(words) - 1) if isinstance(words, str) else words - 1
