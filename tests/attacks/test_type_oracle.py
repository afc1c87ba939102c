"""Oracles by type and by NULL: a column is asked for as another type than the app has it in, or
whether a value is missing is the secret."""

from __future__ import annotations

import tracemalloc
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pytest
from support.odd_values import Strange
from support.strict_device import make_strict, seen
from support.surveys import MIXED_RECORD, integer, measure, mix, survey_toml

from ldpsql.designer import design
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import Dimension

SURVEYS = dict.fromkeys(MIXED_RECORD, mix())
SURVEYS["spent"] = design(survey_toml(measure("spent", 0, 9), mechanism="ehio"))
RECORD = {**MIXED_RECORD, "spent": 3.5}


class Unhashable(type):  # noqa: PLW1641  (which is the point)
    """A type of types that cannot be hashed."""

    def __eq__(cls, other):
        return cls is other


class OfUnhashable(metaclass=Unhashable):
    """A value whose type cannot be hashed."""


class HostileType(type):
    """A type of types that fails when it is hashed or compared."""

    def __eq__(cls, other):
        raise OSError

    def __hash__(cls):
        raise OSError


class Text(str, metaclass=HostileType):
    """A text whose type fails."""


STRANGE = [
    "",
    "SECRET",
    "5",
    b"5",
    [],
    {},
    {"a": 1},
    3j,
    Decimal(3),
    10**400,
    -(10**400),
    float("inf"),
    0.1,
    datetime(2026, 1, 1, tzinfo=UTC),
    datetime.max,
    date.min,
    np.datetime64(1, "ns"),
    np.float64("nan"),
    np.array([1, 2]),
    object(),
    print,
    Strange(),
    OfUnhashable(),
    Text("SECRET"),
]


def without(name):
    """The record without a value: null, not there, not a number."""
    left = {key: value for key, value in RECORD.items() if key != name}
    return [{**left, name: None}, left, {**left, name: float("nan")}, {}]


@pytest.mark.parametrize("name", SURVEYS)
def test_a_value_of_another_type_or_none_does_not_show(name, monkeypatch):
    survey, usual = SURVEYS[name], seen(SURVEYS[name], RECORD)
    for number, value in enumerate(STRANGE):
        assert seen(survey, {**RECORD, name: value}) == usual, number
    assert {seen(survey, record) for record in without(name)} == {usual}
    # The control: a device that refuses tells the type, and who has none.
    make_strict(monkeypatch)
    usual = seen(survey, RECORD)
    assert any(seen(survey, {**RECORD, name: value}) != usual for value in STRANGE[:6])
    assert usual not in {seen(survey, record) for record in without(name)}


@pytest.mark.parametrize("name", SURVEYS)
def test_a_long_text_of_a_class_of_its_own_is_not_copied(name):
    long, read = Text("x" * 10_000_000), SURVEYS[name].schema
    tracemalloc.start()
    for column in (*read.dimensions, *read.measures):
        column.code(long, 0) if isinstance(column, Dimension) else column.threshold(long)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1_000_000


@pytest.mark.parametrize("column", [integer("x", 0, 9), measure("x", 0, 9)])
@pytest.mark.parametrize("key", ["nulls", "missing", "on_missing", "on_out_of_range", "outside"])
def test_no_survey_can_ask_for_a_refusal(column, key):
    with pytest.raises(SurveyError, match=key):
        design(f'{survey_toml(column)}{key} = "reject"\n')
