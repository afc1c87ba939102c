"""Runs at the collector. Sees reports. Cursors of PEP 249."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

import pyarrow as pa

from ldpsql.engine.result import Result
from ldpsql.errors import InterfaceError, NotSupportedError, ProgrammingError
from ldpsql.estimate import Estimates

if TYPE_CHECKING:
    from ldpsql.dbapi.connection import Connection

Parameters = Sequence[Any] | Mapping[str, Any] | None
Row = tuple[Any, ...]
Description = tuple[str, str, None, None, None, None, None]


class Cursor:
    """Asks questions one after another and gives the rows of the last answer."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self._closed = False
        self._result: Result | None = None
        self._rows: Iterator[Row] = iter(())

    def execute(self, sql: str, parameters: Parameters = None) -> Self:
        """Ask a question; `?` takes its value from a sequence, `:name` from a mapping.

        Raises ProgrammingError for SQL that is wrong, NotSupportedError for SQL that cannot be
        answered from randomized reports.
        """
        session = self._open().session
        self._result = None
        self._result = session.execute(sql, parameters)
        self._rows = _rows(self._result.table)
        return self

    def executemany(self, sql: str, parameters: Sequence[Parameters]) -> NoReturn:
        """Not offered: NotSupportedError. Every statement has an answer of its own."""
        raise NotSupportedError("executemany would drop all answers but the last; call execute")

    @property
    def result(self) -> Result:
        """The last answer with its error bars; ProgrammingError where there is none."""
        self._open()
        if self._result is None:
            raise ProgrammingError("there is no answer yet: call execute first")
        return self._result

    @property
    def description(self) -> tuple[Description, ...] | None:
        """(name, type code, None, None, None, None, None) per column; None before `execute`.

        A type code is the name of an Arrow type and equals one of STRING, NUMBER, DATETIME.
        """
        if self._result is None:
            return None
        return tuple(
            (column.name, str(column.type), None, None, None, None, None)
            for column in self._result.columns
        )

    @property
    def rowcount(self) -> int:
        """Rows of the last answer; -1 before `execute`."""
        return -1 if self._result is None else self._result.table.num_rows

    def fetchone(self) -> Row | None:
        """The next row, or None."""
        _ = self.result
        return next(self._rows, None)

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """The next rows, `arraysize` of them unless told otherwise; fewer at the end."""
        _ = self.result
        count = self.arraysize if size is None else size
        return list(islice(self._rows, count))

    def fetchall(self) -> list[Row]:
        """All rows that are left."""
        _ = self.result
        return list(self._rows)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Row:
        _ = self.result
        return next(self._rows)

    def arrow(self) -> pa.Table:
        """The whole answer as an Arrow table."""
        return self.result.table

    def df(self) -> Any:
        """The whole answer as a pandas DataFrame; NotSupportedError without pandas."""
        result = self.result
        if find_spec("pandas") is None:
            raise NotSupportedError("df() needs pandas: install it with `pip install pandas`")
        return result.table.to_pandas()

    @property
    def estimates(self) -> Estimates:
        """All estimates of the answer, row by row, with their covariance.

        NotSupportedError where the answer holds none.
        """
        return self.result.estimates()

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader of the answer should know."""
        return self.result.notes

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Does nothing, as PEP 249 permits."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing, as PEP 249 permits."""

    def close(self) -> None:
        """Forget the answer; the cursor cannot be used any more."""
        self._closed = True
        self._result = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _open(self) -> Connection:
        """The connection; InterfaceError if it or the cursor is closed."""
        if self._closed:
            raise InterfaceError("the cursor is closed")
        _ = self.connection.session
        return self.connection


def _rows(table: pa.Table) -> Iterator[Row]:
    """Rows as tuples of Python values; an answer without columns has none."""
    return zip(*(column.to_pylist() for column in table.columns), strict=True)
