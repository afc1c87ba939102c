"""The receiver of reports behind the server: a collector's store, or a shuffler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import pyarrow as pa

from ldpsql.store.incoming import Read
from ldpsql.store.intake import Intake
from ldpsql_device.statement import Statement


class Receiver(Protocol):
    """Takes reports that devices send one by one.

    shuffles: whether it is a shuffler, which surveys trust or not.
    """

    def register(self, survey: Intake) -> None:
        """Take reports of a survey from now on; SurveyError for one that cannot be taken here."""

    @property
    def shuffles(self) -> bool:
        """Whether reports of surveys that trust a shuffler come here, or the others."""

    def intake(self, table: str) -> Intake:
        """The survey that is asked now under a name; QueryError if there is none."""

    def intake_of(self, fingerprint: str) -> Intake | None:
        """The survey of a fingerprint; None if there is none."""

    def find_statement(self, intake: Intake) -> str | None:
        """The latest statement of a survey's author; None if none was kept."""

    def keep_statement(self, statement: Statement) -> None:
        """Keep what an author says of a table, to be handed out. SurveyError for what is not about
        the survey that is asked here, OperationalError for an old statement."""

    def take(self, intake: Intake, reports: Sequence[pa.RecordBatch], source: str) -> int:
        """Take checked reports with their ids, all or none; how many are no repeats. ReportError
        for a survey that has ended, StoreError where they cannot be kept."""

    def tidy(self) -> None:
        """Do what can wait: called now and then, and at rest."""

    def close(self) -> None:
        """Let go of the files."""


@runtime_checkable
class Shuffler(Receiver, Protocol):
    """Takes reports that are sealed for it, of surveys of which it signs a pledge."""

    def find_pledge(self, intake: Intake) -> str | None:
        """What is pledged of a survey today; None where nothing is."""

    def read_sealed(self, intake: Intake, lines: Sequence[bytes]) -> Read | None:
        """The reports in lines as devices send them, and which lines hold none; None where reports
        of the survey are not sealed."""
