"""What the engine asks of a place where reports are kept.

A backend counts equal reports and evaluates SQL over relations of estimates; it knows nothing of
mechanisms. A new one is a package with a subclass of `Store`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import date
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, Self, TypeVar

import pyarrow as pa

from ldpsql.boxes import Weight
from ldpsql.errors import QueryError
from ldpsql.estimate import Array
from ldpsql.intake import (
    Intake,
    check_statement,
    day_of_arrival,
    day_of_forgetting,
    expand,
    has_both_parts,
)
from ldpsql.lookups import PublicTable
from ldpsql.report import Decoded, Histogram, Integers
from ldpsql.sql import Scalar
from ldpsql.store.incoming import (
    SUFFIXES,
    AcceptedRows,
    ArrivedRows,
    Incoming,
    count_rows,
    read_file,
    read_table,
)
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
    require_batch_size,
    require_open,
    split_files,
)
from ldpsql.survey import Survey
from ldpsql_device.errors import (
    DataError,
    Error,
    FingerprintError,
    IntegrityError,
    NotSupportedError,
    OperationalError,
    ReportError,
    StoreError,
    SurveyError,
)
from ldpsql_device.frozen import frozen
from ldpsql_device.statement import Statement
from ldpsql_device.survey import utc_today

MAX_LOOKUPS = 256
Moment = tuple[Weight, Weight | None]
T = TypeVar("T")


@frozen
class Selection:
    """Which reports, and what to add up over them.

    condition: DuckDB SQL over public columns, or None for all.  keys: public columns, or
    expressions over them, to group by.  moments: pairs of weights whose products are summed beside
    the counts.
    """

    condition: str | None = None
    keys: tuple[str | Scalar, ...] = ()
    moments: tuple[Moment, ...] = ()


class Store(ABC):
    """Reports of any number of surveys, by table name (names ignore case).

    shuffles: never; of surveys that trust a shuffler a store takes whole batches (see `take`).
    """

    shuffles = False

    def __init__(self) -> None:
        self._surveys: dict[str, Survey] = {}
        self._intakes: dict[str, Intake] = {}
        self._lookups: dict[str, PublicTable] = {}
        self._saw, self._arrival = date.min, date.min

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- surveys -----------------------------------------------------------------------------

    def surveys(self) -> list[Survey]:
        """All surveys that can be asked, by name: those with their collector's part, and of
        versions that this one can read."""
        known = (each for each in self._known_surveys() if has_both_parts(each.text))
        return [*_skip_unreadable(lambda each: self.survey(each.key), known)]

    def intakes(self) -> list[Intake]:
        """What is needed to take their reports, of all surveys that can be read, by name."""
        read = self._read_intake
        return [*_skip_unreadable(lambda each: read(each.text), self._known_surveys())]

    def survey(self, table: str) -> Survey:
        """One survey; QueryError if there is none of that name, listing those there are, and for
        one without its collector's part.

        What a name stands for changes only where a survey is removed, so it is looked up once.
        """
        key = table.lower()
        if key not in self._surveys:
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
                self._surveys[key] = survey
            except SurveyError as error:
                raise SurveyError(f"survey {table}: {error}") from None
            self._intakes[text] = Intake.of(survey)
        return self._surveys[key]

    def _recall_derived(
        self, key: str, fingerprint: str, version: int
    ) -> Mapping[str, Array] | None:
        """What follows from the design of a survey alone, if a version of its decoder derived it
        and it was kept."""
        return None

    def intake(self, table: str) -> Intake:
        """What is needed of a survey to take its reports; QueryError if none has that name."""
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

    def _read_intake(self, text: str) -> Intake:
        """What ingestion needs of a published survey; equal texts are read once."""
        if text not in self._intakes:
            self._intakes[text] = Intake.read(text)
        return self._intakes[text]

    def register(self, survey: Survey | Intake) -> None:
        """Add a survey, or the collector's part of one that is there without it.

        Raises FingerprintError if another survey has its name.
        """
        with self._change():
            self._register(Intake.of(survey), "")
        self._publish(at_once=True)

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
                self._complete_survey(intake)
        else:
            raise FingerprintError(
                f"{where}the store knows another survey {intake.table} (fingerprint "
                f"{known.fingerprint[:12]}, not {intake.fingerprint[:12]}); give a new survey a "
                "name of its own (`table`), or take another store"
            )

    # -- statements --------------------------------------------------------------------------

    def find_statement(self, intake: Intake) -> str | None:
        """What its author has said last of a survey being asked; None if nothing was kept."""
        return self._read_statement(intake.key)

    def keep_statement(self, statement: Statement) -> None:
        """Keep what an author says of a table, to be handed out.

        See `check_statement`; StoreError if the store is open for reading only.
        """
        with self._change():
            intake = self.intake(statement.table)
            check_statement(intake, statement, self._read_statement(intake.key))
            self._keep_statement(intake.key, statement.text)
        self._publish(at_once=True)

    def _keep_later(self, intake: Intake, text: str) -> None:
        """Keep what another store has of a survey's author, unless it has ended, or the one that is
        kept is later. SurveyError for a statement about another survey."""
        statement = Statement.from_json(text)
        try:
            check_statement(intake, statement, self._read_statement(intake.key))
        except OperationalError:
            return
        self._keep_statement(intake.key, text)

    @abstractmethod
    def _read_statement(self, key: str) -> str | None:
        """The statement about a survey, None if there is none."""

    @abstractmethod
    def _keep_statement(self, key: str, text: str) -> None:
        """Put a statement in the place of the one before."""

    # -- look-up tables ----------------------------------------------------------------------

    def lookups(self) -> list[PublicTable]:
        """The tables that everybody may see and that questions may join, by name."""
        with self.snapshot():
            found = (self.lookup(name) for name in sorted(self._known_lookups()))
            return [table for table in found if table is not None]

    def lookup(self, name: str) -> PublicTable | None:
        """One of them (names ignore case); None if there is none of that name."""
        key = name.lower()
        if key in self._surveys:  # whose names no look-up table has
            return None
        with self.snapshot():
            digest = self._known_lookups().get(key)
            if digest is None:
                return None
            kept = self._lookups.get(key)
            if kept is None or kept.digest != digest:
                kept = self._lookups[key] = PublicTable(key, self._read_lookup(key), digest)
            return kept

    def add_lookup(self, table: PublicTable, *, replace: bool = False) -> None:
        """Keep a table; replace: also where there is one of that name.

        IntegrityError for the name of a survey or of another table, and for too many tables;
        StoreError if the store is open for reading only.
        """
        with self._change():
            self._keep_lookup(table, replace=replace)
        self._publish(at_once=True)

    def _keep_lookup(self, table: PublicTable, *, replace: bool) -> None:
        known = self._known_lookups()
        if table.name in {survey.key for survey in self._known_surveys()}:
            raise IntegrityError(f"there is a survey {table.name}; give another name")
        if table.name in known and not replace:
            raise IntegrityError(
                f"there is a look-up table {table.name}; remove it, or give another name"
            )
        if len({*known, table.name}) > MAX_LOOKUPS:
            raise IntegrityError(f"a store has at most {MAX_LOOKUPS} look-up tables; remove one")
        self._add_lookup(table)

    def remove_lookup(self, name: str) -> None:
        """Forget a table; DataError if there is none of that name. StoreError as `add_lookup`."""
        with self._change():
            known = self._known_lookups()
            if name.lower() not in known:
                there = ", ".join(sorted(known)) or "none"
                raise DataError(f"there is no look-up table {name!r:.60}; the store has: {there}")
            self._remove_lookup(name.lower())
        self._publish(at_once=True)

    @abstractmethod
    def _known_lookups(self) -> Mapping[str, str]:
        """The digests of look-up tables by name."""

    @abstractmethod
    def _read_lookup(self, name: str) -> pa.Table:
        """The rows of a look-up table."""

    @abstractmethod
    def _add_lookup(self, table: PublicTable) -> None:
        """Keep a look-up table in place of one of that name."""

    @abstractmethod
    def _remove_lookup(self, name: str) -> None:
        """Drop a look-up table."""

    # -- ingestion ---------------------------------------------------------------------------

    @abstractmethod
    def _known_surveys(self) -> Sequence[KnownSurvey]:
        """The surveys of the store, by name."""

    @abstractmethod
    def _add_survey(self, intake: Intake) -> None:
        """Add a survey and make room for its reports."""

    @abstractmethod
    def _complete_survey(self, intake: Intake) -> None:
        """Put the text of a survey with its collector's part in the place of one without."""

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
        for some in split_files(files):
            for batch in self._take_paths(some, read, given, policy):
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
            while files:
                taken = self._take(files, policy)
                yield from taken
                files = files[len(taken) :]

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

    def _choose_survey(self, incoming: Incoming, given: Intake | None) -> Intake:
        surveys = [] if given is not None else self._known_surveys()
        return choose_survey(incoming, given, surveys, self._read_intake)

    def _take(self, files: Sequence[WaitingFile], policy: IngestPolicy) -> list[Batch]:
        """Take the first of some files of one survey in one change, and those after it up to one
        that is refused, of which the next call says why."""
        intake, today = files[0].intake, self._look_at_today()
        with self._change():
            self._register(intake, f"{files[0].incoming.name}: ")
            known = self._find_batches([file.id for file in files if file.id is not None])
            passed = [*takewhile(lambda file: file.is_among(known), files)]
            if passed:
                return [file.pass_over(known) for file in passed]
            new = dict[str | None, AcceptedRows]()
            for file in files:
                if not file.is_among(known) and file.id not in new:
                    new[file.id] = admit(intake, file.incoming, policy, today)
            last = intake.schedule.last_sending_day(self._arrival)
            counts = self._add_reports(intake, [*new.values()], [*new], policy.keep, last, None)
            taken, batches = dict(zip(new, counts, strict=False)), list[Batch]()
            for file in files:
                own = new.get(file.id)
                if own is None or own.incoming is not file.incoming:
                    batches.append(file.pass_over(known))
                    continue
                if file.id not in taken:
                    break
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
            last = intake.schedule.last_sending_day(self._arrival)
            rows = ArrivedRows(source, reports)
            [taken] = self._add_reports(intake, [rows], [None], "reports", last, self._arrival)
        self._settle(intake)
        return taken

    def _settle(self, intake: Intake) -> None:
        """After a commit, what makes reading cheap.

        The reports are kept whether or not it succeeds, so its failure is none of theirs; whoever
        takes or reads reports next does the work or meets the fault.
        """
        with suppress(StoreError):
            self._merge_counts(intake)

    def tidy(self) -> None:
        """Leave one batch per survey, day and source of what `take` took, in an order that tells
        nothing of when a report came, and the ids of a day in one that tells nothing of reports;
        and forget old ids.

        What came since the last call is told apart by the commits that brought it.
        """
        self._look_at_today()
        self._tidy()

    @abstractmethod
    def _tidy(self) -> None:
        """Put in order what `take` took; see `tidy`."""

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

    @abstractmethod
    def _latest_day(self) -> date | None:
        """The latest day on which the store was written to, None if there was none."""

    @abstractmethod
    def _see_day(self, day: date) -> None:
        """Remember it."""

    @abstractmethod
    def _change(self) -> AbstractContextManager[None]:
        """All changes inside or none of them, while other writers wait.

        StoreError if the store is open for reading only.
        """

    def _publish(self, *, at_once: bool = False) -> None:  # noqa: B027  (few have to)
        """After a change: have readers in other processes see it, where they do not read the store
        itself. What was committed stays whether or not it succeeds, so its failure is none of that.

        at_once: even where one change follows upon the other.
        """

    @abstractmethod
    def _find_batches(self, batch_ids: Sequence[str]) -> KnownBatches:
        """Which of some batches were taken before, and what is said of those that were withdrawn
        since."""

    @abstractmethod
    def _add_reports(
        self,
        intake: Intake,
        files: Sequence[AcceptedRows | ArrivedRows],
        batch_ids: Sequence[str | None],
        keep: str,
        last: date,
        day: date | None,
    ) -> list[int]:
        """Keep or count the reports that are no repeats, and write the batches down; how many there
        are in each. Of several reports with one id the first counts. Where a file after the first
        is refused while it is read, those before it are all that is taken, and told.

        day: on which they came, of those that `take` takes.  last: the day until which their ids
        are remembered, apart from the reports. Neither ids nor reports are kept in an order that
        tells which belong together.
        """

    @abstractmethod
    def _forget_ids(self, day: date) -> None:
        """Forget all ids that were to be remembered until a day before this one."""

    @abstractmethod
    def _merge_counts(self, intake: Intake) -> None:
        """After a batch: bring the counts of equal reports up to date where that pays.

        Without it, after a failure or a crash, nothing may be missing from a histogram.
        """

    @abstractmethod
    def catch_up(self) -> None:
        """Bring what is kept of decoded reports up to date, so that no question has to."""

    @abstractmethod
    def refresh(self, table: str) -> None:
        """Count and decode all reports of a survey anew, whatever was kept of them, as a repair.

        `catch_up` reads later batches alone. StoreError where reports were deleted.
        """

    # -- the life of what is kept ------------------------------------------------------------

    def batches(self, table: str) -> list[StoredBatch]:
        """What a survey's reports came in, by number; NotSupportedError where nothing tells."""
        raise self._refuse("list batches")

    def withdraw(self, table: str, numbers: Sequence[int]) -> int:
        """Take batches of a survey out of all answers and delete their reports; how many.

        All or none of them. What is left is what would be there had they never come, but for the
        ids of their reports, which lie apart and are remembered as long as ever, and for the names
        of the batches, so that the same files count no more. DataError for a number that there is
        not, and for a batch of which the counts alone are there, among those of others.
        """
        raise self._refuse("withdraw batches")

    def delete_reports(self, table: str, numbers: Sequence[int]) -> int:
        """Delete the reports of batches and keep what they count; how many. DataError as above."""
        raise self._refuse("delete the reports of batches")

    def delete_counts(self, table: str, numbers: Sequence[int]) -> int:
        """Delete the reports and the counts of batches and keep what all reports together decode
        to; how many reports that are.

        What is answered from the decoded sums is answered as before, and nothing else is answered
        any more, for the counts that are left would say too little. DataError as above, for a
        survey without such sums, and for some of several batches of which the counts alone are
        there.
        """
        raise self._refuse("delete the counts of batches")

    def remove_survey(self, table: str) -> None:
        """Delete a survey and everything about it, also one of a version that cannot be read.

        QueryError if there is none of that name.
        """
        raise self._refuse("delete a survey")

    def check(self) -> list[str]:
        """Read, recount and decode everything anew; what is wrong, a line each."""
        raise self._refuse("check itself")

    def export(self, target: str | Path, tables: Sequence[str] = ()) -> None:
        """Write a store with some surveys, or with everything, to a new file, whole or not at all.

        StoreError for a file that is there.
        """
        raise self._refuse("export surveys")

    def import_surveys(self, source: Path, tables: Sequence[str] = ()) -> list[Imported]:
        """Take surveys of another store, or everything in it, whole or not at all.

        Batches that both stores have count once. DataError where the other store is not as it
        should be (see `check`), and for reports that came to both in batches of their own, which
        nothing tells apart; IntegrityError and FingerprintError for other surveys and look-up
        tables of the same names; QueryError for a survey that is not there.
        """
        raise self._refuse("import surveys")

    def _refuse(self, what: str) -> NotSupportedError:
        return NotSupportedError(f"this kind of store cannot {what}; do it where the reports are")

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

    def _forget_survey(self, key: str) -> None:
        """Have nothing in memory of a survey that was removed."""
        self._surveys.pop(key, None)

    # -- counts out --------------------------------------------------------------------------

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[None]:
        """Within it, everything that this thread reads is as it was when it began."""

    def lag(self) -> str | None:
        """Of when what this snapshot holds is, and why, where there may be later reports."""
        return None

    @abstractmethod
    def version(self, table: str) -> int:
        """A number that changes whenever the survey's histogram does."""

    @abstractmethod
    def smallest_batch(self, table: str) -> int | None:
        """How many reports the smallest batch of a survey holds; None before the first."""

    @abstractmethod
    def arrivals(self, table: str) -> list[tuple[date | None, int]]:
        """How many reports came on every day (UTC), ascending; last, under None, those of files."""

    @abstractmethod
    def sizes(self, table: str, condition: str | None = None) -> Integers:
        """How many reports of every type there are, shape (report types,).

        condition: as of a `Selection`. Reads much less than a histogram.
        """

    @abstractmethod
    def histograms(
        self, table: str, selection: Selection
    ) -> Sequence[tuple[tuple[Any, ...], Histogram]]:
        """One histogram per combination of key values, ascending, NULL last.

        Without keys exactly one, of zero people if no report fits the condition.
        """

    def decode(
        self, table: str, selection: Selection
    ) -> Sequence[tuple[tuple[Any, ...], Histogram | Decoded]]:
        """As `histograms`, or in their place what they decode to, where that is kept."""
        return self.histograms(table, selection)

    @abstractmethod
    def public_people(self, table: str) -> pa.Table:
        """The combinations of public values that reports carry, one row each, ascending, NULL last.

        The public columns, and how many people have each combination, `ldpsql_people`.
        """

    @abstractmethod
    def evaluate(self, sql: str, relations: Mapping[str, pa.Table]) -> pa.Table:
        """Run an outer query over relations of estimates, with no access to anything else.

        Raises QueryError, with the reason, for SQL that cannot be evaluated.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of the store, which cannot be used after it; a second time does nothing."""


def _skip_unreadable(
    read: Callable[[KnownSurvey], T], surveys: Iterable[KnownSurvey]
) -> Iterator[T]:
    """Surveys, but for those of a newer version, which whoever names them is told of."""
    for survey in surveys:
        with suppress(SurveyError):
            yield read(survey)
