"""The HTTP application: which address is whose, and what happens to errors."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import wraps

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ldpsql.server.analysts import Analysts
from ldpsql.server.devices import Attest, Devices
from ldpsql.server.problems import Problem
from ldpsql.server.tokens import Tokens
from ldpsql.server.writer import Writer
from ldpsql.store.base import Store

_DAY = 86_400
Endpoint = Callable[[Request], Awaitable[Response]]


def make_app(
    store: Store,
    writer: Writer,
    tokens: Tokens | None = None,
    *,
    origins: Sequence[str] = (),
    attest: Attest | None = None,
) -> Starlette:
    """The application in front of a store, which stays the caller's to close.

    writer: into that store; closed when the application ends.  tokens: of analysts; without, nobody
    may ask anything.  origins: of pages whose scripts may
    send reports, "*" for all.  attest: see `Devices`.
    """
    devices = Devices(store, writer, attest)

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "waiting": writer.waiting})

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(writer.close)

    routes = [
        Route("/v1/tables/{table}", _answer(devices.table)),
        Route("/v1/surveys/{fingerprint}", _answer(devices.survey)),
        Route("/v1/surveys/{fingerprint}/reports", _answer(devices.reports), methods=["POST"]),
        Route("/healthz", _answer(health)),
    ]
    if tokens is not None:
        analysts = Analysts(store, writer, tokens)
        routes += [
            Route("/v1/query", _answer(analysts.query), methods=["POST"]),
            Route("/v1/explain", _answer(analysts.explain), methods=["POST"]),
            Route("/v1/synthesize", _answer(analysts.synthesize), methods=["POST"]),
            Route("/v1/files", _answer(analysts.files), methods=["POST"]),
            Route("/v1/tables", _answer(analysts.tables)),
            Route("/v1/lookups/{name}", _answer(analysts.lookup)),
            Route("/metrics", _answer(analysts.metrics)),
        ]
    cors = Middleware(
        CORSMiddleware,
        allow_origins=list(origins),
        allow_methods=["GET", "POST"],
        allow_headers=["content-type", "content-encoding"],
        max_age=_DAY,
    )
    return Starlette(routes=routes, middleware=[cors] if origins else [], lifespan=life)


def _answer(endpoint: Endpoint) -> Endpoint:
    """An endpoint whose refusals are problem documents, and whose faults say nothing of the request
    in any log."""

    @wraps(endpoint)
    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Problem as problem:
            return problem.response()
        except Exception as error:
            print(f"ldpsql: a request failed: {type(error).__name__}", file=sys.stderr)  # noqa: T201
            return Problem(500, "failed", "the collector failed; send it again later").response()

    return answer
