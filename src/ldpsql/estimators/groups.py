"""Groups: which level combination of trees, and which sign, a person reports about.

Every person draws a group, blindly. It holds one node per dimension and, where the group has a
sign, whether the group's measure was rounded to its upper bound; the flattened node is what the
person's report is about. Specification: docs/spec/h4mda.md#1.4, docs/spec/h4mda.md#1.7.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from ldpsql.algebra.numerics import Array
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.base import Codes
from ldpsql.estimators.linear import Moments
from ldpsql.estimators.trees import Levels, Tree
from ldpsql.reports.survey_file import vary
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import LARGEST, Digit, Term

LARGEST_GROUPS = 1 << 16
LARGEST_GROUP = 1 << 24
SHARE_UNITS = 1 << 32
"""Optimised shares are rounded to whole numbers out of this many."""

Combination = tuple[Levels, int | None, int]
"""Levels, sign, sub-survey: see `LevelGroup`."""


@dataclass(frozen=True)
class LevelGroup:
    """One level combination and what is collected with it.

    levels: one per dimension.  sign: the measure whose sign is collected, or None.
    sub_survey: groups of one sub-survey answer a query together, different ones independently.
    weight: a whole number; groups are drawn in proportion to their weights.
    """

    levels: Levels
    sign: int | None
    sub_survey: int
    weight: int = 1


def weigh_evenly(combinations: Iterable[Combination]) -> tuple[LevelGroup, ...]:
    """Groups: sub-surveys equally likely, and groups within each."""
    chosen = list(combinations)
    counts = Counter(sub_survey for _, _, sub_survey in chosen)
    common = math.lcm(*counts.values())
    return tuple(LevelGroup(*each, common // counts[each[2]]) for each in chosen)


def all_levels(trees: Sequence[Tree], domain: RecordDomain) -> list[Levels]:
    """Every level combination of the trees, the all-root one first. No query is about two measures
    that may be missing, so one of these trees at most is below its root."""
    first = domain.first_level_axis
    roots = (0,) * len(domain.nullable)
    below = [
        (*roots[:place], level, *roots[place + 1 :])
        for place, tree in enumerate(trees[first:])
        for level in range(1, len(tree.counts))
    ]
    combinations = math.prod(len(tree.counts) for tree in trees[:first]) * (1 + len(below))
    if combinations > LARGEST_GROUPS:
        raise SurveyError(
            f"{combinations} level combinations are more than {LARGEST_GROUPS}; "
            "use a larger fanout or fewer dimensions"
        )
    plain = product(*(range(len(tree.counts)) for tree in trees[:first]))
    return [(*levels, *own) for levels, own in product(plain, [roots, *below])]


@dataclass(frozen=True)
class GroupTable:
    """All groups of a design over the trees of its dimensions."""

    trees: tuple[Tree, ...]
    groups: tuple[LevelGroup, ...]

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
        fanouts = data.get("fanouts", [()] * len(domain.sizes))
        pairs = zip(domain.sizes, fanouts, strict=True)
        trees = tuple(Tree(size, tuple(map(whole, own))) for size, own in pairs)
        groups = []
        for levels, sign, sub_survey, weight in data["groups"]:
            chosen = tuple(map(whole, levels))
            fits = len(chosen) == len(trees) and all(
                0 <= level < len(tree.counts) for level, tree in zip(chosen, trees, strict=True)
            )
            if not fits or not (sign is None or 0 <= whole(sign) < len(domain.bounds)):
                raise SurveyError("a group of the design does not fit the schema")
            groups.append(LevelGroup(chosen, sign, whole(sub_survey), whole(weight)))
        return cls(trees, tuple(groups))

    def to_json(self) -> dict[str, Any]:
        """Fan-outs, where there are trees, and [levels, sign, sub-survey, weight] per group."""
        fanouts = [list(tree.fanouts) for tree in self.trees]
        return {
            **({"fanouts": fanouts} if any(fanouts) else {}),
            "groups": [[list(g.levels), g.sign, g.sub_survey, g.weight] for g in self.groups],
        }

    def reweigh(self, shares: Array) -> GroupTable:
        """The same groups with other probabilities, rounded to parts of `SHARE_UNITS`."""
        groups = zip(self.groups, round_shares(shares), strict=True)
        return GroupTable(self.trees, tuple(replace(g, weight=weight) for g, weight in groups))

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
        members: dict[int, list[int]] = {}
        for number, group in enumerate(self.groups):
            members.setdefault(group.sub_survey, []).append(number)
        return {sub_survey: tuple(own) for sub_survey, own in sorted(members.items())}

    @cached_property
    def signs(self) -> tuple[int, ...]:
        """The measures whose signs are collected, ascending."""
        return tuple(sorted({group.sign for group in self.groups if group.sign is not None}))

    def find_group(self, sub_survey: int, levels: Levels, measure: int | None) -> int | None:
        """The group with these levels: signed by the measure for a sum, unsigned or signed by
        any measure for a count. None if the sub-survey does not collect them."""
        signs = (None, *self.signs) if measure is None else (measure,)
        numbers = (self.index.get((levels, sign, sub_survey)) for sign in signs)
        return next((number for number in numbers if number is not None), None)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Nodes per group, the two signs counted where the group has one."""
        return tuple(
            math.prod(tree.counts[j] for tree, j in zip(self.trees, group.levels, strict=True))
            * (1 if group.sign is None else 2)
            for group in self.groups
        )

    def describe(self, group: int, domain: RecordDomain, oracle: str = "") -> str:
        """A group in words: its levels, sign, nodes and how it answers."""
        levels = zip(domain.names, self.groups[group].levels, strict=True)
        parts = [f"{name} level {level}" for name, level in levels]
        sign = self.groups[group].sign
        signed = "" if sign is None else f", sign of {domain.measure_names[sign]}"
        return f"group {group} ({', '.join(parts)}{signed}; {self.sizes[group]} nodes{oracle})"

    @cached_property
    def shares(self) -> Array:
        """Probability of every group, shape (groups,)."""
        weights = np.array([group.weight for group in self.groups], dtype=np.float64)
        return np.asarray(weights / weights.sum())

    @cached_property
    def _columns(self) -> tuple[Codes, Codes, Codes]:
        """Per group and dimension codes per node and the stride of a flattened node, shape
        (groups, d) each; per group the stride of its sign, 0 without one."""
        shape = (len(self.groups), len(self.trees))
        widths, strides = np.ones(shape, dtype=np.int64), np.ones(shape, dtype=np.int64)
        half = np.zeros(len(self.groups), dtype=np.int64)
        for row, group in enumerate(self.groups):
            step = 1
            for axis in reversed(range(len(self.trees))):
                tree, level = self.trees[axis], group.levels[axis]
                widths[row, axis], strides[row, axis] = tree.widths[level], step
                step *= tree.counts[level]
            half[row] = 0 if group.sign is None else step
        return widths, strides, half

    @property
    def strides(self) -> Codes:
        """How far a group's nodes of neighbouring codes of a dimension are, shape (groups, d)."""
        return self._columns[1]

    def spread_evenly(self, group: int, nodes: Codes) -> Array:
        """The share of people at nodes of a group where all records are equally likely, shape (c,).

        Nodes that reach into padding hold fewer records than others.
        """
        widths, strides, _ = self._columns
        own = self.groups[group]
        shares = np.full(len(nodes), 1.0 if own.sign is None else 0.5)
        for axis, (tree, level) in enumerate(zip(self.trees, own.levels, strict=True)):
            first = nodes // strides[group, axis] % tree.counts[level] * widths[group, axis]
            shares *= (np.minimum(first + widths[group, axis], tree.size) - first) / tree.size
        return shares

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
            if any(tree.counts[self.groups[number].levels[axis]] > 1 for number in members):
                stride, width = vary(0, strides[:, axis]), vary(0, widths[:, axis])
                terms.append(Term(axis, stride, divide=width))
        signs = [self.groups[number].sign for number in members]
        for sign in sorted({sign for sign in signs if sign is not None}):
            own = np.where([other == sign for other in signs], half, 0)
            terms.append(Term(len(self.trees) + sign, vary(0, own)))
        sizes = [self.sizes[number] for number in members]
        return Digit(
            tuple(terms),
            vary(0, sizes) if radix is None else radix,
            0 if plus is None else vary(0, plus),
        )


