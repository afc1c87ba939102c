"""Runs at the collector. Sees reports. One batch of reports into a store: all of it or nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import duckdb

from ldpsql.store.base import Batch
from ldpsql.store.duckdb import fold
from ldpsql.store.duckdb.checks import Checks, checks
from ldpsql.store.duckdb.crowd import require_crowd, require_shuffled
from ldpsql.store.duckdb.files import Incoming, damaged, is_readable
from ldpsql.store.duckdb.layout import BATCH_COLUMN, Layout, survey_key, text
from ldpsql.store.duckdb.opening import Connection, transaction
from ldpsql.survey import Survey
from ldpsql_device.errors import FingerprintError, InterfaceError

KEEP = ("reports", "counts")


@dataclass(frozen=True)
class Policy:
    """How to take reports.

    skip_invalid: take the reports among rows that are none.  keep: "reports", or "counts" to
    delete all reports of the survey once they are counted.  accept_smaller_batch: take a shuffled
    batch of fewer reports than its survey was designed for; answers then say what it keeps.
    """

    skip_invalid: bool = False
    keep: str = "reports"
    accept_smaller_batch: bool = False

    def __post_init__(self) -> None:
        if self.keep not in KEEP:
            raise InterfaceError(f'keep must be "reports" or "counts", not {self.keep!r}')


def take(
    cursor: Connection,
    incoming: Incoming,
    batch_id: str,
    survey_of: Callable[[Incoming], Survey],
    policy: Policy,
) -> Batch:
    """Take one file or table in one transaction.

    survey_of: which survey the reports belong to, registered inside the same transaction. Raises
    ReportError for rows that are no reports (unless they are to be skipped) and for a damaged
    file, and for reports of a survey that trusts a shuffler unless they are a shuffled batch of at
    least its size; FingerprintError for reports of another survey.
    """
    try:
        with transaction(cursor):
            survey = survey_of(incoming)
            register(cursor, survey, f"{incoming.name}: ")
            layout = Layout.of(survey)
            if _known(cursor, layout, batch_id):
                return Batch(incoming.name, 0, 0, known=True)
            found = checks(cursor, layout, incoming)
            require_shuffled(survey, incoming, found.count_rows(cursor) + incoming.broken)
            batch = _taken(cursor, layout, found, batch_id, policy)
            smaller = policy.accept_smaller_batch
            require_crowd(survey, incoming.name, batch.reports, accept_smaller=smaller)
            return batch
    except duckdb.Error:
        if is_readable(incoming):
            raise
    # Outside the handler: DuckDB's error may quote the file and must not hang on to this one.
    raise damaged(incoming.name)


def register(cursor: Connection, survey: Survey, where: str = "") -> None:
    """Add a survey and its tables; FingerprintError, saying `where`, for another of that name."""
    row = cursor.execute(
        f"SELECT fingerprint FROM surveys WHERE name = {text(survey_key(survey.table))}"
    ).fetchone()
    if row is None:
        cursor.execute(
            "INSERT INTO surveys VALUES (?, ?, ?, 0, 0, 0)",
            [survey_key(survey.table), survey.fingerprint, survey.to_json()],
        )
        for statement in Layout.of(survey).ddl():
            cursor.execute(statement)
    elif row != (survey.fingerprint,):
        raise FingerprintError(
            f"{where}the store knows another survey {survey.table} (fingerprint {row[0][:12]}, not "
            f"{survey.fingerprint[:12]}); use the survey it was made with, or another store"
        )


def _known(cursor: Connection, layout: Layout, batch_id: str) -> bool:
    query = f"SELECT 1 FROM batches WHERE survey = {text(layout.key)} AND id = {text(batch_id)}"
    return cursor.execute(query).fetchone() is not None


def _taken(
    cursor: Connection, layout: Layout, found: Checks, batch_id: str, policy: Policy
) -> Batch:
    """Store or count the reports, and write the batch down."""
    number = _next_number(cursor, layout)
    take_in = _store if policy.keep == "reports" else _count
    taken = take_in(cursor, layout, found.accepted, number)
    skipped = found.count_rows(cursor) - taken + found.incoming.broken
    if skipped and not policy.skip_invalid:
        raise found.error(cursor, layout)
    cursor.execute(
        "INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?, ?)",
        [layout.key, number, batch_id, found.incoming.name, taken, skipped, take_in is _store],
    )
    if take_in is _count:
        discard(cursor, layout)
    if taken:
        bump = f"UPDATE surveys SET version = version + 1 WHERE name = {text(layout.key)}"
        cursor.execute(bump)
    return Batch(found.incoming.name, taken, skipped, known=False)


def _store(cursor: Connection, layout: Layout, accepted: str, number: int) -> int:
    """Keep the reports as they are; a histogram of bits is brought up to date at once."""
    row = cursor.execute(
        f"INSERT INTO {layout.reports} SELECT {number} AS {BATCH_COLUMN}, * FROM ({accepted})"
    ).fetchone()
    if layout.format.unary:
        own = f"SELECT * FROM {layout.reports} WHERE {BATCH_COLUMN} = {number}"
        fold.append(cursor, layout, own)
    return row[0] if row else 0


def _count(cursor: Connection, layout: Layout, accepted: str, number: int) -> int:
    """Count the reports without keeping them."""
    fold.append(cursor, layout, accepted)
    row = cursor.execute(f"SELECT count(*) FROM ({accepted})").fetchone()
    return row[0] if row else 0


def discard(cursor: Connection, layout: Layout) -> None:
    """Delete all reports of a survey, once they are counted."""
    if not layout.format.unary and fold.tail(cursor, layout):
        fold.merge(cursor, layout)
    cursor.execute(layout.ddl()[0])
    name = text(layout.key)
    cursor.execute(f"UPDATE batches SET kept = false WHERE survey = {name}")
    cursor.execute(
        "UPDATE surveys SET counted = (SELECT max(number) FROM batches WHERE survey = "
        f"{name}) WHERE name = {name}"
    )


def _next_number(cursor: Connection, layout: Layout) -> int:
    row = cursor.execute(
        f"SELECT coalesce(max(number), 0) + 1 FROM batches WHERE survey = {text(layout.key)}"
    ).fetchone()
    return 1 if row is None else int(row[0])
