"""Batches listed, withdrawn and deleted; surveys removed; stores checked, copied and migrated."""

from __future__ import annotations

import gzip
import random
import shutil
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.decoded_survey import fourier, reports
from support.fake_survey import PLAIN, PUBLIC, UNARY, fake_survey, reports_of
from support.histograms import everything
from support.store_files import files_in

from ldpsql.engine.session import Session
from ldpsql.errors import QueryError
from ldpsql.sql.lookups import PublicTable
from ldpsql.store import Selection, decoded, fold, layout, open_store, read_store, vacuum_store
from ldpsql.store.intake import Intake
from ldpsql_device.errors import DataError, StoreError
from ldpsql_device.survey import utc_today

STORES = Path(__file__).parents[1] / "data" / "stores"
NO_ROOM = StoreError("no room")
BOTH = pytest.mark.parametrize("options", [PLAIN, UNARY], ids=["plain", "unary"])


def test_batches_say_what_brought_them_when_and_how_many(store, tmp_path):
    survey = fake_survey()
    pq.write_table(reports_of(survey, 30), tmp_path / "r.parquet")
    store.ingest([tmp_path / "r.parquet"], survey=survey)
    intake = Intake.of(survey)
    for seed in (1, 2):
        rows = reports_of(survey, 5, seed).select(intake.file_columns)
        store.take(intake, rows.combine_chunks().to_batches(), "http")
    store.tidy()
    found = [(b.number, b.name, b.day, b.reports, b.state) for b in store.batches("APP")]
    assert found == [
        (1, str(tmp_path / "r.parquet"), utc_today(), 30, "reports"),
        (3, "http", utc_today(), 10, "reports"),
    ]
    with pytest.raises(QueryError, match="no survey 'shop'"):
        store.batches("shop")


@pytest.mark.fast(1)
@BOTH
@pytest.mark.parametrize("public", [(), PUBLIC], ids=["private", "public"])
@pytest.mark.parametrize("sizes", [(40, 30, 20), (12_000, 9_000, 15_000)], ids=["tail", "merged"])
@pytest.mark.parametrize("counts_first", [False, True])
def test_a_withdrawn_batch_leaves_what_would_be_there_without_it(
    store, options, public, sizes, counts_first
):
    survey = fake_survey(options=options, public=public)
    without = fake_survey("without", options=options, public=public)
    for seed, size in enumerate(sizes):
        keep = "counts" if counts_first and seed == 0 else "reports"
        table = reports_of(survey, size, seed, signed=False)
        store.ingest_table(table, survey, keep=keep)
        if seed != 1:
            store.ingest_table(table, without, keep=keep)
    before = store.version("app")
    assert everything(store) != everything(store, "without")
    assert store.withdraw("app", [2]) == sizes[1]
    assert everything(store) == everything(store, "without")
    assert store.sizes("app").tolist() == store.sizes("without").tolist()
    assert store.version("app") > before
    assert [batch.withdrawn for batch in store.batches("app")] == [None, sizes[1], None]
    assert store.check() == []
    store.ingest_table(reports_of(survey, 10, 7), survey)
    assert store.sizes("app").sum() == sizes[0] + sizes[2] + 10
    assert store.check() == []


def test_sums_of_decoded_reports_are_those_of_a_store_without_the_batch(store):
    survey, without = fourier(), fourier("without")
    for seed in range(3):
        store.ingest_table(reports(survey, 200, seed), survey)
        if seed != 1:
            store.ingest_table(reports(survey, 200, seed).replace_schema_metadata(None), without)
    store.catch_up()
    store.withdraw("app", [2])
    question = "SELECT kind, COUNT(*) FROM {} WHERE age < 4 GROUP BY kind"
    answers = [Session(store).execute(question.format(t)).table for t in ("app", "without")]
    for one, other in zip(*(table.to_pylist() for table in answers), strict=True):
        (kind, count), (wanted, true_count) = one.values(), other.values()
        assert kind == wanted
        assert count == pytest.approx(true_count, rel=1e-9)
    assert store.check() == []


