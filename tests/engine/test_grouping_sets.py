"""Grouping sets that differ in public columns: each is answered as its own GROUP BY would be."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from support.surveys import boolean, category, measure, public, survey_toml

from ldpsql.dbapi.connection import Connection
from ldpsql.designer import design
from ldpsql_lab.simulation import simulate

PEOPLE = 4_000
CITIES, VERSIONS = ("Bern", "Basel", "Chur"), ("1.0", "2.0", "3.0")
ASKED = "COUNT(*) AS n, AVG(pay) AS mean, COUNT_IF(member) / COUNT(*) AS share"


@pytest.fixture(scope="module", params=["fourier", "ahio"])
def connection(request: pytest.FixtureRequest) -> Iterator[Connection]:
    survey = design(
        survey_toml(
            category("city", *CITIES, missing="code"),
            boolean("member"),
            measure("pay", 0, 1000),
            public("version", "text"),
            public("shop", "int"),
            epsilon="3",
            mechanism=request.param,
        )
    )
    random = np.random.default_rng(7)
    people = {
        "city": random.choice(CITIES, PEOPLE),
        "member": random.random(PEOPLE) < 0.5,
        "pay": random.uniform(0, 1000, PEOPLE),
        "version": pa.array(random.choice(VERSIONS, PEOPLE), mask=random.random(PEOPLE) < 0.1),
        "shop": random.integers(0, 2, PEOPLE),
    }
    with simulate(survey, pa.table(people), seed=2) as opened:
        yield opened


def bars(connection: Connection, sql: str) -> dict[str, list[list[float]]]:
    """By keys the numbers of every row, values and ends of intervals: a missing key may be that of
    a total, and a set may be asked twice."""
    found: dict[str, list[list[float]]] = {}
    for row in connection.sql(sql).arrow(intervals=True).to_pylist():
        keys = repr([row.pop(key) for key in KEYS if key in row])
        numbers = [np.nan if value is None else float(value) for value in row.values()]
        found.setdefault(keys, []).append(numbers)
    return found


def plain_notes(connection: Connection, sql: str) -> list[str]:
    """Without those that count rows, which are counted of all sets together."""
    notes = connection.sql(sql).notes
    return [note for note in notes if not re.search(r" of \d+ rows| NULL: ", note)]


KEYS = ("city", "version", "shop")
CLAUSES: dict[str, list[tuple[str, ...]]] = {
    "ROLLUP (version, city)": [("version", "city"), ("version",), ()],
    "CUBE (city, version)": [("city", "version"), ("city",), ("version",), ()],
    "GROUPING SETS ((shop), (version), (city), (version))": [
        *(("shop",), ("version",), ("city",), ("version",)),
    ],
    "ROLLUP (shop), CUBE (version)": [
        *(("shop", "version"), ("shop",), ("version",), ()),
    ],
}


def separate(keys: Sequence[str], own: Sequence[str]) -> str:
    """The question of one grouping set by itself."""
    named = "".join(f"{key if key in own else f'NULL AS {key}'}, " for key in keys)
    grouped = f" GROUP BY {', '.join(own)}" if own else ""
    inner = f"SELECT {''.join(f'{key}, ' for key in own)}{ASKED} FROM app"
    return f"SELECT {named}n, mean, share FROM ({inner}{grouped})"


@pytest.mark.parametrize("clause", CLAUSES)
def test_every_set_is_answered_as_its_own_group_by(connection: Connection, clause: str) -> None:
    """Values, intervals and notes; HAVING shows the rows that satisfy it."""
    sets, expected = CLAUSES[clause], dict[str, list[list[float]]]()
    keys = [key for key in KEYS if any(key in own for own in sets)]
    for own in sets:
        for row, numbers in bars(connection, separate(keys, own)).items():
            expected.setdefault(row, []).extend(numbers)
    one = f"SELECT {', '.join(keys)}, {ASKED} FROM app GROUP BY {clause}"
    found = bars(connection, one)
    assert found.keys() == expected.keys()
    for row, numbers in found.items():
        assert np.array(numbers) == pytest.approx(np.array(expected[row]), rel=1e-9, nan_ok=True)
    notes = {note for own in sets for note in plain_notes(connection, separate(keys, own))}
    assert sorted(notes) == sorted(plain_notes(connection, one))
    kept = bars(connection, f"{one} HAVING COUNT(*) > 1200")
    many = {row: sum(people > 1200 for people, *_ in own) for row, own in expected.items()}
    assert {row: len(own) for row, own in kept.items()} == {r: n for r, n in many.items() if n}


def test_grouping_tells_totals_from_missing_values(connection: Connection) -> None:
    sql = "SELECT version, GROUPING(version) AS g, COUNT(*) FROM app GROUP BY ROLLUP (version)"
    rows = connection.execute(sql).fetchall()
    assert [row[:2] for row in rows] == [*((v, 0) for v in (*VERSIONS, None)), (None, 1)]
    people = np.array([row[2] for row in rows], dtype=float)
    assert people[:-1].sum() == people[-1] == PEOPLE
    assert people[-2] < PEOPLE / 5


def test_what_no_report_holds_has_no_rows_but_that_of_everybody(connection: Connection) -> None:
    sql = "SELECT version, shop, COUNT(*) FROM app WHERE version = '4.0' GROUP BY ROLLUP (1, 2)"
    assert connection.execute(sql).fetchall() == [(None, None, 0)]
    notes = connection.sql(sql).notes
    assert sum("no report holds version '4.0'" in note for note in notes) == 1


def test_across_sets_of_public_columns_no_error_is_claimed(connection: Connection) -> None:
    """People of a set are some of those of another: no report tells how their errors go together.
    Sets with the same public columns are answered jointly, as two columns of one row are."""
    asked = "COUNT_IF(member) - SUM(COUNT_IF(member)) OVER ({}) AS d FROM app GROUP BY {}"
    answer = connection.sql("SELECT version, " + asked.format("", "ROLLUP (version)"))
    assert any("told apart by public columns" in note for note in answer.notes)
    ends = answer.arrow(intervals=True)["d_low"].to_pylist()  # that of everybody is 0 by itself
    assert [end is None for end in ends] == [True] * (len(ends) - 1) + [False]
    inside = asked.format("PARTITION BY version", "GROUPING SETS ((version, city), (version), ())")
    answer = connection.sql("SELECT version, city, GROUPING(version, city) AS g, " + inside)
    found = {(r["version"], r["city"], r["g"]): r for r in answer.arrow(intervals=True).to_pylist()}
    parts = [f"COUNT_IF(member AND city = '{city}')" for city in CITIES]
    all_of = " + ".join([*parts, "COUNT_IF(member AND city IS NULL)", "COUNT_IF(member)"])
    for version, city in product(VERSIONS, CITIES):
        own = f"SELECT COUNT_IF(member AND city = '{city}') - ({all_of}) AS d FROM app "
        (row,) = (
            connection.sql(f"{own}WHERE version = '{version}'").arrow(intervals=True).to_pylist()
        )
        mine = {name: found[version, city, 0][name] for name in row}
        assert mine == pytest.approx(row, rel=1e-6)


def test_the_best_rows_of_all_sets_hold_together(connection: Connection) -> None:
    """Four rows and a total are five candidates, of which four are shown."""
    sql = "SELECT version, AVG(pay) AS m FROM app GROUP BY ROLLUP (version) ORDER BY m DESC LIMIT 4"
    assert any("among 5" in note for note in connection.sql(sql).notes)
