"""Slots lead to families exactly as often as the families weigh."""

from __future__ import annotations

import numpy as np
import pytest
from support.fourier_designs import by_hand

from ldpsql.mechanisms.fourier.alias import Alias

DESIGNS = by_hand()
NAMES = list(DESIGNS)


@pytest.mark.parametrize("weights", [[1 << 32], [1, (1 << 32) - 1], [1 << 31, 1 << 30, 1 << 30]])
def test_slots_lead_to_families_as_often_as_they_weigh(weights: list[int]) -> None:
    assert Alias.of(weights).chances(len(weights)) == weights


@pytest.mark.parametrize("name", NAMES)
def test_slots_of_a_design_lead_to_its_families(name: str) -> None:
    table = DESIGNS[name].table
    assert Alias.of(table.weights).chances(len(table.weights)) == list(table.weights)


def test_random_weights_lead_to_their_families() -> None:
    random = np.random.default_rng(1)
    for count in (2, 3, 5, 64, 65, 1000):
        cuts = np.sort(random.choice((1 << 32) - 1, count - 1, replace=False)) + 1
        weights = np.diff([0, *cuts.tolist(), 1 << 32]).tolist()
        assert Alias.of(weights).chances(count) == weights
