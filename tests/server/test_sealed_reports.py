"""A shuffler with a key: what it pledges, and reports that it alone reads, from end to end."""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter
from dataclasses import replace
from datetime import date, timedelta
from functools import partial

import pyarrow.parquet as pq
import pytest
from support.http import ask, fetch, serving
from support.killed_server import kill_among_devices
from support.shuffled_survey import shuffled_survey
from support.surveys import ANYTHING

from ldpsql.dbapi.connection import connect
from ldpsql.mechanisms.base import find_epsilon
from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql.server.app import make_app
from ldpsql.server.bodies import ARROW
from ldpsql.server.tokens import Tokens
from ldpsql.server.writer import Writer
from ldpsql.shuffler import arrivals, sealing
from ldpsql.shuffler.arrivals import Arrivals
from ldpsql.shuffler.opener import Opener
from ldpsql.shuffler.sealing import REASON
from ldpsql.store.intake import Intake
from ldpsql.store.shuffled_batch import BATCH_KEY
from ldpsql_device.answer import respond
from ldpsql_device.collector import Collector
from ldpsql_device.errors import OperationalError, StoreError, SurveyError
from ldpsql_device.ledger import Ledger
from ldpsql_device.pledge import Pledge
from ldpsql_device.policy import Policy
from ldpsql_device.reports import Report, numbers_of, read_report
from ldpsql_device.signature import SigningKey
from ldpsql_device.survey import Schedule, Survey

USERS = 60
PUBLISHED = shuffled_survey(USERS)
INTAKE = Intake.of(PUBLISHED)
SURVEY = Survey.from_json(PUBLISHED.device_text)
PATH = f"/v1/surveys/{PUBLISHED.fingerprint}/reports"


@pytest.fixture
def home(tmp_path):
    PUBLISHED.write(tmp_path / "app.survey.json")
    SigningKey.create(tmp_path / "shuffler.key")
    return tmp_path


def shuffler(home, *more):
    given = ("--db", home / "waiting.db", "--survey", home / "app.survey.json")
    given += ("--shuffler", home / "batches", "--key", home / "shuffler.key")
    return serving(*map(str, given), *more)


def waiting(home, key="shuffler.key"):
    own = None if key is None else SigningKey.read(home / key)
    return Arrivals(home / "waiting.db", home / "batches", key=own)


@pytest.fixture
def door(home):
    """A shuffler's application, to be asked without a network; its receiver is an attribute."""
    tokens = Tokens.beside(home / "waiting.db")
    with waiting(home) as receiver:
        receiver.register(PUBLISHED)
        writer = Writer(receiver, "http")
        app = make_app(receiver, writer, tokens)

        def send(lines, kind="application/x-ndjson", **headers):
            body = lines if isinstance(lines, bytes) else "\n".join(lines).encode()
            return ask(app, PATH, body, content_type=kind, **headers)

        send.app, send.receiver, send.counts, send.tokens = app, receiver, writer.counts, tokens
        try:
            yield send
        finally:
            writer.close()


def pledged(send):
    answer = ask(send.app, f"/v1/surveys/{PUBLISHED.fingerprint}/pledge")
    assert answer.status == 200
    return Pledge.from_json(answer.body.decode())


def report(age=30):
    return respond(SURVEY, {"age": age, "member": True}, policy=ANYTHING)


# -- the pledge ------------------------------------------------------------------------------------


def test_what_is_pledged_is_what_the_plan_keeps(door, home):
    pledge = pledged(door)
    claimed = PUBLISHED.shuffled
    assert pledge.shuffler == SigningKey.read(home / "shuffler.key").author
    pledge.require_fit(SURVEY)
    found = pledge.shuffled
    assert (found.delta, found.users, found.honest) == (claimed.delta, USERS, claimed.honest)
    assert found.epsilon.value == find_epsilon(PUBLISHED.design, claimed, USERS) < 1
    assert date.today() < pledge.until <= date.today() + sealing.BELIEVED + timedelta(1)


def test_a_survey_that_claims_more_than_its_plan_keeps_is_not_taken(home):
    """Whoever edits a survey can write any epsilon into it; its plan says which one holds."""
    data = json.loads(PUBLISHED.device_text)
    for change in ({"epsilon": "0.5"}, {"delta": "1e-9"}, {"honest": "0.1"}, {"users": 20}):
        data["promise"]["shuffle"] = {**PUBLISHED.shuffled.to_json(), **change}
        claiming = Intake.read(Survey.from_json(json.dumps(data)).to_json())
        with waiting(home) as own:
            with pytest.raises(SurveyError, match="its plan does not keep that"):
                own.register(claiming)
            assert own.intake_of(claiming.fingerprint) is None
    with waiting(home, key=None) as own:  # nothing is promised there
        own.register(claiming)


