"""Attributes and their roles: what is accepted, what is refused, and that it can be written."""

from __future__ import annotations

import json
import re
import tomllib

import numpy as np
import pytest

from ldpsql.record_domain import RecordDomain
from ldpsql_device.errors import RecordError, SurveyError
from ldpsql_device.publish import schema_to_keys
from ldpsql_device.schema import Dimension, Measure, Schema
from ldpsql_device.values import BOOL, Listed, int_domain

AGE = {"type": "int", "domain": [18, 90]}
KEYS = {
    "dimension": {
        "age": AGE,
        "hours": {"type": "int", "domain": [0, 99], "bin_width": 3, "nulls": "value"},
        "size": {"type": "int", "edges": [0, 1, 5]},
        "price": {"type": "float", "edges": [0, 1.5, 10]},
        "score": {"type": "float", "domain": [0, 1], "bins": 4},
        "state": {"type": "category", "values": ["CA", "NY"]},
        "level": {"type": "category", "values": [1, 2, 9]},
        "member": {"type": "bool"},
        "day": {"type": "date", "range": ["2026-01-01", "2026-03-31"], "unit": "week"},
        "at": {"type": "timestamp", "range": ["2026-01-01", "2026-01-02T12:00:00"]},
    },
    "measure": {
        "hours": {"bounds": [0, 99]},
        "spent": {"bounds": [0.5, 500], "on_out_of_range": "reject"},
    },
    "public": {"version": {"type": "text"}, "shop": {"type": "int", "nulls": "value"}},
}


def schema(**changes):
    return Schema.from_keys({**KEYS, **changes})


def test_every_type_is_read_and_written_back():
    read = schema()
    assert Schema.from_keys(schema_to_keys(read)) == read
    assert [d.name for d in read.dimensions] == list(KEYS["dimension"])
    assert RecordDomain.of(read).sizes == (73, 35, 2, 2, 4, 2, 3, 2, 14, 2)


def test_an_attribute_in_two_roles_is_one_attribute():
    read = schema()
    assert RecordDomain.of(read).measured == (1, None)
    assert read.private_columns == (*KEYS["dimension"], "spent")


