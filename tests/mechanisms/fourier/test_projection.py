"""Coefficients that blocks share, and projection onto tables that are nowhere negative."""

from __future__ import annotations

import numpy as np
import pytest
from support.fourier_coefficients import noisy_block, pair_blocks

from ldpsql.mechanisms.fourier.projection import FINE, Block, CoefficientLayout, Stop, project
from ldpsql.mechanisms.fourier.smoothing import SmoothingProblem

PEOPLE = 5000


def made_up(shape, seed=3):
    random = np.random.default_rng(seed)
    shares = np.exp(-(((np.indices(shape) - 4) ** 2).sum(axis=0)) / 9.0)
    return random.multinomial(PEOPLE, (shares / shares.sum()).ravel()).reshape(shape).astype(float)


def slack(problem, metric, table):
    """How far a table is from optimal: its gradient's excess over the least."""
    kappa = problem.metric(metric)
    vector = problem.layout.vectors([table[None, None]]) - problem.observed
    gradient = problem.layout.tables(kappa * vector)[0][0, 0]
    return float((table * (gradient - gradient.min())).sum() / (table * np.abs(gradient)).sum())


@pytest.mark.parametrize("metric", ["i", "g"])
@pytest.mark.parametrize("shape", [(32,), (8, 6), (4, 5, 2)])
def test_a_converged_projection_is_optimal(shape, metric):
    block = noisy_block(made_up(shape), 1.0, np.random.default_rng(6))
    problem = SmoothingProblem([block], PEOPLE)
    kappa = problem.metric(metric)[None, :]
    tight = project(problem.layout, problem.observed[None], kappa, PEOPLE, Stop(20000, 1e-9))
    assert tight.converged.all()
    assert slack(problem, metric, tight.tables[0][0, 0]) < 1e-3
    early = project(problem.layout, problem.observed[None], kappa, PEOPLE, Stop(1, 1e-9))
    assert not early.converged.any()
    assert slack(problem, metric, early.tables[0][0, 0]) > 1e-2


def test_rows_do_not_touch_each_other():
    block = noisy_block(made_up((8, 8)), 0.3, np.random.default_rng(1))
    problem = SmoothingProblem([block], PEOPLE)
    targets = np.stack([problem.observed, problem.observed])
    kappa = np.stack([problem.metric("i"), problem.metric("g")])
    together = project(problem.layout, targets, kappa, PEOPLE)
    assert together.iterations[0] != together.iterations[1]
    for row in range(2):
        alone = project(problem.layout, targets[:1], kappa[row : row + 1], PEOPLE)
        assert np.allclose(together.tables[0][row], alone.tables[0][0], atol=1e-6 * PEOPLE)
        assert together.iterations[row] == alone.iterations[0]


def test_padding_holds_nobody():
    truth = made_up((6, 5))
    block = noisy_block(truth, 1.0, np.random.default_rng(2), orders=(8, 6))
    problem = SmoothingProblem([block], PEOPLE)
    done = project(problem.layout, problem.observed[None], problem.metric("i")[None], PEOPLE)
    table = done.tables[0][0, 0]
    assert done.converged.all()
    assert table[:6, :5].sum() == pytest.approx(PEOPLE)
    assert not table[6:].any()
    assert not table[:, 5:].any()


def test_overlapping_blocks_agree_on_shared_margins():
    blocks, _ = pair_blocks(made_up((6, 7, 8)), 1.0, np.random.default_rng(9))
    problem = SmoothingProblem(blocks, PEOPLE)
    done = project(problem.layout, problem.observed[None], problem.metric("i")[None], PEOPLE)
    assert done.converged.all()
    tables = {
        kind.members[0]: t[0, 0] for kind, t in zip(problem.layout.kinds, done.tables, strict=True)
    }
    assert all(table.min() >= 0.0 for table in tables.values())
    assert gap(tables) < 2 * FINE.tolerance * PEOPLE
    alone = {}
    for number, block in enumerate(blocks):
        single = SmoothingProblem([block], PEOPLE)
        metric = single.metric("i")[None]
        alone[number] = project(single.layout, single.observed[None], metric, PEOPLE).tables[0][
            0, 0
        ]
    assert gap(alone) > 0.005 * PEOPLE


def gap(tables):
    """Largest L1 distance of two tables' common margin; blocks (0,1), (0,2), (1,2)."""
    pairs = [
        (tables[0].sum(axis=1), tables[1].sum(axis=1)),
        (tables[0].sum(axis=0), tables[2].sum(axis=1)),
        (tables[1].sum(axis=0), tables[2].sum(axis=0)),
    ]
    return max(np.abs(a - b).sum() for a, b in pairs)


def blank(axes, orders, sizes=None):
    zero = np.zeros(orders)
    return Block(axes, zero.astype(complex), zero, zero, sizes or orders)


@pytest.mark.parametrize("orders", [(8,), (7,), (2,), (6, 5), (5, 6), (4, 3, 2), (2, 2)])
def test_a_table_comes_back_from_its_coefficients(orders):
    layout = CoefficientLayout([blank(tuple(range(len(orders))), orders)])
    tables = np.random.default_rng(1).random((3, 1, *orders))
    vectors = layout.vectors([tables])
    assert np.allclose(layout.tables(vectors)[0], tables, atol=1e-12)
    assert layout.multiplicity.sum() == np.prod(orders)


def test_blocks_share_the_coefficients_of_their_common_axes():
    table = np.random.default_rng(3).random((4, 5, 6))
    blocks, truth = pair_blocks(table, 1.0, np.random.default_rng(4))
    layout = CoefficientLayout(blocks)
    inside = (layout.frequencies != 0).sum(axis=1)
    assert (layout.copies[inside == 2] == 1).all()
    assert (layout.copies[inside == 1] == 2).all()
    assert layout.copies[0] == 3
    tables = [truth[kind.members[0]][None, None] for kind in layout.kinds]
    found = layout.vectors(tables)
    assert np.allclose(found[0], np.fft.fftn(table)[tuple(layout.frequencies.T)], atol=1e-10)
    for back, given in zip(layout.tables(found), tables, strict=True):
        assert np.allclose(back, given, atol=1e-12)
