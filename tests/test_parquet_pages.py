from __future__ import annotations

import copy
import random
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import thrift

from ldpsql import parquet_pages
from ldpsql.parquet_pages import read_footer, require_moderate
from ldpsql_device.arrow import ID_COLUMN
from ldpsql_device.errors import ReportError

DAMAGED = "r cannot be read: it is damaged"
INT32, INT64, TEXT, LIST, STRUCT = 5, 6, 8, 9, 12


@pytest.fixture
def path(tmp_path):
    return tmp_path / "r.parquet"


def write(path, rows=5_000, **options):
    """A file of numbers, and of texts that compress well."""
    table = pa.table({"n": np.arange(rows), "t": pa.array([f"{i % 7:0100}" for i in range(rows)])})
    pq.write_table(table, path, **options)
    return table


def judge(path):
    return require_moderate(path, "r", read_footer(path, "r"))


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("use_dictionary", [True, False])
def test_sizes_are_those_that_pages_have_in_memory(
    path, monkeypatch, version, compression, use_dictionary
):
    """A row group is refused just where all its pages, written out, are larger than the limit."""
    options = {"data_page_version": version, "compression": compression, "data_page_size": 5_000}
    write(path, use_dictionary=use_dictionary, row_group_size=2_000, **options)
    with pq.ParquetFile(path) as file:
        groups = [file.metadata.row_group(g) for g in range(file.metadata.num_row_groups)]
    # What pyarrow says of a group counts the headers of its pages too, which are read but small.
    largest = max(group.total_byte_size for group in groups)
    monkeypatch.setattr(parquet_pages, "LARGEST", largest)
    judge(path)
    monkeypatch.setattr(parquet_pages, "LARGEST", int(largest * 0.8))
    with pytest.raises(ReportError, match=r"r: row group \d takes more than"):
        judge(path)


def test_all_groups_together_have_a_limit(path, monkeypatch):
    write(path, row_group_size=500, compression="zstd")
    monkeypatch.setattr(parquet_pages, "LARGEST", 20_000)
    monkeypatch.setattr(parquet_pages, "_BYTES_PER_BYTE", 0)
    with pytest.raises(ReportError, match="r takes more than 20,000 bytes; write less at once"):
        judge(path)


@pytest.mark.parametrize("use_dictionary", [True, False])
def test_a_file_without_rows_is_moderate(path, use_dictionary):
    """Its columns may have a dictionary alone, and say that their data lie at 0."""
    write(path, rows=0, use_dictionary=use_dictionary)
    judge(path)


def test_metadata_that_understate_a_column_hide_nothing(path, monkeypatch):
    """The pages are looked at; the sizes in the footer, which nobody checks, are not."""
    write(path, use_dictionary=False, compression="zstd")
    body, metadata = thrift.split(path)
    for column in thrift.columns(metadata):
        thrift.put(column, 6, 1)
    thrift.join(path, body, metadata)
    monkeypatch.setattr(parquet_pages, "LARGEST", 100_000)
    with pytest.raises(ReportError, match="takes more than 100,000 bytes"):
        judge(path)


def test_more_rows_than_a_file_has_room_for_are_refused(path):
    pq.write_table(pa.table({"n": pa.array([0]).take(pa.array([0] * 2_000_000))}), path)
    with pytest.raises(ReportError, match="r has 2,000,000 rows, more than a file of its size can"):
        judge(path)


def test_rows_with_ids_have_more_room(path):
    """16 bytes each, where some bits do without ids."""
    rows = 1_100_000
    table = pa.table({ID_COLUMN: pa.nulls(rows), "n": np.arange(rows) % 251})
    pq.write_table(table, path)
    assert 32 * path.stat().st_size > rows
    with pytest.raises(ReportError, match="r has 1,100,000 rows"):
        judge(path)
    pq.write_table(table.drop_columns([ID_COLUMN]), path)
    judge(path)


