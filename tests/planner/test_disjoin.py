from __future__ import annotations

from importlib import import_module
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tiers import examples

from ldpsql.algebra.boxes import Box, codes
from ldpsql.errors import UnsupportedSQL
from ldpsql.planner.disjoin import cut, disjoint, outside

MODULE = import_module("ldpsql.planner.disjoin")
SIZES = (4, 3, 5)
CELLS = list(product(*map(range, SIZES)))


def sides(size: int) -> st.SearchStrategy[Any]:
    return st.none() | st.sets(st.integers(0, size - 1)).map(codes)


BOXES = st.lists(st.tuples(*map(sides, SIZES)).map(Box), max_size=6)


def members(boxes: Any) -> list[tuple[int, ...]]:
    """The cells of boxes, as often as they lie in one."""
    return sorted(cell for box in boxes for cell in CELLS if _inside(cell, box))


def _inside(cell: tuple[int, ...], box: Box) -> bool:
    return all(
        side is None or any(low <= code < high for low, high in side)
        for code, side in zip(cell, box.sides, strict=True)
    )


@given(BOXES)
@settings(max_examples=examples(300), derandomize=True, database=None)
def test_every_record_lies_in_one_box_exactly_if_it_lay_in_any(boxes: list[Box]) -> None:
    expected = sorted(set(members(boxes)))
    assert members(disjoint(boxes, SIZES)) == expected
    assert members(cut(boxes, SIZES)) == expected
    assert members(outside(boxes, SIZES)) == [cell for cell in CELLS if cell not in expected]


@given(BOXES, st.randoms(use_true_random=False))
@settings(max_examples=examples(200), derandomize=True, database=None)
def test_the_result_depends_on_the_set_alone(boxes: list[Box], random: Any) -> None:
    expected = disjoint(boxes, SIZES)
    shuffled = random.sample(boxes, len(boxes))
    single = [Box(tuple(codes([code]) for code in cell)) for cell in set(members(boxes))]
    assert disjoint(shuffled, SIZES) == expected
    assert disjoint([*shuffled, *boxes], SIZES) == expected
    assert disjoint(single, SIZES) == expected


@given(BOXES)
@settings(max_examples=examples(200), derandomize=True, database=None)
def test_boxes_are_normal_sorted_and_no_two_differ_in_one_side_only(boxes: list[Box]) -> None:
    found = disjoint(boxes, SIZES)
    for box in found:
        assert box == box.normal(SIZES)
        assert not box.is_empty
    for left, right in product(found, found):
        differing = sum(a != b for a, b in zip(left.sides, right.sides, strict=True))
        assert left == right or differing >= 2
    keys = [tuple(side or () for side in box.sides) for box in found]
    assert all(low < high for low, high in pairwise(keys))


def test_the_order_of_dimensions_that_needs_the_fewest_boxes_is_taken() -> None:
    # Cut along the first dimension this is one box per code; along the second it is two.
    first, second = codes([0, 2]), codes([1, 2, 3])
    boxes = [Box((first, codes([0]), None)), Box((second, codes([2]), None))]
    assert len(disjoint(boxes, SIZES)) == 2


def test_too_many_boxes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    diagonal = [Box((codes([i]), codes([i]))) for i in range(50)]
    assert len(disjoint(diagonal, (50, 50))) == 50
    monkeypatch.setattr(MODULE, "MAX_BOXES", 49)
    with pytest.raises(UnsupportedSQL, match="more than 49 boxes"):
        disjoint(diagonal, (50, 50))


def test_too_much_work_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "_MAX_STEPS", 100)
    with pytest.raises(UnsupportedSQL):
        disjoint([Box((codes([i]), codes([i]))) for i in range(101)], (101, 101))
