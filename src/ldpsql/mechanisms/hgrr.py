"""Public. Sees parameters. HGRR: hierarchies with randomized response, without the root.

As EHIO, with GRR instead of OLH in every level combination, and without the combination of all
roots. Exactly epsilon-LDP; the alphabet of a fine combination is large, and so is its variance.
Source: H4MDA (Sci. Sin. Inform. 53, 2023), Algorithm 2; specification h4mda, section 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldpsql.mechanisms.ehio import signed_combinations
from ldpsql.mechanisms.groups import evenly_by_frame
from ldpsql.mechanisms.levels import LevelDesign
from ldpsql.mechanisms.options import GRR_OPTIONS, hierarchical, restore, take, trees_for
from ldpsql.recipes.base import NoOptions, Recipe
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.schema import RecordDomain


class Hgrr(Recipe[NoOptions]):
    """COUNT, and SUM and AVG of private measures."""

    name = "hgrr"

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> LevelDesign:
        """One frame per measure, one group per level combination but the one of all roots."""
        chosen = take(options, GRR_OPTIONS, self.name)
        trees = trees_for(domain, chosen)
        groups = evenly_by_frame(signed_combinations(domain, trees, root=False))
        chosen["oracle"] = "grr"
        return hierarchical(self.name, domain, epsilon, trees, groups, chosen, workload)

    def restore(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> LevelDesign:
        """From a survey's JSON."""
        return restore(self.name, domain, epsilon, {**data, "oracle": "grr"})
