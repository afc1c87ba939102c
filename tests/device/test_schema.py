"""Attributes and their roles: what is accepted, what is refused, and that it can be written."""

from __future__ import annotations

import json
import math
import re
import tomllib
import tracemalloc
import unicodedata
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.reports.survey_file import schema_to_keys
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import (
    MOST_COLUMNS,
    OTHER,
    Dimension,
    Measure,
    PublicColumn,
    Schema,
    is_label,
)
from ldpsql_device.values import BOOL, INSIDE, MISSING, OUTSIDE, Listed, int_domain

AGE = {"type": "int", "domain": [18, 90]}
LABELLED = {"dimension": {"age": {**AGE, "label": "Years"}}}
KEYS = {
    "dimension": {
        "age": AGE,
        "hours": {"type": "int", "domain": [0, 99], "bin_width": 3, "missing": "code"},
        "size": {"type": "int", "edges": [0, 1, 5]},
        "price": {"type": "float", "edges": [0, 1.5, 10]},
        "score": {"type": "float", "domain": [0, 1], "bins": 4},
        "state": {"type": "category", "values": ["CA", "NY"]},
        "level": {"type": "category", "values": [1, 2, 9]},
        "shop_kind": {"type": "category", "values": ["a", "b"], "outside": "other"},
        "income": {"type": "int", "domain": [0, 9], "outside": "random", "missing": "code"},
        "member": {"type": "bool"},
        "day": {"type": "date", "range": ["2026-01-01", "2026-03-31"], "unit": "week"},
        "at": {"type": "timestamp", "range": ["2026-01-01", "2026-01-02T12:00:00"]},
    },
    "measure": {
        "hours": {"bounds": [0, 99]},
        "spent": {"bounds": [0.5, 500]},
    },
    "public": {"version": {"type": "text"}, "shop": {"type": "int"}},
}


def schema(**changes):
    return Schema.from_keys({**KEYS, **changes})


def test_every_type_is_read_and_written_back():
    read = schema()
    assert Schema.from_keys(schema_to_keys(read)) == read
    assert [d.name for d in read.dimensions] == list(KEYS["dimension"])
    assert RecordDomain.of(read).sizes == (73, 35, 2, 2, 4, 2, 3, 3, 11, 2, 14, 2)


