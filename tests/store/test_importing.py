"""Surveys of one store taken into another: nothing is lost, nothing counts twice."""

from __future__ import annotations

from datetime import timedelta

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.fake_survey import PLAIN, PUBLIC, UNARY, fake_survey, reports_of
from support.histograms import everything
from support.store_files import files_in
from support.surveys import boolean, integer, public, survey_toml

from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql.errors import QueryError
from ldpsql.randomize.table import randomize_batch
from ldpsql.sql.lookups import PublicTable
from ldpsql.store import merge_stores, open_store
from ldpsql.store import store as store_module
from ldpsql.store.intake import Intake
from ldpsql.store.store import Store
from ldpsql_device.errors import DataError, FingerprintError, InterfaceError, StoreError
from ldpsql_device.errors import IntegrityError as Conflict
from ldpsql_device.survey import utc_today
from ldpsql_lab.simulation import SeededEntropy, accept_everything

BOTH = pytest.mark.parametrize("options", [PLAIN, UNARY], ids=["plain", "unary"])


@pytest.fixture
def make(tmp_path):
    """Makes a store of files of reports: their sizes by seed, and how to keep them."""

    def run(name, survey, sizes, **options):
        path = tmp_path / f"{name}.duckdb"
        with open_store(path, read_only=False) as store:
            for seed, size in sizes.items():
                file = tmp_path / f"{survey.table}-{seed}.parquet"
                if not file.exists():
                    pq.write_table(reports_of(survey, size, seed), file)
                store.ingest([file], survey=survey, **options)
        return path

    return run


@pytest.mark.fast(1)
@BOTH
@pytest.mark.parametrize("sizes", [(40, 30, 20, 25), (12_000, 9_000, 11_000, 15_000)])
@pytest.mark.parametrize("is_there", [False, True])
def test_what_was_imported_is_as_though_it_had_been_ingested(
    make, tmp_path, options, sizes, is_there
):
    survey = fake_survey(options=options, public=PUBLIC)
    first, second = dict(enumerate(sizes[:2])), dict(enumerate(sizes[1:], start=1))
    source, whole = make("source", survey, second), make("whole", survey, dict(enumerate(sizes)))
    target = make("target", survey, first if is_there else {})
    with open_store(target, read_only=False) as store, open_store(whole, read_only=True) as truth:
        [done] = store.import_surveys(source)
        known = int(is_there)
        assert (done.table, done.batches, done.known) == ("app", 3 - known, known)
        assert done.reports == sum(sizes[1 + known :])
        if is_there:
            assert everything(store) == everything(truth)
            assert store.sizes("app").tolist() == truth.sizes("app").tolist()
            names = {batch.name for batch in truth.batches("app")}
            assert {batch.name for batch in store.batches("app")} == names
        assert store.check() == []
        [again] = store.import_surveys(source)
        assert (again.reports, again.batches, again.known) == (0, 0, 3)
        [file] = store.ingest([tmp_path / "app-2.parquet"])
        assert (file.reports, file.known) == (0, True)
        repeat = store.ingest_table(reports_of(survey, sizes[2], 2), survey)
        assert repeat.reports == sizes[2]  # with ids of their own
        table = store.ingest_table(pq.read_table(tmp_path / "app-3.parquet"), survey)
        assert (table.reports, table.repeats) == (0, sizes[3])
        assert store.check() == []


@pytest.mark.fast(1)
@BOTH
def test_counts_of_deleted_reports_come_along(make, options):
    survey = fake_survey(options=options, public=PUBLIC)
    source = make("source", survey, {1: 30, 2: 40}, keep="counts")
    with open_store(source, read_only=False) as store:
        store.ingest_table(reports_of(survey, 20, 3), survey)
        store.ingest_table(reports_of(survey, 25, 4), survey)
        store.withdraw("app", [4])
        truth = everything(store)
    with open_store(make("target", survey, {}), read_only=False) as store:
        [done] = store.import_surveys(source)
        assert (done.reports, done.batches) == (90, 4)
        assert everything(store) == truth
        states = [batch.state for batch in store.batches("app")]
        assert states == ["counts", "counts", "reports", "withdrawn"]
        assert store.check() == []
        with pytest.raises(DataError, match="has only its counts"):
            store.import_surveys(source)
        assert everything(store) == truth


