"""How a record domain becomes a group, and designs from elsewhere: what their JSON may hold.

Bins, padding, blocks. Six attributes of 8 codes, questions about two at most:
docs/spec/fourier.md#6.3.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from itertools import combinations
from math import lcm
from typing import Any

import numpy as np
import pytest
from support.fourier_designs import HAND_MADE, counted, domain_of
from support.resealing import resealed

from ldpsql.algebra.boxes import Box, LinearQuery, Side
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import DeclaredQuery, QueryClass, Workload
from ldpsql.errors import UnsupportedSQL
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.estimator import FourierEstimator
from ldpsql.mechanisms.fourier.group import Group, spread_faces
from ldpsql.mechanisms.fourier.recipe import (
    LARGEST_ORDER,
    MOST_PADDING,
    Fourier,
    find_fitting_group,
    group_of,
)
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.channel import enumerate_law
from ldpsql.reports.report import question_shares
from ldpsql.survey import Survey
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import FingerprintError, SurveyError
from ldpsql_device.schema import Schema
from ldpsql_lab.simulation import SeededEntropy


def everyday_group(sizes: tuple[int, ...], measures: int = 0, most: int = 4096) -> Group:
    """For all that is asked every day."""
    domain = domain_of(sizes, ((0.0, 1.0),) * measures)
    return group_of(domain, Workload.everyday(domain), most)


@pytest.mark.parametrize(
    ("sizes", "measures", "orders", "blocks"),
    [
        # Exact sizes are kept where orders stay small.
        ((12, 7, 1), 0, (12, 7, 1), ((0, 1),)),
        # docs/spec/fourier.md#6.1: awkward sizes are padded, to a largest order of 324.
        ((100, 73, 24), 0, (108, 81, 24), ((0, 1), (0, 2), (1, 2))),
        ((1021,), 0, (1021,), ((0,),)),
        # Every measure has a block of its own.
        ((4, 5), 2, (4, 5, 2, 2), ((0, 1, 2), (0, 1, 3))),
        ((1,), 0, (2,), ((0,),)),
        ((), 1, (2,), ((0,),)),
    ],
)
def test_orders_and_blocks(
    sizes: tuple[int, ...],
    measures: int,
    orders: tuple[int, ...],
    blocks: tuple[tuple[int, ...], ...],
) -> None:
    group = everyday_group(sizes, measures)
    assert (group.orders, group.bins, group.sizes) == (orders, sizes, sizes)
    assert set(group.blocks) == set(blocks)


def test_padding_is_never_too_dear() -> None:
    for size in range(33, 200):
        group = everyday_group((size, 127))
        assert size <= group.orders[0] <= size * (1 + MOST_PADDING)
        if lcm(size, 127) <= LARGEST_ORDER:
            assert group.orders[0] == size


@pytest.mark.parametrize(
    ("size", "most", "bins"), [(10, 10, 10), (10, 4, 4), (11, 10, 6), (65536, 4096, 4096)]
)
def test_large_axes_are_made_coarse(size: int, most: int, bins: int) -> None:
    group = everyday_group((size,), 0, most)
    assert group.bins == (bins,) == group.orders
    width = group.width(0)
    assert (bins - 1) * width < size <= bins * width


def test_blocks_are_the_largest_questions() -> None:
    domain = domain_of((4, 5, 6))
    classes = (QueryClass(0.5, ((0, "range"), (2, "range"))), QueryClass(0.25, ((2, "range"),)))
    declared = (DeclaredQuery(0.25, ((1.0, (None, ((1, 2),), None)),)),)
    workload = Workload(domain, classes, declared, 2)
    assert set(group_of(domain, workload, 4096).blocks) == {(0, 2), (1,)}


def test_values_without_an_order_are_never_merged() -> None:
    """NULL and the values of a category keep bins of their own on coarse axes."""
    domain = RecordDomain(("x", "c"), (101, 40), (), (), (), (1, 40))
    group = group_of(domain, Workload.everyday(domain), 16)
    assert group.bins == (16, 40)
    assert group.edges(0).tolist() == [*range(0, 99, 7), 100, 101]
    np.testing.assert_array_equal(group.bin_weights(((100, 101),), 0), np.eye(16)[15])
    np.testing.assert_array_equal(group.bin_weights(((3, 4),), 1), np.eye(40)[3])
    many = RecordDomain(("c",), (9000,), (), (), (), (9000,))
    with pytest.raises(SurveyError, match="one by one"):
        find_fitting_group(many, Workload.everyday(many), 16)


DESIGNS = HAND_MADE
KEYS = {
    "dimension": {
        "x": {"type": "int", "domain": [0, 4]},
        "y": {"type": "category", "values": ["a", "b", "c"]},
    },
    "measure": {"pay": {"bounds": [0, 3]}},
}
SURVEY = Survey.of("people", Schema.from_keys(KEYS), "1.5", "fourier")


@pytest.mark.fast(5)
@pytest.mark.parametrize("name", list(DESIGNS))
def test_every_kind_of_family_survives_its_json(name: str) -> None:
    design = DESIGNS[name]
    data = json.loads(json.dumps(design.to_json()))
    restored = Fourier().restore(design.domain, design.epsilon, data)
    assert restored == design
    assert enumerate_law(restored.plan) == enumerate_law(design.plan)


def test_options_are_checked() -> None:
    domain, epsilon = domain_of((9,)), Epsilon.parse("1")
    coarse = mechanism("fourier").design(domain, epsilon, {"bins": 4})
    assert isinstance(coarse, FourierDesign)
    assert coarse.group.bins == (3,)
    with pytest.raises(SurveyError, match="bins"):
        Fourier().design(domain, epsilon, {"bins": 1})
    with pytest.raises(SurveyError, match="fanout"):
        Fourier().design(domain, epsilon, {"fanout": 3})
    with pytest.raises(SurveyError, match="a whole number"):
        Fourier().design(domain, epsilon, {"bins": 4.0})


# -- tampering -------------------------------------------------------------------------------------

Design = dict[str, Any]


def faces(design: Design) -> list[Design]:
    return design["plan"]["faces"]


def face(design: Design, axes: int = 1, kind: str = "arcs") -> Design:
    """The first face of a kind over so many axes."""

    def fits(own: Design) -> bool:
        part = own["parts"][0]
        terms = sum(len(digit["terms"]) for digit in part["digits"])
        return part["response"]["kind"] == kind and terms == axes

    return next(filter(fits, faces(design)))


def digit(design: Design, axes: int = 1) -> Design:
    return face(design, axes)["parts"][0]["digits"][0]


def weigh(design: Design, value: Any) -> None:
    faces(design)[0]["steps"][0]["mantissas"][0] = value


def put(holder: Any, key: Any, value: Any) -> None:
    """An integer of a face, or the first of its column."""
    if isinstance(holder[key], dict):
        holder[key]["values"][0] = value
    else:
        holder[key] = value


def arc(design: Design, value: Any) -> None:
    put(face(design)["parts"][0]["response"]["counts"], 0, value)


def step(design: Design, value: Any) -> None:
    put(digit(design)["terms"][0], "coefficient", value)


def order(design: Design, value: Any) -> None:
    put(digit(design), "radix", value)


def two_axes(design: Design) -> None:
    """A window and comb where a box was."""
    own = next(own for own in faces(design) if len(own["parts"][0]["digits"]) == 2)
    response = {"kind": "comb", "odds": 0, "tooth": 1, "window": 2, "width": 2}
    own["parts"][0]["response"] = response


TAMPERING: dict[str, Callable[[Design], object]] = {
    "a weight of nothing": lambda d: weigh(d, 0),
    "a negative weight": lambda d: weigh(d, -1),
    "a weight as text": lambda d: weigh(d, "3"),
    "a weight as a float": lambda d: weigh(d, 3.0),
    "a weight that is a truth": lambda d: weigh(d, True),
    "a missing weight": lambda d: faces(d)[0]["steps"][0]["mantissas"].pop(),
    "a superfluous weight": lambda d: faces(d)[0]["steps"][0]["mantissas"].append(1),
    "no plan": lambda d: d.pop("plan"),
    "no faces": lambda d: d["plan"].update(faces=[]),
    "no orders": lambda d: d.pop("orders"),
    "faces as a number": lambda d: d["plan"].update(faces=3),
    "a face without parts": lambda d: face(d).pop("parts"),
    "two parts": lambda d: face(d)["parts"].append(face(d)["parts"][0]),
    "a coin": lambda d: face(d).update(coins=[2]),
    "a secret step": lambda d: face(d)["steps"][0].update(secret=True),
    "no step": lambda d: d["plan"].update(faces=[_constant(face(d))]),
    "a kind there is not": lambda d: face(d)["parts"][0]["response"].update(kind="circle"),
    "a kind that is a list": lambda d: face(d)["parts"][0]["response"].update(kind=["arcs"]),
    "other odds": lambda d: d["plan"]["odds"].__setitem__(0, str(1 << 65)),
    "odds too many": lambda d: d["plan"]["odds"].append(d["plan"]["odds"][0]),
    "other sizes": lambda d: d["plan"]["sizes"].__setitem__(0, 4),
    "a table": lambda d: d["plan"].update(tables=[[1]]),
    "a look": lambda d: digit(d)["terms"][0].update(divide=2),
    "cuts without a table": lambda d: digit(d)["terms"][0].update(cuts=0),
    "a table of a digit": lambda d: (d["plan"].update(tables=[[0] * 99]), digit(d).update(table=0)),
    "a start": lambda d: digit(d).update(plus=1),
    "no modulus": lambda d: digit(d).pop("modulus"),
    "an order that the character does not have": lambda d: order(d, 4),
    "a circle of one point": lambda d: order(d, 1),
    "a negative order": lambda d: order(d, -5),
    "a float order": lambda d: order(d, 5.0),
    "a huge order": lambda d: order(d, 10**30),
    "a negative step": lambda d: step(d, -1),
    "a float step": lambda d: step(d, 1.0),
    "a true step": lambda d: step(d, True),
    "a huge step": lambda d: step(d, 10**30),
    "a step beyond the circle": lambda d: step(d, 6),
    "a column too long": lambda d: _column(digit(d)).append(1),
    "a column over another step": lambda d: _column(digit(d), "step"),
    "an empty base set": lambda d: arc(d, 0),
    "a full base set": lambda d: arc(d, 5),
    "an arc beyond its circle": lambda d: arc(d, 6),
    "a negative arc": lambda d: arc(d, -1),
    "a float arc": lambda d: arc(d, 1.0),
    "an arc as text": lambda d: arc(d, "1"),
    "a comb on two axes": two_axes,
    "an axis there is not": lambda d: digit(d)["terms"][0].update(attribute=3),
    "a negative axis": lambda d: digit(d)["terms"][0].update(attribute=-1),
    "an axis twice": lambda d: digit(d, axes=2)["terms"][0].update(attribute=1),
    "no axis": lambda d: digit(d).update(terms=[]),
    "an axis as a float": lambda d: digit(d)["terms"][0].update(attribute=0.0),
    "more bins than codes": lambda d: d.update(bins=[6, 3]),
    "more bins than the order": lambda d: d.update(orders=[4, 3, 2]),
    "no bins": lambda d: d.update(bins=[0, 3]),
    "bins with nobody": lambda d: d.update(bins=[4, 3]),
    "bins of another number": lambda d: d.update(bins=[5]),
    "other bins": lambda d: d.update(bins=[3, 3]),
    "a sign of three": lambda d: d.update(orders=[5, 3, 3]),
    "an axis too many": lambda d: d.update(orders=[5, 3, 2, 2]),
    "float orders": lambda d: d.update(orders=[5.0, 3, 2]),
    "another order": lambda d: d.update(orders=[7, 3, 2]),
    "no blocks": lambda d: d.update(blocks=[]),
    "a block of an axis there is not": lambda d: d["blocks"].append([3]),
    "a block of a negative axis": lambda d: d["blocks"].append([-1]),
    "a block with an axis twice": lambda d: d["blocks"].append([0, 0]),
    "a block out of order": lambda d: d.update(blocks=[[2, 1, 0]]),
    "a block of floats": lambda d: d.update(blocks=[[0.0, 1, 2]]),
    "a block too small": lambda d: d.update(blocks=[[0, 1]]),
}


def _constant(own: Design) -> Design:
    """The face with the first number of every column, and no step."""
    copied = copy.deepcopy(own)
    copied.pop("steps")
    part = copied["parts"][0]
    for entry in part["digits"]:
        entry["radix"] = _first(entry["radix"])
        for term in entry["terms"]:
            term["coefficient"] = _first(term.get("coefficient", 1))
    part["response"]["counts"] = [_first(count) for count in part["response"]["counts"]]
    return copied


def _first(integer: Any) -> Any:
    return integer["values"][0] if isinstance(integer, dict) else integer


def _column(own: Design, key: str = "values") -> Any:
    """The column of the first term's coefficient, or, over another step, the change made."""
    column = own["terms"][0]["coefficient"]
    if key == "step":
        column["step"] = 1
    return column["values"]


