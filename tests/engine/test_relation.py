"""What stands in the columns of a relation of estimates."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest

from ldpsql.engine.relation import _array
from ldpsql.errors import QueryError


def test_keys_that_python_has_no_date_for_are_refused() -> None:
    """DuckDB gives them as texts."""
    assert _array([date(2026, 1, 1), None], pa.date32()).null_count == 1
    with pytest.raises(QueryError, match="before the year 1, or after 9999"):
        _array([date(2026, 1, 1), "4027-02-28 (BC)"], pa.date32())
