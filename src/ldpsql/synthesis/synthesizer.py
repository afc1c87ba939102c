"""Draws tables of made-up people from what reports say, and states what the tables keep.

What is drawn depends on the reports alone, so it costs nobody any privacy beyond the survey's
guarantee, however many tables are drawn. Nobody's privacy rests on the drawing itself, which
takes a seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from ldpsql import limits
from ldpsql.engine.notes import guarantee_of_batches, shortfall_notes
from ldpsql.engine.result import GUARANTEE_KEY
from ldpsql.errors import list_some
from ldpsql.store.base import ReportSource
from ldpsql.survey import Survey
from ldpsql.synthesis.columns import PublicPeople, amounts_of, values_of
from ldpsql.synthesis.learning import Learned, ReportedShares, learn
from ldpsql.synthesis.model import Axes
from ldpsql.wording.guarantees import StatedGuarantee
from ldpsql.wording.texts import one_line
from ldpsql_device.errors import InterfaceError, NotSupportedError, ProgrammingError

BATCH = 1 << 17
MOST_ROWS = 10**10
NOTES_KEY = "ldpsql.notes"
_MOST_NAMED = 12
_NOTICEABLE = 1e-3


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
    guarantee: StatedGuarantee

    @classmethod
    def of(cls, store: ReportSource, table: str | None = None) -> Synthesizer:
        """Learn from all reports of a survey.

        table: its name; None where the store holds one survey. QueryError for an unknown name,
        DataError where there are no reports, NotSupportedError for a survey without dimensions.
        """
        if table is not None:
            survey = store.survey(table)
        else:
            surveys = store.surveys()
            if len(surveys) != 1:
                names = ", ".join(survey.table for survey in surveys) or "none"
                raise ProgrammingError(
                    f"say which survey to draw a table of (--table); there are {names}"
                )
            (survey,) = surveys
        if not survey.schema.dimensions:
            raise NotSupportedError(
                f"{survey.table} has no dimensions, so a table of it would only repeat the average "
                "of each measure; ask for AVG instead"
            )
        public = None
        if survey.schema.public:
            public = PublicPeople.of(store.public_people(survey.table))
        reported = ReportedShares.of(store, survey, public.keys if public else ())
        promise = guarantee_of_batches(survey, store.smallest_batch(survey.table))
        return cls(survey, reported.people, learn(reported, public), public, promise)

    def batches(self, rows: int | None = None, seed: int | None = None) -> Iterator[pa.Table]:
        """Tables of at most 131072 rows, `rows` together; as many as reports by default.

        The same seed gives the same rows; None draws new ones. InterfaceError for a number of rows
        below 1.
        """
        count = self.people if rows is None else rows
        if not 1 <= count <= MOST_ROWS:
            raise InterfaceError(f"rows must be between 1 and {MOST_ROWS}, not {count}")
        if seed is not None and seed < 0:
            raise InterfaceError(f"a seed must not be negative, and {seed} is")
        random = np.random.default_rng(seed)
        firsts = limits.in_time(range(0, count, BATCH))
        return (self._batch(min(BATCH, count - first), random) for first in firsts)

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
        metadata = {GUARANTEE_KEY: promise, NOTES_KEY: "\n".join(map(one_line, self.notes))}
        return self._batch(1, np.random.default_rng(0)).schema.with_metadata(metadata)

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
                measure = schema.measures[axis.index]
                columns[axis.name] = amounts_of(measure, chances, random, cells[place])
            else:
                public_cells = cells[place]
        if self.public is not None:
            drawn = self.public.draw(public_cells, random)
            columns |= zip(drawn.column_names, drawn.columns, strict=True)
        return pa.table(columns)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes that users of a drawn table must know, one sentence each: what it was drawn from,
        what is kept and how well, and what is not."""
        survey, design = self.survey, self.survey.design
        notes = [
            f"{survey.table}: made-up people from {self.people} reports; {self.guarantee} "
            f"({design.name}, epsilon {survey.epsilon} per report)"
        ]
        estimator = next(iter(design.estimators))
        if estimator in design.biases:
            notes.append(f"estimator {estimator} is biased: {design.biases[estimator].text}")
        notes += [*_keep_tables(self.learned), *_tables_left_out(self.learned)]
        notes.append(
            "nothing else is kept: beyond these tables, columns are as independent as they can be "
            "(greatest entropy)"
        )
        measures = [axis.name for axis in self.learned.axes if axis.kind == "measure"]
        if measures:
            notes.append(
                f"of {', '.join(measures)} only averages are kept (of everybody, and within the "
                "tables above); the spread of single amounts is made up"
            )
        if self.public is not None:
            notes.append("public columns together are drawn from their exact combinations")
            if self.public.independent:
                notes.append(
                    f"{', '.join(self.public.independent)}: too many public values for private "
                    "columns to depend on them"
                )
        notes.append(
            "errors of answers from this table cannot be computed from it; ask the survey itself "
            "for numbers with error bars"
        )
        return (*notes, *shortfall_notes(survey, self.guarantee))


def _keep_tables(learned: Learned) -> Iterator[str]:
    """Notes on the tables that are kept, of one column and of several, with errors of a cell."""
    alone = {axis.name: error for axis, error in zip(learned.axes, learned.alone, strict=True)}
    known = [f"{name} ({_error(error)})" for name, error in alone.items() if not math.isnan(error)]
    unknown = [name for name, error in alone.items() if math.isnan(error)]
    if known:
        share = "the standard error of the share of one bin among all people"
        yield f"kept, with {share}: {', '.join(known)}"
    if unknown:
        yield f"not answered by the design or its reports, spread evenly: {', '.join(unknown)}"
    if learned.kept:
        errors = {axes: f" ({_error(error)})" for axes, error in learned.kept.items()}
        yield f"kept together, in groups of values: {_name(learned, learned.kept, errors)}"
    else:
        yield "no columns are kept together: no dependence exceeds the noise"


def _tables_left_out(learned: Learned) -> Iterator[str]:
    """Which dependences the model does not have, and why."""
    for pairs, words in (
        (learned.unclear, "drawn as if independent, dependence not above the noise"),
        (
            learned.unknown,
            "drawn as if independent, not answered by the survey's design or its reports, or too "
            "many to ask for",
        ),
        (learned.dropped, "kept only through other columns, for want of room"),
    ):
        if pairs:
            yield f"{words}: {_name(learned, pairs)}"
    if learned.model.misfit > _NOTICEABLE:
        yield (
            "the tables do not fit together exactly: a share differs by up to "
            f"{_percent(learned.model.misfit)}"
        )


def _name(learned: Learned, tables: Iterable[Axes], after: Mapping[Axes, str] | None = None) -> str:
    """Tables by their columns: age x state, sex x state and 7 more."""
    names = [
        " x ".join(learned.axes[place].name for place in axes) + (after or {}).get(axes, "")
        for axes in tables
    ]
    return list_some(names, _MOST_NAMED)


def _error(share: float) -> str:
    return f"±{_percent(share)}" if share else "exact"


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%"
