from __future__ import annotations

import os
import resource
import signal
import threading
import time
from datetime import datetime

import pyarrow as pa
import pytest

from ldpsql.errors import QueryError
from ldpsql.limits import deadline
from ldpsql.sql.sandbox import Sandbox

RELATION = pa.table({"k": ["a", "b", "a"], "x": [1, 2, 3], "y": [0.5, None, 1.5]})


@pytest.fixture
def sandbox():
    opened = Sandbox()
    yield opened
    opened.close()


def test_outer_sql_reads_relations_by_any_name(sandbox):
    sql = 'WITH t AS (SELECT k, sum(x) s FROM "odd ""name""" GROUP BY k) SELECT * FROM t ORDER BY k'
    found = sandbox.evaluate(sql, {'odd "name"': RELATION})
    assert found.to_pydict() == {"k": ["a", "b"], "s": [4, 2]}


def test_sums_and_decimals_come_as_plain_numbers(sandbox):
    found = sandbox.evaluate(
        "SELECT sum(x) AS s, 1.5 AS d, sum(x) * 10::HUGEINT ** 20 AS f, "
        "sum(1e18::HUGEINT) * 100 AS h, avg(y) AS a FROM r",
        {"r": RELATION},
    )
    assert [str(kind) for kind in found.schema.types] == ["int64", *["double"] * 4]
    assert found.to_pylist()[0]["h"] == 3e20
    assert sandbox.evaluate("SELECT 15.7563 AS d", {}).to_pylist() == [{"d": 15.7563}]


@pytest.mark.parametrize(
    ("digits", "expected"),
    [
        ("170141183460469231731687303715884105727", 2.0**127),
        ("170141183460469231731687303715884105728", 2.0**127),
        ("340282366920938463463374607431768211455", 2.0**128),
        ("340282366920938463463374607431768211456", 2.0**128),
        ("9" * 60, 1e60),
        ("7::UHUGEINT", 7),
    ],
)
def test_wide_whole_numbers_come_as_what_they_are(sandbox, digits, expected):
    both = f"SELECT -1 AS a, {digits} AS x, 2 AS x UNION ALL SELECT 0, NULL, 3 ORDER BY 1"
    found = sandbox.evaluate(both, {})
    assert found.column_names == ["a", "x", "x"]
    assert [column.to_pylist() for column in found.columns] == [[-1, 0], [expected, None], [2, 3]]


@pytest.mark.parametrize(
    "value", ["DATE '9999-12-31' + 1", "TIMESTAMP '0001-01-01' - INTERVAL 1 YEAR"]
)
def test_moments_that_python_has_not_are_refused(sandbox, value):
    days = "DATE '0001-01-01' AS a, TIMESTAMP '9999-12-31 23:59:59.999999' AS b, NULL::DATE AS c"
    assert len(sandbox.evaluate(f"SELECT {days}", {}).to_pylist()) == 1
    last = "VALUES (TIMESTAMP '9999-12-31 23:59:59.999999'), (NULL)"
    assert len(sandbox.evaluate(f"SELECT * FROM ({last})", {}).to_pylist()) == 2
    with pytest.raises(QueryError, match="before the year 1, or after 9999"):
        sandbox.evaluate(f"SELECT {value} AS day", {})


def test_moments_are_no_finer_than_those_of_python(sandbox):
    moment = "'2020-01-01 00:00:00.123456789'::TIMESTAMP_NS"
    found = sandbox.evaluate(f"SELECT {moment} AS a, NULL::TIMESTAMP_NS AS b", {})
    assert set(found.schema.types) == {pa.timestamp("us")}
    assert found.to_pylist() == [{"a": datetime(2020, 1, 1, 0, 0, 0, 123456), "b": None}]


def test_names_of_outputs_may_repeat(sandbox):
    found = sandbox.evaluate("SELECT x AS a, y AS a FROM r ORDER BY x", {"r": RELATION})
    assert [found.column(i).to_pylist() for i in range(2)] == [[1, 2, 3], [0.5, None, 1.5]]


def test_relations_do_not_stay(sandbox):
    sandbox.evaluate("SELECT * FROM r", {"r": RELATION})
    with pytest.raises(QueryError, match="r does not exist"):
        sandbox.evaluate("SELECT * FROM r", {})


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1; SELECT 2",
        "",
        "CREATE TABLE t (a INTEGER)",
        "SET threads = 1",
        "COPY (SELECT 1) TO 'out.csv'",
        "ATTACH 'x.duckdb'",
        "INSTALL httpfs",
        "PRAGMA version",
        "EXPLAIN SELECT 1",
    ],
)
def test_only_one_select_is_evaluated(sandbox, sql):
    with pytest.raises(QueryError, match="single SELECT"):
        sandbox.evaluate(sql, {})


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM RELATION",
        "SELECT * FROM read_parquet('https://example.org/x.parquet')",
    ],
)
def test_nothing_but_the_relations_can_be_read(sandbox, sql):
    with pytest.raises(QueryError):
        sandbox.evaluate(sql, {})


def test_a_fault_is_told_on_one_line(sandbox):
    with pytest.raises(QueryError, match="Could not convert") as caught:
        sandbox.evaluate("SELECT CAST(k AS INTEGER) FROM r", {"r": RELATION})
    assert "\n" not in str(caught.value)
    with pytest.raises(QueryError) as caught:
        sandbox.evaluate("SELECT FROM WHERE", {})
    assert "\n" not in str(caught.value)


