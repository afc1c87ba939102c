"""Planned queries: their spectrum by faces, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from support.fourier_designs import by_hand, elements

from ldpsql.boxes import Box, LinearQuery
from ldpsql.mechanisms.fourier.query import unsupported
from ldpsql_device.errors import UnsupportedSQL

DESIGNS = by_hand()


@pytest.mark.parametrize("measure", [None, 0, 1])
def test_faces_are_the_transform_of_the_query(measure: int | None) -> None:
    design = DESIGNS["with signs"]
    terms = ((2.0, Box((((0, 2),),))), (-1.0, Box((((3, 5),),))), (0.5, Box((((2, 3),),))))
    planned = design.plan(LinearQuery(terms, measure))
    dense = np.zeros(design.group.orders)
    for element in elements(design.group):
        amount = [2.0, 2.0, 0.5, -1.0, -1.0][element[0]]
        if measure is not None:
            amount *= design.domain.bounds[measure][element[1 + measure]]
        dense[element] = amount
    spectrum = np.fft.fftn(dense) / dense.size
    assert planned.whole(design.group) == pytest.approx(spectrum[0, 0, 0].real)
    found = np.zeros(design.group.orders, dtype=complex)
    found[0, 0, 0] = planned.whole(design.group)
    for face, values in planned.faces(design.group).items():
        found[tuple(slice(1, None) if axis in face else 0 for axis in range(3))] = values
    np.testing.assert_allclose(found, spectrum, atol=1e-14)


def test_everybody_is_known_and_nobody_is_nothing() -> None:
    design = DESIGNS["boxes"]
    inside = Box((((0, 2),), None))
    planned = design.plan(LinearQuery(((3.0, Box.whole(2)), (2.0, inside), (9.0, Box(((), None))))))
    assert planned.known == 3.0
    assert [(term.coefficient, term.axes) for term in planned.terms] == [(2.0, (0,))]
    assert not design.plan(LinearQuery.count()).terms


def test_the_sum_over_everybody_is_asked_of_the_sign() -> None:
    design = DESIGNS["with signs"]
    planned = design.plan(LinearQuery.sum(1, Box.whole(1)))
    assert planned.known == 0.0
    assert set(planned.faces(design.group)) == {(2,)}
    assert (planned.level, planned.contrast) == (2.0, 3.0)


def test_a_frequency_without_information_is_refused() -> None:
    """Arcs of odd characters of 12 only: nothing tells x < 6 from the rest of a pair."""
    design = DESIGNS["all kinds"]
    design.plan(LinearQuery.count(Box((((0, 1),), ((1, 3),), ((2, 3),)))))
    blind = {face: values for face, values in design.collected.information.items() if len(face) < 3}
    fresh = by_hand()["all kinds"]
    fresh.collected.__dict__["information"] = blind
    fresh.plan(LinearQuery.count(Box((((0, 1),), ((1, 3),), None))))
    with pytest.raises(UnsupportedSQL, match="x and y and z"):
        fresh.plan(LinearQuery.count(Box((((0, 1),), ((1, 3),), ((2, 3),)))))
    holes = {**blind, (0,): np.zeros(2)}
    fresh.collected.__dict__["information"] = holes
    with pytest.raises(UnsupportedSQL, match="x"):
        fresh.plan(LinearQuery.count(Box((((0, 1),), None, None))))


def test_the_refusal_says_what_the_workload_would_have_to_contain() -> None:
    error = unsupported(["age", "state"], "pay")
    assert "pay by age and state" in str(error)
    assert "max_predicates is at least 2" in str(error.hint)
    assert "ask about pay by age and state" in str(error.hint)
    assert "max_predicates" not in str(unsupported([], "pay").hint)
