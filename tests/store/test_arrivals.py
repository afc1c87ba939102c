"""Reports that come one by one: a batch per survey, day and source, in orders that tell nothing."""

from __future__ import annotations

import json
from datetime import date, timedelta

import pytest
from support.fake_survey import PUBLIC, UNARY, fake_survey, reports_of, with_new_ids
from support.planned_survey import device_text
from support.shuffled_survey import SCHEMA, raw_reports, shuffled_survey

from ldpsql.engine.session import Session
from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql.store import Selection, open_store
from ldpsql.store.incoming import check_sent
from ldpsql.store.intake import Intake
from ldpsql.store.report_files import ReportPiece, check_rows, read_arrow
from ldpsql.survey import Survey
from ldpsql_device.errors import ReportError
from ldpsql_device.survey import canonical

TODAY = date(2026, 3, 1)


def rows_of(survey, table):
    [batch] = table.combine_chunks().to_batches()
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    return check_rows(Intake.of(survey), ReportPiece(batch.num_rows, columns, read_arrow)).reports


def take(store, survey, table, source="http"):
    return store.take(Intake.of(survey), [rows_of(survey, table)], source)


def rows(store, sql):
    with store._read_snapshot() as cursor:
        return cursor.execute(sql).fetchall()


def everything(store):
    keys = tuple(column.name for column in store.survey("app").schema.public)
    return {
        key: sorted(zip(*(c.tolist() for c in part.columns), part.counts.tolist(), strict=True))
        for key, part in store.histograms("app", Selection(None, keys))
    }


@pytest.mark.fast(1)
@pytest.mark.parametrize("options", ["plain", "unary"])
def test_commits_of_a_day_become_one_batch_and_change_no_count(store, clock, options):
    survey = fake_survey(public=PUBLIC, **({"options": UNARY} if options == "unary" else {}))
    store.register(survey)
    tables = [reports_of(survey, size, seed) for seed, size in enumerate((40, 1, 1, 6000, 6000, 3))]
    with open_store(None, read_only=False) as other:
        for table in tables:
            assert take(store, survey, table) == table.num_rows
            other.ingest_table(table, survey)
        clock(TODAY + timedelta(days=1))
        take(store, survey, tables[0])
        late = [reports_of(survey, 1, 7), reports_of(survey, 1, 8)]
        for table in late:
            take(store, survey, table)
            other.ingest_table(table, survey)
        take(store, survey, late[0], "elsewhere")
        before = everything(store)
        assert before == everything(other)
        version = store.version("app")
        store.tidy()
        assert everything(store) == before
        assert store.version("app") == version
    batches = rows(store, "SELECT name, day, sum(reports)::INT, count(*) FROM batches GROUP BY ALL")
    assert sorted(batches)[-1] == ("http", TODAY + timedelta(days=1), 2, 1)
    assert sorted(batches)[0][:3] == ("http", TODAY, 12_045)
    assert len(batches) == 2
    # Counted again from the reports themselves.
    store.refresh("app")
    assert everything(store) == before


def test_after_tidying_no_order_tells_when_a_report_came(store):
    survey = fake_survey(public=PUBLIC)
    store.register(survey)
    tables = [reports_of(survey, 1, seed) for seed in range(20)]
    for table in tables:
        take(store, survey, table)
    store.tidy()
    assert len(rows(store, "FROM batches")) == 1
    ids = [own.bytes for (own,) in rows(store, f"SELECT {ID_COLUMN} FROM ids_app")]
    assert ids == sorted(table[ID_COLUMN][0].as_py() for table in tables)
    kept = rows(store, "SELECT * EXCLUDE ldpsql_batch FROM reports_app")
    ordered = rows(store, "SELECT * EXCLUDE ldpsql_batch FROM reports_app ORDER BY ALL")
    assert kept == ordered
    assert {row[0] for row in rows(store, "SELECT ldpsql_batch FROM reports_app")} == {20}


def test_a_batch_that_is_partly_counted_is_counted_once(store):
    """The histogram takes the first half, and more comes on the same day."""
    survey = fake_survey()
    store.register(survey)
    for seed in range(3):
        take(store, survey, reports_of(survey, 12_000, seed))
        take(store, survey, reports_of(survey, 10, 100 + seed))
    before = everything(store)
    for _ in range(2):
        store.tidy()
        assert everything(store) == before
    take(store, survey, reports_of(survey, 40_000, 9))
    store.tidy()
    [(_, histogram)] = store.histograms("app", Selection())
    assert histogram.people == 3 * 12_010 + 40_000
    assert len(rows(store, "FROM batches")) <= 2


