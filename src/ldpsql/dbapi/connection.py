"""Runs at the collector. Sees reports. Connections of PEP 249."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

import pyarrow as pa

from ldpsql import errors
from ldpsql.dbapi.cursor import Cursor, Parameters
from ldpsql.engine.backends.base import Batch, Store
from ldpsql.engine.backends.duckdb import DuckDBStore
from ldpsql.engine.session import Session
from ldpsql.errors import InterfaceError, NotSupportedError
from ldpsql.survey import Survey


def connect(
    path: str | Path | None = None,
    *,
    read_only: bool | None = None,
    confidence: float = 0.95,
    estimator: str | None = None,
) -> Connection:
    """Connect to a store of reports.

    path: a store's file; None or ":memory:" makes a store in memory.  confidence: level of the
    intervals.  estimator: which of a design's estimators answers, such as "smooth"; None for the
    survey's own choice. Asking a survey that does not have it raises NotSupportedError.

    read_only: True for questions only. False holds the file for writing, which shuts out every
    other process. None, the default, makes the file if there is none and holds it for writing
    only while `ingest` runs. Raises OperationalError for a file that cannot be used.
    """
    place = None if path is None or str(path) == ":memory:" else Path(path)
    if place is None or read_only is not None:
        store = DuckDBStore.open(place, read_only=bool(read_only))
        return Connection(store, confidence=confidence, estimator=estimator)
    if not place.exists():
        DuckDBStore.open(place, read_only=False).close()
    return Connection(
        DuckDBStore.open(place, read_only=True),
        confidence=confidence,
        estimator=estimator,
        writes_to=place,
    )


class Connection:
    """A connection to one store. Threads may share the module, not connections."""

    Warning: ClassVar = builtins.Warning
    Error: ClassVar = errors.Error
    InterfaceError: ClassVar = errors.InterfaceError
    DatabaseError: ClassVar = errors.DatabaseError
    DataError: ClassVar = errors.DataError
    OperationalError: ClassVar = errors.OperationalError
    IntegrityError: ClassVar = errors.IntegrityError
    InternalError: ClassVar = errors.InternalError
    ProgrammingError: ClassVar = errors.ProgrammingError
    NotSupportedError: ClassVar = errors.NotSupportedError

    def __init__(
        self,
        store: Store,
        *,
        confidence: float = 0.95,
        estimator: str | None = None,
        writes_to: Path | None = None,
    ) -> None:
        """Take over an open store; confidence and estimator as in `connect`.

        writes_to: the store's file, where `ingest` is to open it for writing on its own.
        """
        self._session: Session | None = Session(store, confidence=confidence, estimator=estimator)
        self._settings: dict[str, Any] = {"confidence": confidence, "estimator": estimator}
        self._writes_to = writes_to
        self._uncommitted = False

    @property
    def session(self) -> Session:
        """What answers the questions; InterfaceError once the connection is closed."""
        if self._session is None:
            raise InterfaceError("the connection is closed")
        return self._session

    @property
    def surveys(self) -> tuple[Survey, ...]:
        """The surveys of the store, by name."""
        return tuple(self.session.store.surveys())

    def cursor(self) -> Cursor:
        """A new cursor."""
        _ = self.session
        return Cursor(self)

    def execute(self, sql: str, parameters: Parameters = None) -> Cursor:
        """Ask a question on a new cursor; see `Cursor.execute`."""
        return self.cursor().execute(sql, parameters)

    def ingest(
        self,
        reports: str | Path | Sequence[str | Path] | pa.Table,
        *,
        survey: Survey | None = None,
        skip_invalid: bool = False,
        keep: str = "reports",
    ) -> list[Batch]:
        """Take reports into the store, file by file, each whole or not at all, each once.

        reports: files, directories, globs, or an Arrow table (which is taken every time).
        survey: whose reports they are, where they do not say so themselves.  skip_invalid: pass
        over rows that are no reports.  keep: "reports", or "counts" to delete the reports once
        they are counted. Raises DataError for rows that are no reports, IntegrityError for
        reports of another survey, OperationalError for a store that cannot be written.
        """
        options: dict[str, Any] = {"survey": survey, "skip_invalid": skip_invalid, "keep": keep}
        with self._writable() as store:
            self._uncommitted = True
            if isinstance(reports, pa.Table):
                return [store.ingest_table(reports, **options)]
            paths = [reports] if isinstance(reports, str | Path) else list(reports)
            return store.ingest(paths, **options)

    @contextmanager
    def _writable(self) -> Iterator[Store]:
        """The store, open for writing."""
        path, session = self._writes_to, self.session
        if path is None:
            yield session.store
            return
        session.store.close()
        try:
            with DuckDBStore.open(path, read_only=False) as store:
                yield store
        finally:
            self._session = None
            reopened = DuckDBStore.open(path, read_only=True)
            self._session = Session(reopened, **self._settings)

    def commit(self) -> None:
        """Nothing to do: every batch is committed when it is ingested."""
        _ = self.session
        self._uncommitted = False

    def rollback(self) -> None:
        """Nothing to do; NotSupportedError if reports were ingested since the last `commit`."""
        _ = self.session
        if self._uncommitted:
            raise NotSupportedError("ingested reports stay in the store and cannot be rolled back")

    def close(self) -> None:
        """Close the store; a second time does nothing."""
        if self._session is not None:
            self._session.store.close()
            self._session = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
