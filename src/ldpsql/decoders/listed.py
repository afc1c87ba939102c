"""All the different reports of a group, one by one, for what has to look at each of them.

A report supports some of the group's nodes (`ldpsql.decoders.oracles`). Each is as likely from all
nodes that it supports, and as likely from all that it does not: both follow from the plan's
integers, so averages over all reports are exact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ldpsql.decoders.base import Codes
from ldpsql.decoders.oracles import Grr, Hrr, Olh, Oracle, hadamard, transform
from ldpsql.numerics import Array
from ldpsql_device.draw import invert
from ldpsql_device.frozen import frozen


class ListedReports(ABC):
    """The reports of a group, numbered from 0. count: how many there are."""

    count: int

    @abstractmethod
    def contribute(self, weights: Array) -> Array:
        """What each adds to the unbiased estimate of weighted nodes (c,), shape (count,)."""

    @abstractmethod
    def average(self, amounts: Array) -> Array:
        """The mean of amounts (count,) over the reports of a person at each node, shape (c,)."""

    @abstractmethod
    def chances(self, shares: Array) -> Array:
        """The probability of each, people being at the nodes with these shares, shape (count,)."""

    @abstractmethod
    def number(self, columns: Sequence[Codes]) -> Codes:
        """The numbers of the reports in the rows of a histogram, shape (r,).

        columns: after that of the question, of the group's question.
        """


@frozen(eq=False)
class OracleReports(ListedReports):
    """Those of an oracle over `nodes` nodes.

    coins, column: where a histogram has them (`nodes.OracleAnswer`).  own, other: the probability
    of a report from a person at a node that it supports, and at another one, before it is
    multiplied by `repeated`: how many reports are as one, over all choices of coins.
    """

    oracle: Oracle
    nodes: int
    coins: tuple[int, ...]
    column: int
    own: float
    other: float

    @property
    @abstractmethod
    def repeated(self) -> Array:
        """See the class; shape (count,)."""

    @abstractmethod
    def support(self, weights: Array) -> Array:
        """Sums of the weights (nodes,) of the nodes that each report supports, shape (count,)."""

    @abstractmethod
    def gather(self, amounts: Array) -> Array:
        """Sums of the amounts (count,) of the reports that support each node, shape (nodes,)."""

    def contribute(self, weights: Array) -> Array:
        """See `ListedReports`."""
        p, q = self.oracle.p, self.oracle.q
        return np.asarray((self.support(weights) - q * weights.sum()) / (p - q))

    def average(self, amounts: Array) -> Array:
        """See `ListedReports`."""
        counted = self.repeated * amounts
        return np.asarray(
            self.other * counted.sum() + (self.own - self.other) * self.gather(counted)
        )

    def chances(self, shares: Array) -> Array:
        """See `ListedReports`."""
        likely = self.other * shares.sum() + (self.own - self.other) * self.support(shares)
        return np.asarray(self.repeated * likely)


class GrrReports(OracleReports):
    """A node each."""

    @property
    def count(self) -> int:  # type: ignore[override]
        """One per node."""
        return self.nodes

    @property
    def repeated(self) -> Array:
        """See `OracleReports`."""
        return np.ones(self.nodes)

    def support(self, weights: Array) -> Array:
        """See `OracleReports`."""
        return weights

    def gather(self, amounts: Array) -> Array:
        """See `OracleReports`."""
        return amounts

    def number(self, columns: Sequence[Codes]) -> Codes:
        """See `ListedReports`."""
        return columns[self.column]


class HrrReports(OracleReports):
    """A row of the Hadamard matrix and one of the two entries, row by row."""

    @property
    def count(self) -> int:  # type: ignore[override]
        """Two per row."""
        return 2 * self.oracle.size

    @property
    def repeated(self) -> Array:
        """See `OracleReports`."""
        return np.full(self.count, 1.0 / self.oracle.size)

    def support(self, weights: Array) -> Array:
        """See `OracleReports`."""
        signed = transform(np.arange(self.nodes), weights[None], self.oracle.size)[0]
        return np.asarray((weights.sum() + np.stack([signed, -signed], axis=1)).ravel() / 2.0)

    def gather(self, amounts: Array) -> Array:
        """See `OracleReports`."""
        agree, differ = amounts.reshape(-1, 2).T
        return np.asarray(amounts.sum() + hadamard(agree - differ)[: self.nodes]) / 2.0

    def number(self, columns: Sequence[Codes]) -> Codes:
        """See `ListedReports`."""
        (row,) = self.coins
        return np.asarray(2 * columns[row] + columns[self.column])


class OlhReports(OracleReports):
    """A slope, the first residue of an interval, and which of its two lengths it has (`Olh`).

    Divided by g, the residues that a report supports are consecutive. A shift of the hash function
    moves the interval anywhere, so of all reports that support the same nodes one is listed.
    """

    oracle: Olh

    @property
    def count(self) -> int:  # type: ignore[override]
        """Two per slope and residue."""
        return 2 * self.oracle.prime * (self.oracle.prime - 1)

    @property
    def repeated(self) -> Array:
        """See `OracleReports`: how many answers have the length, for every function."""
        prime, values = self.oracle.prime, self.oracle.values
        longer = prime % values
        answers = np.array([values - longer, longer]) / (prime * (prime - 1))
        return np.tile(answers, prime * (prime - 1))

    @cached_property
    def _places(self) -> Codes:
        """The residue of every node under every slope, shape (slopes, nodes)."""
        prime = self.oracle.prime
        turned = invert(np.arange(self.nodes), prime) * self._stride % prime
        return np.arange(1, prime)[:, None] * turned % prime

    @property
    def _stride(self) -> int:
        prime, values = self.oracle.prime, self.oracle.values
        return 1 if prime <= values else pow(values, -1, prime)

    def support(self, weights: Array) -> Array:
        """See `OracleReports`."""
        prime, short = self.oracle.prime, self.oracle.prime // self.oracle.values
        circle = np.zeros((prime - 1, prime + short + 2))
        np.put_along_axis(circle[:, 1:], self._places, weights[None], axis=1)
        circle[:, prime + 1 :] = circle[:, 1 : short + 2]
        sums = np.cumsum(circle, axis=1)
        inside = [sums[:, n : n + prime] - sums[:, :prime] for n in (short, short + 1)]
        return np.stack(inside, axis=2).ravel()

    def gather(self, amounts: Array) -> Array:
        """See `OracleReports`."""
        prime, short = self.oracle.prime, self.oracle.prime // self.oracle.values
        circles = amounts.reshape(prime - 1, prime, 2)
        found = np.zeros((prime - 1, prime))
        for which, length in enumerate((short, short + 1)):
            # A residue lies in the intervals that begin at it or up to length - 1 before it.
            before = np.concatenate([circles[:, prime - length :, which], circles[:, :, which]], 1)
            sums = np.cumsum(before, axis=1)
            found += sums[:, length : length + prime] - sums[:, :prime]
        return np.asarray(np.take_along_axis(found, self._places, axis=1).sum(axis=0))

    def number(self, columns: Sequence[Codes]) -> Codes:
        """See `ListedReports`."""
        prime, values = self.oracle.prime, self.oracle.values
        slope, shift, answer = (columns[place] for place in (*self.coins, self.column))
        start = (answer - shift) * self._stride % prime
        return np.asarray(2 * (slope * prime + start) + (answer < prime % values))


def list_reports(
    oracle: Oracle, nodes: int, coins: tuple[int, ...], column: int
) -> OracleReports | None:
    """The reports of an oracle about so many nodes; None where they are counted bit by bit."""
    p, place = oracle.p, (nodes, coins, column)
    if isinstance(oracle, Grr) or oracle.size == 1:
        return GrrReports(oracle, *place, p, oracle.q)
    if isinstance(oracle, Hrr):
        return HrrReports(oracle, *place, p, 1.0 - p)
    if isinstance(oracle, Olh):
        return OlhReports(oracle, *place, p, (1.0 - p) / (oracle.values - 1))
    return None
