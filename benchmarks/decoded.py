"""Questions of a rich Fourier survey, cold and grouped by a public column.

Six dimensions, questions about up to three of them: some 52,000 families, of which a report tells
one. Times are CPU seconds of whole processes, or of a question in a process that has asked before.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.speed import LIBRARIES
from benchmarks.tables import print_table
from benchmarks.timing import children_seconds, run_python
from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql.randomize.table import randomize_batch
from ldpsql.store import open_store
from ldpsql.survey import Survey
from ldpsql_lab.simulation import SeededEntropy, accept_everything

SIZES = {"a": 24, "b": 24, "c": 25, "d": 12, "e": 12, "f": 12}
REPORTS, RUNS = (10_000, 100_000, 1_000_000), 3
SIMPLE = "SELECT f, COUNT(*) FROM six WHERE f < 7 GROUP BY f"
PUBLIC = "SELECT month, COUNT(*) FROM six WHERE a < 7 GROUP BY month"


@cache
def survey() -> Survey:
    """Six dimensions and a public month, epsilon 1."""
    dimensions = "".join(
        f'[dimension.{name}]\ntype = "int"\ndomain = [0, {size - 1}]\n'
        for name, size in SIZES.items()
    )
    return design(
        '[survey]\ntable = "six"\nepsilon = "1"\nmechanism = "fourier"\n'
        + dimensions
        + '[public.month]\ntype = "int"\n[workload]\nmax_predicates = 3\n'
    )


def codes(number: int, random: np.random.Generator) -> np.ndarray:
    """People around the middle of every dimension."""
    sizes = np.array(list(SIZES.values()))
    bell = random.normal(sizes / 2.5, sizes / 8, (number, len(sizes)))
    return np.clip(bell, 0, sizes - 1).astype(np.int64)


def run() -> None:
    """Print the table."""
    print_table(
        f"A survey of {survey().plan.questions:,} families: CPU seconds",
        (
            "reports",
            "ingest",
            "cold question",
            "over importing its libraries",
            "GROUP BY 12 months, cold",
            "the same in a session",
        ),
        _times(),
    )


def _times() -> Iterator[tuple[object, ...]]:
    with tempfile.TemporaryDirectory() as folder:
        for number in REPORTS:
            path = Path(folder) / f"{number}.duckdb"
            ingested = fill(path, number)
            libraries = _median("-c", LIBRARIES)
            cold, grouped = (
                _median("-m", "ldpsql", "--db", str(path), asked) for asked in (SIMPLE, PUBLIC)
            )
            with open_store(path, read_only=True) as store:
                Session(store).execute(SIMPLE)
                start = time.process_time()
                Session(store).execute(PUBLIC)
                within = time.process_time() - start
            times = (f"{seconds:.2f}" for seconds in (ingested, cold))
            ratio = f"{cold / libraries:.2f} ({libraries:.2f} s)"
            yield (f"{number:,}", *times, ratio, f"{grouped:.2f}", f"{within:.2f}")


def fill(path: Path, number: int) -> float:
    """CPU seconds of taking reports."""
    random = np.random.default_rng(1)
    people = dict(zip(SIZES, codes(number, random).T, strict=True))
    table = pa.table({**people, "month": random.integers(1, 13, number)})
    policy = accept_everything(survey())
    reports, _ = randomize_batch(survey(), table, SeededEntropy(1), policy=policy)
    with open_store(path, read_only=False) as store:
        start = time.process_time()
        store.ingest_table(reports, survey())
        return time.process_time() - start


def _median(*arguments: str) -> float:
    """CPU seconds of a whole process, the median of some after a first one."""
    return float(np.median([_process(*arguments) for _ in range(RUNS + 1)][1:]))


def _process(*arguments: str) -> float:
    before = children_seconds()
    run_python(*arguments)
    return children_seconds() - before
