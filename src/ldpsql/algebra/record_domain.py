"""The domain that a mechanism is designed for: the sizes and bounds of a record's private
columns."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.boxes import Box, Terms, codes, codes_of
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import Dimension, Measure, Schema
from ldpsql_device.values import Listed

Array = NDArray[np.float64]
TWO_LEVELS = (2, "linear")
MISSING_SHARE = 1.0 / 3.0
"""The part of people without a value of a measure that may be missing, by which designs are
compared: with two levels, one code is as frequent as another. What a verdict expects of people is
an assumption of its own."""
_DIGITS = 12


@dataclass(frozen=True)
class RecordDomain:
    """The part of a schema that a mechanism needs: sizes and bounds, no meanings.

    sizes: codes per dimension, shape (d,). A measure that may be missing is one more dimension,
    whose codes are its levels and then that of NULL; these are the last ones.
    nullable: of each of them its bounds, its number of levels and how it is rounded to them; empty
    where there are none.
    measures: bounds per measure that cannot be missing, shape (k, 2).
    measured: for each of these the index of the dimension on the same attribute, or None.
    unordered: for each dimension how many codes, the last ones, have no neighbours: that of NULL,
    and all of a category; none where it is empty.
    sensitive: for each dimension its sensitive codes in ascending order, empty where all are; no
    entries at all where no dimension declares any.
    roundings: for each measure its number of levels and how it is rounded to them
    (`ldpsql_device.schema.Measure`); empty where all are rounded to their bounds.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    measure_names: tuple[str, ...]
    bounds: tuple[tuple[float, float], ...]
    measured: tuple[int | None, ...]
    unordered: tuple[int, ...] = ()
    sensitive: tuple[tuple[int, ...], ...] = ()
    roundings: tuple[tuple[int, str], ...] = ()
    nullable: tuple[tuple[float, float, int, str], ...] = ()

    @classmethod
    def of(cls, schema: Schema) -> RecordDomain:
        """The sizes and bounds of a schema's private columns.

        SurveyError where a measure that may be missing comes after one that cannot.
        """
        dimensions, measures = axes_of(schema), tuple(m for m in schema.measures if not m.has_null)
        if schema.measures[len(schema.measures) - len(measures) :] != measures:
            raise SurveyError("measures that may be missing come before those that cannot")
        position = {dimension.name.lower(): i for i, dimension in enumerate(schema.dimensions)}
        declared = tuple(dimension.sensitive for dimension in dimensions)
        roundings = tuple((measure.levels, measure.rounding) for measure in measures)
        return cls(
            tuple(dimension.name for dimension in dimensions),
            tuple(dimension.size for dimension in dimensions),
            tuple(measure.name for measure in measures),
            tuple(measure.bounds for measure in measures),
            tuple(position.get(measure.name.lower()) for measure in measures),
            tuple(count_unordered(dimension) for dimension in dimensions),
            declared if any(declared) else (),
            roundings if set(roundings) - {TWO_LEVELS} else (),
            tuple((*m.bounds, m.levels, m.rounding) for m in schema.measures if m.has_null),
        )

    def round_measures(self, schema: Schema) -> Schema:
        """The schema with its measures rounded as the mechanism takes them."""
        required = self.roundings or (TWO_LEVELS,) * len(self.bounds)
        roundings = [*((count, how) for *_, count, how in self.nullable), *required]
        pairs = zip(schema.measures, roundings, strict=True)
        measures = tuple(replace(m, levels=levels, rounding=how) for m, (levels, how) in pairs)
        return replace(schema, measures=measures)

    def with_levels(self, count: int) -> RecordDomain:
        """The domain with so many levels of every measure that may be missing; those that tell
        squares stay as they are."""
        nullable = tuple(
            (low, high, count if how == "linear" else levels, how)
            for low, high, levels, how in self.nullable
        )
        sizes = tuple(levels + 1 for *_, levels, _ in nullable)
        first = self.first_level_axis
        unordered = (*self.unordered[:first], *sizes) if self.unordered else ()
        return replace(
            self, sizes=(*self.sizes[:first], *sizes), unordered=unordered, nullable=nullable
        )

    def refine(self, terms: Terms, fine: RecordDomain) -> Terms:
        """The mean amounts of people of another domain in a sum over this one; they differ in
        the levels of measures that may be missing.

        A number that was rounded to a level of the other domain would be rounded again to one of
        the two levels beside it.
        """
        for axis in range(self.first_level_axis, len(self.sizes)):
            size, more = self.sizes[axis], fine.sizes[axis]
            if size == more:
                continue
            # rounded[i, k]: the share of the level k that is rounded to the level i; NULL stays.
            rounded = np.zeros((size, more))
            place = np.linspace(0.0, size - 2.0, more - 1)
            rounded[:-1, :-1] = np.clip(1.0 - abs(place - np.arange(size - 1)[:, None]), 0.0, 1.0)
            rounded[-1, -1] = 1.0
            counted: dict[Box, float] = {}
            for amount, box in terms:
                before, side, after = box.sides[:axis], box.sides[axis], box.sides[axis + 1 :]
                chosen = [code for part in codes_of(side, size) for code in range(*part)]
                shares = rounded[chosen].sum(axis=0).round(_DIGITS)
                for share in np.unique(shares[shares > 0.0]).tolist():
                    inside = codes(np.flatnonzero(shares == share).tolist())
                    own = Box((*before, None if side is None else inside, *after))
                    counted[own] = counted.get(own, 0.0) + amount * share
            terms = tuple((amount, box) for box, amount in counted.items() if amount)
        return terms

    @property
    def asked(self) -> tuple[int, ...]:
        """The dimensions that conditions may be about: of more than one code, and no measures."""
        plain = self.sizes[: self.first_level_axis]
        return tuple(i for i, size in enumerate(plain) if size > 1)

    @property
    def first_level_axis(self) -> int:
        """The first of the dimensions that are measures; their number where there is none."""
        return len(self.sizes) - len(self.nullable)

    @property
    def record_sizes(self) -> tuple[int, ...]:
        """Codes of every attribute of an encoded record: dimensions, then levels of measures."""
        return (*self.sizes, *self.levels)

    @property
    def levels(self) -> tuple[int, ...]:
        """How many levels every measure has."""
        return tuple(count for count, _ in self.roundings) or (2,) * len(self.bounds)

    def level_values(self, measure: int) -> Array:
        """The values of the levels of a measure, ascending, shape (levels,)."""
        return space_levels(*self.bounds[measure], *self._rounding(measure))

    def level_squares(self, measure: int) -> Array:
        """The mean that each level of a measure stands for, of the square of its distance from the
        middle of its bounds, shape (levels,). SurveyError where they do not tell it."""
        if not self.tells_squares(measure):
            raise SurveyError(f"levels of {self.measure_names[measure]} say nothing about squares")
        return square_levels(*self.bounds[measure], self.levels[measure])

    def tells_squares(self, measure: int) -> bool:
        """Whether the mean square of the levels of a measure follows from that of its numbers."""
        return self._rounding(measure)[1] == "quadratic"

    def level_shares(self, measure: int) -> Array:
        """The part of people at every level if they are spread evenly between the bounds."""
        return share_levels(*self._rounding(measure))

    def _rounding(self, measure: int) -> tuple[int, str]:
        return self.roundings[measure] if self.roundings else TWO_LEVELS

    def without_levels(self, terms: Terms) -> Terms:
        """Terms in which all levels of a measure count alike, by as much as they differ; the same
        where they do already. Who has a value is known of a person, and which level is drawn."""
        for axis in range(self.first_level_axis, len(self.sizes)):
            levels = self.sizes[axis] - 1
            kept, counted = list[tuple[float, Box]](), dict[Box, Array]()
            for amount, box in terms:
                side = box.sides[axis]
                if side is None or set(side) & {(0, levels), (levels, levels + 1)}:
                    kept.append((amount, box))
                    continue
                free = Box((*box.sides[:axis], None, *box.sides[axis + 1 :]))
                own = counted.setdefault(free, np.zeros(levels))
                for low, high in side:
                    own[low:high] += amount
            present = Box.of(len(self.sizes), {axis: ((0, levels),)})
            spans = ((float(np.ptp(own)), box & present) for box, own in counted.items())
            terms = (*kept, *(term for term in spans if term[0]))
        return terms

    def share_of(self, box: Box) -> float:
        """The part of people in a box if they are spread as `cell_shares` has them."""
        first = self.first_level_axis
        share = Box(box.sides[:first]).share(self.sizes[:first])
        for side, (*_, count, how) in zip(box.sides[first:], self.nullable, strict=True):
            own = share_codes(count, how)
            share *= sum(float(own[low:high].sum()) for low, high in codes_of(side, len(own)))
        return share

    @cached_property
    def cell_shares(self) -> Array:
        """The part of people in every cell if they are spread evenly over all codes and between
        the bounds of all measures, a third of those missing that may be, shape (cells,)."""
        codes = math.prod(self.sizes[: self.first_level_axis])
        shares: Array = np.full(codes, 1.0 / codes)
        for *_, count, how in self.nullable:
            shares = np.multiply.outer(shares, share_codes(count, how)).ravel()
        for measure in range(len(self.bounds)):
            shares = np.multiply.outer(shares, self.level_shares(measure)).ravel()
        return shares

    def sensitive_codes(self, dimension: int) -> tuple[int, ...]:
        """The sensitive codes of a dimension: all of them unless some were declared."""
        declared = self.sensitive[dimension] if self.sensitive else ()
        return declared or tuple(range(self.sizes[dimension]))

    @property
    def is_all_sensitive(self) -> bool:
        """Whether no value of any dimension was left out of the sensitive ones."""
        return not any(self.sensitive)

    @property
    def has_nonsensitive_records(self) -> bool:
        """Whether a record can be without any sensitive value: every dimension has others."""
        return bool(self.sensitive) and all(self.sensitive)

    def unordered_codes(self, dimension: int) -> int:
        """How many of the last codes of a dimension have no neighbours."""
        return self.unordered[dimension] if self.unordered else 0

    def to_json(self) -> dict[str, Any]:
        """Plain lists, for JSON."""
        lists: dict[str, Any] = {f.name: list(getattr(self, f.name)) for f in fields(self)}
        lists["bounds"] = [list(pair) for pair in self.bounds]
        lists["sensitive"] = list(map(list, self.sensitive))
        lists["roundings"] = list(map(list, self.roundings))
        lists["nullable"] = list(map(list, self.nullable))
        later = ("sensitive", "roundings", "nullable")
        return {k: v for k, v in lists.items() if v or k not in later}


