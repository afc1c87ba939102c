"""A collector's address in the place of a file."""

from __future__ import annotations

import json
import socket
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.command_line import run
from support.http import serving
from support.shuffled_survey import SCHEMA, raw_reports

import ldpsql
from ldpsql.algebra.estimate import Estimates
from ldpsql.errors import Place, QueryError
from ldpsql.server.remote import TOKEN, RemoteSession, RemoteStore
from ldpsql.server.tokens import Tokens
from ldpsql.server.wire import pack_estimates, read_stream, write_stream
from ldpsql.sql.lookups import PublicTable
from ldpsql.store import open_store
from ldpsql.survey import Survey
from ldpsql_device.errors import (
    FingerprintError,
    InterfaceError,
    NotSupportedError,
    ReportError,
    StoreError,
)

SURVEY = Survey.of("app", SCHEMA, "2", "hio")
SQL = "SELECT member, COUNT(*) AS n FROM app WHERE age >= ? GROUP BY member ORDER BY member"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A collector's address, tokens of an analyst and an admin, and its database as it began."""
    folder = tmp_path_factory.mktemp("served")
    db, copy = folder / "s.duckdb", folder / "copy.duckdb"
    reports = raw_reports(SURVEY, 3000)
    for path in (db, copy):
        with open_store(path, read_only=False) as store:
            store.ingest_table(reports, SURVEY)
            store.add_lookup(PublicTable.of("regions", {"age": [18, 19], "half": ["low", "high"]}))
    tokens = Tokens.beside(db)
    with serving("--db", str(db)) as (_, address):
        yield address, tokens.add("ann", "analyst"), tokens.add("eve", "admin"), copy


@pytest.fixture
def remote(served):
    with ldpsql.connect(served[0], token=served[1]) as connection:
        yield connection


def test_a_covariance_is_asked_for_as_long_as_the_answer_is_held(served, remote):
    held, asked = remote.execute(SQL, [30]), remote.session.store.ask
    expected = held.estimates.covariance
    for level in range(70):
        remote.session.execute("SELECT COUNT(*) FROM app WHERE age < ?", [19 + level % 20])
    with pytest.raises(StoreError, match="does not hold this answer any more; ask the question"):
        held.estimates  # noqa: B018
    assert (remote.execute(SQL, [30]).estimates.covariance == expected).all()
    with pytest.raises(StoreError, match="does not hold"):
        asked("/v1/answers/none/estimates")


def test_a_covariance_of_very_many_estimates_is_refused():
    many = Estimates.exact([0.0] * 2001)
    with pytest.raises(
        NotSupportedError, match=r"covariance of 2,001 estimates is too large for HTTP"
    ):
        pack_estimates(many)


def test_an_answer_that_leads_out_of_itself_is_none():
    """A collector that sends such a stream would end the process of who asks it."""
    texts = pa.array(["abc", "de"])
    whole = write_stream(pa.table({"0": texts}))
    assert read_stream(whole)["0"].to_pylist() == ["abc", "de"]
    offsets = np.array([0, 3, 5], dtype="i4").tobytes()
    assert whole.count(offsets) == 1
    for wrong in ([0, 3, 1 << 30], [0, -9, 5], [4, 3, 5]):
        broken = whole.replace(offsets, np.array(wrong, dtype="i4").tobytes())
        with pytest.raises(pa.ArrowInvalid):
            read_stream(broken)


def test_errors_are_those_of_the_file(remote):
    with pytest.raises(QueryError, match="agee") as caught:
        remote.execute("SELECT COUNT(*) FROM app\nWHERE agee > 3")
    assert caught.value.place == Place(2, 7, 4)
    assert caught.value.caret().splitlines()[1].strip() == "^^^^"
    with pytest.raises(QueryError, match="cannot be this value of type bytes at 1:39"):
        remote.execute("SELECT COUNT(*) FROM app WHERE age >= ?", [b"x"])


