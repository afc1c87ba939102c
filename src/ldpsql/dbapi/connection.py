"""The Python database API (PEP 249), version 2.0.

    with ldpsql.connect("app.duckdb") as connection:
        cursor = connection.execute("SELECT AVG(hours) FROM app WHERE age < ?", [30])
        cursor.fetchone(), cursor.estimates.stderr
        connection.sql("SELECT AVG(hours) FROM app GROUP BY age").df()

Every statement is a question, so there are no transactions: `commit` has nothing to do, and what
was ingested cannot be rolled back.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from itertools import islice
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NoReturn, Self

import numpy as np
import pyarrow as pa

from ldpsql import extensions
from ldpsql.algebra.estimate import CONFIDENCE, Estimates
from ldpsql.dbapi.answer import Answer, Row
from ldpsql.engine.collector import Answering, AnsweringStore, Filled, open_collector, open_session
from ldpsql.engine.result import Result
from ldpsql.engine.sources import MarginSources, choose_sources
from ldpsql.errors import list_some, pluralize
from ldpsql.limits import SECONDS
from ldpsql.parser import Parameters
from ldpsql.parser.source import is_unicode
from ldpsql.sql.lookups import Columns, PublicTable
from ldpsql.sql.quoting import quote
from ldpsql.store import Batch, find_file, find_kind, open_store, read_store
from ldpsql.store.intake import Intake
from ldpsql.store.opening import require_file
from ldpsql.store.store import Store
from ldpsql.survey import Survey
from ldpsql_device import errors
from ldpsql_device.errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
)

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from pyspark.sql import SparkSession

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]

apilevel = "2.0"
threadsafety = 1
paramstyle = "qmark"

Warning = builtins.Warning
Date, Time, Timestamp, Binary = date, time, datetime, bytes
DateFromTicks, TimestampFromTicks = date.fromtimestamp, datetime.fromtimestamp

Description = tuple[str, str, None, None, None, None, None]


@dataclass(frozen=True, eq=False)
class TypeObject:
    """A family of column types; equal to the type code of every column of the family."""

    name: str
    codes: frozenset[str]

    def __eq__(self, other: object) -> bool:
        """Whether a type code is of this family."""
        return other is self or other in self.codes

    def __hash__(self) -> int:
        return hash(self.name)


STRING = TypeObject("STRING", frozenset({"string", "large_string", "string_view"}))
BINARY = TypeObject("BINARY", frozenset({"binary", "large_binary"}))
NUMBER = TypeObject(
    "NUMBER",
    frozenset(
        {"bool", "float", "double"}
        | {f"{u}int{width}" for u in ("", "u") for width in (8, 16, 32, 64)}
    ),
)
DATETIME = TypeObject(
    "DATETIME",
    frozenset({"date32[day]", "date64[ms]", "time32[s]", "time32[ms]", "time64[us]", "time64[ns]"})
    | {f"timestamp[{unit}]" for unit in ("s", "ms", "us", "ns")},
)
ROWID = TypeObject("ROWID", frozenset())


def TimeFromTicks(ticks: float) -> time:  # noqa: N802
    """The time of day of a number of seconds since the epoch."""
    return datetime.fromtimestamp(ticks).time()


def connect(
    path: str | Path | None = None,
    *,
    read_only: bool | None = None,
    new: bool = False,
    token: str | None = None,
    confidence: float = CONFIDENCE,
    estimator: str | None = None,
    timeout: float = SECONDS,
    weights: MarginSources = None,
    one_population: bool = False,
    census: bool = False,
    spark: SparkSession | None = None,
    reports: str | Path | None = None,
    survey: Survey | None = None,
) -> Connection:
    """Connect to a store of reports.

    path: a store's file; None or ":memory:" makes a store in memory; or the address of a collector
    (docs/collect.md#analysts), http://... or https://...  token: for that, LDPSQL_TOKEN of the
    environment by default.  confidence: level of the
    intervals.  estimator: which of a design's estimators answers, such as "smooth"; None for the
    survey's own choice. Asking a survey that does not have it raises NotSupportedError.
    timeout: how many seconds a statement may take.

    weights: margins of a population, about which answers then are: a CSV file, an Arrow table, or
    several of them (docs/sql.md#everybody). Raises OperationalError or DataError for what is no
    table.  one_population: whether surveys that UNION ALL joins are samples of one population.
    census: whether those who answered are the whole population, so that intervals need not contain
    that they are a sample.

    read_only: True for questions only. False holds the file for writing, which shuts out every
    other writer. None, the default, holds it for writing only while `ingest` runs. Who asks holds
    nothing: every statement is answered from what was committed before, whoever wrote it, and says
    so where another process is writing and may have committed more.  new: make the file if there is
    none; without it, one that does not exist, as a misspelt one does not, is refused. Raises
    OperationalError for a file that cannot be used.

    spark: a session that reads a folder of report files, in the place of a path (docs/store.md).
    reports: the folder.  survey: whose reports they are; None for the one that is known there.
    spark:///path/to/reports/?survey=FILE as the path says the same, for the session of the process.
    """
    _require((str, PathLike, type(None)), path=path)
    place = None if path is None or str(path) == ":memory:" else path
    writes_to: Path | None = None
    store: Store | AnsweringStore
    if (spark is None) != (reports is None) or (spark is None and survey is not None):
        raise InterfaceError("a folder of reports takes both spark=session and reports=folder")
    if spark is not None:
        if path is not None:
            raise InterfaceError("give either the path of a store or spark= and reports=")
        kind = find_kind("spark:///")
        if kind is None:
            raise NotSupportedError("nothing is installed that reads folders of reports by Spark")
        folder: Store = kind(spark, str(reports), survey, read_only=bool(read_only))
        if not read_only:
            folder.catch_up()
        store = folder
    elif place is None:
        store = open_store(None, read_only=bool(read_only))
    elif (collector := open_collector(place, token)) is not None:
        store = collector
    elif find_kind(place) is not None:
        store = open_store(place, read_only=True) if read_only else read_store(place)
    else:
        file = Path(str(find_file(place)))
        with _using(place):
            if new and not read_only:
                open_store(file, read_only=False).close()
            require_file(file, "connect(..., new=True)")
        if read_only is None:
            writes_to = file
        store = open_store(file, read_only=False) if read_only is False else read_store(file)
    return Connection(
        store,
        confidence=confidence,
        estimator=estimator,
        timeout=timeout,
        weights=weights,
        one_population=one_population,
        census=census,
        writes_to=writes_to,
    )


_MOST_BITS = 1024  # Python writes no number of 10^4 digits into an error


def _require(kinds: type | tuple[type, ...], **given: object) -> None:
    """InterfaceError for an argument of another type."""
    for name, value in given.items():
        if not isinstance(value, kinds) or isinstance(value, np.timedelta64):  # NumPy's integer
            known = kinds if isinstance(kinds, tuple) else (kinds,)
            words = [kind.__name__ for kind in known if kind is not type(None)]
            wanted = "a whole number" if words == ["Integral"] else " or ".join(words)
            reason = f"{name} must be {wanted}, not a value of type {type(value).__name__}"
            raise InterfaceError(reason)
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            raise InterfaceError(f"{name} has too many digits")


@contextmanager
def _using(*paths: str | Path) -> Iterator[None]:
    """OperationalError for names that no file can have."""
    named = ", ".join(f"{str(path)!a:.60}" for path in paths)
    if any("\0" in str(path) or not is_unicode(str(path)) for path in paths):
        raise OperationalError(f"cannot use {named}: it is no name of a file")
    try:
        yield
    except OSError as error:
        raise OperationalError(f"cannot use {named}: {error.strerror or error}") from None


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
        store: Store | AnsweringStore,
        *,
        confidence: float = CONFIDENCE,
        estimator: str | None = None,
        timeout: float = SECONDS,
        weights: MarginSources = None,
        one_population: bool = False,
        census: bool = False,
        writes_to: Path | None = None,
    ) -> None:
        """Take over an open store; settings as in `connect`.

        writes_to: the store's file, where `ingest` is to open it for writing on its own.
        """
        self._store = store
        self._session: Answering | None = open_session(
            store,
            confidence=confidence,
            estimator=estimator,
            seconds=timeout,
            sources=choose_sources(weights, one_population=one_population, census=census),
        )
        self._writes_to = writes_to
        self._uncommitted = False

    def __repr__(self) -> str:
        """Its surveys, if it is open."""
        if self._session is None:
            return "<ldpsql.Connection: closed>"
        names = [survey.table for survey in self.surveys]
        return f"<ldpsql.Connection: {list_some(names, 5) if names else 'no survey yet'}>"

    @property
    def session(self) -> Answering:
        """The session that answers questions; InterfaceError once the connection is closed."""
        self.require_open()
        assert self._session is not None
        return self._session

    def require_open(self) -> None:
        """InterfaceError once the connection is closed."""
        if self._session is None:
            raise InterfaceError("the connection is closed")

    @property
    def surveys(self) -> tuple[Survey, ...]:
        """The surveys of the store, by name."""
        self.require_open()
        return tuple(self._store.surveys())

    def cursor(self) -> Cursor:
        """A new cursor."""
        self.require_open()
        return Cursor(self)

    def execute(
        self, sql: str, parameters: Parameters = None, *, confidence: float | None = None
    ) -> Cursor:
        """Ask a question on a new cursor; see `Cursor.execute`."""
        return self.cursor().execute(sql, parameters, confidence=confidence)

    def sql(
        self, sql: str, parameters: Parameters = None, *, confidence: float | None = None
    ) -> Answer:
        """Ask a question; the answer is for a notebook, a DataFrame, a picture.

        `?`, `:name` and `confidence` as of `Cursor.execute`, which it raises errors as.
        """
        session = self.session
        _require(str, sql=sql)
        return Answer(session.execute(sql, parameters, confidence))

    def table(self, name: str) -> Answer:
        """What a survey or a look-up table declares, as DESCRIBE has it."""
        _require(str, name=name)
        return self.sql(f"DESCRIBE {quote(name)}")

    def ingest(
        self,
        reports: str | Path | Sequence[str | Path] | pa.Table,
        *,
        survey: Survey | None = None,
        skip_invalid: bool = False,
        keep: str = "reports",
        accept_smaller_batch: bool = False,
        shufflers: Sequence[str] = (),
        tell: Callable[[Batch], None] | None = None,
    ) -> list[Batch]:
        """Take reports into the store, file by file, each whole or not at all, each report once.

        What became of every file: how many `reports` were counted, how many were `repeats` of
        reports that were there, by their ids, and how many rows were `skipped`; or that its content
        was `known`.

        reports: files, directories, globs, or an Arrow table.
        survey: whose reports they are, where they do not say so themselves.  skip_invalid: pass
        over rows that are not reports.  keep: "reports", or "counts" to delete the reports once
        they are counted.  accept_smaller_batch: take a shuffled batch of fewer reports than its
        survey was designed for; every answer then states what it keeps.  shufflers: public keys of
        those whose signature a shuffled batch must bear, none if any will do.  tell: called with
        every file once it is committed, also where a later one is refused. Raises DataError for
        rows that are not reports, IntegrityError for reports of another survey, OperationalError
        for a store that cannot be written; none once all files are committed.
        """
        self.require_open()
        _require((str, Path, pa.Table, Iterable), reports=reports)
        _require((Survey, Intake, type(None)), survey=survey)
        _require(str, keep=keep)
        listed: list[str | Path] = []
        if not isinstance(reports, pa.Table):
            is_one = isinstance(reports, str | Path) or getattr(reports, "ndim", 1) == 0
            listed = [reports] if is_one else list(reports)  # type: ignore[arg-type,list-item]
            for path in listed:
                _require((str, Path), reports=path)
        with _using(*listed), self._writable() as store:
            self._uncommitted = True
            if isinstance(reports, pa.Table):
                batch = store.ingest_table(
                    reports,
                    survey=survey,
                    skip_invalid=skip_invalid,
                    keep=keep,
                    accept_smaller_batch=accept_smaller_batch,
                    shufflers=tuple(shufflers),
                )
                if tell is not None:
                    tell(batch)
                return [batch]
            return store.ingest(
                listed,
                survey=survey,
                skip_invalid=skip_invalid,
                keep=keep,
                accept_smaller_batch=accept_smaller_batch,
                shufflers=tuple(shufflers),
                tell=tell,
            )

    def register(self, name: str, data: Columns) -> None:
        """Let questions on this connection join a table that everybody may see.

        data: an Arrow table, a pandas DataFrame, a dict of lists, or anything else that Arrow
        reads. A later table of the same name takes its place. Raises DataError for a name that is
        no identifier and for columns without plain values, IntegrityError for the name of a survey.
        """
        _require(str, name=name)
        self.session.register(PublicTable.of(name, data))

    def unregister(self, name: str) -> None:
        """Forget a registered table; InterfaceError if there is none of that name."""
        session = self.session
        _require(str, name=name)
        session.unregister(name)

    def add_lookup(
        self, source: str | Path | Columns, name: str = "", replace: bool = False
    ) -> None:
        """Keep a table that everybody may see in the store, for questions to join.

        source: a CSV or Parquet file, or data as `register` takes it.  name: needed for data; of a
        file its own name by default.  replace: take the place of a look-up table of that name.
        Raises DataError for what is no table, IntegrityError for a name that is taken,
        OperationalError for a store that cannot be written.
        """
        self.require_open()
        _require(str, name=name)
        if isinstance(source, str | Path):
            with _using(source):
                table = PublicTable.read(source, name or None)
        else:
            table = PublicTable.of(name, source)
        with self._writable() as store:
            store.add_lookup(table, replace=replace)

    def remove_lookup(self, name: str) -> None:
        """Remove a look-up table from the store; DataError if there is none of that name."""
        self.require_open()
        _require(str, name=name)
        with self._writable() as store:
            store.remove_lookup(name)

    @property
    def lookups(self) -> tuple[PublicTable, ...]:
        """The tables that questions may join, those of the store and registered ones, by name."""
        return tuple(self.session.lookups())

    def synthesize(
        self, rows: int | None = None, *, table: str | None = None, seed: int | None = None
    ) -> pa.Table:
        """A table of made-up people that agrees with what the reports of a survey tell.

        rows: how many, as many as reports by default.  table: the survey's, needed where the store
        holds several.  seed: the same gives the same table. What the table keeps, and what not, is
        said in its schema's metadata, `ldpsql.notes`. Raises DataError where there are no reports,
        NotSupportedError for a survey without dimensions, InterfaceError for rows below 1.
        """
        self.require_open()
        _require((Integral, type(None)), rows=rows, seed=seed)
        _require((str, type(None)), table=table)
        if isinstance(self._store, AnsweringStore):
            return self._store.synthesize(rows, table, seed)
        synthesizer = extensions.require("ldpsql.synthesizers", "tables", "the making of tables")
        made: pa.Table = synthesizer.of(self._store, table).table(rows, seed)
        return made

    @contextmanager
    def _writable(self) -> Iterator[Filled]:
        """The store, open for writing."""
        self.require_open()
        if self._writes_to is None:
            yield self._store
            return
        with open_store(self._writes_to, read_only=False) as store:
            yield store

    def commit(self) -> None:
        """Nothing to do: every batch is committed when it is ingested."""
        self.require_open()
        self._uncommitted = False

    def rollback(self) -> None:
        """Nothing to do; NotSupportedError if reports were ingested since the last `commit`."""
        self.require_open()
        if self._uncommitted:
            raise NotSupportedError("ingested reports stay in the store and cannot be rolled back")

    def close(self) -> None:
        """Close the store; a second time does nothing."""
        if self._session is not None:
            self._store.close()
        self._session = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Cursor:
    """Asks questions one after another and gives the rows of the last answer."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self._closed = False
        self._answer: Answer | None = None
        self._rows: Iterator[Row] = iter(())

    def __repr__(self) -> str:
        """The state of its answer."""
        if self._closed:
            return "<ldpsql.Cursor: closed>"
        if self._answer is None:
            return "<ldpsql.Cursor: no answer yet>"
        rows = pluralize(self.rowcount, "row")
        return f"<ldpsql.Cursor: {rows} of {', '.join(self._answer.columns)}>"

    def execute(
        self, sql: str, parameters: Parameters = None, *, confidence: float | None = None
    ) -> Self:
        """Ask a question; `?` takes its value from a sequence, `:name` from a mapping.

        confidence: level of all intervals of this answer, where it is not the connection's.
        Raises ProgrammingError for SQL that is wrong, NotSupportedError for SQL that cannot be
        answered from randomized reports.
        """
        connection, self._answer = self._open(), None
        self._answer = connection.sql(sql, parameters, confidence=confidence)
        self._rows = iter(self._answer.rows())
        return self

    def executemany(self, sql: str, parameters: Sequence[Parameters]) -> NoReturn:
        """Not offered: NotSupportedError. Every statement has an answer of its own."""
        raise NotSupportedError("executemany would drop all answers but the last; call execute")

    @property
    def answer(self) -> Answer:
        """The last answer; ProgrammingError where there is none."""
        self._open()
        if self._answer is None:
            raise ProgrammingError("there is no answer yet: call execute first")
        return self._answer

    @property
    def result(self) -> Result:
        """The last answer, with everything that the engine knows of it."""
        return self.answer.result

    @property
    def _unread(self) -> Iterator[Row]:
        _ = self.answer
        return self._rows

    @property
    def description(self) -> tuple[Description, ...] | None:
        """(name, type code, None, None, None, None, None) per column; None before `execute`.

        A type code is the name of an Arrow type and equals one of STRING, NUMBER, DATETIME.
        """
        if self._answer is None:
            return None
        names = ((column.name, str(column.type)) for column in self.result.columns)
        return tuple((*name, None, None, None, None, None) for name in names)

    @property
    def rowcount(self) -> int:
        """Rows of the last answer; -1 before `execute`."""
        return -1 if self._answer is None else len(self._answer)

    def fetchone(self) -> Row | None:
        """The next row, or None."""
        return next(self._unread, None)

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """The next rows, `arraysize` of them unless told otherwise; fewer at the end."""
        rows, wanted = self._unread, self.arraysize if size is None else size
        _require(Integral, size=wanted)
        if wanted < 0:
            raise InterfaceError(f"size is how many rows to fetch, not {wanted}")
        return list(islice(rows, min(int(wanted), sys.maxsize)))

    def fetchall(self) -> list[Row]:
        """All rows that are left."""
        return list(self._unread)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Row:
        return next(self._unread)

    def arrow(self, *, intervals: bool = False) -> pa.Table:
        """The whole answer as an Arrow table; see `Answer.arrow`."""
        return self.answer.arrow(intervals=intervals)

    def df(self, *, intervals: bool = False) -> pd.DataFrame:
        """The whole answer as a pandas DataFrame; see `Answer.df`."""
        return self.answer.df(intervals=intervals)

    def to_df(self, *, intervals: bool = False) -> pd.DataFrame:
        """The whole answer as a pandas DataFrame; see `Answer.df`."""
        return self.df(intervals=intervals)

    def pl(self, *, intervals: bool = False) -> pl.DataFrame:
        """The whole answer as a polars DataFrame; see `Answer.pl`."""
        return self.answer.pl(intervals=intervals)

    def show(self) -> None:
        """Print the whole answer, with its notes."""
        self.answer.show()

    @property
    def estimates(self) -> Estimates:
        """All estimates of the answer, row by row, with their covariance.

        NotSupportedError where the answer holds none.
        """
        return self.answer.estimates

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader of the answer."""
        return self.answer.notes

    def setinputsizes(self, sizes: Sequence[object]) -> None:
        """Does nothing, as PEP 249 permits."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing, as PEP 249 permits."""

    def close(self) -> None:
        """Forget the answer; the cursor cannot be used any more."""
        self._closed = True
        self._answer = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> Connection:
        """The connection; InterfaceError if it or the cursor is closed."""
        if self._closed:
            raise InterfaceError("the cursor is closed")
        self.connection.require_open()
        return self.connection
