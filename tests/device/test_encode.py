"""One record to codes and levels."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime

import numpy as np
import pytest
from support.surveys import MIXED_RECORD, RECORD, CountedEntropy, app, mix

from ldpsql.simulation import SeededEntropy
from ldpsql_device.columns import round_to_levels
from ldpsql_device.errors import RecordError
from ldpsql_device.respond import encode, public_values
from ldpsql_device.schema import Measure, PublicColumn

ALPHA = 1e-6
UNIT = Measure("x", (0.0, 1.0))


def test_a_record_becomes_codes_then_levels():
    codes = encode(app().schema, RECORD, SeededEntropy(0))
    assert codes.shape == (1, 3)
    assert codes.dtype == np.int64
    assert codes[0, :2].tolist() == [12, 1]
    assert codes[0, 2] in (0, 1)


def test_every_type_of_dimension_is_encoded():
    assert encode(mix().schema, MIXED_RECORD, SeededEntropy(0)).tolist() == [[1, 1, 1, 1, 1, 23]]


def test_null_has_a_code_where_the_survey_says_so():
    codes = encode(app().schema, {**RECORD, "state": None}, SeededEntropy(0))
    assert codes[0, 1] == 3


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ({"age": 17}, "age"),
        ({"age": None}, "age"),
        ({"state": "Atlantis"}, "state"),
        ({"spent": None}, "spent"),
        ({"spent": "much"}, "spent"),
        ({"spent": float("nan")}, "spent"),
        ({"spent": float("inf")}, "spent"),
    ],
)
def test_what_does_not_fit_is_named_but_not_shown(change, column):
    with pytest.raises(RecordError, match=f"^{column} ") as refusal:
        encode(app().schema, {**RECORD, **change}, SeededEntropy(0))
    assert not any(str(value) in str(refusal.value) for value in ("Atlantis", "much", "17"))


@pytest.mark.parametrize("name", ["age", "spent"])
def test_a_column_that_is_not_there_is_not_null(name):
    record = {key: value for key, value in RECORD.items() if key != name}
    with pytest.raises(RecordError, match=f"no column {name}"):
        encode(app().schema, record, SeededEntropy(0))


def test_clamping_is_the_default_and_rejection_an_option():
    high = encode(app().schema, {**RECORD, "spent": 10**9}, SeededEntropy(0))
    assert high[0, 2] == 1
    low = encode(app().schema, {**RECORD, "spent": -5}, SeededEntropy(0))
    assert low[0, 2] == 0


def test_the_bounds_themselves_are_never_rounded_away():
    class Extreme:
        def __init__(self, word):
            self.word = word

        def words(self, count):
            return np.full(count, self.word, dtype=np.uint64)

    for word in (0, 1, 2**63, 2**64 - 1):
        ends = np.array([0.0, 1.0])
        assert round_to_levels(UNIT, ends, Extreme(word).words(2)).tolist() == [0, 1]
        assert encode(app().schema, {**RECORD, "spent": 0}, Extreme(word))[0, 2] == 0
        assert encode(app().schema, {**RECORD, "spent": 500}, Extreme(word))[0, 2] == 1


def test_the_words_drawn_do_not_depend_on_the_values():
    drawn = []
    for spent in (0, 500, 123.4):
        entropy = CountedEntropy()
        encode(app().schema, {**RECORD, "spent": spent}, entropy)
        drawn.append(entropy.given)
    assert drawn == [1, 1, 1]


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-7.3, 91.7), (0.0, 3e-310), (-1e299, 9e299)])
def test_many_people_are_rounded_like_one(bounds):
    """Bit by bit, for words around the exact threshold and for odd values."""
    measure, random = Measure("x", bounds), np.random.default_rng(5)
    low, high = bounds
    odd = [low, high, 0.0, -0.0, 5e-324, 2e-308, 1e300, -1e300, 2.0**53 + 1, 0.1, 1 / 3, 2.0**-70]
    spread = (low + (high - low) * random.random(200)).tolist()
    numbers = [measure.number(value) for value in (*odd, *spread)]
    for offset in (-(2**15), -(2**13), -2, -1, 0, 1, 2**13, 2**15):
        words = [min(max(measure.threshold(x) + offset, 0), 2**64 - 1) for x in numbers]
        levels = round_to_levels(measure, np.array(numbers), np.array(words, dtype=np.uint64))
        singles = [word < measure.threshold(x) for x, word in zip(numbers, words, strict=True)]
        assert levels.tolist() == singles


def binomial_tail(successes: int, n: int, p: float) -> float:
    """Exact two-sided p-value: total probability of outcomes no likelier than the observed."""
    logs = [
        math.lgamma(n + 1)
        - math.lgamma(k + 1)
        - math.lgamma(n - k + 1)
        + k * math.log(p)
        + (n - k) * math.log1p(-p)
        for k in range(n + 1)
    ]
    return math.fsum(math.exp(value) for value in logs if value <= logs[successes] + 1e-9)


@pytest.mark.parametrize("fraction", [0.001, 0.25, 0.5, 0.9, 1 - 1e-3])
def test_rounding_is_unbiased(fraction):
    n = 20_000
    ones = int(round_to_levels(UNIT, np.full(n, fraction), SeededEntropy(7).words(n)).sum())
    assert binomial_tail(ones, n, fraction) > ALPHA


def test_the_test_of_unbiasedness_finds_a_bias():
    """Negative control: rounding to the nearest bound, and a threshold that is 10 % off."""
    n, fraction = 20_000, 0.25
    assert binomial_tail(0, n, fraction) < ALPHA
    ones = int(round_to_levels(UNIT, np.full(n, fraction * 1.1), SeededEntropy(7).words(n)).sum())
    assert binomial_tail(ones, n, fraction) < ALPHA


def test_public_values_keep_their_names():
    assert public_values(app().schema, RECORD) == {"day": date(2026, 1, 31), "version": "1.2"}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", 1.5),
        ("int", True),
        ("int", 2**63),
        ("float", float("nan")),
        ("float", "1"),
        ("text", 1),
        ("bool", 1),
        ("date", datetime(2026, 1, 1)),
        ("date", "2026-01-01"),
        ("timestamp", date(2026, 1, 1)),
        ("timestamp", datetime(2026, 1, 1, tzinfo=UTC)),
        ("int", None),
    ],
)
def test_public_values_of_another_type_are_refused(kind, value):
    with pytest.raises(RecordError, match=r"^x "):
        PublicColumn("x", kind).checked(value)


def test_public_numbers_come_out_as_declared():
    assert PublicColumn("x", "int").checked(np.int8(3)) == 3
    assert isinstance(PublicColumn("x", "float").checked(3), float)
    assert PublicColumn("x", "text", "value").checked(None) is None
