"""Classes of frequencies up to sign, and attributes that are alike.

One face stands for all like it, and the design is as good as without.
"""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from support.fourier_designs import domain_of

from ldpsql.algebra.workload import Kind, QueryClass, Workload
from ldpsql.mechanisms.fourier import folding
from ldpsql.mechanisms.fourier.folding import Folding, Symmetry
from ldpsql.mechanisms.fourier.recipe import Fourier, group_of, mean_variance
from ldpsql.mechanisms.fourier.spectra import demand
from ldpsql_device.epsilon import Epsilon


def of(workload: Workload, listed: frozenset[int] = frozenset()) -> Symmetry:
    group = group_of(workload.domain, workload, 4096)
    return Symmetry.of(group, demand(workload, group), listed)


def everyday(
    sizes: tuple[int, ...], most: int = 2, kinds: dict[int, Kind] | None = None
) -> Workload:
    return Workload.everyday(domain_of(sizes, (), "abcdefghij"), kinds, most)


def test_axes_are_alike_where_exchanging_them_changes_nothing() -> None:
    assert of(everyday((4, 6, 4, 6))).kinds == (0, 1, 0, 1)
    assert of(everyday((4, 4, 4, 4), 2, {2: "equality"})).kinds == (0, 0, 2, 0)
    assert of(everyday((4, 4, 4, 4)), frozenset({1})).kinds == (0, 1, 0, 0)
    classes = tuple(
        QueryClass(weight, pair)
        for weight, pair in [
            (0.3, ((0, "range"), (1, "range"))),
            (0.3, ((2, "range"), (3, "range"))),
            (0.2, ((4, "range"), (5, "range"))),
            (0.2, ((0, "range"), (5, "range"))),
        ]
    )
    uneven = Workload(domain_of((4,) * 6), classes, (), 2)  # type: ignore[arg-type]
    assert of(uneven).kinds == (0, 1, 2, 2, 4, 5)


def test_few_faces_are_left_as_they_are() -> None:
    assert of(everyday((4, 4, 4), 3)).kinds == (0, 1, 2)


def test_images_are_all_faces_of_a_kind_once() -> None:
    alike = Symmetry((0, 1, 0, 1, 0))
    images = alike.images((0, 1, 2))
    found = {tuple(sorted(names[axis] for axis in (0, 1, 2))) for names in images}
    assert len(found) == len(images) == alike.count((0, 1, 2)) == comb(3, 2) * comb(2, 1)
    assert all(alike.kinds[a] == alike.kinds[b] for names in images for a, b in names.items())
    assert alike.first((2, 3, 4)) == {2: 0, 3: 1, 4: 2}
    assert alike.stands_for_itself((0, 1, 2))
    assert not alike.stands_for_itself((0, 3))


def test_classes_are_counted_with_the_faces_that_they_stand_for() -> None:
    workload = everyday((4, 6, 4, 6))
    group = group_of(workload.domain, workload, 4096)
    folding = Folding(group, of(workload))
    frequencies = sum(int(np.prod([o - 1 for o in group.shape(face)])) for face in group.faces)
    assert (folding.multiplicity * folding.alike)[:-1].sum() == frequencies
    assert folding.classes == 2 + 3 + 2 * 2 + 2 * 3 + 3 * 3
    needed = demand(workload, group)
    whole = Folding(group).fold_faces(needed) * Folding(group).multiplicity
    alike = folding.fold_faces(needed) * folding.multiplicity * folding.alike
    assert alike.sum() == pytest.approx(whole.sum())
    np.testing.assert_array_equal(folding.numbers((1, 2)), folding.numbers((0, 1)).T)


def test_the_design_is_as_good_as_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """To a thousandth, on five attributes and ten triples; every face is informed alike."""
    workload, epsilon = everyday((4, 4, 4, 4, 4), 3), Epsilon.parse("1")
    design = Fourier().design(workload.domain, epsilon, {}, workload)
    monkeypatch.setattr(folding, "FEW_FACES", 1000)
    plain = Fourier().design(workload.domain, epsilon, {}, workload)
    assert mean_variance(design) == pytest.approx(mean_variance(plain), rel=1e-3)
    for size in (1, 2, 3):
        totals = [
            float(known.sum())
            for face, known in design.collected.information.items()
            if len(face) == size
        ]
        assert max(totals) < 1.05 * min(totals)


def test_three_predicates_among_ten_attributes() -> None:
    """120 triples, of which one stands for all: seconds, where one unknown per face would take
    minutes."""
    workload = everyday((8,) * 10, 3)
    assert of(workload).kinds == (0,) * 10
    alike, plain = (
        Folding(group_of(workload.domain, workload, 4096), *symmetries)
        for symmetries in ([of(workload)], [])
    )
    assert 50 * alike.classes < plain.classes
    design = Fourier().design(workload.domain, Epsilon.parse("1"), {}, workload)
    assert {len(face) for face in design.collected.information} == {0, 1, 2, 3}
    assert len(design.collected.information) == 1 + 10 + 45 + 120
    assert design.plan.questions < 40_000
