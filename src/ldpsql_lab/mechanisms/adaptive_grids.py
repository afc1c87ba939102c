"""Adaptive grids: trees of boxes that are split where people are, and answers from them.

A grid of 2^depth codes per axis, padded; every node splits into halves along all axes, children
that hold no code are left out. A leaf of depth d was a leaf in every round from d on, for in round
d the leaves of depth d are new, and after it they are split or never; an inner node of depth d was
one in round d alone. So the people of each round say who was asked about which node.

Frequencies of leaves are made non-negative with sum 1 and a cut leaf counts by the share of its
codes, so answers are biased; their covariance is that of the noise and of the sampling of people,
and holds the square of the bias as the grid itself lets expect it. With more than two dimensions
every pair has a grid: a query on one dimension is averaged over its pairs, and one on three or more
is fitted to the 2 x 2 tables of its pairs by iterative proportional fitting.
Source: docs/spec/h4mda.md#6; the expected bias is not in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.boxes import Box, Side, codes_of
from ldpsql.algebra.estimate import Array, Estimates
from ldpsql.algebra.numerics import central_slopes, fit_marginals, join_ranges
from ldpsql.estimators.base import Codes, JointEstimator, PlannedQuery
from ldpsql.estimators.linear import GroupAnswer
from ldpsql_device.errors import SurveyError

LARGEST_GRID = 1 << 22
_FIT_CHANGE, _FIT_CYCLES = 1e-7, 200


@dataclass(frozen=True)
class GridNode:
    """One box: its depth, its place on every axis at that depth, and its parent's number.

    frequency: share of people, the mean over all who were asked about it (0 before that).
    """

    depth: int
    place: tuple[int, ...]
    parent: int
    frequency: float = 0.0


@dataclass(frozen=True)
class Partition:
    """An adaptive grid over some axes.

    sizes: codes per axis.  depth: of single codes.  people: who was asked, round by round.
    """

    sizes: tuple[int, ...]
    depth: int
    nodes: tuple[GridNode, ...]
    people: tuple[float, ...] = ()

    @classmethod
    def first(cls, sizes: tuple[int, ...], depth: int) -> Partition:
        """The root, split once."""
        if math.prod(sizes) > LARGEST_GRID:
            raise SurveyError(f"a grid has at most {LARGEST_GRID} codes; use coarser bins")
        return cls(sizes, depth, (GridNode(0, (0,) * len(sizes), -1, 1.0),)).grow(0, 0.0)

    @classmethod
    def from_json(cls, sizes: tuple[int, ...], depth: int, data: Mapping[str, Any]) -> Partition:
        """The inverse of `to_json`; SurveyError if it is not such a tree."""
        nodes = tuple(GridNode(d, tuple(place), p, float(f)) for d, place, p, f in data["nodes"])
        made = cls(sizes, depth, nodes, tuple(data["people"]))
        is_sound = (
            math.prod(sizes) <= LARGEST_GRID
            and all(type(people) is int and people > 0 for people in made.people)
            and all(map(made._is_sound, range(len(nodes))))
        )
        if not is_sound or (made.labels < 0).any():
            raise SurveyError("the leaves of an adaptive grid do not cover its codes")
        return made

    def to_json(self) -> Mapping[str, Any]:
        """Plain data."""
        nodes = [[n.depth, list(n.place), n.parent, n.frequency] for n in self.nodes]
        return {"people": list(self.people), "nodes": nodes}

    def _is_sound(self, number: int) -> bool:
        """Whether a node lies below an earlier one that a round has asked about."""
        node = self.nodes[number]
        is_whole = all(type(value) is int for value in (node.depth, node.parent, *node.place))
        if not is_whole or len(node.place) != len(self.sizes) or min(node.place) < 0:
            return False
        if number == 0:
            return (node.depth, node.parent, node.frequency) == (0, -1, 1.0)
        if not 0 <= node.parent < number:
            return False
        above = self.nodes[node.parent]
        is_inside = all(a == b // 2 for a, b in zip(above.place, node.place, strict=True))
        was_asked = above.depth <= len(self.people)
        return node.depth == above.depth + 1 <= self.depth and was_asked and is_inside

    @cached_property
    def children(self) -> Mapping[int, list[int]]:
        """Numbers of the children of every inner node."""
        numbers: dict[int, list[int]] = {}
        for number, node in enumerate(self.nodes[1:], start=1):
            numbers.setdefault(node.parent, []).append(number)
        return numbers

    @cached_property
    def leaves(self) -> Codes:
        """Numbers of the nodes without children."""
        return np.setdiff1d(np.arange(len(self.nodes)), list(self.children))

    @cached_property
    def was_leaf(self) -> NDArray[np.bool_]:
        """Whether a round asked about a node, shape (rounds, nodes): see the module's first
        paragraph."""
        rounds, depths = np.arange(1, len(self.people) + 1)[:, None], self._depths
        last = np.where(np.isin(np.arange(len(depths)), self.leaves), len(rounds), depths)
        return np.asarray((rounds >= depths) & (rounds <= last) & (depths > 0))

    @property
    def leaf_counts(self) -> list[int]:
        """How many leaves it had in every round."""
        return [int(count) for count in self.was_leaf.sum(axis=1)]

    @cached_property
    def labels(self) -> Codes:
        """For every combination of codes the position of its leaf in `leaves`; -1 for none."""
        return self._label(1)

    @property
    def coarse_labels(self) -> tuple[int, Codes]:
        """How many codes the smallest leaves have per axis, and the labels of such bins alone."""
        width = 1 << (self.depth - int(self._depths.max()))
        return width, self._label(width)

    def _label(self, width: int) -> Codes:
        """The same for bins of so many codes, which lie in one leaf each."""
        labels = np.full([-(-size // width) for size in self.sizes], -1, dtype=np.int64)
        for position, number in enumerate(self.leaves):
            labels[self.span(self.nodes[number], width)] = position
        return labels

    def span(self, node: GridNode, bin_width: int = 1) -> tuple[slice, ...]:
        """The bins of a node, of so many codes each, as an index; it may reach into padding."""
        width = (1 << (self.depth - node.depth)) // bin_width
        return tuple(slice(p * width, (p + 1) * width) for p in node.place)

    def measure(self, estimates: Array, people: int) -> Partition:
        """After a round of some people: running means of the leaves.

        estimates: one per leaf, in their order; not looked at where nobody was asked.
        """
        nodes = list(self.nodes)
        for number, estimate in zip(self.leaves.tolist(), estimates.tolist(), strict=True):
            node = nodes[number]
            before = sum(self.people[node.depth - 1 :])
            if people:
                mean = (node.frequency * before + estimate * people) / (before + people)
                nodes[number] = replace(node, frequency=mean)
        return replace(self, nodes=tuple(nodes), people=(*self.people, people))

    def spread_evenly(self, people: float) -> Partition:
        """As if one more round of some people had found everybody spread evenly over the codes."""
        shares = (self.codes / math.prod(self.sizes)).tolist()
        nodes = (replace(n, frequency=f) for n, f in zip(self.nodes, shares, strict=True))
        return replace(self, nodes=tuple(nodes), people=(*self.people, people))

    def grow(self, depth: int, threshold: float) -> Partition:
        """The leaves of a depth that hold a share of at least the threshold, split."""
        nodes = list(self.nodes)
        for number in self.leaves.tolist():
            node = self.nodes[number]
            if not node.depth == depth < self.depth or node.frequency < threshold:
                continue
            width = 1 << (self.depth - depth - 1)
            for halves in product((0, 1), repeat=len(self.sizes)):
                place = tuple(2 * p + half for p, half in zip(node.place, halves, strict=True))
                if all(p * width < size for p, size in zip(place, self.sizes, strict=True)):
                    nodes.append(GridNode(depth + 1, place, number))
        return replace(self, nodes=tuple(nodes))

    def cover(self, sides: Sequence[Side]) -> Array:
        """The weight of every node in the answer to a box, shape (nodes,).

        1 for the largest nodes inside; a leaf that is cut counts by the share of its codes.
        """
        share = np.ones(len(self.nodes))
        for side, size, (first, end) in zip(sides, self.sizes, self._bounds, strict=True):
            inside = np.zeros(size + 1)
            for low, high in codes_of(side, size):
                inside[low + 1 : high + 1] = 1.0
            covered = np.cumsum(inside)
            share *= (covered[end] - covered[first]) / (end - first)
        is_whole = share > 1.0 - 1e-12
        parents = np.array([node.parent for node in self.nodes], dtype=np.int64)
        is_under = np.where(parents >= 0, is_whole[parents], False)
        is_leaf = np.isin(np.arange(len(self.nodes)), self.leaves)
        own = np.where(is_whole, 1.0, np.where(is_leaf, share, 0.0))
        return np.asarray(np.where(is_under, 0.0, own))

    @cached_property
    def codes(self) -> Array:
        """How many codes each node has, shape (nodes,)."""
        widths = [end - first for first, end in self._bounds]
        return np.asarray(np.prod(widths, axis=0, dtype=np.float64))

    @cached_property
    def _depths(self) -> Codes:
        return np.array([node.depth for node in self.nodes])

    @cached_property
    def _bounds(self) -> list[tuple[Codes, Codes]]:
        """Per axis the first code of every node and one past its last."""
        widths = np.left_shift(1, self.depth - self._depths)
        places = np.array([node.place for node in self.nodes]) * widths[:, None]
        return [
            (low, np.minimum(low + widths, size))
            for low, size in zip(places.T, self.sizes, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class MeasuredGrid:
    """A grid's frequencies after its rounds, and their errors.

    A node was asked about in every round in which it was a leaf, by as many people as each round
    had. Its own mean over those rounds and the sum of its children are combined by inverse variance
    of their noise, bottom-up; the root is 1. So every combined frequency is linear in what the
    rounds have estimated, and its covariance follows: the noise of the answers, and that the people
    of a round are a sample (multinomial over the leaves of that round).

    Two things make answers biased, and both are estimated from the grid itself. Making a round's
    estimates non-negative lifts empty leaves by the part of their noise that is cut off, and lowers
    the others by one shift (`drift`). A leaf that is cut counts by the share of its codes; how far
    children of split nodes lie from that tells how uneven people are within a node (`unevenness`).

    noises: variance per report of a leaf's estimate where nobody is, shape (rounds,).
    """

    partition: Partition
    noises: Sequence[float]

    @property
    def frequencies(self) -> Array:
        """Of all nodes, inner ones combined with the sum of their children, shape (nodes,)."""
        return self._combined[0]

    def covariance(self, slopes: Array) -> Array:
        """Of the answers with these slopes (k, nodes) in the combined frequencies, shape (k, k).

        The diagonal is infinite where an answer needs a node that nobody was asked about.
        """
        parts, is_unasked = self.pull(slopes), np.isinf(self._noise)
        is_unknown = (parts[:, is_unasked] != 0.0).any(axis=1)
        parts[:, is_unasked] = 0.0
        covariance = (parts * np.where(is_unasked, 0.0, self._noise)) @ parts.T
        for people, shares in zip(self.partition.people, self._shares, strict=True):
            if people:
                # Per person, who is at which leaf of the round: multinomial.
                weights, likely = parts * shares, np.where(shares > 0.0, self.frequencies, 0.0)
                likely = likely / (likely.sum() or 1.0)
                means = weights @ likely
                covariance += ((weights * likely) @ weights.T - np.outer(means, means)) / people
        covariance[is_unknown, is_unknown] = np.inf
        return np.asarray(covariance)

    def drift(self, slopes: Array) -> Array:
        """Expected bias of the answers with these slopes (k, nodes), for the combined frequencies,
        shape (k,).

        The estimates themselves are lifted already, so the bias is taken where they lie once it is
        subtracted.
        """
        likely = np.maximum(self.frequencies, 0.0)
        own = self._lift(np.maximum(likely - self._lift(likely), 0.0))
        return np.asarray(self.pull(slopes) @ own)

    def _lift(self, likely: Array) -> Array:
        """Bias of every node's own mean if these were the frequencies, shape (nodes,).

        Of a normal estimate with mean m and deviation s, cut off at 0, the mean is lifted by
        s phi(m / s) - m Phi(-m / s). The projection on the simplex takes the sum of the lifts from
        the estimates that are positive, which each is with probability Phi(m / s).
        """
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
            positive = np.array([0.5 * math.erfc(-h / math.sqrt(2.0)) for h in height.tolist()])
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

    def pull(self, slopes: Array) -> Array:
        """The slopes in the nodes' own means, shape (k, nodes)."""
        parts, own = slopes.copy(), self._combined[1]
        for number, below in sorted(self.partition.children.items()):
            parts[:, below] += parts[:, [number]] * (1.0 - own[number])
            parts[:, number] *= own[number]
        return np.asarray(parts)

    @cached_property
    def asked(self) -> Array:
        """People of each round who were asked about each node, shape (rounds, nodes)."""
        people = np.array(self.partition.people, dtype=np.float64)
        return np.asarray(self.partition.was_leaf * people[:, None])

    @cached_property
    def _shares(self) -> Array:
        """The share of each round in a node's own mean, shape (rounds, nodes)."""
        return np.asarray(self.asked / np.maximum(self.asked.sum(axis=0), np.finfo(float).tiny))

    @cached_property
    def _noise(self) -> Array:
        """Variance of the noise in each node's own mean, shape (nodes,); the root is known, and
        nothing is known of nodes that nobody was asked about."""
        people, summed = self.asked.sum(axis=0), np.array(self.noises) @ self.asked
        noise = np.divide(summed, people**2, out=np.full(len(people), np.inf), where=people > 0.0)
        noise[0] = 0.0
        return np.asarray(noise)

    @cached_property
    def _combined(self) -> tuple[Array, Array]:
        """Combined frequencies, and the weight of each node's own mean in its own.

        Bottom-up: a node's own mean with noise v and the sum of its children with noise w are
        independent estimates of one number, so they get the weights w / (v + w) and v / (v + w),
        and together have the noise v w / (v + w).
        """
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


