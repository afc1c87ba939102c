"""HI, HH and HaarHRR over one dimension: vectors and refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.node_sources import X1, N, TrueNodes

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
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

WINDOW = ((12, 56),)
LINE = RecordDomain(("x1",), (125,), (), (), ())
PADDED = RecordDomain(("x1",), (128,), (), (), ())
COUNT = LinearQuery.count(Box((WINDOW,)))
ONE = Epsilon.parse("1")
USERS = N * ((X1 >= 12) & (X1 < 56)).var()


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
