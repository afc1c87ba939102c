"""Whom a survey trusts, and what it must say to do so."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.shuffled import Shuffled
from ldpsql_device.survey import read_promise


def test_what_is_written_is_what_is_promised():
    trust = Shuffled.parse("0.5", "1e-6", 100_000, 0.9)
    assert trust == Shuffled(Epsilon.parse("0.5"), Decimal("0.000001"), 100_000, Decimal("0.9"))
    assert trust.central.epsilon == trust.epsilon
    assert trust.central.delta == Fraction(1, 10**6)
    assert trust.central.people == 90_000


def test_a_share_of_honest_people_is_taken_exactly_and_rounded_down():
    trust = Shuffled.parse("1", "1e-6", 1000, "0.7")
    assert [trust.people_of(n) for n in (1000, 10, 9, 1)] == [700, 7, 6, 0]


def test_json_and_back():
    trust = Shuffled.parse("0.50", "1e-6", 100_000, "0.90")
    assert Shuffled.parse(**trust.to_json()) == trust


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"users": 1}, "users"),
        ({"users": 10**9 + 1}, "users"),
        ({"users": 2.0}, "users"),
        ({"users": True}, "users"),
        ({"honest": 0}, "honest"),
        ({"honest": "1.01"}, "honest"),
        ({"honest": "0.0001", "users": 10_000}, "fewer than 2 honest"),
        ({"honest": True}, "honest must be a number"),
        ({"delta": 0}, "delta"),
        ({"delta": "-1e-6"}, "delta"),
        ({"delta": "1e-31"}, "delta"),
        ({"delta": "nan"}, "delta"),
        ({"delta": "small"}, "delta must be a number"),
        ({"delta": "0.0000100001"}, "one person's record"),
        ({"delta": "0.00001", "honest": "0.5"}, None),
        ({"epsilon": "0"}, "epsilon"),
    ],
)
def test_half_a_promise_is_refused(change, words):
    given = {"epsilon": "1", "delta": "1e-6", "users": 100_000, "honest": 1, **change}
    if words is None:
        Shuffled.parse(**given)
        return
    with pytest.raises(SurveyError, match=words):
        Shuffled.parse(**given)


@pytest.mark.parametrize("key", ["epsilon", "delta", "honest"])
def test_published_numbers_are_decimal_texts_and_nothing_that_python_also_reads(key):
    shuffle = {"epsilon": "1", "delta": "1E-6", "users": 1000, "honest": "1"}
    promise = {"kind": "local", "epsilon": "2", "delta": "0", "shuffle": shuffle}
    assert read_promise(promise)[1] is not None
    for odd in (" 1", "1 ", "+1", "1_0", "\uff11", ".5", "1.", 1, 0.5, None, ["1"], "1e0000"):
        with pytest.raises(SurveyError, match=f"promise.shuffle.{key} must be a decimal string"):
            read_promise(promise | {"shuffle": shuffle | {key: odd}})