def test_decoded_sums_follow(tmp_path):
    columns = (integer("age", 0, 8), boolean("member"), public("kind", "text"))
    survey = design(survey_toml(*columns, epsilon="2", mechanism="fourier"))

    def some(seed):
        rows = {"age": [seed] * 90, "member": [True] * 90, "kind": ["a", "b", None] * 30}
        policy = accept_everything(survey)
        return randomize_batch(survey, pa.table(rows), SeededEntropy(seed), policy=policy)[0]

    batches = [some(seed) for seed in range(3)]
    places = [tmp_path / name for name in ("whole.duckdb", "a.duckdb", "b.duckdb")]
    for place, own in zip(places, (batches, batches[:1], batches[1:]), strict=True):
        with open_store(place, read_only=False) as store:
            for batch in own:
                store.ingest_table(batch, survey)
    question = f"SELECT kind, COUNT(*) AS n FROM {survey.table} WHERE age < 4 GROUP BY kind"
    with open_store(places[1], read_only=False) as store:
        store.import_surveys(places[2])
        found = Session(store).execute(question).table.to_pylist()
        assert store.check() == []
    with open_store(places[0], read_only=True) as store:
        truth = Session(store).execute(question).table.to_pylist()
    assert [row["kind"] for row in found] == [row["kind"] for row in truth]
    for one, other in zip(found, truth, strict=True):
        assert one["n"] == pytest.approx(other["n"], rel=1e-9)


def test_repeats_that_nothing_tells_apart_are_refused_and_nothing_is_taken(make, tmp_path):
    survey = fake_survey()
    source = make("source", survey, {1: 30, 2: 40})
    target = make("target", survey, {1: 30})
    with open_store(target, read_only=False) as store:
        # The second file's reports came from elsewhere, some of them, and in another order.
        store.ingest_table(pq.read_table(tmp_path / "app-2.parquet").slice(5, 10), survey)
        before = everything(store)
        with pytest.raises(DataError, match=r"^10 reports of app came to both stores in different"):
            store.import_surveys(source)
        assert everything(store) == before
        assert store.check() == []
        [file] = store.ingest([tmp_path / "app-2.parquet"])
        assert (file.reports, file.repeats) == (30, 10)


def test_a_forgotten_batch_explains_no_repeats(make, tmp_path, monkeypatch):
    """Its ids are gone here, so that as many others that both stores have are told."""
    survey = fake_survey()
    source = make("source", survey, {1: 30, 2: 40})
    today = utc_today()
    with monkeypatch.context() as patch:
        patch.setattr(store_module, "utc_today", lambda: today - timedelta(days=800))
        target = make("target", survey, {1: 30})
    with open_store(target, read_only=False) as store:
        store._forget_ids(today)
        assert store._rows("SELECT count(*) FROM ids_app") == [(0,)]
        store.ingest_table(pq.read_table(tmp_path / "app-2.parquet").slice(5, 10), survey)
        with pytest.raises(DataError, match=r"^10 reports of app came to both"):
            store.import_surveys(source)


def test_what_a_batch_dropped_as_repeats_stays_dropped(make, tmp_path):
    """Of one file in both stores, one store had taken some reports with another file."""
    survey = fake_survey()
    file = tmp_path / "app-1.parquet"
    source = make("source", survey, {1: 30})
    with open_store(tmp_path / "target.duckdb", read_only=False) as store:
        store.ingest_table(pq.read_table(file).slice(0, 12), survey)
        assert store.ingest([file])[0].reports == 18
        [done] = store.import_surveys(source)
        assert (done.reports, done.known) == (0, 1)
        assert store.sizes("app").sum() == 30
    with (
        open_store(source, read_only=False) as store,
        pytest.raises(DataError, match="12 reports of app came to both"),
    ):
        store.import_surveys(tmp_path / "target.duckdb")


def test_ids_are_remembered_for_the_longer_time(make, monkeypatch):
    survey = fake_survey()
    source = make("source", survey, {1: 30})
    today = utc_today()
    with monkeypatch.context() as patch:
        patch.setattr(store_module, "utc_today", lambda: today - timedelta(days=3))
        target = make("target", survey, {1: 30})
    last = Intake.of(survey).schedule.last_sending_day
    with open_store(target, read_only=False) as store:
        query = "SELECT DISTINCT ldpsql_last FROM ids_app"
        assert store._rows(query) == [(last(today - timedelta(days=3)),)]
        store.import_surveys(source)
        assert store._rows(query) == [(last(today),)]
        ids = [own for (own,) in store._rows("SELECT ldpsql_id FROM ids_app")]
        assert ids == sorted(ids, key=str)


