"""Moments of numbers that are large against their spread, and of numbers that do not vary."""

from __future__ import annotations

import math

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from support.significance import is_unbiased, normal_bound
from support.surveys import integer, survey_toml

from ldpsql.designer import design
from ldpsql.engine.arithmetic import Sums, form_of
from ldpsql.parser import scalars
from ldpsql.sql.aggregates import Expression, Spread, Target, Transform
from ldpsql_lab.simulation import simulate

PEOPLE, CODES, FAR = 5_000, 16, 10**9
INVARIANT = [
    "VAR_POP(x)",
    "STDDEV(2 * x - y)",
    "COVAR_SAMP(x, y)",
    "CORR(x, y)",
    "REGR_SLOPE(y, x)",
    "REGR_R2(y, x)",
    "REGR_SXX(y, x)",
]
EVERY = [*INVARIANT, "REGR_AVGX(y, x)", "REGR_AVGY(y, x)"]
"""With the two that move with the numbers."""


def people() -> dict[str, np.ndarray]:
    """Correlated numbers from 0 to 15."""
    random = np.random.default_rng(5)
    x = random.binomial(CODES - 1, 0.4, PEOPLE)
    return {"x": x, "y": np.clip(x + random.integers(-3, 4, PEOPLE), 0, CODES - 1)}


def answers(shift: int, wanted: list[str], where: str = "") -> np.ndarray:
    """Values and standard errors, shape (2, answers), where all numbers are moved by a shift."""
    table = pa.table({name: values + shift for name, values in people().items()})
    columns = (integer(name, shift, shift + CODES - 1) for name in "xy")
    survey = design(survey_toml(*columns, epsilon="4", mechanism="grr"))
    both = [f"{each}, STDERR({each})" for each in wanted]
    with simulate(survey, table, seed=2) as connection:
        row = connection.execute(f"SELECT {', '.join(both)} FROM app{where}").fetchone()
    return np.array([math.nan if each is None else each for each in row]).reshape(-1, 2).T


@pytest.fixture(scope="module")
def far_away() -> np.ndarray:
    """Answers about numbers around 1e9."""
    return answers(FAR, EVERY)


@pytest.mark.fast(1)
def test_values_and_errors_do_not_depend_on_a_shift(far_away: np.ndarray) -> None:
    shifts = np.zeros_like(far_away)
    shifts[0, len(INVARIANT) :] = FAR
    np.testing.assert_allclose(far_away - shifts, answers(0, EVERY), rtol=1e-6)


@pytest.mark.slow
def test_sums_that_are_not_centred_lose_all_digits(
    far_away: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scalars, "_centre", lambda node, columns: 0.0)
    assert not np.allclose(answers(FAR, EVERY), far_away, rtol=1e-2, equal_nan=True)


def test_an_intercept_is_that_of_the_line_far_away() -> None:
    wanted = ["REGR_INTERCEPT(y, x)", "REGR_SLOPE(y, x)"]
    near, far = answers(0, wanted), answers(FAR, wanted)
    # y - F = a + b (x - F)
    assert far[0, 0] == pytest.approx(FAR + near[0, 0] - near[0, 1] * FAR, rel=1e-6)
    assert far[1, 0] == pytest.approx(near[1, 1] * FAR, rel=1e-3)


def test_values_far_from_zero_are_near_those_of_everybody(far_away: np.ndarray) -> None:
    """Within five standard errors of what DuckDB finds in the raw table."""
    table = pa.table({name: values + FAR for name, values in people().items()})
    with duckdb.connect() as raw:
        raw.register("app", table)
        exact = raw.execute(f"SELECT {', '.join(EVERY)} FROM app").fetchone()
    values, errors = far_away
    assert (np.abs(values - exact) < 5.0 * errors).all()


@pytest.mark.fast(1)
@pytest.mark.parametrize("shift", [0, FAR])
def test_what_does_not_vary_has_no_correlation(shift: int) -> None:
    constant = ["CORR(x, y)", "REGR_SLOPE(y, x)", "REGR_R2(y, x)"]
    assert np.isnan(answers(shift, constant, f" WHERE x = {shift + 3}")).all()
    values, _ = answers(shift, ["VAR_POP(x)", "STDDEV(x)"], f" WHERE x = {shift + 3}")
    assert values.tolist() == [0.0, 0.0]


PEOPLE_OF_ALL, SUMS_OF_ONE, SQUARES = (
    Target(),
    Target(measure=0),
    Target(measure=0, is_square=True),
)
VARIANCE, DRAWS = 21.0, 20_000
SPREAD = Spread(SQUARES, SUMS_OF_ONE, SUMS_OF_ONE, PEOPLE_OF_ALL)
PLUG_IN = SQUARES - SUMS_OF_ONE * SUMS_OF_ONE / PEOPLE_OF_ALL
UNCERTAIN = [(0.0, 11.0, 35.0, 0.0), (3.0, 11.0, 35.0, 0.5), (4.0, 1.0, 5.0, -0.5)]
"""A mean, standard errors of it and of the mean square, and their correlation."""


def estimate_variance(
    spread: Expression, mean: float, error: float, of_square: float, correlation: float
) -> tuple[np.ndarray, float, float]:
    """Estimates of the variance of 500 people, drawn with normal errors, and how often the
    intervals of it and of its root hold."""
    cross = correlation * error * of_square
    own = np.array([[error**2, cross], [cross, of_square**2]])
    drawn = np.random.default_rng(7).multivariate_normal(
        [mean, VARIANCE + mean**2], own, size=DRAWS
    )
    values = 500.0 * np.column_stack([np.ones(DRAWS), drawn])
    covariance = np.zeros((DRAWS, 3, 3))
    covariance[:, 1:, 1:] = 500.0**2 * own
    sums, held = Sums(values, covariance, 0.95), []
    targets = (PEOPLE_OF_ALL, SUMS_OF_ONE, SQUARES)
    form = form_of(spread / PEOPLE_OF_ALL, targets, sums)
    root = form_of(Transform("root", spread / PEOPLE_OF_ALL), targets, sums)
    for each, truth in ((form, VARIANCE), (root, math.sqrt(VARIANCE))):
        bars = each.interval
        held.append(float(((bars.low <= truth) & (truth <= bars.high)).mean()))
    return form.value, *held


@pytest.mark.parametrize("case", UNCERTAIN)
def test_variances_about_uncertain_means_are_unbiased_and_covered(
    case: tuple[float, float, float, float],
) -> None:
    values, *held = estimate_variance(SPREAD, *case)
    slack = normal_bound() * math.sqrt(0.05 * 0.95 / DRAWS)
    assert is_unbiased(values, VARIANCE)
    assert all(0.94 - slack <= each <= 0.965 + slack for each in held)


def test_a_variance_that_takes_its_mean_for_known_is_caught() -> None:
    """The negative control: biased in all cases, and far too wide where the mean tells little."""
    found = [estimate_variance(PLUG_IN, *case) for case in UNCERTAIN]
    assert not any(is_unbiased(values, VARIANCE) for values, *_ in found)
    assert all(each > 0.99 for each in (*found[0][1:], *found[1][1:]))
