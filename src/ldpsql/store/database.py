"""A store's database: who reads it as of when, and how it is changed."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from math import isfinite
from pathlib import Path
from typing import Any, Self

import duckdb

from ldpsql import limits
from ldpsql.errors import QueryError
from ldpsql.reports.report import Decoded
from ldpsql.store.base import Key, Selection
from ldpsql.store.companion import Snapshot
from ldpsql.store.opening import (
    Connection,
    connect,
    disconnect,
    guard,
    has_table,
    make_log,
    transaction,
)
from ldpsql_device.errors import InterfaceError, StoreError


class _Pinned(threading.local):
    """The cursor of a thread's snapshot while there is one, and the last selection of decoded
    reports that was read on it; and how a `Reader` came to it."""

    cursor: Connection | None = None
    source: Snapshot | None = None
    opened: ExitStack
    lag: str | None = None
    last: tuple[str, Selection, list[tuple[Key, Decoded]] | None] | None = None


class Database:
    """A DuckDB file, or a database in memory.

    Threads may share one: each reads on cursors of its own. Writers take turns.
    """

    def __init__(
        self, path: str | Path | None, *, read_only: bool, patience: float, memory: int | None
    ) -> None:
        """Open a store; None or ":memory:" makes one in memory. As `open_store`."""
        self.path = None if path is None or str(path) == ":memory:" else Path(path)
        self.read_only = read_only
        if self.path is None and read_only:
            raise InterfaceError("a store in memory is empty, so it cannot be opened read-only")
        self._patience, self._memory = patience, memory
        self._process = os.getpid()
        self._writing, self._pinned = threading.Lock(), _Pinned()
        self._connection: Connection | None = self._connect()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _connect(self) -> Connection:
        """Open the file."""
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

    def close(self) -> None:
        """Let go of it; a second time does nothing."""
        if self._connection is not None:
            self._disconnect(self._connection)
            self._connection = None

    # -- reading ---------------------------------------------------------------------------------

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Within it, everything that this thread reads is as it was when it began."""
        if self._pinned.cursor is not None:
            yield
            return
        with self._pin(self._require_connection()):
            self._pinned.last = None
            yield

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
    def _read_in_time(self) -> Iterator[Connection]:
        """The same for queries over reports, which end at the statement's deadline.

        QueryError where that is over, and where an expression fails for a public value.
        """
        with self._read_snapshot() as cursor:
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

    def _rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        with self._read_snapshot() as cursor:
            return cursor.execute(query, parameters).fetchall()

    def _has_table(self, name: str) -> bool:
        with self._read_snapshot() as cursor:
            return has_table(cursor, name)

    # -- changing --------------------------------------------------------------------------------

    @contextmanager
    def _change(self) -> Iterator[None]:
        """All changes inside or none of them, while other writers wait.

        StoreError if the store is open for reading only.
        """
        if self.read_only:
            raise StoreError(f"the store {self.path} is open read-only; open it for writing")
        with self._writing, self._pin(self._require_connection()):
            yield

    def _make_log(self) -> None:
        """Before a change is committed: make room for it beside the store."""
        make_log(self.path)
