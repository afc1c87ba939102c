"""Rules by which rows are persons', and one row of each."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from support.significance import chi_square, chi_square_bound
from support.surveys import ANYTHING, integer, measure, survey_toml

from ldpsql.designer import design
from ldpsql.randomize import person_rows
from ldpsql.randomize.files import randomize_file, read_people
from ldpsql.randomize.person_rows import RowsRead, candidate_rows, draw_rows, one_row_each
from ldpsql.reports.persons import ORDER, PERSON, PersonRule, find_identifier
from ldpsql_device.errors import RecordError, SurveyError
from ldpsql_device.law import law
from ldpsql_lab.simulation import SeededEntropy

SURVEY = design(
    survey_toml(integer("age", 0, 9), measure("spent", 0, 100), epsilon="20", mechanism="grr")
)
SCHEMA = SURVEY.schema


def table(persons, **columns):
    return pa.table({PERSON: persons, **columns})


def reduced(parts, rule, *, seed=1, most=1 << 20, counted=None):
    """The rows that are left, in one table."""
    found = one_row_each(lambda: parts, rule, SeededEntropy(seed), counted, most)
    return pa.concat_tables(found, promote_options="permissive")


def test_one_row_of_each_person_and_nothing_of_the_rule():
    rows = table(["a", "b", "a", None, None], age=[1, 2, 3, 4, 5])
    counted = RowsRead()
    found = reduced([rows], PersonRule("id"), counted=counted)
    assert found.column_names == ["age"]
    ages = set(found.column("age").to_pylist())
    assert len(ages) == found.num_rows == 3
    assert (ages & {1, 3}, ages & {2}, ages & {4, 5}) != (set(), set(), set())
    assert all(len(ages & own) == 1 for own in ({1, 3}, {2}, {4, 5}))
    assert (counted.rows, counted.nameless) == (5, 2)


def is_even(draw):
    """Whether each of a person's four rows is drawn as often, in three kinds of places."""
    persons, people = np.repeat(np.arange(20_000), 4), 20_000
    rows = table(persons, age=np.tile(np.arange(4), people))
    ages = draw(rows).column("age").to_numpy()
    statistic, degrees = chi_square(np.bincount(ages, minlength=4), np.full(4, people / 4))
    return statistic <= chi_square_bound(degrees)


def test_rows_are_drawn_evenly():
    assert is_even(lambda rows: reduced([rows], PersonRule("id")))
    # A person's rows in several tables, which are reduced as they come.
    assert is_even(
        lambda rows: reduced(
            [rows.slice(start, 7_001) for start in range(0, rows.num_rows, 7_001)],
            PersonRule("id"),
            most=3_000,
        )
    )


def test_rows_that_are_not_drawn_evenly_are_noticed():
    def first(rows):
        numbers = np.unique(rows.column(PERSON).to_numpy(), return_index=True)[1]
        return rows.take(pa.array(numbers))

    def lean(rows):
        """The draw, with keys that a row's place moves a little."""
        persons = rows.column(PERSON).to_numpy()
        words = SeededEntropy(1).words(rows.num_rows)
        return rows.take(
            pa.array(draw_rows(persons, words >> (rows.column("age").to_numpy() == 0)))
        )

    assert not is_even(first)
    assert not is_even(lean)


def test_the_last_row_answers_and_one_of_several_last_ones():
    rule = PersonRule("id", "at")
    rows = table(["a", "a", "b", "b", "b", "c"], age=[1, 2, 3, 4, 5, 6])
    order = pa.array([3.0, 1.0, 2.0, 7.0, 7.0, None])
    rows = rows.append_column(ORDER, order)
    found = [set(reduced([rows], rule, seed=s).column("age").to_pylist()) for s in range(40)]
    assert {frozenset(ages) for ages in found} == {frozenset({1, 4, 6}), frozenset({1, 5, 6})}
    parts = [rows.slice(start, 1) for start in range(6)]
    assert reduced(parts, rule, most=1).num_rows == 3
    for values in (["b", "a", None], [math.nan, 3.0, math.nan]):
        rows = table(["a", "b", "b"], age=[1, 2, 3], **{ORDER: values})
        assert set(reduced([rows], rule).column("age").to_pylist()) == {1, 2}


