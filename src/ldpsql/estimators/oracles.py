"""Frequency oracles as the collector sees them: which nodes does a report support?

A person at one of K nodes sends a report that *supports* each node or does not. With s_k = 1 if
node k is supported, c_k = (s_k - q) / (p - q) is an unbiased contribution to "the person is at
node k" (see `ldpsql.estimators.linear`). Specification: docs/spec/h4mda.md#1.6.

name  reports                                                 source
grr   a node, the own one with e^epsilon times the words       Kairouz, Oh, Viswanath 2014
olh   a hash function, and a hash value by grr                 Wang, Blocki, Li, Jha 2017
      (of many nodes by the harmonics of its intervals, `SpectralOlh`)
oue   a bit per node, each perturbed by itself                 Wang, Blocki, Li, Jha 2017
hrr   a row of the Hadamard matrix, and its entry by grr       Cormode, Kulkarni, Srivastava 2019
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.numerics import Array
from ldpsql.estimators.base import Codes
from ldpsql.estimators.linear import Moments
from ldpsql.limits import in_time
from ldpsql_device.draw import invert
from ldpsql_device.plan import (
    WORDS,
    Arcs,
    Bits,
    Hash,
    Integer,
    Parity,
    Part,
    is_prime,
    subset_words,
)

Coins = Sequence[Codes]

_DENSE = 1 << 22
_BLOCK = 1 << 21
_TILE_NODES, _TILE_REPORTS = 1 << 12, 1 << 5
"""A tile of 8-byte words that stays in the cache."""
MOST_EXACT = 1 << 11
"""Largest prime of which all hash functions are looked at for the most that a report supports."""
MOST_INDICATED = 1 << 12
"""Largest prime with which hashed reports are decoded by the intervals themselves."""
_PER_VALUE, MOST_HARMONICS = 4, 256
"""Harmonics for every hash value, as many as the first lobe of an interval's spectrum has, and the
most there are; of more hash values than these, intervals are decoded, however many nodes."""


@dataclass(frozen=True)
class Support:
    """The probabilities of support, for one group; they follow from the integers of the plan.

    size: how many nodes its reports can be about.  p: the person's own node is supported.
    q: another node is.  joint_own: the own node and another one are both supported.
    joint_other: two other nodes are.  squares: where support is not 0 or 1, but a number of which
    these are means, its mean squares for the own node and for another one.
    """

    size: int
    p: float
    q: float
    joint_own: float
    joint_other: float
    squares: tuple[float, float] | None = field(default=None, kw_only=True)

    @cached_property
    def moments(self) -> Moments:
        """Second moments of the contributions c_k.

        By the own node m, E[s_k s_l] is p for k = l = m, q for k = l other (`squares`), joint_own
        if one of two is m, joint_other if none is; c_k divides s_k - q by p - q.
        """
        p, q, own, other = self.p, self.q, self.joint_own, self.joint_other
        own_square, square = self.squares or (p, q)
        scale = (p - q) ** 2
        return Moments(
            same=(square - other) / scale,
            every=(other - q * q) / scale,
            cross=(own - other - q * (p - q)) / scale,
            own=(own_square - square - 2.0 * own + 2.0 * other) / scale,
        )


class Oracle(Support, ABC):
    """A frequency oracle: which nodes a report supports, with the probabilities of support.

    kind: its name among options.
    """

    kind: ClassVar[str]

    @abstractmethod
    def supporters(self, coins: Coins, answer: Codes, amounts: Array, nodes: Codes) -> Array:
        """Sum of the amounts of the reports that support each of some nodes, shape (c,).

        coins, answer: of distinct reports, shape (r,) each.  amounts: shape (r,), of each of them.
        """

    def contributions(self, coins: Coins, answer: Codes, nodes: Codes, weights: Array) -> Array:
        """Sum of weight times c_k over some nodes k, of every row, shape (m, r).

        coins, answer: of the rows, shape (r,) each.  weights: of distinct nodes (c,), shape (m, c).
        """
        total = weights.sum(axis=1, keepdims=True)
        supported = self.weigh_supported(coins, answer, nodes, weights)
        return np.asarray((supported - self.q * total) / (self.p - self.q))

    @abstractmethod
    def weigh_supported(self, coins: Coins, answer: Codes, nodes: Codes, weights: Array) -> Array:
        """Sum of the weights of the nodes that each row's reports support, shape (m, r)."""

    @abstractmethod
    def extremes(self, nodes: Codes, weights: Array) -> Array:
        """The least and the largest sum of the weights of the nodes that one report supports, shape
        (2, m); weights: of distinct nodes (c,), shape (m, c)."""