def axes_of(schema: Schema) -> tuple[Dimension, ...]:
    """The dimensions of a schema, and as one more dimension each measure that may be missing, whose
    codes are its levels and then that of NULL."""
    return (*schema.dimensions, *(level_axis(m) for m in schema.measures if m.has_null))


def level_axis(measure: Measure) -> Dimension:
    """A measure that may be missing as a dimension over its levels, which have no order that
    conditions could use."""
    values = tuple(f"level {level}" for level in range(measure.levels))
    return Dimension(measure.name, Listed("category", values), missing="code")


def space_levels(low: float, high: float, count: int, rounding: str) -> Array:
    """The values of so many levels of a measure with these bounds, ascending, shape (levels,)."""
    half = 0.0 if rounding == "linear" else (high - low) / (count - 2) / 2.0
    return np.asarray(np.linspace(low - half, high + half, count))


def share_levels(count: int, rounding: str) -> Array:
    """The part of people at every level if they are spread evenly between the bounds, shape
    (levels,)."""
    if rounding == "linear":
        # Half of what lies between two levels is rounded to each of them.
        return np.convolve(np.ones(count - 1), [0.5, 0.5]) / (count - 1)
    # The integrals of (1/2 - u)^2 / 2, 3/4 - u^2 and (1/2 + u)^2 / 2 over a step.
    return np.convolve(np.ones(count - 2), [1 / 6, 2 / 3, 1 / 6]) / (count - 2)


def share_codes(count: int, rounding: str) -> Array:
    """The same at every code of a measure that may be missing, as it is for MISSING_SHARE."""
    return np.append(share_levels(count, rounding) * (1.0 - MISSING_SHARE), MISSING_SHARE)


def square_levels(low: float, high: float, count: int) -> Array:
    """The mean that each level of quadratic rounding stands for, of the square of the distance from
    the middle of the bounds, shape (levels,)."""
    # The mean square of a level is a quarter of a step's square above that of its numbers.
    step = (high - low) / (count - 2)
    levels = space_levels(low, high, count, "quadratic")
    return (levels - (low + high) / 2.0) ** 2 - step**2 / 4.0


def count_unordered(dimension: Dimension) -> int:
    """How many codes, the last ones, have no neighbours: that of NULL, or all where the values have
    no order."""
    is_ordered = dimension.domain.type not in ("category", "bool")
    return dimension.size - dimension.domain.size if is_ordered else dimension.size
