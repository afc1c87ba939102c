"""A store of surveys and reports in one DuckDB file."""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import date
from math import inf, isfinite
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from ldpsql import limits
from ldpsql.decoders.base import Decoding
from ldpsql.errors import QueryError
from ldpsql.intake import Intake, day_of_forgetting
from ldpsql.lookups import PublicTable
from ldpsql.report import Decoded, Histogram, Integers
from ldpsql.sql import literal, quote
from ldpsql.store.base import Selection, Store
from ldpsql.store.counting import Column
from ldpsql.store.duckdb import arrivals, companion, decoded, fold, importing
from ldpsql.store.duckdb.checking import check_rest, check_survey
from ldpsql.store.duckdb.companion import Snapshot
from ldpsql.store.duckdb.copying import export
from ldpsql.store.duckdb.known import KnownIds
from ldpsql.store.duckdb.layout import (
    ALONE,
    BATCH_COLUMN,
    LAST_COLUMN,
    LOOKUPS,
    Layout,
    ids_table,
    lookup_table,
    survey_tables,
)
from ldpsql.store.duckdb.opening import (
    Connection,
    connect,
    disconnect,
    explain_failures,
    find_state,
    guard,
    make_log,
    transaction,
)
from ldpsql.store.duckdb.reading import Reading
from ldpsql.store.duckdb.sandbox import Sandbox
from ldpsql.store.incoming import AcceptedRows, ArrivedRows
from ldpsql.store.rules import (
    Imported,
    KnownBatches,
    KnownSurvey,
    StoredBatch,
    describe_withdrawal,
)
from ldpsql_device.errors import (
    DataError,
    InterfaceError,
    StoreError,
    SurveyError,
)
from ldpsql_device.survey import utc_today

_INCOMING = "ldpsql_incoming"
_ENOUGH = 10_000
"""Reports that are worth decoding at once while more may come."""
_PAUSE = 10
"""How many times as long as it took to publish the store nobody does it again while ingestions come
one upon the other."""


