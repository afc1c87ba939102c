"""The types a public column may have, as DuckDB stores them and reads them from files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_WHOLE = r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"


@dataclass(frozen=True)
class StoredType:
    """How DuckDB holds a type of column.

    stored: the type it is stored as.  readable: matches the names of all DuckDB types that may be
    read as it.  text: matches its values written as text, None where any text is one.  json_types:
    what DuckDB's `json_type` says of its values in JSON.
    """

    stored: str
    readable: str
    text: str | None
    json_types: tuple[str, ...] = ("VARCHAR",)


STORED_TYPES: Mapping[str, StoredType] = {
    "int": StoredType("BIGINT", _WHOLE, r"[+-]?[0-9]{1,20}", ("UBIGINT", "BIGINT")),
    "float": StoredType(
        "DOUBLE",
        rf"{_WHOLE}|FLOAT|DOUBLE|DECIMAL\(.*\)",
        r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?",
        ("UBIGINT", "BIGINT", "DOUBLE"),
    ),
    "text": StoredType("VARCHAR", r"VARCHAR|ENUM\(.*\)", None),
    "bool": StoredType("BOOLEAN", "BOOLEAN", "[Tt]rue|[Ff]alse|TRUE|FALSE", ("BOOLEAN",)),
    "date": StoredType("DATE", "DATE", _DAY),
    "timestamp": StoredType(
        "TIMESTAMP",
        "TIMESTAMP(_S|_MS|_NS)?|DATE",
        rf"{_DAY}([T ][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]+)?)?)?",
    ),
}
"""By the word of a survey file (`ldpsql_device.types`)."""
