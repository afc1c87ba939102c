"""Public. Sees parameters. Generalised randomized response (GRR, k-ary randomized response).

Report the true node with probability e/(e + K - 1), each other node with 1/(e + K - 1), where
e = e^epsilon. Source: Kairouz, Oh, Viswanath 2014; specification h4mda, section 1.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpsql.estimate import Array
from ldpsql.mechanisms.base import Codes, Entropy, Outcome
from ldpsql.mechanisms.draws import (
    SPACE,
    below,
    extremes_below,
    keep_threshold,
    probability_below,
)
from ldpsql.mechanisms.oracle import Support
from ldpsql.report import Rows
from ldpsql_device.epsilon import Epsilon


@dataclass(frozen=True)
class Grr:
    """GRR over slots of the given numbers of nodes."""

    epsilon: Epsilon
    sizes: tuple[int, ...]
    columns: tuple[str, ...] = ("y",)

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        """Per slot, the integer below which a 64-bit word means: tell the truth."""
        return tuple(keep_threshold(self.epsilon.odds, size) for size in self.sizes)

    def limits(self, slot: int) -> tuple[int, ...]:
        """The number of nodes."""
        return (self.sizes[slot],)

    def support(self, slot: int) -> Support:
        """A report supports the node that it names; no two nodes at once."""
        size = self.sizes[slot]
        if size == 1:
            return Support(1.0, 0.0, 0.0, 0.0)
        p = self.thresholds[slot] / SPACE
        return Support(p, (1.0 - p) / (size - 1), 0.0, 0.0)

    def respond(
        self, slots: NDArray[np.int64], nodes: Codes, entropy: Entropy
    ) -> list[NDArray[np.int64]]:
        """Device. Two words per person: whether to tell the truth, and the other answer."""
        return [perturb(self._thresholds_array[slots], self._sizes_array[slots], nodes, entropy)]

    @cached_property
    def _thresholds_array(self) -> NDArray[np.uint64]:
        return np.array(self.thresholds, dtype=np.uint64)

    @cached_property
    def _sizes_array(self) -> NDArray[np.int64]:
        return np.array(self.sizes, dtype=np.int64)

    def law(self, slot: int, node: int) -> Iterator[tuple[Outcome, Fraction]]:
        """Exact probability of each answer."""
        for answer, chance in law(self.thresholds[slot], self.sizes[slot], node):
            yield (answer,), chance

    def odds(self, slot: int) -> Fraction | None:
        """Those of randomized response over all nodes."""
        return odds(self.thresholds[slot], self.sizes[slot], self.sizes[slot])

    def supporters(self, slot: int, rows: Rows, nodes: Codes, folds: Sequence[Array]) -> Array:
        """How often each node was named."""
        named = rows.columns[-1]
        counted = [np.bincount(named, fold, minlength=self.sizes[slot])[nodes] for fold in folds]
        return np.array(counted)


def perturb(
    thresholds: NDArray[np.uint64],
    sizes: NDArray[np.int64],
    answers: Codes,
    entropy: Entropy,
) -> NDArray[np.int64]:
    """Randomized response, one row per person: true answer, threshold and number of answers.

    The other answer is drawn among size - 1 and moved past the true one; where there is no other
    answer (size 1) the bound is 1 and the answer stays 0.
    """
    count = len(answers)
    words = entropy.words(2 * count)
    lie = words[:count] >= thresholds
    other = below(words[count:], np.maximum(sizes - 1, 1).astype(np.uint64))
    other += other >= answers
    return np.where(lie & (sizes > 1), other, answers)


def law(threshold: int, size: int, answer: int) -> Iterator[tuple[int, Fraction]]:
    """Exact probabilities of `perturb` for one true answer."""
    if size == 1:
        yield 0, Fraction(1)
        return
    truth = Fraction(threshold, SPACE)
    for other in range(size):
        if other == answer:
            yield other, truth
        else:
            drawn = other - (other > answer)
            yield other, (1 - truth) * probability_below(drawn, size - 1)


def odds(threshold: int, size: int, held: int) -> Fraction | None:
    """Exact worst odds of `perturb` where the true answers are the first `held` of `size`.

    An answer y has the probability t under itself, and that of drawing y or y - 1 of size - 1
    under the others. None if some answer tells two true ones apart for certain.
    """
    if held == 1:
        return Fraction(1)
    truth = Fraction(threshold, SPACE)
    least, most = ((1 - truth) * chance for chance in extremes_below(size - 1, held - 1))
    low, high = min(truth, least), max(truth, most)
    return high / low if low > 0 else None
