"""What an author says is asked: who may say it, until when it is believed, what is remembered."""

from __future__ import annotations

import sys
from datetime import date

import pytest
from support.surveys import ANYTHING
from support.vectors import published_key, small_survey

from ldpsql_device.answer import respond
from ldpsql_device.errors import BudgetSpent, NotAllowed, NotSupportedError, SurveyError
from ldpsql_device.ledger import Ledger
from ldpsql_device.signature import SigningKey
from ldpsql_device.statement import Statement
from ldpsql_device.survey import Survey

KEY = published_key()
SURVEY = Survey.from_json(small_survey().sign(KEY).device_text)
MAY, JUNE, JULY = date(2026, 5, 1), date(2026, 6, 1), date(2026, 7, 1)


def test_what_was_signed_is_read_again():
    made = Statement.sign(SURVEY, KEY, issued=MAY, until=JUNE)
    assert Statement.from_json(made.text) == made
    assert (made.table, made.fingerprint, made.author) == ("app", SURVEY.fingerprint, KEY.author)


def test_only_its_author_says_that_a_survey_is_asked(tmp_path):
    other = SigningKey.create(tmp_path / "other.key")
    unsigned = Survey.from_json(small_survey().device_text)
    for survey, key in ((SURVEY, other), (unsigned, KEY)):
        with pytest.raises(SurveyError, match="was not signed with this key"):
            Statement.sign(survey, key, issued=MAY, until=JUNE)
    with pytest.raises(SurveyError, match="a day to end on"):
        Statement.sign(SURVEY, KEY, issued=JUNE, until=MAY)


def test_where_no_signature_can_be_checked_nothing_is_believed(monkeypatch):
    text = Statement.sign(SURVEY, KEY, issued=MAY, until=JUNE).text
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    with pytest.raises(NotSupportedError, match="cryptography"):
        Statement.from_json(text)


def test_it_ends_by_the_latest_day_that_was_seen(tmp_path):
    """A clock that is set back does not make it last longer."""
    ledger = Ledger(tmp_path / "l", total=20, per_attribute=20)
    said = Statement.sign(SURVEY, KEY, issued=MAY, until=JUNE)

    def answer(day, statement):
        options = {"ledger": ledger, "statement": statement, "today": day}
        return respond(SURVEY, {}, policy=ANYTHING, **options)

    with pytest.raises(NotAllowed, match="believed from 2026-05-01 to 2026-06-01"):
        answer(JULY, said)
    with pytest.raises(NotAllowed, match="this device's day is 2026-07-01"):
        answer(MAY, said)
    answer(JULY, Statement.sign(SURVEY, KEY, issued=JUNE, until=JULY))
    # Without a ledger nothing is known but the clock.
    respond(SURVEY, {}, policy=ANYTHING, statement=said, today=MAY)


def test_one_that_was_seen_is_remembered_though_nothing_was_answered(tmp_path):
    """A budget that is spent does not let an older statement in."""
    ledger = Ledger(tmp_path / "l", total=0, per_attribute=0)
    earlier, later = (Statement.sign(SURVEY, KEY, issued=day, until=JULY) for day in (MAY, JUNE))
    for said, words in ((later, "budget"), (earlier, "has seen a later statement")):
        with pytest.raises((BudgetSpent, NotAllowed), match=words):
            respond(SURVEY, {}, policy=ANYTHING, ledger=ledger, statement=said, today=JUNE)


def test_a_day_to_come_is_neither_believed_nor_remembered(tmp_path):
    """Or an author's slip would lock every device that saw it."""
    ledger = Ledger(tmp_path / "l", total=20, per_attribute=20)
    slip, right = (Statement.sign(SURVEY, KEY, issued=day, until=JULY) for day in (JULY, MAY))
    with pytest.raises(NotAllowed):
        respond(SURVEY, {}, policy=ANYTHING, ledger=ledger, statement=slip, today=JUNE)
    respond(SURVEY, {}, policy=ANYTHING, ledger=ledger, statement=right, today=JUNE)


def test_a_ledger_that_has_seen_no_statement_takes_one(tmp_path):
    ledger = Ledger(tmp_path / "l", total=20, per_attribute=20)
    first = respond(SURVEY, {}, policy=ANYTHING, ledger=ledger, today=JUNE)
    said = Statement.sign(SURVEY, KEY, issued=MAY, until=JULY)
    options = {"policy": ANYTHING, "ledger": ledger, "statement": said, "today": JUNE}
    assert respond(SURVEY, {}, **options) == first
