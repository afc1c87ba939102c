"""Public. Sees parameters. How many users each level combination gets.

Under consistent inference the average variance of a workload is F = sum over classes of E_l / I_l,
with E_l the workload's mean energy in class l and I_l the information that the allocation gives
it; F is convex in the allocation. The shares that minimise it (A-optimality) are found by
multiplicative updates that never raise F. Specification: h4mda, section 10.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpsql.estimate import Array
from ldpsql.mechanisms.groups import GroupTable
from ldpsql.mechanisms.oracles import OracleTable
from ldpsql.trees.detail import AxisDetails, average_range_energies, product_energies
from ldpsql.trees.hierarchy import Hierarchy
from ldpsql.workload import Workload

SHARE_FOR_ALL = 0.01
_STEPS, _GAP = 3000, 1e-6


@dataclass(frozen=True)
class Energies:
    """Mean energies of a workload, per class of the trees' levels.

    counts: of what does not depend on a sign.  contrasts: per measure, of the difference of its
    two signs.
    """

    counts: Array
    contrasts: tuple[Array, ...]


def workload_energies(workload: Workload, trees: Sequence[Hierarchy]) -> Energies:
    """Mean energies of a workload.

    A class counts by its ranges, whatever the kind of its predicates.
    A declared query counts by its own boxes; a sum of a measure about the middle of its bounds,
    in units of half their distance, has contrasts only.
    """
    shape = tuple(len(tree.counts) for tree in trees)
    ranges = [average_range_energies(tree) for tree in trees]
    free = [np.eye(len(tree.counts))[0] * tree.widths[0] for tree in trees]
    counts, contrasts = np.zeros(shape), [np.zeros(shape) for _ in workload.domain.bounds]
    for entry in workload.classes:
        asked = {i for i, _ in entry.predicates}
        axes = [ranges[i] if i in asked else free[i] for i in range(len(trees))]
        into = counts if entry.measure is None else contrasts[entry.measure]
        into += entry.weight * product_energies(axes)
    for query in workload.queries:
        energies = np.zeros(shape)
        for share, sides in query.terms:
            axes = [
                AxisDetails.of(tree, side).energies for tree, side in zip(trees, sides, strict=True)
            ]
            energies += share**2 * product_energies(axes)
        counts += query.weight * query.level**2 * energies
        if query.measure is not None:
            contrasts[query.measure] += query.weight * query.contrast**2 * energies
    return Energies(counts, tuple(contrasts))


@dataclass(frozen=True)
class Allocation:
    """The information that shares of users give to every class."""

    table: GroupTable
    oracles: OracleTable
    energies: Energies

    def optimal(self) -> Array:
        """Shares of the groups that minimise the objective, one hundredth spread evenly."""
        shares = np.full(len(self.table.groups), 1.0 / len(self.table.groups))
        for _ in range(_STEPS):
            gain, objective = self._gains(shares)
            if gain.max() <= objective * (1.0 + _GAP):
                break
            shares = shares * np.sqrt(gain / objective)
            shares /= shares.sum()
        return (1.0 - SHARE_FOR_ALL) * shares + SHARE_FOR_ALL / len(shares)

    def objective(self, shares: Array) -> float:
        """Mean variance per person of the workload's frequencies."""
        return self._gains(shares)[1]

    def _gains(self, shares: Array) -> tuple[Array, float]:
        """-dF/dshare of every group, and F."""
        gain, objective = np.zeros(len(shares)), 0.0
        for energies, informs in self._parts:
            information = shares @ informs
            used = energies > 0.0
            ratio = np.asarray(np.where(used, energies / np.where(used, information, 1.0), 0.0))
            objective += float(ratio.sum())
            gain += informs @ np.where(used, ratio / np.where(used, information, 1.0), 0.0)
        return gain, objective

    @cached_property
    def _parts(self) -> list[tuple[Array, Array]]:
        """(energies of classes, information of a report of every group on each class), shapes (c,)
        and (groups, c); the class of all roots of a count is known."""
        counts = np.array(self.energies.counts)
        counts[(0,) * counts.ndim] = 0.0
        informs = np.zeros((len(self.table.groups), *counts.shape))
        for number, group in enumerate(self.table.groups):
            part = informs[number, ...]
            part[tuple(slice(level + 1) for level in group.levels)] = self._rates[number]
        informs = informs.reshape(len(informs), -1)
        parts = [(counts.ravel(), informs)]
        signs = np.array([-1 if g.sign is None else g.sign for g in self.table.groups])
        for measure, energies in enumerate(self.energies.contrasts):
            parts.append((energies.ravel(), informs * (signs == measure)[:, None]))
        return parts

    @cached_property
    def _rates(self) -> list[float]:
        """Information per report of each group: codes per node over contrast variance."""
        rates = []
        for number, group in enumerate(self.table.groups):
            codes = 1 if group.sign is None else 0.5
            for tree, level in zip(self.table.trees, group.levels, strict=True):
                codes *= tree.widths[level]
            support = self.oracles.support(number)
            rates.append(codes / support.contrast_variance(self.table.sizes[number]))
        return rates
