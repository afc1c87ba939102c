"""Public. Sees parameters. Exact draws from 64-bit words, and their exact probabilities.

Each draw takes a fixed number of words and a fixed number of steps, whatever its outcome, so
that nothing about a value can be read from how long a draw took.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpsql.mechanisms.base import Words

SPACE = 1 << 64
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def below(words: Words, bounds: NDArray[np.uint64] | int) -> NDArray[np.int64]:
    """floor(word * bound / 2^64): uniform on 0..bound-1 up to 2^-32, for bounds up to 2^32.

    The 128-bit product is put together from two halves of the word.
    """
    bound = np.asarray(bounds, dtype=np.uint64)
    high = (words >> _HALF) * bound
    low = ((words & _LOW) * bound) >> _HALF
    return ((high + low) >> _HALF).astype(np.int64)


def probability_below(outcome: int, bound: int) -> Fraction:
    """Exact probability that `below` gives `outcome`: its preimages among the 2^64 words."""
    first = -(-outcome * SPACE // bound)
    last = -(-(outcome + 1) * SPACE // bound)
    return Fraction(last - first, SPACE)


def extremes_below(bound: int, outcomes: int) -> tuple[Fraction, Fraction]:
    """Least and largest exact probability of the first `outcomes` outcomes of `below`.

    Each has floor or ceil of 2^64 / bound preimages, and the first o of them have
    ceil(o * 2^64 / bound) together.
    """
    least, rest = divmod(SPACE, bound)
    larger = -(-outcomes * rest // bound)
    low, high = least + (larger == outcomes), least + (larger > 0)
    return Fraction(low, SPACE), Fraction(high, SPACE)


@dataclass(frozen=True)
class WeightedChoice:
    """One of several outcomes by one word; the weights are parts of 2^64 and add up to it."""

    weights: tuple[int, ...]

    @cached_property
    def _last_words(self) -> Words:
        """Per outcome the last word that means it."""
        ends = np.cumsum([0, *self.weights], dtype=object)[1:]
        return np.array([int(end) - 1 for end in ends], dtype=np.uint64)

    def choose(self, words: Words) -> NDArray[np.int64]:
        """The outcome of each word."""
        return np.searchsorted(self._last_words, words).astype(np.int64)

    def probability(self, outcome: int) -> Fraction:
        """Exact probability of an outcome."""
        return Fraction(self.weights[outcome], SPACE)


def weights_of(shares: Sequence[int]) -> tuple[int, ...]:
    """Whole-number shares scaled to parts of 2^64; the first takes what rounding leaves."""
    total = sum(shares)
    weights = [SPACE * share // total for share in shares]
    return (weights[0] + SPACE - sum(weights), *weights[1:])


def whole_shares(shares: NDArray[np.float64]) -> list[int]:
    """Shares as whole numbers, none of them nothing."""
    return [max(1, round(share * (1 << 52))) for share in shares.tolist()]


def least_preimages(bound: int) -> int:
    """Number of words that give the least likely outcome of `below`."""
    return SPACE // bound


def keep_threshold(odds: Fraction, size: int) -> int:
    """Largest t such that answering truthfully iff word < t keeps every pair of reports within
    `odds`, when each other one of `size` answers is drawn by `below(word, size - 1)`.

    The truthful answer has probability t / 2^64, another one at least
    (1 - t / 2^64) * least / 2^64 with least = floor(2^64 / (size - 1)).
    """
    if size == 1:
        return SPACE - 1
    least = least_preimages(size - 1)
    return int(odds * SPACE * least / (SPACE + odds * least))
