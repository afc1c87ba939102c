"""Public. Sees parameters. Adaptive grids: trees of boxes that are split where people are.

A grid of 2^depth codes per axis, padded; every node splits into halves along all axes, children
that hold no code are left out. A leaf of depth d was a leaf in every round from d on, for in round
d the leaves of depth d are new, and after it they are split or never; an inner node of depth d was
one in round d alone. So the people of each round say who was asked about which node. Specification:
h4mda, section 6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from ldpsql.boxes import Side
from ldpsql.estimate import Array
from ldpsql.mechanisms.base import Codes
from ldpsql_device.errors import SurveyError

LARGEST_GRID = 1 << 22


@dataclass(frozen=True)
class Node:
    """One box: its depth, its place on every axis at that depth, and its parent's number.

    frequency: share of people, the mean over all who were asked about it (0 before that).
    """

    depth: int
    place: tuple[int, ...]
    parent: int
    frequency: float = 0.0

    def to_json(self) -> list[Any]:
        """Plain numbers."""
        return [self.depth, list(self.place), self.parent, self.frequency]


@dataclass(frozen=True)
class Partition:
    """An adaptive grid over some axes.

    sizes: codes per axis.  depth: of single codes.  people: who was asked, round by round.
    """

    sizes: tuple[int, ...]
    depth: int
    nodes: tuple[Node, ...]
    people: tuple[float, ...] = ()

    @classmethod
    def first(cls, sizes: tuple[int, ...], depth: int) -> Partition:
        """The root, split once."""
        if math.prod(sizes) > LARGEST_GRID:
            raise SurveyError(f"a grid has at most {LARGEST_GRID} codes; use coarser bins")
        root = Node(0, (0,) * len(sizes), -1, 1.0)
        return cls(sizes, depth, (root,))._split([0])

    @classmethod
    def from_json(cls, sizes: tuple[int, ...], depth: int, data: Mapping[str, Any]) -> Partition:
        """The inverse of `to_json`; SurveyError if it is no such tree."""
        nodes = tuple(Node(d, tuple(place), p, float(f)) for d, place, p, f in data["nodes"])
        made = cls(sizes, depth, nodes, tuple(data["people"]))
        sound = (
            math.prod(sizes) <= LARGEST_GRID
            and all(type(people) is int and people > 0 for people in made.people)
            and all(made._is_sound(number) for number in range(len(nodes)))
        )
        if not sound or (made.labels < 0).any():
            raise SurveyError("the leaves of an adaptive grid do not cover its codes")
        return made

    def to_json(self) -> Mapping[str, Any]:
        """Plain data."""
        return {"people": list(self.people), "nodes": [node.to_json() for node in self.nodes]}

    def _is_sound(self, number: int) -> bool:
        """Whether a node lies below an earlier one that a round has asked about."""
        node = self.nodes[number]
        whole = all(type(value) is int for value in (node.depth, node.parent, *node.place))
        if not whole or len(node.place) != len(self.sizes) or min(node.place) < 0:
            return False
        if number == 0:
            return (node.depth, node.parent, node.frequency) == (0, -1, 1.0)
        if not 0 <= node.parent < number:
            return False
        above = self.nodes[node.parent]
        inside = all(a == b // 2 for a, b in zip(above.place, node.place, strict=True))
        told = above.depth <= len(self.people)
        return node.depth == above.depth + 1 <= self.depth and told and inside

    @cached_property
    def children(self) -> Mapping[int, list[int]]:
        """Numbers of the children of every inner node."""
        found: dict[int, list[int]] = {}
        for number, node in enumerate(self.nodes[1:], start=1):
            found.setdefault(node.parent, []).append(number)
        return found

    @cached_property
    def leaves(self) -> Codes:
        """Numbers of the nodes without children."""
        inner = self.children
        return np.array([n for n in range(len(self.nodes)) if n not in inner], dtype=np.int64)

    def leaves_in(self, number: int) -> int:
        """How many leaves it had in a round."""
        inner = self.children
        return sum(
            0 < node.depth <= number and (place not in inner or node.depth == number)
            for place, node in enumerate(self.nodes)
        )

    @cached_property
    def labels(self) -> Codes:
        """For every combination of codes the position of its leaf in `leaves`; -1 for none."""
        labels = np.full(self.sizes, -1, dtype=np.int64)
        for position, number in enumerate(self.leaves):
            labels[self._span(self.nodes[number])] = position
        return labels

    def _span(self, node: Node) -> tuple[slice, ...]:
        width = 1 << (self.depth - node.depth)
        return tuple(slice(p * width, (p + 1) * width) for p in node.place)

    def _split(self, chosen: Sequence[int]) -> Partition:
        made = list(self.nodes)
        for number in chosen:
            node = self.nodes[number]
            width = 1 << (self.depth - node.depth - 1)
            for halves in product((0, 1), repeat=len(self.sizes)):
                place = tuple(2 * p + half for p, half in zip(node.place, halves, strict=True))
                if all(p * width < size for p, size in zip(place, self.sizes, strict=True)):
                    made.append(Node(node.depth + 1, place, number))
        return replace(self, nodes=tuple(made))

    def measured(self, estimates: Array, people: int) -> Partition:
        """After a round of some people: running means of the leaves.

        estimates: one per leaf, in their order; not looked at where nobody was asked.
        """
        made = list(self.nodes)
        for number, estimate in zip(self.leaves.tolist(), estimates.tolist(), strict=True):
            node = made[number]
            before = sum(self.people[node.depth - 1 :])
            if people:
                mean = (node.frequency * before + estimate * people) / (before + people)
                made[number] = replace(node, frequency=mean)
        return replace(self, nodes=tuple(made), people=(*self.people, people))

    def spread_evenly(self, people: float) -> Partition:
        """As if one more round of some people had found everybody spread evenly over the codes."""
        codes = np.prod([end - first for first, end in self._bounds], axis=0)
        shares = (codes / math.prod(self.sizes)).tolist()
        nodes = (replace(n, frequency=f) for n, f in zip(self.nodes, shares, strict=True))
        return replace(self, nodes=tuple(nodes), people=(*self.people, people))

    def grown(self, depth: int, threshold: float) -> Partition:
        """The leaves of a depth that hold a share of at least the threshold, split."""
        chosen = [
            int(number)
            for number in self.leaves
            if self.nodes[number].depth == depth < self.depth
            and self.nodes[number].frequency >= threshold
        ]
        return self._split(chosen)

    def cover(self, sides: Sequence[Side]) -> Array:
        """The weight of every node in the answer to a box, shape (nodes,).

        1 for the largest nodes inside; a leaf that is cut counts by the share of its codes.
        """
        share = np.ones(len(self.nodes))
        for axis, (side, size) in enumerate(zip(sides, self.sizes, strict=True)):
            inside = np.zeros(size + 1)
            for low, high in ((0, size),) if side is None else side:
                inside[low + 1 : high + 1] = 1.0
            covered = np.cumsum(inside)
            first, end = self._bounds[axis]
            share *= (covered[end] - covered[first]) / (end - first)
        whole = share > 1.0 - 1e-12
        parent = self._parents
        under = np.where(parent >= 0, whole[parent], False)
        leaf = np.zeros(len(self.nodes), dtype=bool)
        leaf[self.leaves] = True
        return np.asarray(np.where(under, 0.0, np.where(whole, 1.0, np.where(leaf, share, 0.0))))

    @cached_property
    def codes(self) -> Array:
        """How many codes each node has, shape (nodes,)."""
        widths = [end - first for first, end in self._bounds]
        return np.asarray(np.prod(widths, axis=0, dtype=np.float64))

    @cached_property
    def _parents(self) -> Codes:
        return np.array([node.parent for node in self.nodes], dtype=np.int64)

    @cached_property
    def _bounds(self) -> list[tuple[Codes, Codes]]:
        """Per axis the first code of every node and one past its last."""
        depths = np.array([node.depth for node in self.nodes])
        widths = np.left_shift(1, self.depth - depths)
        found = []
        for axis, size in enumerate(self.sizes):
            low = np.array([node.place[axis] for node in self.nodes]) * widths
            found.append((low, np.minimum(low + widths, size)))
        return found


def on_simplex(estimates: Array) -> Array:
    """Norm-sub: negatives to 0, one common shift of the positive entries, until the sum is 1."""
    ordered = np.sort(estimates)[::-1]
    shifts = (1.0 - np.cumsum(ordered)) / np.arange(1, len(ordered) + 1)
    last = int(np.flatnonzero(ordered + shifts > 0.0)[-1])
    return np.asarray(np.maximum(estimates + shifts[last], 0.0))


def splitting_threshold(axes: int, people: float, odds: float) -> float:
    """Share of people from which a node is worth splitting into 2^axes; see AHEAD, section 4."""
    noise = 4.0 * odds / (odds - 1.0) ** 2 / people
    return math.sqrt((2.0**axes + 1.0) * noise)
