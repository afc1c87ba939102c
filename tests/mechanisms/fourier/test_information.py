"""What a table tells, from its rounded weights; division and moments by face."""

from __future__ import annotations

import numpy as np
import pytest
from support.fourier_designs import by_hand, dense_information, domain_of

from ldpsql.mechanisms.fourier.demand import demand, floor
from ldpsql.mechanisms.fourier.dictionary import Dictionary
from ldpsql.mechanisms.fourier.finish import listed_axes, table_of
from ldpsql.mechanisms.fourier.folding import Folding
from ldpsql.mechanisms.fourier.information import Collected
from ldpsql.mechanisms.fourier.layout import group_of
from ldpsql.mechanisms.fourier.optimise import Problem
from ldpsql.workload import Workload


@pytest.mark.parametrize(
    ("workload", "epsilon"),
    [
        (Workload.everyday(domain_of((16,))), 2.0),
        (Workload.everyday(domain_of((6, 9))), 1.0),
        (Workload.everyday(domain_of((6, 5), ((0.0, 1.0),)), {0: "equality"}), 0.5),
        (Workload.everyday(domain_of((5, 4, 3)), max_predicates=3), 1.0),
    ],
)
def test_the_table_tells_what_the_optimiser_thinks(workload: Workload, epsilon: float) -> None:
    """Class by class, to the rounding of the weights to 2^-64; so is the objective."""
    group = group_of(workload.domain, workload, 4096)
    folding = Folding(group)
    needed, odds = folding.folded(demand(workload, group)), float(np.exp(epsilon))
    dictionary = Dictionary(folding, needed, odds, listed_axes(workload, group))
    problem = Problem(folding, needed, floor(workload, group), dictionary.components())
    weights = problem.solve(problem.start(), 40)
    found = Collected(group, table_of(weights, problem.components), odds).information
    expected = problem.information(weights)
    faces = {
        face: found.get(face, np.zeros([order - 1 for order in group.shape(face)]))
        for face in group.faces
    }
    np.testing.assert_allclose(folding.folded(faces)[:-1], expected[:-1], rtol=1e-4, atol=1e-9)
    objective = sum(
        float((own[own > 0.0] / faces[face][own > 0.0]).sum())
        for face, own in demand(workload, group).items()
    )
    assert objective == pytest.approx(problem.objective(expected), rel=1e-6)


def test_division_and_moments_leave_out_what_is_not_known() -> None:
    """The signs of two measures are never collected together."""
    design = by_hand()["with signs"]
    collected = design.collected
    assert (1, 2) not in collected.information
    known = dense_information(design)
    assert (known[:, 1, 1] == 0.0).all()
    random = np.random.default_rng(1)
    faces = {
        face: random.random(values.shape) + 1j * random.random(values.shape)
        for face, values in collected.information.items()
    }
    divided = collected.divided({**faces, (1, 2): np.ones((1, 1), dtype=complex)})
    assert set(divided) == set(faces)
    for face, values in faces.items():
        np.testing.assert_allclose(divided[face] * collected.information[face], values)
    expected = sum(
        float((np.abs(values) ** 2 / collected.information[face]).sum())
        for face, values in faces.items()
    )
    assert collected.moment(faces, faces) == pytest.approx(expected)
    assert collected.moment(faces, {}, 3.0) == 3.0