def test_an_admin_brings_reports_and_repeats_count_once(served, remote, tmp_path):
    address, _, admin, _ = served
    more = raw_reports(SURVEY, 70)
    pq.write_table(more, tmp_path / "r.parquet")
    with pytest.raises(StoreError, match="token of a relay or an admin"):
        remote.ingest(tmp_path / "r.parquet")
    with ldpsql.connect(address, token=admin) as connection:
        [batch] = connection.ingest(tmp_path)
        assert (batch.name, batch.reports, batch.repeats) == (str(tmp_path / "r.parquet"), 70, 0)
        [table] = connection.ingest(more.slice(10), survey=SURVEY)
        assert (table.name, table.reports, table.repeats) == ("the table", 0, 60)
        pq.write_table(more.drop_columns(["ldpsql_id"]), tmp_path / "r.parquet")
        with pytest.raises(ReportError, match=r"^r\.parquet: its reports have no ids"):
            connection.ingest(tmp_path)
        other = Survey.of("other", SCHEMA, "1", "hio")
        with pytest.raises(FingerprintError):
            connection.ingest(raw_reports(other, 5))
        with pytest.raises(FingerprintError, match="does not have its survey"):
            connection.ingest(raw_reports(other, 5).replace_schema_metadata(None), survey=other)
        with pytest.raises(NotSupportedError, match="keep counts where"):
            connection.ingest(tmp_path, keep="counts")


def test_who_cannot_get_in_is_told_why(served):
    address = served[0]
    with pytest.raises(StoreError, match=f"give a token .*set {TOKEN}"):
        ldpsql.connect(address, token="wrong").execute("SELECT COUNT(*) FROM app")
    with pytest.raises(InterfaceError, match="over https only"):
        ldpsql.connect("http://collect.example", token="x")
    for wrong in (
        "https://[x",
        "https://\u2100/",
        "http://127.0.0.1:x",
        "https://a:secret@b/",
        "https://",
    ):
        with pytest.raises(InterfaceError, match="address looks like https") as caught:
            ldpsql.connect(wrong, token="x")
        assert "secret" not in str(caught.value)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(StoreError, match=r"cannot reach .*refused"):
        ldpsql.connect(f"http://127.0.0.1:{port}", token="x").execute("SELECT COUNT(*) FROM app")
    with pytest.raises(StoreError, match="is not a collector"):
        RemoteStore(f"{address}/healthz", "x").ask("/nothing")


@contextmanager
def listening(status, location=None, body=b"<html", wait=None):
    """A server that answers everything alike: its address, and the tokens that it was shown."""
    shown = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            shown.append(self.headers["Authorization"])
            self.rfile.read(int(self.headers["Content-Length"] or 0))
            self.send_response(status)
            if location:
                self.send_header("Location", location)
            if wait:
                self.send_header("Retry-After", wait)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", shown
        server.shutdown()


def test_a_token_follows_no_redirection(tmp_path):
    with (
        listening(200) as (elsewhere, leaked),
        listening(302, f"{elsewhere}/v1/tables") as (address, shown),
    ):
        with pytest.raises(StoreError, match="redirects elsewhere; give the address"):
            RemoteStore(address, "secret").surveys()
        assert shown == ["Bearer secret"]
        assert leaked == []


def test_a_token_within_the_machine_goes_through_no_proxy(monkeypatch):
    with listening(200) as (proxy, leaked), listening(200) as (address, shown):
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, proxy)
        monkeypatch.delenv("no_proxy", raising=False)
        with pytest.raises(StoreError, match="does not answer as a collector"):
            RemoteStore(address, "secret").surveys()
        with pytest.raises(StoreError, match="cannot reach"):
            RemoteStore("https://collect.example", "secret").surveys()
        assert shown == ["Bearer secret"]
        assert not any(leaked)


def test_what_is_no_collector_is_said_to_be_none(tmp_path):
    pq.write_table(raw_reports(SURVEY, 5), tmp_path / "r.parquet")
    with listening(200) as (address, _):
        for ask in ("surveys", "lookups", "synthesize", "ingest"):
            given = [[tmp_path / "r.parquet"]] if ask == "ingest" else []
            with pytest.raises(
                StoreError, match="does not answer as a collector does; check the address"
            ):
                getattr(RemoteStore(address, "x"), ask)(*given)


