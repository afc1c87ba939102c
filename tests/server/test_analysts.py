"""What analysts may ask, and who is one."""

from __future__ import annotations

import asyncio
import io
import itertools
import json
import math
import time
from contextlib import contextmanager
from datetime import UTC, date, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import http
from support.http import ask
from support.shuffled_survey import SCHEMA, USERS, raw_reports, shuffled_survey
from support.vectors import published_key

from ldpsql.engine.session import Session
from ldpsql.server import analysts, bodies
from ldpsql.server.analysts import ARROW, CSV, PARQUET
from ldpsql.server.app import make_app
from ldpsql.server.tokens import Tokens
from ldpsql.server.wire import unpack, write_json
from ldpsql.server.writer import Writer
from ldpsql.shuffler import shuffle_table
from ldpsql.store import open_store
from ldpsql.survey import Survey
from ldpsql_device.statement import Statement
from ldpsql_device.survey import utc_today

SURVEY = Survey.of("app", SCHEMA, "2", "hio")
SQL = "SELECT member, COUNT(*) AS n FROM app WHERE age >= ? GROUP BY member"


@contextmanager
def answering(tokens, *surveys):
    with open_store(None, read_only=False) as store:
        for survey, reports in surveys:
            store.ingest_table(reports, survey)
        own = Writer(store, "http")
        try:
            yield make_app(store, own, tokens), store
        finally:
            own.close()


@pytest.fixture
def tokens(tmp_path):
    return Tokens.beside(tmp_path / "s.duckdb")


@pytest.fixture
def secret(tokens):
    return f"Bearer {tokens.add('ann', 'analyst')}"


@pytest.fixture
def app(tokens):
    with answering(tokens, (SURVEY, raw_reports(SURVEY, 2000))) as (made, store):
        made.store = store
        yield made


def question(app, secret, path="/v1/query", client="127.0.0.1", accept="application/json", **keys):
    body = json.dumps(keys).encode()
    return ask(app, path, body, client=client, authorization=secret, accept=accept)


def unasked(_):
    raise AssertionError("nobody asked for a covariance")


def kind(answer):
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status, answer.json["type"].removeprefix("urn:ldpsql:error:")


def test_an_answer_is_that_of_the_store_itself(app, secret):
    expected = Session(app.store).execute(SQL, [30])
    found = question(app, secret, sql=SQL, parameters=[30]).json
    assert found["columns"] == [
        {"name": "member", "type": "bool", "coded": False},
        {"name": "n", "type": str(expected.table.schema.field("n").type), "coded": False},
    ]
    assert found["rows"] == [list(row.values()) for row in expected.table.to_pylist()]
    assert found["intervals"]["1"]["low"] == expected.intervals[1].low.tolist()
    assert found["notes"] == list(expected.notes)
    assert (found["reports"], found["level"]) == (2000, 0.95)
    assert found["surveys"][0]["fingerprint"] == SURVEY.fingerprint
    narrow = question(app, secret, sql=SQL, parameters=[30], confidence=0.5).json
    assert narrow["intervals"]["1"]["low"][0] > found["intervals"]["1"]["low"][0]


def test_arrow_brings_the_same_answer_whole(app, secret):
    expected = Session(app.store).execute(SQL, [30])
    answer = question(app, secret, accept=ARROW, sql=SQL, parameters=[30])
    found = unpack(answer.body, {SURVEY.fingerprint: SURVEY}.__getitem__, unasked)
    assert found.table.equals(expected.table)
    for name in ("stderr", "low", "high"):
        assert getattr(found.intervals[1], name).tolist() == pytest.approx(
            getattr(expected.intervals[1], name).tolist(), nan_ok=True
        )
    for name in ("notes", "surveys", "reports", "explain", "estimators", "promised", "level"):
        assert getattr(found, name) == getattr(expected, name)


def test_explain_says_how_it_would_be_answered(app, secret):
    lines = question(app, secret, "/v1/explain", sql="SELECT COUNT(*) FROM app").json
    assert "estimator" in lines["explain"] or "survey" in lines["explain"]
    assert lines["rows"][0] == [lines["explain"].splitlines()[0]]


