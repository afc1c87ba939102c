"""What grows with the number of reports, of columns and of public values.

Reports are those of a million made-up people, over and over with ids of their own: their answers do
not matter for what they cost. Every step is a process of its own, which loads what a command loads:
CPU seconds without those of loading, and the most memory that it held.
`python -m benchmarks.scale TABLE ...` makes some of the tables.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from unittest.mock import patch

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.tables import print_table
from ldpsql.cli.main import NoPandas
from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql.randomize.table import randomize_batch
from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql.store import open_store
from ldpsql.survey import Survey
from ldpsql_device.survey import utc_today
from ldpsql_lab.simulation import SeededEntropy, accept_everything

REPORTS = tuple(int(each) * 10**6 for each in os.environ.get("REPORTS", "1 10 30 100").split())
"""Sizes of the largest tables, in millions in the environment."""
FILE, MEMORY = 1_000_000, 1_400
MORE = 1_000
SHOPS, SOLD = 1_000_000, 3_000_000
LATER = 40
"""Days after which no id of today is remembered."""
QUESTION = "SELECT COUNT(*), AVG(age) FROM app WHERE age BETWEEN 20 AND 40"
MANY = {
    "one column": "SELECT shop, COUNT(*) FROM app WHERE age < 40 GROUP BY shop",
    "a sum and an average": "SELECT shop, COUNT(*), SUM(paid), AVG(paid) FROM app "
    "WHERE age < 40 GROUP BY shop",
    "two columns": "SELECT shop, is_new, COUNT(*) FROM app WHERE age < 40 AND shop < 400000 "
    "GROUP BY shop, is_new",
}
TOGETHER = {
    "hio": tuple(MANY),
    "fourier": tuple(MANY),
    **dict.fromkeys(("haarhrr", "staircase", "urr", "srr-ss"), ("one column",)),
}
"""Of mechanisms that answer many public values together, which questions are asked."""


def survey(mechanism: str, *public: str) -> Survey:
    """Ages, and public columns."""
    return design(
        f'[survey]\ntable = "app"\nepsilon = "2"\nmechanism = "{mechanism}"\n'
        '[dimension.age]\ntype = "int"\ndomain = [18, 90]\n'
        + "sensitive = [20, 21]\n" * (mechanism == "urr")
        + "".join(public)
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


def _add(folder: str, days: str) -> None:
    """Ingest one more file, some days from now."""
    later = utc_today() + timedelta(days=int(days))
    own = Path(folder) / "more.parquet"
    with (
        patch("ldpsql.store.store.utc_today", lambda: later),
        open_store(Path(folder) / "s.duckdb", read_only=False, memory=MEMORY) as store,
    ):
        [batch] = store.ingest([own], survey=_survey_in(folder))
        assert batch.reports == MORE, batch


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


STEPS: Mapping[str, Callable[..., None]] = {
    "ingest": _ingest,
    "add": _add,
    "count": _count,
    "ask": _ask,
}


@dataclass(frozen=True)
class Measured:
    """CPU seconds of a step in a process of its own, the most megabytes that it held, and the
    megabytes that it read from files, those of the operating system's cache among them."""

    seconds: float
    held: float
    read: float


