"""Files of strangers are read, or refused with one error, by a process that has limits."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Timer

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import thrift

from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql.store.parquet import EXCEEDED, TOO_LARGE, reader
from ldpsql.store.parquet.reader import open_parquet
from ldpsql_device.errors import ReportError

DAMAGED = "r cannot be read: it is damaged"
EXCESSIVE = "r takes more than"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "r.parquet"


@pytest.fixture
def fresh():
    """Processes of this test are not those of others."""
    reader._end_idle()
    yield
    reader._end_idle()


def write(path, rows=5_000, **options):
    """A file of numbers, and of texts that compress well."""
    table = pa.table({"n": np.arange(rows), "t": pa.array([f"{i % 7:0100}" for i in range(rows)])})
    pq.write_table(table, path, **options)
    return table


def write_bomb(path):
    """Kilobytes that hold 8 gigabytes, in one piece."""
    texts = pa.DictionaryArray.from_arrays(np.zeros(1 << 17, np.int32), ["x" * (1 << 16)])
    pq.write_table(pa.table({"t": texts}), path)
    assert path.stat().st_size < 100_000


def read(path):
    content = open_parquet(path, "r")
    return pa.Table.from_batches(content.read(content.schema.names), content.schema)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("use_dictionary", [True, False])
def test_all_rows_are_read(path, version, compression, use_dictionary):
    options = {"data_page_version": version, "compression": compression, "data_page_size": 5_000}
    table = write(path, use_dictionary=use_dictionary, row_group_size=2_000, **options)
    assert read(path) == table


def test_rows_that_share_a_value_have_it_each(path):
    table = write(path)
    place = table.schema.get_field_index("t")
    pq.write_table(table.set_column(place, "t", table["t"].dictionary_encode()), path)
    assert read(path) == table


def test_some_columns_are_read_in_pieces(path):
    write(path, rows=300_000)
    batches = list(open_parquet(path, "r").read(["n"]))
    assert [batch.num_rows for batch in batches] == [131_072, 131_072, 37_856]
    assert batches[0].schema.names == ["n"]


def test_a_file_without_rows_is_read(path):
    table = write(path, rows=0)
    assert read(path) == table


def test_one_process_reads_one_file_after_the_other(path, fresh):
    write(path)
    read(path)
    [process] = reader._IDLE
    read(path)
    path.write_bytes(b"PAR1")
    with pytest.raises(ReportError, match=DAMAGED):
        read(path)
    assert [process] == reader._IDLE


def test_threads_read_at_once_and_one_process_is_left(path, fresh):
    table = write(path)
    with ThreadPoolExecutor(4) as pool:
        assert all(found == table for found in pool.map(read, [path] * 12))
    assert len(reader._IDLE) == 1


def test_who_stops_reading_leaves_nothing_to_others(path, fresh):
    table = write(path, rows=300_000)
    next(open_parquet(path, "r").read(["n"]))
    assert reader._IDLE == []
    assert read(path) == table


# -- limits ----------------------------------------------------------------------------------------


def test_a_bomb_is_refused_and_the_next_file_is_read(path):
    write_bomb(path)
    with pytest.raises(ReportError, match=f"{EXCESSIVE} 1,073,741,824 bytes"):
        read(path)
    table = write(path)
    assert read(path) == table


@pytest.mark.parametrize("size", [1 << 20, 1 << 30])
def test_a_page_that_is_too_large_is_refused(path, fresh, monkeypatch, size):
    """The same values are taken in smaller ones."""
    monkeypatch.setattr(reader, "MEMORY", 1 << 27)
    texts = pa.array([f"{i % 7:0130}" for i in range(1 << 20)])
    options = {"compression": "zstd", "use_dictionary": False, "data_page_size": size}
    options["max_rows_per_page"] = 1 << 20
    pq.write_table(pa.table({"t": texts}), path, **options)
    if size < reader.MEMORY:
        assert read(path).num_rows == 1 << 20
    else:
        with pytest.raises(ReportError, match=EXCESSIVE):
            read(path)


def test_texts_that_share_beginnings_are_limited(path, fresh, monkeypatch):
    """A page of kilobytes holds gigabytes of them."""
    monkeypatch.setattr(reader, "MEMORY", 1 << 26)
    write(path, rows=5_000, column_encoding={"t": "DELTA_BYTE_ARRAY"}, use_dictionary=False)
    read(path)
    texts = pa.array(["x" * 1_000]).take(pa.array(np.zeros(1 << 17, np.int64)))
    options = {"column_encoding": "DELTA_BYTE_ARRAY", "use_dictionary": False}
    pq.write_table(pa.table({"t": texts}), path, **options)
    with pytest.raises(ReportError, match=EXCESSIVE):
        read(path)


def test_this_process_does_not_grow_with_a_bomb(path):
    write_bomb(path)
    script = """
