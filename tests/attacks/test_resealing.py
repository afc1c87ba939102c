"""A survey that somebody has edited on its way, with hashes that fit the edited one.

A fingerprint is a hash that anybody makes anew. An app that pins the author of its surveys answers
none but that author's, whatever the attacker writes into the file.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from support.giving import yes_or_no
from support.surveys import ANYTHING
from support.vectors import published_key

from ldpsql_device import signature
from ldpsql_device.answer import respond
from ldpsql_device.errors import NotAllowed, NotSupportedError, SurveyError
from ldpsql_device.policy import Policy
from ldpsql_device.signature import SigningKey
from ldpsql_device.survey import Survey, canonical, signed_text

RECORD = {"positive": True, "diagnosis": "HIV"}
KEY = published_key()
PINNED = Policy(20, public={"diagnosis"}, authors={KEY.author})
ANYBODY = Policy(20, public={"diagnosis"})
SMALL_ORDER = "0100000000000000000000000000000000000000000000000000000000000000"
"""The neutral element of the curve, with which a signature that nobody made fits every text."""


def signed(data: dict[str, Any], key: SigningKey = KEY) -> dict[str, Any]:
    data = {**data, "author": key.author}
    return {**data, "signature": key.sign(signed_text(data))}


PLAIN = json.loads(yes_or_no("0.5").device_text)
LOUD = json.loads(yes_or_no("20").device_text)
HONEST = signed(PLAIN)
OTHER_OF_THE_AUTHOR = signed({**PLAIN, "table": "other"})
IN_CLEAR = {**PLAIN["schema"], "public": [{"name": "diagnosis", "type": "text"}]}
EDITS = {
    "epsilon": {"plan": LOUD["plan"], "promise": LOUD["promise"]},
    "column": {"schema": IN_CLEAR},
    "window": {"replay_window": 366},
    "name": {"table": "harmless"},
}


@pytest.fixture(params=EDITS)
def edited(request):
    """The honest survey with an edit, signature and all."""
    return {**HONEST, **EDITS[request.param]}


def answers(data: dict[str, Any], policy: Policy) -> bool:
    """Whether a report leaves."""
    try:
        return bool(respond(Survey.from_json(canonical(data)), RECORD, policy=policy))
    except (NotAllowed, SurveyError):
        return False


def unsigned(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in ("author", "signature")}


def test_the_authors_own_survey_is_answered():
    assert answers(HONEST, PINNED)
    assert answers(OTHER_OF_THE_AUTHOR, PINNED)


def test_the_old_signature_does_not_fit_an_edited_survey(edited, monkeypatch):
    assert not answers(edited, PINNED)
    monkeypatch.setattr(signature, "verify", lambda *_: None)
    assert answers(edited, PINNED)  # the control: nobody checks


def test_a_survey_without_a_signature_is_refused(edited):
    assert not answers(unsigned(edited), PINNED)
    assert answers(unsigned(edited), ANYBODY)  # the control: no author is pinned


def test_a_survey_that_the_attacker_signs_is_refused(edited, attacker):
    assert not answers(signed(edited, attacker), PINNED)
    assert answers(signed(edited, attacker), ANYBODY)


@pytest.mark.parametrize(
    "taken",
    [
        {"signature": OTHER_OF_THE_AUTHOR["signature"]},
        {"signature": "0" * 128},
    ],
    ids=["another survey's", "zeros"],
)
def test_a_signature_from_elsewhere_is_refused(edited, taken):
    assert not answers({**edited, **taken}, PINNED)


def test_a_key_with_which_one_signature_fits_every_text_is_nobodys(edited, monkeypatch):
    forged = {**edited, "author": SMALL_ORDER, "signature": SMALL_ORDER + "0" * 64}
    assert not answers(forged, PINNED)
    assert not answers(forged, ANYBODY)
    # Negative control: of all keys that have the form.
    monkeypatch.setattr("ldpsql_device.signature.SMALL_ORDER", ())
    assert answers(forged, ANYBODY)


def test_an_author_written_into_the_file_does_not_pin_itself(edited, attacker):
    """Not even beside a signature that fits."""
    forged = signed(edited, attacker)
    assert not answers({**forged, "author": KEY.author}, PINNED)
    assert not answers({**HONEST, "author": attacker.author}, PINNED)


CHANGES = {
    "ldpsql_survey": None,
    "table": "app0",
    "schema": {
        **PLAIN["schema"],
        "dimension": [{**PLAIN["schema"]["dimension"][0], "label": "Good?"}],
    },
    "promise": {**PLAIN["promise"], "epsilon": "0.51"},
    "plan": {**PLAIN["plan"], "odds": [str(int(PLAIN["plan"]["odds"][0]) - 1)]},
    "collector": "0" * 64,
    "replay_window": 31,
    "author": None,
    "signature": None,
}
"""For every key of the file another value with which it is a survey, where there is one."""


def test_every_key_of_the_file_is_covered():
    """Each is changed a little, and again with the author's signature: the control."""
    assert set(CHANGES) == set(HONEST)
    for key, changed in CHANGES.items():
        if changed is not None:
            edited = {**HONEST, key: changed}
            assert edited != HONEST
            assert not answers(edited, PINNED), key
            assert answers(signed(unsigned(edited)), PINNED), key
    assert not answers({**HONEST, "ldpsql_survey": 2}, PINNED)
    for key in ("author", "signature"):
        text = HONEST[key]
        for place in range(len(text)):
            digit = "1" if text[place] == "0" else "0"
            forged = {**HONEST, key: text[:place] + digit + text[place + 1 :]}
            assert not answers(forged, PINNED), (key, place)


def test_a_device_that_cannot_check_answers_nobody(monkeypatch):
    """Neither the author's survey nor an edited one; without pinned authors it answers both."""
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    for data in (HONEST, {**HONEST, **EDITS["name"]}):
        survey = Survey.from_json(canonical(data))
        with pytest.raises(NotSupportedError, match=r"pip install ldpsql-device\[sign\]"):
            respond(survey, RECORD, policy=PINNED)
        assert answers(data, ANYTHING)
