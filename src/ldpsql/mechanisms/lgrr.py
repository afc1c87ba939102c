"""Public. Sees parameters. LGRR and LGRR-FD exactly as published (NOT PRIVATE), and the repair.

LGRR-FD has all levels and `fakes` fake nodes; LGRR leaves out the leaf level of every tree,
answers a leaf as its share of the parent ("virtual leaves"), and has no fakes. Every report
contains a true ancestor of the record, at every epsilon, so a report may be possible under one
record and impossible under another: nothing is promised. They are here because they were
published, and to be compared with; a survey with them must say `accept_no_guarantee = true`.

The repair answers by randomized response over the whole forest: odds e^epsilon for every node of
the own path, 1 for every other. As each level combination v holds exactly one path node, that is
HGRR (root included) with users assigned to v in proportion to K_v + e^epsilon - 1, and is
epsilon-LDP. Source: H4MDA (Sci. Sin. Inform. 53, 2023), Algorithms 3 and 4; specification h4mda,
sections 8, 9, 9b and 11.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ldpsql.estimate import Array
from ldpsql.mechanisms.ehio import signed_combinations
from ldpsql.mechanisms.groups import Combination, Group, GroupTable, evenly_by_frame
from ldpsql.mechanisms.levels import LevelDesign
from ldpsql.mechanisms.options import (
    ALLOCATIONS,
    GRR_OPTIONS,
    TREE_OPTIONS,
    hierarchical,
    one_of,
    restore,
    restored_table,
    take,
    trees_for,
    whole,
)
from ldpsql.mechanisms.paths import LgrrDesign
from ldpsql.recipes.base import NoOptions, Recipe
from ldpsql.trees.hierarchy import Tree, balanced
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import RecordDomain


class LgrrFd(Recipe[NoOptions]):
    """LGRR with fake nodes: COUNT, and SUM and AVG of private measures. Not private."""

    name = "lgrr-fd"

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> LgrrDesign:
        """One frame per measure, a path through all its level combinations."""
        chosen = take(options, {**TREE_OPTIONS, "fakes": 1}, self.name)
        trees = trees_for(domain, chosen)
        groups = evenly_by_frame(signed_combinations(domain, trees, root=True))
        table = GroupTable(trees, groups)
        return LgrrDesign(self.name, domain, epsilon, table, chosen["fakes"], False)

    def restore(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> LgrrDesign:
        """From a survey's JSON."""
        return _restored(self.name, domain, epsilon, data)


class Lgrr(Recipe[NoOptions]):
    """LGRR with virtual leaves: COUNT, and SUM and AVG of private measures. Not private."""

    name = "lgrr"

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> LgrrDesign:
        """As LGRR-FD, without leaves and fakes.

        A dimension that one level of `fanout` nodes would cover gets a binary tree, for without
        its leaves nothing else would be left of it.
        """
        chosen = take(options, TREE_OPTIONS, self.name)
        trees = tuple(
            tree if len(tree.fanouts) > 1 else balanced(tree.size, 2)
            for tree in trees_for(domain, chosen)
        )
        inner = [
            combination
            for combination in signed_combinations(domain, trees, root=True)
            if not _has_leaf(combination, trees)
        ]
        table = GroupTable(trees, evenly_by_frame(inner))
        if max(table.sizes) == 1:
            raise SurveyError(
                "lgrr leaves out the leaves, and nothing but the roots is left; a dimension needs "
                "three codes or more"
            )
        return LgrrDesign(self.name, domain, epsilon, table, 0, True)

    def restore(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> LgrrDesign:
        """From a survey's JSON."""
        return _restored(self.name, domain, epsilon, data)


class LgrrRepaired(Recipe[NoOptions]):
    """Randomized response over the whole forest: COUNT, and SUM and AVG of private measures."""

    name = "lgrr-repaired"

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> LevelDesign:
        """Every frame gets as many users, by default a level combination in proportion to
        K + e - 1; another allocation makes it HGRR with its root group."""
        known = {**GRR_OPTIONS, "allocation": "forest"}
        chosen = take(options, known, self.name)
        one_of("allocation", chosen["allocation"], ("forest", *ALLOCATIONS))
        trees = trees_for(domain, chosen)
        groups = evenly_by_frame(signed_combinations(domain, trees, root=True))
        asked = {**chosen, "oracle": "grr"}
        if chosen["allocation"] == "forest":
            shares = _forest_shares(trees, groups, epsilon)
            groups = GroupTable(trees, groups).reweighted(shares).groups
            asked["allocation"] = "uniform"
        return hierarchical(self.name, domain, epsilon, trees, groups, asked, workload)

    def restore(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> LevelDesign:
        """From a survey's JSON."""
        return restore(self.name, domain, epsilon, {**data, "oracle": "grr"})


def _forest_shares(trees: tuple[Tree, ...], groups: tuple[Group, ...], epsilon: Epsilon) -> Array:
    """What randomized response over the whole forest of a frame gives each level combination."""
    frames = np.array([group.frame for group in groups])
    odds = np.array(GroupTable(trees, groups).sizes) + float(epsilon.odds) - 1.0
    totals = np.bincount(frames, odds)
    return np.asarray(odds / totals[frames] / len(totals))


def _has_leaf(combination: Combination, trees: tuple[Tree, ...]) -> bool:
    """Whether some tree of more than one level is at its leaves."""
    levels = combination[0]
    return any(
        level and level == len(tree.counts) - 1 for level, tree in zip(levels, trees, strict=True)
    )


def _restored(
    name: str, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
) -> LgrrDesign:
    table, leafless = restored_table(domain, data), data["virtual_leaves"] is True
    return LgrrDesign(name, domain, epsilon, table, whole(data["fakes"]), leafless)
