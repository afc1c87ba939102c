"""The page that docs/collect.md shows."""

from __future__ import annotations

import shutil
from functools import partial
from http.server import ThreadingHTTPServer
from threading import Thread

from support.browser import CLIENT, QuietSite
from support.http import serving
from support.surveys import category, integer, measure, survey_toml
from support.transcripts import ROOT, find_file

from ldpsql.designer import design
from ldpsql.store import open_store
from ldpsql_device.reports import read_report
from ldpsql_device.survey import Survey

PLACE, MODULE = "https://collect.example", "./ldpsql.min.js"
TOML = survey_toml(
    integer("age", 17, 90),
    category("sex", "Female", "Male"),
    measure("hours_per_week", 0, 80),
    table="people",
    epsilon="2",
    mechanism="hgrr",
)
ANSWERED = "() => document.querySelector('[role=status]').textContent === 'Thank you.'"


def test_it_says_what_is_asked_and_sends_one_report(person, tmp_path):
    """A second answer of the same person is no second report."""
    design(TOML).write(tmp_path / "people.json")
    shutil.copytree(CLIENT, tmp_path / "site" / "client")
    text = find_file((ROOT / "docs" / "collect.md").read_text(encoding="utf-8"), "page.html")
    assert text.count(PLACE) == text.count(MODULE) == 1
    site = partial(QuietSite, directory=str(tmp_path / "site"))
    given = ["--db", str(tmp_path / "s.duckdb"), "--survey", str(tmp_path / "people.json")]
    with ThreadingHTTPServer(("127.0.0.1", 0), site) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        origin = f"http://127.0.0.1:{server.server_port}"
        with serving(*given, "--origin", origin) as (process, address):
            text = text.replace(PLACE, address).replace(MODULE, "./client/index.js")
            (tmp_path / "site" / "page.html").write_text(text)
            page = person.open(f"{origin}/page.html")
            page.wait_for_function("() => survey.textContent.startsWith('Survey people')")
            assert page.text_content("[role=status]") == ""
            for age in ("41", "17"):
                page.fill("[name=age]", age)
                page.fill("[name=hours_per_week]", "38")
                page.click("button")
                page.wait_for_function(ANSWERED)
            [body] = [own.post_data for own in person.requests if own.post_data]
            read_report(body.strip(), Survey.from_json(tmp_path / "people.json"))
            process.terminate()
            assert process.wait(10) == 0
        server.shutdown()
    with open_store(tmp_path / "s.duckdb", read_only=True) as store:
        assert int(store.sizes("people").sum()) == 1
