"""Evaluates outer SQL over relations of estimates, with no access to anything else."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import duckdb
import pyarrow as pa

from ldpsql.errors import QueryError
from ldpsql.limits import MOST_ROWS, SECONDS, find_remaining, too_late, too_many_rows
from ldpsql.reports.arrow_types import find_far
from ldpsql.sql.quoting import DUCKDB_SETTINGS

Connection = duckdb.DuckDBPyConnection

_CONFIG = {
    **DUCKDB_SETTINGS,
    "enable_external_access": "false",
    "lock_configuration": "true",
    "temp_directory": "",
    "max_temp_directory_size": "0B",
}
_THREADS = 2
_NAP = 0.2  # seconds: Ctrl-C may reach another thread, which does not wake this one
_PATIENCE = 0.05  # seconds until an interrupt that came too early is sent again
_LONGEST_TEXT = 1_000_000
_WIDE = ("UHUGEINT", "BIGNUM")
"""Whole numbers that DuckDB hands to Arrow as other ones, or as bytes."""
_ROWS_AT_ONCE, _LARGEST_RESULT = 1 << 16, 1 << 29  # bytes

# Each call can make a text many times longer, outside DuckDB's memory limit and without a point
# where it could be interrupted, so the length is checked before. The list with one element binds
# the arguments to names: a macro would copy them, nested calls exponentially often.
_REPLACE = f"""
CREATE MACRO replace(source, target, other) AS list_transform(
    [{{'s': source::VARCHAR, 't': target::VARCHAR, 'o': other::VARCHAR}}],
    lambda v: CASE
        WHEN strlen(v.s) * (1 + strlen(v.o)) > {_LONGEST_TEXT}
        THEN error('REPLACE would make a text that is too long')
        ELSE system.main."replace"(v.s, v.t, v.o)
    END
)[1]
"""


class Sandbox:
    """An empty database in memory that reaches no file, no network and no Python variable."""

    def __init__(
        self,
        *,
        seconds: float = SECONDS,
        memory: str = "1GB",
        what: str = "the outer query",
        over: str = "estimates",
    ) -> None:
        """A sandbox with the limits of one query; the database is made when it is first needed.

        what, over: what is evaluated, and over what, in the words of errors.
        """
        self._seconds, self._memory, self._what, self._over = seconds, memory, what, over
        self._database: Connection | None = None
        self._running: list[Connection] = []  # one each thread that evaluates now

    def evaluate(self, sql: str, relations: Mapping[str, pa.Table]) -> pa.Table:
        """The result of one SELECT over the relations, by their names.

        Sums come as int64 or float64, never as decimals. Raises QueryError for anything that
        is not one SELECT, for what DuckDB refuses, and for what takes too long or too much memory;
        KeyboardInterrupt on Ctrl-C.
        """
        if self._database is None:
            limits = {"memory_limit": self._memory, "threads": str(_THREADS)}
            self._database = duckdb.connect(":memory:", config={**_CONFIG, **limits})
            self._database.execute(_REPLACE)
        outcome: list[pa.Table | Exception] = []
        limit = min(self._seconds, find_remaining())
        with self._lend(self._database) as cursor:

            def work() -> None:
                try:
                    outcome.append(self._fetch(cursor, sql, relations))
                except Exception as error:
                    outcome.append(error)
                done.set()

            # DuckDB runs in a thread of its own: this one wakes up for Ctrl-C, at the deadline and
            # where the answer is given up, also while rows are fetched. (An interrupted join()
            # takes the thread for ended.)
            done, end = threading.Event(), time.monotonic() + limit
            threading.Thread(target=work, daemon=True).start()
            try:
                while (
                    not done.is_set() and min(left := end - time.monotonic(), find_remaining()) > 0
                ):
                    done.wait(min(left, _NAP))
                is_late = not done.is_set()
            finally:
                while not done.is_set():
                    with suppress(duckdb.Error):
                        cursor.interrupt()
                    done.wait(_PATIENCE)
        (result,) = outcome
        if is_late and limit < self._seconds:
            raise too_late()
        if is_late:
            raise QueryError(
                f"{self._what} took longer than {self._seconds:g} s",
                hint="ask for fewer rows, or join fewer of them",
            )
        if isinstance(result, Exception):
            raise self._explain(result) from None
        return result

    def _fetch(self, cursor: Connection, sql: str, relations: Mapping[str, pa.Table]) -> pa.Table:
        """The result of a SELECT, batch by batch, while it is not too large."""
        kinds = [statement.type for statement in cursor.extract_statements(sql)]
        if kinds != [duckdb.StatementType.SELECT]:
            raise QueryError(f"only a single SELECT can be evaluated over {self._over}")
        for name, table in relations.items():
            cursor.register(name, table)
        relation = cursor.sql(sql)
        names = relation.columns
        wide = [str(kind) in _WIDE for kind in relation.types]
        if any(wide):
            places = (f"#{at}::VARCHAR" if each else f"#{at}" for at, each in enumerate(wide, 1))
            relation = relation.project(", ".join(places))
        reader = relation.to_arrow_reader(_ROWS_AT_ONCE)
        batches: list[pa.RecordBatch] = []
        rows = size = 0
        for batch in reader:
            batches.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
            if rows > MOST_ROWS:
                raise too_many_rows()
            if size > _LARGEST_RESULT:
                raise MemoryError
        table = pa.Table.from_batches(batches, reader.schema)
        columns = map(_plain_column, table.columns, wide)
        return pa.Table.from_arrays(list(columns), names=names)

    def _explain(self, error: Exception) -> BaseException:
        """The error to raise instead of DuckDB's."""
        if is_ctrl_c(error):
            return KeyboardInterrupt()
        is_of_memory = isinstance(error, duckdb.OutOfMemoryException | MemoryError)
        # Arrow tells of what DuckDB raises during a fetch as errors of its own.
        if is_of_memory or "Out of Memory Error" in str(error):
            return QueryError(
                f"{self._what} needs more than {self._memory} of memory",
                hint="ask for fewer rows, or join fewer of them",
            )
        if not isinstance(error, duckdb.Error | OSError | pa.ArrowException):
            return error
        # On one line, without DuckDB's drawing of the place in rewritten SQL.
        line = str(error).splitlines()[0] if str(error) else "DuckDB gave no reason"
        reason = line.removeprefix(f"{line.split(':', 1)[0]}: ") if " Error: " in line else line
        said_of = f"{self._what}, which runs in DuckDB over the {self._over}"
        return QueryError(reason, hint=f"this is said of {said_of}; check it there")

    @contextmanager
    def _lend(self, database: Connection) -> Iterator[Connection]:
        cursor = database.cursor()
        self._running.append(cursor)
        try:
            with cursor:
                yield cursor
        finally:
            self._running.remove(cursor)

    def close(self) -> None:
        """Forget the database; what other threads evaluate in it ends with a QueryError."""
        if self._database is not None:
            while self._running:
                for cursor in tuple(self._running):
                    with suppress(duckdb.Error):
                        cursor.interrupt()
                time.sleep(_PATIENCE)
            self._database.close()
            self._database = None


