"""A report counts once: whatever file, order, encoding or process brings it again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from support.fake_survey import PUBLIC, UNARY, fake_survey, reports_of, write_csv, write_jsonl
from support.planned_survey import device_reports, device_text
from support.shuffled_survey import USERS, raw_reports, shuffled_survey

from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql.reports.permutation import in_random_order
from ldpsql.shuffler import shuffle_table
from ldpsql.store import arrivals, open_store
from ldpsql.store.intake import Intake
from ldpsql_device.entropy import OsEntropy
from ldpsql_device.errors import ReportError
from ldpsql_device.reports import Report
from ldpsql_device.survey import canonical

TESTS = str(Path(__file__).parents[1])
TODAY = date(2026, 3, 1)


def rows(store, table):
    with store._read_snapshot() as cursor:
        return cursor.execute(f"FROM {table}").fetchall()


def counted(batches):
    return sum(batch.reports for batch in batches), sum(batch.repeats for batch in batches)


@pytest.mark.parametrize("keep", ["reports", "counts"])
@pytest.mark.parametrize("options", ["plain", "unary"])
def test_a_grown_file_brings_what_is_new(store, tmp_path, options, keep):
    survey = fake_survey(options=UNARY) if options == "unary" else fake_survey()
    survey.write(tmp_path / "app.survey.json")
    table, path = reports_of(survey, 3000), tmp_path / "r.parquet"
    for rows_so_far, expected in ((1000, (1000, 0)), (3000, (2000, 1000)), (3000, (0, 0))):
        pq.write_table(table.slice(0, rows_so_far), path)
        assert counted(store.ingest([path], keep=keep)) == expected
    assert store.sizes("app").sum() == 3000


def _count_two_batches(store, monkeypatch, parts):
    """Of 900 reports 600 come first, 60 of them twice in one file, then all 900, in any order: how
    many are new each time. Ids are looked for in so many parts."""
    monkeypatch.setattr(arrivals, "_PART", 900 // parts)
    survey, order = fake_survey(), np.random.default_rng(parts)
    table = reports_of(survey, 900)
    edges = [bytes(16), b"\xff" * 16, b"\x7f" + b"\xff" * 15, b"\x80" + bytes(15)]
    ids = pa.array([*edges, *table[ID_COLUMN].to_pylist()[4:]], pa.binary(16))
    table = table.set_column(table.column_names.index(ID_COLUMN), ID_COLUMN, ids)
    first = order.permutation([*range(600), *range(60)])
    batches = [store.ingest_table(table.take(rows), survey) for rows in (first, np.arange(900))]
    return [(batch.reports, batch.repeats) for batch in batches]


@pytest.mark.parametrize("parts", [1, 2, 7, 30])
def test_ids_are_looked_for_part_by_part(store, monkeypatch, parts):
    assert _count_two_batches(store, monkeypatch, parts) == [(600, 60), (300, 600)]
    assert store.sizes("app").sum() == 900
    assert store.check() == []
    ids = [row[0] for row in rows(store, "ids_app")]
    assert (len(ids), len({*ids})) == (900, 900)


def test_where_a_part_is_left_out_repeats_are_counted(store, monkeypatch):
    """So the test above can fail."""
    split = arrivals._split
    monkeypatch.setattr(arrivals, "_split", lambda arrived: [*split(arrived)][1:])
    [first, second] = _count_two_batches(store, monkeypatch, 7)
    assert first == (600, 60)
    assert second[0] > 300


def test_another_encoding_or_order_brings_nothing(store, tmp_path):
    survey = fake_survey(public=PUBLIC)
    table = reports_of(survey, 500)
    store.ingest_table(table, survey)
    pq.write_table(table, tmp_path / "gzip.parquet", compression="gzip")
    pq.write_table(in_random_order(table, OsEntropy()), tmp_path / "order.parquet")
    place = table.column_names.index(ID_COLUMN)
    plain = table.set_column(place, ID_COLUMN, table[ID_COLUMN].cast(pa.binary()))
    pq.write_table(plain, tmp_path / "plain.parquet")
    write_csv(table, tmp_path / "r.csv")
    write_jsonl(table, tmp_path / "flat.jsonl")
    sent = [_sent(survey, row) for row in table.to_pylist()]
    (tmp_path / "sent.jsonl").write_text("\n".join(sent))
    batches = store.ingest([tmp_path], survey=survey)
    assert len(batches) == 6
    assert counted(batches) == (0, 3000)
    assert store.sizes("app").sum() == 500


def _sent(survey, row):
    numbers = [row[f"ldpsql_{name}"] for name in survey.plan.columns]
    report = Report.of(survey, numbers, {column.name: row[column.name] for column in PUBLIC})
    return json.dumps({**json.loads(report.to_json()), "id": row[ID_COLUMN].hex()})


def test_files_of_one_report_each_count_one_each(store, tmp_path):
    survey = fake_survey()
    survey.write(tmp_path / "app.survey.json")
    equal = Report.of(survey, (0, 1, 1), {})
    for number in range(40):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(Report.of(survey, (0, 1, 1), {}).to_json())
    (tmp_path / "again.jsonl").write_text(equal.to_json() + "\n" + equal.to_json() + "\n")
    assert counted(store.ingest([tmp_path], survey=survey)) == (41, 1)


def test_rows_that_are_no_reports_use_up_no_id(store, tmp_path):
    """Or a broken copy would keep the report itself out."""
    survey = fake_survey()
    table = reports_of(survey, 10)
    place = table.column_names.index("ldpsql_question")
    bad = table.set_column(place, "ldpsql_question", pa.array([9] * 10, pa.uint8()))
    assert store.ingest_table(bad, survey, skip_invalid=True).reports == 0
    assert store.ingest_table(table, survey).reports == 10


def test_ids_and_reports_are_kept_apart_in_orders_of_their_own(store):
    survey = fake_survey(public=PUBLIC)
    table = reports_of(survey, 3000)
    store.ingest_table(table, survey)
    ids = [row[0].bytes for row in rows(store, "ids_app")]
    assert ids == sorted(table[ID_COLUMN].to_pylist())
    kept = [row[1:] for row in rows(store, "reports_app")]
    by_content = pc.sort_indices(
        table, [(name, "ascending", "at_end") for name in table.column_names[:-1]]
    )
    own = table.drop_columns([ID_COLUMN]).take(by_content).to_pylist()
    assert kept == [tuple(row.values()) for row in own]


@pytest.mark.parametrize("skip", [False, True])
def test_files_without_ids_are_refused_with_what_to_do(store, tmp_path, skip):
    survey = fake_survey()
    store.register(survey)
    table = reports_of(survey, 5).drop_columns([ID_COLUMN])
    pq.write_table(table, tmp_path / "r.parquet")
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, table.to_pylist())))
    (tmp_path / "r.csv").write_text("ldpsql_question,ldpsql_answer0,ldpsql_answer1\n0,1,1\n")
    for name in ("r.parquet", "r.jsonl", "r.csv"):
        with pytest.raises(ReportError, match=rf"{name}: its reports have no ids .*; nothing was"):
            store.ingest([tmp_path / name], survey=survey, skip_invalid=skip)
    with pytest.raises(ReportError, match="the table: its reports have no ids"):
        store.ingest_table(table, survey)


@pytest.mark.parametrize("own", [None, b"", b"x" * 15, b"x" * 17, "0" * 31, "0" * 31 + "G", 7])
def test_what_is_no_id_is_no_report(store, own):
    survey = fake_survey()
    table = reports_of(survey, 1).drop_columns([ID_COLUMN])
    kind = pa.int64() if own == 7 else pa.string() if isinstance(own, str) else pa.binary()
    with pytest.raises(ReportError, match=r"row 1: its id is not|it must be id"):
        store.ingest_table(table.append_column(ID_COLUMN, pa.array([own], kind)), survey)


# -- days ----------------------------------------------------------------------------------------


def test_an_id_is_remembered_for_the_replay_window_and_forgotten_after_it(store, clock):
    survey = fake_survey()
    window = timedelta(days=survey.schedule.replay_window)
    old, new = reports_of(survey, 20), reports_of(survey, 5)
    store.ingest_table(old, survey)
    clock(TODAY + timedelta(days=2))
    store.ingest_table(new, survey)
    clock(TODAY + window)
    assert store.ingest_table(old).repeats == 20
    clock(TODAY + window + timedelta(days=1))
    assert store.ingest_table(new).repeats == 5
    assert len(rows(store, "ids_app")) == 5
    assert store.sizes("app").sum() == 25


def test_a_file_whose_content_was_taken_is_known_when_its_ids_are_forgotten(store, clock, tmp_path):
    survey = fake_survey()
    pq.write_table(reports_of(survey, 20), tmp_path / "r.parquet")
    store.register(survey)
    store.ingest([tmp_path])
    for days in (399, 400):  # a day is believed once another was seen shortly before
        clock(TODAY + timedelta(days=days))
        assert store.ingest([tmp_path])[0].known
    assert rows(store, "ids_app") == []


def test_nothing_is_taken_after_a_survey_has_ended_and_no_id_is_kept(store, clock):
    published = {**json.loads(device_text()), "validity": {"until": "2026-03-05"}}
    survey = Intake.read(canonical(published))
    reports = device_reports(10, survey.text)
    store.ingest_table(reports, survey)
    clock(date(2026, 3, 5))
    late = device_reports(3, survey.text)
    assert store.ingest_table(late, survey).reports == 3
    clock(date(2026, 3, 6))
    with pytest.raises(ReportError, match="survey people ended on 2026-03-05"):
        store.ingest_table(device_reports(3, survey.text), survey)
    assert rows(store, "ids_people") == []
    assert store.sizes("people").tolist() == [13]


# -- batches of a shuffler -------------------------------------------------------------------------


def test_a_shuffled_batch_is_taken_once_whatever_its_encoding(tmp_path):
    survey = shuffled_survey()
    batches = [shuffle_table(survey, raw_reports(survey, USERS)) for _ in range(2)]
    pq.write_table(batches[0], tmp_path / "1.parquet")
    pq.write_table(batches[0], tmp_path / "2.parquet", compression="gzip")
    with open_store(None, read_only=False) as store:
        taken = [*store.ingest([tmp_path], survey=survey), store.ingest_table(batches[0])]
        assert [batch.known for batch in taken] == [False, True, True]
        assert not store.ingest_table(batches[1]).known
        assert store.sizes("app").sum() == 2 * USERS
        assert rows(store, "ids_app") == []


# -- processes -------------------------------------------------------------------------------------

INGESTING = """
    import os, signal, sys
    sys.path.insert(0, {tests!r})
    from support.fake_survey import FakeMechanism
    from ldpsql.mechanisms import registry
    registry.MECHANISMS["fake"] = FakeMechanism()
    from ldpsql.store import open_store
    from ldpsql.store import arrivals
    left = {calls}
    real = arrivals.receive
    def receive(*given):
        global left
        taken, left = real(*given), left - 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return taken
    arrivals.receive = receive
    for file in {files!r}:
        with open_store({path!r}, read_only=False, patience=60) as store:
            store.ingest([file])
