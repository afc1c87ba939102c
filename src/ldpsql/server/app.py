"""The HTTP application: which address is whose, and what happens to errors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from ldpsql.server import PLACES
from ldpsql.server.analysts import Analysts
from ldpsql.server.devices import Attest, Devices
from ldpsql.server.page_files import answer_page
from ldpsql.server.problems import RETRY, Problem
from ldpsql.server.receiver import Receiver
from ldpsql.server.surveys import Surveys
from ldpsql.server.tokens import Tokens
from ldpsql.server.writer import Writer
from ldpsql.store.store import Store
from ldpsql.terminal.notes import show_line
from ldpsql_device.errors import StoreError

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
_DAY = 86_400
_DESCRIPTION = Path(__file__).with_name("openapi.json")


def make_app(
    receiver: Receiver,
    writer: Writer,
    tokens: Tokens | None = None,
    *,
    origins: Sequence[str] = (),
    attest: Attest | None = None,
    rate: float | None = None,
    places: int = PLACES,
    shufflers: Collection[str] = (),
) -> ASGIApp:
    """The application in front of a store or a shuffler, which stays the caller's to close.

    writer: into it; closed when the application ends.  tokens: of relays, and of a store's
    analysts; without, nobody may ask anything.  origins: of pages whose scripts may send reports,
    "*" for all.  attest, rate: see `Devices`.  places: how many requests of analysts of each kind
    are worked on at once.  shufflers: whose batches a store takes; see `IngestPolicy`.
    """
    devices = Devices(receiver, writer, tokens, attest, rate)

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "waiting": writer.waiting})

    async def describe(_: Request) -> Response:
        return Response(_DESCRIPTION.read_bytes(), media_type="application/json")

    @asynccontextmanager
    async def life(_: Any) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(writer.close)

    def at(path: str, endpoint: Endpoint, method: str = "GET") -> Route:
        return Route(path, _Answer(endpoint), methods=[method])

    routes = [
        at("/v1/surveys/{fingerprint}/reports", devices.reports, "POST"),
        at("/v1/surveys/{fingerprint}/pledge", devices.pledge),
        at("/v1/surveys/{fingerprint}", devices.survey),
        at("/v1/tables/{table}", devices.table),
        at("/v1/statements", devices.keep_statement, "POST"),
        at("/healthz", health),
        at("/openapi.json", describe),
    ]
    if isinstance(receiver, Store):
        surveys = Surveys(receiver)
        routes += [
            at("/v1/surveys", surveys.list),
            at("/v1/surveys/{fingerprint}/forecast", surveys.forecast),
        ]
    if tokens is not None and isinstance(receiver, Store):
        analysts = Analysts(receiver, writer, tokens, places, shufflers)
        routes += [
            at("/v1/query", analysts.query, "POST"),
            at("/v1/explain", analysts.explain, "POST"),
            at("/v1/surveys/{fingerprint}/arrivals", analysts.arrivals),
            at("/v1/answers/{handle}/estimates", analysts.estimates),
            at("/v1/synthesize", analysts.synthesize, "POST"),
            at("/v1/files", analysts.files, "POST"),
            at("/v1/tables", analysts.tables),
            at("/v1/lookups/{name}", analysts.lookup),
            at("/metrics", analysts.metrics),
        ]
    page = answer_page if isinstance(receiver, Store) else None
    router = _Router(routes, redirect_slashes=False, default=page, lifespan=life)
    if not origins:
        return router
    return CORSMiddleware(
        router,
        allow_origins=list(origins),
        allow_methods=["GET", "POST"],
        allow_headers=["content-type", "content-encoding"],
        max_age=_DAY,
    )


class _Answer:
    """An endpoint whose refusals are problem documents, and whose faults say nothing of the request
    in any log. As an application of its own it costs a third of what starlette adds otherwise."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._endpoint(Request(scope, receive, send))
        except Problem as problem:
            response = problem.response()
        except ClientDisconnect:
            response = Problem(400, "cut-short", "the body ended early; send it again").response()
        except Exception as error:
            show_line(f"ldpsql: a request failed: {type(error).__name__}")
            response = _tell_fault(error).response()
        await response(scope, receive, send)


class _Router(Router):
    """Refuses addresses and methods by problem documents too."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Only within an application does a router raise what it otherwise answers in plain text.
        scope["app"] = self
        try:
            await super().__call__(scope, receive, send)
        except HTTPException as refused:
            if refused.status_code == 405:
                kind, detail = "wrong-method", "this address takes other methods; see /openapi.json"
            else:
                kind, detail = "unknown-address", "nothing is here; see /openapi.json"
            response = Problem(refused.status_code, kind, detail, refused.headers).response()
            await response(scope, receive, send)


def _tell_fault(error: Exception) -> Problem:
    """The text about a fault: whether files are to blame, and nothing that the error says."""
    if isinstance(error, StoreError | OSError):
        detail = "the collector cannot use its files now; send it again later"
        return Problem(503, "unavailable", detail, RETRY)
    return Problem(500, "failed", "the collector failed; send it again later")