def test_what_does_not_fit_is_refused_whole(make, tmp_path):
    survey, other = fake_survey(), fake_survey("shop")
    source = make("source", survey, {1: 30})
    make("source", other, {2: 20})
    with open_store(source, read_only=False) as store:
        store.add_lookup(PublicTable.of("regions", pa.table({"state": ["CA"]})))
    target = tmp_path / "target.duckdb"
    with open_store(target, read_only=False) as store:
        store.register(fake_survey("shop", options=UNARY))
        with pytest.raises(FingerprintError, match="knows another survey shop"):
            store.import_surveys(source)
        assert [survey.table for survey in store.surveys()] == ["shop"]
        [done] = store.import_surveys(source, ["APP"])
        assert (done.table, done.reports, store.lookups()) == ("app", 30, [])
        with pytest.raises(QueryError, match="no survey 'none'"):
            store.import_surveys(source, ["none"])
        with pytest.raises(InterfaceError, match="is the store itself"):
            store.import_surveys(target)
    with open_store(tmp_path / "third.duckdb", read_only=False) as store:
        store.add_lookup(PublicTable.of("regions", pa.table({"state": ["NY"]})))
        with pytest.raises(Conflict, match="there is a look-up table regions"):
            store.import_surveys(source)
        assert store.surveys() == []
        store.remove_lookup("regions")
        assert [each.table for each in store.import_surveys(source)] == ["app", "shop"]
        assert [table.name for table in store.lookups()] == ["regions"]
        store.import_surveys(source)
    with duckdb.connect(str(source)) as spoilt:
        spoilt.execute("DELETE FROM reports_app WHERE rowid = 0")
    with (
        open_store(tmp_path / "fourth.duckdb", read_only=False) as store,
        pytest.raises(DataError, match=r"not in order.*batch 1 should have 30 reports"),
    ):
        store.import_surveys(source)


def test_stores_are_merged_into_a_new_one(make, tmp_path):
    survey = fake_survey(public=PUBLIC)
    one, two = make("one", survey, {1: 30, 2: 40}), make("two", survey, {2: 40, 3: 20})
    whole = make("whole", survey, {1: 30, 2: 40, 3: 20})
    before = files_in(tmp_path)
    merged = tmp_path / "merged.duckdb"
    assert [each.reports for each in merge_stores([one, two], merged)] == [70, 20]
    with open_store(merged, read_only=True) as store, open_store(whole, read_only=True) as truth:
        assert everything(store) == everything(truth)
        assert store.check() == []
    assert files_in(tmp_path) == sorted([*before, "merged.duckdb"])
    assert merged.stat().st_mode & 0o777 == 0o600
    with pytest.raises(StoreError, match="already exists"):
        merge_stores([one], merged)
    with pytest.raises(StoreError, match="there is no store"):
        merge_stores([one, tmp_path / "none.duckdb"], tmp_path / "other.duckdb")
    assert files_in(tmp_path) == sorted([*before, "merged.duckdb"])


def test_a_merged_store_whose_log_could_not_be_written_into_it_is_refused(
    make, tmp_path, monkeypatch
):
    """DuckDB says nothing of it when it closes a file."""
    source, close = make("one", fake_survey(), {1: 30}), Store.close

    def fail(store):
        close(store)
        if store.path.name.endswith(".new"):
            store.path.with_name(f"{store.path.name}.wal").write_bytes(b"what was committed last")

    monkeypatch.setattr(Store, "close", fail)
    before = files_in(tmp_path)
    with pytest.raises(StoreError, match="what was merged did not get into the file"):
        merge_stores([source], tmp_path / "merged.duckdb")
    assert files_in(tmp_path) == before


def test_an_import_that_fails_changes_nothing(make, monkeypatch):
    survey = fake_survey()
    source, target = make("source", survey, {1: 30}), make("target", survey, {2: 20})
    with open_store(target, read_only=False) as store:
        before, batches = everything(store), store.batches("app")

        def fail(*_):
            raise StoreError("no room")

        store.tidy()  # looks at the day
        with monkeypatch.context() as patch:
            patch.setattr(store, "_see_day", fail)
            latest = {store: None}
            patch.setattr(Store, "_latest_day", lambda own: latest.get(own, utc_today()))
            with pytest.raises(StoreError, match="no room"):
                store.import_surveys(source)
        assert (everything(store), store.batches("app")) == (before, batches)
        assert store.check() == []
