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

from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql.sql.quoting import quote
from ldpsql.store.counting import COUNT_COLUMN, Column, ReportTable
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
SUMS = "sums_"
"""How the names of tables with the sums of parts begin (see `decoded`)."""
DERIVED = "derived_"
"""How the names of tables with what follows from a design begin (see `decoded`)."""
HISTOGRAM = "histogram_"
"""How the names of tables with the counts of equal reports begin."""
LAST_COLUMN = f"{RESERVED_PREFIX}last"
BATCH_COLUMN = f"{RESERVED_PREFIX}batch"
STORE_DDL = (
    f"CREATE TABLE {MARKER} (format INTEGER)",
    f"INSERT INTO {MARKER} VALUES ({FORMAT})",
    "CREATE TABLE surveys (name VARCHAR, fingerprint VARCHAR, json VARCHAR, version BIGINT, "
    "counted BIGINT, merged BIGINT)",
    "CREATE TABLE batches (survey VARCHAR, number BIGINT, id VARCHAR, name VARCHAR, "
    "reports BIGINT, skipped BIGINT, kept BOOLEAN, day DATE, taken DATE, withdrawn BIGINT, "
    "withdrawn_on DATE)",
)

OWN_ID, LAST = Column(ID_COLUMN, "UUID"), Column(LAST_COLUMN, "DATE")


class Layout(ReportTable):
    """The tables of one survey, and their columns.

    reports, ids, histogram: their names, quoted.  kept_columns: all columns of the first, those of
    the last are `histogram_columns`.  ddl: statements that make the tables empty.
    """

    def __init__(self, intake: Intake) -> None:
        """InternalError for a format with a column of a name that the store needs."""
        for name in intake.report_columns:
            if name in (BATCH_COLUMN, COUNT_COLUMN):
                raise InternalError(f"a report column cannot be called {name}")
        super().__init__(intake)
        self.reports, self.histogram = quote(f"reports_{self.key}"), quote(f"{HISTOGRAM}{self.key}")
        self.ids = ids_table(self.key)
        batch = Column(BATCH_COLUMN, "UINTEGER")
        self.kept_columns = (batch, *self.report_columns, *self.public_columns)
        self.ddl = (
            create(self.reports, self.kept_columns),
            create(self.histogram, self.histogram_columns),
            create(self.ids, (OWN_ID, LAST)),
        )


def survey_tables(key: str) -> tuple[str, ...]:
    """The names of all tables that belong to one survey."""
    kinds = ("reports", "ids", "histogram", "parts", "sums", "whole", "derived")
    return tuple(f"{kind}_{key}" for kind in kinds)


def ids_table(key: str) -> str:
    """The name of the table of a survey's ids, quoted."""
    return quote(f"ids_{key}")


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