def test_many_pages_are_refused(path, monkeypatch):
    options = {"data_page_size": 100, "write_batch_size": 10, "use_dictionary": False}
    write(path, **options)
    judge(path)
    monkeypatch.setattr(parquet_pages, "_FREE_PAGES", 100)
    monkeypatch.setattr(parquet_pages, "_BYTES_PER_PAGE", 1 << 30)
    with pytest.raises(ReportError, match="has more than 100 pages; write larger ones"):
        judge(path)


def test_long_metadata_and_many_columns_are_refused(path, monkeypatch):
    """pyarrow makes a kilobyte of every column that they tell of."""
    write(path)
    monkeypatch.setattr(parquet_pages, "_MOST_COLUMNS", 1)
    with pytest.raises(ReportError, match="r has more than 1 columns"):
        judge(path)
    monkeypatch.setattr(parquet_pages, "_LONGEST_FOOTER", 100)
    with pytest.raises(ReportError, match="r has more than 100 bytes of metadata"):
        judge(path)


def test_columns_that_have_dictionaries_are_named(path):
    both = pa.table({"few": ["a", "b"] * 3_000, "many": [f"{i:09}" for i in range(6_000)]})
    pq.write_table(both, path, use_dictionary=["few"], row_group_size=4_000)
    assert judge(path) == [{"few"}, {"few"}]


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_texts_that_share_beginnings_are_refused(path, version):
    """A page of kilobytes holds gigabytes of them."""
    options = {"use_dictionary": False, "data_page_version": version}
    write(path, column_encoding={"t": "DELTA_BYTE_ARRAY"}, **options)
    with pytest.raises(ReportError, match="r has texts in the encoding DELTA_BYTE_ARRAY"):
        judge(path)
    pq.write_table(
        pa.table({ID_COLUMN: pa.array([b"0" * 16] * 10, pa.binary(16))}),
        path,
        column_encoding={ID_COLUMN: "DELTA_BYTE_ARRAY"},
        **options,
    )
    judge(path)


# -- what readers would take otherwise -------------------------------------------------------------


def wrap_a_field(metadata):
    """Readers keep 16 bits of its number."""
    thrift.columns(metadata)[1][-1][0] += 1 << 16


def repeat_a_column(metadata):
    """Readers have the later one, with what only the first one says."""
    chunk = thrift.field(metadata, 4)[1][0]
    own = thrift.field(chunk, 1)[1][0]
    own.append(copy.deepcopy(own[-1]))


def misplace_the_data(metadata):
    thrift.put(thrift.columns(metadata)[0], 9, 0)


def say_other_rows_of_a_group(metadata):
    """By which readers go."""
    thrift.put(thrift.field(metadata, 4)[1][0], 3, 1 << 40)


def say_other_rows_of_a_column(metadata):
    thrift.put(thrift.columns(metadata)[0], 5, 1 << 40)


def say_fewer_values_of_a_column(metadata):
    for part in (metadata, thrift.field(metadata, 4)[1][0]):
        thrift.put(part, 3, 4_000)
    for column in thrift.columns(metadata):
        thrift.put(column, 5, 4_000)


def give_a_number_another_type(metadata):
    """Which readers pass over."""
    column = thrift.columns(metadata)[1]
    thrift.put(column, 11, thrift.field(column, 11), INT32)


def exceed_64_bits(metadata):
    column = thrift.columns(metadata)[1]
    thrift.put(column, 11, thrift.field(column, 11) + (1 << 63))


def give_a_list_other_elements(metadata):
    """Readers read the elements that the list should have."""
    thrift.put(metadata, 5, (TEXT, [b"\0"]))


def lose_a_column(metadata):
    thrift.field(thrift.field(metadata, 4)[1][0], 1)[1].pop()


def share_pages(metadata):
    kind, groups = thrift.field(metadata, 4)
    rows = thrift.field(metadata, 3)
    thrift.put(metadata, 4, (kind, groups * 2))
    thrift.put(metadata, 3, rows * 2)


def have_a_type_of_none(metadata):
    thrift.put(metadata, 4, [], STRUCT)


