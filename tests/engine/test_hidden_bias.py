"""An answer with a bias that its error leaves out has none: in SQL, EXPLAIN and forecasts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from support.surveys import boolean, category, integer, measure, survey_toml

from ldpsql.cli.forecast import expectations
from ldpsql.designer import design, design_survey
from ldpsql.errors import UnsupportedSQL
from ldpsql_lab.simulation import simulate

COLUMNS = (integer("age", 0, 26), category("sex", "f", "m"), measure("hours", 0, 80))


def survey_by(mechanism: str) -> str:
    return survey_toml(*COLUMNS, epsilon="2", mechanism=mechanism, accept_no_guarantee=True)


def people(size: int = 3_000) -> pa.Table:
    """Ages that differ within fives, so that shares of a parent are not its leaves."""
    random = np.random.default_rng(7)
    return pa.table(
        {
            "age": random.choice(27, size, p=np.arange(1.0, 28.0) / 378.0),
            "sex": random.choice(["f", "m"], size, p=[0.3, 0.7]),
            "hours": random.uniform(0, 80, size),
        }
    )


@pytest.fixture(scope="module")
def lgrr():
    """A collector of reports by LGRR."""
    with simulate(design(survey_by("lgrr")), people(), seed=1) as connection:
        yield connection


def test_a_leaf_answered_from_its_parent_has_no_error(lgrr) -> None:
    """In whatever depends on it, and its parent, which was collected, has one."""
    asked = "COUNT(*) FILTER (WHERE age = 3)"
    result = lgrr.execute(
        f"SELECT COUNT(*), COUNT(*) FILTER (WHERE age < 9), {asked} AS leaf, 2 * {asked} + 1, "
        f"STDERR({asked}), CI_LOW({asked}), STDERR(COUNT(*) FILTER (WHERE age < 9)) FROM app"
    ).result
    assert set(result.intervals) == {0, 1}
    assert result.intervals[0].stderr[0] == 0.0
    assert result.intervals[1].stderr[0] > 0.0
    (row,) = zip(*(column.to_pylist() for column in result.table.columns), strict=True)
    assert row[4:6] == (None, None)
    assert row[2] is not None
    assert row[6] == pytest.approx(result.intervals[1].stderr[0])
    assert any(n.startswith("no error bar for leaf") and "bias" in n for n in result.notes)
    shown = result.distinct(intervals=True)
    assert "leaf" in shown.column_names
    assert "leaf_low" not in shown.column_names
    joint = result.estimates().covariance
    assert np.isnan(joint[2]).all()
    assert np.isfinite(joint[:2, :2]).all()


def test_rows_of_one_column_are_told_apart(lgrr) -> None:
    """GROUP BY age asks for leaves; a part of the rows of a union does."""
    sql = (
        "SELECT COUNT(*) AS n FROM app WHERE age {} UNION ALL SELECT COUNT(*) FROM app WHERE age {}"
    )
    result = lgrr.execute(sql.format("< 9", "= 3")).result
    assert np.isnan(result.intervals[0].stderr).tolist() == [False, True]
    assert not lgrr.execute("SELECT age, COUNT(*) FROM app GROUP BY age").result.intervals


def test_explain_tells_no_error(lgrr) -> None:
    """Neither a predicted one nor that of the reports."""
    biased = lgrr.execute("EXPLAIN SELECT COUNT(*) FROM app WHERE age = 3").result.explain
    assert "standard error" not in biased
    assert "no error: leaves are answered as even shares of their parents" in biased
    known = lgrr.execute("EXPLAIN SELECT COUNT(*) FROM app WHERE age < 9").result.explain
    assert known.count("standard error") == 2


def test_a_dimension_without_levels_is_refused(lgrr) -> None:
    """Of two values nothing is left without leaves; half of everybody is no answer."""
    for sql in (
        "SELECT sex, COUNT(*) FROM app GROUP BY sex",
        "SELECT COUNT(*) FROM app WHERE sex = 'f' AND age < 9",
        "SELECT SUM(hours) FROM app WHERE sex = 'f'",
    ):
        with pytest.raises(UnsupportedSQL, match="lgrr does not collect sex"):
            lgrr.execute(sql)
    assert lgrr.execute("SELECT COUNT(*) FROM app WHERE sex IN ('f', 'm')").fetchone() == (3000,)


def test_the_published_estimator_has_no_error() -> None:
    """Of LGRR-FD, whose other estimator has; what is known anyway is exact."""
    survey, sql = design(survey_by("lgrr-fd")), "SELECT COUNT(*) FROM app{}"
    with simulate(survey, people(), seed=1, estimator="published") as connection:
        assert not connection.execute(sql.format(" WHERE age = 3")).result.intervals
        assert connection.execute(sql.format("")).result.intervals[0].stderr[0] == 0.0
        explained = connection.execute("EXPLAIN " + sql.format(" WHERE age = 3")).result.explain
        assert "standard error of these reports" not in explained
        assert "no error: it corrects for a randomization" in explained
    with simulate(survey, people(), seed=1) as connection:
        assert connection.execute(sql.format(" WHERE age = 3")).result.intervals[0].stderr[0] > 0


def test_no_error_is_expected() -> None:
    """A forecast of intervals would be of the noise alone."""
    biased, sound = (expectations(design_survey(survey_by(name))) for name in ("lgrr", "lgrr-fd"))
    assert not any("±" in line for line in biased)
    assert any("no" in line and "biased" in line for line in biased)
    assert any("±" in line for line in sound)


def test_what_is_fitted_has_no_error_and_what_is_collected_has() -> None:
    """`maxent` where marginals of pairs answer three predicates."""
    text = survey_toml(*map(boolean, "abc"), mechanism="ft", options={"ways": 2})
    rows = np.random.default_rng(3).random((3_000, 3)) < 0.4
    table = pa.table(dict(zip("abc", rows.T, strict=True)))
    with simulate(design(text), table, estimator="maxent") as connection:
        asked = "COUNT(*) FILTER (WHERE a AND b), COUNT(*) FILTER (WHERE a AND b AND c)"
        assert set(connection.execute(f"SELECT {asked} FROM app").result.intervals) == {0}
