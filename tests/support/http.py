"""Requests to an application, without a network, and to a server of its own process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    app: Any,
    path: str,
    body: bytes | Sequence[bytes] | None = None,
    *,
    method: str = "",
    client: str = "203.0.113.9",
    scheme: str = "http",
    seconds: float | None = None,
    runner: asyncio.Runner | None = None,
    **headers: str,
) -> Answer:
    """One request; body: in one piece or several.  seconds: after which the client leaves.  runner:
    of many requests. Headers are written with _ for -."""
    run = asyncio.run if runner is None else runner.run
    return run(_ask(app, path, body, method, (client, scheme), seconds, headers))


async def _ask(app, path, body, method, way, seconds, headers):
    parts = [b""] if body is None else [body] if isinstance(body, bytes) else list(body)
    names = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
    path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method or ("GET" if body is None else "POST"),
        "scheme": way[1],
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": names,
        "client": (way[0], 4711),
        "server": ("testserver", 80),
        "root_path": "",
    }
    sent: list[dict[str, Any]] = []
    leaves = asyncio.Event()
    if seconds is not None:
        asyncio.get_running_loop().call_later(seconds, leaves.set)

    async def receive():
        if parts:
            return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}
        await leaves.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    given = {k.decode(): v.decode() for k, v in sent[0].get("headers", [])}
    whole = b"".join(message.get("body", b"") for message in sent[1:])
    return Answer(sent[0]["status"], given, whole)


def fetch(url: str, body: bytes | None = None, **headers: str) -> Answer:
    """One request over the network."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, body, names)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return Answer(response.status, dict(response.headers), response.read())
    except urllib.error.HTTPError as error:
        return Answer(error.code, dict(error.headers), error.read())


@contextmanager
def serving(
    *arguments: str, complaint: str | None = None
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`ldpsql serve` on a free port: its process and its address.

    complaint: what it says on stderr before it starts.
    """
    command = [sys.executable, "-m", "ldpsql", "serve", "--new", "--port", "0", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) as own:
        line = own.stderr.readline()
        if complaint is not None:
            assert complaint in line
            line = own.stderr.readline()
        assert " at http" in line, line
        try:
            yield own, line.split(" at ")[1].split()[0]
        finally:
            if own.poll() is None:
                own.send_signal(signal.SIGKILL)
