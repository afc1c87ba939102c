"""Errors by their formulas, computed directly."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldpsql_lab.bench.summary import errors

VALUE = np.array([12.0, 7.0, math.nan, 1.0, 5.0])
TRUTH = np.array([10.0, 10.0, 10.0, 0.0, math.nan])
SCALE = np.array([20.0, 40.0, 20.0, 20.0, 20.0])
LOW, HIGH = VALUE - np.array([3.0, 1.0, 1, 2.0, 9.0]), VALUE + np.array([3.0, 1.0, 1, 2.0, 9.0])
FOUND = errors(VALUE, TRUTH, SCALE, np.array([1.0, 2.0, 9.0, 2.0, 9.0]), LOW, HIGH)


def test_answers_without_a_truth_are_left_out() -> None:
    """Four of five have one, and one of these is NULL."""
    assert FOUND.answers == 4
    assert FOUND.undetermined == pytest.approx(0.25)


def test_errors() -> None:
    """2, -3 and 1; a relative error needs a truth that is not 0."""
    assert FOUND.mse == pytest.approx((4 + 9 + 1) / 3)
    assert FOUND.rmse == pytest.approx(math.sqrt(14 / 3))
    assert FOUND.bias == pytest.approx(0.0)
    assert FOUND.nmse == pytest.approx((4 / 400 + 9 / 1600 + 1 / 400) / 3)
    assert FOUND.mre == pytest.approx((0.2 + 0.3) / 2)


def test_intervals() -> None:
    """The second one does not hold the truth."""
    assert FOUND.coverage == pytest.approx(2 / 3)
    assert FOUND.width == pytest.approx((6 + 2 + 4) / 3)
    assert FOUND.claimed == pytest.approx(math.sqrt((1 + 4 + 4) / 3))


def test_nothing_to_compare() -> None:
    """Means of nothing are NaN and no warning."""
    nothing = np.full(2, math.nan)
    found = errors(nothing, nothing, nothing, nothing, nothing, nothing)
    assert found.answers == 0
    assert math.isnan(found.mse)
