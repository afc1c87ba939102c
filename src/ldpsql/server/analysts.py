"""The endpoints of analysts, who have a token: questions, which surveys there are, counters; and
files of reports that an admin brings."""

from __future__ import annotations

import asyncio
import io
import json
import secrets
import tempfile
import time
from calendar import timegm
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path, PurePath
from threading import Event, Lock
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ldpsql import extensions
from ldpsql.algebra.estimate import CONFIDENCE
from ldpsql.engine.result import Result
from ldpsql.engine.session import Session
from ldpsql.engine.sources import sources_from_json
from ldpsql.errors import Located
from ldpsql.limits import (
    MOST_NUMBERS,
    SECONDS,
    Late,
    check,
    deadline,
    ending_with,
    late_statement,
    stepping,
)
from ldpsql.reports.forgery import SUSPICIOUS, Spread, suspect
from ldpsql.server.access import find_begin, require_role
from ldpsql.server.bodies import ARROW, read_body, save_body
from ldpsql.server.places import PATIENCE, Places, Turns
from ldpsql.server.problems import Problem, unknown_survey
from ldpsql.server.tokens import Tokens
from ldpsql.server.wire import (
    pack,
    pack_estimates,
    parameters_from_json,
    to_json,
    write_json,
    write_stream,
)
from ldpsql.server.writer import Writer
from ldpsql.store.incoming import SUFFIXES, parse_object
from ldpsql.store.intake import end_of_statement
from ldpsql.store.store import Store
from ldpsql.terminal.table_files import write_parquet, write_separated
from ldpsql_device.errors import (
    Error,
    FingerprintError,
    NotSupportedError,
    ReportError,
    StoreError,
)

PARQUET, CSV = "application/vnd.apache.parquet", "text/csv"
QUESTION_BYTES, FILE_BYTES, MADE_UP_ROWS = 1 << 20, 1 << 30, 10**6
FILE_SECONDS = 600.0
"""How long the reports of a file may take; none is taken of one that takes longer."""
_SESSIONS, _LOOK = 8, 0.1
_FLAGS = "skip_invalid", "accept_smaller_batch"
_SCHEMAS = json.loads(Path(__file__).with_name("openapi.json").read_text())["components"]["schemas"]
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array"}
_TYPES |= {dict: "object", type(None): "null"}
"""What the description calls the values that JSON is read as."""
_UNREADABLE = "parameters or weights cannot be read; see /openapi.json"
_ANSWERS = 64
"""Of so many last answers the covariance can be asked for, and of fewer where they are large."""

T = TypeVar("T")


@dataclass(frozen=True)
class _Lent:
    """A session, which works for one request at a time."""

    session: Session
    working: Lock = field(default_factory=Lock)

    @contextmanager
    def work(self) -> Iterator[None]:
        """Wait for the request that it works for, until the deadline."""
        while not self.working.acquire(timeout=_LOOK):
            check()
        try:
            yield
        finally:
            self.working.release()


