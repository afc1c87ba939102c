"""Public. Sees parameters. How many people each level of Haar coefficients gets; see `haar`."""

from __future__ import annotations

import numpy as np

from ldpsql.estimate import Array
from ldpsql.mechanisms.allocation import by_roots
from ldpsql.mechanisms.energies import workload_energies
from ldpsql.mechanisms.hrr import power_from
from ldpsql.trees.hierarchy import Tree
from ldpsql.workload import Workload
from ldpsql_device.schema import RecordDomain


def levels_of(domain: RecordDomain) -> int:
    """Halvings of the padded codes of one dimension, and one between the signs of a measure."""
    padded = power_from(max(domain.sizes[0], 2))
    return padded.bit_length() - 1 + (1 if domain.bounds else 0)


def group_count(domain: RecordDomain) -> int:
    """Levels times frames, of which there is one per measure."""
    return levels_of(domain) * max(len(domain.bounds), 1)


def optimal_shares(workload: Workload) -> Array:
    """Shares of the groups that minimise the mean variance of a workload, shape (groups,).

    A level whose factors have the mean sum of squares a costs a / share, so the best shares are in
    proportion to the roots; one hundredth is spread evenly. Factors follow from the energies of
    the binary tree's details: those between nodes of 2^l codes and their halves have energy 2^l
    times the sum of squared factors. Both signs of a measure double it, and its sum has a factor
    above: the mean over all codes. A count weighs all frames evenly.
    """
    domain = workload.domain
    depth = levels_of(domain) - (1 if domain.bounds else 0)
    tree = Tree(domain.sizes[0], (2,) * depth)
    energies = workload_energies(workload, (tree,))
    halves = 0.5 ** np.arange(1, depth + 1)
    counts = energies.counts[:0:-1] * halves
    if not domain.bounds:
        return by_roots(counts)
    counts = np.append(2.0 * counts, 0.0) / len(domain.bounds) ** 2
    rows = [
        counts + np.append(2.0 * contrast[:0:-1] * halves, contrast[0] * 0.5**depth)
        for contrast in energies.contrasts
    ]
    return by_roots(np.concatenate(rows))
