"""The page: what is served at `/`, with which headers, and that packages hold all of it."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from support.collecting import collecting
from support.http import ask
from support.shuffled_survey import SCHEMA, raw_reports

from ldpsql.server.page_files import HEADERS, page_files
from ldpsql.survey import Survey

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "src" / "ldpsql" / "server" / "page"
CLIENT = ROOT / "clients" / "js" / "src"


@pytest.fixture(scope="module")
def app():
    survey = Survey.of("people", SCHEMA, "2", "hio")
    with collecting((survey, raw_reports(survey, 10))) as (made, _):
        yield made


def test_the_page_is_at_the_root(app):
    answer = ask(app, "/")
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.body == (PAGE / "index.html").read_bytes() == ask(app, "/index.html").body


def test_every_answer_says_that_nothing_from_elsewhere_runs(app):
    for address in page_files():
        answer = ask(app, address)
        assert answer.status == 200
        for name, value in HEADERS.items():
            assert answer.headers[name.lower()] == value
    policy = dict(part.split(" ", 1) for part in HEADERS["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


def test_files_name_no_other_place():
    for place in PAGE.glob("*.*"):
        text = place.read_text()
        assert not re.search(r"(?:src|href)=[\"']?(?:https?:|//)", text), place
        for imported in re.findall(
            r"^(?:import|export) (?:[^;\"']* from )?[\"'](.*?)[\"'];", text, re.MULTILINE
        ):
            assert imported.startswith("./"), (place, imported)
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|eval\(", text), place
        if place.suffix == ".html":
            assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", text)


def test_what_is_known_is_not_sent_again(app):
    tag = ask(app, "/page.js").headers["etag"]
    again = ask(app, "/page.js", if_none_match=tag)
    assert (again.status, again.body) == (304, b"")
    assert tag != ask(app, "/ask.js").headers["etag"]
    packed = ask(app, "/page.js", accept_encoding="gzip, br")
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == ask(app, "/page.js").body


@pytest.mark.parametrize(
    "address",
    ["/none.js", "/../app.py", "/client/../../app.py", "//etc/passwd", "/vendor", "/%00", "/v1/x"],
)
def test_nothing_else_of_the_disk_is_served(app, address):
    answer = ask(app, address)
    assert (answer.status, answer.json["type"]) == (404, "urn:ldpsql:error:unknown-address")


@pytest.mark.parametrize("address", ["/", "/healthz"])
def test_what_is_read_only_refuses_a_body(app, address):
    answer = ask(app, address, b"x")
    assert (answer.status, answer.json["type"]) == (405, "urn:ldpsql:error:wrong-method")
    assert {"GET", "HEAD"} == set(answer.headers["allow"].split(", "))


def test_the_page_has_the_client_itself(app):
    for place in CLIENT.glob("*.js"):
        assert ask(app, f"/client/{place.name}").body == place.read_bytes()
