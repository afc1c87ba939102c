"""`ldpsql serve --shuffler` as a process: the same door, and nothing but batches behind it."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
from collections import Counter
from functools import partial

import pyarrow.parquet as pq
import pytest
from support.command_line import run
from support.http import ask, fetch, serving
from support.killed_server import kill_among_devices
from support.planned_survey import both_texts
from support.shuffled_survey import raw_reports, shuffled_survey
from support.surveys import ANYTHING

from ldpsql.server.app import make_app
from ldpsql.server.remote import RemoteStore
from ldpsql.server.tokens import Tokens
from ldpsql.server.writer import Writer
from ldpsql.shuffler import shuffle_reports
from ldpsql.shuffler.arrivals import Arrivals
from ldpsql.store import open_store
from ldpsql.store.shuffled_batch import BATCH_KEY, ShuffledBatch
from ldpsql_device.answer import respond
from ldpsql_device.errors import NotSupportedError, ReportError
from ldpsql_device.reports import numbers_of, read_report
from ldpsql_device.signature import SigningKey
from ldpsql_device.survey import Survey

USERS = 40
PUBLISHED = shuffled_survey(USERS)
SURVEY = Survey.from_json(json.dumps(json.loads(PUBLISHED.to_json())["survey"]))
PATH = f"/v1/surveys/{PUBLISHED.fingerprint}/reports"


@pytest.fixture
def home(tmp_path):
    PUBLISHED.write(tmp_path / "app.survey.json")
    return tmp_path


def shuffler(home, *more):
    waiting, survey = str(home / "waiting.db"), str(home / "app.survey.json")
    return serving("--db", waiting, "--survey", survey, "--shuffler", str(home / "batches"), *more)


def line(age=30):
    return respond(SURVEY, {"age": age, "member": True}, policy=ANYTHING).to_json()


def numbers(text):
    """The reports of a batch's columns, from a line."""
    return numbers_of(read_report(text, SURVEY), SURVEY)


def post(address, lines):
    body = "\n".join(lines).encode()
    return fetch(f"{address}{PATH}", body, content_type="application/x-ndjson")


def released(home):
    """The reports of every batch, and the ids of batches."""
    found, ids = Counter(), list[str]()
    for path in (home / "batches").iterdir():
        table = pq.read_table(path)
        said = table.schema.metadata[BATCH_KEY.encode()].decode()
        ids.append(ShuffledBatch.from_json(said, "").id)
        assert table.num_rows == USERS
        found.update(zip(*(column.to_pylist() for column in table.columns), strict=True))
    assert len(ids) == len(set(ids))
    return found


def test_the_door_of_a_shuffler_is_that_of_a_collector(home):
    with Arrivals(home / "waiting.db", home / "batches") as waiting:
        waiting.register(PUBLISHED)
        own = Writer(waiting, "http")
        try:
            app = make_app(waiting, own, Tokens.beside(home / "waiting.db"))
            assert ask(app, "/v1/tables/app").json == {"fingerprint": PUBLISHED.fingerprint}
            found = ask(app, f"/v1/surveys/{PUBLISHED.fingerprint}")
            assert Survey.from_json(found.body.decode()) == SURVEY
            kind = {"content_type": "text/plain"}
            first = line().encode()
            assert ask(app, PATH, first, **kind).status == 200
            assert ask(app, PATH, b"\n".join([first, line().encode()]), **kind).status == 200
            assert ask(app, PATH, b"{}", **kind).status == 422
            for path in ("/v1/query", "/v1/files", "/v1/tables", "/metrics", "/", "/page.js"):
                assert ask(app, path, b"{}").status == 404
            assert own.counts["app", "repeats"] == 1
        finally:
            own.close()


def test_reports_of_other_surveys_are_not_taken(home):
    local = home / "local.json"
    local.write_text(both_texts())
    given = ("--new", "--db", home / "w.db", "--survey", local, "--shuffler", home / "batches")
    assert "trusts no shuffler" in run("serve", *given).stderr


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, 60])
def test_no_kill_loses_a_report_or_releases_one_twice(home, kills):
    lines = [line(random.randrange(18, 42)) for _ in range(10 * USERS + 7)]

    def send_some(address):
        post(address, random.sample(lines, 3))

    for _ in range(kills):
        with shuffler(home) as (process, address):
            kill_among_devices(process, partial(send_some, address))
    with shuffler(home) as (process, address):
        assert post(address, lines).status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert process.stderr.read() == ""
    found, sent = released(home), Counter(map(numbers, lines))
    assert found.total() == 10 * USERS
    assert found <= sent
    with Arrivals(home / "waiting.db", home / "batches") as waiting:
        execute = waiting._database.execute
        assert execute("SELECT count(*) FROM waiting").fetchone() == (7,)
        assert execute("SELECT count(*) FROM ids").fetchone() == (len(lines),)


