"""Public. Sees parameters. What the tables of one survey are called and made of.

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

from ldpsql.report import ReportFormat
from ldpsql.survey import Survey
from ldpsql_device.errors import InternalError
from ldpsql_device.schema import RESERVED_PREFIX, PublicColumn

FORMAT = 1
MARKER = "ldpsql_store"
SURVEY_COLUMN = f"{RESERVED_PREFIX}survey"
BATCH_COLUMN = f"{RESERVED_PREFIX}batch"
COUNT_COLUMN = f"{RESERVED_PREFIX}count"
METADATA_KEY = "ldpsql.survey"
BIT = "bit"

_PUBLIC_TYPES = {
    "int": "BIGINT",
    "float": "DOUBLE",
    "text": "VARCHAR",
    "bool": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}
_REPORT_TYPES = {8: "UTINYINT", 16: "USMALLINT", 32: "UINTEGER", 64: "UBIGINT"}

STORE_DDL = (
    f"CREATE TABLE {MARKER} (format INTEGER)",
    f"INSERT INTO {MARKER} VALUES ({FORMAT})",
    "CREATE TABLE surveys (name VARCHAR, fingerprint VARCHAR, json VARCHAR, version BIGINT, "
    "counted BIGINT, merged BIGINT)",
    "CREATE TABLE batches (survey VARCHAR, number BIGINT, id VARCHAR, name VARCHAR, "
    "reports BIGINT, skipped BIGINT, kept BOOLEAN)",
)


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A string as an SQL literal."""
    return "'" + value.replace("'", "''") + "'"


def survey_key(table: str) -> str:
    """The name under which a survey is kept: names ignore case."""
    return table.lower()


@dataclass(frozen=True)
class Column:
    """A stored column: its name, the same as in report files, and its DuckDB type."""

    name: str
    type: str

    @property
    def sql(self) -> str:
        """The name, quoted."""
        return quoted(self.name)


def stored(column: PublicColumn) -> Column:
    """A public column as it is stored."""
    return Column(column.name, _PUBLIC_TYPES[column.type])


@dataclass(frozen=True)
class Layout:
    """The tables of one survey."""

    key: str
    fingerprint: str
    format: ReportFormat
    schema_public: tuple[PublicColumn, ...]

    def __post_init__(self) -> None:
        own = {SURVEY_COLUMN, BATCH_COLUMN, COUNT_COLUMN}
        for name in self.format.columns:
            if RESERVED_PREFIX + name in own:
                raise InternalError(f"a report column cannot be called {name}")

    @classmethod
    def of(cls, survey: Survey) -> Layout:
        """The layout of a survey's tables."""
        return cls(
            survey_key(survey.table),
            survey.fingerprint,
            survey.design.report_format,
            survey.schema.public,
        )

    @property
    def reports(self) -> str:
        """Name of the table of reports, quoted."""
        return quoted(f"reports_{self.key}")

    @property
    def histogram(self) -> str:
        """Name of the histogram, quoted."""
        return quoted(f"histogram_{self.key}")

    @cached_property
    def report_columns(self) -> tuple[Column, ...]:
        """The report's own columns, the selector first."""
        return tuple(
            Column(RESERVED_PREFIX + name, _REPORT_TYPES[width])
            for name, width in zip(self.format.columns, self.format.widths, strict=True)
        )

    @cached_property
    def public_columns(self) -> tuple[Column, ...]:
        """The columns in clear."""
        return tuple(map(stored, self.schema_public))

    @property
    def selector(self) -> Column:
        """The first report column."""
        return self.report_columns[0]

    @cached_property
    def counted_columns(self) -> tuple[Column, ...]:
        """Columns of the histogram that belong to the report: all, or (selector, bit)."""
        if self.format.unary:
            return (self.selector, Column(RESERVED_PREFIX + BIT, "INTEGER"))
        return self.report_columns

    @property
    def report_names(self) -> str:
        """The report's and public columns as an SQL list."""
        return names((*self.report_columns, *self.public_columns))

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
