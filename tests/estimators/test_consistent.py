"""Consistent inference on trees: vectors, its gain over direct answers, and a refusal."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.base import make_estimator
from ldpsql.estimators.trees import AxisDetails, Tree, balance
from ldpsql.mechanisms.registry import mechanism
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_lab.simulation import SeededEntropy, histogram_of

CONSISTENT = {"inference": "consistent"}


@pytest.mark.parametrize(("allocation", "adds_up"), [(CONSISTENT, True), ({}, False)])
def test_the_parts_of_a_box_add_up_to_it(allocation: dict[str, str], adds_up: bool) -> None:
    """docs/mechanisms.md; direct answers to a box and to its parts come from other nodes."""
    domain = RecordDomain(("x",), (9,), (), (), ())
    made = mechanism("hio").design(domain, Epsilon.parse("1"), {"fanout": 3, **allocation})
    codes = np.random.default_rng(3).integers(0, 9, (500, 1))
    estimator = make_estimator(made, histogram_of(made.randomize(codes, SeededEntropy(3))))
    sides = [((1, 7),), ((1, 4),), ((4, 7),)]
    whole, left, right = estimator.answer(
        [made.prepare(LinearQuery.count(Box((side,)))) for side in sides]
    ).values
    assert (abs(whole - left - right) < 1e-6) == adds_up


def test_energies_of_single_intervals() -> None:
    """docs/spec/h4mda.md#10.4, vector V1."""
    tree = Tree(4, (2, 2))
    assert AxisDetails(tree, ((1, 3),)).energies == pytest.approx([1, 0, 1])
    assert AxisDetails(tree, ((0, 1),)).energies == pytest.approx([0.25, 0.25, 0.5])


def test_details_are_orthogonal_projections_that_sum_to_the_indicator() -> None:
    """Summed over all levels, the details give each leaf its indicator back."""
    tree = balance(23, 3)
    axis = AxisDetails(tree, ((2, 9), (17, 20)))
    leaves = axis.sums[-1]
    indicator = np.zeros(23)
    indicator[2:9] = indicator[17:20] = 1
    assert leaves.sum(axis=0) == pytest.approx(indicator)
    assert axis.energies.sum() == pytest.approx(10)


def test_far_better_than_direct_answers() -> None:
    """Half boxes of 64 x 64 at epsilon 1: at most a sixth of direct HIO's variance.

    The allocation is made for all ranges over one or two dimensions, not for these boxes.
    """
    domain = RecordDomain(("x", "y"), (64, 64), (), (), ())
    options = {"fanout": 4, "oracle": "auto"}
    best = {**options, **CONSISTENT, "allocation": "optimal"}
    starts = np.random.default_rng(1).integers(0, 33, (30, 2)).tolist()
    queries = [LinearQuery.count(Box((((a, a + 32),), ((b, b + 32),)))) for a, b in starts]
    found = []
    for chosen in (best, {"fanout": 4}):
        design = mechanism("hio").design(domain, Epsilon.parse("1"), chosen)
        found.append(design.variance([design.prepare(q) for q in queries], 100_000).mean())
    assert found[0] < found[1] / 6


def test_too_large_a_decode_is_refused() -> None:
    """Consistent inference touches every node."""
    domain = RecordDomain(("x", "y"), (512, 512), (), (), ())
    with pytest.raises(SurveyError, match="decodes every node"):
        mechanism("hio").design(domain, Epsilon.parse("1"), CONSISTENT)