def test_a_withdrawn_file_counts_no_more_when_it_comes_again(store, tmp_path):
    survey, path = fake_survey(), tmp_path / "r.parquet"
    pq.write_table(reports_of(survey, 30), path)
    [taken] = store.ingest([path], survey=survey)
    assert (taken.reports, taken.known) == (30, False)
    store.withdraw("app", [1])
    small, large = store.ingest([path]), store.ingest([path], keep="counts")
    for [again] in (small, large):
        assert (again.reports, again.known) == (0, True)
        assert again.withdrawn == (
            f"withdrawn on {utc_today()} (batch 1), and not counted again; to count it after all, "
            "ingest it into another database"
        )
    table = store.ingest_table(pq.read_table(path))
    assert (table.reports, table.repeats) == (0, 30)


def test_what_cannot_be_withdrawn_is_refused_and_nothing_changes(store):
    survey = fake_survey()
    for seed, keep in enumerate(("counts", "reports", "reports")):
        store.ingest_table(reports_of(survey, 10, seed), survey, keep=keep)
    for numbers, why in (([1], "deleted once counted"), ([2, 9], "no such batch")):
        with pytest.raises(DataError, match=why):
            store.withdraw("app", numbers)
    store.withdraw("app", [2])
    with pytest.raises(DataError, match="withdrawn before"):
        store.withdraw("app", [2])
    assert store.sizes("app").sum() == 20


QUESTIONS = (
    "SELECT COUNT(*) FROM app WHERE age < 5 AND member",
    "SELECT age, COUNT(*) FROM app GROUP BY age ORDER BY age",
    "SELECT kind, COUNT(*) FROM app WHERE age > 2 GROUP BY kind ORDER BY kind",
    "SELECT COUNT(*) FROM app WHERE kind = 'a' AND age = 3",
)


def answers(store):
    """Estimates and standard errors of `QUESTIONS`."""
    found = []
    for sql in QUESTIONS:
        result = Session(store).execute(sql)
        for place, column in enumerate(result.table.columns):
            bars = result.intervals.get(place)
            found += [(own, None) for own in column.to_pylist()]
            found += [] if bars is None else [(own, None) for own in bars.stderr.tolist()]
    return [own for own, _ in found]


def alike(before, after):
    """To 1e-9, where they are numbers."""
    return len(before) == len(after) and all(
        one == other or one == pytest.approx(other, rel=1e-9)
        for one, other in zip(before, after, strict=True)
    )


@pytest.mark.fast(1)
@pytest.mark.parametrize("path", [None, "s.duckdb"])
@pytest.mark.parametrize("kept", ["reports", "counts"])
def test_deleted_counts_keep_the_decoded_state(tmp_path, path, kept):
    survey = fourier()
    place = path and tmp_path / path
    with open_store(place, read_only=False) as store:
        for seed in range(3):
            store.ingest_table(reports(survey, 200, seed), survey)
        if kept == "counts":
            store.delete_reports("app", [1])
        before = answers(store)
        assert store.delete_counts("app", [1, 2]) == 400
        assert [batch.state for batch in store.batches("app")] == ["state", "state", "reports"]
        assert alike(before, answers(store))
        assert store.check() == []
        assert people_counted(store) == 200
        with pytest.raises(QueryError, match="the counts of 2 of the batches of app were deleted"):
            store.histograms("app", Selection())
        for numbers in ([1], [3]):
            with pytest.raises(DataError, match="nothing was changed"):
                store.withdraw("app", numbers)
        with pytest.raises(DataError, match="nothing tells their part of what is decoded from"):
            store.delete_counts("app", [1])
        with pytest.raises(StoreError, match="cannot be counted anew"):
            store.refresh("app")
        store.ingest_table(reports(survey, 200, 7), survey)
        store.ingest_table(reports(survey, 100, 8), survey, keep="counts")
        later = answers(store)
        assert not alike(before, later)
        assert store.delete_counts("app", [3, 4, 5]) == 500
        assert alike(later, answers(store))
        assert people_counted(store) == 0
        assert store.check() == []
    if place:
        with read_store(place) as reader:
            assert alike(later, answers(reader))
            with pytest.raises(QueryError, match="were deleted"):
                reader.histograms("app", Selection())


