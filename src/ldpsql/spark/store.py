"""A store over a folder of report files: Spark reads, counts and decodes them.

What it knows besides, the survey, batches, look-up tables and decoded sums, is that of a DuckDB
store in memory, which is kept beside the reports and written anew after every change. Of several
processes that change it at once one is the last to write; the others find that out, know what that
one has kept, and make their change again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import date
from json import loads
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql.reports.report import Decoded, Histogram
from ldpsql.spark.columns import (
    PLACE,
    ROW,
    SAID,
    arriving_schema,
    in_spark,
    quote_in_spark,
    wide,
)
from ldpsql.spark.counts import (
    SparkRows,
    as_decoded,
    count_selection,
    decode_counts,
    gather,
    name_frames,
    select,
)
from ldpsql.spark.executor import Arriving
from ldpsql.spark.folder import NOTHING, File, Folder, State
from ldpsql.spark.session import Address, explain, in_time, start
from ldpsql.sql.quoting import literal
from ldpsql.store import decoded
from ldpsql.store.base import Key, Selection, refusing
from ldpsql.store.copying import COPY, attach_new, copy_all
from ldpsql.store.counting import count_reports
from ldpsql.store.incoming import SUFFIXES
from ldpsql.store.intake import Intake, expand
from ldpsql.store.layout import COUNT_COLUMN, Column, Layout
from ldpsql.store.opening import Connection, connect, disconnect, open_memory
from ldpsql.store.reading import Reading
from ldpsql.store.rules import Batch, IngestPolicy, require_batch_size
from ldpsql.store.store import Store
from ldpsql.survey import Survey
from ldpsql_device import errors
from ldpsql_device.errors import IntegrityError, NotSupportedError, ReportError, StoreError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TABLES = (
    "CREATE TABLE IF NOT EXISTS files (path VARCHAR, length BIGINT, modified BIGINT, why VARCHAR)",
    "CREATE TABLE IF NOT EXISTS folders (kind VARCHAR, name VARCHAR, last DATE)",
)
"""The report files of the folder that were read, and why one was refused; what belongs to the
state beside it, and until when ids are remembered."""
_IDS = f"{ID_COLUMN} BINARY"
_COUNTED = "ldpsql_counted"
_PARTITION = 1 << 18
"""Reports that one task keeps."""
_ATTEMPTS = 5
_SHOWN = 3

T = TypeVar("T")


class _OvertakenError(StoreError):
    """Another process changed what is kept in the same moment."""


@dataclass(frozen=True)
class _Accepted:
    """A file that is taken: what its batch is known by, and its reports and other rows."""

    name: str
    batch: str | None
    reports: int
    skipped: int


Outcomes = Mapping[int, _Accepted | Batch | errors.Error]
"""By the places of files: those that are taken, those that were, and why others are refused."""


class SparkStore(Store):
    """The reports of one survey in a folder.

    Every statement is about the files that were there when it began: those that are new are read,
    counted and decoded, and none is read again unless it changes. A file that was counted may be
    removed. One that is refused counts nothing, and every answer says so until it is gone or
    another one.
    """

    def __init__(
        self,
        session: SparkSession,
        reports: str,
        survey: Survey | Intake | None,
        *,
        read_only: bool,
        memory: int | None = None,
    ) -> None:
        """Open the store of a folder.

        survey: whose reports they are; None for the one that is known there.  read_only: leave
        files that are new alone, and what is kept beside them.  Raises StoreError for a folder that
        Spark does not see, or whose survey is not known; FingerprintError and IntegrityError where
        that is another one.
        """
        self._folder, self._spark = Folder(session, reports), session
        self._state, self._is_changed, self._turn = NOTHING, False, threading.RLock()
        self._forgotten: list[str] = []
        super().__init__(None, read_only=False, patience=0.0, memory=memory)
        self.read_only = read_only
        self._load()
        with super().snapshot():
            known = {each.fingerprint for each in self._known_surveys()}
        if survey is None and not known:
            raise StoreError(
                f"the survey of {reports} is not known; name its file once (?survey=FILE)"
            )
        if survey is not None:
            if not read_only:
                self.register(survey)
            elif survey.fingerprint not in known:
                raise StoreError(
                    f"{reports} is open read-only, and no report of survey {survey.table} was "
                    "counted there; open it for writing once"
                )

    @classmethod
    def open_address(cls, url: str, *, read_only: bool, memory: int | None) -> Self:
        """Open the store of a folder by its address; errors as of `Address.parse` and `start`."""
        address = Address.parse(url)
        survey = None if address.survey is None else Intake.read(address.survey)
        return cls(start(), address.reports, survey, read_only=read_only, memory=memory)

    # -- what is kept beside the reports -----------------------------------------------------------

    def _load(self) -> list[File]:
        """Take over what another process has written beside the reports; the report files."""
        with self._turn:
            for _ in range(_ATTEMPTS):
                files, last = self._folder.list_all()
                if last == self._state:
                    return files
                if last == NOTHING:
                    break
                content = self._folder.read_state(last)
                if content is not None:
                    self._take_over(self._unpack(content))
                    self._state = last
                    return files
        raise StoreError(
            f"what is kept beside {self._folder.reports} is gone, or changed all the time; open "
            "it again"
        )

    def _take_over(self, connection: Connection) -> None:
        """Know what is in another database, and nothing else."""
        self._limit(connection)
        self._connection = connection
        self._forget_surveys()

    def _unpack(self, content: bytes) -> Connection:
        """A database in memory; StoreError for one that a later version wrote."""
        with TemporaryDirectory(prefix="ldpsql-") as folder:
            path = Path(folder, "state.duckdb")
            path.write_bytes(content)
            try:
                disconnect(connect(path, read_only=False, patience=0.0), path)
            except StoreError as error:
                raise StoreError(
                    str(error).replace(str(path), f"beside {self._folder.reports}")
                ) from None
            connection = open_memory()
            connection.execute(f"ATTACH {literal(str(path))} AS {COPY} (READ_ONLY)")
            connection.execute(f"COPY FROM DATABASE {COPY} TO memory")
            connection.execute(f"DETACH {COPY}")
        return connection

    def _pack(self) -> bytes:
        """The database as a file has it."""
        with TemporaryDirectory(prefix="ldpsql-") as folder:
            path = Path(folder, "state.duckdb")
            with self._require_connection().cursor() as cursor, attach_new(cursor, path):
                copy_all(cursor)
            return path.read_bytes()

    @contextmanager
    def _change(self) -> Iterator[None]:
        with self._turn:
            if not self.read_only:
                self._load()
            self._is_changed, self._forgotten = False, []
            with super()._change():
                yield
            if self._is_changed:
                self._keep()

    def _keep(self) -> None:
        """Keep beside the reports what was committed in memory.

        Where that fails, and where another process was faster, it is nowhere else: then what is
        kept is read again.
        """
        own, where = State(self._state.number + 1, token_hex(8)), self._folder.reports
        overtaken = _OvertakenError(
            f"another process changed what is kept beside {where} in the same moment; do it again"
        )
        try:
            if self._folder.find_state() != self._state:
                raise overtaken
            try:
                self._folder.write_state(own, self._pack())
            except StoreError:
                # Two that replace one slot hinder each other.
                if self._folder.find_state() != self._state:
                    raise overtaken from None
                raise
            if self._folder.find_state() != own:
                raise overtaken
        except BaseException:
            self._take_over(connect(None, read_only=False, patience=0.0))
            self._state = NOTHING
            raise
        self._state = own
        for name in self._forgotten:
            with suppress(StoreError):  # no state names them any more
                self._folder.empty("ids", name, _IDS)

    def _repeat(self, change: Callable[[], T]) -> T:
        """Make a change, anew where another process was faster."""
        for _ in range(_ATTEMPTS - 1):
            with suppress(_OvertakenError):
                return change()
        return change()

    def _make_log(self) -> None:
        self._is_changed = True

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        if self._pinned.cursor is None:
            self._require_connection()
            self._repeat(self._count_new)
        with super().snapshot():
            yield

    # -- the survey --------------------------------------------------------------------------------

    def register(self, survey: Survey | Intake) -> None:
        self._repeat(lambda: super(SparkStore, self).register(survey))

    def _register(self, intake: Intake, where: str) -> None:
        for known in self._known_surveys():
            if known.key != intake.key:
                raise IntegrityError(
                    f"{where}{self._folder.reports} holds the reports of survey {known.key}; take "
                    f"another folder for those of {intake.table}"
                )
        super()._register(intake, where)

    # -- reports in --------------------------------------------------------------------------------

    def ingest(
        self,
        paths: Sequence[str | Path],
        *,
        survey: Survey | Intake | None = None,
        tell: Callable[[Batch], None] | None = None,
        progress: Callable[[int, int | None], None] | None = None,
        **options: Any,
    ) -> list[Batch]:
        if progress is not None:  # Spark takes all files at once
            progress(0, None)
        found, policy = expand(paths, SUFFIXES), _require_reports(IngestPolicy(**options))
        files = self._folder.list_files([str(path.absolute()) for path in found])
        names = [str(path) for path in found]
        taken = self._repeat(lambda: self._take_files(files, names, survey, policy))
        return _list_taken(taken, self._number(files, names), tell)

    def ingest_table(
        self, reports: pa.Table, survey: Survey | Intake | None = None, **options: Any
    ) -> Batch:
        policy, content = _require_reports(IngestPolicy(**options)), pa.BufferOutputStream()
        pq.write_table(reports, content)
        rows: list[Any] = [("table.parquet", content.getvalue().to_pybytes())]
        source = self._spark.createDataFrame(rows, "path STRING, content BINARY")
        places = {"table.parquet": (0, "the table")}

        def take() -> Outcomes:
            with self._open_survey(survey) as intake:
                return self._take_source(
                    intake, source, places, policy, _until_refused, is_table=True
                )

        [batch] = _list_taken(self._repeat(take), places, None)
        return batch

    def catch_up(self) -> None:
        self._repeat(self._count_new)
        with super().snapshot():
            if not self._known_files() and self._pinned.lag is None:
                raise ReportError(
                    f"there is no report file in {self._folder.reports} ({', '.join(SUFFIXES)})"
                )

    def _count_new(self) -> None:
        """Take those of the folder's files that were not read before, and tell of those that do not
        count."""
        with self._turn:
            files = self._load()
            if not self.read_only and self._choose_new(files):
                with self._open_survey(None) as intake:
                    new = self._choose_new(files)  # another process may have been there
                    places = self._number(new, [f.name_in(self._folder.reports) for f in new])
                    source = self._folder.read_files(new)
                    found = self._take_source(
                        intake, source, places, IngestPolicy(), dict, is_table=False
                    )
                    self._know(new, found)
            with super().snapshot():
                known = self._known_files()
        self._pinned.lag = _tell_uncounted(
            [file for file in files if file not in known],
            {
                file.name_in(self._folder.reports): str(why)
                for file in files
                if (why := known.get(file)) is not None
            },
        )

    def _choose_new(self, files: Sequence[File]) -> list[File]:
        """Those of the folder's files that were not read as they are now."""
        with super().snapshot():
            known = self._known_files()
        return [file for file in files if file not in known]

    def _known_files(self) -> dict[File, str | None]:
        """The files of the folder that were read, and why those were refused that were."""
        if not self._has_table("files"):
            return {}
        rows = self._rows("SELECT path, length, modified, why FROM files")
        return {File(*own): why for *own, why in rows}

    def _know(self, files: Sequence[File], found: Outcomes) -> None:
        """Write down that files were read, and what became of them."""
        for place, outcome in found.items():
            file, why = files[place], None if isinstance(outcome, Batch) else str(outcome)
            self._rows("DELETE FROM files WHERE path = ?", file.path)
            row = (file.path, file.length, file.modified, why)
            self._rows("INSERT INTO files VALUES (?, ?, ?, ?)", *row)
            self._make_log()

    def _known_folders(self, kind: str) -> list[str]:
        query = "SELECT name FROM folders WHERE kind = ? ORDER BY name"
        return [name for (name,) in self._rows(query, kind)] if self._has_table("folders") else []

    @contextmanager
    def _open_survey(self, survey: Survey | Intake | None) -> Iterator[Intake]:
        """Change the store, by reports of a survey that is given, or of the one that is known."""
        self._look_at_today()
        with self._change():
            for statement in _TABLES:
                self._rows(statement)
            if survey is None:
                [known] = self._known_surveys()
                yield self._read_intake(known.text)
            else:
                self._register(Intake.of(survey), "")
                yield Intake.of(survey)

    def _take_files(
        self,
        files: Sequence[File],
        shown: Sequence[str],
        survey: Survey | Intake | None,
        policy: IngestPolicy,
    ) -> Outcomes:
        """Take files in this order, each whole or not at all, until one is refused.

        shown: their names for messages.
        """
        places = self._number(files, shown)
        with self._open_survey(survey) as intake:
            source = self._folder.read_files(files)
            found = self._take_source(
                intake, source, places, policy, _until_refused, is_table=False
            )
            self._know(files, {k: own for k, own in found.items() if isinstance(own, Batch)})
        return found

    @staticmethod
    def _number(files: Sequence[File], shown: Sequence[str]) -> dict[str, tuple[int, str]]:
        """Places and names of files by what Spark calls them."""
        return {file.path: each for file, each in zip(files, enumerate(shown), strict=True)}

    def _take_source(
        self,
        intake: Intake,
        source: DataFrame,
        places: Mapping[str, tuple[int, str]],
        policy: IngestPolicy,
        choose: Callable[[Outcomes], Outcomes],
        *,
        is_table: bool,
    ) -> Outcomes:
        """Take files by their contents: what became of each.

        choose: of what would become of all of them those that are looked at.
        """
        from pyspark import StorageLevel  # noqa: PLC0415  (an extra)

        layout = self._layout(intake.table)
        own = replace(intake, text=intake.device_text)  # which may be much shorter
        task = Arriving(own, policy, self._saw, places, is_table)
        with explain("read the reports"):
            arrived = source.mapInArrow(task.read, in_spark(arriving_schema(intake)))
            arrived = arrived.persist(StorageLevel.DISK_ONLY)
            try:
                said = arrived.where(f"{SAID} IS NOT NULL").select(PLACE, SAID).toArrow()
                outcomes = {row[PLACE]: loads(row[SAID]) for row in said.to_pylist()}
                found = dict(choose(self._judge(intake, places, outcomes, policy)))
                accepted = {k: own for k, own in found.items() if isinstance(own, _Accepted)}
                name = token_hex(8)
                reports = {place: own.reports for place, own in accepted.items()}
                new = self._count(layout, arrived, reports, name) if accepted else {}
            finally:
                arrived.unpersist()
        with self._read_snapshot() as cursor:
            last = decoded.find_last_batch(cursor, layout.key)
        if new:
            self._count_version(layout.key)
            self._add_sums(layout, name, last + len(accepted))
        for number, (place, each) in enumerate(accepted.items(), last + 1):
            taken, row = new.get(place, 0), [layout.key, number, each.batch, each.name]
            found[place] = Batch(
                each.name, taken, each.skipped, known=False, repeats=each.reports - taken
            )
            row += [taken, each.skipped, False, None, self._arrival, None, None]
            self._rows("INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", *row)
            self._make_log()
        return found

    def _judge(
        self,
        intake: Intake,
        places: Mapping[str, tuple[int, str]],
        outcomes: Mapping[int, Mapping[str, Any]],
        policy: IngestPolicy,
    ) -> Outcomes:
        """The decisions about files, in order, by what executors say of each that was there."""
        found, accepted = dict[int, _Accepted | Batch | errors.Error](), set[str | None]()
        for place, name in sorted(places.values()):
            own = outcomes.get(place)
            if own is None:
                continue
            batch = own.get("batch")
            if batch is not None and (
                batch in accepted or (intake.key, batch) in self._find_batches([batch])
            ):
                found[place] = Batch(name, 0, 0, known=True)
                continue
            if "error" in own:
                kind: type[errors.Error] = getattr(errors, own["error"], ReportError)
                found[place] = kind(own["message"])
                continue
            try:
                require_batch_size(intake, name, own["accepted"], policy)
            except ReportError as error:
                found[place] = error
                continue
            found[place] = _Accepted(name, batch, own["accepted"], own["skipped"])
            accepted.add(batch)
        return found

    def _count(
        self, layout: Layout, arrived: DataFrame, reports: Mapping[int, int], name: str
    ) -> dict[int, int]:
        """Keep counts of the reports in some files that are no repeats, and their ids apart from
        them, under a new name; how many there are in every file that has any.

        reports: how many each file has, by its place.
        """
        listed = ", ".join(map(str, reports))
        is_report = f"{SAID} IS NULL AND {PLACE} IN ({listed})"
        with name_frames(self._spark, arrived=arrived, known=self._read_ids()) as views:
            query = f"SELECT * FROM {views['arrived']} WHERE {is_report}"
            if layout.intake.shuffled is None:
                query = (
                    f"SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY {ID_COLUMN} ORDER "
                    f"BY {PLACE}, {ROW}) AS ldpsql_rank FROM ({query}) AS reports) AS ranked WHERE "
                    f"ldpsql_rank = 1 AND NOT EXISTS (SELECT 1 FROM {views['known']} AS known "
                    f"WHERE known.{ID_COLUMN} = ranked.{ID_COLUMN})"
                )
            # Spark does not join the partitions of what it caches, two hundred of them by default,
            # so that the ids of a few reports would be written by as many tasks, a file each.
            partitions = 1 + sum(reports.values()) // _PARTITION
            new = select(self._spark, query).coalesce(partitions).persist()
            try:
                people = new.groupBy(PLACE).count().toArrow().to_pylist()
                if people:
                    self._write_counts(layout, new, name, partitions)
            finally:
                new.unpersist()
        return {row[PLACE]: row["count"] for row in people}

    def _write_counts(self, layout: Layout, new: DataFrame, name: str, partitions: int) -> None:
        """Keep counts and ids, each in an order of their own, which tells nothing of the other."""
        counted = new
        if self._open_decoding(layout.intake) is not None:
            # Decoding takes time by the question, and there are hardly more reports than counts:
            # one task gets all of a question, to count and, later, to decode.
            question = quote_in_spark(layout.report_type.name)
            counted = new.repartition(partitions, question)
        with name_frames(self._spark, new=counted) as views:
            reports = f"SELECT {layout.columns} FROM {views['new']}"
            union = " UNION ALL ".join(count_reports(layout, reports))
            wide_columns = ", ".join(
                f"CAST({own.sql} AS BIGINT) AS {own.sql}" for own in layout.counted_columns
            )
            public = "".join(f", {own.sql}" for own in layout.public_columns)
            columns = f"{wide_columns}{public}, {COUNT_COLUMN}"
            counts = select(self._spark, f"SELECT {columns} FROM ({union}) AS counts")
            self._write_sorted(layout, counts, name)
        self._rows("INSERT INTO folders VALUES ('counts', ?, NULL)", name)
        if layout.intake.shuffled is None:
            ids = new.select(ID_COLUMN).sortWithinPartitions(ID_COLUMN)
            self._folder.write("ids", name, ids)
            last = layout.intake.schedule.last_sending_day(self._arrival)
            self._rows("INSERT INTO folders VALUES ('ids', ?, ?)", name, last)

    def _write_sorted(self, layout: Layout, counts: DataFrame, name: str) -> None:
        """Write counts by public columns first: Parquet then tells where a condition holds for
        nobody."""
        order = (*layout.public_columns, *layout.counted_columns)
        ordered = counts.sortWithinPartitions(*(quote_in_spark(own.name) for own in order))
        self._folder.write("counts", name, ordered)

    def _see_day(self, day: date) -> None:
        before = self._is_changed
        super()._see_day(day)
        self._is_changed = before  # it is kept with what is taken on that day

    def _forget_ids(self, day: date) -> None:
        if self._has_table("folders"):
            old = f"kind = 'ids' AND last < {literal(day)}"
            names = self._rows(f"SELECT name FROM folders WHERE {old}")
            if names:
                self._forgotten += [name for (name,) in names]
                self._rows(f"DELETE FROM folders WHERE {old}")
                self._make_log()

    def _read_ids(self) -> DataFrame:
        """The ids that are remembered."""
        return self._folder.read("ids", self._known_folders("ids"), _IDS)

    def _read_counts(self, layout: Layout, *new: str) -> DataFrame:
        """Counts of all reports, or of those under a new name; several rows may stand for equal
        reports."""
        schema = in_spark(wide(layout.histogram_columns))
        return self._folder.read("counts", new or self._known_folders("counts"), schema)

    # -- sums of decoded reports -------------------------------------------------------------------

    def _add_sums(self, layout: Layout, name: str, last: int) -> None:
        """Decode new counts, and all of them where there are no sums of this decoder yet.

        last: the number of the last batch whose reports they are.
        """
        decoding = self._open_decoding(layout.intake)
        if decoding is not None:
            with self._read_snapshot() as cursor, explain("decode the reports"):
                place = decoded.find(cursor, layout, decoding)
                counts = self._read_counts(layout, *([] if place is None else [name]))
                if place is None:
                    place = decoded.begin(cursor, layout, decoding)
                rows = SparkRows(cursor, layout, counts)
                decoded.add(cursor, place, decoding, rows, last)

    def refresh(self, table: str) -> None:
        """As of every store, from the counts, which are joined in one folder."""
        layout, name = self._layout(table), token_hex(8)
        with self._change(), self._read_snapshot() as cursor:
            last = decoded.find_last_batch(cursor, layout.key)
            if last:
                with explain("join the counts"):
                    self._join_counts(layout, name)
                decoded.drop(cursor, layout)
                self._add_sums(layout, name, last)
                self._make_log()

    def _join_counts(self, layout: Layout, name: str) -> None:
        """Keep the counts of all reports under a new name, a row for equal ones."""
        with name_frames(self._spark, counts=self._read_counts(layout)) as views:
            counted = f"CAST(sum({COUNT_COLUMN}) AS BIGINT) AS {COUNT_COLUMN}"
            query = f"SELECT {layout.keys}, {counted} FROM {views['counts']} GROUP BY {layout.keys}"
            self._write_sorted(layout, select(self._spark, query), name)
        self._rows("DELETE FROM folders WHERE kind = 'counts'")
        self._rows("INSERT INTO folders VALUES ('counts', ?, NULL)", name)

    # -- counts out --------------------------------------------------------------------------------

    def _decode_counts(
        self, table: str, selection: Selection
    ) -> Sequence[tuple[Key, Histogram | Decoded]]:
        layout = self._layout(table)
        if selection.moments or self._open_decoding(layout.intake) is None:
            return self.histograms(table, selection)
        with in_time(self._spark), explain("decode the reports"):
            found = decode_counts(layout, self._read_counts(layout), selection)
            return as_decoded(gather(found), selection)

    def _read(
        self, cursor: Connection, table: str, selection: Selection, counted: Sequence[Column]
    ) -> Reading:
        layout = self._layout(table)
        with in_time(self._spark), explain("count the reports"):
            counts = self._read_counts(layout)
            chosen = count_selection(self._spark, layout, counts, selection, counted)
            with chosen as (rows, rest):
                cursor.register(_COUNTED, rows.toArrow())
        return Reading(cursor, layout, rest, _COUNTED, has_moments=True)

    # -- what is for a store in a file -------------------------------------------------------------

    take = refusing("take reports one by one")
    tidy = refusing("put batches in order")
    withdraw = refusing("withdraw batches")
    delete_reports = refusing("delete the reports of batches")
    delete_counts = refusing("delete the counts of batches")
    remove_survey = refusing("delete a survey")
    check = refusing("check itself")
    export = refusing("export surveys")
    import_surveys = refusing("import surveys")


