"""Conjunctions that were not collected, fitted to pairs of attributes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from support import tiers
from support.histograms import histogram_of
from support.marginals import count, domain_of
from support.repeated_surveys import Repeated

from ldpsql.algebra.boxes import Weight
from ldpsql.errors import UnsupportedSQL
from ldpsql.estimators.base import AnyDesign as Design
from ldpsql.estimators.base import make_estimator
from ldpsql.marginals.decoder import fit_share
from ldpsql.mechanisms.registry import mechanism
from ldpsql_device.epsilon import Epsilon
from ldpsql_lab.simulation import SeededEntropy

PAIRS = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
PEOPLE, RUNS = 4000, tiers.runs(150)
ALL_THREE = count(3, a0=((1, 2),), a1=((1, 2),), a2=((1, 2),))


def design_of(name: str, ways: int = 2) -> Design:
    """Three attributes, of two codes each for ft."""
    sizes = (2, 2, 2) if name == "ft" else (3, 2, 4)
    return mechanism(name).design(domain_of(*sizes), Epsilon.parse("4"), {"ways": ways})


def chances(interaction: float) -> np.ndarray:
    """Of 2 x 2 x 2 cells: every pair depends on each other, and all three if wanted."""
    table = np.zeros((2, 2, 2))
    for a, b, c in product((0, 1), repeat=3):
        log = 0.6 * a * b + 0.5 * b * c - 0.4 * a * c + 0.3 * a + interaction * a * b * c
        table[a, b, c] = np.exp(log)
    return table / table.sum()


def shares_of(table: np.ndarray) -> np.ndarray:
    """Inside on each of PAIRS."""
    found = []
    for subset in PAIRS:
        others = tuple(axis for axis in range(3) if axis not in subset)
        found.append(table.sum(axis=others)[(1,) * len(subset)])
    return np.array(found)


def test_a_table_without_a_further_interaction_is_found_again() -> None:
    """From its pairs; one with such an interaction is not."""
    table = chances(0.0)
    assert fit_share(3, PAIRS, shares_of(table)) == pytest.approx(table[1, 1, 1], abs=1e-7)
    other = chances(-2.5)
    assert abs(fit_share(3, PAIRS, shares_of(other)) - other[1, 1, 1]) > 0.02


def test_attributes_without_pairs_are_independent() -> None:
    """The most entropy that single attributes leave."""
    assert fit_share(2, [(0,), (1,)], np.array([0.3, 0.2])) == pytest.approx(0.06)


def simulated(design: Design, table: np.ndarray, runs: int = RUNS) -> Repeated:
    """Fitted counts of all three, people drawn anew in every run."""

    def draw(seed: int) -> np.ndarray:
        cells = np.random.default_rng([seed, 3]).choice(8, PEOPLE, p=table.ravel())
        return np.stack([cells >> 2, cells >> 1 & 1, cells & 1], axis=1).astype(np.int64)

    fit = design.estimators["maxent"]
    return Repeated.of(design, [design.prepare(ALL_THREE)], draw, runs, fit)


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", ["srr-ss", "arr-ss", "ft"])
def test_fits_are_right_where_pairs_say_everything(name: str) -> None:
    """Up to the curvature of the fit, which is small beside the noise of 4,000 people."""
    table = chances(0.0)
    simulated(design_of(name), table).check_honest([PEOPLE * table[1, 1, 1]])


def test_a_further_interaction_biases_a_fit() -> None:
    """The negative control, and what the estimator's note says."""
    table = chances(-2.5)
    found = simulated(design_of("srr-ss"), table, 60)
    assert not found.is_unbiased([PEOPLE * table[1, 1, 1]])


def test_collected_questions_are_answered_as_ever() -> None:
    """With the covariance of the unbiased estimator, also beside fitted ones."""
    design = design_of("srr-ss")
    codes = np.random.default_rng(2).integers(0, 2, (PEOPLE, 3))
    histogram = histogram_of(design.randomize(codes, SeededEntropy(0)))
    asked = [
        design.prepare(count(3, a0=((0, 1),))),
        design.prepare(count(3, a1=((0, 1),), a2=((0, 2),))),
    ]
    plain = make_estimator(design, histogram).answer(asked)
    both = design.estimators["maxent"](histogram).answer([*asked, design.prepare(ALL_THREE)])
    assert both.values[:2] == pytest.approx(plain.values)
    assert both.covariance[:2, :2] == pytest.approx(plain.covariance)
    assert 0.0 < both.covariance[2, 2] < np.inf


@pytest.mark.parametrize("name", ["srr-ss", "arr-ss", "ft"])
def test_the_unbiased_estimator_refuses_what_can_only_be_fitted(name: str) -> None:
    """And `auto` and forecasts see an infinite variance."""
    design = design_of(name)
    planned = design.prepare(ALL_THREE)
    reports = design.randomize(np.zeros((9, 3), dtype=np.int64), SeededEntropy(0))
    with pytest.raises(UnsupportedSQL, match=r"a0 and a1 and a2 together.*ways = 3"):
        make_estimator(design, histogram_of(reports)).answer([planned])
    with pytest.raises(UnsupportedSQL, match=r"a0 and a1 and a2 together"):
        make_estimator(design, histogram_of(reports)).values([planned])
    assert design.variance([planned], 1000)[0] == np.inf
    assert "maxent" in design.describe(planned)[0]


def test_single_attributes_and_public_sums_are_not_fitted() -> None:
    """Independence is no guess to make unasked; a public column may be negative."""
    assert set(design_of("srr-ss", ways=1).estimators) == {"unbiased", "smooth"}
    with pytest.raises(UnsupportedSQL):
        design_of("srr-ss", ways=1).prepare(ALL_THREE)
    with pytest.raises(UnsupportedSQL):
        design_of("srr-ss").prepare(type(ALL_THREE)(ALL_THREE.terms, None, Weight("amount")))
