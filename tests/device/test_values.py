"""Values to codes, and what makes no domain."""

from __future__ import annotations

import tracemalloc
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.odd_values import Strange

from ldpsql.randomize.columns import find_codes
from ldpsql_device.description import Edges
from ldpsql_device.errors import SurveyError
from ldpsql_device.values import (
    BOOL,
    INSIDE,
    MISSING,
    OUTSIDE,
    Listed,
    Ordered,
    float_bins,
    float_edges,
    int_domain,
    int_edges,
    nearest_double,
    plain,
    time_range,
)

AGE = int_domain(18, 90)
TENS = int_domain(0, 99, bin_width=10)
PRICE = float_edges([0, 1.5, 10, 500])
DAYS = time_range("date", "2026-01-01", "2026-01-31", "day")
WEEKS = time_range("date", "2026-01-01", "2026-01-31", "week")
MONTHS = time_range("date", "2025-11-15", "2026-02-01", "month")
HOURS = time_range("timestamp", "2026-01-01", "2026-01-02", "hour")
STATE = Listed("category", ("CA", "NY", "WA"))


@pytest.mark.parametrize(
    ("domain", "value", "code"),
    [
        (AGE, np.int8(20), 2),
        (TENS, 99, 9),
        (int_domain(2**61, 2**61 + 3), 2**61 + 1, 1),
        (PRICE, 1.5, 1),
        (PRICE, 500, 2),
        (PRICE, np.float32(1.5), 1),
        (DAYS, date(2026, 1, 31), 30),
        (HOURS, datetime(2026, 1, 1, 23, 59, 59, 999_999), 23),
        (STATE, np.str_("CA"), 0),
        (Listed("category", (3, 7)), np.int64(7), 1),
        (BOOL, True, 1),
        (BOOL, np.bool_(False), 0),
    ],
)
def test_a_value_has_its_code(domain, value, code):
    assert domain.find(plain(value)) == (code, INSIDE)


@pytest.mark.parametrize(
    ("domain", "value", "code"),
    [
        (AGE, 10**30, 72),
        (AGE, -(10**400), 0),
        (AGE, float("inf"), 72),
        (AGE, float("-inf"), 0),
        (PRICE, -1e-9, 0),
        (PRICE, 500.0000001, 2),
        (PRICE, float("-inf"), 0),
        (PRICE, 10**400, 2),
        (float_edges([1e17, 2e17, 3e17]), 9e16, 0),
        (float_edges([1e17, 2e17]), 2.1e17, 0),
        (DAYS, date(2025, 12, 31), 0),
        (DAYS, date(2026, 2, 1), 30),
        (DAYS, date(9999, 12, 31), 30),
        (HOURS, datetime(2026, 1, 3, 0, 1), 47),
        (HOURS, datetime.max, 47),
        (STATE, "TX", 0),
        (STATE, "CA" * 1000, 0),
        (STATE, "", 0),
        (Listed("category", (0, 1)), float("inf"), 0),
    ],
)
def test_a_value_outside_is_given_the_nearest_code_and_said_to_be_outside(domain, value, code):
    assert domain.find(plain(value)) == (code, OUTSIDE)


class OddNumber(int):
    """A whole number whose comparisons fail."""

    def fail(self, *_):
        raise RuntimeError

    __lt__ = __gt__ = __eq__ = __ne__ = __hash__ = __mod__ = __int__ = __index__ = __pos__ = fail


def fail(*_):
    raise RuntimeError


NUMBERS = ("__float__", "__int__", "item", "adjusted", "to_integral_value", "__eq__", "__lt__")


@pytest.mark.parametrize("kind", [Decimal, np.float64, np.float32, np.longdouble, np.int64])
def test_a_number_of_a_subclass_is_read_without_calling_the_subclass(kind):
    odd = type("Odd", (kind,), {**dict.fromkeys(NUMBERS, fail), "__hash__": None})
    assert plain(odd(30)) == 30
    assert type(plain(odd(30))) in (int, float)


class OddText(str):
    """A text that cannot be looked up."""

    __slots__ = ()

    def __hash__(self):
        raise RuntimeError


class NotATime(datetime):
    """Like the missing timestamp of pandas."""

    def __eq__(self, other):
        return False

    __hash__ = None


@pytest.mark.parametrize(
    ("domain", "value"),
    [
        (AGE, float("nan")),
        (AGE, [30]),
        (AGE, np.datetime64(30, "ns")),
        (AGE, np.array([30])),
        (AGE, 30j),
        (PRICE, float("nan")),
        (PRICE, np.float64("nan")),
        (PRICE, None),
        (DAYS, datetime(2026, 1, 3)),
        (DAYS, "2026-01-03"),
        (HOURS, datetime(2026, 1, 1, tzinfo=UTC)),
        (HOURS, NotATime(2026, 1, 1)),
        (STATE, ["CA"]),
        (STATE, b"CA"),
        (STATE, None),
        (Listed("category", (0, 1)), 0.5),
        (BOOL, 1),
        (BOOL, np.int8(1)),
    ],
)
def test_a_value_that_is_none_of_the_type_is_missing(domain, value):
    assert domain.find(plain(value))[1] == MISSING