@pytest.mark.parametrize(
    "change",
    [
        *(wrap_a_field, repeat_a_column, misplace_the_data, say_other_rows_of_a_group),
        *(say_other_rows_of_a_column, say_fewer_values_of_a_column, give_a_number_another_type),
        *(exceed_64_bits, give_a_list_other_elements, lose_a_column, share_pages),
        have_a_type_of_none,
    ],
    ids=lambda change: change.__name__,
)
def test_damage_is_refused(path, change):
    write(path)
    body, metadata = thrift.split(path)
    thrift.join(path, body, metadata)
    judge(path)
    change(metadata)
    thrift.join(path, body, metadata)
    with pytest.raises(ReportError, match=DAMAGED):
        judge(path)


def nest(depth):
    """Lists in lists, as a field that readers pass over."""
    return b"\x09\xc8\x01" + b"\x19" * depth + b"\x13\0\0"


def test_deep_metadata_are_refused(path):
    write(path)
    body, metadata = thrift.split(path)
    thrift.join(path, body, thrift.write(metadata)[:-1] + nest(5))
    judge(path)
    thrift.join(path, body, thrift.write(metadata)[:-1] + nest(5_000))
    with pytest.raises(ReportError, match=DAMAGED):
        judge(path)


def insert_page(path, header, content=b""):
    """Put a page before those of the column of texts."""
    write(path, use_dictionary=False)
    body, metadata = thrift.split(path)
    column = thrift.columns(metadata)[1]
    start, size = thrift.field(column, 9), thrift.field(column, 7)
    page = (header if isinstance(header, bytes) else thrift.write(header)) + content
    thrift.put(column, 9, len(body))
    thrift.put(column, 7, len(page) + size)
    thrift.join(path, body + page + body[start : start + size] + b" " * size, metadata)


def test_headers_of_pages_are_read_as_readers_do(path):
    """A page of a type that readers pass over may be there."""
    plain = [[1, INT32, 77], [2, INT32, 0], [3, INT32, 4]]
    insert_page(path, plain, b"abcd")
    judge(path)
    with pq.ParquetFile(path) as file:
        assert file.read().num_rows == 5_000
    # Readers keep 32 bits of a size, and find the pages that follow.
    insert_page(path, [*plain[:2], [3, INT32, 4 + (1 << 32)]], b"abcd")
    with pytest.raises(ReportError, match=DAMAGED):
        judge(path)
    insert_page(path, thrift.write(plain)[:-1] + nest(5_000), b"abcd")
    with pytest.raises(ReportError, match=DAMAGED):
        judge(path)
    insert_page(path, [*plain[:2], [3, INT32, -4]], b"abcd")
    with pytest.raises(ReportError, match=DAMAGED):
        judge(path)


def test_the_reader_of_metadata_and_the_writer_of_tests_agree(path):
    """Every value that is asked for, of a file of many groups."""
    write(path, row_group_size=100)
    footer = read_footer(path, "r")
    _, metadata = thrift.split(path)
    assert [rows for rows, _ in footer.groups] == [100] * 50
    for number, (_, own) in enumerate(footer.groups):
        for column, told in zip(thrift.columns(metadata, number), own, strict=True):
            for place in (5, 7, 9, 11):
                assert told[place] == thrift.field(column, place)
    places = [own[0][9] for _, own in footer.groups]
    assert all(one < other for one, other in pairwise(places))


@pytest.mark.parametrize(
    "content", [b"", b"PAR1", b"PAR1\0\0\0\0PAR1", b"PAR1\xff\xff\xff\xffPAR1", b"PARE" * 9]
)
def test_what_is_no_parquet_file_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(ReportError, match=DAMAGED):
        judge(path)


def test_a_damaged_file_is_refused_or_moderate(path):
    """Whatever bytes change, and wherever it is cut: no other error, and some are refused."""
    own = random.Random(5)
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
            judge(path)
        except ReportError as error:
            refused += 1
            assert str(error).startswith("r")
    assert refused > 300
