"""Speed, as ratios against the least that the same job can cost, both measured in one run."""

from __future__ import annotations

import tempfile
from itertools import count
from pathlib import Path
from unittest.mock import patch

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.tables import print_table
from benchmarks.timing import Pair, children_seconds, run_python, side_by_side
from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql.randomize.table import randomize
from ldpsql.store import fold, open_store
from ldpsql_device.entropy import OsEntropy
from ldpsql_lab.simulation import accept_everything

PEOPLE = 1_000_000
REPORTS = 3_200_000
SURVEY = """
[survey]
table = "app"
epsilon = "2"
mechanism = "hio"
[dimension.age]
type = "int"
domain = [18, 90]
[dimension.education]
type = "int"
domain = [1, 16]
"""
LIBRARIES = "import duckdb, sqlglot, numpy, pyarrow"
QUESTION = "SELECT COUNT(*) FROM app WHERE age BETWEEN {} AND {} AND education >= {}"


_LOAD = (
    "CREATE TABLE ids AS SELECT ldpsql_id::UUID AS id, min(file_row_number) AS row "
    "FROM read_parquet('{file}', file_row_number = true) GROUP BY ldpsql_id; "
    "CREATE TABLE reports AS SELECT * EXCLUDE (ldpsql_id, file_row_number) "
    "FROM read_parquet('{file}', file_row_number = true) "
    "WHERE file_row_number IN (SELECT row FROM ids)"
)
"""Load a file of reports, and drop those with an id that an earlier row has."""


def people(number: int) -> pa.Table:
    """Made-up records of the survey above."""
    random = np.random.default_rng(1)
    age = np.clip(random.normal(42, 14, number), 18, 90).astype(np.int64)
    return pa.table({"age": age, "education": random.integers(1, 17, number)})


def run() -> None:
    """Print the table of ratios."""
    survey = design(SURVEY)
    raw = people(REPORTS)
    with tempfile.TemporaryDirectory() as folder:
        reports = Path(folder) / "reports.parquet"
        pq.write_table(randomize(survey, raw, policy=accept_everything(survey)), reports)
        rows = [
            ("randomize 1 M people, HIO, d = 2", "numpy draws as many uniforms", 15, _randomize()),
            ("take 3.2 M reports", "DuckDB loads it, drops repeats", 2, _take(reports)),
            ("take and count them", "the same, and groups it", 2, _take_and_count(reports)),
            ("refresh the histogram", "a bare GROUP BY", 2, _refresh(reports)),
            ("warm range query", "DuckDB on the raw table", 1, _query(reports, raw, warm=True)),
            (
                "range query, other bounds",
                "DuckDB on the raw table",
                "-",
                _query(reports, raw, warm=False),
            ),
            ('cold `ldpsql "SELECT ..."`', "importing its libraries", 1.5, _cold(reports)),
        ]
    print_table(
        "Speed",
        ("job", "against", "goal", "ratio", "ours (ms)", "other (ms)"),
        (
            (job, against, goal, f"{p.ratio:.2f}", f"{p.ours * 1e3:.1f}", f"{p.other * 1e3:.1f}")
            for job, against, goal, p in rows
        ),
    )


def _randomize() -> Pair:
    """The device's code on arrays, against one numpy uniform per word of entropy drawn."""
    made = design(SURVEY).design
    table = people(PEOPLE)
    codes = np.stack([np.asarray(table["age"]) - 18, np.asarray(table["education"]) - 1], axis=1)
    drawn = _Counting()
    made.randomize(codes, drawn)
    random = np.random.default_rng(0)
    return side_by_side(
        lambda: made.randomize(codes, OsEntropy()), lambda: random.random(drawn.total), runs=5
    )


class _Counting:
    """Counts the words that a randomization takes."""

    def __init__(self) -> None:
        self.total = 0
        self._source = OsEntropy()

    def words(self, count: int) -> np.ndarray:
        self.total += count
        return self._source.words(count)


def _take(reports: Path) -> Pair:
    """Hash, check and store, against storing; counting left for later on both sides."""
    with patch.object(fold, "merge_if_worthwhile"):
        return _ingest(reports, _LOAD)


def _take_and_count(reports: Path) -> Pair:
    """What `ldpsql ingest` does."""
    grouped = "CREATE TABLE histogram AS SELECT *, count(*) n FROM reports GROUP BY ALL"
    return _ingest(reports, f"{_LOAD}; {grouped}")


def _ingest(reports: Path, statements: str) -> Pair:
    """Both sides into a new file each time, closed at the end."""
    folder, number, asked = Path(tempfile.mkdtemp(dir=reports.parent)), count(), design(SURVEY)

    def ours() -> None:
        with open_store(folder / f"ours{next(number)}.duckdb", read_only=False) as store:
            store.ingest([reports], survey=asked)

    def other() -> None:
        with duckdb.connect(str(folder / f"other{next(number)}.duckdb")) as connection:
            connection.execute(statements.format(file=reports))

    return side_by_side(ours, other, runs=5)


def _refresh(reports: Path) -> Pair:
    with (
        open_store(reports.parent / "refresh.duckdb", read_only=False) as store,
        duckdb.connect(str(reports.parent / "bare.duckdb")) as bare,
    ):
        store.ingest([reports], survey=design(SURVEY))
        bare.execute(f"CREATE TABLE reports AS SELECT * EXCLUDE ldpsql_id FROM '{reports}'")
        sql = "CREATE OR REPLACE TABLE histogram AS SELECT *, count(*) n FROM reports GROUP BY ALL"
        return side_by_side(lambda: store.refresh("app"), lambda: bare.execute(sql))


def _query(reports: Path, raw: pa.Table, *, warm: bool) -> Pair:
    """The same question again (warm), or each time with bounds not asked before."""
    random = np.random.default_rng(5)
    folder = Path(tempfile.mkdtemp(dir=reports.parent))

    def question() -> str:
        if warm:
            return QUESTION.format(30, 45, 9)
        low = int(random.integers(18, 60))
        return QUESTION.format(low, low + int(random.integers(5, 30)), int(random.integers(2, 16)))

    with (
        open_store(folder / "app.duckdb", read_only=False) as store,
        duckdb.connect(str(folder / "raw.duckdb")) as exact,
    ):
        store.ingest([reports], survey=design(SURVEY))
        exact.register("people", raw)
        exact.execute("CREATE TABLE app AS SELECT * FROM people")
        session = Session(store)
        return side_by_side(
            lambda: session.execute(question()),
            lambda: exact.execute(question()).fetchall(),
            runs=25,
        )


def _cold(reports: Path) -> Pair:
    """Processor time of whole processes, on a database of a million reports."""
    database = reports.parent / "cold.duckdb"
    survey = design(SURVEY)
    with open_store(database, read_only=False) as store:
        store.ingest_table(
            randomize(survey, people(PEOPLE), policy=accept_everything(survey)), survey
        )
    return side_by_side(
        lambda: run_python("-m", "ldpsql", "--db", str(database), QUESTION.format(30, 45, 9)),
        lambda: run_python("-c", LIBRARIES),
        clock=children_seconds,
    )
