from __future__ import annotations

import pytest
from support.sql_survey import APP, base_of

from ldpsql.boxes import Weight
from ldpsql.engine.plan import Target
from ldpsql.engine.rewrite.targets import targets_of
from ldpsql.parser.query import Aggregate
from ldpsql_device.errors import InternalError, Place

EVERYBODY = Target()


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        ("COUNT(*)", (EVERYBODY,)),
        ("COUNT(age)", (EVERYBODY,)),
        ("COUNT(state)", (Target(present=1),)),
        ("COUNT(purchase)", (EVERYBODY,)),
        ("COUNT(hours)", (EVERYBODY,)),
        ("COUNT(day)", (EVERYBODY,)),
        ("COUNT(amount)", (Target(weight=Weight("amount", "present")),)),
        ("SUM(hours)", (Target(measure=0),)),
        ("SUM(purchase)", (Target(measure=1),)),
        ("SUM(amount)", (Target(weight=Weight("amount")),)),
        ("AVG(purchase)", (Target(measure=1), EVERYBODY)),
        ("AVG(build)", (Target(weight=Weight("build")), EVERYBODY)),
        (
            "AVG(amount)",
            (Target(weight=Weight("amount")), Target(weight=Weight("amount", "present"))),
        ),
    ],
)
def test_targets_of_an_aggregate(aggregate: str, expected: tuple[Target, ...]) -> None:
    (column,) = base_of(f"SELECT {aggregate} FROM app").columns
    assert isinstance(column.expression, Aggregate)
    assert targets_of(column.expression, APP.schema) == expected


@pytest.mark.parametrize("function", ["COUNT", "SUM"])
def test_a_column_that_the_parser_should_have_refused_is_a_bug(function: str) -> None:
    with pytest.raises(InternalError):
        targets_of(Aggregate(function, "nope", Place(1, 1)), APP.schema)  # type: ignore[arg-type]
