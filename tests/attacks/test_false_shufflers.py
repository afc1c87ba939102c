"""Who is no shuffler wants reports that only a trusted one may read."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import date
from decimal import Decimal

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.shuffled_survey import shuffled_survey
from support.surveys import ANYTHING

from ldpsql.shuffler.opener import Opener
from ldpsql_device.answer import respond
from ldpsql_device.errors import BudgetSpent, Error, NotAllowed, ReportError, SurveyError
from ldpsql_device.ledger import Ledger
from ldpsql_device.pledge import Pledge
from ldpsql_device.policy import Policy
from ldpsql_device.shuffled import Shuffled
from ldpsql_device.signature import SigningKey
from ldpsql_device.survey import Survey, canonical

SHUFFLER, COLLECTOR = (SigningKey.of(Ed25519PrivateKey.generate()) for _ in range(2))
OPENER, COLLECTORS = Opener.create(), Opener.create()
SURVEY = Survey.from_json(shuffled_survey().sign(COLLECTOR).device_text)
POLICY = Policy(max_epsilon=2, shufflers={SHUFFLER.author})
UNTIL, TODAY = date(2026, 6, 30), date(2026, 6, 1)


def signed(key=SHUFFLER, **changes):
    """A pledge that this key signs, whatever it says."""
    data = {
        "ldpsql_pledge": 1,
        "fingerprint": SURVEY.fingerprint,
        "shuffle": SURVEY.shuffled.to_json(),
        "until": UNTIL.isoformat(),
        "encryption": OPENER.public,
        "shuffler": key.author,
        **changes,
    }
    return Pledge.from_json(canonical({**data, "signature": key.sign(canonical(data))}))


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "l", total=20, per_attribute=20, total_local=40)


def give(ledger, pledge, survey=SURVEY, policy=POLICY, today=TODAY):
    return respond(survey, {}, policy=policy, ledger=ledger, pledge=pledge, today=today)


def is_refused(ledger, pledge, words, **options):
    """And nothing of it is in the ledger."""
    before = ledger.spent()
    with pytest.raises(Error, match=words):
        give(ledger, pledge, **options)
    assert ledger.spent() == before
    return True


def test_a_collector_that_claims_to_be_the_shuffler(ledger):
    assert is_refused(ledger, signed(COLLECTOR, encryption=COLLECTORS.public), "does not name")
    careless = Policy(max_epsilon=2, shufflers={SHUFFLER.author, COLLECTOR.author})
    assert is_refused(ledger, signed(COLLECTOR), "the survey's own author", policy=careless)


def test_a_collector_that_puts_its_own_key_into_the_shufflers_pledge():
    data = json.loads(signed().text)
    for change in (
        {"encryption": COLLECTORS.public},
        {"encryption": COLLECTORS.public, "signature": COLLECTOR.sign(canonical(data))},
    ):
        with pytest.raises(SurveyError, match="signature is not its author's"):
            Pledge.from_json(canonical({**data, **change}))


def test_a_signature_of_something_else_is_none(ledger):
    """What a shuffler signs for other purposes has other keys than a pledge."""
    data = {key: value for key, value in json.loads(signed().text).items() if key != "signature"}
    statement = {**data, "ldpsql_statement": 1}
    del statement["ldpsql_pledge"]
    signature = SHUFFLER.sign(canonical(statement))
    for text in ({**data, "signature": signature}, {**statement, "signature": signature}):
        with pytest.raises(SurveyError):
            Pledge.from_json(canonical(text))


def test_another_surveys_pledge(ledger):
    other = Survey.from_json(shuffled_survey(2000).device_text)
    for pledge in (
        Pledge.sign(other, SHUFFLER, other.shuffled, OPENER.public, UNTIL),
        signed(fingerprint="0" * 64),
    ):
        assert is_refused(ledger, pledge, "is about another survey")


@pytest.mark.parametrize(
    "change",
    [
        {"users": 999},
        {"users": 2, "honest": Decimal(1), "delta": Decimal("1e-6")},
        {"honest": Decimal(1)},
        {"epsilon": "1.000000001"},
        {"delta": "0.0000010001"},
    ],
    ids=str,
)
def test_a_smaller_batch_or_a_weaker_promise(ledger, change):
    weaker = Shuffled.parse(**{**SURVEY.shuffled.to_json(), **change}).to_json()
    assert is_refused(ledger, signed(shuffle=weaker), "batches of|less than the survey's")


def test_a_stale_pledge(ledger):
    """By the clock, and by the latest day that was ever seen where the clock is set back."""
    assert is_refused(ledger, signed(), "the pledge .* ended", today=date(2026, 7, 1))
    assert is_refused(ledger, signed(), "this device's day is 2026-07-01", today=TODAY)
    give(ledger, signed(until="2026-07-01"), today=TODAY)
    # A repeat, too, needs a shuffler that still takes it.
    assert is_refused(ledger, signed(), "the pledge .* ended")


def test_a_report_is_sent_again_to_nobody_else(ledger):
    first = give(ledger, signed())
    line = OPENER.open_report(first.to_json(), SURVEY.fingerprint)
    other = SigningKey.of(Ed25519PrivateKey.generate())
    both = Policy(max_epsilon=2, shufflers={SHUFFLER.author, other.author})
    for pledge in (
        signed(other),
        signed(other, encryption=COLLECTORS.public),
        signed(encryption=COLLECTORS.public),
    ):
        assert is_refused(ledger, pledge, "sent to nobody else", policy=both)
    # An app that would send it in clear cannot: neither is it given again, nor another one drawn.
    for policy in (ANYTHING, Policy(max_epsilon=20, shufflers={SHUFFLER.author})):
        assert is_refused(ledger, None, "sent to nobody else", policy=policy)
    # A pledge that was renewed is the same shuffler's, with the same key.
    again = give(ledger, signed(until="2026-12-31"))
    assert OPENER.open_report(again.to_json(), SURVEY.fingerprint) == line


def test_a_report_that_others_have_read_is_no_secret_of_a_shufflers(ledger):
    respond(SURVEY, {}, policy=ANYTHING, ledger=ledger, today=TODAY)
    assert is_refused(ledger, signed(), "sent to nobody else")


def test_only_the_shuffler_reads_it(ledger):
    sealed = give(ledger, signed())
    with pytest.raises(ReportError):
        COLLECTORS.open_report(sealed.to_json(), SURVEY.fingerprint)
    with closing(sqlite3.connect(ledger.path)) as database:
        [(line,)] = database.execute("SELECT report FROM answers")
    assert json.loads(line)["report"] not in sealed.to_json()
    assert json.loads(line)["id"] not in sealed.to_json()


def test_whether_a_pledge_is_believed_does_not_depend_on_the_record(ledger):
    said = set()
    for record in ({}, {"age": 20}, {"age": "x"}, {"member": True}):
        with pytest.raises(NotAllowed) as refusal:
            respond(SURVEY, record, policy=POLICY, pledge=signed(COLLECTOR), today=TODAY)
        said.add(str(refusal.value))
    assert len(said) == 1


def test_all_sealed_reports_have_one_length():
    records = ({}, {"age": 20}, {"age": 41, "member": True}, {"age": "x" * 1000})
    lengths = {
        len(respond(SURVEY, record, policy=POLICY, pledge=signed(), today=TODAY).to_json())
        for record in records
        for _ in range(20)
    }
    assert len(lengths) == 1


def test_nothing_is_kept_where_the_ledger_cannot_pay(tmp_path):
    ledger = Ledger(tmp_path / "l", total=4, per_attribute=4, total_local=4)
    with pytest.raises(BudgetSpent, match="of the budget of 4 for shufflers"):
        give(ledger, signed())
    assert ledger.spent() == 0
