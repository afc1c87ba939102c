"""What goes into a batch, what comes out, and what is refused."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import tracemalloc
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.planned_survey import PRIVATE, device_reports, device_text
from support.surveys import ANYTHING

from ldpsql.randomize.files import randomize_file
from ldpsql.randomize.table import append_ids, report_schema
from ldpsql.reports import permutation
from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql.shuffler import shuffle_reports, shuffle_table
from ldpsql.store import open_store
from ldpsql.store.intake import Intake
from ldpsql.store.parquet import reader
from ldpsql.store.shuffled_batch import BATCH_KEY, ShuffledBatch
from ldpsql.survey import Survey
from ldpsql_device.entropy import OsEntropy
from ldpsql_device.errors import FingerprintError, ReportError, SurveyError
from ldpsql_device.schema import Schema
from ldpsql_device.shuffled import Shuffled

SCHEMA = Schema.from_keys(
    {"dimension": {"age": {"type": "int", "domain": [18, 90]}, "member": {"type": "bool"}}}
)
USERS = 1000


@cache
def made(users: int = USERS) -> Survey:
    return Survey.of("app", SCHEMA, Shuffled.parse("1", "1e-6", users), "hio")


@pytest.fixture(scope="module")
def survey() -> Survey:
    return made()


def reports(survey: Survey, count: int, seed: int = 1) -> pa.Table:
    """Reports that are in no random order at all: ascending."""
    form = survey.design.report_format
    generator = np.random.default_rng(seed)
    report_type = np.sort(generator.integers(form.types, size=count))
    columns = [report_type, *(generator.integers(form.limits[report_type].T))]
    schema = report_schema(survey).remove(len(columns))
    arrays = [pa.array(c, type=f.type) for c, f in zip(columns, schema, strict=True)]
    return append_ids(pa.table(arrays, schema=schema))


def spool(table: pa.Table, path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


def without_ids(table: pa.Table) -> pa.Table:
    return table.drop_columns([ID_COLUMN]) if ID_COLUMN in table.column_names else table


def counted(table: pa.Table) -> list:
    table = without_ids(table)
    keys = [(name, "ascending") for name in table.column_names]
    return table.replace_schema_metadata(None).sort_by(keys).to_pylist()


def test_a_batch_holds_the_reports_and_nothing_else(survey, tmp_path):
    table = reports(survey, 1500)
    late = table.slice(0, 600).append_column("arrived", pa.array(range(600)))
    spool(late, tmp_path / "in" / "a.parquet")
    spool(table.slice(600), tmp_path / "in" / "deeper" / "b.parquet")
    target = tmp_path / "batch.parquet"
    assert shuffle_reports(survey, [tmp_path / "in"], target) == 1500
    batch = pq.read_table(target)
    assert counted(batch) == counted(table)
    assert batch.column_names == without_ids(table).column_names
    said = batch.schema.metadata
    assert set(said) == {b"ldpsql.fingerprint", BATCH_KEY.encode()}
    assert said[b"ldpsql.fingerprint"].decode() == survey.fingerprint
    found = ShuffledBatch.from_json(said[BATCH_KEY.encode()].decode(), "batch")
    assert found == ShuffledBatch(survey.fingerprint, 1500, found.id)


def test_repeats_are_no_second_crowd(survey, tmp_path):
    """The same reports in another order, packed otherwise, and some of them once more."""
    table = reports(survey, 600)
    spool(table, tmp_path / "in" / "a.parquet")
    again = permutation.in_random_order(table, OsEntropy())
    pq.write_table(
        again, tmp_path / "in" / "b.parquet", compression="none", row_group_size=100, version="1.0"
    )
    spool(pa.concat_tables([table.slice(5, 9)] * 9), tmp_path / "in" / "c.parquet")
    target = tmp_path / "batch.parquet"
    with pytest.raises(ReportError, match="600 reports are fewer than the 1,000"):
        shuffle_reports(survey, [tmp_path / "in"], target)
    with pytest.raises(ReportError, match="600 reports are fewer than the 1,000"):
        shuffle_table(survey, pa.concat_tables([table, again]))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]
    more = reports(survey, 400, seed=2)
    spool(more, tmp_path / "in" / "d.parquet")
    assert shuffle_reports(survey, [tmp_path / "in"], target) == USERS
    assert counted(pq.read_table(target)) == counted(pa.concat_tables([table, more]))


def test_equal_reports_of_two_files_are_two_people(survey, tmp_path):
    one = reports(survey, 1).take([0] * 40)
    for name in ("x", "y"):
        spool(append_ids(without_ids(one)), tmp_path / "in" / f"{name}.parquet")
    spool(reports(survey, USERS), tmp_path / "in" / "rest.parquet")
    assert shuffle_reports(survey, [tmp_path / "in"], tmp_path / "b.parquet") == USERS + 80


def test_reports_without_ids_are_refused(survey, tmp_path):
    table = reports(survey, USERS)
    spool(without_ids(table), tmp_path / "a.parquet")
    with pytest.raises(ReportError, match=r"a\.parquet: its reports have no ids"):
        shuffle_reports(survey, [tmp_path / "a.parquet"], tmp_path / "b.parquet")
    ids = pa.array([*table[ID_COLUMN].to_pylist()[:-1], None], pa.binary(16))
    spool(without_ids(table).append_column(ID_COLUMN, ids), tmp_path / "a.parquet")
    with pytest.raises(ReportError, match=rf"row {USERS}: its id is not 32 hexadecimal digits"):
        shuffle_reports(survey, [tmp_path / "a.parquet"], tmp_path / "b.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_nobody_else_reads_a_batch_or_what_a_killed_shuffler_leaves(survey, tmp_path, monkeypatch):
    modes = []
    given = permutation.in_random_order

    def looking(rows, entropy):
        modes.extend(path.stat().st_mode for path in tmp_path.glob(".*.tmp"))
        return given(rows, entropy)

    monkeypatch.setattr(permutation, "in_random_order", looking)
    monkeypatch.setattr(permutation, "CAPACITY", 256)
    spool(reports(survey, USERS), tmp_path / "a.parquet")
    before = os.umask(0)
    try:
        shuffle_reports(survey, [tmp_path / "a.parquet"], tmp_path / "batch.parquet")
    finally:
        os.umask(before)
    assert modes
    modes.append((tmp_path / "batch.parquet").stat().st_mode)
    assert {stat.S_IMODE(mode) for mode in modes} == {0o600}


def test_what_randomize_writes_is_shuffled(survey, tmp_path):
    people = pa.table({"age": [18 + i % 73 for i in range(USERS)], "member": [True] * USERS})
    pq.write_table(people, tmp_path / "people.parquet")
    randomize_file(
        survey, tmp_path / "people.parquet", tmp_path / "reports.parquet", policy=ANYTHING
    )
    target = tmp_path / "batch.parquet"
    shuffle_reports(survey, [tmp_path / "reports.parquet"], target)
    came = pq.read_table(tmp_path / "reports.parquet")
    assert counted(pq.read_table(target)) == counted(came)


def test_the_order_is_a_new_one_every_time(survey, tmp_path):
    table = reports(survey, USERS)
    spool(table, tmp_path / "a.parquet")
    found = []
    for name in ("one", "two"):
        shuffle_reports(survey, [tmp_path / "a.parquet"], tmp_path / f"{name}.parquet")
        found.append(pq.read_table(tmp_path / f"{name}.parquet").to_pylist())
    assert found[0] != found[1]
    assert without_ids(table).to_pylist() not in found


def test_row_groups_do_not_tell_which_file_a_report_came_from(survey, tmp_path, monkeypatch):
    monkeypatch.setattr(permutation, "ROW_GROUP", 100)
    monkeypatch.setattr(permutation, "CAPACITY", 64)
    table = reports(survey, 1234)
    for i, (start, end) in enumerate(((0, 7), (7, 1000), (1000, 1234))):
        spool(table.slice(start, end - start), tmp_path / f"{i}.parquet")
    target = tmp_path / "batch.parquet"
    shuffle_reports(survey, [tmp_path / f"{i}.parquet" for i in range(3)], target)
    groups = pq.ParquetFile(target).metadata
    assert [groups.row_group(i).num_rows for i in range(groups.num_row_groups)] == [100] * 12 + [34]
    assert counted(pq.read_table(target)) == counted(table)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_reports(tmp_path, monkeypatch):
    """300,000 reports with buckets of 4,096: the peak is a fraction of what they take."""
    survey = made()
    count = 300_000
    pq.write_table(reports(survey, count), tmp_path / "a.parquet", row_group_size=1 << 14)
    monkeypatch.setattr(permutation, "ROW_GROUP", 1 << 12)
    monkeypatch.setattr(reader, "ROWS", 1 << 12)

    def peak(capacity: int) -> int:
        monkeypatch.setattr(permutation, "CAPACITY", capacity)
        usual = pa.default_memory_pool()
        pa.set_memory_pool(pool := pa.proxy_memory_pool(usual))
        tracemalloc.start()
        shuffle_reports(survey, [tmp_path / "a.parquet"], tmp_path / "batch.parquet")
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        pa.set_memory_pool(usual)
        return most + pool.max_memory()

    bounded, whole = peak(1 << 12), peak(1 << 20)
    assert counted(pq.read_table(tmp_path / "batch.parquet")) == counted(
        pq.read_table(tmp_path / "a.parquet")
    )
    keys = 8 * count
    assert bounded < keys < whole


def test_a_local_survey_needs_no_shuffler(tmp_path):
    plain = Survey.of("app", SCHEMA, "1", "hio")
    with pytest.raises(SurveyError, match="trusts no shuffler"):
        shuffle_reports(plain, [tmp_path], tmp_path / "batch.parquet")


def test_reports_of_another_survey_are_refused(survey, tmp_path):
    other = made(2000)
    spool(reports(other, USERS), tmp_path / "other.parquet")
    with pytest.raises(FingerprintError, match=other.fingerprint[:12]):
        shuffle_reports(survey, [tmp_path / "other.parquet"], tmp_path / "b.parquet")
    bare = reports(survey, USERS).replace_schema_metadata(None)
    spool(bare, tmp_path / "bare.parquet")
    with pytest.raises(FingerprintError, match="does not say"):
        shuffle_reports(survey, [tmp_path / "bare.parquet"], tmp_path / "b.parquet")
    spool(bare.replace_schema_metadata({b"ldpsql.fingerprint": b"x"}), tmp_path / "changed.parquet")
    with pytest.raises(FingerprintError, match="fingerprint none"):
        shuffle_reports(survey, [tmp_path / "changed.parquet"], tmp_path / "b.parquet")
    assert not (tmp_path / "b.parquet").exists()


def changed(table: pa.Table, column: int, values: pa.Array) -> pa.Table:
    metadata = table.schema.metadata
    name = table.column_names[column]
    return table.set_column(column, name, values).replace_schema_metadata(metadata)


def test_rows_that_are_no_reports_are_refused_and_named(survey, tmp_path):
    table = reports(survey, USERS)
    values = table.column(0).to_pylist()
    for wrong, words in (
        (
            pa.array([*values[:-2], survey.design.report_format.types, 0]),
            f"row {USERS - 1}: ldpsql_question is out of range",
        ),
        (pa.array([-1, *values[1:]]), "row 1: ldpsql_question is not a whole number"),
        (pa.array([1 << 40, *values[1:]]), "row 1: ldpsql_question is not a whole number"),
        (pa.array([None, *values[1:]]), "row 1: ldpsql_question is missing"),
        (pa.array([0.5, *values[1:]]), "'ldpsql_question' is double, it must be int"),
    ):
        spool(changed(table, 0, wrong), tmp_path / "a.parquet")
        with pytest.raises(ReportError, match=words):
            shuffle_reports(survey, [tmp_path / "a.parquet"], tmp_path / "batch.parquet")
        assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


def test_files_that_are_none_are_refused(survey, tmp_path):
    target = tmp_path / "batch.parquet"
    good = tmp_path / "a.parquet"
    spool(reports(survey, USERS), good)
    (tmp_path / "damaged.parquet").write_bytes(good.read_bytes()[:-100])
    (tmp_path / "empty").mkdir()
    spool(reports(survey, USERS).select([0]), tmp_path / "part.parquet")
    for source, words in (
        (tmp_path / "damaged.parquet", "damaged"),
        (tmp_path / "nowhere.parquet", "no file"),
        (tmp_path / "empty", "no report file"),
        (tmp_path / "part.parquet", "is missing"),
    ):
        with pytest.raises(ReportError, match=words):
            shuffle_reports(survey, [source], target)
    with pytest.raises(ReportError, match="given twice"):
        shuffle_reports(survey, [good, tmp_path / "empty" / ".." / "a.parquet"], target)
    os.link(good, tmp_path / "empty" / "other.parquet")
    with pytest.raises(ReportError, match="given twice"):
        shuffle_reports(survey, [good, tmp_path / "empty"], target)
    with pytest.raises(ReportError, match="would replace"):
        shuffle_reports(survey, [good], good)
    shuffle_reports(survey, [good], target)
    with pytest.raises(ReportError, match="was shuffled before"):
        shuffle_reports(survey, [target], tmp_path / "again.parquet")
    with pytest.raises(ReportError, match="cannot write"):
        shuffle_reports(survey, [good], tmp_path / "no" / "folder.parquet")


KILLED = """
import sys
from pathlib import Path
from ldpsql.shuffler import shuffle_reports
from ldpsql.store import open_store
from ldpsql.survey import Survey
from ldpsql.reports import permutation
from ldpsql.reports.arrow_types import ID_COLUMN
permutation.CAPACITY = permutation.ROW_GROUP = 256
given = permutation.in_random_order
def slowly(rows, entropy):
    print("mixing", flush=True)
    import time; time.sleep(0.05)
    return given(rows, entropy)