def people_counted(store):
    """How many people the histogram that is left has, whether it is whole or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoded, "list_alone", lambda *_: [])
        [(_, histogram)] = store.histograms("app", Selection())
    return histogram.people


def test_the_state_that_is_left_is_that_of_everybody(tmp_path):
    """As of a store that got the same reports and kept them."""
    survey, batches = fourier(), []
    with open_store(None, read_only=False) as whole, open_store(None, read_only=False) as store:
        for seed in range(4):
            batches.append(reports(survey, 150, seed))
            whole.ingest_table(batches[-1], survey)
            store.ingest_table(batches[-1], survey)
            store.delete_counts("app", [seed + 1])
        assert alike(answers(whole), answers(store))
        store.export(tmp_path / "copy.duckdb", ["app"])
        with open_store(tmp_path / "copy.duckdb", read_only=False) as copy:
            assert alike(answers(whole), answers(copy))
            assert copy.check() == []
            for one, other in (
                (copy, tmp_path / "whole.duckdb"),
                (whole, tmp_path / "copy.duckdb"),
            ):
                if one is copy:
                    whole.export(other)
                    with pytest.raises(DataError, match="in one of the stores; nothing was taken"):
                        copy.import_surveys(other)
        with pytest.raises(DataError, match="in one of the stores; nothing was taken"):
            whole.import_surveys(tmp_path / "copy.duckdb")


def test_a_state_that_is_changed_is_found_as_far_as_it_can_be(tmp_path):
    survey = fourier()
    for what, said in (
        ("UPDATE batches SET reports = reports + 1 WHERE number = 1", "have 301"),
        ("DELETE FROM sums_app WHERE ldpsql_part = 0", "do not add up to those of everybody"),
        ("UPDATE decoded SET version = version + 1", "sums that this version does not read"),
    ):
        path = tmp_path / f"{len(said)}.duckdb"
        with open_store(path, read_only=False) as store:
            store.ingest_table(reports(survey, 300, 1), survey)
            store.delete_counts("app", [1])
            store._connection.execute(what)
            assert any(said in fault for fault in store.check()), store.check()


def test_counts_that_nothing_tells_apart_are_deleted_together_or_not_at_all(store):
    survey = fourier()
    for seed in range(3):
        store.ingest_table(reports(survey, 100, seed), survey)
    store.delete_reports("app", [1, 2])
    with pytest.raises(DataError, match="of the batches 1, 2 of app only the counts are left"):
        store.delete_counts("app", [1, 3])
    assert store.delete_counts("app", [3]) == 100
    assert people_counted(store) == 200
    assert store.check() == []
    with pytest.raises(DataError, match="there is no such batch"):
        store.delete_counts("app", [9])


def test_a_survey_that_is_not_decoded_keeps_its_counts(store):
    survey = fake_survey()
    store.ingest_table(reports_of(survey, 30), survey)
    with pytest.raises(DataError, match="no decoded sums of them are kept"):
        store.delete_counts("app", [1])


@BOTH
def test_deleted_reports_keep_their_counts(store, options):
    survey = fake_survey(options=options, public=PUBLIC)
    for seed in range(3):
        store.ingest_table(reports_of(survey, 50, seed), survey)
    before = everything(store)
    assert store.delete_reports("app", [1, 3]) == 100
    assert everything(store) == before
    assert [batch.state for batch in store.batches("app")] == ["counts", "reports", "counts"]
    assert store._rows("SELECT count(*) FROM reports_app") == [(50,)]
    assert store.check() == []
    store.withdraw("app", [2])
    assert store.sizes("app").sum() == 100
    with pytest.raises(DataError, match="deleted once counted"):
        store.withdraw("app", [1])


def test_a_removed_survey_leaves_nothing_and_its_name_is_free(store):
    kept, gone = fourier("kept"), fourier("gone")
    for survey in (kept, gone):
        store.ingest_table(reports(survey, 50, 1), survey)
    store.catch_up()
    store.remove_survey("GONE")
    assert [survey.table for survey in store.surveys()] == ["kept"]
    for query in ("SELECT table_name FROM duckdb_tables()", "SELECT survey FROM batches"):
        assert not [name for (name,) in store._rows(query) if "gone" in name]
    with pytest.raises(QueryError, match="no survey 'gone'"):
        store.survey("gone")
    other = fake_survey("gone")
    store.ingest_table(reports_of(other, 20), other)
    assert store.survey("gone") == other
    assert store.sizes("gone").sum() == 20
    assert store.check() == []


def test_a_survey_that_comes_again_is_not_answered_from_what_was_there_before(store):
    survey, session = fourier(), Session(store)
    for size in (50, 80):
        store.ingest_table(reports(survey, size, size), survey)
        [answer] = session.execute("SELECT COUNT(*) AS n FROM app").table.to_pylist()
        assert answer["n"] == pytest.approx(size)
        store.remove_survey("app")


def test_a_survey_that_cannot_be_read_is_named_and_can_be_removed(store):
    survey = fake_survey()
    store.ingest_table(reports_of(survey, 20), survey)
    newer = "replace(json, '\"ldpsql_survey\":1', '\"ldpsql_survey\":9')"
    store._rows(f"UPDATE surveys SET json = {newer}")
    [fault] = store.check()
    assert fault.startswith("survey app: ")
    assert "version" in fault
    store.remove_survey("app")
    assert store.check() == []


FAULTS = [
    ("DELETE FROM reports_app WHERE rowid = 0", "batch 1 should have 12,000 reports, and there"),
    (
        "INSERT INTO reports_app SELECT * REPLACE (7 AS ldpsql_batch) FROM reports_app LIMIT 2",
        "not",
    ),
    ("UPDATE histogram_app SET ldpsql_count = ldpsql_count + 1 WHERE rowid = 0", "counts are not"),
    ("DELETE FROM histogram_app WHERE rowid = 3", "counts are not"),
    ("DELETE FROM batches", "not listed"),
    ("INSERT INTO batches FROM batches LIMIT 1", "listed more than once"),
    ("UPDATE reports_app SET ldpsql_face = 200 WHERE rowid = 5", "no reports of the survey"),
    ("INSERT INTO ids_app FROM ids_app LIMIT 4", "4 ids are remembered twice"),
    ("DROP TABLE ids_app", "the table ids_app is gone"),
    ("ALTER TABLE histogram_app ADD COLUMN more INTEGER", "other columns"),
    ("UPDATE surveys SET fingerprint = repeat('0', 64)", "fingerprint"),
    ("INSERT INTO batches SELECT * REPLACE ('other' AS survey) FROM batches", "batches of other"),
    ("CREATE OR REPLACE TABLE lookups.regions AS SELECT 'NY' AS state", "look-up table regions"),
]


@pytest.mark.parametrize(("change", "said"), FAULTS)
def test_check_says_what_is_wrong(store, change, said):
    survey = fake_survey()
    store.ingest_table(reports_of(survey, 12_000), survey)
    store.add_lookup(PublicTable.of("regions", pa.table({"state": ["CA"]})))
    assert store.check() == []
    with store._change():
        column = store._layout("app").report_type.name
        store._rows(change.replace("ldpsql_face", column))
    faults = store.check()
    assert any(said in fault for fault in faults), faults
    assert all("\n" not in fault for fault in faults)


def test_check_decodes_anew(store):
    survey = fourier()
    for seed in range(2):
        store.ingest_table(reports(survey, 300, seed), survey)
        store.catch_up()
    store.ingest_table(reports(survey, 5, 9), survey)
    assert store._rows("SELECT count(*) > 1 FROM parts_app") == [(True,)]
    assert store.check() == []
    for table in ("sums_app", "whole_app"):
        with pytest.raises(ZeroDivisionError), store._change():
            other = f"(SELECT sums FROM {table} t WHERE t.name = {table}.name LIMIT 1 OFFSET 1)"
            if table == "whole_app":
                store._rows(f"DELETE FROM {table} WHERE ldpsql_part = -1")
            else:
                store._rows(f"UPDATE {table} SET sums = {other} WHERE ldpsql_part = 0")
            assert store.check() == [
                "survey app: what is kept of its decoded reports is not what they decode to"
            ]
            raise ZeroDivisionError  # which rolls back


def filled(path):
    first, second = fake_survey("app"), fake_survey("shop", UNARY, PUBLIC)
    with open_store(path, read_only=False) as store:
        store.ingest_table(reports_of(first, 12_000), first)
        store.ingest_table(reports_of(second, 50), second)
        store.ingest_table(reports_of(second, 60, 1), second)
        store.add_lookup(PublicTable.of("regions", pa.table({"state": ["CA"]})))
    return first, second


@pytest.mark.fast(1)
@pytest.mark.parametrize("read_only", [True, False])
def test_a_copy_holds_the_named_surveys_and_nothing_else(tmp_path, read_only):
    path, whole, part = (tmp_path / name for name in ("s.duckdb", "whole.duckdb", "part.duckdb"))
    first, second = filled(path)
    with open_store(path, read_only=read_only) as store:
        truth = everything(store, "shop")
        store.export(whole)
        store.export(part, ["SHOP"])
        with pytest.raises(StoreError, match="already exists"):
            store.export(part)
        with pytest.raises(QueryError, match="no survey 'x'"):
            store.export(tmp_path / "x.duckdb", ["x"])
    assert part.stat().st_mode & 0o777 == 0o600
    with open_store(whole, read_only=False) as store:
        assert store.surveys() == [first, second]
        assert [table.name for table in store.lookups()] == ["regions"]
        assert store.check() == []
    with open_store(part, read_only=False) as store:
        assert store.surveys() == [second]
        assert everything(store, "shop") == truth
        assert store.ingest_table(reports_of(second, 10, 3), second).reports == 10
        assert store.check() == []
    assert files_in(tmp_path) == sorted([path.name, whole.name, part.name])


def test_vacuum_leaves_what_counts_and_nothing_of_what_was_deleted(tmp_path):
    path = tmp_path / "s.duckdb"
    first, _ = filled(path)
    text = first.fingerprint.encode()
    assert text in path.read_bytes()
    with open_store(path, read_only=False) as store:
        truth = everything(store, "shop")
        store.remove_survey("app")
    path.chmod(0o640)
    vacuum_store(path)
    assert text not in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o640
    with open_store(path, read_only=True) as store:
        assert everything(store, "shop") == truth
        assert [table.name for table in store.lookups()] == ["regions"]
        assert store.check() == []
    assert files_in(tmp_path) == ["s.duckdb"]
    assert text not in (tmp_path / "s.duckdb.snapshot").read_bytes()


def test_vacuum_waits_for_whoever_has_the_store(tmp_path):
    path = tmp_path / "s.duckdb"
    filled(path)
    script = (
        "import sys, time; from ldpsql.store import open_store; "
        "s = open_store(sys.argv[1], read_only=True); print('open', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdout.readline() == "open\n"
        with pytest.raises(StoreError, match=f"locked by process {reader.pid}"):
            vacuum_store(path, patience=0.1)
        reader.stdin.close()
    vacuum_store(path)
    with pytest.raises(StoreError, match="there is no store"):
        vacuum_store(tmp_path / "none.duckdb")


def test_a_store_whose_file_was_replaced_while_it_opened_is_opened_again(tmp_path, monkeypatch):
    path, other = tmp_path / "s.duckdb", tmp_path / "other.duckdb"
    filled(path)
    shutil.copy(path, other)
    with open_store(other, read_only=False) as store:
        store.remove_survey("app")
    connect = duckdb.connect

    def replace_meanwhile(*args, **kwargs):
        opened = connect(*args, **kwargs)
        if other.exists():
            other.replace(path)
        return opened

    monkeypatch.setattr(duckdb, "connect", replace_meanwhile)
    with open_store(path, read_only=True) as store:
        assert [survey.table for survey in store.surveys()] == ["shop"]


def unpack(number, path):
    """A store as an earlier format wrote it."""
    path.write_bytes(gzip.decompress((STORES / f"format_{number}.duckdb.gz").read_bytes()))
    return path


@pytest.fixture
def old(tmp_path):
    """A store of the earliest format that is known."""
    return unpack(3, tmp_path / "old.duckdb")


def test_a_store_of_an_earlier_format_is_brought_up_to_this_one(old):
    with open_store(old, read_only=False) as store:
        assert [survey.table for survey in store.surveys()] == ["app", "bits", "shop"]
        assert store.check() == []
        states = [(b.reports, b.state, b.day) for b in store.batches("app")]
        assert states == [
            (300, "reports", None),
            (200, "reports", None),
            (50, "reports", date(2026, 11, 22)),
        ]
        assert [batch.state for batch in store.batches("shop")] == ["counts", "reports"]
        assert store.withdraw("bits", [1]) == 300
        assert store.sizes("bits").sum() == 200
    with open_store(old, read_only=True) as store:
        assert store._rows("SELECT format FROM ldpsql_store") == [(layout.FORMAT,)]


def test_a_withdrawn_batch_of_an_earlier_format_has_no_day(tmp_path):
    with open_store(unpack(4, tmp_path / "old.duckdb"), read_only=False) as store:
        assert [batch.state for batch in store.batches("bits")] == ["withdrawn", "reports"]
        assert store.check() == []
        [(own,)] = store._rows("SELECT id FROM batches WHERE survey = 'bits' AND number = 1")
        assert store._find_batches([own])["bits", own].startswith("withdrawn (batch 1), and not")


def test_an_earlier_format_is_not_read_until_somebody_may_write(old):
    before = old.read_bytes()
    with pytest.raises(StoreError, match=r"earlier version of ldpsql; bring it up .* db vacuum"):
        open_store(old, read_only=True)
    assert old.read_bytes() == before
    vacuum_store(old)
    with open_store(old, read_only=True) as store:
        assert store.check() == []


def test_a_migration_that_fails_changes_nothing(old, monkeypatch):
    steps = {3: (*layout.MIGRATIONS[3], "SELECT error('no room')")}
    monkeypatch.setattr("ldpsql.store.opening.MIGRATIONS", steps)
    with pytest.raises(StoreError, match="no room"):
        open_store(old, read_only=False)
    with duckdb.connect(str(old)) as database:
        assert database.execute("SELECT format FROM ldpsql_store").fetchall() == [(3,)]
        assert len(database.execute("DESCRIBE batches").fetchall()) == 8


def test_every_format_between_has_its_step(old, monkeypatch):
    """A made-up later format: all steps are taken, in their order."""
    last = layout.FORMAT
    steps = {**layout.MIGRATIONS, last: ("ALTER TABLE batches RENAME COLUMN taken TO came",)}
    monkeypatch.setattr("ldpsql.store.opening.MIGRATIONS", steps)
    monkeypatch.setattr("ldpsql.store.opening.FORMAT", last + 1)
    open_store(old, read_only=False).close()
    with duckdb.connect(str(old)) as database:
        assert database.execute("SELECT format FROM ldpsql_store").fetchall() == [(last + 1,)]
        assert "came" in [row[0] for row in database.execute("DESCRIBE batches").fetchall()]
    assert set(layout.MIGRATIONS) == set(range(min(layout.MIGRATIONS), layout.FORMAT))
    assert {int(file.name[7]) for file in STORES.iterdir()} == set(layout.MIGRATIONS)


@pytest.mark.parametrize("work", ["merge_if_worthwhile", "catch_up"])
def test_a_fault_after_the_commit_is_not_one_of_the_batch(store, tmp_path, monkeypatch, work):
    """No report is lost by it, and counting again refuses none."""
    survey, path = fourier(), tmp_path / "r.parquet"
    pq.write_table(reports(survey, 30, 1), path)

    def fail(*_):
        raise NO_ROOM

    with monkeypatch.context() as patched:
        patched.setattr(fold if work == "merge_if_worthwhile" else store, work, fail)
        [batch] = store.ingest([path], survey=survey)
        assert batch.reports == 30
    assert store.sizes("app").sum() == 30
    store.catch_up()
    assert store.check() == []


CHANGING = """
import sys
import time
from ldpsql.store import open_store, vacuum_store
path = sys.argv[1]
print("begun", flush=True)
while True:
    with open_store(path, read_only=False) as store:
        left = [batch.number for batch in store.batches("app") if batch.is_kept and batch.reports]
        if len(left) > 1:
            store.withdraw("app", left[:1])
        if len(left) > 2:
            store.delete_reports("app", left[-1:])
    vacuum_store(path)
"""


@pytest.mark.parametrize("kills", [1, pytest.param(40, marks=pytest.mark.slow)])
def test_who_is_killed_leaves_batches_whole_or_gone(tmp_path, kills):
    survey, path, whole = fourier(), tmp_path / "s.duckdb", tmp_path / "whole.duckdb"
    with open_store(whole, read_only=False) as store:
        for seed in range(6):
            store.ingest_table(reports(survey, 100 + seed, seed), survey)
    chosen, seen = random.Random(3), set()
    for _ in range(kills):
        shutil.copy(whole, path)
        command = [sys.executable, "-c", CHANGING, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as killed:
            assert killed.stdout.readline() == "begun\n"
            time.sleep(chosen.uniform(0.0, 1.5))
            killed.kill()
        with open_store(path, read_only=False) as store:
            assert store.check() == []
            batches = store.batches("app")
            kept = sum(99 + b.number for b in batches if b.withdrawn is None)
            assert store.sizes("app").sum() == kept == sum(b.reports for b in batches)
            seen.add(tuple(batch.state for batch in batches))
        vacuum_store(path)
        assert files_in(tmp_path) == ["s.duckdb", "whole.duckdb"]
    assert len(seen) > 3 or kills < 40, "no kill hit a change"
