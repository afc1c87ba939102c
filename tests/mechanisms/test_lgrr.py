"""LGRR and LGRR-FD as published, and the repair: vectors, bias, what they give away."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support import tiers
from support.histograms import histogram_of
from support.node_sources import N, true_nodes
from support.significance import is_unbiased, variance_fits

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.linear import CellQuery, EvenSource, GroupCells, LinearEstimator
from ldpsql.estimators.nodes import NodeDesign
from ldpsql.mechanisms.lgrr.recipe import Forest, LgrrDesign, PublishedEstimator
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.channel import enumerate_law
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_lab.simulation import SeededEntropy

MEASURED = RecordDomain(("x1", "x2"), (125, 125), ("x2",), ((1.0, 125.0),), (1,))
LINE = RecordDomain(("x",), (4,), ("x",), ((0.0, 3.0),), (0,))


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("name", "epsilon", "published", "unbiased_count"),
    [
        ("lgrr", "1", 172_201, 52_360),
        ("lgrr", "2", 84_590, 52_360),
        ("lgrr-fd", "1", 251_867, 52_342),
        ("lgrr-fd", "2", 106_003, 52_342),
    ],
)
def test_expectations_of_the_specification(
    name: str, epsilon: str, published: float, unbiased_count: float
) -> None:
    """Section 13: COUNT of [12, 56) in the signed frame of the second attribute."""
    design = mechanism(name).design(MEASURED, Epsilon.parse(epsilon), {})
    assert isinstance(design, LgrrDesign)
    assert design.answers[0].path == (12 if name == "lgrr" else 20)
    planned = design.prepare(LinearQuery.count(Box((((12, 56),), None))))
    table, forests = design.table, design.answers

    def true_shares(group: int, nodes: np.ndarray) -> np.ndarray:
        """Of the specification's data, signs by their expectation."""
        parts = [true_nodes(table, number, (1,)) for number in forests[group].groups]
        return np.concatenate(parts)[nodes]

    source = EvenSource(float(N), np.full(1, float(N)), forests, true_shares)
    for estimator, expected in (
        (PublishedEstimator(source, forests), published),
        (LinearEstimator(source), unbiased_count),
    ):
        assert estimator.answer([planned]).values[0] == pytest.approx(expected, rel=2e-4)


def test_estimates_of_one_node() -> None:
    """Section 9: 40 of 1,000 reports name a node of ten, path of 12, epsilon 2."""
    forest = Forest.of(0, range(12), (10,) * 12, 0, float(np.exp(2)))
    source = EvenSource(
        1000.0, np.full(1, 1000.0), [forest], lambda _, nodes: np.full(len(nodes), 12 * 40 / 1000)
    )
    node = GroupCells(0, np.zeros(1, dtype=np.int64), np.ones(1))
    query = CellQuery(0.0, True, ((node,),), None)
    found = [
        estimator.answer([query]).values[0]
        for estimator in (LinearEstimator(source), PublishedEstimator(source, [forest]))
    ]
    assert found == pytest.approx([480, 1193.72], abs=5e-3)


def smallest_delta(design: LgrrDesign) -> float:
    """Least delta for which the channel is (epsilon, delta)-LDP."""
    law, odds = enumerate_law(design.plan), design.epsilon.odds
    return float(
        max(
            sum(max(p - odds * q, Fraction(0)) for p, q in zip(one, two, strict=True))
            for one in law.probabilities
            for two in law.probabilities
        )
    )


@pytest.mark.parametrize(
    ("fakes", "epsilon", "delta"),
    [
        *((0, "1", 0.75), (0, "2", 0.75), (1, "0.5", 0.568), (1, "1", 0.55), (1, "2", 0.55)),
        *((2, "0.5", 0.446), (2, "1", 0.406), (2, "2", 0.403)),
    ],
)
def test_what_the_channel_gives_away(fakes: int, epsilon: str, delta: float) -> None:
    """Section 8: four codes, signed binary tree; epsilon hardly matters, fakes do not repair it."""
    options = {"fanout": 2, "fakes": fakes}
    design = mechanism("lgrr-fd").design(LINE, Epsilon.parse(epsilon), options)
    assert isinstance(design, LgrrDesign)
    assert smallest_delta(design) == pytest.approx(delta, abs=1e-3)
    assert enumerate_law(design.plan).worst().odds is None


