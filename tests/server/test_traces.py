"""What is left of requests: nothing in database, logs, metrics or answers tells who sent a report,
what, or when beyond the day of its batch."""

from __future__ import annotations

import json
import random
import re
import signal
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta

import duckdb
import pytest
from support.http import fetch, serving
from support.planned_survey import both_texts, device_text
from support.shuffled_survey import shuffled_survey
from support.surveys import ANYTHING

from ldpsql.server.tokens import Tokens
from ldpsql_device.answer import respond
from ldpsql_device.survey import Survey

LOCAL = Survey.from_json(device_text())
SHUFFLED = shuffled_survey(50)
MARK = "Kilroy-4711"
HEADERS = {
    "user_agent": MARK,
    "referer": f"https://{MARK}.example/",
    "x_forwarded_for": "203.0.113.77",
    "forwarded": "for=203.0.113.77",
    "cookie": f"who={MARK}",
    "x_request_id": MARK,
    "content_type": "text/plain",
}
TRACES = (MARK.encode(), MARK.lower().encode(), b"203.0.113.77", b"127.0.0.1")


def lines(survey, record, count):
    return [respond(survey, record, policy=ANYTHING).to_json() for _ in range(count)]


def send(address, fingerprint, texts):
    """Some bodies, some of them wrong, and a refused one; what came back."""
    path = f"{address}/v1/surveys/{fingerprint}/reports?who={MARK}"
    found = []
    for start in range(0, len(texts), 7):
        body = "\n".join([*texts[start : start + 7], json.dumps({"who": MARK})])
        found.append(fetch(path, body.encode(), **HEADERS))
        time.sleep(0.05)  # several commits
    found.append(fetch(path, MARK.encode(), **HEADERS))
    found.append(fetch(f"{address}/v1/tables/{MARK}", **HEADERS))
    return found


def written(folder):
    """Every file that the process left, by name."""
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def seconds_around(moment):
    """How a moment, to the minute, would be written: as text, and as DuckDB and SQLite store it."""
    texts = {f"{moment + timedelta(minutes=shift):%H:%M}" for shift in (-1, 0, 1)}
    return [re.compile(rf"\b{text}(:\d\d)?\b") for text in texts]


@pytest.fixture(scope="module", params=["collector", "shuffler"])
def left(request, tmp_path_factory):
    """What a process leaves after devices were there: files, its own words, metrics, answers, and
    the reports that it was sent."""
    shuffles, folder = request.param == "shuffler", tmp_path_factory.mktemp("left")
    db, survey = folder / "s.db", folder / "survey.json"
    survey.write_text(SHUFFLED.to_json() if shuffles else both_texts())
    token = Tokens.beside(db).add("ann", "analyst")
    known = Survey.from_json(json.dumps(json.loads(survey.read_text())["survey"]))
    record = {"age": 20, "member": True} if shuffles else {"age": 3, "shop": "north"}
    texts = lines(known, record, 60)
    random.shuffle(texts)
    more = ["--shuffler", str(folder / "batches")] if shuffles else []
    with serving("--db", str(db), "--survey", str(survey), *more) as (process, address):
        answers = send(address, known.fingerprint, texts)
        metrics = fetch(f"{address}/metrics", authorization=f"Bearer {token}")
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        said = process.stderr.read()
    return request.param, db, written(folder), said, metrics, answers, texts


def test_nothing_tells_who_sent_what_or_when(left):
    kind, db, files, said, metrics, answers, texts = left
    assert [answer.status for answer in answers[:-2]] == [200] * 9
    assert said == ""
    for place, content in files.items():
        assert not any(trace in content for trace in TRACES), place
    for answer in (*answers, metrics):
        told = answer.body + json.dumps(dict(answer.headers)).encode()
        assert not any(trace in told for trace in TRACES)
        assert not {"date", "server", "set-cookie", "x-request-id"} & {
            name.lower() for name in answer.headers
        }
    if kind == "collector":
        assert metrics.status == 200
        names = re.findall(r"^(\w+)(?:\{(.*)\})? \d+$", metrics.body.decode(), re.M)
        counted = {"ldpsql_reports_total", "ldpsql_refused_reports_total"}
        of_all = {"ldpsql_waiting_reports", "ldpsql_failed_tidying_total"}
        assert {name for name, _ in names} == {*counted, *of_all}
        labels = {re.sub(r'"[^"]*"', "", label) for _, label in names if label}
        assert labels == {"survey=,result=", "survey=,reason="}
    ids = [json.loads(text)["id"] for text in texts]
    orders = sent_orders(kind, db)
    assert orders, "no table of ids was found"
    for order in orders:
        assert sorted(order) == order  # of random ids, which tells nothing
        assert order != ids


@pytest.mark.parametrize("left", ["collector"], indirect=True)
def test_no_column_holds_a_time(left):
    _, db, *_ = left
    with duckdb.connect(str(db), read_only=True) as database:
        kinds = database.execute(
            "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal"
        ).fetchall()
        stamps = [row for row in kinds if "TIME" in row[2]]
        assert stamps == []
        # Texts and blobs: no time of day in any of them.
        now = datetime.now(UTC)
        for table, column, _ in kinds:
            for (value,) in database.execute(f'SELECT "{column}" FROM "{table}"').fetchall():
                text = str(value) if not isinstance(value, bytes) else value.hex()
                assert not any(moment.search(text) for moment in seconds_around(now))
        batches = database.execute("SELECT name, reports, day FROM batches").fetchall()
    assert [row[:2] for row in batches] == [("http", 60)]


def sent_orders(kind, db):
    """The orders in which ids lie in the database."""
    if kind == "collector":
        with duckdb.connect(str(db), read_only=True) as database:
            found = database.execute("SELECT ldpsql_id::VARCHAR FROM ids_people").fetchall()
            return [[own.replace("-", "") for (own,) in found]]
    with closing(sqlite3.connect(db)) as database:
        found = database.execute("SELECT hex(id) FROM ids").fetchall()
    return [[own.lower() for (own,) in found]]


def test_a_log_of_requests_would_be_found(tmp_path):
    """Negative control: what searches for traces finds one that is there."""
    (tmp_path / "access.log").write_text(f'127.0.0.1 - "POST /?who={MARK}" 200')
    found = written(tmp_path)
    assert any(trace in content for content in found.values() for trace in TRACES)
    assert any(
        moment.search("2026-03-01 10:31:07")
        for moment in seconds_around(datetime(2026, 3, 1, 10, 31, tzinfo=UTC))
    )
