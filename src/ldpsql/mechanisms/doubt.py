"""Runs at the collector. Sees reports. What is added to estimated frequencies in a variance.

Where few people stand behind an estimate, one that happens to be low would come with too small an
error. So two more people of the group are added before a variance is made of it, as in the
interval of Agresti and Coull (1998): two who weigh as much as any node of the query does. Between
two queries they count as far as the queries have the same nodes, so that what is added to a
covariance matrix is a Gram matrix, and the ratio of two sums that belong together is not doubted
twice. In the weights of public columns they are like all people: the few of a group may all weigh
nothing, and still some others do.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ldpsql.estimate import Array
from ldpsql.report import Histogram, Pair

PEOPLE = 2.0


def doubt_of(histogram: Histogram, size: float, pair: Pair) -> float:
    """What the people who are added to a group of this size add to its mean of u v."""
    return PEOPLE / size * histogram.moment(*pair) / histogram.people


def scatter_of(doubt: Callable[[Pair], float], pair: Pair) -> float:
    """The part of a doubt that is due to people who weigh more or less than others do.

    It is what a group's mean of u v is doubted by. Without weights, or where all weigh alike, there
    is nothing to doubt, and a ratio of sums keeps the error that its weights give it.
    """
    left, right = pair
    people = doubt((None, None))
    if left is None or right is None or not people:
        return 0.0
    return doubt(pair) - doubt((left, None)) * doubt((right, None)) / people


def doubted(left: Array, right: Array) -> Array:
    """What one such person adds to E[w_i w_j], shape (k, l).

    left, right: node weights of the queries, shapes (k, c) and (l, c). For a query with itself
    the largest of its squared weights.
    """
    return _scaled(left) @ _scaled(right).T


def _scaled(weights: Array) -> Array:
    """The weights, each row with the norm of its largest entry."""
    norms = np.sqrt(np.sum(weights**2, axis=1, keepdims=True))
    largest = np.abs(weights).max(axis=1, keepdims=True)
    return np.asarray(weights * largest / np.where(norms > 0.0, norms, 1.0))
