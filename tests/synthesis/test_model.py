"""Junction trees, and the table of greatest entropy over them."""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np
import pytest
from support.significance import chi_square, chi_square_bound

from ldpsql.synthesis.model import JunctionTree, Model, choose_pairs, fit_model

SIZES = (3, 2, 4, 2)


def joint(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(48, 0.7)).reshape(SIZES)


def pair_of(table: np.ndarray, pair: tuple[int, ...]) -> np.ndarray:
    return table.sum(axis=tuple(a for a in range(table.ndim) if a not in pair))


def model_of(table: np.ndarray, edges: list[tuple[int, int]]) -> Model:
    tables = {(a,): pair_of(table, (a,)) for a in range(4)}
    tables |= {edge: pair_of(table, edge) for edge in edges}
    return fit_model(SIZES, JunctionTree.of(SIZES, edges), tables)


def full(model: Model) -> np.ndarray:
    """The joint table: clique tables over separators."""
    found = np.ones(SIZES)
    for clique, separator, belief in zip(
        model.tree.cliques, model.tree.separators, model.beliefs, strict=True
    ):
        places = list(range(4))
        found = found * belief.reshape([SIZES[a] if a in clique else 1 for a in places])
        over = belief.sum(axis=tuple(i for i, a in enumerate(clique) if a not in separator))
        found = found / over.reshape([SIZES[a] if a in separator else 1 for a in places])
    return found


def by_full_table(table: np.ndarray, edges: list[tuple[int, int]]) -> np.ndarray:
    """Proportional fitting of the whole table, from the even one."""
    found = np.full(SIZES, 1.0 / 48)
    for _ in range(500):
        for axes in [*((a,) for a in range(4)), *edges]:
            others = tuple(a for a in range(4) if a not in axes)
            shape = [SIZES[a] if a in axes else 1 for a in range(4)]
            found = found * (pair_of(table, axes) / found.sum(axis=others)).reshape(shape)
    return found


def test_a_chain_has_the_closed_form() -> None:
    """P(a, b, c, d) = P(ab) P(bc) P(cd) / (P(b) P(c)), and nothing of the other pairs."""
    table = joint(1)
    ab, bc, cd = (pair_of(table, pair) for pair in ((0, 1), (1, 2), (2, 3)))
    wanted = np.einsum("ab,bc,cd,b,c->abcd", ab, bc, cd, 1 / ab.sum(0), 1 / bc.sum(0))
    model = model_of(table, [(0, 1), (1, 2), (2, 3)])
    assert full(model) == pytest.approx(wanted, abs=1e-7)
    assert np.abs(wanted - table).max() > 1e-3


def test_without_edges_columns_are_independent() -> None:
    table = joint(2)
    wanted = np.einsum("a,b,c,d->abcd", *(pair_of(table, (a,)) for a in range(4)))
    assert full(model_of(table, [])) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize(
    "edges",
    [
        [(0, 1), (1, 2), (2, 3), (0, 3)],
        [(0, 1), (0, 2), (1, 2), (2, 3)],
        list(combinations(range(4), 2)),
    ],
)
def test_loops_are_fitted_as_the_whole_table_is(edges: list[tuple[int, int]]) -> None:
    table = joint(3)
    model = model_of(table, edges)
    assert full(model) == pytest.approx(by_full_table(table, edges), abs=1e-5)
    assert model.misfit < 1e-4
    for edge in edges:
        assert model.table(edge) == pytest.approx(pair_of(table, edge), abs=1e-4)


def test_cliques_agree_on_what_they_share() -> None:
    model = model_of(joint(4), [(0, 1), (1, 2), (2, 3), (0, 3)])
    for (one, left), (two, right) in combinations(
        zip(model.tree.cliques, model.beliefs, strict=True), 2
    ):
        both = set(one) & set(two)
        margins = [
            belief.sum(axis=tuple(i for i, a in enumerate(clique) if a not in both))
            for clique, belief in ((one, left), (two, right))
        ]
        assert margins[0] == pytest.approx(margins[1], abs=1e-12)


def test_tables_that_contradict_each_other_say_so() -> None:
    """Three pairs that no joint table has: a = b, b = c, a <> c."""
    same, other = np.eye(2) / 2 + 1e-9, np.eye(2)[::-1] / 2 + 1e-9
    edges = [(0, 1), (1, 2), (0, 2)]
    tables = {(0, 1): same, (1, 2): same, (0, 2): other}
    model = fit_model((2, 2, 2), JunctionTree.of((2, 2, 2), edges), tables)
    assert np.isfinite(model.beliefs[0]).all()
    assert model.misfit > 0.1


