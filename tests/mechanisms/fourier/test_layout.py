"""How a record domain becomes a group: bins, padding, blocks."""

from __future__ import annotations

from math import lcm

import numpy as np
import pytest
from support.fourier_designs import domain_of

from ldpsql.mechanisms.fourier.layout import LARGEST_ORDER, MOST_PADDING, group_of
from ldpsql.workload import DeclaredQuery, QueryClass, Workload
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import RecordDomain


def test_exact_sizes_are_kept_where_orders_stay_small() -> None:
    domain = domain_of((12, 7, 1))
    group = group_of(domain, Workload.everyday(domain), 4096)
    assert (group.orders, group.bins, group.sizes) == ((12, 7, 1), (12, 7, 1), (12, 7, 1))
    assert group.blocks == ((0, 1),)


def test_awkward_sizes_are_padded() -> None:
    """Specification 6.1: (100, 73, 24) becomes (108, 81, 24), largest order 324."""
    domain = domain_of((100, 73, 24))
    group = group_of(domain, Workload.everyday(domain), 4096)
    assert group.orders == (108, 81, 24)
    assert group.bins == (100, 73, 24)
    assert lcm(108, 81) == 324


def test_padding_is_never_too_dear_and_one_axis_needs_none() -> None:
    domain = domain_of((1021,))
    assert group_of(domain, Workload.everyday(domain), 4096).orders == (1021,)
    for size in range(33, 200):
        domain = domain_of((size, 127))
        group = group_of(domain, Workload.everyday(domain), 4096)
        assert size <= group.orders[0] <= size * (1 + MOST_PADDING)
        if lcm(size, 127) <= LARGEST_ORDER:
            assert group.orders[0] == size


@pytest.mark.parametrize(
    ("size", "most", "bins"), [(10, 10, 10), (10, 4, 4), (11, 10, 6), (65536, 4096, 4096)]
)
def test_large_axes_are_made_coarse(size: int, most: int, bins: int) -> None:
    domain = domain_of((size,))
    group = group_of(domain, Workload.everyday(domain), most)
    assert group.bins == (bins,) == group.orders
    width = group.width(0)
    assert (bins - 1) * width < size <= bins * width


def test_every_measure_has_a_block_of_its_own() -> None:
    domain = domain_of((4, 5), ((0.0, 1.0), (0.0, 2.0)))
    group = group_of(domain, Workload.everyday(domain), 4096)
    assert group.orders == (4, 5, 2, 2)
    assert group.blocks == ((0, 1, 2), (0, 1, 3))


def test_blocks_are_the_largest_questions() -> None:
    domain = domain_of((4, 5, 6))
    classes = (QueryClass(0.5, ((0, "range"), (2, "range"))), QueryClass(0.25, ((2, "range"),)))
    declared = (DeclaredQuery(0.25, ((1.0, (None, ((1, 2),), None)),)),)
    workload = Workload(domain, classes, declared, 2)
    assert set(group_of(domain, workload, 4096).blocks) == {(0, 2), (1,)}


def test_a_domain_of_one_code_or_measures_alone() -> None:
    one = domain_of((1,))
    group = group_of(one, Workload.everyday(one), 4096)
    assert (group.orders, group.bins, group.blocks) == ((2,), (1,), ((0,),))
    alone = domain_of((), ((0.0, 1.0),))
    group = group_of(alone, Workload.everyday(alone), 4096)
    assert (group.orders, group.bins, group.blocks) == ((2,), (), ((0,),))


def test_values_without_an_order_are_never_merged() -> None:
    """NULL and the values of a category keep bins of their own on coarse axes."""
    domain = RecordDomain(("x", "c"), (101, 40), (), (), (), (1, 40))
    group = group_of(domain, Workload.everyday(domain), 16)
    assert group.bins == (16, 40)
    assert group.edges(0).tolist() == [*range(0, 99, 7), 100, 101]
    np.testing.assert_array_equal(group.bin_weights(((100, 101),), 0), np.eye(16)[15])
    np.testing.assert_array_equal(group.bin_weights(((3, 4),), 1), np.eye(40)[3])
    many = RecordDomain(("c",), (9000,), (), (), (), (9000,))
    with pytest.raises(SurveyError, match="without an order"):
        group_of(many, Workload.everyday(many), 16)
