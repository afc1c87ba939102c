"""Public. Sees parameters. Flat mechanisms: one frequency oracle over all combinations of codes.

The right choice for one or two dimensions of few codes; ranges add up the noise of every code.
With private measures, each user reports one of them as a sign beside the codes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldpsql.mechanisms.groups import GroupTable, evenly
from ldpsql.mechanisms.levels import LevelDesign
from ldpsql.mechanisms.options import checked, restore, take
from ldpsql.recipes.base import NoOptions, Recipe
from ldpsql.trees.hierarchy import Leaves
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.schema import RecordDomain


class Flat(Recipe[NoOptions]):
    """COUNT, and SUM and AVG of private measures; `name` is that of the oracle."""

    def __init__(self, name: str) -> None:
        self.name = name

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> LevelDesign:
        """One group of all leaves, or one per measure with its sign."""
        take(options, {}, self.name)
        trees = tuple(Leaves(size) for size in domain.sizes)
        leaves = tuple(0 for _ in trees)
        signs: list[int | None] = [*range(len(domain.bounds))] or [None]
        groups = evenly((leaves, sign, frame) for frame, sign in enumerate(signs))
        table = GroupTable(trees, groups)
        return checked(LevelDesign(self.name, domain, epsilon, table, self.name))

    def restore(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> LevelDesign:
        """From a survey's JSON."""
        return restore(self.name, domain, epsilon, {**data, "oracle": self.name})
