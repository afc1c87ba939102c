"""Golden files: SQL, EXPLAIN and rows at a fixed seed, for every mechanism.

Each file of `golden/` is named after a mechanism and holds blocks of SQL, a line of dashes, and
what comes out. `pytest tests/engine/test_golden.py --rewrite-goldens` writes them anew, also the
file of a mechanism that has none yet; look at the difference before you commit it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from support.surveys import boolean, category, integer, measure, public, survey_toml

from ldpsql.dbapi import Connection
from ldpsql.designer import design
from ldpsql.engine.result import Result
from ldpsql.errors import UnsupportedSQL
from ldpsql.recipes.registry import MECHANISMS
from ldpsql.simulation import simulate
from ldpsql.survey import Survey
from ldpsql_device.errors import SurveyError

GOLDEN = Path(__file__).parent / "golden"
DASHES = "-" * 40


def surveys(mechanism: str) -> Iterator[str]:
    """Survey files about app users, from the richest to what any mechanism takes."""
    kept = {"sensitive": ["NY"]} if MECHANISMS[mechanism].takes.sensitive else {}
    # The design of staircase takes long on many cells.
    age = integer("age", 18, 57, bin_width=8 if mechanism == "staircase" else 2)
    state = category("state", "CA", "NY", "WA", missing="code", **kept)
    day, pay = public("day", "date"), public("pay", "float")
    member = boolean("member")
    for accepted in ({}, {"accept_no_guarantee": True}):
        for columns in (
            (age, state, day, measure("pay", 0, 100)),
            (age, state, day, pay),
            (age, state),
            (state, day, pay),
            (member, day, pay),
        ):
            yield survey_toml(*columns, epsilon="2", mechanism=mechanism, **accepted)


def survey(mechanism: str) -> Survey:
    """The first of `surveys` that the mechanism takes.

    Which of equally good patterns staircase takes depends on the last digits of a processor's
    linear algebra, so its survey is kept.
    """
    kept = GOLDEN / f"{mechanism}.survey.json"
    if kept.exists():
        return Survey.from_json(kept)
    refusals = []
    for text in surveys(mechanism):
        try:
            return design(text)
        except SurveyError as error:
            refusals.append(str(error))
    raise AssertionError(refusals)


def questions(asked: Survey) -> Iterator[str]:
    """What a mechanism without a file is asked: of every kind what its survey can be asked."""
    columns = {name.lower() for name in asked.schema.private_columns}
    columns |= {column.name for column in asked.schema.public}
    dimension = asked.schema.dimensions[0].name
    where = {"age": "age BETWEEN 26 AND 41", "state": "state <> 'CA'", "member": "member"}[
        dimension
    ]
    sums = ", SUM(pay), AVG(pay)" if "pay" in columns else ""
    wanted = [
        f"SELECT COUNT(*){sums} FROM app WHERE {where}",
        f"SELECT {dimension}, COUNT(*) AS n FROM app GROUP BY {dimension} ORDER BY n DESC LIMIT 4",
    ]
    if "day" in columns:
        wanted.append(f"SELECT day, COUNT(*) FROM app WHERE {where} GROUP BY day ORDER BY day")
    if len(asked.schema.dimensions) > 1:
        wanted.append(f"SELECT COUNT(*) FROM app WHERE NOT ({where}) OR state IS NULL")
    yield from wanted
    yield from (f"EXPLAIN {sql}" for sql in wanted[:1] + wanted[3:])


def table() -> pa.Table:
    """5,000 made-up users."""
    random = np.random.default_rng(8)
    states = ["CA", "NY", "WA", None]
    days = [date(2026, 3, 1) + timedelta(days=int(d)) for d in random.integers(0, 3, 5_000)]
    return pa.table(
        {
            "age": random.integers(18, 58, 5_000),
            "state": pa.array([states[i] for i in random.choice(4, 5_000, p=[0.4, 0.3, 0.2, 0.1])]),
            "pay": np.round(random.uniform(0, 100, 5_000), 1),
            "day": pa.array(days),
            "member": random.random(5_000) < 0.3,
        }
    )


def blocks(text: str) -> list[str]:
    """The SQL of every block."""
    return [block.split(DASHES)[0].strip() for block in text.strip().split("\n\n")]


def shown(result: Result) -> list[str]:
    """Rows as text: six digits, each estimate with its standard error; and the notes."""
    if result.explain is not None:
        return result.explain.splitlines()
    lines = []
    for number, row in enumerate(zip(*(c.to_pylist() for c in result.table.columns), strict=True)):
        cells = []
        for index, value in enumerate(row):
            cell = f"{value:.6g}" if isinstance(value, float) else str(value)
            if index in result.intervals:
                cell += f" +/- {result.intervals[index].stderr[number]:.4g}"
            cells.append(cell)
        lines.append(" | ".join(cells))
    return lines + [f"note: {note}" for note in result.notes]


def rendered(connection: Connection, asked: list[str]) -> str:
    """The file as it should be."""
    parts = []
    for sql in asked:
        try:
            answer = "\n".join(shown(connection.execute(sql).result))
        except UnsupportedSQL as error:
            answer = f"refused: {error}"
        parts.append(f"{sql}\n{DASHES}\n{answer}")
    return "\n\n".join(parts) + "\n"


@pytest.mark.fast(16)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_answers_and_plans_are_as_written(
    mechanism: str, golden: Callable[[Path, str], None]
) -> None:
    """Nothing changes unseen: neither a plan, nor an answer, nor an error bar."""
    path, asked = GOLDEN / f"{mechanism}.sql", survey(mechanism)
    written = blocks(path.read_text()) if path.exists() else list(questions(asked))
    with simulate(asked, table(), seed=1) as connection:
        golden(path, rendered(connection, written))


def test_no_golden_file_is_left_over() -> None:
    """Each belongs to a mechanism."""
    assert {path.stem for path in GOLDEN.glob("*.sql")} == set(MECHANISMS)
