"""What every store keeps to: which reports it takes, and what it says of them.

What is expected is worked out from the reports themselves, by numpy and DuckDB over the raw table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.fake_survey import (
    PLAIN,
    PUBLIC,
    UNARY,
    fake_survey,
    reports_of,
    with_new_ids,
    write_csv,
    write_jsonl,
)
from support.histograms import counts_of
from support.shuffled_survey import USERS, raw_reports, shuffled_survey

from ldpsql.algebra.boxes import Weight
from ldpsql.errors import Place, QueryError
from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql.shuffler import shuffle_table
from ldpsql.spark.session import start
from ldpsql.spark.store import SparkStore
from ldpsql.sql.lookups import PublicTable
from ldpsql.sql.quoting import Scalar
from ldpsql.store import Selection, open_store
from ldpsql.store import store as store_module
from ldpsql.store.intake import Intake
from ldpsql.store.shuffled_batch import BATCH_KEY, ShuffledBatch
from ldpsql.store.store import Store
from ldpsql.survey import Survey
from ldpsql_device.errors import FingerprintError, InterfaceError, ReportError, StoreError

AMOUNT, DAYS = Weight("amount"), Weight("day", "present")
MOMENTS = ((AMOUNT, AMOUNT), (AMOUNT, DAYS), (AMOUNT, None), (DAYS, None))
SQL = {AMOUNT: 'coalesce("amount", 0)', DAYS: '("day" IS NOT NULL)::INT', None: "1"}


class Kind:
    """A kind of store: opens the one of a test, again and again."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder

    @contextmanager
    def open(self, survey: Survey | Intake, *, read_only: bool = False) -> Iterator[Store]:
        if self.name == "spark":
            reports = self.folder / "reports"
            reports.mkdir(exist_ok=True)
            opened = SparkStore(start(), str(reports), survey, read_only=read_only)
        else:
            opened = open_store(self.folder / "store.duckdb", read_only=read_only)
        with opened as store:
            if not read_only:
                store.register(survey)
            yield store


@pytest.fixture(
    params=["duckdb", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.slow])]
)
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> Kind:
    """Every kind of store; that of Spark where it and Java are there."""
    if request.param == "spark":
        request.getfixturevalue("spark")
    return Kind(request.param, tmp_path)


ORACLE = duckdb.connect()


def query(table: pa.Table, sql: str) -> list[tuple]:
    """DuckDB's answer over raw reports."""
    with ORACLE.cursor() as connection:
        connection.register("raw", table)
        return connection.sql(sql).fetchall()


def counted(table: pa.Table, options: dict) -> Counter:
    """What a histogram of reports counts."""
    names = [f"ldpsql_{name}" for name in ("question", "answer0", "answer1")]
    columns = [table[name].to_numpy().astype(np.int64) for name in names]
    if options is PLAIN:
        return Counter(zip(*(column.tolist() for column in columns), strict=True))
    group, *words = columns
    found: Counter = Counter()
    for report_type in range(3):
        found[report_type, -1] = int((group == report_type).sum())
        for number, word in enumerate(words):
            for bit in range(32):
                chosen = word[group == report_type] >> bit & 1
                found[report_type, 32 * number + bit] = int(chosen.sum())
    return +found


def tell(batches: list) -> list[tuple]:
    return [(batch.reports, batch.repeats, batch.skipped, batch.known) for batch in batches]


def people(store: Store) -> int:
    return int(store.sizes("app").sum())


OPTIONS = pytest.mark.parametrize("options", [PLAIN, UNARY], ids=["plain", "unary"])


@OPTIONS
def test_a_report_counts_once_whatever_brings_it(kind: Kind, options: dict) -> None:
    """Files of every format, a file again, a grown one, another order, one id twice."""
    survey = fake_survey(options=options, public=PUBLIC)
    table, new = reports_of(survey, 600, 1), kind.folder / "new"
    new.mkdir()
    forged = reports_of(survey, 1, 2)
    place = forged.column_names.index(ID_COLUMN)
    forged = forged.set_column(place, ID_COLUMN, table[ID_COLUMN].slice(7, 1))
    pq.write_table(pa.concat_tables([table.slice(0, 300), forged]), new / "1.parquet")
    write_csv(table.slice(200, 200), new / "2.csv")
    write_jsonl(table.slice(350, 100), new / "3.jsonl")
    pq.write_table(pa.concat_tables([table.slice(400), table.slice(0, 400)]), new / "4.parquet")
    with kind.open(survey) as store:
        version = store.version("app")
        first = tell(store.ingest([new], survey=survey))
        assert first == [
            (300, 1, 0, False),
            (100, 100, 0, False),
            (50, 50, 0, False),
            (150, 450, 0, False),
        ]
        assert store.version("app") != version
        again = tell(store.ingest([new], survey=survey))
        assert again == [(0, 0, 0, True)] * 4
    with kind.open(survey) as store:
        version = store.version("app")
        pq.write_table(with_new_ids(table.slice(0, 1)), new / "1.parquet")
        assert tell(store.ingest([new / "1.parquet"], survey=survey)) == [(1, 0, 0, False)]
        assert store.version("app") != version
        [(key, histogram)] = store.histograms("app", Selection())
        everybody = pa.concat_tables([table, table.slice(0, 1)])
        assert (key, histogram.people, histogram.unary) == ((), 601, options is UNARY)
        assert counts_of(histogram, 3) == counted(everybody, options)
        assert store.smallest_batch("app") == 1
        assert store.arrivals("app") == [(None, 601)]