def test_drawn_codes_share_words_up_to_a_product_of_2_to_the_32():
    sizes = (1 << 20, 1 << 12, 2, 1 << 20, 1 << 11, 2)
    columns = tuple(Dimension(f"a{i}", int_domain(1, size)) for i, size in enumerate(sizes))
    assert Schema(columns).draws == (
        (0, 1),
        (0, 1 << 20),
        (1, 1),
        (1, 2),
        (1, 1 << 21),
        (2, 1),
    )
    assert (schema().code_words, schema().words) == (1, 3)
    assert Schema((), (Measure("x", (0, 1)),)).words == 1


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
        (dimension(type="int", domain="1-2"), r"domain must be \[low, high\]"),
        (dimension(type="int", domain=[9, 1]), r"dimension x: domain \[9, 1\] is empty"),
        (dimension(type="int", domain=["a", "b"]), "whole numbers"),
        (dimension(type="int", domain=[0, 9], bin_width=0), "bin_width must be at least 1"),
        (dimension(type="int", domain=[0, 9], bins=3), "dimension x: unknown key 'bins'"),
        (dimension(type="int", domain=[0, 9], edges=[0, 5, 9]), "unknown key 'domain'"),
        (dimension(type="float"), "dimension x: a float dimension needs edges"),
        (dimension(type="float", edges=0.5), "edges must be a list"),
        (dimension(type="float", edges=[0, 10**400]), "finite numbers"),
        (dimension(type="float", domain=[0, 1], bins="4"), "bins must be a whole number"),
        (dimension(type="category"), "dimension x: values is missing"),
        (dimension(type="category", values=[]), "values must list 1 to"),
        (dimension(type="category", values=["a", "a"]), "must differ"),
        (dimension(type="category", values=[True]), "all strings or all ints"),
        (dimension(type="category", values=[["a"]]), "all strings or all ints"),
        (dimension(type="bool", values=[True]), "unknown key 'values'"),
        (dimension(type="date"), r"range must be \[low, high\]"),
        (dimension(type="date", range=["2026-01-01", "soon"]), "is not a date"),
        (dimension(type="date", range=["2026-01-01", "2026-02-01"], unit=[]), "unit must be"),
        (dimension(domain=[0, 1]), "dimension x: type is missing"),
        (dimension(type="integer", domain=[0, 1]), "dimension x: type must be one of int, float"),
        (dimension(type=["int"]), "type must be one of"),
        (dimension(type="int", domain=[0, 1], missing="reject"), "dimension x: missing must be"),
        (dimension(type="int", domain=[0, 1], missing=[]), "missing must be"),
        (dimension(type="int", domain=[0, 1], outside="reject"), "dimension x: outside must be"),
        (dimension(type="int", domain=[0, 1], outside=[]), "outside must be"),
        (dimension(type="int", domain=[0, 1], outside="other"), "is for categories of texts"),
        (dimension(type="category", values=[1, 2], outside="other"), "categories of texts"),
        (dimension(type="category", values=["a", "b"], outside="nearest"), "is for ordered"),
        (
            dimension(type="category", values=["(other)", "b"], outside="other"),
            "which outside = .other. adds",
        ),
        (dimension(type="bool", outside="random"), "unknown key 'outside'"),
        (dimension(type="int", domain=[3, 3]), "x: a private dimension has at least two declared"),
        (dimension(type="category", values=["a"], outside="other"), "at least two declared codes"),
        ({"dimension": {"x": 3}}, r"\[dimension.x\] must be a table"),
        ({"dimension": [AGE]}, r"\[dimension.NAME\] must be a table"),
        ({"dimension": {"ldpsql_group": AGE}}, "reserved"),
        ({"dimension": {"": AGE}}, "is not a column name"),
        ({"measure": {"a\u2028b": {"bounds": [0, 1]}}}, "is not a column name"),
        ({"public": {"x" * 1_000_000: {"type": "int"}}}, "is not a column name"),
        ({"public": {"x": {"type": []}}}, "public x: type must be one of"),
        (dimension(type="t" * 1_000_000), "type must be one of"),
        (dimension(type="bool", **{"k\n" * 100_000: 1}), "unknown key 'k"),
        ({"dimension": {"x": AGE, "X": AGE}}, "'X' is not a column name: .* such as x"),
        ({"measure": {"x": {}}}, r"measure x: bounds must be \[low, high\]: public limits"),
        ({"measure": {"x": {"bounds": [5, 5]}}}, "measure x: bounds must be .* low < high"),
        ({"measure": {"x": {"bounds": ["0", "1"]}}}, "two finite numbers"),
        ({"measure": {"x": {"bounds": [0, 10**400]}}}, "two finite numbers"),
        ({"measure": {"x": {"bounds": [0, float("nan")]}}}, "two finite numbers"),
        ({"measure": {"x": {"bounds": [0, 1], "outside": "random"}}}, "unknown key 'outside'"),
        ({"public": {"x": {"type": "int", "missing": "code"}}}, "unknown key 'missing'"),
        ({"measure": {"x": {"bounds": [0, 1]}}, **dimension(type="bool")}, "must be a number"),
        ({"public": {"x": {"type": "blob"}}, "dimension": {"y": AGE}}, "public x: type must be"),
        ({"public": {"y": {"type": "int"}}, "dimension": {"y": AGE}}, "both private and public"),
        ({}, "at least one dimension or measure"),
    ],
)
def test_a_bad_key_is_named(keys, message):
    with pytest.raises(SurveyError, match=message) as refusal:
        Schema.from_keys(keys)
    assert "\n" not in str(refusal.value)


AGES, LETTERS = int_domain(0, 4), Listed("category", ("a", "b", OTHER))


