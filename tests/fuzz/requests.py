"""Requests to a collector: every address of it, with changed methods, headers and bodies."""

from __future__ import annotations

import asyncio
import io
import json
import math
import random
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from fuzz.harness import Case, Door, Finding
from fuzz.mutate import TEXTS, change_bytes, change_tree, change_value
from support.http import ask
from support.mutations import mutate
from support.shuffled_survey import SCHEMA, raw_reports

from ldpsql.server.analysts import ARROW, CSV, PARQUET
from ldpsql.server.app import make_app
from ldpsql.server.tokens import Tokens
from ldpsql.server.writer import Writer
from ldpsql.sql.lookups import PublicTable
from ldpsql.store import open_store
from ldpsql.survey import Survey

_STATEMENTS = (
    "SELECT member, COUNT(*) AS n FROM app WHERE age >= ? GROUP BY member",
    "SELECT COUNT(*) FROM app JOIN regions USING (member)",
    "SELECT AVG(age), MEDIAN(age) FROM app",
    "SELECT * FROM regions",
)
_QUESTION = {
    "sql": _STATEMENTS[0],
    "parameters": [3],
    "confidence": 0.9,
    "timeout": 2,
    "one_population": False,
    "census": False,
    "texts": True,
    "estimator": None,
    "weights": [{"name": "m", "columns": ["member", "people"], "rows": [["true", "5"]]}],
}
_HEADERS = (
    "accept",
    "content_type",
    "content_encoding",
    "origin",
    "if_none_match",
    "host",
    "range",
)
_DESCRIPTION = Path(__file__).parents[2] / "src" / "ldpsql" / "server" / "openapi.json"
_OTHERS = {200, 304, 400, 404, 405}
"""Answers of addresses that the description does not name: the page, and nothing."""


@cache
def _survey() -> Survey:
    return Survey.of("app", SCHEMA, "2", "hio")


