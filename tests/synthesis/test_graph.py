"""Junction trees."""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np
import pytest

from ldpsql.synthesis.graph import JunctionTree, chosen


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
    strengths = [(0.3, (0, 1)), (0.1, (0, 2)), (0.2, (1, 2))]
    assert chosen(sizes, strengths, 1000) == ((0, 1), (1, 2), (0, 2))
    assert chosen(sizes, strengths, 999) == ((0, 1), (1, 2))
    assert chosen(sizes, strengths, 150) == ((0, 1),)
    for largest in (150, 999, 1000):
        tree = JunctionTree.of(sizes, chosen(sizes, strengths, largest))
        assert sum(prod(sizes[a] for a in clique) for clique in tree.cliques) <= largest


def test_every_axis_is_joined_before_any_loop_is_closed() -> None:
    """Ten strong pairs among five axes do not use up the room for the weak link of a sixth."""
    sizes = [4] * 6
    strengths = [(1.0, pair) for pair in combinations(range(5), 2)] + [(0.1, (0, 5))]
    edges = chosen(sizes, strengths, 5 * 16)
    assert (0, 5) in edges
    assert len(edges) == 5
