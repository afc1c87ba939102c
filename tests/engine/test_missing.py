"""Measures that may be missing: AVG, SUM and COUNT(column) leave NULL out, and intervals cover."""

from __future__ import annotations

from dataclasses import replace

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from support.significance import coverage_fits, is_unbiased, normal_bound

from benchmarks.missing import (
    ASKED,
    MECHANISMS,
    MISSING,
    OF_ONE,
    OTHERS,
    Answers,
    ask,
    people,
    survey,
)
from ldpsql.designer import design
from ldpsql.errors import UnsupportedSQL
from ldpsql.server.wire import to_json
from ldpsql.survey import Survey
from ldpsql_device.errors import SurveyError
from ldpsql_lab.simulation import simulate

RUNS, EACH = 300, 1_500


def is_honest(found: Answers) -> bool:
    """Whether estimates are unbiased, a ratio but for what its count's spread makes of it, and
    intervals hold the truth as often as they say."""
    assert len(found.errors) == len(found.values)
    return is_unbiased(found.errors, 0.0) and coverage_fits(
        int(found.inside.sum()), len(found.inside)
    )


@pytest.mark.parametrize("name", MECHANISMS + OTHERS)
@pytest.mark.parametrize(("share", "at_random"), MISSING)
@pytest.mark.slow
def test_missing_values_are_left_out_without_bias(name: str, share: float, at_random: bool) -> None:
    table = people(share, at_random=at_random, runs=RUNS, each=EACH)
    found = ask(survey("4", name, dimensions=int(name not in OF_ONE)), table)
    assert len(found) == (3 if name in OF_ONE else 6)
    assert all(map(is_honest, found.values()))


def test_an_average_that_counts_missing_values_in_is_caught() -> None:
    """The negative control: the middle of the bounds in place of NULL, as devices of old surveys
    have it, and everybody counted."""
    table = people(0.16, runs=RUNS, each=EACH)
    found = ask(survey("4", "fourier", required="required = true\nmissing_as = 50"), table)
    assert not any(map(is_honest, found.values()))


def test_a_required_measure_counts_a_missing_value_as_it_says() -> None:
    table = people(0.16, runs=RUNS, each=EACH)
    for stated, amount in (("", 0.0), ("missing_as = 20", 20.0)):
        filled = table.set_column(2, "income", table["income"].fill_null(amount))
        asked = survey("4", "fourier", required=f"required = true\n{stated}")
        found = ask(asked, table)
        truths = ask(asked, filled)
        assert all(
            is_honest(replace(own, truths=truths[text].truths))
            for text, own in found.items()
            if not text.startswith("COUNT")
        )
        assert found["COUNT(income)"].values.tolist() == [EACH] * RUNS
        with simulate(asked, table) as connection:
            notes = connection.execute("SELECT AVG(income) FROM people").result.notes
        assert any(f"A missing one counts as {amount:g} (required = true)" in n for n in notes)


ABOUT_INCOME = (
    "SELECT AVG(income) FROM people",
    "SELECT SUM(2 * income - age) / COUNT(*) FROM people",
    "SELECT COUNT(income) FROM people WHERE sex = 'f'",
    "SELECT SUM(income) FILTER (WHERE age > 3) FROM people",
    "SELECT COVAR_POP(income, age) FROM people",
    "SELECT AVG(CASE WHEN sex = 'f' THEN income END) FROM people",
    "SELECT sex FROM people GROUP BY sex HAVING AVG(income) > 0",
    "SELECT sex FROM people GROUP BY sex ORDER BY SUM(income)",
    "WITH f AS (SELECT income AS i FROM people WHERE sex = 'f') SELECT ROUND(AVG(i)) FROM f",
    "SELECT COUNT(*) FROM people UNION ALL SELECT SUM(income) FROM people WHERE age < 3",
    "SELECT sex, age, AVG(income) FROM people GROUP BY ROLLUP (sex, age)",
)
OUTSIDE = "values of income outside of [0, 100] count as the nearer bound"


@pytest.mark.parametrize(
    ("lines", "counted"),
    [
        ("", None),
        ("required = true", "A missing one counts as 0 (required = true)"),
        ("required = true\nmissing_as = 20", "A missing one counts as 20 (required = true)"),
    ],
)
def test_every_answer_says_what_missing_numbers_count_as(lines: str, counted: str | None) -> None:
    """In SQL, by the DB-API, on the page and in notebooks; an answer about others says nothing."""
    table = people(0.16, runs=1, each=3_000)
    with simulate(survey("4", "grr", required=lines), table) as connection:
        for sql in ABOUT_INCOME:
            cursor = connection.execute(sql)
            shown = (
                "\n".join(cursor.notes),
                str(cursor.answer),
                cursor.answer._repr_html_(),
                "\n".join(to_json(cursor.result, texts=True)["notes"]),
            )
            assert all(OUTSIDE in each for each in shown), sql
            assert all(("A missing one" in each) is bool(counted) for each in shown), sql
            assert counted is None or all(counted in each for each in shown), sql
        for sql in ("SELECT COUNT(*) FROM people", "SELECT sex, AVG(age) FROM people GROUP BY sex"):
            assert not any("income" in note for note in connection.execute(sql).notes)


