"""Bodies of requests, counted while they stream: what is too large is never held; and of answers
that are always the same."""

from __future__ import annotations

import asyncio
import gzip
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO

from starlette.requests import Request
from starlette.responses import Response

from ldpsql.server.problems import Problem

ARROW = "application/vnd.apache.arrow.stream"
"""The type of an Arrow stream."""
SECONDS = 10.0
"""How long a body may take to arrive."""
LEAST_BYTES = 1 << 17
"""Of a file so many come within `SECONDS`, or it is cut."""
_GZIP, _LONGEST = 31, 18
_CLOSE = {"Connection": "close"}


@dataclass(frozen=True)
class FixedBody:
    """The body of an answer that never changes while the process runs.

    kind: its type.  tag: what names its content.
    """

    content: bytes
    kind: str
    tag: str

    @cached_property
    def packed(self) -> bytes:
        """The content, compressed."""
        return gzip.compress(self.content, mtime=0)

    def answer(self, request: Request, headers: Mapping[str, str]) -> Response:
        """200 with the body, compressed for who takes that; 304 for who has it."""
        tag = f'"{self.tag}"'
        headers = {**headers, "ETag": tag, "Vary": "Accept-Encoding"}
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            packed = {**headers, "Content-Encoding": "gzip"}
            return Response(self.packed, 200, packed, self.kind)
        return Response(self.content, 200, headers, self.kind)


async def read_body(request: Request, most: int) -> bytes:
    """The body, decompressed; Problem for one of more than `most` bytes, before or after that, for
    one that is no gzip or of another coding, and for one that does not arrive in time."""
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("identity", "gzip"):
        raise Problem(415, "unknown-coding", "send the body as it is, or compressed with gzip")
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and (len(declared) > _LONGEST or int(declared) > most):
        raise _too_large(most)
    try:
        async with asyncio.timeout(SECONDS):
            return await (_gunzip if coding == "gzip" else _plain)(request, most)
    except TimeoutError:
        detail = f"the body took longer than {SECONDS:g} seconds; send fewer reports at once"
        raise Problem(408, "too-slow", detail, _CLOSE) from None


async def save_body(request: Request, file: BinaryIO, most: int, until: float) -> None:
    """Write the body into a file as it comes; Problem for one of more than `most` bytes, and for
    one that comes more slowly than `LEAST_BYTES` in `SECONDS`, or goes on until it is too late.

    until: when that is, of `time.monotonic`.
    """
    loop, size, counted = asyncio.get_running_loop(), 0, 0
    try:
        async with (
            asyncio.timeout(max(0.0, until - time.monotonic())),
            asyncio.timeout(SECONDS) as window,
        ):
            async for chunk in request.stream():
                size += len(chunk)
                if size > most:
                    raise _too_large(most)
                file.write(chunk)
                if size - counted >= LEAST_BYTES:
                    counted = size
                    window.reschedule(loop.time() + SECONDS)
    except TimeoutError:
        detail = f"a file comes at {LEAST_BYTES:,} bytes in {SECONDS:g} s at least; send it again"
        raise Problem(408, "too-slow", detail, _CLOSE) from None


async def _plain(request: Request, most: int) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise _too_large(most)
    return bytes(body)


async def _gunzip(request: Request, most: int) -> bytes:
    body, stream = bytearray(), zlib.decompressobj(_GZIP)
    async for chunk in request.stream():
        try:
            body += stream.decompress(chunk, most + 1 - len(body))
        except zlib.error:
            raise _no_gzip() from None
        if len(body) > most:
            raise _too_large(most)
        if stream.unused_data:
            raise _no_gzip()
    if not stream.eof:
        raise _no_gzip()
    return bytes(body)


def _no_gzip() -> Problem:
    return Problem(400, "no-gzip", "the body is not one gzip stream; send it again", _CLOSE)


def _too_large(most: int) -> Problem:
    detail = f"a body holds at most {most:,} bytes, decompressed; send the reports in several"
    return Problem(413, "too-large", detail, _CLOSE)
