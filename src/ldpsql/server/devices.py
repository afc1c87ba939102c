"""The endpoints of devices: which survey there is, its text, and taking reports. No credentials."""

from __future__ import annotations

import asyncio
import math
import re
import threading
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ldpsql.errors import QueryError
from ldpsql.server.access import require_role
from ldpsql.server.bodies import ARROW, FixedBody, read_body
from ldpsql.server.problems import RETRY, Problem, unknown_survey
from ldpsql.server.rates import Rate
from ldpsql.server.receiver import Receiver, Shuffler
from ldpsql.server.tokens import Tokens
from ldpsql.server.writer import Refused, Sent, Writer
from ldpsql.store.incoming import check_stream
from ldpsql.store.intake import Intake
from ldpsql_device.errors import Error, StoreError
from ldpsql_device.statement import Statement
from ldpsql_device.survey import canonical, utc_today

BYTES, REPORTS = 1 << 16, 1000
"""The most that a body may hold."""
RELAY_BYTES, RELAY_REPORTS = 1 << 22, 20_000
"""The same for the Arrow stream of a relay."""
TYPES = ("application/x-ndjson", "application/json", "text/plain")
"""Types of bodies; text/plain is what a page can send as it closes, without a preflight."""
Attest = Callable[[Request], bool | Awaitable[bool]]
_SEALED = re.compile(rb'\{\s*"sealed"')
_ID = re.compile(rb'"id"\s*:\s*"([0-9a-f]{32})"')


