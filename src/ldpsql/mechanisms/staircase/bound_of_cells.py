"""The least error of any mechanism over few cells: every pattern of them is looked at.

Let H be any matrix without negative eigenvalues, and lambda prices with lambda'x_S > 0 for every
pattern S. If x_S'H x_S / p'x_S is at most k lambda'x_S, p the people of every cell, no channel has
an objective tr(X^-1 G) below (tr (G^1/2 H G^1/2)^1/2)^2 / (k 1'lambda). Those of the best channel,
H = X^-1 G X^-1, make both equal, so they are taken from a good one; patterns with the largest ratio
join it, and it is improved, until it is close to the bound. Source: docs/spec/rr-optimum.md#2.2.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from ldpsql.algebra.numerics import Array
from ldpsql.algebra.workload import Workload
from ldpsql.mechanisms.staircase.optimise import (
    Patterns,
    Program,
    cell_gram,
    optimise,
    raise_eigenvalues,
)
from ldpsql_device.epsilon import Epsilon

MOST_CELLS = 20
_ROUNDS, _JOINING, _SHARE, _STEPS, _FAINT = 4, 64, 0.05, 30, 1e-9
_CLOSE, _UNASKED, _LEAST_PAID = 1.002, 1e-5, 0.1


@lru_cache(maxsize=64)
def bound_of_cells(workload: Workload, epsilon: Epsilon) -> float | None:
    """The least mean variance per person, people counting as a sample spread over the cells as
    `RecordDomain.cell_shares` has them, among mechanisms that round every measure that cannot be
    missing to one of its bounds.

    None for a single cell, and for more than MOST_CELLS; so it is for squares, which bounds do not
    tell.
    """
    cells = math.prod(workload.domain.sizes) * 2 ** len(workload.domain.bounds)
    if not 1 < cells <= MOST_CELLS or workload.squared:
        return None
    domain = replace(workload.domain, roundings=())
    gram, odds = cell_gram(replace(workload, domain=domain)), float(epsilon.odds)
    values, vectors = np.linalg.eigh(gram)
    root = (vectors * np.sqrt(values.clip(0.0))) @ vectors.T
    shares = domain.cell_shares
    people = shares * cells
    channel, least = optimise(raise_eigenvalues(gram), odds, people), 0.0
    channel = replace(channel, gram=raise_eigenvalues(gram, _UNASKED))
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            for _ in range(_ROUNDS):
                program = Program(gram, odds, channel.patterns, channel.weights, people)
                prices = _keep_positive(program.prices(0.5), odds)
                # X may be nearly singular. Whatever rounding makes of its inverse, H = B'B is a
                # matrix as the bound needs it, and singular values of B G^1/2 are those roots.
                half = root @ program.inverse
                ratio, patterns = largest_ratios(half.T @ half, prices, odds, people, _JOINING)
                roots = np.linalg.svd(half @ root, compute_uv=False)
                least = max(least, float(roots.sum()) ** 2 / (ratio * float(prices.sum())))
                if program.objective <= _CLOSE * least:
                    break
                channel = replace(channel, start=None).extend(patterns, _SHARE)
                channel = channel.improve(_STEPS, _FAINT)
    except (np.linalg.LinAlgError, FloatingPointError):
        pass  # Patterns no longer tell apart what is hardly asked; every bound so far holds.
    return least / cells - float(shares @ gram @ shares) if least else None


def _keep_positive(prices: Array, odds: float) -> Array:
    """The prices with those below 0 so small that every pattern pays a part of those above."""
    above, below = np.maximum(prices, 0.0), np.minimum(prices, 0.0)
    most = (1.0 - _LEAST_PAID) * float(above.sum())
    return np.asarray(above + below * min(1.0, most / max(-odds * float(below.sum()), 1e-300)))


def largest_ratios(
    slopes: Array, prices: Array, odds: float, people: Array, most: int
) -> tuple[float, Patterns]:
    """The largest w_S over lambda'x_S of all patterns, and the patterns of the largest ones.

    slopes: H = X^-1 G X^-1.  prices: lambda.  people: p.  A pattern is one of the first half of the
    cells with one of the others, so x'Hx of all is one product of matrices, shape
    (2^half, 2^(cells - half)).
    """
    cells = len(prices)
    half = cells // 2
    first, second = (
        np.arange(2**count)[:, None] >> np.arange(count) & 1 > 0 for count in (half, cells - half)
    )
    one, other = (1.0 + (odds - 1.0) * own for own in (first, second))
    products = one @ slopes[:half, half:] @ other.T * 2.0
    products += np.einsum("si,ij,sj->s", one, slopes[:half, :half], one)[:, None]
    products += np.einsum("si,ij,sj->s", other, slopes[half:, half:], other)
    sums = (one @ people[:half])[:, None] + other @ people[half:]
    ratios = products / sums / ((one @ prices[:half])[:, None] + other @ prices[half:])
    best = np.argsort(-ratios, axis=None, kind="stable")[:most]
    rows, columns = np.unravel_index(best, ratios.shape)
    return float(ratios.max()), np.concatenate([first[rows], second[columns]], axis=1)
