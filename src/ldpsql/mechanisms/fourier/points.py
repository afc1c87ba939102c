"""Public. Sees parameters. The points of a phase group: their numbers, and words per point.

Each point of the base set has exactly a of the 2^64 words, each point outside it b or b + 1 of
them, with a <= E b. Specification: fourier, section 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ldpsql.mechanisms.draws import SPACE
from ldpsql.mechanisms.fourier.families import Cluster
from ldpsql.mechanisms.fourier.group import Integers
from ldpsql_device.errors import SurveyError

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
