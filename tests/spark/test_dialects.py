"""Counting in the dialects of other databases: the text, which sqlglot reads again as theirs."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp
from support.fake_survey import PLAIN, PUBLIC, UNARY, fake_survey

from ldpsql.spark.dialects import split_condition, translate
from ldpsql.store.counting import count_reports
from ldpsql.store.intake import Intake
from ldpsql.store.layout import Layout
from ldpsql_device.errors import InternalError

OTHERS = ("spark", "trino", "bigquery", "snowflake")
TYPES = {"pay": "float", "n": "int", "state": "text", "day": "date", "member": "bool"}
TYPES["at"] = "timestamp"
SHIFTS = {
    "spark": "SHIFTRIGHT(CAST(`ldpsql_answer0` AS BIGINT), 8)",
    "trino": 'BITWISE_RIGHT_SHIFT(CAST("ldpsql_answer0" AS BIGINT), 8)',
    "bigquery": "CAST(`ldpsql_answer0` AS INT64) >> 8",
    "snowflake": 'BITSHIFTRIGHT(CAST("ldpsql_answer0" AS BIGINT), 8)',
}


def statements(options):
    table = Layout(Intake.of(fake_survey(options=options, public=PUBLIC)))
    return table, count_reports(table, f"SELECT {table.columns} FROM reports")


@pytest.mark.parametrize("dialect", OTHERS)
@pytest.mark.parametrize("options", [PLAIN, UNARY], ids=["plain", "unary"])
def test_counting_equal_reports_is_said_in_every_dialect(dialect, options):
    table, queries = statements(options)
    for query in queries:
        tree = sqlglot.parse_one(translate(query, dialect), read=dialect)
        assert isinstance(tree, exp.Select)
        *shown, count = tree.named_selects
        wanted = [column.name for column in (*table.counted_columns, *table.public_columns)]
        assert ([name.lower() for name in shown], count) == (wanted, "ldpsql_count")
        assert not list(tree.find_all(exp.Star)) or list(tree.find_all(exp.Count))


@pytest.mark.parametrize("dialect", OTHERS)
def test_bits_are_taken_by_the_words_of_the_dialect(dialect):
    _, queries = statements(UNARY)
    assert SHIFTS[dialect] in translate(queries[1], dialect)


def test_the_whole_statement_in_spark():
    _, [query] = statements({**PLAIN})
    keys = "`ldpsql_question`, `ldpsql_answer0`, `ldpsql_answer1`, `day`, `amount`, `group`"
    inside = f"(SELECT {keys} FROM reports) AS reports"
    said = f"SELECT {keys}, COUNT(*) AS ldpsql_count FROM {inside} GROUP BY {keys}"
    assert translate(query, "spark") == said


def test_what_a_dialect_cannot_say_is_refused():
    with pytest.raises(InternalError, match="spark cannot say"):
        translate("SELECT (((", "spark")


@pytest.mark.parametrize(
    ("condition", "plain", "is_all"),
    [
        (None, "TRUE", True),
        ("\"day\" = DATE '2026-03-01'", "(\"day\" = CAST('2026-03-01' AS DATE))", True),
        ('"pay" BETWEEN 1 AND -n', "TRUE", False),
        ('"pay" BETWEEN -1 AND 2.5', '("pay" BETWEEN -1 AND 2.5)', True),
        ("\"state\" IN ('a', 'b') OR n <> 2", "(\"state\" IN ('a', 'b') OR n <> 2)", True),
        ("n IS NULL AND upper(\"state\") = 'A'", "(n IS NULL)", False),
        ("n IS NULL OR upper(\"state\") = 'A'", "TRUE", False),
        ("NOT member = TRUE", "(NOT member = TRUE)", True),
        ("n < pay", "(n < pay)", True),
        # What DuckDB and others convert differently, or mean different things by.
        ("state = 5", "TRUE", False),
        ("n = '5'", "TRUE", False),
        ("day > '2026-01-01'", "TRUE", False),
        ("at > TIMESTAMP '2026-01-01 00:00:00'", "TRUE", False),
        ("at IS NULL", "TRUE", False),
        ("n // 2 = 1", "TRUE", False),
        ("state LIKE 'a%'", "TRUE", False),
        ("n IS NOT DISTINCT FROM 2", "TRUE", False),
    ],
)
def test_comparisons_with_constants_are_meant_alike_everywhere(condition, plain, is_all):
    assert split_condition(condition, TYPES) == (plain, is_all)
