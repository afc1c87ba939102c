"""The page that people open in a browser: files that never change while the collector runs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ldpsql.server.bodies import FixedBody

HEADERS = {
    "Content-Security-Policy": "; ".join(
        [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "connect-src 'self'",
            "img-src 'self' data: blob:",
            "base-uri 'none'",
            "frame-ancestors 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        ]
    ),
    "Cache-Control": "no-cache",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Of every answer: nothing from elsewhere is loaded, no text of a survey runs as a script, and no
other site frames the page or learns that it was opened."""

_FOLDER = Path(__file__).with_name("page")
_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}


@cache
def page_files() -> Mapping[str, FixedBody]:
    """All files by their address. Whatever a request names, nothing else of the disk is read."""
    files = {}
    # A pattern with ** would not follow the link to the client's sources.
    for place in sorted([*_FOLDER.glob("*"), *_FOLDER.glob("*/*")]):
        if place.suffix in _TYPES and place.is_file():
            content = place.read_bytes()
            tag = hashlib.sha256(content).hexdigest()[:32]
            address = f"/{place.relative_to(_FOLDER).as_posix()}"
            files[address] = FixedBody(content, _TYPES[place.suffix], tag)
    return {"/": files["/index.html"], **files}


async def answer_page(scope: Scope, receive: Receive, send: Send) -> None:
    """The application that answers with these files; HTTPException 404 at any other address."""
    await _answer(Request(scope))(scope, receive, send)


def _answer(request: Request) -> Response:
    file = page_files().get(request.url.path)
    if file is None:
        raise HTTPException(404)
    if request.method not in ("GET", "HEAD"):
        raise HTTPException(405, headers={"Allow": "GET, HEAD"})
    return file.answer(request, HEADERS)
