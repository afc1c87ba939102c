"""The report table: its columns, its limits, and the histogram of it.

A report is one row of a few small integers. Its first column, the *report type*, is the number of
the question that it answers; the limits of the other columns depend on it. A *histogram* counts
equal reports; it is all that any estimator needs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.boxes import Weight
from ldpsql_device.errors import ReportError
from ldpsql_device.plan import HALVES, Bits, Plan

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]
Pair = tuple[Weight | None, Weight | None]
"""Two public weights whose product is summed; None stands for 1."""


def question_shares(plan: Plan) -> Reals:
    """Probability of every question of a plan, shape (questions,)."""
    parts = []
    for face, halves in zip(plan.faces, plan.face_choice.preimages, strict=True):
        share = np.array([halves / HALVES])
        for step in face.steps:
            if not step.secret:
                preimages = np.array(step.preimages, dtype=np.float64) / HALVES
                share = np.multiply.outer(share, preimages).ravel()
        parts.append(share)
    return np.concatenate(parts)


@dataclass(frozen=True)
class ReportFormat:
    """Which rows are reports of a design.

    columns: names, the report type first.
    limits: shape (types, len(columns) - 1): column j + 1 of a report of type t holds an integer in
    0 .. limits[t, j] - 1.
    unary: the columns after the report type are 32-bit words of independently perturbed bits, of
    which a histogram keeps one count per bit instead of one per row; bits[t] says how many
    belong to type t.
    """

    columns: tuple[str, ...]
    limits: Integers
    unary: bool = False
    bits: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.limits.ndim != 2 or self.limits.shape[1] != len(self.columns) - 1:
            raise ValueError("limits must have one column per report column after the type")
        if (self.limits < 1).any() or (self.limits > 1 << 62).any():
            raise ValueError("limits must lie between 1 and 2^62")
        if self.unary and len(self.bits) != len(self.limits):
            raise ValueError("a unary format needs the number of bits of every report type")

    @classmethod
    def of(cls, plan: Plan) -> ReportFormat:
        """The reports of a plan; where all are single bits, they are counted bit by bit."""
        unary = all(
            len(face.parts) == 1 and isinstance(face.parts[0].response, Bits) for face in plan.faces
        )
        # Limits of words of bits are powers of 2.
        words = np.log2(plan.limits[:, plan.coin_columns :]).sum(axis=1)
        bits = np.rint(words).astype(np.int64).tolist() if unary else ()
        return cls(plan.columns, plan.limits, unary, tuple(bits))

    @property
    def types(self) -> int:
        """How many report types there are."""
        return len(self.limits)

    @property
    def bits_per_report(self) -> float:
        """log2 of the number of different reports."""
        logs = np.log2(self.limits.astype(np.float64)).sum(axis=1)
        peak = float(logs.max())
        return peak + math.log2(float(np.exp2(logs - peak).sum()))

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Bits of the unsigned storage type of each column: 8, 16, 32 or 64."""
        largest = (self.types - 1, *(int(limit) - 1 for limit in self.limits.max(axis=0)))
        return tuple(next(w for w in (8, 16, 32, 64) if value < 1 << w) for value in largest)


@dataclass(frozen=True)
class Reports:
    """n reports, column by column, each of the storage type of its width."""

    format: ReportFormat
    columns: Mapping[str, NDArray[np.unsignedinteger]]

    def __post_init__(self) -> None:
        if tuple(self.columns) != self.format.columns:
            raise ReportError(f"a report has the columns {', '.join(self.format.columns)}")

    def __len__(self) -> int:
        return len(self.columns[self.format.columns[0]])

    @classmethod
    def pack(cls, format: ReportFormat, columns: Sequence[NDArray[np.generic]]) -> Reports:
        """Reports from integer arrays in the order of the format's columns."""
        return cls(
            format,
            {
                name: np.asarray(column).astype(f"u{width // 8}", copy=False)
                for name, column, width in zip(format.columns, columns, format.widths, strict=True)
            },
        )


