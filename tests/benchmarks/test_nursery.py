"""UCI's Nursery as it is generated."""

from __future__ import annotations

import hashlib
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.figures import data, nursery

LINES = "ed63762eabd18af61fdb96fb86439a911d04abceed9be122093033aefdd0581e"
"""SHA-256 of the lines of UCI's file, of the same values, without a line break at the end."""


def hash_of(table: pa.Table) -> str:
    lines = "\n".join(",".join(row.values()) for row in table.to_pylist())
    return hashlib.sha256(lines.encode()).hexdigest()


def test_the_table_is_that_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row in order; another grade of one pair of values makes another table."""
    assert hash_of(nursery.table()) == LINES
    counts = Counter(nursery.table()["class"].to_pylist())
    assert counts == {
        "not_recom": 4320,
        "priority": 4266,
        "spec_prior": 4044,
        "very_recom": 328,
        "recommend": 2,
    }
    monkeypatch.setattr(nursery, "LIVING", ("011", "122", "122"))
    assert hash_of(nursery.table.__wrapped__()) != LINES


def test_the_file_itself_says_so() -> None:
    """Where it is there."""
    folder = data.folder()
    if folder is None or not (folder / "nursery.parquet").exists():
        pytest.skip("needs nursery.parquet in the folder that LDPSQL_DATA names")
    assert hash_of(pq.read_table(folder / "nursery.parquet")) == LINES


def test_no_file_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tables have a stand-in that says so, or are refused."""
    monkeypatch.setattr(data, "folder", lambda: None)
    table, line = data.people("nursery", ["class"])
    assert (table.num_rows, line) == (12_960, "nursery, 12,960 people")
    one = pa.table({"age": [30]})
    assert data.people("adult", ["age"], lambda: one)[1].startswith("generated stand-in for adult")
    with pytest.raises(FileNotFoundError, match=r"adult\.parquet"):
        data.people("adult", ["age"])
