"""Public. Sees parameters. What a workload asks of a channel, cell by cell."""

from __future__ import annotations

import numpy as np

from ldpsql.bounds import pattern_gram
from ldpsql.estimate import Array
from ldpsql.workload import Workload

LEAST_SHARE = 1e-3


def cell_gram(workload: Workload) -> Array:
    """Mean of q q' over a workload's queries, shape (cells, cells), signs of measures included.

    A sum counts in units of half the distance of its measure's bounds, about their middle.
    """
    blocks = pattern_gram(workload)
    measures = blocks.shape[0] - 1
    signs = np.stack(
        [np.ones(2**measures)]
        + [2.0 * (np.arange(2**measures) >> (measures - 1 - m) & 1) - 1.0 for m in range(measures)]
    )
    whole = np.einsum("piqj,pa,qb->iajb", blocks, signs, signs, optimize=True)
    cells = blocks.shape[1] * 2**measures
    return np.asarray(whole.reshape(cells, cells))


def raised(gram: Array) -> Array:
    """The Gram with no eigenvalue below LEAST_SHARE of their mean.

    What a workload does not ask about stays answerable, at an honest and large variance.
    """
    values, vectors = np.linalg.eigh(gram)
    least = LEAST_SHARE * max(float(values.mean()), np.finfo(float).tiny)
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)