import resource, sys
from pathlib import Path
from ldpsql.store.parquet.reader import open_parquet
from ldpsql_device.errors import ReportError
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    list(open_parquet(Path(sys.argv[1]), "r").read(["t"]))
except ReportError:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    asked = [sys.executable, "-c", script, str(path)]
    grew = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    assert int(grew) < 20_000


def test_a_file_that_takes_long_is_refused(path, fresh, monkeypatch):
    write(path, rows=300_000)
    content = open_parquet(path, "r")
    monkeypatch.setattr(reader, "SECONDS", 0.0)
    monkeypatch.setattr(reader, "SECONDS_PER_BYTE", 0.0)
    with pytest.raises(ReportError, match=f"{EXCESSIVE} .* or 0 s of the processor"):
        list(content.read(["t"]))


LIMITED = """
import sys
from ldpsql.store.parquet import child
child.{name} = {value}
child.main(1 << 28)
"""


def ask(path, name, value, seconds=60.0):
    """How a process that lacks something ends, and the last line of its answer."""
    command = [sys.executable, "-c", LIMITED.format(name=name, value=value)]
    wanted = {"path": str(path), "columns": ["t"], "rows": reader.ROWS}
    request = json.dumps({"read": wanted, "seconds": seconds})
    done = subprocess.run(command, input=request.encode() + b"\n", capture_output=True, check=False)
    return done.returncode, done.stdout.splitlines()[-1:]


def test_a_bomb_is_noticed_where_the_system_sets_no_limits(path):
    """As on Windows, and of memory on macOS: a thread ends the process."""
    write_bomb(path)
    assert ask(path, "resource", None) == (EXCEEDED, [])


def test_a_bomb_is_noticed_where_no_thread_watches(path):
    pytest.importorskip("resource")
    write_bomb(path)
    assert ask(path, "_watch", "print") == (0, [b'{"end": "%s"}' % TOO_LARGE.encode()])


def test_time_is_limited_where_no_thread_watches(path):
    pytest.importorskip("resource")
    write(path)
    endless = "lambda **_: all(iter(lambda: 1, 0))"
    code, _ = ask(path, "_watch, child._answer", f"print, {endless}", seconds=0.0)
    assert code in reader._EXCEEDED


def test_more_rows_than_a_file_has_room_for_are_refused(path):
    pq.write_table(pa.table({"n": pa.array([0]).take(pa.array([0] * 2_000_000))}), path)
    with pytest.raises(ReportError, match="r has 2,000,000 rows, more than a file of its size can"):
        open_parquet(path, "r")


def test_rows_with_ids_have_more_room(path):
    """16 bytes each, where some bits do without ids."""
    rows = 1_100_000
    table = pa.table({ID_COLUMN: pa.nulls(rows), "n": np.arange(rows) % 251})
    pq.write_table(table, path)
    assert 32 * path.stat().st_size > rows
    with pytest.raises(ReportError, match="r has 1,100,000 rows"):
        open_parquet(path, "r")
    pq.write_table(table.drop_columns([ID_COLUMN]), path)
    open_parquet(path, "r")


def test_long_metadata_are_refused(path, monkeypatch):
    write(path)
    monkeypatch.setattr(reader, "_LONGEST_SCHEMA", 100)
    with pytest.raises(ReportError, match="r has more than 100 bytes of metadata"):
        open_parquet(path, "r")


