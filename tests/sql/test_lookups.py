"""Look-up tables from files and data: types, names and limits."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ldpsql.sql import lookups
from ldpsql.sql.lookups import PublicTable
from ldpsql_device.errors import DataError


def read(folder: Path, text: str, name: str = "regions.csv") -> pa.Table:
    (folder / name).write_text(text, encoding="utf-8")
    return PublicTable.read(folder / name).rows


def test_columns_of_a_csv_file_are_what_all_of_their_fields_are(tmp_path: Path) -> None:
    rows = read(
        tmp_path,
        'Zip,n,x,day,at,is_on,note\n0042,1,1.5,2026-01-31,2026-01-31 08:30,true,"a, b"\n'
        "10001,,2,2026-02-01,2026-02-01T00:00:00.5,FALSE,\n",
    )
    assert rows.to_pylist() == [
        {
            "zip": "0042",
            "n": 1,
            "x": 1.5,
            "day": date(2026, 1, 31),
            "at": datetime(2026, 1, 31, 8, 30),
            "is_on": True,
            "note": "a, b",
        },
        {
            "zip": "10001",
            "n": None,
            "x": 2.0,
            "day": date(2026, 2, 1),
            "at": datetime(2026, 2, 1, 0, 0, 0, 500_000),
            "is_on": False,
            "note": None,
        },
    ]


def test_what_only_looks_like_a_date_or_a_number_stays_a_text(tmp_path: Path) -> None:
    rows = read(tmp_path, "a,b,c\n2026-02-30,9999999999999999999999,1\n2026-01-01,1,x\n")
    assert rows.column("a").to_pylist() == ["2026-02-30", "2026-01-01"]
    assert rows.column("b").to_pylist() == [1e22, 1.0]
    assert rows.column("c").to_pylist() == ["1", "x"]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.csv", "x,x\n1,2\n", "two columns x"),
        ("a.csv", "x,X\n1,2\n", "two columns x"),
        ("a.csv", "x y\n1\n", "is not a column name"),
        ("a.csv", "ldpsql_x\n1\n", "is not a column name"),
        ("a.csv", "", "damaged"),
        ("a.csv", "x,y\n1\n", "damaged"),
        ("a b.csv", "x\n1\n", "is not a table name"),
        ("A.csv", "x\n1\n", "--name gives another"),
        ("ldpsql_a.csv", "x\n1\n", "is not a table name"),
        ("a.json", "{}", "neither .csv nor .parquet"),
        ("a.parquet", "PAR1", "damaged"),
    ],
)
def test_files_that_are_no_tables_are_refused(
    tmp_path: Path, name: str, text: str, reason: str
) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, text, name)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file"):
        PublicTable.read(tmp_path / "a.csv")


def test_a_parquet_file_and_a_name(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": pa.array([1], pa.uint8())}), tmp_path / "A b.parquet")
    table = PublicTable.read(tmp_path / "A b.parquet", "other")
    assert (table.name, table.rows.schema.field("x").type) == ("other", pa.int64())


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array(["a", "b"]).dictionary_encode(), ["a", "b"]),
        (pa.array([Decimal("1.5")]), [1.5]),
        (pa.array([1], pa.int8()), [1]),
        (pa.array([1.5], pa.float32()), [1.5]),
        (pa.array([None]), [None]),
        (pa.array([0], pa.date64()), [date(1970, 1, 1)]),
        (pa.array([0], pa.timestamp("ns")), [datetime(1970, 1, 1)]),
        (["x"], ["x"]),
    ],
)
def test_columns_of_data_become_plain_ones(column: object, expected: list[object]) -> None:
    assert PublicTable.of("t", {"c": column}).rows.column("c").to_pylist() == expected


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"c": pa.array([[1]])}, "is of type list"),
        ({"c": pa.array([b"x"])}, "is of type binary"),
        ({"c": pa.array([0], pa.timestamp("us", "UTC"))}, "time zone"),
        ({"c": pa.array([2**63], pa.uint64())}, "holds values that are not int64"),
        ({}, "no columns"),
        ({"c": [1], "d": [1, 2]}, "not a table of plain columns"),
        ("text", "not a table of plain columns"),
        (None, "not a table of plain columns"),
    ],
)
def test_data_without_plain_columns_is_refused(data: object, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        PublicTable.of("t", data)


def test_tables_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookups, "MAX_ROWS", 2)
    monkeypatch.setattr(lookups, "MAX_BYTES", 40)
    PublicTable.of("t", {"c": [1, 2]})
    with pytest.raises(DataError, match="3 rows, the limit is 2"):
        PublicTable.of("t", {"c": [1, 2, 3]})
    with pytest.raises(DataError, match="bytes, the limit is 40"):
        PublicTable.of("t", {"c": ["x" * 99, "y"]})
    with pytest.raises(DataError, match="more than 40 bytes"):
        read(tmp_path, "c\n" + "1\n" * 40)


def test_the_digest_tells_rows_apart() -> None:
    one, same, other = (PublicTable.of("t", {"c": [n, 2]}) for n in (1, 1, 3))
    assert one == same
    assert one != other


def test_scalars_of_numpy_are_what_they_mean_or_refused():
    """Arrow ended the process on lists of several types of them."""
    moment = np.datetime64("2026-01-01T00:00:00.123456789")
    columns = {
        "a": [moment, None],
        "b": [np.int8(5), np.float32(0.5)],
        "c": [np.str_("x"), np.datetime64("NaT")],
        "d": (np.datetime64("2026-01-01"), np.datetime64("NaT")),
    }
    rows = PublicTable.of("t", columns).rows.to_pylist()
    assert rows == [
        {"a": datetime(2026, 1, 1, 0, 0, 0, 123456), "b": 5.0, "c": "x", "d": date(2026, 1, 1)},
        {"a": None, "b": 0.5, "c": None, "d": None},
    ]
    for first in (np.timedelta64(1, "ns"), np.datetime64(10**15, "Y"), np.datetime64("NaT")):
        mixed = [first, np.uint64(2**64 - 1)]
        for values in (mixed, [mixed, 1.0], [{"b": first}], iter(mixed), pd.Series([mixed, 1.0])):
            for data in ({"a": values}, pd.DataFrame({"a": pd.Series(mixed, dtype=object)})):
                with pytest.raises(DataError, match="not a table of plain columns"):
                    PublicTable.of("t", data)
    for first in (np.datetime64("2026-01-01"), np.int8(5)):
        mixed = [first, np.int8(1), np.datetime64("2026-01-02"), np.str_("x")]
        index, records = pd.Index(mixed, dtype=object), np.empty(4, dtype=[("b", object)])
        records["b"] = mixed
        within = (
            pd.Categorical.from_codes([0, 1, 2, 3], index),
            pd.Series(pd.Categorical.from_codes([0, 1, 2, 3], index)),
            pl.Series(mixed, dtype=pl.Object),
            records,
        )
        for values in within:
            with pytest.raises(DataError, match=r"not a table of plain columns|is of type fixed"):
                PublicTable.of("t", {"a": values})


def test_values_of_several_kinds_are_not_taken_for_each_other():
    """Of a day and a number Arrow makes two days, and of a day and a moment, too."""
    for values in ([date(2026, 1, 1), 1], [date(2026, 1, 1), datetime(2026, 1, 1, 5)], [True, 1]):
        with pytest.raises(DataError, match="not a table of plain columns"):
            PublicTable.of("t", {"a": values})
    numbers = {"a": [1, Decimal("2.25"), None], "b": [1, 0.5, None]}
    assert PublicTable.of("t", numbers).rows.to_pydict() == {
        "a": [1.0, 2.25, None],
        "b": [1.0, 0.5, None],
    }


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pd.Series(["x", np.nan, pd.NA, None], dtype=object), ["x", None, None, None]),
        (pd.Series(["x", None]), ["x", None]),
        (pd.array([1, None], dtype="Int64"), [1, None]),
        (pd.Categorical(["x", None, "y"]), ["x", None, "y"]),
        (pl.Series([1, None]), [1, None]),
        (np.ma.masked_array([1, 2], [True, False]), [None, 2]),
    ],
)
def test_columns_of_other_libraries_keep_their_values(values, expected):
    assert PublicTable.of("t", {"a": values}).rows["a"].to_pylist() == expected
    frame = (
        pd.DataFrame({"a": values}) if not isinstance(values, pl.Series) else values.to_frame("a")
    )
    assert PublicTable.of("t", frame).rows["a"].is_null().to_pylist() == [
        each is None for each in expected
    ]


def test_an_arrow_table_that_leads_out_of_itself_is_refused():
    """Such ones end the process that reads them."""
    places = [0, 1 << 30, 5], [0, 5]
    far, near = (pa.py_buffer(np.array(each, dtype="i4").tobytes()) for each in places)
    texts, bytes_of_none = map(pa.py_buffer, (b"abcde", b"abcd\xff"))
    arrays = [
        pa.DictionaryArray.from_arrays(pa.array([1 << 30]), pa.array(["x"]), safe=False),
        pa.Array.from_buffers(pa.string(), 2, [None, far, texts]),
        pa.Array.from_buffers(pa.string(), 1, [None, near, bytes_of_none]),
    ]
    for array in arrays:
        for data in ({"a": array}, pa.table({"a": array})):
            with pytest.raises(DataError, match="not a table of plain columns"):
                PublicTable.of("t", data)
