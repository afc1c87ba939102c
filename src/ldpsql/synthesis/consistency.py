"""From noisy tables of shares to tables that could be those of real people.

Shares of people are nowhere negative and add up to 1; tables that share a column agree on it; and
what cannot be told from noise is left out. Every step takes shares with their noise and knows
nothing of where they come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldpsql.algebra.numerics import Array, fit_marginals, project_on_simplex, weigh_by_precision

FLOOR = 1e-7
_MARGIN = 1.3
"""How far the largest singular value must exceed the largest one of white noise: the noise of some
mechanisms is larger along some directions than along others."""


@dataclass(frozen=True)
class NoisyShares:
    """Shares of the people per cell, any shape, and their variances; both finite."""

    shares: Array
    variances: Array

    @property
    def noise(self) -> float:
        """Root mean variance of a cell."""
        return float(np.sqrt(np.mean(self.variances)))

    def marginal(self, place: int) -> NoisyShares:
        """The table of one of its axes; cells count as independent."""
        others = tuple(axis for axis in range(self.shares.ndim) if axis != place)
        return NoisyShares(self.shares.sum(axis=others), self.variances.sum(axis=others))


def nearest_shares(table: NoisyShares) -> Array:
    """The nearest shares that are nowhere negative and add up to 1, cells weighted by precision.

    Cells known exactly stay as they are.
    """
    known = table.variances <= 0
    shares = np.where(known, np.maximum(table.shares, 0.0), 0.0)
    rest = 1.0 - float(shares.sum())
    if not known.all() and rest > 0:
        free = table.shares[~known]
        shares[~known] = project_on_simplex(free, rest, variances=table.variances[~known])
    total = float(shares.sum())
    return shares / total if total > 0 else np.full(shares.shape, 1.0 / shares.size)


def average(tables: Sequence[NoisyShares]) -> NoisyShares:
    """The average of several independent estimates of one table, each weighted by its precision."""
    weights = weigh_by_precision(np.array([float(np.mean(table.variances)) for table in tables]))
    if weights is None:
        raise ValueError("shares with infinite variances")
    return NoisyShares(
        np.sum([w * t.shares for w, t in zip(weights, tables, strict=True)], axis=0),
        np.sum([w * w * t.variances for w, t in zip(weights, tables, strict=True)], axis=0),
    )


def shrink_to_even(table: NoisyShares) -> NoisyShares:
    """The shares drawn towards even ones, by the part of their spread that noise explains.

    James and Stein's estimator (1961), whose squared error is smaller on average whatever the
    truth; it changes next to nothing where the noise is small. Variances stay those of the table.
    """
    even = 1.0 / table.shares.size
    spread = float(((table.shares - even) ** 2).sum())
    expected = float(table.variances.sum()) * max(1.0 - 3.0 / table.shares.size, 0.0)
    if expected <= 0:
        return table
    kept = max(0.0, 1.0 - expected / spread) if spread > 0 else 0.0
    return NoisyShares(even + kept * (table.shares - even), table.variances)


def denoise_dependence(pair: NoisyShares, left: Array, right: Array) -> Array | None:
    """The dependence in a table of two columns beyond its margins; None if no more than noise
    would.

    left, right: the margins. The deviation from independence is denoised by shrinking its singular
    values as is best in squared error for noise of equal size everywhere (Gavish and Donoho,
    "Optimal shrinkage of singular values", 2017). Rows and columns of it add up to 0.
    """
    # In the basis of contrasts the deviation has no margins, and white noise stays white.
    from scipy.linalg import helmert  # noqa: PLC0415

    rows, columns = helmert(len(left)).T, helmert(len(right)).T
    deviation = rows.T @ (pair.shares - np.outer(left, right)) @ columns
    if not deviation.size:
        return None
    u, values, v = np.linalg.svd(deviation, full_matrices=False)
    shrunk = shrink_singular_values(values, pair.noise, deviation.shape)
    # sqrt(rows) + sqrt(columns) is the largest singular value of white noise of size 1.
    if not shrunk.any() or values[0] < _MARGIN * pair.noise * np.sqrt(deviation.shape).sum():
        return None
    return np.asarray(rows @ (u * shrunk) @ v @ columns.T)


def shrink_singular_values(values: Array, noise: float, shape: tuple[int, ...]) -> Array:
    """Singular values of a matrix of this shape, without what noise of this size adds to them."""
    if noise <= 0:
        return values
    # Gavish and Donoho's equation 7 for squared error, in units of noise sqrt(long side):
    # y -> sqrt((y^2 - beta - 1)^2 - 4 beta) / y above 1 + sqrt(beta), else 0.
    long, short = max(shape), min(shape)
    y, ratio = values / (noise * np.sqrt(long)), short / long
    inside = (y**2 - ratio - 1.0) ** 2 - 4.0 * ratio
    is_signal = y > 1.0 + np.sqrt(ratio)
    best = np.sqrt(np.maximum(inside, 0.0)) / np.maximum(y, 1e-300)
    return np.where(is_signal, best * noise * np.sqrt(long), 0.0)


def denoise_interaction(deviation: NoisyShares) -> Array | None:
    """The interaction in a table beyond all its smaller margins; None if it cannot be told from
    noise.

    deviation: the table less what a model of smaller tables expects. The part that no margin has
    is kept by the share of its energy that is not noise (James and Stein, 1961), if that energy
    exceeds four standard deviations of noise alone.
    """
    excess = deviation.shares
    for place in range(excess.ndim):
        excess = excess - excess.mean(axis=place, keepdims=True)
    # The energy of noise alone is noise^2 times a chi-square variable: mean f, variance 2 f.
    freedom = int(np.prod([size - 1 for size in excess.shape]))
    expected = deviation.noise**2 * freedom
    energy = float((excess**2).sum())
    if freedom == 0 or energy <= expected * (1.0 + 4.0 * np.sqrt(2.0 / freedom)):
        return None
    return excess * (1.0 - expected / energy)


def fit_to_marginals(table: Array, marginals: Sequence[tuple[tuple[int, ...], Array]]) -> Array:
    """The table nowhere negative and with these marginals, by proportional fitting.

    marginals: with the axes that each keeps, ascending. A trace of every cell keeps possible what
    the marginals allow.
    """
    start = np.maximum(table, 0.0) + FLOOR / table.size
    fitted = fit_marginals(start, marginals, tolerance=1e-10)
    return np.asarray(fitted / fitted.sum())


def mutual_information(pair: Array) -> float:
    """Mutual information of the two columns of a table of shares, in nats."""
    from scipy.special import rel_entr  # noqa: PLC0415

    return float(rel_entr(pair, np.outer(pair.sum(axis=1), pair.sum(axis=0))).sum())
