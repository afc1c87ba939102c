"""Conditions as the parser gives them; engine/plan/test_where.py tries what most of them mean."""

from __future__ import annotations

from typing import Any

import pytest
from support.sql_survey import base_of, marked, refusal, survey

from ldpsql.errors import Place, QueryError
from ldpsql.parser import parse
from ldpsql.parser.query import (
    And,
    Comparison,
    Membership,
    Not,
    NotTrue,
    NullTest,
    Or,
    Predicate,
)
from ldpsql.planner.plan import boxes
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


def test_an_alias_of_the_table_replaces_its_name() -> None:
    query = base_of("SELECT COUNT(*) FROM app AS people WHERE people.age = 3")
    assert anywhere(query.predicate) == compare("age", "=", 3)
    error = refusal("SELECT COUNT(*) FROM app AS people WHERE app.age = 3")
    assert marked(error) == "app.age"
    assert "people.age" in error.hint


def test_a_range_may_be_symmetric() -> None:
    """Which DuckDB does not know."""
    first = And((compare("age", ">=", 4), compare("age", "<=", 2)))
    assert where("age BETWEEN SYMMETRIC 4 AND 2") == Or(
        (first, And((compare("age", ">=", 2), compare("age", "<=", 4))))
    )


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
        ("upper(state) = 'CA'", ("state",)),
        ("(age = 3) = TRUE", ("age",)),
        ("age::VARCHAR = '3'", ("age",)),
        ("CASE WHEN active THEN state = 'CA' ELSE age > 3 END", ("age", "state", "active")),
        ("(state, age) IN (('CA', 2), ('NY', 3))", ("age", "state")),
        ("joined - INTERVAL 1 DAY > DATE '2026-01-01'", ("joined",)),
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


@pytest.mark.parametrize("is_text", [False, True])
def test_a_whole_number_equals_the_text_that_says_it(is_text):
    """As DuckDB has it: '1' = 1, whichever of them is declared."""
    values: tuple[Any, ...] = ("1", "2", "(other)") if is_text else (1, 2, 3)
    payments = survey("payments", Schema((Dimension("kind", Listed("category", values)),)))
    equal = {"kind = 1", "kind = '1'", "1 = kind", "kind IN ('1')", "kind IN (1)"}
    equal |= {"kind IS NOT DISTINCT FROM '1'", "kind IS NOT DISTINCT FROM 1"}
    equal |= {"CASE kind WHEN 1 THEN TRUE ELSE FALSE END", "CASE WHEN kind = '1' THEN TRUE END"}

    def slices_of(condition: str) -> Any:
        sql = f"SELECT COUNT(*) FROM payments WHERE {condition}"
        [query] = parse(sql, None, lambda _: payments).bases
        return boxes(query, payments, sql).slices

    assert len(set(map(slices_of, equal))) == 1
    for each in ("kind = 9", "kind = '9'", "kind IN ('x')"):
        with pytest.raises(QueryError):
            slices_of(each)
