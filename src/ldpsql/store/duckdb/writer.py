"""Reports into a DuckDB store: a batch of them whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import duckdb
import pyarrow as pa

from ldpsql.intake import Intake, damaged
from ldpsql.sql import literal
from ldpsql.store.duckdb import files, fold
from ldpsql.store.duckdb.checks import Checks
from ldpsql.store.duckdb.fold import Progress
from ldpsql.store.duckdb.layout import BATCH_COLUMN, Layout
from ldpsql.store.duckdb.opening import Connection, known_surveys, transaction
from ldpsql.store.rules import Batch, Incoming, KnownSurvey, Policy, Writer


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

    def read_file(self, path: Path) -> Incoming:
        return files.read(self.cursor, path)

    def read_table(self, table: pa.Table) -> Incoming:
        return files.read_table(self.cursor, table)

    def take(
        self, incoming: Incoming, batch_id: str, given: Intake | None, policy: Policy
    ) -> Batch:
        try:
            return super().take(incoming, batch_id, given, policy)
        except duckdb.Error:
            if files.is_readable(incoming):
                raise
        # Outside the handler: DuckDB's error may quote the file and must not hang on to this one.
        raise damaged(incoming.name)

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

    def unpack(self, intake: Intake, incoming: Incoming) -> Incoming:
        return files.unpack(self.cursor, intake, incoming)

    def add_reports(self, intake: Intake, incoming: Incoming, batch_id: str, policy: Policy) -> int:
        layout, cursor = Layout(intake), self.cursor
        checks = Checks.of(cursor, layout, incoming)
        self._touched.setdefault(layout.key, (layout, Progress.of(cursor, layout).recent))
        last = "SELECT coalesce(max(number), 0) FROM batches WHERE survey = ?"
        number = _number(cursor, last, [layout.key]) + 1
        is_kept = policy.keep == "reports"
        taken = (self._keep if is_kept else self._count)(layout, checks.accepted, number)
        skipped = incoming.rows - taken
        if skipped and not policy.skip_invalid:
            raise checks.error(cursor)
        cursor.execute(
            "INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?, ?)",
            [layout.key, number, batch_id, incoming.name, taken, skipped, is_kept],
        )
        if not is_kept:
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

    def _keep(self, layout: Layout, accepted: str, number: int) -> int:
        """Keep the reports as they are; a histogram of bits is brought up to date at once."""
        query = (
            f"INSERT INTO {layout.reports} SELECT {number} AS {BATCH_COLUMN}, * FROM ({accepted})"
        )
        taken = _number(self.cursor, query)
        if layout.format.unary:
            own = f"SELECT * FROM {layout.reports} WHERE {BATCH_COLUMN} = {number}"
            fold.append(self.cursor, layout, own)
        return taken

    def _count(self, layout: Layout, accepted: str, number: int) -> int:
        """Count the reports without keeping them."""
        fold.append(self.cursor, layout, accepted)
        return _number(self.cursor, f"SELECT count(*) FROM ({accepted})")

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