def test_a_class_that_fails_is_missing():
    for domain in (AGE, PRICE, DAYS, HOURS, STATE, BOOL):
        assert domain.find(plain(Strange()))[1] == MISSING


def test_subclasses_are_what_they_stand_for_and_cannot_fail():
    assert AGE.find(plain(OddNumber(30))) == (12, INSIDE)
    assert STATE.find(plain(OddText("WA"))) == (2, INSIDE)
    assert PRICE.find(plain(np.float64(1.5))) == (1, INSIDE)

    class Moment(datetime):
        pass

    class Day(date):
        pass

    assert HOURS.find(plain(Moment(2026, 1, 1, 5))) == (5, INSIDE)
    assert HOURS.find(plain(Moment(2026, 1, 1, 5, tzinfo=UTC)))[1] == MISSING
    assert DAYS.find(plain(Day(2026, 1, 31))) == (30, INSIDE)


@given(st.lists(st.floats(-20, 520, width=32), min_size=1, max_size=20))
def test_many_codes_equal_single_codes(values):
    codes, outside = find_codes(PRICE, np.array(values))
    single = [PRICE.find(value) for value in values]
    assert list(zip(codes.tolist(), outside.tolist(), strict=True)) == single


def test_codes_of_days_follow_the_calendar():
    start = date(2025, 12, 20)
    for step in range(60):
        day = start + timedelta(days=step)
        monday = day - timedelta(days=day.weekday())
        if date(2025, 12, 29) <= day < date(2026, 2, 2) and day < Edges(WEEKS)[-1]:
            assert Edges(WEEKS)[WEEKS.find(day)[0]] == monday


@pytest.mark.parametrize(
    "make",
    [
        lambda: int_domain(5, 4),
        lambda: int_domain(0, 10, bin_width=0),
        lambda: int_domain(0, 1.5),
        lambda: int_domain(False, True),
        lambda: int_domain(0, 2**63),
        lambda: int_domain(0, 1 << 24),
        lambda: int_edges([1]),
        lambda: int_edges([]),
        lambda: int_edges([3, 2]),
        lambda: int_edges(["a", "b"]),
        lambda: float_edges([0.0, float("nan")]),
        lambda: float_edges([0, 10**400]),
        lambda: float_edges([0, 0]),
        lambda: float_bins(0, 1, 0),
        lambda: float_bins(0, 1, 2.5),
        lambda: float_bins(1, 1, 3),
        lambda: float_bins(1.0, 1.0000000000000002, 10),
        lambda: time_range("date", "2026-01-01", "2026-01-02", "hour"),
        lambda: time_range("date", "2026-01-02", "2026-01-01", "day"),
        lambda: time_range("date", "2026-01-02", "someday", "day"),
        lambda: time_range("date", 5, 6, "day"),
        lambda: time_range("date", "2026-01-02", "9999-12-31", "day"),
        lambda: time_range("date", "9999-11-01", "9999-12-31", "month"),
        lambda: time_range("timestamp", "0001-01-01", "9999-01-01", "hour"),
        lambda: time_range("timestamp", datetime(2026, 1, 1, tzinfo=UTC), "2027-01-01", "day"),
        lambda: Listed("category", ()),
        lambda: Listed("category", ("a", "a")),
        lambda: Listed("category", ("a", 1)),
        lambda: Ordered("int", (0,), ()),
    ],
)
def test_a_domain_that_makes_no_sense_is_refused_at_birth(make):
    with pytest.raises(SurveyError):
        make()


def test_a_range_without_a_time_of_day_includes_its_last_day():
    assert HOURS.size == 48
    until_noon = time_range("timestamp", "2026-01-01", datetime(2026, 1, 2, 12), "hour")
    assert until_noon.size == 37


@pytest.mark.parametrize(
    ("low", "high", "width"), [(0, 0, 1), (-7, 95, 10), (18, 90, 1), (-(2**61), 2**61, 2**50)]
)
def test_edges_of_whole_numbers_are_exact_and_made_when_asked_for(low, high, width):
    edges = Edges(int_domain(low, high, bin_width=width))
    assert list(edges) == [*range(low, high + 1, width), high + 1]
    assert type(edges[0]) is type(edges[-1]) is int


def test_edges_of_float_bins_are_those_of_the_formula():
    edges = Edges(float_bins(-1.3, 7.7, 1000))
    assert list(edges) == [-1.3 + (7.7 - -1.3) * i / 1000 for i in range(1000)] + [7.7]


def test_a_domain_of_many_codes_holds_no_object_for_each():
    tracemalloc.start()
    try:
        int_domain(0, 2**20 - 1)
        float_bins(0.0, 1.0, 2**20)
        assert tracemalloc.get_traced_memory()[1] < 2**20 * 60
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [0, 1, 2**53, 2**63, 2**70, 2**1000, 10**308, 10**400])
def test_whole_numbers_of_all_sizes_stand_for_the_nearest_double(size):
    for number in (size - 3, size - 1, size, size + 1, size + 3):
        assert nearest_double(number) == float(min(number, int(1e308)))
        assert nearest_double(-number) == -nearest_double(number)
