"""The semantic oracle: without noise, answers equal DuckDB's on the raw table.

Thousands of generated queries run twice: by `ldpsql` over the reports of a noise-free double, and
by DuckDB over the raw table. Rows of groups that hold nobody are the one permitted difference:
reports cannot tell that a declared value does not occur, so they answer 0 for it. For the same
reason the SUM of nobody is 0, where SQL says NULL.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from exact_double import ExactBoxes, ExactMechanism, ExactNodes, exact_survey
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ldpsql.bench.entropy import SeededEntropy
from ldpsql.client.table import randomize_batch
from ldpsql.domains import BOOL, Listed, int_domain, time_range
from ldpsql.engine.backends.duckdb import DuckDBStore
from ldpsql.engine.session import Session
from ldpsql.mechanisms import registry
from ldpsql.schema import Dimension, Measure, PublicColumn, Schema

FIRST_DAY = date(2026, 1, 1)
STATES = ("CA", "NY", "TX", "WA")
PEOPLE = 300

SCHEMA = Schema(
    (
        Dimension("age", int_domain(1, 11)),
        Dimension("score", int_domain(0, 19, bin_width=4)),
        Dimension("state", Listed("category", STATES), nulls="value"),
        Dimension("joined", time_range("date", FIRST_DAY, FIRST_DAY + timedelta(days=5), "day")),
        Dimension("active", BOOL),
    ),
    (Measure("pay", (-10.0, 90.0)), Measure("age", (1.0, 11.0))),
    (
        PublicColumn("version", "int", nulls="value"),
        PublicColumn("shop", "text"),
        PublicColumn("price", "float"),
    ),
)


def raw_table() -> pa.Table:
    """Made-up people, NULLs among them."""
    random = np.random.default_rng(4)
    state = [None if i == 4 else STATES[i] for i in random.integers(0, 5, PEOPLE)]
    version = [None if v == 3 else int(v) for v in random.integers(0, 4, PEOPLE)]
    return pa.table(
        {
            "age": random.integers(1, 12, PEOPLE),
            "score": random.integers(0, 20, PEOPLE),
            "state": pa.array(state, type=pa.string()),
            "joined": pa.array(
                [FIRST_DAY + timedelta(days=int(d)) for d in random.integers(0, 6, PEOPLE)]
            ),
            "active": random.random(PEOPLE) < 0.4,
            "pay": np.round(random.uniform(-10, 90, PEOPLE) * 4) / 4,
            "version": pa.array(version, type=pa.int64()),
            "shop": pa.array(["north", "south"]).take(pa.array(random.integers(0, 2, PEOPLE))),
            "price": np.round(random.uniform(0, 20, PEOPLE) * 8) / 8,
        }
    )


RAW = raw_table()


def in_duckdb(sql: str) -> str:
    """The same question for the raw table: bin() spelled out, and the SUM of nobody 0."""
    sql = sql.replace("bin(age, 4)", "(age // 4) * 4")
    return re.sub(r"SUM\((pay|age|price|version)\)", r"COALESCE(SUM(\1), 0)", sql)


@pytest.fixture(scope="module", params=[ExactNodes, ExactBoxes])
def answer(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A function from SQL to (rows by ldpsql, rows by DuckDB)."""
    survey = exact_survey("app", SCHEMA, RAW, request.param)
    patch = pytest.MonkeyPatch()
    patch.setattr(
        registry, "MECHANISMS", {**registry.MECHANISMS, "exact": ExactMechanism(survey.design)}
    )
    reports, _ = randomize_batch(survey, RAW, SeededEntropy(1))
    store = DuckDBStore.open(None, read_only=False)
    store.ingest_table(reports, survey)
    session = Session(store)
    raw = duckdb.connect()
    raw.register("app", RAW)

    def both(sql: str) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        found = session.execute(sql).table
        ours = list(zip(*(column.to_pylist() for column in found.columns), strict=True))
        theirs = raw.execute(in_duckdb(sql)).fetchall()
        return ours, theirs

    yield both
    raw.close()
    store.close()
    patch.undo()


# -- generated SQL -----------------------------------------------------------------------------

comparison = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "!="])


def ints(column: str, low: int, high: int) -> st.SearchStrategy[str]:
    value = st.integers(low, high).map(str)
    return st.one_of(
        st.tuples(st.just(column), comparison, value).map(" ".join),
        st.tuples(value, comparison, st.just(column)).map(" ".join),
        st.tuples(value, value).map(lambda p: f"{column} BETWEEN {p[0]} AND {p[1]}"),
        st.tuples(value, value).map(lambda p: f"{column} NOT BETWEEN {p[0]} AND {p[1]}"),
        st.lists(value, min_size=1, max_size=4).map(lambda v: f"{column} IN ({', '.join(v)})"),
        st.lists(value, min_size=1, max_size=3).map(lambda v: f"{column} NOT IN ({', '.join(v)})"),
    )