@OPTIONS
def test_selections_are_those_of_the_raw_reports(kind: Kind, options: dict) -> None:
    """Conditions, keys and sums of public columns, in words that every database has and in
    DuckDB's own."""
    survey = fake_survey(options=options, public=PUBLIC)
    table = reports_of(survey, 1500, 3)
    parity = Scalar('"group" % 2', ("group",), "BIGINT", Place("", 0))
    conditions = (
        None,
        '"amount" >= 1 AND "group" IS NULL OR "day" = DATE \'2026-01-02\'',
        '"amount" <> 0.5 AND date_part(\'day\', "day") = 2',
    )
    with kind.open(survey) as store:
        store.ingest_table(table.slice(0, 700), survey)
        store.ingest_table(table.slice(700), survey)
        for condition in conditions:
            where = f"WHERE {condition or 'true'}"
            sizes = query(table, f"SELECT ldpsql_question, count(*) FROM raw {where} GROUP BY ALL")
            assert store.sizes("app", condition).tolist() == [dict(sizes)[i] for i in range(3)]
            for keys in ((), ("DAY", parity)):
                sql = ["day", '"group" % 2'] if keys else ["NULL::INTEGER"]
                sums = ", ".join(f"sum({SQL[a]} * {SQL[b]})::DOUBLE" for a, b in MOMENTS)
                wanted = query(
                    table,
                    f"SELECT {', '.join(sql)}, count(*), {sums} FROM raw {where} GROUP BY ALL "
                    f"ORDER BY {', '.join(f'{key} NULLS LAST' for key in sql)}",
                )
                found = store.histograms("app", Selection(condition, keys, MOMENTS))
                assert [key for key, _ in found] == [row[: len(keys)] for row in wanted]
                for (key, histogram), row in zip(found, wanted, strict=True):
                    assert histogram.siblings == len(wanted)
                    sums_of = [histogram.totals[pair] for pair in MOMENTS]
                    assert [histogram.people, *sums_of] == pytest.approx(row[-5:], rel=1e-12)
                    if keys:
                        own = " AND ".join(
                            f"{name} IS NOT DISTINCT FROM ({text})"
                            for name, text in zip(sql, map(_literal, key), strict=True)
                        )
                        chosen = _filter(table, f"({condition or 'true'}) AND {own}")
                    else:
                        chosen = _filter(table, condition or "true")
                    assert counts_of(histogram, 3) == counted(chosen, options)
        wanted = query(table, 'SELECT day, amount, "group", count(*) FROM raw GROUP BY ALL')
        listed = store.public_people("app")
        assert listed.column_names == ["day", "amount", "group", "ldpsql_people"]
        assert Counter(tuple(row.values()) for row in listed.to_pylist()) == Counter(wanted)


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    return f"DATE '{value}'" if isinstance(value, date) else str(value)


def _filter(table: pa.Table, condition: str) -> pa.Table:
    with ORACLE.cursor() as connection:
        connection.register("raw", table)
        return connection.sql(f"FROM raw WHERE {condition}").to_arrow_table()


def test_what_fits_no_report_is_refused_and_files_before_it_stay(kind: Kind) -> None:
    survey, other = fake_survey(public=PUBLIC), fake_survey(epsilon="2", public=PUBLIC)
    good, new = reports_of(survey, 50, 1), kind.folder / "new"
    rows = good.to_pylist()
    rows[3]["ldpsql_question"] = 3
    bad = pa.Table.from_pylist(rows, schema=good.schema)
    refused = {
        "foreign": (reports_of(other, 10), FingerprintError, "holds reports of another survey"),
        "unfit": (bad, ReportError, r"b.parquet: row 4: ldpsql_question is out of range"),
        "raw": (good.append_column("age", [[1] * 50]), ReportError, "column 8 is not part of"),
        "idless": (good.drop_columns([ID_COLUMN]), ReportError, "its reports have no ids"),
        "typed": (
            good.set_column(3, "day", pa.array(["x"] * 50)),
            ReportError,
            "column 'day' is string, it must be date",
        ),
    }
    new.mkdir()
    with kind.open(survey) as store:
        for number, (table, error, words) in enumerate(refused.values()):
            pq.write_table(with_new_ids(good.slice(number, 1)), new / "a.parquet")
            pq.write_table(table, new / "b.parquet")
            pq.write_table(good, new / "c.parquet")
            with pytest.raises(error, match=words) as raised:
                store.ingest([new], survey=survey)
            assert "\n" not in str(raised.value)
            assert people(store) == number + 1
        pq.write_table(bad, new / "b.parquet")
        [*_, skipped, rest] = store.ingest([new], survey=survey, skip_invalid=True)
        assert tell([skipped, rest]) == [(49, 0, 1, False), (1, 49, 0, False)]
        (new / "d.parquet").write_bytes(b"PAR1 and nothing more")
        with pytest.raises(ReportError, match=r"d.parquet cannot be read: it is damaged"):
            store.ingest([new / "d.parquet"], survey=survey)
        assert people(store) == 5 + 50


