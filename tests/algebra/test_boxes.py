"""Code sets against Python's sets, and boxes against the records that lie in them."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpsql.algebra.boxes import (
    NOTHING,
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
SIZES = (4, 3, 2)
RECORDS = set(product(*(range(size) for size in SIZES)))

members = st.sets(st.integers(0, SIZE - 1))


def held(chosen: CodeSet) -> set[int]:
    """The codes of a code set; none may be held twice."""
    found = [code for low, high in chosen for code in range(low, high)]
    assert len(found) == len(set(found))
    return set(found)


def is_canonical(chosen: CodeSet) -> bool:
    """Sorted, disjoint, not touching, no empty interval."""
    ends = [end for interval in chosen for end in interval]
    return all(left < right for left, right in pairwise(ends))


# -- code sets -----------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(-3, SIZE), st.integers(-3, SIZE))))
def test_code_sets_are_unions_in_canonical_form(intervals: list[tuple[int, int]]) -> None:
    """In any order, overlapping, touching, or empty."""
    chosen = code_set(intervals)
    assert is_canonical(chosen)
    assert held(chosen) == {code for low, high in intervals for code in range(low, high)}


@given(members)
def test_single_codes_make_a_code_set(chosen: set[int]) -> None:
    """Equal sets have equal code sets, whatever the order and however often a code is named."""
    assert held(codes(chosen)) == chosen
    assert is_canonical(codes(chosen))
    assert codes([*sorted(chosen, reverse=True), *chosen]) == codes(chosen)
    assert cardinality(codes(chosen)) == len(chosen)


@given(members, members)
def test_intersections_are_those_of_sets(left: set[int], right: set[int]) -> None:
    """In canonical form."""
    assert intersect(codes(left), codes(right)) == codes(left & right)


@given(members)
def test_complements_are_those_of_sets(chosen: set[int]) -> None:
    """Within 0 .. SIZE - 1; twice gives the set back."""
    assert complement(codes(chosen), SIZE) == codes(set(range(SIZE)) - chosen)
    assert complement(complement(codes(chosen), SIZE), SIZE) == codes(chosen)


# -- boxes ---------------------------------------------------------------------------------------


def sides(size: int) -> st.SearchStrategy[CodeSet]:
    """A side with any of `size` codes, none and all of them included."""
    return st.sets(st.integers(0, size - 1)).map(codes)


free_or_not = st.tuples(*(st.none() | sides(size) for size in SIZES)).map(Box)


def records(box: Box) -> set[tuple[int, ...]]:
    """The records inside."""
    allowed = [
        range(size) if side is None else held(side)
        for side, size in zip(box.sides, SIZES, strict=True)
    ]
    return set(product(*allowed))


@given(free_or_not, free_or_not)
def test_intersections_hold_what_both_boxes_hold(left: Box, right: Box) -> None:
    """Free sides take the other's."""
    assert records(left & right) == records(left) & records(right)


@given(free_or_not)
def test_full_sides_can_be_left_out(box: Box) -> None:
    """Both forms hold the same records, and the normal one is a fixed point."""
    normal = box.normal(SIZES)
    assert records(normal) == records(box)
    assert normal == normal.normal(SIZES)
    full = Box(
        tuple(
            ((0, size),) if side is None else side
            for side, size in zip(box.sides, SIZES, strict=True)
        )
    )
    assert full.normal(SIZES) == normal


@given(free_or_not)
def test_empty_and_whole_boxes_are_known(box: Box) -> None:
    """By their sides."""
    assert box.is_empty == (not records(box))
    assert box.normal(SIZES).is_whole == (records(box) == RECORDS)


def test_boxes_of_no_dimension() -> None:
    """A survey of measures only: one record, which every box holds."""
    assert Box.whole(0).is_whole
    assert not Box.whole(0).is_empty
    assert (Box(()) & Box(())) == Box(())


# -- linear queries ------------------------------------------------------------------------------


def test_queries_take_every_box_once() -> None:
    """COUNT and SUM over disjoint boxes; over no box they are 0."""
    left, right = Box((((0, 1),),)), Box((((2, 3),),))
    assert LinearQuery.count(left, right).terms == ((1.0, left), (1.0, right))
    assert LinearQuery.count().terms == ()
    assert LinearQuery.sum(1, left) == LinearQuery(((1.0, left),), measure=1)


def test_a_query_sums_a_measure_or_a_column() -> None:
    """Not both."""
    with pytest.raises(ValueError, match="not both"):
        LinearQuery(((1.0, Box((NOTHING,))),), measure=0, weight=Weight("price"))
