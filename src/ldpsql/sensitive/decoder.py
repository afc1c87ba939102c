"""Channels in which some values are sensitive, solved kind by kind instead of as a matrix.

Attribute j of a response has sizes[j] ranks, the first sensitive[j] of which are sensitive. Sets of
attributes are bit masks. A record whose sensitive attributes are exactly S is of *kind* S, and so
is a report. With one 64-bit word a record of kind S answers, for every T that contains S, with each
of the

    m_T = product of sensitive[j] over j in T

cells that are sensitive in T and agree with it elsewhere for words[S, T] words, and with itself for
the rest. The channel is square and its kinds are nested: a record of kind S sends reports of kind S
and above only. So solving with it goes kind by kind, and within a kind the channel is a multiple of
the identity plus a constant along the sensitive ranks. Source: docs/spec/uldp.md#2,
docs/spec/uldp.md#6, docs/spec/uldp.md#6.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.estimate import Array
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.base import Codes
from ldpsql.estimators.cells import Channel
from ldpsql.reports.report import Pair, Rows
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import BITS_PER_COLUMN, WORDS, Ladder, Rung

Kind = int
Mask = NDArray[np.bool_]

# -- one response ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ResponseShape:
    """The attributes of a response: sizes, and how many of the first ranks are sensitive."""

    sizes: tuple[int, ...]
    sensitive: tuple[int, ...]

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of which there are records, those with few sensitive attributes first."""
        pairs = list(zip(self.sizes, self.sensitive, strict=True))
        there_are = [
            kind
            for kind in range(1 << len(pairs))
            if all(few if kind >> j & 1 else size > few for j, (size, few) in enumerate(pairs))
        ]
        return tuple(sorted(there_are, key=lambda kind: (kind.bit_count(), kind)))

    def above(self, kind: Kind) -> list[Kind]:
        """The other kinds that are sensitive wherever this one is."""
        return [other for other in self.kinds if other != kind and other & kind == kind]

    def cells(self, kind: Kind) -> int:
        """m_T: the sensitive combinations of the attributes of a kind."""
        return math.prod(self.sensitive[j] for j in self.axes(kind))

    def block(self, kind: Kind) -> tuple[slice, ...]:
        """Where the cells of a kind lie in a table of the sizes."""
        return tuple(
            slice(0, few) if kind >> j & 1 else slice(few, size)
            for j, (size, few) in enumerate(zip(self.sizes, self.sensitive, strict=True))
        )

    def axes(self, kind: Kind) -> tuple[int, ...]:
        """The attributes of a kind."""
        return tuple(j for j in range(len(self.sizes)) if kind >> j & 1)


