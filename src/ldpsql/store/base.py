"""What the engine asks of a place where reports are kept.

A backend counts equal reports and evaluates SQL over relations of estimates; it knows nothing of
mechanisms. A new one is a package that subclasses `Store` and `rules.Writer`.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from ldpsql.boxes import Weight
from ldpsql.errors import QueryError
from ldpsql.intake import Intake, expand, has_both_parts
from ldpsql.report import Histogram, Integers
from ldpsql.store.incoming import SUFFIXES, digest, read_file, read_table
from ldpsql.store.rules import Batch, KnownSurvey, Policy, Writer
from ldpsql.survey import Survey

Moment = tuple[Weight, Weight | None]


@dataclass(frozen=True)
class Selection:
    """Which reports, and what to add up over them.

    condition: DuckDB SQL over public columns, or None for all.  keys: public columns to group by.
    moments: pairs of weights whose products are summed beside the counts.
    """

    condition: str | None = None
    keys: tuple[str, ...] = ()
    moments: tuple[Moment, ...] = ()


class Store(ABC):
    """Reports of any number of surveys, by table name (names ignore case)."""

    def __init__(self) -> None:
        self._surveys: dict[str, Survey] = {}
        self._intakes: dict[str, Intake] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- surveys -----------------------------------------------------------------------------

    def surveys(self) -> list[Survey]:
        """All surveys that can be asked, by name: those with their collector's part."""
        return [
            self.survey(known.key) for known in self._known_surveys() if has_both_parts(known.text)
        ]

    def survey(self, table: str) -> Survey:
        """One survey; QueryError if there is none of that name, listing those there are, and for
        one without its collector's part.

        A store never changes what a name stands for, so a name is looked up once.
        """
        key = table.lower()
        if key not in self._surveys:
            text = self._text_of(table)
            if not has_both_parts(text):
                raise QueryError(
                    f"the store has reports of {table}, but not the collector's part of the "
                    "survey, which answers need",
                    hint="ingest the reports again with both parts (--survey)",
                )
            self._surveys[key] = survey = Survey.from_json(text)
            self._intakes[text] = Intake.of(survey)
        return self._surveys[key]

    def intake(self, table: str) -> Intake:
        """What is needed of a survey to take its reports; QueryError if none has that name."""
        return self._read_intake(self._text_of(table))

    def _text_of(self, table: str) -> str:
        """A survey as published."""
        known = {survey.key: survey.text for survey in self._known_surveys()}
        if table.lower() not in known:
            names = ", ".join(self._read_intake(text).table for text in known.values())
            raise QueryError(
                f"there is no survey {table!r}", hint=f"the store has: {names or 'none yet'}"
            )
        return known[table.lower()]

    def register(self, survey: Survey | Intake) -> None:
        """Add a survey, or the collector's part of one that is there without it.

        Raises FingerprintError if another survey has its name.
        """
        with self._writer() as writer, writer.transaction():
            writer.register(Intake.of(survey))

    def _read_intake(self, text: str) -> Intake:
        """What ingestion needs of a published survey; equal texts are read once."""
        if text not in self._intakes:
            self._intakes[text] = Intake.read(text)
        return self._intakes[text]

    # -- reports in --------------------------------------------------------------------------

    def ingest(
        self,
        paths: Sequence[str | Path],
        *,
        survey: Survey | Intake | None = None,
        skip_invalid: bool = False,
        keep: str = "reports",
        accept_smaller_batch: bool = False,
        tell: Callable[[Batch], None] | None = None,
    ) -> list[Batch]:
        """Take files of reports, each whole or not at all, each once.

        paths: Parquet, CSV and JSON lines files, directories, globs. A file whose content was
        taken before is passed over. survey: whose reports they are, where the files do not say
        so.  skip_invalid: take the reports among rows that are none; else such a row refuses
        its file.  keep: "counts" deletes all reports of the survey once they are counted.
        accept_smaller_batch: take a shuffled batch of fewer reports than its survey was designed
        for, with the weaker promise that answers then state.  tell: called after every file. A file
        that is refused ends the call; files before it stay taken. Raises ReportError,
        FingerprintError or StoreError.
        """
        policy = Policy(skip_invalid, keep, accept_smaller_batch)
        files, batches = expand(paths, SUFFIXES), list[Batch]()
        given = None if survey is None else Intake.of(survey)
        with self._writer() as writer:
            for path in files:
                batch_id = digest(path)
                batches.append(writer.take(read_file(path), batch_id, given, policy))
                if tell is not None:
                    tell(batches[-1])
            writer.merge_counts()
        return batches

    def ingest_table(
        self,
        reports: pa.Table,
        survey: Survey | Intake | None = None,
        *,
        skip_invalid: bool = False,
        keep: str = "reports",
        accept_smaller_batch: bool = False,
    ) -> Batch:
        """Take a table of reports from memory; options as for `ingest`.

        Unlike a file, a table that equals an earlier one is taken again: two tables of one report
        each may well be equal.
        """
        policy = Policy(skip_invalid, keep, accept_smaller_batch)
        given = None if survey is None else Intake.of(survey)
        with self._writer() as writer:
            incoming = read_table(reports)
            batch = writer.take(incoming, f"table {uuid.uuid4()}", given, policy)
            writer.merge_counts()
        return batch

    @abstractmethod
    def _known_surveys(self) -> Sequence[KnownSurvey]:
        """The surveys of the store, by name."""

    @abstractmethod
    def _writer(self) -> AbstractContextManager[Writer]:
        """A turn at changing the store; StoreError if it is open for reading only."""

    @abstractmethod
    def refresh(self, table: str) -> None:
        """Count all reports of a survey anew; StoreError where reports were deleted."""

    # -- counts out --------------------------------------------------------------------------

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[None]:
        """Within it, everything that this thread reads is as it was when it began."""

    @abstractmethod
    def version(self, table: str) -> int:
        """A number that changes whenever the survey's histogram does."""

    @abstractmethod
    def smallest_batch(self, table: str) -> int | None:
        """How many reports the smallest batch of a survey holds; None before the first."""

    @abstractmethod
    def sizes(self, table: str, condition: str | None = None) -> Integers:
        """How many reports of every type there are, shape (report types,).

        condition: as of a `Selection`. Reads much less than a histogram.
        """

    @abstractmethod
    def histograms(
        self, table: str, selection: Selection
    ) -> list[tuple[tuple[Any, ...], Histogram]]:
        """One histogram per combination of key values, ascending, NULL last.

        Without keys exactly one, of zero people if no report fits the condition.
        """

    @abstractmethod
    def public_people(self, table: str) -> pa.Table:
        """The combinations of public values that reports carry, one row each, ascending, NULL last.

        The public columns, and how many people have each combination, `ldpsql_people`.
        """

    @abstractmethod
    def evaluate(self, sql: str, relations: Mapping[str, pa.Table]) -> pa.Table:
        """Run an outer query over relations of estimates, with no access to anything else.

        Raises QueryError, with the reason, for SQL that cannot be evaluated.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of the store, which cannot be used after it; a second time does nothing."""