def dimension(**keys):
    return {"dimension": {"x": keys}}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (dimension(type="int"), r"dimension x: domain must be \[low, high\]: public limits"),
        (dimension(type="int", domain=[]), r"dimension x: domain must be \[low, high\]"),
        (dimension(type="int", domain=[1, 2, 3]), r"domain must be \[low, high\]"),
        (dimension(type="int", domain="1-2"), r"domain must be \[low, high\]"),
        (dimension(type="int", domain=[9, 1]), r"dimension x: domain \[9, 1\] is empty"),
        (dimension(type="int", domain=["a", "b"]), "whole numbers"),
        (dimension(type="int", domain=[0, 9], bin_width=0), "bin_width must be at least 1"),
        (dimension(type="int", domain=[0, 9], bins=3), "dimension x: unknown key 'bins'"),
        (dimension(type="int", domain=[0, 9], edges=[0, 9]), "unknown key 'domain'"),
        (dimension(type="float"), "dimension x: a float dimension needs edges"),
        (dimension(type="float", domain=[0, 1]), "needs edges"),
        (dimension(type="float", bins=4), r"domain must be \[low, high\]"),
        (dimension(type="float", edges=0.5), "edges must be a list"),
        (dimension(type="float", edges=[0, 10**400]), "finite numbers"),
        (dimension(type="float", domain=[0, 1], bins="4"), "bins must be a whole number"),
        (dimension(type="category"), "dimension x: values is missing"),
        (dimension(type="category", values=[]), "values must list 1 to"),
        (dimension(type="category", values=["a", "a"]), "must differ"),
        (dimension(type="category", values=["a", 1]), "all strings or all ints"),
        (dimension(type="category", values=[True]), "all strings or all ints"),
        (dimension(type="category", values=[["a"]]), "all strings or all ints"),
        (dimension(type="bool", values=[True]), "unknown key 'values'"),
        (dimension(type="date"), r"range must be \[low, high\]"),
        (dimension(type="date", range=["2026-01-01", "soon"]), "is not a date"),
        (dimension(type="date", range=["2026-01-01", "2026-02-01"], unit="hour"), "unit must be"),
        (dimension(type="date", range=["2026-01-01", "2026-02-01"], unit=[]), "unit must be"),
        (dimension(domain=[0, 1]), "dimension x: type is missing"),
        (dimension(type="integer", domain=[0, 1]), "dimension x: type must be one of int, float"),
        (dimension(type=["int"]), "type must be one of"),
        (dimension(type="int", domain=[0, 1], nulls="maybe"), "dimension x: nulls must be"),
        (dimension(type="int", domain=[0, 1], nulls=[]), "nulls must be"),
        ({"dimension": {"x": 3}}, r"\[dimension.x\] must be a table"),
        ({"dimension": [AGE]}, r"\[dimension.NAME\] must be a table"),
        ({"dimension": {"ldpsql_group": AGE}}, "reserved"),
        ({"dimension": {"": AGE}}, "is not a column name"),
        ({"dimension": {"a\nb": AGE}}, "is not a column name"),
        ({"dimension": {"a\x1b[2Jb": AGE}}, "is not a column name"),
        ({"dimension": {"a\x85b": AGE}}, "is not a column name"),
        ({"measure": {"a\u2028b": {"bounds": [0, 1]}}}, "is not a column name"),
        ({"public": {"x" * 1_000_000: {"type": "int"}}}, "is not a column name"),
        ({"public": {"x": {"type": []}}}, "public x: type must be one of"),
        (dimension(type="t" * 1_000_000), "type must be one of"),
        (dimension(type="bool", **{"k\n" * 100_000: 1}), "unknown key 'k"),
        ({"dimension": {"x": AGE, "X": AGE}}, "differ at most in upper and lower case"),
        ({"measure": {"x": {}}}, r"measure x: bounds must be \[low, high\]: public limits"),
        ({"measure": {"x": {"bounds": []}}}, r"measure x: bounds must be"),
        ({"measure": {"x": {"bounds": [5, 5]}}}, "measure x: bounds must be .* low < high"),
        ({"measure": {"x": {"bounds": ["0", "1"]}}}, "two finite numbers"),
        ({"measure": {"x": {"bounds": [0, 10**400]}}}, "two finite numbers"),
        ({"measure": {"x": {"bounds": [0, float("nan")]}}}, "two finite numbers"),
        ({"measure": {"x": {"bounds": [0, 1], "on_out_of_range": "drop"}}}, "on_out_of_range"),
        ({"measure": {"x": {"bounds": [0, 1], "type": "int"}}}, "unknown key 'type'"),
        ({"measure": {"x": {"bounds": [0, 1]}}, **dimension(type="bool")}, "must be a number"),
        ({"public": {"x": {"type": "text"}}}, "at least one dimension or measure"),
        ({"public": {"x": {"type": "blob"}}, "dimension": {"y": AGE}}, "public x: type must be"),
        ({"public": {"x": {}}, "dimension": {"y": AGE}}, "public x: type is missing"),
        ({"public": {"Y": {"type": "int"}}, "dimension": {"y": AGE}}, "both private and public"),
        ({}, "at least one dimension or measure"),
    ],
)
def test_a_bad_key_is_named(keys, message):
    with pytest.raises(SurveyError, match=message) as refusal:
        Schema.from_keys(keys)
    assert "\n" not in str(refusal.value)


def test_null_is_the_last_code_or_refused():
    accepting = Dimension("x", int_domain(0, 4), "value")
    assert (accepting.size, accepting.code(None)) == (6, 5)
    strict = Dimension("x", int_domain(0, 4))
    assert strict.size == 5
    with pytest.raises(RecordError, match=r"^x is missing"):
        strict.code(None)


@pytest.mark.parametrize("domain", [int_domain(0, 4), BOOL, Listed("category", ("a",))])
def test_a_refused_value_is_named_by_its_column(domain):
    with pytest.raises(RecordError, match=r"^x ") as refusal:
        Dimension("x", domain).code("xyzzy")
    assert "xyzzy" not in str(refusal.value)


@pytest.mark.parametrize(
    ("value", "fraction"),
    [(0, 0.0), (25, 0.25), (np.int16(100), 1.0), (-3, 0.0), (10**400, 1.0), (-(10**400), 0.0)],
)
def test_a_measure_becomes_a_threshold_of_64_bits(value, fraction):
    measure = Measure("x", (0.0, 100.0))
    assert measure.threshold(measure.number(value)) == fraction * 2**64


def test_thresholds_are_exact():
    """0.1 is the rational of its double, which lies above a tenth."""
    measure = Measure("x", (0.0, 1.0))
    assert measure.threshold(0.1) == 3602879701896397 * 2**64 // 2**55
    assert measure.threshold(5e-324) == 0
    assert Measure("x", (0.0, 3.0)).threshold(1.0) == 2**64 // 3
    assert Measure("x", (2.0**53, 2.0**53 + 4)).number(2**53 + 1) == 2**53
    assert Measure("x", (-1.0, 1.0)).threshold(-0.0) == 2**63


