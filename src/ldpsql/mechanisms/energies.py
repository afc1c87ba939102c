"""Public. Sees parameters. How a workload's energy is spread over the classes of details.

The energy of a query q in class l is ||P_l q||^2; least squares answers it with variance
sum over l of ||P_l q||^2 / I_l. Everything here is exact: a class of queries by closed forms per
axis (its sides are independent, so means of products are products of means), a declared query by
the projection of the sum of its terms, their cross terms included. Specification: h4mda,
sections 10.1 and 10.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from ldpsql.estimate import Array
from ldpsql.trees.detail import (
    AxisDetails,
    average_equality_energies,
    average_prefix_energies,
    average_range_energies,
    product_energies,
)
from ldpsql.trees.hierarchy import Hierarchy
from ldpsql.workload import DeclaredQuery, Kind, Workload

AVERAGES: Mapping[Kind, Callable[[Hierarchy], Array]] = {
    "range": average_range_energies,
    "prefix": average_prefix_energies,
    "equality": average_equality_energies,
}


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

    A sum of a measure about the middle of its bounds, in units of half their distance, has
    contrasts only.
    """
    shape = tuple(len(tree.counts) for tree in trees)
    counts, contrasts = np.zeros(shape), [np.zeros(shape) for _ in workload.domain.bounds]
    for entry in workload.classes:
        asked = dict(entry.predicates)
        axes = [
            AVERAGES[asked[i]](tree) if i in asked else _free(tree) for i, tree in enumerate(trees)
        ]
        into = counts if entry.measure is None else contrasts[entry.measure]
        into += entry.weight * product_energies(axes)
    for query in workload.queries:
        energies = query.weight * declared_energies(query, trees)
        counts += query.level**2 * energies
        if query.measure is not None:
            contrasts[query.measure] += query.contrast**2 * energies
    return Energies(counts, tuple(contrasts))


def _free(tree: Hierarchy) -> Array:
    """Energies of a side that is not constrained: all at the root."""
    return np.asarray(np.eye(len(tree.counts))[0] * tree.widths[0])


def declared_energies(query: DeclaredQuery, trees: Sequence[Hierarchy]) -> Array:
    """||P_l q||^2 of q = sum of coefficient x box, for every class l."""
    shares = np.array([share for share, _ in query.terms])
    grams = [
        _axis_grams(tree, [AxisDetails.of(tree, sides[i]) for _, sides in query.terms])
        for i, tree in enumerate(trees)
    ]
    energies = np.zeros(tuple(len(tree.counts) for tree in trees))
    for levels in product(*(range(size) for size in energies.shape)):
        inner = np.ones((len(shares), len(shares)))
        for axis, level in zip(grams, levels, strict=True):
            inner = inner * axis[level]
        energies[levels] = shares @ inner @ shares
    return np.maximum(energies, 0.0)


def _axis_grams(tree: Hierarchy, axes: Sequence[AxisDetails]) -> Array:
    """Inner products of the details of the terms' sides, shape (levels, terms, terms)."""
    norms = []
    for level, width in enumerate(tree.widths):
        means = np.array([axis.means[level] for axis in axes])
        norms.append(means @ means.T * width)
    return np.diff(np.array(norms), axis=0, prepend=0.0)
