"""Errors by their formulas, computed directly."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from ldpsql_lab.bench.results import tables
from ldpsql_lab.bench.summary import COSTS, Line, errors

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


def line(mechanism: str, undetermined: float, mre: float, *, sound: bool = True) -> Line:
    found = replace(FOUND, undetermined=undetermined, mre=mre, nmse=math.nan)
    costs = dict.fromkeys(COSTS, 1.0)
    kind = (mechanism, sound, "epsilon 1", 1.0, 300, "ranges", "AVG(pay)", 1)
    return Line(*kind, found, math.nan, costs, 8.0, 2)


def test_what_answers_most_is_first_and_then_what_errs_least() -> None:
    """A mechanism whose few answers are the easy ones is not the best of all."""
    made = [
        line("lucky", 0.98, 0.001),
        line("unsound", 0.0, 0.0001, sound=False),
        line("coarse", 0.0, 0.3),
        line("fine", 0.004, 0.1),
        line("mute", 1.0, math.nan),
    ]
    for lines in (made, made[::-1]):
        rows = next(tables(lines)).splitlines()[-5:]
        order = ["fine", "coarse", "lucky", "mute", "unsound"]
        assert [row.split()[0] for row in rows] == order


def test_nothing_to_compare() -> None:
    """Means of nothing are NaN and no warning."""
    nothing = np.full(2, math.nan)
    found = errors(nothing, nothing, nothing, nothing, nothing, nothing)
    assert found.answers == 0
    assert math.isnan(found.mse)
