"""Joins of surveys: without noise as DuckDB has it, with noise unbiased, within their intervals."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from support.noise_free import ExactBoxes, ExactMechanism, exact_survey
from support.significance import coverage_fits, is_unbiased
from support.surveys import integer, measure, survey_toml

from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql.recipes import registry
from ldpsql.simulation import SeededEntropy, accept_everything
from ldpsql.store import open_store
from ldpsql.survey import Survey
from ldpsql_device.schema import Dimension, Measure, PublicColumn, Schema
from ldpsql_device.table import randomize_batch
from ldpsql_device.values import Listed, int_domain

KINDS = ("x", "y", "z")


def raw_tables() -> dict[str, pa.Table]:
    """Buyers and sellers who share regions, years and kinds; NULLs among them."""
    rng = np.random.default_rng(8)
    tables = {}
    for name, size in (("buyers", 90), ("sellers", 70)):
        region = [None if r == 5 else int(r) for r in rng.integers(0, 6, size)]
        kind = [None if k == 3 else KINDS[k] for k in rng.integers(0, 4, size)]
        tables[name] = pa.table(
            {
                "region": pa.array(region, pa.int64()),
                "year": pa.array(rng.integers(2020, 2023, size)),
                "kind": pa.array(kind, pa.string()),
                "age": rng.integers(0, 6, size),
                "pay" if name == "buyers" else "visits": np.round(rng.uniform(-4, 8, size) * 4) / 4,
            }
        )
    return tables


RAW = raw_tables()


def schema(amount: str) -> Schema:
    return Schema(
        (
            Dimension("age", int_domain(0, 5)),
            Dimension("kind", Listed("category", KINDS), missing="code"),
        ),
        (Measure(amount, (-4.0, 8.0)),),
        (PublicColumn("region", "int"), PublicColumn("year", "int")),
    )


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[Session, duckdb.DuckDBPyConnection]]:
    """The same people, asked by reports without noise and as they are."""
    patch = pytest.MonkeyPatch()
    raw = duckdb.connect(config={"threads": 1})
    with open_store(None, read_only=False) as store:
        known = dict(registry.MECHANISMS)
        for name, amount in (("buyers", "pay"), ("sellers", "visits")):
            asked = exact_survey(name, schema(amount), RAW[name], ExactBoxes)
            asked = replace(asked, design=replace(asked.design, name=f"exact_{name}"))
            known[f"exact_{name}"] = ExactMechanism(asked.design)
            patch.setattr(registry, "MECHANISMS", dict(known))
            policy = accept_everything(asked)
            reports, _ = randomize_batch(asked, RAW[name], SeededEntropy(1), policy=policy)
            store.ingest_table(reports, asked)
            raw.register("arrow", RAW[name])
            raw.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow")
        yield Session(store), raw
    raw.close()
    patch.undo()


JOINS = (
    "buyers a JOIN sellers b USING (region)",
    "buyers a JOIN sellers b ON a.region = b.region AND a.year < b.year",
    "buyers AS a, sellers AS b",
    "buyers a JOIN sellers b ON a.kind = b.kind AND b.year = 2021",
    "buyers a JOIN sellers b USING (region, kind)",
    "buyers a JOIN sellers b ON a.age + 1 >= b.age",
    "buyers a CROSS JOIN sellers b",
)
CONDITIONS = (
    "a.age < 3",
    "b.kind IN ('x', 'z')",
    "a.kind IS NULL AND b.age BETWEEN 1 AND 4",
    "a.age < 2 OR b.kind = 'x'",
    "NOT (a.age = b.age)",
    "(a.year = b.year AND (b.age > 1 AND a.age % 2 = 1))",
    "a.region <> b.region + 1",
    "b.year = 2021 AND a.year IN (2020, 2021)",
    "FALSE",
    "a.kind < b.kind OR a.year = 2022",
)
AMOUNTS = (
    *("COUNT(*)", "SUM(pay)", "SUM(visits)", "SUM(pay * visits)", "SUM(2 * pay - visits)"),
    *("AVG(pay)", "AVG(pay * visits)", "SUM(pay - (visits - 1))", "COUNT(a.kind)"),
    *("SUM(-visits * pay) / 4", "COUNT(*) FILTER (WHERE a.age > 2 AND b.kind = 'y')"),
    *("SUM(pay) FILTER (WHERE a.year = b.year AND b.age < 4)", "COUNT_IF(a.age = b.age)"),
    *("AVG(visits) FILTER (WHERE b.age > 1)", "ROUND(SUM(pay) / NULLIF(COUNT(*), 0), 2)"),
)
GROUPS = ("", "a.year", "b.kind", "a.year, b.age", "a.year + b.year", "b.kind = 'x', a.region")


def queries(count: int) -> list[tuple[str, str]]:
    """Generated questions, with what they are grouped by."""
    choose, made = random.Random(3), []
    for _ in range(count):
        group, where = choose.choice(GROUPS), choose.sample(CONDITIONS, choose.randrange(3))
        items = [*(group.split(", ") if group else ()), *choose.sample(AMOUNTS, 2)]
        named = ", ".join(f"{item} AS c{place}" for place, item in enumerate(items))
        sql = f"SELECT {named} FROM {choose.choice(JOINS)}"
        sql += f" WHERE {' AND '.join(f'({each})' for each in where)}" if where else ""
        made.append((sql + (f" GROUP BY {group}" if group else ""), group))
    return made


def in_duckdb(sql: str) -> str:
    """The sum of nobody is 0 here, and NULL in SQL."""
    head, tail = sql.split(" FROM ", 1)
    items = head.removeprefix("SELECT ").split(", ")
    for place, item in enumerate(items):
        if item.startswith("SUM("):
            inner, name = item.rsplit(" AS ", 1)
            call = inner.removesuffix(" / 4")
            items[place] = f"COALESCE({call}, 0){inner[len(call) :]} AS {name}"
    return f"SELECT {', '.join(items)} FROM {tail}"


def check(session: Session, raw: duckdb.DuckDBPyConnection, sql: str, group: str) -> None:
    keys = len(group.split(", ")) if group else 0
    rows = zip(*session.execute(sql).table.to_pydict().values(), strict=True)
    got = {row[:keys]: row[keys:] for row in rows}
    expected = {row[:keys]: row[keys:] for row in raw.execute(in_duckdb(sql)).fetchall()}
    assert expected.keys() <= got.keys(), sql
    for key, row in got.items():
        for own, true in zip(row, expected.get(key, (None,) * len(row)), strict=True):
            if true is None:
                assert own in (None, 0), sql
            else:
                assert math.isclose(own, true, rel_tol=1e-9, abs_tol=1e-9), (sql, key, own, true)


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(p, marks=pytest.mark.slow) for p in range(1, 36))]
)
def test_without_noise_answers_are_duckdbs(both, part) -> None:
    for sql, group in queries(720)[part * 20 : part * 20 + 20]:
        check(*both, sql, group)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(a.region + b.region) FROM buyers a, sellers b",
        "SELECT SUM(a.region - visits) FROM buyers a JOIN sellers b USING (year)",
        "SELECT SUM(LENGTH(a.kind) + b.age) FROM buyers a, sellers b",
        "SELECT SUM(a.region * b.region + b.age) FROM buyers a JOIN sellers b USING (year)",
        "SELECT SUM(CASE WHEN a.kind = 'x' THEN 2 END + b.age) FILTER (WHERE a.age < 4 AND "
        "b.age > 1 AND a.age < b.age) FROM buyers a JOIN sellers b USING (year)",
        "SELECT COUNT() FROM buyers a JOIN sellers b USING (region)",
        "SELECT -a.year AS year, COUNT(*) FROM buyers a JOIN sellers b USING (year) "
        "GROUP BY a.year ORDER BY year",
        "SELECT -year AS year, COUNT(*) FROM buyers a JOIN sellers b USING (year) GROUP BY year "
        "ORDER BY year LIMIT 1",
        "SELECT -a.year AS pay, COUNT(*) FROM buyers a JOIN sellers b USING (region) "
        "GROUP BY a.year ORDER BY pay DESC",
        "SELECT a.year, COUNT(*), COUNT(*) FILTER (WHERE a.year > 2020) OVER (), SUM(COUNT(*)) "
        "FILTER (WHERE a.year > 2020) OVER () FROM buyers a JOIN sellers b USING (region) "
        "GROUP BY a.year ORDER BY 1",
    ],
)
def test_nulls_and_names_mean_what_they_mean_to_duckdb(both, sql) -> None:
    """A sum with a NULL in it adds nothing; ORDER BY looks for names in the select list first."""
    session, raw = both
    got = [*zip(*session.execute(sql).table.to_pydict().values(), strict=True)]
    expected = raw.execute(sql).fetchall()
    assert len(got) == len(expected)
    for own, true in zip(got, expected, strict=True):
        assert own == pytest.approx(tuple(map(float, true)))


def test_a_join_stands_within_other_queries(both) -> None:
    session, raw = both
    for sql in (
        "WITH t AS (SELECT a.year, COUNT(*) n FROM buyers a JOIN sellers b USING (region) "
        "WHERE a.age < 4 GROUP BY a.year) SELECT SUM(n) FROM t",
        "SELECT (SELECT COUNT(*) FROM sellers WHERE age < 2), COUNT(*) FROM buyers a, sellers b "
        "WHERE a.kind = b.kind",
    ):
        got = [column[0] for column in session.execute(sql).table.to_pydict().values()]
        assert got == pytest.approx(raw.execute(sql).fetchone())


# -- with noise --------------------------------------------------------------------------------

ASKED = (
    "SELECT COUNT(*) FROM buyers a JOIN sellers b USING (region) WHERE a.age < 3 AND b.age > 4",
    "SELECT SUM(pay) FROM buyers a JOIN sellers b USING (region) WHERE b.age < 5",
    "SELECT COUNT(*) FROM buyers a JOIN sellers b ON a.age = b.age",
)
TRIES = 400


@cache
def survey(table: str) -> Survey:
    columns = [integer("age", 0, 7), *([measure("pay", 0, 10)] if table == "buyers" else [])]
    public = '[public.region]\ntype = "int"\n'
    return design(survey_toml(*columns, public, table=table, epsilon="2", mechanism="fourier"))


def draw(table: str, size: int, random: np.random.Generator) -> pa.Table:
    """People of the same population each time; more in some regions than in others."""
    age, region = random.binomial(7, 0.4, size), random.binomial(3, 0.3, size)
    pay = np.clip(random.normal(3 + age / 2, 2, size), 0, 10)
    return pa.table({"age": age, "region": region, "pay": pay})


@cache
def mean_pay() -> float:
    """Of the population, from very many of it."""
    return float(draw("buyers", 4_000_000, np.random.default_rng(0))["pay"].to_numpy().mean())


def expect(tables: list[pa.Table]) -> list[float]:
    """What is expected of pairs, given how many of either live in each region."""
    young, old = AGES[:3].sum(), AGES[5:].sum()
    regions = [np.bincount(table["region"].to_numpy(), minlength=4) for table in tables]
    same = float(regions[0] @ regions[1])
    return [
        same * float(young * old),
        same * mean_pay() * float(AGES[:5].sum()),
        math.prod(SIZES) * float(AGES @ AGES),
    ]


AGES = np.array([math.comb(7, k) * 0.4**k * 0.6 ** (7 - k) for k in range(8)])
SIZES = (1_500, 1_000)


@pytest.mark.slow
def test_answers_are_unbiased_and_intervals_cover() -> None:
    """Of a population, over collections of other people and other noise each time.

    Twice the product of two variances stands in the estimated variance, once in the true one, so
    intervals may be too wide where both sides are weak, and never too narrow.
    """
    truths, found = [], []
    for number in range(TRIES):
        rng = np.random.default_rng(number)
        with open_store(None, read_only=False) as store:
            tables = [draw("buyers", SIZES[0], rng), draw("sellers", SIZES[1], rng)]
            for place, people in enumerate(tables):
                asked = survey(("buyers", "sellers")[place])
                entropy = SeededEntropy(2 * number + place)
                policy = accept_everything(asked)
                reports = randomize_batch(asked, people, entropy, policy=policy)[0]
                store.ingest_table(reports, asked)
            session = Session(store)
            found.append([read(session, sql) for sql in ASKED])
        truths.append(expect(tables))
    values, true = np.array(found), np.array(truths)
    for place, sql in enumerate(ASKED):
        errors = values[:, place, 0] - true[:, place]
        assert is_unbiased(errors, 0.0), sql
        assert not is_unbiased(errors + 0.2 * true[:, place], 0.0), "the negative control"
        low, high = values[:, place, 1:].T
        covered = int(((low <= true[:, place]) & (true[:, place] <= high)).sum())
        assert coverage_fits(covered, TRIES), (sql, covered)


def read(session: Session, sql: str) -> tuple[float, float, float]:
    """The only value of an answer, and its interval."""
    answer = session.execute(sql)
    bar = answer.intervals[0]
    return answer.table.column(0)[0].as_py(), float(bar.low[0]), float(bar.high[0])
