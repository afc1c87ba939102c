"""`ldpsql serve` as a process: what it keeps, what it says, and how it ends."""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
from support.command_line import refusal, run
from support.http import fetch, serving
from support.planned_survey import both_texts, device_text
from support.surveys import ANYTHING

from ldpsql.server.tokens import Tokens
from ldpsql.store import open_store
from ldpsql_device.answer import respond
from ldpsql_device.errors import StoreError
from ldpsql_device.survey import Survey

SURVEY = Survey.from_json(device_text())
CLIENT = Path(__file__).parents[2] / "clients" / "js" / "src"


@pytest.fixture
def survey(tmp_path):
    path = tmp_path / "people.json"
    path.write_text(both_texts())
    return str(path)


def line():
    return respond(SURVEY, {"age": 3, "shop": None}, policy=ANYTHING).to_json()


def post(address, lines):
    reports = f"{address}/v1/surveys/{SURVEY.fingerprint}/reports"
    return fetch(reports, "\n".join(lines).encode(), content_type="application/x-ndjson")


def test_it_keeps_reports_and_says_nothing_of_who_sent_them(tmp_path, survey):
    db, lines = tmp_path / "s.duckdb", [line() for _ in range(30)]
    with serving("--db", str(db), "--survey", survey) as (process, address):
        for some in (lines[:10], lines[5:], [lines[0]]):
            assert post(address, some).status == 200
        assert post(address, ["secret"]).status == 422
        headers = fetch(f"{address}/v1/tables/people").headers
        assert not {"server", "date"} & {name.lower() for name in headers}
        started = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert time.monotonic() - started < 5
        assert process.stderr.read() == ""
    with open_store(db, read_only=True) as store:
        assert store.sizes("people").tolist() == [30]
        with store._read_snapshot() as cursor:
            [batch] = cursor.execute("FROM batches").fetchall()
            assert (batch[0], batch[2:7]) == ("people", (None, "http", 30, 0, True))
            ids = cursor.execute("SELECT ldpsql_id::VARCHAR FROM ids_people").fetchall()
    sent = sorted(json.loads(each)["id"] for each in lines)
    assert [own.replace("-", "") for (own,) in ids] == sent


@pytest.mark.parametrize("kills", [1, pytest.param(300, marks=pytest.mark.slow)])
def test_what_was_acknowledged_survives_a_kill_and_what_is_sent_again_counts_once(
    tmp_path, survey, kills
):
    db, lines = tmp_path / "s.duckdb", [line() for _ in range(400)]
    settled: set[str] = set()

    def device(address):
        chosen = random.Random()
        for _ in range(40):
            some = chosen.sample(lines, 3)  # most of them are sent again and again
            try:
                if post(address, some).status == 200:
                    settled.update(some)
            except OSError:
                return

    for _ in range(kills):
        with serving("--db", str(db), "--survey", survey) as (process, address):
            devices = [threading.Thread(target=device, args=[address]) for _ in range(4)]
            for each in devices:
                each.start()
            time.sleep(random.uniform(0.1, 1.2))
            process.send_signal(signal.SIGKILL)
            for each in devices:
                each.join()
    with serving("--db", str(db), "--survey", survey) as (process, address):
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    with open_store(db, read_only=False) as store:
        counted = int(store.sizes("people").sum())
        assert len(settled) <= counted <= len(lines)
        with store._read_snapshot() as cursor:
            ids = cursor.execute("SELECT ldpsql_id::VARCHAR FROM ids_people").fetchall()
        assert len(ids) == len(set(ids)) == counted
        assert {json.loads(each)["id"] for each in settled} <= {
            own.replace("-", "") for (own,) in ids
        }
    with serving("--db", str(db)) as (process, address):
        assert post(address, lines).status == 200
        process.send_signal(signal.SIGTERM)
        process.wait(10)
    with open_store(db, read_only=True) as store:
        assert store.sizes("people").tolist() == [len(lines)]


def test_headers_that_claim_who_asks_are_not_believed(tmp_path, survey):
    """By whom a token may be used is told by the connection: here it is local."""
    db = tmp_path / "s.duckdb"
    with serving("--db", str(db), "--survey", survey) as (_, address):
        token = Tokens.beside(db).add("ann", "analyst")
        claims = {"x_forwarded_for": "203.0.113.9", "forwarded": "for=203.0.113.9"}
        answered = fetch(f"{address}/v1/tables", authorization=f"Bearer {token}", **claims)
        assert answered.status == 200