@dataclass(frozen=True, eq=False)
class GridQuery(PlannedQuery):
    """A count: what is known of it, and the (coefficient, box) terms that must be asked."""

    known: float
    terms: tuple[tuple[float, Box], ...]


@dataclass(frozen=True)
class GridEstimator(JointEstimator[GridQuery]):
    """Answers from the frequencies of all grids.

    axes: the dimensions of each grid.  people: whom the answers count.  answers: how people of the
    last round answered about each grid.  shares: of its leaves by this round alone.
    """

    axes: tuple[tuple[int, ...], ...]
    grids: tuple[MeasuredGrid, ...]
    people: float
    answers: Sequence[GroupAnswer]
    shares: Sequence[Array]

    def answer(self, queries: Sequence[GridQuery]) -> Estimates:
        """Values (k,), their covariance (k, k) with the expected bias; NaN, inf without reports."""
        values, slopes, cuts = self._linearise(queries)
        noise, drift = np.zeros((len(queries), len(queries))), np.zeros(len(queries))
        for grid, (first, last) in zip(self.grids, pairwise(self._starts), strict=True):
            noise += grid.covariance(slopes[:, first:last]) + grid.within(cuts[:, first:last])
            drift += grid.drift(slopes[:, first:last])
        noise += np.outer(drift, drift)
        is_unknown = ~np.isfinite(np.diagonal(noise))
        values[is_unknown] = np.nan
        noise[is_unknown, :] = noise[:, is_unknown] = 0.0
        noise[is_unknown, is_unknown] = np.inf
        return Estimates(self.people * values, self.people**2 * noise)

    def influence(self, queries: Sequence[GridQuery], slopes: Array) -> Array:
        """The effect of one more report of the last round, as long as no other leaf becomes
        or ceases to be empty."""
        values, in_nodes, _ = self._linearise(queries)
        combined, ends = slopes @ in_nodes, list[Array]()
        for number, (first, last) in enumerate(pairwise(self._starts)):
            ends.append(self._move(number, combined[:, first:last]))
        found = slopes @ values + self.people * join_ranges(ends)
        found[:, (slopes[:, np.isnan(self.answer(queries).values)] != 0.0).any(axis=1)] = np.nan
        return np.asarray(found)

    def _move(self, number: int, combined: Array) -> Array:
        """By how much a report about a grid moves sums of its frequencies, shape (2, m).

        With contributions c, the projection P on the simplex, the leaf's mean M of all its people
        and the last round's estimate p, it moves the mean of a leaf by (P(c - p) + p - M) / people.
        P takes from every leaf that is not empty the mean over these, and from the others all.
        """
        grid, shares, answer = self.grids[number], self.shares[number], self.answers[number]
        leaves = grid.partition.leaves
        people = grid.asked[:, leaves].sum(axis=0) + 1.0
        weights = grid.pull(combined)[:, leaves] / people
        filled = shares > 0.0
        own = np.where(filled, weights - weights[:, filled].mean(axis=1, keepdims=True), 0.0)
        means = np.array([grid.partition.nodes[leaf].frequency for leaf in leaves])
        moved = answer.extremes(np.arange(len(leaves)), own) - own @ shares
        return np.asarray(moved + weights @ (shares - means))

    def _linearise(self, queries: Sequence[GridQuery]) -> tuple[Array, Array, Array]:
        """Shares (k,), their slopes in the combined frequencies of all nodes, and where they cut
        leaves, shape (k, nodes) each."""
        values = np.array([query.known for query in queries], dtype=float)
        slopes = np.zeros((len(queries), len(self.frequencies)))
        cuts = np.zeros_like(slopes)
        for number, query in enumerate(queries):
            for share, box in query.terms:
                value, slope, cut = self._answer_box(box)
                values[number] += share * value
                slopes[number] += share * slope
                cuts[number] += share * cut
        return values, slopes, cuts

    @cached_property
    def frequencies(self) -> Array:
        """Of all nodes of all grids, one after the other."""
        return np.concatenate([grid.frequencies for grid in self.grids])

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *np.cumsum([len(grid.partition.nodes) for grid in self.grids]).tolist()]

    def _answer_box(self, box: Box) -> tuple[float, Array, Array]:
        """The share of people in a box, its slope in every frequency, and where it cuts leaves."""
        asked = tuple(i for i, side in enumerate(box.sides) if side is not None)
        usable = [grid for grid, axes in enumerate(self.axes) if set(asked) <= set(axes)]
        if usable:
            rows = np.array([self._row(grid, box, asked) for grid in usable])
            row = rows.mean(axis=0)
            return float(row @ self.frequencies), row, _cut(rows).mean(axis=0)
        # From the shares inside on every pair and on its sides, each side from every pair's own
        # grid: the fit takes the margins of a pair from that pair.
        pairs = list(combinations(range(len(asked)), 2))
        matrix = np.array(
            [
                self._row(self.axes.index(axes), box, kept)
                for axes in combinations(asked, 2)
                for kept in (axes, axes[:1], axes[1:])
            ]
        )
        shares, fit = matrix @ self.frequencies, partial(fit_pairs, len(asked), pairs)
        slopes = central_slopes(fit, shares)
        return fit(shares), slopes @ matrix, slopes @ _cut(matrix)

    def _row(self, grid: int, box: Box, kept: Sequence[int]) -> Array:
        """Weights of all nodes for the box, constrained on the kept dimensions only."""
        row = np.zeros(self._starts[-1])
        sides = [box.sides[axis] if axis in kept else None for axis in self.axes[grid]]
        row[self._starts[grid] : self._starts[grid + 1]] = self.grids[grid].partition.cover(sides)
        return row


def _cut(rows: Array) -> Array:
    """Root of u (1 - u) for the part u of a leaf's codes that a box holds; nodes inside have 1."""
    return np.sqrt(np.maximum(rows * (1.0 - rows), 0.0))


def fit_pairs(axes: int, pairs: Sequence[tuple[int, int]], shares: Array) -> float:
    """Share inside on all axes of the table fitted to the pairs' 2 x 2 tables.

    shares: per pair the share inside on both, on the first, on the second, shape (3 pairs,).
    """
    aims = []
    for pair, (both, first, second) in zip(pairs, shares.reshape(-1, 3).tolist(), strict=True):
        wanted = np.array([[1.0 - first - second + both, second - both], [first - both, both]])
        wanted = np.maximum(wanted, 0.0)
        aims.append((pair, wanted / wanted.sum()))
    even = np.full((2,) * axes, 0.5**axes)
    table = fit_marginals(even, aims, tolerance=_FIT_CHANGE, cycles=_FIT_CYCLES)
    return float(table[(1,) * axes])
