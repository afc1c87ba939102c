"""Drawing a report: exact, in a fixed number of steps.

A report takes 96 random bits. 32 of them choose the family by Walker's alias method, whose weights
are multiples of 2^-32. The other 64 choose the offset: each point of the base set has exactly a of
the 2^64 words, each point outside it b or b + 1 of them, with a <= E b. No number of steps and no
number of random bits depends on the record. Source: docs/spec/fourier.md#3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsql.decoders.fourier.families import Cluster, FamilyTable
from ldpsql.decoders.fourier.group import Integers
from ldpsql.mechanisms.base import Codes, Entropy, Words
from ldpsql.mechanisms.draws import SPACE
from ldpsql_device.errors import SurveyError


@dataclass(frozen=True, eq=False)
class Alias:
    """2^bits slots of equal probability, each shared by at most two families.

    A slot stands for 2^(32 - bits) of the 2^32 units of weight: the first `cuts` of them belong to
    the family of the slot's number, the others to `second`. Source: Walker 1977, Vose 1991, in
    whole numbers.
    """

    bits: int
    cuts: NDArray[np.uint32]
    second: Integers

    @classmethod
    def of(cls, weights: Sequence[int]) -> Alias:
        """From whole weights that sum to 2^32."""
        bits = max(len(weights) - 1, 1).bit_length()
        room = 1 << (32 - bits)
        left = [*weights, *(0 for _ in range((1 << bits) - len(weights)))]
        cuts, second = [0] * len(left), list(range(len(left)))
        small = [slot for slot, weight in enumerate(left) if weight < room]
        large = [slot for slot, weight in enumerate(left) if weight >= room]
        while small:
            slot, donor = small.pop(), large[-1]
            cuts[slot], second[slot] = left[slot], donor
            left[donor] -= room - left[slot]
            if left[donor] < room:
                small.append(large.pop())
        return cls(
            bits,
            np.array([min(cut, room - 1) for cut in cuts], dtype=np.uint32),
            np.array(second),
        )

    def chances(self, families: int) -> list[int]:
        """Units of weight that lead to each family."""
        room = 1 << (32 - self.bits)
        found = [0] * families
        for slot, (cut, second) in enumerate(zip(self.cuts, self.second, strict=True)):
            if cut:
                found[slot] += int(cut)
            if room - cut:
                found[int(second)] += room - int(cut)
        return found


LARGEST_LOSS = Fraction(1, 1 << 20)


@dataclass(frozen=True)
class WordShares:
    """How many of the 2^64 words lead to each point of a phase group.

    size, phases: |B| and |H|.  inside: words per point of B.  outside: words per other point, of
    which the first `longer` have one more.
    """

    size: int
    phases: int
    inside: int
    outside: int
    longer: int

    @classmethod
    def of(cls, size: int, phases: int, odds: Fraction) -> WordShares:
        """The largest shares whose odds do not exceed the promised ones.

        SurveyError if there are none, or if whole words are too coarse for such odds: the points
        outside take what rounding leaves, which changes the probability of no set of points by
        more than LARGEST_LOSS.
        """
        others = phases - size
        if not 0 < size < phases:
            raise SurveyError("a base set must be neither empty nor everything")
        least = int(SPACE / (size * odds + others))
        inside = int(odds * least)
        outside, longer = divmod(SPACE - size * inside, others)
        found = cls(size, phases, inside, outside, longer)
        if min(inside, least) < 1 or found.odds() > odds:
            raise SurveyError("a family's words do not keep the promised odds")
        if (size * odds + phases) / SPACE > LARGEST_LOSS:
            raise SurveyError("a family has too many phases for so large an epsilon")
        return found

    @property
    def threshold(self) -> int:
        """Words below it lead into B."""
        return self.size * self.inside

    def law(self) -> list[Fraction]:
        """Exact probabilities of the points of B, then of the others."""
        others = self.phases - self.size - self.longer
        words = [self.inside] * self.size + [self.outside + 1] * self.longer
        return [Fraction(count, SPACE) for count in [*words, *([self.outside] * others)]]

    def odds(self) -> Fraction:
        """Largest ratio of two points' probabilities."""
        most = self.outside + (self.longer > 0)
        return Fraction(max(self.inside, most), min(self.inside, self.outside))


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


_SMALL = 1 << 31
_FEW_AXES = 4

Whole = NDArray[Any]
"""int32, or int64 where products could exceed it."""


