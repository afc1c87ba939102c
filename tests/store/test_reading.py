from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
from support.fake_survey import PLAIN, PUBLIC, UNARY, fake_survey, reports_of

from ldpsql.algebra.boxes import Weight
from ldpsql.store import Selection
from ldpsql_device.errors import InternalError

AMOUNT, DAYS = Weight("amount"), Weight("day", "present")
GROUP = Weight("group")
MOMENTS = ((AMOUNT, AMOUNT), (AMOUNT, DAYS), (GROUP, None))
ALL = (*MOMENTS, (AMOUNT, None), (DAYS, None))


ORACLE = duckdb.connect()


def query(table: pa.Table, sql: str) -> pa.Table:
    """DuckDB's answer over the table, which is called raw."""
    with ORACLE.cursor() as connection:
        connection.register("raw", table)
        return connection.sql(sql).to_arrow_table()


CASES = pytest.mark.parametrize("options", [PLAIN, UNARY], ids=["plain", "unary"])


@CASES
def test_rows_are_distinct_reports(store, options):
    survey = fake_survey(options=options, public=PUBLIC)
    for seed in range(3):
        store.ingest_table(reports_of(survey, 500, seed), survey)
    [(_, histogram)] = store.histograms("app", Selection())
    for report_type in range(3):
        rows = list(zip(*(c.tolist() for c in histogram.load(report_type).columns), strict=True))
        assert len(set(rows)) == len(rows)


@CASES
def test_moments_are_those_of_the_raw_reports(store, options):
    survey = fake_survey(options=options, public=PUBLIC)
    table = reports_of(survey, 3000)
    store.ingest_table(table, survey)
    [(_, histogram)] = store.histograms("app", Selection(None, (), MOMENTS))
    assert set(histogram.totals) == set(ALL)
    truth = raw_moments(table, "true")
    for pair in ALL:
        assert histogram.totals[pair] == pytest.approx(truth[pair])
    for report_type in range(3):
        rows = histogram.load(report_type)
        truth = raw_moments(table, f"ldpsql_question = {report_type}")
        for pair in ALL:
            moments = rows.moment(*pair)
            if options is UNARY:
                moments = moments[rows.columns[0] == -1]
            assert moments.sum() == pytest.approx(truth[pair])


def test_moments_of_bits_are_those_of_the_people_who_set_them(store):
    survey = fake_survey(options=UNARY, public=PUBLIC)
    table = reports_of(survey, 2000)
    store.ingest_table(table, survey)
    [(_, histogram)] = store.histograms("app", Selection(None, (), MOMENTS))
    rows = histogram.load(2)
    place = rows.columns[0].tolist().index(45)
    truth = raw_moments(table, "ldpsql_question = 2 AND (ldpsql_answer1 >> 13) & 1 = 1")
    for pair in ALL:
        assert rows.moment(*pair)[place] == pytest.approx(truth[pair])


def raw_moments(table: pa.Table, condition: str) -> dict:
    sql = {
        AMOUNT: 'coalesce("amount", 0)',
        DAYS: '("day" IS NOT NULL)::INT',
        GROUP: 'coalesce("group", 0)',
        None: "1",
    }
    sums = ", ".join(f"coalesce(sum({sql[a]} * {sql[b]}), 0)::DOUBLE" for a, b in ALL)
    found = query(table, f"SELECT {sums} FROM raw WHERE {condition}")
    return dict(zip(ALL, (column[0].as_py() for column in found.columns), strict=True))


def test_without_reports_there_is_one_empty_histogram_and_none_by_keys(store):
    survey = fake_survey(public=PUBLIC)
    store.register(survey)
    [(_, histogram)] = store.histograms("app", Selection(None, (), MOMENTS))
    assert histogram.people == 0
    assert set(histogram.totals.values()) == {0.0}
    assert len(histogram.load(1).counts) == 0
    assert list(store.histograms("app", Selection(None, ("day",)))) == []
    store.ingest_table(reports_of(survey, 10), survey)
    [(_, histogram)] = store.histograms("app", Selection("false"))
    assert histogram.people == 0


def test_only_public_columns_can_be_keys(store):
    store.register(fake_survey(public=PUBLIC))
    with pytest.raises(InternalError, match="age is not a public column"):
        store.histograms("app", Selection(None, ("age",)))
