"""A store over a folder of report files: Spark reads, counts and decodes them.

What it knows besides, the survey, batches, look-up tables and decoded sums, is that of a DuckDB
store in memory, which is kept beside the reports and written anew after every change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from json import loads
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from ldpsql.intake import Intake, expand
from ldpsql.report import Decoded, Histogram
from ldpsql.sql import literal
from ldpsql.store.base import Selection
from ldpsql.store.counting import COUNT_COLUMN, Column, count_reports
from ldpsql.store.duckdb import decoded
from ldpsql.store.duckdb.layout import Layout
from ldpsql.store.duckdb.opening import Connection, connect, disconnect, open_memory
from ldpsql.store.duckdb.reading import Reading
from ldpsql.store.duckdb.store import DuckDBStore
from ldpsql.store.incoming import SUFFIXES
from ldpsql.store.rules import Batch, Imported, Policy, require_batch_size
from ldpsql.store.spark.columns import (
    PLACE,
    ROW,
    SAID,
    arriving_columns,
    quote_in_spark,
    wide,
    write_schema,
)
from ldpsql.store.spark.counts import (
    SparkRows,
    as_decoded,
    count_selection,
    decode_counts,
    name_frames,
    select,
)
from ldpsql.store.spark.executor import Arriving
from ldpsql.store.spark.folder import File, Folder
from ldpsql.store.spark.session import explain, in_time
from ldpsql.survey import Survey
from ldpsql_device import errors
from ldpsql_device.arrow import ID_COLUMN
from ldpsql_device.errors import IntegrityError, NotSupportedError, ReportError, StoreError
from ldpsql_device.survey import utc_today

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TABLES = (
    "CREATE TABLE IF NOT EXISTS files (path VARCHAR, length BIGINT, modified BIGINT)",
    "CREATE TABLE IF NOT EXISTS folders (kind VARCHAR, name VARCHAR, last DATE)",
)
_COUNTED, _COPY = "ldpsql_counted", "ldpsql_copy"


@dataclass(frozen=True)
class _Accepted:
    """A file that is taken: what its batch is known by, and its reports and other rows."""

    name: str
    batch: str | None
    reports: int
    skipped: int


class SparkStore(DuckDBStore):
    """The reports of one survey in a folder.

    Every statement is about the files that were there when it began: those that are new are read,
    counted and decoded, and none is read again. A file that was counted may be removed.
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
        self._states, self._state = frozenset[str](), (0, "")
        self._new: list[File] = []
        self._is_changed = False
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

    # -- what is kept beside the reports -----------------------------------------------------------

    def _load(self) -> list[File]:
        """Take over what another process has written beside the reports; the report files."""
        files, states = self._folder.list_all()
        if states != self._states:
            found = self._folder.read_state(self._state) if states else None
            if found is not None:
                number, token, content = found
                self._take_over(self._unpack(content))
                self._state = number, token
            self._states = states
        return files

    def _take_over(self, connection: Connection) -> None:
        """Know what is in another database, and nothing else."""
        self._limit(connection)
        self._connection = connection
        for key in list(self._surveys):
            self._forget_survey(key)
        self._layouts.clear()
        self._recalled.clear()

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
            connection.execute(f"ATTACH {literal(str(path))} AS {_COPY} (READ_ONLY)")
            connection.execute(f"COPY FROM DATABASE {_COPY} TO memory")
            connection.execute(f"DETACH {_COPY}")
        return connection

    def _pack(self) -> bytes:
        """The database as a file has it."""
        with TemporaryDirectory(prefix="ldpsql-") as folder:
            path = Path(folder, "state.duckdb")
            with self._require_connection().cursor() as cursor:
                cursor.execute(f"ATTACH {literal(str(path))} AS {_COPY} (READ_WRITE)")
                cursor.execute(f"COPY FROM DATABASE memory TO {_COPY}")
                cursor.execute(f"DETACH {_COPY}")
            return path.read_bytes()

    @contextmanager
    def _change(self) -> Iterator[None]:
        if not self.read_only:
            self._load()
        self._is_changed = False
        with super()._change():
            yield
        if self._is_changed:
            state = self._state[0] + 1, token_hex(8)
            try:
                self._folder.write_state(*state, self._pack())
            except BaseException:
                # What was committed in memory is nowhere else: know what is kept instead.
                self._take_over(connect(None, read_only=False, patience=0.0))
                self._states, self._state = frozenset(), (0, "")
                raise
            self._states, self._state = frozenset(), state

    def _make_log(self) -> None:
        self._is_changed = True

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        if self._pinned.cursor is None:
            self._require_connection()
            self._count_new(self._load())
        with super().snapshot():
            yield

    def lag(self) -> str | None:
        if not self._new:
            return None
        return (
            f"{len(self._new):,} new files of reports are not counted: the store is open read-only"
        )

    # -- the survey --------------------------------------------------------------------------------

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
        found, policy = expand(paths, SUFFIXES), _require_reports(Policy(**options))
        files = self._folder.list_files([str(path.absolute()) for path in found])
        return self._take_files(files, list(map(str, found)), survey, policy, tell)

    def ingest_table(
        self, reports: pa.Table, survey: Survey | Intake | None = None, **options: Any
    ) -> Batch:
        policy, content = _require_reports(Policy(**options)), pa.BufferOutputStream()
        pq.write_table(reports, content)
        rows: list[Any] = [("table.parquet", content.getvalue().to_pybytes())]
        source = self._spark.createDataFrame(rows, "path STRING, content BINARY")
        places = {"table.parquet": (0, "the table")}
        with self._open_survey(survey) as intake:
            batches, refused = self._take_source(intake, source, places, policy, is_table=True)
        if refused is not None:
            raise refused
        return batches[0]

    def take(self, intake: Intake, reports: Sequence[pa.RecordBatch], source: str) -> int:
        raise self._refuse("take reports one by one")

    def catch_up(self) -> None:
        files = self._load()
        with super().snapshot():
            if not files and not self._known_files():
                raise ReportError(
                    f"there is no report file in {self._folder.reports} ({', '.join(SUFFIXES)})"
                )
        self._count_new(files)

    def _count_new(self, files: Sequence[File]) -> None:
        """Take those of the folder's files that are not known."""
        with super().snapshot():
            known = set(self._known_files())
        self._new = [file for file in files if file not in known]
        if self._new and not self.read_only:
            inside = [file.name_in(self._folder.reports) for file in self._new]
            self._take_files(self._new, inside, None, Policy(), None)
            self._new = []

    def _known_files(self) -> list[File]:
        query = "SELECT path, length, modified FROM files"
        return [File(*row) for row in self._rows(query)] if self._has_table("files") else []

    def _known_folders(self, kind: str) -> list[str]:
        query = "SELECT name FROM folders WHERE kind = ? ORDER BY name"
        return [name for (name,) in self._rows(query, kind)] if self._has_table("folders") else []

    @contextmanager
    def _open_survey(self, survey: Survey | Intake | None) -> Iterator[Intake]:
        """Change the store, by reports of a survey that is given, or of the one that is known."""
        self._look_at(utc_today())
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
        policy: Policy,
        tell: Callable[[Batch], None] | None,
    ) -> list[Batch]:
        """Take files in this order, each whole or not at all; those before one that is refused stay
        taken.  shown: their names for messages."""
        places = {file.path: each for file, each in zip(files, enumerate(shown), strict=True)}
        with self._open_survey(survey) as intake:
            source = self._folder.read_files(files)
            batches, refused = self._take_source(intake, source, places, policy, is_table=False)
            for file in files[: len(batches)]:
                self._rows("DELETE FROM files WHERE path = ?", file.path)
                row = (file.path, file.length, file.modified)
                self._rows("INSERT INTO files VALUES (?, ?, ?)", *row)
                self._make_log()
        if tell is not None:
            for batch in batches:
                tell(batch)
        if refused is not None:
            raise refused
        return batches

    def _take_source(
        self,
        intake: Intake,
        source: DataFrame,
        places: Mapping[str, tuple[int, str]],
        policy: Policy,
        *,
        is_table: bool,
    ) -> tuple[list[Batch], errors.Error | None]:
        """Take files by their contents: what became of those before the first that is refused, and
        why that one is."""
        from pyspark import StorageLevel  # noqa: PLC0415  (an extra)

        layout = self._layout(intake.table)
        task = Arriving(intake.device_text, policy, utc_today(), places, is_table)
        with explain("read the reports"):
            arrived = source.mapInArrow(task.read, write_schema(arriving_columns(layout)))
            arrived = arrived.persist(StorageLevel.DISK_ONLY)
            try:
                said = arrived.where(f"{SAID} IS NOT NULL").select(PLACE, SAID).toArrow()
                outcomes = {row[PLACE]: loads(row[SAID]) for row in said.to_pylist()}
                accepted, batches, refused = self._judge(intake, places, outcomes, policy)
                name = token_hex(8)
                new = self._count(layout, arrived, list(accepted), name) if accepted else {}
            finally:
                arrived.unpersist()
        with self._read_snapshot() as cursor:
            last = decoded.find_last_batch(cursor, layout.key)
        if new:
            self._rows("UPDATE surveys SET version = version + 1 WHERE name = ?", layout.key)
            self._add_sums(layout, name, last + len(accepted))
        for number, (place, own) in enumerate(accepted.items(), last + 1):
            taken, row = new.get(place, 0), [layout.key, number, own.batch, own.name]
            batches[place] = Batch(
                own.name, taken, own.skipped, known=False, repeats=own.reports - taken
            )
            row += [taken, own.skipped, False, None, self._arrival, None]
            self._rows("INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", *row)
            self._make_log()
        return [batches[place] for place in sorted(batches)], refused

    def _judge(
        self,
        intake: Intake,
        places: Mapping[str, tuple[int, str]],
        outcomes: Mapping[int, Mapping[str, Any]],
        policy: Policy,
    ) -> tuple[dict[int, _Accepted], dict[int, Batch], errors.Error | None]:
        """Which files are taken, which were before, and why the first that is neither is refused,
        by what executors say of each."""
        accepted, known = dict[int, _Accepted](), dict[int, Batch]()
        for place, name in sorted(places.values()):
            own = outcomes[place]
            batch = own.get("batch")
            if "error" in own:
                kind: type[errors.Error] = getattr(errors, own["error"], ReportError)
                return accepted, known, kind(own["message"])
            same = batch is not None and any(batch == each.batch for each in accepted.values())
            if same or (batch is not None and self._has_batch(intake, batch)):
                known[place] = Batch(name, 0, 0, known=True)
                continue
            if intake.shuffled is not None:
                try:
                    require_batch_size(intake, name, own["accepted"], policy)
                except ReportError as error:
                    return accepted, known, error
            accepted[place] = _Accepted(name, batch, own["accepted"], own["skipped"])
        return accepted, known, None

    def _count(
        self, layout: Layout, arrived: DataFrame, places: Sequence[int], name: str
    ) -> dict[int, int]:
        """Keep counts of the reports in some files that are no repeats, and their ids apart from
        them, under a new name; how many there are in every file that has any."""
        listed = ", ".join(map(str, places))
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
            new = select(self._spark, query).persist()
            try:
                people = new.groupBy(PLACE).count().toArrow().to_pylist()
                if people:
                    self._write_counts(layout, new, name)
            finally:
                new.unpersist()
        return {row[PLACE]: row["count"] for row in people}

    def _write_counts(self, layout: Layout, new: DataFrame, name: str) -> None:
        """Keep counts and ids, each in an order of their own, which tells nothing of the other."""
        with name_frames(self._spark, new=new) as views:
            reports = f"SELECT {layout.columns} FROM {views['new']}"
            union = " UNION ALL ".join(count_reports(layout, reports))
            wide_columns = ", ".join(
                f"CAST({own.sql} AS BIGINT) AS {own.sql}" for own in layout.counted_columns
            )
            public = "".join(f", {own.sql}" for own in layout.public_columns)
            columns = f"{wide_columns}{public}, {COUNT_COLUMN}"
            counts = select(self._spark, f"SELECT {columns} FROM ({union}) AS counts")
            # By public columns first: Parquet then tells where a condition holds for nobody.
            order = (*layout.public_columns, *layout.counted_columns)
            ordered = counts.sortWithinPartitions(*(quote_in_spark(own.name) for own in order))
            self._folder.write("counts", name, ordered)
        self._rows("INSERT INTO folders VALUES ('counts', ?, NULL)", name)
        if layout.intake.shuffled is None:
            ids = new.select(ID_COLUMN).sortWithinPartitions(ID_COLUMN)
            self._folder.write("ids", name, ids)
            last = layout.intake.schedule.last_sending_day(self._arrival)
            self._rows("INSERT INTO folders VALUES ('ids', ?, ?)", name, last)

    def _forget_ids(self, day: date) -> None:
        if self._has_table("folders"):
            old = f"kind = 'ids' AND last < DATE {literal(day.isoformat())}"
            if self._rows(f"SELECT 1 FROM folders WHERE {old}"):
                self._rows(f"DELETE FROM folders WHERE {old}")
                self._make_log()

    def _read_ids(self) -> DataFrame:
        """The ids that are remembered."""
        return self._folder.read("ids", self._known_folders("ids"), f"{ID_COLUMN} BINARY")

    def _read_counts(self, layout: Layout, *new: str) -> DataFrame:
        """Counts of all reports, or of those under a new name; several rows may stand for equal
        reports."""
        schema = write_schema(wide(layout.histogram_columns))
        return self._folder.read("counts", new or self._known_folders("counts"), schema)

    # -- sums of decoded reports -------------------------------------------------------------------

    def _add_sums(self, layout: Layout, name: str, last: int) -> None:
        """Decode new counts, and all of them where there are no sums of this decoder yet.

        last: the number of the last batch whose reports they are.
        """
        decoding = self._open_decoding(layout.intake)
        if decoding is not None:
            with self._read_snapshot() as cursor:
                place = decoded.find(cursor, layout, decoding)
                counts = self._read_counts(layout, *([] if place is None else [name]))
                if place is None:
                    place = decoded.begin(cursor, layout, decoding)
                rows = SparkRows(cursor, layout, *self._published(layout), counts)
                decoded.add(cursor, place, decoding, rows, last)

    def refresh(self, table: str) -> None:
        layout = self._layout(table)
        decoding = self._open_decoding(layout.intake)
        with self._change(), self._read_snapshot() as cursor, explain("decode the reports"):
            decoded.drop(cursor, layout)
            if decoding is not None:
                last = decoded.find_last_batch(cursor, layout.key)
                place, counts = decoded.begin(cursor, layout, decoding), self._read_counts(layout)
                rows = SparkRows(cursor, layout, *self._published(layout), counts)
                decoded.add(cursor, place, decoding, rows, last)
            self._make_log()

    def _published(self, layout: Layout) -> tuple[str, str]:
        """The survey with both parts, and its fingerprint."""
        [known] = self._known_surveys()
        assert known.key == layout.key
        return known.text, known.fingerprint

    # -- counts out --------------------------------------------------------------------------------

    def decode(
        self, table: str, selection: Selection
    ) -> Sequence[tuple[tuple[Any, ...], Histogram | Decoded]]:
        layout = self._layout(table)
        with self.snapshot():
            with self._select_reports() as cursor:
                kept = self._find_kept(cursor, table, selection)
            if kept is not None:
                return kept
            if selection.moments or self._open_decoding(layout.intake) is None:
                return self.histograms(table, selection)
            with in_time(self._spark), explain("decode the reports"):
                counts, published = self._read_counts(layout), self._published(layout)
                return as_decoded(decode_counts(layout, *published, counts, selection), selection)

    def _read(
        self, cursor: Connection, table: str, selection: Selection, counted: Sequence[Column]
    ) -> Reading:
        layout = self._layout(table)
        with in_time(self._spark), explain("count the reports"):
            counts = self._read_counts(layout)
            rows, rest = count_selection(self._spark, layout, counts, selection, counted)
        cursor.register(_COUNTED, rows)
        return Reading(cursor, layout, rest, _COUNTED, has_moments=True)

    # -- what is for a store in a file -------------------------------------------------------------

    def tidy(self) -> None:
        raise self._refuse("put batches in order")

    def withdraw(self, table: str, numbers: Sequence[int]) -> int:
        raise self._refuse("withdraw batches")

    def delete_reports(self, table: str, numbers: Sequence[int]) -> int:
        raise self._refuse("delete the reports of batches")

    def remove_survey(self, table: str) -> None:
        raise self._refuse("delete a survey")

    def check(self) -> list[str]:
        raise self._refuse("check itself")

    def export(self, target: str | Path, tables: Sequence[str] = ()) -> None:
        raise self._refuse("export surveys")

    def import_surveys(self, source: Path, tables: Sequence[str] = ()) -> list[Imported]:
        raise self._refuse("import surveys")


def _require_reports(policy: Policy) -> Policy:
    """NotSupportedError for a policy that deletes reports: the files are not the store's."""
    if policy.keep != "reports":
        raise NotSupportedError(
            "counts are all that is kept beside a folder of reports; remove its files yourself "
            "once they are counted"
        )
    return policy
