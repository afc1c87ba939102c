"""When a claim is said to hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.figures.verdicts import (
    LEVEL,
    Value,
    band,
    in_every_case,
    is_above,
    is_near,
    mostly,
    tally,
)


def test_exact_values_are_compared_as_they_are() -> None:
    """And nothing is told of a tie, or of one run."""
    assert is_above(Value(2.0), Value(1.0)) is True
    assert is_above(Value(1.0), Value(2.0)) is False
    assert is_above(Value(1.0), Value(1.0)) is None
    assert is_above(Value(2.0), Value(1.5), 2.0) is False
    assert is_above(Value(2.0, math.nan, 1), Value(1.0)) is None
    assert is_above(Value(math.nan), Value(1.0)) is None


def test_runs_tell_what_is_beyond_chance() -> None:
    """Five runs each: 2.31 of the difference's standard error with eight degrees of freedom."""
    one, error = Value(1.0, 0.1, 5), 0.1 * math.sqrt(2.0)
    for times, told in ((2.2, None), (2.4, True)):
        assert is_above(Value(1.0 + times * error, 0.1, 5), one) is told
    assert is_above(one, Value(2.0, 0.1, 5)) is False
    assert is_above(Value(1.0 + 2.4 * error, 0.1, 5), one, cases=20) is None


def test_the_level_is_kept() -> None:
    """Of two equal means a difference is told in one case of twenty, both sides together."""
    random = np.random.default_rng(4)
    runs = random.normal(size=(2_500, 2, 6))
    told = [is_above(*(Value.over(part.tolist()) for part in both)) is not None for both in runs]
    expected, spread = LEVEL, math.sqrt(LEVEL * (1 - LEVEL) / len(told))
    assert abs(np.mean(told) - expected) < 5.5 * spread
    # The negative control: as if the standard errors were half of what they are.
    halved = [
        is_above(*(Value(v.mean, v.stderr / 2, v.runs) for v in map(Value.over, both.tolist())))
        is not None
        for both in runs[:2_000]
    ]
    assert np.mean(halved) > 3 * LEVEL


def test_near_is_told_both_ways() -> None:
    """Within ten per cent, outside, or neither."""
    other = Value(1.0, 0.0, 0)
    assert is_near(Value(1.02, 0.01, 20), other, 0.1) is True
    assert is_near(Value(1.2, 0.01, 20), other, 0.1) is False
    assert is_near(Value(0.8, 0.01, 20), other, 0.1) is False
    assert is_near(Value(1.08, 0.05, 20), other, 0.1) is None


@pytest.mark.parametrize(
    ("votes", "every", "most"),
    [
        ([True] * 10, True, True),
        ([True] * 9 + [None], None, True),
        ([True] * 9 + [False], False, True),
        ([True] * 8 + [None, False], False, None),
        ([True] * 8 + [False, False], False, False),
        ([], None, None),
    ],
)
def test_claims_about_every_case_and_most(votes, every, most) -> None:
    assert in_every_case(votes) is every
    assert mostly(votes) is most


def test_what_is_said_of_cases() -> None:
    assert tally([True, False, None]) == "1 of 3 confirmed, 1 contradicted, 1 undecided"
    low, high = band([Value(1.0, 0.1, 5), Value(1.0, 9.0, 5), Value(2.0)])
    assert (low[0], high[0]) == pytest.approx((1 - 0.2776, 1 + 0.2776), abs=1e-3)
    assert low[1:] == [0.1, 2.0]
