"""What grows with the number of reports, of batches, of columns and of public values.

Reports are those of a million made-up people, over and over with ids of their own. Every step is a
process of its own: CPU seconds, and the most memory that it held.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.tables import print_table
from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql.simulation import SeededEntropy, accept_everything
from ldpsql.store import open_store
from ldpsql.survey import Survey
from ldpsql_device.arrow import ID_COLUMN
from ldpsql_device.table import randomize_batch

REPORTS = tuple(int(each) * 10**6 for each in os.environ.get("REPORTS", "1 10 30").split())
"""Sizes of the largest tables, in millions in the environment."""
FILE, MEMORY = 1_000_000, 1_500
SHOPS, SOLD = 1_000_000, 3_000_000
FILES, BATCHES, DAYS = 10_000, 1_000, 365
QUESTION = "SELECT COUNT(*), AVG(age) FROM app WHERE age BETWEEN 20 AND 40"
MANY = {
    "one column": "SELECT shop, COUNT(*) FROM app WHERE age < 40 GROUP BY shop",
    "a sum and an average": "SELECT shop, COUNT(*), SUM(paid), AVG(paid) FROM app "
    "WHERE age < 40 GROUP BY shop",
    "two columns": "SELECT shop, is_new, COUNT(*) FROM app WHERE age < 40 AND shop < 400000 "
    "GROUP BY shop, is_new",
}


def survey(mechanism: str, *public: str) -> Survey:
    """Ages, and public columns."""
    return design(
        f'[survey]\ntable = "app"\nepsilon = "2"\nmechanism = "{mechanism}"\n'
        '[dimension.age]\ntype = "int"\ndomain = [18, 90]\n' + "".join(public)
    )


def column(name: str, kind: str) -> str:
    """A public column."""
    return f'[public.{name}]\ntype = "{kind}"\n'


def answers(made: Survey, people: int, public: Mapping[str, object]) -> pa.Table:
    """Reports of made-up people, in the order of the people."""
    random = np.random.default_rng(1)
    age = np.clip(random.normal(42, 14, people), 18, 90).astype(np.int64)
    policy, entropy = accept_everything(made), SeededEntropy(1)
    table = pa.table({"age": age, **public})
    return randomize_batch(made, table, entropy, policy=policy)[0]


def with_new_ids(reports: pa.Table) -> pa.Table:
    """The same reports of other people."""
    words = pa.py_buffer(os.urandom(16 * reports.num_rows))
    ids = pa.Array.from_buffers(pa.binary(16), reports.num_rows, [None, words])
    return reports.set_column(reports.column_names.index(ID_COLUMN), ID_COLUMN, ids)


# -- steps, each in a process of its own -----------------------------------------------------------


def _ingest(folder: str) -> None:
    with open_store(Path(folder) / "s.duckdb", read_only=False, memory=MEMORY) as store:
        store.ingest([Path(folder) / "reports"], survey=_survey_in(folder))


def _count(folder: str) -> None:
    """What DuckDB needs for the same files: drop repeated ids, and count equal reports."""
    with duckdb.connect(str(Path(folder) / "counted.duckdb")) as connection:
        connection.execute(f"SET memory_limit = '{MEMORY}MB'")
        connection.execute("SET preserve_insertion_order = false")
        files = f"read_parquet('{folder}/reports/*.parquet')"
        names = connection.sql(f"FROM {files} LIMIT 0").columns
        own = [f'"{name}"' for name in names if name != ID_COLUMN]
        firsts = ", ".join(f"first({name}) AS {name}" for name in own)
        connection.execute(
            f"CREATE TABLE reports AS SELECT {ID_COLUMN}::UUID AS id, {firsts} "
            f"FROM {files} GROUP BY 1"
        )
        listed = ", ".join(own)
        connection.execute(
            f"CREATE TABLE counts AS SELECT {listed}, count(*) AS n FROM reports GROUP BY ALL"
        )


def _ask(folder: str, sql: str = QUESTION) -> None:
    with open_store(Path(folder) / "s.duckdb", read_only=True) as store:
        Session(store, seconds=600.0).execute(sql)


def _survey_in(folder: str) -> Survey:
    return Survey.from_json(Path(folder) / "app.survey.json")


STEPS: Mapping[str, Callable[..., None]] = {"ingest": _ingest, "count": _count, "ask": _ask}


def measure(step: str, *arguments: str) -> tuple[float, float]:
    """CPU seconds and the most megabytes of a step in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale", step, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, megabytes = json.loads(done.stdout)
    return seconds, megabytes


# -- tables ----------------------------------------------------------------------------------------


def run() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as folder:
        print_table(
            "Ingestion beside DuckDB, which reads the same files, drops repeated ids and counts "
            f"(both with {MEMORY} MB for DuckDB)",
            ("reports", "ingest (s)", "MB", "DuckDB (s)", "MB", "ratio", "a question (s)"),
            _grown(Path(folder)),
        )
    print_table(
        "GROUP BY a public column of a million values, three million reports",
        ("mechanism", "question", "CPU (s)", "MB"),
        _many_values(),
    )
    print_table(
        "Small files of ten reports in one command",
        ("files", "ms of CPU each"),
        _small_files(),
    )
    print_table(
        "Batches of ten reports, a thousand a day",
        ("batches", "ms of CPU each, the last thousand", "a question (s)", "file (MB)"),
        _batches(),
    )
    print_table(
        "Public columns, a million reports",
        ("columns", "ingest (s)", "MB", "a question (s)"),
        _columns(),
    )


