from __future__ import annotations

import pytest
from support.fake_survey import PLAIN, PUBLIC, UNARY, fake_survey, reports_of
from support.histograms import counts_of, everything

from ldpsql.store import Selection, fold

SMALL = 10_000


def table_rows(store):
    with store._read_snapshot() as cursor:
        return cursor.execute("SELECT count(*) FROM histogram_app").fetchone()[0]


@pytest.mark.fast(1)
@pytest.mark.parametrize("options", [PLAIN, UNARY], ids=["plain", "unary"])
@pytest.mark.parametrize("public", [(), PUBLIC], ids=["private", "public"])
@pytest.mark.parametrize("keep", ["reports", "counts", "both"])
def test_counting_batch_by_batch_equals_counting_anew(store, options, public, keep):
    survey = fake_survey(options=options, public=public)
    again = fake_survey("again", options=options, public=public)
    sizes = [4000, 1, 9000, 3, 14_000]
    for seed, size in enumerate(sizes):
        table = reports_of(survey, size, seed, signed=False)
        kept = {"both": "counts" if seed == 2 else "reports"}.get(keep, keep)
        store.ingest_table(table, survey, keep=kept)
        store.ingest_table(table, again)
    store.refresh("again")
    keys = tuple(column.name for column in public)
    truth = {
        (key, row): count
        for key, histogram in store.histograms("again", Selection(None, keys))
        for row, count in counts_of(histogram, 3).items()
    }
    assert everything(store) == truth
    [(_, histogram)] = store.histograms("app", Selection())
    assert histogram.people == sum(sizes)


def test_a_small_tail_stays_in_the_reports_and_a_large_one_is_merged(store):
    survey = fake_survey()
    store.ingest_table(reports_of(survey, SMALL - 1), survey)
    assert table_rows(store) == 0
    store.ingest_table(reports_of(survey, SMALL, 1), survey)
    assert 0 < table_rows(store) <= 5 * 3 + 2 + 300 * 8


def test_reports_that_are_nearly_all_different_are_not_stored_twice(store):
    survey = fake_survey(options={"limits": [[1 << 30, 1 << 30]] * 3})
    table = reports_of(survey, 3 * SMALL)
    store.ingest_table(table, survey)
    assert table_rows(store) == 0
    [(_, histogram)] = store.histograms("app", Selection())
    assert histogram.people == 3 * SMALL


def test_refresh_repairs_a_damaged_histogram(store):
    survey = fake_survey(public=PUBLIC)
    store.ingest_table(reports_of(survey, 2 * SMALL), survey)
    before = everything(store)
    with store._read_snapshot() as cursor:
        cursor.execute("UPDATE histogram_app SET ldpsql_count = 7")
    assert everything(store) != before
    store.refresh("app")
    assert everything(store) == before


def test_appended_counts_are_merged_in_time(store, monkeypatch):
    monkeypatch.setattr(fold, "_SMALL", 500)
    survey = fake_survey(options=UNARY)
    rows = []
    for seed in range(24):
        store.ingest_table(reports_of(survey, 50, seed), survey, keep="counts")
        rows.append(table_rows(store))
    assert max(rows) < 1000
    assert rows != sorted(rows)


@pytest.mark.parametrize("bits", [1, 7, 8, 9, 16, 17, 31, 32])
def test_words_of_any_width_are_counted_bit_by_bit(store, bits):
    survey = fake_survey(options={"bits": [bits, 1, bits]})
    table = reports_of(survey, 300)
    store.ingest_table(table, survey)
    [(_, histogram)] = store.histograms("app", Selection())
    words = table["ldpsql_answer0"].to_numpy()[table["ldpsql_question"].to_numpy() == 2]
    counts = dict(zip(histogram.load(2).columns[0].tolist(), histogram.load(2).counts, strict=True))
    assert counts.pop(-1) == len(words)
    assert counts == {bit: n for bit in range(bits) if (n := int((words >> bit & 1).sum()))}
