"""Runs at the collector. Sees reports. A store of surveys and reports in one DuckDB file."""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from ldpsql.report import Histogram, Rows
from ldpsql.store.base import Batch, Selection
from ldpsql.store.duckdb import files, fold
from ldpsql.store.duckdb.belonging import belonging
from ldpsql.store.duckdb.files import Incoming
from ldpsql.store.duckdb.ingest import Policy, register, take
from ldpsql.store.duckdb.layout import Layout, survey_key, text
from ldpsql.store.duckdb.opening import Connection, connect, guarded, transaction
from ldpsql.store.duckdb.reading import Head, Reading
from ldpsql.store.duckdb.sandbox import Sandbox
from ldpsql.survey import Survey
from ldpsql_device.errors import InterfaceError, QueryError, ReportError, StoreError, SurveyError

_PATIENCE = 5.0
_KEPT_HEADS = 256


class DuckDBStore:
    """The store of `base.Store` in a DuckDB file or in memory; see `DuckDBStore.open`.

    Every call works on a cursor of its own, so threads may share a store. Writers take turns.
    """

    def __init__(self, connection: Connection, path: Path | None, *, read_only: bool) -> None:
        self.path = path
        self.read_only = read_only
        self._connection: Connection | None = connection
        self._sandbox = Sandbox()
        self._writing = threading.Lock()
        self._parsed: dict[str, Survey] = {}
        self._named: dict[str, Survey] = {}
        self._heads: OrderedDict[tuple[str, int, Selection], Head] = OrderedDict()

    @classmethod
    def open(
        cls, path: str | Path | None, *, read_only: bool, patience: float = _PATIENCE
    ) -> DuckDBStore:
        """Open a store; None or ":memory:" makes one in memory.

        A file that another process holds is tried again for `patience` seconds. Raises
        StoreError for a file that is missing (read-only), locked, damaged, or no store.
        """
        place = None if path is None or str(path) == ":memory:" else Path(path)
        if place is None and read_only:
            raise InterfaceError("a store in memory is empty, so it cannot be opened read-only")
        return cls(
            connect(place, read_only=read_only, patience=patience), place, read_only=read_only
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a second time does nothing."""
        self._sandbox.close()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # -- surveys -----------------------------------------------------------------------------

    def surveys(self) -> list[Survey]:
        """All surveys, by name."""
        with self._reading() as cursor:
            return self._surveys(cursor)

    def survey(self, table: str) -> Survey:
        """One survey; QueryError if there is none of that name, listing those there are.

        A store never changes what a name stands for, so a name is looked up once.
        """
        key = survey_key(table)
        if key in self._named:
            return self._named[key]
        with self._reading() as cursor:
            row = cursor.execute(f"SELECT json FROM surveys WHERE name = {text(key)}").fetchone()
            if row is not None:
                self._named[key] = self._parse(row[0])
                return self._named[key]
            known = ", ".join(survey.table for survey in self._surveys(cursor)) or "none yet"
        raise QueryError(f"there is no survey {table!r}", hint=f"the store has: {known}")

    def register(self, survey: Survey) -> None:
        """Add a survey; FingerprintError if another one has its name."""
        with self._changing() as cursor, transaction(cursor):
            register(cursor, survey)

    def _surveys(self, cursor: Connection) -> list[Survey]:
        rows = cursor.execute("SELECT json FROM surveys ORDER BY name").fetchall()
        return [self._parse(row[0]) for row in rows]

    def _parse(self, json: str) -> Survey:
        """A survey from its JSON; equal texts are read once."""
        if json not in self._parsed:
            self._parsed[json] = Survey.from_json(json)
        return self._parsed[json]

    # -- reports in --------------------------------------------------------------------------

    def ingest(
        self,
        paths: Sequence[str | Path],
        *,
        survey: Survey | None = None,
        skip_invalid: bool = False,
        keep: str = "reports",
        accept_smaller_batch: bool = False,
        tell: Callable[[Batch], None] | None = None,
    ) -> list[Batch]:
        """Take files of reports, each whole or not at all, each once.

        paths: Parquet, CSV and JSON lines files, directories, globs. A file whose content was
        taken before is passed over. survey: whose reports they are, where the files do not say
        so.  skip_invalid: take the reports among rows that are none; else such a row refuses
        its file.  keep: "counts" deletes all reports of the survey once they are counted.
        accept_smaller_batch: take a shuffled batch of fewer reports than its survey was designed
        for, with the weaker promise that answers then state.  tell: called after every file. A file
        that is refused ends the call; files before it stay taken. Raises ReportError,
        FingerprintError or StoreError.
        """
        policy = Policy(skip_invalid, keep, accept_smaller_batch)
        found = files.expand(paths)
        with self._changing() as cursor, self._settling(cursor):
            taken = []
            for path in found:
                taken.append(self._take_file(cursor, path, survey, policy))
                if tell is not None:
                    tell(taken[-1])
            return taken

    def ingest_table(
        self,
        reports: pa.Table,
        survey: Survey | None = None,
        *,
        skip_invalid: bool = False,
        keep: str = "reports",
        accept_smaller_batch: bool = False,
    ) -> Batch:
        """Take a table of reports from memory; options as for `ingest`.

        Unlike a file, a table that equals an earlier one is taken again: two tables of one report
        each may well be equal.
        """
        policy = Policy(skip_invalid, keep, accept_smaller_batch)
        with self._changing() as cursor, self._settling(cursor):
            incoming = files.read_table(cursor, reports)
            return self._take(cursor, incoming, f"table {uuid.uuid4()}", survey, policy)

    def refresh(self, table: str) -> None:
        """Count all reports of a survey anew; StoreError where reports were deleted."""
        layout = Layout.of(self.survey(table))
        with self._changing() as cursor, transaction(cursor):
            fold.refresh(cursor, layout)

    @contextmanager
    def _settling(self, cursor: Connection) -> Iterator[None]:
        """Afterwards merge what the batches left loose, in a transaction of its own.

        Without it, after a failure or a crash, nothing is missing: readers count what is loose.
        """
        with transaction(cursor):
            before = {layout.key: fold.loose(cursor, layout) for layout in self._layouts(cursor)}
        yield
        with transaction(cursor):
            for layout in self._layouts(cursor):
                fold.settle(cursor, layout, before.get(layout.key, 0))

    def _layouts(self, cursor: Connection) -> list[Layout]:
        return [Layout.of(survey) for survey in self._surveys(cursor)]

    def _take_file(
        self, cursor: Connection, path: Path, survey: Survey | None, policy: Policy
    ) -> Batch:
        digest = files.digest(path)
        return self._take(cursor, files.read(cursor, path), digest, survey, policy)

    def _take(
        self,
        cursor: Connection,
        incoming: Incoming,
        batch_id: str,
        given: Survey | None,
        policy: Policy,
    ) -> Batch:
        def embedded(json: str) -> Survey:
            try:
                return self._parse(json)
            except SurveyError as error:
                said = str(error)
            raise ReportError(f"{incoming.name} carries a damaged survey: {said}")

        def survey_of(incoming: Incoming) -> Survey:
            return belonging(incoming, given, self._surveys(cursor), embedded)

        return take(cursor, incoming, batch_id, survey_of, policy)

    # -- counts out --------------------------------------------------------------------------

    def version(self, table: str) -> int:
        """A number that changes whenever the survey's histogram does."""
        layout = Layout.of(self.survey(table))
        with self._reading() as cursor:
            return fold.progress(cursor, layout).version

    def smallest_batch(self, table: str) -> int | None:
        """How many reports the smallest batch of a survey holds; None before the first."""
        key = text(survey_key(table))
        query = f"SELECT min(reports) FROM batches WHERE survey = {key} AND reports > 0"
        with self._reading() as cursor:
            row = cursor.execute(query).fetchone()
        return None if row is None else row[0]

    def histograms(
        self, table: str, selection: Selection
    ) -> list[tuple[tuple[Any, ...], Histogram]]:
        """One histogram per combination of key values, ascending, NULL last.

        Without keys exactly one, whose rows are fetched when they are asked for; that raises
        StoreError if reports have arrived since.
        """
        layout = Layout.of(self.survey(table))
        with self._reading() as cursor, transaction(cursor):
            state = fold.progress(cursor, layout)
            reading = Reading(layout, selection, state.counted)
            if selection.keys:
                return reading.grouped(cursor)
            head = self._head(cursor, reading, state.version)

        def fetch(part: Callable[[Reading, Connection], Rows]) -> Rows:
            return self._rows(layout, selection, state.version, part)

        def load(selector: int) -> Rows:
            return fetch(lambda reading, cursor: reading.rows(cursor, selector))

        return [((), Histogram(head.sizes, load, lambda: fetch(Reading.all_rows), head.totals))]

    def _head(self, cursor: Connection, reading: Reading, version: int) -> Head:
        key = (reading.layout.fingerprint, version, reading.selection)
        head = self._heads.get(key)
        if head is None:
            head = self._heads[key] = reading.head(cursor)
            while len(self._heads) > _KEPT_HEADS:
                self._heads.popitem(last=False)
        return head

    def _rows(
        self,
        layout: Layout,
        selection: Selection,
        version: int,
        part: Callable[[Reading, Connection], Rows],
    ) -> Rows:
        with self._reading() as cursor, transaction(cursor):
            state = fold.progress(cursor, layout)
            if state.version != version:
                raise StoreError(f"reports of {layout.key} arrived during the query; ask again")
            return part(Reading(layout, selection, state.counted), cursor)

    def public_people(self, table: str) -> pa.Table:
        """How many people have each combination of public values; see `base.Store`."""
        layout = Layout.of(self.survey(table))
        with self._reading() as cursor, transaction(cursor):
            state = fold.progress(cursor, layout)
            return Reading(layout, Selection(), state.counted).public_people(cursor)

    def evaluate(self, sql: str, relations: Mapping[str, pa.Table]) -> pa.Table:
        """Run an outer query over relations of estimates, with no access to anything else.

        Raises QueryError, with DuckDB's reason, for SQL that cannot be evaluated.
        """
        return self._sandbox.evaluate(sql, relations)

    # -- cursors -----------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        if self._connection is None:
            raise InterfaceError("the store is closed")
        with guarded(self.path), self._connection.cursor() as cursor:
            yield cursor

    @contextmanager
    def _changing(self) -> Iterator[Connection]:
        if self.read_only:
            raise StoreError(f"the store {self.path} is open read-only; open it for writing")
        with self._writing, self._reading() as cursor:
            yield cursor
