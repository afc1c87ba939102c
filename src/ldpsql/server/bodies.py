"""Bodies of requests, counted while they stream: what is too large is never held."""

from __future__ import annotations

import asyncio
import zlib

from starlette.requests import Request

from ldpsql.server.problems import Problem

ARROW = "application/vnd.apache.arrow.stream"
"""The type of an Arrow stream."""
SECONDS = 10.0
"""How long a body may take to arrive."""
_GZIP = 31
_CLOSE = {"Connection": "close"}


async def read_body(request: Request, most: int) -> bytes:
    """The body, decompressed; Problem for one of more than `most` bytes, before or after that, for
    one that is no gzip or of another coding, and for one that does not arrive in time."""
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("identity", "gzip"):
        raise Problem(415, "unknown-coding", "send the body as it is, or compressed with gzip")
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > most:
        raise _too_large(most)
    try:
        async with asyncio.timeout(SECONDS):
            return await (_gunzip if coding == "gzip" else _plain)(request, most)
    except TimeoutError:
        detail = f"the body took longer than {SECONDS:g} seconds; send fewer reports at once"
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
