"""The interface of a place where reports are kept.

Whatever offers `ReportSource` can be asked questions; it counts equal reports and knows nothing of
mechanisms. `Store` is the one in DuckDB.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import pyarrow as pa

from ldpsql.algebra.boxes import Weight
from ldpsql.reports.report import Decoded, Histogram, Integers
from ldpsql.sql.lookups import PublicTable
from ldpsql.sql.quoting import Scalar
from ldpsql.survey import Survey
from ldpsql_device.errors import NotSupportedError

Moment = tuple[Weight, Weight | None]
Key = tuple[Any, ...]
"""Values of the keys of a selection."""


@dataclass(frozen=True)
class Selection:
    """Which reports, and what to add up over them.

    condition: DuckDB SQL over public columns, or None for all.  keys: public columns, or
    expressions over them, to group by.  moments: pairs of weights whose products are summed beside
    the counts.
    """

    condition: str | None = None
    keys: tuple[str | Scalar, ...] = ()
    moments: tuple[Moment, ...] = ()


class Catalog(Protocol):
    """The surveys that can be asked, and the tables that they can be joined with."""

    def surveys(self) -> list[Survey]:
        """All surveys that can be asked, by name: those with their collector's part, and of
        versions that this one can read."""

    def survey(self, table: str) -> Survey:
        """One survey; QueryError if there is none of that name, listing those there are, and for
        one without its collector's part."""

    def lookups(self) -> list[PublicTable]:
        """The tables that everybody may see and that questions may join, by name."""

    def lookup(self, name: str) -> PublicTable | None:
        """One of them (names ignore case); None if there is none of that name."""


class Counts(Protocol):
    """Counts of equal reports of surveys, by table name."""

    def version(self, table: str) -> int:
        """A number that changes whenever the survey's histogram does."""

    def smallest_batch(self, table: str) -> int | None:
        """How many reports the smallest batch of a survey holds; None before the first."""

    def sizes(self, table: str, condition: str | None = None) -> Integers:
        """How many reports of every type there are, shape (report types,).

        condition: as of a `Selection`. Reads much less than a histogram.
        """

    def histograms(self, table: str, selection: Selection) -> Sequence[tuple[Key, Histogram]]:
        """One histogram per combination of key values, ascending, NULL last.

        Without keys exactly one, of zero people if no report fits the condition.
        """

    def decode(self, table: str, selection: Selection) -> Sequence[tuple[Key, Histogram | Decoded]]:
        """As `histograms`, or in their place what they decode to, where that is kept."""

    def public_people(self, table: str) -> pa.Table:
        """The combinations of public values that reports carry, one row each, ascending, NULL last.

        The public columns, and how many people have each combination, `ldpsql_people`.
        """


class ReportSource(Catalog, Counts, Protocol):
    """A source of reports, from which answers are made."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Within it, everything that this thread reads is as it was when it began."""

    def lag(self) -> str | None:
        """Of when what this snapshot holds is, and why, where there may be later reports."""

    def evaluate(self, sql: str, relations: Mapping[str, pa.Table]) -> pa.Table:
        """Run an outer query over relations of estimates, with no access to anything else.

        Raises QueryError, with the reason, for SQL that cannot be evaluated.
        """

    def close(self) -> None:
        """Let go of the store, which cannot be used after it; a second time does nothing."""


def refusing(what: str) -> Callable[..., Any]:
    """A method in the place of one for something that a kind of store cannot do."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise NotSupportedError(f"this kind of store cannot {what}; do it where the reports are")

    return refuse
