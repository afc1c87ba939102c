from __future__ import annotations

from typing import Any

import pytest
from support.sql_survey import base_of, marked, refusal, survey

from ldpsql.errors import Place, QueryError
from ldpsql.parser import parse
from ldpsql.parser.query import (
    And,
    Comparison,
    Constant,
    Membership,
    Not,
    NotTrue,
    NullTest,
    Or,
    Predicate,
)
from ldpsql.sql.quoting import Scalar
from ldpsql_device.schema import Dimension, Schema
from ldpsql_device.values import Listed, time_range

HERE = Place(1, 1)


def anywhere(predicate: Predicate | None) -> Any:
    """The predicate with every place replaced by one."""
    match predicate:
        case Comparison(column, op, literal):
            return Comparison(column, op, literal, HERE)
        case Membership(column, literals):
            return Membership(column, literals, HERE)
        case NullTest(column):
            return NullTest(column, HERE)
        case Not(operand):
            return Not(anywhere(operand))
        case NotTrue(operand):
            return NotTrue(anywhere(operand))
        case And(operands):
            return And(tuple(map(anywhere, operands)))
        case Or(operands):
            return Or(tuple(map(anywhere, operands)))
    return predicate


def where(condition: str) -> Any:
    return anywhere(base_of(f"SELECT COUNT(*) FROM app WHERE {condition}").predicate)


def compare(column: str, op: str, literal: Any) -> Comparison:
    return Comparison(column, op, literal, HERE)


@pytest.mark.parametrize(
    ("text", "op"),
    [
        ("age = 3", "="),
        ("age == 3", "="),
        ("3 = age", "="),
        ("age <> 3", "<>"),
        ("age != 3", "<>"),
        ("age < 3", "<"),
        ("3 > age", "<"),
        ("age <= 3", "<="),
        ("3 >= age", "<="),
        ("age > 3", ">"),
        ("3 < age", ">"),
        ("age >= 3", ">="),
        ("3 <= age", ">="),
        ("(age) >= (3)", ">="),
    ],
)
def test_comparisons_put_the_column_first(text: str, op: str) -> None:
    assert where(text) == compare("age", op, 3)


@pytest.mark.parametrize("text", ["AGE = 3", '"Age" = 3', "app.age = 3", "APP.Age = 3"])
def test_names_ignore_case_and_may_be_qualified(text: str) -> None:
    assert where(text) == compare("age", "=", 3)


def test_an_alias_of_the_table_replaces_its_name() -> None:
    query = base_of("SELECT COUNT(*) FROM app AS people WHERE people.age = 3")
    assert anywhere(query.predicate) == compare("age", "=", 3)
    error = refusal("SELECT COUNT(*) FROM app AS people WHERE app.age = 3")
    assert marked(error) == "app.age"
    assert "people.age" in error.hint


def test_between_in_and_null_tests() -> None:
    between = And((compare("age", ">=", 4), compare("age", "<=", 2)))
    other_way = And((compare("age", ">=", 2), compare("age", "<=", 4)))
    assert where("age BETWEEN 4 AND 2") == between
    assert where("age NOT BETWEEN 4 AND 2") == Not(between)
    assert where("age BETWEEN SYMMETRIC 4 AND 2") == Or((between, other_way))
    assert where("state IN ('CA', NULL, 'NY')") == Membership("state", ("CA", None, "NY"), HERE)
    assert where("state NOT IN ('CA')") == Not(Membership("state", ("CA",), HERE))
    assert where("state IS NULL") == NullTest("state", HERE)
    assert where("state IS NOT NULL") == Not(NullTest("state", HERE))
    assert where("state = NULL") == compare("state", "=", None)
    base_of("SELECT COUNT(*) FROM app WHERE lower(state) = 'ca'")


def test_bool_columns_stand_alone() -> None:
    true, null = compare("active", "=", True), NullTest("active", HERE)
    assert where("active") == true
    assert where("NOT active") == Not(true)
    assert where("active IS TRUE") == And((true, Not(null)))
    assert where("active IS NOT TRUE") == Not(And((true, Not(null))))
    assert where("beta IS FALSE") == And((compare("beta", "=", False), Not(NullTest("beta", HERE))))


def test_is_distinct_from_takes_null_for_a_value() -> None:
    same = And((compare("state", "=", "CA"), Not(NullTest("state", HERE))))
    assert where("state IS NOT DISTINCT FROM 'CA'") == same
    assert where("state IS DISTINCT FROM 'CA'") == Not(same)
    assert where("state IS NOT DISTINCT FROM NULL") == NullTest("state", HERE)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("TRUE", True),
        ("FALSE", False),
        ("NULL", None),
        ("1 = 1", True),
        ("1 = 2", False),
        ("'a' < 'b'", True),
        ("1 = NULL", None),
    ],
)
def test_conditions_without_columns_are_constants(text: str, value: bool | None) -> None:
    assert where(text) == Constant(value)


