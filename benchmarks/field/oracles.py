"""Counts of cells from a frequency oracle, drawn from the exact law of the sums.

OUE's bits are independent, so the number of set bits of a cell is a sum of two binomials. OLH has
the same variance with a shorter report; where a paper uses OLH, its reports are counted as OLH's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.field.questions import Choice, Floats, Integers, LocalHash, Response


def oue(counts: Integers, epsilon: float, random: np.random.Generator) -> Floats:
    """Unbiased shares of cells from how many people hold each; a person may hold none of them
    (trees).

    counts: shape (cells,); everybody who is asked is counted.
    """
    return oue_of(counts, int(counts.sum()), epsilon, random)


def oue_of(
    counts: Integers | int, people: int, epsilon: float, random: np.random.Generator
) -> Floats:
    """The same where `people` are asked, of whom the cells need not hold all."""
    low = 1.0 / (math.exp(epsilon) + 1.0)
    held = random.binomial(counts, 0.5) + random.binomial(people - np.asarray(counts), low)
    return np.asarray((held / people - low) / (0.5 - low))


def oue_variance(epsilon: float, people: float) -> float:
    """Of the share of a cell that nobody holds."""
    odds = math.exp(epsilon)
    return 4.0 * odds / (people * (odds - 1.0) ** 2)


def grr(counts: Integers, epsilon: float, random: np.random.Generator) -> Floats:
    """Unbiased shares of cells by randomized response."""
    cells, people = len(counts), int(counts.sum())
    other = 1.0 / (math.exp(epsilon) + cells - 1.0)
    kept = random.binomial(counts, math.exp(epsilon) * other)
    held = kept.copy()
    for cell, turned in enumerate((counts - kept).tolist()):
        away = random.multinomial(turned, np.full(cells - 1, 1.0 / (cells - 1)))
        held += np.insert(away, cell, 0)
    return np.asarray((held / people - other) / (math.exp(epsilon) * other - other))


def grr_is_better(cells: int, epsilon: float) -> bool:
    """Whether GRR has less variance than OUE and OLH."""
    return cells < 3.0 * math.exp(epsilon) + 2.0


def choose(cells: int, epsilon: float) -> Response:
    """GRR or OLH, whichever has less variance."""
    if grr_is_better(cells, epsilon):
        return Choice(cells, epsilon)
    return LocalHash.optimal(cells, epsilon)


def ask(counts: Integers, epsilon: float, random: np.random.Generator, *, adapt: bool) -> Floats:
    """By OUE's law, or, to adapt, by GRR's where that has less variance."""
    if adapt and grr_is_better(len(counts), epsilon):
        return grr(counts, epsilon, random)
    return oue(counts, epsilon, random)


@dataclass
class People:
    """Everybody in random order, to be dealt out: codes of one dimension, shape (people,)."""

    codes: Integers

    @classmethod
    def shuffle(cls, counts: Floats, random: np.random.Generator) -> People:
        """The people of a line."""
        return cls(random.permutation(np.repeat(np.arange(len(counts)), counts.astype(np.int64))))

    def within(self, part: slice, low: int, high: int) -> tuple[int, int]:
        """How many people of a part hold a code from low to high, both included; and how many there
        are."""
        own = self.codes[part]
        return int(np.count_nonzero((own >= low) & (own <= high))), len(own)


def deal(counts: Floats, groups: int, random: np.random.Generator) -> Iterator[Integers]:
    """The people of a table, dealt at random to groups of equal size: the table of each group."""
    left, shape = counts.ravel().astype(np.int64), counts.shape
    for group in range(groups, 1, -1):
        size = int(left.sum()) // group
        own = random.multivariate_hypergeometric(left, size, method="marginals")
        left = left - own
        yield own.reshape(shape)
    yield left.reshape(shape)
