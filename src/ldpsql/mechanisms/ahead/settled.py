"""Runs at the collector. Sees reports. An adaptive grid's frequencies after its rounds.

A node was asked about in every round in which it was a leaf, by as many people as each round had.
Its own mean over those rounds and the sum of its children are combined by inverse variance of
their noise, bottom-up; the root is 1. So every settled frequency is linear in what the rounds
have estimated, and its covariance follows: the noise of the answers, and that the people of a
round are a sample (multinomial over the leaves of that round).

Two things make answers biased, and both are estimated from the grid itself. Making a round's
estimates non-negative lifts empty leaves by the part of their noise that is cut off, and lowers the
others by one shift (`drift`). A leaf that is cut counts by the share of its codes; how far children
of split nodes lie from that tells how uneven people are within a node (`unevenness`).
Specification: h4mda, section 6; the bias is not in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpsql.estimate import Array
from ldpsql.mechanisms.ahead.partitions import Partition


@dataclass(frozen=True, eq=False)
class Settled:
    """A measured grid and the noise of its rounds.

    noises: variance per report of a leaf's estimate where nobody is, shape (rounds,).
    """

    partition: Partition
    noises: Sequence[float]

    @property
    def frequencies(self) -> Array:
        """Of all nodes, inner ones combined with the sum of their children, shape (nodes,)."""
        return self._combined[0]

    def covariance(self, slopes: Array) -> Array:
        """Of the answers with these slopes (k, nodes) in the settled frequencies, shape (k, k).

        The diagonal is infinite where an answer needs a node that nobody was asked about.
        """
        parts = self._pulled(slopes)
        untold = (parts[:, self._unasked] != 0.0).any(axis=1)
        parts[:, self._unasked] = 0.0
        found = (parts * np.where(self._unasked, 0.0, self._noise)) @ parts.T
        for people, shares in zip(self.partition.people, self._shares, strict=True):
            if people:
                found += self._sampling(parts * shares, shares > 0.0) / people
        found[untold, untold] = np.inf
        return np.asarray(found)

    def drift(self, slopes: Array) -> Array:
        """Expected bias of the answers with these slopes (k, nodes), for the settled frequencies,
        shape (k,)."""
        likely = np.maximum(self.frequencies, 0.0)
        own = self._lifted(np.maximum(likely - self._lifted(likely), 0.0))
        return np.asarray(self._pulled(slopes) @ own)

    def _lifted(self, likely: Array) -> Array:
        """Bias of every node's own mean if these were the frequencies, shape (nodes,)."""
        total = np.zeros(len(likely))
        rounds = zip(self.partition.people, self.noises, self._shares, strict=True)
        for people, noise, shares in rounds:
            asked = shares > 0.0
            if not people or not asked.any():
                continue
            share = likely[asked]
            spread = np.sqrt((noise + share * (1.0 - np.minimum(share, 1.0))) / people)
            # Where nothing is random, nothing is cut off.
            height = np.divide(share, spread, out=np.full(len(share), np.inf), where=spread > 0.0)
            positive = _below(height)
            density = np.exp(-0.5 * height**2) / math.sqrt(2.0 * math.pi)
            lift = spread * density - share * (1.0 - positive)
            total[asked] += shares[asked] * (lift - positive * lift.sum() / positive.sum())
        return total

    @cached_property
    def unevenness(self) -> float:
        """Variance of the share of people in a part of a node, over u (1 - u) for the part u of
        its codes: 0 if people are even within split nodes, 1 if each has all at one code."""
        codes, frequency = self.partition.codes, self.frequencies
        excess, scale = 0.0, 0.0
        for number, below in self.partition.children.items():
            part = codes[below] / codes[number]
            contrasts = np.zeros((len(below), len(frequency)))
            contrasts[np.arange(len(below)), below] = 1.0
            contrasts[:, number] -= part
            noise = np.diagonal(self.covariance(contrasts))
            if np.isfinite(noise).all():
                excess += float(np.sum((contrasts @ frequency) ** 2 - noise))
                scale += float(frequency[number] ** 2 * np.sum(part * (1.0 - part)))
        return min(max(excess / scale, 0.0), 1.0) if scale > 0.0 else 1.0

    def within(self, cuts: Array) -> Array:
        """Covariance from leaves that are cut, shape (k, k).

        cuts: coefficient times root of u (1 - u) where a query holds the part u of a leaf's codes,
        shape (k, nodes).
        """
        spread = self.unevenness * np.maximum(self.frequencies, 0.0) ** 2
        return np.asarray((cuts * spread) @ cuts.T)

    def _sampling(self, weights: Array, asked: Array) -> Array:
        """Covariance per person of who is at which leaf of a round."""
        likely = np.where(asked, self.frequencies, 0.0)
        likely = likely / (likely.sum() or 1.0)
        means = weights @ likely
        return np.asarray((weights * likely) @ weights.T - np.outer(means, means))

    def _pulled(self, slopes: Array) -> Array:
        """The slopes in the nodes' own means, shape (k, nodes)."""
        parts, own = slopes.copy(), self._combined[1]
        for number, below in sorted(self.partition.children.items()):
            parts[:, below] += parts[:, [number]] * (1.0 - own[number])
            parts[:, number] *= own[number]
        return np.asarray(parts)

    @cached_property
    def _asked(self) -> Array:
        """Which round asked about which node: 1 or 0, shape (rounds, nodes)."""
        rounds = np.arange(1, len(self.partition.people) + 1)[:, None]
        depths = np.array([node.depth for node in self.partition.nodes])
        last = np.where(np.isin(np.arange(len(depths)), self.partition.leaves), len(rounds), depths)
        return np.asarray((rounds >= depths) & (rounds <= last) & (depths > 0), dtype=np.float64)

    @cached_property
    def _people(self) -> Array:
        """People who were asked about each node, shape (nodes,)."""
        return np.asarray(np.array(self.partition.people, dtype=float) @ self._asked)

    @cached_property
    def _unasked(self) -> Array:
        """Nodes that nobody was asked about; the root needs no asking."""
        unasked = self._people == 0.0
        unasked[0] = False
        return np.asarray(unasked)

    @cached_property
    def _shares(self) -> Array:
        """The share of each round in a node's own mean, shape (rounds, nodes)."""
        each = self._asked * np.array(self.partition.people, dtype=float)[:, None]
        return np.asarray(each / np.maximum(self._people, np.finfo(float).tiny))

    @cached_property
    def _noise(self) -> Array:
        """Variance of the noise in each node's own mean, shape (nodes,)."""
        summed = (np.array(self.partition.people) * np.array(self.noises)) @ self._asked
        asked = self._people > 0.0
        noise = summed / np.where(asked, self._people, 1.0) ** 2
        noise[~asked] = np.inf
        noise[0] = 0.0
        return np.asarray(noise)

    @cached_property
    def _combined(self) -> tuple[Array, Array]:
        """Settled frequencies, and the weight of each node's own mean in its own."""
        frequency = np.array([node.frequency for node in self.partition.nodes])
        own, noise = np.ones(len(frequency)), self._noise.copy()
        for number, below in sorted(self.partition.children.items(), reverse=True):
            spread = float(noise[below].sum())
            if not number or not np.isfinite(spread):
                continue  # the root is known, and an unasked child leaves its parent alone
            own[number] = spread / (spread + noise[number])
            total = float(frequency[below].sum())
            frequency[number] = own[number] * frequency[number] + (1.0 - own[number]) * total
            noise[number] *= own[number]
        return frequency, own


def _below(score: Array) -> Array:
    """The normal distribution function."""
    return np.array([0.5 * math.erfc(-value / math.sqrt(2.0)) for value in score.tolist()])