def test_a_promise_that_nobody_checks_is_signed(home, monkeypatch):
    """Negative control of the test above."""
    monkeypatch.setattr(sealing, "keeps", lambda *_: True)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_a_survey_that_claims_more_than_its_plan_keeps_is_not_taken(home)


def test_an_author_is_no_shuffler(home):
    signed = PUBLISHED.sign(SigningKey.read(home / "shuffler.key"))
    with waiting(home) as own, pytest.raises(SurveyError, match="the survey's own author"):
        own.register(signed)


def test_pledges_are_signed_anew_each_day_until_the_survey_ends(home, monkeypatch):
    start = date(2026, 3, 1)
    ending = Schedule(start, start + timedelta(10))
    survey = replace(PUBLISHED, schedule=ending)
    secrets = []
    for days in (0, 1, 9, 10, 11, 12, 13):
        today = start + timedelta(days)
        for room in (arrivals, sealing):
            monkeypatch.setattr(room, "utc_today", lambda today=today: today)
        with waiting(home) as own:
            own.register(survey)
            own.tidy()
            text = own.find_pledge(Intake.of(survey))
            if days <= 10:
                until = min(today + sealing.BELIEVED, ending.end)
                assert Pledge.from_json(text).until == until
            else:
                assert text is None
            secrets += own._database.execute("SELECT opener FROM surveys").fetchone()
    assert len({*secrets[:4]}) == 1 and len(secrets[0]) == 32
    assert secrets[-1] is None  # what was sealed to it can be opened by nobody any more


# -- reports ---------------------------------------------------------------------------------------


def test_sealed_reports_are_taken_once_however_they_are_sealed(door):
    pledge, sent = pledged(door), [report() for _ in range(5)]
    lines = [pledge.seal(each).to_json() for each in sent]
    assert (door(lines).status, door(lines).body) == (200, b"")
    assert door(lines).status == 200  # by whoever recorded them
    assert door([pledge.seal(each).to_json() for each in sent]).status == 200
    assert door.counts["app", "counted"] == 5
    assert door.counts["app", "repeats"] == 15


def test_whatever_is_wrong_gets_one_answer(door):
    """Sealed to another key, for another survey, cut, changed, or no report inside."""
    pledge, own = pledged(door), report()
    good = pledge.seal(own).to_json()
    other = replace(pledge, encryption=Opener.create().public)
    digits = json.loads(good)["sealed"]
    flipped = digits[:-1] + ("0" if digits[-1] != "0" else "1")
    no_report = Report(own.id, "f" * len(own.report), {})
    lines = [
        other.seal(own).to_json(),
        replace(pledge, fingerprint="0" * 64).seal(own).to_json(),
        json.dumps({"sealed": flipped}),
        json.dumps({"sealed": digits[:-2]}),
        json.dumps({"sealed": digits[:40]}),
        json.dumps({"sealed": ""}),
        pledge.seal(no_report).to_json(),
        pledge.seal(Report("x", own.report, {})).to_json(),
        own.to_json(),
        "{}",
        "no JSON",
    ]
    answer = door([*lines, good])
    assert answer.status == 200
    refused = answer.json["refused"]
    assert [each["line"] for each in refused] == [*range(1, len(lines) + 1)]
    assert {each["reason"] for each in refused} == {REASON}
    alone = door(lines)
    assert (alone.status, len(alone.json["refused"])) == (422, len(lines))
    assert door.counts["app", "counted"] == 1


def test_reports_in_clear_are_not_taken_and_not_lost(door):
    relay = f"Bearer {door.tokens.add('mixer', 'relay')}"
    for answer in (
        door([report().to_json()] * 2),
        door(b"PAR1", ARROW, client="127.0.0.1", authorization=relay),
    ):
        assert answer.status == 403  # which has devices keep them
        assert answer.json["type"] == "urn:ldpsql:error:not-sealed"
    assert door.counts.total() == 0