def test_sums_and_maxima_are_of_all_rows_whatever_row_is_drawn():
    rule = PersonRule("id", sums=("spent",), maxima=("top",))
    rows = table(
        ["a", "a", "b", "b", "c", "d"],
        age=[1, 2, 3, 4, 5, 6],
        spent=[1.5, 2.5, None, 4.0, None, -1.0],
        top=[1, 3, 7, None, None, 2],
    )
    expected = {(1, 4.0, 3.0), (2, 4.0, 3.0), (3, 4.0, 7.0), (4, 4.0, 7.0)}
    for most, pieces in product((1, 2, 100), (1, 2, 6)):
        parts = [rows.slice(start, pieces) for start in range(0, 6, pieces)]
        found = reduced(parts, rule, most=most)
        values = set(zip(*(column.to_pylist() for column in found.columns), strict=True))
        assert len(values) == 4
        assert (
            {(5, None, None), (6, -1.0, 2.0)}
            <= values
            <= expected
            | {
                (5, None, None),
                (6, -1.0, 2.0),
            }
        )


def test_memory_is_bounded_by_reading_again():
    people, most, times = 5_000, 300, 0
    names = np.random.default_rng(1).permutation(np.repeat(np.arange(people), 3))
    rows = table(names, spent=np.ones(3 * people), age=names % 10)
    largest = 0

    def read():
        nonlocal times
        times += 1
        for start in range(0, rows.num_rows, 500):
            yield rows.slice(start, 500)

    counted = RowsRead()
    parts = []
    rule = PersonRule("id", sums=("spent",))
    for part in one_row_each(read, rule, SeededEntropy(3), counted, most):
        largest = max(largest, part.num_rows)
        parts.append(part)
    found = pa.concat_tables(parts)
    assert found.num_rows == people
    assert set(found.column("spent").to_pylist()) == {3.0}
    assert np.bincount(found.column("age").to_numpy()).tolist() == [people // 10] * 10
    assert people / most <= times == len(parts) <= 4 * people / most
    assert largest <= 2 * most
    assert (counted.rows, counted.nameless) == (3 * people, 0)


@pytest.mark.parametrize(
    "persons",
    [
        pa.array([7, 7, 8, None], pa.int64()),
        pa.array(["x", "x", "y", None]).dictionary_encode(),
        pa.array([b"\xff", b"\xff", b"\xfe", None], pa.binary()),
        pa.array([b"\xff" * 16, b"\xff" * 16, b"\xfe" * 16, None], pa.binary(16)),
        pa.array([True, True, False, None]),
        pa.chunked_array([["x"], ["x", "y"], [None]]),
        pa.array([1.5, 1.5, 2.5, math.nan]),
    ],
    ids=lambda array: str(array.type),
)
def test_persons_are_told_apart_by_values_of_any_type(persons):
    assert reduced([table(persons, age=[1, 2, 3, 4])], PersonRule("id")).num_rows == 3


def test_what_tells_nobody_apart_is_refused():
    with pytest.raises(RecordError, match="holds neither numbers nor texts"):
        reduced([table([[1], [2]], age=[1, 2])], PersonRule("id"))
    with pytest.raises(RecordError, match="holds nothing that has an order"):
        reduced([table([1, 2], age=[1, 2], **{ORDER: [[1], [2]]})], PersonRule("id", "at"))


def test_no_report_is_likelier_of_one_persons_rows_than_the_promise_says():
    """Of every pair of sets of up to three rows, exactly; of the union of two reports it is not."""
    survey = design(survey_toml(integer("age", 0, 3), epsilon="1", mechanism="grr"))
    laws = [law(survey.plan, (code,)) for code in range(4)]
    odds = Fraction(max(max(a[r] / b[r] for r in a) for a in laws for b in laws))
    assert float(odds) <= math.exp(1)

    def of(rows):
        return {r: sum(laws[code][r] for code in rows) / len(rows) for r in laws[0]}

    sets = [rows for size in (1, 2, 3) for rows in product(range(4), repeat=size)]
    mixed = [of(rows) for rows in sets]
    assert all(a[r] <= odds * b[r] for a in mixed for b in mixed for r in a)
    twice = [{(r, s): a[r] * a[s] for r in a for s in a} for a in laws]
    assert not all(a[r] <= odds * b[r] for a in twice for b in twice for r in a)


# -- files ----------------------------------------------------------------------------------------


@pytest.fixture(params=["parquet", "csv"])
def source(request, tmp_path):
    rows = pa.table(
        {
            "Customer": ["x", "y", "x", "y", "x", None],
            "age": [1, 2, 3, 4, 5, 6],
            "spent": [10, 20, 30, 400, 50, 60],
            "at": [9, 1, 10, 2, 3, 0],
        }
    )
    path = tmp_path / f"people.{request.param}"
    (pq.write_table if request.param == "parquet" else pacsv.write_csv)(rows, path)
    return path


def test_a_file_gives_one_report_per_person(source, tmp_path):
    rule = PersonRule("customer", "at", sums=("spent",))
    tally = randomize_file(SURVEY, source, tmp_path / "r.parquet", policy=ANYTHING, person=rule)
    assert (tally.people, tally.rows, tally.nameless) == (3, 6, 1)
    assert tally.misfits == {("clamped", "spent"): 1}  # 420, beyond 100
    assert pq.read_metadata(tmp_path / "r.parquet").num_rows == 3
    names = pq.read_schema(tmp_path / "r.parquet").names
    assert not {"customer", "at", "Customer"} & set(names)


def test_numbers_of_a_csv_file_are_ordered_as_numbers(source):
    """9 comes before 10."""
    rule = PersonRule("customer", "at")
    rows = read_people(SCHEMA, source, rule)
    kept, _ = candidate_rows(rows.combine_chunks(), rule)
    assert kept.column("age").to_pylist() == [3, 4, 6]
    by_age = PersonRule("customer", "age")  # declared, so read once and used twice
    kept, _ = candidate_rows(read_people(SCHEMA, source, by_age).combine_chunks(), by_age)
    assert kept.column("age").to_pylist() == [4, 5, 6]


def test_large_files_take_several_passes(source, tmp_path, monkeypatch):
    monkeypatch.setattr(person_rows.one_row_each, "__defaults__", (None, 1))
    tally = randomize_file(
        SURVEY, source, tmp_path / "r.parquet", policy=ANYTHING, person=PersonRule("customer")
    )
    assert (tally.people, tally.rows, tally.nameless) == (3, 6, 1)


def test_files_that_do_not_fit_a_rule_are_refused(source, tmp_path):
    target = tmp_path / "r.parquet"
    for rule in (PersonRule("nobody"), PersonRule("customer", "nothing")):
        with pytest.raises(
            RecordError, match=r"has no column 'no\w+', which the rule about persons names"
        ):
            randomize_file(SURVEY, source, target, policy=ANYTHING, person=rule)
    with pytest.raises(RecordError, match="has no place to keep"):
        randomize_file(
            SURVEY, source, target, policy=ANYTHING, person=PersonRule("customer"), keep_order=True
        )
    with pytest.raises(RecordError, match="are not dealt to rounds"):
        randomize_file(
            SURVEY,
            source,
            target,
            policy=ANYTHING,
            person=PersonRule("customer"),
            choose=lambda start, count: np.ones(count, dtype=bool),
        )
    assert not target.exists()


# -- rules ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (PersonRule("age"), "age is a column of the survey"),
        (PersonRule("Age"), "Age is a column of the survey"),
        (PersonRule("id", sums=("age",)), "'age' is no \\[measure.NAME\\]"),
        (PersonRule("id", maxima=("x",)), "'x' is no \\[measure.NAME\\]"),
        (PersonRule("id", sums=("spent",), maxima=("spent",)), "name a measure once"),
    ],
)
def test_rules_that_do_not_fit_a_survey_are_refused(rule, reason):
    with pytest.raises(SurveyError, match=reason):
        rule.require(SCHEMA)