@dataclass(frozen=True)
class Rows:
    """The histogram rows of one report type: r distinct reports.

    columns: the histogram's columns after the report type, each of shape (r,).
    counts: people per row, shape (r,).
    moments: for a pair of weights the sum of their product per row, shape (r,); the pair
    (w, None) holds the sum of w alone.
    """

    columns: tuple[Integers, ...]
    counts: Integers
    moments: Mapping[Pair, Reals] = field(default_factory=dict)

    def moment(self, left: Weight | None, right: Weight | None) -> Reals:
        """Sum over people of left * right per row; None stands for 1."""
        if left is None and right is None:
            return self.counts.astype(np.float64)
        for pair in ((left, right), (right, left)):
            if pair in self.moments:
                return self.moments[pair]
        raise KeyError(f"the histogram does not hold the moment ({left}, {right})")


TYPES = "types"
"""The array of what is decoded that counts the reports of every type."""


@dataclass(frozen=True, eq=False)
class Decoded:
    """The decoded reports of some people: arrays that add up over people, part by part.

    The people of one part are alike in public. It answers like a histogram of them, without rows.

    arrays: by name, shape (parts, length); TYPES is among them.  values: of public weights in every
    part, shape (parts,).  siblings: how many were read together, this one included.
    """

    arrays: Mapping[str, Reals]
    values: Mapping[Weight, Reals] = field(default_factory=dict)
    siblings: int = 1

    @cached_property
    def counts(self) -> Reals:
        """People per part, shape (parts,)."""
        return np.asarray(self.arrays[TYPES].sum(axis=1)) if self.arrays else np.zeros(0)

    @property
    def people(self) -> int:
        """Number of reports."""
        return round(float(self.counts.sum()))

    @property
    def sizes(self) -> Integers:
        """Reports of every type, shape (types,)."""
        return np.asarray(np.rint(self.arrays[TYPES].sum(axis=0)), dtype=np.int64)

    def total(self, weight: Weight | None) -> float:
        """Sum of a public weight over all people; their number for None."""
        return self.moment(weight, None)

    def moment(self, left: Weight | None, right: Weight | None) -> float:
        """Sum of left * right over all people; None stands for 1."""
        return float((self.counts * self._products(left, right)).sum())

    def sum(self, name: str, pair: Pair) -> Reals:
        """An array summed over people who count with a product of weights, shape (length,)."""
        return np.asarray(self._products(*pair) @ self.arrays[name])

    def _products(self, *weights: Weight | None) -> Reals:
        product = np.ones(len(self.counts))
        for weight in weights:
            if weight is not None:
                product = product * self.values[weight]
        return product


@dataclass(frozen=True, eq=False)
class Histogram:
    """Counts of the equal reports of some people.

    types: how many report types there are.
    columns: the histogram's columns, each of shape (r,) and of any integer type; the first, the
    report type, ascends.
    counts: people per row, shape (r,).
    moments: for a pair of weights the sum of their product per row (see `Rows.moments`).
    unary: whether rows count the people who set a bit, so that only the rows with bit = -1 count
    every person once.
    siblings: how many histograms were read together, this one included.
    """

    types: int
    columns: tuple[NDArray[np.integer[Any]], ...]
    counts: Integers
    moments: Mapping[Pair, Reals] = field(default_factory=dict)
    unary: bool = False
    siblings: int = 1

    @classmethod
    def of(
        cls,
        types: int,
        columns: Sequence[NDArray[np.integer[Any]]],
        counts: Integers,
        moments: Mapping[Pair, Reals] | None = None,
        *,
        unary: bool = False,
        siblings: int = 1,
    ) -> Histogram:
        """From rows in any order."""
        given = moments or {}
        owners = columns[0]
        if (owners[1:] >= owners[:-1]).all():
            return cls(types, tuple(columns), counts, given, unary, siblings)
        order = np.argsort(owners, kind="stable")
        sums = {pair: values[order] for pair, values in given.items()}
        ordered = tuple(column[order] for column in columns)
        return cls(types, ordered, counts[order], sums, unary, siblings)

    def load(self, report_type: int) -> Rows:
        """The rows of one report type."""
        types = self.columns[0]
        wanted = types.dtype.type(report_type)  # of the same type, or NumPy converts all of `types`
        start, end = np.searchsorted(types, wanted), np.searchsorted(types, wanted, "right")
        return _rows_of(self, slice(start, end), 1)

    def load_all(self) -> Rows:
        """The rows of all report types, the type being their first column."""
        return _rows_of(self, slice(None), 0)

    @cached_property
    def _once(self) -> slice | NDArray[np.bool_]:
        """The rows that together count every person once."""
        return self.columns[1] == -1 if self.unary else slice(None)

    @cached_property
    def sizes(self) -> Integers:
        """Reports of every type, shape (types,)."""
        owners, counts = self.columns[0][self._once], self.counts[self._once]
        # A float64 holds every number of people up to 2^53 exactly.
        return np.rint(np.bincount(owners, counts, self.types)).astype(np.int64)

    @cached_property
    def totals(self) -> Mapping[Pair, float]:
        """The sum over all people of each moment."""
        return {pair: float(sums[self._once].sum()) for pair, sums in self.moments.items()}

    @property
    def people(self) -> int:
        """Number of reports."""
        return int(self.counts[self._once].sum())

    def total(self, weight: Weight | None) -> float:
        """Sum of a public weight over all people; their number for None."""
        return self.moment(weight, None)

    def moment(self, left: Weight | None, right: Weight | None) -> float:
        """Sum of left * right over all people; None stands for 1."""
        if left is None and right is None:
            return float(self.people)
        pair = (left, right)
        return self.totals[pair if pair in self.totals else (right, left)]


