from __future__ import annotations

import math
from datetime import date, datetime, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.sql_survey import base_of, marked, parsed, refusal

from ldpsql.errors import QueryError
from ldpsql.parser.query import And, Membership
from ldpsql.server.wire import parameters_to_json


def literals(sql: str, parameters: Any) -> list[Any]:
    predicate = base_of(f"SELECT COUNT(*) FROM app WHERE {sql}", parameters).predicate
    atoms = predicate.operands if isinstance(predicate, And) else (predicate,)
    return [
        atom.literals if isinstance(atom, Membership) else atom.literal  # type: ignore[union-attr]
        for atom in atoms
    ]


@pytest.mark.parametrize(
    "value",
    [
        30,
        -30,
        2**80,
        1.5,
        -1e-7,
        "x",
        "it's; -- 'quoted' \"",
        True,
        None,
        date(2026, 1, 31),
        datetime(2026, 1, 31, 12, 30, 15),
    ],
)
def test_a_parameter_is_the_literal_of_its_value(value: Any) -> None:
    assert literals("age = ?", [value]) == [value]
    assert literals("age = :x", {"x": value}) == [value]
    assert literals("age = $x", {"x": value}) == [value]
    assert literals("age IN (?, ?)", [value, 1]) == [(value, 1)]


def test_decimals_and_numpy_scalars_are_numbers() -> None:
    assert literals("age = ?", [Decimal("0.10")]) == [0.1]
    assert literals("age = ? AND age = ?", [np.int64(3), np.float64(0.5)]) == [3, 0.5]


def test_question_marks_are_taken_in_the_order_of_the_text() -> None:
    sql = (
        "WITH t AS (SELECT state, COUNT(*) AS n FROM app WHERE age = ? GROUP BY state "
        "HAVING COUNT(*) > ?) SELECT n + ? FROM t WHERE n < ? LIMIT ?"
    )
    statement = parsed(sql, [30, 1, 2, 3, 4])
    assert statement.bases[0].predicate.literal == 30  # type: ignore[union-attr]
    assert "> 1)" in statement.outer
    assert "n + 2" in statement.outer
    assert "n < 3" in statement.outer
    assert statement.outer.endswith("LIMIT 4")


def test_names_and_numbers_may_repeat() -> None:
    assert literals("age = :a AND hours = :b AND age < :a", {"a": 1, "b": 2}) == [1, 2, 1]
    assert literals("age = $2 AND hours = $1 AND age < $2", [1, 2]) == [2, 1, 2]
    assert literals("age = :day AND hours = :limit", {"day": 1, "limit": 2}) == [1, 2]


def test_a_negative_parameter_keeps_its_sign_under_an_operator() -> None:
    statement = parsed("SELECT ROUND(COUNT(*), 0) ** ? FROM app", [-2])
    assert "(-2)" in statement.outer


