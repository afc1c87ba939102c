"""Published mechanisms for ranges do what their papers say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtri

from benchmarks.field import factorization, pripl, privnud, square_wave
from benchmarks.field.grids import Calm, Felip, Grid, Hdg, agree, even, fit, granularities, refine
from benchmarks.field.oracles import deal, grr, grr_is_better, oue, oue_variance
from benchmarks.field.questions import Floats, mean_bits

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
@pytest.mark.parametrize("oracle", [oue, grr])
def test_oracles_are_unbiased_with_their_variance(oracle, epsilon: float) -> None:
    counts, random = np.array([0, 4_000, 1_000, 0, 5_000]), np.random.default_rng(2)
    found = np.array([oracle(counts, epsilon, random) for _ in range(1_500)])
    far = -ndtri(ALPHA / 2)
    away = (found.mean(axis=0) - counts / 10_000) / (found.std(axis=0) / math.sqrt(1_500))
    assert np.abs(away).max() < far

    def variance(epsilon: float) -> float:
        odds = math.exp(epsilon)
        if oracle is oue:
            return oue_variance(epsilon, 10_000)
        return (odds + 5 - 2) / (10_000 * (odds - 1) ** 2)

    # The sample variance of 1,500 normal draws: a relative standard error of sqrt(2 / 1,499).
    measured, reach = found[:, 0].var(ddof=1), far * math.sqrt(2 / 1_499)
    assert abs(measured / variance(epsilon) - 1.0) < reach
    # The negative control: another epsilon's variance.
    assert abs(measured / variance(1.5 * epsilon) - 1.0) > reach


def test_grr_is_chosen_where_it_has_less_variance() -> None:
    """k < 3 e^epsilon + 2, as FELIP and CALM have it."""
    for epsilon in (0.5, 1.0, 2.0):
        for cells in (3, 6, 11, 40):
            odds = math.exp(epsilon)
            by_grr = (odds + cells - 2) / (odds - 1) ** 2
            assert grr_is_better(cells, epsilon) == (by_grr < oue_variance(epsilon, 1.0))


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
    found = Hdg().estimate(table, 5.0, np.random.default_rng(1)) * people
    assert found.sum() == pytest.approx(people)
    assert found.min() >= 0.0
    coarse = granularities(people, 5.0)[1]
    width = GRID[0] // coarse
    shape = (coarse, width, coarse, width)
    ours, true = (each.reshape(shape).sum(axis=(1, 3)) for each in (found, table))
    assert np.abs(ours - true).max() < 0.005 * people
    level = np.full(GRID, people / table.size)
    assert np.abs(found - table).sum() < 0.2 * np.abs(level - table).sum()


def test_felip_sizes_are_the_least_of_its_errors() -> None:
    """Of one attribute by OLH in closed form: the cube root of n (a (e^eps - 1))^2 / (2 m r
    e^eps), rounded down."""
    odds, share = math.e, 1_000_000 / 3
    single = (share * (0.7 * (odds - 1)) ** 2 / (2 * 0.5 * odds)) ** (1 / 3)
    (first, _, both) = Felip().layout(GRID, 1_000_000, 1.0)
    assert abs(first.shape[0] - math.floor(single)) <= 6  # whole cells within each of the pair's
    assert set(both.starts[0]) <= set(first.starts[0])
    assert Felip()._single(share, 1.0, 64) == math.floor(single)


def test_calm_asks_pairs_in_full() -> None:
    assert [grid.shape for grid in Calm().layout((4, 5, 6), 1e5, 1.0)] == [(4, 5), (4, 6), (5, 6)]


def test_cells_divide_an_axis() -> None:
    np.testing.assert_array_equal(even(10, 3), [0, 3, 6])
    fine = refine(even(64, 5), 64, 23)
    assert set(even(64, 5)) <= set(fine)
    assert len(fine) == 25


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
    matrix = square_wave.SquareWave.of(epsilon, 64).matrix
    np.testing.assert_allclose(matrix.sum(axis=0), 1.0)
    odds = matrix.max(axis=1) / matrix.min(axis=1)
    assert odds.max() == pytest.approx(math.exp(epsilon))


def test_sw_ems_comes_near_a_smooth_distribution() -> None:
    counts = bell(64, 1e6)
    found = square_wave.sw_ems(counts, 4.0, np.random.default_rng(1))
    assert found.sum() == pytest.approx(1.0)
    assert np.abs(np.cumsum(found) - np.cumsum(counts) / 1e6).mean() < 0.01


# -- PriPL-Tree ------------------------------------------------------------------------------------


def test_a_function_of_three_lines_is_found() -> None:
    """Continuous, with breaks at 20 and 44: no other cut leaves so little, and slopes are right."""
    codes = np.arange(64)
    line = 0.01 + 0.002 * np.minimum(codes, 20) - 0.001 * np.clip(codes - 20.5, 0, 24)
    assert pripl.fit_line(line, [20, 44])[0] == pytest.approx([0.002, -0.001, 0.0], abs=1e-4)
    breaks, _ = pripl.find_segments(line, line, 1e9, 2.0)
    assert {20, 44} <= set(breaks)
    assert pripl.fit_line(line, breaks)[1].sum() < 1e-3 * ((line - line.mean()) ** 2).sum()


def test_people_are_allotted_along_paths() -> None:
    """Every path from the root has all of the people, each once."""
    root, leaves = pripl.build([3, 9, 20, 40, 50], 64)
    pripl.allot(root, 100, 1_100)

    def along(node: pripl.Node, seen: list[slice]) -> None:
        if not node.children:
            assert [part.start for part in seen] == [100, *(part.stop for part in seen[:-1])]
            assert seen[-1].stop == 1_100
        for child in node.children:
            along(child, [*seen, child.asked])

    along(root, [])
    assert [leaf.low for leaf in leaves] == [0, 4, 10, 21, 41, 51]


def test_nodes_are_weighed_by_how_often_ranges_use_them() -> None:
    """Two leaves, each asked of everybody: w = l (d - r + 1), less that of the parent, of the
    paper's equation 8."""
    root = pripl.Node(0, 3, [pripl.Node(0, 1), pripl.Node(2, 3)])
    assert pripl.expected_error(root, 4) == (1 * 3 - 1) + (3 * 1 - 1)


