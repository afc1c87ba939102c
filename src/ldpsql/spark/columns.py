"""The columns of reports in Spark, whose whole numbers all have a sign and 64 bits."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from ldpsql.reports.arrow_types import ARROW_TYPES, ID_COLUMN
from ldpsql.sql.quoting import DUCKDB_TYPES
from ldpsql.store.base import Selection
from ldpsql.store.counting import KEY
from ldpsql.store.intake import Intake
from ldpsql.store.layout import Column, Layout
from ldpsql_device.schema import RESERVED_PREFIX

PLACE, ROW, SAID = (f"{RESERVED_PREFIX}{name}" for name in ("place", "row", "said"))
"""Of a file on its way in: its place among those of one call, of a report its row among those of
the file, and what is said of the file, on a row of its own without a report."""
NAME, SUMS = f"{RESERVED_PREFIX}name", f"{RESERVED_PREFIX}sums"
"""Of what reports decode to: the name of an array, and its numbers."""

_SPARK_TYPES = {
    "BIGINT": "BIGINT",
    "DOUBLE": "DOUBLE",
    "VARCHAR": "STRING",
    "BOOLEAN": "BOOLEAN",
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP_NTZ",
}
"""Spark's name of every type of DuckDB's that a public column, or a key to group by, may have."""


def wide(columns: Iterable[Column]) -> list[tuple[str, str]]:
    """Names of columns and their types in Spark; unsigned numbers become signed ones."""
    return [(column.name, _SPARK_TYPES.get(column.type, "BIGINT")) for column in columns]


def write_schema(columns: Iterable[tuple[str, str]]) -> str:
    """A schema as Spark reads it.

    >>> write_schema([("a `b`", "BIGINT")])
    '`a ``b``` BIGINT'
    """
    return ", ".join(f"{quote_in_spark(name)} {kind}" for name, kind in columns)


def quote_in_spark(name: str) -> str:
    """A name as Spark quotes it."""
    return f"`{name.replace('`', '``')}`"


def key_columns(table: Layout, selection: Selection) -> list[tuple[str, str]]:
    """Columns for the keys of a selection."""
    kinds = _key_kinds(table, selection)
    return [(f"{KEY}_{place}", _SPARK_TYPES[kind]) for place, kind in enumerate(kinds)]


def key_fields(table: Layout, selection: Selection) -> list[pa.Field]:
    """The same for Arrow."""
    types = {DUCKDB_TYPES[word]: kind for word, kind in ARROW_TYPES.items()}
    kinds = _key_kinds(table, selection)
    return [pa.field(f"{KEY}_{place}", types[kind]) for place, kind in enumerate(kinds)]


def _key_kinds(table: Layout, selection: Selection) -> list[str]:
    """DuckDB's names of the types of keys."""
    kinds = {column.name.lower(): column.type for column in table.public_columns}
    return [kinds[key.lower()] if isinstance(key, str) else key.kind for key in selection.keys]


def arriving_columns(table: Layout) -> list[tuple[str, str]]:
    """The columns of reports on their way in."""
    beside = [(PLACE, "INT"), (ROW, "BIGINT"), (SAID, "STRING"), (ID_COLUMN, "BINARY")]
    return [*beside, *wide(table.report_columns), *wide(table.public_columns)]


def arriving_schema(intake: Intake) -> pa.Schema:
    """The same for Arrow."""
    report = [(name, pa.int64()) for name in intake.report_columns]
    public = [(column.name, ARROW_TYPES[column.type]) for column in intake.public]
    beside = [(PLACE, pa.int32()), (ROW, pa.int64()), (SAID, pa.string()), (ID_COLUMN, pa.binary())]
    return pa.schema([*beside, *report, *public])
