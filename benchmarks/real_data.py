"""Real tables, the way a user would ask them. Skips where the tables are not at hand."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.tables import print_table
from ldpsql.designer import design
from ldpsql.survey import Survey
from ldpsql_lab.simulation import simulate

QUESTION = (
    "SELECT COUNT(*), SUM(hours_per_week), AVG(hours_per_week) FROM people "
    "WHERE age BETWEEN 30 AND 45 AND {schooling} >= {level}"
)
TABLES = {
    "adult": ("education_num", 9, (17, 90), (1, 16)),
    "acs_income_2018": ("schooling", 16, (17, 96), (1, 24)),
}


def folder() -> Path | None:
    """Where the tables are: LDPSQL_DATA, or beside the project; None if nowhere."""
    here = Path(__file__).resolve().parents[1]
    for place in (os.environ.get("LDPSQL_DATA"), here.parent / "shared" / "data"):
        if place and (Path(place) / "adult.parquet").exists():
            return Path(place)
    return None


def survey(mechanism: str, name: str) -> Survey:
    """Age, schooling and weekly hours; the hours are public for HIO, private otherwise."""
    schooling, _, ages, levels = TABLES[name]
    text = f"""
[survey]
table = "people"
epsilon = "2"
mechanism = "{mechanism}"
[dimension.age]
type = "int"
domain = [{ages[0]}, {ages[1]}]
[dimension.{schooling}]
type = "int"
domain = [{levels[0]}, {levels[1]}]
"""
    if mechanism == "hio":
        return design(text + '[public.hours_per_week]\ntype = "int"\n')
    return design(
        text
        + '[dimension.hours_per_week]\ntype = "int"\ndomain = [1, 99]\n'
        + "[measure.hours_per_week]\nbounds = [1, 99]\nrequired = true\nmissing_as = 1\n"
    )


def run() -> None:
    """Print answer, error bar and truth for every table and mechanism."""
    place = folder()
    if place is None:
        print("Real tables: skipped, set LDPSQL_DATA to a folder with adult.parquet")
        return
    print_table(
        "Real tables, epsilon 2, one run each (seed 0)",
        ("table", "mechanism", "aggregate", "answer", "+/- (95 %)", "truth", "inside"),
        _rows(place),
    )


def _rows(place: Path) -> Iterator[tuple[object, ...]]:
    for name, (schooling, level, _, _) in TABLES.items():
        people = pq.read_table(
            place / f"{name}.parquet", columns=["age", schooling, "hours_per_week"]
        )
        question = QUESTION.format(schooling=schooling, level=level)
        for mechanism in ("hgrr", "ahio", "ehio", "hio"):
            yield from _answers(name, mechanism, people, question)


def _answers(
    name: str, mechanism: str, people: pa.Table, question: str
) -> Iterator[tuple[object, ...]]:
    with simulate(survey(mechanism, name), people, seed=0) as connection, duckdb.connect() as exact:
        exact.register("people", people)
        truth = exact.execute(question).fetchone()
        result = connection.execute(question).result
        for index, bars in result.intervals.items():
            value = result.table.column(index)[0].as_py()
            truth_text = f"{truth[index]:,.1f}"
            shown = "NULL" if value is None else f"{value:,.1f}"
            half, inside = f"{(bars.high[0] - bars.low[0]) / 2:,.1f}", "no"
            if value is None:
                half, inside = "-", "-"
            elif bars.low[0] <= truth[index] <= bars.high[0]:
                inside = "yes"
            yield name, mechanism, result.columns[index].name, shown, half, truth_text, inside
