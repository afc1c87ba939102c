"""Public. Sees parameters. Groups: who reports which node of which trees.

A *group* is the set of users assigned to one level combination. It holds the node, or cell, that
the user reports about: one node per dimension and, where the group has a sign, whether the
measure of that group was rounded to its upper bound.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsql.estimate import Array
from ldpsql.mechanisms.base import Codes, Words
from ldpsql.mechanisms.draws import SPACE, WeightedChoice, weights_of, whole_shares
from ldpsql.trees.cells import cell_count, record_shares
from ldpsql.trees.hierarchy import Hierarchy
from ldpsql_device.errors import SurveyError

LARGEST_GROUPS = 1 << 16
LARGEST_GROUP = 1 << 24


@dataclass(frozen=True)
class Group:
    """One level combination and what is collected with it.

    levels: one per dimension.  sign: the measure whose sign is collected, or None.
    frame: groups of one frame together answer a query; different frames answer it independently.
    weight: probability of the group as an integer part of 2^64.
    """

    levels: tuple[int, ...]
    sign: int | None
    frame: int
    weight: int

    def to_json(self) -> list[Any]:
        """[levels, sign, frame, weight]; the weight as text, for it exceeds JSON's numbers."""
        return [list(self.levels), self.sign, self.frame, str(self.weight)]


Combination = tuple[tuple[int, ...], int | None, int]


def evenly(combinations: Iterable[Combination]) -> tuple[Group, ...]:
    """Groups of the given (levels, sign, frame), all equally likely; the first takes the rest."""
    return weighted((combination, 1) for combination in combinations)


