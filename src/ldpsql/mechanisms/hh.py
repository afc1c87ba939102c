"""Public. Sees parameters. HH: hierarchical histograms of one attribute, by OUE or HRR.

Every user is assigned one level of the tree below the root and reports the own node there. With
`inference = "consistent"` it is the constrained inference of the authors. A measure's sign is
embedded as in EHIO. Source: Cormode, Kulkarni, Srivastava, "Answering range queries under local
differential privacy", VLDB 2019; specification h4mda, section 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldpsql.mechanisms.ehio import signed_combinations
from ldpsql.mechanisms.groups import evenly_by_frame
from ldpsql.mechanisms.levels import LevelDesign
from ldpsql.mechanisms.options import (
    GRR_OPTIONS,
    hierarchical,
    one_dimension,
    one_of,
    restore,
    take,
    trees_for,
)
from ldpsql.recipes.base import NoOptions, Recipe
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.schema import RecordDomain

ORACLES = ("oue", "hrr")


class Hh(Recipe[NoOptions]):
    """COUNT, and SUM and AVG of private measures, over one dimension."""

    name = "hh"

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> LevelDesign:
        """One group per level below the root, per measure."""
        chosen = take(options, {**GRR_OPTIONS, "oracle": "oue"}, self.name)
        one_of("oracle", chosen["oracle"], ORACLES)
        one_dimension(domain, self.name)
        trees = trees_for(domain, chosen)
        groups = evenly_by_frame(signed_combinations(domain, trees, root=False))
        return hierarchical(self.name, domain, epsilon, trees, groups, chosen, workload)

    def restore(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> LevelDesign:
        """From a survey's JSON."""
        one_dimension(domain, self.name)
        one_of("oracle", data["oracle"], ORACLES)
        return restore(self.name, domain, epsilon, data)
