"""Public. Sees parameters. Hadamard randomized response (HRR).

Report a uniform row j of the Hadamard matrix of D = 2^k >= K columns and the entry (-1)^{j.x} of
the own node x, flipped with probability 1/(1 + e), where j.x counts the ones of j and x in common.
A report supports a node if its entry in row j is the reported one: two different nodes share an
entry in exactly half of the rows, and three nodes are independent in pairs, so the support
probabilities are exact. Source: Cormode, Kulkarni, Srivastava 2019; specification h4mda, 1.6.
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
from ldpsql.mechanisms.draws import SPACE, below, keep_threshold
from ldpsql.mechanisms.grr import law as grr_law
from ldpsql.mechanisms.grr import odds, perturb
from ldpsql.mechanisms.oracle import Support
from ldpsql.report import Rows
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError

LARGEST_SLOT = 1 << 22


@dataclass(frozen=True)
class Hrr:
    """HRR over slots of the given numbers of nodes."""

    epsilon: Epsilon
    sizes: tuple[int, ...]
    columns: tuple[str, ...] = ("j", "bit")

    def __post_init__(self) -> None:
        if max(self.sizes, default=1) > LARGEST_SLOT:
            raise SurveyError(
                f"a level combination has {max(self.sizes)} nodes, more than HRR's {LARGEST_SLOT};"
                " use coarser bins or fewer dimensions"
            )

    @cached_property
    def threshold(self) -> int:
        """The integer below which a 64-bit word means: report the true entry."""
        return keep_threshold(self.epsilon.odds, 2)

    @cached_property
    def orders(self) -> tuple[int, ...]:
        """D of each slot, a power of two."""
        return tuple(power_from(size) for size in self.sizes)

    def limits(self, slot: int) -> tuple[int, ...]:
        """The row and the entry (0 for +1, 1 for -1)."""
        return (self.orders[slot], 2)

    def support(self, slot: int) -> Support:
        """Half of the rows agree on two nodes, whatever the third."""
        p = self.threshold / SPACE
        return Support(p, 0.5, p / 2.0, 0.25)

    def respond(
        self, slots: NDArray[np.int64], nodes: Codes, entropy: Entropy
    ) -> list[NDArray[np.int64]]:
        """Device. Three words per person: the row, whether to lie, and the lie."""
        count = len(nodes)
        row = below(entropy.words(count), self._orders_array[slots])
        return [row, flip(self.threshold, parity(row, nodes), entropy)]

    @cached_property
    def _orders_array(self) -> NDArray[np.uint64]:
        return np.array(self.orders, dtype=np.uint64)

    def law(self, slot: int, node: int) -> Iterator[tuple[Outcome, Fraction]]:
        """Exact probability of each (row, entry)."""
        order = self.orders[slot]
        for row in range(order):
            entry = (row & node).bit_count() & 1
            for answer, chance in grr_law(self.threshold, 2, entry):
                yield (row, answer), chance / order

    def odds(self, slot: int) -> Fraction | None:
        """Those of randomized response on one bit."""
        return Fraction(1) if self.sizes[slot] == 1 else odds(self.threshold, 2, 2)

    def supporters(self, slot: int, rows: Rows, nodes: Codes, folds: Sequence[Array]) -> Array:
        """(reports + reports that agree - reports that do not) / 2, by one Hadamard transform."""
        row, bit = rows.columns[-2:]
        order = self.orders[slot]
        found = []
        for fold in folds:
            signed = np.bincount(row, fold * (1.0 - 2.0 * bit), minlength=order)
            found.append((fold.sum() + hadamard(signed)[nodes]) / 2.0)
        return np.array(found)


def power_from(size: int) -> int:
    """The least power of two that is at least `size`."""
    return 1 << max(size - 1, 0).bit_length()


def parity(row: Codes, node: Codes) -> Codes:
    """0 where the Hadamard entry is +1, 1 where it is -1."""
    return np.asarray(np.bitwise_count(row & node) & 1, dtype=np.int64)


def flip(threshold: int, bits: Codes, entropy: Entropy) -> Codes:
    """Device. Randomized response on one bit per person; two words each."""
    count = len(bits)
    thresholds = np.full(count, threshold, dtype=np.uint64)
    return perturb(thresholds, np.full(count, 2, dtype=np.int64), bits, entropy)


def hadamard(values: NDArray[np.generic]) -> Array:
    """sum over j of (-1)^{j.x} values[j] for every x; the length is a power of two."""
    result, width = values.astype(np.float64), 1
    while width < len(result):
        pairs = result.reshape(-1, 2, width)
        result = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
        width *= 2
    return result
