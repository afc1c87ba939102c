"""Somebody who knows what all others of a shuffled batch hold learns no more than is promised."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.known_others import CASES, PROMISE, design_of, tell_apart, weaken
from ldpsql_lab.simulation import SeededEntropy

BATCHES = 100_000
EPSILON = float(PROMISE.epsilon)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "shape"), CASES)
def test_known_others_hide_a_person_as_promised(name: str, shape: str) -> None:
    """By the device code, except with a probability of 1e-6; the attack does find something."""
    found = tell_apart(design_of(name, shape), PROMISE, BATCHES, SeededEntropy(1))
    assert 0.1 * EPSILON < found.epsilon_at_least <= EPSILON
    assert found.seen > found.seen_other
    assert len({found.record, found.other, found.known}) == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["grr", "fourier", "staircase", "olh", "oue", "hgrr"])
def test_too_little_randomness_is_found(name: str) -> None:
    broken = weaken(design_of(name, "4"))
    assert tell_apart(broken, PROMISE, BATCHES, SeededEntropy(1)).epsilon_at_least > EPSILON


@pytest.mark.slow
def test_too_few_people_are_found() -> None:
    """A shuffler that mixes 5 instead of 50."""
    few = replace(PROMISE, people=5)
    found = tell_apart(design_of("grr", "4"), few, BATCHES, SeededEntropy(1))
    assert found.epsilon_at_least > EPSILON
