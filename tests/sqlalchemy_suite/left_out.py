"""What SQLAlchemy's suite may not ask of an engine that answers from reports, and why."""

from __future__ import annotations

import pytest

READS = "an engine asks and never writes: there are no keys, constraints, indexes or views"
ROWS = "an engine asks and never writes: no rows are returned or counted after a write"
TYPES = "columns hold numbers, texts, truth values, dates and timestamps"
NAMES = "names need no quotes and ignore case"
GROWTH = "neither functions that make texts grow nor recursion are evaluated"
COMMENTS = "comments are what a survey says about its columns; nobody can set them"
SCHEMAS = "there is one schema, main"

LEFT_OUT = {
    "ComponentReflectionTestExtra::test_nullable_reflection": READS,
    "ComponentReflectionTestExtra::test_numeric_reflection": TYPES,
    "ComponentReflectionTestExtra::test_string_length_reflection": TYPES,
    "HasTableTest::test_has_table_temp_view": READS,
    "HasTableTest::test_has_table_view_schema": SCHEMAS,
    "InsertBehaviorTest::test_no_results_for_non_returning_insert": ROWS,
    "LikeFunctionsTest::test_contains": GROWTH,
    "LikeFunctionsTest::test_endswith": GROWTH,
    "LikeFunctionsTest::test_startswith": GROWTH,
    "LongNameBlowoutTest::test_long_convention_name[ix": READS,
    "NameDenormalizeTest::": NAMES,
    "NumericTest::test_float_coerce_round_trip": TYPES,
    "OrderByLabelTest::test_composed_multiple": GROWTH,
    "StringTest::test_concatenate": GROWTH,
}
"""Tests that no requirement of the suite stands for, or two do, by a part of their names.

Of two requirements the suite would name either: it keeps them in a set.
"""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave them out, before their tables are made."""
    name = item.nodeid.replace("_ldpsql+writable", "")
    for part, reason in LEFT_OUT.items():
        if part in name:
            pytest.skip(reason)
