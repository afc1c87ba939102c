"""Runs at the collector. Sees reports. The Python database API (PEP 249), version 2.0.

    with ldpsql.connect("app.duckdb") as connection:
        cursor = connection.execute("SELECT AVG(hours) FROM app WHERE age < ?", [30])
        cursor.fetchone(), cursor.estimates.stderr

Every statement is a question, so there are no transactions: `commit` has nothing to do, and what
was ingested cannot be rolled back.
"""

from __future__ import annotations

import builtins

from ldpsql.dbapi.connection import Connection, connect
from ldpsql.dbapi.cursor import Cursor
from ldpsql.dbapi.types import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)
from ldpsql.errors import (
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