@pytest.mark.parametrize(
    ("sql", "parameters", "where"),
    [
        ("age = ?", None, "?"),
        ("age = ?", [], "?"),
        ("age = ?", [1, 2], "?"),
        ("age = $2", [1, 2], "$2"),
        ("age = $1", [1, 2], "$1"),
        ("age = ? AND age = $1", [1, 2], "$1"),
        ("age = ? AND age = :a", [1, 2], ":a"),
        ("age = :a", {"b": 1}, ":a"),
        ("age = :a", [1], ":a"),
        ("age = ?", {"a": 1}, "?"),
        ("age = ?", [object()], "?"),
        ("age = ?", [float("nan")], "?"),
        ("age = ?", [Decimal("Infinity")], "?"),
        ("age = ?", [datetime(2026, 1, 1, tzinfo=timezone.utc)], "?"),  # noqa: UP017
        ("age = ?", [[1, 2]], "?"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(sql: str, parameters: Any, where: str) -> None:
    error = refusal(f"SELECT COUNT(*) FROM app WHERE {sql}", parameters)
    assert isinstance(error, QueryError)
    assert marked(error) == where


@pytest.mark.parametrize("written", [":a", "$a"])
def test_a_parameter_without_a_value_is_named_as_it_is_written(written: str) -> None:
    error = refusal(f"SELECT COUNT(*) FROM app WHERE age = {written}", {})
    assert error.reason == f"no value for the parameter {written}"


@pytest.mark.parametrize("parameters", [{"a": 1, "b": 2}, {"a": 1, "": 2}])
def test_an_unused_name_is_refused(parameters: Any) -> None:
    assert "does not occur" in refusal("SELECT COUNT(*) FROM app WHERE age = :a", parameters).reason


def test_parameters_without_a_placeholder_are_refused() -> None:
    assert "takes 0 parameters" in refusal("SELECT COUNT(*) FROM app", [1]).reason


def test_a_string_is_no_sequence_of_parameters() -> None:
    assert "not a string" in refusal("SELECT COUNT(*) FROM app WHERE age = ?", "3").reason
    assert "not a value of type int" in refusal("SELECT COUNT(*) FROM app WHERE age = ?", 3).reason
    assert "not a value of type bool" in refusal("SELECT COUNT(*) FROM app", False).reason


@pytest.mark.parametrize(
    "given", [{9, 3}, frozenset([9, 3]), {9: 0, 3: 0}.keys(), bytearray(b"93"), memoryview(b"93")]
)
def test_what_has_no_order_is_no_sequence_of_parameters(given: Any) -> None:
    """A set of two values would be bound in either order."""
    sql = "SELECT COUNT(*) FROM app WHERE age > ? AND age < ?"
    assert "must be a sequence or a mapping" in refusal(sql, given).reason
    with pytest.raises(QueryError, match="must be a sequence or a mapping"):
        parameters_to_json(sql, given)


def test_a_placeholder_cannot_be_a_name_or_a_keyword() -> None:
    refusal("SELECT COUNT(*) FROM ?", ["app"])
    refusal("SELECT COUNT(*) AS ? FROM app", ["n"])
    refusal("SELECT COUNT(*) FROM app WHERE age = INTERVAL ? DAY", [1])


def test_a_question_mark_in_a_string_or_comment_is_none() -> None:
    assert literals("version = 'a?b:c$d' -- ?\n AND age = ?", [3]) == ["a?b:c$d", 3]


@pytest.mark.parametrize(
    ("sql", "parameters"), [("state = ?", ["\udcff"]), ("state = :s", {"s": "a\ud800"})]
)
def test_a_parameter_that_is_no_unicode_is_refused(sql: str, parameters: Any) -> None:
    error = refusal(f"SELECT COUNT(*) FROM app WHERE {sql}", parameters)
    assert isinstance(error, QueryError)
    assert "not valid UTF-8" in str(error)


@pytest.mark.parametrize(
    "value",
    [
        10**100,
        1 << 30_000_000,
        Decimal("1e-999999999"),
        Decimal("1e999999999"),
        Decimal("0e-999999999"),
        Decimal("1." + "1" * 100),
    ],
    ids=["whole", "power", "small", "large", "zero", "exact"],
)
def test_a_number_of_many_digits_is_refused_before_they_are_written(value: Any) -> None:
    error = refusal("SELECT COUNT(*) FROM app WHERE age = ?", [value])
    assert error.reason == "the value of ? has too many digits"


@pytest.mark.parametrize("value", [Decimal("NaN"), Decimal("sNaN"), Fraction(10**400), math.inf])
def test_what_is_no_finite_number_is_refused(value: Any) -> None:
    with pytest.raises(QueryError, match=f"cannot be this value of type {type(value).__name__}"):
        parsed("SELECT COUNT(*) FROM app WHERE age = ?", [value])


def test_many_parameters_stand_where_they_were_put() -> None:
    count = 2_000
    marks = ", ".join("?" * count)
    values = [number if number % 3 else -number for number in range(count)]
    assert literals(f"age IN ({marks}) AND age > ?", [*values, 7]) == [tuple(values), 7]


@pytest.mark.parametrize("mark", ["?", "$"])
def test_a_number_of_a_parameter_has_few_digits(mark: str) -> None:
    error = refusal(f"SELECT COUNT(*) FROM app WHERE age = {mark}{'9' * 5000}", [1])
    assert error.reason == "this number has too many digits"