def test_a_fault_says_that_it_is_the_outer_query(sandbox):
    with pytest.raises(QueryError, match=r"negative.*outer query, which runs in DuckDB") as caught:
        sandbox.evaluate("SELECT * FROM r LIMIT -1", {"r": RELATION})
    assert caught.value.__context__ is None


# No optimizer sees beforehand that few or no rows meet the condition.
ENDLESS = "SELECT count(*) FROM r a, r b, r c WHERE (a.x * b.x + c.x) % 100003 = 99999"
SPARSE = "SELECT a.x FROM r a, r b, r c WHERE (a.x * b.x + c.x) % 100003 = 99999"
MANY = pa.table({"x": range(5000)})


@pytest.fixture
def small():
    opened = Sandbox(seconds=0.5, memory="100MB")
    yield opened
    opened.close()


def test_an_outer_query_that_takes_too_long_is_stopped_and_the_next_one_runs(small):
    with pytest.raises(QueryError, match=r"took longer than 0\.5 s") as caught:
        small.evaluate(ENDLESS, {"r": MANY})
    assert "\n" not in str(caught.value)
    assert small.evaluate("SELECT count(*) AS n FROM r", {"r": MANY}).to_pylist() == [{"n": 5000}]


def test_a_result_that_never_ends_is_stopped_while_it_is_fetched(sandbox, small):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.monotonic()
    with pytest.raises(QueryError, match=r"there are more than 1,048,576 rows; .* add LIMIT"):
        sandbox.evaluate("SELECT a.x, b.x FROM r a, r b, r c, r d", {"r": MANY})
    with pytest.raises(QueryError, match=r"took longer than 0\.5 s"):
        small.evaluate(SPARSE, {"r": MANY})
    assert time.monotonic() - start < 10.0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # kB


def test_wide_results_are_stopped_at_a_size(sandbox):
    text = "repeat('x', 1000) || a.x"
    with pytest.raises(QueryError, match="needs more than 1GB of memory"):
        sandbox.evaluate(f"SELECT {text} AS t FROM r a, r b LIMIT 900000", {"r": MANY})


def test_the_deadline_of_the_statement_holds_for_its_outer_query(sandbox):
    with deadline(0.3), pytest.raises(QueryError, match=r"the statement took longer than 0\.3 s"):
        sandbox.evaluate(ENDLESS, {"r": MANY})


def test_rows_stay_in_order_over_many_batches(sandbox):
    sql = "SELECT a.x * 5000 + b.x AS v FROM r a, r b WHERE a.x < 40 ORDER BY v DESC"
    found = sandbox.evaluate(sql, {"r": MANY}).column("v").to_pylist()
    assert found == list(range(199_999, -1, -1))


@pytest.mark.parametrize("sql", [ENDLESS, SPARSE])
@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_a_query_within_a_second(sandbox, sql):
    sandbox.evaluate("SELECT 1", {})
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(0.5, interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        sandbox.evaluate(sql, {"r": MANY})
    assert time.monotonic() - sent[0] < 1.0
    assert sandbox.evaluate("SELECT 1 AS one", {}).to_pylist() == [{"one": 1}]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT string_agg(a.x::VARCHAR, repeat('x', 100)) FROM r a, r b",
        "SELECT a.x, b.x, row_number() OVER (ORDER BY a.x * b.x) FROM r a, r b",
    ],
)
def test_an_outer_query_that_needs_too_much_memory_is_refused_on_one_line(sql):
    sandbox = Sandbox(memory="50MB")
    with pytest.raises(QueryError, match="needs more than 50MB of memory") as caught:
        sandbox.evaluate(sql, {"r": MANY})
    assert "\n" not in str(caught.value)
    sandbox.close()


@pytest.mark.parametrize("start", ["'aaaaaaaaaaaaaaaaaaaa'", "k"])
def test_nested_replace_cannot_grow_a_text_without_end(sandbox, start):
    sql = start
    for _ in range(8):
        sql = f"REPLACE({sql}, 'a', 'aaaaaaaaaaaaaaaaaaaa')"
    with pytest.raises(QueryError, match="REPLACE would make a text that is too long"):
        sandbox.evaluate(f"SELECT length({sql}) FROM r", {"r": RELATION})


def test_replace_replaces(sandbox):
    sql = "SELECT replace(k, 'a', 'bc') AS r, replace(k, NULL, 'x') AS n FROM r ORDER BY x LIMIT 1"
    assert sandbox.evaluate(sql, {"r": RELATION}).to_pylist() == [{"r": "bc", "n": None}]


def test_closing_ends_what_other_threads_evaluate():
    sandbox, caught = Sandbox(), []

    def work():
        try:
            sandbox.evaluate(
                "SELECT sum(a.i * b.i) FROM range(10000000) a(i), range(100000) b(i)", {}
            )
        except QueryError as error:
            caught.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    while not sandbox._running:
        time.sleep(0.01)
    time.sleep(0.1)
    sandbox.close()
    thread.join()
    assert len(caught) == 1
    assert "took longer" not in caught[0]
    assert "nterrupt" in caught[0]
