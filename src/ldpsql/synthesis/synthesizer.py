"""Runs at the collector. Sees reports. Draws tables of made-up people from what reports say.

What is drawn depends on the reports alone, so it costs nobody any privacy beyond the survey's
guarantee, however many tables are drawn. Nobody's privacy rests on the drawing itself, which
takes a seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from ldpsql.engine.promise import kept, shortfall
from ldpsql.engine.result import GUARANTEE_KEY
from ldpsql.store.base import Store
from ldpsql.survey import Survey
from ldpsql.synthesis.asking import Reported
from ldpsql.synthesis.learning import Learned, learned
from ldpsql.synthesis.notes import notes
from ldpsql.synthesis.public import PublicPeople
from ldpsql.synthesis.values import amounts_of, values_of
from ldpsql_device.errors import InterfaceError, NotSupportedError, ProgrammingError
from ldpsql_device.guarantee import Guarantee

BATCH = 1 << 17
MOST_ROWS = 10**10
NOTES_KEY = "ldpsql.notes"


@dataclass(frozen=True)
class Synthesizer:
    """Draws rows of a survey's private and public columns.

    people: number of reports.  public: None where the survey has no public columns.  guarantee:
    what the store's batches keep of the survey's promise.
    """

    survey: Survey
    people: int
    learned: Learned
    public: PublicPeople | None
    guarantee: Guarantee

    @classmethod
    def of(cls, store: Store, table: str | None = None) -> Synthesizer:
        """Learn from all reports of a survey.

        table: its name; None where the store holds one survey. QueryError for a name that is none,
        DataError where there are no reports, NotSupportedError for a survey without dimensions.
        """
        survey = _survey(store, table)
        if not survey.schema.dimensions:
            raise NotSupportedError(
                f"{survey.table} has no dimensions, so a table of it would only repeat the average "
                "of each measure; ask for AVG instead"
            )
        public = None
        if survey.schema.public:
            public = PublicPeople.of(store.public_people(survey.table))
        reported = Reported.of(store, survey, public.keys if public else ())
        promise = kept(survey, store.smallest_batch(survey.table))
        return cls(survey, reported.people, learned(reported, public), public, promise)

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever uses a drawn table must know, one sentence each."""
        short = shortfall(self.survey, self.guarantee)
        said = notes(self.survey, self.guarantee, self.people, self.learned, self.public)
        return (*said, *short)

    def batches(self, rows: int | None = None, seed: int | None = None) -> Iterator[pa.Table]:
        """Tables of at most 131072 rows, `rows` together; as many as reports by default.

        The same seed gives the same rows; None draws new ones. InterfaceError for a number of rows
        below 1.
        """
        count = self.people if rows is None else rows
        if not 1 <= count <= MOST_ROWS:
            raise InterfaceError(f"rows must be between 1 and {MOST_ROWS}, not {count}")
        if seed is not None and seed < 0:
            raise InterfaceError(f"a seed is not negative, and {seed} is")
        random = np.random.default_rng(seed)
        return (self._batch(min(BATCH, count - first), random) for first in range(0, count, BATCH))

    def table(self, rows: int | None = None, seed: int | None = None) -> pa.Table:
        """All rows in memory; see `batches`."""
        return pa.concat_tables(self.batches(rows, seed)).cast(self.columns)

    @cached_property
    def columns(self) -> pa.Schema:
        """Names and types of the columns of every batch: private, then public ones.

        The metadata hold what people were promised and got, and the notes.
        """
        survey = self.survey
        promise = f"{survey.table}: {self.guarantee} ({survey.design.name})"
        said = {GUARANTEE_KEY: promise, NOTES_KEY: "\n".join(self.notes)}
        return self._batch(1, np.random.default_rng(0)).schema.with_metadata(said)

    def _batch(self, count: int, random: np.random.Generator) -> pa.Table:
        schema, model = self.survey.schema, self.learned.model
        cells = model.draw(count, random)
        columns: dict[str, pa.Array | pa.ChunkedArray] = {}
        public_cells = np.zeros(count, dtype=np.int64)
        for place, axis in enumerate(self.learned.axes):
            if axis.kind == "dimension":
                codes = self.learned.bins[axis.index].draw(cells[place], random)
                columns[axis.name] = values_of(schema.dimensions[axis.index], codes, random)
            elif axis.kind == "measure":
                chances = model.chances(place, cells)
                columns[axis.name] = amounts_of(schema.measures[axis.index], chances, random)
            else:
                public_cells = cells[place]
        found = pa.table(columns)
        if self.public is not None:
            drawn = self.public.draw(public_cells, random)
            for name in drawn.column_names:
                found = found.append_column(name, drawn.column(name))
        return found


def _survey(store: Store, table: str | None) -> Survey:
    if table is not None:
        return store.survey(table)
    surveys = store.surveys()
    if len(surveys) != 1:
        names = ", ".join(survey.table for survey in surveys) or "none"
        raise ProgrammingError(f"say which survey to draw a table of (--table); there are {names}")
    return surveys[0]