@pytest.mark.parametrize("bounds", [(10, 100), (-100, -10)])
def test_where_nobody_can_have_0_the_author_says_what_missing_counts_as(
    bounds: tuple[int, int],
) -> None:
    text = '[survey]\ntable = "t"\nepsilon = "1"\nmechanism = "grr"\n[measure.pay]\n'
    text += f"bounds = {list(bounds)}\n"
    with pytest.raises(SurveyError, match="write missing_as, the number that it counts as"):
        design(f"{text}required = true\n")
    with pytest.raises(SurveyError, match="missing_as is a number within the bounds"):
        design(f"{text}required = true\nmissing_as = 0\n")
    made = design(f"{text}required = true\nmissing_as = {bounds[0]}\n")
    assert Survey.from_json(made.to_json()).schema == made.schema


@pytest.mark.parametrize("name", OF_ONE)
def test_a_mechanism_for_one_column_says_that_the_measure_is_one(name: str) -> None:
    with pytest.raises(SurveyError, match="one dimension, not 2 with income, which may be missing"):
        survey("1", name, dimensions=1)
    assert survey("1", name, dimensions=0).design.name == name


def test_smooth_answers_leave_missing_values_out() -> None:
    """Of the people who have a value as many as there are, and their income; not that of everybody,
    with the middle of the bounds in place of NULL."""
    table = people(0.4, at_random=False, runs=1, each=100_000)
    texts = [f"{text}{each}" for text in ASKED for each in ("", " FILTER (WHERE age <= 2)")]
    with duckdb.connect() as database:
        database.register("people", table)
        (truths,) = database.execute(f"SELECT {', '.join(texts)} FROM people").fetchall()
        filled = "(SELECT age, COALESCE(income, 50) AS income FROM people)"
        (wrong,) = database.execute(f"SELECT {', '.join(texts)} FROM {filled}").fetchall()
    with simulate(survey("4", "fourier"), table, seed=2, estimator="smooth") as connection:
        found = connection.execute(f"SELECT {', '.join(texts)} FROM people").result
    for place, (truth, other) in enumerate(zip(truths, wrong, strict=True)):
        bars, value = found.intervals[place], found.table.column(place)[0].as_py()
        reach = 2.5 * (bars.high[0] - bars.low[0]) / 2.0
        assert abs(value - truth) <= reach < abs(value - other)


TWO = """
[survey]
table = "people"
epsilon = "8"
mechanism = "{mechanism}"
[dimension.sex]
type = "category"
values = ["f", "m"]
[measure.income]
bounds = [0, 100]
[measure.rent]
bounds = [0, 40]
"""
OF_TWO = (
    "SUM(income - rent)",
    "AVG(COALESCE(income, rent))",
    "AVG(COALESCE(income, rent, 5))",
    "COUNT(*) FILTER (WHERE income IS NULL AND rent IS NULL)",
)


@pytest.mark.parametrize("mechanism", ["grr", "olh", "oue", "hrr", "staircase"])
def test_reports_of_all_combinations_tell_of_two_measures_at_once(mechanism: str) -> None:
    """As the hint of a survey by trees promises."""
    random, count = np.random.default_rng(3), 60_000
    rent = random.uniform(0, 40, count)
    income = rent + random.uniform(0, 60, count)
    names = random.integers(0, 2, count)
    table = pa.table(
        {
            "sex": pa.array(["f", "m"]).take(pa.array(names)),
            "income": pa.array(income, mask=random.random(count) < 0.3),
            "rent": pa.array(rent, mask=random.random(count) < 0.2),
        }
    )
    with duckdb.connect() as database:
        database.register("people", table)
        (truths,) = database.execute(f"SELECT {', '.join(OF_TWO)} FROM people").fetchall()
    with simulate(design(TWO.format(mechanism=mechanism)), table, seed=4) as connection:
        found = connection.execute(f"SELECT {', '.join(OF_TWO)} FROM people").result
    for place, truth in enumerate(truths):
        error = found.intervals[place].stderr[0]
        value = found.table.column(place)[0].as_py()
        assert abs(value - truth) <= normal_bound() * error
        assert error <= 0.4 * abs(truth)
    with simulate(design(TWO.format(mechanism="hgrr")), table, seed=4) as connection:
        for text in OF_TWO:
            with pytest.raises(UnsupportedSQL, match="design the survey with grr or staircase"):
                connection.execute(f"SELECT {text} FROM people")
