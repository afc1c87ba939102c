"""Planned queries by faces, what is refused, and the spectrum of a workload, query by query."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from support.fourier_designs import HAND_MADE, by_hand, domain_of, elements
from support.surveys import integer, survey_toml

from ldpsql.algebra.boxes import Box, LinearQuery, Side
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import DeclaredQuery, Kind, QueryClass, Workload
from ldpsql.designer import design
from ldpsql.errors import UnsupportedSQL
from ldpsql.mechanisms.fourier.group import Group
from ldpsql.mechanisms.fourier.spectra import (
    demand,
    floor,
    side_transform,
)

SIGNED = domain_of((5, 3), ((0.0, 2.0),))
PADDED = Group((6, 3, 2), (5, 3), (5, 3), ((0, 1, 2),))
EXACT = Group((5, 3, 2), (5, 3), (5, 3), ((0, 1, 2),))
COARSE = Group((3, 3, 2), (3, 3), (5, 3), ((0, 1, 2),))


def predicates(kind: Kind, size: int) -> list[Side]:
    """Every predicate of a kind."""
    if kind == "equality":
        return [((i, i + 1),) for i in range(size)]
    if kind == "prefix":
        return [((0, i + 1),) for i in range(size)]
    return [((i, j + 1),) for i in range(size) for j in range(i, size)]


def indicator(group: Group, sides: dict[int, Side], measure: int | None) -> np.ndarray:
    """A query as an array over the group: padding counts where nothing constrains an axis."""
    found = np.ones(group.orders)
    for axis, side in sides.items():
        own = np.zeros(group.orders[axis])
        own[: group.bins[axis]] = group.bin_weights(side, axis)
        found *= own.reshape([-1 if a == axis else 1 for a in range(found.ndim)])
    if measure is not None:
        found *= np.array([-1.0, 1.0]).reshape([1] * group.dimensions + [2])
    return found


def queries(workload: Workload, group: Group) -> Iterator[tuple[float, np.ndarray]]:
    """(share of the workload, query) of every query there is."""
    for entry in workload.classes:
        axes = [axis for axis, _ in entry.predicates]
        combinations = list(
            product(*(predicates(kind, group.bins[axis]) for axis, kind in entry.predicates))
        )
        for sides in combinations:
            chosen = {
                axis: tuple((a * group.width(axis), b * group.width(axis)) for a, b in side)
                for axis, side in zip(axes, sides, strict=True)
            }
            query = indicator(group, chosen, entry.measure)
            yield entry.weight / len(combinations), query
    for declared in workload.queries:
        total = np.zeros(group.orders)
        for share, sides in declared.terms:
            chosen = {axis: side for axis, side in enumerate(sides) if side is not None}
            total += share * declared.level * indicator(group, chosen, None)
            if declared.measure is not None:
                total += share * declared.contrast * indicator(group, chosen, declared.measure)
        yield declared.weight, total


def symmetric(power: np.ndarray) -> np.ndarray:
    """Averaged over the reflections of every axis."""
    for axis in range(power.ndim):
        power = (power + np.roll(np.flip(power, axis), 1, axis)) / 2.0
    return power


def declared(domain: RecordDomain) -> Workload:
    """A mixture of classes of all kinds, with and without measure, and of declared queries."""
    span, other = ((1, 4),), ((0, 1), (2, 3))
    classes = (
        QueryClass(0.1, ((0, "range"), (1, "equality"))),
        QueryClass(0.2, ((0, "prefix"),), 0),
        QueryClass(0.1, ((1, "range"),)),
        QueryClass(0.1, (), 0),
    )
    own = (
        DeclaredQuery(0.2, ((1.0, (span, None)), (-0.5, (((4, 5),), other)))),
        DeclaredQuery(0.3, ((1.0, (span, other)),), 0, 1.0, 0.4),
    )
    return Workload(domain, classes, own, 2)


@pytest.mark.parametrize("group", [EXACT, PADDED, COARSE], ids=["exact", "padded", "coarse"])
def test_the_spectrum_is_the_mean_over_all_queries(group: Group) -> None:
    workload = declared(SIGNED)
    power, square, whole = np.zeros(group.orders), 0.0, 0.0
    for weight, query in queries(workload, group):
        own = np.abs(np.fft.fftn(query) / query.size) ** 2
        power += weight * own
        square += weight * float((query**2).mean())
        whole += weight * float(own.flat[0])
    power = symmetric(power)
    for face, values in demand(workload, group).items():
        dense = power[tuple(slice(1, None) if axis in face else 0 for axis in range(3))]
        np.testing.assert_allclose(values, dense, atol=1e-14, err_msg=str(face))
    assert floor(demand(workload, group)) == pytest.approx(whole - square, abs=1e-13)


@pytest.mark.parametrize(
    ("size", "expected", "trace"),
    [(2, [1.0, 1 / 3], 4 / 3), (5, [1.4, 0.33768317, 0.12898349, 0.12898349, 0.33768317], 7 / 3)],
)
def test_spectra_of_the_specification(size: int, expected: list[float], trace: float) -> None:
    """Section 12: g = N gamma of all ranges; tr G = g(0) - N floor."""
    workload = Workload.everyday(domain_of((size,)))
    group = Group((size,), (size,), (size,), ((0,),))
    found = demand(workload, group)[(0,)] * size
    np.testing.assert_allclose(found, expected[1:], atol=1e-8)
    assert expected[0] - size * floor(demand(workload, group)) == pytest.approx(trace)


def test_a_face_that_no_query_touches_needs_nothing() -> None:
    workload = Workload(SIGNED, (QueryClass(1.0, ((0, "range"),)),), (), 1)
    group = Group((5, 3, 2), (5, 3), (5, 3), ((0,), (1,)))
    found = demand(workload, group)
    assert found[(0,)].all()
    assert not found[(1,)].any()


DESIGNS = HAND_MADE


@pytest.mark.parametrize("measure", [None, 0, 1])
def test_faces_are_the_transform_of_the_query(measure: int | None) -> None:
    design = DESIGNS["with signs"]
    terms = ((2.0, Box((((0, 2),),))), (-1.0, Box((((3, 5),),))), (0.5, Box((((2, 3),),))))
    planned = design.prepare(LinearQuery(terms, measure))
    dense = np.zeros(design.group.orders)
    for element in elements(design.group):
        amount = [2.0, 2.0, 0.5, -1.0, -1.0][element[0]]
        if measure is not None:
            amount *= design.domain.bounds[measure][element[1 + measure]]
        dense[element] = amount
    spectrum = np.fft.fftn(dense) / dense.size
    found = np.zeros(design.group.orders, dtype=complex)
    for face, values in planned.spectrum(design.group).items():
        found[tuple(slice(1, None) if axis in face else 0 for axis in range(3))] = values
    np.testing.assert_allclose(found, spectrum, atol=1e-14)


def test_everybody_is_known_and_nobody_is_nothing() -> None:
    design = DESIGNS["boxes"]
    inside = Box((((0, 2),), None))
    planned = design.prepare(
        LinearQuery(((3.0, Box.whole(2)), (2.0, inside), (9.0, Box(((), None)))))
    )
    assert planned.known == 3.0
    assert [(term.coefficient, term.axes) for term in planned.terms] == [(2.0, (0,))]
    assert not design.prepare(LinearQuery.count()).terms


def test_the_sum_over_everybody_is_asked_of_the_sign() -> None:
    design = DESIGNS["with signs"]
    planned = design.prepare(LinearQuery.sum(1, Box.whole(1)))
    assert planned.known == 0.0
    assert set(planned.spectrum(design.group)) == {(), (2,)}
    assert (planned.level, planned.contrast) == (2.0, 3.0)


def test_a_frequency_without_information_is_refused() -> None:
    """Arcs of odd characters of 12 only: nothing tells x < 6 from the rest of a pair."""
    design = DESIGNS["all kinds"]
    design.prepare(LinearQuery.count(Box((((0, 1),), ((1, 3),), ((2, 3),)))))
    blind = {face: values for face, values in design.collected.information.items() if len(face) < 3}
    fresh = by_hand()["all kinds"]
    fresh.collected.__dict__["information"] = blind
    fresh.prepare(LinearQuery.count(Box((((0, 1),), ((1, 3),), None))))
    with pytest.raises(UnsupportedSQL, match="x and y and z"):
        fresh.prepare(LinearQuery.count(Box((((0, 1),), ((1, 3),), ((2, 3),)))))
    holes = {**blind, (0,): np.zeros(2)}
    fresh.collected.__dict__["information"] = holes
    with pytest.raises(UnsupportedSQL, match="x"):
        fresh.prepare(LinearQuery.count(Box((((0, 1),), None, None))))


@pytest.mark.parametrize("amount", [1e-90, 1e-11, 1.0, 1e11, 1e90])
def test_what_is_refused_does_not_depend_on_the_unit(amount: float) -> None:
    """What a person adds may be tiny, or large beside what rounding leaves of a frequency."""
    text = "SELECT COUNT(*) FROM app WHERE x < 6 AND y < 3"
    columns = integer("x", 0, 11), integer("y", 0, 5)
    options, workload = {"one_sided": "no"}, {"queries": [text], "merge": False}
    keys = {"mechanism": "fourier", "epsilon": "0.5", "options": options, "workload": workload}
    made = design(survey_toml(*columns, **keys)).design
    made.prepare(LinearQuery(((amount, Box((((0, 6),), ((0, 3),)))),)))
    with pytest.raises(UnsupportedSQL, match="not designed for questions about x"):
        made.prepare(LinearQuery(((amount, Box((((0, 5),), ((0, 2),)))),)))


def test_the_refusal_says_what_the_workload_would_have_to_contain() -> None:
    design = DESIGNS["with signs"]
    with pytest.raises(UnsupportedSQL) as caught:
        raise design._find_unsupported([0], 1)
    assert "p1 by x" in str(caught.value)
    assert "max_predicates is at least 1" in str(caught.value.hint)
    assert "ask about p1 by x" in str(caught.value.hint)
    assert "max_predicates" not in str(design._find_unsupported([], 1).hint)


def test_sides_without_a_predicate_cover_the_padding() -> None:
    """Nobody lives there; counting it makes the query touch no frequency of that axis."""
    np.testing.assert_array_equal(side_transform(None, 0, PADDED), np.eye(1, 6)[0])
    full = side_transform(((0, 5),), 0, PADDED)
    assert full[0] == pytest.approx(5 / 6)
    assert np.abs(full[1:]).min() > 0.1
