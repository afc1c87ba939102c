"""Public. Sees parameters. Drawing a report: exact, in a fixed number of steps.

A report takes three 64-bit words: which family (its weights sum to 2^64), whether the offset lies
inside the base set, and which of its points (or of those outside) it is. Nothing loops until a
condition holds, so the time taken tells nothing. Specification: fourier, section 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpsql.errors import SurveyError
from ldpsql.mechanisms.base import Codes, Words
from ldpsql.mechanisms.draws import SPACE, below, extremes_below, probability_below
from ldpsql.mechanisms.fourier.families import Cluster, FamilyTable
from ldpsql.mechanisms.fourier.group import Integers

SLACK = Fraction(1, 1 << 40)


def threshold(size: int, phases: int, odds: Fraction) -> int:
    """t = floor(2^64 n E' / (n E' + R - n)): inside iff word < t.

    E' = odds (1 - 2^-40); the slack pays for uniform indices that are off by up to R / 2^64.
    SurveyError where t would promise too much.
    """
    safe = odds * (1 - SLACK)
    found = int(SPACE * size * safe / (size * safe + phases - size))
    if not 0 < found < SPACE or found * (phases - size) > safe * size * (SPACE - found):
        raise SurveyError("a family's threshold does not keep the promised odds")
    return found


def offset_law(size: int, phases: int, odds: Fraction) -> tuple[list[Fraction], list[Fraction]]:
    """Exact probabilities of the points inside and outside, in the order they are numbered."""
    inside = Fraction(threshold(size, phases, odds), SPACE)
    rest = phases - size
    return (
        [inside * probability_below(i, size) for i in range(size)],
        [(1 - inside) * probability_below(i, rest) for i in range(rest)],
    )


def offset_odds(size: int, phases: int, odds: Fraction) -> Fraction:
    """Largest ratio of two points' exact probabilities."""
    inside = Fraction(threshold(size, phases, odds), SPACE)
    rest = phases - size
    within = [inside * chance for chance in extremes_below(size, size)]
    beyond = [(1 - inside) * chance for chance in extremes_below(rest, rest)]
    return max(*within, *beyond) / min(*within, *beyond)


def offsets(cluster: Cluster, number: int) -> Integers:
    """The points of H in the order in which they are numbered: B, then the rest, flat."""
    if cluster.base != "arcs":
        mask = cluster.mask(number)
        return np.concatenate([np.flatnonzero(mask), np.flatnonzero(~mask)])
    lengths = [int(length) for length in cluster.parameters[number]]
    digits = [
        place
        for piece in [len(lengths), *range(len(lengths))]
        for place in _piece(piece, lengths, cluster.orders)
    ]
    return np.array(digits, dtype=np.int64)


def _piece(piece: int, lengths: Sequence[int], orders: Sequence[int]) -> Iterator[int]:
    """Flat points of one piece: below L_q for q < piece, from L_q on for q = piece, then free."""
    ranges = [
        np.arange(length) if q < piece else np.arange(length if q == piece else 0, order)
        for q, (length, order) in enumerate(zip(lengths, orders, strict=True))
    ]
    flat = np.zeros((), dtype=np.int64)
    for side, order in zip(ranges, orders, strict=True):
        flat = np.add.outer(flat * order, side)
    yield from map(int, flat.ravel())


