"""Trees and covers, with the vectors of the specification."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tiers import examples

from ldpsql.algebra.boxes import Box, code_set
from ldpsql.estimators.trees import Tree, balance, cover_box, pad
from ldpsql_device.errors import SurveyError


@pytest.mark.parametrize(
    ("size", "fanout", "fanouts"),
    [
        (25, 5, (5, 5)),
        (125, 5, (5, 5, 5)),
        (625, 5, (5, 5, 5, 5)),
        (125, 4, (4, 4, 4, 2)),
        (125, 6, (5, 5, 5)),
        (125, 7, (5, 5, 5)),
        (74, 5, (5, 5, 3)),
        (99, 5, (5, 5, 4)),
        (100, 4, (4, 3, 3, 3)),
        (16, 5, (4, 4)),
        (17, 4, (3, 3, 2)),
        (64, 4, (4, 4, 4)),
        (1000, 10, (10, 10, 10)),
        (6, 5, (3, 2)),
        (1, 5, ()),
        (2, 2, (2,)),
    ],
)
def test_balanced_fanouts(size: int, fanout: int, fanouts: tuple[int, ...]) -> None:
    """docs/spec/h4mda.md#1.1."""
    assert balance(size, fanout).fanouts == fanouts


@pytest.mark.parametrize(
    ("size", "fanout", "counts"),
    [
        (125, 4, (1, 2, 8, 32, 125)),
        (125, 5, (1, 5, 25, 125)),
        (125, 6, (1, 4, 21, 125)),
        (125, 7, (1, 3, 18, 125)),
        (3, 5, (1, 3)),
        (1, 5, (1,)),
    ],
)
def test_padded_levels(size: int, fanout: int, counts: tuple[int, ...]) -> None:
    """docs/spec/h4mda.md#1.1."""
    assert pad(size, fanout).counts == counts


@settings(max_examples=examples(60))
@given(st.integers(1, 400), st.integers(2, 9))
def test_balanced_is_the_best_of_all_multisets(size: int, fanout: int) -> None:
    """Least height, then least product, then least sum, by brute force."""
    height = math.ceil(math.log(size, fanout) - 1e-9) if size > 1 else 0
    choices = [
        choice
        for choice in combinations_with_replacement(range(2, fanout + 1), height)
        if math.prod(choice) >= size
    ]
    best = min(choices, key=lambda choice: (math.prod(choice), sum(choice)))
    assert sorted(balance(size, fanout).fanouts) == sorted(best)


@pytest.mark.parametrize(
    ("tree", "interval", "cover"),
    [
        (Tree(125, (5, 5, 5)), (12, 56), {1: [1], 2: [3, 4, 10], 3: [12, 13, 14, 55]}),
        (Tree(74, (5, 5, 3)), (70, 74), {2: [24], 3: [70, 71]}),
        (Tree(74, (5, 5, 3)), (60, 74), {1: [4]}),
        (Tree(74, (5, 5, 3)), (0, 74), {0: [0]}),
    ],
)
def test_covers(tree: Tree, interval: tuple[int, int], cover: dict[int, list[int]]) -> None:
    """docs/spec/h4mda.md#1.5."""
    found = tree.cover((interval,))
    assert {level: nodes.tolist() for level, nodes in found.items()} == cover


@settings(max_examples=examples(200))
@given(st.data())
def test_a_cover_holds_exactly_its_codes_with_the_fewest_nodes(data: st.DataObject) -> None:
    """Every code once, and no full set of siblings is left uncombined."""
    size = data.draw(st.integers(1, 90))
    tree = data.draw(st.sampled_from([balance, pad]))(size, data.draw(st.integers(2, 7)))
    ends = data.draw(st.lists(st.integers(0, size), min_size=2, max_size=6))
    side = code_set(zip(sorted(ends)[::2], sorted(ends)[1::2], strict=False))
    covered: list[int] = []
    for level, nodes in tree.cover(side).items():
        width = tree.widths[level]
        for node in nodes.tolist():
            assert 0 <= node < tree.counts[level]
            covered += range(node * width, min((node + 1) * width, size))
        if level:
            fanout = tree.fanouts[level - 1]
            parents = {node // fanout for node in nodes.tolist()}
            for parent in parents:
                children = range(parent * fanout, min((parent + 1) * fanout, tree.counts[level]))
                assert not set(children) <= set(nodes.tolist())
    assert sorted(covered) == [code for low, high in side for code in range(low, high)]


def test_cells_are_products_of_covers() -> None:
    """Marking the records of every cell marks the box once."""
    trees = (balance(7, 2), balance(5, 3))
    box = Box((((1, 6),), ((0, 2), (3, 5))))
    marked = np.zeros((7, 5), dtype=int)
    for levels, nodes in cover_box(box, trees):
        widths = [tree.widths[level] for tree, level in zip(trees, levels, strict=True)]
        counts = [tree.counts[level] for tree, level in zip(trees, levels, strict=True)]
        assert nodes.max() < math.prod(counts)
        for node in nodes.tolist():
            x, y = divmod(node, counts[1])
            marked[x * widths[0] : (x + 1) * widths[0], y * widths[1] : (y + 1) * widths[1]] += 1
    expected = np.zeros((7, 5), dtype=int)
    expected[1:6, [0, 1, 3, 4]] = 1
    assert (marked == expected).all()


def test_leaves_have_one_level() -> None:
    """A flat mechanism covers a side by its codes."""
    leaves = Tree(6)
    assert leaves.cover(None)[0].tolist() == [0, 1, 2, 3, 4, 5]
    assert leaves.cover(((1, 3), (5, 6)))[0].tolist() == [1, 2, 5]


@pytest.mark.parametrize(("size", "fanouts"), [(0, ()), (5, (2, 2)), (5, (1, 5))])
def test_impossible_trees_are_refused(size: int, fanouts: tuple[int, ...]) -> None:
    """A tree must reach all codes, with fan-outs of at least 2."""
    with pytest.raises(SurveyError):
        Tree(size, fanouts)


@pytest.mark.parametrize("fanout", [1, 0, 4096])
def test_impossible_fanouts_are_refused(fanout: int) -> None:
    """The option `fanout` is checked."""
    for maker in (balance, pad):
        with pytest.raises(SurveyError, match="fanout"):
            maker(10, fanout)
