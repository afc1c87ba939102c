"""Public. Sees parameters. What a report of each group tells about each class of details.

In the detail basis of the trees (`trees.detail`) least squares has a diagonal information matrix.
A report of a group informs every class whose levels are at most the group's, each by

    codes per node / V,

V being the variance of a contrast in the group. The sign of a measure halves the codes per node.
Estimation (`consistent`) and allocation (`allocation`) both read this table. Specification:
h4mda, section 10.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpsql.estimate import Array
from ldpsql.mechanisms.groups import GroupTable
from ldpsql.mechanisms.oracles import OracleTable

Classes = tuple[slice, ...]


@dataclass(frozen=True)
class InformationTable:
    """Information per report of every group of a table."""

    table: GroupTable
    oracles: OracleTable

    @cached_property
    def below(self) -> tuple[Classes, ...]:
        """The classes that each group informs, as an index into an array over all classes."""
        return tuple(
            tuple(slice(level + 1) for level in group.levels) for group in self.table.groups
        )

    @cached_property
    def precisions(self) -> Array:
        """1 / V per group, its two signs counted as one node, shape (groups,)."""
        variances = [
            self.oracles.support(number).contrast_variance(size)
            * (1 if self.table.groups[number].sign is None else 2)
            for number, size in enumerate(self.table.sizes)
        ]
        return np.asarray(1.0 / np.array(variances))

    @cached_property
    def rates(self) -> Array:
        """Information per report about each class that a group informs, shape (groups,)."""
        codes = [
            np.prod(
                [t.widths[j] for t, j in zip(self.table.trees, group.levels, strict=True)],
                dtype=np.float64,
            )
            for group in self.table.groups
        ]
        return np.asarray(np.array(codes) * self.precisions)

    def total(self, reports: Array, members: Sequence[int]) -> Array:
        """I_l of every class from the reports of some groups, shape (levels of axis 1, ...).

        reports: per group, shape (groups,), or shares of them.
        """
        information = np.zeros(tuple(len(tree.counts) for tree in self.table.trees))
        for group in members:
            information[self.below[group]] += reports[group] * self.rates[group]
        return information