def published(change: Callable[[Design], object]) -> str:
    """The survey with a changed design, and a fingerprint to match."""

    def split(device: Any, collector: Any) -> None:
        """The plan is in the devices' part only."""
        design = {**collector["decoder"], "plan": device["plan"]}
        change(design)
        device["plan"] = design.pop("plan", None)
        collector["decoder"] = design

    return resealed(SURVEY, split)


def test_nothing_changed_is_accepted() -> None:
    assert Survey.from_json(published(lambda design: None)).fingerprint == SURVEY.fingerprint


@pytest.mark.parametrize("name", list(TAMPERING))
def test_a_tampered_design_is_refused(name: str) -> None:
    """Even if the fingerprint is that of the tampered content."""
    text = published(TAMPERING[name])
    one, other = (json.dumps(json.loads(t), sort_keys=True) for t in (text, SURVEY.to_json()))
    assert one != other
    with pytest.raises(SurveyError) as caught:
        Survey.from_json(text)
    assert not isinstance(caught.value, FingerprintError)
    assert "as this version" not in str(caught.value), "found by its effect, not by a rule"


def test_another_design_that_is_sound_is_accepted() -> None:
    """The negative control: what keeps the rules may be changed by its author."""

    def moved(design: Design) -> None:
        faces(design)[0]["weight"] += 5

    other = Survey.from_json(published(moved))
    assert other.fingerprint != SURVEY.fingerprint
    assert question_shares(other.design.plan).sum() == pytest.approx(1.0)  # type: ignore[attr-defined]


