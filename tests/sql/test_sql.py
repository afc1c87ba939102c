"""Names and literals: DuckDB reads back what was written."""

from __future__ import annotations

import math
from datetime import date, datetime

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpsql.errors import QueryError
from ldpsql.sql.quoting import literal, quote

_TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    _TEXT,
    st.dates(),
    st.datetimes(),
)


@given(_VALUES, _TEXT.filter(bool))
def test_duckdb_reads_back_what_was_written(value: object, name: str) -> None:
    cast = "::DOUBLE" if isinstance(value, float) else ""
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT {literal(value)}{cast} AS {quote(name)}")  # type: ignore[arg-type]
        assert found.description[0][0] == name
        assert found.fetchall() == [(value,)]


@pytest.mark.parametrize("value", [math.nan, math.inf, "a\0b"])
def test_what_has_no_literal_is_refused(value: float | str) -> None:
    with pytest.raises(QueryError):
        literal(value)


def test_moments_carry_their_type() -> None:
    assert literal(date(2026, 1, 31)) == "DATE '2026-01-31'"
    assert literal(datetime(2026, 1, 31, 5)) == "TIMESTAMP '2026-01-31 05:00:00'"