def measure(step: str, *arguments: str) -> Measured:
    """What a step takes in a process of its own, once that has imported everything."""
    command = [sys.executable, "-m", "benchmarks.scale", step, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Measured(*json.loads(done.stdout))


def _find_read() -> float:
    """Megabytes that this process has read (Linux)."""
    [line] = (each for each in Path("/proc/self/io").read_text().splitlines() if "rchar" in each)
    return int(line.split()[1]) / 1e6


# -- tables ----------------------------------------------------------------------------------------


def run(*names: str) -> None:
    """Print the tables, or some of them."""
    for name in names or TABLES:
        title, head, rows = TABLES[name]
        print_table(title, head, rows())


def _grown() -> Iterator[tuple[object, ...]]:
    made = survey("hio", column("region", "text"))
    region = np.array(list("nsew"))[np.arange(FILE) % 4]
    reports, written = answers(made, FILE, {"region": region}), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _save(made, folder)
        for number in REPORTS:
            while written < number:
                path = folder / "reports" / f"{written // FILE:04}.parquet"
                pq.write_table(with_new_ids(reports), path)
                written += FILE
            for path in (*folder.glob("s.duckdb*"), *folder.glob("counted.duckdb*")):
                path.unlink()
            ours, theirs = measure("ingest", name), measure("count", name)
            (folder / "counted.duckdb").unlink()
            asked, added = _question(name), list[Measured]()
            for days in (0, 0, LATER, 2 * LATER, 2 * LATER + 1):
                more = with_new_ids(reports.slice(0, MORE))
                pq.write_table(more, folder / "more.parquet")
                added.append(measure("add", name, str(days)))
            yield (
                f"{number:,}",
                f"{ours.seconds:.1f}",
                f"{ours.held:.0f}",
                f"{theirs.seconds:.1f}",
                f"{theirs.held:.0f}",
                f"{ours.seconds / theirs.seconds:.2f}",
                f"{asked:.2f}",
                f"{(folder / 's.duckdb').stat().st_size / 1e6:,.0f}",
                f"{added[1].read:.1f}",
                f"{added[1].seconds:.2f}",
                f"{added[-1].read:.1f}",
                f"{added[-1].seconds:.2f}",
            )


def _question(folder: str, sql: str = QUESTION) -> float:
    return float(np.median([measure("ask", folder, sql).seconds for _ in range(5)]))


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
    for mechanism, asked in TOGETHER.items():
        with tempfile.TemporaryDirectory() as folder:
            made = survey(mechanism, *columns)
            with open_store(Path(folder) / "s.duckdb", read_only=False) as store:
                store.ingest_table(answers(made, SOLD, public), made)
            for question in asked:
                own = measure("ask", folder, MANY[question])
                yield mechanism, question, f"{own.seconds:.1f}", f"{own.held:.0f}"


def _columns() -> Iterator[tuple[object, ...]]:
    for count in (0, 5, 15):
        with tempfile.TemporaryDirectory() as name:
            folder, random = Path(name), np.random.default_rng(3)
            made = survey("hio", *(column(f"c{place}", "int") for place in range(count)))
            _save(made, folder)
            public = {f"c{place}": random.integers(0, 10, FILE) for place in range(count)}
            pq.write_table(answers(made, FILE, public), folder / "reports" / "all.parquet")
            ours, theirs = measure("ingest", name), measure("count", name)
            sql = QUESTION + " AND c0 = 3" * bool(count)
            yield (
                count,
                f"{ours.seconds:.1f}",
                f"{ours.held:.0f}",
                f"{ours.seconds / theirs.seconds:.2f}",
                f"{_question(name, sql):.2f}",
            )


Rows = Callable[[], Iterator[tuple[object, ...]]]
TABLES: Mapping[str, tuple[str, tuple[str, ...], Rows]] = {
    "reports": (
        "Scale of reports",
        (
            "reports",
            "ingest (s)",
            "MB",
            "DuckDB (s)",
            "DuckDB MB",
            "ratio",
            "a question (s)",
            "file (MB)",
            "more: MB read",
            "s",
            "no ids: MB read",
            "s",
        ),
        _grown,
    ),
    "values": (
        "Scale of public values",
        ("mechanism", "question", "CPU (s)", "MB"),
        _many_values,
    ),
    "columns": (
        "Scale of public columns",
        ("columns", "ingest (s)", "MB", "over DuckDB", "a question (s)"),
        _columns,
    ),
}


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    if name in STEPS:
        sys.meta_path.insert(0, NoPandas())  # as commands do
        begun, read = time.process_time(), _find_read()
        STEPS[name](*arguments)
        held = getrusage(RUSAGE_SELF).ru_maxrss / 1e3
        print(json.dumps([time.process_time() - begun, held, _find_read() - read]))
    else:
        run(name, *arguments)