def test_random_damage_is_refused_or_harmless() -> None:
    """Any single number of the design replaced: SurveyError, or a design whose weights and base
    sets keep the rules; never another error."""
    random = np.random.default_rng(1)
    content = json.loads(json.dumps(SURVEY.design.to_json()))
    places = list(_numbers(content, ()))
    values: list[Any] = [-1, 0, 1, 2, 7, 1 << 40, 1 << 70, 0.5, None, "x", [], {}, True]
    refused = 0
    for number in random.choice(len(places), 150):

        def damage(design: Design, path: tuple[Any, ...] = places[number]) -> None:
            for step in path[:-1]:
                design = design[step]
            design[path[-1]] = values[int(random.integers(len(values)))]

        try:
            Survey.from_json(published(damage))
        except SurveyError:
            refused += 1
    assert refused > 100


def _numbers(content: Any, path: tuple[Any, ...]) -> Any:
    if isinstance(content, list | dict):
        items = content.items() if isinstance(content, dict) else enumerate(content)
        for key, value in items:
            yield from _numbers(value, (*path, key))
    else:
        yield path


DOMAIN = domain_of((8,) * 6)
DESIGN = Fourier().design(DOMAIN, Epsilon.parse("1"), {})
PEOPLE = 20_000


def codes() -> np.ndarray:
    random = np.random.default_rng(1)
    first = np.minimum(random.geometric(0.3, PEOPLE) - 1, 7)
    others = [(first * k + random.integers(0, 3, PEOPLE)) % 8 for k in range(1, 6)]
    return np.stack([first, *others], axis=1).astype(np.int64)


