"""Published mechanisms for ranges do what their papers say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtri

from benchmarks.field import hdg, square_wave
from benchmarks.field.hdg import Floats, Grid, agree, deal, even, fit, granularities, oue

GRID = (64, 64)
ALPHA = 1e-7
"""Of two sides; some 20 means are looked at."""


def bell(codes: int, people: float = 100_000) -> Floats:
    """People of a line, most in the middle."""
    shares = np.exp(-(((np.arange(codes) + 0.5) / codes - 0.45) ** 2) * 20)
    return np.random.default_rng(1).multinomial(int(people), shares / shares.sum()).astype(float)


def pair() -> Floats:
    """Two attributes that depend on each other."""
    x, y = np.indices(GRID) / GRID[0]
    table = np.exp(-((x - 0.4) ** 2 + (y - 0.6) ** 2 - 1.2 * (x - 0.4) * (y - 0.6)) * 20)
    return np.asarray(np.round(2_000_000 * table / table.sum()))


# -- frequency oracles -----------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_oue_is_unbiased_with_its_variance(epsilon: float) -> None:
    counts, random = np.array([0, 4_000, 1_000, 0, 5_000]), np.random.default_rng(2)
    found = np.array([oue(counts, epsilon, random) for _ in range(1_500)])
    far = -ndtri(ALPHA / 2)
    away = (found.mean(axis=0) - counts / 10_000) / (found.std(axis=0) / math.sqrt(1_500))
    assert np.abs(away).max() < far

    def variance(epsilon: float) -> float:
        odds = math.exp(epsilon)
        return 4.0 * odds / (10_000 * (odds - 1) ** 2)

    # The sample variance of 1,500 normal draws: a relative standard error of sqrt(2 / 1,499).
    measured, reach = found[:, 0].var(ddof=1), far * math.sqrt(2 / 1_499)
    assert abs(measured / variance(epsilon) - 1.0) < reach
    # The negative control: another epsilon's variance.
    assert abs(measured / variance(1.5 * epsilon) - 1.0) > reach


def test_people_are_dealt_once_each() -> None:
    counts = bell(16, 1_000)
    groups = list(deal(counts, 3, np.random.default_rng(3)))
    assert [group.sum() for group in groups] == [333, 333, 334]
    np.testing.assert_array_equal(sum(groups), counts)


# -- grids -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("people", "epsilon", "expected"),
    [(45_222, 0.5, (8, 2)), (1_451_292, 1.0, (64, 8)), (1_000_000, 1.0, (32, 8))],
)
def test_hdg_follows_its_guideline(
    people: float, epsilon: float, expected: tuple[int, int]
) -> None:
    assert granularities(people, epsilon) == expected


def test_hdg_comes_near_the_table_where_there_is_little_noise() -> None:
    """Cells of its grids have the people that there are; between them it knows no more."""
    table, people = pair(), pair().sum()
    found = hdg.estimate(table, 5.0, np.random.default_rng(1)) * people
    assert found.sum() == pytest.approx(people)
    assert found.min() >= 0.0
    coarse = granularities(people, 5.0)[1]
    width = GRID[0] // coarse
    shape = (coarse, width, coarse, width)
    ours, true = (each.reshape(shape).sum(axis=(1, 3)) for each in (found, table))
    assert np.abs(ours - true).max() < 0.005 * people
    level = np.full(GRID, people / table.size)
    assert np.abs(found - table).sum() < 0.2 * np.abs(level - table).sum()


def test_cells_divide_an_axis() -> None:
    np.testing.assert_array_equal(even(10, 3), [0, 3, 6])


def test_grids_agree_and_the_table_has_their_cells() -> None:
    random = np.random.default_rng(4)
    grids = [Grid((0,), (even(8, 8),)), Grid((1,), (even(8, 4),)), Grid((0, 1), (even(8, 2),) * 2)]
    found = [random.random(grid.shape) - 0.1 for grid in grids]
    found = [cells / cells.sum() for cells in found]
    agree(grids, found)
    assert min(cells.min() for cells in found) >= 0.0
    np.testing.assert_allclose(found[0].reshape(2, 4).sum(axis=1), found[2].sum(axis=1), atol=1e-6)
    np.testing.assert_allclose(found[1].reshape(2, 2).sum(axis=1), found[2].sum(axis=0), atol=1e-6)
    numbers = [grid.number((8, 8)) for grid in grids]
    table = fit((8, 8), numbers, [cells.ravel() for cells in found], 1e-12)
    for number, cells in zip(numbers, found, strict=True):
        np.testing.assert_allclose(np.bincount(number, table.ravel()), cells.ravel(), atol=1e-5)


# -- the square wave -------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_square_wave_keeps_its_promise(epsilon: float) -> None:
    matrix = square_wave.square_wave(epsilon, 64)
    np.testing.assert_allclose(matrix.sum(axis=0), 1.0)
    odds = matrix.max(axis=1) / matrix.min(axis=1)
    assert odds.max() == pytest.approx(math.exp(epsilon))


def test_sw_ems_comes_near_a_smooth_distribution() -> None:
    counts = bell(64, 1e6)
    found = square_wave.sw_ems(counts, 4.0, np.random.default_rng(1))
    assert found.sum() == pytest.approx(1.0)
    assert np.abs(np.cumsum(found) - np.cumsum(counts) / 1e6).mean() < 0.01