@pytest.mark.slow
def test_a_full_disk_is_said_and_once_there_is_room_it_goes_on(home):
    resource = pytest.importorskip("resource")
    if not hasattr(resource, "prlimit"):
        pytest.skip("limits of another process are Linux's")
    lines = [line() for _ in range(20 * USERS)]
    with shuffler(home) as (process, address):
        before = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (50_000, before[1]))
        parts = [lines[at : at + 100] for at in range(0, len(lines), 100)]
        assert {post(address, part).status for part in parts} == {200, 503}
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, before)
        assert {post(address, part).status for part in parts} == {200}
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    assert released(home) == Counter(map(numbers, lines))


def test_a_collector_gets_the_batches_once(home, monkeypatch):
    collector = home / "collector.duckdb"
    monkeypatch.setenv("LDPSQL_TOKEN", Tokens.beside(collector).add("mixer", "relay"))
    survey = str(home / "app.survey.json")
    with serving("--db", str(collector), "--survey", survey) as (other, there):
        for sent in (2 * USERS + 1, 1):  # the next run hands over what one leaves as it ends
            with shuffler(home, "--collector", there) as (process, address):
                assert post(address, [line() for _ in range(sent)]).status == 200
                process.send_signal(signal.SIGTERM)
                assert process.wait(20) == 0
                assert process.stderr.read() == ""
        assert not list((home / "batches").iterdir())
        asked = {"authorization": f"Bearer {os.environ['LDPSQL_TOKEN']}"}
        query = json.dumps({"sql": "SELECT COUNT(*) FROM app"}).encode()
        assert fetch(f"{there}/v1/query", query, **asked).status == 403  # it brings, and asks not
        other.send_signal(signal.SIGTERM)
        other.wait(10)
    with open_store(collector, read_only=True) as store:
        assert int(store.sizes("app").sum()) == 2 * USERS


def test_a_collector_takes_only_what_the_shuffler_that_it_names_has_signed(home):
    own = SigningKey.create(home / "own.key")
    collector, survey = str(home / "collector.duckdb"), str(home / "app.survey.json")
    token = Tokens.beside(home / "collector.duckdb").add("mixer", "relay")
    pq.write_table(raw_reports(PUBLISHED, USERS), home / "raw.parquet")
    for name, key in (("own", own), ("nobodys", None)):
        shuffle_reports(PUBLISHED, [home / "raw.parquet"], home / f"{name}.parquet", key=key)
    named = ("--db", collector, "--survey", survey, "--shuffler-key", own.author)
    with serving(*named) as (_, there):
        store = RemoteStore(there, token)
        with pytest.raises(ReportError, match="is signed by nobody"):
            store.ingest([home / "nobodys.parquet"])
        assert store.ingest([home / "own.parquet"])[0].reports == USERS
        with pytest.raises(NotSupportedError, match="serve --shuffler-key"):
            store.ingest([home / "own.parquet"], shufflers=[own.author])
    with open_store(collector, read_only=True) as store:
        assert int(store.sizes("app").sum()) == USERS
    refused = run("serve", *named[:4], "--shuffler-key", "mixer")
    assert refused.exit_code and "64 hexadecimal digits" in refused.stderr
    alone = run("serve", *named[:4], "--key", home / "own.key")
    assert "--key needs --shuffler" in alone.stderr
    both = run("serve", *named, "--shuffler", home / "batches")
    assert "--shuffler and --shuffler-key exclude each other" in both.stderr


@pytest.mark.slow
def test_a_batch_that_the_collector_refuses_holds_up_no_other(home, monkeypatch):
    collector, folder = home / "collector.duckdb", home / "batches"
    monkeypatch.setenv("LDPSQL_TOKEN", Tokens.beside(collector).add("mixer", "relay"))
    folder.mkdir()
    (folder / "0.parquet").write_bytes(b"PAR1")
    with (
        serving("--db", str(collector), "--survey", str(home / "app.survey.json")) as (_, there),
        shuffler(home, "--collector", there) as (process, address),
    ):
        assert post(address, [line() for _ in range(USERS)]).status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert "0.parquet cannot be read" in process.stderr.read()
    assert [path.name for path in folder.iterdir()] == ["0.parquet"]


def test_a_collector_that_does_not_answer_keeps_nobody_from_ending(home):
    with socket.create_server(("127.0.0.1", 0)) as mute:
        there = f"http://127.0.0.1:{mute.getsockname()[1]}"
        with shuffler(home, "--collector", there) as (process, address):
            assert post(address, [line() for _ in range(USERS)]).status == 200
            process.send_signal(signal.SIGTERM)
            assert process.wait(8) == 0
    assert released(home).total() == USERS


def test_a_batch_waits_for_a_collector_that_is_away(home):
    with shuffler(home, "--collector", "http://127.0.0.1:1") as (process, address):
        assert post(address, [line() for _ in range(USERS)]).status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert "cannot reach http://127.0.0.1:1" in process.stderr.read()
    assert released(home).total() == USERS
