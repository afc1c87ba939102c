"""Smoothing as a whole: one summary, better than the unbiased one, with an honest error."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.fourier_coefficients import (
    information_of,
    noise_of,
    noisy_block,
    pair_blocks,
    workload_error,
)

from ldpsql.mechanisms.fourier import smoothing
from ldpsql.mechanisms.fourier.projection import Block, Stop
from ldpsql.mechanisms.fourier.smoothing import SmoothingProblem, select, smooth

N = 60_000


def shapes():
    x, y = np.indices((16, 16)) / 16
    random = np.random.default_rng(0)
    spikes = np.zeros((16, 16))
    spikes.flat[random.choice(256, 5, replace=False)] = 1.0
    one = np.zeros((16, 16))
    one[5, 3] = 1.0
    return {
        "smooth": np.exp(-((x - 0.4) ** 2 + (y - 0.5) ** 2 + (x - 0.4) * (y - 0.5)) * 12),
        "uniform": np.ones((16, 16)),
        "spikes": spikes,
        "one cell": one,
        "diagonal": np.eye(16),
        "rough": random.gamma(0.3, size=(16, 16)),
        "checkerboard": (np.indices((16, 16)).sum(axis=0) % 2).astype(float),
    }


def people_of(shares, seed=1, n=N):
    random = np.random.default_rng(seed)
    return (
        random.multinomial(n, (shares / shares.sum()).ravel()).reshape(shares.shape).astype(float)
    )


def test_a_summary_is_one_table_of_people():
    table = people_of(shapes()["smooth"])
    found = smooth([noisy_block(table, 1.0, np.random.default_rng(2))], N)
    assert found.converged
    assert found.iterations > 0
    assert found.tables[0].shape == (16, 16)
    assert found.tables[0].min() >= 0.0
    assert found.tables[0].sum() == pytest.approx(N)
    assert found.replicates[0].shape == (20, 16, 16)
    assert found.replicates[0].dtype == np.float32
    assert found.replicates[0].min() >= 0.0
    assert found.replicates[0].sum(axis=(1, 2)) == pytest.approx(np.full(20, N), rel=1e-5)


def test_the_same_histogram_gives_the_same_answer():
    table = people_of(shapes()["rough"])
    block = noisy_block(table, 1.0, np.random.default_rng(2))
    other = noisy_block(table, 1.0, np.random.default_rng(3))
    first, second, third = (smooth([b], N) for b in (block, block, other))
    assert first.branch == second.branch
    assert np.array_equal(first.tables[0], second.tables[0])
    assert np.array_equal(first.replicates[0], second.replicates[0])
    assert not np.array_equal(first.tables[0], third.tables[0])


def test_it_is_better_than_unbiased_on_every_shape():
    ratios = {}
    for name, shares in shapes().items():
        ours = theirs = 0.0
        for seed in range(2):
            table = people_of(shares, seed)
            block = noisy_block(table, 1.0, np.random.default_rng(seed + 10))
            ours += workload_error(smooth([block], N).tables[0], table)
            theirs += workload_error(np.fft.ifftn(block.spectrum).real, table)
        ratios[name] = ours / theirs
    assert max(ratios.values()) < 1.05, ratios
    assert math.exp(np.mean(np.log(list(ratios.values())))) < 0.5, ratios


def test_blocks_of_pairs_are_smoothed_together():
    random = np.random.default_rng(3)
    shares = random.gamma(0.5, size=(8, 8, 8))
    blocks, truth = pair_blocks(people_of(shares), 1.0, random)
    found = smooth(blocks, N)
    assert found.converged
    for table, replicate in zip(found.tables, found.replicates, strict=True):
        assert table.min() >= 0.0
        assert replicate.shape == (20, 8, 8)
    assert np.abs(found.tables[0].sum(axis=1) - found.tables[1].sum(axis=1)).sum() < 2e-5 * N
    ours = sum(workload_error(t, true) for t, true in zip(found.tables, truth, strict=True))
    theirs = sum(
        workload_error(np.fft.ifftn(b.spectrum).real, true)
        for b, true in zip(blocks, truth, strict=True)
    )
    assert ours < theirs


def test_unobserved_coefficients_are_filled_in():
    table = people_of(shapes()["smooth"])
    block = noisy_block(table, 1.0, np.random.default_rng(2))
    seen = np.ones((16, 16), dtype=bool)
    seen[8, :] = seen[:, 8] = False
    partial = Block(
        block.axes,
        np.where(seen, block.spectrum, 0.0),
        np.where(seen, block.information, 0.0),
        np.where(seen, block.workload, 0.0),
        block.sizes,
    )
    found = smooth([partial], N).tables[0]
    assert found.min() >= 0.0
    assert found.sum() == pytest.approx(N)
    assert workload_error(found, table) < workload_error(np.fft.ifftn(block.spectrum).real, table)


def test_the_bootstrap_tells_the_typical_error():
    """The mean over summaries of the bootstrap's squared error is near the true one."""
    actual, claimed = [], []
    for seed in range(6):
        table = people_of(shapes()["smooth"], seed)
        found = smooth([noisy_block(table, 1.0, np.random.default_rng(seed + 50))], N)
        actual.append(workload_error(found.tables[0], table))
        claimed.append(np.mean([workload_error(r, found.tables[0]) for r in found.replicates[0]]))
    ratio = math.sqrt(np.mean(claimed) / np.mean(actual))
    assert 0.6 < ratio < 1.7


