"""One record to codes and levels."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from support.surveys import (
    RECORD,
    CountedEntropy,
    app,
)
from support.vectors import changes_of

from ldpsql.randomize.columns import round_to_levels
from ldpsql_device.encode import encode, public_values
from ldpsql_device.misfits import check
from ldpsql_device.schema import Measure, PublicColumn
from ldpsql_lab.simulation import SeededEntropy

UNIT = Measure("x", (0.0, 1.0))


def test_a_record_becomes_codes_then_levels():
    codes = encode(app().schema, RECORD, SeededEntropy(0))
    assert codes.shape == (1, 3)
    assert codes.dtype == np.int64
    assert codes[0, :2].tolist() == [12, 1]
    assert codes[0, 2] in (0, 1)


MISFITS = [
    ({"age": 17}, "age"),
    ({"age": None}, "age"),
    ({"age": "SECRET"}, "age"),
    ({"state": "Atlantis"}, "state"),
    ({"state": None}, "state"),
    ({"spent": None}, "spent"),
    ({"spent": "much"}, "spent"),
    ({"spent": 501}, "spent"),
    ({"spent": float("nan")}, "spent"),
    ({"spent": float("inf")}, "spent"),
    ({"day": "2026-01-31"}, "day"),
    ({"version": 3}, "version"),
]


@pytest.mark.parametrize(("change", "column"), MISFITS)
def test_every_record_is_encoded_and_what_does_not_fit_is_named(change, column):
    survey, record = app(), {**RECORD, **change}
    codes = encode(survey.schema, record, SeededEntropy(0))
    assert ((codes >= 0) & (codes < survey.schema.sizes)).all()
    assert check(survey, record) == (column,)
    assert check(survey, RECORD) == ()


def test_a_column_that_is_not_there_is_missing():
    survey, names = app(), ("age", "state", "spent", "day", "version")
    assert check(survey, {}) == names
    assert encode(survey.schema, {}, SeededEntropy(0)).shape == (1, 3)
    assert encode(survey.schema, {}, SeededEntropy(0))[0, 1] == 3
    assert public_values(survey.schema, {}) == {"day": None, "version": None}


def test_a_mapping_that_fails_holds_nothing():
    class Failing(dict):
        def get(self, name, default=None):
            raise OSError(name)

    assert check(app(), Failing(RECORD)) == check(app(), {})


def test_the_nearest_code_is_the_default_of_numbers_and_a_drawn_one_of_categories():
    words = [2**64 - 1, 0]
    schema = app().schema

    def codes(**change):
        class Words:
            def words(self, count):
                return np.array(words[:count], dtype=np.uint64)

        return encode(schema, {**RECORD, **change}, Words())[0].tolist()

    assert codes(age=17, state="NY") == [0, 1, 1]
    assert codes(age=1000, state="NY") == [72, 1, 1]
    # The word's first digit is for the age, 0 .. 72, and its second for the state, 0 .. 2.
    assert codes(age=None, state="TX") == [72, 2, 1]
    assert codes(spent=None) == [12, 1, 0]
    words[0] = 0
    assert codes(age=None, state="TX") == [0, 0, 1]


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
    for change, _ in [*MISFITS, ({}, "")]:
        entropy = CountedEntropy()
        encode(app().schema, {**RECORD, **change}, entropy)
        drawn.append(entropy.given)
    assert set(drawn) == {2}


ROUNDED = [(2, "linear"), (3, "linear"), (7, "linear"), (1024, "linear"), (3, "quadratic")]
ROUNDED += [(4, "quadratic"), (65, "quadratic")]


@pytest.mark.fast(7)
@pytest.mark.parametrize(("levels", "rounding"), ROUNDED)
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-7.3, 91.7), (0.0, 3e-310), (-1e299, 9e299)])
def test_many_people_are_rounded_like_one(bounds, levels, rounding):
    """Bit by bit, for words around where the level changes, and for odd values."""
    measure = Measure("x", bounds, levels=levels, rounding=rounding)
    random = np.random.default_rng(5)
    low, high = bounds
    odd = [low, high, 0.0, -0.0, 5e-324, 2e-308, 1e300, -1e300, 2.0**53 + 1, 0.1, 1 / 3, 2.0**-70]
    spread = (low + (high - low) * random.random(200)).tolist()
    numbers = [min(max(value, low), high) for value in (*odd, *spread)] + [math.nan]
    numbers += [low + (high - low) * step / measure.steps for step in range(measure.steps)]
    thresholds = [measure.threshold(x)[0] for x in numbers]
    changes = [changes_of(measure, each) or [0] for each in thresholds]
    for place, offset in product(range(2), (-(2**15), -(2**13), -2, -1, 0, 1, 2**13, 2**15)):
        cuts = [own[-place] for own in changes]
        words = [min(max(cut + offset, 0), 2**64 - 1) for cut in cuts]
        many = round_to_levels(measure, np.array(numbers), np.array(words, dtype=np.uint64))
        assert many.tolist() == list(map(measure.level, thresholds, words))
        assert set(many.tolist()) <= set(range(levels))


@pytest.mark.parametrize(("levels", "rounding"), ROUNDED)
def test_levels_are_unbiased_and_tell_squares(levels, rounding):
    """In fractions, from the words at which the level of a value changes."""
    measure = Measure("x", (-1.0, 3.0), levels=levels, rounding=rounding)
    step, shift = Fraction(4, measure.steps), Fraction(rounding == "quadratic", 2)
    for value in (-1.0, -0.9, 0.0, 0.1, 1.0, 2.7182818, 2.9999, 3.0):
        threshold, _ = measure.threshold(value)
        cuts = [0, *changes_of(measure, threshold), 2**64]
        law = [(measure.level(threshold, a), b - a) for a, b in pairwise(cuts)]
        stands = [((level - shift) * step - 1, Fraction(words, 2**64)) for level, words in law]
        mean = sum(x * share for x, share in stands)
        assert abs(mean - Fraction(value)) <= step / 2**63
        if rounding == "quadratic":
            squares = sum((x - Fraction(value)) ** 2 * share for x, share in stands)
            assert abs(squares - step**2 / 4) <= step**2 / 2**61


def test_linear_rounding_does_not_tell_squares():
    """Negative control: at a level it adds nothing to the square, between two of them it does."""
    measure = Measure("x", (0.0, 1.0), levels=3)
    spreads = []
    for value in (0.5, 0.75):
        threshold, _ = measure.threshold(value)
        cuts = [0, *changes_of(measure, threshold), 2**64]
        law = [(measure.level(threshold, a), b - a) for a, b in pairwise(cuts)]
        spreads.append(sum((level / 2 - value) ** 2 * words / 2**64 for level, words in law))
    assert spreads == [0.0, 0.0625]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", 1.5),
        ("int", True),
        ("int", 2**63),
        ("float", float("nan")),
        ("float", "1"),
        ("text", 1),
        ("text", "half a character: \ud83d"),
        ("bool", 1),
        ("date", datetime(2026, 1, 1)),
        ("date", "2026-01-01"),
        ("timestamp", date(2026, 1, 1)),
        ("timestamp", datetime(2026, 1, 1, tzinfo=UTC)),
        ("int", None),
    ],
)
def test_public_values_of_another_type_are_null(kind, value):
    assert PublicColumn("x", kind).read(value) is None


def test_public_numbers_come_out_as_declared():
    assert PublicColumn("x", "int").read(np.int8(3)) == 3
    assert isinstance(PublicColumn("x", "float").read(3), float)
    assert PublicColumn("x", "text").read(None) is None