@pytest.mark.parametrize("value", [None, True, "1", float("nan"), float("-inf"), 1j])
def test_a_measure_that_is_no_number_is_refused(value):
    with pytest.raises(RecordError, match=r"^x is"):
        Measure("x", (0.0, 1.0)).number(value)


def test_rejection_refuses_what_clamping_moves():
    strict = Measure("x", (0.0, 1.0), "reject")
    assert (strict.number(0), strict.number(1)) == (0.0, 1.0)
    with pytest.raises(RecordError, match=r"^x lies outside its bounds \[0, 1\]$"):
        strict.number(1.0000001)


@pytest.mark.parametrize("bounds", [(0.0, 0.0), (1.0, 0.0), (0.0, np.inf), (-1e308, 1e308)])
def test_bounds_that_make_no_range_are_refused(bounds):
    with pytest.raises(SurveyError):
        Measure("x", bounds)


SENSITIVE = """
[dimension.illness]
type = "category"
values = ["none", "flu", "HIV"]
{keys}
[dimension.age]
type = "int"
domain = [0, 9]
{age}
"""


def sensitive_schema(keys: str, age: str = "") -> Schema:
    """The schema with some keys of its first dimension."""
    return Schema.from_keys(tomllib.loads(SENSITIVE.format(keys=keys, age=age)))


@pytest.mark.parametrize(
    ("keys", "codes"),
    [
        ('sensitive = ["HIV"]', (2,)),
        ('sensitive = ["HIV", "none"]', (0, 2)),
        ('sensitive = ["HIV"]\nnulls = "value"', (2, 3)),
        ('sensitive = ["HIV"]\nnulls = "value"\nsensitive_nulls = false', (2,)),
        ('sensitive = ["none", "flu", "HIV"]', ()),
        ('sensitive = ["none", "flu", "HIV"]\nnulls = "value"', ()),
        ('sensitive = ["none", "flu", "HIV"]\nnulls = "value"\nsensitive_nulls = false', (0, 1, 2)),
        ("", ()),
    ],
)
def test_sensitive_values_are_codes_and_come_back_as_they_were(keys: str, codes: tuple) -> None:
    """NULL is one of them unless the survey says otherwise; none stands for all."""
    schema = sensitive_schema(keys)
    domain = RecordDomain.of(schema)
    assert schema.dimensions[0].sensitive == codes
    assert domain.sensitive == ((codes, ()) if codes else ())
    assert domain.is_all_sensitive == (not codes)
    assert domain.sensitive_codes(0) == (codes or tuple(range(domain.sizes[0])))
    assert Schema.from_keys(json.loads(json.dumps(schema_to_keys(schema)))) == schema


def test_whole_numbers_and_truth_values_can_be_sensitive() -> None:
    """Where each has a code of its own."""
    assert RecordDomain.of(sensitive_schema("", "sensitive = [3, 0]")).sensitive == ((), (0, 3))
    flag = Schema.from_keys({"dimension": {"x": {"type": "bool", "sensitive": [True]}}})
    assert flag.dimensions[0].sensitive == (1,)


@pytest.mark.parametrize(
    ("keys", "age", "message"),
    [
        ('sensitive = ["cancer"]', "", "illness: sensitive: 'cancer' is not a declared value"),
        ('sensitive = ["HIV", "HIV"]', "", "illness: sensitive lists a value twice"),
        ("sensitive = []", "", "illness: sensitive lists at least one value"),
        ('sensitive = "HIV"', "", "illness: sensitive must be a list"),
        ("sensitive = [1]", "", "illness: sensitive: 1 is not a declared value"),
        ("sensitive = [[1]]", "", "is not a declared value"),
        ('sensitive = ["HIV"]\nsensitive_nulls = false', "", "sensitive_nulls is for nulls"),
        ('sensitive = ["HIV"]\nnulls = "value"\nsensitive_nulls = 1', "", "must be true or false"),
        ("sensitive_nulls = false", "", "unknown key 'sensitive_nulls'"),
        ("", "sensitive = [10]", "age: sensitive: 10 is not a declared value"),
        ("", "sensitive = [3.5]", "age: sensitive: 3.5 is not a declared value"),
        ("", "bin_width = 5\nsensitive = [3]", "3 is not a declared value with a code of its own"),
    ],
)
def test_sensitive_values_that_make_no_sense_are_refused(keys: str, age: str, message: str) -> None:
    """By name."""
    with pytest.raises(SurveyError, match=re.escape(message)):
        sensitive_schema(keys, age)


def test_a_float_cannot_be_sensitive() -> None:
    """It has no values of its own."""
    keys = {"type": "float", "domain": [0, 1], "bins": 2, "sensitive": [1]}
    with pytest.raises(SurveyError, match="for category, bool and int, not float"):
        Schema.from_keys({"dimension": {"x": keys}})