@pytest.fixture(scope="module")
def estimator() -> FourierEstimator:
    return DESIGN.estimator(counted(DESIGN, DESIGN.randomize(codes(), SeededEntropy(1))))


def box(**sides: Side) -> Box:
    return Box(tuple(sides.get(name) for name in DOMAIN.names))


def test_no_family_looks_at_more_than_two_attributes() -> None:
    assert DESIGN.group.blocks == tuple(combinations(range(6), 2))
    assert max(len(cluster.axes) for cluster in DESIGN.table.clusters) == 2


def people(estimator: FourierEstimator, axes: tuple[int, ...]) -> np.ndarray:
    """Estimated people per cell."""
    dense = spread_faces(estimator.spectrum(None), axes, DESIGN.group.shape(axes))
    return np.fft.ifftn(dense).real


def test_tables_agree_on_shared_margins(estimator: FourierEstimator) -> None:
    """Every table of two attributes has the table of each as its margin."""
    for pair in DESIGN.group.blocks:
        table = people(estimator, pair)
        for place, axis in enumerate(pair):
            margin = people(estimator, (axis,))
            np.testing.assert_allclose(table.sum(axis=1 - place), margin, atol=1e-6)
        assert table.sum() == pytest.approx(PEOPLE)


def test_three_predicates_are_refused_with_what_would_allow_them() -> None:
    asked = LinearQuery.count(box(x=((0, 3),), u=((1, 2),), w=((4, 8),)))
    with pytest.raises(UnsupportedSQL, match="x and u and w") as caught:
        DESIGN.prepare(asked)
    assert "[workload]" in str(caught.value.hint)
    assert "max_predicates is at least 3" in str(caught.value.hint)