def test_without_a_key_nothing_is_pledged_and_nothing_opened(home):
    with waiting(home, key=None) as own:
        own.register(PUBLISHED)
        assert own.find_pledge(INTAKE) is None
        writer = Writer(own, "http")
        try:
            app = make_app(own, writer)
            answer = ask(app, f"/v1/surveys/{PUBLISHED.fingerprint}/pledge")
            assert (answer.status, answer.json["type"]) == (404, "urn:ldpsql:error:no-pledge")
            sent = ask(app, PATH, report().to_json().encode(), content_type="text/plain")
            assert sent.status == 200
        finally:
            writer.close()


def test_the_key_outlives_the_process_and_is_not_left_behind(home):
    found = []
    for _ in range(2):
        with waiting(home) as own:
            own.register(PUBLISHED)
            found.append(Pledge.from_json(own.find_pledge(INTAKE)).encryption)
    assert found[0] == found[1]
    with pytest.raises(StoreError, match="start it with the signing key"):
        waiting(home, key=None)


# -- from end to end -------------------------------------------------------------------------------


def read_batches(folder):
    found = Counter()
    for path in folder.iterdir():
        table = pq.read_table(path)
        assert ID_COLUMN not in table.column_names
        assert "signature" in json.loads(table.schema.metadata[BATCH_KEY.encode()])
        found.update(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return found


def test_from_devices_to_an_answer(home, monkeypatch):
    """Devices that trust the shuffler alone; a collector that takes its batches alone."""
    database, key = home / "collector.duckdb", SigningKey.read(home / "shuffler.key").author
    relay = Tokens.beside(database).add("mixer", "relay")
    analyst = Tokens.beside(database).add("ann", "analyst")
    monkeypatch.setenv("LDPSQL_TOKEN", relay)
    survey, policy = str(home / "app.survey.json"), Policy(max_epsilon=2, shufflers={key})
    named = ("--db", str(database), "--survey", survey, "--shuffler-key", key)
    with (
        serving(*named) as (_, there),
        shuffler(home, "--collector", there) as (process, address),
    ):
        collector, mixer = Collector(there), Collector(address)
        asked, _ = collector.fetch("app", policy=policy)
        with pytest.raises(OperationalError):
            collector.fetch_pledge(asked)  # a collector pledges nothing
        pledge, sealed = mixer.fetch_pledge(asked), []
        for person in range(USERS):
            ledger = Ledger(home / f"{person}.sqlite", total=4, per_attribute=2)
            record = {"age": 18 + person % 24, "member": person % 3 == 0}
            given = {"policy": policy, "ledger": ledger, "pledge": pledge}
            sealed.append(respond(asked, record, **given))
            sealed.append(respond(asked, record, **given))  # the same report, sealed anew
        assert collector.send(asked, sealed[:2]).settled == 0  # and could not read it
        sent = mixer.send(asked, sealed)
        assert (sent.settled, sent.refused, sent.waiting) == (2 * USERS, 0, [])
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        if list((home / "batches").iterdir()):  # on a busy machine the next run hands it over
            with shuffler(home, "--collector", there):
                for _ in range(300):
                    if not list((home / "batches").iterdir()):
                        break
                    time.sleep(0.1)
        with connect(there, token=analyst) as connection:
            cursor = connection.execute("SELECT COUNT(*) FROM app WHERE member")
            [[value]], [bars] = cursor.fetchall(), cursor.result.intervals.values()
            assert cursor.result.reports == USERS
            assert bars.low[0] <= value <= bars.high[0]
            assert "once shuffled" in str(cursor.result.promised[0])


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, 30])
def test_no_kill_loses_a_sealed_report_or_releases_one_twice(home, kills):
    sent = [report(random.randrange(18, 42)) for _ in range(5 * USERS + 7)]
    with waiting(home) as own:
        own.register(PUBLISHED)
        pledge = Pledge.from_json(own.find_pledge(INTAKE))

    def post(address, some):
        body = "\n".join(pledge.seal(each).to_json() for each in some).encode()
        return fetch(f"{address}{PATH}", body, content_type="application/x-ndjson")

    def send_some(address):
        post(address, random.sample(sent, 3))

    for _ in range(kills):
        with shuffler(home) as (process, address):
            kill_among_devices(process, partial(send_some, address))
    with shuffler(home) as (process, address):
        for at in range(0, len(sent), 50):
            assert post(address, sent[at : at + 50]).status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    found = read_batches(home / "batches")
    assert found.total() == 5 * USERS
    numbers = (numbers_of(read_report(each.to_json(), SURVEY), SURVEY) for each in sent)
    assert found <= Counter(numbers)
