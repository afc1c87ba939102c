"""What devices ask of a collector, and what it answers."""

from __future__ import annotations

import asyncio
import gzip
import json
from datetime import date

import pytest
from support.collecting import collecting
from support.http import ask
from support.planned_survey import both_texts, device_text
from support.shuffled_survey import shuffled_survey
from support.surveys import ANYTHING

from ldpsql.server import bodies, writer
from ldpsql.server.devices import Devices
from ldpsql.store.intake import Intake
from ldpsql_device.answer import respond
from ldpsql_device.errors import StoreError
from ldpsql_device.survey import Survey, canonical, sha256

SURVEY, OWN = Survey.from_json(device_text()), Intake.read(both_texts())
REPORTS = f"/v1/surveys/{SURVEY.fingerprint}/reports"
NDJSON = {"content_type": "application/x-ndjson"}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Commits at once."""
    monkeypatch.setattr(writer, "SECONDS", 0.0)


@pytest.fixture
def app():
    with collecting(OWN) as (made, store):
        made.store = store
        yield made


def line(shop="north"):
    return respond(SURVEY, {"age": 3, "shop": shop}, policy=ANYTHING).to_json().encode()


def people(app):
    return int(app.store.sizes("people").sum())


def refusal(answer):
    said = answer.json
    assert answer.headers["content-type"] == "application/problem+json"
    assert said["status"] == answer.status
    return answer.status, said["type"].removeprefix("urn:ldpsql:error:")


def test_a_survey_is_found_by_its_table_and_handed_out_as_its_fingerprint_covers_it(app):
    found = ask(app, "/v1/tables/PEOPLE")
    assert found.json == {"fingerprint": SURVEY.fingerprint}
    assert found.headers["cache-control"] == "public, max-age=300"
    survey = ask(app, f"/v1/surveys/{SURVEY.fingerprint}")
    assert sha256(survey.body.decode()) == SURVEY.fingerprint
    assert "immutable" in survey.headers["cache-control"]
    packed = ask(app, f"/v1/surveys/{SURVEY.fingerprint}", accept_encoding="br, gzip")
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == survey.body
    again = ask(app, f"/v1/surveys/{SURVEY.fingerprint}", if_none_match=survey.headers["etag"])
    assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize(
    "path", ["/v1/tables/shop", f"/v1/surveys/{'0' * 64}", f"/v1/surveys/{'0' * 64}/reports"]
)
def test_an_unknown_survey_is_not_found(app, path):
    body = line() if path.endswith("reports") else None
    assert refusal(ask(app, path, body, **NDJSON)) == (404, "unknown-survey")


def test_requests_that_come_at_once_read_their_survey_once(app, monkeypatch):
    """Many devices are there as soon as a collector starts."""
    looked, find = [], app.store.intake_of
    monkeypatch.setattr(app.store, "intake_of", lambda own: (looked.append(own), find(own))[1])
    devices = Devices(app.store, None, None, None, None)

    async def together():
        return await asyncio.gather(*(devices._find(SURVEY.fingerprint) for _ in range(200)))

    assert len(set(map(id, asyncio.run(together())))) == 1
    assert looked == [SURVEY.fingerprint]


def test_a_survey_that_comes_later_is_found(app):
    later = Intake.read(canonical({**json.loads(device_text()), "table": "later"}))
    assert ask(app, f"/v1/surveys/{later.fingerprint}").status == 404
    app.store.register(later)
    assert ask(app, f"/v1/surveys/{later.fingerprint}").status == 200


@pytest.mark.parametrize("kind", ["application/x-ndjson", "text/plain;charset=UTF-8"])
def test_reports_are_counted_once_in_one_body_and_in_two(app, kind):
    first, second = line(), line()
    body = b"\n".join([first, second, first, b""])
    for _ in range(2):
        answer = ask(app, REPORTS, body, content_type=kind)
        assert (answer.status, answer.body) == (200, b"")
        assert people(app) == 2
    assert ask(app, REPORTS, line(), content_type=kind).status == 200
    assert people(app) == 3


def test_the_others_are_taken_where_some_lines_are_no_reports(app):
    bad = {**json.loads(line()), "report": "ffff"}
    body = b"\n".join([b"[1]", line(), json.dumps(bad).encode()])
    answer = ask(app, REPORTS, body, **NDJSON)
    assert answer.status == 200
    assert answer.json == {
        "refused": [
            {"id": None, "line": 1, "reason": "it is not a JSON object with distinct keys"},
            {"id": bad["id"], "line": 3, "reason": "ldpsql_question is out of range"},
        ]
    }
    assert people(app) == 1
    none = ask(app, REPORTS, b"{}\n[1]", **NDJSON)
    assert refusal(none) == (422, "no-reports")
    assert [each["line"] for each in none.json["refused"]] == [1, 2]


@pytest.mark.fast(4)
@pytest.mark.parametrize(
    "value", ["NaN", "1e3", "0.5", "9007199254740993.5", "Infinity", '"7"', "1e999", "9" * 5000]
)
def test_numbers_that_are_not_of_a_column_s_type_are_refused_and_not_repeated(value):
    published = json.loads(device_text())
    published["schema"]["public"] = [{"name": "n", "type": "int"}]
    survey = Intake.read(canonical(published))
    path = f"/v1/surveys/{survey.fingerprint}/reports"
    with collecting(survey) as (app, store):
        body = b'{"id":"%s","report":"0000","public":{"n":%s}}'
        # A refusal repeats the identifier, so no identifier may hold one of the values.
        for own, good in ((b"a", b"-0"), (b"b", b"9007199254740993"), (b"c", b"null")):
            assert ask(app, path, body % (own * 32, good), **NDJSON).body == b""
        answer = ask(app, path, body % (b"d" * 32, value.encode()), **NDJSON)
        assert refusal(answer) == (422, "no-reports")
        assert value.encode() not in answer.body
        assert store.sizes("people").sum() == 3


@pytest.mark.parametrize(
    "row", ['{"id":"0","id":"0"}', '{"a":' * 3000, "", "\x00", '{"id":"\\ud800"}', "\ufeff[]"]
)
def test_what_is_no_json_object_is_refused(app, row):
    answer = ask(app, REPORTS, row.encode() + b"\n", **NDJSON)
    assert refusal(answer)[0] == (422 if row else 400)
    assert people(app) == 0


def test_bodies_are_limited_in_bytes_and_reports(app):
    full = (line() + b"\n").ljust(1 << 16, b" ")
    assert ask(app, REPORTS, full, **NDJSON).status == 200
    for body in (full + b" ", [full, b" "], [b" " * (1 << 15)] * 3):
        assert refusal(ask(app, REPORTS, body, **NDJSON)) == (413, "too-large")
    declared = ask(app, REPORTS, b"", content_length=str((1 << 16) + 1), **NDJSON)
    assert refusal(declared) == (413, "too-large")
    assert refusal(ask(app, REPORTS, b"1\n" * 1001, **NDJSON)) == (413, "too-large")
    assert refusal(ask(app, REPORTS, b"1\n" * 1000, **NDJSON)) == (422, "no-reports")
    assert people(app) == 1


def test_compressed_bodies_are_counted_as_they_grow(app):
    body = line()
    packed = gzip.compress(body)
    for parts in (packed, [packed[:9], packed[9:]]):
        assert ask(app, REPORTS, parts, content_encoding="gzip", **NDJSON).status == 200
    assert people(app) == 1
    bomb = gzip.compress(bytes(1 << 26), 9)
    for wrong, kind in (
        (gzip.compress(b" " * ((1 << 16) + 1)), (413, "too-large")),
        ([bomb[:50_000], bomb[50_000:]], (413, "too-large")),
        (packed[:-4], (400, "no-gzip")),
        (packed + packed, (400, "no-gzip")),
        (body, (400, "no-gzip")),
    ):
        assert refusal(ask(app, REPORTS, wrong, content_encoding="gzip", **NDJSON)) == kind
    assert refusal(ask(app, REPORTS, body, content_encoding="br", **NDJSON)) == (
        415,
        "unknown-coding",
    )


@pytest.mark.parametrize("kind", ["", "image/png", "multipart/form-data", "application/xml"])
def test_bodies_of_other_types_are_refused(app, kind):
    answer = ask(app, REPORTS, line(), content_type=kind)
    assert refusal(answer) == (415, "unknown-type")


def test_a_body_that_does_not_come_is_not_waited_for(app, monkeypatch):
    monkeypatch.setattr(bodies, "SECONDS", 0.05)

    async def slowly(scope, receive, send):
        async def never():
            import asyncio  # noqa: PLC0415

            await asyncio.sleep(60)

        await app(scope, never, send)

    assert refusal(ask(slowly, REPORTS, line(), **NDJSON)) == (408, "too-slow")


def test_a_survey_that_ended_is_closed(monkeypatch):
    published = {**json.loads(device_text()), "validity": {"until": "2026-03-01"}}
    ended = Intake.read(canonical(published))
    path = f"/v1/surveys/{ended.fingerprint}/reports"
    body = b'{"id":"%032x","report":"0000","public":{"shop":null}}'
    with collecting(ended) as (app, store):
        for day, status in ((date(2026, 3, 1), 200), (date(2026, 3, 2), 410)):
            for place in ("store.store", "server.devices"):
                monkeypatch.setattr(f"ldpsql.{place}.utc_today", lambda day=day: day)
            assert ask(app, path, body % day.day, **NDJSON).status == status
        assert store.sizes("people").sum() == 1


def test_reports_that_were_promised_a_shuffler_are_not_taken():
    survey = shuffled_survey()
    with collecting(survey) as (app, _):
        path = f"/v1/surveys/{survey.fingerprint}/reports"
        assert refusal(ask(app, path, line(), **NDJSON)) == (403, "wrong-door")


def test_a_full_disk_is_said_and_the_next_reports_are_taken(app, monkeypatch):
    with monkeypatch.context() as patch:

        def full(*_):
            raise StoreError("the store cannot be used: no space left on device /secret")

        patch.setattr(app.store, "take", full)
        answer = ask(app, REPORTS, line(), **NDJSON)
        assert refusal(answer) == (503, "not-kept")
        assert answer.headers["retry-after"] == "30"
        assert b"secret" not in answer.body
    assert ask(app, REPORTS, line(), **NDJSON).status == 200
    assert people(app) == 1


def test_more_than_may_wait_is_refused_at_once(app, monkeypatch):
    monkeypatch.setattr(writer, "WAITING", 1)
    answer = ask(app, REPORTS, line() + b"\n" + line(), **NDJSON)
    assert refusal(answer) == (503, "busy")
    assert answer.headers["retry-after"] == "30"
    assert ask(app, REPORTS, line(), **NDJSON).status == 200


def test_more_than_a_survey_may_be_sent_waits(monkeypatch):
    """100 at once, and 10 a second; what one survey is sent is nothing to another."""
    now = [1000.0]
    monkeypatch.setattr("ldpsql.server.rates.time.monotonic", lambda: now[0])
    other = Intake.read(canonical({**json.loads(device_text()), "table": "other"}))
    with collecting(OWN, other, rate=10.0) as (app, store):

        def post(count, path=REPORTS):
            return ask(app, path, b"\n".join(line() for _ in range(count)), **NDJSON)

        assert [post(60).status, post(40).status] == [200, 200]
        refused = post(25)
        assert refusal(refused) == (429, "too-many")
        assert refused.headers["retry-after"] == "3"
        assert post(1, f"/v1/surveys/{other.fingerprint}/reports").status == 200
        now[0] += 2.5
        assert [post(25).status, post(1).status] == [200, 429]
        now[0] += 1e6
        assert [post(300).status, post(1).status] == [200, 429]  # more than it holds, when empty
        now[0] += 10.0
        assert post(1).status == 429
        now[0] += 10.2
        assert post(1).status == 200
        assert int(store.sizes("people").sum()) == 60 + 40 + 25 + 300 + 1


def test_an_app_may_ask_for_an_attestation():
    def by_header(request):
        return request.headers.get("authorization") == "token 7"

    async def later(request):
        return by_header(request)

    for attest in (by_header, later):
        with collecting(OWN, attest=attest) as (app, _):
            assert refusal(ask(app, REPORTS, line(), **NDJSON)) == (403, "not-attested")
            good = ask(app, REPORTS, line(), authorization="token 7", **NDJSON)
            assert good.status == 200


def test_pages_of_named_sites_may_send():
    asked = {"origin": "https://app.example", "access_control_request_method": "POST"}
    with collecting(OWN, origins=["https://app.example"]) as (app, _):
        allowed = ask(
            app, REPORTS, method="OPTIONS", access_control_request_headers="content-type", **asked
        )
        assert allowed.status == 200
        assert allowed.headers["access-control-allow-origin"] == "https://app.example"
        assert allowed.headers["access-control-max-age"] == "86400"
        other = ask(app, REPORTS, method="OPTIONS", **{**asked, "origin": "https://other.example"})
        assert "access-control-allow-origin" not in other.headers
        sent = ask(app, REPORTS, line(), origin="https://app.example", **NDJSON)
        assert sent.headers["access-control-allow-origin"] == "https://app.example"


def test_a_fault_says_nothing_of_the_request(app, monkeypatch, capsys):
    def fails(*_):
        raise ValueError("SECRET")

    monkeypatch.setattr("ldpsql.server.devices.Devices._require_door", fails)
    answer = ask(app, REPORTS, line(), **NDJSON)
    assert refusal(answer) == (500, "failed")
    said = capsys.readouterr()
    assert "SECRET" not in said.out + said.err + answer.body.decode()
    assert "ValueError" in said.err


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/tables/people", None),
        (f"/v1/surveys/{SURVEY.fingerprint}", None),
        (REPORTS, b"{}"),
        ("/v1/surveys", None),
    ],
)
def test_a_store_that_cannot_be_read_is_no_fault_of_the_request(app, monkeypatch, path, body):
    def fails(*_):
        raise StoreError("cannot read /SECRET")

    for name in ("intake", "intake_of", "intakes"):
        monkeypatch.setattr(app.store, name, fails)
    answer = ask(app, path, body, **NDJSON)
    assert refusal(answer) == (503, "unavailable")
    assert answer.headers["retry-after"] == "30"
    assert b"SECRET" not in answer.body


def test_the_collector_says_that_it_is_well(app):
    assert ask(app, "/healthz").json == {"status": "ok", "waiting": 0}
