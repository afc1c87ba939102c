"""Golden files: SQL, EXPLAIN and rows at a fixed seed, for every mechanism.

Each file of `golden/` is named after a mechanism and holds blocks of SQL, a line of dashes, and
what comes out. `pytest tests/engine/test_golden.py --rewrite-goldens` writes them anew, also the
file of a mechanism that has none yet; look at the difference before you commit it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.golden_files import DASHES, GOLDEN, blocks, survey, table

from ldpsql.dbapi.connection import Connection
from ldpsql.engine.result import Result
from ldpsql.errors import UnsupportedSQL
from ldpsql.mechanisms.registry import MECHANISMS
from ldpsql.survey import Survey
from ldpsql_lab.simulation import simulate


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


@pytest.mark.fast(10)
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
