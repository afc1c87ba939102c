"""A whole survey in memory: `simulate` has the people of a table answer it, and gives a connection.

For evaluation only: raw values and reports meet here, and devices draw from a seeded generator.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ldpsql.algebra.estimate import CONFIDENCE
from ldpsql.dbapi.connection import Connection
from ldpsql.mechanisms.rounds import Rounds
from ldpsql.randomize.table import randomize_batch
from ldpsql.reports.report import Histogram, Integers, Reports
from ldpsql.shuffler import shuffle_table
from ldpsql.store import Selection, open_store
from ldpsql.store.store import Store
from ldpsql.survey import Survey
from ldpsql_device.policy import Policy
from ldpsql_device.survey import Published


class SeededEntropy:
    """Words from a seeded generator. Predictable: no report of a real person may come from it."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def words(self, count: int) -> NDArray[np.uint64]:
        """`count` pseudo-random 64-bit integers, shape (count,)."""
        return self._generator.integers(0, 2**64, size=count, dtype=np.uint64)


def accept_everything(survey: Published) -> Policy:
    """The policy that allows whatever a survey takes: for tables of the evaluator's own."""
    guarantee = survey.guarantee
    return Policy(
        guarantee.epsilon or 0,
        max_delta=guarantee.delta,
        disclosure=True,
        no_guarantee=True,
        public={column.name for column in survey.schema.public},
    )


@dataclass
class Spent:
    """Seconds by kind of work; `clock` tells them."""

    seconds: dict[str, float] = field(default_factory=dict)
    clock: Callable[[], float] = time.perf_counter

    @contextmanager
    def on(self, work: str) -> Iterator[None]:
        """Add what the block takes."""
        started = self.clock()
        try:
            yield
        finally:
            self.seconds[work] = self.seconds.get(work, 0.0) + self.clock() - started


def simulate(
    survey: Survey,
    table: pa.Table,
    *,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    estimator: str | None = None,
    spent: Spent | None = None,
) -> Connection:
    """Randomize a table, ingest the reports into memory, and connect to them.

    confidence, estimator: as in `ldpsql.connect`. A mechanism that asks in rounds gets them all:
    the people are split among the rounds at random, and the connection is to the last one.
    The same seed gives the same reports; those of a survey that trusts a shuffler are shuffled. A
    survey that promises nothing, or gives values away, is answered as well, for nothing leaves
    this process. spent: where to add the seconds of "design" (of later rounds), "randomize" and
    "ingest". RecordError if a column is not there, ReportError for too few people to
    shuffle.
    """
    _, store = collect(survey, table, seed=seed, spent=spent)
    return Connection(store, confidence=confidence, estimator=estimator)


def collect(
    survey: Survey, table: pa.Table, *, seed: int = 0, spent: Spent | None = None
) -> tuple[Survey, Store]:
    """As `simulate`, for those who ask the estimator itself: the last round's survey, and a store
    of its reports, which is the caller's to close."""
    spent, design = spent or Spent(), survey.design
    entropy, store = SeededEntropy(seed), open_store(None, read_only=False)
    parts = [table]
    if isinstance(design, Rounds):
        survey = replace(survey, author=None, signature=None)  # nobody signs the rounds to come
        left = design.rounds - design.round + 1
        chosen = np.random.default_rng([seed, left]).integers(0, left, table.num_rows)
        parts = [table.filter(pa.array(chosen == number)) for number in range(left)]
    for number, people in enumerate(parts):
        if number:
            with spent.on("design"):
                ((_, histogram),) = store.histograms(survey.table, Selection())
                survey = survey.next_round(histogram)
            store.close()
            store = open_store(None, read_only=False)
        with spent.on("randomize"):
            policy = accept_everything(survey)
            reports, _ = randomize_batch(survey, people, entropy, policy=policy)
        if survey.shuffled is not None:
            reports = shuffle_table(survey, reports)
        with spent.on("ingest"):
            store.ingest_table(reports, survey)
    return survey, store


def _count_equal(columns: Sequence[Integers]) -> tuple[Sequence[Integers], Integers]:
    """Different rows of columns of numbers from 0, in ascending order, and how often each is there.

    As digits of one number wherever that fits, which sorts several times faster than rows do.
    """
    sizes = [int(column.max(initial=0)) + 1 for column in columns]
    if prod(sizes) >= 1 << 62:
        distinct, counts = np.unique(np.stack(columns), axis=1, return_counts=True)
        return list(distinct), counts.astype(np.int64)
    flat, counts = np.unique(np.ravel_multi_index(columns, sizes), return_counts=True)
    return np.unravel_index(flat, sizes), counts.astype(np.int64)


def histogram_of(reports: Reports) -> Histogram:
    """Counts of equal reports, or counts per bit for unary formats, without a database."""
    form = reports.format
    columns = [np.asarray(reports.columns[name]).astype(np.int64) for name in form.columns]
    if not form.unary:
        rows, counts = _count_equal(columns)
        return Histogram(form.types, tuple(rows), counts)
    words = np.stack(columns[1:], axis=1).astype("<u4").view(np.uint8)
    bits = np.unpackbits(words, axis=1, bitorder="little")
    # The row of bit -1 counts the reports of a type, the others those that set a bit.
    marked = np.insert(bits, 0, 1, axis=1)
    counts = np.array([marked[columns[0] == own].sum(axis=0) for own in range(form.types)])
    owners, numbers = np.indices(counts.shape)
    rows = (owners.ravel(), numbers.ravel() - 1)
    return Histogram(form.types, rows, counts.ravel().astype(np.int64), unary=True)