text = st.sampled_from([*(f"'{state}'" for state in STATES), "'zz'", "'o''k'"])
binned = st.one_of(
    st.tuples(
        st.sampled_from(["<", ">="]), st.sampled_from(["0", "4", "8", "12", "16", "20", "30"])
    ).map(lambda p: f"score {p[0]} {p[1]}"),
    st.sampled_from(
        ["score BETWEEN 4 AND 11", "score <= 7", "score > 15", "score BETWEEN 12 AND 3"]
    ),
)
days = st.integers(-1, 7).map(lambda d: f"DATE '{FIRST_DAY + timedelta(days=d)}'")
atom = st.one_of(
    ints("age", -1, 13),
    binned,
    st.tuples(st.just("state"), comparison, text).map(" ".join),
    st.lists(text, min_size=1, max_size=3).map(lambda v: f"state IN ({', '.join(v)})"),
    st.lists(text, min_size=1, max_size=2).map(lambda v: f"state NOT IN ({', '.join(v)}, NULL)"),
    st.sampled_from(["state IS NULL", "state IS NOT NULL", "state = NULL"]),
    st.tuples(st.just("joined"), comparison, days).map(" ".join),
    st.tuples(days, days).map(lambda p: f"joined BETWEEN {p[0]} AND {p[1]}"),
    st.sampled_from(["active", "NOT active", "active = TRUE", "active <> TRUE"]),
    ints("version", -1, 4),
    st.sampled_from(["version IS NULL", "version IS NOT NULL"]),
    st.sampled_from(["shop = 'north'", "shop <> 'north'", "shop IN ('south', 'west')"]),
    st.tuples(comparison, st.integers(0, 20).map(str)).map(lambda p: f"price {p[0]} {p[1]}.5"),
    st.sampled_from(["TRUE", "FALSE"]),
)
predicate = st.recursive(
    atom,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: f"({p[0]} AND {p[1]})"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]} OR {p[1]})"),
        inner.map(lambda p: f"NOT ({p})"),
    ),
    max_leaves=6,
)
aggregate = st.sampled_from(
    [
        "COUNT(*)",
        "COUNT(state)",
        "COUNT(age)",
        "COUNT(version)",
        "COUNT(pay)",
        "SUM(pay)",
        "AVG(pay)",
        "SUM(age)",
        "AVG(age)",
        "SUM(price)",
        "AVG(price)",
        "SUM(version)",
        "AVG(version)",
        "SUM(pay) / COUNT(*)",
        "2 * COUNT(*) - SUM(price) / 4",
        "AVG(pay) - AVG(age)",
        "-SUM(pay) + 1",
    ]
)
group = st.sampled_from(
    [
        "age",
        "state",
        "joined",
        "active",
        "version",
        "shop",
        "bin(age, 4)",
        "state, shop",
        "active, version",
        "shop, active, age",
    ]
)


@st.composite
def question(draw: st.DrawFn) -> tuple[str, int]:
    """A SELECT, and how many of its columns are keys."""
    wanted = ", ".join(draw(st.lists(aggregate, min_size=1, max_size=4)))
    where = f" WHERE {draw(predicate)}" if draw(st.integers(0, 9)) else ""
    if draw(st.integers(0, 2)):
        return f"SELECT {wanted} FROM app{where}", 0
    keys = draw(group)
    width = 1 if keys.startswith("bin") else keys.count(",") + 1
    return f"SELECT {keys}, {wanted} FROM app{where} GROUP BY {keys}", width


def same(ours: Any, theirs: Any) -> bool:
    """Equal up to rounding; 0 / 0 is NULL here."""
    if ours is None or theirs is None or math.isnan(theirs):
        return ours is None and (theirs is None or math.isnan(theirs))
    return math.isclose(float(ours), float(theirs), rel_tol=1e-9, abs_tol=1e-6)


def is_nobody(row: tuple[Any, ...]) -> bool:
    """Whether a row of ours can be that of a group that holds nobody."""
    return all(value is None or math.isfinite(float(value)) for value in row)


@settings(
    max_examples=2_600,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(asked=question())
def test_answers_equal_duckdb(answer: Any, asked: tuple[str, int]) -> None:
    """2 x 2,600 queries: AND, OR, NOT, IN, BETWEEN, NULLs, dates, public columns, GROUP BY."""
    sql, width = asked
    ours, theirs = answer(sql)
    found = {row[:width]: row[width:] for row in ours}
    assert len(found) == len(ours)
    for row in theirs:
        key, values = row[:width], row[width:]
        assert key in found, sql
        assert all(map(same, found.pop(key), values)), (sql, key)
    if width == 0:
        assert not found
    for row in found.values():
        assert is_nobody(row), sql


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT shop, COUNT(*) AS n FROM app GROUP BY shop HAVING COUNT(*) > 10 ORDER BY n DESC",
        "SELECT age, AVG(pay) AS m FROM app GROUP BY age ORDER BY m LIMIT 3",
        "WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) "
        "SELECT MAX(n), SUM(n) FROM t",
        "SELECT a.n - b.n FROM (SELECT COUNT(*) AS n FROM app WHERE active) a, "
        "(SELECT COUNT(*) AS n FROM app WHERE NOT active) b",
        "SELECT ROUND(AVG(price), 1) FROM app WHERE age > 4",
        "SELECT COUNT(*) FROM app WHERE age BETWEEN 4 AND 2",
        "SELECT state, SUM(pay) / SUM(price) FROM app GROUP BY 1 ORDER BY 1 NULLS LAST",
    ],
)
def test_outer_sql_equals_duckdb(answer: Any, sql: str) -> None:
    """HAVING, ORDER BY, LIMIT, CTEs and outer queries over the relation of estimates."""
    ours, theirs = answer(sql)
    assert len(ours) == len(theirs)
    for mine, yours in zip(ours, theirs, strict=True):
        for left, right in zip(mine, yours, strict=True):
            assert left == right or same(left, right)