class Grr(Oracle):
    """A report supports the node that it names."""

    kind = "grr"

    @classmethod
    def of(cls, size: int, odds: int) -> Grr:
        """Over `size` answers, where e^epsilon is odds / 2^64."""
        if size == 1:
            return cls(1, 1.0, 0.0, 0.0, 0.0)
        p = subset_words(1, size, odds)[0] / WORDS
        return cls(size, p, (1.0 - p) / (size - 1), 0.0, 0.0)

    def supporters(self, coins: Coins, answer: Codes, amounts: Array, nodes: Codes) -> Array:
        """How often each node was named."""
        counted = np.bincount(answer, amounts, minlength=self.size)[nodes]
        return np.asarray(counted, dtype=np.float64)

    def weigh_supported(self, coins: Coins, answer: Codes, nodes: Codes, weights: Array) -> Array:
        """The weight of the node that is named."""
        return _look_up(answer, nodes, weights, self.size)

    def extremes(self, nodes: Codes, weights: Array) -> Array:
        """One of the nodes, or another one."""
        others = [np.zeros((len(weights), 1))] if len(nodes) < self.size else []
        every = np.hstack([weights, *others])
        return np.array([every.min(axis=1), every.max(axis=1)])


class Oue(Oracle):
    """A report supports the nodes whose bit is set; bits are independent.

    The histogram of such reports counts bits one by one, and the reports themselves as bit -1.
    """

    kind = "oue"

    @classmethod
    def of(cls, size: int, own: int, other: int) -> Oue:
        """own, other: words of 2^64 that set the bit of the own node, and another one."""
        p, q = own / WORDS, other / WORDS
        return cls(size, p, q, p * q, q * q)

    def supporters(self, coins: Coins, answer: Codes, amounts: Array, nodes: Codes) -> Array:
        """How often each bit was set."""
        seen = answer >= 0
        counted = np.bincount(answer[seen], amounts[seen], minlength=self.size)[nodes]
        return np.asarray(counted, dtype=np.float64)

    def contributions(self, coins: Coins, answer: Codes, nodes: Codes, weights: Array) -> Array:
        """A set bit adds what it supports; what everybody does belongs to the rows of bit -1."""
        supported = self.weigh_supported(coins, answer, nodes, weights)
        alone = np.where(answer < 0, self.q * weights.sum(axis=1, keepdims=True), 0.0)
        return np.asarray((supported - alone) / (self.p - self.q))

    def weigh_supported(self, coins: Coins, answer: Codes, nodes: Codes, weights: Array) -> Array:
        """The weight of the node whose bit a row counts."""
        # A word of a report may have more bits than there are nodes; nobody sets these.
        is_node = (answer >= 0) & (answer < self.size)
        return _look_up(np.where(is_node, answer, self.size), nodes, weights, self.size + 1)

    def extremes(self, nodes: Codes, weights: Array) -> Array:
        """Any set of nodes."""
        signs = np.minimum(weights, 0.0), np.maximum(weights, 0.0)
        return np.array([own.sum(axis=1) for own in signs])


