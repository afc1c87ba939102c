"""How a record domain becomes a group, and designs from elsewhere: what their JSON may hold.

Bins, padding, blocks. Six attributes of 8 codes, questions about two at most:
docs/spec/fourier.md#6.3.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import combinations
from math import lcm
from typing import Any

import numpy as np
import pytest
from support.fourier_designs import UNITS, by_hand, counted, domain_of
from support.resealing import resealed

from ldpsql.bench.entropy import SeededEntropy
from ldpsql.boxes import Box, LinearQuery, Side
from ldpsql.decoders.fourier.design import FourierDesign
from ldpsql.decoders.fourier.estimator import FourierEstimator
from ldpsql.mechanisms.registry import mechanism
from ldpsql.recipes.fourier.recipe import LARGEST_ORDER, MOST_PADDING, Fourier, group_of
from ldpsql.survey import Survey
from ldpsql.workload import DeclaredQuery, QueryClass, Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import FingerprintError, SurveyError, UnsupportedSQL
from ldpsql_device.schema import RecordDomain, Schema


def test_exact_sizes_are_kept_where_orders_stay_small() -> None:
    domain = domain_of((12, 7, 1))
    group = group_of(domain, Workload.everyday(domain), 4096)
    assert (group.orders, group.bins, group.sizes) == ((12, 7, 1), (12, 7, 1), (12, 7, 1))
    assert group.blocks == ((0, 1),)


def test_awkward_sizes_are_padded() -> None:
    """Specification 6.1: (100, 73, 24) becomes (108, 81, 24), largest order 324."""
    domain = domain_of((100, 73, 24))
    group = group_of(domain, Workload.everyday(domain), 4096)
    assert group.orders == (108, 81, 24)
    assert group.bins == (100, 73, 24)
    assert lcm(108, 81) == 324


def test_padding_is_never_too_dear_and_one_axis_needs_none() -> None:
    domain = domain_of((1021,))
    assert group_of(domain, Workload.everyday(domain), 4096).orders == (1021,)
    for size in range(33, 200):
        domain = domain_of((size, 127))
        group = group_of(domain, Workload.everyday(domain), 4096)
        assert size <= group.orders[0] <= size * (1 + MOST_PADDING)
        if lcm(size, 127) <= LARGEST_ORDER:
            assert group.orders[0] == size


@pytest.mark.parametrize(
    ("size", "most", "bins"), [(10, 10, 10), (10, 4, 4), (11, 10, 6), (65536, 4096, 4096)]
)
def test_large_axes_are_made_coarse(size: int, most: int, bins: int) -> None:
    domain = domain_of((size,))
    group = group_of(domain, Workload.everyday(domain), most)
    assert group.bins == (bins,) == group.orders
    width = group.width(0)
    assert (bins - 1) * width < size <= bins * width


def test_every_measure_has_a_block_of_its_own() -> None:
    domain = domain_of((4, 5), ((0.0, 1.0), (0.0, 2.0)))
    group = group_of(domain, Workload.everyday(domain), 4096)
    assert group.orders == (4, 5, 2, 2)
    assert group.blocks == ((0, 1, 2), (0, 1, 3))


def test_blocks_are_the_largest_questions() -> None:
    domain = domain_of((4, 5, 6))
    classes = (QueryClass(0.5, ((0, "range"), (2, "range"))), QueryClass(0.25, ((2, "range"),)))
    declared = (DeclaredQuery(0.25, ((1.0, (None, ((1, 2),), None)),)),)
    workload = Workload(domain, classes, declared, 2)
    assert set(group_of(domain, workload, 4096).blocks) == {(0, 2), (1,)}


def test_a_domain_of_one_code_or_measures_alone() -> None:
    one = domain_of((1,))
    group = group_of(one, Workload.everyday(one), 4096)
    assert (group.orders, group.bins, group.blocks) == ((2,), (1,), ((0,),))
    alone = domain_of((), ((0.0, 1.0),))
    group = group_of(alone, Workload.everyday(alone), 4096)
    assert (group.orders, group.bins, group.blocks) == ((2,), (), ((0,),))


def test_values_without_an_order_are_never_merged() -> None:
    """NULL and the values of a category keep bins of their own on coarse axes."""
    domain = RecordDomain(("x", "c"), (101, 40), (), (), (), (1, 40))
    group = group_of(domain, Workload.everyday(domain), 16)
    assert group.bins == (16, 40)
    assert group.edges(0).tolist() == [*range(0, 99, 7), 100, 101]
    np.testing.assert_array_equal(group.bin_weights(((100, 101),), 0), np.eye(16)[15])
    np.testing.assert_array_equal(group.bin_weights(((3, 4),), 1), np.eye(40)[3])
    many = RecordDomain(("c",), (9000,), (), (), (), (9000,))
    with pytest.raises(SurveyError, match="without an order"):
        group_of(many, Workload.everyday(many), 16)


DESIGNS = by_hand()
KEYS = {
    "dimension": {
        "x": {"type": "int", "domain": [0, 4]},
        "y": {"type": "category", "values": ["a", "b", "c"]},
    },
    "measure": {"pay": {"bounds": [0, 3]}},
}
SURVEY = Survey.of("people", Schema.from_keys(KEYS), "1.5", "fourier")


@pytest.mark.parametrize("name", list(DESIGNS))
def test_every_kind_of_family_survives_its_json(name: str) -> None:
    design = DESIGNS[name]
    data = json.loads(json.dumps(design.to_json()))
    restored = Fourier().restore(design.domain, design.epsilon, data)
    assert restored == design
    assert restored.law() == design.law()


def test_a_survey_survives_its_json() -> None:
    again = Survey.from_json(SURVEY.to_json())
    assert again.fingerprint == SURVEY.fingerprint
    assert again.design == SURVEY.design


def test_designs_compare_by_content() -> None:
    one, other = DESIGNS["boxes"], by_hand()["boxes"]
    assert one == other
    other.table.clusters[0].parameters[0, 0] = 1
    assert one != other
    assert one != "boxes"


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


def cluster(design: Design, base: str = "arcs", axes: int = 1) -> Design:
    """The first cluster of a kind over so many axes."""
    return next(
        c for c in design["clusters"] if c["base"] == base and sum(map(len, c["factors"])) == axes
    )


def weight(design: Design, change: Callable[[int], Any]) -> None:
    own = design["clusters"][0]["weights"]
    own[0] = change(own[0])


def two_axes(design: Design) -> None:
    """A window and comb where a box was."""
    own = next(c for c in design["clusters"] if len(c["factors"]) == 2)
    own["base"] = "comb"
    own["parameters"] = [[1, 2, 2] for _ in own["parameters"]]


TAMPERING: dict[str, Callable[[Design], object]] = {
    "weights above 2^32": lambda d: weight(d, lambda w: w + 1),
    "weights below 2^32": lambda d: weight(d, lambda w: w - 1),
    "a weight of nothing": lambda d: weight(d, lambda w: 0),
    "a negative weight": lambda d: weight(d, lambda w: -w),
    "a weight as text": lambda d: weight(d, str),
    "a weight as a float": lambda d: weight(d, float),
    "a weight that is a truth": lambda d: weight(d, lambda w: True),
    "a missing weight": lambda d: d["clusters"][0]["weights"].pop(),
    "a superfluous weight": lambda d: d["clusters"][0]["weights"].append(1),
    "no clusters": lambda d: d.update(clusters=[]),
    "no orders": lambda d: d.pop("orders"),
    "clusters as a number": lambda d: d.update(clusters=3),
    "a cluster without parameters": lambda d: d["clusters"][0].pop("parameters"),
    "a base there is not": lambda d: d["clusters"][0].update(base="circle"),
    "a base that is a list": lambda d: d["clusters"][0].update(base=["arcs"]),
    "an order that the character does not have": lambda d: cluster(d).update(orders=[4]),
    "a circle of one point": lambda d: cluster(d).update(orders=[1]),
    "a negative order": lambda d: cluster(d).update(orders=[-5]),
    "a float order": lambda d: cluster(d).update(orders=[5.0]),
    "a huge order": lambda d: cluster(d).update(orders=[10**30]),
    "two orders for one factor": lambda d: cluster(d).update(orders=[5, 5]),
    "a character beyond the axis": lambda d: cluster(d)["characters"][0].__setitem__(0, 5),
    "a negative character": lambda d: cluster(d)["characters"][0].__setitem__(0, -1),
    "a float character": lambda d: cluster(d)["characters"][0].__setitem__(0, 1.0),
    "a true character": lambda d: cluster(d)["characters"][0].__setitem__(0, True),
    "a huge character": lambda d: cluster(d)["characters"][0].__setitem__(0, 10**30),
    "a character too many": lambda d: cluster(d)["characters"][0].append(1),
    "ragged characters": lambda d: cluster(d, axes=2)["characters"][0].pop(),
    "no characters": lambda d: cluster(d).update(characters=[]),
    "an empty base set": lambda d: cluster(d)["parameters"][0].__setitem__(0, 0),
    "a full base set": lambda d: cluster(d)["parameters"][0].__setitem__(0, 5),
    "an arc beyond its circle": lambda d: cluster(d)["parameters"][0].__setitem__(0, 6),
    "a negative arc": lambda d: cluster(d)["parameters"][0].__setitem__(0, -1),
    "a float arc": lambda d: cluster(d)["parameters"][0].__setitem__(0, 1.0),
    "an arc as text": lambda d: cluster(d)["parameters"][0].__setitem__(0, "1"),
    "a comb on two axes": two_axes,
    "an axis there is not": lambda d: cluster(d).update(factors=[[3]]),
    "a negative axis": lambda d: cluster(d).update(factors=[[-1]]),
    "an axis twice": lambda d: cluster(d, axes=2).update(factors=[[0, 0]]),
    "no axis": lambda d: cluster(d).update(factors=[]),
    "an axis as a float": lambda d: cluster(d).update(factors=[[0.0]]),
    "more bins than codes": lambda d: d.update(bins=[6, 3]),
    "more bins than the order": lambda d: d.update(orders=[4, 3, 2]),
    "no bins": lambda d: d.update(bins=[0, 3]),
    "bins with nobody": lambda d: d.update(bins=[4, 3]),
    "bins of another number": lambda d: d.update(bins=[5]),
    "a sign of three": lambda d: d.update(orders=[5, 3, 3]),
    "an axis too many": lambda d: d.update(orders=[5, 3, 2, 2]),
    "float orders": lambda d: d.update(orders=[5.0, 3, 2]),
    "another order": lambda d: d.update(orders=[7, 3, 2]),
    "a block of an axis there is not": lambda d: d["blocks"].append([3]),
    "a block of a negative axis": lambda d: d["blocks"].append([-1]),
    "a block with an axis twice": lambda d: d["blocks"].append([0, 0]),
    "a block out of order": lambda d: d.update(blocks=[[2, 1, 0]]),
    "a block of floats": lambda d: d.update(blocks=[[0.0, 1, 2]]),
}


def published(change: Callable[[Design], object]) -> str:
    """The survey with a changed design, and a fingerprint to match."""
    return resealed(SURVEY, lambda _, collector: change(collector["decoder"]))


def test_nothing_changed_is_accepted() -> None:
    assert Survey.from_json(published(lambda design: None)).fingerprint == SURVEY.fingerprint


@pytest.mark.parametrize("name", list(TAMPERING))
def test_a_tampered_design_is_refused(name: str) -> None:
    """Even if the fingerprint is that of the tampered content."""
    text = published(TAMPERING[name])
    original = json.loads(SURVEY.collector_text)["decoder"]
    assert json.dumps(json.loads(text)["collector"]["decoder"]) != json.dumps(original)
    with pytest.raises(SurveyError) as caught:
        Survey.from_json(text)
    assert not isinstance(caught.value, FingerprintError)
    assert "would write" not in str(caught.value), "found by its effect, not by a rule"


def test_another_design_that_is_sound_is_accepted() -> None:
    """The negative control: what keeps the rules may be changed by its author."""

    def moved(design: Design) -> None:
        design["clusters"][0]["weights"][0] = design["clusters"][0]["weights"][0] - 5
        design["clusters"][-1]["weights"][-1] = design["clusters"][-1]["weights"][-1] + 5

    other = Survey.from_json(published(moved))
    assert other.fingerprint != SURVEY.fingerprint
    table = other.design.table  # type: ignore[attr-defined]
    assert sum(table.weights) == UNITS


def test_random_damage_is_refused_or_harmless() -> None:
    """Any single number of the design replaced: SurveyError, or a design whose weights and base
    sets keep the rules; never another error."""
    random = np.random.default_rng(1)
    content = json.loads(SURVEY.collector_text)["decoder"]
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


def test_tables_agree_on_shared_margins(estimator: FourierEstimator) -> None:
    """Every table of two attributes has the table of each as its margin."""
    for pair in DESIGN.group.blocks:
        table = estimator.population(pair, None, None)
        for place, axis in enumerate(pair):
            margin = estimator.population((axis,), None, None)
            np.testing.assert_allclose(table.sum(axis=1 - place), margin, atol=1e-6)
        assert table.sum() == pytest.approx(PEOPLE)


def test_answers_agree_whichever_table_they_come_from(estimator: FourierEstimator) -> None:
    """A count by x is the sum over y, and over z, of counts by both."""
    alone = DESIGN.prepare(LinearQuery.count(box(x=((2, 5),))))
    expected = estimator.answer([alone]).values[0]
    for other in "yzuvw":
        parts = [
            DESIGN.prepare(LinearQuery.count(box(x=((2, 5),), **{other: ((code, code + 1),)})))
            for code in range(8)
        ]
        assert estimator.answer(parts).values.sum() == pytest.approx(expected, abs=1e-6)


def test_answers_are_near_the_truth(estimator: FourierEstimator) -> None:
    """All pairs, within five standard errors, which are as predicted for even data to a fifth."""
    held = codes()
    for left, right in combinations(range(6), 2):
        sides: list[Side] = [None] * 6
        sides[left], sides[right] = ((1, 4),), ((2, 7),)
        planned = DESIGN.prepare(LinearQuery.count(Box(tuple(sides))))
        answer = estimator.answer([planned])
        inside = (held[:, left] >= 1) & (held[:, left] < 4)
        inside &= (held[:, right] >= 2) & (held[:, right] < 7)
        assert abs(answer.values[0] - inside.sum()) < 5.0 * answer.stderr[0]
        predicted = DESIGN.variance([planned], PEOPLE)[0]
        assert answer.covariance[0, 0] == pytest.approx(predicted, rel=0.2)


def test_three_predicates_are_refused_with_what_would_allow_them() -> None:
    asked = LinearQuery.count(box(x=((0, 3),), u=((1, 2),), w=((4, 8),)))
    with pytest.raises(UnsupportedSQL, match="x and u and w") as caught:
        DESIGN.prepare(asked)
    assert "[workload]" in str(caught.value.hint)
    assert "max_predicates is at least 3" in str(caught.value.hint)
