"""The same with few people and a shuffler: a process of its own, which devices trust by its key.

Beside each answer stands what the same people would have got without it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from ldpsql.dbapi.connection import Connection, connect
from ldpsql.designer import design_survey
from ldpsql.randomize.table import randomize_batch
from ldpsql.server.tokens import Tokens
from ldpsql.survey import Survey
from ldpsql_device.entropy import OsEntropy
from ldpsql_device.errors import StoreError
from ldpsql_device.policy import Policy
from ldpsql_device.signature import SigningKey
from ldpsql_lab.demo import run as unmixed
from ldpsql_lab.demo.run import ProgressDisplay, ask, collect, describe, gone, make_fleets, serve
from ldpsql_lab.demo.shop import SEED, SURVEY, shoppers

EPSILON = "1"
_PATIENCE = 120.0
"""Seconds that a batch may take to the collector, to which it is offered every ten."""


def run(
    echo: Callable[[str], None],
    *,
    people: int,
    port: int = unmixed.PORT,
    stays: bool,
    progress: Callable[[str], ProgressDisplay],
) -> int:
    """As `ldpsql_lab.demo.run.run`; NotSupportedError without the library that signs."""
    table = shoppers(people, SEED)
    echo(
        f"{people:,} shoppers are made up, and their devices run on this machine. All else is "
        "real: the survey,\na shuffler, a collector, and every report, which only the shuffler can "
        "read."
    )
    asked = SURVEY.replace('epsilon = "2"', f'epsilon = "{EPSILON}"')
    mixed = f"{asked}\n".replace(
        "[survey]", f'[survey]\ntrust = "shuffle"\ndelta = "1e-6"\nusers = {people}'
    )
    with progress("designing") as shown:
        designed = design_survey(mixed, users=people, tell=shown.show)
        alone = design_survey(asked, users=people, tell=shown.show)
    for line in describe(designed):
        echo(line)
    with ExitStack() as ending:
        folder = Path(ending.enter_context(TemporaryDirectory(prefix="ldpsql-demo-")))
        database, waiting = folder / "shop.duckdb", folder / "waiting.db"
        tokens, key = Tokens.beside(database), SigningKey.create(folder / "shuffler.key")
        analyst, relay = tokens.add("demo", "analyst"), tokens.add("shuffler", "relay")
        published = folder / "shop.survey.json"
        designed.survey.write(published)
        given = ["--survey", str(published)]
        own = ["--db", str(database), "--shuffler-key", key.author]
        collector, address = ending.enter_context(serve("the collector", [*own, *given], port))
        own = ["--db", str(waiting), "--shuffler", str(folder / "batches")]
        own += ["--key", str(folder / "shuffler.key"), "--collector", address]
        shuffler, mixer = ending.enter_context(
            serve("the shuffler", [*own, *given], 0, token=relay)
        )
        echo(f"\ncollector  {address}, with the database {database}")
        echo(f"shuffler   {mixer}, whose key {key.author[:12]}... the devices trust")
        with progress("collecting") as shown:
            fleets = list(make_fleets(table, address, mixer, key.author))
            lines = list(collect(fleets, [collector, shuffler], shown.advance))
        for line in lines:
            echo(line)
        with connect(address, token=analyst) as connection, connect(":memory:") as beside:
            with progress("mixing"):
                _await_batch(connection, lambda: collector.poll() is shuffler.poll() is None)
            echo(f"batch      of {people:,} reports, in random order, signed by the shuffler")
            beside.ingest(_randomize(alone.survey, table), survey=alone.survey)
            missed = ask(connection, table, address, echo, beside)
            echo(
                f"alone: what the same people's reports say where nobody mixes them, at epsilon "
                f"{EPSILON} each\n(a survey of its own, for which auto chose "
                f"{alone.survey.design.name})"
            )
        if stays:
            echo(f"\npage   {address}\ntoken  {analyst}  (the page asks for it)")
            echo("Ctrl-C stops collector and shuffler and deletes their files")
            collector.wait()
            raise gone()
    echo("\nthis is not a terminal: both were stopped, and their files are deleted")
    return missed


def _await_batch(connection: Connection, goes_on: Callable[[], bool]) -> None:
    """Wait until the collector has the shuffler's batch."""
    ends = time.monotonic() + _PATIENCE
    while connection.execute(f"SELECT COUNT(*) FROM {unmixed.TABLE}").result.reports == 0:
        if not goes_on():
            raise gone()
        if time.monotonic() > ends:
            raise StoreError(f"no batch came within {_PATIENCE:g} s; start the demonstration again")
        time.sleep(0.5)


def _randomize(survey: Survey, people: pa.Table) -> pa.Table:
    """Reports of everybody to a survey that trusts nobody."""
    reports, _ = randomize_batch(survey, people, OsEntropy(), policy=Policy(max_epsilon=2))
    return reports
