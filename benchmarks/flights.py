"""Two million flights, asked the way an analyst would: truth, interval and time per question."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.real_data import folder
from benchmarks.tables import print_table
from benchmarks.timing import Pair, by_clocks
from ldpsql.dbapi import Connection
from ldpsql.recipes.fourier.recipe import Fourier
from ldpsql.record_domain import RecordDomain
from ldpsql.simulation import simulate
from ldpsql.survey import Survey
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.schema import Dimension, Measure, PublicColumn, Schema
from ldpsql_device.values import Listed, int_domain

EPSILON, RUNS = "2", 7
WALL, CPU = 0, 1
_HEAD = (
    "question",
    "answer +/-",
    "truth",
    "inside",
    "first (s)",
    "again (ms)",
    "new bounds (ms)",
    "raw table (ms)",
)
CLEAN = """
SELECT dep_hour::BIGINT AS hour, least(distance, 3199)::BIGINT AS distance, carrier,
       month::BIGINT AS month, least(greatest(arr_delay, -30), 180)::BIGINT AS arr_delay,
       flight_date AS day
FROM '{file}' WHERE arr_delay IS NOT NULL AND dep_hour IS NOT NULL AND distance IS NOT NULL
"""
CARRIERS = ("AA", "AS", "B6", "DL", "EV", "HA", "NK", "OO", "UA", "WN")
Literals = Callable[[np.random.Generator], Sequence[object]]


def _range(low: int, high: int, step: int = 1) -> Literals:
    """Both ends of a range of at least a tenth of the whole."""

    def drawn(random: np.random.Generator) -> Sequence[object]:
        first, last = sorted(random.choice((high - low) // step + 1, 2, replace=False).tolist())
        least = (high - low) // step // 10
        return low + step * first, low + step * max(last, min(first + least, (high - low) // step))

    return drawn


def _one(low: int, high: int, step: int = 1) -> Literals:
    return lambda random: (low + step * int(random.integers((high - low) // step + 1)),)


def _months(random: np.random.Generator) -> Sequence[object]:
    return tuple((random.choice(12, 3, replace=False) + 1).tolist())


def _carriers(number: int) -> Literals:
    return lambda random: tuple(random.choice(CARRIERS, number, replace=False).tolist())


def _date(random: np.random.Generator) -> Sequence[object]:
    return (date(2013, 1, 1) + timedelta(days=int(random.integers(1500))),)


@dataclass(frozen=True)
class Question:
    """SQL with places for literals, those of the table, and how others are drawn.

    unbounded: what the table asks where that has no literals at all.
    """

    text: str
    shown: tuple[object, ...]
    drawn: tuple[Literals, ...]
    unbounded: str = ""

    @property
    def sql(self) -> str:
        """As in the table."""
        return self.unbounded or self.text.format(*self.shown)

    def others(self, number: int) -> list[str]:
        """As many texts that differ from the table's and from each other."""
        random = np.random.default_rng(9)
        found: dict[str, None] = {}
        while len(found) < number:
            text = self.text.format(*(value for draw in self.drawn for value in draw(random)))
            if text != self.sql:
                found[text] = None
        return list(found)


def _unbounded(text: str) -> Question:
    """One that others bound by a distance; {} is where."""
    return Question(text.format(" WHERE distance < {}"), (), (MILE,), text.format(""))


