"""Groups: which level combination of trees, and which sign, a person reports about.

Every person draws a group, blindly. It holds one node per dimension and, where the group has a
sign, whether the group's measure was rounded to its upper bound; the flattened node is what the
person's report is about. Specification: docs/spec/h4mda.md#1.4, docs/spec/h4mda.md#1.7.
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

from ldpsql.decoders.linear import Codes
from ldpsql.numerics import Array
from ldpsql.record_domain import RecordDomain
from ldpsql.trees.cells import cell_count, record_shares
from ldpsql.trees.hierarchy import Hierarchy, Leaves, Tree
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import LARGEST, Digit, Term, varying

LARGEST_GROUPS = 1 << 16
LARGEST_GROUP = 1 << 24
SHARE_UNITS = 1 << 32
"""Optimised shares are rounded to whole numbers out of this many."""

Levels = tuple[int, ...]
Combination = tuple[Levels, int | None, int]
"""Levels, sign, sub-survey: see `Group`."""


@dataclass(frozen=True)
class Group:
    """One level combination and what is collected with it.

    levels: one per dimension.  sign: the measure whose sign is collected, or None.
    sub_survey: groups of one sub-survey answer a query together, different ones independently.
    weight: a whole number; groups are drawn in proportion to their weights.
    """

    levels: Levels
    sign: int | None
    sub_survey: int
    weight: int = 1

    def to_json(self) -> list[Any]:
        """[levels, sign, sub-survey, weight]."""
        return [list(self.levels), self.sign, self.sub_survey, self.weight]


def weigh_evenly(combinations: Iterable[Combination]) -> tuple[Group, ...]:
    """Groups, all equally likely."""
    return tuple(Group(*combination) for combination in combinations)


def weigh_sub_surveys_evenly(combinations: Iterable[Combination]) -> tuple[Group, ...]:
    """Groups: sub-surveys equally likely, and groups within each."""
    chosen = list(combinations)
    counts = Counter(sub_survey for _, _, sub_survey in chosen)
    common = math.lcm(*counts.values())
    return tuple(Group(*each, common // counts[each[2]]) for each in chosen)


def all_levels(trees: Sequence[Hierarchy]) -> list[Levels]:
    """Every level combination of the trees, the all-root one first."""
    combinations = math.prod(len(tree.counts) for tree in trees)
    if combinations > LARGEST_GROUPS:
        raise SurveyError(
            f"{combinations} level combinations are more than {LARGEST_GROUPS}; "
            "use a larger fanout or fewer dimensions"
        )
    return list(product(*(range(len(tree.counts)) for tree in trees)))


@dataclass(frozen=True)
class GroupTable:
    """All groups of a design over the trees of its dimensions."""

    trees: tuple[Hierarchy, ...]
    groups: tuple[Group, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.groups) <= LARGEST_GROUPS:
            raise SurveyError(f"a design has 1 to {LARGEST_GROUPS} groups")
        if any(group.weight < 1 for group in self.groups):
            raise SurveyError("every group needs a positive weight")
        if sum(group.weight for group in self.groups) > LARGEST:
            raise SurveyError("the weights of the groups add up to more than 2^53")
        if len(self.index) != len(self.groups):
            raise SurveyError("two groups of a sub-survey have the same levels and sign")
        if max(self.sizes) > LARGEST_GROUP:
            raise SurveyError(
                f"a level combination has {max(self.sizes)} nodes, more than {LARGEST_GROUP}; "
                "use coarser bins or fewer dimensions"
            )

    @classmethod
    def from_json(cls, domain: RecordDomain, data: Mapping[str, Any]) -> GroupTable:
        """The inverse of `to_json`; SurveyError for groups that do not fit the domain."""
        trees: tuple[Hierarchy, ...] = tuple(Leaves(size) for size in domain.sizes)
        if "fanouts" in data:
            pairs = zip(domain.sizes, data["fanouts"], strict=True)
            trees = tuple(Tree(size, tuple(map(whole, fanouts))) for size, fanouts in pairs)
        groups = []
        for levels, sign, sub_survey, weight in data["groups"]:
            chosen = tuple(map(whole, levels))
            fits = len(chosen) == len(trees) and all(
                0 <= level < len(tree.counts) for level, tree in zip(chosen, trees, strict=True)
            )
            if not fits or not (sign is None or 0 <= whole(sign) < len(domain.bounds)):
                raise SurveyError("a group of the design does not fit the schema")
            groups.append(Group(chosen, sign, whole(sub_survey), whole(weight)))
        return cls(trees, tuple(groups))

    def to_json(self) -> dict[str, Any]:
        """Fan-outs, where there are trees, and groups."""
        trees = [tree for tree in self.trees if isinstance(tree, Tree)]
        fanouts = [list(tree.fanouts) for tree in trees]
        return {
            **({"fanouts": fanouts} if trees and len(trees) == len(self.trees) else {}),
            "groups": [group.to_json() for group in self.groups],
        }

    def reweigh(self, shares: Array) -> GroupTable:
        """The same groups with other probabilities, rounded to parts of `SHARE_UNITS`."""
        weights = [max(1, round(share * SHARE_UNITS)) for share in shares.tolist()]
        return GroupTable(
            self.trees,
            tuple(
                Group(g.levels, g.sign, g.sub_survey, weight)
                for g, weight in zip(self.groups, weights, strict=True)
            ),
        )

    def sort(self, keys: Sequence[int]) -> GroupTable:
        """The same groups in ascending order of a key each, else in the order they have."""
        order = np.argsort(keys, kind="stable").tolist()
        return GroupTable(self.trees, tuple(self.groups[number] for number in order))

    @cached_property
    def index(self) -> Mapping[Combination, int]:
        """(levels, sign, sub-survey) -> number of the group."""
        return {(g.levels, g.sign, g.sub_survey): i for i, g in enumerate(self.groups)}

    @cached_property
    def members(self) -> Mapping[int, tuple[int, ...]]:
        """Sub-survey, ascending -> its groups."""
        numbers = sorted({group.sub_survey for group in self.groups})
        return {
            number: tuple(i for i, g in enumerate(self.groups) if g.sub_survey == number)
            for number in numbers
        }

    @cached_property
    def _signs_of(self) -> tuple[int | None, ...]:
        signs = {group.sign for group in self.groups} - {None}
        return (None, *sorted(sign for sign in signs if sign is not None))

    def find_group(self, sub_survey: int, levels: Levels, measure: int | None) -> int | None:
        """The group with these levels: signed by the measure for a sum, unsigned or signed by
        any measure for a count. None if the sub-survey does not collect them."""
        signs = self._signs_of if measure is None else (measure,)
        numbers = (self.index.get((levels, sign, sub_survey)) for sign in signs)
        return next((number for number in numbers if number is not None), None)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Nodes per group, the two signs counted where the group has one."""
        return tuple(
            cell_count(group.levels, self.trees) * (1 if group.sign is None else 2)
            for group in self.groups
        )

    @cached_property
    def shares(self) -> Array:
        """Probability of every group, shape (groups,)."""
        weights = np.array([group.weight for group in self.groups], dtype=np.float64)
        return np.asarray(weights / weights.sum())

    def spread_evenly(self, group: int, nodes: Codes) -> Array:
        """The share of people at nodes of a group where all records are equally likely, shape (c,).

        Nodes that reach into padding hold fewer records than others.
        """
        levels, signs = self.groups[group].levels, 1 if self.groups[group].sign is None else 2
        return record_shares(levels, nodes % (self.sizes[group] // signs), self.trees) / signs

    @cached_property
    def _columns(self) -> tuple[Codes, Codes, Codes]:
        """Per group and dimension codes per node and the stride of a flattened node, shape
        (groups, d) each; per group the stride of its sign, 0 without one."""
        shape = (len(self.groups), len(self.trees))
        widths, strides = np.ones(shape, dtype=np.int64), np.ones(shape, dtype=np.int64)
        for row, group in enumerate(self.groups):
            step = 1
            for axis in reversed(range(len(self.trees))):
                tree, level = self.trees[axis], group.levels[axis]
                widths[row, axis], strides[row, axis] = tree.widths[level], step
                step *= tree.counts[level]
        half = [
            0 if g.sign is None else s // 2 for g, s in zip(self.groups, self.sizes, strict=True)
        ]
        return widths, strides, np.array(half, dtype=np.int64)

    def node(self, group: int, codes: Codes) -> Codes:
        """The flattened node of each record in a group, shape (n,).

        codes: int64 (n, d + k), d codes and then k signs. The upper half of a signed group's
        nodes is for the sign 1.
        """
        widths, strides, half = self._columns
        d = len(self.trees)
        node: Codes = (codes[:, :d] // widths[group] * strides[group]).sum(axis=1)
        sign = self.groups[group].sign
        return node if sign is None else node + codes[:, d + sign] * half[group]

    def digit(
        self, members: Sequence[int], plus: Sequence[int] | None = None, radix: int | None = None
    ) -> Digit:
        """The flattened node as a digit of a plan, a column per group over the face's one step.

        plus, radix: what is added to the node of every group, and the number of values then.
        """
        widths, strides, half = (column[list(members)] for column in self._columns)
        terms = []
        for axis, tree in enumerate(self.trees):
            if all(tree.counts[self.groups[number].levels[axis]] == 1 for number in members):
                continue
            stride, width = varying(0, strides[:, axis]), varying(0, widths[:, axis])
            terms.append(Term(axis, stride, divide=width))
        signs = [self.groups[number].sign for number in members]
        for sign in sorted({sign for sign in signs if sign is not None}):
            own = np.where([other == sign for other in signs], half, 0)
            terms.append(Term(len(self.trees) + sign, varying(0, own)))
        sizes = [self.sizes[number] for number in members]
        return Digit(
            tuple(terms),
            varying(0, sizes) if radix is None else radix,
            0 if plus is None else varying(0, plus),
        )


def whole(value: Any) -> int:
    """A JSON integer as it is; SurveyError for anything else."""
    if type(value) is not int:
        raise SurveyError("a design holds whole numbers only")
    return value