class DuckDBStore(Store):
    """A store in a DuckDB file or in memory.

    Threads may share a store: each reads on cursors of its own. Writers wait for each other.
    """

    def __init__(
        self, path: str | Path | None, *, read_only: bool, patience: float, memory: int | None
    ) -> None:
        """Open a store; None or ":memory:" makes one in memory. As `open_store`."""
        super().__init__()
        self.path = None if path is None or str(path) == ":memory:" else Path(path)
        self.read_only = read_only
        if self.path is None and read_only:
            raise InterfaceError("a store in memory is empty, so it cannot be opened read-only")
        self._patience, self._memory = patience, memory
        self._process = os.getpid()
        self._connection: Connection | None = self._connect()
        # Whether readers see what was committed, None for unknown; when they may next be made to.
        self._is_published: bool | None = True if read_only else None
        self._next = -inf
        self._sandbox = Sandbox()
        self._writing = threading.Lock()
        self._layouts: dict[str, Layout] = {}
        self._recent: dict[str, int] = {}
        self._recalled = set[str]()
        self._id_filters: dict[str, KnownIds] = {}
        self._pinned = _Pinned()

    def _connect(self) -> Connection:
        """Open the store's file."""
        connection = connect(self.path, read_only=self.read_only, patience=self._patience)
        self._limit(connection)
        return connection

    def _disconnect(self, connection: Connection) -> None:
        """Close what `_connect` opened."""
        disconnect(connection, self.path)

    def _limit(self, connection: Connection) -> None:
        """Have a connection take no more memory than this store may."""
        if self._memory is not None:
            connection.execute(f"SET memory_limit = '{self._memory}MB'")

    def close(self) -> None:
        if self._process != os.getpid():  # it is the parent's to close
            return
        self._sandbox.close()
        if self._connection is not None:
            self._publish(at_once=True)
            self._disconnect(self._connection)
            self._connection = None

    def _publish(self, *, at_once: bool = False) -> None:
        started = time.monotonic()
        if self.path is None or self._is_published or (started < self._next and not at_once):
            return
        with suppress(StoreError), self._writing:
            connection, layouts = self._require_connection(), list[Layout]()
            if self._is_published is None:  # nothing was changed here, but perhaps before
                self._is_published = companion.find_published(self.path) == find_state(self.path)
            if not self._is_published:
                for survey in self._known_surveys():
                    with suppress(SurveyError):  # of a newer version
                        layouts.append(self._layout(survey.key))
                with guard(self.path), connection.cursor() as cursor:
                    companion.publish(cursor, self.path, layouts)
                self._is_published = True
        now = time.monotonic()
        self._next = now + _PAUSE * (now - started)

    def _unpublish(self) -> None:
        """Before something is deleted, which no snapshot is to hold any more: remove it."""
        if self.path is not None and not self.read_only:
            with explain_failures(self.path):
                companion.remove(self.path)

    # -- surveys -----------------------------------------------------------------------------

    def _known_surveys(self) -> list[KnownSurvey]:
        query = "SELECT name, fingerprint, json FROM surveys ORDER BY name"
        return [KnownSurvey(*row) for row in self._rows(query)]

    def _add_survey(self, intake: Intake) -> None:
        # A survey that was removed and comes again has other versions than it had.
        given = [intake.key, intake.fingerprint, intake.text, secrets.randbits(48)]
        self._rows("INSERT INTO surveys VALUES (?, ?, ?, ?, 0, 0)", *given)
        for statement in Layout(intake).ddl:
            self._rows(statement)
        self._make_log()

    def _complete_survey(self, intake: Intake) -> None:
        self._rows("UPDATE surveys SET json = ? WHERE name = ?", intake.text, intake.key)
        self._make_log()

    def _recall_derived(self, key: str, fingerprint: str, version: int) -> decoded.Arrays | None:
        with self._read_snapshot() as cursor:
            return decoded.recall(cursor, key, fingerprint, version)

    def _read_statement(self, key: str) -> str | None:
        if not self._has_table("statements"):
            return None
        found = self._rows("SELECT text FROM statements WHERE survey = ?", key)
        return found[0][0] if found else None

    def _keep_statement(self, key: str, text: str) -> None:
        self._rows("CREATE TABLE IF NOT EXISTS statements (survey VARCHAR, text VARCHAR)")
        self._rows("DELETE FROM statements WHERE survey = ?", key)
        self._rows("INSERT INTO statements VALUES (?, ?)", key, text)
        self._make_log()

    def _make_log(self) -> None:
        """Before a change is committed: make room for it beside the store."""
        make_log(self.path)

    def _has_table(self, name: str) -> bool:
        return bool(self._rows("SELECT 1 FROM duckdb_tables() WHERE table_name = ?", name))

    def _layout(self, table: str) -> Layout:
        key = table.lower()
        if key not in self._layouts:
            self._layouts[key] = Layout(self.intake(table))
        return self._layouts[key]

    # -- look-up tables ----------------------------------------------------------------------

    def _known_lookups(self) -> Mapping[str, str]:
        query = "SELECT table_name, comment FROM duckdb_tables() WHERE schema_name = ?"
        return dict(self._rows(query, LOOKUPS))

    def _read_lookup(self, name: str) -> pa.Table:
        with self._read_snapshot() as cursor:
            return cursor.sql(f"FROM {lookup_table(name)}").to_arrow_table()

    def _add_lookup(self, table: PublicTable) -> None:
        name = lookup_table(table.name)
        with self._read_snapshot() as cursor:
            cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {LOOKUPS}")
            cursor.register(_INCOMING, table.rows)
            cursor.execute(f"CREATE OR REPLACE TABLE {name} AS FROM {_INCOMING}")
            cursor.execute(f"COMMENT ON TABLE {name} IS {literal(table.digest)}")
        self._make_log()

    def _remove_lookup(self, name: str) -> None:
        self._rows(f"DROP TABLE {lookup_table(name)}")
        self._make_log()

    # -- reports in --------------------------------------------------------------------------

    @contextmanager
    def _change(self) -> Iterator[None]:
        if self.read_only:
            raise StoreError(f"the store {self.path} is open read-only; open it for writing")
        with self._writing:
            try:
                with self._pin(self._require_connection()):
                    self._is_published = False
                    yield
            except BaseException:
                for known in self._id_filters.values():
                    known.following = known.version  # not committed, as far as is known here
                raise

    def _find_batches(self, batch_ids: Sequence[str]) -> KnownBatches:
        if not batch_ids:
            return {}
        listed = ", ".join(map(literal, batch_ids))
        rows = self._rows(
            "SELECT survey, id, number, withdrawn, withdrawn_on FROM batches "
            f"WHERE id IN ({listed})"
        )
        return {
            (key, own): None if reports is None else describe_withdrawal(number, day)
            for key, own, number, reports, day in rows
        }

    def _add_reports(
        self,
        intake: Intake,
        files: Sequence[AcceptedRows | ArrivedRows],
        batch_ids: Sequence[str | None],
        keep: str,
        last: date,
        day: date | None,
    ) -> list[int]:
        layout, is_kept = Layout(intake), keep == "reports"
        with self._read_snapshot() as cursor:
            number = decoded.find_last_batch(cursor, layout.key) + 1
            self._recent[layout.key] = fold.FoldProgress.of(cursor, layout).recent
            known = self._known_ids(cursor, layout, files)
            taken = arrivals.receive(cursor, layout, files, number, last, known)
            if known is not None:
                known.following = known.version + any(taken)
            new = f"SELECT {layout.columns} FROM {arrivals.TABLE}"
            if is_kept:
                kept = f"{BATCH_COLUMN}, {layout.columns}"
                cursor.execute(
                    f"INSERT INTO {layout.reports} SELECT {kept} FROM {arrivals.TABLE} "
                    f"ORDER BY {kept}"
                )
            decoding = None if is_kept else self._open_decoding(intake)
            if decoding is not None:
                decoded.catch_up(cursor, layout, decoding, new)
            if layout.format.unary or not is_kept:
                fold.append(cursor, layout, new)
            rows = [
                [layout.key, number + place, own, file.name, count, file.skipped]
                for place, (file, own, count) in enumerate(
                    zip(files, batch_ids, taken, strict=False)  # up to one that is refused
                )
                if count or day is None
            ]
            if rows:
                place = "(?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)"
                given = [each for row in rows for each in (*row, is_kept, day, self._arrival)]
                places = ", ".join([place] * len(rows))
                cursor.execute(f"INSERT INTO batches VALUES {places}", given)
            cursor.execute(f"DROP TABLE {arrivals.TABLE}")
            if not is_kept:
                fold.discard(cursor, layout, number)
        if any(taken):
            self._rows("UPDATE surveys SET version = version + 1 WHERE name = ?", layout.key)
        self._make_log()
        return taken

    def _known_ids(
        self,
        cursor: Connection,
        layout: Layout,
        files: Sequence[AcceptedRows | ArrivedRows],
    ) -> KnownIds | None:
        """Which ids may be there, for reports that come one by one. A file's are looked for among
        all of them, once; whatever else adds ids, too, has those that are known made anew."""
        reports = files[0]
        if not isinstance(reports, ArrivedRows):
            return None
        known, version = self._id_filters.get(layout.key), self.version(layout.key)
        if known is None or known.version != version or known.room < len(reports):
            known = self._id_filters[layout.key] = KnownIds.of(cursor, layout)
            known.version = version
        return known

    def _latest_day(self) -> date | None:
        self._rows("CREATE TABLE IF NOT EXISTS seen (latest DATE)")
        return self._read_latest_day()

    def _find_latest_day(self) -> date | None:
        """As `_latest_day`, of a store that is open for reading only."""
        return self._read_latest_day() if self._has_table("seen") else None

    def _read_latest_day(self) -> date | None:
        latest: date | None = self._rows("SELECT max(latest) FROM seen")[0][0]
        return latest

    def _see_day(self, day: date) -> None:
        self._rows("DELETE FROM seen")
        self._rows("INSERT INTO seen VALUES (?)", day)
        self._make_log()

    def _forget_ids(self, day: date) -> None:
        old = f"{LAST_COLUMN} < DATE {literal(day.isoformat())}"
        for survey in self._known_surveys():
            ids = ids_table(survey.key)
            if self._rows(f"SELECT 1 FROM {ids} WHERE {old} LIMIT 1"):
                self._rows(f"DELETE FROM {ids} WHERE {old}")
                self._make_log()

    def _merge_counts(self, intake: Intake) -> None:
        with self._change(), self._read_snapshot() as cursor:
            known = self._id_filters.get(intake.key)
            if known is not None and known.following == self.version(intake.key):
                known.version = known.following  # it was committed
            if fold.merge_if_worthwhile(cursor, Layout(intake), self._recent[intake.key]):
                self._make_log()
            self._decode(cursor, intake, _ENOUGH)

    def catch_up(self) -> None:
        with self._change(), self._read_snapshot() as cursor:
            for survey in self._known_surveys():
                with suppress(SurveyError):  # of a newer version, which stops no other survey
                    self._decode(cursor, self._read_intake(survey.text), 1)

    def _decode(self, cursor: Connection, intake: Intake, enough: int) -> None:
        """Add reports to what is kept of decoded ones, if enough of them are not in."""
        layout, decoding = Layout(intake), self._open_decoding(intake)
        if decoding is not None and decoded.count_waiting(cursor, layout, decoding) >= enough:
            decoded.catch_up(cursor, layout, decoding)
            self._make_log()

    def _open_decoding(self, intake: Intake) -> Decoding | None:
        """What is kept of the decoded reports of a survey; nothing where it cannot be asked."""
        with suppress(SurveyError):
            return self.survey(intake.table).design.decoding if intake.is_complete else None
        return None

    def _tidy(self) -> None:
        for survey in self._known_surveys():
            days = "SELECT DISTINCT day FROM batches WHERE survey = ? AND day IS NOT NULL"
            if self._rows(f"{days} GROUP BY day, name HAVING count(*) > 1", survey.key):
                with suppress(SurveyError), self._change(), self._read_snapshot() as cursor:
                    # Or a batch would be joined from some whose reports are in and some not.
                    self._decode(cursor, self._read_intake(survey.text), 1)
                    arrivals.tidy(cursor, self._layout(survey.key))
                    self._make_log()
        if self._connection is not None:
            with suppress(duckdb.Error), self._connection.cursor() as cursor:
                cursor.execute("CHECKPOINT")  # or the log would tell the order of commits
        self._publish(at_once=True)

    def refresh(self, table: str) -> None:
        layout = self._layout(table)
        with self._change(), self._read_snapshot() as cursor:
            fold.refresh(cursor, layout)
            self._decode_anew(cursor, layout)
            self._make_log()
        self._publish(at_once=True)

    def _decode_anew(self, cursor: Connection, layout: Layout) -> None:
        """Keep nothing of what reports decoded to before."""
        decoded.drop(cursor, layout)
        decoding = self._open_decoding(layout.intake)
        if decoding is not None:
            decoded.catch_up(cursor, layout, decoding)

    # -- the life of what is kept ------------------------------------------------------------

    def batches(self, table: str) -> list[StoredBatch]:
        self._find_known(table)
        query = (
            "SELECT number, name, taken, reports, skipped, kept, withdrawn FROM batches "
            "WHERE survey = ? ORDER BY number"
        )
        with self._read_snapshot() as cursor:
            alone = {*decoded.list_alone(cursor, table.lower())}
            rows = self._rows(query, table.lower())
        batches = (StoredBatch(*row) for row in rows)
        return [replace(batch, is_counted=batch.number not in alone) for batch in batches]

    def withdraw(self, table: str, numbers: Sequence[int]) -> int:
        layout = self._layout(table)
        with self._change(), self._read_snapshot() as cursor:
            chosen = self._choose(table, numbers)
            if chosen and decoded.list_alone(cursor, layout.key):
                raise DataError(
                    f"of some batches of {table} only the decoded sums of all its reports together "
                    "are left, from which no batch can be taken out; nothing was changed. Leave "
                    "them, or delete the whole survey (--all)"
                )
            if chosen:
                self._unpublish()
                fold.withdraw(cursor, layout, [batch.number for batch in chosen])
                for batch in chosen:
                    cursor.execute(
                        "UPDATE batches SET reports = 0, withdrawn = reports, withdrawn_on = ? "
                        "WHERE survey = ? AND number = ?",
                        [utc_today(), layout.key, batch.number],
                    )
                self._decode_anew(cursor, layout)
                self._rows("UPDATE surveys SET version = version + 1 WHERE name = ?", layout.key)
                self._make_log()
        self._publish(at_once=True)
        return sum(batch.reports for batch in chosen)

    def delete_reports(self, table: str, numbers: Sequence[int]) -> int:
        layout = self._layout(table)
        with self._change(), self._read_snapshot() as cursor:
            chosen = self._choose(table, numbers)
            if chosen:
                self._decode(cursor, layout.intake, 1)
                fold.delete_reports(cursor, layout, [batch.number for batch in chosen])
                self._make_log()
        self._publish(at_once=True)
        return sum(batch.reports for batch in chosen)

    def delete_counts(self, table: str, numbers: Sequence[int]) -> int:
        layout, asked = self._layout(table), {*numbers}
        with self._change(), self._read_snapshot() as cursor:
            there = [batch for batch in self.batches(table) if batch.withdrawn is None]
            self._choose(table, [*(asked - {batch.number for batch in there if batch.is_counted})])
            chosen = [batch for batch in there if batch.number in asked and batch.is_counted]
            merged = [batch.number for batch in there if batch.is_counted and not batch.is_kept]
            if not asked.isdisjoint(merged) and not asked.issuperset(merged):
                raise DataError(
                    f"of the batches {', '.join(map(str, merged))} of {table} only the counts are "
                    "left, and nothing tells whose are whose; nothing was changed. Name all of "
                    "them"
                )
            decoding = self._open_decoding(layout.intake)
            if decoding is not None:
                self._decode(cursor, layout.intake, 1)
            if decoding is None or decoded.find(cursor, layout, decoding) is None:
                raise DataError(
                    f"the reports of {table} are answered from their counts, because no decoded "
                    "sums of them are kept; nothing was changed. Keep the counts (--keep counts)"
                )
            if chosen:
                self._unpublish()
                kept = [batch.number for batch in chosen if batch.is_kept]
                if asked.issuperset(merged):
                    listed = ", ".join(map(str, (*kept, -1)))
                    cursor.execute(
                        f"DELETE FROM {layout.reports} WHERE {BATCH_COLUMN} IN ({listed})"
                    )
                    fold.count_anew(cursor, layout)
                else:
                    fold.withdraw(cursor, layout, kept)
                decoded.leave_alone(cursor, layout.key, [batch.number for batch in chosen])
                self._rows("UPDATE surveys SET version = version + 1 WHERE name = ?", layout.key)
                make_log(self.path)
        self._publish(at_once=True)
        return sum(batch.reports for batch in chosen)

    def remove_survey(self, table: str) -> None:
        with self._change():
            self._find_known(table)
            self._unpublish()
            key = table.lower()
            for name in survey_tables(key):
                self._rows(f"DROP TABLE IF EXISTS {quote(name)}")
            self._rows("DELETE FROM batches WHERE survey = ?", key)
            self._rows("DELETE FROM surveys WHERE name = ?", key)
            for name in filter(self._has_table, ("decoded", ALONE, "statements")):
                self._rows(f"DELETE FROM {name} WHERE survey = ?", key)
            self._make_log()
        self._forget_survey(key)
        self._publish(at_once=True)

    def _forget_survey(self, key: str) -> None:
        super()._forget_survey(key)
        self._layouts.pop(key, None)
        self._recent.pop(key, None)
        self._recalled.discard(key)
        self._id_filters.pop(key, None)

    def check(self) -> list[str]:
        with self._read_snapshot() as cursor:
            faults = [f for known in self._known_surveys() for f in check_survey(cursor, known)]
            return [*faults, *check_rest(cursor)]

    def export(self, target: str | Path, tables: Sequence[str] = ()) -> None:
        for table in tables:
            self._find_known(table)
        keys = [table.lower() for table in tables]
        connection = self._require_connection()
        with self._writing, guard(self.path), connection.cursor() as cursor:
            export(cursor, Path(target), keys)

    def import_surveys(self, source: Path, tables: Sequence[str] = ()) -> list[Imported]:
        if self.path is not None and source.exists() and source.samefile(self.path):
            raise InterfaceError(f"{source} is the store itself; name another file")
        self._look_at_today()
        done = list[Imported]()
        with DuckDBStore(
            source, read_only=True, patience=self._patience, memory=self._memory
        ) as other:
            for fault in other.check():
                raise DataError(
                    f"{source} is not in order, and nothing was taken: {fault}; see "
                    f"`ldpsql db check --db {source}`"
                )
            asked = {other._find_known(table)[1] for table in tables}
            chosen = [s for s in other._known_surveys() if not asked or s.fingerprint in asked]
            try:
                with self._change(), other._read_snapshot() as theirs:
                    done += [self._import_survey(other, theirs, known) for known in chosen]
                    if not tables:
                        self._import_lookups(other)
                    latest, own = other._find_latest_day(), self._latest_day()
                    if latest is not None and (own is None or own < latest):
                        self._see_day(latest)
                    self._make_log()
            except BaseException:
                for known in chosen:
                    self._forget_survey(known.key)
                raise
        for each in done:
            self._settle(self.intake(each.table))
        self._publish(at_once=True)
        return done

    def _import_survey(
        self, other: DuckDBStore, theirs: Connection, known: KnownSurvey
    ) -> Imported:
        intake = self._read_intake(known.text)
        self._register(intake, "")
        layout, statement = Layout(intake), other._read_statement(intake.key)
        if statement is not None:
            self._keep_later(intake, statement)
        with self._read_snapshot() as cursor:
            theirs_alone = decoded.list_alone(theirs, layout.key)
            if theirs_alone or decoded.list_alone(cursor, layout.key):
                raise DataError(
                    f"of some batches of {layout.key} only the decoded sums of all its reports "
                    "together are left in one of the stores; nothing was taken. Keep the two "
                    "apart, or ingest the report files of one into the other"
                )
            self._recent[layout.key] = fold.FoldProgress.of(cursor, layout).recent
            oldest = day_of_forgetting(utc_today(), self._latest_day())
            imported = importing.take(theirs, cursor, layout, oldest)
            self._decode_anew(cursor, layout)
            self._rows("UPDATE surveys SET version = version + 1 WHERE name = ?", layout.key)
        return imported

    def _import_lookups(self, other: DuckDBStore) -> None:
        known = self._known_lookups()
        for table in other.lookups():
            if known.get(table.name) != table.digest:
                self._keep_lookup(table, replace=False)

    # -- counts out --------------------------------------------------------------------------

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        if self._pinned.cursor is not None:
            yield
            return
        with self._pin(self._require_connection()):
            self._pinned.last = None
            yield

    def _require_connection(self) -> Connection:
        """The connection; InterfaceError for a closed store and in a forked process."""
        if self._connection is None:
            raise InterfaceError("the store is closed")
        if self._process != os.getpid():
            raise InterfaceError(
                f"the store {self.path or 'in memory'} was opened by process {self._process}, from "
                "which this one was forked; open it here, after it is closed there"
            )
        return self._connection

    @contextmanager
    def _pin(self, connection: Connection) -> Iterator[None]:
        """Let this thread work on a cursor of its own, in one transaction."""
        before = self._pinned.cursor
        with guard(self.path), connection.cursor() as cursor, transaction(cursor):
            self._pinned.cursor = cursor
            try:
                yield
            finally:
                self._pinned.cursor = before

    @contextmanager
    def _read_snapshot(self) -> Iterator[Connection]:
        """The cursor of this thread's snapshot, which is made where there is none."""
        with self.snapshot():
            assert self._pinned.cursor is not None
            yield self._pinned.cursor

    @contextmanager
    def _select_reports(self, counted: str | None = None) -> Iterator[Connection]:
        """As `_read_snapshot`, for queries over reports, which end at the statement's deadline.

        counted: the survey whose counts of equal reports are read.
        QueryError where that is over, and where an expression fails for a public value.
        """
        with self.snapshot():
            if counted is not None:
                self._require_counts(counted)
                self._reach_counts(counted)
            cursor = self._pinned.cursor
            assert cursor is not None
            left = limits.find_remaining()
            timer = threading.Timer(min(left, threading.TIMEOUT_MAX), cursor.interrupt)
            timer.daemon = True
            if isfinite(left):
                timer.start()
            try:
                yield cursor
            except duckdb.InterruptException:
                limits.check()
                raise
            except (duckdb.ConversionException, duckdb.OutOfRangeException) as error:
                line = str(error).splitlines()[0].split(": ", 1)[-1]
                raise QueryError(
                    line, hint="this is about values of public columns; TRY_CAST gives NULL"
                ) from None
            finally:
                timer.cancel()

    def _require_counts(self, table: str) -> None:
        """QueryError where the counts of some reports were deleted, so that others would answer for
        them."""
        with self._read_snapshot() as cursor:
            alone = decoded.list_alone(cursor, table.lower())
        if alone:
            raise QueryError(
                f"the counts of {len(alone)} of the batches of {table} were deleted",
                hint="what is left answers by the usual estimator about everybody, and about the "
                "public columns of the decoded sums; see `ldpsql db list`",
            )

    def _reach_counts(self, table: str) -> None:
        """See to it that the cursor of this thread's snapshot reads the counts of a survey."""

    def _rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        with self._read_snapshot() as cursor:
            return cursor.execute(query, parameters).fetchall()

    def version(self, table: str) -> int:
        key = self._layout(table).key
        [(version,)] = self._rows("SELECT version FROM surveys WHERE name = ?", key)
        return int(version)

    def smallest_batch(self, table: str) -> int | None:
        query = "SELECT min(reports) FROM batches WHERE survey = ? AND reports > 0"
        [(smallest,)] = self._rows(query, table.lower())
        return None if smallest is None else int(smallest)

    def arrivals(self, table: str) -> list[tuple[date | None, int]]:
        query = (
            "SELECT day, sum(reports)::BIGINT FROM batches WHERE survey = ? AND reports > 0 "
            "GROUP BY day ORDER BY day NULLS LAST"
        )
        return self._rows(query, table.lower())

    def _read(
        self, cursor: Connection, table: str, selection: Selection, counted: Sequence[Column]
    ) -> Reading:
        """What reads a selection of the counts that a cursor sees.  counted: which columns of a
        report will be asked for."""
        layout = self._layout(table)
        progress = fold.FoldProgress.of(cursor, layout)
        counts, is_merged = fold.counts(layout, progress.counted), progress.recent == 0
        return Reading(cursor, layout, selection, counts, is_merged=is_merged)

    def sizes(self, table: str, condition: str | None = None) -> Integers:
        chosen = Selection(condition)
        with self.snapshot(), self._select_reports() as cursor:
            kept = self._find_kept(cursor, table, chosen)
            if kept is not None:
                [(_, found)] = kept
                if found.arrays:
                    return found.sizes
        with self._select_reports(table) as cursor:
            counted = self._layout(table).people_columns
            return self._read(cursor, table, chosen, counted).sizes()

    def histograms(
        self, table: str, selection: Selection
    ) -> Sequence[tuple[tuple[Any, ...], Histogram]]:
        with self._select_reports(table) as cursor:
            counted = self._layout(table).counted_columns
            return self._read(cursor, table, selection, counted).histograms()

    def decode(
        self, table: str, selection: Selection
    ) -> Sequence[tuple[tuple[Any, ...], Histogram | Decoded]]:
        with self._select_reports() as cursor:
            kept = self._find_kept(cursor, table, selection)
            return self.histograms(table, selection) if kept is None else kept

    def _find_kept(
        self, cursor: Connection, table: str, selection: Selection
    ) -> list[tuple[tuple[Any, ...], Decoded]] | None:
        """What is kept of the decoded reports of a selection, if anything is.

        Of a store that nobody writes through, the last one is read once while a snapshot lasts.
        """
        layout, last = self._layout(table), self._pinned.last
        if last is not None and last[:2] == (layout.key, selection) and self.read_only:
            return last[2]
        is_complete = layout.intake.is_complete  # or it may be by now
        decoding = self._open_decoding(layout.intake if is_complete else self.intake(table))
        place = None if decoding is None else decoded.find(cursor, layout, decoding)
        if decoding is None or place is None:
            return None
        if layout.key not in self._recalled:
            own = (layout.key, layout.intake.fingerprint)
            if decoding.recall and (derived := decoded.recall(cursor, *own, decoding.version)):
                decoding.recall(derived)
            self._recalled.add(layout.key)
        found = decoded.read(cursor, place, decoding, selection)
        self._pinned.last = (layout.key, selection, found)
        return found

    def public_people(self, table: str) -> pa.Table:
        with self._select_reports(table) as cursor:
            layout = self._layout(table)
            everything = Selection(keys=tuple(column.name for column in layout.public_columns))
            return self._read(cursor, table, everything, layout.people_columns).public_people()

    def evaluate(self, sql: str, relations: Mapping[str, pa.Table]) -> pa.Table:
        return self._sandbox.evaluate(sql, relations)


class _Pinned(threading.local):
    """The cursor of a thread's snapshot while there is one, and the last selection of decoded
    reports that was read on it; and how a `DuckDBReader` came to it."""

    cursor: Connection | None = None
    source: Snapshot | None = None
    opened: ExitStack
    lag: str | None = None
    last: tuple[str, Selection, list[tuple[tuple[Any, ...], Decoded]] | None] | None = None
