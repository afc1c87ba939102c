"""The vectors of docs/spec/h4mda.md that no other test holds, section by section."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from estimators.test_nodes import BOX, MEASURED, WINDOW, amounts
from estimators.test_nodes import count as counted
from estimators.test_nodes import total as summed
from support.node_sources import (
    UNIT,
    X1,
    X2,
    GivenNodes,
    KnownAnswer,
    N,
    PlainSource,
    TrueNodes,
    counted_by_node,
    ideal_moments,
    known_answers,
)

from ldpsql.algebra.boxes import Box, LinearQuery, Weight
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators import oracles
from ldpsql.estimators.consistent import ConsistentDesign, ConsistentEstimator
from ldpsql.estimators.groups import GroupTable, InformationTable, weigh_evenly
from ldpsql.estimators.linear import LinearEstimator
from ldpsql.estimators.nodes import NodeDesign
from ldpsql.estimators.trees import (
    AxisDetails,
    Tree,
    average_cover,
    average_energies,
    product_energies,
)
from ldpsql.mechanisms.hierarchical import allocation
from ldpsql.mechanisms.hierarchical.allocation import ConsistentAllocation, Energies
from ldpsql.mechanisms.oracles import LARGEST, make_oracle
from ldpsql.mechanisms.registry import mechanism
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.schema import Measure

ONE = Epsilon.parse("1")
LINE = RecordDomain(("x",), (25,), (), (), ())


# -- trees and groups ------------------------------------------------------------------------------


def test_levels_of_a_doubled_tree() -> None:
    """Section 1.2: 125 codes with their sign have 1, 2, 10, 50 and 250 nodes."""
    domain = RecordDomain(("x",), (125,), ("x",), ((0.0, 124.0),), (0,))
    design = mechanism("ehio").design(domain, ONE, {"root": True})
    assert isinstance(design, NodeDesign)
    assert sorted(design.table.sizes) == [1, 2, 10, 50, 250]


@pytest.mark.parametrize(
    ("name", "root", "groups"),
    [("ahio", True, 32), ("ahio", False, 31), ("ehio", True, 20), ("ehio", False, 19)],
)
def test_how_many_groups_a_measure_has(name: str, root: bool, groups: int) -> None:
    """Section 5: two attributes of 125 codes, one of them the measure."""
    domain = RecordDomain(("x", "y"), (125, 125), ("y",), ((0.0, 124.0),), (1,))
    design = mechanism(name).design(domain, ONE, {"root": root})
    assert isinstance(design, NodeDesign)
    assert len(design.table.groups) == groups


@pytest.mark.parametrize(("fanout", "height"), [(5, 3), (2, 6), (7, 2), (9, 1)])
def test_most_nodes_of_ranges_and_prefixes(fanout: int, height: int) -> None:
    """Section 1.5: (b-2) + 2(b-1)(h-1) for a range, b-1 if h = 1, and (b-1) h for a prefix."""
    size = fanout**height
    tree = Tree(size, (fanout,) * height)

    def nodes(low: int, high: int) -> int:
        return sum(len(found) for found in tree.cover(((low, high),)).values())

    most = fanout - 1 if height == 1 else fanout - 2 + 2 * (fanout - 1) * (height - 1)
    proper = [(low, high) for low in range(size) for high in range(low + 1, size + 1)]
    assert max(nodes(*ends) for ends in proper if ends != (0, size)) == most
    assert max(nodes(0, high) for high in range(1, size)) == (fanout - 1) * height


# -- oracles and the variance of a count -----------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "variance"),
    [("0.5", 15.8174003), ("1", 3.6916546), ("2", 0.7245914), ("5", 0.0273187)],
)
def test_variances_of_hashing(
    monkeypatch: pytest.MonkeyPatch, epsilon: str, variance: float
) -> None:
    """Section 13: V0 of OLH, the limit of many nodes, whose support is not taken by harmonics."""
    monkeypatch.setattr(oracles, "MOST_INDICATED", 1 << 62)
    found = make_oracle("olh", LARGEST["olh"], Epsilon.parse(epsilon))
    assert found.moments.node_variance == pytest.approx(variance, rel=2e-4)


def test_an_estimate_by_hashing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Section 13: 430 of 1,000 reports support a node at epsilon 1."""
    monkeypatch.setattr(oracles, "MOST_INDICATED", 1 << 62)
    found = make_oracle("olh", LARGEST["olh"], ONE)
    assert (0.43 - found.q) / (found.p - found.q) == pytest.approx(0.798697639, abs=2e-6)


