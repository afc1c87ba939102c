"""A collector at an address: `ldpsql serve` answers what a store in a file would.

Questions are answered there, from the reports that it holds now; what comes back is an answer with
its error bars.
"""

from __future__ import annotations

import http.client
import json
import os
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote, urlencode, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from ldpsql import errors
from ldpsql.algebra.estimate import CONFIDENCE, Estimates
from ldpsql.engine.collector import AnsweringStore
from ldpsql.engine.result import Result
from ldpsql.engine.session import require_settings
from ldpsql.engine.sources import RESPONDENTS, Sources
from ldpsql.errors import Located, Place, QueryError
from ldpsql.limits import SECONDS
from ldpsql.parser import Parameters
from ldpsql.server.wire import NO_ANSWER, parameters_to_json, read_stream, unpack, unpack_estimates
from ldpsql.sql.lookups import PublicTable
from ldpsql.store.incoming import SUFFIXES
from ldpsql.store.intake import Intake, expand
from ldpsql.store.rules import Batch
from ldpsql.survey import Survey
from ldpsql_device import errors as device_errors
from ldpsql_device.collector import open_directly
from ldpsql_device.errors import DatabaseError, Error, InterfaceError, NotSupportedError, StoreError
from ldpsql_device.statement import Statement

TOKEN = "LDPSQL_TOKEN"
"""The variable of the environment that holds a token, where none is given."""
_ARROW = "application/vnd.apache.arrow.stream"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_GRACE, _LONGEST_WAIT = 30.0, 4
LARGEST_ANSWER, _LARGEST_REFUSAL = 1 << 30, 1 << 20
"""Bytes of what a collector may answer; an answer has at most a million rows."""


