from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.fake_survey import PLAIN, PUBLIC, UNARY, fake_survey, reports_of

from ldpsql.errors import QueryError
from ldpsql.store import Selection, open_store
from ldpsql_device.errors import InterfaceError, SurveyError


def people(store, table="app"):
    [(_, histogram)] = store.histograms(table, Selection())
    return histogram.people


def test_two_surveys_live_in_one_file(tmp_path):
    path = tmp_path / "s.duckdb"
    first, second = fake_survey("app"), fake_survey("shop", UNARY, PUBLIC)
    with open_store(path, read_only=False) as store:
        store.ingest_table(reports_of(first, 100), first)
        store.ingest_table(reports_of(second, 50), second)
    with open_store(path, read_only=True) as store:
        assert store.surveys() == [first, second]
        assert (people(store, "app"), people(store, "shop")) == (100, 50)


def test_a_survey_of_a_newer_version_stops_no_other(tmp_path):
    path = tmp_path / "s.duckdb"
    first, newer = fake_survey("app"), fake_survey("shop")
    with open_store(path, read_only=False) as store:
        store.ingest_table(reports_of(first, 100), first)
        store.ingest_table(reports_of(newer, 50), newer)
    with duckdb.connect(path) as database:
        version = "replace(json, '\"ldpsql_survey\":1', '\"ldpsql_survey\":9')"
        database.execute(f"UPDATE surveys SET json = {version} WHERE name = 'shop'")
    pq.write_table(reports_of(first, 10, 1), tmp_path / "r.parquet")
    with open_store(path, read_only=False) as store:
        store.ingest([tmp_path / "r.parquet"])
        store.tidy()
        assert people(store) == 110
        assert store.surveys() == [first]
        assert [intake.table for intake in store.intakes()] == ["app"]
        with pytest.raises(SurveyError, match=r"^survey shop: not a survey of version 1, .*update"):
            store.survey("shop")
        with pytest.raises(SurveyError, match="version"):
            store.intake("shop")
        with pytest.raises(QueryError, match=r"the store has: app$"):
            store.survey("other")


def test_a_table_in_memory_says_itself_to_which_survey_it_belongs(store):
    store.register(fake_survey())
    store.register(fake_survey("shop"))
    store.ingest_table(reports_of(fake_survey(), 10))
    assert people(store) == 10


def test_the_version_moves_when_reports_arrive_and_only_then(store, tmp_path):
    survey = fake_survey()
    pq.write_table(reports_of(survey, 10), tmp_path / "r.parquet")
    pq.write_table(reports_of(survey, 0), tmp_path / "none.parquet")
    store.register(survey)
    versions = [store.version("app")]
    for name in ("r.parquet", "r.parquet", "none.parquet"):
        store.ingest([tmp_path / name])
        versions.append(store.version("APP"))
    assert versions[0] < versions[1] == versions[2] == versions[3]


@pytest.mark.parametrize("options", [PLAIN, UNARY], ids=["plain", "unary"])
def test_a_histogram_stays_what_it_was_when_reports_arrive(store, options):
    survey = fake_survey(options=options)
    store.ingest_table(reports_of(survey, 10), survey)
    [(_, histogram)] = store.histograms("app", Selection())
    store.ingest_table(reports_of(survey, 5), survey)
    assert histogram.people == histogram.sizes.sum() == 10
    assert people(store) == store.sizes("app").sum() == 15


def test_within_a_snapshot_a_thread_sees_no_reports_that_arrive(store):
    survey = fake_survey(public=PUBLIC)
    store.ingest_table(reports_of(survey, 10), survey)

    def state():
        batch, version = store.smallest_batch("app"), store.version("app")
        everybody = store.public_people("app").column("ldpsql_people").to_numpy().sum()
        return people(store), store.sizes("app").sum(), everybody, batch, version

    with store.snapshot(), ThreadPoolExecutor(1) as other:
        before = state()
        store.ingest_table(reports_of(survey, 5), survey)
        with store.snapshot():
            assert state() == before
        assert state() == before
        assert other.submit(state).result()[:4] == (15, 15, 15, 5)
    assert before[:4] == (10, 10, 10, 10)
    assert state()[:4] == (15, 15, 15, 5)


def test_a_closed_store_refuses_and_closes_twice(store):
    store.close()
    store.close()
    with pytest.raises(InterfaceError, match="closed"):
        store.surveys()


def test_memory_cannot_be_read_only():
    with pytest.raises(InterfaceError):
        open_store(":memory:", read_only=True)


def test_threads_may_read_and_write_at_once(store):
    survey = fake_survey()
    store.register(survey)
    tables = [reports_of(survey, 100, seed) for seed in range(8)]

    def work(table: pa.Table) -> int:
        store.ingest_table(table, survey)
        return people(store)

    with ThreadPoolExecutor(4) as pool:
        seen = list(pool.map(work, tables))
    assert people(store) == 800
    assert all(count % 100 == 0 for count in seen)
