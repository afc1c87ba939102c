"""`ldpsql` with tables that can be made and filled, for test suites that need to.

A driver of PEP 249 whose CREATE, DROP, INSERT, UPDATE and DELETE go to a DuckDB beside the store;
its tables become look-up tables on every connection. Everything else is asked of `ldpsql` itself.
"""

from __future__ import annotations

import duckdb

from ldpsql import *  # noqa: F403
from ldpsql import dbapi
from ldpsql.store import open_store

WRITES = ("create", "drop", "insert", "update", "delete", "alter", "comment")


class Tables:
    """What was written, by every connection."""

    def __init__(self) -> None:
        self.writer = duckdb.connect()
        self.writes = 0

    def write(self, sql: str, parameters) -> int:
        """Run a statement that writes; how many rows it wrote, -1 where it says nothing of rows."""
        try:
            rows = self.writer.execute(sql, parameters or []).fetchall()
        except duckdb.Error as error:
            raise dbapi.ProgrammingError(str(error)) from None
        self.writes += 1
        return rows[0][0] if rows and isinstance(rows[0][0], int) else -1

    def show(self, connection: Connection) -> None:
        """Let a connection join the tables."""
        if connection.seen == self.writes:
            return
        connection.seen = self.writes
        names = [name for (name,) in self.writer.execute("SHOW TABLES").fetchall()]
        for table in connection.lookups:
            connection.unregister(table.name)
        for name in names:
            rows = self.writer.sql(f'SELECT * FROM "{name}"').to_arrow_table()
            connection.register(name, rows)


TABLES = Tables()


class Connection(dbapi.Connection):
    """A connection to an empty store, and to what was written."""

    def __init__(self) -> None:
        super().__init__(open_store(None, read_only=False))
        self.seen = -1  # the number of writes whose tables it shows

    def cursor(self) -> Cursor:
        self.require_open()
        return Cursor(self)


class Cursor(dbapi.Cursor):
    """A cursor that writes, too."""

    _written = -1

    def execute(self, sql, parameters=None):
        if sql.split(None, 1)[0].lower() not in WRITES:
            self._written = -1
            TABLES.show(self._open())
            return super().execute(sql, parameters)
        self._open()
        self._answer = None
        self._written = TABLES.write(sql, parameters)
        return self

    def executemany(self, sql, parameters):
        self._written = sum(self.execute(sql, each)._written for each in parameters)

    @property
    def rowcount(self) -> int:
        return super().rowcount if self._answer else self._written


def connect() -> Connection:
    return Connection()
