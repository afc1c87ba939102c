"""Files in, files out: CSV as Parquet, in batches, whole or not at all."""

from __future__ import annotations

import os
from collections import Counter
from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from support.surveys import ANYTHING, app, mix, people

from ldpsql.randomize import columns, files
from ldpsql.randomize.files import randomize_file
from ldpsql.randomize.table import Tally, randomize_batch
from ldpsql.reports import permutation
from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql_device.errors import RecordError
from ldpsql_device.schema import Schema
from ldpsql_lab.simulation import SeededEntropy


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(files, "BATCH_ROWS", 100)
    monkeypatch.setattr(files, "BLOCK_BYTES", 4096)


def write(path, table):
    if path.suffix == ".csv":
        pacsv.write_csv(table, path)
    else:
        pq.write_table(table, path)
    return path


@pytest.mark.parametrize("name", ["people.parquet", "people.csv"])
@pytest.mark.parametrize("keep_order", [False, True])
def test_every_person_gets_a_report(tmp_path, name, keep_order):
    table = people(1234)
    source, target = write(tmp_path / name, table), tmp_path / "out.parquet"
    tally = randomize_file(app(), source, target, policy=ANYTHING, keep_order=keep_order)
    reports = pq.read_table(target)
    nulls = {("missing", name): table.column(name).null_count for name in ("state", "version")}
    assert tally == Tally(1234, Counter(nulls))
    public = ["day", "version"]
    found, given = reports.select(public).to_pylist(), table.select(public).to_pylist()
    assert (found == given) is keep_order
    assert sorted(map(str, found)) == sorted(map(str, given))
    assert reports.schema.metadata == {b"ldpsql.fingerprint": app().fingerprint.encode()}
    assert "diary" not in reports.column_names


@pytest.mark.parametrize("capacity", [200, 10_000])
@pytest.mark.parametrize("keep_order", [False, True])
def test_a_report_has_an_id_of_its_own(tmp_path, monkeypatch, capacity, keep_order):
    """In memory, and in more rows than fit there."""
    monkeypatch.setattr(permutation, "CAPACITY", capacity)
    source, target = write(tmp_path / "people.parquet", people(2000)), tmp_path / "out.parquet"
    randomize_file(app(), source, target, policy=ANYTHING, keep_order=keep_order)
    ids = pq.read_table(target)[ID_COLUMN].to_pylist()
    halves = np.frombuffer(b"".join(ids), np.uint64)
    assert len(np.unique(halves)) == 4000


def test_a_file_of_reports_takes_little_room(tmp_path):
    """Ids are random, and written as they are; all else is compressed."""
    source, target = write(tmp_path / "people.parquet", people(2000)), tmp_path / "out.parquet"
    randomize_file(app(), source, target, policy=ANYTHING)
    group = pq.read_metadata(target).row_group(0)
    columns = [group.column(place) for place in range(group.num_columns)]
    assert {c.path_in_schema for c in columns if c.compression != "ZSTD"} == {ID_COLUMN}
    assert {c.path_in_schema for c in columns if not c.has_dictionary_page} == {ID_COLUMN}


@pytest.mark.parametrize("name", ["people.parquet", "people.csv"])
def test_columns_are_found_whatever_their_case(tmp_path, name):
    table = people(50)
    renamed = table.rename_columns([column.upper() for column in table.column_names])
    plain = read_chunks(app(), write(tmp_path / name, table))
    assert read_chunks(app(), write(tmp_path / name, renamed)) == plain
    twice = renamed.append_column("Age", renamed["AGE"])
    with pytest.raises(RecordError, match="more than one column age"):
        read_chunks(app(), write(tmp_path / name, twice))
    cyrillic = table.rename_columns([c.replace("a", "\u0430") for c in table.column_names])
    with pytest.raises(RecordError, match=f"{name} has no column"):
        read_chunks(app(), write(tmp_path / name, cyrillic))


def read_chunks(survey, source):
    chunks, _ = files._reader(survey.schema, source)
    return list(chunks)


def test_csv_and_parquet_give_the_same_reports(tmp_path):
    """Same entropy, same reports, whichever file the people came from."""
    table = people(500)
    encoded = []
    for name in ("people.parquet", "people.csv"):
        chunks = read_chunks(app(), write(tmp_path / name, table))
        assert len(chunks) > 3
        whole = pa.concat_tables(chunks, promote_options="permissive")
        encoded.append(randomize_batch(app(), whole, SeededEntropy(9), policy=ANYTHING)[0])
    assert encoded[0].drop_columns([ID_COLUMN]).equals(encoded[1].drop_columns([ID_COLUMN]))


def test_every_type_is_read_from_csv(tmp_path):
    source = tmp_path / "mix.csv"
    source.write_text(
        "t,d,b,c,f,i,other\n"
        "2026-01-01 23:59:00,2026-01-02,true,5,1.0,7,x\n"
        "2026-01-01T00:00:00,2026-01-01,false,3,0,0,\n"
    )
    assert randomize_file(mix(), source, tmp_path / "out.parquet", policy=ANYTHING).people == 2


