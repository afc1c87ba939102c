"""Margins of a population in the codes of one survey.

Each column of margins becomes an axis, whose strata are sets of codes of a dimension or values of a
public column. Strata must be a partition: every declared value is in exactly one of them, and every
combination of strata in a file has its number of people.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from itertools import product
from math import prod

import numpy as np

from ldpsql.algebra.boxes import Box, CodeSet, cardinality, code_set, complement, intersect
from ldpsql.algebra.estimate import Array
from ldpsql.errors import QueryError, list_some
from ldpsql.population.margins import Margin, Margins
from ldpsql.sql import domains
from ldpsql.sql.domains import find_dimension, find_measure, find_public_column
from ldpsql_device.description import describe_extent
from ldpsql_device.errors import DataError
from ldpsql_device.schema import Dimension, PublicColumn, Schema
from ldpsql_device.values import Listed, Ordered, Value

MOST_CELLS = 1000
"""The most combinations of strata."""
_SAME_TOTAL, _LISTED = 0.01, 4
_MOST_PEOPLE = 1e15
"""In a stratum: more than can be, and few enough for the squares of their sums."""
_RANGE = re.compile(r"(.+?)\s*\.\.\s*(.+)|(\d+)\s*[-\u2013]\s*(\d+)")
_HALF_OPEN = re.compile(r"\[\s*(.+?)\s*,\s*(.+?)\s*([)\]])")
_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?")
_BOUND = re.compile(r"(<=|>=|<|>)\s*(.+)")


@dataclass(frozen=True)
class DividedColumn:
    """A column that is divided.

    dimension: its index, or None for a public column.  labels: of the strata, as written.
    codes: of each stratum, for a dimension.  values: of each stratum, for a public column.
    """

    column: str
    dimension: int | None
    labels: tuple[str, ...]
    codes: tuple[CodeSet, ...] = ()
    values: tuple[Value | None, ...] = ()


@dataclass(frozen=True)
class Marginal:
    """People by the strata of some axes. axes: ascending.  people: by their strata."""

    name: str
    axes: tuple[int, ...]
    people: Array


@dataclass(frozen=True)
class Strata:
    """A population, divided. axes: those of dimensions first.  total: people in all.
    notes: what was done to make margins agree.

    A *cell* is a combination of strata of all axes: of C private cells and P public ones.
    """

    axes: tuple[DividedColumn, ...]
    marginals: tuple[Marginal, ...]
    total: float
    notes: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Strata per axis."""
        return tuple(len(axis.labels) for axis in self.axes)

    @property
    def private(self) -> tuple[DividedColumn, ...]:
        """The axes of dimensions."""
        return tuple(axis for axis in self.axes if axis.dimension is not None)

    @property
    def public(self) -> tuple[DividedColumn, ...]:
        """The axes of public columns."""
        return tuple(axis for axis in self.axes if axis.dimension is None)

    @cached_property
    def public_cells(self) -> dict[tuple[Value | None, ...], int]:
        """The number of every public cell by its values."""
        values = product(*(axis.values for axis in self.public))
        return {each: number for number, each in enumerate(values)}

    def boxes(self, dimensions: int) -> list[Box]:
        """The box of every private cell."""
        indices = [axis.dimension for axis in self.private if axis.dimension is not None]
        combinations = product(*(axis.codes for axis in self.private))
        return [Box.of(dimensions, dict(zip(indices, each, strict=True))) for each in combinations]

    def label(self, marginal: Marginal, stratum: int) -> str:
        """A stratum of a marginal in words: age 18..29, sex Female."""
        place = np.unravel_index(stratum, marginal.people.shape)
        axes = zip(marginal.axes, place, strict=True)
        return ", ".join(_name(self.axes[axis], int(number)) for axis, number in axes)

    def describe(self) -> str:
        """How answers are weighted, in words."""
        if len(self.marginals) == 1:
            (only,) = self.marginals
            by = " and ".join(self.axes[axis].column for axis in only.axes)
            return f"about {self.total:,.10g} people, post-stratified by {by} ({only.name})"
        margins = (
            f"{' and '.join(self.axes[axis].column for axis in each.axes)} ({each.name})"
            for each in self.marginals
        )
        return f"about {self.total:,.10g} people, raked to {', '.join(margins)}"


def make_undivided(people: int) -> Strata:
    """A population of which nothing is known but how many people it has."""
    return Strata((), (Marginal("", (), np.array(float(people))),), float(people))


