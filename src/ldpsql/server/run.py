"""Listening: uvicorn, which logs nothing of requests, and connections that say nothing closed."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

IDLE_SECONDS, HEAD_SECONDS, DRAIN_SECONDS = 30, 10, 3
CONNECTIONS = 20_000
_BACKLOG = 2048
_ENDING = (signal.SIGINT, signal.SIGTERM)


class PatientProtocol(HttpToolsProtocol):
    """Closes a connection whose first request does not begin in time.

    uvicorn itself waits for ever for the first one, and `IDLE_SECONDS` for the next ones.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait."""
        super().connection_made(transport)
        self.loop.call_later(HEAD_SECONDS, self._close_if_silent)

    def _close_if_silent(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.close()


class _Server(uvicorn.Server):
    """Tells when it listens."""

    def __init__(self, config: uvicorn.Config, tell: Callable[[str], None]) -> None:
        super().__init__(config)
        self._tell = tell

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say where."""
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._tell(f"http://{f'[{host}]' if ':' in host else host}:{port}")


def serve(
    app: ASGIApp, *, host: str, port: int, tell: Callable[[str], None], **options: Any
) -> None:
    """Answer requests until SIGTERM or SIGINT; what came until then is committed first.

    port: 0 for any that is free.  tell: called with the address once it listens.  options:
    uvicorn's, such as `ssl_keyfile` and `ssl_certfile`. Raises OSError for an address that cannot
    be had.
    """
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=PatientProtocol,
        log_level="critical",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        **options,
    )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family, backlog=_BACKLOG) as listening:
        # uvicorn raises again what ended it; there is more to do before this process ends.
        handlers = {number: signal.signal(number, lambda *_: None) for number in _ENDING}
        gc.freeze()  # what imports made lives on, and need not be looked through again
        try:
            _Server(config, tell).run([listening])
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
