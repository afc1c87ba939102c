"""Runs at the collector. Sees reports. What the engine asks of a place where reports are kept.

A backend counts equal reports and evaluates SQL over relations of estimates; it knows nothing of
mechanisms. Adding one is adding one file that offers this protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from ldpsql.boxes import Weight
from ldpsql.report import Histogram
from ldpsql.survey import Survey

Moment = tuple[Weight, Weight | None]


@dataclass(frozen=True)
class Batch:
    """What became of one ingested file.

    name: the file.  reports: how many were taken.  skipped: how many were not reports of the
    survey (only with skip_invalid).  known: whether the same content had been taken before.
    """

    name: str
    reports: int
    skipped: int
    known: bool


@dataclass(frozen=True)
class Selection:
    """Which reports, and what to add up over them.

    condition: DuckDB SQL over public columns, or None for all.  keys: public columns to group by.
    moments: pairs of weights whose products are summed beside the counts.
    """

    condition: str | None = None
    keys: tuple[str, ...] = ()
    moments: tuple[Moment, ...] = ()


class Store(Protocol):
    """Reports of any number of surveys, by table name (names ignore case)."""

    def surveys(self) -> list[Survey]:
        """All surveys, by name."""
        ...

    def survey(self, table: str) -> Survey:
        """One survey; QueryError if there is none of that name, listing those there are."""
        ...

    def register(self, survey: Survey) -> None:
        """Add a survey; FingerprintError if another one has its name."""
        ...

    def ingest(
        self,
        paths: Sequence[str | Path],
        *,
        survey: Survey | None = None,
        skip_invalid: bool = False,
        keep: str = "reports",
        accept_smaller_batch: bool = False,
        tell: Callable[[Batch], None] | None = None,
    ) -> list[Batch]:
        """Take files of reports, each whole or not at all, each once; `tell` hears of each."""
        ...

    def ingest_table(
        self,
        reports: pa.Table,
        survey: Survey | None = None,
        *,
        skip_invalid: bool = False,
        keep: str = "reports",
        accept_smaller_batch: bool = False,
    ) -> Batch:
        """Take a table of reports from memory, also one that equals an earlier one."""
        ...

    def version(self, table: str) -> int:
        """A number that changes whenever the survey's histogram does."""
        ...

    def smallest_batch(self, table: str) -> int | None:
        """How many reports the smallest batch of a survey holds; None before the first."""
        ...

    def histograms(
        self, table: str, selection: Selection
    ) -> list[tuple[tuple[Any, ...], Histogram]]:
        """One histogram per combination of key values, in ascending order of the keys.

        Without keys exactly one, of zero people if no report fits the condition.
        """
        ...

    def public_people(self, table: str) -> pa.Table:
        """The combinations of public values that reports carry, one row each, in ascending order.

        The public columns, and how many people have each combination, `ldpsql_people`.
        """
        ...

    def evaluate(self, sql: str, relations: Mapping[str, pa.Table]) -> pa.Table:
        """Run an outer query over relations of estimates, with no access to anything else."""
        ...

    def close(self) -> None:
        """Let go of the file; the store cannot be used after it."""
        ...
