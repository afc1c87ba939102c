"""Golden files: SQL, EXPLAIN and rows at a fixed seed.

Each file of `golden/` is named after a mechanism and holds blocks of SQL, a line of dashes, and
what comes out. `LDPSQL_WRITE_GOLDEN=1 pytest tests/engine/test_golden.py` writes them anew; look
at the difference before you commit it.
"""

from __future__ import annotations

import os
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ldpsql.dbapi import Connection
from ldpsql.designer import design
from ldpsql.engine.result import Result
from ldpsql.simulation import simulate
from ldpsql.survey import Survey

GOLDEN = Path(__file__).parent / "golden"
DASHES = "-" * 40
FILES = sorted(GOLDEN.glob("*.sql"))


def survey(mechanism: str) -> Survey:
    """Age, state and income of app users; the day is public, and for HIO the pay too."""
    text = f"""
[survey]
table = "app"
epsilon = "2"
mechanism = "{mechanism}"
[dimension.age]
type = "int"
domain = [18, 57]
bin_width = 2
[dimension.state]
type = "category"
values = ["CA", "NY", "WA"]
nulls = "value"
[public.day]
type = "date"
"""
    role = (
        '[public.pay]\ntype = "float"' if mechanism == "hio" else "[measure.pay]\nbounds = [0, 100]"
    )
    return design(text + role)


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
        }
    )


def blocks(text: str) -> list[str]:
    """The SQL of every block."""
    return [block.split(DASHES)[0].strip() for block in text.strip().split("\n\n")]


def shown(result: Result) -> list[str]:
    """Rows as text: six digits, each estimate with its standard error."""
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
    return lines


def rendered(connection: Connection, questions: list[str]) -> str:
    """The file as it should be."""
    parts = []
    for sql in questions:
        answer = "\n".join(shown(connection.execute(sql).result))
        parts.append(f"{sql}\n{DASHES}\n{answer}")
    return "\n\n".join(parts) + "\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_answers_and_plans_are_as_written(path: Path) -> None:
    """Nothing changes unseen: neither a plan, nor an answer, nor an error bar."""
    text = path.read_text()
    with simulate(survey(path.stem), table(), seed=1) as connection:
        found = rendered(connection, blocks(text))
    if os.environ.get("LDPSQL_WRITE_GOLDEN"):
        path.write_text(found)
    assert found == text


def test_there_are_golden_files() -> None:
    """An empty folder would test nothing."""
    assert {path.stem for path in FILES} >= {"ehio", "hgrr", "hio", "ahio", "fourier"}
