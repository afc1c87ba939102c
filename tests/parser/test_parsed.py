"""What becomes of statements: base queries, SQL that is left for DuckDB, names and error bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.sql_survey import APP, parsed

from ldpsql.parser.query import ROW, Measurement, Output, ParsedSQL, Query
from ldpsql.sql.aggregates import label
from ldpsql.sql.domains import find_dimension

PARSED, ERROR_BARS = (Path(__file__).with_name(f"{name}.sql") for name in ("parsed", "error_bars"))


def statements() -> Iterator[str]:
    """Those of `parsed.sql`, each with lines of comments beneath it."""
    for block in PARSED.read_text(encoding="utf-8").split("\n\n"):
        lines = block.strip().splitlines()
        yield "\n".join(line for line in lines if not line.startswith("-- "))


def listed() -> Iterator[str]:
    """Those of `error_bars.sql`, one on a line."""
    for line in ERROR_BARS.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("-- "):
            yield line.rpartition("  -- ")[0]


def measured(column: Measurement) -> str:
    level = "" if column.level is None else f" {column.level:g}"
    return f"{column.name} {column.what}{level}: {label(column.expression)}"


def shown(statement: ParsedSQL) -> Iterator[str]:
    """Keys and measurements of each base query, the outer SQL, and the names of its outputs."""
    for query in statement.bases:
        for key in query.keys:
            width = f" in bins of {key.width:g}" if key.width else ""
            yield f"{key.name}: {key.column}{width}"
        yield from map(measured, query.columns)
    yield statement.outer
    yield " | ".join(output.name for output in statement.outputs)


def test_statements_are_taken_apart_as_written(golden: Callable[[Path, str], None]) -> None:
    """Maximal arithmetic over aggregates is one measurement, and is taken once."""
    blocks = []
    for sql in statements():
        lines = [line for text in shown(parsed(sql)) for line in text.splitlines()]
        blocks.append("\n".join([sql, *(f"-- {line}" for line in lines)]))
    golden(PARSED, "\n\n".join(blocks) + "\n")


def bar_of(output: Output) -> str:
    if output.is_estimate:
        return f"{output.name} ±"
    return f"{output.name}: {output.lost}" if output.lost else output.name


def test_outputs_have_error_bars_or_a_reason(golden: Callable[[Path, str], None]) -> None:
    lines = []
    for line in ERROR_BARS.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("-- "):
            sql = line.rpartition("  -- ")[0]
            statement = parsed(sql)
            bars = " | ".join(map(bar_of, statement.outputs))
            line = f"{sql}  -- {len(statement.bases)}: {bars}"  # noqa: PLW2901
        lines.append(line)
    golden(ERROR_BARS, "\n".join(lines) + "\n")


def relation(query: Query) -> str:
    """SQL for a made-up relation of estimates of three rows."""
    columns = []
    for key in query.keys:
        text = find_dimension(APP.schema, key.column) == 1 or key.column == "version"
        columns.append(
            f"(CASE i WHEN 0 THEN 'CA' WHEN 1 THEN 'NY' END) AS {key.name}"
            if text
            else f"i * 10 AS {key.name}"
        )
    for index, column in enumerate(query.columns):
        columns.append(f"i * {index + 1} + 0.5 AS {column.name}")
    return f"SELECT {', '.join(columns)}, i AS {ROW} FROM range({3 if query.keys else 1}) r(i)"


@cache
def database() -> duckdb.DuckDBPyConnection:
    """One for all tests: temporary tables are a cursor's own."""
    return duckdb.connect(config={"threads": 1})


def evaluated(statement: ParsedSQL, sql: str = "") -> tuple[list[str], list[tuple[Any, ...]]]:
    """Names and rows that DuckDB gives for the outer SQL, or another, over made-up relations."""
    with database().cursor() as connection:
        for query in statement.bases:
            connection.execute(f"CREATE TEMP TABLE {query.relation} AS {relation(query)}")
        result = connection.execute(sql or statement.outer)
        return [column[0] for column in result.description], result.fetchall()


@pytest.mark.parametrize("sql", dict.fromkeys([*statements(), *listed()]))
def test_duckdb_evaluates_what_is_left_and_gives_the_promised_columns(sql: str) -> None:
    statement = parsed(sql)
    if "information_schema" in sql:
        pytest.skip("its relations are not those of base queries")
    names, rows = evaluated(statement)
    assert names == [output.name for output in statement.outputs]
    if statement.projection is None:
        traced, with_gradients = evaluated(statement, statement.traced)
        width = len(names)
        assert traced[:width] == names
        assert len(traced) - width == sum(output.is_estimate for output in statement.outputs)
        assert sorted(map(str, rows)) == sorted(str(row[:width]) for row in with_gradients)


def test_having_order_and_limit_are_applied_to_the_estimates() -> None:
    statement = parsed(
        "SELECT state, COUNT(*) FROM app GROUP BY 1 HAVING COUNT(*) > 1 ORDER BY 2 DESC LIMIT 1"
    )
    _, rows = evaluated(statement)
    assert [(row[0], float(row[1])) for row in rows] == [(None, 2.5)]


def test_texts_are_joined_over_results() -> None:
    sql = (
        "WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) "
        "SELECT state || '-' || 'x' AS label FROM t"
    )
    assert [row[0] for row in evaluated(parsed(sql))[1]] == ["CA-x", "NY-x", None]