def test_an_answer_that_is_too_large_or_compressed_within_is_not_read(monkeypatch):
    sink = pa.BufferOutputStream()
    table = pa.table({"a": np.zeros(1_000_000)})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as stream:
        stream.write_table(table)
    packed = sink.getvalue().to_pybytes()
    assert len(packed) < 100_000
    with listening(200, body=packed) as (address, _):
        with pytest.raises(StoreError, match="does not answer as a collector does"):
            RemoteStore(address, "x").synthesize()
        with pytest.raises(InterfaceError, match="answer"):
            RemoteSession(RemoteStore(address, "x")).execute("SELECT 1")
    deep = b"[" * 100_000
    for status, said in ((200, "does not answer as a collector does"), (400, "is not a collector")):
        with listening(status, body=deep) as (address, _), pytest.raises(StoreError, match=said):
            RemoteStore(address, "x").surveys()
    monkeypatch.setattr(ldpsql.server.remote, "LARGEST_ANSWER", len(packed) - 1)
    too_large = pytest.raises(StoreError, match=r"answers with more than \d+ bytes; ask for less")
    with listening(200, body=packed) as (address, _), too_large:
        RemoteStore(address, "x").synthesize()


def test_what_a_collector_says_does_nothing_to_the_terminal():
    said = {"detail": "x", "error": "QueryError", "reason": "a\x1b]0;b\x07\x9b2Jc", "hint": "d"}
    with listening(400, body=json.dumps(said).encode()) as (address, _):
        answer = run("SELECT 1", "--db", address)
    assert answer.exit_code == 1
    assert answer.stderr == "ldpsql: error: a ]0;b 2Jc; d\n"


@pytest.mark.parametrize("token", ["a\nHost: b", "schlüssel"])
def test_a_token_is_a_word(served, token, monkeypatch):
    with pytest.raises(InterfaceError, match="a token is a word"):
        RemoteStore(served[0], token)
    monkeypatch.setenv(TOKEN, f"{served[1]}\n")  # as a file's content is
    assert [survey.table for survey in RemoteStore(served[0], None).surveys()] == ["app"]


@pytest.mark.slow
def test_the_command_line_takes_an_address_for_a_file(served, tmp_path, monkeypatch):
    address, token, admin, copy = served
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(TOKEN, token)
    sql = "SELECT member, COUNT(*) > 0 AS there FROM app GROUP BY member ORDER BY member"
    ours, theirs = (run(sql, "--db", str(db), "--format", "json") for db in (address, copy))
    assert ours.exit_code == theirs.exit_code == 0, ours.stderr
    assert json.loads(ours.stdout)["rows"] == json.loads(theirs.stdout)["rows"]
    assert run("explain", sql, "--db", address).exit_code == 0
    shell = run("shell", "--db", address, text=f".tables\n.schema app\n{sql};\n")
    assert shell.stdout.startswith("app\nregions (look-up table)\napp\n  age")
    made = run("synthesize", "--db", address, "-n", "20", "--seed", "1", "-o", "made.csv")
    assert (made.exit_code, len((tmp_path / "made.csv").read_text().splitlines())) == (0, 21)
    assert "note: " in made.stderr
    pq.write_table(raw_reports(SURVEY, 5), tmp_path / "r.parquet")
    assert run("ingest", "r.parquet", "--db", address).exit_code == 3
    monkeypatch.setenv(TOKEN, admin)
    assert run("ingest", "r.parquet", "--db", address).stderr == "r.parquet: 5 reports\n"
    assert run("ingest", "r.parquet", "--db", address).stderr == "r.parquet: already there\n"


BUSY = b'{"type": "urn:ldpsql:error:busy", "detail": "too many questions at once"}'


@pytest.mark.parametrize(
    ("wait", "slept"),
    [("7", [7, 7, 7, 7]), ("0", [1] * 29), ("31", []), ("9" * 5000, []), ("-1", []), (None, [])],
)
def test_a_question_that_is_refused_for_a_while_is_sent_again_in_its_time(monkeypatch, wait, slept):
    pauses = []
    clock = SimpleNamespace(monotonic=lambda: float(sum(pauses)), sleep=pauses.append)
    monkeypatch.setattr("ldpsql.server.remote.time", clock)
    with (
        listening(429, body=BUSY, wait=wait) as (address, shown),
        pytest.raises(StoreError, match="too many questions at once"),
    ):
        RemoteStore(address, "secret").ask("/v1/query", b"{}", seconds=30.0)
    assert pauses == slept
    assert len(shown) == len(slept) + 1