class Hrr(Oracle):
    """A report supports the nodes whose entry in its row of the Hadamard matrix is the reported.

    Two nodes share an entry in exactly half of the rows, and three are independent in pairs, so
    the joint probabilities are exact; contributions are 1 / (2 p - 1) times an entry.
    """

    kind = "hrr"

    @classmethod
    def of(cls, size: int, odds: int) -> Hrr:
        """Over at least `size` nodes, as many as the next power of two."""
        if size == 1:
            return cls(1, 1.0, 0.0, 0.0, 0.0)
        p = subset_words(1, 2, odds)[0] / WORDS
        return cls(power_from(size), p, 0.5, p / 2.0, 0.25)  # two entries agree in half of the rows

    def supporters(self, coins: Coins, answer: Codes, amounts: Array, nodes: Codes) -> Array:
        """(reports + reports that agree - reports that do not) / 2, by one Hadamard transform."""
        if self.size == 1:
            return np.full(len(nodes), amounts.sum())
        signed = np.bincount(coins[0], amounts * (1.0 - 2.0 * answer), minlength=self.size)
        counted: Array = (amounts.sum() + hadamard(signed)[nodes]) / 2.0
        return counted

    def weigh_supported(self, coins: Coins, answer: Codes, nodes: Codes, weights: Array) -> Array:
        """Half of all weights, and half of their sum with the signs of the row, or against them."""
        total = weights.sum(axis=1, keepdims=True)
        if self.size == 1:
            return np.repeat(total, len(answer), axis=1)
        signed = transform(nodes, weights, self.size)[:, coins[0]]
        return np.asarray((total + signed * (1.0 - 2.0 * answer)) / 2.0)

    def extremes(self, nodes: Codes, weights: Array) -> Array:
        """Half of all weights, and half of a sum with the signs of a row, or against them."""
        total = weights.sum(axis=1)
        if self.size == 1:
            return np.array([total, total])
        most = np.abs(transform(nodes, weights, self.size)).max(axis=1)
        return np.array([total - most, total + most]) / 2.0


