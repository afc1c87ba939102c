"""A year of a program that counts its events, at its collector: taking in, answering, the charts.

The survey is that of examples/telemetry: 100,000 installations, each of which answers in one of 13
weeks, so 52 files of 7,692 reports. Processor time of this process; the memory is the most that it
held, of which the first line tells what it held before there was any report.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import ldpsql
from benchmarks.tables import print_table
from ldpsql.designer import design
from ldpsql.randomize import table as randomizing
from ldpsql.store import open_store
from ldpsql.survey import Survey
from ldpsql.workbench.timelines.choice import chart_survey
from ldpsql.workbench.timelines.page import write_timelines
from ldpsql_device.policy import Policy
from ldpsql_lab.simulation import SeededEntropy

EXAMPLE = Path(__file__).parents[1] / "examples" / "telemetry" / "words.toml"
INSTALLATIONS, WEEKS, TURNS = 100_000, 52, 13
MONDAY = date(2026, 1, 5)


def run() -> None:
    """Print what each step takes."""
    rows: list[tuple[Any, ...]] = []
    survey = design(EXAMPLE.read_text())
    with tempfile.TemporaryDirectory() as folder:
        files = draw_weeks(survey, Path(folder))
        rows.append(("before", "", _memory()))
        path = Path(folder, "words.duckdb")
        with closing(open_store(path, read_only=False)) as store:
            _measure(
                rows,
                "52 files taken in, one after the other",
                lambda: [store.ingest([file], survey=survey) for file in files],
            )
            _measure(rows, "all reports decoded anew", lambda: store.refresh("words"))
        with ldpsql.connect(path, read_only=True) as connection:
            sql = "SELECT period, AVG(longest) FROM words GROUP BY period ORDER BY period"
            _measure(rows, "a question by week", lambda: connection.execute(sql).fetchall())
            _measure(rows, "the page of charts", lambda: _draw(connection))
        size = path.stat().st_size / 1e6
        size = Path(folder, "words.duckdb").stat().st_size / 1e6
    rows.append(("the store", "", f"{size:.0f} MB on the disk"))
    print_table("A year of weeks", ("step", "s", "most memory, MB"), rows)


def draw_weeks(survey: Survey, folder: Path) -> list[Path]:
    """A file of reports for every week, of those whose turn it is."""
    rng, files, answering = np.random.default_rng(52), list[Path](), INSTALLATIONS // TURNS
    for week in range(WEEKS):
        people = pa.table(
            {
                "days": rng.binomial(7, 0.4, answering),
                "longest": rng.random(answering) < 0.1 + week / 200,
                "version": rng.choice(["1.0", "1.1", "1.2"], answering, p=[0.2, 0.5, 0.3]),
                "read_ms": rng.lognormal(3.5, 1.2, answering),
            }
        )
        day = MONDAY + timedelta(weeks=week)
        with patch.object(randomizing, "utc_today", lambda day=day: day):
            policy = Policy(2, public={"period"})
            drawn, _ = randomizing.randomize_batch(
                survey, people, SeededEntropy(week), policy=policy
            )
        files.append(folder / f"{day}.parquet")
        pq.write_table(drawn, files[-1])
    return files


def _draw(connection: ldpsql.Connection) -> None:
    last = MONDAY + timedelta(weeks=WEEKS)
    survey = connection.surveys[0]
    charts = chart_survey(connection.session, survey, last, most=WEEKS, min_people=20)
    write_timelines(charts, charts, last, 20)


def _measure(rows: list[tuple[Any, ...]], step: str, work: Callable[[], object]) -> None:
    begun = time.process_time()
    work()
    rows.append((step, f"{time.process_time() - begun:.1f}", _memory()))


def _memory() -> str:
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f}"
