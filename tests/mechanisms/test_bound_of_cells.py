"""Bounds over few cells and on totals: valid, below every mechanism, and nearly reached."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ldpsql.algebra.least_error import sign_bound, spectral_bound
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import DeclaredQuery, QueryClass, Workload
from ldpsql.mechanisms.registry import mechanism
from ldpsql.mechanisms.staircase.bound_of_cells import bound_of_cells, largest_ratios
from ldpsql.mechanisms.staircase.bound_of_totals import bound_of_total, find_excess, least_variance
from ldpsql_device.epsilon import Epsilon

LINE = RecordDomain(("x",), (12,), (), (), ())
PAID = RecordDomain(("x",), (4,), ("pay",), ((0.0, 9.0),), (None,))
FEW = Workload(
    LINE,
    (),
    (
        DeclaredQuery(0.5, ((1.0, (((0, 4),),)),)),
        DeclaredQuery(0.3, ((1.0, (((3, 9),),)),)),
        DeclaredQuery(0.2, ((1.0, (((11, 12),),)),)),
    ),
)


def of(kind: str) -> Workload:
    return Workload(LINE, (QueryClass(1.0, ((0, kind),)),))


def test_the_largest_ratios_are_those_of_all_patterns() -> None:
    random = np.random.default_rng(3)
    root, prices = random.normal(size=(9, 4)), random.random(9) + 0.1
    patterns = np.arange(512)[:, None] >> np.arange(9) & 1 > 0
    levels = 1.0 + 3.0 * patterns
    people = random.random(9) + 0.5
    ratios = ((levels @ root) ** 2).sum(axis=1) / (levels @ people) / (levels @ prices)
    most, found = largest_ratios(root @ root.T, prices, 4.0, people, 5)
    assert most == pytest.approx(ratios.max(), rel=1e-12)
    best = {row.tobytes() for row in patterns[np.argsort(-ratios)[:5]]}
    assert {row.tobytes() for row in found} == best


@pytest.mark.fast(2)
@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "2.9"])
@pytest.mark.parametrize(
    "workload",
    [of("range"), of("prefix"), of("equality"), FEW],
    ids=["range", "prefix", "=", "few"],
)
def test_it_is_nearly_reached_and_sharper_than_by_eigenvalues(workload, epsilon) -> None:
    budget = Epsilon.parse(epsilon)
    least = bound_of_cells(workload, budget)
    found = mechanism("staircase").design(workload.domain, budget, {}, workload).mean_variance
    assert least < found < 1.05 * least
    assert least_variance(workload, budget) == max(least, sign_bound(workload, budget))
    if workload is FEW:
        assert least > 1.05 * sign_bound(workload, budget)


@pytest.mark.fast(1)
@pytest.mark.parametrize("size", [2, 3, 20])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "2.9"])
def test_cells_that_nothing_tells_apart_do_no_harm(size, epsilon) -> None:
    """A single question, whose answer is one bit: the least variance is that of two cells."""
    asked = ((0, max(size // 2, 1)),)
    workload = Workload(replace(LINE, sizes=(size,)), (), (DeclaredQuery(1.0, ((1.0, (asked,)),)),))
    budget = Epsilon.parse(epsilon)
    odds, share = float(budget.odds), asked[0][1] / size
    exact = odds / (odds - 1.0) ** 2 + share * (1.0 - share)
    least = bound_of_cells(workload, budget)
    assert least is None or 0.5 * exact < least <= exact * (1.0 + 1e-9)


def test_a_measure_that_nobody_asks_changes_nothing() -> None:
    budget, counted = Epsilon.parse("1"), (QueryClass(1.0, ((0, "range"),)),)
    bare = replace(PAID, measure_names=(), bounds=(), measured=())
    expected = least_variance(Workload(bare, counted), budget)
    assert least_variance(Workload(PAID, counted), budget) == expected


@pytest.mark.slow
def test_sums_among_two_levels_are_no_bound_on_more() -> None:
    """Three levels do better at epsilon 2 than the best that two can."""
    workload, two = Workload(PAID, (QueryClass(1.0, ((0, "equality"),), 0),)), Epsilon.parse("2")
    recipe, least = mechanism("staircase"), bound_of_cells(workload, two)
    assert least < recipe.design(PAID, two, {"levels": 2}, workload).mean_variance < 1.02 * least
    assert recipe.design(PAID, two, {}, workload).mean_variance < least
    assert least_variance(workload, two) < least


def test_not_for_many_cells_nor_one() -> None:
    one = Epsilon.parse("1")
    for sizes in ((21,), (1,)):
        workload = Workload(replace(LINE, sizes=sizes), (QueryClass(1.0, ((0, "range"),)),))
        assert bound_of_cells(workload, one) is None


DOMAIN = RecordDomain((), (), ("pay",), ((0.0, 80.0),), (None,))
TOTAL = Workload(DOMAIN, (QueryClass(1.0, (), 0),))


def test_the_largest_excess_is_that_of_some_pattern():
    """Of all 1,024 patterns of ten numbers."""
    random = np.random.default_rng(3)
    levels = 1.0 + 2.0 * (np.arange(1024)[:, None] >> np.arange(10) & 1)
    for _ in range(50):
        slopes, prices = random.normal(size=10), random.random(10) * random.choice([0.1, 1.0, 5.0])
        excess = (levels @ slopes) ** 2 / levels.sum(axis=1) - levels @ prices
        assert find_excess(slopes, prices, 3.0)[2].max() == pytest.approx(excess.max(), rel=1e-9)


@pytest.mark.fast(1)
@pytest.mark.parametrize("epsilon", ["1", "0.1", "0.5", "2", "2.9"])
def test_a_design_comes_near_the_bound_and_two_levels_do_not(epsilon):
    budget = Epsilon.parse(epsilon)
    least = least_variance(TOTAL, budget)
    assert least == bound_of_total(budget) > spectral_bound(TOTAL, budget)
    found = mechanism("staircase").design(DOMAIN, budget, {}, TOTAL).mean_variance
    assert least < found < 1.1 * least
    two = mechanism("staircase").design(DOMAIN, budget, {"levels": 2}, TOTAL).mean_variance
    assert two == pytest.approx(sign_bound(TOTAL, budget), rel=1e-6)
    assert two > found


def test_the_bound_is_not_above_what_published_mechanisms_have():
    """The Piecewise Mechanism's mean over numbers spread evenly, its own variance and theirs."""
    for epsilon in (0.5, 2.9):
        half = np.exp(epsilon / 2.0)
        piecewise = (1.0 / (half - 1.0) + 1.0) / 3.0 + (half + 3.0) / (3.0 * (half - 1.0) ** 2)
        assert bound_of_total(Epsilon.parse(str(epsilon))) < piecewise
