"""Moments of numbers that are large against their spread, and of numbers that do not vary."""

from __future__ import annotations

import math

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from support.surveys import integer, survey_toml

from ldpsql.designer import design
from ldpsql.parser import scalars
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
