"""Values to codes, codes to values, and comparisons to sets of codes."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpsql_device.domains import (
    BOOL,
    COMPARISONS,
    Listed,
    Ordered,
    float_bins,
    float_edges,
    int_domain,
    int_edges,
    time_range,
)
from ldpsql_device.errors import QueryError, RecordError, SurveyError

AGE = int_domain(18, 90)
TENS = int_domain(0, 99, bin_width=10)
PRICE = float_edges([0, 1.5, 10, 500])
DAYS = time_range("date", "2026-01-01", "2026-01-31", "day")
WEEKS = time_range("date", "2026-01-01", "2026-01-31", "week")
MONTHS = time_range("date", "2025-11-15", "2026-02-01", "month")
HOURS = time_range("timestamp", "2026-01-01", "2026-01-02", "hour")
STATE = Listed("category", ("CA", "NY", "WA"))


def members(domain, comparison, literal):
    return [code for low, high in domain.matching(comparison, literal) for code in range(low, high)]


@pytest.mark.parametrize(
    ("domain", "value", "code"),
    [
        (AGE, 18, 0),
        (AGE, 90, 72),
        (AGE, 30.0, 12),
        (AGE, np.int8(20), 2),
        (TENS, 9, 0),
        (TENS, 10, 1),
        (TENS, 99, 9),
        (int_domain(0, 12, bin_width=5), 12, 2),
        (int_edges([-5, 0, 100]), -1, 0),
        (int_domain(2**61, 2**61 + 3), 2**61 + 1, 1),
        (PRICE, 0, 0),
        (PRICE, 1.5, 1),
        (PRICE, 500, 2),
        (PRICE, np.float32(1.5), 1),
        (DAYS, date(2026, 1, 31), 30),
        (WEEKS, date(2026, 1, 4), 0),
        (WEEKS, date(2026, 1, 5), 1),
        (MONTHS, date(2025, 11, 1), 0),
        (MONTHS, date(2026, 2, 28), 3),
        (HOURS, datetime(2026, 1, 1, 23, 59, 59, 999_999), 23),
        (HOURS, datetime(2026, 1, 2, 23, 30), 47),
        (STATE, "WA", 2),
        (STATE, np.str_("CA"), 0),
        (Listed("category", (3, 7)), np.int64(7), 1),
        (BOOL, True, 1),
        (BOOL, np.bool_(False), 0),
    ],
)
def test_a_value_has_its_code(domain, value, code):
    assert domain.code(value) == code


@pytest.mark.parametrize(
    ("domain", "value"),
    [
        (AGE, 17),
        (AGE, 91),
        (AGE, 10**30),
        (AGE, -(10**30)),
        (AGE, 30.5),
        (AGE, "30"),
        (AGE, True),
        (AGE, float("inf")),
        (AGE, float("nan")),
        (AGE, [30]),
        (AGE, np.datetime64(30, "ns")),
        (PRICE, -1e-9),
        (PRICE, 500.0000001),
        (PRICE, float("nan")),
        (PRICE, float("-inf")),
        (PRICE, 10**400),
        (PRICE, True),
        (PRICE, "1"),
        (float_edges([1e17, 2e17]), 9e16),
        (float_edges([1e17, 2e17]), 2.1e17),
        (DAYS, date(2025, 12, 31)),
        (DAYS, date(2026, 2, 1)),
        (DAYS, datetime(2026, 1, 3)),
        (DAYS, "2026-01-03"),
        (HOURS, date(2026, 1, 1)),
        (HOURS, datetime(2026, 1, 3, 0, 1)),
        (HOURS, datetime(2026, 1, 1, tzinfo=UTC)),
        (STATE, "TX"),
        (STATE, 0),
        (STATE, ["CA"]),
        (STATE, None),
        (Listed("category", (0, 1)), True),
        (BOOL, 1),
    ],
)
def test_a_value_that_does_not_belong_is_refused_without_being_shown(domain, value):
    with pytest.raises(RecordError) as refusal:
        domain.code(value)
    if not isinstance(value, int) or abs(value) > 100:
        assert str(value) not in str(refusal.value)


@pytest.mark.parametrize(
    ("domain", "comparison", "literal", "expected"),
    [
        (AGE, ">=", 89, [71, 72]),
        (AGE, ">", 89, [72]),
        (AGE, "<", 18, []),
        (AGE, "<=", 18, [0]),
        (AGE, "<", 18.5, [0]),
        (AGE, ">", 89.5, [72]),
        (AGE, "=", 20, [2]),
        (AGE, "=", 20.0, [2]),
        (AGE, "=", 20.5, []),
        (AGE, "=", 10**40, []),
        (AGE, "<", float("inf"), list(range(73))),
        (AGE, ">", float("-inf"), list(range(73))),
        (AGE, "=", float("inf"), []),
        (AGE, "<>", 17, list(range(73))),
        (TENS, "<", 20, [0, 1]),
        (TENS, "<=", 19, [0, 1]),
        (TENS, ">", 89, [9]),
        (TENS, "=", 100, []),
        (PRICE, "<", 1.5, [0]),
        (PRICE, ">=", 10, [2]),
        (PRICE, "<=", 500, [0, 1, 2]),
        (PRICE, ">", 500, []),
        (PRICE, "=", 500.1, []),
        (DAYS, "=", "2026-01-31", [30]),
        (DAYS, "<=", "9999-12-31", list(range(31))),
        (DAYS, ">", "9999-12-31", []),
        (DAYS, ">=", "0001-01-01", list(range(31))),
        (DAYS, "<", "2026-01-02 12:00", [0, 1]),
        (DAYS, "=", "2026-01-02 12:00", []),
        (DAYS, ">", datetime(2026, 1, 30), [30]),
        (WEEKS, "<", "2026-01-05", [0]),
        (MONTHS, ">=", date(2026, 2, 1), [3]),
        (MONTHS, "<=", "2025-12-31", [0, 1]),
        (HOURS, "<", "2026-01-01T01:00", [0]),
        (HOURS, "<=", "2026-01-01 00:59:59.999999", [0]),
        (HOURS, ">=", date(2026, 1, 2), list(range(24, 48))),
        (STATE, ">", "CA", [1, 2]),
        (STATE, "=", "TX", []),
        (STATE, "<>", "TX", [0, 1, 2]),
        (BOOL, "<>", True, [0]),
    ],
)
def test_a_comparison_selects_codes(domain, comparison, literal, expected):
    assert members(domain, comparison, literal) == expected


@pytest.mark.parametrize(
    ("domain", "comparison", "literal", "hint"),
    [
        (TENS, "<", 25, "20 or 30"),
        (TENS, "=", 20, "20 or 30"),
        (TENS, "<=", 98, "90 or 100"),
        (PRICE, "<", 2, "1.5 or 10.0"),
        (PRICE, "<=", 1.5, "1.5 or 10.0"),
        (PRICE, "<", 500, "<= 500.0"),
        (PRICE, "=", 3, "range"),
        (WEEKS, "<", "2026-01-07", "2026-01-05 or 2026-01-12"),
        (HOURS, "<=", "2026-01-01 01:00", "2026-01-01 01:00:00 or"),
        (HOURS, "=", "2026-01-01 01:00", "2026-01-01 01:00:00 or"),
    ],
)
def test_a_comparison_that_cuts_a_bin_is_refused_with_what_to_write(
    domain, comparison, literal, hint
):
    with pytest.raises(QueryError, match="exact answer") as refusal:
        domain.matching(comparison, literal)
    assert hint in str(refusal.value)


@pytest.mark.parametrize(
    ("domain", "literal"),
    [
        (AGE, "30"),
        (AGE, True),
        (AGE, float("nan")),
        (AGE, date(2026, 1, 1)),
        (DAYS, 5),
        (DAYS, "yesterday"),
        (DAYS, "2026-01-01T00:00+01:00"),
        (HOURS, datetime(2026, 1, 1, tzinfo=UTC)),
        (STATE, 1),
        (Listed("category", (0, 1)), True),
        (BOOL, 1),
    ],
)
def test_a_literal_of_another_type_is_refused(domain, literal):
    with pytest.raises(QueryError):
        domain.matching("=", literal)


INT_DOMAINS = st.builds(
    lambda low, span, width: int_domain(low, low + span, bin_width=width),
    st.integers(-50, 50),
    st.integers(0, 60),
    st.integers(1, 9),
)


@given(
    INT_DOMAINS,
    st.sampled_from(sorted(COMPARISONS)),
    st.integers(-70, 130) | st.floats(-70, 130),
)
def test_matching_agrees_with_every_value_or_refuses(domain, comparison, literal):
    """A code is selected iff all its values satisfy the comparison; a mixed bin refuses."""
    by_code: dict[int, set[bool]] = {}
    for value in range(domain.edges[0], domain.edges[-1]):
        truth = COMPARISONS[comparison](value, literal)
        by_code.setdefault(domain.code(value), set()).add(truth)
    if any(len(truths) == 2 for truths in by_code.values()):
        with pytest.raises(QueryError):
            domain.matching(comparison, literal)
    else:
        expected = [code for code, truths in by_code.items() if truths == {True}]
        assert members(domain, comparison, literal) == expected


@given(
    st.lists(st.integers(-40, 40), min_size=2, max_size=8, unique=True).map(sorted),
    st.sampled_from(["<", "<=", ">", ">="]),
    st.integers(-90, 90).map(lambda half: half / 2),
)
def test_float_matching_never_claims_more_than_is_true(edges, comparison, literal):
    domain = float_edges(edges)
    try:
        selected = set(members(domain, comparison, literal))
    except QueryError:
        assert edges[0] <= literal <= edges[-1]
        return
    probes = np.unique(np.concatenate([np.linspace(edges[0], edges[-1], 97), edges]))
    for value in probes.tolist():
        assert COMPARISONS[comparison](value, literal) == (domain.code(value) in selected)


@given(INT_DOMAINS, st.integers(1, 25))
def test_bins_are_those_of_floor_division(domain, width):
    by_bin: dict[int, set[int]] = {}
    for value in range(domain.edges[0], domain.edges[-1]):
        by_bin.setdefault(value // width * width, set()).add(domain.code(value))
    shared = sum(map(len, by_bin.values())) > domain.size
    if shared:
        with pytest.raises(QueryError):
            domain.bins(width)
    else:
        found = {
            lower: {code for low, high in chosen for code in range(low, high)}
            for lower, chosen in domain.bins(width)
        }
        assert found == by_bin


def test_decimal_bin_widths_meet_decimal_edges():
    """0.1 * 3 is not 0.3 in binary; a bin of width 0.1 still means tenths."""
    domain = float_bins(0, 1, 10)
    assert [lower for lower, _ in domain.bins(0.1)] == domain.labels()
    assert [lower for lower, _ in domain.bins(0.2)] == [0.0, 0.2, 0.4, 0.6, 0.8]
    assert float_bins(-0.3, 0.3, 6).bins(0.3) == [(-0.3, ((0, 3),)), (0.0, ((3, 6),))]


@pytest.mark.parametrize(
    ("domain", "width"),
    [
        (AGE, 0),
        (AGE, -1),
        (AGE, 2.5),
        (AGE, float("nan")),
        (AGE, float("inf")),
        (TENS, 3),
        (PRICE, 1),
        (DAYS, 7),
        (STATE, 1),
    ],
)
def test_bins_that_make_no_sense_are_refused(domain, width):
    with pytest.raises(QueryError):
        domain.bins(width)


@pytest.mark.parametrize("domain", [AGE, TENS, PRICE, DAYS, WEEKS, MONTHS, HOURS, STATE, BOOL])
def test_labels_stand_for_their_own_codes(domain):
    assert [domain.code(label) for label in domain.labels()] == list(range(domain.size))
    assert hash(domain) == hash(domain)


@given(st.lists(st.floats(-20, 520, width=32), min_size=1, max_size=20))
def test_many_codes_equal_single_codes(values):
    expected = []
    for value in values:
        try:
            expected.append(PRICE.code(value))
        except RecordError:
            expected.append(-1)
    assert PRICE.codes_at(np.array(values)).tolist() == expected


def test_codes_of_days_follow_the_calendar():
    start = date(2025, 12, 20)
    for step in range(60):
        day = start + timedelta(days=step)
        monday = day - timedelta(days=day.weekday())
        if date(2025, 12, 29) <= day < date(2026, 2, 2) and day < WEEKS.edges[-1]:
            assert WEEKS.labels()[WEEKS.code(day)] == monday


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