class Requests(Door):
    """Requests by everybody and by an admin.

    Each is answered with a status that openapi.json names for its address. JSON is JSON, refusals
    are problem documents, and a store has taken a file whole or has taken nothing of it.
    """

    name = "requests"
    is_private = False
    seconds = 4.0

    def __init__(self) -> None:
        self._opened = ExitStack()
        folder = self._opened.enter_context(tempfile.TemporaryDirectory())
        tokens = Tokens.beside(Path(folder, "s.duckdb"))
        self._token = tokens.add("eve", "admin")
        self._store = self._opened.enter_context(open_store(None, read_only=False))
        self._store.ingest_table(raw_reports(_survey(), 300), _survey())
        regions = pa.table({"member": [True, False], "region": ["=N", "<S>"]})
        self._store.add_lookup(PublicTable.of("regions", regions))
        self._runner = self._opened.enter_context(asyncio.Runner())
        writer = Writer(self._store, "http")
        self._opened.callback(writer.close)
        self._app = make_app(self._store, writer, tokens, origins=["*"])
        said = json.loads(_DESCRIPTION.read_text(encoding="utf-8"))["paths"]
        self._statuses = {
            (path, method.upper()): {int(status) for status in operation["responses"]}
            for path, operations in said.items()
            for method, operation in operations.items()
            if method in ("get", "post")
        }

    def draw(self, chosen: random.Random) -> Case:
        path, method = chosen.choice([*self._statuses])
        if chosen.random() < 0.4:
            path, method = "/v1/query", "POST"
        headers: dict[str, str] = {}
        if chosen.random() < 0.9:
            headers["authorization"] = "Bearer"
        for name in _HEADERS:
            if chosen.random() < 0.1:
                values = (
                    *(ARROW, CSV, PARQUET, "*/*", "text/html", "gzip", "null", "bytes=0-"),
                    *TEXTS,
                )
                headers[name] = chosen.choice(
                    [v for v in values if v.isascii() and v.isprintable()]
                )
        query, body = "", None
        if path == "/v1/files":
            query, body = self._file(chosen)
        elif method == "POST":
            body = self._body(chosen, path)
        if body is not None and chosen.random() < 0.2:
            body = change_bytes(chosen, body)
        for name, value in {
            "{fingerprint}": _survey().fingerprint,
            "{table}": "app",
            "{name}": "regions",
            "{handle}": "abc",
        }.items():
            path = path.replace(name, _change_word(chosen, value))
        if chosen.random() < 0.05:
            path = f"/{quote(change_bytes(chosen, path.encode()))}"
        if chosen.random() < 0.03:
            method = chosen.choice(("GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "X"))
        return {"method": method, "path": path + query, "headers": headers, "body": body}

    def _body(self, chosen: random.Random, path: str) -> bytes:
        data: Any = {"sql": "SELECT 1"}
        if path == "/v1/synthesize":
            data = {"table": "app", "rows": 5, "seed": 1}
        elif path in ("/v1/query", "/v1/explain"):
            kept = [name for name in _QUESTION if name == "sql" or chosen.random() < 0.3]
            data = {name: _QUESTION[name] for name in {*kept, "timeout"}}
            data["sql"] = chosen.choice((chosen.choice(_STATEMENTS), mutate(chosen, _STATEMENTS)))
        if chosen.random() < 0.7:
            data = change_tree(chosen, json.loads(json.dumps(data)))
        return json.dumps(data).encode()

    def _file(self, chosen: random.Random) -> tuple[str, bytes]:
        sink, reports = io.BytesIO(), raw_reports(_survey(), 3)
        ids = pa.array([chosen.randbytes(16) for _ in range(3)], reports["ldpsql_id"].type)
        place = reports.column_names.index("ldpsql_id")
        pq.write_table(reports.set_column(place, reports.field(place), ids), sink)
        given = {"name": "a.parquet"}
        if chosen.random() < 0.5:
            given["survey"] = _survey().fingerprint
        for name in ("skip_invalid", "accept_smaller_batch"):
            if chosen.random() < 0.3:
                given[name] = chosen.choice(("true", "false", "1", ""))
        if chosen.random() < 0.3:
            name = chosen.choice([*given])
            given[name] = str(change_value(chosen, given[name]))
        pairs = (f"{k}={quote(v.encode('utf-8', 'surrogatepass'))}" for k, v in given.items())
        data = sink.getvalue()
        return f"?{'&'.join(pairs)}", change_bytes(chosen, data) if chosen.random() < 0.6 else data

    def put(self, case: Case) -> str:
        headers = dict(case["headers"])
        if "authorization" in headers:  # which every collector has its own
            headers["authorization"] = f"Bearer {self._token}"
        before = self._reports()
        body, method, path = case["body"], case["method"], case["path"]
        answer = ask(
            self._app, path, body, method=method, client="127.0.0.1", runner=self._runner, **headers
        )
        came = self._reports() - before
        named = self._find_statuses(path.partition("?")[0], "GET" if method == "HEAD" else method)
        if answer.status not in named:
            raise Finding(f"{method} {path} is answered {answer.status}: {answer.body[:2000]!r}")
        kind = answer.headers.get("content-type", "")
        said: Any = None
        if "json" in kind and method != "HEAD":
            said = json.loads(answer.body, parse_constant=_refuse)
            _require_finite(said)
        if answer.status >= 400 and method not in ("HEAD", "OPTIONS"):
            if kind.startswith("application/problem+json") and said["status"] != answer.status:
                raise Finding(f"{answer.status} says {said}")
            if came:
                raise Finding(f"{came} reports taken and {answer.status} answered: {said}")
        elif method == "POST" and path.startswith("/v1/files"):
            wanted = 0 if said["known"] else said["reports"]
            if came != wanted:
                raise Finding(f"{came} reports taken, and {said} said")
        elif came and "/reports" not in path:
            raise Finding(f"{came} reports came by {path}")
        return f"{answer.status} {kind.partition(';')[0]}"

    def _find_statuses(self, path: str, method: str) -> set[int]:
        """The statuses of an address by the description, where it describes one."""
        parts = path.split("/")
        for (known, its), statuses in self._statuses.items():
            names = known.split("/")
            alike = (
                name == part or name[:1] == "{" for name, part in zip(names, parts, strict=False)
            )
            if its == method and len(names) == len(parts) and all(alike):
                return statuses
        return _OTHERS

    def _reports(self) -> int:
        return int(self._store.sizes("app").sum())

    def close(self) -> None:
        self._opened.close()


def _change_word(chosen: random.Random, word: str) -> str:
    """A word of an address, at times another one."""
    if chosen.random() < 0.8:
        return word
    return quote(str(change_value(chosen, word)).encode("utf-8", "surrogatepass"))[:2000]


def _refuse(constant: str) -> None:
    raise Finding(f"JSON that holds {constant}")


def _require_finite(said: Any) -> None:
    """Finding for a number within that JSON reads as infinite, such as 1e400."""
    values = said.values() if isinstance(said, dict) else said if isinstance(said, list) else ()
    for value in values:
        _require_finite(value)
    if isinstance(said, float) and not math.isfinite(said):
        raise Finding(f"JSON that holds {said}")