MOMENTS = Schema.from_keys(
    {
        "dimension": {
            "seen": {"type": "timestamp", "range": ["2025-01-01", "2025-12-31"], "unit": "hour"},
            "day": {"type": "date", "range": ["2025-01-01", "2025-12-31"], "unit": "day"},
        }
    }
)
WHEN = [datetime(2025, 1, 1, 23, 5), datetime(2025, 7, 1, 0, 30), None]


@pytest.mark.parametrize("name", ["trips.parquet", "trips.csv"])
@pytest.mark.parametrize("zone", ["America/New_York", "UTC", "+05:30", None])
def test_a_moment_is_read_as_the_clock_there_showed_it(tmp_path, name, zone):
    """Whatever its zone's offset is in summer or winter; a day is that of the same clock."""
    column = pa.array(WHEN, pa.timestamp("us"))
    if zone is not None:
        column = pc.assume_timezone(column, zone)
    table = pa.table({"seen": column, "day": column})
    if name == "trips.csv" and zone is not None:  # Arrow writes no offsets
        table = pa.table(dict.fromkeys(("seen", "day"), pc.strftime(column, "%Y-%m-%d %H:%M:%S%z")))
    source = write(tmp_path / name, table)
    read = files.read_people(MOMENTS, source)
    assert [moment and moment.replace(tzinfo=None) for moment in read["seen"].to_pylist()] == WHEN
    assert read["seen"].type.tz is None
    assert read["day"].to_pylist() == [moment and moment.date() for moment in WHEN]
    assert files.zoned_columns(MOMENTS, source) == ([] if zone is None else ["seen", "day"])


@pytest.mark.parametrize(
    "text",
    [
        "2025-07-01 00:30:00Z",
        "2025-07-01T00:30:00.000+02:00",
        "2025-07-01 00:30-0500",
        "2025-07-01 00:30+02",
        "2025-07-01 00:30:00 +00:00",
    ],
)
def test_offsets_are_read_in_every_form(tmp_path, text):
    source = tmp_path / "trips.csv"
    source.write_text(f"seen,day\n{text},{text}\nsoon,2025-07-01-05\n")
    read = files.read_people(MOMENTS, source)
    assert read["seen"].to_pylist() == [WHEN[1], None]
    assert read["day"].to_pylist() == [date(2025, 7, 1), None]


def test_a_zone_that_nobody_knows_is_named(tmp_path):
    """The file is not called damaged."""
    column = pa.array(WHEN, pa.timestamp("us", "Atlantis/Town"))
    source = write(tmp_path / "trips.parquet", pa.table({"seen": column, "day": column}))
    with pytest.raises(RecordError, match=r"time zone 'Atlantis/Town', which this machine does"):
        files.read_people(MOMENTS, source)


def test_a_value_that_many_have_is_read_once(monkeypatch):
    """Columns of whole numbers with gaps come as 1.0: each distinct text is tried, and not each
    row."""
    tried = []

    def cast(column, kind):
        tried.append(len(column))
        return columns_cast(column, kind)

    columns_cast = columns._cast
    monkeypatch.setattr(columns, "_cast", cast)
    texts = pa.array(["1.0", "2", None, "x"] * 1000)
    assert columns.cast_column(texts, pa.int64()).to_pylist() == [None, 2, None, None] * 1000
    assert 0 < len(tried) < 10


def test_progress_is_told(tmp_path):
    source = write(tmp_path / "people.parquet", people(250))
    told = []
    target = tmp_path / "out.parquet"
    randomize_file(
        app(),
        source,
        target,
        progress=lambda done, total: told.append((done, total)),
        policy=ANYTHING,
    )
    assert told == [(100, 250), (200, 250), (250, 250)]


CSV = "age,state,spent,day,version\n"
GOOD = "30,NY,12.5,2026-01-31,1.2\n"


@pytest.mark.parametrize(
    ("row", "misfits"),
    [
        ("xyzzy,NY,1,2026-01-31,1\n", [("missing", "age")]),
        ("30.5,NY,1,2026-01-31,1\n", [("missing", "age")]),
        ("30.0,NY,1,2026-01-31,1\n", []),
        ("99999,NY,1,2026-01-31,1\n", [("outside", "age")]),
        (f"{10**30},NY,1,2026-01-31,1\n", [("outside", "age")]),
        (",NY,1,2026-01-31,1\n", [("missing", "age")]),
        ("30,xyzzy,1,2026-01-31,1\n", [("outside", "state")]),
        ('30,"",1,2026-01-31,1\n', [("outside", "state")]),
        ("30,NY,xyzzy,2026-01-31,1\n", [("missing", "spent")]),
        ("30,NY,nan,2026-01-31,1\n", [("missing", "spent")]),
        ("30,NY,inf,2026-01-31,1\n", [("clamped", "spent")]),
        ("30,NY,1,31.1.2026,1\n", [("missing", "day")]),
    ],
)
def test_every_csv_row_is_answered_and_what_did_not_fit_is_counted(tmp_path, row, misfits):
    source = tmp_path / "people.csv"
    source.write_text(CSV + GOOD * 250 + row + GOOD * 250)
    tally = randomize_file(app(), source, tmp_path / "out.parquet", policy=ANYTHING)
    assert tally == Tally(501, Counter(misfits))
    assert pq.read_metadata(tmp_path / "out.parquet").num_rows == 501


