"""Public. Sees parameters. AHIO: HIO augmented with a rounding tree for sensitive measures.

The device draws one measure, rounds it stochastically to a bound (its sign), and a level
combination of the dimensions' trees and of a binary rounding tree: at its root the sign is not
collected, below it the sign is part of the cell. Counts use the groups without sign, which all
measures share. Source: Xu et al., VLDB 2020; specification h4mda, section 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldpsql.mechanisms.groups import Combination, all_levels, unsigned_levels, weighted
from ldpsql.mechanisms.levels import LevelDesign
from ldpsql.mechanisms.options import OPTIONS, hierarchical, restore, take, trees_for
from ldpsql.recipes.base import NoOptions, Recipe
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.schema import RecordDomain


class Ahio(Recipe[NoOptions]):
    """COUNT, and SUM and AVG of private measures."""

    name = "ahio"

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> LevelDesign:
        """Per level combination one shared group, as likely as all its signed ones together."""
        chosen = take(options, OPTIONS, self.name)
        trees = trees_for(domain, chosen)
        measures = range(len(domain.bounds))
        unsigned = unsigned_levels(trees, root=chosen["root"], signed=bool(measures))
        shares: list[tuple[Combination, int]] = [
            ((combination, None, 0), max(len(measures), 1)) for combination in unsigned
        ]
        shares += [
            ((combination, sign, 0), 1) for combination in all_levels(trees) for sign in measures
        ]
        groups = weighted(shares)
        return hierarchical(self.name, domain, epsilon, trees, groups, chosen, workload)

    def restore(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> LevelDesign:
        """From a survey's JSON."""
        return restore(self.name, domain, epsilon, data)