@dataclass(frozen=True)
class InformationTable:
    """Information of a report of each group about each class of details.

    It informs every class whose levels are at most the group's, each by codes per node / V; the
    sign of a measure halves the codes per node. moments: of each group's contributions.
    """

    table: GroupTable
    moments: Sequence[Moments]

    @cached_property
    def precisions(self) -> Array:
        """1 / V per group, its two signs counted as one node, shape (groups,)."""
        parts = zip(self.moments, self.table.sizes, self.table.groups, strict=True)
        variances = [m.contrast_variance(n) * (1 if g.sign is None else 2) for m, n, g in parts]
        return np.asarray(1.0 / np.array(variances))

    @cached_property
    def rates(self) -> Array:
        """Information per report about each class that a group informs, shape (groups,)."""
        trees = self.table.trees
        codes = [
            float(math.prod(t.widths[j] for t, j in zip(trees, group.levels, strict=True)))
            for group in self.table.groups
        ]
        return np.asarray(np.array(codes) * self.precisions)

    def total(self, reports: Array, members: Iterable[int]) -> Array:
        """I_l of every class from the reports of some groups, shape (levels of axis 1, ...).

        reports: per group, shape (groups,), or shares of them.
        """
        information = np.zeros(tuple(len(tree.counts) for tree in self.table.trees))
        for group in members:
            below = tuple(slice(level + 1) for level in self.table.groups[group].levels)
            information[below] += reports[group] * self.rates[group]
        return information


def round_shares(shares: Array) -> list[int]:
    """Probabilities as whole weights, in parts of `SHARE_UNITS`; none becomes 0."""
    return [max(1, round(share * SHARE_UNITS)) for share in shares.tolist()]


def whole(value: Any) -> int:
    """A JSON integer as it is; SurveyError for anything else."""
    if type(value) is not int:
        raise SurveyError("a design holds whole numbers only")
    return value