@pytest.mark.parametrize("make", [pripl.PriPl, privnud.PrivNud])
def test_trees_come_near_the_table_where_there_is_little_noise(make) -> None:
    counts = bell(64, 200_000)
    found = make().estimate(counts, 6.0, np.random.default_rng(5))
    assert found.sum() == pytest.approx(1.0)
    assert np.abs(np.cumsum(found) - np.cumsum(counts) / 200_000).max() < 0.02


def test_pripl_answers_pairs() -> None:
    table = pair()
    found = pripl.PriPl().estimate(table, 3.0, np.random.default_rng(6))
    assert found.sum() == pytest.approx(1.0)
    assert found.min() >= 0.0
    level = np.full(GRID, 1 / table.size)
    true = table / table.sum()
    assert np.abs(found - true).sum() < 0.4 * np.abs(level - true).sum()


# -- PrivNUD ---------------------------------------------------------------------------------------


def test_fan_outs_divide_an_interval() -> None:
    parts = privnud.split(privnud.Node(0, 9), 4)
    assert [(node.low, node.high) for node in parts] == [(0, 2), (3, 5), (6, 8), (9, 9)]


def test_uses_of_a_split_add_up() -> None:
    """A range that holds a child but not the parent is counted with the child."""
    parent = privnud.Node(2, 5)
    children = privnud.split(parent, 4)
    counted = sum(privnud.uses(child, parent, 8) for child in children)
    ranges = [(a, b) for a in range(8) for b in range(a, 8)]
    by_hand = sum(
        a <= child.low and child.high <= b and not (a <= 2 and b >= 5)
        for a, b in ranges
        for child in children
    )
    assert counted == by_hand


# -- the factorization -----------------------------------------------------------------------------


def test_the_gradient_is_that_of_the_variance() -> None:
    random = np.random.default_rng(7)
    matrix, gram = random.random((12, 4)) + 0.1, factorization.ranges_gram(4)
    value, gradient = factorization.variance_and_gradient(matrix, gram)
    for place in ((0, 0), (7, 2)):
        moved = matrix.copy()
        moved[place] += 1e-6
        slope = (factorization.variance_and_gradient(moved, gram)[0] - value) / 1e-6
        assert slope == pytest.approx(gradient[place], rel=1e-3)


def test_an_optimised_matrix_keeps_its_promise_and_is_unbiased() -> None:
    matrix = factorization.optimise(8, 1.0)
    np.testing.assert_allclose(matrix.sum(axis=0), 1.0)
    assert (matrix.max(axis=1) / matrix.min(axis=1)).max() <= math.e * (1 + 1e-9)
    counts, random = bell(8, 20_000), np.random.default_rng(8)
    found = [factorization.Factorization(False).estimate(counts, 1.0, random) for _ in range(300)]
    away = np.mean(found, axis=0) - counts / 20_000
    assert np.abs(away / (np.std(found, axis=0) / math.sqrt(300))).max() < -ndtri(ALPHA / 2)
    # Better than randomized response for the same ranges.
    odds = math.e
    plain = (np.ones((8, 8)) + (odds - 1) * np.eye(8)) / (odds + 7)
    gram = factorization.ranges_gram(8)
    ours, theirs = (factorization.variance_and_gradient(q, gram)[0] for q in (matrix, plain))
    assert ours < theirs


@pytest.mark.slow
def test_prefixes_have_the_variance_that_the_authors_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their example: 1,911 in the worst case for the prefixes of 128 codes at epsilon 1."""
    prefixes = np.tril(np.ones((128, 128)))
    monkeypatch.setattr(factorization, "ranges_gram", lambda codes: prefixes.T @ prefixes)
    matrix = factorization.optimise.__wrapped__(128, 1.0)
    scaled = matrix / matrix.sum(axis=1)[:, None]
    answers = prefixes @ np.linalg.inv(matrix.T @ scaled) @ scaled.T
    worst = ((answers**2) @ matrix - (answers @ matrix) ** 2).sum(axis=0).max()
    assert worst < 1.02 * 1910.87


def test_reports_have_a_length() -> None:
    asked = Hdg().questions(pair(), 1.0, np.random.default_rng(9))
    assert mean_bits(asked) == pytest.approx(32 + math.log2(4) + math.log2(3), abs=0.01)
    assert math.fsum(question.weight for question in asked) == pytest.approx(1.0)