class Devices:
    """The endpoints for devices."""

    def __init__(
        self,
        receiver: Receiver,
        writer: Writer,
        tokens: Tokens | None,
        attest: Attest | None,
        rate: float | None,
    ) -> None:
        """tokens: of relays, among others.  attest: whether a request may bring reports; it may
        look at headers, and is asked before the body is read.  rate: how many reports a second one
        survey may be sent, over a short while."""
        self._receiver, self._writer, self._tokens = receiver, writer, tokens
        self._shuffler = receiver if isinstance(receiver, Shuffler) else None
        self._attest, self._rate = attest, Rate(rate)
        self._served: dict[str, tuple[Intake, FixedBody]] = {}
        self._finding = threading.Lock()

    async def table(self, request: Request) -> Response:
        """The fingerprint of the survey that is asked now under a name, and its author's statement
        that it is."""
        name = request.path_params["table"]

        def find() -> str:
            intake = self._receiver.intake(name)
            said = self._receiver.find_statement(intake)
            return said or canonical({"fingerprint": intake.fingerprint})

        try:
            said = await run_in_threadpool(find)
        except QueryError:
            raise unknown_survey() from None
        headers = {"Cache-Control": "public, max-age=300"}
        return Response(said, 200, headers, "application/json")

    async def keep_statement(self, request: Request) -> Response:
        """Keep an author's statement about the survey of a table."""
        require_role(request, self._tokens, "admin")
        body = await read_body(request, BYTES)

        def keep() -> None:
            self._receiver.keep_statement(Statement.from_json(body.decode("utf-8", "replace")))

        try:
            await run_in_threadpool(keep)
        except StoreError:
            raise
        except Error as error:
            name = type(error).__name__
            raise Problem(422, "no-statement", str(error), error=name) from None
        return Response()

    async def survey(self, request: Request) -> Response:
        """The part of a survey that devices read; it never changes."""
        _, body = await self._find(request.path_params["fingerprint"])
        return body.answer(request, {"Cache-Control": "public, max-age=31536000, immutable"})

    async def pledge(self, request: Request) -> Response:
        """What a shuffler pledges of a survey, and to which key reports are sealed."""
        intake, _ = await self._find(request.path_params["fingerprint"])
        said = None
        if self._shuffler is not None:
            said = await run_in_threadpool(self._shuffler.find_pledge, intake)
        if said is None:
            raise Problem(404, "no-pledge", "nothing is pledged of this survey here")
        headers = {"Cache-Control": "public, max-age=300"}
        return Response(said, 200, headers, "application/json")

    async def reports(self, request: Request) -> Response:
        """Take reports: 200 once they are committed, with those that are none and why."""
        intake, _ = await self._find(request.path_params["fingerprint"])
        self._require_door(intake)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in (*TYPES, ARROW):
            raise Problem(415, "unknown-type", f"send reports as {', '.join((*TYPES, ARROW))}")
        if self._attest is not None:
            answer = self._attest(request)
            if not (answer if isinstance(answer, bool) else await answer):
                raise Problem(403, "not-attested", "this collector asks for an attestation")
        if kind == ARROW:
            return await self._take_stream(request, intake)
        body = await read_body(request, BYTES)
        lines = [line for line in body.split(b"\n") if line.strip()]
        if not lines:
            raise Problem(400, "empty", "the body holds no report: send one JSON object per line")
        if len(lines) > REPORTS:
            detail = f"a body holds at most {REPORTS:,} reports; send them in several"
            raise Problem(413, "too-large", detail)
        self._require_rate(intake, len(lines))
        faults = await self._commit_sealed(intake, lines)
        refused = [
            {"id": _own_id(lines[place]), "line": place + 1, "reason": reason}
            for place, reason in (await self._commit(intake, lines) if faults is None else faults)
        ]
        return _answer_refused(refused, len(lines))

    async def _commit_sealed(self, intake: Intake, lines: Sequence[bytes]) -> Refused | None:
        """Take sealed reports; those that are none, or None where they are not sealed."""
        if self._shuffler is None:
            return None
        read = await run_in_threadpool(self._shuffler.read_sealed, intake, lines)
        if read is None:
            return None
        if not any(_SEALED.search(line) for line in lines):
            raise _not_sealed()
        reports, faults = read
        if reports is not None:
            await self._commit(intake, reports)
        self._writer.count_refused(intake, [reason for _, reason in faults])
        return faults

    async def _take_stream(self, request: Request, intake: Intake) -> Response:
        """Take the Arrow stream of a relay, whose limits are wider."""
        require_role(request, self._tokens, "relay")
        if self._shuffler is not None and self._shuffler.find_pledge(intake) is not None:
            raise _not_sealed()
        body = await read_body(request, RELAY_BYTES)
        try:
            check = partial(check_stream, intake, "the stream", body, RELAY_REPORTS)
            reports, faults = await run_in_threadpool(check)
        except Error as error:
            raise Problem(422, "no-reports", str(error)) from None
        good = 0 if reports is None else len(reports)
        if good + len(faults) == 0:
            raise Problem(400, "empty", "the stream holds no report")
        if reports is not None:
            self._require_rate(intake, good)
            await self._commit(intake, reports)
        self._writer.count_refused(intake, [reason for _, reason in faults])
        refused = [{"line": row + 1, "reason": reason} for row, reason in faults]
        return _answer_refused(refused, good + len(faults))

    def _require_rate(self, intake: Intake, reports: int) -> None:
        wait = self._rate.find_wait(intake.fingerprint, reports)
        if wait > 0.0:
            detail = "this survey is sent more reports than it may be; send them again later"
            raise Problem(429, "too-many", detail, {"Retry-After": str(math.ceil(wait))})

    async def _commit(self, intake: Intake, sent: Sent) -> Refused:
        done = self._writer.submit(intake, sent)
        if done is None:
            raise Problem(503, "busy", "too many reports wait; send them again later", RETRY)
        try:
            return await asyncio.wrap_future(done)
        except StoreError:
            detail = "the reports could not be kept; send them again later"
        except Error:  # the survey ended between the two looks at the calendar
            self._require_door(intake)
            detail = "the reports could not be taken; send them again later"
        raise Problem(503, "not-kept", detail, RETRY)

    async def _find(self, fingerprint: str) -> tuple[Intake, FixedBody]:
        """The survey of a fingerprint, and its text as it is handed out; Problem if there is
        none."""
        if fingerprint not in self._served:
            await run_in_threadpool(self._look, fingerprint)
        if fingerprint not in self._served:
            raise unknown_survey()
        return self._served[fingerprint]

    def _require_door(self, intake: Intake) -> None:
        """Problem unless reports of a survey are taken here, today."""
        if intake.schedule.has_ended(utc_today()):
            detail = f"the survey ended on {intake.schedule.end}: nothing is taken any more"
            raise Problem(410, "closed", detail)
        if (intake.shuffled is not None) != self._receiver.shuffles:
            others = "this is one" if self._receiver.shuffles else "not here"
            detail = f"reports of surveys that trust a shuffler go to their shuffler; {others}"
            raise Problem(403, "wrong-door", detail)

    def _look(self, fingerprint: str) -> None:
        with self._finding:
            if fingerprint in self._served:  # as many waited for the first to find it
                return
            intake = self._receiver.intake_of(fingerprint)
            if intake is not None:
                text = intake.device_text.encode()
                body = FixedBody(text, "application/json", fingerprint)
                _ = body.packed  # here, in a thread: a large one would hold up every request
                self._served[fingerprint] = intake, body


def _answer_refused(refused: list[dict[str, Any]], sent: int) -> Response:
    """200 with those that are no reports, if there are any; Problem if there is nothing else."""
    if len(refused) == sent:
        raise Problem(422, "no-reports", "no line is a report of this survey", refused=refused)
    return JSONResponse({"refused": refused}) if refused else Response()


def _not_sealed() -> Problem:
    detail = "this shuffler takes reports that are sealed for it alone; see its pledge"
    return Problem(403, "not-sealed", detail)


def _own_id(line: bytes) -> Any:
    """The id of a line that was refused, where it has one."""
    found = _ID.search(line)
    return found[1].decode() if found else None