@dataclass(frozen=True)
class Olh(Oracle):
    """A report (a, c, y) supports the nodes k with hash value y = (((a + 1) x_k + c) mod P) mod g.

    x_k is the inverse of k modulo the prime P, 0 for 0. The family is complete: ((a + 1) x + c)
    runs evenly over all pairs of different residues, so two nodes collide with an exactly known
    probability. Without the inverse three neighbours would collide together, and the variance of a
    range could be a third above what pairs tell; with it the moment of three different residues
    fits within a few percent.
    """

    prime: int
    values: int
    kind = "olh"

    @classmethod
    def of(cls, prime: int, values: int, odds: int) -> Olh:
        """Hashing residues of a prime to `values` values, where e^epsilon is odds / 2^64."""
        p = subset_words(1, values, odds)[0] / WORDS
        lie = (1.0 - p) / (values - 1)
        residues, larger = divmod(prime, values)
        # (residues in a hash value, hash values with so many); one by one there may be e^20 of them
        filled = ((residues, values - larger), (residues + 1, larger))
        pairs = sum(m * n * (n - 1) for n, m in filled) / (prime * (prime - 1))  # two nodes collide
        q = pairs * p + (1.0 - pairs) * lie  # own hash value, or another one's
        if prime == 2:
            return cls(prime, p, q, pairs * p, q * q, prime, values)
        triples = prime * (prime - 1) * (prime - 2)
        all_three = sum(m * n * (n - 1) * (n - 2) for n, m in filled) / triples  # own hash value
        two_apart = sum(m * (prime - n) * n * (n - 1) for n, m in filled) / triples  # another one
        third = all_three * p + two_apart * lie
        return cls(prime, p, q, pairs * p, third, prime, values)

    def supporters(self, coins: Coins, answer: Codes, amounts: Array, nodes: Codes) -> Array:
        """Whichever is less work: reports x nodes, or functions first (P^2 + P x nodes)."""
        labels = invert(nodes, self.prime)
        functions = self.prime * (len(nodes) + self.prime)
        if functions > max(len(answer) * len(nodes), _DENSE):
            return self._by_report(coins, answer, amounts, labels)
        return self._by_function(coins, answer, amounts, labels)

    def weigh_supported(self, coins: Coins, answer: Codes, nodes: Codes, weights: Array) -> Array:
        """Every node hashed with every row's function."""
        places, slopes, starts, limits = self._hash(coins, answer, invert(nodes, self.prime))
        found = np.empty((len(weights), len(answer)))
        step = max(1, _BLOCK // max(1, len(nodes)))
        for first in in_time(range(0, len(answer), step)):
            part = slice(first, first + step)
            product = slopes[part] * places + starts[part]
            found[:, part] = weights @ (product < limits[part]).T
        return found

    def extremes(self, nodes: Codes, weights: Array) -> Array:
        """Exact up to the prime MOST_EXACT, and of one node; of others as if some function gave all
        that weigh more than 0 one hash value, and all others another."""
        if self.prime > MOST_EXACT or len(nodes) == 1:
            signs = np.minimum(weights, 0.0), np.maximum(weights, 0.0)
            return np.array([own.sum(axis=1) for own in signs])
        # A shift moves an interval anywhere, so of each slope all places and both lengths count.
        prime, g = self.prime, self.values
        nothing = np.zeros(0, dtype=np.int64)
        residues, _, _ = self._intervals(nothing, nothing, invert(nodes, prime))
        found = np.array([np.full(len(weights), np.inf), np.full(len(weights), -np.inf)])
        for slope in in_time(range(1, prime)):
            circle = np.zeros((len(weights), 2 * prime))
            circle[:, slope * residues % prime] = weights
            circle[:, prime:] = circle[:, :prime]
            sums = np.cumsum(np.insert(circle, 0, 0.0, axis=1), axis=1)
            for length in {prime // g, (prime - 1) // g + 1}:
                inside = sums[:, length : length + prime] - sums[:, :prime]
                found[0] = np.minimum(found[0], inside.min(axis=1))
                found[1] = np.maximum(found[1], inside.max(axis=1))
        return found

    def _intervals(self, shift: Codes, answer: Codes, labels: Codes) -> tuple[Codes, Codes, Codes]:
        """Residues of the labels, and first residue and length of each report's interval.

        A report supports x iff a x mod P is one of y - c, y - c + g, y - c + 2g, ... Divided by g
        modulo P these are consecutive residues.
        """
        g, prime = self.values, self.prime
        stride = 1 if prime <= g else pow(g, -1, prime)
        length = np.where(answer < prime, (prime - 1 - answer) // g + 1, 0)
        return labels * stride % prime, (answer - shift) * stride % prime, length

    def _hash(
        self, coins: Coins, answer: Codes, labels: Codes
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]:
        """How each of r reports supports some of c labels: places (c,), and slopes, starts
        and limits, each (r, 1). It supports those with slope x place + start < limit modulo 2^64.

        A residue modulo P is compared as the fraction r / P of 2^64, which a multiplication that
        overflows leaves behind; no division is left in the inner loop. Slope and start are rounded
        up, so a fraction is too large by less than P + 1, and two of them differ by more than that
        as P^2 + P < 2^64.
        """
        prime = self.prime
        turned, start, length = self._intervals(coins[1], answer, labels)
        slopes = _fractions(coins[0] + 1, prime, up=True)[:, None]
        starts = _fractions(-start % prime, prime, up=True)[:, None]
        limits = _fractions(length, prime, up=False)[:, None]
        return turned.astype(np.uint64), slopes, starts, limits

    def _by_report(self, coins: Coins, answer: Codes, amounts: Array, labels: Codes) -> Array:
        """Hash every node with every report's function."""
        places, slopes, starts, limits = self._hash(coins, answer, labels)
        result = np.zeros(len(labels))
        for first in in_time(range(0, len(labels), _TILE_NODES)):
            columns = slice(first, first + _TILE_NODES)
            for top in in_time(range(0, len(slopes), _TILE_REPORTS)):
                part = slice(top, top + _TILE_REPORTS)
                product = slopes[part] * places[columns]
                product += starts[part]
                result[columns] += amounts[part] @ (product < limits[part])
        return result

    def _by_function(self, coins: Coins, answer: Codes, amounts: Array, labels: Codes) -> Array:
        """Add up equal slopes first: independent of the number of reports.

        The counts of intervals (see `_intervals`) are added up by a difference array in one pass.
        """
        prime, a = self.prime, coins[0]
        turned, start, length = self._intervals(coins[1], answer, labels)
        end = start + length
        wraps = end > prime
        row = a * (prime + 1)
        steps = np.bincount(row + start, amounts, minlength=(prime - 1) * (prime + 1))
        ends = row + np.where(wraps, end - prime, end)  # 1 at each start, -1 behind each end
        steps -= np.bincount(ends, amounts, minlength=len(steps))
        table = steps.reshape(prime - 1, prime + 1)
        table[:, 0] += np.bincount(a[wraps], amounts[wraps], minlength=prime - 1)
        table = np.cumsum(table, axis=1)  # how many intervals hold each residue
        result = np.zeros(len(labels))
        block = max(1, _BLOCK // max(1, len(labels)))
        for first in in_time(range(0, prime - 1, block)):
            slopes = np.arange(first + 1, min(first + block, prime - 1) + 1)[:, None]
            part = table[first : first + block]
            result += np.take_along_axis(part, slopes * turned % prime, axis=1).sum(axis=0)
        return result


@dataclass(frozen=True, eq=False)
class _Harmonics:
    """The lowest harmonics of the intervals that reports of a prime P and g hash values support.

    weights: w_f of the frequencies 1, 2, ..., K.  table: at i the number
    sum of 2 w_f cos(2 pi f i / 2 P), for every step i of half a residue from the middle.
    """

    weights: Array
    table: Array

    @classmethod
    @lru_cache(maxsize=4)
    def of(cls, prime: int, values: int) -> _Harmonics:
        """Those of an interval of P / g residues, which is longer or shorter by less than one."""
        count = min(_PER_VALUE * values, MOST_HARMONICS)
        angles = np.pi * np.arange(1, count + 1)
        weights = np.sin(angles / values) / (prime * np.sin(angles / prime))  # Dirichlet's kernel
        spectrum = np.zeros(prime + 1)
        spectrum[1 : count + 1] = 2.0 * prime * weights
        return cls(weights, np.fft.irfft(spectrum, 2 * prime))


class SpectralOlh(Olh):
    """The reports of `Olh` about many nodes, whose support is a sum of harmonics.

    In residues turned as by `Olh._intervals`, what a report supports is an interval of a circle of
    P. Of its Fourier series this takes the mean off, and keeps the lowest frequencies, 4 for every
    hash value. Any function of the residues is as unbiased: for the own node its mean is that over
    the interval, and for another one, whose residue is each of the others with equal probability,
    1 / (P - 1) of it below 0. What is left out has about 3 % of the square of the whole, and by so
    much the variance is larger. In exchange the reports of all nodes are added up by frequency
    (slope times f), and one Fourier transform gives the support of every node.
    """

    @classmethod
    def of(cls, prime: int, values: int, odds: int) -> SpectralOlh:
        """As for `Olh`. The third moment is that of three different residues drawn evenly."""
        p = subset_words(1, values, odds)[0] / WORDS
        lie = (1.0 - p) / (values - 1)
        harmonics = _Harmonics.of(prime, values)
        inside = np.zeros(2)
        longer = prime % values
        for length, many in ((prime // values + 1, longer), (prime // values, values - longer)):
            own = harmonics.table[np.arange(1 - length, length, 2)]
            inside += many * np.array([own.sum(), own @ own])  # s and s^2 over the own interval
        mean, square = ((p - lie) / prime * inside).tolist()  # lies: s adds up to 0 over all values
        total = 2.0 * prime * float(harmonics.weights @ harmonics.weights)  # Parseval, of all s^2
        square += lie * values / prime * total
        others = (total - square) / (prime - 1)  # what the own residue leaves of s^2
        pair, third = -square / (prime - 1), (square / (prime - 1) - others) / (prime - 2)
        moments = (mean, -mean / (prime - 1), pair, third)
        return cls(prime, *moments, prime, values, squares=(square, others))

    def supporters(self, coins: Coins, answer: Codes, amounts: Array, nodes: Codes) -> Array:
        """Of few nodes one by one, of many by a Fourier transform."""
        harmonics, prime = _Harmonics.of(self.prime, self.values), self.prime
        if len(nodes) <= len(harmonics.weights):
            found = (self._support(coins, answer, nodes[k : k + 1]) for k in range(len(nodes)))
            return np.array([float(amounts @ each[:, 0]) for each in in_time(found)])
        places, start, length = self._intervals(coins[1], answer, invert(nodes, prime))
        middle = np.exp(-1j * np.pi / prime * (2 * start + length - 1))  # of the interval
        slopes, place = coins[0] + 1, np.zeros_like(coins[0])
        turn, parts = amounts.astype(np.complex128), np.zeros((2, prime))
        for weight in in_time(harmonics.weights.tolist()):
            turn *= middle  # f times the angle, without a sine for each f
            place = place + slopes
            place -= prime * (place >= prime)
            parts[0] += np.bincount(place, 2.0 * weight * turn.real, prime)
            parts[1] += np.bincount(place, 2.0 * weight * turn.imag, prime)
        return np.asarray(prime * np.fft.ifft(parts[0] + 1j * parts[1]).real[places])

    def weigh_supported(self, coins: Coins, answer: Codes, nodes: Codes, weights: Array) -> Array:
        """Every node looked at by every row."""
        found = np.empty((len(weights), len(answer)))
        step = max(1, _BLOCK // max(1, len(nodes)))
        for first in in_time(range(0, len(answer), step)):
            part = slice(first, first + step)
            support = self._support([own[part] for own in coins], answer[part], nodes)
            found[:, part] = weights @ support.T
        return found

    def extremes(self, nodes: Codes, weights: Array) -> Array:
        """As if some function gave each node the most, or the least."""
        table = _Harmonics.of(self.prime, self.values).table
        ends = table.min(), table.max()
        below, above = np.minimum(weights, 0.0).sum(axis=1), np.maximum(weights, 0.0).sum(axis=1)
        return np.array([above * low + below * high for low, high in (ends, ends[::-1])])

    def _support(self, coins: Coins, answer: Codes, nodes: Codes) -> Array:
        """Of every node by every row, shape (r, c)."""
        places, start, length = self._intervals(coins[1], answer, invert(nodes, self.prime))
        turned = (coins[0] + 1)[:, None] * places - start[:, None]
        steps = (2 * turned - length[:, None] + 1) % (2 * self.prime)
        return np.asarray(_Harmonics.of(self.prime, self.values).table[steps])


def oracle_of(odds: Sequence[int], part: Part, choice: int = 0) -> Oracle:
    """The oracle of a question's part, from the integers of the plan.

    odds: those of the plan.  choice: of the face's one step. ValueError for a response that is
    not an oracle.
    """

    def whole(integer: Integer) -> int:
        return integer if isinstance(integer, int) else integer.values[choice]

    response, size = part.response, math.prod(map(whole, part.radices))
    if isinstance(response, Bits):
        return Oue.of(size, response.own[0], response.other[0])
    if not isinstance(response, Arcs) or any(whole(count) != 1 for count in response.counts):
        raise ValueError("a response that names no single node")
    own = odds[response.odds]
    if isinstance(part.then, Hash):
        prime, values = whole(part.then.prime), whole(part.then.values)
        is_spectral = prime > MOST_INDICATED and values <= MOST_HARMONICS
        return (SpectralOlh if is_spectral else Olh).of(prime, values, own)
    if isinstance(part.then, Parity):
        return Hrr.of(math.prod(whole(digit.radix) for digit in part.digits), own)
    return Grr.of(size, own)


def _look_up(answer: Codes, nodes: Codes, weights: Array, size: int) -> Array:
    """The weights (m, c) of the nodes that rows name, shape (m, r); 0 for nodes without any."""
    places = np.full(size, len(nodes))
    places[nodes] = np.arange(len(nodes))
    return np.asarray(np.pad(weights, ((0, 0), (0, 1)))[:, places[answer]])


def power_from(size: int) -> int:
    """The least power of two that is at least `size`."""
    return 1 << max(size - 1, 0).bit_length()


def prime_from(size: int) -> int:
    """The smallest prime that is at least max(size, 2)."""
    candidate = max(size, 2)
    while not is_prime(candidate):
        candidate += 1
    return candidate


def hadamard(values: NDArray[np.generic]) -> Array:
    """sum over j of (-1)^{j.x} values[j] for every x; the length is a power of two."""
    result, width = values.astype(np.float64), 1
    while width < len(result):
        pairs = result.reshape(-1, 2, width)
        result = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
        width *= 2
    return result


def transform(nodes: Codes, weights: Array, size: int) -> Array:
    """The Hadamard transform of weights of some of so many nodes, shape (m, size)."""
    dense = np.zeros((len(weights), size))
    dense[:, nodes] = weights
    return np.array([hadamard(row) for row in dense])


def _fractions(residues: Codes, prime: int, *, up: bool) -> NDArray[np.uint64]:
    """2^64 r / P, rounded up or down, for residues r below a prime P below 2^31."""
    whole, rest = divmod(WORDS, prime)  # 2^64 r / P = whole r + rest r / P; rest r < 2^62
    words = residues.astype(np.uint64)
    parts = words * np.uint64(rest) + np.uint64(prime - 1 if up else 0)
    return words * np.uint64(whole) + parts // np.uint64(prime)
