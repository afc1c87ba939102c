"""Two million flights, asked the way an analyst would: truth, interval and time per question."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.real_data import folder
from benchmarks.tables import print_table
from benchmarks.timing import Pair, side_by_side
from ldpsql.attributes import Dimension, Measure, PublicColumn
from ldpsql.bench import simulate
from ldpsql.dbapi import Connection
from ldpsql.domains import Listed, int_domain
from ldpsql.mechanisms.fourier.mechanism import Fourier
from ldpsql.privacy import Epsilon
from ldpsql.schema import Schema
from ldpsql.survey import Survey
from ldpsql.workload import Workload

EPSILON = "2"
CLEAN = """
SELECT dep_hour::BIGINT AS hour, least(distance, 3199)::BIGINT AS distance, carrier,
       month::BIGINT AS month, least(greatest(arr_delay, -30), 180)::BIGINT AS arr_delay,
       flight_date AS day
FROM '{file}' WHERE arr_delay IS NOT NULL AND dep_hour IS NOT NULL AND distance IS NOT NULL
"""
QUESTIONS = (
    "SELECT COUNT(*) FROM flights WHERE hour BETWEEN 6 AND 9",
    "SELECT AVG(arr_delay) FROM flights",
    "SELECT AVG(arr_delay) FROM flights WHERE hour >= 17",
    "SELECT SUM(arr_delay) FROM flights WHERE hour BETWEEN 12 AND 20",
    "SELECT COUNT(*) FROM flights WHERE distance >= 500 AND distance < 1000",
    "SELECT COUNT(*), AVG(arr_delay) FROM flights WHERE hour < 12 AND distance < 750",
    "SELECT COUNT(*) FROM flights WHERE month IN (6, 7, 8)",
    "SELECT AVG(arr_delay) FROM flights WHERE month IN (6, 7, 8) AND hour >= 15",
    "SELECT COUNT(*) FROM flights WHERE carrier IN ('AA', 'DL', 'UA')",
    "SELECT AVG(arr_delay) FROM flights WHERE carrier = 'WN'",
    "SELECT COUNT(*) FROM flights WHERE hour < 8 OR hour >= 20",
    "SELECT COUNT(*) FROM flights WHERE hour < 8 OR distance >= 2000",
    "SELECT COUNT(*) FROM flights WHERE NOT carrier = 'AS' AND month <= 3",
    "SELECT carrier, COUNT(*) FROM flights GROUP BY carrier",
    "SELECT carrier, AVG(arr_delay) FROM flights WHERE hour BETWEEN 14 AND 21 GROUP BY carrier",
    "SELECT month, COUNT(*), AVG(arr_delay) FROM flights GROUP BY month",
    "SELECT carrier, COUNT(*) AS n FROM flights GROUP BY carrier HAVING n > 150000 ORDER BY n DESC",
    "SELECT max(n) FROM (SELECT month, COUNT(*) AS n FROM flights GROUP BY month)",
    "SELECT COUNT(*), AVG(arr_delay) FROM flights WHERE day >= DATE '2017-01-01' AND hour < 12",
    "SELECT carrier, COUNT(*) FROM flights WHERE day < DATE '2014-01-01' AND hour >= 12 "
    "GROUP BY carrier",
)


def run() -> None:
    """Print one row per question."""
    place = folder()
    if place is None or not (place / "us_flights.parquet").exists():
        print("Flights: skipped, set LDPSQL_DATA to a folder with us_flights.parquet")
        return
    with duckdb.connect() as exact:
        exact.execute(f"CREATE TABLE flights AS {CLEAN.format(file=place / 'us_flights.parquet')}")
        people = exact.sql("SELECT * FROM flights").to_arrow_table()
        asked = survey(people)
        with simulate(asked, people, seed=0) as connection:
            print_table(
                f"{people.num_rows:,} flights, epsilon {EPSILON}",
                ("question", "answer +/-", "truth", "inside", "first (s)", "warm (ms)", "raw (ms)"),
                _rows(connection, exact),
            )


def survey(people: pa.Table) -> Survey:
    """Hour, distance, carrier, month and delay private, the day public."""
    carriers = tuple(sorted(set(people["carrier"].to_pylist())))
    schema = Schema(
        (
            Dimension("hour", int_domain(0, 23)),
            Dimension("distance", int_domain(0, 3199, bin_width=50)),
            Dimension("carrier", Listed("category", carriers)),
            Dimension("month", int_domain(1, 12)),
        ),
        (Measure("arr_delay", (-30.0, 180.0)),),
        (PublicColumn("day", "date"),),
    )
    workload = Workload.everyday(schema.record_domain, {2: "equality"})
    made = Fourier().design(schema.record_domain, Epsilon.parse(EPSILON), {}, workload)
    return Survey("flights", schema, made)


def _rows(connection: Connection, exact: duckdb.DuckDBPyConnection) -> Iterator[tuple[object, ...]]:
    ratios = []
    for question in QUESTIONS:
        start = time.perf_counter()
        connection.execute(question)
        first = time.perf_counter() - start
        times = _timed(connection, exact, question)
        ratios.append(times.ratio)
        shown = _compared(connection, exact, question)
        warm = f"{times.ours * 1e3:.1f}", f"{times.other * 1e3:.1f}"
        yield (question.replace("|", "\\|"), *shown, f"{first:.2f}", *warm)
    yield ("median ratio of times", "", "", "", "", f"{statistics.median(ratios):.2f}", "1")


def _timed(connection: Connection, exact: duckdb.DuckDBPyConnection, question: str) -> Pair:
    return side_by_side(
        lambda: connection.execute(question), lambda: exact.execute(question).fetchall(), runs=5
    )


def _compared(
    connection: Connection, exact: duckdb.DuckDBPyConnection, question: str
) -> tuple[str, str, str]:
    """Answer, truth and whether it is inside; how many are, where there are several."""
    result = connection.execute(question).result
    keys = [i for i, column in enumerate(result.columns) if i not in result.intervals]
    truth = {tuple(r[i] for i in keys): r for r in exact.execute(question).fetchall()}
    if not result.intervals:
        return str(result.table.column(0)[0].as_py()), str(next(iter(truth.values()))[0]), "-"
    inside, told, shown, true = 0, 0, "", ""
    for number, row in enumerate(zip(*(c.to_pylist() for c in result.table.columns), strict=True)):
        known = truth.get(tuple(row[i] for i in keys))
        for index, bars in result.intervals.items():
            if known is None or row[index] is None or np.isnan(bars.low[number]):
                continue
            told += 1
            inside += bool(bars.low[number] <= known[index] <= bars.high[number])
            if not shown:
                half = (bars.high[number] - bars.low[number]) / 2
                shown, true = f"{row[index]:,.1f} +/- {half:,.1f}", f"{known[index]:,.1f}"
    return shown, true, f"{inside} of {told}"
