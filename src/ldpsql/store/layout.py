"""The tables of a store in DuckDB, and the SQL types of its columns.

    surveys            one row per survey: name, fingerprint, JSON, version, and how far its
                       histogram goes (`counted`, `merged`)
    batches            one row per ingested file: its number and the SHA-256 of its content; and one
                       per source and day of reports that came one by one (`day`), once it is tidied
                       up; on which day each was taken, and how many reports of it were withdrawn
                       on which day
    seen               the latest day on which the store was written to
    statements         what authors have said of their surveys being asked (`ldpsql statement`)
    reports_<survey>   the reports, with the number of their batch
    ids_<survey>       the ids of reports that a device may send again, and until when it may
    histogram_<survey> counts of equal reports
    decoded, parts_<survey>, sums_<survey>, whole_<survey>, derived_<survey>
                       what reports decode to: see `decoded`
    decoded_alone      the batches of which nothing else is there any more
    lookups.<name>     a table that everybody may see, with the digest of its rows as its comment

The reports of a file are sorted by what they hold, and ids by themselves, so that no order tells
which id was whose.

Columns of a report are stored, and stand in report files, under a reserved prefix, so that a
public column may be called "group".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql.sql.quoting import DUCKDB_TYPES, quote
from ldpsql.store.intake import Intake
from ldpsql_device.errors import InternalError
from ldpsql_device.schema import RESERVED_PREFIX

FORMAT = 5
MIGRATIONS: Mapping[int, tuple[str, ...]] = {
    3: (
        "ALTER TABLE batches ADD COLUMN taken DATE",
        "ALTER TABLE batches ADD COLUMN withdrawn BIGINT",
        "UPDATE batches SET taken = day",
    ),
    4: ("ALTER TABLE batches ADD COLUMN withdrawn_on DATE",),
}
"""What makes of a store of each earlier format one of the next."""
MARKER = "ldpsql_store"
LOOKUPS = "lookups"
ALONE = "decoded_alone"
LARGE = ("histogram_", "sums_", "derived_")
"""How the names of tables begin that a reader of a snapshot leaves in its file."""
LAST_COLUMN = f"{RESERVED_PREFIX}last"
BATCH_COLUMN = f"{RESERVED_PREFIX}batch"
COUNT_COLUMN = f"{RESERVED_PREFIX}count"
_WHOLE_NUMBERS = {8: "UTINYINT", 16: "USMALLINT", 32: "UINTEGER", 64: "UBIGINT"}
STORE_DDL = (
    f"CREATE TABLE {MARKER} (format INTEGER)",
    f"INSERT INTO {MARKER} VALUES ({FORMAT})",
    "CREATE TABLE surveys (name VARCHAR, fingerprint VARCHAR, json VARCHAR, version BIGINT, "
    "counted BIGINT, merged BIGINT)",
    "CREATE TABLE batches (survey VARCHAR, number BIGINT, id VARCHAR, name VARCHAR, "
    "reports BIGINT, skipped BIGINT, kept BOOLEAN, day DATE, taken DATE, withdrawn BIGINT, "
    "withdrawn_on DATE)",
)


@dataclass(frozen=True)
class Column:
    """A stored column: its name, as in report files, and its DuckDB type."""

    name: str
    type: str

    @property
    def sql(self) -> str:
        """The name, quoted."""
        return quote(self.name)


OWN_ID, LAST = Column(ID_COLUMN, "UUID"), Column(LAST_COLUMN, "DATE")


class Layout:
    """The tables of one survey, and the columns of its reports and of their histogram.

    reports, ids, histogram, parts, sums, whole, derived: names of tables, quoted.  ddl: statements
    that make the first three empty.  kept_columns: all columns of the first.
    report_columns: the report's own, the report type first; public_columns: those in clear.
    counted_columns: columns of the histogram that belong to the report: all, or (report type, bit).
    keys: the histogram's columns without the count, as an SQL list.  columns: those of a report as
    an SQL list.  histogram_columns: all of the histogram's.  once: picks the rows of a histogram
    that together count every person once; people_columns: what of a report tells these rows, and
    its type.
    """

    def __init__(self, intake: Intake) -> None:
        """InternalError for a format with a column of a name that the store needs."""
        for name in intake.report_columns:
            if name in (BATCH_COLUMN, COUNT_COLUMN):
                raise InternalError(f"a report column cannot be called {name}")
        self.intake, self.key, self.format = intake, intake.key, intake.format
        widths = zip(intake.report_columns, self.format.widths, strict=True)
        self.report_columns = tuple(Column(name, _WHOLE_NUMBERS[width]) for name, width in widths)
        self.public_columns = tuple(Column(c.name, DUCKDB_TYPES[c.type]) for c in intake.public)
        self.report_type = self.report_columns[0]
        bit = Column(f"{RESERVED_PREFIX}bit", "INTEGER")
        is_unary = self.format.unary
        self.counted_columns = (self.report_type, bit) if is_unary else self.report_columns
        counted = (*self.counted_columns, *self.public_columns)
        self.keys = names(counted)
        self.columns = names((*self.report_columns, *self.public_columns))
        self.histogram_columns = (*counted, Column(COUNT_COLUMN, "BIGINT"))
        self.once = f"{bit.sql} = -1" if is_unary else "true"
        self.people_columns = (self.report_type, bit) if is_unary else (self.report_type,)
        self.reports, self.ids, self.histogram, *decoded = map(quote, survey_tables(self.key))
        self.parts, self.sums, self.whole, self.derived = decoded
        batch = Column(BATCH_COLUMN, "UINTEGER")
        self.kept_columns = (batch, *self.report_columns, *self.public_columns)
        self.ddl = (
            create(self.reports, self.kept_columns),
            create(self.histogram, self.histogram_columns),
            create(self.ids, (OWN_ID, LAST)),
        )

    def public(self, name: str) -> str:
        """A public column, quoted as it is written in the schema."""
        for column in self.public_columns:
            if column.name.lower() == name.lower():
                return column.sql
        raise InternalError(f"{name} is not a public column of {self.key}")


def survey_tables(key: str) -> tuple[str, ...]:
    """The names of all tables that belong to one survey."""
    kinds = ("reports", "ids", "histogram", "parts", "sums", "whole", "derived")
    return tuple(f"{kind}_{key}" for kind in kinds)


def names(columns: Iterable[Column]) -> str:
    """Columns as an SQL list of names."""
    return ", ".join(column.sql for column in columns)


def lookup_table(name: str) -> str:
    """The name of a look-up table, quoted."""
    return f"{LOOKUPS}.{quote(name)}"


def create(table: str, columns: Iterable[Column], kind: str = "TABLE") -> str:
    """The statement that makes an empty table.

    Never `CREATE TABLE ... AS` a query without rows: in the same transaction DuckDB 2.0.0 shows
    none of the rows that are inserted into such a table in several large parts.
    """
    inside = ", ".join(f"{column.sql} {column.type}" for column in columns)
    return f"CREATE OR REPLACE {kind} {table} ({inside})"
