"""Expressions over declared values: which cells have which value."""

from __future__ import annotations

from datetime import date, datetime

import pytest
from support.sql_survey import TYPES, base_of

from ldpsql.algebra.boxes import Box
from ldpsql.errors import Place, QueryError, UnsupportedSQL
from ldpsql.parser import parse
from ldpsql.planner import declared
from ldpsql.planner.declared import regions
from ldpsql.planner.plan import amounts_of
from ldpsql.planner.where import slices
from ldpsql.sql.aggregates import targets_of
from ldpsql.sql.quoting import Scalar
from ldpsql_device.schema import Dimension, Schema
from ldpsql_device.values import int_domain

SCHEMA = TYPES.schema


def codes(condition: str, dimension: str) -> set[int]:
    """The codes of one dimension that a condition holds for."""
    sql = f"SELECT COUNT(*) FROM types WHERE {condition}"
    place = [each.name for each in SCHEMA.dimensions].index(dimension)
    (piece,) = slices(base_of(sql).predicate, SCHEMA, sql)
    found = [box.sides[place] or ((0, SCHEMA.dimensions[place].size),) for box in piece.boxes]
    return {code for side in found for low, high in side for code in range(low, high)}


@pytest.mark.parametrize(
    ("condition", "dimension", "expected"),
    [
        ("age * 2 = 40", "age", {2}),
        ("age / 7 = 4", "age", {10}),
        ("score // 10 = 1", "score", {1, 2}),
        ("score - 10 >= 0", "score", {1, 2}),
        ("lower(size) IN ('s', 'l')", "size", {0, 2}),
        ("(size < 'N') IS NULL", "size", {3}),
        ("coalesce(size, 'XL') LIKE '%L'", "size", {2, 3}),
        ("(income < 20) = TRUE", "income", {0, 1}),
        ("(income BETWEEN 10.5 AND 40) = (1 = 1)", "income", {1, 2}),
        ("CASE WHEN income >= 20.0 THEN TRUE ELSE FALSE END", "income", {2}),
        ("CAST(seen AS DATE) = DATE '2026-01-03'", "seen", {2}),
        ("date_trunc('day', seen) >= DATE '2026-01-09'", "seen", {8, 9}),
        ("EXTRACT(dow FROM seen) = 0", "seen", {3}),
        ("weekday(seen) = 0", "seen", {3}),
        ("strftime(seen, '%-d. %B') = '3. January'", "seen", {2}),
        ("strftime(seen, '100%% %a') = '100% Sun'", "seen", {3}),
        ("(seen < TIMESTAMP '2026-01-02') = TRUE", "seen", {0}),
        ("week + INTERVAL 7 DAY < DATE '2026-01-19'", "week", {0}),
    ],
)
def test_a_condition_holds_for_codes(condition: str, dimension: str, expected: set[int]) -> None:
    assert codes(condition, dimension) == expected


def test_values_come_in_order_with_their_boxes() -> None:
    found = regions(Scalar('"age" // 40', ("age",), "BIGINT", Place(1, 1)), SCHEMA, "")
    sides = [(value, box.sides[0]) for value, boxes in found for box in boxes]
    assert sides == [(0, ((0, 22),)), (1, ((22, 62),)), (2, ((62, 73),))]


def test_equal_cells_of_two_dimensions_are_few_boxes() -> None:
    text = """("age" % 2 = 0) = ("size" = 'S')"""
    found = dict(regions(Scalar(text, ("age", "size"), "BOOLEAN", Place(1, 1)), SCHEMA, ""))
    assert [len(found[value]) for value in (False, True, None)] == [2, 2, 1]
    assert found[None] == (Box((None, None, ((3, 4),), None, None, None, None)),)


def test_a_separable_condition_needs_no_product() -> None:
    """Seven dimensions, of which the product is far too large."""
    condition = "age % 2 = 0 AND score // 10 = 1 AND NOT (lower(size) = 's' OR day(seen) > 3)"
    assert codes(f"{condition} AND month(week) > 0 AND wide < 100000000", "seen") == {0, 1, 2}


def test_values_are_dates_and_moments() -> None:
    scalar = Scalar("""date_trunc('month', "week")""", ("week",), "DATE", Place(1, 1))
    with pytest.raises(UnsupportedSQL):
        regions(scalar, SCHEMA, "")
    scalar = Scalar("""date_trunc('year', "week")""", ("week",), "DATE", Place(1, 1))
    assert [value for value, _ in regions(scalar, SCHEMA, "")] == [date(2026, 1, 1)]
    scalar = Scalar("""date_trunc('day', "seen")""", ("seen",), "TIMESTAMP", Place(1, 1))
    assert regions(scalar, SCHEMA, "")[1][0] == datetime(2026, 1, 2)


def test_an_expression_that_fails_for_a_value_is_refused() -> None:
    with pytest.raises(QueryError, match="Could not convert") as caught:
        codes("CAST(size AS INTEGER) = 1", "size")
    assert "declared values" in caught.value.hint


def test_the_limit_is_on_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declared, "MAX_CELLS", 72)
    with pytest.raises(UnsupportedSQL, match="joined by AND"):
        codes("age % 2 = 0", "age")


def test_a_day_that_is_only_its_midnight_is_refused_with_the_whole_day() -> None:
    assert codes("seen BETWEEN DATE '2026-01-02' AND DATE '2026-01-04'", "seen") == {1, 2}
    assert codes("seen > '2026-01-08'", "seen") == {7, 8, 9}
    with pytest.raises(QueryError) as caught:
        codes("seen = DATE '2026-01-03'", "seen")
    assert "write CAST(seen AS DATE) = DATE '2026-01-03'" in caught.value.hint
    assert codes("CAST(seen AS DATE) BETWEEN DATE '2026-01-02' AND '2026-01-03'", "seen") == {1, 2}


def test_a_sum_of_different_columns_never_needs_their_product() -> None:
    """A thousand values of each of three columns are 3,000 terms, not 10^9."""

    class Wide:
        table = "t"
        schema = Schema(tuple(Dimension(name, int_domain(0, 999)) for name in "abc"))

    def terms(sql: str) -> int:
        (base,) = parse(sql, None, lambda _: Wide()).bases
        targets = {t for c in base.columns for t in targets_of(c.expression, Wide.schema)}
        return sum(len(amounts_of(target, Wide.schema, sql)) for target in targets)

    assert terms("SELECT SUM(a + b * b - c + 3) FROM t") == 1000 + 999 + 999
    with pytest.raises(UnsupportedSQL, match="combinations"):
        terms("SELECT SUM(a * b * c) FROM t")


def test_zeros_of_both_signs_are_one_value() -> None:
    place = Place(1, 1, 1)
    halves = Scalar("0 / (age - 20.5)", ("age",), "DOUBLE", place)
    assert [value for value, _ in regions(halves, SCHEMA, "-")] == [0.0]


def test_days_that_python_has_not_are_refused() -> None:
    later = Scalar("week + INTERVAL 9000 YEAR", ("week",), "TIMESTAMP", Place(1, 1, 1))
    with pytest.raises(QueryError, match="before the year 1, or after 9999"):
        regions(later, SCHEMA, "-")
