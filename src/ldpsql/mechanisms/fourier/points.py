"""Public. Sees parameters. The points of a phase group: their numbers, and words per point.

Each point of the base set has exactly a of the 2^64 words, each point outside it b of them (the
last one a few more), with a <= E b. Specification: fourier, section 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ldpsql.errors import SurveyError
from ldpsql.mechanisms.draws import SPACE
from ldpsql.mechanisms.fourier.families import Cluster
from ldpsql.mechanisms.fourier.group import Integers


@dataclass(frozen=True)
class WordShares:
    """How many of the 2^64 words lead to each point of a phase group.

    size, phases: |B| and |H|.  inside: words per point of B.  outside: words per other point; the
    last one has `rest` more, which are fewer than |H| E.
    """

    size: int
    phases: int
    inside: int
    outside: int

    @classmethod
    def of(cls, size: int, phases: int, odds: Fraction) -> WordShares:
        """The largest shares with inside <= odds x outside; SurveyError if there are none."""
        outside = int(SPACE / (size * odds + phases - size))
        inside = int(odds * outside)
        found = cls(size, phases, inside, outside)
        fits = 0 < size < phases and 1 <= outside <= inside <= odds * outside
        if not fits or found.rest < 0:
            raise SurveyError("a family's words do not keep the promised odds")
        return found

    @property
    def threshold(self) -> int:
        """Words below it lead into B."""
        return self.size * self.inside

    @property
    def rest(self) -> int:
        """Words that are left over."""
        return SPACE - self.threshold - (self.phases - self.size) * self.outside

    def law(self) -> list[Fraction]:
        """Exact probabilities of the points of B, then of the others."""
        others = self.phases - self.size
        words = [self.inside] * self.size + [self.outside] * (others - 1)
        return [Fraction(count, SPACE) for count in [*words, self.outside + self.rest]]

    def odds(self) -> Fraction:
        """Largest ratio of two points' probabilities."""
        last = self.outside + self.rest
        least = self.outside if self.phases - self.size > 1 else last
        return max(Fraction(max(self.inside, last), least), Fraction(last, self.inside))


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
