"""From a survey to answers, with made-up people and everything else real.

`ldpsql serve` and the devices are processes of their own, which speak HTTP. Devices that read
records, and reports, meet only here: so the truth can stand beside each answer.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from typing import IO, Any, Protocol

import duckdb
import pyarrow as pa

from ldpsql import server as collector
from ldpsql.algebra.estimate import CONFIDENCE
from ldpsql.dbapi.connection import Connection, connect
from ldpsql.designer import DesignedSurvey, design_survey
from ldpsql.engine.result import Result
from ldpsql.errors import pluralize
from ldpsql.server.remote import TOKEN
from ldpsql.server.tokens import Tokens
from ldpsql_device.errors import StoreError
from ldpsql_lab.demo.shop import QUESTIONS, SEED, SURVEY, shoppers

PEOPLE, PORT = 10_000, 8000
JAVASCRIPT_SHARE = 10
"""One person in so many answers in JavaScript, where node is there."""
TABLE, _ENDING = "shop", 10
_HERE = Path(__file__).parent
_CLIENT = Path(collector.__file__).with_name("page") / "client"


class ProgressDisplay(AbstractContextManager["ProgressDisplay"], Protocol):
    """A display of how far some work is."""

    def show(self, part: str) -> None:
        """This part of it is being done."""

    def advance(self, completed: int, total: int | None) -> None:
        """So much is done."""


def run(
    echo: Callable[[str], None],
    *,
    people: int = PEOPLE,
    port: int = PORT,
    stays: bool,
    progress: Callable[[str], ProgressDisplay],
) -> int:
    """Design, serve, have devices answer, ask; how many intervals missed the truth.

    port: of the collector, or another one if it is taken.  stays: whether the collector stays,
    until this process is interrupted, for questions from elsewhere.  progress: shows some work.
    What this writes is deleted at the end. Raises StoreError where the collector or a fleet of
    devices fails.
    """
    table = shoppers(people, SEED)
    echo(
        f"{people:,} shoppers are made up, and their devices run on this machine. All else is "
        "real: the survey,\nthe collector, and every report, sent by HTTP in a request of its own."
    )
    with progress("designing") as shown:
        designed = design_survey(SURVEY, users=people, tell=shown.show)
    for line in describe(designed):
        echo(line)
    with ExitStack() as ending:
        folder = Path(ending.enter_context(TemporaryDirectory(prefix="ldpsql-demo-")))
        database = folder / "shop.duckdb"
        token = Tokens.beside(database).add("demo", "analyst")
        published = folder / "shop.survey.json"
        designed.survey.write(published)
        server, address = ending.enter_context(
            serve("the collector", ["--db", str(database), "--survey", str(published)], port)
        )
        echo(f"\ncollector  {address}, with the database {database}")
        with progress("collecting") as shown:
            fleets = list(make_fleets(table, address))
            lines = list(collect(fleets, [server], shown.advance))
        for line in lines:
            echo(line)
        with connect(address, token=token) as connection:
            missed = ask(connection, table, address, echo)
        if stays:
            echo(f"\npage   {address}\ntoken  {token}  (the page asks for it)")
            echo("Ctrl-C stops the collector and deletes its database")
            server.wait()
            raise gone()
    echo("\nthis is not a terminal: the collector was stopped, and its database is deleted")
    return missed


def describe(designed: DesignedSurvey) -> Iterator[str]:
    """The choice of `auto`, the size of a report, and the promise, in lines."""
    survey, ranking = designed.survey, designed.ranking
    assert ranking is not None
    best, second = ranking.ranked[:2]
    ratio = second.forecast.error / best.forecast.error
    yield (
        f"\nmechanism  {best.name}, chosen by auto among {len(ranking.ranked)}: "
        f"the next best, {second.name}, has {ratio:.2f} times its error"
    )
    yield f"report     {survey.design.report_format.bits_per_report:.1f} bits a person"
    promise = survey.guarantee
    yield f"promised   {promise}: {promise.protects}"
    for exception in promise.not_protected:
        yield f"not        {exception}"


# -- the collector ---------------------------------------------------------------------------


@contextmanager
def serve(
    who: str, given: Sequence[str], port: int, token: str = ""
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`ldpsql serve` and its address, on any free port where the wanted one is taken. It ends with
    this process, however that ends: the pipe to it is closed then.

    who: for messages.  given: more of its options.  token: with which it brings files elsewhere.
    """
    command = [sys.executable, "-m", "ldpsql_lab.demo.collector", "serve", "--new", *given]
    with ExitStack() as ending:
        for wanted in (port, 0):
            here = [*command, "--port", str(wanted)]
            server = ending.enter_context(_running(here, stdin=subprocess.PIPE, token=token))
            said = _pipe(server.stderr).readline().strip()
            if "in use" not in said:
                break
        if " at http" not in said:
            raise StoreError(f"{who} did not start: {said or 'it said nothing'}")
        yield server, said.split(" at ")[1].split()[0]


@contextmanager
def _running(
    command: Sequence[str], *, stdin: int | None = None, stdout: int | None = None, token: str = ""
) -> Iterator[subprocess.Popen[str]]:
    """A process that has ended after the block; Ctrl-C reaches it by way of this one."""
    process = subprocess.Popen(
        command,
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, TOKEN: token} if token else None,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_ENDING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stderr):
            if pipe is not None:
                pipe.close()


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def gone() -> StoreError:
    """The error where a process that serves is no more."""
    return StoreError("the collector has ended; start the demonstration again")


# -- devices ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fleet:
    """Devices in one process: what runs them, and their people's records."""

    language: str
    command: Sequence[str]
    records: list[dict[str, Any]]