def test_a_folder_without_reports_and_a_missing_one_are_refused(kind: Kind) -> None:
    survey, new = fake_survey(), kind.folder / "new"
    new.mkdir()
    with kind.open(survey) as store:
        for name, words in ((new, "there is no report file in"), (new / "x", "there is no file")):
            with pytest.raises(ReportError, match=words):
                store.ingest([name], survey=survey)
        assert people(store) == 0


def test_crowds_are_as_large_as_was_promised(kind: Kind) -> None:
    survey, new = shuffled_survey(), kind.folder / "new"
    new.mkdir()
    raw = raw_reports(survey, USERS)
    pq.write_table(raw, new / "raw.parquet")
    pq.write_table(shuffle_table(survey, raw), new / "batch.parquet")
    said = {BATCH_KEY.encode(): ShuffledBatch(survey.fingerprint, 400).to_json().encode()}
    few = shuffle_table(survey, raw).slice(0, 400)
    few = few.replace_schema_metadata({**few.schema.metadata, **said})
    pq.write_table(few, new / "small.parquet")
    with kind.open(survey) as store:
        with pytest.raises(ReportError, match=r"raw.parquet was not shuffled"):
            store.ingest([new / "raw.parquet"])
        with pytest.raises(ReportError, match="holds 400 reports, fewer than the 1,000"):
            store.ingest([new / "small.parquet"])
        assert store.smallest_batch("app") is None
        assert tell(store.ingest([new / "batch.parquet"])) == [(USERS, 0, 0, False)]
        (new / "copy.parquet").write_bytes((new / "batch.parquet").read_bytes())
        assert tell(store.ingest([new / "copy.parquet"])) == [(0, 0, 0, True)]
        taken = store.ingest([new / "small.parquet"], accept_smaller_batch=True)
        assert tell(taken) == [(400, 0, 0, False)]
        assert (store.smallest_batch("app"), people(store)) == (400, USERS + 400)


def test_nothing_is_taken_after_the_end_of_a_survey(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = fake_survey()
    schedule = replace(survey.schedule, start=date(2026, 1, 1), end=date(2026, 1, 31))
    ended = replace(Intake.of(survey), schedule=schedule)
    monkeypatch.setattr(store_module, "utc_today", lambda: date(2026, 6, 1))
    with (
        kind.open(survey) as store,
        pytest.raises(ReportError, match="ended on 2026-01-31, after which no report is taken"),
    ):
        store.ingest_table(reports_of(survey, 5), ended)


def test_a_name_stands_for_one_survey(kind: Kind) -> None:
    survey = fake_survey()
    with kind.open(survey) as store:
        assert [each.table for each in store.surveys()] == ["app"]
        assert store.survey("APP").fingerprint == survey.fingerprint
        assert store.intake_of(survey.fingerprint).table == "app"
        with pytest.raises(QueryError, match="there is no survey 'shop'"):
            store.survey("shop")
        with pytest.raises(FingerprintError, match="the store knows another survey app"):
            store.register(fake_survey(epsilon="2"))


def test_tables_that_everybody_may_see_are_kept(kind: Kind) -> None:
    survey, rows = fake_survey(), pa.table({"age": [1, 2], "name": ["one", None]})
    with kind.open(survey) as store:
        store.add_lookup(PublicTable.of("ages", rows))
    with kind.open(survey) as store:
        assert store.lookup("AGES").rows.to_pylist() == rows.to_pylist()
        store.remove_lookup("ages")
        assert store.lookups() == []


def test_who_may_not_write_changes_nothing(kind: Kind) -> None:
    survey = fake_survey()
    table = reports_of(survey, 5)
    with kind.open(survey) as store:
        store.ingest_table(table, survey)
    with kind.open(survey, read_only=True) as store:
        with pytest.raises(StoreError, match="open read-only"):
            store.ingest_table(with_new_ids(table), survey)
        assert people(store) == 5
    with pytest.raises(InterfaceError, match="the store is closed"):
        store.sizes("app")


def test_outer_sql_reaches_nothing_but_its_relations(kind: Kind) -> None:
    survey, path = fake_survey(), kind.folder / "secret.csv"
    path.write_text("a\n1\n")
    with kind.open(survey) as store:
        relation = pa.table({"n": [1.5, 2.5]})
        assert store.evaluate("SELECT sum(n) AS s FROM r", {"r": relation})["s"].to_pylist() == [4]
        with pytest.raises(QueryError):
            store.evaluate(f"SELECT * FROM '{path}'", {})