def test_a_wrong_question_is_told_as_at_home(app, secret):
    answer = question(app, secret, sql="SELECT COUNT(*) FROM app WHERE agee > 3")
    assert kind(answer) == (400, "wrong-question")
    said = answer.json
    assert said["error"] == "QueryError"
    assert said["place"] == [1, 32, 4]
    assert said["caret"].splitlines()[1] == f"  {' ' * 31}^^^^"
    assert "age" in said["detail"]
    for keys in (
        {},
        {"sql": 3},
        {"sql": SQL, "password": "x"},
        {"sql": "SELECT 1", "confidence": "x"},
        {"sql": "SELECT 1", "confidence": 10**400},
    ):
        assert kind(question(app, secret, **keys)) == (400, "wrong-question")
    for body in (b"[1]", b"{", b"[" * 20_000):
        answer = ask(app, "/v1/query", body, client="::1", authorization=secret)
        assert kind(answer) == (400, "wrong-question")
    large = ask(app, "/v1/query", b" " * ((1 << 20) + 1), client="::1", authorization=secret)
    assert kind(large) == (413, "too-large")


@pytest.mark.parametrize(
    ("path", "keys", "said"),
    [
        ("/v1/query", {"estimator": {}}, "estimator must be string or null"),
        ("/v1/query", {"estimator": []}, "estimator must be string or null"),
        ("/v1/query", {"estimator": 0}, "estimator must be string or null"),
        ("/v1/query", {"estimator": False}, "estimator must be string or null"),
        ("/v1/query", {"estimator": ""}, "no estimator"),
        ("/v1/query", {"confidence": "0.9"}, "confidence must be number"),
        ("/v1/query", {"confidence": None}, "confidence must be number"),
        ("/v1/query", {"confidence": 0}, "between 0 and 1"),
        ("/v1/query", {"timeout": True}, "timeout must be number"),
        ("/v1/query", {"timeout": "5"}, "timeout must be number"),
        ("/v1/query", {"timeout": -1}, "from 0 on"),
        ("/v1/query", {"texts": "yes"}, "texts must be boolean"),
        ("/v1/query", {"census": 1}, "census must be boolean"),
        ("/v1/query", {"one_population": {}}, "one_population must be boolean"),
        ("/v1/query", {"weights": {}}, "weights must be array or null"),
        ("/v1/query", {"weights": [[]]}, "cannot be read"),
        ("/v1/query", {"parameters": ""}, "parameters must be array or object or null"),
        ("/v1/query", {"parameters": 0}, "parameters must be array or object or null"),
        ("/v1/query", {"sql": ["SELECT 1"]}, "sql must be string"),
        ("/v1/query", {"sql": None}, "sql must be string"),
        ("/v1/explain", {"estimator": {}}, "estimator must be string or null"),
        ("/v1/synthesize", {"sql": "SELECT 1"}, "keys among rows, seed, table"),
        ("/v1/synthesize", {"rows": True}, "rows must be integer or null"),
        ("/v1/synthesize", {"seed": 1.5}, "seed must be integer or null"),
        ("/v1/synthesize", {"table": ["app"]}, "table must be string or null"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_and_not_taken_for_none(app, secret, path, keys, said):
    whole = {"sql": "SELECT COUNT(*) FROM app"} if path != "/v1/synthesize" else {"rows": 5}
    assert question(app, secret, path, **whole).status == 200
    answer = question(app, secret, path, **whole | keys)
    assert kind(answer) == (400, "wrong-question")
    assert said in answer.json["detail"]


@pytest.mark.parametrize(
    "body",
    [
        '{"sql": "SELECT COUNT(*) FROM app", "sql": "SELECT COUNT(*) FROM app"}',
        '{"sql": "SELECT COUNT(*) FROM app", "timeout": NaN}',
        '[{"sql": "SELECT COUNT(*) FROM app"}]',
        '{"sql": "SELECT COUNT(*) FROM app", "x": ' + "[" * 100_000 + "]" * 100_000 + "}",
    ],
    ids=len,
)
def test_what_readers_of_json_take_each_in_its_way_is_refused(app, secret, body):
    answer = ask(app, "/v1/query", body.encode(), client="127.0.0.1", authorization=secret)
    assert kind(answer) == (400, "wrong-question")


@pytest.mark.parametrize("path", ["/v1/query", "/v1/explain", "/v1/synthesize", "/v1/files"])
def test_nobody_asks_without_a_token(app, secret, path):
    for given in ("", "Bearer ", "Bearer wrong", secret.removeprefix("Bearer "), f"Basic {secret}"):
        answer = ask(app, path, b"{}", client="127.0.0.1", authorization=given)
        assert kind(answer) == (401, "no-token")
        assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("path", ["/v1/tables", "/metrics"])
def test_nobody_looks_without_a_token(app, secret, path):
    assert kind(ask(app, path, client="127.0.0.1")) == (401, "no-token")
    assert ask(app, path, client="127.0.0.1", authorization=secret).status == 200


def test_tokens_do_not_travel_in_clear(app, secret):
    assert kind(question(app, secret, client="203.0.113.9", sql=SQL)) == (403, "needs-https")
    over_tls = ask(
        app,
        "/v1/query",
        json.dumps({"sql": SQL, "parameters": [30]}).encode(),
        scheme="https",
        authorization=secret,
    )
    assert over_tls.status == 200


def test_a_token_is_kept_as_a_hash_and_opens_nothing_once_it_is_removed(app, tokens, secret):
    text = tokens.path.read_text()
    assert secret.removeprefix("Bearer ") not in text
    assert tokens.path.stat().st_mode & 0o077 == 0
    assert question(app, secret, sql=SQL, parameters=[30]).status == 200
    Tokens(tokens.path).remove("ann")
    assert kind(question(app, secret, sql=SQL, parameters=[30])) == (401, "no-token")


def test_an_admin_brings_files_and_an_analyst_does_not(app, tokens, secret):
    more = raw_reports(SURVEY, 50)
    sink = io.BytesIO()
    pq.write_table(more, sink)
    path = "/v1/files?name=r.parquet"
    refused = ask(app, path, sink.getvalue(), client="127.0.0.1", authorization=secret)
    assert kind(refused) == (403, "not-allowed")
    own = {"client": "127.0.0.1", "authorization": f"Bearer {tokens.add('eve', 'admin')}"}
    taken = {"reports": 50, "repeats": 0, "skipped": 0, "known": False, "withdrawn": None}
    assert ask(app, path, sink.getvalue(), **own).json == taken
    assert ask(app, path, sink.getvalue(), **own).json == {**taken, "reports": 0, "known": True}
    assert kind(ask(app, "/v1/files?name=../x.exe", b"x", **own)) == (415, "unknown-type")
    for name in ("a%00b.parquet", "x" * 300 + ".parquet", "%F4%8D%A0%BD%0A.ndjson", "a.JSONL"):
        assert kind(ask(app, f"/v1/files?name={name}", b"PAR1", **own)) == (400, "wrong-question")
    for more in ("skip_invalid=1", "skip_invalid", "skip=true", "survey=a&survey=b"):
        assert kind(ask(app, f"{path}&{more}", b"PAR1", **own)) == (400, "wrong-question")
    damaged = ask(app, f"{path}&skip_invalid=false", b"PAR1", **own)
    assert kind(damaged) == (400, "wrong-question")
    assert damaged.json["error"] == "ReportError"
    assert app.store.sizes("app").sum() == 2050


def test_files_and_questions_have_a_size(app, tokens, secret, monkeypatch):
    sink = io.BytesIO()
    pq.write_table(raw_reports(SURVEY, 50), sink)
    own = {"client": "127.0.0.1", "authorization": f"Bearer {tokens.add('eve', 'admin')}"}
    parts = [sink.getvalue()[:-1], sink.getvalue()[-1:]]
    monkeypatch.setattr(analysts, "FILE_BYTES", len(sink.getvalue()) - 1)
    assert kind(ask(app, "/v1/files?name=r.parquet", parts, **own)) == (413, "too-large")
    assert app.store.sizes("app").sum() == 2000
    monkeypatch.setattr(analysts, "FILE_BYTES", len(sink.getvalue()))
    assert ask(app, "/v1/files?name=r.parquet", parts, **own).status == 200
    blank = b" " * (analysts.QUESTION_BYTES - len(SQL) - 10)
    for more, wanted in ((b"", (400, "wrong-question")), (b" " * 11, (413, "too-large"))):
        body = b'{"sql":"x"}' + blank + more + b" " * (len(SQL) - 1)
        answered = ask(app, "/v1/query", body, client="127.0.0.1", authorization=secret)
        assert kind(answered) == wanted


def test_files_and_made_up_people_have_a_deadline(app, tokens, secret, monkeypatch):
    for name in ("FILE_SECONDS", "SECONDS"):
        monkeypatch.setattr(analysts, name, 0.0)
    sink = io.BytesIO()
    pq.write_table(raw_reports(SURVEY, 50), sink)
    own = {"client": "127.0.0.1", "authorization": f"Bearer {tokens.add('eve', 'admin')}"}
    late = ask(app, "/v1/files?name=r.parquet", sink.getvalue(), **own)
    assert (late.status, late.json["error"]) == (400, "ReportError")
    assert "took longer than 0 s" in late.json["detail"]
    late = question(app, secret, "/v1/synthesize", rows=30, seed=1)
    assert (late.status, late.json["error"]) == (400, "NotSupportedError")
    monkeypatch.undo()
    assert app.store.sizes("app").sum() == 2000
    assert ask(app, "/v1/files?name=r.parquet", sink.getvalue(), **own).status == 200


def test_a_damaged_file_of_tokens_lets_nobody_in(app, tokens, secret):
    tokens.path.write_text("{}")
    assert kind(question(app, secret, sql=SQL)) == (503, "unavailable")


def test_made_up_people_come_as_a_table(app, secret):
    answer = question(app, secret, "/v1/synthesize", rows=30, seed=1)
    table = pa.ipc.open_stream(answer.body).read_all()
    assert (table.num_rows, table.column_names) == (30, ["age", "member"])
    assert question(app, secret, "/v1/synthesize", rows=30, seed=1).body == answer.body
    for asked in ({"rows": rows} for rows in (0, 10**7, "30", True)):
        assert kind(question(app, secret, "/v1/synthesize", **asked))[0] == 400
    for asked in ({"table": {}}, {"table": ["app"]}, {"seed": 0.5}, {"seed": -1}, {"table": "x"}):
        assert kind(question(app, secret, "/v1/synthesize", rows=1, **asked))[0] == 400


def test_surveys_are_listed_whole(app, secret):
    listed = ask(app, "/v1/tables", client="127.0.0.1", authorization=secret).json
    assert [each["table"] for each in listed["surveys"]] == ["app"]
    assert Survey.from_json(listed["surveys"][0]["text"]) == SURVEY


def test_what_a_small_batch_keeps_is_told(tokens, secret):
    survey = shuffled_survey()
    batch = shuffle_table(survey, raw_reports(survey, USERS))
    with answering(tokens, (survey, batch)) as (app, store):
        expected = Session(store).execute("SELECT COUNT(*) FROM app")
        answer = question(app, secret, accept=ARROW, sql="SELECT COUNT(*) FROM app")
        assert (
            unpack(answer.body, {survey.fingerprint: survey}.__getitem__, unasked).promised
            == expected.promised
        )


def test_counters_tell_reports_by_result_and_no_more(app, secret):
    lines = ask(app, "/metrics", client="127.0.0.1", authorization=secret).body.decode()
    assert "\nldpsql_waiting_reports 0\n" in lines
    report = {"id": "0" * 32, "report": "00", "public": {}}
    path = f"/v1/surveys/{SURVEY.fingerprint}/reports"
    assert ask(app, path, json.dumps(report).encode(), content_type="text/plain").status == 422
    lines = ask(app, "/metrics", client="127.0.0.1", authorization=secret).body.decode()
    assert 'ldpsql_reports_total{survey="app",result="refused"} 1\n' in lines
    reason = "its report is not the 8 hexadecimal digits of one of app"
    assert f'ldpsql_refused_reports_total{{survey="app",reason="{reason}"}} 1\n' in lines


def test_metrics_say_when_a_statement_ends(tokens, secret):
    """So that somebody is told in time: devices answer nothing afterwards."""
    key, today = published_key(), utc_today()
    survey = SURVEY.sign(key)
    with answering(tokens, (survey, raw_reports(survey, 10))) as (app, store):
        asked = {"client": "127.0.0.1", "authorization": secret}
        assert "seconds{" not in ask(app, "/metrics", **asked).body.decode()
        store.keep_statement(Statement.sign(survey, key, issued=today, until=date(2999, 12, 31)))
        lines = ask(app, "/metrics", **asked).body.decode()
    end = int(datetime(3000, 1, 1, tzinfo=UTC).timestamp())
    assert f'ldpsql_statement_end_timestamp_seconds{{survey="app"}} {end}\n' in lines


def test_a_question_ends_when_its_asker_leaves(app, secret):
    """Otherwise two of them would keep everybody waiting for as long as a question may take."""
    many = ", ".join(f"r AS r{i}" for i in range(8))
    sql = f"WITH r AS (SELECT age, COUNT(*) FROM app GROUP BY age) SELECT count(*) FROM {many}"
    body = json.dumps({"sql": sql, "timeout": 60}).encode()
    own = {"client": "127.0.0.1", "authorization": secret}
    start = time.monotonic()
    answers = [ask(app, "/v1/query", body, seconds=0.5, **own) for _ in range(2)]
    assert time.monotonic() - start < 60  # of 120
    assert [kind(answer) for answer in answers] == [(400, "wrong-question")] * 2
    assert question(app, secret, sql=SQL, parameters=[30]).status == 200
    late = question(app, secret, sql=sql, timeout=1)  # it would take long
    assert "took longer than 1 s" in late.json["detail"]


def test_few_large_answers_are_held_for_their_covariance(app, secret, monkeypatch):
    def held(sums, rows):
        columns = ", ".join(["COUNT(*)"] * sums)
        sql = f"SELECT {columns} FROM app WHERE age < {18 + rows} GROUP BY age"
        answer = question(app, secret, accept=ARROW, sql=sql)
        schema = pa.ipc.open_stream(answer.body).schema
        return json.loads(schema.metadata[b"ldpsql.dbapi.answer"])["handle"]

    def statuses(handles):
        paths = [f"/v1/answers/{handle}/estimates" for handle in handles]
        return [ask(app, p, client="127.0.0.1", authorization=secret).status for p in paths]

    monkeypatch.setattr(analysts, "MOST_NUMBERS", 10 * 2 * 3)
    small = [held(2, 5), held(2, 5)]
    assert statuses(small) == [200, 200]
    assert statuses([*small, held(1, 1)]) == [404, 200, 200]
    # The last one, however large it is.
    assert statuses([*small, held(3, 10)]) == [404, 404, 200]


def test_many_settings_keep_few_sessions(app, secret):
    for level in range(1, 30):
        answer = question(app, secret, sql="SELECT COUNT(*) FROM app", confidence=level / 30)
        assert math.isclose(answer.json["level"], level / 30)


def test_cells_come_as_people_read_them(app, secret):
    sql = "SELECT member, COUNT(*) AS n FROM app GROUP BY age, member"
    expected = Session(app.store).execute(sql)
    found = question(app, secret, sql=sql, texts=True).json
    assert found["texts"] == [list(row) for row in zip(*map(expected.texts, (0, 1)), strict=True)]
    assert found["texts"][0][0] == "false"
    assert " ± " in found["texts"][0][1]
    assert found["texts"][0][1].endswith(" ~")
    assert found["weak"] == expected.weak_notes() != []
    assert "texts" not in question(app, secret, sql=sql).json


def test_answers_come_as_files(app, secret):
    expected = Session(app.store).execute(SQL, [30]).distinct(intervals=True)
    answer = question(app, secret, accept=PARQUET, sql=SQL, parameters=[30])
    assert answer.headers["content-type"] == PARQUET
    assert answer.headers["ldpsql-reports"] == "2000"
    assert pq.read_table(io.BytesIO(answer.body)).equals(expected, check_metadata=True)
    answer = question(app, secret, accept=CSV, sql=SQL, parameters=[30])
    lines = answer.body.decode().splitlines()
    assert lines[0] == "member,n,n_stderr,n_low,n_high"
    assert [float(cell) for cell in lines[1].split(",")[1:]] == [
        column[0].as_py() for column in expected.columns[1:]
    ]


def heavy(app):
    """A question that goes on until its deadline."""
    many = ", ".join(f"r AS r{i}" for i in range(8))
    return f"WITH r AS (SELECT age, COUNT(*) FROM app GROUP BY age) SELECT count(*) FROM {many}"


def together(app, *requests):
    """The answers to several requests at once, each a path, a body and headers."""

    async def main():
        asked = []
        for path, body, headers in requests:
            asked.append(asyncio.create_task(http._ask(app, path, body, "", LOCAL, None, headers)))
            await asyncio.sleep(0.1)
        return await asyncio.gather(*asked)

    return asyncio.run(main())


LOCAL = ("127.0.0.1", "http")


def test_heavy_questions_of_one_token_leave_places_for_others_and_for_tables(app, tokens, secret):
    other = f"Bearer {tokens.add('ben', 'analyst')}"
    hold = json.dumps({"sql": heavy(app), "timeout": 4}).encode()
    quick = json.dumps({"sql": SQL, "parameters": [30], "timeout": 4}).encode()
    begun = time.monotonic()
    *held, mine, theirs, tables = together(
        app,
        *[("/v1/query", hold, {"authorization": secret})] * 2,
        ("/v1/query", quick, {"authorization": secret}),
        ("/v1/query", quick, {"authorization": other}),
        ("/v1/tables", None, {"authorization": secret}),
    )
    assert time.monotonic() - begun < 60
    assert [kind(answer) for answer in held] == [(400, "wrong-question")] * 2
    assert all("took longer than 4 s" in answer.json["detail"] for answer in held)
    assert kind(mine) == (429, "busy")  # after half of its time
    assert int(mine.headers["retry-after"]) >= 1
    assert (theirs.status, tables.status) == (200, 200)


async def send_slowly(app, name, token, pieces, pause):
    """The status of the answer to a file that comes in pieces with pauses."""
    sent, left = [], iter(pieces)

    async def receive():
        await asyncio.sleep(pause)
        piece = next(left, b"")
        return {"type": "http.request", "body": piece, "more_body": bool(piece)}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/files",
        "query_string": f"name={name}".encode(),
        "headers": [(b"authorization", token.encode())],
        "client": ("127.0.0.1", 1),
        "scheme": "http",
        "server": ("x", 80),
    }
    await app(scope, receive, send)
    return sent[0]["status"]


def report_file():
    sink = io.BytesIO()
    pq.write_table(raw_reports(SURVEY, 50), sink)
    return sink.getvalue()


def test_files_that_drip_are_cut_and_hold_up_no_other(app, tokens, monkeypatch):
    monkeypatch.setattr(bodies, "SECONDS", 1.0)
    sly, ray = (f"Bearer {tokens.add(name, 'relay')}" for name in ("sly", "ray"))

    async def main():
        foes = (send_slowly(app, "a.jsonl", sly, itertools.repeat(b"{"), 0.05) for _ in range(6))
        dripping = [asyncio.create_task(foe) for foe in foes]
        await asyncio.sleep(0.2)
        status = await send_slowly(app, "r.parquet", ray, [report_file()], 0.0)
        return status, await asyncio.gather(*dripping)

    assert asyncio.run(main()) == (200, [408] * 6)


def test_a_file_that_comes_fast_enough_may_take_longer_than_a_body(app, tokens, monkeypatch):
    monkeypatch.setattr(bodies, "SECONDS", 1.0)
    monkeypatch.setattr(bodies, "LEAST_BYTES", 100)
    whole, ray = report_file(), f"Bearer {tokens.add('ray', 'relay')}"
    size = len(whole) // 15 + 1
    assert size > bodies.LEAST_BYTES
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    begun = time.monotonic()
    assert asyncio.run(send_slowly(app, "r.parquet", ray, pieces, 0.1)) == 200
    assert time.monotonic() - begun > 1.0


def test_a_file_has_a_deadline_from_its_first_byte_on(app, tokens, monkeypatch):
    monkeypatch.setattr(analysts, "FILE_SECONDS", 0.5)
    ray = f"Bearer {tokens.add('ray', 'relay')}"
    pieces = itertools.repeat(b"x" * bodies.LEAST_BYTES)
    assert asyncio.run(send_slowly(app, "r.jsonl", ray, pieces, 0.05)) == 408


def test_json_is_written_piece_by_piece_as_in_one():
    rows = [[n, f'"é\u2028{n}', None, n / 7] for n in range(3_000)]
    said = {"rows": rows, "notes": ["a"], "few": [], "deep": {"x": rows}}
    assert json.loads(write_json(said)) == said