# -- damage, and what is no longer what it was -----------------------------------------------------


def test_a_process_that_ends_is_one_error(path, fresh):
    write(path, rows=300_000)
    batches = open_parquet(path, "r").read(["t"])
    [process] = reader._IDLE
    next(batches)
    process.kill()
    with pytest.raises(ReportError, match="r was not read: the process that decodes it was killed"):
        list(batches)
    assert read(path).num_rows == 300_000


def test_a_process_that_cannot_start_is_one_error(path, fresh, monkeypatch):
    write(path)
    for program in ("/nowhere", sys.executable):
        monkeypatch.setattr(sys, "executable", program)
        monkeypatch.setattr(sys, "path", [])
        monkeypatch.setattr(reader.subprocess, "Popen", broken(reader.subprocess.Popen))
        with pytest.raises(ReportError, match="r cannot be read: no process can be started"):
            read(path)


def broken(start):
    """Starts a program without the modules of this one."""
    return lambda command, **options: start([command[0], "-c", "raise ImportError"], **options)


def test_no_module_of_the_folder_it_works_in_is_loaded(path, fresh, monkeypatch):
    table = write(path)
    (path.parent / "pyarrow.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(path.parent)
    assert read(Path(path.name)) == table


def test_a_file_that_changes_after_its_metadata_were_read_is_refused(path):
    table = write(path)
    for other in (table.slice(1), pa.concat_tables([table, table]), table.cast(OTHER)):
        pq.write_table(table, path)
        content = open_parquet(path, "r")
        pq.write_table(other, path)
        with pytest.raises(ReportError, match=DAMAGED):
            list(content.read(["n", "t"]))


OTHER = pa.schema([("n", pa.string()), ("t", pa.string())])


def test_metadata_that_understate_a_column_hide_nothing(path):
    table = write(path, use_dictionary=False, compression="zstd")
    body, metadata = thrift.split(path)
    for column in thrift.columns(metadata):
        thrift.put(column, 6, 1)
    thrift.join(path, body, metadata)
    assert read(path) == table


@pytest.mark.parametrize("rows", [-1, 4_000, 6_000, 1 << 40])
def test_metadata_that_say_other_rows_are_refused(path, rows):
    write(path)
    body, metadata = thrift.split(path)
    for part in (metadata, thrift.field(metadata, 4)[1][0]):
        thrift.put(part, 3, rows)
    thrift.join(path, body, metadata)
    with pytest.raises(ReportError, match=r"\Ar "):
        read(path)


@pytest.mark.parametrize(
    "content", [b"", b"PAR1", b"PAR1\0\0\0\0PAR1", b"PAR1\xff\xff\xff\xffPAR1", b"PARE" * 9]
)
def test_what_is_no_parquet_file_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(ReportError, match=DAMAGED):
        read(path)


def test_a_damaged_file_is_refused_or_read(path):
    """Whatever bytes change, and wherever it is cut: no other error, and some are refused."""
    own = random.Random(5)
    write(path, rows=300, row_group_size=100)
    whole, refused = path.read_bytes(), 0
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    for turn in range(300):
        content = bytearray(whole)
        for _ in range(own.randint(1, 4)):
            content[own.randrange(footer if turn % 2 else 0, len(content))] = own.randrange(256)
        cut = own.randrange(len(content)) if turn % 5 == 0 else len(content)
        path.write_bytes(content[:cut])
        try:
            read(path)
        except ReportError as error:
            refused += 1
            assert str(error).startswith("r ")
    assert refused > 100


def test_a_process_that_was_killed_does_not_blame_the_file(path, fresh):
    table = write(path)
    read(path)
    [process] = reader._IDLE
    reader._IDLE.clear()
    process.send_signal(signal.SIGSTOP)
    reader._IDLE.append(process)
    Timer(0.3, process.kill).start()
    with pytest.raises(ReportError, match="r was not read: the process that decodes it was killed"):
        read(path)
    assert read(path) == table


def test_a_column_twice_is_refused(path):
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["n", "n"]), path)
    with pytest.raises(ReportError, match="r has a column twice"):
        open_parquet(path, "r")
