"""Covariances of unbiased answers, of one set of people or of many at once.

Of one set, sums have no axis in front of those of the queries, of many sets one more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ldpsql.algebra.numerics import multiply_outer
from ldpsql.mechanisms.fourier.group import Group, Reals
from ldpsql.mechanisms.fourier.spectra import BoxQuery, CutBin

ADDED_PEOPLE = 4.0
"""People from an even spread who are added before a variance is made of the contributions of n
reports.

One stands for what the mean takes off, n / (n - 1). The rest is for the variance being known from n
reports alone, for which the interval of a normal sample takes Student's quantile: its square is
that of the normal one times 1 + 2.4 / n at a level of 95 %."""

Cuts = Sequence[tuple[int, CutBin]]
"""The bins that the queries of a row cut, each with the number of the query."""


def centre(
    moments: Reals,
    estimated: Reals,
    people: float | Reals,
    even: Reals,
    added: float,
    row: Sequence[BoxQuery],
) -> Reals:
    """Cov(T_a, T_b) = sum of C c_a c_b - T_a T_b / n, and people from an even spread, shape (...,
    T, T).

    A sum of products is estimated, too, and may by chance be less than what is subtracted of it;
    the variance is then that of an even spread, for nothing that reports tell is exact.
    moments: (..., T, T).  estimated: (..., T).  people: n, (..., 1, 1).  even: the covariance of
    the sums if people were spread evenly.  added: how many such people.
    """
    centred = moments - multiply_outer(estimated, estimated) / people
    places = np.arange(len(row))
    own, spread = (array[..., places, places] for array in (centred, even))
    centred = centred + added * even / people
    centred[..., places, places] = np.where(own > 0.0, centred[..., places, places], spread)
    asked = np.array([bool(query.terms) for query in row])
    return np.asarray(np.where(np.outer(asked, asked), centred, 0.0))


def find_cuts(row: Sequence[BoxQuery], group: Group) -> list[tuple[int, CutBin]]:
    """The bins that the queries of a row cut, each with the number of its query."""
    return [(number, cut) for number, query in enumerate(row) for cut in query.cut_bins(group)]


def spread_cuts(queries: int, cuts: Cuts, sums: Sequence[tuple[Reals, Reals]]) -> Reals:
    """The expected square of what cut bins are off by, shape (..., queries, queries).

    Of a bin with the sum S of which a range holds the part u of its codes, u S is counted. That is
    off by sqrt(u (1 - u)) S where everybody in a bin has one code, each as likely, and by less
    where they have several. Ranges that cut one bin are off together. The square of an estimated S
    is too large by its variance.

    sums: the estimate and the variance of the sum in the bin of every cut, shape (...) each.
    """
    off: dict[object, Reals] = {}
    for (number, cut), (estimate, variance) in zip(cuts, sums, strict=True):
        size = np.copysign(np.sqrt(np.maximum(estimate**2 - variance, 0.0)), estimate)
        by_code = off.setdefault(cut.people, np.zeros((*np.shape(size), queries, cut.excess.size)))
        by_code[..., number, :] += size[..., None] * cut.excess
    return np.asarray(sum(own @ own.swapaxes(-1, -2) / own.shape[-1] for own in off.values()))