def test_repeats_within_and_between_commits_and_files_count_once(store):
    survey = fake_survey()
    table = reports_of(survey, 50)
    store.ingest_table(table.slice(0, 20), survey)
    assert take(store, survey, table) == 30
    assert take(store, survey, table) == 0
    assert store.ingest_table(table).repeats == 50
    assert [row[4] for row in rows(store, "FROM batches ORDER BY number")] == [20, 30, 0]


def test_surveys_that_have_ended_or_trust_a_shuffler_take_none(store, clock):
    with pytest.raises(ReportError, match="go to its shuffler"):
        store.take(Intake.of(shuffled_survey()), [], "http")
    published = {**json.loads(device_text()), "validity": {"until": "2026-03-01"}}
    intake = Intake.read(canonical(published))
    store.register(intake)
    batch, _ = check_sent(intake, [b'{"id":"%032x","report":"0000","public":{"shop":null}}' % 1])
    assert store.take(intake, [batch], "http") == 1
    clock(TODAY + timedelta(days=1))
    with pytest.raises(ReportError, match="ended on 2026-03-01"):
        store.take(intake, [batch], "http")


def test_lines_of_devices_are_taken_and_others_told_by_place():
    intake = Intake.read(device_text())
    good = '{"id":"%032x","report":"%04x","public":{"shop":null}}'
    lines = [
        (good % (1, 0)).encode(),
        b"not json",
        (good % (2, 200)).encode(),
        (good % (3, 1)).replace("null", "3").encode(),
        (good % (4, 1)).replace('"shop"', '"name"').encode(),
        (good % (5, 1)).replace('"id"', '"ip"').encode(),
        (good % (6, 1)).replace("}}", '},"id":"0"}').encode(),
        (good % (7, 1)).encode(),
    ]
    batch, refused = check_sent(intake, lines)
    assert [own.hex()[-1] for own in batch[ID_COLUMN].to_pylist()] == ["1", "7"]
    assert [place for place, _ in sorted(refused)] == [1, 2, 3, 4, 5, 6]
    assert dict(refused)[3] == "shop is not of type text"
    assert check_sent(intake, [b"x"]) == (None, [(0, "it is not a JSON object with distinct keys")])


@pytest.mark.slow
def test_sums_of_decoded_reports_hold_every_report_once_through_tidying():
    survey = Survey.of("app", SCHEMA, "2", "fourier")
    table = raw_reports(survey, 4000)
    parts = [table.slice(at, 250) for at in range(0, 4000, 250)]
    sql = "SELECT member, COUNT(*) AS n FROM app WHERE age < 30 GROUP BY member ORDER BY member"
    with open_store(None, read_only=False) as other, open_store(None, read_only=False) as store:
        store.register(survey)
        for number, part in enumerate(parts):
            take(store, survey, part)
            other.ingest_table(part, survey)
            if number % 3 == 1:
                store.tidy()
            if number % 5 == 2:
                store.catch_up()
            found, expected = (
                Session(each).execute(sql).table["n"].to_pylist() for each in (store, other)
            )
            assert found == pytest.approx(expected)
        store.refresh("app")
        assert Session(store).execute(sql).table["n"].to_pylist() == pytest.approx(expected)


@pytest.mark.slow
@pytest.mark.parametrize("memory", [24, None])
def test_the_memory_of_a_store_can_be_limited(tmp_path, memory):
    """What does not fit is read from its file again. The control has no limit, and takes more."""
    survey, count, times = fake_survey(), 100_000, 17
    reports = reports_of(survey, count)
    with open_store(tmp_path / "s.duckdb", read_only=False, memory=memory) as store:
        store.register(survey)
        rows(store, "SET threads = 2")  # for each needs some
        for _ in range(times):
            assert take(store, survey, with_new_ids(reports)) == count
        assert take(store, survey, reports) == count
        assert take(store, survey, reports) == 0
        store.tidy()
        [(_, histogram)] = store.histograms("app", Selection())
        assert histogram.people == (times + 1) * count
        [(used,)] = rows(store, "SELECT sum(memory_usage_bytes)::BIGINT FROM duckdb_memory()")
        assert (used <= 24_000_000) is (memory is not None)