class RemoteStore(AnsweringStore):
    """A running collector, with its surveys and reports."""

    def __init__(self, url: str, token: str | None) -> None:
        """token: of an analyst; LDPSQL_TOKEN by default. InterfaceError where it would travel in
        clear to another machine, and for one that no token looks like."""
        self._opener, parts = open_directly(url), urlsplit(url)
        if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
            raise InterfaceError(f"{url} is not https, and a token is sent over https only")
        self.url, self._token = url.rstrip("/"), (token or os.environ.get(TOKEN, "")).strip()
        if not (self._token.isascii() and self._token.isprintable()):
            raise InterfaceError(
                f"a token is a word of letters and digits; check {TOKEN} or token="
            )
        self._texts: dict[str, tuple[str, str]] = {}
        self._surveys: dict[str, Survey] = {}

    @classmethod
    def open_address(cls, url: str, token: str | None) -> RemoteStore:
        """As the class itself."""
        return cls(url, token)

    def open_session(self, **settings: Any) -> RemoteSession:
        """A session with this collector; settings as of a `Session`."""
        return RemoteSession(self, **settings)

    def surveys(self) -> list[Survey]:
        """All surveys that can be asked, by name."""
        self._look()
        return [self._read(fingerprint) for fingerprint in self._texts]

    def survey(self, table: str) -> Survey:
        """One survey; QueryError if there is none of that name."""
        self._look()
        for fingerprint, (name, _) in self._texts.items():
            if name.lower() == table.lower():
                return self._read(fingerprint)
        names = ", ".join(name for name, _ in self._texts.values()) or "none yet"
        raise QueryError(f"there is no survey {table!r:.60}", hint=f"the store has: {names}")

    def of_fingerprint(self, fingerprint: str) -> Survey:
        """One survey; LookupError if there is none."""
        if fingerprint not in self._texts:
            self._look()
        return self._read(fingerprint)

    def ingest(
        self,
        paths: Sequence[str | Path],
        *,
        survey: Survey | Intake | None = None,
        tell: Callable[[Batch], None] | None = None,
        progress: Callable[[int, int | None], None] | None = None,
        keep: str = "reports",
        shufflers: Sequence[str] = (),
        **options: Any,
    ) -> list[Batch]:
        """Have files of reports taken, as `Store.ingest` takes them; it needs the token of a relay.

        survey: one that the collector has.  progress: called with how many files are sent.
        NotSupportedError for keep="counts", and for shufflers.
        """
        if shufflers:
            raise NotSupportedError(
                "a collector names its shufflers where it runs (serve --shuffler-key)"
            )
        if keep != "reports":
            raise NotSupportedError("a collector keeps reports; keep counts where the database is")
        given = {key: "true" for key, value in options.items() if value}
        if survey is not None:
            given["survey"] = Intake.of(survey).fingerprint
        batches = list[Batch]()
        files = expand(paths, SUFFIXES)
        for sent, path in enumerate(files):
            if progress is not None:
                progress(sent, len(files))
            query = urlencode({"name": path.name, **given}, quote_via=quote)
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                said = self.ask(f"/v1/files?{query}", file, length=size)
            with self._expecting():
                batches.append(Batch(str(path), **json.loads(said)))
            if tell is not None:
                tell(batches[-1])
        return batches

    def keep_statement(self, statement: Statement) -> None:
        """Have what an author says of a table handed out, as `Store.keep_statement`; it needs the
        token of an admin."""
        self.ask("/v1/statements", statement.text.encode())

    def synthesize(
        self, rows: int | None = None, table: str | None = None, seed: int | None = None
    ) -> pa.Table:
        """A table of made-up people; see `Connection.synthesize`."""
        asked = {"rows": rows, "table": table, "seed": seed}
        data = self.ask("/v1/synthesize", json.dumps(asked).encode())
        with self._expecting():
            return read_stream(data)

    def ask(
        self,
        path: str,
        body: Any = None,
        *,
        sql: str = "",
        seconds: float = SECONDS,
        length: int | None = None,
        accept: str = "*/*",
    ) -> bytes:
        """The collector's answer; the error that it tells of, or StoreError where it cannot be
        reached, does not let us in, or stays too busy for so many seconds."""
        headers = {"Authorization": f"Bearer {self._token}", "Accept": accept}
        if length is not None:
            headers["Content-Length"] = str(length)
        request = urllib.request.Request(f"{self.url}{path}", body, headers)
        ends = time.monotonic() + min(seconds, SECONDS)
        try:
            with self._opener.open(request, timeout=seconds + _GRACE) as response:
                data = cast(bytes, response.read(LARGEST_ANSWER + 1))
        except urllib.error.HTTPError as error:
            refusal, wait = error.read(_LARGEST_REFUSAL), error.headers.get("Retry-After", "")
            is_told = wait.isascii() and wait.isdecimal() and len(wait) < _LONGEST_WAIT
            pause, left = max(int(wait), 1) if is_told else 0, ends - time.monotonic()
            # A file would have to be sent from its beginning.
            if error.code == 429 and length is None and 0 < pause < left:
                time.sleep(pause)
                return self.ask(path, body, sql=sql, seconds=left - pause, accept=accept)
            raise self._tell(error.code, refusal, sql) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            said = getattr(reason, "strerror", None) or type(reason).__name__
            raise StoreError(f"cannot reach {self.url}: {said}; check that it runs") from None
        if len(data) > LARGEST_ANSWER:
            raise StoreError(
                f"{self.url} answers with more than {LARGEST_ANSWER:,} bytes; ask for less"
            )
        return data

    @contextmanager
    def _expecting(self) -> Iterator[None]:
        """StoreError where an answer is not what a collector says."""
        try:
            yield
        except NO_ANSWER:
            raise StoreError(
                f"{self.url} does not answer as a collector does; check the address"
            ) from None

    def _tell(self, status: int, body: bytes, sql: str) -> Exception:
        if status // 100 == 3:
            return StoreError(f"{self.url} redirects elsewhere; give the address of the collector")
        try:
            said = json.loads(body)
            detail, name = str(said["detail"]), said.get("error")
            is_elsewhere = said.get("type") == "urn:ldpsql:error:unknown-address"
        except (ValueError, LookupError, TypeError, RecursionError):
            is_elsewhere = True
        if is_elsewhere:
            return StoreError(
                f"{self.url} is not a collector (it answers {status}); check the address"
            )
        if not isinstance(name, str):
            way_out = f"; set {TOKEN}, or give token=" if status == 401 else ""
            return StoreError(f"{self.url}: {detail}{way_out}")
        kind: Any = {**vars(device_errors), **vars(errors)}.get(name)
        if not (isinstance(kind, type) and issubclass(kind, Error)):
            return DatabaseError(detail)
        if not issubclass(kind, Located):
            return kind(detail)
        place = Place(*said["place"]) if "place" in said else None
        return kind(said.get("reason", detail), sql=sql, place=place, hint=said.get("hint", ""))

    def ingest_table(
        self, reports: pa.Table, survey: Survey | Intake | None = None, **options: Any
    ) -> Batch:
        """The same for reports in memory."""
        with tempfile.TemporaryDirectory(prefix="ldpsql-") as folder:
            path = Path(folder, "table.parquet")
            pq.write_table(reports, path)
            try:
                [batch] = self.ingest([path], survey=survey, **options)
            except Error as error:
                raise type(error)(str(error).replace(path.name, "the table")) from None
        return replace(batch, name="the table")

    def add_lookup(self, table: PublicTable, *, replace: bool = False) -> None:
        """Not offered: NotSupportedError."""
        raise _not_here("look-up tables are kept")

    def remove_lookup(self, name: str) -> None:
        """Not offered: NotSupportedError."""
        raise _not_here("look-up tables are kept")

    def lookups(self) -> list[PublicTable]:
        """The tables that questions may join, by name."""
        found = []
        with self._expecting():
            for table in json.loads(self.ask("/v1/tables"))["lookups"]:
                data = self.ask(f"/v1/lookups/{quote(table['name'])}")
                rows = read_stream(data)
                found.append(PublicTable(table["name"], rows, table["digest"]))
        return found

    def close(self) -> None:
        """Nothing to do."""

    def _look(self) -> None:
        data = self.ask("/v1/tables")
        with self._expecting():
            said = json.loads(data)["surveys"]
            self._texts = {s["fingerprint"]: (s["table"], s["text"]) for s in said}

    def _read(self, fingerprint: str) -> Survey:
        if fingerprint not in self._surveys:
            self._surveys[fingerprint] = Survey.from_json(self._texts[fingerprint][1])
        return self._surveys[fingerprint]


