"""True answers: DuckDB's own, as somebody who knows the survey would have asked for them."""

from __future__ import annotations

import math
from datetime import datetime
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.comparisons import TOML, asked, raw, survey_file
from support.significance import is_unbiased
from support.surveys import category, dimension, integer, measure, survey_toml

from ldpsql.designer import design
from ldpsql.designer.file import read_file
from ldpsql.designer.questions import UndesignedSurvey
from ldpsql.randomize.table import encode_table
from ldpsql.reports.persons import ORDER, PERSON, PersonRule
from ldpsql_device.errors import InternalError, NotSupportedError
from ldpsql_device.schema import OTHER
from ldpsql_lab.bench.questions import KINDS, Wanted, question
from ldpsql_lab.bench.truth import People, Truth
from ldpsql_lab.simulation import SeededEntropy, simulate

SUM_PAY = "COALESCE(SUM(greatest(-5, least(50, pay))), 0)"
PAIRS = [
    ("COUNT(*)", "age < 5 OR NOT state = 'NY'", "COUNT(*)"),
    (
        "SUM(pay), AVG(pay)",
        "age BETWEEN 3 AND 7",
        f"{SUM_PAY}, AVG(greatest(-5, least(50, pay)))",
    ),
    # The measure is clamped to [3, 9], the dimension of the same name is not.
    ("SUM(age)", "age >= 10", "SUM(least(9, age))"),
    ("COUNT(state), COUNT(version)", "score < 8", "COUNT(state), COUNT(version)"),
    ("SUM(pay) / COUNT(*) + 1", "state IN ('CA', 'O''K')", f"{SUM_PAY} / COUNT(*) + 1"),
    ("SUM(version)", "state IS NULL AND version IS NOT NULL", "COALESCE(SUM(version), 0)"),
    ("COUNT(*)", "joined >= '2026-01-12'", "COUNT(*)"),
    ("COUNT(*)", "weight < 1.5", "COUNT(*)"),
    ("COUNT(*)", "age > 99", "COUNT(*)"),
    ("COUNT(*)", "version = 1 OR age = 4", "COUNT(*)"),
]
GROUPED = [
    ("state", "state"),
    ("score", "(score // 4) * 4"),
    ("bin(age, 4)", "(age // 4) * 4"),
    ("version", "version"),
    ("joined", "CAST(date_trunc('week', joined) AS DATE)"),
    ("weight", "CASE WHEN weight < 1.5 THEN 0.0 ELSE 1.5 END"),
]


@pytest.fixture(scope="module")
def truth():
    file = survey_file()
    return Truth(file.schema, People(raw()).table)


