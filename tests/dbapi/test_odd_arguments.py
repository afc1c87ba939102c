"""Nothing but the library's errors comes out of the DB-API, whatever its methods are given; and a
question may have a level of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.surveys import integer, measure, survey_toml

import ldpsql
from ldpsql.dbapi.connection import Connection, Cursor
from ldpsql.designer import design
from ldpsql_lab.simulation import simulate

ASKED = "SELECT age, COUNT(*) AS n, AVG(pay) AS pay FROM app GROUP BY age"
ODD: list[Any] = [
    *(None, b"", b"SELECT 1", 5, 1.5, "", [], {}, object(), "SELECT", float("nan"), -1, True),
    *("\ud800", "\0", type, len, pa.table({"a": [1]}), np.int64(3), np.array([1]), "x" * 200_000),
    *(("SELECT COUNT(*) FROM app",), -(10**30), 10**30, [None], {None: None}, {5: 5}),
    *(10**5000, -(10**5000), {10**5000: 5}, {"a": 10**5000}, [[10**5000]], np.array(10**30)),
    *(np.timedelta64(1, "D"), np.timedelta64("NaT"), np.datetime64("NaT"), np.longdouble("1e400")),
    *(Decimal("sNaN"), Decimal("1e999999"), Fraction(10**5000, 7), 1j, float("inf"), np.ma.masked),
    *(iter([5]), {"a": 5}.keys(), {5}, range(3), slice(1), Ellipsis, date.max, datetime.min),
]
ONE = "SELECT COUNT(*) FROM app WHERE age = "
CALLS: dict[str, Callable[[Connection, Any], Any]] = {
    "execute": lambda c, v: c.cursor().execute(v),
    "execute of a connection": lambda c, v: c.execute(v),
    "sql": lambda c, v: c.sql(v),
    "parameters": lambda c, v: c.execute(f"{ONE}?", v),
    "a parameter": lambda c, v: c.execute(f"{ONE}?", [v]),
    "a named parameter": lambda c, v: c.execute(f"{ONE}:a", {"a": v}),
    "confidence": lambda c, v: c.execute(ASKED, confidence=v),
    "executemany": lambda c, v: c.cursor().executemany(v, v),
    "fetchmany": lambda c, v: c.execute(ASKED).fetchmany(v),
    "arraysize": lambda c, v: fetch_by(c.execute(ASKED), v),
    "setinputsizes": lambda c, v: c.cursor().setinputsizes(v),
    "setoutputsize": lambda c, v: c.cursor().setoutputsize(v, v),
    "table": lambda c, v: c.table(v),
    "register": lambda c, v: c.register(v, {"a": [1]}),
    "register data": lambda c, v: c.register("tab", v),
    "unregister": lambda c, v: c.unregister(v),
    "add_lookup": lambda c, v: c.add_lookup(v),
    "add_lookup name": lambda c, v: c.add_lookup({"a": [1]}, v),
    "remove_lookup": lambda c, v: c.remove_lookup(v),
    "ingest": lambda c, v: c.ingest(v),
    "ingest survey": lambda c, v: c.ingest(pa.table({"a": [1]}), survey=v),
    "ingest keep": lambda c, v: c.ingest(pa.table({"a": [1]}), keep=v),
    "synthesize": lambda c, v: c.synthesize(v),
    "synthesize table": lambda c, v: c.synthesize(5, table=v),
    "synthesize seed": lambda c, v: c.synthesize(5, seed=v),
    "connect": lambda _, v: ldpsql.connect(v),
    **{
        f"connect {name}": lambda _, v, name=name: ldpsql.connect(None, **{name: v})  # type: ignore[misc]
        for name in ("confidence", "timeout", "weights", "reports", "survey", "spark")
    },
}
METHODS = {
    **dict.fromkeys(("fetchone", "fetchmany", "fetchall", "arrow", "df", "pl", "show"), ()),
    "__next__": (),
    "execute": (ASKED,),
    "executemany": (ASKED, []),
    "close": (),
}
OF_CONNECTIONS: dict[str, tuple[Any, ...]] = {
    "cursor": (),
    "execute": (ASKED,),
    "sql": (ASKED,),
    "table": ("app",),
    "ingest": ("x",),
    "register": ("a", {"a": [1]}),
    "unregister": ("a",),
    "add_lookup": ("a",),
    "remove_lookup": ("a",),
    "synthesize": (),
    "commit": (),
    "rollback": (),
    "close": (),
}


def fetch_by(cursor: Cursor, size: Any) -> Any:
    cursor.arraysize = size
    return cursor.fetchmany()


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    toml = survey_toml(integer("age", 0, 49), measure("pay", 0, 100), epsilon="4")
    random = np.random.default_rng(1)
    people = {"age": random.integers(0, 50, 500), "pay": random.uniform(0, 100, 500)}
    with simulate(design(toml), pa.table(people), seed=1) as opened:
        yield opened


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_odd_arguments_end_in_an_answer_or_in_an_error_of_the_library(
    connection: Connection, call: Callable[[Connection, Any], Any], monkeypatch: Any, tmp_path: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    for value in ODD:
        with suppress(ldpsql.Error):
            call(connection, value)


@pytest.mark.parametrize("name", METHODS)
def test_cursors_without_an_answer_and_closed_ones_raise_errors_of_the_library(
    connection: Connection, name: str
) -> None:
    for is_closed in (False, True):
        cursor = connection.cursor()
        if is_closed:
            cursor.close()
        try:
            getattr(cursor, name)(*METHODS[name])
        except ldpsql.Error:
            continue
        assert name == "close" or (name == "execute" and not is_closed)


@pytest.mark.parametrize("name", OF_CONNECTIONS)
def test_closed_connections_raise_errors_of_the_library(name: str) -> None:
    connection = ldpsql.connect(None)
    connection.close()
    try:
        getattr(connection, name)(*OF_CONNECTIONS[name])
    except ldpsql.InterfaceError:
        return
    assert name == "close"


def test_fetching_takes_a_number_of_rows(connection: Connection) -> None:
    cursor = connection.execute(ASKED)
    with pytest.raises(ldpsql.InterfaceError, match="how many rows to fetch, not -1"):
        cursor.fetchmany(-1)
    assert len(cursor.fetchmany(np.int64(2))) == 2
    assert len(cursor.fetchmany(0)) == 0
    assert len(cursor.fetchmany(10**30)) == 48


ALL_KINDS = (
    "SELECT COUNT(*) FILTER (WHERE age < 20) AS n, AVG(pay) AS mean, "
    "MEDIAN(age) AS middle, STDDEV_POP(age) AS spread, "
    "COUNT(*) FILTER (WHERE age > 20) * 2 AS twice FROM app"
)


def test_intervals_of_every_kind_hold_at_the_level_of_the_question(connection: Connection) -> None:
    """And of no other one: neither before nor after."""
    usual = connection.sql(ALL_KINDS).arrow(intervals=True)
    narrow = connection.sql(ALL_KINDS, confidence=0.5).arrow(intervals=True)
    wide = connection.execute(ALL_KINDS, confidence=0.99).arrow(intervals=True)
    for name in ("n", "mean", "middle", "spread", "twice"):
        widths = [
            table[f"{name}_high"][0].as_py() - table[f"{name}_low"][0].as_py()
            for table in (narrow, usual, wide)
        ]
        assert widths[0] < widths[1] <= widths[2], name
        assert widths[0] < widths[2]
    assert connection.sql(ALL_KINDS).arrow(intervals=True) == usual
    answer = connection.sql(ALL_KINDS, confidence=0.5)
    assert answer.result.level == 0.5
    assert "50 % interval" in repr(answer)
    with pytest.raises(ldpsql.InterfaceError, match="between 0 and 1"):
        connection.sql(ALL_KINDS, confidence=95)
