"""The result of a question: a table with intervals and notes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count

import numpy as np
import pyarrow as pa

from ldpsql.algebra.estimate import CONFIDENCE, Array, Estimates
from ldpsql.engine.arithmetic import Interval
from ldpsql.errors import list_some, pluralize
from ldpsql.sql.arrow_arrays import make_array
from ldpsql.survey import Survey
from ldpsql.wording.guarantees import StatedGuarantee
from ldpsql.wording.numbers import Figure, in_words, plain
from ldpsql.wording.texts import one_line
from ldpsql_device.errors import NotSupportedError

GUARANTEE_KEY = "ldpsql.guarantee"
"""Key of the metadata of an Arrow schema: what the people behind a table were promised."""


def refuse_estimates() -> Estimates:
    """For results whose columns are not estimates: refuses."""
    raise NotSupportedError(
        "this result has no estimates with error bars, hence no covariance; its notes say why"
    )


@dataclass(frozen=True)
class Result:
    """One answer.

    table: the output, names may repeat.  intervals: for the index of every output column that is
    an estimate, its standard errors and interval ends, one per row.
    estimates: computes those of all estimate columns of all rows, (rows x columns,) row by row,
    with their covariance.  notes: what the reader should know.  surveys: those that were asked.
    reports: how many reports they hold.  explain: the plan, where it was asked for.
    typical: for the index of every output column that is a post-processed estimate, its typical
    errors, shape (rows,).  estimators, guarantees: which estimator answered, and what people were
    promised and got, survey by survey.  level: of the intervals.  forged: computes, for the index
    of every output column that is an estimate, the least and the most by which one forged report
    can move a number of it; NaN where that is not known, infinite where nothing limits it.
    scales: for the same indices what the intervals are measured by, shape (rows,); see `Figure`.
    """

    table: pa.Table
    intervals: Mapping[int, Interval] = field(default_factory=dict)
    estimates: Callable[[], Estimates] = refuse_estimates
    notes: tuple[str, ...] = ()
    surveys: tuple[Survey, ...] = ()
    reports: int = 0
    explain: str | None = None
    typical: Mapping[int, Array] = field(default_factory=dict)
    estimators: tuple[str, ...] = ()
    guarantees: tuple[StatedGuarantee, ...] = ()
    level: float = CONFIDENCE
    forged: Callable[[], Mapping[int, tuple[float, float]]] = dict
    scales: Mapping[int, Array] = field(default_factory=dict)

    def __repr__(self) -> str:
        """How many rows of which columns."""
        names = list_some(self.table.column_names, 5)
        return f"<ldpsql.Result: {pluralize(self.table.num_rows, 'row')} of {names}>"

    @property
    def columns(self) -> list[pa.Field]:
        """Names, which may repeat, and Arrow types of the output."""
        return list(self.table.schema)

    @property
    def coded(self) -> frozenset[int]:
        """Indices of the output columns whose numbers are codes of a category and have no order:
        those that bear the name of such a dimension."""
        names = {
            dimension.name
            for survey in self.surveys
            for dimension in survey.schema.dimensions
            if dimension.domain.type == "category"
        }
        return frozenset(i for i, column in enumerate(self.columns) if column.name in names)

    @property
    def promised(self) -> tuple[StatedGuarantee, ...]:
        """`guarantees`, or what the surveys promise where nothing is known of their batches."""
        return self.guarantees or tuple(survey.guarantee for survey in self.surveys)

    def errors(self, index: int) -> dict[str, Array]:
        """Standard errors and interval ends of one column of estimates, by name, and where it is
        post-processed typical errors, each of shape (rows,)."""
        bars = self.intervals[index]
        found = {"stderr": bars.stderr, "low": bars.low, "high": bars.high}
        return found | ({"typical": self.typical[index]} if index in self.typical else {})

    def distinct(self, *, intervals: bool) -> pa.Table:
        """The table with distinct column names; a repeated one gets the first free number.

        intervals: whether `<name>_stderr`, `<name>_low` and `<name>_high` stand behind every
        estimate, and `<name>_typical` where it is post-processed. The metadata of the schema hold a
        line for each survey that was asked: what it promises.
        """
        columns: list[tuple[str, pa.ChunkedArray | pa.Array]] = []
        for index, column in enumerate(self.columns):
            columns.append((column.name, self.table.column(index)))
            if intervals and index in self.intervals:
                columns += [
                    (f"{column.name}_{suffix}", make_array(values, pa.float64()))
                    for suffix, values in self.errors(index).items()
                ]
        promises = "\n".join(
            one_line(f"{survey.table}: {guarantee} ({survey.design.name})")
            for survey, guarantee in zip(self.surveys, self.promised, strict=True)
        )
        names = make_distinct([name for name, _ in columns])
        values = [column for _, column in columns]
        return pa.table(values, names, metadata={GUARANTEE_KEY: promises})

    def figures(self, index: int) -> list[Figure | None]:
        """The estimates of one output column, row by row; None for NULL."""
        values = self.table.column(index).to_pylist()
        scales = self.scales.get(index, [None] * len(values))
        rows = zip(values, scales, *self.errors(index).values(), strict=True)
        return [
            None
            if value is None or math.isnan(value)
            else replace(Figure(float(value), *map(float, errors)), scale=scale)
            for value, scale, *errors in rows
        ]

    def weak_notes(self) -> list[str]:
        """How many numbers are weak and what would make them strong, and how many are too noisy."""
        known = [figure for index in self.intervals for figure in self.figures(index) if figure]
        noisy = [figure for figure in known if figure.is_too_noisy]
        weak = [figure for figure in known if figure.is_weak and not figure.is_too_noisy]
        there = f"(there are {in_words(self.reports)})"
        which, many = (
            "" if len(known) == 1 else f"{len(some)} of {len(known)} numbers "
            for some in (weak, noisy)
        )
        notes = list[str]()
        if noisy:
            notes.append(
                f"{many}too noisy to use (~): more than 100 times the reports would be needed "
                f"{there}"
            )
        if weak:
            said = f"{which}weak (~): ± above a third of what they are measured by"
            if any(figure.is_impossible for figure in weak):
                said += ", or nothing that is possible in the interval"
            times = sorted(figure.times for figure in weak if not figure.is_impossible)
            if times:
                ends = (in_words(self.reports * each) for each in (times[0], times[-1]))
                said += f"; about {' to '.join(dict.fromkeys(ends))} reports would do {there}"
            notes.append(said)
        return notes

    def notes_for_readers(self) -> list[str]:
        """The lines below the cells: what ± means, the notes, and what is weak."""
        means = f"± is half the width of the {100 * self.level:g} % interval"
        has_bars = any(np.any(bars.stderr > 0) for bars in self.intervals.values())
        return [*[means] * has_bars, *self.notes, *self.weak_notes()]

    def head(self, rows: int) -> Result:
        """The first rows; `estimates` are those of all of them."""
        bars = {
            index: Interval(whole.stderr[:rows], whole.low[:rows], whole.high[:rows])
            for index, whole in self.intervals.items()
        }
        typical = {index: errors[:rows] for index, errors in self.typical.items()}
        scales = {index: whole[:rows] for index, whole in self.scales.items()}
        table = self.table.slice(0, rows)
        return replace(self, table=table, intervals=bars, typical=typical, scales=scales)

    def cells(self) -> tuple[list[str], list[list[str]], list[bool]]:
        """Headings, rows as people read them, and which columns stand at the right."""
        texts = map(self.texts, range(len(self.columns)))
        rows = [list(row) for row in zip(*texts, strict=True)]
        return [column.name for column in self.columns], rows, are_numbers(self.table)

    def texts(self, index: int) -> list[str]:
        """The cells of one output column, row by row, as people read them; a weak number ends in ~,
        and the others of its column make room for it. A text that reads as NULL is in quotes."""
        if index not in self.intervals:
            values = self.table.column(index).to_pylist()
            return ["'NULL'" if value == "NULL" else plain(value) for value in values]
        shown = self.figures(index)
        room = "  " if any(figure and figure.is_weak for figure in shown) else ""
        return [f"{f or 'NULL'}{' ~' if f and f.is_weak else room}" for f in shown]


def are_numbers(table: pa.Table) -> list[bool]:
    """Which columns hold numbers."""
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return [any(is_kind(column.type) for is_kind in kinds) for column in table.schema]


def make_distinct(names: Sequence[str]) -> list[str]:
    """The names, a repeated one with the first free number: n, n_2, n_3."""
    result: list[str] = []
    for name in names:
        numbered = (f"{name}_{number}" for number in count(2))
        others = (other for other in numbered if other not in names)
        result.append(next(free for free in chain([name], others) if free not in result))
    return result