def test_a_rule_is_json_and_back():
    for rule in (
        PersonRule("id"),
        PersonRule("id", "age", ("spent",)),
        PersonRule("i", None, (), ("a",)),
    ):
        assert PersonRule.from_keys(rule.to_keys()) == rule
    assert PersonRule("id").to_keys() == {"column": "id"}


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({}, "person must be the name of a column"),
        ({"column": ""}, "person must be the name of a column"),
        ({"column": "id", "last_by": 3}, "last_by must be the name of a column"),
        ({"column": "id", "sum": "spent"}, "sum must be a list of names"),
        ({"column": "id", "max": [1]}, "max must be a list of names"),
        ({"column": "id", "mean": []}, "unknown key 'mean'; it knows: last_by, sum, max"),
    ],
)
def test_keys_that_are_no_rule_are_refused(keys, reason):
    with pytest.raises(SurveyError, match=reason):
        PersonRule.from_keys(keys)


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["age", "customer_id"], "customer_id"),
        (["CustomerId"], "CustomerId"),
        (["E-Mail"], "E-Mail"),
        (["id"], "id"),
        (["user"], "user"),
        (["DOLocationID", "medallion"], "medallion"),
        (["PULocationID", "hack_license"], "hack_license"),
        (["paid", "valid", "video", "grid", "users_count", "age", "spent", "idle"], None),
    ],
)
def test_columns_that_look_like_identifiers(names, found):
    assert find_identifier(names, SCHEMA) == found


def test_a_declared_column_is_no_identifier():
    schema = design(survey_toml(integer("user_id", 0, 9), mechanism="grr", epsilon="1")).schema
    assert find_identifier(["User_ID", "age"], schema) is None
