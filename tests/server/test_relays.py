"""Arrow streams of reports, which relays bring."""

from __future__ import annotations

import io
import json
import os

import pyarrow as pa
import pytest
from support.collecting import collecting
from support.http import ask
from support.planned_survey import both_texts, device_reports

from ldpsql.reports.arrow_types import FINGERPRINT_KEY, ID_COLUMN
from ldpsql.server import devices, writer
from ldpsql.server.bodies import ARROW
from ldpsql.server.tokens import Tokens
from ldpsql.server.writer import Writer
from ldpsql.store import open_store
from ldpsql.store.incoming import check_stream
from ldpsql.store.intake import Intake

SURVEY = Intake.read(both_texts())
PATH = f"/v1/surveys/{SURVEY.fingerprint}/reports"


@pytest.fixture
def relay(tmp_path, monkeypatch):
    """Sends a table, or bytes; the store behind it is its attribute."""
    monkeypatch.setattr(writer, "SECONDS", 0.0)
    tokens = Tokens.beside(tmp_path / "s.duckdb")
    secrets = {role: f"Bearer {tokens.add(role, role)}" for role in ("relay", "analyst")}
    with collecting(SURVEY, tokens=tokens) as (app, store):

        def send(sent, role="relay", client="127.0.0.1"):
            body = sent if isinstance(sent, bytes) else stream(sent)
            headers = {"authorization": secrets[role]} if role else {}
            return ask(app, PATH, body, content_type=ARROW, client=client, **headers)

        send.store, send.app = store, app
        yield send


def stream(table, compression=None):
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as out:
        out.write_table(table)
    return sink.getvalue().to_pybytes()


def counted(relay):
    return int(relay.store.sizes("people").sum())


def refusal(answer):
    return answer.status, answer.json["type"].removeprefix("urn:ldpsql:error:")


def test_a_stream_is_counted_once_whatever_brings_its_reports_again(relay):
    table = device_reports(3000)
    for sent in (table, table.slice(500), pa.concat_tables([table, table])):
        answer = relay(sent)
        assert (answer.status, answer.body) == (200, b"")
    assert counted(relay) == 3000
    own = table.column(ID_COLUMN)[0].as_py().hex()
    digits = sum(width // 4 for width in SURVEY.format.widths)
    again = {"id": own, "report": "0" * digits, "public": {"shop": "north"}}
    assert ask(relay.app, PATH, json.dumps(again).encode(), content_type="text/plain").status == 200
    assert counted(relay) == 3000


def test_the_others_are_taken_where_some_rows_are_no_reports(relay):
    table = device_reports(5)
    ids = table.column(ID_COLUMN).to_pylist()
    ids[2] = None
    place = table.column_names.index(ID_COLUMN)
    answer = relay(table.set_column(place, ID_COLUMN, pa.array(ids, pa.binary(16))))
    assert answer.json == {
        "refused": [{"line": 3, "reason": "its id is not 32 hexadecimal digits"}]
    }
    assert counted(relay) == 4
    none = pa.array([None] * 5, pa.binary(16))
    assert refusal(relay(table.set_column(place, ID_COLUMN, none))) == (422, "no-reports")


def test_only_a_relay_sends_streams(relay):
    table = device_reports(1)
    assert refusal(relay(table, role=None)) == (401, "no-token")
    assert refusal(relay(table, role="analyst")) == (403, "not-allowed")
    assert refusal(relay(table, client="203.0.113.9")) == (403, "needs-https")
    assert counted(relay) == 0


def test_what_is_no_stream_of_reports_is_refused(relay, monkeypatch):
    table = device_reports(3)
    more = table.append_column("secret", pa.array(["S3CRET"] * 3))
    other = table.replace_schema_metadata({FINGERPRINT_KEY: b"0" * 64})
    for sent in (
        b"",
        b"PAR1",
        os.urandom(200),
        stream(table)[:-60],
        stream(table).replace(b"shop", b"sh\xf5p"),  # the name of a column that is no text
        more,
        table.drop_columns([ID_COLUMN]),
        table.drop_columns(["ldpsql_question"]),
        table.drop_columns(["shop"]),
        table.set_column(0, table.column_names[0], pa.array(["1"] * 3)),
        pa.concat_tables([table] * 7000),
        other,
    ):
        answer = relay(sent)
        assert refusal(answer) == (422, "no-reports")
        assert "S3CRET" not in answer.body.decode()
    assert refusal(relay(table.slice(0, 0))) == (400, "empty")
    monkeypatch.setattr(devices, "RELAY_BYTES", 100)
    assert refusal(relay(table)) == (413, "too-large")
    assert counted(relay) == 0


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_what_is_compressed_within_is_refused_before_it_is_read(relay, monkeypatch, compression):
    def read(_):
        raise AssertionError("it was read")

    table = device_reports(3)
    encoded = table.set_column(
        table.column_names.index("shop"), "shop", table["shop"].dictionary_encode()
    )
    sent = [stream(each, compression) for each in (table, encoded)]
    monkeypatch.setattr(pa.ipc, "open_stream", read)
    for each in sent:
        answer = relay(each)
        assert refusal(answer) == (422, "no-reports")
        assert "compressed on the inside" in answer.json["detail"]


def test_the_compression_of_arrow_0_17_is_refused_before_it_is_read(relay):
    """It stands among a message's own metadata, which Arrow still honours."""
    table, sink = device_reports(3), io.BytesIO()
    options = pa.ipc.IpcWriteOptions(metadata_version=pa.ipc.MetadataVersion.V4)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        own = {"ARROW:experimental_compression": "zstd"}
        writer.write_batch(table.to_batches()[0], custom_metadata=own)
    answer = relay(sink.getvalue())
    assert refusal(answer) == (422, "no-reports")
    assert "compressed on the inside" in answer.json["detail"]


def test_a_text_that_many_rows_share_is_refused(relay):
    """Written out, twenty thousand rows of one text of 4 MB would be 80 GB."""
    table = device_reports(20)
    place, shop = table.column_names.index("shop"), table["shop"]
    for column in (shop.dictionary_encode(), shop.cast(pa.string_view())):
        answer = relay(table.set_column(place, "shop", column))
        assert refusal(answer) == (422, "no-reports")
        assert "'shop' shares texts" in answer.json["detail"]
    assert counted(relay) == 0


def test_streams_and_lines_are_committed_together_and_each_is_told_its_own(monkeypatch):
    monkeypatch.setattr(writer, "SECONDS", 5.0)
    monkeypatch.setattr(writer, "REPORTS", 12)
    table = device_reports(20)
    checked, _ = check_stream(SURVEY, "", stream(table.slice(0, 8)), 100)
    digits = sum(width // 4 for width in SURVEY.format.widths)

    def line(row):
        own = table.column(ID_COLUMN)[row].as_py().hex()
        report = {"id": own, "report": "0" * digits, "public": {"shop": None}}
        return json.dumps(report).encode()

    bodies = [[b"{}", line(9)], checked, [line(3), b"[]"]]

    with open_store(None, read_only=False) as store:
        store.register(SURVEY)
        own = Writer(store, "http")
        told = [done.result() for done in [own.submit(SURVEY, body) for body in bodies]]
        own.close()
        assert [[place for place, _ in each] for each in told] == [[0], [], [1]]
        assert dict(own.counts) == {
            ("people", "counted"): 9,
            ("people", "repeats"): 1,
            ("people", "refused"): 2,
        }
        assert int(store.sizes("people").sum()) == 9