HOURS, MILES, MILE = _range(0, 23), _range(0, 3150, 50), _one(50, 3150, 50)
MONTH, HOUR = _one(1, 12), _one(1, 23)
QUESTIONS = (
    Question("SELECT COUNT(*) FROM flights WHERE hour BETWEEN {} AND {}", (6, 9), (HOURS,)),
    _unbounded("SELECT AVG(arr_delay) FROM flights{}"),
    Question("SELECT AVG(arr_delay) FROM flights WHERE hour >= {}", (17,), (HOUR,)),
    Question("SELECT SUM(arr_delay) FROM flights WHERE hour BETWEEN {} AND {}", (12, 20), (HOURS,)),
    Question(
        "SELECT COUNT(*) FROM flights WHERE distance >= {} AND distance < {}",
        (500, 1000),
        (MILES,),
    ),
    Question(
        "SELECT COUNT(*), AVG(arr_delay) FROM flights WHERE hour < {} AND distance < {}",
        (12, 750),
        (HOUR, MILE),
    ),
    Question("SELECT COUNT(*) FROM flights WHERE month IN ({}, {}, {})", (6, 7, 8), (_months,)),
    Question(
        "SELECT AVG(arr_delay) FROM flights WHERE month IN ({}, {}, {}) AND hour >= {}",
        (6, 7, 8, 15),
        (_months, HOUR),
    ),
    Question(
        "SELECT COUNT(*) FROM flights WHERE carrier IN ('{}', '{}', '{}')",
        ("AA", "DL", "UA"),
        (_carriers(3),),
    ),
    Question("SELECT AVG(arr_delay) FROM flights WHERE carrier = '{}'", ("WN",), (_carriers(1),)),
    Question(
        "SELECT COUNT(*) FROM flights WHERE hour < {} OR hour >= {}",
        (8, 20),
        (_range(1, 23),),
    ),
    Question(
        "SELECT COUNT(*) FROM flights WHERE hour < {} OR distance >= {}",
        (8, 2000),
        (HOUR, MILE),
    ),
    Question(
        "SELECT COUNT(*) FROM flights WHERE NOT carrier = '{}' AND month <= {}",
        ("AS", 3),
        (_carriers(1), MONTH),
    ),
    _unbounded("SELECT carrier, COUNT(*) FROM flights{} GROUP BY carrier"),
    Question(
        "SELECT carrier, AVG(arr_delay) FROM flights WHERE hour BETWEEN {} AND {} GROUP BY carrier",
        (14, 21),
        (HOURS,),
    ),
    _unbounded("SELECT month, COUNT(*), AVG(arr_delay) FROM flights{} GROUP BY month"),
    _unbounded(
        "SELECT carrier, COUNT(*) AS n FROM flights{} GROUP BY carrier "
        "HAVING n > 150000 ORDER BY n DESC"
    ),
    _unbounded("SELECT max(n) FROM (SELECT month, COUNT(*) AS n FROM flights{} GROUP BY month)"),
    Question(
        "SELECT COUNT(*), AVG(arr_delay) FROM flights WHERE day >= DATE '{}' AND hour < {}",
        ("2017-01-01", 12),
        (_date, HOUR),
    ),
    Question(
        "SELECT carrier, COUNT(*) FROM flights WHERE day < DATE '{}' AND hour >= {} "
        "GROUP BY carrier",
        ("2014-01-01", 12),
        (_date, HOUR),
    ),
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
                _HEAD,
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
    workload = Workload.everyday(RecordDomain.of(schema), {2: "equality"})
    made = Fourier().design(RecordDomain.of(schema), Epsilon.parse(EPSILON), {}, workload)
    return Survey("flights", schema, made)


def _rows(connection: Connection, exact: duckdb.DuckDBPyConnection) -> Iterator[tuple[object, ...]]:
    again, fresh = [], []
    for question in QUESTIONS:
        start = time.process_time()
        connection.execute(question.sql)
        first = time.process_time() - start
        again.append(_timed(connection, exact, [question.sql] * (RUNS + 1)))
        fresh.append(_timed(connection, exact, question.others(RUNS + 1)))
        shown = _compared(connection, exact, question.sql)
        spent = again[-1][CPU].ours, fresh[-1][CPU].ours, again[-1][CPU].other
        yield (question.sql, *shown, f"{first:.2f}", *(f"{1e3 * each:.1f}" for each in spent))
    for clock, name in ((CPU, "processor time"), (WALL, "clock")):
        medians = (
            f"{statistics.median(p[clock].ratio for p in pairs):.2f}" for pairs in (again, fresh)
        )
        yield (f"median ratio to the raw table, {name}", "", "", "", "", *medians, "1")


def _timed(
    connection: Connection, exact: duckdb.DuckDBPyConnection, texts: Sequence[str]
) -> list[Pair]:
    """Both sides answer the same texts, the first of them to warm up; by WALL and by CPU."""
    ours, theirs = iter(texts), iter(texts)
    return by_clocks(
        lambda: connection.execute(next(ours)),
        lambda: exact.execute(next(theirs)).fetchall(),
        (time.perf_counter, time.process_time),
        runs=len(texts) - 1,
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
    inside, answered, shown, true = 0, 0, "", ""
    for number, row in enumerate(zip(*(c.to_pylist() for c in result.table.columns), strict=True)):
        known = truth.get(tuple(row[i] for i in keys))
        for index, bars in result.intervals.items():
            if known is None or row[index] is None or np.isnan(bars.low[number]):
                continue
            answered += 1
            inside += bool(bars.low[number] <= known[index] <= bars.high[number])
            if not shown:
                half = (bars.high[number] - bars.low[number]) / 2
                shown, true = f"{row[index]:,.1f} +/- {half:,.1f}", f"{known[index]:,.1f}"
    return shown, true, f"{inside} of {answered}"