@dataclass(frozen=True)
class Response:
    """The integers of the channel: words[S, T] out of 2^64 for one cell of kind T under kind S.

    SurveyError unless every record keeps some probability to answer with itself alone.
    """

    shape: ResponseShape
    words: Mapping[tuple[Kind, Kind], int]

    def __post_init__(self) -> None:
        if min(self.extra.values()) <= 0 or min(self.words.values(), default=1) < 1:
            raise SurveyError("the probabilities of the response do not leave room for the truth")

    @cached_property
    def extra(self) -> Mapping[Kind, int]:
        """Words with which a record of each kind answers with itself, beside its share of a set."""
        return {
            kind: WORDS
            - sum(self.words[kind, mask] * self.shape.cells(mask) for mask in self.targets(kind))
            for kind in self.shape.kinds
        }

    def targets(self, kind: Kind) -> list[Kind]:
        """The kinds over which a record of this kind spreads evenly."""
        return [*([kind] if kind else []), *self.shape.above(kind)]

    @cached_property
    def ladder(self) -> Ladder:
        """The same for a plan: a digit per attribute, and per kind a ladder whose last rung is the
        truth."""
        length = 1 + max(len(self.targets(kind)) for kind in self.shape.kinds)

        def rungs(kind: Kind) -> tuple[Rung, ...]:
            if kind not in self.shape.kinds:
                return (Rung(1), *(Rung(0),) * (length - 1))
            drawn = [Rung(self.words[kind, t], self.shape.axes(t)) for t in self.targets(kind)]
            empty = (Rung(0),) * (length - 1 - len(drawn))
            return (*drawn, *empty, Rung(self.extra[kind]))

        classes = range(1 << len(self.shape.sizes))
        return Ladder(self.shape.sensitive, tuple(map(rungs, classes)))

    def disclosure(self, attribute: int) -> float:
        """Largest probability that a value which is not sensitive is given away."""
        bit = 1 << attribute
        return max(
            (
                1.0
                - sum(
                    self.words[kind, mask] * self.shape.cells(mask) / WORDS
                    for mask in self.targets(kind)
                    if mask & bit
                )
                for kind in self.shape.kinds
                if not kind & bit
            ),
            default=0.0,
        )

    # -- the channel C as a linear map: values have the shape (*sizes, k) -------------------------

    def apply(self, values: Array, back: bool = False) -> Array:
        """C v: what a report is worth on average under each record; v C, the expected reports of
        so many records, where `back` says so."""
        result = np.empty_like(values)
        for kind in self.shape.kinds:
            own = values[self.shape.block(kind)] * (self.extra[kind] / WORDS)
            for other, chance, mask in self._links(kind, back):
                own = own + chance * self._sum(values, other, mask)
            result[self.shape.block(kind)] = own
        return result

    def solve(self, values: Array, back: bool = False) -> Array:
        """u with C u = values: the weight of each report; f with f C = values, the records behind
        so many reports, where `back` says so.

        Reports of kinds above S are solved before S, and what they contribute under a record of
        kind S is subtracted; records of kinds below before those above.
        """
        solved = np.empty_like(values)
        for kind in self.shape.kinds if back else reversed(self.shape.kinds):
            rest, own, keep = values[self.shape.block(kind)], 0.0, self.extra[kind] / WORDS
            for other, chance, mask in self._links(kind, back):
                if other == kind:
                    own = chance
                else:
                    rest = rest - chance * self._sum(solved, other, mask)
            if own:
                # x with keep x + own (sum of x over the m sensitive cells) = rest. Summed over the
                # cells, (keep + m own) sum x = sum rest, which gives the sum and then x (the
                # Sherman-Morrison formula). Both factors are positive, so nothing cancels.
                total = rest.sum(axis=self.shape.axes(kind), keepdims=True)
                rest = rest - own * total / (keep + self.shape.cells(kind) * own)
            solved[self.shape.block(kind)] = rest / keep
        return solved

    def _links(self, kind: Kind, back: bool) -> list[tuple[Kind, float, Kind]]:
        """Kinds that a kind's values depend on: (kind, probability per cell, attributes drawn).

        Those of the reports that its records send, or of the records that send its reports.
        """
        if not back:
            return [(t, self.words[kind, t] / WORDS, t) for t in self.targets(kind)]
        senders = [s for s in self.shape.kinds if kind and s & kind == s]
        return [(s, self.words[s, kind] / WORDS, kind) for s in senders]

    def _sum(self, values: Array, kind: Kind, mask: Kind) -> Array:
        """Values of a kind, summed over the attributes of a mask."""
        return np.asarray(
            values[self.shape.block(kind)].sum(axis=self.shape.axes(mask), keepdims=True)
        )


# -- the cells of a record domain ------------------------------------------------------------------


def find_sensitive_cells(domain: RecordDomain) -> Mask:
    """Which combinations of codes are sensitive in some dimension, shape `sizes`."""
    axes = [axis.is_sensitive for axis in separate_axes(domain)]
    return np.asarray(reduce(np.logical_or.outer, axes))


@dataclass(frozen=True, eq=False)
class Axis:
    """Dimensions taken as one attribute, its sensitive combinations of codes ranked first.

    is_sensitive: of each combination, shape (combinations,).
    """

    is_sensitive: Mask

    @cached_property
    def order(self) -> Codes:
        """The combination at each rank."""
        return np.argsort(~self.is_sensitive, kind="stable")

    @cached_property
    def rank(self) -> Codes:
        """The rank of each combination."""
        return np.argsort(self.order)

    @property
    def sensitive(self) -> int:
        """How many are sensitive."""
        return int(self.is_sensitive.sum())


def separate_axes(domain: RecordDomain) -> tuple[Axis, ...]:
    """Every dimension as an attribute of its own."""
    return tuple(
        Axis(np.isin(np.arange(size), domain.sensitive_codes(j)))
        for j, size in enumerate(domain.sizes)
    )


def shape_over(axes: Sequence[Axis]) -> ResponseShape:
    """The shape of a response over the axes together."""
    return ResponseShape(tuple(len(a.is_sensitive) for a in axes), tuple(a.sensitive for a in axes))