def theirs(sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as database:
        database.register("app", raw())
        return database.execute(sql).fetchall()


@pytest.mark.parametrize(("ours", "where", "exact"), PAIRS)
def test_where(truth: Truth, ours: str, where: str, exact: str) -> None:
    """A row of aggregates."""
    found = truth.answer(asked(f"SELECT {ours} FROM app WHERE {where}")).of(())
    (row,) = theirs(f"SELECT {exact} FROM app WHERE {where}")
    assert found == pytest.approx([float(value) for value in row])


@pytest.mark.parametrize(("ours", "exact"), GROUPED)
def test_groups(truth: Truth, ours: str, exact: str) -> None:
    """Rows by their keys, bins by their lower edges."""
    found = truth.answer(asked(f"SELECT {ours}, COUNT(*), SUM(pay) FROM app GROUP BY {ours}"))
    rows = theirs(f"SELECT {exact}, COUNT(*), {SUM_PAY} FROM app GROUP BY ALL")
    assert {key: tuple(row) for (key,), row in found.rows.items()} == {
        key: (float(count), float(total)) for key, count, total in rows
    }


def test_nobody(truth: Truth) -> None:
    """A key that nobody has: COUNT and SUM are 0, AVG is NULL."""
    found = truth.answer(asked("SELECT age, COUNT(*), SUM(pay), AVG(pay) FROM app GROUP BY age"))
    count, total, average = found.of((99,))
    assert (count, total) == (0.0, 0.0)
    assert math.isnan(average)


def test_scales(truth: Truth) -> None:
    """People, and the sum of what everybody has, signs aside; nothing for an AVG."""
    found = truth.scales(asked("SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age < 5"))
    ((total,),) = theirs("SELECT SUM(ABS(greatest(-5, least(50, pay)))) FROM app")
    assert found[:2] == pytest.approx([400.0, float(total)])
    assert np.isnan(found[2])


def test_every_made_up_question_has_a_truth(truth: Truth) -> None:
    """Of every kind, over every kind of dimension; rows of a GROUP BY add up to everybody."""
    file = survey_file(TOML)
    wanted = Wanted(KINDS, (1, 2), 0.3, 6)
    for made in wanted.questions(file):
        rows = truth.answer(made).rows
        assert rows
        if made.query.keys:
            assert sum(row[0] for row in rows.values()) == 400.0


SHARES = survey_toml(
    dimension("share", "float", domain=[0.0, 1.0], bins=10, missing="code"),
    epsilon="20",
    mechanism="grr",
)


@pytest.mark.parametrize("width", ["0.1", "0.2", "0.5"])
def test_bins_of_floats_are_those_of_the_answers(width: str) -> None:
    """0.6 starts a bin of tenths, and 1 is in the last one; at epsilon 20 hardly anybody lies.

    Sixty people per value: a single one in another bin would be noticed.
    """
    values = [*(number / 10 for number in range(11)), 0.1 * 3, None]
    table = pa.table({"share": pa.array(values * 60)})
    question = asked(f"SELECT bin(share, {width}), COUNT(*) FROM app GROUP BY 1", SHARES)
    exact = Truth(survey_file(SHARES).schema, table).answer(question).rows
    with simulate(design(SHARES), table) as connection:
        found = dict(connection.execute(question.sql))
    assert {key: row[0] for (key,), row in exact.items()} == pytest.approx(found, abs=0.01)


def test_an_answer_without_some_of_the_people_is_a_bug(truth: Truth) -> None:
    """It is not taken for one about nobody; one without rows is none about anybody."""
    found = truth.answer(asked("SELECT age, COUNT(*) FROM app GROUP BY age"))
    assert len(found.in_order([list(range(1, 13))])) == 12
    with pytest.raises(InternalError, match="no row for some"):
        found.in_order([list(range(1, 12))])
    empty = truth.answer(asked("SELECT version, COUNT(*) FROM app WHERE version = 7 GROUP BY 1"))
    assert empty.in_order([[]]) == []


def test_digits_that_a_type_has_no_room_for_are_dropped(tmp_path: Path) -> None:
    """As the device does: nanoseconds, and whole numbers beyond those of a double."""
    text = COUNTS_OF_MOMENTS
    moments = pa.array([1_767_225_600_000_000_123], pa.timestamp("ns"))
    table = pa.table({"at": moments, "pay": pa.array([2**53 + 1])})
    pq.write_table(table, tmp_path / "people.parquet")
    people = People.read(survey_file(text).schema, tmp_path / "people.parquet")
    assert people.table.column("at").to_pylist() == [datetime(2026, 1, 1)]


COUNTS_OF_MOMENTS = survey_toml(
    dimension("at", "timestamp", range=["2026-01-01", "2026-01-03"], unit="hour"),
    measure("pay", 0, 5),
)


@pytest.mark.parametrize(
    ("more", "given"),
    [
        ({"required": False}, "pay"),
        ({}, "COALESCE(pay, 0)"),
        ({"missing_as": 20}, "COALESCE(pay, 20)"),
    ],
)
def test_missing_numbers_are_left_out_unless_everybody_has_one(more, given: str) -> None:
    """Against DuckDB over the table as it is."""
    random = np.random.default_rng(6)
    paid = random.uniform(-20, 80, 500).round(2)
    table = pa.table(
        {"sex": random.integers(0, 2, 500), "pay": pa.array(paid, mask=random.random(500) < 0.3)}
    )
    toml = survey_toml(integer("sex", 0, 1), measure("pay", -5, 50, **more))
    people = People.of(read_file(toml).schema, table)
    pay = f"greatest(-5, least(50, {given}))"
    pay = f"CASE WHEN {given} IS NOT NULL THEN {pay} END"
    with duckdb.connect() as database:
        database.register("app", table)
        for aggregate in ("AVG", "SUM", "COUNT"):
            for condition in ("", " WHERE sex = 1", " WHERE sex < 1"):
                sql = f"SELECT {aggregate}({{}}) FROM app{condition}"
                (wanted,) = database.execute(sql.format(pay)).fetchone()
                assert expected(people, toml, sql.format("pay")) == pytest.approx(wanted, rel=1e-12)


# -- persons who have several rows ----------------------------------------------------------------

VISITS = survey_toml(integer("age", 0, 9), epsilon="8", mechanism="grr")
SPENDING = VISITS.replace('"grr"', '"hgrr"') + measure("spent", 0, 10)


def visits(people: int) -> pa.Table:
    """Who comes often is old, and spends little each time: rows and persons differ."""
    random = np.random.default_rng(5)
    often = random.integers(1, 7, people)
    persons = np.repeat(np.arange(people), often)
    ages = np.minimum(9, often[persons] + random.integers(0, 4, persons.size))
    spent = 12.0 / often[persons]
    shuffled = random.permutation(persons.size)
    columns = {PERSON: persons, "age": ages, "spent": spent, ORDER: np.arange(persons.size)}
    return pa.table(columns).take(pa.array(shuffled))


def expected(people: People, toml: str, sql: str) -> float:
    file = read_file(toml)
    (value,) = (
        Truth(file.schema, people.table, people.weights)
        .answer(question(sql, UndesignedSurvey("app", file.schema), "test"))
        .of(())
    )
    return float(value)


@pytest.mark.parametrize(
    ("sql", "of_rows"),
    [
        ("SELECT COUNT(*) FROM app WHERE age < 5", lambda t: np.sum(t["age"] < 5)),
        ("SELECT SUM(spent) FROM app WHERE age < 5", lambda t: np.sum(t["spent"] * (t["age"] < 5))),
        ("SELECT COUNT(*) FILTER (WHERE age = 4) FROM app", lambda t: np.sum(t["age"] == 4)),
        ("SELECT COUNT(*) FROM app", lambda t: len(t["age"])),
    ],
)
def test_the_truth_is_the_expectation_over_the_rows_that_are_drawn(sql, of_rows):
    rule = PersonRule("id")
    people = People.of(read_file(SPENDING).schema, visits(400), person=rule)
    assert len(people) == 400
    draws = []
    for seed in range(300):
        drawn = people.draw(read_file(SPENDING).schema, SeededEntropy(seed))
        assert drawn.num_rows == 400
        draws.append(float(of_rows({n: drawn.column(n).to_numpy() for n in ("age", "spent")})))
    truth = expected(people, SPENDING, sql)
    if np.std(draws):
        assert is_unbiased(np.array(draws), truth)
        by_rows = People.of(read_file(SPENDING).schema, visits(400).drop_columns([PERSON, ORDER]))
        assert not is_unbiased(np.array(draws), expected(by_rows, SPENDING, sql))
    else:
        assert draws[0] == truth


def test_an_average_is_the_quotient_of_two_expectations():
    people = People.of(read_file(SPENDING).schema, visits(400), person=PersonRule("id"))
    total, count, average = (
        expected(people, SPENDING, f"SELECT {what} FROM app WHERE age < 5")
        for what in ("SUM(spent)", "COUNT(*)", "AVG(spent)")
    )
    assert average == pytest.approx(total / count)


def test_a_reduced_measure_is_reduced_before_its_bounds():
    rows = pa.table({PERSON: [1, 1, 2], "age": [1, 2, 3], "spent": [8.0, 9.0, 1.0]})
    rule = PersonRule("id", sums=("spent",))
    people = People.of(read_file(SPENDING).schema, rows, person=rule)
    assert people.table.column("spent").to_pylist() == [10.0, 10.0, 1.0]
    assert expected(people, SPENDING, "SELECT SUM(spent) FROM app") == 11.0


def test_the_last_row_is_all_that_counts():
    rows = visits(300)
    people = People.of(read_file(SPENDING).schema, rows, person=PersonRule("id", "at"))
    assert people.table.num_rows == len(people) == 300
    assert set(people.weights) == {1.0}
    last = rows.to_pandas().sort_values(ORDER).groupby(PERSON).last()
    found = expected(people, SPENDING, "SELECT COUNT(*) FROM app WHERE age < 5")
    assert found == (last["age"] < 5).sum()
    # Every person has one row, so whatever is no sum is compared as well.
    assert expected(people, SPENDING, "SELECT VAR_POP(age) FROM app") == pytest.approx(
        last["age"].var(ddof=0)
    )


def test_what_has_no_expectation_is_refused():
    people = People.of(read_file(SPENDING).schema, visits(50), person=PersonRule("id"))
    with pytest.raises(NotSupportedError, match="VAR_POP of persons who have several rows"):
        expected(people, SPENDING, "SELECT VAR_POP(age) FROM app")


@pytest.mark.parametrize("users", [40, 400])
def test_persons_are_sampled_with_all_their_rows(users):
    everybody = People.of(read_file(SPENDING).schema, visits(100), person=PersonRule("id"))
    drawn = everybody.sample(users, 1)
    assert len(drawn) == users
    assert drawn.weights.sum() == pytest.approx(users)
    assert drawn.table.num_rows > users
    assert drawn.fingerprint != everybody.fingerprint != everybody.sample(99, 1).fingerprint
    sizes = np.bincount(drawn.persons)
    spent = drawn.table.column("spent").to_numpy()
    assert spent == pytest.approx(np.minimum(10, 12 / sizes[drawn.persons]))  # whole persons


@pytest.mark.slow
def test_estimates_are_unbiased_about_it():
    """Of the persons, and not of the rows."""
    survey = design(VISITS)
    people = People.of(survey.schema, visits(400), person=PersonRule("id"))
    sql = "SELECT COUNT(*) FROM app WHERE age < 5"
    values = []
    for seed in range(24):
        with simulate(
            survey, people.draw(survey.schema, SeededEntropy(1000 + seed)), seed=seed
        ) as connection:
            values.append(connection.execute(sql).fetchone()[0])
    assert is_unbiased(np.array(values), expected(people, VISITS, sql))
    by_rows = People.of(survey.schema, visits(400).drop_columns([PERSON, ORDER]))
    share = expected(by_rows, VISITS, sql) / len(by_rows)
    assert not is_unbiased(np.array(values), 400 * share)


def test_whole_numbers_beside_other_are_numbers_again_where_people_answer():
    """The truth has texts in their place, as SQL sees them, and no device takes those."""
    text = category("kind", 1, 2, 5, outside="other", missing="code")
    schema = design(survey_toml(text, epsilon="4", mechanism="grr")).schema
    given = pa.table({"kind": pa.array([1, 2, 5, 3, 9, None, 5], pa.int64())})
    people = People.of(schema, given)
    assert people.table["kind"].to_pylist() == ["1", "2", "5", OTHER, OTHER, None, "5"]
    drawn = people.draw(schema, SeededEntropy(1))
    assert drawn["kind"].to_pylist() == [1, 2, 5, 0, 0, None, 5]
    codes = [encode_table(schema, each, lambda *_: 0).codes.tolist() for each in (given, drawn)]
    assert codes[0] == codes[1] == [[0], [1], [2], [3], [3], [4], [2]]
