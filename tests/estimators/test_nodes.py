"""Exact standard deviations of the specification (docs/spec/h4mda.md#13) on its deterministic data.

The specification's numbers are for exactly these people; ours count people as a sample, so the
variance of the true per-person amounts is taken off before comparing. GRR and OUE must agree to
rounding. OLH over the complete affine family collides slightly less than the ideal hash of the
specification, so its standard deviation is lower, never higher.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.node_sources import X1, X2, N, TrueNodes, of_sub_survey

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.consistent import ConsistentDesign, ConsistentEstimator
from ldpsql.estimators.linear import LinearEstimator
from ldpsql.estimators.nodes import NodeDesign
from ldpsql.mechanisms.oracles import plan_of_groups
from ldpsql.mechanisms.registry import mechanism
from ldpsql_device.epsilon import Epsilon

WINDOW, BOX = ((12, 56),), ((30, 100),)
LINE = RecordDomain(("x1",), (125,), (), (), ())
PADDED = RecordDomain(("x1",), (128,), (), (), ())
PLANE = RecordDomain(("x1", "x2"), (125, 125), (), (), ())
BOUNDS = (1.0, 125.0)
MEASURED = RecordDomain(("x1", "x2"), (125, 125), ("x1", "x2"), (BOUNDS, BOUNDS), (0, 1))


def standard_deviation(
    name: str,
    domain: RecordDomain,
    epsilon: str,
    query: LinearQuery,
    options: dict[str, Any],
    sub_survey: int | None,
) -> float:
    """For exactly these people, from the design and the true frequencies."""
    design = mechanism(name).design(domain, Epsilon.parse(epsilon), options)
    assert isinstance(design, NodeDesign)
    planned = design.prepare(query)
    answer = LinearEstimator(TrueNodes(design)).answer([of_sub_survey(planned, sub_survey)])
    variance = float(answer.covariance[0, 0])
    return float(np.sqrt(variance - N * amounts(query).var()))


def amounts(query: LinearQuery) -> np.ndarray:
    """What each person adds to the true answer."""
    inside = np.ones(N, dtype=bool)
    for side, codes in zip(query.terms[0][1].sides, (X1, X2), strict=False):
        if side is not None:
            inside &= (codes >= side[0][0]) & (codes < side[0][1])
    return inside * (1.0 if query.measure is None else X2 + 1.0)


def count(*sides: Any) -> LinearQuery:
    return LinearQuery.count(Box(sides))


def total(*sides: Any) -> LinearQuery:
    return LinearQuery.sum(1, Box(sides))


def test_the_data_are_those_of_the_specification() -> None:
    """Its check sums."""
    assert (X1.sum(), X2.sum()) == (3_991_800, 8_173_825)
    assert amounts(count(WINDOW, None)).sum() == 52_342
    assert amounts(count(WINDOW, BOX)).sum() == 33_560
    assert amounts(total(WINDOW, None)).sum() == 4_211_359
    assert amounts(total(WINDOW, BOX)).sum() == 2_308_440


@pytest.mark.fast(4)
@pytest.mark.parametrize(
    ("name", "domain", "epsilon", "query", "options", "sub_survey", "exact"),
    [
        ("hgrr", MEASURED, "1", count(WINDOW, None), {}, 1, 27_486.7),
        ("hgrr", MEASURED, "1", total(WINDOW, None), {}, None, 4_854_707.6),
        ("hgrr", MEASURED, "1", total(WINDOW, BOX), {}, None, 50_593_256.2),
        ("hgrr", MEASURED, "2", count(WINDOW, None), {}, 1, 8_006.7),
        ("hgrr", MEASURED, "2", total(WINDOW, None), {}, None, 1_366_855.5),
        ("hgrr", MEASURED, "2", total(WINDOW, BOX), {}, None, 13_636_384.5),
        ("hgrr", MEASURED, "1", total(None, None), {}, None, 258_516.8),
        ("lgrr-repaired", MEASURED, "1", count(WINDOW, None), {}, 1, 162_967.4),
        ("lgrr-repaired", MEASURED, "1", total(WINDOW, BOX), {}, None, 49_720_867.4),
        ("lgrr-repaired", MEASURED, "2", count(WINDOW, None), {}, 1, 48_829.6),
        ("lgrr-repaired", MEASURED, "2", total(WINDOW, BOX), {}, None, 13_498_990.0),
        ("hio", LINE, "1", count(WINDOW), {"oracle": "oue"}, None, 3_015.3),
        ("hh", LINE, "1", count(WINDOW), {"fanout": 5, "oracle": "oue"}, None, 3_015.3),
        ("hh", PADDED, "1", count(WINDOW), {"fanout": 2, "oracle": "oue"}, None, 3_302.3),
        ("hh", PADDED, "1", count(WINDOW), {"fanout": 2, "oracle": "hrr"}, None, 3_601.8),
    ],
)
def test_exact_oracles_agree(
    name: str,
    domain: RecordDomain,
    epsilon: str,
    query: LinearQuery,
    options: dict[str, Any],
    sub_survey: int | None,
    exact: float,
) -> None:
    """HGRR and hierarchical histograms with OUE and HRR, to five digits."""
    found = standard_deviation(name, domain, epsilon, query, options, sub_survey)
    assert found == pytest.approx(exact, rel=2e-5)


ROOT = {"root": True}


@pytest.mark.fast(3)
@pytest.mark.parametrize(
    ("name", "domain", "epsilon", "query", "options", "sub_survey", "ideal"),
    [
        ("hio", LINE, "0.5", count(WINDOW), ROOT, None, 7_150.7),
        ("hio", LINE, "1", count(WINDOW), ROOT, None, 3_493.6),
        ("hio", LINE, "2", count(WINDOW), ROOT, None, 1_628.0),
        ("hio", LINE, "1", count(((0, 50),)), ROOT, None, 1_828.5),
        ("hio", PLANE, "1", count(WINDOW, BOX), ROOT, None, 16_871.2),
        ("hio", PLANE, "2", count(WINDOW, BOX), ROOT, None, 7_524.2),
        ("hio", PLANE, "1", count(WINDOW, None), ROOT, None, 6_992.6),
        ("ahio", MEASURED, "1", count(WINDOW, None), ROOT, None, 9_890.2),
        ("ahio", MEASURED, "1", total(WINDOW, None), ROOT, None, 1_738_563.8),
        ("ahio", MEASURED, "2", count(WINDOW, None), ROOT, None, 4_623.6),
        ("ahio", MEASURED, "2", total(WINDOW, None), ROOT, None, 799_459.2),
        ("ehio", MEASURED, "1", count(WINDOW, None), ROOT, 1, 11_057.9),
        ("ehio", MEASURED, "1", total(WINDOW, None), ROOT, None, 1_374_427.3),
        ("ehio", MEASURED, "1", total(WINDOW, BOX), ROOT, None, 3_331_711.9),
        ("ehio", MEASURED, "2", count(WINDOW, None), ROOT, 1, 5_169.9),
        ("ehio", MEASURED, "2", total(WINDOW, None), ROOT, None, 631_967.0),
        ("ehio", MEASURED, "2", total(WINDOW, BOX), ROOT, None, 1_481_634.2),
        ("ehio", MEASURED, "1", total(WINDOW, None), {"oracle": "auto"}, None, 1_352_738.6),
        ("ehio", MEASURED, "2", total(WINDOW, None), {"oracle": "auto"}, None, 601_987.5),
    ],
)
def test_hashing_is_at_least_as_good_as_ideal(
    name: str,
    domain: RecordDomain,
    epsilon: str,
    query: LinearQuery,
    options: dict[str, Any],
    sub_survey: int | None,
    ideal: float,
) -> None:
    """HIO, AHIO, EHIO: never above the specification's value.

    Levels of few nodes hardly collide under a prime modulus: a prefix of two top-level nodes of
    five gains most (0.715), the other cases stay above 0.9.
    """
    found = standard_deviation(name, domain, epsilon, query, options, sub_survey)
    assert 0.7 * ideal < found <= 1.002 * ideal


@pytest.mark.parametrize(("epsilon", "ideal"), [("0.5", 4_176.6), ("1", 2_037.0), ("2", 939.2)])
def test_least_squares_on_unequal_groups(epsilon: str, ideal: float) -> None:
    """Shares .2, .3, .5 of the levels; hashing collides less than the ideal on five nodes."""
    even = mechanism("hio").design(LINE, Epsilon.parse(epsilon), {"inference": "consistent"})
    assert isinstance(even, ConsistentDesign)
    table = even.table.reweigh(np.array([0.2, 0.3, 0.5]))
    design = replace(even, table=table, plan=plan_of_groups(LINE, table, even.oracle, even.epsilon))
    estimator = ConsistentEstimator(table, LinearEstimator(TrueNodes(design)))
    variance = float(estimator.answer([design.prepare(count(WINDOW))]).covariance[0, 0])
    found = np.sqrt(variance - N * amounts(count(WINDOW)).var())
    assert 0.93 * ideal < found <= 1.002 * ideal