def make_fleets(table: pa.Table, address: str, *trusted: str) -> Iterator[Fleet]:
    """Everybody's devices: some in JavaScript where that can be run, the others in Python.

    trusted: the address and the key of a shuffler, if there is one.
    """
    records, node = table.to_pylist(), shutil.which("node")
    share = len(records) // JAVASCRIPT_SHARE if node and (_CLIENT / "index.js").exists() else 0
    given = [address, TABLE, *trusted]
    of_python = [sys.executable, "-P", str(_HERE / "devices.py"), *given]
    yield Fleet("Python", of_python, records[share:])
    if node and share:
        of_node = [node, str(_HERE / "devices.mjs"), str(_CLIENT), *given]
        yield Fleet("JavaScript (node)", of_node, records[:share])


def collect(
    fleets: Sequence[Fleet],
    servers: Sequence[subprocess.Popen[str]],
    advance: Callable[[int, int | None], None],
) -> Iterator[str]:
    """Have everybody answer; what is to be said of it."""
    people, started = sum(len(fleet.records) for fleet in fleets), time.monotonic()
    yield "devices    " + " and ".join(f"{len(f.records):,} in {f.language}" for f in fleets)
    if len(fleets) == 1:
        yield "           (none in JavaScript: node is not there)"
    told = SimpleQueue[str | None]()
    with ExitStack() as ending:
        processes = []
        for fleet in fleets:
            threads = ending.enter_context(ThreadPoolExecutor(2))
            running = _running(fleet.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            processes.append(ending.enter_context(running))
            threads.submit(_give, processes[-1], fleet.records)
            threads.submit(_hear, processes[-1], told)
        reports, at_work = list[str](), len(fleets)
        while at_work:
            try:
                line = told.get(timeout=1)
            except Empty:
                if any(server.poll() is not None for server in servers):
                    raise gone() from None
                continue
            if line is None:
                at_work -= 1
            else:
                reports.append(line)
                advance(len(reports), people)
        for fleet, process in zip(fleets, processes, strict=True):
            if process.wait():
                reason = _pipe(process.stderr).read().strip().rpartition("\n")[2]
                raise StoreError(f"devices in {fleet.language} failed: {reason}")
    seconds = time.monotonic() - started
    yield f"reports    {len(reports):,} acknowledged in {seconds:.0f} s, such as {reports[0]:.99}"


def _give(process: subprocess.Popen[str], records: list[dict[str, Any]]) -> None:
    """Hand each device its person's record."""
    with suppress(OSError), _pipe(process.stdin) as pipe:
        pipe.writelines(f"{json.dumps(record)}\n" for record in records)


def _hear(process: subprocess.Popen[str], told: SimpleQueue[str | None]) -> None:
    """Pass on the reports that are acknowledged, and None when there are no more."""
    with _pipe(process.stdout) as pipe:
        for line in pipe:
            told.put(line.strip())
    told.put(None)


# -- answers ---------------------------------------------------------------------------------


def ask(
    connection: Connection,
    table: pa.Table,
    address: str,
    echo: Callable[[str], None],
    alone: Connection | None = None,
) -> int:
    """Ask the collector over HTTP, and the table; how many intervals missed the truth.

    alone: to reports of the same people that nobody mixed, whose intervals stand beside.
    """
    missed = 0
    with duckdb.connect() as truth:
        truth.register(TABLE, table)
        for sql in QUESTIONS:
            echo(f'\n$ ldpsql --db {address} "{sql}"')
            exact = truth.execute(sql).fetchall()
            beside = None if alone is None else alone.execute(sql).result
            for line, is_inside in _compare(connection, sql, exact, beside):
                echo(line)
                missed += not is_inside
    rare = f"at {100 * CONFIDENCE:g} % about one in {1 / (1 - CONFIDENCE):.0f} does"
    echo(f"\n{pluralize(missed, 'interval')} missed the truth; {rare}")
    echo("(only a demonstration knows the truth: its people are made up)")
    return missed


def _compare(
    connection: Connection, sql: str, truth: Sequence[tuple[Any, ...]], beside: Result | None
) -> Iterator[tuple[str, bool]]:
    """A line for every estimate beside the exact answer with the same key, and whether its interval
    holds that; a NULL claims nothing.  beside: an answer to the same, of which the intervals are
    shown."""
    cursor = connection.execute(sql)
    result = cursor.result
    keys = [i for i in range(len(result.columns)) if i not in result.intervals]
    exact = {tuple(row[i] for i in keys): row for row in truth}
    for number, row in enumerate(cursor.fetchall()):
        key = tuple(row[i] for i in keys)
        for index, bars in result.intervals.items():
            label = " ".join([*map(str, key), result.columns[index].name.lower()])
            value, low, high = row[index], bars.low[number], bars.high[number]
            if value is None:
                yield f"   {label:<16} NULL: the reports are too few for an answer", True
                continue
            half, true_value = (high - low) / 2, exact[key][index]
            digits, is_inside = 2 if half < 100 else 0, low <= true_value <= high
            other = ""
            if beside is not None:
                own = beside.intervals[index]
                reach = (own.high[number] - own.low[number]) / 2
                other = "   alone NULL" if math.isnan(reach) else f"   alone ± {reach:,.{digits}f}"
            yield (
                f"   {label:<16} {value:>14,.{digits}f} ± {half:<10,.{digits}f}"
                f" truth {true_value:>14,.{digits}f}  {'inside' if is_inside else 'outside'}"
                f"{other}",
                is_inside,
            )
