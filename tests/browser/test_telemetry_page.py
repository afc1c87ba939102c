"""The page of examples/telemetry, which counts its events and shows what was sent."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import ThreadingHTTPServer
from threading import Thread

from support.browser import CLIENT, QuietSite
from support.http import serving
from support.transcripts import ROOT

from ldpsql.designer import design
from ldpsql.store import open_store
from ldpsql_device.survey import Survey

EXAMPLE = ROOT / "examples" / "telemetry"
PLACE = "https://collect.example"


def test_a_week_is_counted_and_answered_once_it_has_ended(person, tmp_path):
    toml = (EXAMPLE / "words.toml").read_text(encoding="utf-8")
    every_week = "".join(line for line in toml.splitlines(True) if not line.startswith("sample"))
    design(every_week).write(tmp_path / "words.json")
    shutil.copytree(CLIENT, tmp_path / "site" / "client")
    text = (EXAMPLE / "page.html").read_text(encoding="utf-8")
    assert text.count(PLACE) == 1
    given = ["--db", str(tmp_path / "s.duckdb"), "--survey", str(tmp_path / "words.json")]
    site = partial(QuietSite, directory=str(tmp_path / "site"))
    with ThreadingHTTPServer(("127.0.0.1", 0), site) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        origin = f"http://127.0.0.1:{server.server_port}"
        with serving(*given, "--origin", origin) as (process, address):
            (tmp_path / "site" / "page.html").write_text(text.replace(PLACE, address))
            page = visit(person, f"{origin}/page.html", timedelta(weeks=1))
            page.fill("textarea", "a few words")
            page.check("[name=longest]")
            page.click("button")
            page.wait_for_function("() => document.querySelector('output').value === '3, words'")
            page.wait_for_timeout(1_500)  # it is kept within a second
            assert page.text_content("#given") == "Nothing."
            page.close()
            assert not [own for own in person.requests if own.post_data]
            page = visit(person, f"{origin}/page.html", timedelta())
            page.wait_for_function("() => given.textContent.includes('epsilon')")
            page.close()
            [body] = [own.post_data for own in person.requests if own.post_data]
            process.terminate()
            assert process.wait(10) == 0
        server.shutdown()
    survey = Survey.from_json((tmp_path / "words.json").read_text(encoding="utf-8"))
    last = datetime.now(UTC).date() - timedelta(weeks=1)
    assert json.loads(body)["public"]["period"] == str(survey.schedule.period_of(last))
    with open_store(tmp_path / "s.duckdb", read_only=True) as store:
        assert int(store.sizes("words").sum()) == 1


def visit(person, url, ago):
    """The page, by a clock that was right some time ago."""
    page = person.context.new_page()
    page.clock.install(time=datetime.now(UTC) - ago)
    page.on("pageerror", lambda error: person.problems.append(str(error)))
    page.goto(url)
    return page