def is_ctrl_c(error: Exception) -> bool:
    """Whether this is how DuckDB tells of Ctrl-C: it takes the signal away from Python."""
    return type(error) is RuntimeError and "interrupted" in str(error).lower()


def _check_days(column: pa.ChunkedArray) -> None:
    """QueryError for a date or timestamp that Python has none for."""
    if find_far(column).any():
        raise QueryError(
            "a date or timestamp is before the year 1, or after 9999",
            hint="leave such values out, or select their parts: EXTRACT(year FROM ...)",
        )


def _plain_column(column: pa.ChunkedArray, is_wide: bool) -> pa.ChunkedArray:
    """The column with numbers that have digits as int64 where all are whole and fit, else as
    float64: decimals, and the texts of wide numbers; moments in microseconds or coarser."""
    if pa.types.is_date32(column.type) or pa.types.is_timestamp(column.type):
        _check_days(column)
    if column.type == pa.timestamp("ns"):
        return column.cast(pa.timestamp("us"), safe=False)  # the finest of Python's own moments
    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    if not (is_wide or pa.types.is_decimal(column.type)):
        return column
    with suppress(pa.ArrowInvalid):
        if is_wide or column.type.scale == 0:
            return column.cast(pa.int64())
    # By their texts: the nearest double, which Arrow's own cast may miss.
    return column.cast(pa.string()).cast(pa.float64())