def _until_refused(found: Outcomes) -> Outcomes:
    """The outcomes of files where the first that is refused or gone ends it."""
    chosen = dict[int, _Accepted | Batch | errors.Error]()
    for place, outcome in found.items():
        if place > len(chosen):
            break
        chosen[place] = outcome
        if isinstance(outcome, errors.Error):
            break
    return chosen


def _list_taken(
    found: Outcomes,
    places: Mapping[str, tuple[int, str]],
    tell: Callable[[Batch], None] | None,
) -> list[Batch]:
    """The outcomes of files until one was refused or gone, which ends the call."""
    batches = list[Batch]()
    for place, name in sorted(places.values()):
        outcome = found.get(place, ReportError(f"cannot read {name}: it is not there any more"))
        if isinstance(outcome, errors.Error):
            raise outcome
        assert isinstance(outcome, Batch)
        batches.append(outcome)
        if tell is not None:
            tell(outcome)
    return batches


def _tell_uncounted(new: Sequence[File], refused: Mapping[str, str]) -> str | None:
    """Which report files of a folder do not count, and why."""
    said = list[str]()
    if new:
        said.append(f"{len(new):,} new files are not counted: the store is open read-only")
    if refused:
        shown = [*refused.values()][:_SHOWN]
        more = f"; and {len(refused) - _SHOWN:,} more" if len(refused) > _SHOWN else ""
        said.append(f"{len(refused):,} files are no reports that count: {'; '.join(shown)}{more}")
    return "; ".join(said) or None


def _require_reports(policy: IngestPolicy) -> IngestPolicy:
    """NotSupportedError for a policy that deletes reports: the files are not the store's."""
    if policy.keep != "reports":
        raise NotSupportedError(
            "counts are all that is kept beside a folder of reports; remove its files yourself "
            "once they are counted"
        )
    return policy
