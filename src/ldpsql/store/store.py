"""Surveys, their reports and what is counted of them, in one DuckDB file."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import date
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, Self, TypeVar

import duckdb
import pyarrow as pa

from ldpsql.errors import QueryError
from ldpsql.estimators.base import Decoding
from ldpsql.reports.report import Decoded, Histogram, Integers
from ldpsql.sql.lookups import PublicTable
from ldpsql.sql.quoting import literal, quote
from ldpsql.sql.sandbox import Sandbox
from ldpsql.store import arrivals, companion, decoded, fold, importing
from ldpsql.store.base import Key, Selection
from ldpsql.store.checking import check_lists, check_rest, check_survey
from ldpsql.store.copying import export
from ldpsql.store.database import Database
from ldpsql.store.incoming import (
    SUFFIXES,
    AcceptedRows,
    ArrivedRows,
    Incoming,
    count_rows,
    read_file,
    read_table,
)
from ldpsql.store.intake import (
    Intake,
    check_statement,
    day_of_arrival,
    day_of_forgetting,
    expand,
    has_both_parts,
)
from ldpsql.store.known import KnownIds
from ldpsql.store.layout import (
    ALONE,
    BATCH_COLUMN,
    LAST_COLUMN,
    LOOKUPS,
    Column,
    Layout,
    lookup_table,
    survey_tables,
)
from ldpsql.store.opening import Connection, explain_failures, find_state, guard
from ldpsql.store.reading import Reading
from ldpsql.store.rules import (
    Batch,
    Imported,
    IngestPolicy,
    KnownBatches,
    KnownSurvey,
    StoredBatch,
    WaitingFile,
    admit,
    choose_survey,
    describe_withdrawal,
    require_batch_size,
    require_open,
)
from ldpsql.survey import Survey
from ldpsql_device.errors import (
    DataError,
    Error,
    FingerprintError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    ReportError,
    StoreError,
    SurveyError,
)
from ldpsql_device.statement import Statement
from ldpsql_device.survey import utc_today

MAX_LOOKUPS = 256
_INCOMING = "ldpsql_incoming"
_ENOUGH = 10_000
"""Reports that are worth decoding at once while more may come."""
_PAUSE = 10
"""How many times as long as it took to publish the store nobody does it again while ingestions come
one upon the other."""
T = TypeVar("T")


class Store(Database):
    """Reports of any number of surveys, by table name (names ignore case).

    `ReportSource` says what those methods do that have no words of their own.  shuffles: never; of
    surveys that trust a shuffler a store takes whole batches (see `take`).
    """

    shuffles = False

    def __init__(
        self, path: str | Path | None, *, read_only: bool, patience: float, memory: int | None
    ) -> None:
        """Open a store; None or ":memory:" makes one in memory. As `open_store`."""
        self._surveys: dict[str, Survey] = {}
        self._intakes: dict[str, Intake] = {}
        self._lookups: dict[str, PublicTable] = {}
        self._layouts: dict[str, Layout] = {}
        self._saw, self._arrival = date.min, date.min
        # Whether readers see what was committed, None for unknown; when they may next be made to.
        self._is_published: bool | None = True if read_only else None
        self._next = -inf
        self._recent: dict[str, int] = {}
        self._recalled = set[str]()
        self._id_filters: dict[str, KnownIds] = {}
        self._sandbox = Sandbox()
        super().__init__(path, read_only=read_only, patience=patience, memory=memory)

    @classmethod
    def open_address(cls, url: str, *, read_only: bool, memory: int | None) -> Self:
        """Open what is at an address, of a kind of store that has a scheme of its own."""
        raise InterfaceError(f"{url!r:.100} is no address of a store")

    def close(self) -> None:
        if self._process != os.getpid():  # it is the parent's to close
            return
        self._sandbox.close()
        if self._connection is not None:
            self._publish(at_once=True)
        super().close()

    # -- changes -----------------------------------------------------------------------------

    @contextmanager
    def _change(self) -> Iterator[None]:
        try:
            with super()._change():
                self._is_published = False
                yield
        except BaseException:
            self._id_filters.clear()  # for what they hold was not committed, as far as is known
            raise

    @contextmanager
    def _change_at_once(self) -> Iterator[Connection]:
        """As `_change`, by the cursor of it; readers see it afterwards."""
        with self._change(), self._read_snapshot() as cursor:
            yield cursor
        self._publish(at_once=True)

    def _publish(self, *, at_once: bool = False) -> None:
        """After a change: have readers in other processes see it. What was committed stays whether
        or not it succeeds, so its failure is none of that.

        at_once: even where one change follows upon the other.
        """
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

    def surveys(self) -> list[Survey]:
        known = (each for each in self._known_surveys() if has_both_parts(each.text))
        return [*_skip_unreadable(lambda each: self.survey(each.key), known)]

    def intakes(self) -> list[Intake]:
        """The intakes of all surveys that can be read, by name."""
        read = self._read_intake
        return [*_skip_unreadable(lambda each: read(each.text), self._known_surveys())]

    def survey(self, table: str) -> Survey:
        # What a name stands for changes only where a survey is removed, so it is looked up once.
        key = table.lower()
        survey = self._surveys.get(key)
        if survey is None:
            text, fingerprint = self._find_known(table)
            if not has_both_parts(text):
                raise QueryError(
                    f"the store has reports of {table}, but not the collector's part of the "
                    "survey, which answers need",
                    hint="ingest the reports again with both parts (--survey)",
                )
            try:
                survey = Survey.from_kept(
                    text, fingerprint, partial(self._recall_derived, key, fingerprint)
                )
            except SurveyError as error:
                raise SurveyError(f"survey {table}: {error}") from None
            self._surveys[key], self._intakes[text] = survey, Intake.of(survey)
        return survey

    def _recall_derived(self, key: str, fingerprint: str, version: int) -> decoded.Arrays | None:
        """The arrays that follow from the design of a survey alone, if this version of its decoder
        derived it and it was kept."""
        with self._read_snapshot() as cursor:
            return decoded.recall(cursor, key, fingerprint, version)

    def intake(self, table: str) -> Intake:
        """The intake of a survey; QueryError if none has that name."""
        return self._read_intake(self._find_known(table)[0])

    def intake_of(self, fingerprint: str) -> Intake | None:
        """The same by the survey's fingerprint; None if there is none."""
        for known in self._known_surveys():
            if known.fingerprint == fingerprint:
                return self._read_intake(known.text)
        return None

    def _find_known(self, table: str) -> tuple[str, str]:
        """A survey as published, and its fingerprint."""
        known = {each.key: (each.text, each.fingerprint) for each in self._known_surveys()}
        if table.lower() not in known:
            names = ", ".join(intake.table for intake in self.intakes())
            public = ", ".join(each.name for each in self.lookups())
            more = f"; look-up tables: {public}" if public else ""
            raise QueryError(
                f"there is no survey {table!r:.60}",
                hint=f"the store has: {names or 'none yet'}{more}",
            )
        return known[table.lower()]

    def _known_surveys(self) -> list[KnownSurvey]:
        """The surveys of the store, by name."""
        query = "SELECT name, fingerprint, json FROM surveys ORDER BY name"
        return [KnownSurvey(*row) for row in self._rows(query)]

    def _read_intake(self, text: str) -> Intake:
        """The intake of a published survey; equal texts are read once."""
        if text not in self._intakes:
            self._intakes[text] = Intake.read(text)
        return self._intakes[text]

    def _layout(self, table: str) -> Layout:
        key = table.lower()
        layout = self._layouts.get(key)
        if layout is None:
            layout = self._layouts[key] = Layout(self.intake(table))
        return layout

    def register(self, survey: Survey | Intake) -> None:
        """Add a survey, or the collector's part of one that is there without it.

        Raises FingerprintError if another survey has its name.
        """
        with self._change_at_once():
            self._register(Intake.of(survey), "")

    def _register(self, intake: Intake, where: str) -> None:
        known = {survey.key: survey for survey in self._known_surveys()}.get(intake.key)
        if known is None:
            if intake.key in self._known_lookups():
                raise IntegrityError(
                    f"{where}the store has a look-up table {intake.key}; remove it, or take "
                    "another store"
                )
            self._add_survey(intake)
        elif known.fingerprint == intake.fingerprint:
            if intake.is_complete and known.text != intake.text:
                given = [intake.text, intake.key]
                self._rows("UPDATE surveys SET json = ? WHERE name = ?", *given)
                self._make_log()
        else:
            raise FingerprintError(
                f"{where}the store knows another survey {intake.table} (fingerprint "
                f"{known.fingerprint[:12]}, not {intake.fingerprint[:12]}); give a new survey a "
                "name of its own (`table`), or take another store"
            )

    def _add_survey(self, intake: Intake) -> None:
        # A survey that was removed and comes again has other versions than it had.
        given = [intake.key, intake.fingerprint, intake.text, secrets.randbits(48)]
        self._rows("INSERT INTO surveys VALUES (?, ?, ?, ?, 0, 0)", *given)
        for statement in Layout(intake).ddl:
            self._rows(statement)
        self._make_log()

    # -- statements --------------------------------------------------------------------------

    def find_statement(self, intake: Intake) -> str | None:
        """The latest statement of a survey's author; None if none was kept."""
        if not self._has_table("statements"):
            return None
        found = self._rows("SELECT text FROM statements WHERE survey = ?", intake.key)
        return found[0][0] if found else None

    def keep_statement(self, statement: Statement) -> None:
        """Keep what an author says of a table, to be handed out.

        See `check_statement`; StoreError if the store is open for reading only.
        """
        with self._change_at_once():
            self._keep_statement(self.intake(statement.table), statement)

    def _keep_statement(self, intake: Intake, statement: Statement) -> None:
        check_statement(intake, statement, self.find_statement(intake))
        self._rows("CREATE TABLE IF NOT EXISTS statements (survey VARCHAR, text VARCHAR)")
        self._rows("DELETE FROM statements WHERE survey = ?", intake.key)
        self._rows("INSERT INTO statements VALUES (?, ?)", intake.key, statement.text)
        self._make_log()

    # -- look-up tables ----------------------------------------------------------------------

    def lookups(self) -> list[PublicTable]:
        with self.snapshot():
            found = (self.lookup(name) for name in sorted(self._known_lookups()))
            return [table for table in found if table is not None]

    def lookup(self, name: str) -> PublicTable | None:
        key = name.lower()
        if key in self._surveys:  # whose names no look-up table has
            return None
        with self.snapshot():
            digest = self._known_lookups().get(key)
            if digest is None:
                return None
            kept = self._lookups.get(key)
            if kept is None or kept.digest != digest:
                with self._read_snapshot() as cursor:
                    rows = cursor.sql(f"FROM {lookup_table(key)}").to_arrow_table()
                kept = self._lookups[key] = PublicTable(key, rows, digest)
            return kept

    def add_lookup(self, table: PublicTable, *, replace: bool = False) -> None:
        """Keep a table; replace: also where there is one of that name.

        IntegrityError for the name of a survey or of another table, and for too many tables;
        StoreError if the store is open for reading only.
        """
        with self._change_at_once() as cursor:
            self._keep_lookup(cursor, table, replace=replace)

    def _keep_lookup(self, cursor: Connection, table: PublicTable, *, replace: bool) -> None:
        known = self._known_lookups()
        if table.name in {survey.key for survey in self._known_surveys()}:
            raise IntegrityError(f"there is a survey {table.name}; give another name")
        if table.name in known and not replace:
            raise IntegrityError(
                f"there is a look-up table {table.name}; remove it, or give another name"
            )
        if len({*known, table.name}) > MAX_LOOKUPS:
            raise IntegrityError(f"a store has at most {MAX_LOOKUPS} look-up tables; remove one")
        name = lookup_table(table.name)
        cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {LOOKUPS}")
        cursor.register(_INCOMING, table.rows)
        cursor.execute(f"CREATE OR REPLACE TABLE {name} AS FROM {_INCOMING}")
        cursor.execute(f"COMMENT ON TABLE {name} IS {literal(table.digest)}")
        self._make_log()

    def remove_lookup(self, name: str) -> None:
        """Forget a table; DataError if there is none of that name. StoreError as `add_lookup`."""
        with self._change_at_once() as cursor:
            known = self._known_lookups()
            if name.lower() not in known:
                there = ", ".join(sorted(known)) or "none"
                raise DataError(f"there is no look-up table {name!r:.60}; the store has: {there}")
            cursor.execute(f"DROP TABLE {lookup_table(name.lower())}")
            self._make_log()

    def _known_lookups(self) -> Mapping[str, str]:
        """The digests of look-up tables by name."""
        query = "SELECT table_name, comment FROM duckdb_tables() WHERE schema_name = ?"
        return dict(self._rows(query, LOOKUPS))

    # -- reports in --------------------------------------------------------------------------

    def ingest(
        self,
        paths: Sequence[str | Path],
        *,
        survey: Survey | Intake | None = None,
        tell: Callable[[Batch], None] | None = None,
        progress: Callable[[int, int | None], None] | None = None,
        **options: Any,
    ) -> list[Batch]:
        """Take files of reports, each whole or not at all, and each report once.

        paths: Parquet, CSV and JSON lines files, directories, globs. A file whose content was
        taken before is passed over, and so is every report that was, whatever brings it. survey:
        whose reports they are, where the files do not say so.  tell: called after every file.
        progress: called with how many rows are read, and how many there are, None where no file
        says so.  options: see `IngestPolicy`. A file that is refused ends the call; files before it
        stay taken.
        Raises ReportError, FingerprintError or StoreError.
        """
        policy, batches = IngestPolicy(**options), list[Batch]()
        files, done = expand(paths, SUFFIXES), 0
        total = None if progress is None else count_rows(files)
        given = None if survey is None else Intake.of(survey)

        def read(path: Path) -> Incoming:
            nonlocal done
            incoming = read_file(path)
            if progress is not None:
                incoming = incoming.tell(progress, done, total)
                done += incoming.rows or 0
            return incoming

        if progress is not None:
            progress(0, total)
        for batch in self._take_paths(files, read, given, policy):
            batches.append(batch)
            if tell is not None:
                tell(batch)
        with suppress(StoreError):  # as in `_settle`
            self.catch_up()
        self._publish()
        return batches

    def ingest_table(
        self, reports: pa.Table, survey: Survey | Intake | None = None, **options: Any
    ) -> Batch:
        """Take a table of reports from memory; options as for `ingest`."""
        given = None if survey is None else Intake.of(survey)
        incoming = read_table(reports)
        file = WaitingFile.of(self._choose_survey(incoming, given), incoming, None)
        [batch] = self._take([file], IngestPolicy(**options))
        self._publish()
        return batch

    def _take_paths(
        self,
        paths: Sequence[Path],
        read: Callable[[Path], Incoming],
        given: Intake | None,
        policy: IngestPolicy,
    ) -> Iterator[Batch]:
        """Take files, those of one survey in one change, each whole or not at all.

        Where one is refused those before it are taken all the same.
        """
        waiting, found = list[WaitingFile](), dict[str | None, Intake]()

        def take_waiting() -> Iterator[Batch]:
            files = [*waiting]
            waiting.clear()
            if files:
                yield from self._take_together(files, policy)

        try:
            for path in paths:
                incoming = read(path)
                if incoming.claim not in found:
                    if given is None:
                        # One of those may bring the survey of a file without a name; and this one
                        # may bring another, beside which such files are of neither.
                        yield from take_waiting()
                        found.pop(None, None)
                    found[incoming.claim] = self._choose_survey(incoming, given)
                file = WaitingFile.of(found[incoming.claim], incoming, path)
                if policy.keep != "reports" or not file.can_follow(waiting):
                    yield from take_waiting()
                waiting.append(file)
        except Error:
            yield from take_waiting()
            raise
        yield from take_waiting()

    def _take_together(self, files: Sequence[WaitingFile], policy: IngestPolicy) -> Iterator[Batch]:
        """Take files of one survey in one change, or where one is refused in two, each for half of
        them: so those before it are taken."""
        try:
            taken = self._take(files, policy)
        except (ReportError, FingerprintError):
            if len(files) == 1:
                raise
            taken = []
        yield from taken
        if not taken:
            middle = len(files) // 2
            yield from self._take_together(files[:middle], policy)
            yield from self._take_together(files[middle:], policy)

    def _choose_survey(self, incoming: Incoming, given: Intake | None) -> Intake:
        surveys = [] if given is not None else self._known_surveys()
        return choose_survey(incoming, given, surveys, self._read_intake)

    def _take(self, files: Sequence[WaitingFile], policy: IngestPolicy) -> list[Batch]:
        """Take files of one survey in one change, all of them or, where one is refused, none."""
        intake, today = files[0].intake, self._look_at_today()
        with self._change():
            self._register(intake, f"{files[0].incoming.name}: ")
            known = self._find_batches([file.id for file in files if file.id is not None])
            new = dict[str | None, AcceptedRows]()
            for file in files:
                if not file.is_among(known) and file.id not in new:
                    new[file.id] = admit(intake, file.incoming, policy, today)
            if not new:
                return [file.pass_over(known) for file in files]
            counts = self._add_reports(intake, [*new.values()], [*new], policy.keep, None)
            taken, batches = dict(zip(new, counts, strict=True)), list[Batch]()
            for file in files:
                own = new.get(file.id)
                if own is None or own.incoming is not file.incoming:
                    batches.append(file.pass_over(known))
                    continue
                count = taken[file.id]
                require_batch_size(intake, own.name, count, policy)
                repeats = own.accepted - count
                batches.append(Batch(own.name, count, own.skipped, known=False, repeats=repeats))
        self._settle(intake)
        return batches

    def take(self, intake: Intake, reports: Sequence[pa.RecordBatch], source: str) -> int:
        """Take reports that came one by one, all or none; how many are no repeats.

        reports: checked, with their ids.  source: that they came from. They belong to the batch of
        their survey, day (UTC) and source: see `tidy`. Raises ReportError for a survey that has
        ended or trusts a shuffler, StoreError.
        """
        today = self._look_at_today()
        require_open(intake, source, today)
        if intake.shuffled is not None:
            raise ReportError(f"reports of survey {intake.table} go to its shuffler, not here")
        with self._change():
            rows = ArrivedRows(source, reports)
            [taken] = self._add_reports(intake, [rows], [None], "reports", self._arrival)
        self._settle(intake)
        return taken

    def _find_batches(self, batch_ids: Sequence[str]) -> KnownBatches:
        """Which of some batches were taken before, and what is said of those that were withdrawn
        since."""
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
        day: date | None,
    ) -> list[int]:
        """Keep or count the reports that are no repeats, and write the batches down; how many there
        are in each. Of several reports with one id the first counts.

        day: on which they came, of those that `take` takes. Ids are remembered apart from reports,
        and neither are kept in an order that tells which belong together.
        """
        layout, is_kept = Layout(intake), keep == "reports"
        last = intake.schedule.last_sending_day(self._arrival)
        with self._read_snapshot() as cursor:
            number = decoded.find_last_batch(cursor, layout.key) + 1
            self._recent[layout.key] = fold.FoldProgress.of(cursor, layout).recent
            known = self._known_ids(cursor, layout, files)
            taken = arrivals.receive(cursor, layout, files, number, last, known)
            if known is not None:
                known.version += any(taken)
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
                    zip(files, batch_ids, taken, strict=True)
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
                there = [batch.number for batch in self.batches(layout.key) if batch.is_kept]
                if there:
                    fold.delete_reports(cursor, layout, there)
        if any(taken):
            self._count_version(layout.key)
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

    def _settle(self, intake: Intake) -> None:
        """After a commit, what makes reading cheap.

        The reports are kept whether or not it succeeds, so its failure is none of theirs; whoever
        takes or reads reports next does the work or meets the fault.
        """
        with suppress(StoreError), self._change(), self._read_snapshot() as cursor:
            if fold.merge_if_worthwhile(cursor, Layout(intake), self._recent.get(intake.key, 0)):
                self._make_log()
            self._decode(cursor, intake, _ENOUGH)

    def catch_up(self) -> None:
        """Bring what is kept of decoded reports up to date, so that no question has to."""
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
        """The kept sums of the decoded reports of a survey; nothing where it cannot be asked."""
        with suppress(SurveyError):
            return self.survey(intake.table).design.decoding if intake.is_complete else None
        return None

    def tidy(self) -> None:
        """Leave one batch per survey, day and source of what `take` took, in an order that tells
        nothing of when a report came, and the ids of a day in one that tells nothing of reports;
        and forget old ids.

        What came since the last call is told apart by the commits that brought it.
        """
        self._look_at_today()
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
        """Count and decode all reports of a survey anew, whatever was kept of them, as a repair.

        `catch_up` reads later batches alone. StoreError where reports were deleted.
        """
        layout = self._layout(table)
        with self._change_at_once() as cursor:
            fold.refresh(cursor, layout)
            self._decode_anew(cursor, layout)
            self._make_log()

    def _decode_anew(self, cursor: Connection, layout: Layout) -> None:
        """Keep nothing of what reports decoded to before."""
        decoded.drop(cursor, layout)
        decoding = self._open_decoding(layout.intake)
        if decoding is not None:
            decoded.catch_up(cursor, layout, decoding)

    # -- days --------------------------------------------------------------------------------

    def _look_at_today(self) -> date:
        """The day (UTC); once a day: forget the ids of reports that no device sends any more."""
        today = utc_today()
        if self._saw != today:
            with self._change():
                latest = self._latest_day()
                self._forget_ids(day_of_forgetting(today, latest))
                self._arrival = day_of_arrival(today, latest)
                if self._arrival != latest:
                    self._see_day(self._arrival)
            self._saw = today
        return today

    def _latest_day(self) -> date | None:
        """The latest day on which the store was written to, None if there was none."""
        if not self._has_table("seen"):
            return None
        latest: date | None = self._rows("SELECT max(latest) FROM seen")[0][0]
        return latest

    def _see_day(self, day: date) -> None:
        """Remember it."""
        self._rows("CREATE TABLE IF NOT EXISTS seen (latest DATE)")
        self._rows("DELETE FROM seen")
        self._rows("INSERT INTO seen VALUES (?)", day)
        self._make_log()

    def _forget_ids(self, day: date) -> None:
        """Forget all ids that were to be remembered until a day before this one."""
        old = f"{LAST_COLUMN} < {literal(day)}"
        for survey in self._known_surveys():
            ids = quote(f"ids_{survey.key}")
            if self._rows(f"SELECT 1 FROM {ids} WHERE {old} LIMIT 1"):
                self._rows(f"DELETE FROM {ids} WHERE {old}")
                self._make_log()

    # -- the life of what is kept ------------------------------------------------------------

    def batches(self, table: str) -> list[StoredBatch]:
        """The batches that a survey's reports came in, by number."""
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

    def _choose(self, table: str, numbers: Sequence[int]) -> list[StoredBatch]:
        """Batches by their numbers; DataError for one that is not there or has no reports."""
        known, chosen = {batch.number: batch for batch in self.batches(table)}, []
        for number in dict.fromkeys(numbers):
            batch = known.get(number)
            if batch is None or batch.withdrawn is not None:
                why = "there is no such batch" if batch is None else "it was withdrawn before"
                raise DataError(f"batch {number} of {table}: {why}; `ldpsql db list` shows them")
            if not batch.is_kept:
                what, from_what = (
                    ("counts", "those of others")
                    if batch.is_counted
                    else ("part of what is decoded", "the rest")
                )
                raise DataError(
                    f"batch {number} of {table}: its reports were deleted once counted, and "
                    f"nothing tells their {what} from {from_what}; nothing was changed. Leave "
                    "it, or delete the whole survey (--all)"
                )
            chosen.append(batch)
        return chosen

    def withdraw(self, table: str, numbers: Sequence[int]) -> int:
        """Take batches of a survey out of all answers and delete their reports; how many.

        All or none of them. What is left is what would be there had they never come, but for the
        ids of their reports, which lie apart and are remembered as long as ever, and for the names
        of the batches, so that the same files count no more. DataError for a number that there is
        not, and for a batch of which the counts alone are there, among those of others.
        """
        layout = self._layout(table)
        with self._change_at_once() as cursor:
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
                self._count_version(layout.key)
                self._make_log()
        return sum(batch.reports for batch in chosen)

    def delete_reports(self, table: str, numbers: Sequence[int]) -> int:
        """Delete the reports of batches and keep what they count; how many. DataError as above."""
        layout = self._layout(table)
        with self._change_at_once() as cursor:
            chosen = self._choose(table, numbers)
            if chosen:
                self._decode(cursor, layout.intake, 1)
                fold.delete_reports(cursor, layout, [batch.number for batch in chosen])
                self._make_log()
        return sum(batch.reports for batch in chosen)

    def delete_counts(self, table: str, numbers: Sequence[int]) -> int:
        """Delete the reports and the counts of batches and keep what all reports together decode
        to; how many reports that are.

        What is answered from the decoded sums is answered as before, and nothing else is answered
        any more, for the counts that are left would say too little. DataError as above, for a
        survey without such sums, and for some of several batches of which the counts alone are
        there.
        """
        layout, asked = self._layout(table), {*numbers}
        with self._change_at_once() as cursor:
            counted = [b for b in self.batches(table) if b.withdrawn is None and b.is_counted]
            self._choose(table, [*(asked - {batch.number for batch in counted})])
            chosen = [batch for batch in counted if batch.number in asked]
            merged = [batch.number for batch in counted if not batch.is_kept]
            if not asked.isdisjoint(merged) and not asked.issuperset(merged):
                raise DataError(
                    f"of the batches {', '.join(map(str, merged))} of {table} only the counts are "
                    "left, and nothing tells whose are whose; nothing was changed. Name all of "
                    "them"
                )
            self._require_sums(cursor, layout)
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
                self._count_version(layout.key)
                self._make_log()
        return sum(batch.reports for batch in chosen)

    def _require_sums(self, cursor: Connection, layout: Layout) -> None:
        """Decode all reports of a survey; DataError where nothing is kept of that."""
        decoding = self._open_decoding(layout.intake)
        if decoding is not None:
            self._decode(cursor, layout.intake, 1)
        if decoding is None or decoded.find(cursor, layout, decoding) is None:
            raise DataError(
                f"the reports of {layout.intake.table} are answered from their counts, because no "
                "decoded sums of them are kept; nothing was changed. Keep the counts (--keep "
                "counts)"
            )

    def remove_survey(self, table: str) -> None:
        """Delete a survey and everything about it, also one of a version that cannot be read.

        QueryError if there is none of that name.
        """
        with self._change_at_once():
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
        self._forget_surveys()

    def _forget_surveys(self) -> None:
        """Have nothing in memory of surveys, of which some were removed."""
        for known in (self._surveys, self._layouts, self._recent, self._recalled, self._id_filters):
            known.clear()

    def check(self) -> list[str]:
        """Read, recount and decode everything anew; what is wrong, a line each."""
        with self._read_snapshot() as cursor:
            if faults := [*check_lists(cursor)]:
                return faults
            faults = [f for known in self._known_surveys() for f in check_survey(cursor, known)]
            return [*faults, *check_rest(cursor)]

    def export(self, target: str | Path, tables: Sequence[str] = ()) -> None:
        """Write a store with some surveys, or with everything, to a new file, whole or not at all.

        StoreError for a file that is there.
        """
        for table in tables:
            self._find_known(table)
        keys = [table.lower() for table in tables]
        connection = self._require_connection()
        with self._writing, guard(self.path), connection.cursor() as cursor:
            export(cursor, Path(target), keys)

    def import_surveys(self, source: Path, tables: Sequence[str] = ()) -> list[Imported]:
        """Take surveys of another store, or everything in it, whole or not at all.

        Batches that both stores have count once. DataError where the other store is not as it
        should be (see `check`), and for reports that came to both in batches of their own, which
        nothing tells apart; IntegrityError and FingerprintError for other surveys and look-up
        tables of the same names; QueryError for a survey that is not there.
        """
        if self.path is not None and source.exists() and source.samefile(self.path):
            raise InterfaceError(f"{source} is the store itself; name another file")
        self._look_at_today()
        done = list[Imported]()
        patience, memory = self._patience, self._memory
        with Store(source, read_only=True, patience=patience, memory=memory) as other:
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
                    latest, own = other._latest_day(), self._latest_day()
                    if latest is not None and (own is None or own < latest):
                        self._see_day(latest)
                    self._make_log()
            except BaseException:
                self._forget_surveys()
                raise
        for each in done:
            self._settle(self.intake(each.table))
        self._publish(at_once=True)
        return done

    def _import_survey(self, other: Store, theirs: Connection, known: KnownSurvey) -> Imported:
        intake = self._read_intake(known.text)
        self._register(intake, "")
        layout, statement = Layout(intake), other.find_statement(intake)
        if statement is not None:
            with suppress(OperationalError):  # there is a later one here, or it has ended
                self._keep_statement(intake, Statement.from_json(statement))
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
            self._count_version(layout.key)
        return imported

    def _import_lookups(self, other: Store) -> None:
        known = self._known_lookups()
        with self._read_snapshot() as cursor:
            for table in other.lookups():
                if known.get(table.name) != table.digest:
                    self._keep_lookup(cursor, table, replace=False)

    # -- counts out --------------------------------------------------------------------------

    def lag(self) -> str | None:
        return self._pinned.lag

    def version(self, table: str) -> int:
        key = self._layout(table).key
        [(version,)] = self._rows("SELECT version FROM surveys WHERE name = ?", key)
        return int(version)

    def _count_version(self, key: str) -> None:
        """Say that the histogram of a survey has changed."""
        self._rows("UPDATE surveys SET version = version + 1 WHERE name = ?", key)

    def smallest_batch(self, table: str) -> int | None:
        query = "SELECT min(reports) FROM batches WHERE survey = ? AND reports > 0"
        [(smallest,)] = self._rows(query, table.lower())
        return None if smallest is None else int(smallest)

    def arrivals(self, table: str) -> list[tuple[date | None, int]]:
        """How many reports came on every day (UTC), ascending; last, under None, those of files."""
        query = (
            "SELECT day, sum(reports)::BIGINT FROM batches WHERE survey = ? AND reports > 0 "
            "GROUP BY day ORDER BY day NULLS LAST"
        )
        return self._rows(query, table.lower())

    @contextmanager
    def _open_counts(self, table: str) -> Iterator[Connection]:
        """As `_read_in_time`, for the counts of a survey.

        QueryError where those of some reports were deleted, so that others would answer for them.
        """
        with self._read_snapshot() as pinned:
            alone = decoded.list_alone(pinned, table.lower())
            if alone:
                raise QueryError(
                    f"the counts of {len(alone)} of the batches of {table} were deleted",
                    hint="what is left answers by the usual estimator about everybody, and about "
                    "the public columns of the decoded sums; see `ldpsql db list`",
                )
            self._reach_counts(table)
            with self._read_in_time() as cursor:
                yield cursor

    def _reach_counts(self, table: str) -> None:
        """Let the cursor of this thread's snapshot read the counts of a survey."""

    def _read(
        self, cursor: Connection, table: str, selection: Selection, counted: Sequence[Column]
    ) -> Reading:
        """A reader of a selection of the counts that a cursor sees.  counted: which columns of a
        report will be asked for."""
        layout = self._layout(table)
        progress = fold.FoldProgress.of(cursor, layout)
        counts, is_merged = fold.counts(layout, progress.counted), progress.recent == 0
        return Reading(cursor, layout, selection, counts, is_merged=is_merged)

    def sizes(self, table: str, condition: str | None = None) -> Integers:
        chosen = Selection(condition)
        with self.snapshot():
            kept = self._find_kept(table, chosen)
            if kept is not None and kept[0][1].arrays:
                return kept[0][1].sizes
            with self._open_counts(table) as cursor:
                counted = self._layout(table).people_columns
                return self._read(cursor, table, chosen, counted).sizes()

    def histograms(self, table: str, selection: Selection) -> Sequence[tuple[Key, Histogram]]:
        with self._open_counts(table) as cursor:
            counted = self._layout(table).counted_columns
            return self._read(cursor, table, selection, counted).histograms()

    def decode(self, table: str, selection: Selection) -> Sequence[tuple[Key, Histogram | Decoded]]:
        with self.snapshot():
            kept = self._find_kept(table, selection)
            return self._decode_counts(table, selection) if kept is None else kept

    def _decode_counts(
        self, table: str, selection: Selection
    ) -> Sequence[tuple[Key, Histogram | Decoded]]:
        """As `decode`, of reports of which nothing is kept that they decode to."""
        return self.histograms(table, selection)

    def _find_kept(self, table: str, selection: Selection) -> list[tuple[Key, Decoded]] | None:
        """The kept sums of the decoded reports of a selection, if there are any.

        Of a store that nobody writes through, the last one is read once while a snapshot lasts.
        """
        layout, last = self._layout(table), self._pinned.last
        if last is not None and last[:2] == (layout.key, selection) and self.read_only:
            return last[2]
        # A survey may have got its collector's part since.
        is_complete = layout.intake.is_complete
        decoding = self._open_decoding(layout.intake if is_complete else self.intake(table))
        if decoding is None:
            return None
        with self._read_in_time() as cursor:
            place = decoded.find(cursor, layout, decoding)
            if place is None:
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
        with self._open_counts(table) as cursor:
            layout = self._layout(table)
            everything = Selection(keys=tuple(column.name for column in layout.public_columns))
            return self._read(cursor, table, everything, layout.people_columns).public_people()

    def evaluate(self, sql: str, relations: Mapping[str, pa.Table]) -> pa.Table:
        return self._sandbox.evaluate(sql, relations)


def _skip_unreadable(
    read: Callable[[KnownSurvey], T], surveys: Iterable[KnownSurvey]
) -> Iterator[T]:
    """Surveys, but for those of a newer version, which whoever names them is told of."""
    for survey in surveys:
        with suppress(SurveyError):
            yield read(survey)
