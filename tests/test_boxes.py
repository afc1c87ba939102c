"""Code sets and boxes, against Python's sets."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpsql.boxes import (
    Box,
    CodeSet,
    LinearQuery,
    Weight,
    cardinality,
    code_set,
    codes,
    complement,
    intersect,
)

SIZE = 12
members = st.sets(st.integers(0, SIZE - 1))


def expanded(chosen: CodeSet) -> set[int]:
    return {code for low, high in chosen for code in range(low, high)}


@settings(max_examples=200, deadline=None)
@given(members, members)
def test_code_sets_behave_like_sets(left: set[int], right: set[int]) -> None:
    """Union, intersection, complement and size; intervals are sorted and do not touch."""
    a, b = codes(left), codes(right)
    assert expanded(intersect(a, b)) == left & right
    assert expanded(complement(a, SIZE)) == set(range(SIZE)) - left
    assert cardinality(a) == len(left)
    union = code_set([*a, *b])
    assert expanded(union) == left | right
    assert all(first[1] < second[0] for first, second in itertools.pairwise(union))


@settings(max_examples=200, deadline=None)
@given(st.tuples(members, members), st.tuples(members, members))
def test_boxes_behave_like_sets_of_records(
    left: tuple[set[int], set[int]], right: tuple[set[int], set[int]]
) -> None:
    """Intersection, and a difference in disjoint pieces."""

    def records(box: Box) -> list[tuple[int, int]]:
        xs, ys = (expanded(side or ()) for side in box.sides)
        return [(x, y) for x in xs for y in ys]

    a = Box((codes(left[0]), codes(left[1])))
    b = Box((codes(right[0]), codes(right[1])))
    assert set(records(a & b)) == set(records(a)) & set(records(b))
    rest = [record for piece in a - b for record in records(piece)]
    assert len(rest) == len(set(rest))
    assert set(rest) == set(records(a)) - set(records(b))


def test_whole_and_free_sides() -> None:
    """A full side and a free one are the same thing, written in two ways."""
    whole = Box.whole(2)
    assert whole.is_whole
    assert whole.explicit((3, 4)).normal((3, 4)) == whole
    assert Box((((0, 2),), ())).is_empty
    with pytest.raises(ValueError, match="explicit"):
        whole - Box((((0, 1),), None))


def test_a_query_sums_one_thing() -> None:
    """A private measure or a public column, never both."""
    with pytest.raises(ValueError, match="not both"):
        LinearQuery((), measure=0, weight=Weight("pay"))
    with pytest.raises(ValueError, match="kind of weight"):
        Weight("pay", "log")