def strata_of(margins: Margins, schema: Schema) -> Strata:
    """The margins in the codes of a survey.

    DataError where they do not fit it, with the file and the value.
    """
    axes: dict[str, DividedColumn] = {}
    read: list[tuple[str, list[str], Array]] = []
    for margin in margins:
        names, own, people = _read(margin, schema)
        for axis in own:
            known = axes.setdefault(axis.column, axis)
            if (sorted(known.codes), set(known.values)) != (sorted(axis.codes), set(axis.values)):
                raise DataError(
                    f"{margin.name} divides {axis.column} differently from the margins before; "
                    "divide it the same way in all of them"
                )
        # The strata in the order of the file that came first.
        orders = [
            [axis.labels.index(_same(axis, axes[axis.column], n)) for n in range(len(axis.labels))]
            for axis in own
        ]
        read.append((margin.name, names, people[np.ix_(*orders)]))
    ordered = sorted(axes.values(), key=lambda axis: axis.dimension is None)
    place = {axis.column: number for number, axis in enumerate(ordered)}
    if prod(len(axis.labels) for axis in ordered) > MOST_CELLS:
        cells = " x ".join(f"{len(axis.labels)} of {axis.column}" for axis in ordered)
        raise DataError(
            f"the margins make too many strata ({cells}), at most {MOST_CELLS}; merge some"
        )
    marginals, notes = list[Marginal](), list[str]()
    total = float(read[0][2].sum())
    for name, names, people in read:
        own_total = float(people.sum())
        if abs(own_total - total) > _SAME_TOTAL * total:
            raise DataError(
                f"{name} has {own_total:,.10g} people, {read[0][0]} has {total:,.10g}; margins of "
                "one population must add up to the same number"
            )
        if abs(own_total - total) > 1e-9 * total:
            notes.append(
                f"{name} has {own_total:,.10g} people, not {total:,.10g}, and is scaled to them"
            )
        order = sorted(range(len(names)), key=lambda axis: place[names[axis]])
        scaled = people.transpose(order) * (total / own_total)
        marginals.append(Marginal(name, tuple(place[names[axis]] for axis in order), scaled))
    return Strata(tuple(ordered), tuple(marginals), total, tuple(notes))


def _same(axis: DividedColumn, known: DividedColumn, number: int) -> str:
    """The label on an axis of the stratum that has a number on another axis."""
    if known.dimension is not None:
        return axis.labels[axis.codes.index(known.codes[number])]
    return axis.labels[axis.values.index(known.values[number])]


def _name(axis: DividedColumn, number: int) -> str:
    return f"{axis.column} {axis.labels[number] or 'NULL'}"


def _read(margin: Margin, schema: Schema) -> tuple[list[str], list[DividedColumn], Array]:
    """The columns of a file, their axes, and people by strata."""
    counted = _find_counts(margin, schema)
    places = [place for place in range(len(margin.columns)) if place != counted]
    if len({margin.columns[place].lower() for place in places}) < len(places):
        raise DataError(f"{margin.name} names a column twice")
    axes = []
    for place in places:
        labels = tuple(dict.fromkeys(row[place] for row in margin.rows))
        try:
            axes.append(_axis(margin.columns[place], labels, schema))
        except QueryError as error:
            hint = f"; {error.hint}" if error.hint else ""
            raise DataError(f"{margin.name}: {error.reason}{hint}") from None
    people = np.full([len(axis.labels) for axis in axes], np.nan)
    for row in margin.rows:
        texts = [row[place] for place in places]
        cell = tuple(axis.labels.index(text) for axis, text in zip(axes, texts, strict=True))
        if not math.isnan(people[cell]):
            raise DataError(f"{margin.name} has two rows for {_cell(axes, cell)}")
        people[cell] = _count(margin, row[counted])
    missing = [_cell(axes, tuple(cell)) for cell in np.argwhere(np.isnan(people))]
    if missing:
        shown = list_some(missing, _LISTED, separator="; ")
        raise DataError(
            f"{margin.name} has no row for {shown}; add {'it' if len(missing) == 1 else 'them'} "
            "(0 people leaves out who answered there)"
        )
    if not people.sum() > 0.0:
        raise DataError(f"{margin.name} has no people")
    return [axis.column for axis in axes], axes, people


def _find_counts(margin: Margin, schema: Schema) -> int:
    """The place of the column with numbers of people; DataError unless there is one beside columns
    that divide."""
    found = [
        place
        for place, name in enumerate(margin.columns)
        if find_dimension(schema, name) is None and find_public_column(schema, name) is None
    ]
    names = [margin.columns[place] for place in found]
    if len(found) != 1 or len(margin.columns) < 2:
        raise DataError(
            f"{margin.name} needs one column with numbers of people, and besides it dimensions or "
            "public columns of the survey; not among those: "
            f"{list_some(names, _LISTED) or 'none'}"
        )
    if find_measure(schema, names[0]) is not None:
        raise DataError(
            f"{margin.name}: {names[0]} is a measure, by which nobody is divided; leave it out"
        )
    return found[0]


def _cell(axes: Sequence[DividedColumn], cell: tuple[int, ...]) -> str:
    return " and ".join(_name(axis, number) for axis, number in zip(axes, cell, strict=True))


def _count(margin: Margin, text: str) -> float:
    try:  # a comma divides thousands: 1,5 may be meant as one and a half
        number = float(text.replace(",", "") if _THOUSANDS.fullmatch(text) else text)
    except ValueError:
        number = math.nan
    if not 0.0 <= number <= _MOST_PEOPLE:
        raise DataError(
            f"{margin.name}: {text[:40]!r} is not a number of people (0 to {_MOST_PEOPLE:g})"
        )
    return number


