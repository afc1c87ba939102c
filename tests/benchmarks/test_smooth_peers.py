"""How smooth answers are compared with peers: distances, and simulated surveys."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import smooth_peers
from ldpsql.algebra.boxes import Box, LinearQuery


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