@dataclass(frozen=True, eq=False)
class Sampler:
    """The table of a design laid out for drawing, one column per quantity of a family.

    odds: rational lower bound of e^epsilon.
    """

    table: FamilyTable
    odds: Fraction

    def draw(self, codes: Codes, words: Words) -> tuple[Integers, Integers]:
        """(family, phase) of every row of codes, shape (n, axes); words has shape (3, n)."""
        family = self._family(words[0])
        index, piece = self._index(family, words[1], words[2])
        shifted = self._listed_points(family, index, piece)
        return family, self._phase(family, codes, index, piece, shifted)

    def _family(self, words: Words) -> Integers:
        return np.searchsorted(self._bounds, words, side="right").astype(np.int64)

    @cached_property
    def _bounds(self) -> Words:
        """Cumulative weights without the last, which is 2^64."""
        total, bounds = 0, []
        for weight in self.table.weights[:-1]:
            total += weight
            bounds.append(total)
        return np.array(bounds, dtype=np.uint64)

    @cached_property
    def thresholds(self) -> Words:
        """t of every family."""
        pairs = list(zip(self.table.sizes.tolist(), self.table.phases.tolist(), strict=True))
        found = {pair: threshold(*pair, self.odds) for pair in set(pairs)}
        return np.array([found[pair] for pair in pairs], dtype=np.uint64)

    def _index(self, family: Integers, inside: Words, which: Words) -> tuple[Integers, Integers]:
        """Number of a point in its piece, and the piece; P stands for the base set."""
        truthful = inside < self.thresholds[family]
        sizes = self.table.sizes[family]
        bounds = np.where(truthful, sizes, self.table.phases[family] - sizes)
        index = below(which, bounds.astype(np.uint64))
        piece = np.where(truthful, self._factors, 0)
        for place, size in enumerate(self._pieces[:-1]):
            beyond = ~truthful & (piece == place) & (index >= size[family])
            index = np.where(beyond, index - size[family], index)
            piece = np.where(beyond, place + 1, piece)
        return index, piece

    @cached_property
    def _factors(self) -> int:
        """Largest number of factors of a family."""
        return max(len(cluster.factors) for cluster in self.table.clusters)

    def _column(self, values: Sequence[NDArray[np.int64] | int]) -> Integers:
        """One value per family from one per cluster."""
        lengths = [len(cluster) for cluster in self.table.clusters]
        return np.concatenate(
            [np.broadcast_to(np.asarray(v), n) for v, n in zip(values, lengths, strict=True)]
        ).astype(np.int64)

    @cached_property
    def _orders(self) -> list[Integers]:
        """r_p of every family; 1 for a factor that it does not have."""
        return [
            self._column([c.orders[p] if p < len(c.orders) else 1 for c in self.table.clusters])
            for p in range(self._factors)
        ]

    @cached_property
    def _lengths(self) -> list[Integers]:
        """L_p of arcs; 1 for a factor that they do not have, r_p for listed families, whose
        points are looked up."""
        columns = []
        for p in range(self._factors):
            column: list[NDArray[np.int64] | int] = []
            for cluster in self.table.clusters:
                if p >= len(cluster.orders):
                    column.append(1)
                elif cluster.base == "arcs":
                    column.append(cluster.parameters[:, p])
                else:
                    column.append(cluster.orders[p])
            columns.append(self._column(column))
        return columns

    @cached_property
    def _pieces(self) -> list[Integers]:
        """Points of each piece outside the base set; a listed family has all in the first."""
        listed = self._starts >= 0
        found = []
        for place in range(self._factors):
            size = self._orders[place] - self._lengths[place]
            for q in range(self._factors):
                if q != place:
                    size = size * (self._lengths[q] if q < place else self._orders[q])
            found.append(np.where(listed, self.table.phases if place == 0 else 0, size))
        return found

    @cached_property
    def _starts(self) -> Integers:
        """Where a listed family's points begin in `_points`; -1 for arcs."""
        starts: list[NDArray[np.int64] | int] = []
        position = 0
        for cluster in self.table.clusters:
            if cluster.base == "arcs":
                starts.append(-1)
                continue
            starts.append(position + cluster.phases * np.arange(len(cluster)))
            position += cluster.phases * len(cluster)
        return self._column(starts)

    @cached_property
    def _points(self) -> Integers:
        """The points of all listed families, each family's base set first."""
        found = [
            offsets(cluster, number)
            for cluster in self.table.clusters
            if cluster.base != "arcs"
            for number in range(len(cluster))
        ]
        return np.concatenate([np.zeros(0, dtype=np.int64), *found])

    def _listed_points(self, family: Integers, index: Integers, piece: Integers) -> Integers:
        """The flat point of listed families; the index itself for arcs."""
        if not self._points.size:
            return index
        starts = self._starts[family]
        place = np.where(piece == self._factors, index, index + self.table.sizes[family])
        return np.where(
            starts >= 0, self._points[np.maximum(starts + place, 0) % self._points.size], index
        )

    def _phase(
        self, family: Integers, codes: Codes, index: Integers, piece: Integers, point: Integers
    ) -> Integers:
        """theta(u) - offset, flat in H."""
        rest = point
        listed = self._starts[family] >= 0 if self._points.size else np.zeros((), dtype=bool)
        digits: list[Integers] = []
        for place in reversed(range(self._factors)):
            order, length = self._orders[place][family], self._lengths[place][family]
            beyond = piece == place
            radix = np.where(piece > place, length, np.where(beyond, order - length, order))
            radix = np.where(listed, order, radix)
            if place:
                rest, digit = np.divmod(rest, radix)
            else:
                digit = rest
            digits.append(np.where(beyond & ~listed, digit + length, digit))
        flat = np.zeros_like(family)
        for place, digit in enumerate(reversed(digits)):
            order = self._orders[place][family]
            turned = self._theta(place, family, codes) % order - digit
            flat = flat * order + np.where(turned < 0, turned + order, turned)
        return flat

    def _theta(self, place: int, family: Integers, codes: Codes) -> Integers:
        """Phase of one factor before it is reduced."""
        rows = np.arange(len(codes))
        total = np.zeros_like(family)
        for axes, steps in self._slots[place]:
            total += codes[rows, axes[family]] * steps[family]
        return total

    @cached_property
    def _slots(self) -> list[list[tuple[Integers, Integers]]]:
        """Per factor, for each of its axes: (axis, step) of every family; step 0 where none."""
        slots = []
        for place in range(self._factors):
            most = max(
                len(c.factors[place]) if place < len(c.factors) else 0 for c in self.table.clusters
            )
            slots.append([self._slot(place, number) for number in range(most)])
        return slots

    def _slot(self, place: int, number: int) -> tuple[Integers, Integers]:
        axes: list[NDArray[np.int64] | int] = []
        steps: list[NDArray[np.int64] | int] = []
        for cluster in self.table.clusters:
            factor = cluster.factors[place] if place < len(cluster.factors) else ()
            axes.append(factor[number] if number < len(factor) else 0)
            steps.append(
                cluster.steps[:, cluster.columns[factor[number]]] if number < len(factor) else 0
            )
        return self._column(axes), self._column(steps)
