"""Sees raw values and reports, for evaluation only. A whole survey in memory."""

from __future__ import annotations

import pyarrow as pa

from ldpsql.bench.entropy import SeededEntropy
from ldpsql.client.table import randomize_batch
from ldpsql.dbapi import Connection
from ldpsql.engine.backends.duckdb import DuckDBStore
from ldpsql.survey import Survey


def simulate(
    survey: Survey,
    table: pa.Table,
    *,
    seed: int = 0,
    confidence: float = 0.95,
    estimator: str | None = None,
) -> Connection:
    """Randomize a table, ingest the reports into memory, and connect to them.

    confidence, estimator: as in `ldpsql.dbapi.connect`. The same seed gives the same reports.
    RecordError if a record does not fit the survey.
    """
    reports, _ = randomize_batch(survey, table, SeededEntropy(seed))
    store = DuckDBStore.open(None, read_only=False)
    store.ingest_table(reports, survey)
    return Connection(store, confidence=confidence, estimator=estimator)
