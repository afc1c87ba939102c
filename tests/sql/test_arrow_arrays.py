"""Arrow's arrays are those that `pyarrow.array` makes, and no pandas is imported for them."""

from __future__ import annotations

import subprocess
import sys
from datetime import date, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from support.command_line import store_reports

from ldpsql.sql.arrow_arrays import gather, make_array, read_numbers

COLUMNS = [
    ([1, None, -(2**63)], pa.int64()),
    ([1.5, None, float("nan"), -0.0], pa.float64()),
    (["", None, "Zoë", "x" * 100], pa.string()),
    ([True, None, False] * 5, pa.bool_()),
    ([date(1, 1, 1), None, date(9999, 12, 31)], pa.date32()),
    ([datetime(2026, 1, 31, 12, 0, 0, 1), None, datetime(1, 1, 1)], pa.timestamp("us")),
    (range(3), pa.int64()),
    ([], pa.string()),
    ([None], pa.date32()),
]


@pytest.mark.parametrize(("values", "kind"), COLUMNS, ids=lambda case: str(case)[:20])
def test_arrays_are_those_that_arrow_makes(values, kind) -> None:
    found = make_array(values, kind)
    found.validate(full=True)
    assert found.equals(pa.array(values, kind, from_pandas=True))


def test_numbers_of_numpy_have_nan_for_null() -> None:
    found = make_array(np.array([2.0, np.nan]), pa.float64())
    assert found.to_pylist() == [2.0, None]
    assert make_array(np.array([2.0, 3.0]), pa.int64()).to_pylist() == [2, 3]


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us")])
def test_a_text_is_no_moment(kind) -> None:
    with pytest.raises(TypeError, match="not all values are of the type date"):
        make_array([None, "2026-01-31"], kind)


@pytest.mark.parametrize("values", [[1, 2, 3], [1, None, 3], [0.5, None], [None, 7] * 9], ids=str)
def test_numbers_are_read_as_arrow_gives_them(values) -> None:
    whole = pa.array(values)
    for column in (whole, whole.slice(1), whole.slice(1, 0)):
        expected = column.to_numpy(zero_copy_only=False)
        np.testing.assert_array_equal(read_numbers(column), expected)
        assert read_numbers(column).dtype == expected.dtype
        np.testing.assert_array_equal(read_numbers(pa.chunked_array([column])), expected)


def test_a_question_of_a_python_connection_imports_no_pandas(tmp_path: Path) -> None:
    """Nor does what shows its answer load what draws."""
    path = tmp_path / "app.duckdb"
    store_reports(path, 500)
    asked = [
        "SELECT COUNT(*) FROM app WHERE state <> 'CA'",
        "SELECT state, COUNT(*) AS n FROM app GROUP BY state ORDER BY n DESC LIMIT 2",
    ]
    code = (
        "import sys, ldpsql\n"
        "connection = ldpsql.connect(sys.argv[1])\n"
        "for sql in sys.argv[2:]:\n"
        "    assert connection.execute(sql).fetchall() and repr(connection.sql(sql))\n"
        "    print('pandas' in sys.modules)\n"
        "print(bool({'matplotlib', 'IPython', 'sqlalchemy'} & set(sys.modules)))\n"
        "connection.sql(sql).df()\n"
        "print('pandas' in sys.modules)\n"
    )
    command = [sys.executable, "-c", code, str(path), *asked]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "False", "True"]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [([], []), ([0, 0], []), ([3, 0, 2, 7, 1], [5, 7, 1]), ([4, 4], [4, 4]), ([5, 0], [5])],
)
def test_batches_are_gathered_into_tables_of_at_least_so_many_rows(sizes, expected) -> None:
    ends = np.cumsum([0, *sizes])
    batches = [pa.record_batch({"n": np.arange(*pair)}) for pair in pairwise(ends)]
    tables = [*gather(iter(batches), 4)]
    assert [table.num_rows for table in tables] == expected
    rows = [row for table in tables for row in table.column("n").to_pylist()]
    assert rows == list(range(sum(sizes)))
