"""Workload energies and covers against brute force; the allocation of direct estimates."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from support.node_sources import moments_of

from ldpsql.algebra.boxes import Box, LinearQuery, Side
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import DeclaredQuery, QueryClass, Workload
from ldpsql.estimators.base import AnyDesign as Design
from ldpsql.estimators.groups import SHARE_UNITS
from ldpsql.estimators.nodes import NodeDesign
from ldpsql.estimators.trees import AxisDetails, Tree, average_cover, average_energies, balance
from ldpsql.mechanisms.hierarchical.allocation import (
    DirectAllocation,
    declared_energies,
    workload_energies,
)
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.report import question_shares
from ldpsql_device.epsilon import Epsilon
from ldpsql_lab.mechanisms.haar import HaarDesign, plan_of_levels

TREES = [balance(7, 3), balance(8, 2), Tree(11, (3, 2, 2)), balance(5, 5), balance(1, 2)]
KINDS = ("range", "prefix", "equality")


def sides(kind: str, size: int) -> list[Side]:
    """Every predicate of a kind."""
    if kind == "equality":
        return [((code, code + 1),) for code in range(size)]
    firsts = [0] if kind == "prefix" else range(size)
    return [((a, b),) for a in firsts for b in range(a + 1, size + 1)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tree", TREES, ids=lambda tree: f"{tree.size}")
def test_average_energies_are_those_of_all_predicates(kind: str, tree: Tree) -> None:
    """With the padding that a predicate reaching the last code covers."""
    brute = np.mean([AxisDetails(tree, s).energies for s in sides(kind, tree.size)], axis=0)
    assert average_energies(tree, kind) == pytest.approx(brute, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tree", TREES, ids=lambda tree: f"{tree.size}")
def test_average_covers_are_those_of_all_predicates(kind: str, tree: Tree) -> None:
    """Nodes per level of the fewest nodes that cover a side."""
    asked = sides(kind, tree.size)
    brute = np.zeros(len(tree.counts))
    for side in asked:
        for level, nodes in tree.cover(side).items():
            brute[level] += len(nodes) / len(asked)
    assert average_cover(tree, kind) == pytest.approx(brute, abs=1e-12)


def dense_energies(query: DeclaredQuery, trees: tuple[Tree, ...]) -> np.ndarray:
    """||P_l q||^2 from the whole indicator and dense projections."""
    cells = np.zeros(tuple(tree.widths[0] for tree in trees))
    for share, box in query.terms:
        part = np.ones(())
        for tree, side in zip(trees, box, strict=True):
            part = np.multiply.outer(part, AxisDetails(tree, side).means[-1])
        cells += share * part
    energies = np.zeros(tuple(len(tree.counts) for tree in trees))
    for levels in product(*(range(size) for size in energies.shape)):
        projected = cells
        for axis, (tree, level) in enumerate(zip(trees, levels, strict=True)):
            detail = averaging(tree, level) - (averaging(tree, level - 1) if level else 0.0)
            projected = np.moveaxis(np.tensordot(detail, projected, axes=(1, axis)), 0, axis)
        energies[levels] = np.sum(projected**2)
    return energies


def averaging(tree: Tree, level: int) -> np.ndarray:
    """The projection on the nodes of a level."""
    width = tree.widths[level]
    return np.kron(np.eye(tree.widths[0] // width), np.full((width, width), 1.0 / width))


MEASURED = RecordDomain(("x",), (13,), ("x", "pay"), ((-1.0, 1.0), (-1.0, 1.0)), (0, None))
PLANE = (balance(7, 3), balance(4, 2))
ELL = DeclaredQuery(
    0.5, ((1.0, (((1, 4),), ((0, 3),))), (1.0, (((4, 7),), ((0, 1),))), (-2.0, (((0, 1),), None)))
)


def test_a_declared_query_counts_the_cross_terms_of_its_boxes() -> None:
    """Two boxes side by side are not two independent queries."""
    exact = dense_energies(ELL, PLANE)
    assert declared_energies(ELL, PLANE) == pytest.approx(exact, abs=1e-9)
    alone = [DeclaredQuery(1.0, (term,)) for term in ELL.terms]
    without = sum(declared_energies(query, PLANE) for query in alone)
    assert np.abs(without - exact).max() > 0.1


def test_a_class_counts_by_the_kind_of_its_predicates() -> None:
    """The mean over all its queries, dense."""
    domain = RecordDomain(("x", "y"), (7, 4), (), (), ())
    entry = QueryClass(1.0, ((0, "prefix"), (1, "equality")))
    queries = [
        DeclaredQuery(1.0, ((1.0, (a, b)),))
        for a, b in product(sides("prefix", 7), sides("equality", 4))
    ]
    brute = np.mean([dense_energies(query, PLANE) for query in queries], axis=0)
    found = workload_energies(Workload(domain, (entry,)), PLANE).counts
    assert found == pytest.approx(brute, abs=1e-9)


SIGNED = RecordDomain(("x", "y"), (9, 4), ("x",), ((0.0, 8.0),), (0,))
PLAIN = RecordDomain(("x", "y"), (9, 4), (), (), ())
OPTIONS = {"fanout": 3, "inference": "direct"}


@pytest.mark.parametrize("name", ["hio", "ehio", "ahio"])
def test_the_best_shares_of_direct_estimates_beat_their_neighbours(name: str) -> None:
    """Moving users between groups never helps, and even shares are worse."""
    domain = PLAIN if name == "hio" else SIGNED
    design = mechanism(name).design(domain, Epsilon.parse("1"), OPTIONS)
    assert isinstance(design, NodeDesign)
    found = DirectAllocation(design.table, moments_of(design), Workload.everyday(domain))
    shares = found.optimal()
    least = found.gains(shares)[1]
    random = np.random.default_rng(3)
    for _ in range(50):
        moved = shares * np.exp(0.2 * random.normal(size=len(shares)))
        assert found.gains(moved / moved.sum())[1] > least * (1 - 2e-2)
    assert found.gains(np.full(len(shares), 1 / len(shares)))[1] > 1.05 * least


def test_the_objective_is_the_mean_leading_variance() -> None:
    """Against the planned nodes of every query of a small workload."""
    design = mechanism("hio").design(PLAIN, Epsilon.parse("1"), OPTIONS)
    assert isinstance(design, NodeDesign)
    entry = QueryClass(0.5, ((0, "range"), (1, "prefix")))
    workload = Workload(PLAIN, (entry,), (ELL_9,))
    shares = np.linspace(1.0, 2.0, len(design.table.groups))
    shares /= shares.sum()
    boxes = [Box((a, b)) for a in sides("range", 9) for b in sides("prefix", 4)]
    single = [leading(design, LinearQuery.count(box), shares) for box in boxes]
    declared = LinearQuery(tuple((share, Box(box)) for share, box in ELL_9.terms))
    brute = 0.5 * np.mean(single) + 0.5 * leading(design, declared, shares)
    found = DirectAllocation(design.table, moments_of(design), workload).gains(shares)[1]
    assert found == pytest.approx(brute, rel=1e-9)


ELL_9 = DeclaredQuery(0.5, ((1.0, (((1, 4),), ((0, 3),))), (3.0, (((4, 9),), ((0, 1),)))))


def leading(design: NodeDesign, query: LinearQuery, shares: np.ndarray) -> float:
    """Sum over groups of squared weights x node variance / share, from the plan."""
    planned = design.prepare(LinearQuery(tuple((s, b.normal((9, 4))) for s, b in query.terms)))
    return sum(
        float(np.sum(cells.weights**2))
        * moments_of(design)[cells.group].node_variance
        / shares[cells.group]
        for alternative in planned.alternatives
        for cells in alternative
    )


def test_a_survey_of_direct_estimates_can_be_allocated() -> None:
    """The option reaches the design, which answers its workload better than an even one."""
    even, best = (
        mechanism("hio").design(PLAIN, Epsilon.parse("1"), {**OPTIONS, "allocation": allocation})
        for allocation in ("uniform", "optimal")
    )
    boxes = [Box((a, b)) for a in sides("range", 9)[::3] for b in sides("range", 4)[::2]]
    queries = [LinearQuery.count(box.normal((9, 4))) for box in boxes]
    variances = [
        design.variance([design.prepare(query) for query in queries], 1000).mean()
        for design in (even, best)
    ]
    assert variances[1] < 0.9 * variances[0]


@pytest.mark.fast(1)
@pytest.mark.parametrize("domain", [RecordDomain(("x",), (13,), (), (), ()), MEASURED])
def test_haar_levels_are_allocated_by_what_the_workload_asks(domain: RecordDomain) -> None:
    """Better than evenly over all ranges, and moving the shares gains nothing."""
    boxes = [Box((side,)) for side in sides("range", 13)]
    kinds = [None, *range(len(domain.bounds))]
    share = 1.0 / len(kinds)
    asked = Workload(domain, tuple(QueryClass(share, ((0, "range"),), m) for m in kinds), ())
    queries = [LinearQuery.count(box.normal((13,))) for box in boxes]
    queries += [LinearQuery.sum(m, box) for m in kinds if m is not None for box in boxes]
    haar, one = mechanism("haarhrr"), Epsilon.parse("1")
    even = haar.design(domain, one, {}, asked)
    best = haar.design(domain, one, {"allocation": "optimal"}, asked)
    assert isinstance(best, HaarDesign)

    def mean_variance(design: Design) -> float:
        return float(design.variance([design.prepare(query) for query in queries], 1_000).mean())

    least = mean_variance(best)
    assert least < 0.97 * mean_variance(even)
    random = np.random.default_rng(1)
    for _ in range(30):
        moved = question_shares(best.plan) * np.exp(random.normal(0, 0.2, best.plan.questions))
        weights = tuple(round(share * SHARE_UNITS) for share in moved / moved.sum())
        other = replace(best, plan=plan_of_levels(best.layout, weights, one))
        assert mean_variance(other) > 0.999 * least


def test_the_repaired_lgrr_takes_the_allocation_of_hgrr() -> None:
    """Its own by default; the optimal one is better for what is asked."""
    one, maker = Epsilon.parse("1"), mechanism("lgrr-repaired")
    own, even, best = (
        maker.design(PLAIN, one, {"fanout": 3, **options})
        for options in ({}, {"allocation": "uniform"}, {"allocation": "optimal"})
    )
    assert isinstance(own, NodeDesign) and isinstance(best, NodeDesign)
    root, finest = own.table.sizes.index(1), int(np.argmax(own.table.sizes))
    e, nodes = float(one.odds), sum(own.table.sizes)
    forest = nodes + len(own.table.sizes) * (e - 1)
    assert own.table.shares[root] == pytest.approx(e / forest)
    assert own.table.shares[finest] == pytest.approx((own.table.sizes[finest] + e - 1) / forest)
    assert best.table.shares[root] < 0.01
    box = Box((((2, 7),), None)).normal((9, 4))
    found = [d.variance([d.prepare(LinearQuery.count(box))], 1_000)[0] for d in (own, even, best)]
    assert found[2] < found[1] < found[0]
