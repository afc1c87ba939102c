from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest
from support.sql_survey import base_of


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("30", 30),
        ("-3", -3),
        ("- -3", 3),
        ("+3", 3),
        ("10 + 5", 15),
        ("(2 + 3) * 4 - 1", 19),
        ("0.1 + 0.2", 0.3),
        ("7 / 2", 3.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("2 * NULL", None),
        ("NULL", None),
        ("TRUE", 1),
        ("abs(-3)", 3),
        ("4.5::INT", 5),
        ("'3'", 3),
        ("DATE '2026-01-31'", date(2026, 1, 31)),
        ("CAST('2026-01-31' AS DATE)", date(2026, 1, 31)),
        ("'2026-01-31'::DATE", date(2026, 1, 31)),
        ("TIMESTAMP '2026-01-31 12:30:00'", datetime(2026, 1, 31, 12, 30)),
        ("CAST(DATE '2026-01-31' AS TIMESTAMP)", datetime(2026, 1, 31)),
        ("CAST(3.0 AS INTEGER)", 3),
        ("CAST(3 AS DOUBLE)", 3.0),
        ("CAST('x' AS VARCHAR)", "x"),
        ("CAST(NULL AS DATE)", None),
        ("99999999999999999999999", 99999999999999999999999),
    ],
)
def test_constants_are_folded_exactly(text: str, value: Any) -> None:
    predicate = base_of(f"SELECT COUNT(*) FROM app WHERE age = {text}").predicate
    found = predicate.literal  # type: ignore[union-attr]
    assert found == value
    assert type(found) is type(value)
