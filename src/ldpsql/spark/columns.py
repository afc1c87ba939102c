"""The columns of reports in Spark, whose whole numbers all have a sign and 64 bits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pyarrow as pa

from ldpsql.reports.arrow_types import ARROW_TYPES, ID_COLUMN
from ldpsql.sql.quoting import DUCKDB_TYPES
from ldpsql.store.base import Selection
from ldpsql.store.counting import KEY
from ldpsql.store.intake import Intake
from ldpsql.store.layout import Column, Layout
from ldpsql_device.schema import RESERVED_PREFIX

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

PLACE, ROW, SAID = (f"{RESERVED_PREFIX}{name}" for name in ("place", "row", "said"))
"""Of a file on its way in: its place among those of one call, of a report its row among those of
the file, and what is said of the file, on a row of its own without a report."""
NAME, SUMS = f"{RESERVED_PREFIX}name", f"{RESERVED_PREFIX}sums"
"""Of what reports decode to: the name of an array, and its numbers."""

_ARROW_TYPES = {DUCKDB_TYPES[word]: kind for word, kind in ARROW_TYPES.items()}
"""Arrow's type for every type of DuckDB's that a public column, or a key to group by, may have."""


def in_spark(columns: Iterable[pa.Field]) -> StructType:
    """A schema as Spark reads it."""
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415  (an extra)

    return from_arrow_schema(pa.schema(columns), prefer_timestamp_ntz=True)


def quote_in_spark(name: str) -> str:
    """A name as Spark quotes it.

    >>> quote_in_spark("a `b`")
    '`a ``b```'
    """
    return f"`{name.replace('`', '``')}`"


def wide(columns: Iterable[Column]) -> list[pa.Field]:
    """Columns in Arrow; unsigned numbers become signed ones."""
    return [pa.field(each.name, _ARROW_TYPES.get(each.type, pa.int64())) for each in columns]


def arriving_schema(intake: Intake) -> pa.Schema:
    """The columns of reports on their way in."""
    report = [(name, pa.int64()) for name in intake.report_columns]
    public = [(column.name, ARROW_TYPES[column.type]) for column in intake.public]
    beside = [(PLACE, pa.int32()), (ROW, pa.int64()), (SAID, pa.string()), (ID_COLUMN, pa.binary())]
    return pa.schema([*beside, *report, *public])


def sums_schema(layout: Layout, selection: Selection) -> pa.Schema:
    """The columns of what reports decode to, by the keys of a selection."""
    kinds = {column.name.lower(): column.type for column in layout.public_columns}
    keys = [kinds[key.lower()] if isinstance(key, str) else key.kind for key in selection.keys]
    fields = [pa.field(f"{KEY}_{place}", _ARROW_TYPES[kind]) for place, kind in enumerate(keys)]
    return pa.schema([*fields, (NAME, pa.string()), (SUMS, pa.binary())])
