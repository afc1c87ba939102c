"""The doors of Python: what is called of connections and cursors, with whatever arguments."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import date, datetime

import pyarrow as pa
from fuzz.harness import Case, Door
from fuzz.sql import require_finite
from fuzz.values import draw_expression, value_of
from support.mutations import mutate
from support.surveys import ANYTHING, category, dimension, integer, measure, public, survey_toml

import ldpsql
from ldpsql.designer import design
from ldpsql.randomize.table import randomize_batch
from ldpsql_lab.simulation import SeededEntropy

_SURVEY = survey_toml(
    integer("age", 0, 9),
    category("state", "CA", "NY", missing="code"),
    dimension("visited", "timestamp", range=["2026-01-01", "2026-01-03"], unit="day"),
    measure("spend", 0, 20),
    *(public("version", "text"), public("price", "float"), public("day", "date")),
    table="shoppers",
    epsilon="4",
    mechanism="hgrr",
)
_STATEMENTS = (
    "SELECT COUNT(*) FROM shoppers WHERE age < ?",
    "SELECT COUNT(*), SUM(spend) FROM shoppers WHERE state = ? AND age BETWEEN ? AND ?",
    "SELECT state, COUNT(*) FROM shoppers WHERE state IN (?, ?) GROUP BY state",
    "SELECT COUNT(*) FROM shoppers WHERE age = :a AND state = :b",
    "SELECT COUNT(*) FROM shoppers WHERE age > $a",
    "SELECT COUNT(*) FROM shoppers WHERE age > $1 AND version = $2",
    "SELECT CASE WHEN age > 3 THEN ? ELSE ? END AS x, COUNT(*) FROM shoppers GROUP BY x",
    "SELECT COUNT(*) FROM shoppers WHERE visited >= ? AND day = ? AND price < ?",
    "SELECT age, COUNT(*) AS n FROM shoppers GROUP BY age ORDER BY n LIMIT ? OFFSET ?",
)
_WORDS = ("?", ":a", "$1", "$a", "?1", "@a", ",", "(?)", "?::INT", "CAST(? AS DATE)", "- ?")
_CALLS = (
    *("cursor.fetchmany({})", "cursor.fetchone()", "cursor.fetchall()", "cursor.arrow()"),
    *("cursor.arrow(intervals=True)", "cursor.df()", "cursor.pl()", "cursor.description"),
    *("cursor.executemany({}, {})", "cursor.setinputsizes({})", "cursor.setoutputsize({})"),
    *("cursor.estimates.covariance", "cursor.notes", "list(cursor)", "repr(cursor.answer)"),
    *("cursor.answer._repr_html_()", "connection.table({})", "connection.sql({})"),
    *("connection.register('t', {{'a': [{}, {}]}})", "connection.register({}, {})"),
    *("connection.register('t', pa.table({{'a': [1]}}))", "connection.unregister({})"),
    *("connection.execute({})", "connection.execute({}, {})", "connection.sql('SELECT 1', {})"),
)


class Calls(Door):
    """Statements with parameters, and calls of methods.

    Answers are finite, and whatever is refused is so by an error of `ldpsql.Error`.
    """

    name = "calls"
    is_private = False
    seconds = 4.0

    def __init__(self) -> None:
        self._opened = ExitStack()
        self._connection = self._opened.enter_context(ldpsql.connect(timeout=2))
        survey = design(_SURVEY)
        reports, _ = randomize_batch(survey, _people(), SeededEntropy(1), policy=ANYTHING)
        self._connection.ingest(reports, survey=survey)

    def draw(self, chosen: random.Random) -> Case:
        sql = chosen.choice(_STATEMENTS)
        marks = sql.count("?") or 2
        if chosen.random() < 0.3:
            sql = mutate(chosen, _STATEMENTS, _WORDS)
        call = chosen.choice(_CALLS)
        call = call.format(*(draw_expression(chosen) for _ in range(call.count("{}"))))
        return {
            "sql": draw_expression(chosen) if chosen.random() < 0.05 else repr(sql),
            "parameters": _draw_parameters(chosen, marks),
            "call": call,
        }

    def put(self, case: Case) -> str:
        connection, cursor = self._connection, self._connection.cursor()
        problem: ldpsql.Error | None = None
        try:
            cursor.execute(value_of(case["sql"]), value_of(case["parameters"]))
            require_finite(cursor.result, case["sql"])
        except ldpsql.Error as error:
            problem = error
        value_of(case["call"], cursor=cursor, connection=connection)
        if problem is not None:
            raise problem
        return "answered"

    def close(self) -> None:
        self._opened.close()


def _people() -> pa.Table:
    """People who fit the survey."""
    numbers = range(200)
    return pa.table(
        {
            "age": [n % 10 for n in numbers],
            "state": [("CA", "NY", None)[n % 3] for n in numbers],
            "visited": [datetime(2026, 1, 1 + n % 3, n % 24) for n in numbers],
            "spend": [n / 10 for n in numbers],
            "version": [None if n % 5 == 0 else "1.2" for n in numbers],
            "price": [n % 3 / 2 for n in numbers],
            "day": [date(2026, 1, 1 + n % 3) for n in numbers],
        }
    )


def _draw_parameters(chosen: random.Random, marks: int) -> str:
    """So many values as a statement has marks, mostly; or whatever."""
    if chosen.random() < 0.1:
        return draw_expression(chosen)
    values: Sequence[str] = [draw_expression(chosen) for _ in range(marks)]
    if chosen.random() < 0.1:
        values = [*values, draw_expression(chosen)][: chosen.randint(0, marks + 1)]
    if chosen.random() < 0.25:
        pairs = (f"'{name}': {value}" for name, value in zip("abc", values, strict=False))
        return f"{{{', '.join(pairs)}}}"
    return f"[{', '.join(values)}]"