def test_a_path_without_anything_but_roots_is_refused() -> None:
    """LGRR has no leaves; of two codes nothing is left, of four a binary tree's upper level."""
    plain = RecordDomain(("x",), (2,), (), (), ())
    with pytest.raises(SurveyError, match="three codes"):
        mechanism("lgrr").design(plain, Epsilon.parse("1"), {})
    four = RecordDomain(("x",), (4,), (), (), ())
    design = mechanism("lgrr").design(four, Epsilon.parse("1"), {})
    assert isinstance(design, LgrrDesign)
    assert design.table.sizes == (1, 2)
    assert design.witness is not None


# -- the repair ----------------------------------------------------------------------------------


def test_the_repair_draws_views_in_proportion() -> None:
    """Section 9b: the signed plane of 4 x 4 codes, Z = 125.619382 at epsilon 1."""
    domain = RecordDomain(("x", "y"), (4, 4), ("y",), ((0.0, 3.0),), (1,))
    design = mechanism("lgrr-repaired").design(domain, Epsilon.parse("1"), {"fanout": 2})
    assert isinstance(design, NodeDesign)
    assert (len(design.table.groups), sum(design.table.sizes)) == (12, 105)
    index, shares = design.table.index, design.table.shares
    wanted = {
        ((0, 0), None): 0.0216390320,
        ((0, 2), 0): 0.0773629171,
        ((1, 2), 0): 0.1410473571,
        ((2, 2), 0): 0.2684162373,
    }
    for (levels, sign), share in wanted.items():
        assert shares[index[levels, sign, 0]] == pytest.approx(share, abs=1e-9)


# -- statistics ----------------------------------------------------------------------------------

PEOPLE, RUNS = 2_000, tiers.runs(300)
SKEWED = RecordDomain(("x", "y"), (8, 4), ("x",), ((0.0, 7.0),), (0,))


def simulated(name: str) -> tuple[LgrrDesign, dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Estimates and variances by estimator: (runs, 2) of a COUNT and a SUM, and the truth."""
    design = mechanism(name).design(SKEWED, Epsilon.parse("1"), {"fanout": 2})
    assert isinstance(design, LgrrDesign)
    random = np.random.default_rng(5)
    x = np.minimum(random.geometric(0.35, PEOPLE) - 1, 7)
    y = random.integers(0, 4, PEOPLE)
    box = Box((((0, 4),), ((0, 2),)))
    planned = [design.prepare(q) for q in (LinearQuery.count(box), LinearQuery.sum(0, box))]
    found: dict[str, list[Any]] = {name: [] for name in design.estimators}
    variances = []
    for seed in range(RUNS):
        signs = np.random.default_rng([seed, 1]).random(PEOPLE) < x / 7
        codes = np.stack([x, y, signs.astype(np.int64)], axis=1)
        histogram = histogram_of(design.randomize(codes, SeededEntropy(seed)))
        for each, make in design.estimators.items():
            answer = make(histogram).answer(planned)
            found[each].append(answer.values)
            if each != "published":
                variances.append(np.diagonal(answer.covariance))
    inside = (x < 4) & (y < 2)
    truth = np.array([inside.sum(), x[inside].sum()], dtype=float)
    return design, {k: np.array(v) for k, v in found.items()}, np.array(variances), truth


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", ["lgrr", "lgrr-fd"])
def test_the_published_estimator_is_biased_as_predicted(name: str) -> None:
    """f + L (f - 1/K) / (e - 1) for the published one, f for the other, with honest variance."""
    design, found, variances, truth = simulated(name)
    default = next(iter(design.estimators))
    assert default == ("by_share" if name == "lgrr" else "unbiased")
    assert is_unbiased(found[default][:, 0], truth[0])
    assert is_unbiased(found[default][:, 1], truth[1])
    assert variance_fits(found[default][:, 0], variances[:, 0].mean())
    assert variance_fits(found[default][:, 1], variances[:, 1].mean())
    length = design.answers[0].path
    even = PEOPLE / 4  # half of x by half of y
    bias = length * (truth[0] - even) / (np.e - 1)
    assert is_unbiased(found["published"][:, 0], truth[0] + bias)
    assert not is_unbiased(found["published"][:, 0], truth[0])


def test_leaves_by_share_are_explained() -> None:
    """Eight of 125 codes from one and a half parents: the bias is told, nodes are listed once."""
    line = RecordDomain(("x",), (125,), (), (), ())
    design = mechanism("lgrr").design(line, Epsilon.parse("1"), {})
    lines = design.describe(design.prepare(LinearQuery.count(Box((((3, 11),),)))))
    assert lines[-1] == "leaves answered from parents, by their share of codes"
    assert lines[0].endswith("nodes 0..2")
    other = mechanism("lgrr-fd").design(line, Epsilon.parse("1"), {})
    assert "leaves" not in other.describe(other.prepare(LinearQuery.count(Box((((3, 11),),)))))[-1]
