"""From a workload to a table: close to the bound, nothing lost by pruning, rounded exactly."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from support.fourier_designs import UNITS, domain_of

from ldpsql.mechanisms.fourier import finish
from ldpsql.mechanisms.fourier.components import Products
from ldpsql.mechanisms.fourier.demand import demand, floor
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.dictionary import Dictionary
from ldpsql.mechanisms.fourier.finish import designed, table_of
from ldpsql.mechanisms.fourier.folding import Folding
from ldpsql.mechanisms.fourier.layout import group_of
from ldpsql.mechanisms.fourier.mechanism import Fourier
from ldpsql.mechanisms.fourier.optimise import Problem
from ldpsql.workload import Kind, QueryClass, Workload
from ldpsql_device.epsilon import Epsilon

STEPS = 600


def everything(sizes: tuple[int, ...], kind: Kind) -> Workload:
    """A predicate of the kind on every dimension."""
    entry = QueryClass(1.0, tuple((axis, kind) for axis in range(len(sizes))))
    return Workload(domain_of(sizes), (entry,), (), len(sizes))


def error(design: FourierDesign, workload: Workload) -> float:
    """v: variance per person, mean over the workload and over types."""
    known = design.collected.information
    needed = demand(workload, design.group)
    total = sum(
        float((own[own > 0.0] / known[face][own > 0.0]).sum())
        for face, own in needed.items()
        if own.any()
    )
    return total + floor(workload, design.group)


def bound(design: FourierDesign, workload: Workload) -> float:
    """LBti of section 1.3; the trace of a family's information is largest at one subset size."""
    cells, odds = prod(design.group.orders), design.odds
    sizes = np.arange(1, cells)
    traces = cells * (cells + (odds**2 - 1) * sizes) / (cells + (odds - 1) * sizes) ** 2 - 1
    roots = sum(float(np.sqrt(own).sum()) for own in demand(workload, design.group).values())
    return float(roots**2 / traces.max()) + floor(workload, design.group)


def made(sizes: tuple[int, ...], kind: Kind, epsilon: str) -> tuple[FourierDesign, Workload]:
    workload = everything(sizes, kind)
    return Fourier().design(workload.domain, Epsilon.parse(epsilon), {}, workload), workload


@pytest.mark.parametrize(
    ("size", "epsilon", "expected"),
    [
        (16, "0.5", 28.0654),
        (16, "1", 6.4891),
        (16, "2", 1.1748),
        (64, "0.5", 59.051),
        (64, "1", 13.752),
        (64, "2", 2.5788),
        (256, "0.5", 102.38),
        (256, "1", 23.931),
        (256, "2", 4.5728),
    ],
)
def test_ranges_on_a_line(size: int, epsilon: str, expected: float) -> None:
    """The errors of section 12, and at most 1 % (5 % at epsilon 2) above the bound."""
    design, workload = made((size,), "range", epsilon)
    found = error(design, workload)
    assert found == pytest.approx(expected, rel=3e-3)
    ratio = found / bound(design, workload)
    assert 1.0 - 1e-9 <= ratio <= (1.05 if epsilon == "2" else 1.01)


@pytest.mark.parametrize(
    ("sizes", "kind", "epsilon", "most"),
    [
        ((16, 16), "range", "1", 1.03),
        ((16, 16), "range", "2", 1.06),
        ((8, 8, 4), "equality", "1", 1.005),
        ((8, 8, 4), "equality", "2", 1.005),
        ((16,), "equality", "2", 1.005),
        ((16, 16, 16), "range", "1", 1.07),
    ],
)
def test_several_dimensions_and_equality(
    sizes: tuple[int, ...], kind: Kind, epsilon: str, most: float
) -> None:
    design, workload = made(sizes, kind, epsilon)
    assert 1.0 - 1e-9 <= error(design, workload) / bound(design, workload) <= most


