"""Public. Sees parameters. Optimal local hashing (OLH) over a complete affine hash family.

Each person draws a hash function from K nodes to g = round(e^epsilon) + 1 values, hashes the
own node, and reports the function together with GRR over the g values. Source: Wang, Blocki, Li,
Jha 2017; specification h4mda, section 1.6.

The family is h(k) = ((a x_k + c) mod P) mod g, with P the smallest prime >= K, a in 1..P-1 and c
in 0..P-1 drawn anew by each person, and x_k = k^-1 mod P (0 for k = 0). It is complete, so its
collision probabilities are known exactly: (a x_k + c) runs evenly over all pairs of different
residues. Three nodes k, k', k'' would not be mapped independently under x_k = k, where
neighbouring nodes collide together and the variance of a range could be a third above what two
nodes at a time tell; the inverse spreads neighbours out, and the exact third moment of distinct
residues then fits within a few percent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpsql.estimate import Array
from ldpsql.mechanisms.base import Codes, Entropy, Outcome
from ldpsql.mechanisms.draws import SPACE, below, keep_threshold, probability_below
from ldpsql.mechanisms.grr import law as grr_law
from ldpsql.mechanisms.grr import odds as grr_odds
from ldpsql.mechanisms.grr import perturb
from ldpsql.mechanisms.oracle import Support
from ldpsql.report import Rows
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError

LARGEST_SLOT = 1 << 22
_DENSE = 1 << 22
_BLOCK = 1 << 21
_TILE_NODES, _TILE_REPORTS = 1 << 12, 1 << 5  # a tile of 8-byte words that stays in the cache


@dataclass(frozen=True)
class Olh:
    """OLH over slots of the given numbers of nodes."""

    epsilon: Epsilon
    sizes: tuple[int, ...]
    columns: tuple[str, ...] = ("a", "c", "y")

    def __post_init__(self) -> None:
        if max(self.sizes, default=1) > LARGEST_SLOT:
            raise SurveyError(
                f"a level combination has {max(self.sizes)} nodes, more than OLH's {LARGEST_SLOT};"
                " use coarser bins or fewer dimensions"
            )

    @cached_property
    def values(self) -> int:
        """g, the number of hash values."""
        return max(2, math.floor(self.epsilon.odds + Fraction(3, 2)))

    @cached_property
    def threshold(self) -> int:
        """The integer below which a 64-bit word means: report the true hash value."""
        return keep_threshold(self.epsilon.odds, self.values)

    @cached_property
    def primes(self) -> tuple[int, ...]:
        """P of each slot."""
        return tuple(_prime_from(size) for size in self.sizes)

    def limits(self, slot: int) -> tuple[int, ...]:
        """a - 1, c and the reported hash value."""
        return (self.primes[slot] - 1, self.primes[slot], self.values)

    def support(self, slot: int) -> Support:
        """Exact p, q and joint_own; joint_other exact over triples of different residues."""
        g, prime = self.values, self.primes[slot]
        p = self.threshold / SPACE
        lie = (1.0 - p) / (g - 1)
        residues, larger = divmod(prime, g)
        # (residues in a hash value, hash values with so many); one by one there may be e^20 of them
        filled = ((residues, g - larger), (residues + 1, larger))
        pairs = sum(m * n * (n - 1) for n, m in filled) / (prime * (prime - 1))
        q = pairs * p + (1.0 - pairs) * lie
        if prime == 2:
            return Support(p, q, pairs * p, q * q)
        triples = prime * (prime - 1) * (prime - 2)
        all_three = sum(m * n * (n - 1) * (n - 2) for n, m in filled) / triples
        two_apart = sum(m * (prime - n) * n * (n - 1) for n, m in filled) / triples
        return Support(p, q, pairs * p, all_three * p + two_apart * lie)

    def respond(
        self, slots: NDArray[np.int64], nodes: Codes, entropy: Entropy
    ) -> list[NDArray[np.int64]]:
        """Device. Four words per person: a, c, whether to lie, and the lie."""
        count = len(nodes)
        prime = self._primes_array[slots]
        words = entropy.words(2 * count)
        a = below(words[:count], (prime - 1).astype(np.uint64))
        c = below(words[count:], prime.astype(np.uint64))
        hashed = ((a + 1) * self._labels(slots, nodes, prime) + c) % prime % self.values
        threshold = np.full(count, self.threshold, dtype=np.uint64)
        y = perturb(threshold, np.full(count, self.values, dtype=np.int64), hashed, entropy)
        return [a, c, y]

    @cached_property
    def _primes_array(self) -> NDArray[np.int64]:
        return np.array(self.primes, dtype=np.int64)

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    @cached_property
    def _table(self) -> NDArray[np.int64]:
        """x_k for all nodes of all slots, one after the other."""
        parts = [
            _inverse(np.arange(size, dtype=np.int64), prime)
            for size, prime in zip(self.sizes, self.primes, strict=True)
        ]
        return np.concatenate(parts)

    def _labels(self, slots: NDArray[np.int64], nodes: Codes, prime: Codes) -> Codes:
        """x_k, from the table where that pays. Which way is taken depends on public sizes only."""
        if len(nodes) < self._starts[-1]:
            return _inverse(nodes, prime)
        labels: Codes = self._table[self._starts[slots] + nodes]
        return labels

    def law(self, slot: int, node: int) -> Iterator[tuple[Outcome, Fraction]]:
        """Exact probability of each (a - 1, c, y)."""
        prime = self.primes[slot]
        label = int(_inverse(np.array([node], dtype=np.int64), prime)[0])
        held = range(min(prime, self.values))
        answers = [dict(grr_law(self.threshold, self.values, h)) for h in held]
        for a in range(prime - 1):
            for c in range(prime):
                drawn = probability_below(a, prime - 1) * probability_below(c, prime)
                hashed = ((a + 1) * label + c) % prime % self.values
                for y in range(self.values):
                    yield (a, c, y), drawn * answers[hashed][y]

    def odds(self, slot: int) -> Fraction | None:
        """Those of randomized response over the hash values that the slot's nodes can have.

        Two nodes are two residues, and run through all pairs of different ones: some function
        gives them any two of the values that are residues at all.
        """
        held = 1 if self.sizes[slot] == 1 else min(self.primes[slot], self.values)
        return grr_odds(self.threshold, self.values, held)

    def supporters(self, slot: int, rows: Rows, nodes: Codes, folds: Sequence[Array]) -> Array:
        """Sums of each fold over the reports (a, c, y) with h_ac(node) = y."""
        prime = self.primes[slot]
        labels = _inverse(nodes, prime)
        direct = len(rows.counts) * len(nodes)
        if prime * len(nodes) + prime * prime > max(direct, _DENSE):
            return self._supporters_by_row(prime, rows, labels, folds)
        return self._supporters_by_function(prime, rows, labels, folds)

    def _supporters_by_row(
        self, prime: int, rows: Rows, labels: Codes, folds: Sequence[Array]
    ) -> Array:
        """Hash every node with every report's function: O(reports x nodes).

        A report's nodes are an interval of residues (see `_intervals`). A residue modulo P is
        compared as the fraction r / P of 2^64, which a multiplication that overflows leaves behind;
        no division is left in the inner loop. Slope and start are rounded up, so a fraction is too
        large by less than P + 1, and two of them differ by more than that as P^2 + P < 2^64.
        """
        turned, start, length = self._intervals(prime, rows, labels)
        slopes = _fractions(rows.columns[0] + 1, prime, up=True)[:, None]
        starts = _fractions(-start % prime, prime, up=True)[:, None]
        limits = _fractions(length, prime, up=False)[:, None]
        weighted, places = np.array(folds), turned.astype(np.uint64)
        result = np.zeros((len(folds), len(labels)))
        for first in range(0, len(labels), _TILE_NODES):
            columns = slice(first, first + _TILE_NODES)
            across = places[columns]
            for top in range(0, len(slopes), _TILE_REPORTS):
                part = slice(top, top + _TILE_REPORTS)
                found = slopes[part] * across
                found += starts[part]
                result[:, columns] += weighted[:, part] @ (found < limits[part])
        return result

    def _intervals(self, prime: int, rows: Rows, labels: Codes) -> tuple[Codes, Codes, Codes]:
        """Residues of the labels, and first residue and length of each report's interval.

        A report supports x iff a x mod P is one of y - c, y - c + g, y - c + 2g, ... Divided by g
        modulo P these are consecutive residues.
        """
        g = self.values
        stride = 1 if prime <= g else pow(g, -1, prime)
        _, c, y = rows.columns
        length = np.where(y < prime, (prime - 1 - y) // g + 1, 0)
        return labels * stride % prime, (y - c) * stride % prime, length

    def _supporters_by_function(
        self, prime: int, rows: Rows, labels: Codes, folds: Sequence[Array]
    ) -> Array:
        """Add up equal a first: O(reports + P^2 + P x nodes), independent of the reports' number.

        The counts of intervals (see `_intervals`) are added up by a difference array in one pass.
        """
        turned, start, length = self._intervals(prime, rows, labels)
        a, end = rows.columns[0], start + length
        wraps = end > prime
        result = np.zeros((len(folds), len(labels)))
        for number, fold in enumerate(folds):
            steps = np.bincount(a * (prime + 1) + start, fold, minlength=(prime - 1) * (prime + 1))
            steps -= np.bincount(
                a * (prime + 1) + np.where(wraps, end - prime, end), fold, minlength=len(steps)
            )
            table = steps.reshape(prime - 1, prime + 1)
            table[:, 0] += np.bincount(a[wraps], fold[wraps], minlength=prime - 1)
            table = np.cumsum(table, axis=1)
            block = max(1, _BLOCK // max(1, len(labels)))
            for first in range(0, prime - 1, block):
                slopes = np.arange(first + 1, min(first + block, prime - 1) + 1)[:, None]
                part = table[first : first + block]
                result[number] += np.take_along_axis(part, slopes * turned % prime, axis=1).sum(0)
        return result


@dataclass(frozen=True)
class Solh(Olh):
    """Local hashing to a given number of values, for reports that will be shuffled.

    Source: Wang et al., PVLDB 2020; specification shuffle, section 3.6.
    """

    hash_values: int = 2

    @cached_property
    def values(self) -> int:
        """g, as it was chosen."""
        return self.hash_values

    def collision(self, slot: int) -> Fraction:
        """Least probability that two nodes have one hash value, a little rounded down.

        Exact for a drawn evenly from 1..P-1 and c from 0..P-1; the draws are even up to 2^-32.
        """
        g, prime = self.values, self.primes[slot]
        size, larger = divmod(prime, g)
        pairs = (g - larger) * size * (size - 1) + larger * (size + 1) * size
        return Fraction(pairs, prime * (prime - 1)) * (1 - Fraction(1, 1 << 30))


def _inverse(nodes: Codes, prime: Codes | int) -> Codes:
    """k^-1 modulo a prime below 2^31, and 0 for 0: k^(P-2) by repeated squaring.

    The number of steps depends on the largest prime only.
    """
    modulus = np.broadcast_to(np.asarray(prime, dtype=np.int64), nodes.shape)
    if not nodes.size:
        return nodes
    exponent = np.maximum(modulus - 2, 0)
    base, result = nodes % modulus, np.ones_like(nodes)
    for _ in range(int(exponent.max()).bit_length()):
        result = np.where(exponent & 1, result * base % modulus, result)
        base = base * base % modulus
        exponent = exponent >> 1
    return np.where(nodes == 0, 0, result % modulus)


def _fractions(residues: Codes, prime: int, *, up: bool) -> NDArray[np.uint64]:
    """2^64 r / P, rounded up or down, for residues r below a prime P below 2^31."""
    whole, rest = divmod(1 << 64, prime)
    words = residues.astype(np.uint64)
    parts = words * np.uint64(rest) + np.uint64(prime - 1 if up else 0)
    return words * np.uint64(whole) + parts // np.uint64(prime)


def _prime_from(size: int) -> int:
    """The smallest prime >= max(size, 2)."""
    candidate = max(size, 2)
    while any(candidate % divisor == 0 for divisor in range(2, math.isqrt(candidate) + 1)):
        candidate += 1
    return candidate