def _axis(name: str, labels: tuple[str, ...], schema: Schema) -> DividedColumn:
    """A column's strata; QueryError where they are no partition."""
    index = find_dimension(schema, name)
    if index is None:
        column = find_public_column(schema, name)
        assert column is not None
        values = tuple(_public_value(text, column) for text in labels)
        twice = [value for value, times in Counter(values).items() if times > 1]
        if twice:
            raise QueryError(f"{column.name} {twice[0]} is written in two ways")
        return DividedColumn(column.name, None, labels, values=values)
    dimension = schema.dimensions[index]
    codes = tuple(_codes(text, dimension) for text in labels)
    everything, size = code_set(pair for each in codes for pair in each), dimension.size
    if sum(map(cardinality, codes)) > cardinality(everything):
        text = next(
            f"{one} and {other}"
            for place, one in enumerate(labels)
            for number, other in enumerate(labels[:place])
            if intersect(codes[place], codes[number])
        )
        raise QueryError(f"strata of {dimension.name} overlap: {text}")
    missing = complement(everything, size)
    if missing:
        present = intersect(missing, domains.present_codes(dimension))
        shown = [domains.extent(dimension.domain, low, high) for low, high in present]
        shown += (
            ["NULL (an empty value)"] if intersect(missing, domains.null_codes(dimension)) else []
        )
        raise QueryError(
            f"no stratum of {dimension.name} holds {list_some(shown, _LISTED, separator='; ')}",
            hint="add rows, or widen a stratum (0 people leaves out who answered there)",
        )
    return DividedColumn(dimension.name, index, labels, codes)


def _codes(text: str, dimension: Dimension) -> CodeSet:
    """The codes of a stratum: a value, a range, or several of them with | between."""
    domain = dimension.domain
    if text in ("", "NULL"):
        codes = domains.null_codes(dimension)
        reason = f"{dimension.name} is never NULL, and has an empty value"
    elif isinstance(domain, Listed):
        codes = _list(text, domain, dimension.name)
        reason = ""
    else:
        parts = [_range(part.strip(), domain, dimension.name) for part in text.split("|")]
        codes = code_set(pair for part in parts for pair in part)
        reason = (
            f"{dimension.name} is declared for {describe_extent(domain)}, and never {text[:40]}"
        )
    if not codes:
        raise QueryError(reason, hint="leave the row out")
    return codes


def _list(text: str, domain: Listed, name: str) -> CodeSet:
    codes = {
        str(value).lower() if isinstance(value, bool) else str(value): code
        for code, value in enumerate(domain.values)
    }
    texts = [text] if text in codes else [part.strip() for part in text.split("|")]
    found = []
    for part in texts:
        own = part.lower() if domain.type == "bool" else part
        if own not in codes:
            lower = {value.lower(): value for value in codes}
            near = lower[get_close_matches(own.lower(), lower, 1, 0.0)[0]]
            raise QueryError(f"{name} has no value {part[:40]!r}", hint=f"did you mean {near!r}?")
        found.append(codes[own])
    return code_set((code, code + 1) for code in found)


def _range(text: str, domain: Ordered, name: str) -> CodeSet:
    """18..29, 18-29, [0.5, 2), 65+, < 18, or one value."""
    compared: list[tuple[str, str]]
    if match := _HALF_OPEN.fullmatch(text):
        compared = [(">=", match[1]), ("<" if match[3] == ")" else "<=", match[2])]
    elif match := _BOUND.fullmatch(text):
        compared = [(match[1], match[2])]
    elif text.endswith("+"):
        compared = [(">=", text[:-1].strip())]
    elif match := _RANGE.fullmatch(text):
        low, high = (match[1], match[2]) if match[1] else (match[3], match[4])
        compared = [(">=", low), ("<=", high)]
    else:
        compared = [("=", text)]
    codes: CodeSet = ((0, domain.size),)
    for op, part in compared:
        value = _number(part) if domain.type in ("int", "float") else part
        if len(compared) > 1 and domains.is_outside(domain, op, value):
            raise QueryError(
                f"{text[:40]} extends beyond {name}, which is declared for "
                f"{describe_extent(domain)}",
                hint="end it there; people outside count at the nearest end, if at all",
            )
        codes = intersect(codes, domains.match_codes(domain, op, value))
    return codes


def _number(text: str) -> float:
    """QueryError for a text that is no number."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise QueryError(f"{text[:40]!r} is not a number or a range", hint="write 18, 18..29 or 65+")


def _public_value(text: str, column: PublicColumn) -> Value | None:
    """A value as reports carry it; QueryError where it does not fit its column."""
    if text in ("", "NULL"):
        return None
    if column.type == "text":
        return text
    if column.type == "bool":
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise QueryError(f"{column.name} is true or false, not {text[:40]!r}")
    if column.is_numeric:
        number = _number(text)
        return float(number) if column.type == "float" else number
    moment = domains.read_moment(text, column.type)
    return moment.date() if column.type == "date" else moment