def test_chains_are_flat_and_keep_their_order() -> None:
    a, b, c = compare("age", "=", 1), compare("age", "=", 2), compare("age", "=", 3)
    assert where("age = 1 OR age = 2 OR age = 3") == Or((a, b, c))
    assert where("age = 1 OR age = 2 AND age = 3") == Or((a, And((b, c))))
    assert where("(age = 1 OR age = 2) AND age = 3") == And((Or((a, b)), c))


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("age + 1 = 3", ("age",)),
        ("2 * (AGE) = 3", ("age",)),
        ("age % 2 = 0", ("age",)),
        ("3 BETWEEN age AND 5", ("age",)),
        ("lower(app.state) = 'ca'", ("state",)),
        ("coalesce(state, 'x') = 'x'", ("state",)),
        ("state LIKE 'C%'", ("state",)),
        ("state ILIKE 'C!%' ESCAPE '!'", ("state",)),
        ("regexp_matches(state, 'C')", ("state",)),
        ("state = upper('ca')", ("state",)),
        ("(age = 3) = TRUE", ("age",)),
        ("age::VARCHAR = '3'", ("age",)),
        ("CASE WHEN active THEN state = 'CA' ELSE age > 3 END", ("age", "state", "active")),
        ("(state, age) IN (('CA', 2), ('NY', 3))", ("age", "state")),
        ("joined > DATE '2026-01-01' + INTERVAL 1 DAY", ("joined",)),
        ("length(version) > 3", ("version",)),
    ],
)
def test_other_conditions_are_expressions_over_declared_values(
    text: str, columns: tuple[str, ...]
) -> None:
    scalar = where(text)
    assert isinstance(scalar, Scalar)
    assert (scalar.columns, scalar.kind) == (columns, "BOOLEAN")


def test_ranges_beside_an_expression_are_told_from_codes() -> None:
    meant = where("age < 4 AND NOT (state LIKE 'C%' OR active)")
    assert isinstance(meant, And)
    plain, negation = meant.operands
    assert plain == compare("age", "<", 4)
    assert isinstance(negation.operand, Or)
    assert isinstance(negation.operand.operands[0], Scalar)
    assert negation.operand.operands[1] == compare("active", "=", True)


def test_parameters_are_compared_like_literals() -> None:
    error = refusal("SELECT COUNT(*) FROM app WHERE state IN (?, ?)", ["CA", "x"])
    assert error.reason == "state has no value 'x'"
    assert marked(error) == "?"


def test_texts_may_be_ordered_by_anything() -> None:
    assert where("state < 'M'") == compare("state", "<", "M")
    assert where("state = NULL") == compare("state", "=", None)
    base_of("SELECT COUNT(*) FROM app WHERE lower(state) = 'ca'")


def test_only_the_first_of_many_declared_values_are_listed() -> None:
    many = survey("many", Schema((Dimension("n", Listed("category", tuple(range(30)))),)))
    with pytest.raises(
        QueryError, match=r"n has no value 30 at 1:37; declared are 0, .*, 19 and 10"
    ):
        parse("SELECT COUNT(*) FROM many WHERE n = 30", None, lambda _: many)


def test_is_true_takes_any_condition() -> None:
    condition = And((compare("age", "<", 30), compare("version", "=", "2")))
    met = NotTrue(NotTrue(condition))
    assert where("(age < 30 AND version = '2') IS TRUE") == met
    assert where("(age < 30 AND version = '2') IS NOT TRUE") == Not(met)


@pytest.mark.parametrize(
    ("condition", "op", "ends_day"),
    [
        ("t <= DATE '2026-01-03'", "<", True),
        ("t > '2026-01-03'", ">=", True),
        ("DATE '2026-01-03' >= t", "<", True),
        ("t < DATE '2026-01-03'", "<", False),
        ("t >= '2026-01-03'", ">=", False),
        ("t <= TIMESTAMP '2026-01-03 00:00:00'", "<=", False),
        ("t <= '2026-01-03 00:00:00'", "<=", False),
        ("t = DATE '2026-01-03'", "=", False),
    ],
)
def test_a_day_that_moments_are_compared_with_is_its_midnight(
    condition: str, op: str, ends_day: bool
) -> None:
    moments = survey(
        "m", Schema((Dimension("t", time_range("timestamp", "2026-01-01", "2026-01-09", "day")),))
    )
    (base,) = parse(f"SELECT COUNT(*) FROM m WHERE {condition}", None, lambda _: moments).bases
    assert isinstance(base.predicate, Comparison)
    assert (base.predicate.op, base.predicate.ends_day) == (op, ends_day)


def test_texts_are_joined_a_few_times() -> None:
    assert isinstance(where("state || '-' || concat(state, 'x') = 'CA-CAx'"), Scalar)
    joined = " || ".join(["state"] * 18)
    assert "more than 16" in refusal(f"SELECT COUNT(*) FROM app WHERE {joined} = 'x'").reason
