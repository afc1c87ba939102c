"""The cost of hostile askers to the others: how long a count takes beside them, and without.

Fifty analysts with a token each ask for a count now and then. Beside them two hostile tokens ask
heavy questions, as many at once as they may and more, and send files, some byte by byte and some of
invalid lines. The counts without and beside take turns in one run of one server, so that whatever
else the machine does meets both alike.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import multiprocessing
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from multiprocessing.synchronize import Event
from pathlib import Path

import pyarrow as pa

from benchmarks.serving import PORTS, SURVEY
from benchmarks.tables import print_table
from ldpsql.designer import design
from ldpsql.randomize.table import randomize
from ldpsql.server.tokens import Tokens
from ldpsql.store import open_store
from ldpsql_lab.simulation import accept_everything

ANALYSTS, PEOPLE, PAUSE = 50, 20_000, 5.0
HOSTILE, HEAVY, DRIPPING, FILES = 2, 8, 4, 2
TURNS, TURN = 3, 20.0
"""Turns of each kind, and seconds of each."""
COUNT = {"sql": "SELECT COUNT(*) FROM app WHERE age >= 40", "timeout": 30}
_MANY = ", ".join(f"r AS r{i}" for i in range(8))
_LONG = " AND ".join(f"(age > {i % 70} OR age = {i % 60 + 18})" for i in range(3_000))
HEAVIES = (
    f"WITH r AS (SELECT age, COUNT(*) AS n FROM app GROUP BY age) SELECT count(*) FROM {_MANY}",
    f"SELECT COUNT(*) FROM app WHERE {_LONG}",
    "SELECT age, COUNT(*) FROM app WHERE age IN (" + ",".join(["?"] * 14_000) + ") GROUP BY age",
)


async def request(port: int, path: str, body: bytes, token: str) -> int:
    """The status of the answer to one request, on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(head(path, len(body), token) + body)
        answer = await reader.read()
        return int(answer.split(b" ", 2)[1])
    finally:
        writer.close()


def head(path: str, length: int, token: str) -> bytes:
    """The head of a request whose connection ends with its answer."""
    return (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        f"Connection: close\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


async def count(
    port: int, token: str, until: float, taken: list[float], ends: Counter[int]
) -> None:
    """Ask for counts now and then; how long each took that was answered."""
    chosen = random.Random(token)
    await asyncio.sleep(chosen.uniform(0.0, PAUSE))
    while time.monotonic() < until:
        begun = time.monotonic()
        status = await request(port, "/v1/query", json.dumps(COUNT).encode(), token)
        ends[status] += 1
        if status == 200:
            taken.append(time.monotonic() - begun)
        await asyncio.sleep(chosen.uniform(0.0, 2.0 * PAUSE))


async def ask_much(port: int, token: str, sql: str) -> None:
    """One heavy question after the other."""
    body = {"sql": sql, "timeout": 60, "parameters": [1] * sql.count("?")}
    while True:
        status = await request(port, "/v1/query", json.dumps(body).encode(), token)
        await asyncio.sleep(0.2 if status == 429 else 0.0)


async def drip(port: int, token: str) -> None:
    """Send files byte by byte."""
    while True:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(head("/v1/files?name=a.jsonl", 1 << 20, token))
            while True:
                writer.write(b"{")
                await writer.drain()
                await asyncio.sleep(0.5)
        except OSError:
            pass
        finally:
            writer.close()


async def send_much(port: int, token: str) -> None:
    """Send files of lines that are no reports."""
    body = b'{"id": "x"}\n' * 1_000_000
    while True:
        try:
            status = await request(port, "/v1/files?name=a.jsonl", body, token)
            await asyncio.sleep(0.2 if status == 429 else 0.0)
        except OSError:  # refused while it was sent
            await asyncio.sleep(0.2)


async def _disturb(port: int, tokens: list[str]) -> None:
    """All that the hostile do, without end."""
    foes = []
    for token in tokens:
        asked = itertools.islice(itertools.cycle(HEAVIES), HEAVY)
        foes += [ask_much(port, token, sql) for sql in asked]
        foes += [drip(port, token) for _ in range(DRIPPING)]
        foes += [send_much(port, token) for _ in range(FILES)]
    await asyncio.gather(*foes)


def disturb(port: int, tokens: list[str], begun: Event) -> None:
    """The same, in a process of its own."""
    begun.set()
    asyncio.run(_disturb(port, tokens))


async def _count(port: int, tokens: list[str], taken: list[float], ends: Counter[int]) -> None:
    until = time.monotonic() + TURN
    await asyncio.gather(*(count(port, token, until, taken, ends) for token in tokens))


def measure(port: int, analysts: list[str], hostile: list[str]) -> tuple[list[float], Counter[int]]:
    """How long counts took in one turn, and with which status the questions ended."""
    taken, ends = list[float](), Counter[int]()
    context = multiprocessing.get_context("spawn")
    begun = context.Event()
    foe = context.Process(target=disturb, args=(port, hostile, begun))
    if hostile:
        foe.start()
        begun.wait()
        time.sleep(3.0)
    asyncio.run(_count(port, analysts, taken, ends))
    if hostile:
        foe.kill()
        foe.join()
        time.sleep(3.0)  # until the server has noticed
    return taken, ends


def run() -> None:
    """Print the table."""
    survey, port = design(SURVEY), PORTS[1]
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder, "s.duckdb")
        people = pa.table({"age": [18 + i * 37 % 73 for i in range(PEOPLE)]})
        reports = randomize(survey, people, policy=accept_everything(survey))
        with open_store(database, read_only=False) as store:
            store.ingest_table(reports, survey)
        tokens = Tokens.beside(database)
        analysts = [tokens.add(f"analyst{i}", "analyst") for i in range(ANALYSTS)]
        hostile = [tokens.add(f"hostile{i}", "admin") for i in range(HOSTILE)]
        command = [sys.executable, "-m", "ldpsql", "serve", "--port", str(port)]
        with subprocess.Popen([*command, "--db", str(database)], stderr=subprocess.PIPE) as own:
            try:
                assert own.stderr is not None
                own.stderr.readline()
                turns = [
                    measure(port, analysts, foes) for _ in range(TURNS) for foes in ([], hostile)
                ]
            finally:
                own.kill()
    kinds = ("50 analysts", "50 analysts beside two hostile tokens")
    found = [
        (
            [seconds for taken, _ in turns[place::2] for seconds in taken],
            sum((ends for _, ends in turns[place::2]), Counter()),
        )
        for place in range(2)
    ]
    alone = statistics.median(found[0][0])
    print_table(
        "Counts beside hostile askers",
        ("who asks", "counts answered", "refused", "median ms", "95 % ms", "times alone"),
        (
            (
                kind,
                f"{ends[200]:,}",
                f"{ends.total() - ends[200]:,}",
                f"{1e3 * statistics.median(taken):.0f}",
                f"{1e3 * statistics.quantiles(taken, n=20)[-1]:.0f}",
                f"{statistics.median(taken) / alone:.2f}",
            )
            for kind, (taken, ends) in zip(kinds, found, strict=True)
        ),
    )
