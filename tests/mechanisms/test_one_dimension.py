"""HI, HH and HaarHRR: vectors and statistics (those of the repaired LGRR too), refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.histograms import histogram_of
from support.node_sources import X1, N, TrueNodes
from support.significance import coverage_fits, is_unbiased, variance_fits
from support.tiers import runs

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.estimate import quantile
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.base import AnyDesign as Design
from ldpsql.estimators.base import make_estimator
from ldpsql.estimators.consistent import ConsistentDesign, ConsistentEstimator
from ldpsql.estimators.linear import LinearEstimator
from ldpsql.estimators.nodes import NodeDesign
from ldpsql.estimators.oracles import Hrr, hadamard
from ldpsql.mechanisms.oracles import odds_words
from ldpsql.mechanisms.registry import mechanism
from ldpsql_device.draw import symbols
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import Keep
from ldpsql_lab.mechanisms.haar import HaarDesign
from ldpsql_lab.mechanisms.split import SplitEstimator
from ldpsql_lab.simulation import SeededEntropy

WINDOW = ((12, 56),)
LINE = RecordDomain(("x1",), (125,), (), (), ())
PADDED = RecordDomain(("x1",), (128,), (), (), ())
COUNT = LinearQuery.count(Box((WINDOW,)))
ONE = Epsilon.parse("1")
USERS = N * ((X1 >= 12) & (X1 < 56)).var()


# -- vectors ---------------------------------------------------------------------------------------


def test_frequencies_of_hadamard_reports() -> None:
    """Section 13: three nodes, five reports."""
    oracle = Hrr.of(3, odds_words(ONE))
    rows, bits = np.array([0, 1, 2, 3, 1]), np.array([0, 1, 0, 0, 0])
    agree = oracle.supporters([rows], bits, np.ones(5), np.arange(3))
    frequencies = (agree / 5 - oracle.q) / (oracle.p - oracle.q)
    assert frequencies == pytest.approx([1.298372048, 0.432790683, -0.432790683], abs=1e-9)


def test_the_hadamard_transform() -> None:
    """Against its matrix."""
    matrix = [[(-1) ** (j & x).bit_count() for j in range(16)] for x in range(16)]
    values = np.random.default_rng(1).random(16)
    assert hadamard(values) == pytest.approx(np.array(matrix) @ values)


def test_haar_coefficients_of_the_specification() -> None:
    """Section 4: [2, 7) of eight codes."""
    design = mechanism("haarhrr").design(RecordDomain(("x",), (8,), (), (), ()), ONE, {})
    assert isinstance(design, HaarDesign)
    planned = design.prepare(LinearQuery.count(Box((((2, 7),),))))
    assert planned.known == 5 / 8
    (levels,) = planned.alternatives
    assert [cells.nodes.tolist() for cells in levels] == [[3], [0, 1], [0]]
    scaled = [(2**i * cells.weights).tolist() for i, cells in enumerate(levels, start=1)]
    assert scaled == [[1], [-2, 1], [-1]]
    variance = design.variance([planned], 1000)[0] / 1000**2
    assert variance == pytest.approx(0.00812154806, rel=1e-8)
    # The digit of a level is the node of code 5, and in its last bit the half that holds it.
    part = replace(design.plan.faces[0].parts[0], then=None, response=Keep())
    digits = [symbols(design.plan, part, np.array([[5]]), [np.array([i])], []) for i in range(3)]
    nodes = [int(digit[0]) for (digit,) in digits]
    assert [(node >> 1, node & 1) for node in nodes] == [(2, 1), (1, 0), (0, 1)]


@pytest.mark.parametrize(
    ("domain", "options", "exact"),
    [
        (LINE, {"fanout": 5, "oracle": "oue"}, 3_015.3),
        (PADDED, {"fanout": 2, "oracle": "oue"}, 3_302.3),
        (PADDED, {"fanout": 2, "oracle": "hrr"}, 3_601.8),
    ],
)
def test_hierarchical_histograms(
    domain: RecordDomain, options: dict[str, Any], exact: float
) -> None:
    """Section 13, exact standard deviations."""
    design = mechanism("hh").design(domain, ONE, options)
    assert isinstance(design, NodeDesign)
    estimator = LinearEstimator(TrueNodes(design))
    variance = estimator.answer([design.prepare(COUNT)]).covariance[0, 0]
    assert np.sqrt(variance - USERS) == pytest.approx(exact, rel=2e-5)


def test_constrained_inference() -> None:
    """Section 13: HH with OUE on a binary tree, consistent."""
    options = {"fanout": 2, "oracle": "oue", "inference": "consistent"}
    design = mechanism("hh").design(PADDED, ONE, options)
    assert isinstance(design, ConsistentDesign)
    estimator = ConsistentEstimator(design.table, LinearEstimator(TrueNodes(design)))
    variance = estimator.answer([design.prepare(COUNT)]).covariance[0, 0]
    assert np.sqrt(variance - USERS) == pytest.approx(1_600.2, rel=1e-4)


def test_a_split_budget() -> None:
    """Section 13: HI with three levels at a third of epsilon each; no sampling of users."""
    design = mechanism("hi").design(LINE, ONE, {})
    assert isinstance(design, NodeDesign)
    estimator = SplitEstimator(TrueNodes(design), design.table, LINE)
    variance = estimator.answer([design.prepare(COUNT)]).covariance[0, 0]
    # OLH over the complete family collides a little less than the ideal hash.
    assert 0.95 * 5_354.5 < np.sqrt(variance - USERS) <= 1.002 * 5_354.5


def test_a_haar_range() -> None:
    """Section 13, an upper bound there: without the means."""
    design = mechanism("haarhrr").design(PADDED, ONE, {})
    found = np.sqrt(design.variance([design.prepare(COUNT)], N)[0])
    assert found == pytest.approx(1_705.8, rel=1e-4)


# -- statistics ------------------------------------------------------------------------------------

PEOPLE, RUNS = 2_000, runs(200)
SIGNED = RecordDomain(("x",), (7,), ("x", "pay"), ((0.0, 6.0), (2.0, 10.0)), (0, None))
CASES: list[tuple[str, dict[str, Any]]] = [
    ("hi", {"fanout": 3}),
    ("hi", {"fanout": 2, "oracle": "hrr"}),
    ("hh", {"fanout": 3, "oracle": "hrr"}),
    ("hh", {"fanout": 2, "oracle": "oue", "inference": "consistent", "allocation": "optimal"}),
    ("haarhrr", {"allocation": "optimal"}),
    ("lgrr-repaired", {"fanout": 2}),
]
QUERIES = [
    LinearQuery.count(Box((((1, 6),),))),
    LinearQuery.count(Box((((0, 3),),))),
    LinearQuery.sum(0, Box((((1, 6),),))),
    LinearQuery.sum(1, Box((((0, 1), (3, 5)),))),
]


def people() -> tuple[np.ndarray, np.ndarray]:
    """Codes and the chance of an upper sign per measure."""
    random = np.random.default_rng(5)
    x = np.minimum(random.geometric(0.3, PEOPLE) - 1, 6)
    return x, np.stack([x / 6, np.minimum(1.0, (x + random.random(PEOPLE)) / 7)], axis=1)


def simulated(design: Design) -> tuple[np.ndarray, np.ndarray]:
    """Values (runs, k) and covariances (runs, k, k)."""
    planned = [design.prepare(query) for query in QUERIES]
    values, covariances = [], []
    x, chances = people()
    for seed in range(RUNS):
        signs = np.random.default_rng([seed, 1]).random(chances.shape) < chances
        codes = np.column_stack([x, signs.astype(np.int64)])
        histogram = histogram_of(design.randomize(codes, SeededEntropy(seed)))
        answer = make_estimator(design, histogram).answer(planned)
        values.append(answer.values)
        covariances.append(answer.covariance)
    return np.array(values), np.array(covariances)


def truth() -> np.ndarray:
    x, chances = people()
    inside, parts = (x >= 1) & (x < 6), (x < 1) | ((x >= 3) & (x < 5))
    pay = 2.0 + 8.0 * chances[:, 1]
    return np.array([inside.sum(), (x < 3).sum(), x[inside].sum(), pay[parts].sum()])


@pytest.mark.fast(3)
@pytest.mark.parametrize(("name", "options"), CASES)
def test_unbiased_with_honest_errors(name: str, options: dict[str, Any]) -> None:
    """COUNT and SUM, also of a measure without a dimension: mean, spread, coverage; and the
    variance of a sum of two overlapping counts, and of a difference of COUNT and SUM."""
    design = mechanism(name).design(SIGNED, Epsilon.parse("2"), options)
    values, covariances = simulated(design)
    for column, exact in enumerate(truth()):
        variances = covariances[:, column, column]
        assert is_unbiased(values[:, column], exact)
        assert variance_fits(values[:, column], variances.mean())
        inside = np.abs(values[:, column] - exact) <= quantile(0.5) * np.sqrt(variances)
        assert coverage_fits(int(inside.sum()), RUNS, 0.5)
    for left, right, factor in ((0, 1, 1.0), (0, 2, -0.5)):
        joint = values[:, left] + factor * values[:, right]
        variance = (
            covariances[:, left, left]
            + factor**2 * covariances[:, right, right]
            + 2 * factor * covariances[:, left, right]
        )
        assert variance_fits(joint, variance.mean())


def test_levels_taken_for_independent_are_caught() -> None:
    """The negative control: HI without the covariance that its levels share through the record.

    At a large epsilon hardly any noise is left, and people count as a sample.
    """
    design = mechanism("hi").design(
        RecordDomain(("x",), (4,), (), (), ()), Epsilon.parse("16"), {"fanout": 2}
    )
    assert isinstance(design, NodeDesign)
    query = design.prepare(LinearQuery.count(Box((((0, 3),),))))
    values, told, apart = [], [], []
    for seed in range(RUNS):
        x = np.random.default_rng([seed, 2]).choice(4, (PEOPLE, 1), p=[0.6, 0.05, 0.3, 0.05])
        histogram = histogram_of(design.randomize(x, SeededEntropy(seed)))
        estimator = make_estimator(design, histogram)
        answer = estimator.answer([query])
        values.append(answer.values[0])
        told.append(answer.covariance[0, 0])
        levels = LinearEstimator(estimator.source)
        apart.append(levels.answer([query]).covariance[0, 0])
    assert variance_fits(np.array(values), float(np.mean(told)))
    assert not variance_fits(np.array(values), float(np.mean(apart)))


@pytest.mark.parametrize("name", ["hh", "haarhrr"])
def test_more_than_one_attribute_is_refused(name: str) -> None:
    """They are made for one."""
    domain = RecordDomain(("x", "y"), (4, 4), (), (), ())
    with pytest.raises(SurveyError, match="for one dimension"):
        mechanism(name).design(domain, ONE, {})


def test_an_epsilon_too_small_to_split_is_named_as_such() -> None:
    """0.005 is an epsilon, a seventh of it is not."""
    small = Epsilon.parse("0.005")
    with pytest.raises(
        SurveyError, match=r"hi splits epsilon 0\.005 over 7 levels.*at least 0\.001"
    ):
        mechanism("hi").design(LINE, small, {"fanout": 2})
    assert mechanism("hi").design(LINE, small, {"fanout": 5}).plan.faces[0].parts[2:]