class Analysts:
    """The endpoints for analysts."""

    def __init__(
        self,
        store: Store,
        writer: Writer,
        tokens: Tokens,
        places: int,
        shufflers: Collection[str],
    ) -> None:
        """places: how many questions, files and requests about tables are worked on at once, of
        each kind.  shufflers: whose batches are taken; see `IngestPolicy`."""
        self._store, self._writer, self._tokens = store, writer, tokens
        self._shufflers = shufflers
        self._sessions: OrderedDict[str, list[_Lent]] = OrderedDict()
        self._answers: OrderedDict[str, tuple[_Lent, Result]] = OrderedDict()
        self._lending = Lock()
        kinds = "questions", "files", "requests"
        self._questions, self._uploads, self._tables = (Places(places, kind) for kind in kinds)
        self._turns, self._threads = Turns(), anyio.CapacityLimiter(len(kinds) * places)

    async def query(self, request: Request) -> Response:
        """Answer one SQL text as JSON, or as what is accepted instead: an Arrow stream, or the
        columns with their errors beside them as Parquet or CSV."""
        return await self._ask(request, "")

    async def explain(self, request: Request) -> Response:
        """Say how it would be answered, and how well."""
        return await self._ask(request, "EXPLAIN ")

    async def estimates(self, request: Request) -> Response:
        """The covariance of one of the last answers, as an Arrow stream."""
        who = self._let_in(request)
        with self._lending:
            found = self._answers.get(request.path_params["handle"])
        if found is None:
            detail = "the collector does not hold this answer any more; ask the question again"
            raise Problem(404, "unknown-answer", detail)
        lent, result = found

        def work() -> bytes:
            with lent.work():
                return pack_estimates(result.estimates())

        data = await self._work(request, who, self._questions, work)
        return Response(data, media_type=ARROW)

    async def tables(self, request: Request) -> Response:
        """The surveys that can be asked, whole, and the look-up tables."""
        who = self._let_in(request)

        def find() -> dict[str, Any]:
            return {
                "surveys": [
                    {"table": s.table, "fingerprint": s.fingerprint, "text": s.to_json()}
                    for s in self._store.surveys()
                ],
                "lookups": [
                    {"name": table.name, "digest": table.digest, "columns": table.rows.column_names}
                    for table in self._store.lookups()
                ],
            }

        return JSONResponse(await self._work(request, who, self._tables, find))

    async def arrivals(self, request: Request) -> Response:
        """How many reports of a survey came when, and whether devices drew their groups."""
        who = self._let_in(request)

        def find() -> dict[str, Any]:
            intake = self._store.intake_of(request.path_params["fingerprint"])
            if intake is None:
                raise unknown_survey()
            with self._store.snapshot():
                days = self._store.arrivals(intake.table)
                survey = self._store.survey(intake.table)
                sizes = self._store.sizes(intake.table)
            spread = Spread.of(survey.design.question_shares, sizes)
            return {
                "reports": sum(count for _, count in days),
                "days": [{"day": day and day.isoformat(), "reports": n} for day, n in days],
                "spread": {
                    "groups": len(sizes),
                    "chi_square": spread.statistic,
                    "degrees": spread.degrees,
                    "score": spread.score,
                    "suspicious": SUSPICIOUS,
                },
                "signs": suspect(survey.table, spread.signs),
            }

        return JSONResponse(await self._work(request, who, self._tables, find))

    async def lookup(self, request: Request) -> Response:
        """The rows of a look-up table, as an Arrow stream."""
        who = self._let_in(request)

        def find() -> bytes:
            table = self._store.lookup(request.path_params["name"])
            if table is None:
                raise Problem(404, "unknown-table", "there is no such look-up table here")
            return write_stream(table.rows)

        return Response(await self._work(request, who, self._tables, find), media_type=ARROW)

    async def synthesize(self, request: Request) -> Response:
        """A table of made-up people, as an Arrow stream."""
        who = self._let_in(request)
        with self._questions.enter(who):
            asked = await _read_json(request, "People")
        table, rows, seed = map(asked.get, ("table", "rows", "seed"))

        def late(seconds: float) -> Error:
            text = f"it took longer than {seconds:g} s; do it where the database is"
            return NotSupportedError(text)

        def make() -> bytes:
            maker = extensions.require("ldpsql.synthesizers", "tables", "the making of tables")
            synthesizer = maker.of(self._store, table)
            if (rows or synthesizer.people) > MADE_UP_ROWS:
                raise NotSupportedError(
                    f"at most {MADE_UP_ROWS:,} made-up people are sent over HTTP; ask for "
                    "fewer rows, or where the database is"
                )
            return write_stream(synthesizer.table(rows, seed))

        data = await self._work(request, who, self._questions, make, SECONDS, late)
        return Response(data, media_type=ARROW)

    async def files(self, request: Request) -> Response:
        """Take a file of reports; its name, which says its kind, and options are in the query."""
        who = self._let_in(request, "relay")
        given = request.query_params
        name = PurePath(given.get("name", "")).name
        if PurePath(name).suffix.lower() not in SUFFIXES:
            raise Problem(415, "unknown-type", f"a report file ends in {', '.join(SUFFIXES)}")
        odd = given.keys() - {"name", "survey", *_FLAGS} or len(given) < len(given.multi_items())
        if odd or {given.get(flag, "false") for flag in _FLAGS} - {"true", "false"}:
            detail = f"of a file say its name, its survey, and true or false of {', '.join(_FLAGS)}"
            raise Problem(400, "wrong-question", detail)
        options: dict[str, Any] = {flag: given.get(flag) == "true" for flag in _FLAGS}
        options["shufflers"] = self._shufflers
        fingerprint = given.get("survey")
        shown = f"{name:.60}" if name.isprintable() else "the file"

        def late(seconds: float) -> Error:
            text = f"the file took longer than {seconds:g} s; send its reports in several"
            return ReportError(text)

        until = find_begin(request) + FILE_SECONDS
        with self._uploads.enter(who), tempfile.TemporaryDirectory(prefix="ldpsql-") as folder:
            place = Path(folder, f"reports{PurePath(name).suffix.lower()}")

            def take() -> dict[str, Any]:
                survey = None if fingerprint is None else self._store.intake_of(fingerprint)
                if fingerprint is not None and survey is None:
                    raise FingerprintError(f"{shown}: the collector does not have its survey")
                try:
                    [batch] = self._store.ingest([place], survey=survey, **options)
                except Error as error:  # of a file that has another place there
                    raise type(error)(str(error).replace(str(place), shown)) from None
                return {key: value for key, value in asdict(batch).items() if key != "name"}

            async with self._uploads.take(who, find_begin(request) + PATIENCE):
                with place.open("wb") as file:
                    await save_body(request, file, FILE_BYTES, until)
                said = await self._run(request, take, FILE_SECONDS, late, is_long=True)
            return JSONResponse(said)

    async def metrics(self, request: Request) -> Response:
        """Counters since the process started, and when authors' statements end, as Prometheus reads
        them."""
        who = self._let_in(request)
        ends = await self._work(request, who, self._tables, self._find_ends)
        lines = ["# TYPE ldpsql_reports_total counter"]
        lines += [
            f'ldpsql_reports_total{{survey="{table}",result="{what}"}} {count}'
            for (table, what), count in sorted(self._writer.counts.items())
        ]
        lines += ["# TYPE ldpsql_refused_reports_total counter"]
        lines += [
            f'ldpsql_refused_reports_total{{survey="{table}",reason="{_label(reason)}"}} {count}'
            for (table, reason), count in sorted(self._writer.reasons.items())
        ]
        lines += ["# TYPE ldpsql_waiting_reports gauge"]
        lines += [f"ldpsql_waiting_reports {self._writer.waiting}"]
        lines += ["# TYPE ldpsql_failed_tidying_total counter"]
        lines += [f"ldpsql_failed_tidying_total {self._writer.untidied}"]
        lines += ["# TYPE ldpsql_statement_end_timestamp_seconds gauge"]
        lines += [
            f'ldpsql_statement_end_timestamp_seconds{{survey="{table}"}} {end}'
            for table, end in ends.items()
        ]
        return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")

    def _find_ends(self) -> dict[str, int]:
        """When what authors said of tables ends, in seconds since 1970."""
        kept = {i.table: self._store.find_statement(i) for i in self._store.intakes()}
        return {
            table: timegm((end_of_statement(said) + timedelta(1)).timetuple())
            for table, said in kept.items()
            if said is not None
        }

    # -- questions -----------------------------------------------------------------------------

    async def _ask(self, request: Request, prefix: str) -> Response:
        who = self._let_in(request)
        with self._questions.enter(who):
            asked = await _read_json(request, "Question")
        seconds, sql = _find_seconds(asked), asked.pop("sql", None)
        if sql is None:
            raise Problem(400, "wrong-question", "give the SQL text under the key sql")
        try:
            parameters = parameters_from_json(asked.pop("parameters", None))
        except ValueError:
            raise Problem(400, "wrong-question", _UNREADABLE) from None
        with_texts = asked.pop("texts", False)
        accepted = request.headers.get("accept", "")

        def answer() -> Response:
            lent, result = self._execute(prefix + sql, parameters, asked)
            if ARROW in accepted:
                smallest = {s.table: self._store.smallest_batch(s.table) for s in result.surveys}
                handle = self._remember(lent, result) if result.intervals else None
                return Response(pack(result, smallest, handle), media_type=ARROW)
            for kind, write in ((PARQUET, write_parquet), (CSV, write_separated)):
                if kind in accepted:
                    table, sink = result.distinct(intervals=True), io.BytesIO()
                    write(table.schema, [table], sink)
                    headers = {"Ldpsql-Reports": str(result.reports)}
                    return Response(sink.getvalue(), 200, headers, kind)
            said = write_json(to_json(result, texts=with_texts))
            return Response(said, media_type="application/json")

        return await self._work(request, who, self._questions, answer, seconds)

    def _execute(self, sql: str, parameters: Any, settings: dict[str, Any]) -> tuple[_Lent, Result]:
        """Ask on a session of these settings that nobody else uses meanwhile."""
        key = json.dumps(settings, sort_keys=True)
        with self._lending:
            idle = self._sessions.setdefault(key, [])
            self._sessions.move_to_end(key)
            lent = next((each for each in idle if not each.working.locked()), None)
            if lent is not None:
                idle.remove(lent)
            while len(self._sessions) > _SESSIONS:
                self._sessions.popitem(last=False)
        lent = lent or _Lent(self._make_session(settings))
        try:
            with lent.work():
                return lent, lent.session.execute(sql, parameters)
        finally:
            with self._lending:
                idle.append(lent)

    def _make_session(self, settings: dict[str, Any]) -> Session:
        try:
            sources = sources_from_json(settings)
        except ValueError:
            raise Problem(400, "wrong-question", _UNREADABLE) from None
        return Session(
            self._store,
            confidence=settings.get("confidence", CONFIDENCE),
            estimator=settings.get("estimator"),
            seconds=min(settings.get("timeout", SECONDS), SECONDS),
            sources=sources,
        )

    def _remember(self, lent: _Lent, result: Result) -> str:
        """A handle of an answer, for as long as few others come."""
        handle = secrets.token_urlsafe(16)
        with self._lending:
            self._answers[handle] = (lent, result)
            sizes = [_size(kept) for _, kept in self._answers.values()]
            while len(sizes) > _ANSWERS or (len(sizes) > 1 and sum(sizes) > MOST_NUMBERS):
                self._answers.popitem(last=False)
                del sizes[0]
        return handle

    # -- doors ---------------------------------------------------------------------------------

    def _let_in(self, request: Request, role: str = "analyst") -> str:
        """The name of the token of a role that the request bears; Problem otherwise."""
        return require_role(request, self._tokens, role).name

    async def _work(
        self,
        request: Request,
        who: str,
        places: Places,
        work: Callable[[], T],
        seconds: float = SECONDS,
        late: Late = late_statement,
    ) -> T:
        """Work in a place of its kind, for which it waits half of its time at most; see `_run`. Its
        body was read."""
        gone = asyncio.get_running_loop().create_future()
        watching = asyncio.create_task(_watch(request, gone))
        until = find_begin(request) + min(PATIENCE, seconds / 2.0)
        try:
            with places.enter(who):
                async with places.take(who, until, gone):
                    return await self._run(request, work, seconds, late, gone)
        finally:
            watching.cancel()

    async def _run(
        self,
        request: Request,
        work: Callable[[], T],
        seconds: float,
        late: Late,
        gone: asyncio.Future[None] | None = None,
        *,
        is_long: bool = False,
    ) -> T:
        """Work on a thread, until so many seconds from the first byte of the request, or until who
        asked has gone; errors about the question are problems."""
        given_up = Event()
        if gone is not None:
            gone.add_done_callback(lambda _: given_up.set())
        with self._turns.begin(is_long=is_long) as step:

            def within() -> T:
                left = max(0.0, find_begin(request) + seconds - time.monotonic())
                with ending_with(given_up), stepping(step), deadline(left, lambda _: late(seconds)):
                    return work()

            try:
                return await anyio.to_thread.run_sync(within, limiter=self._threads)
            except Error as error:
                more: dict[str, Any] = {"error": type(error).__name__}
                if isinstance(error, Located):
                    more |= {"reason": error.reason, "hint": error.hint}
                    if error.place is not None:
                        place = error.place
                        more["place"] = [place.line, place.column, place.length]
                        more["caret"] = error.caret()
                status = 503 if isinstance(error, StoreError) else 400
                raise Problem(status, "wrong-question", str(error), **more) from None