def counted(model: Model, count: int, seed: int) -> np.ndarray:
    cells = model.draw(count, np.random.default_rng(seed))
    flat = np.ravel_multi_index([cells[a] for a in range(4)], SIZES)
    return np.bincount(flat, minlength=48)


def test_draws_follow_the_model() -> None:
    """And, the control, not the table that the model leaves the other pairs of out."""
    table = joint(5)
    model = model_of(table, [(0, 1), (1, 2), (2, 3), (0, 3)])
    observed = counted(model, 40_000, 6)
    statistic, degrees = chi_square(observed, 40_000 * full(model).ravel())
    assert statistic < chi_square_bound(degrees)
    statistic, degrees = chi_square(observed, 40_000 * table.ravel())
    assert statistic > chi_square_bound(degrees)


def test_chances_are_those_of_the_joint_table() -> None:
    model = model_of(joint(7), [(0, 1), (1, 2), (2, 3), (0, 3)])
    whole = full(model)
    grid = np.indices(SIZES).reshape(4, -1)
    cells = {a: grid[a] for a in range(4)}
    for axis in (1, 3):
        turned = np.moveaxis(whole, axis, 0)
        wanted = np.broadcast_to(turned[1] / turned.sum(axis=0), turned.shape)
        found = np.moveaxis(model.chances(axis, cells).reshape(SIZES), axis, 0)
        assert found == pytest.approx(wanted, abs=1e-9)


# -- junction trees --------------------------------------------------------------------------------


def random_edges(axes: int, share: float, seed: int) -> list[tuple[int, int]]:
    random = np.random.default_rng(seed)
    return [pair for pair in combinations(range(axes), 2) if random.random() < share]


@pytest.mark.parametrize("seed", range(12))
def test_every_tree_covers_its_graph_and_runs_through(seed: int) -> None:
    """Each edge lies in a clique, and what a clique shares with earlier ones lies in its parent."""
    sizes = [2, 3, 2, 4, 2, 3, 2, 2]
    edges = random_edges(8, 0.1 + 0.05 * seed, seed)
    tree = JunctionTree.of(sizes, edges)
    assert {axis for clique in tree.cliques for axis in clique} == set(range(8))
    for edge in edges:
        assert set(edge) <= set(tree.cliques[tree.home(edge)])
    for place, clique in enumerate(tree.cliques):
        before = {axis for other in tree.cliques[:place] for axis in other}
        parent = tree.parents[place]
        assert set(tree.separators[place]) == set(clique) & before
        if parent is not None:
            assert parent < place
            assert set(tree.separators[place]) <= set(tree.cliques[parent])
    assert not any(set(a) < set(b) for a in tree.cliques for b in tree.cliques)


def test_a_cycle_is_triangulated() -> None:
    tree = JunctionTree.of([2] * 4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    assert sorted(map(len, tree.cliques)) == [3, 3]


def test_axes_without_edges_stand_alone() -> None:
    tree = JunctionTree.of([2, 3], [])
    assert tree.cliques == ((0,), (1,))
    assert tree.parents == (None, None)
    with pytest.raises(ValueError, match="no clique"):
        tree.home((0, 1))


def test_the_strongest_pairs_are_taken_while_there_is_room() -> None:
    sizes = [10, 10, 10]
    strengths = {(0, 1): 0.3, (0, 2): 0.1, (1, 2): 0.2}
    assert choose_pairs(sizes, strengths, 1000) == ((0, 1), (1, 2), (0, 2))
    assert choose_pairs(sizes, strengths, 999) == ((0, 1), (1, 2))
    assert choose_pairs(sizes, strengths, 150) == ((0, 1),)
    for largest in (150, 999, 1000):
        tree = JunctionTree.of(sizes, choose_pairs(sizes, strengths, largest))
        assert sum(prod(sizes[a] for a in clique) for clique in tree.cliques) <= largest


def test_every_axis_is_joined_before_any_loop_is_closed() -> None:
    """Ten strong pairs among five axes do not use up the room for the weak link of a sixth."""
    sizes = [4] * 6
    strengths = {**dict.fromkeys(combinations(range(5), 2), 1.0), (0, 5): 0.1}
    edges = choose_pairs(sizes, strengths, 5 * 16)
    assert (0, 5) in edges
    assert len(edges) == 5
