"""The page: what is served at `/`, with which headers, and that packages hold all of it."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from support.http import ask
from support.shuffled_survey import SCHEMA, raw_reports

from ldpsql.server.app import make_app
from ldpsql.server.page_files import HEADERS, page_files
from ldpsql.server.writer import Writer
from ldpsql.store import open_store
from ldpsql.survey import Survey

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "src" / "ldpsql" / "server" / "page"
CLIENT = ROOT / "clients" / "js" / "src"


@pytest.fixture(scope="module")
def app():
    survey = Survey.of("people", SCHEMA, "2", "hio")
    with open_store(None, read_only=False) as store:
        store.ingest_table(raw_reports(survey, 10), survey)
        own = Writer(store, "http")
        yield make_app(store, own)
        own.close()


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


def test_packages_hold_the_page(tmp_path):
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [wheel], [archive] = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as file:
        built = {name: file.read(name) for name in file.namelist()}
    with tarfile.open(archive) as file:
        sources = {name.partition("/")[2] for name in file.getnames()}
        links = [member.name for member in file.getmembers() if member.issym()]
    assert not links
    for address, own in page_files().items():
        name = "index.html" if address == "/" else address.removeprefix("/")
        assert built[f"ldpsql/server/page/{name}"] == own.content
        assert f"src/ldpsql/server/page/{name}" in sources
    assert "ldpsql/server/page/vendor/LICENSES.txt" in built
