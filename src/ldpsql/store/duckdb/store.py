"""A store of surveys and reports in one DuckDB file."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from ldpsql.report import Histogram, Rows
from ldpsql.store.base import Selection, Store
from ldpsql.store.duckdb import fold
from ldpsql.store.duckdb.layout import Layout, text
from ldpsql.store.duckdb.opening import Connection, connect, guarded, known_surveys, transaction
from ldpsql.store.duckdb.reading import Head, Reading
from ldpsql.store.duckdb.sandbox import Sandbox
from ldpsql.store.duckdb.writer import DuckDBWriter
from ldpsql.store.rules import Intake, KnownSurvey
from ldpsql_device.errors import InterfaceError, StoreError

_KEPT_HEADS = 256


class DuckDBStore(Store):
    """A store in a DuckDB file or in memory; see `DuckDBStore.open`.

    Every call works on a cursor of its own, so threads may share a store. Writers take turns.
    """

    def __init__(self, connection: Connection, path: Path | None, *, read_only: bool) -> None:
        super().__init__()
        self.path = path
        self.read_only = read_only
        self._connection: Connection | None = connection
        self._sandbox = Sandbox()
        self._writing = threading.Lock()
        self._layouts: dict[str, Layout] = {}
        self._heads: OrderedDict[tuple[str, int, Selection], Head] = OrderedDict()

    @classmethod
    def open(
        cls, path: str | Path | None, *, read_only: bool, patience: float = 5.0
    ) -> DuckDBStore:
        """Open a store; None or ":memory:" makes one in memory.

        A file that another process holds is tried again for `patience` seconds. Raises
        StoreError for a file that is missing (read-only), locked, damaged, or not a store.
        """
        place = None if path is None or str(path) == ":memory:" else Path(path)
        if place is None and read_only:
            raise InterfaceError("a store in memory is empty, so it cannot be opened read-only")
        connection = connect(place, read_only=read_only, patience=patience)
        return cls(connection, place, read_only=read_only)

    def close(self) -> None:
        self._sandbox.close()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # -- reports in --------------------------------------------------------------------------

    def _known_surveys(self) -> list[KnownSurvey]:
        with self._reading() as cursor:
            return known_surveys(cursor)

    @contextmanager
    def _writer(self) -> Iterator[DuckDBWriter]:
        if self.read_only:
            raise StoreError(f"the store {self.path} is open read-only; open it for writing")
        with self._writing, self._reading() as cursor:
            yield DuckDBWriter(cursor, self._read_intake)

    def refresh(self, table: str) -> None:
        layout = self._layout(table)
        with self._writer() as writer, writer.transaction():
            fold.refresh(writer.cursor, layout)

    # -- counts out --------------------------------------------------------------------------

    def _layout(self, table: str) -> Layout:
        key = table.lower()
        if key not in self._layouts:
            self._layouts[key] = Layout(Intake.of(self.survey(table)))
        return self._layouts[key]

    def version(self, table: str) -> int:
        layout = self._layout(table)
        with self._reading() as cursor:
            return fold.progress(cursor, layout).version

    def smallest_batch(self, table: str) -> int | None:
        key = text(table.lower())
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
        layout = self._layout(table)
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
        key = (reading.layout.intake.fingerprint, version, reading.selection)
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
        layout = self._layout(table)
        with self._reading() as cursor, transaction(cursor):
            state = fold.progress(cursor, layout)
            return Reading(layout, Selection(), state.counted).public_people(cursor)

    def evaluate(self, sql: str, relations: Mapping[str, pa.Table]) -> pa.Table:
        return self._sandbox.evaluate(sql, relations)

    # -- cursors -----------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        if self._connection is None:
            raise InterfaceError("the store is closed")
        with guarded(self.path), self._connection.cursor() as cursor:
            yield cursor
