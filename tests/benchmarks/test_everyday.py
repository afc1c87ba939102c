"""Five everyday questions are answered nearly as well as can be."""

from __future__ import annotations

from itertools import product

import pytest
from support.tiers import keep_fast

from benchmarks.everyday import EPSILONS, SETS, distances

FAST = [("counts alone", "1")]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "epsilon"), keep_fast(product(SETS, EPSILONS), FAST))
def test_five_questions_are_near_the_least(name: str, epsilon: str) -> None:
    mechanism, levels, whole, rounded = distances(name, epsilon)
    assert mechanism == "staircase"
    assert 0.9 < rounded < 1.06
    if levels:
        assert max(levels) > 2
        assert rounded < whole < 1.33  # the bound on all surveys is looser
    else:
        assert whole == pytest.approx(rounded)
