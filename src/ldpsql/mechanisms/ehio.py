"""Public. Sees parameters. EHIO: HIO with the sign of a sensitive measure embedded in its tree.

The device draws one measure, rounds it stochastically to a bound (its sign), and replaces the
measure's own tree by a signed one: root, then sign, then sign and node. A measure that is no
dimension gets a tree of root and sign. Every measure's users answer counts on their own, and the
answers are combined by inverse variance. Source: Xu et al., VLDB 2020; specification h4mda,
section 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ldpsql.mechanisms.groups import Combination, all_levels, evenly_by_frame, unsigned_levels
from ldpsql.mechanisms.levels import LevelDesign
from ldpsql.mechanisms.options import OPTIONS, hierarchical, restore, take, trees_for
from ldpsql.recipes.base import NoOptions, Recipe
from ldpsql.trees.hierarchy import Tree
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.schema import RecordDomain


class Ehio(Recipe[NoOptions]):
    """COUNT, and SUM and AVG of private measures."""

    name = "ehio"

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> LevelDesign:
        """One frame per measure, one group per level combination of its signed trees."""
        chosen = take(options, OPTIONS, self.name)
        trees = trees_for(domain, chosen)
        groups = evenly_by_frame(signed_combinations(domain, trees, root=chosen["root"]))
        return hierarchical(self.name, domain, epsilon, trees, groups, chosen, workload)

    def restore(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> LevelDesign:
        """From a survey's JSON."""
        return restore(self.name, domain, epsilon, data)


def signed_combinations(
    domain: RecordDomain, trees: Sequence[Tree], *, root: bool
) -> Iterator[Combination]:
    """(levels, sign, frame) of every frame; with `root` those of all roots and no sign too.

    The signed tree of a dimension has its root without a sign, and every level of the plain tree
    with one. Without measures there is one frame of plain trees.
    """
    if not domain.bounds:
        levels = unsigned_levels(trees, root=root)
        yield from ((combination, None, 0) for combination in levels)
        return
    for measure, dimension in enumerate(domain.measured):
        for combination in all_levels(trees):
            at_root = dimension is None or combination[dimension] == 0
            if at_root and (root or any(combination)):
                yield combination, None, measure
            yield combination, measure, measure