def evenly_by_frame(combinations: Iterable[Combination]) -> tuple[Group, ...]:
    """Groups of the given (levels, sign, frame): frames equally likely, and groups within one."""
    chosen = list(combinations)
    counts = Counter(frame for _, _, frame in chosen)
    common = math.lcm(*counts.values())
    return weighted((combination, common // counts[combination[2]]) for combination in chosen)


def weighted(combinations: Iterable[tuple[Combination, int]]) -> tuple[Group, ...]:
    """Groups with whole-number shares, scaled to 2^64; the first takes what rounding leaves."""
    chosen = list(combinations)
    weights = weights_of([share for _, share in chosen])
    return tuple(
        Group(levels, sign, frame, weight)
        for ((levels, sign, frame), _), weight in zip(chosen, weights, strict=True)
    )


def all_levels(trees: Sequence[Hierarchy]) -> list[tuple[int, ...]]:
    """Every level combination of the trees, the all-root one first."""
    combinations = 1
    for tree in trees:
        combinations *= len(tree.counts)
    if combinations > LARGEST_GROUPS:
        raise SurveyError(
            f"{combinations} level combinations are more than {LARGEST_GROUPS}; "
            "use a larger fanout or fewer dimensions"
        )
    return list(product(*(range(len(tree.counts)) for tree in trees)))


def unsigned_levels(
    trees: Sequence[Hierarchy], *, root: bool, signed: bool = False
) -> list[tuple[int, ...]]:
    """The level combinations to collect without a sign.

    All of them but the one of all roots, which tells nothing; it stays where `root` asks for it,
    and where nothing else would be collected (`signed`: groups with a sign will be).
    """
    levels = all_levels(trees)
    alone = len(levels) == 1 and not signed
    return levels if root or alone else levels[1:]


@dataclass(frozen=True)
class GroupTable:
    """All groups of a design over the trees of its dimensions."""

    trees: tuple[Hierarchy, ...]
    groups: tuple[Group, ...]

    def __post_init__(self) -> None:
        if not self.groups or sum(group.weight for group in self.groups) != SPACE:
            raise SurveyError("the weights of the groups must add up to 2^64")
        if any(group.weight < 1 for group in self.groups):
            raise SurveyError("every group needs a positive weight")
        if len(self.groups) > LARGEST_GROUPS:
            raise SurveyError(f"a design has at most {LARGEST_GROUPS} groups")
        if len(self.index) != len(self.groups):
            raise SurveyError("two groups of a frame have the same levels and sign")
        if max(self.sizes) > LARGEST_GROUP:
            raise SurveyError(
                f"a level combination has {max(self.sizes)} nodes, more than {LARGEST_GROUP}; "
                "use coarser bins or fewer dimensions"
            )

    def reweighted(self, shares: NDArray[np.float64]) -> GroupTable:
        """The same groups with other probabilities, rounded to parts of 2^64."""
        pairs = (
            ((group.levels, group.sign, group.frame), share)
            for group, share in zip(self.groups, whole_shares(shares), strict=True)
        )
        return GroupTable(self.trees, weighted(pairs))

    @cached_property
    def index(self) -> Mapping[Combination, int]:
        """(levels, sign, frame) -> position in `groups`."""
        return {(g.levels, g.sign, g.frame): i for i, g in enumerate(self.groups)}

    @cached_property
    def frames(self) -> tuple[int, ...]:
        """The frames there are, ascending."""
        return tuple(sorted({group.frame for group in self.groups}))

    @cached_property
    def _signs_of(self) -> tuple[int | None, ...]:
        signs = {group.sign for group in self.groups} - {None}
        return (None, *sorted(sign for sign in signs if sign is not None))

    def serving(self, frame: int, levels: tuple[int, ...], measure: int | None) -> int | None:
        """The group with these levels: signed by the measure for a sum, unsigned or signed by
        any measure for a count. None if the frame does not collect them."""
        signs = self._signs_of if measure is None else (measure,)
        found = (self.index.get((levels, sign, frame)) for sign in signs)
        return next((group for group in found if group is not None), None)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Nodes per group, the two signs counted where the group has one."""
        return tuple(
            cell_count(group.levels, self.trees) * (1 if group.sign is None else 2)
            for group in self.groups
        )

    def even(self, group: int, nodes: Codes) -> Array:
        """The share of people at nodes of a group where all records are equally likely, shape (c,).

        Nodes that reach into padding hold fewer records than others.
        """
        levels, signs = self.groups[group].levels, 1 if self.groups[group].sign is None else 2
        return record_shares(levels, nodes % (self.sizes[group] // signs), self.trees) / signs

    @cached_property
    def _choice(self) -> WeightedChoice:
        return WeightedChoice(tuple(group.weight for group in self.groups))

    def assign(self, words: Words) -> Codes:
        """The group of each 64-bit word, by the weights."""
        return self._choice.choose(words)

    @cached_property
    def _strides(self) -> Codes:
        """Shape (groups, d): how far apart neighbours of a dimension lie in a flattened node."""
        strides = np.ones((len(self.groups), len(self.trees)), dtype=np.int64)
        for row, group in enumerate(self.groups):
            step = 1
            for column in reversed(range(len(self.trees))):
                strides[row, column] = step
                step *= self.trees[column].counts[group.levels[column]]
        return strides

    @cached_property
    def _widths(self) -> Codes:
        """Shape (groups, d): codes per node."""
        rows = [
            [tree.widths[level] for tree, level in zip(self.trees, group.levels, strict=True)]
            for group in self.groups
        ]
        return np.array(rows, dtype=np.int64).reshape(len(self.groups), len(self.trees))

    @cached_property
    def _signs(self) -> Codes:
        """Shape (groups, 2): column of the sign (0 without one) and its stride (0 without)."""
        half = [size // 2 for size in self.sizes]
        rows = [
            (0, 0) if group.sign is None else (len(self.trees) + group.sign, half[row])
            for row, group in enumerate(self.groups)
        ]
        return np.array(rows, dtype=np.int64)

    def node(self, groups: Codes, codes: Codes) -> Codes:
        """Device. The flattened node of each person in the given group, shape (n,).

        codes: int64 (n, d + k), d codes and then k signs. The upper half of a signed group's
        nodes is for the sign 1.
        """
        node = np.zeros(len(groups), dtype=np.int64)
        for column in range(len(self.trees)):
            node += codes[:, column] // self._widths[groups, column] * self._strides[groups, column]
        column, stride = self._signs[groups, 0], self._signs[groups, 1]
        if stride.any():
            node += np.take_along_axis(codes, column[:, None], axis=1)[:, 0] * stride
        return node
