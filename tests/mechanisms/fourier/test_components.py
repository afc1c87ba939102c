"""Candidates in bulk against the families that they emit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from support.fourier_designs import domain_of, table_of

from ldpsql.algebra.workload import Workload
from ldpsql.mechanisms.fourier.candidates import Component, Dictionary
from ldpsql.mechanisms.fourier.families import FamilyTable, information
from ldpsql.mechanisms.fourier.folding import Folding
from ldpsql.mechanisms.fourier.optimise import find_equality_axes
from ldpsql.mechanisms.fourier.recipe import group_of
from ldpsql.mechanisms.fourier.spectra import demand

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


def dictionary(workload: Workload) -> Dictionary:
    group = group_of(workload.domain, workload, 4096)
    folding = Folding(group)
    needed = folding.fold_faces(demand(workload, group))
    return Dictionary(folding, needed, ODDS, find_equality_axes(workload))


def components() -> Iterator[tuple[str, Component]]:
    for name, workload in WORKLOADS.items():
        for number, component in enumerate(dictionary(workload).components()):
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
    found = information(table_of(component.emit(weights)), ODDS)
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
