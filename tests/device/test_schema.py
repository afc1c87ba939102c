"""Attributes and their roles: what is accepted, what is refused, and that it can be written."""

from __future__ import annotations

import json
import math
import tomllib
import tracemalloc
import unicodedata
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rows import answered

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


def refusal_of(keys):
    with pytest.raises(SurveyError) as refusal:
        Schema.from_keys(keys)
    assert len(str(refusal.value).splitlines()) == 1
    return str(refusal.value)


def test_bad_keys_are_named(golden):
    """Every key of `bad_schemas.txt`, each with the reason under it."""
    path = Path(__file__).with_name("bad_schemas.txt")
    rows = path.read_text(encoding="utf-8")
    golden(path, answered(rows, lambda row: refusal_of(json.loads(row))))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (dimension(type="float", edges=[0, 10**400]), "finite numbers"),
        ({"measure": {"x": {"bounds": [0, 10**400]}}}, "two finite numbers"),
        ({"public": {"x" * 1_000_000: {"type": "int"}}}, "is not a column name"),
        (dimension(type="t" * 1_000_000), "type must be one of"),
        (dimension(type="bool", **{"k\n" * 100_000: 1}), "unknown key 'k"),
    ],
)
def test_what_is_huge_is_refused_in_one_short_line(keys, message):
    said = refusal_of(keys)
    assert message in said
    assert len(said) < 400


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


def test_no_character_of_these_categories_is_in_a_label():
    """But for marks of Arabic, Syriac and Kaithi numbers and of hieroglyphs, which are seen."""
    seen = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
    seen |= set(range(0x13430, 0x13440))
    found = {category: list[str]() for category in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")}
    for character in map(chr, set(range(0x110000)) - seen):
        if (own := unicodedata.category(character)) in found:
            found[own].append(character)
    for category, hidden in found.items():
        assert hidden, category
        assert not any(map(is_label, hidden)), category


def test_a_dimension_and_a_measure_of_one_column_share_its_label():
    for keys in ({"bounds": [0, 9]}, {"bounds": [0, 9], "label": "Years"}):
        schema = Schema.from_keys({**LABELLED, "measure": {"age": keys}})
        assert schema.labels == {"age": "Years"}
    more = {"public": {"x": {"type": "int", "label": "label Years"}}}
    assert len(Schema.from_keys({**LABELLED, **more}).labels) == 2
    named = Schema.from_keys({"dimension": {"age": {**AGE, "label": "Age"}}})  # its own name
    assert named.labels == {"age": "Age"}
