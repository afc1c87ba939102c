"""SQL over data that nobody but its owner ever saw.

Names are loaded when they are first used, so that importing the device's half
(`ldpsql_device`) brings in numpy and nothing heavier.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ldpsql.dbapi.answer import Answer
    from ldpsql.dbapi.connection import (
        BINARY,
        DATETIME,
        NUMBER,
        ROWID,
        STRING,
        Binary,
        Connection,
        Cursor,
        Date,
        DateFromTicks,
        Time,
        TimeFromTicks,
        Timestamp,
        TimestampFromTicks,
        Warning,
        apilevel,
        connect,
        paramstyle,
        threadsafety,
    )
    from ldpsql.designer import design
    from ldpsql.survey import Survey
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

__version__ = "0.1.0"

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Answer",
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
    "Survey",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "__version__",
    "apilevel",
    "connect",
    "design",
    "paramstyle",
    "threadsafety",
]

_HOMES = {"Answer": "ldpsql.dbapi.answer", "Survey": "ldpsql.survey", "design": "ldpsql.designer"}


def __getattr__(name: str) -> Any:
    """Load a public name from the module that defines it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = (
        "ldpsql_device.errors"
        if name.endswith("Error")
        else _HOMES.get(name, "ldpsql.dbapi.connection")
    )
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted({*globals(), *__all__})