@pytest.mark.slow
def test_connections_that_say_nothing_are_closed(tmp_path, survey):
    with serving("--db", str(tmp_path / "s.duckdb"), "--survey", survey) as (_, address):
        host, port = address.removeprefix("http://").split(":")
        silent = [socket.create_connection((host, int(port))) for _ in range(200)]
        silent[0].send(b"GET / HTTP/1.1\r\nHost: x\r\n")
        assert post(address, [line()]).status == 200
        for each in silent:
            each.settimeout(20)
            assert each.recv(1) == b""
            each.close()


def test_what_cannot_be_served_is_said(tmp_path, survey):
    """An address that is taken or cannot be had, and what is no key and certificate."""
    taken = socket.create_server(("127.0.0.1", 0))
    hosts = ("", "nowhere.invalid", "192.0.2.1", "a" * 70 + ".invalid")
    for more, said in (
        (("--port", taken.getsockname()[1]), "cannot listen at '127.*: Address already in use; "),
        *((("--host", host), f"cannot listen at '{host[:58]}.*; give another") for host in hosts),
        (
            ("--tls-key", survey, "--tls-certificate", survey),
            "the TLS key and certificate cannot be used; give PEM",
        ),
    ):
        done = run("serve", "--new", "--db", tmp_path / "s.duckdb", "--port", 0, *more)
        assert re.search(f"error: {said}", done.stderr), done.stderr
        assert done.exit_code
    taken.close()


@pytest.mark.slow
def test_the_javascript_client_finds_a_survey_and_its_reports_are_counted(tmp_path, survey):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not there: the JavaScript client was left out")
    db = tmp_path / "s.duckdb"
    with serving("--db", str(db), "--survey", survey) as (process, address):
        ran = subprocess.run(
            [node, str(Path(__file__).parent / "client.mjs"), str(CLIENT), address],
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.stderr == ""
        assert json.loads(ran.stdout) == {"settled": [5, 0], "refused": True}
        process.send_signal(signal.SIGTERM)
        process.wait(10)
    with open_store(db, read_only=True) as store:
        assert store.sizes("people").tolist() == [5]


@pytest.mark.slow
def test_a_full_disk_is_said_and_once_there_is_room_it_goes_on(tmp_path, survey):
    resource = pytest.importorskip("resource")
    if not hasattr(resource, "prlimit"):
        pytest.skip("limits of another process are Linux's")
    db, lines = tmp_path / "s.duckdb", [line() for _ in range(3000)]
    with serving("--db", str(db), "--survey", survey) as (process, address):
        before = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (30_000, before[1]))
        statuses = [post(address, lines[at : at + 300]).status for at in range(0, 3000, 300)]
        assert set(statuses) == {200, 503}
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, before)
        again = [post(address, lines[at : at + 300]).status for at in range(0, 3000, 300)]
        assert again == [200] * 10
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    with open_store(db, read_only=True) as store:
        assert store.sizes("people").tolist() == [3000]


@pytest.mark.parametrize("more", [(), ("--shuffler", "batches")])
def test_a_misspelt_database_is_refused_and_not_made(tmp_path, survey, more):
    arguments = ("--db", tmp_path / "typo.duckdb", "--survey", survey, *more)
    said = refusal(run("serve", *arguments), 3)
    assert re.search(r"there is no .*typo\.duckdb; start an empty one with --new.*or name", said)
    assert ("ldpsql ingest" in said) != bool(more)
    assert [path.name for path in tmp_path.iterdir()] == ["people.json"]


def test_memory_is_the_databases(tmp_path, monkeypatch):
    given = []

    def refuses(*_, memory, **__):
        given.append(memory)
        raise StoreError("no further")

    monkeypatch.setattr("ldpsql.server.command.open_store", refuses)
    for options in ((), ("--memory", "150")):
        assert "no further" in refusal(
            run("serve", "--new", "--db", tmp_path / "s.duckdb", *options), 3
        )
    assert given == [500, 150]
    assert run("serve", "--memory", "99").exit_code == 2
    assert len(given) == 2
