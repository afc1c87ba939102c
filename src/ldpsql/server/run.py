"""Listening: uvicorn, which logs nothing of requests, and connections that say nothing closed."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import ssl
import sys
import time
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from ldpsql.server.access import BEGUN
from ldpsql_device.errors import StoreError

IDLE_SECONDS, HEAD_SECONDS, READ_SECONDS, DRAIN_SECONDS = 30, 10, 30, 3
HEAD_BYTES, READ_BYTES = 1 << 16, 1 << 16
"""The most that a head may have, and the least of an answer that is read in `READ_SECONDS`."""
ANSWER_SECONDS = 600
"""How long an answer may take to be read."""
PIPELINED = 256
"""The most requests that are sent before the answer to the first."""
CONNECTIONS = 20_000
_SWITCH_SECONDS = 0.001
"""How long a thread keeps the processor while others wait: what takes a moment waits for many
turns, and Python's own 5 ms would add up to a tenth of a second."""
_BACKLOG = 2048
_ENDING = (signal.SIGINT, signal.SIGTERM)


class PatientProtocol(HttpToolsProtocol):
    """Closes a connection whose next request does not come in time and within bounds, or that does
    not read its answer.

    uvicorn itself waits for ever for a first request, for the end of a head that has begun, whose
    size it does not limit either, for the rest of a body that was answered already, and for who
    does not read.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request."""
        super().connection_made(transport)
        self._is_in_head, self._has_begun, self._heads, self._head_bytes = True, False, 0, 0
        self._head: asyncio.TimerHandle | None = self.loop.call_later(HEAD_SECONDS, self._close)
        self._reading: asyncio.TimerHandle | None = None
        self._asked: list[RequestResponseCycle] = []
        self._answered: object = None
        self._unread = 0.0

    def data_received(self, data: bytes) -> None:
        """Count what belongs to no request yet, empty lines before one too."""
        heads, was_in_head = self._heads, self._is_in_head
        super().data_received(data)
        is_head = was_in_head and self._heads == heads
        if is_head:
            self._head_bytes += len(data)
        if self._head_bytes > HEAD_BYTES:
            self.transport.abort()
        elif self._head is None and self._is_in_head and (is_head or self._has_begun):
            self._head = self.loop.call_later(HEAD_SECONDS, self._close)

    def on_message_begin(self) -> None:
        """The head of a request begins; its deadline counts from here."""
        self._has_begun = True
        super().on_message_begin()
        self.scope["extensions"] = {BEGUN: {"at": time.monotonic()}}

    def on_headers_complete(self) -> None:
        """Wait no more: bodies are limited where they are read."""
        self._is_in_head, self._has_begun, self._head_bytes = False, False, 0
        self._heads += 1
        self._wait_no_more()
        super().on_headers_complete()
        self._asked = [each for each in self._asked if not each.response_complete]
        self._asked.append(self.cycle)
        if len(self.pipeline) > PIPELINED:
            self.transport.abort()
        elif self.pipeline:  # or it would not be noticed that who asked has gone
            self.flow.resume_reading()

    def on_body(self, body: bytes) -> None:
        """Hold little of the body of a request whose turn has not come."""
        super().on_body(body)
        if self.pipeline and len(self.cycle.body) > HEAD_BYTES:
            self.transport.abort()

    def on_message_complete(self) -> None:
        """The next bytes belong to the next request."""
        self._is_in_head = True
        self._wait_no_more()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the rest of a body that was answered before it had come, though nobody reads it:
        a connection that is closed at once may lose the answer."""
        super().on_response_complete()
        if self.cycle.response_complete and not self._is_in_head:
            self._head = self.loop.call_later(HEAD_SECONDS, self._close)

    def pause_writing(self) -> None:
        """Wait for what was sent to be read."""
        super().pause_writing()
        if self._answered is not self._asked[0]:
            self._answered, self._unread = self._asked[0], self.loop.time()
        self._await_reading()

    def resume_writing(self) -> None:
        """It was read."""
        super().resume_writing()
        if self._reading is not None:
            self._reading.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing, and tell all that is worked on: uvicorn tells the last request only."""
        for timer in (self._head, self._reading):
            if timer is not None:
                timer.cancel()
        for cycle in self._asked:
            cycle.disconnected = cycle.disconnected or not cycle.response_complete
            cycle.message_event.set()
        super().connection_lost(exc)

    def _wait_no_more(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _await_reading(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._reading = self.loop.call_later(READ_SECONDS, self._require_reading, left)

    def _require_reading(self, before: int) -> None:
        is_late = self.loop.time() - self._unread > ANSWER_SECONDS
        if is_late or self.transport.get_write_buffer_size() > before - READ_BYTES:
            self.transport.abort()
        else:
            self._await_reading()

    def _close(self) -> None:
        if not self.transport.is_closing():
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


def _listen(host: str, port: int) -> socket.socket:
    try:
        if not host:  # which would be every address of this machine
            raise UnicodeError
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as error:
        reason = (getattr(error, "strerror", None) or "it is not an address").partition(" (")[0]
        raise StoreError(
            f"cannot listen at {host!r:.60}, port {port}: {reason}; give another address"
        ) from None


def serve(
    app: ASGIApp, *, host: str, port: int, tell: Callable[[str], None], **options: Any
) -> None:
    """Answer requests until SIGTERM or SIGINT; what came until then is committed first.

    port: 0 for any that is free.  tell: called with the address once it listens.  options:
    uvicorn's, such as `ssl_keyfile` and `ssl_certfile`. Raises StoreError for an address that
    cannot be had, and for a key or certificate that is none.
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
    try:
        config.load()
    except ssl.SSLError:
        raise StoreError(
            "the TLS key and certificate cannot be used; give PEM files that belong together"
        ) from None
    with _listen(host, port) as listening:
        # uvicorn raises again what ended it; there is more to do before this process ends.
        handlers = {number: signal.signal(number, lambda *_: None) for number in _ENDING}
        switching = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_SECONDS)
        gc.freeze()  # what imports made lives on, and need not be looked through again
        try:
            _Server(config, tell).run([listening])
        finally:
            sys.setswitchinterval(switching)
            for number, handler in handlers.items():
                signal.signal(number, handler)