def test_thinning_prefers_the_prior_that_fits():
    """Independent data want the independence prior, scattered cells do not."""
    x = np.exp(-((np.arange(16) - 5) ** 2) / 15)
    steps = np.outer(x + 0.02, np.where(np.arange(16) % 5 == 0, 1.0, 0.1))
    scattered = np.eye(16)[np.random.default_rng(2).permutation(16)]
    for shares, expected in ((steps, True), (scattered, False)):
        block = noisy_block(people_of(shares, n=10**6), 1.0, np.random.default_rng(4))
        ranked = select(
            SmoothingProblem([block], 10**6), np.random.default_rng(1), 4, 3, Stop(600, 1e-4)
        )
        assert len(ranked) == 7
        place = min(ranked.index(name) for name in ("ind+i", "ind+g"))
        rival = min(ranked.index(name) for name in ("ht+i", "ht+g"))
        assert (place < rival) is expected


@pytest.mark.parametrize("finalists", [0, 1, 2])
def test_only_the_best_shrinkages_compete_in_the_workload_metric(finalists):
    block = noisy_block(people_of(shapes()["smooth"]), 1.0, np.random.default_rng(4))
    candidates = SmoothingProblem([block], N)
    every, some = (
        select(candidates, np.random.default_rng(1), 2, number, Stop(600, 1e-4))
        for number in (3, finalists)
    )
    best = [name[:-2] for name in every if name.endswith("+i")][:finalists]
    left_out = {f"{shrinkage}+g" for shrinkage in candidates.shrinkages if shrinkage not in best}
    assert some == [name for name in every if name not in left_out]


def test_thinned_halves_are_independent():
    """What A errs must tell nothing about what B errs; with one sign flipped it does."""
    problem = SmoothingProblem(
        [noisy_block(np.ones((16,)) * 100, 1.0, np.random.default_rng(1))], 1600
    )
    random = np.random.default_rng(2)
    data, extra = problem.draw(random, 4000), problem.draw(random, 4000)
    down, up = math.sqrt(1 / 3), math.sqrt(3)
    scale = np.sqrt(np.where(problem.noise > 0, problem.noise, 1.0))

    def link(a, b):
        return float(np.mean((a * b.conj()).real / scale**2))

    assert abs(link(data + down * extra, data - up * extra)) < 0.05
    assert link(data + down * extra, data + up * extra) > 1.0


def test_large_tables_are_tried_less(monkeypatch):
    table = people_of(shapes()["smooth"])
    block = noisy_block(table, 1.0, np.random.default_rng(2))
    monkeypatch.setattr(smoothing, "HUGE", 100)
    found = smooth([block], N)
    assert found.branch.endswith("+i") or found.branch == "avg"


@pytest.mark.parametrize(("siblings", "expected"), [(1, 20), (5, 16), (10, 8), (100, 5)])
def test_replicates_are_as_many_as_the_work_allows(monkeypatch, siblings, expected):
    block = noisy_block(people_of(shapes()["smooth"]), 1.0, np.random.default_rng(2))
    # 80 of 20 steps each, on 256 cells.
    monkeypatch.setattr(smoothing, "WORK", 80 * 20 * 256.0)
    assert smooth([block], N, siblings=siblings).replicates[0].shape == (expected, 16, 16)


@pytest.mark.parametrize("orders", [(1,), (4, 1), (3, 2)])
def test_blocks_that_tell_nothing_are_a_table_all_the_same(orders):
    """One code on an axis, or no coefficient observed but the number of people."""
    spectrum = np.zeros(orders, dtype=complex)
    information = np.zeros(orders)
    spectrum.flat[0], information.flat[0] = N, 1.0
    axes = tuple(range(len(orders)))
    found = smooth([Block(axes, spectrum, information, np.ones(orders), orders)], N)
    assert found.converged
    assert found.tables[0] == pytest.approx(np.full(orders, N / np.prod(orders)))


def test_noise_has_the_variance_it_claims():
    """Drawn noise: people / lambda in every coefficient, real where f = -f."""
    workload = np.ones((6, 2))
    information = information_of(workload, 1.0)
    block = Block(
        (0, 1), noise_of(information, 100, np.random.default_rng(1)), information, workload, (6, 2)
    )
    problem = SmoothingProblem([block], 100)
    drawn = problem.draw(np.random.default_rng(3), 20_000)
    own = problem.layout.multiplicity == 1.0
    assert not drawn[:, own].imag.any()
    assert not drawn[:, 0].any()
    ratio = (np.abs(drawn) ** 2).mean(axis=0)[1:] / problem.noise[1:]
    # Relative variance of the mean of squares: at most 2 / 20 000.
    assert np.abs(ratio - 1.0).max() < 5.5 * math.sqrt(2 / 20_000)
