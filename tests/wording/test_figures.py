"""Numbers with error bars: rounded to what the error allows, weak ones told apart."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date, datetime

import pytest

from ldpsql.wording.numbers import Figure, about, in_words, number, plain


def figure(value, stderr, low=None, high=None):
    low = value - 2 * stderr if low is None else low
    return Figure(value, stderr, low, value + 2 * stderr if high is None else high)


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (figure(1234.5678, 5.0), "1235 ± 10"),
        (figure(1234.5678, 0.5), "1234.6 ± 1.0"),
        (figure(1234.5678, 0.0617), "1234.57 ± 0.12"),
        (figure(1234567.8, 6170.0), "1235000 ± 12000"),
        (figure(-0.2, 50.0), "0 ± 100"),
        (figure(-31.4, 5.0), "-31 ± 10"),
        (figure(0.000123, 0.000004), "0.0001230 ± 0.0000080"),
        (figure(42.0, 0.0), "42"),
        (figure(42.5, 0.0), "42.5"),
        (figure(41.3, 1.0, 39.8, 44.9), "41.3 [39.8, 44.9]"),
        (figure(41.3, 1.0, 39.31, 43.32), "41.3 ± 2.0"),
        (figure(3.0, 1.0, math.nan, math.nan), "3 ± ?"),
        (figure(3.0, 1.0, -math.inf, math.inf), "3 ± ?"),
        (figure(3.0, 1.0, 2.0, math.nan), "3 ± ?"),
        (figure(3.0, 1.0, 3.0, 3.0), "3 [3, 3]"),
        (figure(3.0, math.nan, 3.0, 3.0), "3 [3, 3]"),
        (figure(3.0, 0.0, 4.0, 4.0), "3 [4, 4]"),
        (figure(3.0, 1.0, 4.0, 2.0), "3 [4, 2]"),
        (figure(-7.5, 1.0, 0.0, 2.0), "-7.5 [0, 2]"),
        (figure(math.inf, 1.0, 0.0, 2.0), "inf [0, 2]"),
    ],
)
def test_an_estimate_is_shown_to_two_digits_of_its_error(estimate, text):
    assert str(estimate) == text


def test_weak_is_an_interval_above_a_third_of_the_scale():
    assert not figure(120.0, 20.0).is_weak
    assert figure(120.0, 20.1).is_weak
    assert figure(-120.0, 20.1).is_weak
    assert figure(0.0, 0.1).is_weak
    assert not figure(0.0, 0.0).is_weak
    assert not figure(1.0, math.nan).is_weak


def test_a_small_number_is_not_weak_where_its_interval_is_small():
    """A difference of 0.001 between numbers of 3 and 4, and one of which the interval is wide."""
    assert not replace(figure(0.001, 1.0), scale=7.0).is_weak
    assert replace(figure(0.001, 2.0), scale=7.0).is_weak
    assert not replace(figure(0.001, 2.0), scale=7.0).is_too_noisy
    assert replace(figure(0.001, 20.0), scale=7.0).is_too_noisy


def test_the_error_falls_with_the_root_of_the_number_of_reports():
    assert figure(120.0, 40.0).times == pytest.approx(4.0)
    assert figure(0.0, 1.0).times == math.inf
    assert math.isnan(figure(1.0, math.nan).times)


def test_numbers_in_words_have_three_digits_at_most():
    counts = (0, 7, 999, 1_000, 45_000, 3_990_001, 16e6, 250e6, 1e11, 1e12, 1e30)
    assert list(map(in_words, counts)) == [
        "0",
        "7",
        "1 thousand",
        "1 thousand",
        "45 thousand",
        "4 million",
        "16 million",
        "250 million",
        "100 billion",
        "more than 999 billion",
        "more than 999 billion",
    ]


@pytest.mark.parametrize(
    ("count", "text"),
    [(1, "1"), (99, "99"), (100.2, "110"), (123_456, "130,000")],
)
def test_needed_reports_are_rounded_up(count, text):
    assert about(count) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (float("nan"), "NULL"),
        (float("inf"), "inf"),
        (True, "true"),
        (7, "7"),
        (0.1, "0.1"),
        (30.0, "30"),
        ("x", "x"),
        (date(2026, 1, 31), "2026-01-31"),
        (datetime(2026, 1, 31, 12), "2026-01-31 12:00:00"),
    ],
)
def test_other_values_are_shown_plainly(value, text):
    assert plain(value) == text


def test_numbers_avoid_exponents_where_they_can():
    assert (number(1e14), number(1e16), number(1 / 3)) == ("1" + "0" * 14, "1e+16", "0.3333333333")