async def _watch(request: Request, gone: asyncio.Future[None]) -> None:
    """Tell once who asked has gone: nobody waits for the answer."""
    while (await request.receive())["type"] != "http.disconnect":
        pass  # the body was read
    gone.set_result(None)


def _find_seconds(asked: Mapping[str, Any]) -> float:
    """The seconds that a question may take; less than none is refused where it is asked."""
    seconds: float = min(asked.get("timeout", SECONDS), SECONDS)
    return seconds if seconds >= 0.0 else SECONDS


def _size(result: Result) -> int:
    """Numbers that an answer holds, with the covariance of every row, about."""
    rows: int = result.table.num_rows
    sums = len(result.intervals)
    return rows * sums * (sums + 1)


async def _read_json(request: Request, schema: str) -> dict[str, Any]:
    """The object in the body, of keys and types of values that a schema of openapi.json has."""
    known = _SCHEMAS[schema]["properties"]
    asked = parse_object(await read_body(request, QUESTION_BYTES))
    if asked is None or not asked.keys() <= known.keys():
        names = ", ".join(sorted(known))
        raise Problem(400, "wrong-question", f"send a JSON object with keys among {names}")
    for key, value in asked.items():
        kinds, own = known[key]["type"], _TYPES[type(value)]
        if own not in kinds and (own, kinds) != ("integer", "number"):
            said = kinds if isinstance(kinds, str) else " or ".join(kinds)
            raise Problem(400, "wrong-question", f"{key} must be {said}")
    return asked


def _label(text: str) -> str:
    """A label's value in Prometheus's text format."""
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
