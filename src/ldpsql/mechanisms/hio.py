"""Public. Sees parameters. HIO: hierarchical intervals, one level combination per user.

Every combination of one level per dimension is a group; its users report their cell by OLH.
Source: Wang, Ding, Zhou, Hong, Huang, Li, Jha, "Answering multi-dimensional analytical queries
under local differential privacy", SIGMOD 2019; specification h4mda, section 3. The combination of
all roots carries no information and is left out unless `root = true` (the paper's form).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldpsql.mechanisms.groups import evenly, unsigned_levels
from ldpsql.mechanisms.levels import LevelDesign
from ldpsql.mechanisms.options import (
    OPTIONS,
    hierarchical,
    no_measures,
    restore,
    take,
    trees_for,
)
from ldpsql.recipes.base import NoOptions, Recipe
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.schema import RecordDomain


class Hio(Recipe[NoOptions]):
    """COUNT over private dimensions; SUM and AVG of public columns under private predicates."""

    name = "hio"

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> LevelDesign:
        """One group per level combination, all equally likely."""
        chosen = take(options, OPTIONS, self.name)
        no_measures(domain, self.name)
        trees = trees_for(domain, chosen)
        levels = unsigned_levels(trees, root=chosen["root"])
        groups = evenly((combination, None, 0) for combination in levels)
        return hierarchical(self.name, domain, epsilon, trees, groups, chosen, workload)

    def restore(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> LevelDesign:
        """From a survey's JSON."""
        no_measures(domain, self.name)
        return restore(self.name, domain, epsilon, data)
