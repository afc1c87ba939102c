"""Sees raw values and reports, for evaluation only. A whole survey in memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ldpsql.bench.entropy import SeededEntropy
from ldpsql.client.table import randomize_batch
from ldpsql.dbapi import Connection
from ldpsql.engine.backends.base import Selection
from ldpsql.engine.backends.duckdb import DuckDBStore
from ldpsql.mechanisms.base import StagedDesign
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

    confidence, estimator: as in `ldpsql.dbapi.connect`. A mechanism that asks in rounds gets them
    all: the people are split among the rounds at random, and the connection is to the last one.
    The same seed gives the same reports. A survey that promises nothing is answered as well, for
    nothing leaves this process. RecordError if a record does not fit the survey.
    """
    entropy, store = SeededEntropy(seed), DuckDBStore.open(None, read_only=False)
    parts = _rounds(survey, table, seed)
    for number, people in enumerate(parts):
        if number:
            ((_, histogram),) = store.histograms(survey.table, Selection())
            survey = survey.next_round(histogram)
            store.close()
            store = DuckDBStore.open(None, read_only=False)
        reports, _ = randomize_batch(survey, people, entropy, accept_no_guarantee=True)
        store.ingest_table(reports, survey)
    return Connection(store, confidence=confidence, estimator=estimator)


def _rounds(survey: Survey, table: pa.Table, seed: int) -> list[pa.Table]:
    """The people of each round; all of them where there is one."""
    design = survey.design
    if not isinstance(design, StagedDesign):
        return [table]
    left = design.rounds - design.round + 1
    chosen = np.random.default_rng([seed, left]).integers(0, left, table.num_rows)
    return [table.filter(pa.array(chosen == number)) for number in range(left)]