@pytest.mark.parametrize(
    ("dimension", "inside", "outside", "missing"),
    [
        (Dimension("x", AGES), 3, 4, 1),
        (Dimension("x", AGES, "nearest", "code"), 3, 4, 5),
        (Dimension("x", AGES, "random"), 3, 1, 1),
        (Dimension("x", Listed("category", ("a", "b"))), 0, 1, 1),
        (Dimension("x", Listed("category", ("a", "b")), "random", "code"), 0, 1, 2),
        (Dimension("x", LETTERS, "other"), 0, 2, 1),
        (Dimension("x", LETTERS, "other", "code"), 0, 2, 3),
        (Dimension("x", BOOL, missing="code"), 1, 2, 2),
    ],
)
def test_every_value_has_a_code(dimension, inside, outside, missing):
    """Where it is not that of the value, 1 is drawn."""
    values = {"int": (3, 99), "category": ("a", "z"), "bool": (True, 0)}[dimension.domain.type]
    assert [dimension.code(value, 1)[0] for value in values] == [inside, outside]
    assert {dimension.code(value, 1) for value in (None, [], 2j)} == {(missing, MISSING)}
    assert dimension.code(values[0], 1)[1] == INSIDE
    assert dimension.size == dimension.declared + (dimension.outside == "other") + (missing > 1)


def test_a_measure_says_where_a_value_stands():
    """What no vector can hold, too; a missing value is halfway."""
    measure, half = Measure("x", (0.0, 100.0)), 2**63
    for value, expected in (
        *((0, (0, INSIDE)), (np.int16(100), (2 * half, INSIDE)), (101, (2 * half, OUTSIDE))),
        *((math.inf, (2 * half, OUTSIDE)), (-math.inf, (0, OUTSIDE))),
        *((value, (half, MISSING)) for value in ("1", math.nan, 1j, [1])),
    ):
        assert measure.threshold(value) == expected


@given(
    st.tuples(st.floats(-1e299, 1e299), st.floats(-1e299, 1e299)).filter(lambda b: b[0] < b[1]),
    st.floats(allow_nan=False),
)
def test_thresholds_are_the_floor_of_exact_fractions(bounds, value):
    low, high = map(Fraction, bounds)
    share = (Fraction(min(max(value, bounds[0]), bounds[1])) - low) / (high - low)
    assert Measure("x", bounds).threshold(value)[0] == math.floor(share * 2**64)


@pytest.mark.parametrize(
    ("kind", "bounds", "message"),
    [
        ("float", [1, 0], "two numbers of at most 1e100, the lower one first"),
        ("float", [0, math.inf], "at most 1e100"),
        ("float", [-1e101, 0], "at most 1e100"),
        ("float", ["0", 1], "two numbers"),
        ("int", [0, 1.5], "two whole numbers of at most 2.53"),
        ("int", [0, 2**53 + 1], "at most 2.53"),
        ("int", [True, 3], "two whole numbers"),
        ("int", [0], "bounds must be .low, high."),
        ("text", [0, 1], "bounds are for numbers, not for text"),
        ("bool", [0, 1], "bounds are for numbers, not for bool"),
    ],
)
def test_bounds_of_public_columns_that_make_no_range_are_refused(kind, bounds, message):
    with pytest.raises(SurveyError, match=message):
        Schema.from_keys(
            {
                "dimension": {"b": {"type": "bool"}},
                "public": {"x": {"type": kind, "bounds": bounds}},
            }
        )


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
        ('sensitive = ["HIV"]\nmissing = "code"', (2, 3)),
        ('sensitive = ["HIV"]\nmissing = "code"\nsensitive_missing = false', (2,)),
        ('sensitive = ["none", "flu", "HIV"]', ()),
        ('sensitive = ["none", "flu", "HIV"]\nmissing = "code"', ()),
        (
            'sensitive = ["none", "flu", "HIV"]\nmissing = "code"\nsensitive_missing = false',
            (0, 1, 2),
        ),
        ('sensitive = ["HIV"]\noutside = "other"', (2, 3)),
        (
            'sensitive = ["HIV"]\noutside = "other"\nmissing = "code"\nsensitive_missing = false',
            (2, 3),
        ),
        ('sensitive = ["HIV"]\noutside = "other"\nmissing = "code"', (2, 3, 4)),
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
        ('sensitive = ["HIV"]\nsensitive_missing = false', "", "sensitive_missing is for missing"),
        (
            'sensitive = ["HIV"]\nmissing = "code"\nsensitive_missing = 1',
            "",
            "must be true or false",
        ),
        ("sensitive_missing = false", "", "unknown key 'sensitive_missing'"),
        ('sensitive = ["(other)"]\noutside = "other"', "", "'(other)' is not a declared value"),
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


