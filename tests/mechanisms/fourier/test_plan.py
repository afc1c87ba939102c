"""The plan of a Fourier response: its exact channel, its size, and what rounding weights costs."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support.fourier_designs import (
    HAND_MADE,
    channel,
    domain_of,
    elements,
    outputs,
    table_of,
)

from ldpsql.algebra.workload import Workload
from ldpsql.audit.exact import worst_odds
from ldpsql.mechanisms.fourier.candidates import Emitted
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.families import Cluster
from ldpsql.mechanisms.fourier.group import Group
from ldpsql.mechanisms.fourier.optimise import design_families
from ldpsql.mechanisms.fourier.recipe import group_of, mean_variance, plan_of, round_weights
from ldpsql.mechanisms.fourier.spectra import Collected
from ldpsql.reports.channel import enumerate_law
from ldpsql.reports.report import question_shares
from ldpsql.reports.survey_file import plan_to_json
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.plan import WORDS, Varying, subset_words

DESIGNS = HAND_MADE
NAMES = list(DESIGNS)


@pytest.mark.parametrize(
    ("size", "phases", "epsilon", "expected"),
    [
        (1, 2, "1", 13485650502874271968),
        (1, 5, "1", 7463731128003806033),
        (17, 64, "1", 9145278423823134532),
        (8, 64, "2", 9472756646860649479),
        (1, 256, "0.1", 79603254437807045),
    ],
)
def test_thresholds_of_the_specification(
    size: int, phases: int, epsilon: str, expected: int
) -> None:
    """docs/spec/fourier.md#12 leaves 2^-40 of the odds unused; here whole words do the rounding."""
    inside, _ = subset_words(size, phases, int(Epsilon.parse(epsilon).odds * WORDS))
    assert size * inside == pytest.approx(expected, rel=1e-10)


# -- the exact channel -----------------------------------------------------------------------------


@pytest.mark.fast(6)
@pytest.mark.parametrize("name", NAMES)
def test_the_channel_is_exactly_private_and_spends_its_budget(name: str) -> None:
    """In Fractions, from the words that the interpreter compares with."""
    design = DESIGNS[name]
    law = enumerate_law(design.plan)
    assert all(sum(row) == 1 for row in law.probabilities)
    worst = law.worst().odds
    assert worst is not None
    assert worst == worst_odds(design) <= design.epsilon.odds
    assert worst > design.epsilon.odds * (1 - Fraction(1, 10**9))


@pytest.mark.fast(6)
@pytest.mark.parametrize("name", NAMES)
def test_the_channel_is_that_of_the_definition(name: str) -> None:
    """Pr = w x(theta(u) - phi) / s, phases taken from the characters as rational turns."""
    design = DESIGNS[name]
    law, matrix = enumerate_law(design.plan), channel(design)
    assert list(law.outputs) == outputs(design)
    widths = [design.group.width(axis) for axis in range(design.group.dimensions)]
    place = {element: i for i, element in enumerate(elements(design.group))}
    for record, row in zip(law.inputs, law.probabilities, strict=True):
        binned = [code // width for code, width in zip(record, widths, strict=False)]
        column = matrix[:, place[(*binned, *record[len(widths) :])]]
        np.testing.assert_allclose([float(p) for p in row], column, rtol=1e-11)


# -- weights and size ------------------------------------------------------------------------------


def test_weights_keep_their_first_bits() -> None:
    weights = np.array([1.0, 0.999, 0.5, 1.0 / 3.0, 1e-3, 2.0**-28])
    mantissas, exponents = round_weights(weights, 4)
    assert mantissas.max() < 16
    assert exponents.min() == 0
    rounded = mantissas * 2.0**exponents
    np.testing.assert_allclose(rounded / rounded[0], weights, rtol=1.0 / 16.0)


def test_tiny_weights_are_raised() -> None:
    """To what a device can tell apart, so that sums stay whole numbers of JSON."""
    mantissas, exponents = round_weights(np.array([1.0, 1e-30]), 4)
    assert exponents.tolist() == [30, 0]
    mantissas, exponents = round_weights(np.array([1e-30, *np.full(1 << 20, 1.0)]), 4)
    total = (mantissas * 2.0**exponents).sum()
    assert mantissas[0] / total > 2.0**-32
    assert total < 2.0**53


def test_families_of_one_shape_share_a_face() -> None:
    """Whatever their orders, while a symbol keeps less than 2^31 values."""
    group = Group((1 << 12, 1 << 12), (1 << 12, 1 << 12), (1 << 12, 1 << 12), ((0, 1),))

    def arcs(order: int) -> Emitted:
        character = np.array([[(1 << 12) // order]])
        cluster = Cluster("arcs", ((0,),), (order,), character, np.array([[1]]), group)
        return Emitted(cluster, np.array([1.0]))

    plan = plan_of([arcs(4), arcs(64), arcs(2)], group, Epsilon.parse("1"))
    assert len(plan.faces) == 1
    assert plan.faces[0].parts[0].digits[0].radix == Varying(0, (4, 64, 2))
    np.testing.assert_allclose(question_shares(plan), 1.0 / 3.0)


README = domain_of((74, 2), ((0.0, 80.0),))


def test_the_survey_of_the_readme_is_small_and_as_good() -> None:
    """Its plan leaves half a kilobyte of four for the schema; rounding the weights costs
    less than a thousandth of the expected error."""
    promised = Epsilon.parse("2")
    workload = Workload.everyday(README, {1: "equality"})
    group = group_of(README, workload, 4096)
    families = design_families(group, workload, float(promised.odds))
    plan = plan_of(families, group, promised)
    text = json.dumps(plan_to_json(plan), separators=(",", ":"), sort_keys=True)
    assert len(gzip.compress(text.encode(), 9)) < 2_300
    design = FourierDesign(README, promised, workload, group, plan)
    exact = replace(design)
    vars(exact)["collected"] = Collected(group, table_of(families), float(promised.odds))
    assert mean_variance(design) / mean_variance(exact) < 1.0002
