"""The tables of a store in DuckDB, and the SQL types of its columns.

    surveys            one row per survey: name, fingerprint, JSON, version, and how far its
                       histogram goes (`counted`, `merged`)
    batches            one row per ingested file: its number and the SHA-256 of its content
    reports_<survey>   the reports as they came, with the number of their batch
    histogram_<survey> counts of equal reports

Columns of a report are stored, and stand in report files, under a reserved prefix, so that a
public column may be called "group".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from ldpsql.intake import Intake
from ldpsql.report import ReportFormat
from ldpsql.report_files import SURVEY_COLUMN
from ldpsql.sql import quote
from ldpsql_device.errors import InternalError
from ldpsql_device.schema import RESERVED_PREFIX, PublicColumn

FORMAT = 2
MARKER = "ldpsql_store"
BATCH_COLUMN = f"{RESERVED_PREFIX}batch"
COUNT_COLUMN = f"{RESERVED_PREFIX}count"
BIT = "bit"

STORE_DDL = (
    f"CREATE TABLE {MARKER} (format INTEGER)",
    f"INSERT INTO {MARKER} VALUES ({FORMAT})",
    "CREATE TABLE surveys (name VARCHAR, fingerprint VARCHAR, json VARCHAR, version BIGINT, "
    "counted BIGINT, merged BIGINT)",
    "CREATE TABLE batches (survey VARCHAR, number BIGINT, id VARCHAR, name VARCHAR, "
    "reports BIGINT, skipped BIGINT, kept BOOLEAN)",
)
_TYPES = {
    "int": "BIGINT",
    "float": "DOUBLE",
    "text": "VARCHAR",
    "bool": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}
_WHOLE_NUMBERS = {8: "UTINYINT", 16: "USMALLINT", 32: "UINTEGER", 64: "UBIGINT"}


@dataclass(frozen=True)
class Column:
    """A stored column.

    name: the same as in report files.  type: the DuckDB type.
    """

    name: str
    type: str

    @property
    def sql(self) -> str:
        """The name, quoted."""
        return quote(self.name)


@dataclass(frozen=True)
class Layout:
    """The tables of one survey."""

    intake: Intake

    def __post_init__(self) -> None:
        for name in self.intake.report_columns:
            if name in (SURVEY_COLUMN, BATCH_COLUMN, COUNT_COLUMN):
                raise InternalError(f"a report column cannot be called {name}")

    @property
    def key(self) -> str:
        """The name of the survey in lower case."""
        return self.intake.key

    @property
    def format(self) -> ReportFormat:
        """Which rows are reports."""
        return self.intake.format

    @property
    def public(self) -> tuple[PublicColumn, ...]:
        """The columns in clear, as the survey declares them."""
        return self.intake.public

    @property
    def reports(self) -> str:
        """Name of the table of reports, quoted."""
        return quote(f"reports_{self.key}")

    @property
    def histogram(self) -> str:
        """Name of the histogram, quoted."""
        return quote(f"histogram_{self.key}")

    @cached_property
    def report_columns(self) -> tuple[Column, ...]:
        """The report's own columns, the report type first."""
        widths = zip(self.intake.report_columns, self.format.widths, strict=True)
        return tuple(Column(name, _WHOLE_NUMBERS[width]) for name, width in widths)

    @cached_property
    def public_columns(self) -> tuple[Column, ...]:
        """The columns in clear, as they are stored."""
        return tuple(Column(column.name, _TYPES[column.type]) for column in self.public)

    @property
    def report_type(self) -> Column:
        """The first report column, which says what the others mean."""
        return self.report_columns[0]

    @cached_property
    def counted_columns(self) -> tuple[Column, ...]:
        """Columns of the histogram that belong to the report: all, or (report type, bit)."""
        if self.format.unary:
            return (self.report_type, Column(RESERVED_PREFIX + BIT, "INTEGER"))
        return self.report_columns

    @property
    def counted_names(self) -> str:
        """The histogram's columns without the count, as an SQL list."""
        return names((*self.counted_columns, *self.public_columns))

    def ddl(self) -> tuple[str, str]:
        """Statements that make the two tables."""
        batch, count = Column(BATCH_COLUMN, "UINTEGER"), Column(COUNT_COLUMN, "BIGINT")
        return (
            _create(self.reports, (batch, *self.report_columns, *self.public_columns)),
            _create(self.histogram, (*self.counted_columns, *self.public_columns, count)),
        )


def names(columns: Iterable[Column]) -> str:
    """Columns as an SQL list of names."""
    return ", ".join(column.sql for column in columns)


def _create(table: str, columns: Iterable[Column]) -> str:
    inside = ", ".join(f"{column.sql} {column.type}" for column in columns)
    return f"CREATE OR REPLACE TABLE {table} ({inside})"