def test_without_scrambled_families_equality_is_far_from_the_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The negative control: section 1.4.6."""
    monkeypatch.setattr(Dictionary, "_scrambled", lambda self, block: iter(()))
    design, workload = made((8, 8, 4), "equality", "2")
    assert error(design, workload) / bound(design, workload) > 1.05


# -- pruning ---------------------------------------------------------------------------------------


def signed(sizes: tuple[int, ...]) -> Workload:
    """Counts and sums with ranges on every dimension."""
    predicates = tuple((axis, "range") for axis in range(len(sizes)))
    domain = domain_of(sizes, ((0.0, 1.0),))
    classes = (QueryClass(0.5, predicates), QueryClass(0.5, predicates, 0))  # type: ignore[arg-type]
    return Workload(domain, classes, (), len(sizes))


def problem_of(workload: Workload, odds: float) -> Problem:
    group = group_of(workload.domain, workload, 4096)
    folding = Folding(group)
    needed = folding.folded(demand(workload, group))
    dictionary = Dictionary(folding, needed, odds, frozenset())
    return Problem(folding, needed, floor(workload, group), dictionary.components())


@pytest.mark.parametrize("cells", [1_000, 2_000])
def test_nothing_that_is_needed_is_lost_by_pruning(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A budget of few report cells drops whole frequencies; the coverage rule restores them."""
    monkeypatch.setattr(finish, "MOST_CELLS", cells)
    problem = problem_of(signed((12, 12)), float(np.e))
    weights = problem.solve(problem.start(), STEPS)
    needed = problem.demand > 0.0
    dropped = problem.information(finish._heaviest(problem, weights))
    assert (dropped[needed] <= 0.0).any(), "the case must be one where the rule acts"
    before = problem.information(weights)
    problem, kept = finish._pruned(problem, weights, STEPS)
    after = problem.information(kept)
    assert (after[needed] > 0.05 * before[needed]).all()
    assert problem.objective(after) < 2.0 * problem.objective(before)


def test_the_middle_of_a_signed_plane_is_informed() -> None:
    """Section 1.4.5: (32, 32, 1) of 64 x 64 x 2 is reached by its own character only."""
    workload = signed((64, 64))
    group = group_of(workload.domain, workload, 4096)
    design = FourierDesign(
        workload.domain, Epsilon.parse("1"), workload, group, designed(group, workload, float(np.e))
    )
    for face, own in demand(workload, group).items():
        assert (design.collected.information[face][own > 0.0] > 0.0).all()
    assert design.collected.information[(0, 1, 2)][31, 31, 0] > 1e-6
    assert error(design, workload) < 1.1 * bound(design, workload)


def test_pruning_costs_little() -> None:
    """Of the optimum over the whole dictionary."""
    problem = problem_of(signed((10, 9)), float(np.exp(2.0)))
    weights = problem.solve(problem.start(), STEPS)
    best = problem.objective(problem.information(weights)) + problem.floor
    problem, kept = finish._pruned(problem, weights, STEPS)
    assert problem.objective(problem.information(kept)) + problem.floor <= best * 1.005
    assert sum(float(own.sum()) for own in kept) == pytest.approx(1.0)


def test_weights_are_whole_and_the_rest_goes_to_the_heaviest() -> None:
    problem = problem_of(signed((4,)), float(np.e))
    weights = problem.start()
    weights[0] = np.where(np.arange(weights[0].size).reshape(weights[0].shape) == 0, 1e-25, 0.0)
    total = sum(float(own.sum()) for own in weights)
    table = table_of([own / total for own in weights], problem.components)
    assert sum(table.weights) == UNITS
    assert min(table.weights) == 1
    positive = np.concatenate(
        [part.weights for part in finish._emitted(weights, problem.components)]
    )
    assert len(positive) == len(table.weights)
    np.testing.assert_allclose(table.shares, positive / positive.sum(), atol=1e-6)


def test_a_workload_that_needs_nothing_still_has_a_design() -> None:
    """One code: everything there is to know is known."""
    workload = Workload.everyday(domain_of((1,)))
    design = Fourier().design(workload.domain, Epsilon.parse("1"), {}, workload)
    assert len(design.table.weights) >= 1


def test_pruning_never_takes_all_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where characters are too many for an arc each, only products tell about every frequency."""
    problem = problem_of(everything((10, 9), "range"), float(np.e))
    weights = problem.solve(problem.start(), 50)
    monkeypatch.setattr(finish, "_CANDIDATES", -(10**9))
    kept = finish._heaviest(problem, weights)
    sizes = [
        int((own > 0.0).sum())
        for component, own in zip(problem.components, kept, strict=True)
        if isinstance(component, Products)
    ]
    assert sizes == [finish._SPANNING]
    assert sum(float(own.sum()) for own in kept) == pytest.approx(1.0)