@pytest.mark.parametrize(("oracle", "variance"), [("grr", 5_170_340.5), ("olh", 1_702_698.4)])
def test_variance_of_one_node(oracle: str, variance: float) -> None:
    """Section 1.8: 1,000 of 20,000 people, 25 nodes, a share of .3 at epsilon 1; for exactly these
    people, whereas ours count as a sample."""
    share = 0.3
    design = mechanism("hio").design(LINE, ONE, {"fanout": 25, "oracle": oracle})
    assert isinstance(design, NodeDesign)
    assert design.table.sizes == (25,)
    ideal = ideal_moments(oracle, ONE, design.table.sizes)
    given = GivenNodes([1000.0], [np.array([share, *[0.7 / 24] * 24])], ideal, 20_000.0)
    planned = design.prepare(LinearQuery.count(Box((((0, 1),),))))
    answer = LinearEstimator(given).answer([planned])
    found = float(answer.covariance[0, 0]) - 20_000 * share * (1 - share)
    # The specification has n f (1 - f) (n / n_v - 1) n / (n - 1) for the choice of who is asked.
    found += 20_000 * share * (1 - share) * 19 / 19_999
    assert found == pytest.approx(variance, rel=2e-8)


@pytest.mark.parametrize(
    ("epsilon", "deviation"), [("0.5", 7114.47), ("1", 3437.05), ("2", 1522.73)]
)
def test_leading_deviation_of_hio(epsilon: str, deviation: float) -> None:
    """Section 13: eight nodes, four groups of equal size."""
    domain = RecordDomain(("x",), (125,), (), (), ())
    design = mechanism("hio").design(domain, Epsilon.parse(epsilon), {"root": True})
    assert isinstance(design, NodeDesign)
    ideal = ideal_moments("olh", design.epsilon, design.table.sizes)
    answers = [replace(a, moments=m) for a, m in zip(design.answers, ideal, strict=True)]
    planned = design.prepare(LinearQuery.count(Box((WINDOW,))))
    sizes = design.table.shares * N
    leading = sum(answers[c.group].spread(c) / sizes[c.group] for c in planned.alternatives[0])
    assert N * math.sqrt(leading) == pytest.approx(deviation, abs=0.01)


@dataclass(frozen=True)
class Payers(PlainSource):
    """Every fifth person of the data, with a public amount."""

    design: NodeDesign
    codes: np.ndarray = field(default_factory=lambda: X1[::5])
    pay: np.ndarray = field(default_factory=lambda: X2[::5] + 1.0)
    count: float = N / 5

    def total(self, weight: Any) -> float:
        return float(self.pay.sum())

    def size(self, group: int) -> float:
        return float(self.people * self.design.table.shares[group])

    @property
    def answers(self) -> list[KnownAnswer]:
        return known_answers(ideal_moments("olh", ONE, self.design.table.sizes))

    def _amounts(self, pair: Any) -> np.ndarray:
        return self.pay ** sum(weight is not None for weight in pair)

    def mean(self, group: int, pair: Any) -> float:
        return float(self._amounts(pair).mean())

    def at(self, group: int, nodes: np.ndarray, pair: Any) -> np.ndarray:
        node = self.design.table.node(group, self.codes[:, None])
        size = self.design.table.sizes[group]
        return np.bincount(node, self._amounts(pair), minlength=size)[nodes] / self.people


def test_the_sum_of_a_public_column() -> None:
    """Section 13: HIO with its root group, every fifth row, SUM over [12, 56) at epsilon 1."""
    domain = RecordDomain(("x1",), (125,), (), (), ())
    design = mechanism("hio").design(domain, ONE, {"root": True})
    assert isinstance(design, NodeDesign)
    source = Payers(design)
    amount = source.pay * ((source.codes >= 12) & (source.codes < 56))
    assert amount.sum() == 835_061
    estimator = LinearEstimator(source)
    query = LinearQuery(((1.0, Box((WINDOW,))),), weight=Weight("pay"))
    answer = estimator.answer([design.prepare(query)])
    assert answer.values[0] == pytest.approx(835_061)
    variance = float(answer.covariance[0, 0]) - source.people * amount.var()
    assert math.sqrt(variance) == pytest.approx(135_868, rel=1e-4)


# -- when the repair of LGRR pays ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "signed", "epsilon"),
    [
        ((25,), False, 1.13),
        ((125,), False, 2.54),
        ((625,), False, 3.95),
        ((25,), True, 1.59),
        ((125,), True, 3.02),
        ((25, 25), True, 3.99),
        ((125, 125), True, 6.70),
    ],
)
def test_where_the_repair_beats_hashing(
    sizes: tuple[int, ...], signed: bool, epsilon: float
) -> None:
    """Section 9b: where a level combination has 3 e + 1 nodes on average."""
    domain = RecordDomain(
        ("x", "y")[: len(sizes)],
        sizes,
        ("x",) * signed,
        ((0.0, 1.0),) * signed,
        (0,) * signed,
    )
    design = mechanism("lgrr-repaired").design(domain, ONE, {})
    assert isinstance(design, NodeDesign)
    assert math.log((np.mean(design.table.sizes) - 1) / 3) == pytest.approx(epsilon, abs=6e-3)