permutation.in_random_order = slowly
folder = Path(sys.argv[1])
survey = Survey.from_json(folder / "survey.json")
shuffle_reports(survey, [folder / "a.parquet"], folder / "batch.parquet")
"""


def test_a_killed_shuffler_leaves_no_batch_and_harms_no_later_one(survey, tmp_path):
    (tmp_path / "survey.json").write_text(survey.to_json())
    spool(reports(survey, 20_000), tmp_path / "a.parquet")
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        for _ in range(3):
            assert running.stdout.readline() == "mixing\n"
        running.send_signal(signal.SIGKILL)
        assert running.wait() == -signal.SIGKILL
    left = {path.name for path in tmp_path.iterdir()} - {"survey.json", "a.parquet"}
    assert all(name.startswith(".batch.parquet.") and name.endswith(".tmp") for name in left)
    # Nothing of what is left is taken for reports.
    assert shuffle_reports(survey, [tmp_path], tmp_path / "batch.parquet") == 20_000


def test_a_failure_on_the_way_leaves_nothing(survey, tmp_path, monkeypatch):
    monkeypatch.setattr(permutation, "CAPACITY", 256)
    spool(reports(survey, 5000), tmp_path / "a.parquet")

    def fails(rows, entropy):
        raise KeyboardInterrupt

    monkeypatch.setattr(permutation, "in_random_order", fails)
    with pytest.raises(KeyboardInterrupt):
        shuffle_reports(survey, [tmp_path / "a.parquet"], tmp_path / "batch.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 2}', "[" * 10_000])
def test_what_no_shuffler_wrote_is_refused(text):
    with pytest.raises(ReportError, match="shuffle it again"):
        ShuffledBatch.from_json(text, "batch.parquet")


def test_what_a_batch_says_of_itself():
    batch = ShuffledBatch("0" * 64, 12)
    assert ShuffledBatch.from_json(batch.to_json(), "a") == batch
    wrong = json.loads(batch.to_json()) | {"reports": "12"}
    with pytest.raises(ReportError):
        ShuffledBatch.from_json(json.dumps(wrong), "a")


def test_reports_in_memory(survey):
    table = reports(survey, USERS)
    first, second = (shuffle_table(survey, table) for _ in range(2))
    assert counted(first) == counted(second) == counted(table)
    assert first.to_pylist() != second.to_pylist()
    said = first.schema.metadata[BATCH_KEY.encode()].decode()
    assert ShuffledBatch.from_json(said, "").reports == USERS
    with pytest.raises(ReportError, match="fewer"):
        shuffle_table(survey, table.slice(1))
    with pytest.raises(ReportError, match="is missing"):
        shuffle_table(survey, table.select([0]))
    with pytest.raises(ReportError, match="was shuffled before"):
        shuffle_table(survey, first)
    with pytest.raises(FingerprintError, match="does not say"):
        shuffle_table(survey, table.replace_schema_metadata(None))
    with pytest.raises(ReportError, match="row 1: ldpsql_question is out of range"):
        shuffle_table(survey, changed(table, 0, pa.array([255] * USERS, type=pa.uint8())))


def test_a_shuffler_needs_only_the_part_of_a_survey_that_devices_fetch(tmp_path):
    text = device_text(PRIVATE, Shuffled.parse("0.5", "1e-6", USERS))
    spool(device_reports(USERS, text), tmp_path / "a.parquet")
    target = tmp_path / "batch.parquet"
    (tmp_path / "people.survey.json").write_text(text)
    assert shuffle_reports(Intake.read(text), [tmp_path / "a.parquet"], target) == USERS
    with open_store(None, read_only=False) as store:
        assert store.ingest([target])[0].reports == USERS