"""


def ingesting(path, files, *, calls=-1):
    """A process that takes files; killed after it has written the ids of the last one."""
    given = {"tests": TESTS, "path": str(path), "files": [str(f) for f in files], "calls": calls}
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(INGESTING).format(**given)])


@pytest.fixture
def overlapping(tmp_path):
    """Four encodings of overlapping parts of 40,000 reports, and a store that knows the survey."""
    survey, path = fake_survey(public=PUBLIC), tmp_path / "s.duckdb"
    table = reports_of(survey, 40_000)
    with open_store(path, read_only=False) as store:
        store.register(survey)
    files = []
    for number, codec in enumerate(("zstd", "gzip", "snappy", "none")):
        part = table.slice(10_000 * number - 5000 * (number > 0), 15_000)
        files.append(tmp_path / f"{number}.parquet")
        pq.write_table(in_random_order(part, OsEntropy()), files[-1], compression=codec)
    return path, files


@pytest.mark.slow
def test_two_processes_at_once_count_each_report_once(overlapping):
    path, files = overlapping
    running = [ingesting(path, files), ingesting(path, files[::-1])]
    assert [process.wait(120) for process in running] == [0, 0]
    with open_store(path, read_only=True) as store:
        assert store.sizes("app").sum() == 40_000


@pytest.mark.slow
def test_a_kill_between_leaves_neither_ids_without_reports_nor_reports_without_ids(overlapping):
    path, files = overlapping
    for calls in (1, 2, 3):
        killed = ingesting(path, files, calls=calls)
        assert killed.wait(120) == -signal.SIGKILL
    with open_store(path, read_only=False) as store:
        store.ingest(files)
        assert store.sizes("app").sum() == len(rows(store, "ids_app")) == 40_000


@pytest.mark.parametrize("jump", [400, -400, 20])
def test_a_clock_that_is_set_wrong_for_a_while_doubles_nothing(store, clock, jump):
    survey = fake_survey()
    sent = reports_of(survey, 30)
    for days in (0, 1, 1 + jump, 2, 3):
        clock(TODAY + timedelta(days=days))
        store.tidy()
        store.ingest_table(sent, survey)
    assert int(store.sizes(survey.table).sum()) == 30


def test_a_clock_that_is_believed_at_once_doubles(store, clock, monkeypatch):
    """Negative control."""
    monkeypatch.setattr("ldpsql.store.store.day_of_forgetting", lambda today, _: today)
    with pytest.raises(AssertionError):
        test_a_clock_that_is_set_wrong_for_a_while_doubles_nothing(store, clock, 400)
