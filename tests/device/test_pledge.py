"""What a shuffler signs: what is read, what is signed, and what fits no survey."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import date

import pytest
from support.shuffled_survey import shuffled_survey
from support.vectors import published_key, small_survey

from ldpsql_device.errors import NotSupportedError, SurveyError
from ldpsql_device.pledge import Pledge
from ldpsql_device.shuffled import Shuffled
from ldpsql_device.survey import Survey, canonical

KEY = published_key()
SURVEY = Survey.from_json(shuffled_survey().device_text)
UNTIL = date(2026, 12, 31)
ENCRYPTION = "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d"
SMALL_ORDER = (
    "00" * 32,
    f"01{'00' * 31}",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    *(f"{byte}{'ff' * 30}7f" for byte in ("ec", "ed", "ee")),
)
"""All X25519 keys with which a shared secret is zero, up to the highest bit, which is not read."""


def signed(**changes):
    """The text of a pledge of which some keys are other ones, and which is signed all the same."""
    data = json.loads(Pledge.sign(SURVEY, KEY, SURVEY.shuffled, ENCRYPTION, UNTIL).text) | changes
    data = {key: value for key, value in data.items() if key != "signature" and value is not ...}
    return canonical({**data, "signature": KEY.sign(canonical(data))})


def test_what_was_signed_is_read_again():
    made = Pledge.sign(SURVEY, KEY, SURVEY.shuffled, ENCRYPTION, UNTIL)
    assert Pledge.from_json(made.text) == made
    assert (made.fingerprint, made.shuffled) == (SURVEY.fingerprint, SURVEY.shuffled)
    assert (made.shuffler, made.encryption, made.until) == (KEY.author, ENCRYPTION, UNTIL)
    made.require_fit(SURVEY)
    assert signed() == made.text


@pytest.mark.parametrize(
    "change",
    [
        {"ldpsql_pledge": 2},
        {"ldpsql_pledge": True},
        {"fingerprint": None},
        {"fingerprint": "0" * 63},
        {"shuffle": {"epsilon": "1", "delta": "1e-6", "users": 1000}},
        {"shuffle": {"epsilon": 1, "delta": "1e-6", "users": 1000, "honest": "1"}},
        {"shuffle": {"epsilon": "1", "delta": "0", "users": 1000, "honest": "1"}},
        {"shuffle": {"epsilon": "1", "delta": "1e-6", "users": 1, "honest": "1"}},
        {"until": "2026-2-1"},
        {"until": None},
        {"encryption": ENCRYPTION.upper()},
        {"encryption": None},
        {"shuffler": None},
        {"shuffler": "0" * 64},
        {"shuffler": "1" * 64},
        {"more": 1},
        {"until": ...},
    ],
    ids=str,
)
def test_anything_else_is_refused(change):
    with pytest.raises(SurveyError):
        Pledge.from_json(signed(**change))


def test_a_changed_pledge_is_refused():
    data = json.loads(signed()) | {"until": "2027-12-31"}
    with pytest.raises(SurveyError, match="signature"):
        Pledge.from_json(canonical(data))


@pytest.mark.parametrize("high", [0, 128])
@pytest.mark.parametrize("key", SMALL_ORDER)
def test_a_key_to_which_anybody_reads_what_is_sealed_is_refused(key, high):
    given = key[:62] + f"{int(key[62:], 16) | high:02x}"
    with pytest.raises(SurveyError, match="can be read by anybody"):
        Pledge.from_json(signed(encryption=given))


def test_where_no_signature_can_be_checked_nothing_is_believed(monkeypatch):
    text = signed()
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    with pytest.raises(NotSupportedError, match="cryptography"):
        Pledge.from_json(text)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon": "1.1"}, "less than the survey's"),
        ({"delta": "1.1e-6"}, "less than the survey's"),
        ({"users": 999}, "batches of 999 reports"),
        ({"honest": "0.91"}, "0.91 of them honest"),
    ],
)
def test_nobody_pledges_less_than_the_survey_promises(changes, words):
    weaker = Shuffled.parse(**{**SURVEY.shuffled.to_json(), **changes})
    with pytest.raises(SurveyError, match=words):
        Pledge.sign(SURVEY, KEY, weaker, ENCRYPTION, UNTIL)


def test_more_than_the_survey_promises_may_be_pledged():
    more = Shuffled.parse("0.9", "1e-7", 2000, "0.8")
    assert Pledge.sign(SURVEY, KEY, more, ENCRYPTION, UNTIL).shuffled == more


def test_it_is_about_one_survey_whose_reports_look_alike():
    pledge = Pledge.sign(SURVEY, KEY, SURVEY.shuffled, ENCRYPTION, UNTIL)
    other = Survey.from_json(shuffled_survey(2000).device_text)
    with pytest.raises(SurveyError, match="is about another survey"):
        pledge.require_fit(other)
    local = Survey.from_json(small_survey().device_text)
    with pytest.raises(SurveyError, match="it sends something in clear"):
        replace(pledge, fingerprint=local.fingerprint).require_fit(local)


def test_an_author_is_no_shuffler_of_their_own_survey():
    survey = Survey.from_json(shuffled_survey().sign(KEY).device_text)
    with pytest.raises(SurveyError, match="the survey's own author"):
        Pledge.sign(survey, KEY, survey.shuffled, ENCRYPTION, UNTIL)
