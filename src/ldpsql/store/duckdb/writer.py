"""Reports into a DuckDB store: a batch of them whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from ldpsql.intake import Intake
from ldpsql.sql import literal
from ldpsql.store.duckdb import fold
from ldpsql.store.duckdb.fold import Progress
from ldpsql.store.duckdb.layout import BATCH_COLUMN, Layout
from ldpsql.store.duckdb.opening import Connection, known_surveys, transaction
from ldpsql.store.incoming import AcceptedRows
from ldpsql.store.rules import KnownSurvey, Writer

_INCOMING, _COUNTED = "ldpsql_incoming", "ldpsql_counted"


class DuckDBWriter(Writer):
    """A turn at changing a store in DuckDB, on a cursor of its own."""

    def __init__(self, cursor: Connection, read_intake: Callable[[str], Intake]) -> None:
        super().__init__(read_intake)
        self.cursor = cursor
        self._touched: dict[str, tuple[Layout, int]] = {}

    def transaction(self) -> AbstractContextManager[None]:
        return transaction(self.cursor)

    def known_surveys(self) -> list[KnownSurvey]:
        return known_surveys(self.cursor)

    def add_survey(self, intake: Intake) -> None:
        self.cursor.execute(
            "INSERT INTO surveys VALUES (?, ?, ?, 0, 0, 0)",
            [intake.key, intake.fingerprint, intake.text],
        )
        for statement in Layout(intake).ddl():
            self.cursor.execute(statement)

    def complete_survey(self, intake: Intake) -> None:
        query = "UPDATE surveys SET json = ? WHERE name = ?"
        self.cursor.execute(query, [intake.text, intake.key])

    def has_batch(self, intake: Intake, batch_id: str) -> bool:
        query = "SELECT count(*) FROM batches WHERE survey = ? AND id = ?"
        return _number(self.cursor, query, [intake.key, batch_id]) > 0

    def add_reports(self, intake: Intake, reports: AcceptedRows, batch_id: str, keep: str) -> int:
        layout, cursor, is_kept = Layout(intake), self.cursor, keep == "reports"
        self._touched.setdefault(layout.key, (layout, Progress.of(cursor, layout).recent))
        last = "SELECT coalesce(max(number), 0) FROM batches WHERE survey = ?"
        number = _number(cursor, last, [layout.key]) + 1
        table = layout.reports if is_kept else _COUNTED
        if not is_kept:
            cursor.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS FROM {layout.reports} LIMIT 0")
        taken = 0
        for batch in reports:
            cursor.register(_INCOMING, batch)
            cursor.execute(f"INSERT INTO {table} SELECT {number}, * FROM {_INCOMING}")
            taken += batch.num_rows
        if layout.format.unary or not is_kept:
            own = f"SELECT * FROM {table} WHERE {BATCH_COLUMN} = {number}"
            fold.append(cursor, layout, own)
        cursor.execute(
            "INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?, ?)",
            [layout.key, number, batch_id, reports.name, taken, reports.skipped, is_kept],
        )
        if not is_kept:
            cursor.execute(f"DROP TABLE {table}")
            self._discard(layout)
        if taken:
            cursor.execute("UPDATE surveys SET version = version + 1 WHERE name = ?", [layout.key])
        return taken

    def merge_counts(self) -> None:
        """Merge what the batches of this turn left unmerged, in a transaction of its own.

        Without it, after a failure or a crash, nothing is missing: readers count what is unmerged.
        """
        with self.transaction():
            for layout, before in self._touched.values():
                fold.merge_if_worthwhile(self.cursor, layout, before)

    def _discard(self, layout: Layout) -> None:
        """Delete all reports of a survey, once they are counted."""
        if Progress.of(self.cursor, layout).tail:
            fold.merge(self.cursor, layout)
        name = literal(layout.key)
        self.cursor.execute(layout.ddl()[0])
        self.cursor.execute(f"UPDATE batches SET kept = false WHERE survey = {name}")
        self.cursor.execute(
            "UPDATE surveys SET counted = (SELECT max(number) FROM batches WHERE survey = "
            f"{name}) WHERE name = {name}"
        )


def _number(cursor: Connection, query: str, parameters: Sequence[str] = ()) -> int:
    """The one number that a query gives."""
    [(number,)] = cursor.execute(query, parameters).fetchall()
    return int(number)
