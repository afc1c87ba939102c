"""Which candidates there are, and candidates in bulk against the families that they emit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from support.fourier_designs import domain_of, table_of

from ldpsql.algebra.workload import Workload
from ldpsql.mechanisms.fourier import candidates
from ldpsql.mechanisms.fourier.candidates import (
    ArcBundle,
    Component,
    Dictionary,
    ListedSets,
    Products,
)
from ldpsql.mechanisms.fourier.families import FamilyTable
from ldpsql.mechanisms.fourier.folding import Folding
from ldpsql.mechanisms.fourier.group import gather_faces
from ldpsql.mechanisms.fourier.listed import ListedQuestions
from ldpsql.mechanisms.fourier.optimise import find_equality_axes
from ldpsql.mechanisms.fourier.recipe import group_of
from ldpsql.mechanisms.fourier.spectra import demand
from ldpsql_device.plan import LARGEST_LISTED

ODDS = float(np.exp(1.2))
WORKLOADS = {
    "12": Workload.everyday(domain_of((12,))),
    "6x5": Workload.everyday(domain_of((6, 5)), max_predicates=2),
    "6x4 equality x range": Workload.everyday(domain_of((6, 4)), {0: "equality"}),
    "4x3 equality": Workload.everyday(domain_of((4, 3)), {0: "equality", 1: "equality"}),
    "5, signed": Workload.everyday(domain_of((5,), ((0.0, 1.0),)), {0: "equality"}),
    "4x3x5": Workload.everyday(domain_of((4, 3, 5)), max_predicates=3),
    "3x4x3, pairs": Workload.everyday(domain_of((3, 4, 3)), max_predicates=2),
}


def dictionary(workload: Workload, epsilon: float) -> Dictionary:
    group = group_of(workload.domain, workload, 4096)
    folding = Folding(group)
    needed = folding.fold_faces(demand(workload, group))
    return Dictionary(folding, needed, float(np.exp(epsilon)), find_equality_axes(workload))


def components() -> Iterator[tuple[str, Component]]:
    for name, workload in WORKLOADS.items():
        for number, component in enumerate(dictionary(workload, 1.2).components()):
            yield f"{name}-{number}-{type(component).__name__}", component


COMPONENTS = dict(components())
KINDS = {type(component).__name__ for component in COMPONENTS.values()}


def some_weights(component: Component) -> np.ndarray:
    """Positive on at most forty of the candidates."""
    random = np.random.default_rng(8)
    weights = np.zeros(component.shape)
    allowed = np.flatnonzero(component.start(np.ones(component.folding.classes + 1), 1.0))
    chosen = random.choice(allowed, min(40, len(allowed)), replace=False)
    weights.ravel()[chosen] = random.random(len(chosen)) + 0.1
    return weights / weights.sum()


def told(component: Component, weights: np.ndarray) -> np.ndarray:
    into = np.zeros(component.folding.classes + 1)
    component.inform(weights, into)
    return into


def test_all_structures_are_looked_at() -> None:
    assert {"ArcBundle", "Products", "ListedSets"} == KINDS


@pytest.mark.parametrize("name", list(COMPONENTS))
def test_information_is_that_of_the_emitted_families(name: str) -> None:
    """Symmetric in every axis, and class by class what the optimiser counted."""
    component = COMPONENTS[name]
    folding: Folding = component.folding
    weights = some_weights(component)
    group = component.folding.group
    listed = ListedQuestions(group, table_of(component.emit(weights)), ODDS)
    found = gather_faces(dict(listed.information()))
    faces = {
        face: np.zeros([order - 1 for order in folding.group.shape(face)])
        for face in folding.group.faces
    }
    for face, values in found.items():
        for axis in range(values.ndim):
            np.testing.assert_allclose(values, np.flip(values, axis), atol=1e-8)
        faces[face] = values
    expected = folding.fold_faces(faces)
    np.testing.assert_allclose(told(component, weights)[:-1], expected[:-1], atol=1e-8)


@pytest.mark.parametrize("name", list(COMPONENTS))
def test_gains_are_the_adjoint_of_information(name: str) -> None:
    component = COMPONENTS[name]
    weights = some_weights(component)
    slope = np.random.default_rng(3).random(component.folding.classes + 1)
    slope[-1] = 0.0
    left = float((component.gains(slope, slope * component.folding.multiplicity) * weights).sum())
    right = float((told(component, weights) * slope * component.folding.multiplicity).sum())
    assert left == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("name", list(COMPONENTS))
def test_emitted_families_are_families_with_the_cells_they_were_said_to_have(name: str) -> None:
    component = COMPONENTS[name]
    weights = some_weights(component)
    emitted = component.emit(weights)
    assert sum(part.weights.sum() for part in emitted) == pytest.approx(1.0)
    cells = 0
    for part in emitted:
        FamilyTable([part.cluster], part.weights)
        assert (part.weights > 0.0).all()
        cells += len(part.cluster) * part.cluster.phases
    said = np.broadcast_to(component.copies * component.phases, weights.shape)
    said = said[weights > 0.0].sum()
    if type(component).__name__ == "Products":
        assert cells <= said
    else:
        assert cells == said


def kinds(workload: Workload, epsilon: float) -> set[str]:
    """What kinds of candidates there are, products by the axes of their factors."""
    found = set()
    for component in dictionary(workload, epsilon).components():
        if isinstance(component, ArcBundle):
            found.add(f"arcs of {len(component.axes)}")
        elif isinstance(component, ListedSets):
            cluster = component.cluster
            found.add(f"{cluster.base} {len(cluster.factors)}:{cluster.orders[-1] > 1}")
        else:
            found.add("x".join(str(len(factor.axes)) for factor in component.factors))
    return found


LINE, CUBE = domain_of((12,)), domain_of((4, 5, 6))


def test_kinds_by_workload_and_epsilon() -> None:
    """Section 2.2: combs on one axis at epsilon >= 1, pair-arcs at d >= 3 and epsilon >= 3/4,
    scrambled families on what is asked by equality only."""
    ranges = Workload.everyday(LINE)
    assert kinds(ranges, 0.9) == {"arcs of 1"}
    assert kinds(ranges, 1.0) == {"arcs of 1", "comb 1:True"}
    three = Workload.everyday(CUBE, max_predicates=3)
    arcs = {"arcs of 1", "arcs of 2", "arcs of 3"}
    assert kinds(three, 0.7) == arcs | {"1x1", "1x1x1"}
    assert kinds(three, 0.75) == arcs | {"1x1", "1x1x1", "2x1"}
    assert kinds(Workload.everyday(CUBE), 1.0) == {"arcs of 1", "arcs of 2", "1x1"}
    assert "scrambled 2:False" in kinds(Workload.everyday(LINE, {0: "equality"}), 1.0)
    mixed = kinds(Workload.everyday(domain_of((4, 5)), {0: "equality"}), 1.0)
    assert {"scrambled 2:False", "scrambled 2:True"} <= mixed


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 6.0])
def test_every_frequency_that_is_needed_has_arcs(epsilon: float) -> None:
    """With widths from t0 r to half the circle."""
    made = dictionary(Workload.everyday(domain_of((9, 8)), max_predicates=2), epsilon)
    reached = set()
    for component in made.components():
        if isinstance(component, ArcBundle):
            reached |= set(component.harmonics[:, 0].tolist())
            assert component.lengths.min() >= 1
            assert component.lengths.max() <= max(component.order // 2, 1)
            ideal = component.order / (made.odds + 1.0)
            assert max(1, int(ideal)) in component.lengths
    assert reached == set(np.flatnonzero(made.demand > 0.0).tolist())


def test_products_hold_a_fraction_near_the_ideal() -> None:
    made = dictionary(Workload.everyday(domain_of((9, 8)), max_predicates=2), 1.5)
    ideal = 1.0 / (made.odds + 1.0)
    products = [c for c in made.components() if isinstance(c, Products)]
    assert products
    for component in products:
        fraction = np.multiply.outer(*(factor.fractions for factor in component.factors))
        used = component.scale > 0.0
        single = np.multiply.outer(*(1.0 / factor.orders for factor in component.factors))
        assert ((fraction[used] <= 0.5) | np.isclose(fraction, single)[used]).all()
        assert ((fraction[used] >= ideal / 2) | np.isclose(fraction, single)[used]).all()


def test_what_only_some_queries_ask_by_equality_is_not_listed() -> None:
    domain = domain_of((6, 5))
    workload = Workload.everyday(domain, {0: "equality", 1: "prefix"})
    assert find_equality_axes(workload) == {0}
    assert find_equality_axes(Workload.everyday(domain)) == frozenset()


def test_base_sets_that_no_device_takes_are_not_listed() -> None:
    """Combs and subsets of more codes than a plan may list."""
    for kind in ("range", "equality"):
        workload = Workload.everyday(domain_of((LARGEST_LISTED + 1,)), {0: kind})
        group = group_of(workload.domain, workload, 1 << 24)
        folding = Folding(group)
        needed = np.ones(folding.classes + 1)
        made = Dictionary(folding, needed, float(np.e**2), find_equality_axes(workload))
        assert not [*made._combs((0,)), *made._scramble((0,))]


def test_sets_that_are_listed_share_what_memory_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the most candidates go first; every face keeps candidates of other kinds."""
    sizes = (4, 5, 6, 7)
    workload = Workload.everyday(domain_of(sizes), {0: "equality", 1: "equality"}, max_predicates=3)
    made = dictionary(workload, 1.0)

    def listed() -> dict[tuple[int, ...], int]:
        own = [c for c in made.components() if isinstance(c, ListedSets)]
        return {c.cluster.factors: c.factors[0].powers.size for c in own}

    everything = listed()
    budget = sum(everything.values()) // 3
    monkeypatch.setattr(candidates, "_ALL_LISTED_ENTRIES", budget)
    left = listed()
    assert 0 < sum(left.values()) <= budget
    gone = [size for factors, size in everything.items() if factors not in left]
    assert max(left.values()) <= min(gone)
