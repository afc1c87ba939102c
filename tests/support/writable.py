"""`ldpsql` with tables that can be made and filled, for test suites that need to.

A driver of PEP 249 whose CREATE, DROP, INSERT, UPDATE and DELETE go to a DuckDB beside the store;
its tables become look-up tables on every connection. Everything else is asked of `ldpsql` itself.
"""

from __future__ import annotations

import duckdb

from ldpsql import *  # noqa: F403
from ldpsql.dbapi import connection as dbapi
from ldpsql.store import open_store

WRITES = ("create", "drop", "insert", "update", "delete", "alter", "comment")
DATABASE = duckdb.connect()


class Connection(dbapi.Connection):
    """A connection to an empty store, and to what was written."""

    commits = 0
    """Of all connections."""

    def __init__(self) -> None:
        super().__init__(open_store(None, read_only=False))
        self.writer = DATABASE.cursor()
        self.is_writing = False
        self.seen: object = None  # the writes whose tables are registered

    def cursor(self) -> Cursor:
        self.require_open()
        return Cursor(self)

    def write(self, sql: str, parameters) -> int:
        """Run a statement that writes; how many rows it wrote, -1 where it says nothing of rows."""
        self.require_open()
        if not self.is_writing:
            self.writer.begin()
            self.is_writing = True
        self.seen = None
        try:
            rows = self.writer.execute(sql, parameters or []).fetchall()
        except duckdb.ConstraintException as error:
            raise dbapi.IntegrityError(str(error)) from None
        except duckdb.Error as error:
            raise dbapi.ProgrammingError(str(error)) from None
        return rows[0][0] if rows and isinstance(rows[0][0], int) else -1

    def show(self) -> None:
        """Register what was written, by this connection or committed by another."""
        self.require_open()
        if self.seen == Connection.commits:
            return
        for table in self.lookups:
            self.unregister(table.name)
        for (name,) in self.writer.execute("SHOW TABLES").fetchall():
            self.register(name, self.writer.sql(f'SELECT * FROM "{name}"').to_arrow_table())
        self.seen = Connection.commits

    def commit(self) -> None:
        super().commit()
        if self.is_writing:
            self.writer.commit()
            self.is_writing = False
            Connection.commits += 1

    def rollback(self) -> None:
        super().rollback()
        if self.is_writing:
            self.writer.rollback()
            self.is_writing, self.seen = False, None

    def close(self) -> None:
        self.writer.close()
        super().close()


class Cursor(dbapi.Cursor):
    """A cursor that writes, too."""

    _written = -1

    def execute(self, sql, parameters=None):
        connection, self._written = self._open(), -1
        if sql.split(None, 1)[0].lower() not in WRITES:
            connection.show()
            return super().execute(sql, parameters)
        self._answer = None
        self._written = connection.write(sql, parameters)
        return self

    def executemany(self, sql, parameters):
        self._written = sum(self.execute(sql, each)._written for each in parameters)

    @property
    def rowcount(self) -> int:
        return super().rowcount if self._answer else self._written


def connect() -> Connection:
    return Connection()
