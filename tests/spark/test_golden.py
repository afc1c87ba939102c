"""Every statement of the golden answers, asked of Spark and of DuckDB over the same reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.golden_files import read_column, survey, table

from ldpsql.dbapi.connection import Connection
from ldpsql.engine.result import Result
from ldpsql.errors import UnsupportedSQL
from ldpsql.mechanisms.registry import MECHANISMS
from ldpsql.randomize.table import randomize_batch
from ldpsql.spark.store import SparkStore
from ldpsql.store import open_store
from ldpsql_lab.simulation import SeededEntropy, accept_everything, collect

PRECISION = 1e-9

pytestmark = pytest.mark.spark


def ask(connection: Connection, sql: str) -> Result | str:
    """A result, or why there is none."""
    try:
        return connection.execute(sql).result
    except UnsupportedSQL as error:
        return str(error)


def columns_of(result: Result) -> list[list[Any]]:
    """Values, standard errors and ends of intervals."""
    intervals = [
        list(bound)
        for _, own in sorted(result.intervals.items())
        for bound in (own.stderr, own.low, own.high)
    ]
    return [*(column.to_pylist() for column in result.table.columns), *intervals]


def assert_same(spark: Result | str, duckdb: Result | str) -> None:
    """The same to 1e-9, and the same words."""
    if isinstance(spark, str) or isinstance(duckdb, str):
        assert spark == duckdb
        return
    assert spark.table.schema == duckdb.table.schema
    assert (spark.notes, spark.reports) == (duckdb.notes, duckdb.reports)
    for own, other in zip(columns_of(spark), columns_of(duckdb), strict=True):
        assert len(own) == len(other)
        for value, wanted in zip(own, other, strict=True):
            if isinstance(wanted, float):
                close = pytest.approx(wanted, rel=PRECISION, abs=PRECISION, nan_ok=True)
                assert value == close
            else:
                assert value == wanted


@pytest.mark.fast(2)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_spark_answers_as_duckdb_does(spark: Any, tmp_path: Path, mechanism: str) -> None:
    """Reports in two files, which are counted one after the other, of a survey's last round."""
    folder = tmp_path / "reports"
    folder.mkdir()
    asked, simulated = collect(survey(mechanism), table(), seed=1)
    simulated.close()
    policy = accept_everything(asked)
    reports, _ = randomize_batch(asked, table(), SeededEntropy(1), policy=policy)
    pq.write_table(reports.slice(0, 3_000), folder / "1.parquet")
    with (
        open_store(None, read_only=False) as local,
        SparkStore(spark, str(folder), asked, read_only=False) as store,
    ):
        local.ingest_table(reports, asked)
        store.catch_up()
        pq.write_table(reports.slice(2_500), folder / "2.parquet")
        for sql in read_column(mechanism):
            assert_same(ask(Connection(store), sql), ask(Connection(local), sql))
