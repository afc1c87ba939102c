"""The peers that smooth answers are compared with: they do what their papers say."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import smooth_peers
from benchmarks.smoothing import GRID
from ldpsql.boxes import Box, LinearQuery


def grid() -> np.ndarray:
    """Two attributes that depend on each other."""
    x, y = np.indices(GRID) / GRID[0]
    table = np.exp(-((x - 0.4) ** 2 + (y - 0.6) ** 2 - 1.2 * (x - 0.4) * (y - 0.6)) * 20)
    return np.asarray(np.round(2_000_000 * table / table.sum()))


@pytest.mark.parametrize(
    ("people", "epsilon", "expected"), [(45_222, 0.5, (8, 2)), (1_451_292, 1.0, (64, 8))]
)
def test_hdg_follows_its_guideline(
    people: float, epsilon: float, expected: tuple[int, int]
) -> None:
    assert smooth_peers.granularities(people, epsilon) == expected


def test_hdg_comes_near_the_table_where_there_is_little_noise() -> None:
    """Cells of its grids have the people that there are; between them it knows no more."""
    table = grid()
    found = smooth_peers.hdg(table, 5.0, 1)
    assert found.sum() == pytest.approx(table.sum())
    assert found.min() >= 0.0
    coarse = smooth_peers.granularities(table.sum(), 5.0)[1]
    width = GRID[0] // coarse
    shape = (coarse, width, coarse, width)
    ours, true = (each.reshape(shape).sum(axis=(1, 3)) for each in (found, table))
    assert np.abs(ours - true).max() < 0.005 * table.sum()
    even = np.full(GRID, table.sum() / table.size)
    assert np.abs(found - table).sum() < 0.2 * np.abs(even - table).sum()


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_square_wave_keeps_its_promise(epsilon: float) -> None:
    matrix = smooth_peers.SquareWave.of(epsilon, 64).matrix
    np.testing.assert_allclose(matrix.sum(axis=0), 1.0)
    odds = matrix.max(axis=1) / matrix.min(axis=1)
    assert odds.max() == pytest.approx(math.exp(epsilon))


def test_sw_ems_comes_near_a_smooth_distribution() -> None:
    x = np.arange(64) / 64
    table = np.round(1e6 * np.exp(-((x - 0.4) ** 2) * 30))
    found = smooth_peers.sw_ems(table, 4.0, 1)
    assert found.sum() == pytest.approx(table.sum())
    assert smooth_peers.distances(found, table)[0] < 0.01


def test_distances_are_those_of_distributions() -> None:
    one, other = np.zeros(10), np.zeros(10)
    one[2], other[5] = 7.0, 3.0
    assert smooth_peers.distances(one, one).tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(smooth_peers.distances(one, other), [0.3, 1.0, 0.3])


def test_simulated_surveys_have_the_noise_of_their_design(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without smoothing: the mean squared error of a range is the design's."""
    made = smooth_peers.made_for((16,), "1", 0)

    def leave(blocks, people):
        return SimpleNamespace(tables=[np.fft.ifftn(blocks[0].spectrum).real])

    monkeypatch.setattr(smooth_peers, "smooth", leave)
    table, box = np.full(16, 1_000.0), np.array([[[3, 9]]])
    errors = [
        smooth_peers.squared_error(smooth_peers.smoothed(made, table, seed), table, box)
        for seed in range(600)
    ]
    query = made.prepare(LinearQuery.count(Box((((3, 9),),))))
    expected = made.variance([query], 16_000)[0] / 16_000**2
    assert np.mean(errors) == pytest.approx(expected, rel=5 * math.sqrt(2 / 600))
