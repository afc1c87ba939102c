"""Speed of Fourier surveys: drawing, counting, decoding, and how all grow with the reports."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.direct import count, histogram_of
from benchmarks.fourier_bounds import boxes_of
from benchmarks.tables import print_table
from benchmarks.timing import Pair, Work, side_by_side
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.engine.session import Session
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.recipe import Fourier
from ldpsql.randomize.files import randomize_file, report_writer
from ldpsql.randomize.table import randomize, randomize_batch
from ldpsql.store import open_store
from ldpsql.survey import Survey
from ldpsql_device.entropy import OsEntropy
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.schema import Dimension, Schema
from ldpsql_device.values import int_domain
from ldpsql_lab.simulation import SeededEntropy, accept_everything

PEOPLE, GOAL = 1_000_000, 25
FLEETS = (1_000_000, 10_000_000, 100_000_000)
SIZES = (64, 64)
QUESTION = "SELECT COUNT(*) FROM people WHERE a BETWEEN {} AND 40 AND b BETWEEN 5 AND 30"


def survey() -> tuple[Survey, FourierDesign]:
    """Two dimensions of 64 codes, designed for boxes, epsilon 1."""
    schema = Schema(tuple(Dimension(n, int_domain(0, 63)) for n in ("a", "b")))
    workload = boxes_of(SIZES, ("range", "range"))
    made = Fourier().design(RecordDomain.of(schema), Epsilon.parse("1"), {}, workload)
    return Survey("people", schema, made), made


def people(number: int) -> pa.Table:
    """Made-up codes around the middle."""
    random = np.random.default_rng(3)
    columns = random.normal(31.5, 10.0, (2, number)).clip(0, 63).astype(np.int64)
    return pa.table({"a": columns[0], "b": columns[1]})


def run() -> None:
    """Print the ratios, and a line per number of reports."""
    print_table(
        "Speed of a Fourier survey of 64 x 64 codes, epsilon 1",
        ("job", "against", "goal", "ratio", "ours (CPU ms)", "other (CPU ms)"),
        (
            (job, against, goal, f"{p.ratio:.2f}", f"{p.ours * 1e3:.1f}", f"{p.other * 1e3:.1f}")
            for job, against, goal, p in _pairs()
        ),
    )
    print()
    print_table(
        "A store that is fed batches of a million reports and keeps their counts",
        ("reports", "draw (CPU s)", "take and count", "first answer", "next", "peak (MB)"),
        (_fleet(number) for number in FLEETS),
    )


def _pairs() -> Iterator[tuple[str, str, object, Pair]]:
    asked, made = survey()
    table, random = people(PEOPLE), np.random.default_rng(0)
    codes = np.column_stack([np.asarray(table["a"]), np.asarray(table["b"])])

    def uniforms() -> object:
        return random.random(3 * PEOPLE)

    drawing = _cpu(lambda: made.randomize(codes, OsEntropy()), uniforms)
    yield "randomize 1 M people", "numpy draws 3 M uniforms", GOAL, drawing
    whole = _cpu(lambda: randomize(asked, table, policy=accept_everything(asked)), uniforms)
    yield "the same from a table, in random order", "numpy draws 3 M uniforms", GOAL, whole
    with tempfile.TemporaryDirectory() as folder:
        source, target = (Path(folder) / name for name in ("people.parquet", "reports.parquet"))
        pq.write_table(table, source)
        policy = accept_everything(asked)
        filed = _cpu(lambda: randomize_file(asked, source, target, policy=policy), uniforms)
        written = randomize(asked, table, policy=policy)

        def copied() -> None:
            pq.read_table(source)
            with report_writer(target, written.schema) as writer:
                writer.write_table(written)

        parsed = _cpu(copied, uniforms)
    yield "the same from a file to a file", "numpy draws 3 M uniforms", "-", filed
    yield "of that, reading and writing them", "numpy draws 3 M uniforms", "-", parsed
    reports = made.randomize(codes, OsEntropy())
    family, phase = (column.astype(np.int64) for column in reports.columns.values())

    def counted() -> object:
        return count(made, family, phase)

    yield "count 1 M reports", "numpy draws 3 M uniforms", "-", _cpu(counted, uniforms)
    histogram = histogram_of(made, count(made, family, phase))

    def decoded() -> object:
        return made.estimator(histogram).spectrum(None)

    yield "decode them", "numpy draws 3 M uniforms", "-", _cpu(decoded, uniforms)


def _cpu(ours: Work, other: Work) -> Pair:
    """Processor time of both: neither waits for anything."""
    return side_by_side(ours, other, clock=time.process_time)


def _fleet(number: int) -> tuple[object, ...]:
    """Measured in a process of its own, for its peak of memory."""
    command = [sys.executable, "-m", "benchmarks.fourier_speed", str(number)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return tuple(json.loads(done.stdout))


def fed(number: int) -> tuple[object, ...]:
    """Feed a store, ask it twice; the row of the table."""
    asked, _ = survey()
    table, policy = people(PEOPLE), accept_everything(asked)
    drawing = taking = 0.0
    with tempfile.TemporaryDirectory() as folder:
        with open_store(Path(folder) / "app.duckdb", read_only=False) as store:
            for batch in range(number // PEOPLE):
                start = time.process_time()
                reports, _ = randomize_batch(asked, table, SeededEntropy(batch), policy=policy)
                middle = time.process_time()
                store.ingest_table(reports, asked, keep="counts")
                drawing += middle - start
                taking += time.process_time() - middle
        with open_store(Path(folder) / "app.duckdb", read_only=True) as store:
            session = Session(store)
            first = _seconds(session, 20)
            following = _seconds(session, 21)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    times = (f"{seconds:.2f}" for seconds in (drawing, taking, first, following))
    return (f"{number:,}", *times, peak)


def _seconds(session: Session, low: int) -> float:
    start = time.process_time()
    session.execute(QUESTION.format(low))
    return time.process_time() - start


if __name__ == "__main__":
    print(json.dumps(fed(int(sys.argv[1]))))