@dataclass(frozen=True, eq=False)
class Sampler:
    """The table of a design laid out for drawing, one column per quantity of a family.

    odds: rational lower bound of e^epsilon.
    """

    table: FamilyTable
    odds: Fraction

    def draw(self, codes: Codes, entropy: Entropy) -> tuple[Integers, Integers]:
        """(family, phase) of every row of codes, shape (n, axes)."""
        count = len(codes)
        words = entropy.words(count + (count + 1) // 2)
        family = self._family(words[count:].view(np.uint32)[:count])
        index, truthful = self._index(family, words[:count])
        index, piece = self._pieced(family, index, truthful)
        return family, self._phase(family, codes, index, piece, truthful)

    # -- which family -------------------------------------------------------------------------

    def _family(self, halves: NDArray[np.uint32]) -> Integers:
        """Walker's alias method: a slot, and which of its two families."""
        slot = (halves >> np.uint32(32 - self._alias.bits)).astype(np.intp)
        low = halves & np.uint32((1 << (32 - self._alias.bits)) - 1)
        own = low < self._alias.cuts.take(slot)
        return np.asarray(np.where(own, slot, self._alias.second.take(slot)))

    @cached_property
    def _alias(self) -> Alias:
        return Alias.of(self.table.weights)

    # -- which point --------------------------------------------------------------------------

    @cached_property
    def shares(self) -> list[WordShares]:
        """Of every family."""
        pairs = list(zip(self.table.sizes.tolist(), self.table.phases.tolist(), strict=True))
        found = {pair: WordShares.of(*pair, self.odds) for pair in set(pairs)}
        return [found[pair] for pair in pairs]

    def _words_of(self, take: Callable[[WordShares], int]) -> Words:
        return np.array([take(share) for share in self.shares], dtype=np.uint64)

    @cached_property
    def _thresholds(self) -> Words:
        return self._words_of(lambda share: share.threshold)

    @cached_property
    def _inside(self) -> Words:
        return self._words_of(lambda share: share.inside)

    @cached_property
    def _outside(self) -> Words:
        return self._words_of(lambda share: share.outside)

    @cached_property
    def _longer(self) -> Words:
        return self._words_of(lambda share: share.longer)

    @cached_property
    def _cuts(self) -> Words:
        """Words beyond the threshold that lead to the longer points."""
        return self._words_of(lambda share: share.longer * (share.outside + 1))

    def _index(self, family: Integers, words: Words) -> tuple[Whole, NDArray[np.bool_]]:
        """Number of the point among those of B, or among the others, and whether it is in B."""
        threshold, cut = self._thresholds.take(family), self._cuts.take(family)
        truthful = words < threshold
        beyond = words - threshold * ~truthful
        short = ~truthful & (beyond >= cut)
        beyond -= cut * short
        outside = self._outside.take(family) + ~short
        index = beyond // np.where(truthful, self._inside.take(family), outside)
        index += self._longer.take(family) * short
        return index.astype(self._whole), truthful

    def _pieced(
        self, family: Integers, index: Whole, truthful: NDArray[np.bool_]
    ) -> tuple[Whole, Whole]:
        """Number of a point in its piece, and the piece; P stands for the base set."""
        piece = truthful * self._whole(self._factors)
        for place, size in enumerate(self._pieces[:-1]):
            own = size.take(family)
            beyond = ~truthful & (piece == place) & (index >= own)
            index = index - own * beyond
            piece += beyond
        return index, piece

    # -- columns ------------------------------------------------------------------------------

    @cached_property
    def _whole(self) -> type[np.signedinteger[Any]]:
        """The type that no product of a step and a code can exceed."""
        group = self.table.clusters[0].group
        largest = max(max(cluster.orders) for cluster in self.table.clusters)
        product = largest * max(group.orders) * len(group.orders)
        phases = int(self.table.phases.max())
        return np.int32 if max(product, phases) < _SMALL else np.int64

    @cached_property
    def _factors(self) -> int:
        """Largest number of factors of a family."""
        return max(len(cluster.factors) for cluster in self.table.clusters)

    def _column(self, values: Sequence[NDArray[np.int64] | int]) -> Whole:
        """One value per family from one per cluster."""
        lengths = [len(cluster) for cluster in self.table.clusters]
        column = np.concatenate(
            [np.broadcast_to(np.asarray(v), n) for v, n in zip(values, lengths, strict=True)]
        )
        return column.astype(self._whole)

    @cached_property
    def _orders(self) -> list[Whole]:
        """r_p of every family; 1 for a factor that it does not have."""
        return [
            self._column([c.orders[p] if p < len(c.orders) else 1 for c in self.table.clusters])
            for p in range(self._factors)
        ]

    @cached_property
    def _lengths(self) -> list[Whole]:
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
    def _pieces(self) -> list[Whole]:
        """Points of each piece outside the base set; a listed family has all in the first."""
        listed = self._starts >= 0
        found = []
        for place in range(self._factors):
            size = self._orders[place] - self._lengths[place]
            for q in range(self._factors):
                if q != place:
                    size = size * (self._lengths[q] if q < place else self._orders[q])
            everything = self.table.phases if place == 0 else 0
            found.append(np.where(listed, everything, size).astype(self._whole))
        return found

    @cached_property
    def _starts(self) -> Integers:
        """Where a listed family's points begin in `_points`; -1 for arcs."""
        starts = [np.zeros(0, dtype=np.int64)]
        position = 0
        for cluster in self.table.clusters:
            if cluster.base == "arcs":
                starts.append(np.full(len(cluster), -1))
                continue
            starts.append(position + cluster.phases * np.arange(len(cluster)))
            position += cluster.phases * len(cluster)
        return np.concatenate(starts)

    @cached_property
    def _points(self) -> Whole:
        """The points of all listed families, each family's base set first."""
        found = [
            offsets(cluster, number)
            for cluster in self.table.clusters
            if cluster.base != "arcs"
            for number in range(len(cluster))
        ]
        return np.concatenate([np.zeros(0, dtype=np.int64), *found]).astype(self._whole)

    # -- which phase --------------------------------------------------------------------------

    def _phase(
        self,
        family: Integers,
        codes: Codes,
        index: Whole,
        piece: Whole,
        truthful: NDArray[np.bool_],
    ) -> Integers:
        """theta(u) - offset, flat in H."""
        listed = None
        if self._points.size:
            listed = self._starts.take(family) >= 0
            index = self._looked_up(family, index, truthful, listed)
        orders = [order.take(family) for order in self._orders]
        digits = self._digits(family, orders, index, piece, listed)
        flat = np.zeros(len(codes), dtype=self._whole)
        columns = np.ascontiguousarray(codes.T, dtype=self._whole)
        for place, (order, digit) in enumerate(zip(orders, digits, strict=True)):
            turned = self._theta(place, family, columns) % order - digit
            flat = flat * order + turned + order * (turned < 0)
        return flat

    def _looked_up(
        self,
        family: Integers,
        index: Whole,
        truthful: NDArray[np.bool_],
        listed: NDArray[np.bool_],
    ) -> Whole:
        """The flat point of listed families; the index itself for arcs."""
        place = np.where(truthful, index, index + self.table.sizes.take(family))
        return np.where(
            listed, self._points[np.where(listed, self._starts.take(family) + place, 0)], index
        )

    def _digits(
        self,
        family: Integers,
        orders: Sequence[Whole],
        index: Whole,
        piece: Whole,
        listed: NDArray[np.bool_] | None,
    ) -> list[Whole]:
        """The point's coordinate in every factor."""
        digits: list[Whole] = []
        for place in reversed(range(self._factors)):
            order, length = orders[place], self._lengths[place].take(family)
            beyond = piece == place
            digit = index
            if place:
                radix = order - length * beyond
                radix += (length - order) * (piece > place)
                radix = radix if listed is None else np.where(listed, order, radix)
                rest = index // radix
                index, digit = rest, index - rest * radix
            if listed is not None:
                beyond &= ~listed
            digits.append(digit + length * beyond)
        return digits[::-1]

    def _theta(self, place: int, family: Integers, columns: Whole) -> Whole:
        """Phase of one factor before it is reduced; columns: codes by axis, shape (axes, n)."""
        total = np.zeros(len(family), dtype=self._whole)
        rows = np.arange(len(family))
        for axis, steps in self._slots[place]:
            codes = columns[axis] if isinstance(axis, int) else columns[axis[family], rows]
            total += codes * steps.take(family)
        return total

    @cached_property
    def _slots(self) -> list[list[tuple[int | Integers, Whole]]]:
        """Per factor what its phase adds up: (axis, step of every family), step 0 where none.

        One axis for all families where they use few, else one axis per family.
        """
        return [self._slots_of(place) for place in range(self._factors)]

    def _slots_of(self, place: int) -> list[tuple[int | Integers, Whole]]:
        factors = [c.factors[place] if place < len(c.factors) else () for c in self.table.clusters]
        used = sorted({axis for factor in factors for axis in factor})
        if len(used) <= _FEW_AXES:
            return [
                (axis, self._steps([axis if axis in f else None for f in factors])) for axis in used
            ]
        most = max(map(len, factors))
        numbered = [[f[n] if n < len(f) else None for f in factors] for n in range(most)]
        return [
            (self._column([axis or 0 for axis in axes]).astype(np.int64), self._steps(axes))
            for axes in numbered
        ]

    def _steps(self, axes: Sequence[int | None]) -> Whole:
        """What one code of an axis, one per cluster, adds to its phase; 0 where there is none."""
        return self._column(
            [
                0 if axis is None else cluster.steps[:, cluster.columns[axis]]
                for cluster, axis in zip(self.table.clusters, axes, strict=True)
            ]
        )
