"""Public. Sees parameters. Unary encodings: optimised (OUE) and symmetric (SUE).

Report K bits: the own node's bit is 1 with probability p, every other one with probability q.
OUE: p = 1/2, q = 1/(e + 1), where e = e^epsilon. SUE: p = s/(s + 1), q = 1/(s + 1), where
s = e^(epsilon/2). Source: Wang, Blocki, Li, Jha 2017; Erlingsson, Pihur, Korolova 2014;
specification h4mda, section 1.6, and shuffle, section 3.6. The bits travel in words of 32.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ldpsql.estimate import Array
from ldpsql.mechanisms.base import Codes, Entropy, Outcome
from ldpsql.mechanisms.draws import SPACE
from ldpsql.mechanisms.oracle import Support
from ldpsql.report import Rows
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError

WORD = 32
LARGEST_SLOT = 1024
_BLOCK = 1 << 22
_HALF = SPACE // 2
_DIGITS = 10**40


def words_of(nodes: int) -> int:
    """Words that hold a bit for every node."""
    return -(-nodes // WORD)


@dataclass(frozen=True)
class Oue:
    """OUE over slots of the given numbers of nodes (at most 1024 each).

    words: how many a report has at least; more where the largest slot needs them.
    """

    epsilon: Epsilon
    sizes: tuple[int, ...]
    words: int = 1

    def __post_init__(self) -> None:
        if max(self.sizes, default=1) > LARGEST_SLOT:
            raise SurveyError(
                f"a level combination has {max(self.sizes)} nodes, and "
                f"{type(self).__name__.upper()} sends a bit for each; "
                f'at most {LARGEST_SLOT} are allowed (oracle = "olh" has the same variance)'
            )

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """As many words as the largest slot needs, or more."""
        count = max(self.words, words_of(max(self.sizes)))
        return tuple(f"w{index}" for index in range(count))

    @cached_property
    def own_threshold(self) -> int:
        """Words below it set the own node's bit."""
        return _HALF

    @cached_property
    def threshold(self) -> int:
        """Words below it set another node's bit: the least t with (2^64 - t) / t <= e."""
        exact = SPACE / (1 + self.epsilon.odds)
        return -(-exact.numerator // exact.denominator)

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        """Exact probabilities that the own node's bit is set, and another one's."""
        return Fraction(self.own_threshold, SPACE), Fraction(self.threshold, SPACE)

    def limits(self, slot: int) -> tuple[int, ...]:
        """Each word holds 32 bits, the last one what is left; unused words hold 0."""
        left = self.sizes[slot]
        widths = (min(max(left - WORD * index, 0), WORD) for index in range(len(self.columns)))
        return tuple(1 << width for width in widths)

    def support(self, slot: int) -> Support:
        """Bits are independent, so joint probabilities are products."""
        p, q = self.own_threshold / SPACE, self.threshold / SPACE
        return Support(p, q, p * q, q * q)

    def respond(
        self, slots: NDArray[np.int64], nodes: Codes, entropy: Entropy
    ) -> list[NDArray[np.int64]]:
        """Device. One word of entropy per bit of the largest slot, for every person alike."""
        width = max(self.sizes)
        result = np.zeros((len(self.columns), len(nodes)), dtype=np.int64)
        used = np.array(self.sizes, dtype=np.int64)[slots]
        step = max(1, _BLOCK // width)
        for start in range(0, len(nodes), step):
            part = slice(start, start + step)
            people = len(nodes[part])
            words = entropy.words(people * width).reshape(people, width)
            bits = words < np.uint64(self.threshold)
            own = np.arange(people), nodes[part]
            bits[own] = words[own] < np.uint64(self.own_threshold)
            bits &= np.arange(width) < used[part, None]
            for index in range(len(self.columns)):
                chunk = bits[:, WORD * index : WORD * (index + 1)]
                result[index, part] = chunk @ (1 << np.arange(chunk.shape[1], dtype=np.int64))
        return list(result)

    def law(self, slot: int, node: int) -> Iterator[tuple[Outcome, Fraction]]:
        """Exact probability of each combination of words."""
        own, other = self.chances
        size = self.sizes[slot]
        for words in product(*(range(limit) for limit in self.limits(slot))):
            chance = Fraction(1)
            for bit in range(size):
                one = own if bit == node else other
                is_set = words[bit // WORD] >> (bit % WORD) & 1
                chance *= one if is_set else 1 - one
            yield words, chance

    def odds(self, slot: int) -> Fraction | None:
        """Two nodes differ in two bits: one set and the other not, against the reverse."""
        if self.sizes[slot] == 1:
            return Fraction(1)
        own, other = self.chances
        here, there = own * (1 - other), other * (1 - own)
        low, high = min(here, there), max(here, there)
        return high / low if low > 0 else None

    def supporters(self, slot: int, rows: Rows, nodes: Codes, folds: Sequence[Array]) -> Array:
        """Sums over the reports whose bit is set: the unary histogram holds them per bit."""
        bit = rows.columns[0]
        seen = bit >= 0
        size = self.sizes[slot]
        return np.array(
            [np.bincount(bit[seen], fold[seen], minlength=size)[nodes] for fold in folds]
        )


class Sue(Oue):
    """SUE over slots of the given numbers of nodes (at most 1024 each)."""

    @cached_property
    def own_threshold(self) -> int:
        """The largest t with (t / (2^64 - t))^2 <= e."""
        scaled = self.epsilon.odds * _DIGITS**2
        root = Fraction(math.isqrt(scaled.numerator // scaled.denominator), _DIGITS)
        return int(SPACE * root / (1 + root))

    @cached_property
    def threshold(self) -> int:
        """As likely as the own bit's staying 0."""
        return SPACE - self.own_threshold
