"""Questions to `ldpsql serve` beside a full load of reports.

Server and load generator share the machine. Latencies are the clock's, of whatever else runs too.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.serving import SURVEY, count_cpu
from benchmarks.tables import print_table
from ldpsql.designer import design
from ldpsql.server.tokens import Tokens
from ldpsql.survey import Survey

BODY, SENDERS = 800, 8
QUESTIONS_A_SECOND, SECONDS = 20, 30.0
SQL = (
    "SELECT COUNT(*) FROM app WHERE age BETWEEN 2{} AND 60",
    "SELECT AVG(age) FROM app WHERE age < 2{}",
)
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def run() -> None:
    """Print the table."""
    with collecting() as server:
        asyncio.run(question(server))


class Server:
    """A running collector of one survey: its process, its port, and how to speak to it."""

    def __init__(self, pid: int, port: int, survey: Survey, token: str) -> None:
        self.pid, self.port, self.token = pid, port, token
        self.path = f"/v1/surveys/{survey.fingerprint}/reports"
        self._digits = sum(width // 4 for width in survey.design.report_format.widths)

    def lines(self, count: int) -> bytes:
        """Reports that were never sent before."""
        zeros, ids = "0" * self._digits, os.urandom(16 * count).hex()
        return "\n".join(
            f'{{"id":"{ids[32 * at : 32 * at + 32]}","report":"{zeros}","public":{{}}}}'
            for at in range(count)
        ).encode()

    async def connect(self) -> Streams:
        """A connection, once it listens."""
        for _ in range(600):
            try:
                return await asyncio.open_connection("127.0.0.1", self.port)
            except OSError:
                await asyncio.sleep(0.1)
        raise TimeoutError("the server does not listen")

    async def post(self, streams: Streams, path: str, body: bytes, more: str = "") -> bytes:
        """The body of the answer, which is 200."""
        reader, writer = streams
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n{more}"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in answer:
            raise AssertionError(answer)
        [length] = [
            int(line.split(b":")[1])
            for line in answer.lower().split(b"\r\n")
            if line.startswith(b"content-length")
        ]
        return await reader.readexactly(length)


@contextmanager
def collecting() -> Iterator[Server]:
    """`ldpsql serve` with an empty database."""
    survey = design(SURVEY)
    with tempfile.TemporaryDirectory() as folder:
        survey.write(Path(folder, "app.survey.json"))
        token = Tokens.beside(Path(folder, "s.duckdb")).add("bench", "analyst")
        command = [sys.executable, "-m", "ldpsql", "serve", "--port", "0"]
        command += ["--db", f"{folder}/s.duckdb", "--survey", f"{folder}/app.survey.json"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            port = int(process.stderr.readline().split(" at http://")[1].split()[0].split(":")[-1])
            try:
                yield Server(process.pid, port, survey, token)
            finally:
                process.terminate()


async def question(server: Server) -> None:
    """Ask at a fixed pace, whether the last answer is there or not, without and with reports."""
    one = await server.connect()
    await server.post(one, server.path, server.lines(BODY))
    rows = []
    for name, senders in (
        ("nothing", 0),
        (f"{SENDERS} senders, {BODY} reports a request", SENDERS),
    ):
        ended, sent = asyncio.Event(), [0]

        async def send(until: asyncio.Event = ended, count: list[int] = sent) -> None:
            own = await server.connect()
            while not until.is_set():
                await server.post(own, server.path, server.lines(BODY))
                count[0] += BODY

        sending = [asyncio.create_task(send()) for _ in range(senders)]
        idle = [await server.connect() for _ in range(4 * QUESTIONS_A_SECOND)]
        waits, asked = list[float](), list[asyncio.Task[None]]()

        async def ask(number: int, pool: list[Streams] = idle, took: list[float] = waits) -> None:
            started = time.perf_counter()
            own = pool.pop() if pool else await server.connect()
            sql = SQL[number % len(SQL)].format(
                number % 10 + 20 if number % 2 == 0 else number % 10
            )
            more = f"Authorization: Bearer {server.token}\r\n"
            await server.post(own, "/v1/query", json.dumps({"sql": sql}).encode(), more)
            took.append(time.perf_counter() - started)
            pool.append(own)

        cpu, started = count_cpu(server.pid), time.perf_counter()
        for number in range(int(QUESTIONS_A_SECOND * SECONDS)):
            await asyncio.sleep(
                max(0.0, started + number / QUESTIONS_A_SECOND - time.perf_counter())
            )
            asked.append(asyncio.create_task(ask(number)))
        await asyncio.gather(*asked)
        clock = time.perf_counter() - started
        ended.set()
        await asyncio.gather(*sending)
        cpu = count_cpu(server.pid) - cpu
        rows.append(
            (
                name,
                f"{len(waits) / clock:.1f}",
                f"{1000 * float(np.median(waits)):.0f}",
                f"{1000 * float(np.quantile(waits, 0.95)):.0f}",
                f"{sent[0] / clock:,.0f}",
                f"{100 * cpu / clock:.0f} %",
            )
        )
    print_table(
        f"Questions at a pace of {QUESTIONS_A_SECOND} a second",
        ("beside", "answers a second", "median ms", "95 % ms", "reports a second", "of a core"),
        rows,
    )
