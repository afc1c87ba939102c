"""Comparisons and bins as sets of codes, and what stands for a code in an answer."""

from __future__ import annotations

from datetime import UTC, date, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpsql.errors import QueryError
from ldpsql.sql.domains import (
    COMPARISONS,
    bins,
    domain_labels,
    find_dimension,
    find_measure,
    find_public_column,
    is_outside,
    labels,
    match_codes,
    null_codes,
    present_codes,
)
from ldpsql_device.description import Edges
from ldpsql_device.schema import Dimension, Measure, PublicColumn, Schema
from ldpsql_device.values import (
    BOOL,
    Listed,
    float_bins,
    float_edges,
    int_domain,
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


def members(domain, comparison, literal):
    return [
        code for low, high in match_codes(domain, comparison, literal) for code in range(low, high)
    ]


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
        match_codes(domain, comparison, literal)
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
        match_codes(domain, "=", literal)


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
    for value in range(Edges(domain)[0], Edges(domain)[-1]):
        truth = COMPARISONS[comparison](value, literal)
        by_code.setdefault(domain.find(value)[0], set()).add(truth)
    if any(len(truths) == 2 for truths in by_code.values()):
        with pytest.raises(QueryError):
            match_codes(domain, comparison, literal)
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
        assert COMPARISONS[comparison](value, literal) == (domain.find(value)[0] in selected)


@given(INT_DOMAINS, st.integers(1, 25))
def test_bins_are_those_of_floor_division(domain, width):
    by_bin: dict[int, set[int]] = {}
    for value in range(Edges(domain)[0], Edges(domain)[-1]):
        by_bin.setdefault(value // width * width, set()).add(domain.find(value)[0])
    shared = sum(map(len, by_bin.values())) > domain.size
    if shared:
        with pytest.raises(QueryError):
            bins(domain, width)
    else:
        found = {
            lower: {code for low, high in chosen for code in range(low, high)}
            for lower, chosen in bins(domain, width)
        }
        assert found == by_bin


def test_decimal_bin_widths_meet_decimal_edges():
    """0.1 * 3 is not 0.3 in binary; a bin of width 0.1 still means tenths."""
    domain = float_bins(0, 1, 10)
    assert [lower for lower, _ in bins(domain, 0.1)] == domain_labels(domain)
    assert [lower for lower, _ in bins(domain, 0.2)] == [0.0, 0.2, 0.4, 0.6, 0.8]
    assert bins(float_bins(-0.3, 0.3, 6), 0.3) == [(-0.3, ((0, 3),)), (0.0, ((3, 6),))]


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
        bins(domain, width)


@pytest.mark.parametrize("domain", [AGE, TENS, PRICE, DAYS, WEEKS, MONTHS, HOURS, STATE, BOOL])
def test_labels_stand_for_their_own_codes(domain):
    assert [domain.find(label)[0] for label in domain_labels(domain)] == list(range(domain.size))
    assert hash(domain) == hash(domain)


def test_null_has_the_last_code_or_none():
    accepting = Dimension("x", int_domain(0, 4), missing="code")
    assert (null_codes(accepting), present_codes(accepting)) == (((5, 6),), ((0, 5),))
    assert labels(accepting) == [0, 1, 2, 3, 4, None]
    strict = Dimension("x", int_domain(0, 4))
    assert (null_codes(strict), present_codes(strict)) == ((), ((0, 5),))


def test_names_ignore_case() -> None:
    version = PublicColumn("version", "text")
    schema = Schema((Dimension("age", AGE),), (Measure("hours", (0.0, 99.0)),), (version,))
    assert find_dimension(schema, "AGE") == find_measure(schema, "HOURS") == 0
    assert find_dimension(schema, "hours") is find_measure(schema, "age") is None
    assert find_public_column(schema, "Version") == version
    assert find_public_column(schema, "age") is None


@pytest.mark.parametrize(
    ("domain", "comparison", "literal", "expected"),
    [
        (AGE, "<", 91, False),
        (AGE, "<", 92, True),
        (AGE, "=", 91, True),
        (AGE, ">=", 18, False),
        (AGE, "<", 18, True),
        (PRICE, "<=", 500, False),
        (PRICE, ">", 500.5, True),
        (DAYS, "<", "2026-02-01", False),
        (DAYS, ">=", "2026-02-01", True),
        (DAYS, "<=", date(2026, 2, 2), True),
        (STATE, "<", "A", False),
    ],
)
def test_what_lies_outside_of_an_ordered_domain(domain, comparison, literal, expected):
    assert is_outside(domain, comparison, literal) is expected
