"""What taking reports over HTTP costs: `ldpsql serve` against uvicorn with an empty handler.

Processor time of the server alone, of one run each, on loopback; the clock's beside it, which the
load generator and whatever else runs share.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.tables import print_table
from ldpsql.designer import design

SURVEY = """
[survey]
table = "app"
epsilon = "2"
mechanism = "hio"
[dimension.age]
type = "int"
domain = [18, 90]
"""
EMPTY = """
import uvicorn
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        return
    length = [(b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 200, "headers": length})
    await send({"type": "http.response.body", "body": b""})
uvicorn.run(app, port=PORT, log_level="critical", access_log=False, server_header=False)
"""
PORTS = 8771, 8772
CONNECTIONS, SINGLE = 2000, 10
FEW, MANY, BODY = 20, 25, 200


@dataclass(frozen=True)
class Cost:
    """Seconds of the server's processor time and of the clock, for so many requests."""

    requests: int
    cpu: float
    clock: float


def run() -> None:
    """Print the table."""
    survey = design(SURVEY)
    digits = sum(width // 4 for width in survey.design.report_format.widths)

    def line() -> bytes:
        own = os.urandom(16).hex().encode()
        return b'{"id":"%s","report":"%s","public":{}}' % (own, b"0" * digits)

    path = f"/v1/surveys/{survey.fingerprint}/reports"
    with tempfile.TemporaryDirectory() as folder:
        survey.write(Path(folder, "app.survey.json"))
        empty = [sys.executable, "-c", EMPTY.replace("PORT", str(PORTS[0]))]
        serve = [sys.executable, "-m", "ldpsql", "serve", "--port", str(PORTS[1])]
        serve += ["--new", "--db", f"{folder}/s.duckdb", "--survey", f"{folder}/app.survey.json"]
        with subprocess.Popen(empty) as bare, subprocess.Popen(serve) as ours:
            try:
                one = [
                    measure(own.pid, port, CONNECTIONS, SINGLE, path, line)
                    for own, port in ((bare, PORTS[0]), (ours, PORTS[1]))
                ]
                many = measure(
                    ours.pid,
                    PORTS[1],
                    FEW,
                    MANY,
                    path,
                    lambda: b"\n".join(line() for _ in range(BODY)),
                )
            finally:
                bare.terminate()
                ours.terminate()
    rows = [
        ("uvicorn, empty handler", one[0], 1),
        ("serve, a report a request", one[1], 1),
        (f"serve, {BODY} reports a request", many, BODY),
    ]
    print_table(
        "Reports over HTTP",
        ("server", "requests", "us of CPU each", "reports per CPU second", "requests a second"),
        (
            (
                name,
                f"{cost.requests:,}",
                f"{1e6 * cost.cpu / cost.requests:.0f}",
                f"{cost.requests * size / cost.cpu:,.0f}",
                f"{cost.requests / cost.clock:,.0f}",
            )
            for name, cost, size in rows
        ),
    )


def measure(
    pid: int, port: int, connections: int, each: int, path: str, body: Callable[[], bytes]
) -> Cost:
    """What a server spends on as many requests on every connection, all answered with 200."""
    before, started = count_cpu(pid), time.perf_counter()
    asyncio.run(_load(port, connections, each, path, body))
    return Cost(connections * each, count_cpu(pid) - before, time.perf_counter() - started)


def count_cpu(pid: int) -> float:
    """Seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _load(
    port: int, connections: int, each: int, path: str, body: Callable[[], bytes]
) -> None:
    async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        for _ in range(200):
            try:
                return await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.1)
        raise TimeoutError("the server does not listen")

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(each):
            own = body()
            head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n"
            writer.write(f"{head}Content-Length: {len(own)}\r\n\r\n".encode() + own)
            answer = await reader.readuntil(b"\r\n\r\n")
            assert b" 200 " in answer, answer
        writer.close()

    first = await connect()
    pairs = [first, *[await connect() for _ in range(connections - 1)]]
    await asyncio.gather(*(send(*pair) for pair in pairs))
