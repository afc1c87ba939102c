from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ldpsql import parquet_pages
from ldpsql.parquet_pages import require_moderate
from ldpsql_device.errors import ReportError


def write(path, rows=5_000, **options):
    """A file of numbers, and of texts that compress well."""
    table = pa.table({"n": np.arange(rows), "t": pa.array([f"{i % 7:0100}" for i in range(rows)])})
    pq.write_table(table, path, **options)
    return table


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("use_dictionary", [True, False])
def test_sizes_are_those_that_pages_have_in_memory(
    tmp_path, monkeypatch, version, compression, use_dictionary
):
    """A column is refused just where all its pages, written out, are larger than the limit."""
    path = tmp_path / "r.parquet"
    options = {"data_page_version": version, "compression": compression, "data_page_size": 5_000}
    write(path, use_dictionary=use_dictionary, row_group_size=2_000, **options)
    said = pq.ParquetFile(path).metadata
    groups = [said.row_group(g) for g in range(said.num_row_groups)]
    # What pyarrow says of a column counts the headers of its pages too, which are read but small.
    largest = max(g.column(c).total_uncompressed_size for g in groups for c in range(2))
    monkeypatch.setattr(parquet_pages, "LARGEST", largest)
    require_moderate(path, "r")
    monkeypatch.setattr(parquet_pages, "LARGEST", int(largest * 0.8))
    with pytest.raises(ReportError, match=r"r: a column of row group \d takes more than"):
        require_moderate(path, "r")


@pytest.mark.parametrize("use_dictionary", [True, False])
def test_a_file_without_rows_is_moderate(tmp_path, use_dictionary):
    """Its columns may have a dictionary alone, and say that their data lie at 0."""
    path = tmp_path / "r.parquet"
    write(path, rows=0, use_dictionary=use_dictionary)
    require_moderate(path, "r")


def test_values_without_a_page_are_damaged(tmp_path, monkeypatch):
    path = tmp_path / "r.parquet"
    write(path)
    real = parquet_pages._read_footer

    def misplace(file, size):
        told = real(file, size)
        told[4][0][1][0][3][9] = 0
        return told

    monkeypatch.setattr(parquet_pages, "_read_footer", misplace)
    with pytest.raises(ReportError, match="r is damaged"):
        require_moderate(path, "r")


def test_metadata_that_understate_a_column_hide_nothing(tmp_path, monkeypatch):
    """The pages are looked at; the sizes in the footer, which nobody checks, are not."""
    path = tmp_path / "r.parquet"
    write(path, use_dictionary=False, compression="zstd")
    real = parquet_pages._read_footer

    def understate(file, size):
        told = real(file, size)
        for group in told[4]:
            for column in group[1]:
                column[3][6] = 1
        return told

    monkeypatch.setattr(parquet_pages, "_read_footer", understate)
    monkeypatch.setattr(parquet_pages, "LARGEST", 100_000)
    with pytest.raises(ReportError, match="takes more than 100,000 bytes"):
        require_moderate(path, "r")


def test_more_rows_than_a_file_has_room_for_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "r.parquet"
    pq.write_table(pa.table({"n": pa.array([0]).take(pa.array([0] * 2_000_000))}), path)
    with pytest.raises(ReportError, match="r has 2,000,000 rows, more than a file of its size can"):
        require_moderate(path, "r")


def test_many_pages_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "r.parquet"
    options = {"data_page_size": 100, "write_batch_size": 10, "use_dictionary": False}
    write(path, **options)
    require_moderate(path, "r")
    monkeypatch.setattr(parquet_pages, "_MOST_PAGES", 100)
    with pytest.raises(ReportError, match="has more than 100 pages; write larger ones"):
        require_moderate(path, "r")


@pytest.mark.parametrize(
    "content", [b"", b"PAR1", b"PAR1\0\0\0\0PAR1", b"PAR1\xff\xff\xff\xffPAR1"]
)
def test_what_is_no_parquet_file_is_refused(tmp_path, content):
    path = tmp_path / "r.parquet"
    path.write_bytes(content)
    with pytest.raises(ReportError, match="r is damaged: no Parquet file has such metadata"):
        require_moderate(path, "r")


def test_a_damaged_file_is_refused_or_moderate(tmp_path):
    """Whatever bytes change, and wherever it is cut: no other error, and some are refused."""
    path, own = tmp_path / "r.parquet", random.Random(5)
    write(path, rows=300, row_group_size=100)
    whole, refused = path.read_bytes(), 0
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    for turn in range(1_000):
        content = bytearray(whole)
        for _ in range(own.randint(1, 4)):
            content[own.randrange(footer if turn % 2 else 0, len(content))] = own.randrange(256)
        cut = own.randrange(len(content)) if turn % 5 == 0 else len(content)
        path.write_bytes(content[:cut])
        try:
            require_moderate(path, "r")
        except ReportError as error:
            refused += 1
            assert str(error).startswith("r")
    assert refused > 300