# -- least squares ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("is_by_node", "cells", "information", "variances"),
    [
        (
            True,
            (0.48409091, 0.18409091, 0.16590909, 0.16590909),
            (297.969369832, 135.440622651),
            (7.383309235e-3, 4.530667031e-3),
        ),
        (
            False,
            (0.48638366, 0.18638366, 0.16361634, 0.16361634),
            (242.724496489, 117.749410618),
            (8.492611511e-3, 5.276280083e-3),
        ),
    ],
)
def test_two_levels_of_two(
    is_by_node: bool,
    cells: tuple[float, ...],
    information: tuple[float, ...],
    variances: tuple[float, ...],
) -> None:
    """Section 10.4, V2: with the variance of a node and with that of a contrast."""
    domain = RecordDomain(("x",), (4,), (), (), ())
    options = {"fanout": 2, "inference": "consistent"}
    design = mechanism("hio").design(domain, ONE, options)
    assert isinstance(design, ConsistentDesign)
    ideal = ideal_moments("olh", ONE, design.table.sizes)
    ideal = counted_by_node(ideal) if is_by_node else ideal
    values = [np.array([0.6, 0.4]), np.array([0.5, 0.2, 0.1, 0.1])]
    given = GivenNodes([300, 500], values, ideal)
    planned = [design.prepare(LinearQuery.count(Box((((k, k + 1),),)))) for k in range(4)]
    answer = ConsistentEstimator(design.table, LinearEstimator(given)).answer(planned)
    assert answer.values == pytest.approx(cells, abs=1e-8)
    told = InformationTable(design.table, ideal).total(np.array([300.0, 500.0]), range(2))
    assert told[1:] == pytest.approx(information, rel=1e-9)
    for side, variance in zip((((1, 3),), ((0, 1),)), variances, strict=True):
        energies = AxisDetails(design.table.trees[0], side).energies  # type: ignore[arg-type]
        assert float(np.sum(energies[1:] / told[1:])) == pytest.approx(variance, rel=1e-9)


@pytest.mark.parametrize(
    ("size", "fanouts", "with_root", "without"),
    [
        (8, (2, 2, 2), 7.111, 5.333),
        (64, (4, 4, 4), 23.631, 17.723),
        (125, (5, 5, 5), 32.635, 24.476),
        (128, (2,) * 7, 40.682, 35.597),
        (256, (16, 16), 56.615, 37.743),
    ],
)
def test_direct_answers_to_all_ranges(
    size: int, fanouts: tuple[int, ...], with_root: float, without: float
) -> None:
    """Section 10.4, V3: nodes of a range times groups."""
    nodes = average_cover(Tree(size, fanouts), "range")
    found = [groups * nodes[1:].sum() for groups in (len(fanouts) + 1, len(fanouts))]
    assert found == pytest.approx([with_root, without], abs=6e-4)


