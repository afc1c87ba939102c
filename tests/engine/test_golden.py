"""Golden answers: SQL, EXPLAIN and rows at a fixed seed, of every mechanism.

Beneath each statement of `golden/answers.sql` stands the answer of each mechanism that is asked it.
`pytest -m "" tests/engine/test_golden.py --rewrite-goldens` writes them anew, also those of a
mechanism that has none yet; look at the difference before you commit it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.golden_files import read_answers, read_column, survey, table, write_column

from ldpsql.dbapi.connection import Connection
from ldpsql.engine.result import Result
from ldpsql.errors import UnsupportedSQL
from ldpsql.mechanisms.registry import MECHANISMS
from ldpsql.survey import Survey
from ldpsql_lab.simulation import simulate


def questions(asked: Survey) -> Iterator[str]:
    """Statements for a mechanism that has none yet: of every kind that its survey allows."""
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


def answer(connection: Connection, sql: str) -> str:
    """What comes out, in lines."""
    try:
        return "\n".join(shown(connection.execute(sql).result))
    except UnsupportedSQL as error:
        return f"refused: {error}"


@pytest.mark.fast(10)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_answers_and_plans_are_as_written(mechanism: str, request: pytest.FixtureRequest) -> None:
    """Nothing changes unseen: neither a plan, nor an answer, nor an error bar."""
    asked, written = survey(mechanism), read_column(mechanism)
    with simulate(asked, table(), seed=1) as connection:
        found = {sql: answer(connection, sql) for sql in written or questions(asked)}
    if request.config.getoption("--rewrite-goldens"):
        write_column(mechanism, found)
    assert found == read_column(mechanism)


def test_every_mechanism_and_no_other_has_golden_answers() -> None:
    assert {name for found in read_answers().values() for name in found} == set(MECHANISMS)
