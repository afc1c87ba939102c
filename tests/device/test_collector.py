"""What a device and a collector say to each other: surveys, statements, reports, and failures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from support.surveys import ANYTHING
from support.vectors import published_key, small_survey

from ldpsql_device import collector as module
from ldpsql_device.answer import respond
from ldpsql_device.collector import Collector
from ldpsql_device.errors import InterfaceError, OperationalError, SurveyError
from ldpsql_device.policy import Policy
from ldpsql_device.reports import Report
from ldpsql_device.statement import Statement
from ldpsql_device.survey import Survey, utc_today

KEY = published_key()
TEXT = small_survey().sign(KEY).device_text
OTHER = small_survey().device_text
SURVEY = Survey.from_json(TEXT)
PINNED = Policy(20, max_delta=1, disclosure=True, no_guarantee=True, authors=[KEY.author])
NAMED = f'{{"fingerprint":"{SURVEY.fingerprint}"}}'
PAGE = f"/v1/surveys/{SURVEY.fingerprint}"

Says = Callable[[str, bytes], tuple[int, bytes, dict[str, str]]]


@contextmanager
def answering(says: Says) -> Iterator[str]:
    """The address of something that answers a path and a body so."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, text, headers = says(self.path, body)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(text)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def handing_out(table: str, survey: str) -> Says:
    texts = {"/v1/tables/app": table, PAGE: survey}

    def says(path: str, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        return (200, texts[path].encode(), {}) if path in texts else (404, b"", {})

    return says


def always(status: int, text: bytes = b"", **headers: str) -> Says:
    return lambda path, body: (status, text, {k.replace("_", "-"): v for k, v in headers.items()})


def reports(count: int) -> list[Report]:
    return [respond(SURVEY, {}, policy=ANYTHING) for _ in range(count)]


def test_a_survey_is_fetched_with_the_statement_that_a_policy_demands() -> None:
    today = utc_today()
    said = Statement.sign(SURVEY, KEY, issued=today, until=today + timedelta(30))
    with answering(handing_out(said.text, TEXT)) as address:
        assert Collector(f"{address}/").fetch("app", policy=PINNED) == (SURVEY, said)
        assert Collector(address).fetch("app", policy=ANYTHING) == (SURVEY, None)


def test_without_a_statement_a_pinned_author_is_not_enough() -> None:
    """A collector could hand out an earlier survey of the same author."""
    with answering(handing_out(NAMED, TEXT)) as address:
        assert Collector(address).fetch("app", policy=ANYTHING) == (SURVEY, None)
        with pytest.raises(SurveyError, match="not a statement signed by an author"):
            Collector(address).fetch("app", policy=PINNED)


def test_another_survey_than_the_named_one_is_refused() -> None:
    with (
        answering(handing_out(NAMED, OTHER)) as address,
        pytest.raises(SurveyError, match="another survey than the one it names"),
    ):
        Collector(address).fetch("app", policy=ANYTHING)


@pytest.mark.parametrize("answer", ["", "[]", "<html>", "{}", "[" * 99999])
def test_what_is_not_a_collector_is_named_one_thing(answer: str) -> None:
    with (
        answering(always(200, answer.encode())) as address,
        pytest.raises(OperationalError, match="does not answer as a collector does"),
    ):
        Collector(address).fetch("app", policy=ANYTHING)


def test_what_cannot_be_reached_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(handing_out(NAMED, TEXT)) as address:
        with pytest.raises(OperationalError, match="has no tables/a%2Fb"):
            Collector(address).fetch("a/b", policy=ANYTHING)
        monkeypatch.setattr(module, "LARGEST_SURVEY", 100)
        with pytest.raises(SurveyError, match="answers with more than"):
            Collector(address).fetch("app", policy=ANYTHING)
    with pytest.raises(OperationalError, match="cannot reach http://127"):
        Collector(address).fetch("app", policy=ANYTHING)
    for url in ("collect.example", "file:///etc/passwd", "http://", "http://[x", "https://a:b@c"):
        with pytest.raises(InterfaceError, match="address looks like https"):
            Collector(url)


def test_reports_are_sent_in_bodies_that_a_collector_takes() -> None:
    sent, bodies = reports(1100), list[bytes]()

    def says(path: str, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        assert path == f"{PAGE}/reports"
        bodies.append(body)
        return 200, b"", {}

    with answering(says) as address:
        assert Collector(address).send(SURVEY, sent) == module.Delivery(1100, 0, [])
        assert Collector(address).send(SURVEY, []) == module.Delivery(0, 0, [])
    lines = [line for body in bodies for line in body.decode().splitlines()]
    assert lines == sorted(report.to_json() for report in sent)
    assert len(bodies) > 1
    assert all(len(b) <= 1 << 16 and b.count(b"\n") <= 1000 for b in bodies)


def test_what_a_collector_refuses_is_not_sent_again() -> None:
    sent = reports(3)
    for says, refused in (
        (always(200, b'{"refused":[{"line":1,"reason":"x"}]}'), 1),
        (always(422), 3),
        (always(410), 3),
    ):
        with answering(says) as address:
            assert Collector(address).send(SURVEY, sent) == module.Delivery(3, refused, [])


def test_what_nobody_acknowledged_waits() -> None:
    sent = sorted(reports(3), key=lambda report: report.id)
    with answering(always(200)) as elsewhere:
        for says, pause in (
            (always(503, Retry_After="7"), 7),
            (always(429, Retry_After="-1"), 0),
            (always(503, Retry_After="9" * 8), 3600),
            (always(200, b"<html>Please log in</html>"), 0),
            (always(302, Location=elsewhere), 0),
            (always(301, Location=elsewhere), 0),
            (always(307, Location=elsewhere), 0),
            (always(404), 0),
            (always(500), 0),
        ):
            with answering(says) as address:
                found = Collector(address).send(SURVEY, sent)
            assert found == module.Delivery(0, 0, sent, pause)
    assert Collector(address).send(SURVEY, sent) == module.Delivery(0, 0, sent)


def test_what_came_before_a_failure_is_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_REPORTS", 2)
    sent = sorted(reports(5), key=lambda report: report.id)
    answers = iter([200, 200, 503])
    with answering(lambda path, body: (next(answers), b"", {})) as address:
        assert Collector(address).send(SURVEY, sent) == module.Delivery(4, 0, sent[4:])


def test_nothing_is_sent_past_an_answer_that_acknowledges_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A network that asks to log in may let what follows through, and all the same it waits."""
    monkeypatch.setattr(module, "MOST_REPORTS", 2)
    sent = sorted(reports(5), key=lambda report: report.id)
    answers = iter([b"", b"<html>Please log in</html>", b""])
    with answering(lambda path, body: (200, next(answers), {})) as address:
        assert Collector(address).send(SURVEY, sent) == module.Delivery(2, 0, sent[2:])