@pytest.mark.parametrize(
    ("size", "fanouts", "energies", "shares", "best", "uniform"),
    [
        (
            *(8, (2, 2, 2), [1.875, 0.486111, 0.527778, 0.444444]),
            *([0, 0.20331, 0.79669], 1.400447, 2.069444),
        ),
        (
            *(64, (4, 4, 4), [11.171875, 6.169471, 3.447115, 1.211538]),
            *([0.14843, 0.31713, 0.53444], 5.655564, 6.584238),
        ),
        (
            *(125, (5, 5, 5), [21.336, 13.50273, 5.926349, 1.568254]),
            *([0.17374, 0.33130, 0.49495], 8.001972, 8.974652),
        ),
        (
            *(256, (16, 16), [43.167969, 37.684901, 5.14713]),
            *([0.37205, 0.62795], 13.923256, 14.727778),
        ),
        (
            *(128, (2,) * 7),
            [21.835938, 5.459969, 6.702883, 4.351502, 2.439438, 1.312984, 0.734496, 0.496124],
            *([0, 0.09151, 0.12819, 0.13881, 0.14099, 0.13259, 0.36792], 7.330204, 9.666387),
        ),
    ],
)
def test_energies_and_best_shares_of_one_tree(
    size: int,
    fanouts: tuple[int, ...],
    energies: list[float],
    shares: list[float],
    best: float,
    uniform: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Section 10.4, V3: all intervals, unit variances."""
    monkeypatch.setattr(allocation, "SHARE_FOR_ALL", 0.0)
    tree, levels = Tree(size, fanouts), len(fanouts)
    asked = average_energies(tree, "range")
    assert asked == pytest.approx(energies, abs=1e-6)
    table = GroupTable((tree,), weigh_evenly(((j,), None, 0) for j in range(1, levels + 1)))
    found = ConsistentAllocation(table, [UNIT] * levels, Energies(asked, ()))
    assert found.optimal() == pytest.approx(shares, abs=2e-3)
    assert found.gains(found.optimal())[1] == pytest.approx(best, rel=1e-5)
    assert found.gains(np.full(levels, 1 / levels))[1] == pytest.approx(uniform, rel=1e-5)


@pytest.mark.parametrize(
    ("fanouts", "width", "epsilon", "predicates", "best", "uniform", "greedy", "shares"),
    [
        (
            *((5, 5, 5), 19, "2", 1, 5.483475, 26.165, 81.154),
            {(1, 0): 0.11962, (2, 0): 0.35780, (3, 0): 0.52258},
        ),
        (
            *((5, 5, 5), 19, "2", 2, 44.597048, 93.612, 568.080),
            {(3, 3): 0.25259, (2, 3): 0.17631, (3, 2): 0.17631, (2, 2): 0.12340},
        ),
        ((5, 5, 5), 19, "1", 2, 226.17479, 475.739, 2894.257, {}),
        ((5, 5), 4, "1", 2, 39.131682, 101.658, 531.598, {}),
    ],
)
def test_windows_over_two_trees(
    monkeypatch: pytest.MonkeyPatch,
    fanouts: tuple[int, ...],
    width: int,
    epsilon: str,
    predicates: int,
    best: float,
    uniform: float,
    greedy: float,
    shares: dict[tuple[int, int], float],
) -> None:
    """Section 10.4, V4: the best shares, and direct HIO with its root group by OLH."""
    monkeypatch.setattr(allocation, "SHARE_FOR_ALL", 0.0)
    tree = Tree(math.prod(fanouts), fanouts)
    levels = list(product(range(len(tree.counts)), repeat=2))
    table = GroupTable((tree, tree), weigh_evenly((v, None, 0) for v in levels[1:]))
    moments = ideal_moments("auto", Epsilon.parse(epsilon), table.sizes)
    sides = [((start, start + width),) for start in range(tree.size - width + 1)]
    window = np.mean([AxisDetails(tree, side).energies for side in sides], axis=0)
    free = np.eye(len(fanouts) + 1)[0] * tree.size
    energies = product_energies([window, window if predicates == 2 else free])
    found = ConsistentAllocation(table, moments, Energies(energies, ()))
    optimal, even = found.optimal(), np.full(len(table.groups), 1 / len(table.groups))
    assert found.gains(optimal)[1] == pytest.approx(best, rel=1e-4)
    assert found.gains(even)[1] == pytest.approx(uniform, rel=1e-4)
    for levels, share in shares.items():
        assert optimal[table.index[levels, None, 0]] == pytest.approx(share, abs=1e-3)
    hashing = ideal_moments("olh", Epsilon.parse(epsilon), (tree.size,))[0].node_variance
    nodes = np.mean([sum(map(len, tree.cover(side).values())) for side in sides])
    assert (len(fanouts) + 1) ** 2 * nodes**predicates * hashing == pytest.approx(greedy, rel=1e-4)


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("query", "epsilon", "ideal"),
    [
        (counted(WINDOW, None), "1", 5_920.7),
        (summed(WINDOW, None), "1", 712_030.1),
        (summed(WINDOW, BOX), "2", 554_240.8),
    ],
)
def test_least_squares_in_a_signed_frame(query: LinearQuery, epsilon: str, ideal: float) -> None:
    """Section 13: uniform shares, `auto`, the people of one measure of two."""
    domain = replace(MEASURED, measure_names=("x2",), bounds=((1.0, 125.0),), measured=(1,))
    options = {"inference": "consistent", "oracle": "auto"}
    design = mechanism("ehio").design(domain, Epsilon.parse(epsilon), options)
    assert isinstance(design, ConsistentDesign)
    asked = replace(query, measure=None if query.measure is None else 0)
    source = TrueNodes(design, part=0.5)
    estimator = ConsistentEstimator(design.table, LinearEstimator(source))
    variance = float(estimator.answer([design.prepare(asked)]).covariance[0, 0])
    found = math.sqrt(variance - N * amounts(query).var())
    assert 0.98 * ideal < found <= 1.002 * ideal


def test_a_value_between_the_bounds_is_rounded_up_as_often_as_it_lies_high() -> None:
    """Section 1.3, example of 1.2: 3 in [1, 4] becomes 4 with probability 2/3."""
    measure = Measure("t", (1.0, 4.0))
    assert [measure.threshold(value)[0] for value in (1.0, 3.0, 4.0)] == [0, 2**65 // 3, 2**64]