@pytest.mark.parametrize("row", ["30,NY,xyzzy\n", "30,NY,1,2026-01-31,1,xyzzy\n"])
def test_a_csv_row_that_is_no_row_is_named_by_its_number_and_not_quoted(tmp_path, row):
    source = tmp_path / "people.csv"
    source.write_text(CSV + GOOD * 250 + row + GOOD * 250)
    with pytest.raises(RecordError, match="row 251 has more or fewer fields") as refusal:
        randomize_file(app(), source, tmp_path / "out.parquet", policy=ANYTHING)
    assert "xyzzy" not in str(refusal.value)
    assert refusal.value.__cause__ is None
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_an_unquoted_empty_field_is_null(tmp_path):
    source = tmp_path / "people.csv"
    source.write_text(CSV + "30,,1,2026-01-31,\n")
    randomize_file(app(), source, tmp_path / "out.parquet", policy=ANYTHING)
    assert pq.read_table(tmp_path / "out.parquet").column("version").to_pylist() == [None]


def test_a_bad_row_at_the_very_end_is_seen(tmp_path):
    source = tmp_path / "people.csv"
    source.write_text(CSV + GOOD + "30\n")
    with pytest.raises(RecordError, match="row 2 has"):
        randomize_file(app(), source, tmp_path / "out.parquet", policy=ANYTHING)


def truncated(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def flipped(path):
    content = bytearray(path.read_bytes())
    content[50:400] = bytes(350)
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [truncated, flipped])
def test_a_damaged_parquet_file_is_refused_and_leaves_nothing(tmp_path, damage):
    source = write(tmp_path / "people.parquet", people(2000))
    damage(source)
    with pytest.raises(RecordError, match="as Parquet: it is damaged or cut short") as refusal:
        randomize_file(app(), source, tmp_path / "out.parquet", policy=ANYTHING)
    assert refusal.value.__cause__ is refusal.value.__context__ is None
    assert [path.name for path in tmp_path.iterdir()] == ["people.parquet"]


def test_a_csv_file_that_is_no_text_is_refused(tmp_path):
    source = tmp_path / "people.csv"
    source.write_bytes(b"\xff\xfe,age\n\xff,1\n")
    with pytest.raises(RecordError, match="damaged or cut short, or not UTF-8 text"):
        randomize_file(app(), source, tmp_path / "out.parquet", policy=ANYTHING)
    source.write_bytes(b"")
    with pytest.raises(RecordError, match="as CSV"):
        randomize_file(app(), source, tmp_path / "out.parquet", policy=ANYTHING)


@pytest.mark.parametrize("name", ["people.parquet", "people.csv"])
def test_a_column_that_is_not_there_is_named(tmp_path, name):
    source = write(tmp_path / name, people(5).drop_columns(["state"]))
    with pytest.raises(RecordError, match="no column state"):
        randomize_file(app(), source, tmp_path / "out.parquet", policy=ANYTHING)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(RecordError, match="there is no file"):
        randomize_file(app(), tmp_path / "nothing.csv", tmp_path / "out.parquet", policy=ANYTHING)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(RecordError, match="is a folder, a pipe or a device"):
        randomize_file(app(), tmp_path / "pipe.csv", tmp_path / "out.parquet", policy=ANYTHING)
    (tmp_path / "data.xlsx").write_text("")
    with pytest.raises(RecordError, match=r"neither \.parquet nor \.csv"):
        randomize_file(app(), tmp_path / "data.xlsx", tmp_path / "out.parquet", policy=ANYTHING)


def test_the_data_are_never_overwritten(tmp_path):
    source = write(tmp_path / "people.parquet", people(5))
    with pytest.raises(RecordError, match="would replace the data"):
        randomize_file(app(), source, source, policy=ANYTHING)
    with pytest.raises(RecordError, match=r"cannot write .*out\.parquet: No such") as refusal:
        randomize_file(app(), source, tmp_path / "nowhere" / "out.parquet", policy=ANYTHING)
    assert refusal.value.__cause__ is refusal.value.__context__ is None


@pytest.mark.parametrize("name", ["people.parquet", "people.csv"])
def test_no_people_give_an_empty_file_of_reports(tmp_path, name):
    source = write(tmp_path / name, people(3).slice(0, 0))
    assert randomize_file(app(), source, tmp_path / "out.parquet", policy=ANYTHING).people == 0
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 0