def test_a_survey_has_at_most_so_many_columns():
    public = tuple(PublicColumn(f"c{number}", "int") for number in range(MOST_COLUMNS))
    assert Schema((Dimension("b", BOOL),), public=public[1:])
    with pytest.raises(SurveyError, match="at most 1000 columns"):
        Schema((Dimension("b", BOOL),), public=public)


def test_a_short_survey_of_long_ranges_of_time_takes_little_memory():
    hours = {"type": "timestamp", "range": ["1900-01-01", "2019-01-01T00:00:00"], "unit": "hour"}
    columns = [{"name": f"t{number}", **hours} for number in range(4)]
    tracemalloc.start()
    schema = Schema.from_json({"dimension": columns, "measure": [], "public": []})
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert schema.sizes == (1_043_137,) * 4
    assert most < 100_000_000


@pytest.mark.parametrize(
    "label",
    [
        "How old are you?",
        "年龄",
        "Ärger & <Spaß>",
        "\U0001f600",
        "a\u0308",
        "x" * 200,
        "-1",
        "العمر",
    ],
)
def test_a_label_is_any_text_that_can_be_seen(label):
    schema = Schema.from_keys({"dimension": {"age": {**AGE, "label": label}}})
    assert schema.labels == {"age": label}
    assert Schema.from_keys(schema_to_keys(schema)) == schema
    assert schema != Schema.from_keys({"dimension": {"age": AGE}})


@pytest.mark.parametrize("category", ["Cc", "Cf", "Cs", "Co", "Zl", "Zp"])
def test_no_character_of_these_categories_is_in_a_label(category):
    """But for marks of Arabic, Syriac and Kaithi numbers and of hieroglyphs, which are seen."""
    seen = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
    seen |= set(range(0x13430, 0x13440))
    characters = (chr(code) for code in range(0x110000) if code not in seen)
    hidden = [c for c in characters if unicodedata.category(c) == category]
    assert hidden
    assert not any(map(is_label, hidden))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"measure": {"age": {"bounds": [0, 9], "label": "Old"}}}, "age has two labels"),
        ({"measure": {"pay": {"bounds": [0, 9], "label": "Years"}}}, "Years.* also stands for age"),
        ({"public": {"x": {"type": "int", "label": "Age"}}}, "'Age' of x also stands for age"),
        ({"public": {"x": {"type": "int", "label": "YEARS"}}}, "'YEARS' of x also stands for age"),
        ({"public": {"years": {"type": "int"}}}, "'Years' of age also stands for years"),
    ],
)
def test_a_label_stands_for_one_column(columns, message):
    with pytest.raises(SurveyError, match=message):
        Schema.from_keys({**LABELLED, **columns})


def test_a_dimension_and_a_measure_of_one_column_share_its_label():
    for keys in ({"bounds": [0, 9]}, {"bounds": [0, 9], "label": "Years"}):
        schema = Schema.from_keys({**LABELLED, "measure": {"age": keys}})
        assert schema.labels == {"age": "Years"}
    more = {"public": {"x": {"type": "int", "label": "label Years"}}}
    assert len(Schema.from_keys({**LABELLED, **more}).labels) == 2
    named = Schema.from_keys({"dimension": {"age": {**AGE, "label": "Age"}}})  # its own name
    assert named.labels == {"age": "Age"}