@dataclass(frozen=True, eq=False)
class ResponseChannel(Channel):
    """Reports that name a cell of all combinations: independent responses over consecutive axes.

    Cells are numbered row by row over the dimensions' codes. Square: as many reports as records, so
    the one linear unbiased estimator is the inverse.
    """

    axes: tuple[Axis, ...]
    responses: tuple[Response, ...]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Combinations per axis."""
        return tuple(len(axis.is_sensitive) for axis in self.axes)

    @property
    def cells(self) -> int:
        """How many there are."""
        return math.prod(self.sizes)

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """First axis of each response, and the one after its last."""
        lengths = [len(response.shape.sizes) for response in self.responses]
        return list(pairwise([0, *np.cumsum(lengths).tolist()]))

    @cached_property
    def _is_naming(self) -> Mask:
        """Which reports name a value that is not sensitive, so only those who hold it send them."""
        others = [~axis.is_sensitive for axis in self.axes]
        return np.asarray(reduce(np.logical_or.outer, others)).ravel()

    @cached_property
    def _ranks(self) -> tuple[Codes, ...]:
        return np.ix_(*(axis.rank for axis in self.axes))

    @cached_property
    def _orders(self) -> tuple[Codes, ...]:
        return np.ix_(*(axis.order for axis in self.axes))

    def _each(
        self, what: Callable[[Response, Array, bool], Array], values: Array, back: bool
    ) -> Array:
        """A method of every response in turn, on one value per cell, shape (cells, k).

        The channel is the Kronecker product of the responses' channels, so each is applied along
        its own axes, which are put in the order of the ranks before and back after.
        """
        table = values.reshape(*self.sizes, -1)[self._orders]
        for response, (first, end) in zip(self.responses, self.spans, strict=True):
            span, front = range(first, end), range(end - first)
            turned = np.moveaxis(table, span, front)
            flat = turned.reshape(*turned.shape[: end - first], -1)
            table = np.moveaxis(what(response, flat, back).reshape(turned.shape), front, span)
        return table[self._ranks].reshape(self.cells, -1)

    def counts(self, rows: Rows, pair: Pair) -> Array:
        """Sums of u v over the reports of each cell, shape (cells,)."""
        flat, amounts = self._number_cells(rows), rows.moment(*pair)
        table = np.bincount(flat, amounts, minlength=self.cells).reshape(self.sizes)
        return table[self._ranks].ravel().astype(np.float64)

    def _number_cells(self, rows: Rows) -> Codes:
        """By row the number of its cell in the order of ranks, shape (r,).

        Each response's answer numbers the ranks of its axes row by row.
        """
        flat = np.zeros(len(rows.counts), dtype=np.int64)
        for response, answer in zip(self.responses, rows.columns, strict=True):
            flat = flat * math.prod(response.shape.sizes) + answer
        return flat

    def totals(self, rows: Rows, pair: Pair) -> Array:
        """Unbiased sums of u v over the people of each cell, shape (cells,)."""
        return self.solve(self.counts(rows, pair)[:, None], back=True)[:, 0]

    def apply(self, values: Array, back: bool = False) -> Array:
        """The response applied to columns over cells; both (cells, k)."""
        return self._each(Response.apply, values, back)

    def solve(self, values: Array, back: bool = False) -> Array:
        """The transposed response solved for columns over cells; both (cells, k)."""
        return self._each(Response.solve, values, back)

    def weigh_reports(self, rows: Rows, weights: Array) -> Array:
        """The weight of the report of each row in queries, shape (m, r)."""
        ranked = self.solve(weights.T).reshape(*self.sizes, -1)[self._orders]
        return np.asarray(ranked.reshape(self.cells, -1)[self._number_cells(rows)].T)

    def second(self, totals: Array, left: Array, right: Array) -> Array:
        """Sums over cells of totals times the mean product of two queries' weights, shape (..., k,
        k)."""
        flat, one = totals.reshape(-1, self.cells).T, self.solve(left.T)
        reports = self.apply(flat, back=True).T.reshape(totals.shape)
        other = one if right is left else self.solve(right.T)
        return np.asarray((one.T * reports[..., None, :]) @ other)

    def spread(self, weights: Array) -> Array:
        """The most that a pseudo-report adds to a sum of squares of weights, shape (k,)."""
        squares = self.solve(weights.T) ** 2
        named = squares[self._is_naming].max(axis=0, initial=0.0)
        return np.asarray(np.maximum(np.ptp(self.apply(squares), axis=0), named))

    def extremes(self, weights: Array) -> Array:
        """The least and the largest weight of a report in queries, shape (2, m)."""
        amounts = self.solve(weights.T)
        return np.array([amounts.min(axis=0), amounts.max(axis=0)])

    def draw_counts(self, people: Array, random: np.random.Generator, count: int) -> Array:
        """Counts of simulated reports of people drawn as a table says, shape (cells, count)."""
        shares = np.maximum(self.apply(people[:, None], back=True)[:, 0], 0.0)
        size = round(float(people.sum()))
        return random.multinomial(size, shares / shares.sum(), count).T.astype(float)

    def simulate(self, people: Array, random: np.random.Generator, count: int) -> Array:
        """Unbiased people per cell from simulated reports of a table of people, (count, cells)."""
        return self.solve(self.draw_counts(people, random, count), back=True).T


@dataclass(frozen=True, eq=False)
class BitChannel(Channel):
    """Reports of independent bits for sensitive values, and of at most one other value's name.

    own, other: probabilities that the own bit and another sensitive one is set.  named: that a
    value which is not sensitive is named by its owner.

    A report tells of each value j by its bit or name: (bit - off_j) / (on_j - off_j) is an unbiased
    estimate of "the person holds j", and given the person's value the bits are independent.
    """

    axis: Axis
    own: float
    other: float
    named: float

    @property
    def cells(self) -> int:
        """Number of values."""
        return len(self.axis.is_sensitive)

    @cached_property
    def on(self) -> Array:
        """Probability of each value's bit under the value itself, shape (cells,)."""
        return np.where(self.axis.is_sensitive, self.own, self.named)

    @cached_property
    def off(self) -> Array:
        """And under any other one."""
        return np.where(self.axis.is_sensitive, self.other, 0.0)

    @cached_property
    def _excess(self) -> Array:
        """Variance that a value's own bit has more than another one's, per person."""
        width = (self.on - self.off) ** 2
        return np.asarray((self.on * (1.0 - self.on) - self.off * (1.0 - self.off)) / width)

    def totals(self, rows: Rows, pair: Pair) -> Array:
        """Sums over the people of each cell; a row has the name, or 0, and words of bits."""
        names, *words = rows.columns
        moments, sensitive = rows.moment(*pair), self.axis.sensitive
        seen = [
            moments @ (words[bit // BITS_PER_COLUMN] >> (bit % BITS_PER_COLUMN) & 1)
            for bit in range(sensitive)
        ]
        named = np.bincount(names, moments, minlength=self.cells - sensitive + 1)
        set_ = np.concatenate([seen, named[1:]])[self.axis.rank]
        return self._behind(set_, float(moments.sum()))

    def weigh_reports(self, rows: Rows, weights: Array) -> Array:
        """The weight of the report of each row in queries, shape (m, r)."""
        names, *words = rows.columns
        scaled = weights / (self.on - self.off)
        found = np.repeat(-(scaled @ self.off)[:, None], len(names), axis=1)
        ranked = scaled[:, self.axis.order]
        for bit in range(self.axis.sensitive):
            is_set = words[bit // BITS_PER_COLUMN] >> (bit % BITS_PER_COLUMN) & 1
            found += ranked[:, bit, None] * is_set
        named = np.hstack([np.zeros((len(weights), 1)), ranked[:, self.axis.sensitive :]])
        return np.asarray(found + named[:, names])

    def _behind(self, set_: Array, people: float) -> Array:
        return np.asarray((set_ - self.off * people) / (self.on - self.off))

    def second(self, totals: Array, left: Array, right: Array) -> Array:
        """Sums over cells of totals times the mean product of two queries' weights, (..., k, k).

        Under value i a query's weight has mean w_i, and each bit adds its own variance.
        """
        even = self.off * (1.0 - self.off) / (self.on - self.off) ** 2
        own = totals + even * totals.sum(axis=-1, keepdims=True) + self._excess * totals
        return np.asarray((left * own[..., None, :]) @ right.T)

    def spread(self, weights: Array) -> Array:
        """The most that a pseudo-report adds to a sum of squares of weights, shape (k,)."""
        people = np.ptp(weights**2 * (1.0 + self._excess), axis=1)
        named = (weights / self.on)[:, ~self.axis.is_sensitive] ** 2
        return np.asarray(np.maximum(people, named.max(axis=1, initial=0.0)))

    def extremes(self, weights: Array) -> Array:
        """The least and the largest weight of a report in queries, shape (2, m): the better of both
        values of every bit, and the best name or none."""
        scaled, is_bit = weights / (self.on - self.off), self.axis.is_sensitive
        ends = np.array([-self.off * scaled, (1.0 - self.off) * scaled])
        bits, none = ends[:, :, is_bit], np.zeros((len(weights), 1))
        names = np.hstack([none, ends[1][:, ~is_bit]])
        least = bits.min(axis=0).sum(axis=1) + names.min(axis=1)
        return np.array([least, bits.max(axis=0).sum(axis=1) + names.max(axis=1)])

    def simulate(self, people: Array, random: np.random.Generator, count: int) -> Array:
        """Unbiased people per cell from simulated reports of a table of people, (count, cells)."""
        total = round(float(people.sum()))
        drawn = random.multinomial(total, people / people.sum(), count)
        set_ = random.binomial(drawn, self.on) + random.binomial(total - drawn, self.off)
        return self._behind(set_.astype(float), float(total))