def _not_here(what: str) -> NotSupportedError:
    return NotSupportedError(f"{what} where the database is, not over HTTP")


class RemoteSession:
    """Asks a collector, as a `Session` asks a store."""

    def __init__(
        self,
        store: RemoteStore,
        *,
        confidence: float = CONFIDENCE,
        estimator: str | None = None,
        seconds: float = SECONDS,
        sources: Sources = RESPONDENTS,
    ) -> None:
        """As of a `Session`."""
        require_settings(confidence, seconds)
        self.store, self.seconds = store, seconds
        self._settings: Mapping[str, Any] = {
            "confidence": confidence,
            "timeout": seconds,
            **({} if estimator is None else {"estimator": estimator}),
            **sources.to_json(),
        }

    def execute(
        self, sql: str, parameters: Parameters = None, confidence: float | None = None
    ) -> Result:
        """Have one SQL text answered. Raises errors under `ldpsql.Error` only."""
        settings = dict(self._settings)
        if confidence is not None:
            require_settings(confidence, self.seconds)
            settings["confidence"] = confidence
        given = parameters_to_json(sql, parameters)
        body = json.dumps({"sql": sql, "parameters": given, **settings}).encode()
        ask = partial(self.store.ask, sql=sql, seconds=self.seconds, accept=_ARROW)

        def estimates_of(handle: str) -> Estimates:
            return unpack_estimates(ask(f"/v1/answers/{quote(handle)}/estimates"))

        return unpack(ask("/v1/query", body), self.store.of_fingerprint, estimates_of)

    def survey(self, table: str) -> Survey:
        """One survey; QueryError if there is none of that name."""
        return self.store.survey(table)

    def register(self, table: PublicTable) -> None:
        """Not offered: NotSupportedError."""
        raise _not_here("tables are registered")

    def unregister(self, name: str) -> None:
        """InterfaceError: none is registered."""
        raise InterfaceError(f"no table {name!r:.60} is registered; register it first")

    def lookups(self) -> list[PublicTable]:
        """The tables that questions may join, by name."""
        return self.store.lookups()