@dataclass(frozen=True, eq=False)
class Histograms(Sequence[tuple[tuple[Any, ...], Histogram]]):
    """Histograms of disjoint sets of people, each with the values that tell it from the others.

    Their rows lie one after the other, as few as there are different reports; each histogram is
    made of them when it is asked for.

    types, unary: as of a `Histogram`.  keys: the values, ascending.  starts: where the rows of each
    begin, and where the last ones end, shape (G + 1,).  columns, counts, moments: of all rows, in
    any order within a histogram.
    """

    types: int
    keys: Sequence[tuple[Any, ...]]
    starts: Integers
    columns: tuple[NDArray[np.integer[Any]], ...]
    counts: Integers
    moments: Mapping[Pair, Reals]
    unary: bool = False

    @classmethod
    def of_one(cls, key: tuple[Any, ...], people: Histogram) -> Histograms:
        """One histogram and its values."""
        starts = np.array([0, len(people.counts)])
        columns, counts, moments = people.columns, people.counts, people.moments
        return cls(people.types, [key], starts, columns, counts, moments, people.unary)

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[own] for own in range(*place.indices(len(self)))]
        key = self.keys[place]
        number = place if place >= 0 else place + len(self)
        rows = slice(*self.starts[number : number + 2])
        return key, Histogram.of(
            self.types,
            [column[rows] for column in self.columns],
            self.counts[rows],
            {pair: values[rows] for pair, values in self.moments.items()},
            unary=self.unary,
            siblings=len(self),
        )

    def parts(self, most: int) -> Iterator[Histograms]:
        """So many of them at once."""
        for first in range(0, len(self), most):
            starts = self.starts[first : first + most + 1]
            rows = slice(starts[0], starts[-1])
            yield Histograms(
                self.types,
                self.keys[first : first + most],
                starts - starts[0],
                tuple(column[rows] for column in self.columns),
                self.counts[rows],
                {pair: values[rows] for pair, values in self.moments.items()},
                self.unary,
            )

    @cached_property
    def owners(self) -> Integers:
        """By row the number of its histogram."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def add_up(self, amounts: Reals, rows: Integers | slice = slice(None)) -> Reals:
        """By histogram the sum of amounts of some rows, shape (G,)."""
        return np.bincount(self.owners[rows], amounts, len(self)).astype(np.float64, copy=False)

    def moment(self, left: Weight | None, right: Weight | None) -> Reals:
        """By histogram the sum over people of left * right; None stands for 1. Shape (G,)."""
        once = np.flatnonzero(self.columns[1] == -1) if self.unary else slice(None)
        return self.add_up(self.load().moment(left, right)[once], once)

    def load(self, rows: Integers | slice = slice(None), first: int = 0) -> Rows:
        """Some rows, without the first so many columns."""
        return _rows_of(self, rows, first)


def _rows_of(people: Histogram | Histograms, rows: Integers | slice, first: int) -> Rows:
    return Rows(
        tuple(column[rows].astype(np.int64) for column in people.columns[first:]),
        people.counts[rows],
        {pair: values[rows] for pair, values in people.moments.items()},
    )