def _grown(folder: Path) -> Iterator[tuple[object, ...]]:
    made = survey("hio", column("region", "text"))
    _save(made, folder)
    region = np.array(list("nsew"))[np.arange(FILE) % 4]
    reports, written = answers(made, FILE, {"region": region}), 0
    for number in REPORTS:
        while written < number:
            path = folder / "reports" / f"{written // FILE:04}.parquet"
            pq.write_table(with_new_ids(reports), path)
            written += FILE
        for name in ("s.duckdb", "counted.duckdb"):
            for path in folder.glob(f"{name}*"):
                path.unlink()
        seconds, own = measure("ingest", str(folder))
        theirs, other = measure("count", str(folder))
        asked = _question(folder)
        yield (
            f"{number:,}",
            f"{seconds:.1f}",
            f"{own:.0f}",
            f"{theirs:.1f}",
            f"{other:.0f}",
            f"{seconds / theirs:.2f}",
            f"{asked:.2f}",
        )


def _question(folder: Path, sql: str = QUESTION) -> float:
    return float(np.median([measure("ask", str(folder), sql)[0] for _ in range(3)]))


def _save(made: Survey, folder: Path) -> None:
    (folder / "reports").mkdir(exist_ok=True)
    made.write(folder / "app.survey.json")


def _many_values() -> Iterator[tuple[object, ...]]:
    random = np.random.default_rng(2)
    shop = np.concatenate([np.arange(SHOPS), random.integers(0, SHOPS, SOLD - SHOPS)])
    public = {
        "shop": shop,
        "is_new": random.random(SOLD) < 0.5,
        "paid": np.round(random.random(SOLD) * 50.0, 2),
    }
    columns = (column("shop", "int"), column("is_new", "bool"), column("paid", "float"))
    for mechanism in ("hio", "fourier"):
        with tempfile.TemporaryDirectory() as folder:
            made = survey(mechanism, *columns)
            with open_store(Path(folder) / "s.duckdb", read_only=False) as store:
                store.ingest_table(answers(made, SOLD, public), made)
            for question, sql in MANY.items():
                seconds, megabytes = measure("ask", folder, sql)
                yield mechanism, question, f"{seconds:.1f}", f"{megabytes:.0f}"


def _small_files() -> Iterator[tuple[object, ...]]:
    made = survey("hio", column("region", "text"))
    for files in (FILES // 10, FILES):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            _save(made, folder)
            region = np.full(10 * files, "n")
            reports = answers(made, 10 * files, {"region": region})
            for number in range(files):
                path = folder / "reports" / f"{number:06}.parquet"
                pq.write_table(reports.slice(10 * number, 10), path)
            seconds, _ = measure("ingest", name)
            yield f"{files:,}", f"{1e3 * seconds / files:.2f}"


def _batches() -> Iterator[tuple[object, ...]]:
    """As many days as half an hour has room for: one command per day."""
    made, started = survey("hio"), time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _save(made, folder)
        reports = answers(made, 10 * BATCHES, {})
        for day in range(DAYS):
            fresh = with_new_ids(reports)
            for number in range(BATCHES):
                path = folder / "reports" / f"{number:06}.parquet"
                pq.write_table(fresh.slice(10 * number, 10), path)
            seconds, _ = measure("ingest", name)
            is_over = time.monotonic() - started > 1_800.0
            if day + 1 in (1, 10, 30, 100, DAYS) or is_over:
                size = (folder / "s.duckdb").stat().st_size / 1e6
                each = f"{1e3 * seconds / BATCHES:.2f}"
                yield f"{(day + 1) * BATCHES:,}", each, f"{_question(folder):.2f}", f"{size:.0f}"
            if is_over:
                return


def _columns() -> Iterator[tuple[object, ...]]:
    for count in (0, 5, 15):
        with tempfile.TemporaryDirectory() as name:
            folder, random = Path(name), np.random.default_rng(3)
            made = survey("hio", *(column(f"c{place}", "int") for place in range(count)))
            _save(made, folder)
            public = {f"c{place}": random.integers(0, 10, FILE) for place in range(count)}
            pq.write_table(answers(made, FILE, public), folder / "reports" / "all.parquet")
            seconds, megabytes = measure("ingest", name)
            sql = QUESTION + " AND c0 = 3" * bool(count)
            yield count, f"{seconds:.1f}", f"{megabytes:.0f}", f"{_question(folder, sql):.2f}"


if __name__ == "__main__":
    begun = time.process_time()
    STEPS[sys.argv[1]](*sys.argv[2:])
    print(json.dumps([time.process_time() - begun, getrusage(RUSAGE_SELF).ru_maxrss / 1e3]))
