"""A store of surveys and reports in one DuckDB file."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from ldpsql.report import Histogram, Integers
from ldpsql.sql import literal
from ldpsql.store.base import Selection, Store
from ldpsql.store.duckdb import fold
from ldpsql.store.duckdb.layout import Layout
from ldpsql.store.duckdb.opening import Connection, connect, guarded, known_surveys, transaction
from ldpsql.store.duckdb.reading import Reading
from ldpsql.store.duckdb.sandbox import Sandbox
from ldpsql.store.duckdb.writer import DuckDBWriter
from ldpsql.store.rules import KnownSurvey
from ldpsql_device.errors import InterfaceError, StoreError


class DuckDBStore(Store):
    """A store in a DuckDB file or in memory; see `DuckDBStore.open`.

    Threads may share a store: each reads on cursors of its own. Writers take turns.
    """

    def __init__(self, connection: Connection, path: Path | None, *, read_only: bool) -> None:
        super().__init__()
        self.path = path
        self.read_only = read_only
        self._connection: Connection | None = connection
        self._sandbox = Sandbox()
        self._writing = threading.Lock()
        self._layouts: dict[str, Layout] = {}
        self._pinned = _Pinned()

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
        with self._writing, self._cursor() as cursor:
            yield DuckDBWriter(cursor, self._read_intake)

    def refresh(self, table: str) -> None:
        layout = self._layout(table)
        with self._writer() as writer, writer.transaction():
            fold.refresh(writer.cursor, layout)

    # -- counts out --------------------------------------------------------------------------

    def _layout(self, table: str) -> Layout:
        key = table.lower()
        if key not in self._layouts:
            self._layouts[key] = Layout(self.intake(table))
        return self._layouts[key]

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        if self._pinned.cursor is not None:
            yield
            return
        with self._cursor() as cursor, transaction(cursor):
            self._pinned.cursor = cursor
            try:
                yield
            finally:
                self._pinned.cursor = None

    def version(self, table: str) -> int:
        key = self._layout(table).key
        query = f"SELECT version FROM surveys WHERE name = {literal(key)}"
        with self._reading() as cursor:
            [(version,)] = cursor.execute(query).fetchall()
        return int(version)

    def smallest_batch(self, table: str) -> int | None:
        key = literal(table.lower())
        query = f"SELECT min(reports) FROM batches WHERE survey = {key} AND reports > 0"
        with self._reading() as cursor:
            [(smallest,)] = cursor.execute(query).fetchall()
        return None if smallest is None else int(smallest)

    def sizes(self, table: str, condition: str | None = None) -> Integers:
        with self._reading() as cursor:
            return Reading.of(cursor, self._layout(table), Selection(condition)).sizes(cursor)

    def histograms(
        self, table: str, selection: Selection
    ) -> list[tuple[tuple[Any, ...], Histogram]]:
        with self._reading() as cursor:
            return Reading.of(cursor, self._layout(table), selection).histograms(cursor)

    def public_people(self, table: str) -> pa.Table:
        with self._reading() as cursor:
            return Reading.of(cursor, self._layout(table), Selection()).public_people(cursor)

    def evaluate(self, sql: str, relations: Mapping[str, pa.Table]) -> pa.Table:
        return self._sandbox.evaluate(sql, relations)

    # -- cursors -----------------------------------------------------------------------------

    @contextmanager
    def _cursor(self) -> Iterator[Connection]:
        if self._connection is None:
            raise InterfaceError("the store is closed")
        with guarded(self.path), self._connection.cursor() as cursor:
            yield cursor

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """The cursor of this thread's snapshot, which is made where there is none."""
        with self.snapshot():
            assert self._pinned.cursor is not None
            yield self._pinned.cursor


class _Pinned(threading.local):
    """The cursor of a thread's snapshot while there is one."""

    cursor: Connection | None = None
