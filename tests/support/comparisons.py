"""A small made-up table, its survey, and comparisons on them."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from support.surveys import category, dimension, integer, measure, public, survey_toml

from ldpsql.designer.file import SurveyFile, read_file
from ldpsql_lab.bench.candidates import read_candidates
from ldpsql_lab.bench.harness import ComparisonPlan
from ldpsql_lab.bench.questions import Question, Wanted, question
from ldpsql_lab.bench.truth import People

TOML = survey_toml(
    integer("age", 1, 12),
    integer("score", 0, 19, bin_width=4),
    category("state", "CA", "NY", "O'K", missing="code"),
    dimension("joined", "date", range=["2026-01-01", "2026-01-31"], unit="week"),
    dimension("weight", "float", edges=[0.0, 1.5, 4.0]),
    measure("age", 3, 9),
    measure("pay", -5, 50),
    public("version", "int"),
    epsilon="2",
)
COUNTS = survey_toml(integer("age", 1, 12), epsilon="2")


def raw(rows: int = 400) -> pa.Table:
    """People; some of their pay lies outside of its bounds, and some states are missing."""
    random = np.random.default_rng(8)
    states = ["CA", "NY", "O'K", None]
    first = date(2026, 1, 1)
    return pa.table(
        {
            "age": random.integers(1, 13, rows),
            "score": random.integers(0, 20, rows),
            "state": pa.array([states[i] for i in random.integers(0, 4, rows)]),
            "joined": pa.array([first + timedelta(int(d)) for d in random.integers(0, 31, rows)]),
            "weight": np.round(random.uniform(0, 4, rows) * 2) / 2,
            "pay": np.round(random.uniform(-20, 80, rows)),
            "version": pa.array([None if v == 2 else int(v) for v in random.integers(0, 3, rows)]),
        }
    )


def survey_file(text: str = TOML) -> SurveyFile:
    return read_file(text)


def asked(sql: str, text: str = TOML) -> Question:
    """One question of one's own."""
    file = survey_file(text)
    return question(sql, file, "mine")


def stored(folder: Path, table: pa.Table | None = None) -> Path:
    """The table as a Parquet file."""
    path = folder / "people.parquet"
    pq.write_table(raw() if table is None else table, path)
    return path


def comparison(
    *names: str, text: str = COUNTS, repetitions: int = 2, **more: object
) -> ComparisonPlan:
    """Of counts over ranges of one dimension."""
    file = survey_file(text)
    table = raw().select(["age"]) if text == COUNTS else raw()
    wanted = Wanted(predicates=(1,), volume=0.25, count=5, aggregates=("count",))
    return ComparisonPlan(
        file,
        People(table),
        wanted.questions(file),
        read_candidates(names),
        ("2",),
        repetitions=repetitions,
        **more,
    )
