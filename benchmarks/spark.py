"""Refreshing a folder of reports with Spark, beside the same plan whose Python does nothing.

The plan beside it reads the same files by Spark's own reader of Parquet, hands the rows to Python
and back unchanged (an identity `mapInArrow`), drops repeats, counts, and writes counts and ids by
the same statements, and hands the counts to Python and back once more, where a refresh decodes
them. Both are timed by what the process, Spark's and Python's workers take of processors, and by
the clock; both begin with the same state.

Beside them, what no plan can do without: decoding the same counts, and working out what a design
tells of itself, in this process, without Spark.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.decoded import codes, survey
from benchmarks.tables import print_table
from benchmarks.timing import by_clocks
from ldpsql.randomize.table import randomize_batch
from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql.spark.columns import (
    PLACE,
    ROW,
    SAID,
    arriving_schema,
    in_spark,
    wide,
)
from ldpsql.spark.executor import CountDecoder
from ldpsql.spark.session import start
from ldpsql.spark.store import SparkStore
from ldpsql.store.base import Selection
from ldpsql.survey import Survey
from ldpsql_lab.simulation import SeededEntropy, accept_everything

REPORTS, FILES, RUNS = (100_000, 1_000_000), 8, 5


def run() -> None:
    """Print the table."""
    print_table(
        "Refreshing a folder of reports with Spark",
        (
            "reports",
            "CPU seconds",
            "identity",
            "ratio",
            "seconds",
            "identity by the clock",
            "ratio by the clock",
            "decoding without Spark",
            "the design without Spark",
        ),
        map(_measure, REPORTS),
    )


def _measure(number: int) -> tuple[str, ...]:
    session, asked = start(), survey()
    random = np.random.default_rng(1)
    people = dict(zip(("a", "b", "c", "d", "e", "f"), codes(number, random).T, strict=True))
    table = pa.table({**people, "month": random.integers(1, 13, number)})
    reports, _ = randomize_batch(asked, table, SeededEntropy(1), policy=accept_everything(asked))
    with tempfile.TemporaryDirectory() as folder:
        rows, places = (
            -(-number // FILES),
            [Path(folder, f"{place}.parquet") for place in range(FILES)],
        )
        for place, path in enumerate(places):
            pq.write_table(reports.slice(place * rows, rows), path)
        ours = partial(_refresh, session, asked, Path(folder))
        identity = partial(_pass_through, session, asked, Path(folder), places)
        with _Processors() as processors:
            clocks = (processors.find, time.perf_counter)
            pairs = by_clocks(ours, identity, clocks, runs=RUNS)
        ours()
        alone = _decode_alone(asked, pq.read_table(folder + "/_ldpsql/counts"))
    seconds = [cell for pair in pairs for cell in (pair.ours, pair.other, pair.ratio)]
    return (f"{number:,}", *(f"{cell:.2f}" for cell in (*seconds, *alone)))


def _decode_alone(asked: Survey, counts: pa.Table) -> tuple[float, float]:
    """Processor seconds of decoding counts, and of what follows from the design alone."""
    decoder = CountDecoder(asked.to_json(), asked.fingerprint, Selection(keys=("month",)))
    decoding, deriving = list[float](), list[float]()
    for _ in range(1 + RUNS):
        start = time.process_time()
        assert list(decoder.decode(counts.to_batches()))
        decoding.append(time.process_time() - start)
        design = Survey.from_kept(asked.to_json(), asked.fingerprint).design
        assert design.decoding is not None
        start = time.process_time()
        design.decoding.derive()
        deriving.append(time.process_time() - start)
    return statistics.median(decoding[1:]), statistics.median(deriving[1:])


def _refresh(session, asked, folder: Path) -> None:
    shutil.rmtree(folder / "_ldpsql", ignore_errors=True)
    with SparkStore(session, str(folder), asked, read_only=False) as store:
        store.catch_up()


def _pass_through(session, asked, folder: Path, places: list[Path]) -> None:
    from pyspark import StorageLevel  # noqa: PLC0415  (an extra)

    shutil.rmtree(folder / "_ldpsql", ignore_errors=True)
    with SparkStore(session, str(folder), asked, read_only=False) as store:
        assert isinstance(store, SparkStore)
        store._look_at_today()
        with store._open_survey(None) as intake:
            layout = store._layout(intake.table)
            numbers = " ".join(f"WHEN '{path.name}' THEN {own}" for own, path in enumerate(places))
            own = {
                PLACE: f"CASE substring_index(input_file_name(), '/', -1) {numbers} END",
                ROW: "monotonically_increasing_id()",
                SAID: "NULL",
                ID_COLUMN: ID_COLUMN,
            }
            columns = in_spark(arriving_schema(layout.intake))
            rows = session.read.parquet(*map(str, places)).selectExpr(
                *(
                    f"CAST({own.get(each.name, each.name)} AS {each.dataType.simpleString()}) "
                    f"AS {each.name}"
                    for each in columns
                )
            )
            arrived = rows.mapInArrow(_identity, columns)
            arrived = arrived.persist(StorageLevel.DISK_ONLY)
            arrived.groupBy(PLACE).count().toArrow()
            reports = {own: pq.read_metadata(path).num_rows for own, path in enumerate(places)}
            store._count(layout, arrived, reports, "pass")
            arrived.unpersist()
            counts = store._read_counts(layout, "pass")
            schema = in_spark(wide(layout.histogram_columns))
            counts.mapInArrow(_identity, schema).groupBy().sum(
                layout.histogram_columns[-1].name
            ).toArrow()


def _identity(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


class _Processors:
    """Seconds that this process and all that it started took of processors (Linux).

    Spark ends workers that are idle for a minute, and what those took is nobody's: so a thread
    looks every second.
    """

    def __init__(self) -> None:
        self._lock, self._ticks = threading.Lock(), dict[int, int]()

    def __enter__(self) -> Self:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(1.0):
            self.find()

    def find(self) -> float:
        """Until now."""
        children: dict[int, list[int]] = {}
        ticks: dict[int, int] = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:  # it has ended meanwhile
                continue
            process = int(path.parent.name)
            children.setdefault(int(fields[1]), []).append(process)
            ticks[process] = sum(map(int, fields[11:13]))
        left = [os.getpid()]
        with self._lock:
            while left:
                process = left.pop()
                self._ticks[process] = ticks.get(process, 0)
                left += children.get(process, [])
            return sum(self._ticks.values()) / os.sysconf("SC_CLK_TCK")
