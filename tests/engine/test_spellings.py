"""All spellings of literals, casts, limits and parameters that DuckDB takes: the answer without
noise is DuckDB's on the raw table, or the spelling is refused by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from support.noise_free import ExactNodes, exact_survey, storing

from ldpsql import Error
from ldpsql.engine.session import Session
from ldpsql_device.schema import Dimension, Schema
from ldpsql_device.values import BOOL, Listed, float_bins, int_domain, time_range

FIRST = date(2024, 1, 1)
SCHEMA = Schema(
    (
        Dimension("age", int_domain(0, 9)),
        Dimension("sex", Listed("category", ("Female", "Male", "it's", "é")), missing="code"),
        Dimension("day", time_range("date", FIRST, date(2024, 1, 10), "day")),
        Dimension("seen", time_range("timestamp", FIRST, date(2024, 1, 3), "day")),
        Dimension("weight", float_bins(0, 100, 4)),
        Dimension("member", BOOL),
    )
)
SPELLINGS = Path(__file__).with_name("spellings.sql")


def raw_table(people: int = 200) -> pa.Table:
    """Made-up people."""
    random, first = np.random.default_rng(1), np.datetime64(FIRST)
    hours = random.integers(0, 72, people).astype("timedelta64[h]")
    return pa.table(
        {
            "age": random.integers(0, 10, people),
            "sex": random.choice(["Female", "Male", "it's", "é"], people),
            "day": pa.array((first + random.integers(0, 10, people)).astype("datetime64[D]")),
            "seen": pa.array((first + hours).astype("datetime64[us]")),
            "weight": random.uniform(0, 100, people),
            "member": random.random(people) < 0.5,
        }
    )


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[Session, duckdb.DuckDBPyConnection]]:
    """A survey answered without noise, and the raw table in DuckDB."""
    table = raw_table()
    with (
        storing(exact_survey("app", SCHEMA, table, ExactNodes), table) as store,
        duckdb.connect(config={"threads": 1}) as raw,
    ):
        raw.register("app", table)
        yield Session(store), raw


def ours(session: Session, sql: str, parameters: Any = None) -> list[tuple[Any, ...]]:
    """The rows, with counts as the whole numbers that they are but for rounding."""
    found = session.execute(sql, parameters).table
    rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
    return [tuple(round(v, 6) if isinstance(v, float) else v for v in row) for row in rows]


def spellings() -> Iterator[tuple[str, str]]:
    """Statements, and why they are refused, or an empty text. What follows several starts, each in
    a line, is spelled behind every one of them."""
    starts, follows = list[str](), False
    for line in SPELLINGS.read_text(encoding="utf-8").splitlines():
        if line.startswith("-- SELECT"):
            starts = [*(() if follows else starts), line.removeprefix("-- ")]
            follows = False
        elif line and not line.startswith("--"):
            spelled, _, reason = line.partition("  -- ")
            yield from ((f"{start} {spelled}", reason) for start in starts)
            follows = True


def test_every_spelling_is_read_as_duckdb_reads_it_or_refused_by_name(
    both: tuple[Session, duckdb.DuckDBPyConnection],
) -> None:
    session, raw = both
    wrong = {}
    for sql, reason in spellings():
        try:
            found: Any = ours(session, sql)
        except Error as error:
            found = getattr(error, "reason", str(error))
        expected: Any = reason or raw.execute(sql).fetchall()
        if found != expected:
            wrong[sql] = found, expected
    assert wrong == {}


def test_no_spelling_of_a_condition_is_answered_as_another_one(
    both: tuple[Session, duckdb.DuckDBPyConnection],
) -> None:
    """Of a slip in any of the values, the table above would tell."""
    session, raw = both
    sql = "SELECT COUNT(*) FROM app WHERE age = '5'"
    assert ours(session, sql) != raw.execute(sql.replace("5", "6")).fetchall()


def test_today_is_the_day_in_utc_of_the_question(
    both: tuple[Session, duckdb.DuckDBPyConnection], monkeypatch: pytest.MonkeyPatch
) -> None:
    session, raw = both

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime(2024, 1, 5, 23, 30, tzinfo=tz)

    monkeypatch.setattr("ldpsql.parser.datetime", Clock)
    for asked, meant in {
        "day < current_date": "day < DATE '2024-01-05'",
        "day >= today()": "day >= DATE '2024-01-05'",
        "day > current_date - 2": "day > DATE '2024-01-03'",
        "day > CURRENT_DATE - INTERVAL 2 DAY": "day > DATE '2024-01-03'",
        "day BETWEEN date_trunc('month', current_date) AND current_date": (
            "day BETWEEN DATE '2024-01-01' AND DATE '2024-01-05'"
        ),
        "day <= now()": "day <= TIMESTAMP '2024-01-05 23:30:00'",
        "day < current_timestamp": "day < TIMESTAMP '2024-01-05 23:30:00'",
        "seen >= current_date - 3": "seen >= DATE '2024-01-02'",
        "seen < CAST(now() AS DATE) - INTERVAL '3 days'": "seen < TIMESTAMP '2024-01-02 00:00:00'",
    }.items():
        count = "SELECT COUNT(*) FROM app WHERE "
        assert ours(session, count + asked) == raw.execute(count + meant).fetchall(), asked
    (row,) = ours(session, "SELECT current_date AS today, COUNT(*) FROM app")
    assert row[0] == date(2024, 1, 5)
    (row,) = ours(
        session, "WITH a AS (SELECT COUNT(*) AS n FROM app) SELECT current_date, n FROM a"
    )
    assert row[0] == date(2024, 1, 5)


MIDNIGHT, DAY = datetime(2024, 1, 5), date(2024, 1, 5)
SCALARS: dict[str, list[Any]] = {
    "age < 5": [
        5,
        5.0,
        "5",
        Decimal(5),
        Decimal("5.00"),
        *(kind(5) for kind in (np.int8, np.int16, np.int32, np.int64)),
        *(kind(5) for kind in (np.uint8, np.uint16, np.uint32, np.uint64)),
        *(kind(5) for kind in (np.float16, np.float32, np.float64, np.longdouble)),
        np.str_("5"),
        pd.Series([5]).iloc[0],
        pd.array([5], dtype="Int64")[0],
        pl.Series([5], dtype=pl.Int8)[0],
        pl.Series([Decimal(5)])[0],
        pa.scalar(5).as_py(),
    ],
    "day < DATE '2024-01-05'": [
        DAY,
        MIDNIGHT,
        "2024-01-05",
        pd.Timestamp(MIDNIGHT),
        pd.Series([MIDNIGHT]).to_numpy()[0],
        pl.Series([DAY])[0],
        pl.Series([MIDNIGHT])[0],
        *(np.datetime64("2024-01-05", unit) for unit in ("D", "h", "m", "s", "ms", "us", "ns")),
    ],
    "seen < TIMESTAMP '2024-01-02 00:00:00'": [
        *(np.datetime64("2024-01-02", unit) for unit in ("D", "h", "m", "s", "ms", "us", "ns")),
        pd.Timestamp("2024-01-02"),
        "2024-01-02 00:00:00.000000000",
    ],
    "member = TRUE": [True, np.bool_(True), pd.array([True], dtype="boolean")[0], "t", 1],
    "sex = 'Male'": ["Male", np.str_("Male"), pd.Series(["Male"]).iloc[0], pl.Series(["Male"])[0]],
    "sex = NULL": [None, pd.NA, pd.NaT, np.datetime64("NaT"), np.datetime64("NaT", "ns")],
}
"""By condition the scalars that stand for its constant."""

ODD = {
    "datetime": [datetime(2024, 1, 5, tzinfo=datetime.now().astimezone().tzinfo)],
    "Timestamp": [pd.Timestamp("2024-01-05", tz="UTC")],
    "timedelta": [timedelta(days=5)],
    "Timedelta": [pd.Timedelta(5, "ns")],
    "timedelta64": [np.timedelta64(5, "ns"), np.timedelta64(5), np.timedelta64("NaT")],
    "datetime64": [np.datetime64(5, "Y") + 10**6, np.datetime64("-5000-01-01")],
    "float": [float("nan"), float("inf")],
    "Decimal": [Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity")],
    "complex128": [np.complex128(5)],
    "bytes": [b"5"],
    "list": [[5]],
    "ndarray": [np.array(5), np.array([5])],
    "Series": [pd.Series([5]), pl.Series([5])],
    "Int64Scalar": [pa.scalar(5)],
    "Period": [pd.Period("2024-01")],
    "type": [int],
    "object": [object()],
}
"""Values that are no parameter, by the type that the refusal names."""


@pytest.mark.parametrize("condition", SCALARS)
def test_every_scalar_is_the_parameter_that_it_means(
    both: tuple[Session, duckdb.DuckDBPyConnection], condition: str
) -> None:
    session, _ = both
    start = "SELECT COUNT(*) FROM app WHERE "
    marked = re.sub(r"(?<=[<=] ).*", "?", condition)
    expected = ours(session, start + condition)
    found = {repr(value): ours(session, start + marked, [value]) for value in SCALARS[condition]}
    assert found == dict.fromkeys(found, expected)


@pytest.mark.parametrize("kind", ODD)
def test_a_value_that_is_no_parameter_is_refused_by_its_type(
    both: tuple[Session, duckdb.DuckDBPyConnection], kind: str
) -> None:
    for value in ODD[kind]:
        with pytest.raises(Error, match=rf"cannot be this value of type {kind} at "):
            ours(both[0], "SELECT COUNT(*) FROM app WHERE age = ?", [value])


PLACEHOLDERS: dict[str, tuple[Any, Any]] = {
    "age < ?": ([5], [5]),
    "age < ?1": ([5], [5]),
    "age BETWEEN $2 AND $1": ([5, 2], [5, 2]),
    "age BETWEEN ?2 AND ?1": ([5, 2], [5, 2]),
    "age < $1 AND weight < $1": ([25], [25]),
    "age < $a": ({"a": 5}, {"a": 5}),
    "age < $A": ({"a": 5}, {"a": 5}),
    "age < $é_1": ({"é_1": 5}, {"é_1": 5}),
    "age < ?::INT": (["5"], ["5"]),
    "age < CAST($1 AS INT)": (["5"], ["5"]),
    "day < ?::DATE": (["2024-1-5"], ["2024-1-5"]),
    "age < $1::INT + $1": ([2], [2]),
    "age < -? + 1": ([-5], [-5]),
    "sex IN (?, ?)": (["Male", "é"], ["Male", "é"]),
    "sex IS NOT DISTINCT FROM ?": ([None], [None]),
}
"""Placeholders, with what ldpsql and what DuckDB is given."""


@pytest.mark.parametrize("condition", PLACEHOLDERS)
def test_every_placeholder_takes_its_value(
    both: tuple[Session, duckdb.DuckDBPyConnection], condition: str
) -> None:
    session, raw = both
    sql, (own, other) = f"SELECT COUNT(*) FROM app WHERE {condition}", PLACEHOLDERS[condition]
    assert ours(session, sql, own) == raw.execute(sql, other).fetchall()
