from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.fake_survey import PUBLIC, UNARY, fake_survey, reports_of
from support.histograms import everything

from ldpsql.store import open_store
from ldpsql_device.errors import InterfaceError, ReportError, StoreError

TESTS = str(Path(__file__).parents[1])


def with_value(table, column, row, value):
    """The table with one value of a column changed."""
    values = table.column(column).to_pylist()
    values[row] = value
    position = table.column_names.index(column)
    kind = pa.int64() if pa.types.is_integer(table.schema.field(column).type) else None
    return table.set_column(position, column, pa.array(values, type=kind))


@pytest.mark.parametrize("options", ["plain", "unary"])
@pytest.mark.parametrize("keep", ["reports", "counts"])
def test_one_bad_row_refuses_all_of_its_file_and_skipping_takes_the_rest(
    store, tmp_path, options, keep
):
    survey = fake_survey(options=UNARY) if options == "unary" else fake_survey()
    good = reports_of(survey, 60)
    bad = with_value(good, "ldpsql_question", 41, 3)
    pq.write_table(bad, tmp_path / "bad.parquet")
    store.register(survey)
    before = store.version("app")
    with pytest.raises(ReportError, match=r"bad.parquet: row 42: ldpsql_question is out of range"):
        store.ingest([tmp_path], keep=keep)
    assert store.sizes("app").sum() == 0
    assert store.version("app") == before
    [batch] = store.ingest([tmp_path], keep=keep, skip_invalid=True)
    assert (batch.reports, batch.skipped) == (59, 1)
    assert store.sizes("app").sum() == 59


def test_a_refused_file_does_not_even_register_its_survey(store, tmp_path):
    survey = fake_survey()
    survey.write(tmp_path / "app.survey.json")
    pq.write_table(
        with_value(reports_of(survey, 9), "ldpsql_answer1", 3, 99), tmp_path / "r.parquet"
    )
    with pytest.raises(ReportError):
        store.ingest([tmp_path])
    assert store.surveys() == []


def test_only_the_first_bad_rows_are_named(store, tmp_path):
    survey = fake_survey()
    survey.write(tmp_path / "app.survey.json")
    table = reports_of(survey, 300_000)
    position = table.column_names.index("ldpsql_answer0")
    values = table.column("ldpsql_answer0").to_numpy().astype(np.int64)
    values[[7, 131_071, 200_001, 200_002, 200_003, 299_999]] = 1000
    table = table.set_column(position, "ldpsql_answer0", pa.array(values))
    pq.write_table(table, tmp_path / "r.parquet", row_group_size=20_000)
    with pytest.raises(ReportError) as caught:
        store.ingest([tmp_path])
    said = str(caught.value)
    assert [f"row {n}:" in said for n in (8, 131_072, 200_002, 200_003, 200_004)] == [True] * 5
    assert "300000" not in said
    assert "and more" in said
    assert "1000" not in said


def test_counts_only_keeps_no_report_and_answers_the_same(store, tmp_path):
    survey = fake_survey(public=PUBLIC)
    survey.write(tmp_path / "app.survey.json")
    tables = [reports_of(survey, 500, seed) for seed in range(3)]
    other = open_store(None, read_only=False)
    for seed, table in enumerate(tables):
        pq.write_table(table, tmp_path / f"{seed}.parquet")
        other.ingest_table(table, survey)
    store.ingest([tmp_path / "0.parquet", tmp_path / "1.parquet"])
    store.ingest([tmp_path / "2.parquet"], keep="counts")
    with store._read_snapshot() as cursor:
        assert cursor.execute("SELECT count(*) FROM reports_app").fetchone() == (0,)
    with other:
        assert everything(store) == everything(other)
    assert all(batch.known for batch in store.ingest([tmp_path]))
    with pytest.raises(StoreError, match="reports were deleted"):
        store.refresh("app")


def test_an_unknown_way_to_keep_is_refused(store, tmp_path):
    with pytest.raises(InterfaceError, match="keep"):
        store.ingest([tmp_path], keep="everything")


KILLED = """
    import sys, os, signal
    sys.path.insert(0, {here!r})
    from support.fake_survey import FakeMechanism
    from ldpsql.mechanisms import registry
    registry.MECHANISMS["fake"] = FakeMechanism()
    from ldpsql.store import open_store, store
    from ldpsql.store import fold
    def die(*_, **__):
        os.kill(os.getpid(), signal.SIGKILL)
    if {place!r} == "before the commit":
        store.Batch = die
    if {place!r} == "before merging":
        fold.merge_if_worthwhile = die
    opened = open_store({path!r}, read_only=False)
    opened.ingest([{file!r}])
    die()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "expected"),
    [("before the commit", 100), ("before merging", 300_100), ("after it", 300_100)],
)
def test_a_killed_ingest_leaves_the_store_whole(tmp_path, place, expected):
    survey, path = fake_survey(public=PUBLIC), tmp_path / "s.duckdb"
    with open_store(path, read_only=False) as store:
        store.ingest_table(reports_of(survey, 100), survey)
    big = tmp_path / "big.parquet"
    pq.write_table(reports_of(survey, 300_000, 1), big)
    script = textwrap.dedent(KILLED.format(here=TESTS, path=str(path), file=str(big), place=place))
    ended = subprocess.run([sys.executable, "-c", script], check=False, env=dict(os.environ))
    assert ended.returncode == -signal.SIGKILL
    with open_store(path, read_only=True) as store:
        assert store.sizes("app").sum() == expected
    with open_store(path, read_only=False) as store:
        assert store.ingest([big])[0].known == (expected > 100)
        assert store.sizes("app").sum() == 300_100


def test_an_interrupt_rolls_back(store, tmp_path, monkeypatch):
    survey = fake_survey()
    store.ingest_table(reports_of(survey, 10), survey)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("ldpsql.store.store.Batch", interrupt)
        with pytest.raises(KeyboardInterrupt):
            store.ingest_table(reports_of(survey, 10), survey)
    assert store.sizes("app").sum() == 10


def test_large_files_are_counted_whole_where_only_counts_are_kept(store, tmp_path):
    """In several parts, each larger than a row group of DuckDB and the last one smaller."""
    survey = fake_survey()
    pq.write_table(reports_of(survey, 300_000), tmp_path / "r.parquet")
    store.register(survey)
    assert store.ingest([tmp_path], keep="counts")[0].reports == store.sizes("app").sum() == 300_000
