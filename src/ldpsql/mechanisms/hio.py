"""Public. Sees parameters. HIO: hierarchical intervals, one level combination per user.

Every combination of one level per dimension is a group; its users report their cell by OLH.
Source: Wang, Ding, Zhou, Hong, Huang, Li, Jha, "Answering multi-dimensional analytical queries
under local differential privacy", SIGMOD 2019; specification h4mda, section 3. The combination of
all roots carries no information and is left out unless `root = true` (the paper's form).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldpsql.mechanisms.groups import all_levels, evenly
from ldpsql.mechanisms.levels import LevelDesign
from ldpsql.mechanisms.options import (
    DEFAULT_FANOUT,
    level_design,
    no_measures,
    restore,
    take,
    trees_for,
)
from ldpsql.privacy import Epsilon
from ldpsql.schema import RecordDomain

OPTIONS = {"fanout": DEFAULT_FANOUT, "oracle": "olh", "root": False}


class Hio:
    """COUNT over private dimensions; SUM and AVG of public columns under private predicates."""

    name = "hio"

    def design(
        self, domain: RecordDomain, epsilon: Epsilon, options: Mapping[str, Any]
    ) -> LevelDesign:
        """One group per level combination, all equally likely."""
        chosen = take(options, OPTIONS, self.name)
        no_measures(domain, self.name)
        trees = trees_for(domain, chosen["fanout"])
        levels = all_levels(trees)[0 if chosen["root"] else 1 :]
        groups = evenly((combination, None, 0) for combination in levels)
        return level_design(self.name, domain, epsilon, trees, groups, chosen["oracle"])

    def restore(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> LevelDesign:
        """From a survey's JSON."""
        no_measures(domain, self.name)
        return restore(self.name, domain, epsilon, data)
