"""A browser that is on this machine, driven by playwright, and a running collector before it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from support.http import fetch, serving
from support.surveys import boolean, category, dimension, integer, measure, public, survey_toml

from ldpsql.designer import design
from ldpsql.server.tokens import Tokens
from ldpsql.survey import Survey
from ldpsql_device.signature import SigningKey

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
CLIENT = Path(__file__).parents[2] / "clients" / "js" / "src"
SITE = Path(__file__).parents[1] / "browser" / "site"
SECONDS = 60
"""The longest wait for a page, on a machine that has other things to do."""

APP = survey_toml(
    integer("age", 18, 90, label="How old are you?"),
    category("state", "CA", "NY", "WA"),
    boolean("member"),
    public("version", "text"),
    mechanism="hio",
)
MARKUP = '<img src=x onerror="document.title=1">'
ODD = survey_toml(
    category("kind", MARKUP, "b", label=f"Which {MARKUP}"),
    dimension("born", "date", range=[date(1920, 1, 1), date(2010, 12, 31)], unit="month"),
    measure("spent", 0, 500),
    public("amount", "float"),
    table="odd",
    label=f"Odd {MARKUP}",
    mechanism="hgrr",
)
"""A signed survey whose texts would be markup, if they were not escaped."""


def find_browser() -> str | None:
    """The browser of this machine, or the one that LDPSQL_BROWSER names."""
    return os.environ.get("LDPSQL_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


@dataclass
class Watched:
    """A person's browser: its pages share what is kept, and what they ask for is written down."""

    context: Any
    requests: list[Any] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def note(self, request: Any) -> None:
        """Write a request down."""
        self.requests.append(request)

    def open(self, url: str) -> Any:
        """A page, loaded."""
        page = self.context.new_page()
        page.set_default_timeout(1000 * SECONDS)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.goto(url)
        return page


@contextmanager
def visit(chromium: Any, **options: Any) -> Iterator[Watched]:
    """The same with options of the browser, such as `viewport` and `color_scheme`."""
    own = Watched(chromium.new_context(**options))
    own.context.on("request", own.note)
    yield own
    own.context.close()
    assert own.problems == []


@dataclass(frozen=True)
class Running:
    """A collector that runs, and a site of an app with the client."""

    address: str
    site: str
    token: str
    surveys: dict[str, Survey]
    key: SigningKey

    def ask(self, path: str, body: bytes | None = None) -> Any:
        """What it answers to an analyst."""
        return fetch(f"{self.address}{path}", body, authorization=f"Bearer {self.token}")

    def counts(self) -> dict[str, int]:
        """How many reports came so far, by survey and what became of them, as /metrics has it."""
        lines = self.ask("/metrics").body.decode().splitlines()
        rows = (line.removeprefix("ldpsql_reports_total").split() for line in lines)
        return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[0].startswith("{")}


class QuietSite(SimpleHTTPRequestHandler):
    """Files of a folder."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class _Site(QuietSite):
    """The site's own files, and the client's."""

    def translate_path(self, path: str) -> str:
        if path.startswith("/client/"):
            return str(CLIENT / Path(path).name)
        return super().translate_path(path)


@contextmanager
def run_collector(folder: Path) -> Iterator[Running]:
    """A collector of its own process, as `ldpsql serve` starts it, and a site on another port."""
    key = SigningKey.create(folder / "key.pem")
    signed = design(ODD).sign(key)
    surveys = {survey.table: survey for survey in (design(APP), signed)}
    arguments = ["--db", str(folder / "s.duckdb")]
    for survey in surveys.values():
        (folder / f"{survey.table}.json").write_text(survey.to_json())
        arguments += ["--survey", str(folder / f"{survey.table}.json")]
    token = Tokens.beside(folder / "s.duckdb").add("ann", "analyst")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Site, directory=str(SITE))) as site:
        Thread(target=site.serve_forever, daemon=True).start()
        origin = f"http://127.0.0.1:{site.server_port}"
        with serving(*arguments, "--origin", origin) as (_, address):
            yield Running(address, origin, token, surveys, key)
        site.shutdown()
