"""Public. Sees parameters. From noisy tables to tables that are none the less possible.

Shares of people are nowhere negative and add up to 1; tables that share a column agree on it; and
what cannot be told from noise is left out. Every step takes shares with their noise and knows
nothing of where they come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldpsql.estimate import Array

FLOOR = 1e-7
_MARGIN = 1.3
"""How far the largest singular value must exceed the largest one of white noise: the noise of some
mechanisms is larger along some directions than along others."""
_FITTING = 200
_SETTLED = 1e-10


@dataclass(frozen=True)
class Noisy:
    """Shares of the people per cell, any shape, and their variances; both finite."""

    shares: Array
    variances: Array

    def __post_init__(self) -> None:
        if self.shares.shape != self.variances.shape:
            raise ValueError(f"{self.shares.shape} shares, {self.variances.shape} variances")

    @property
    def noise(self) -> float:
        """Root mean variance of a cell."""
        return float(np.sqrt(np.mean(self.variances)))

    def margin(self, place: int) -> Noisy:
        """The table of one of its axes; cells count as independent."""
        others = tuple(axis for axis in range(self.shares.ndim) if axis != place)
        return Noisy(self.shares.sum(axis=others), self.variances.sum(axis=others))


def simplex(noisy: Noisy) -> Array:
    """The nearest shares that are nowhere negative and add up to 1, cells weighted by precision.

    min sum (p - q)^2 / v has p = max(q - t v, 0) for one t, found exactly by sorting q / v.
    Cells known exactly stay as they are.
    """
    shares, variances = noisy.shares.ravel(), noisy.variances.ravel()
    free = variances > 0
    fixed = np.where(free, 0.0, np.maximum(shares, 0.0))
    left = 1.0 - float(fixed.sum())
    if not free.any() or left <= 0:
        total = float(fixed.sum())
        even = np.full(shares.shape, 1.0 / shares.size)
        return (fixed / total if total > 0 else even).reshape(noisy.shares.shape)
    q, v = shares[free], variances[free]
    order = np.argsort(-q / v)
    height, weight = np.cumsum(q[order]), np.cumsum(v[order])
    level = (height - left) / weight
    kept = int(np.flatnonzero(q[order] / v[order] > level)[-1])
    found = fixed
    found[free] = np.maximum(q - level[kept] * v, 0.0)
    return np.asarray(found / found.sum()).reshape(noisy.shares.shape)


def averaged(tables: Sequence[Noisy]) -> Noisy:
    """The average of several estimates of one table, each weighted by its precision.

    One that is exact is taken alone. Estimates count as independent.
    """
    variances = np.array([float(np.mean(table.variances)) for table in tables])
    exact = np.flatnonzero(variances <= 0)
    if len(exact):
        return tables[int(exact[0])]
    weights = (1.0 / variances) / (1.0 / variances).sum()
    return Noisy(
        np.sum([w * t.shares for w, t in zip(weights, tables, strict=True)], axis=0),
        np.sum([w * w * t.variances for w, t in zip(weights, tables, strict=True)], axis=0),
    )


def calmed(table: Noisy) -> Noisy:
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
    return Noisy(even + kept * (table.shares - even), table.variances)


def contrasts(size: int) -> Array:
    """An orthonormal basis of the vectors that add up to 0, (size, size - 1): Helmert's."""
    basis = np.tril(np.ones((size, size)), -1)[:, : size - 1]
    for j in range(size - 1):
        basis[j, j] = -(size - 1.0 - j)
    return np.asarray(basis / np.sqrt((basis**2).sum(axis=0)))


def dependence(pair: Noisy, left: Array, right: Array) -> Array | None:
    """What a table of two columns says beyond its margins; None if no more than noise would.

    left, right: the margins. The deviation from independence is denoised by shrinking its singular
    values as is best in squared error for noise of equal size everywhere (Gavish and Donoho,
    "Optimal shrinkage of singular values", 2017). Rows and columns of it add up to 0.
    """
    rows, columns = contrasts(len(left)), contrasts(len(right))
    deviation = rows.T @ (pair.shares - np.outer(left, right)) @ columns
    if not deviation.size:
        return None
    u, values, v = np.linalg.svd(deviation, full_matrices=False)
    kept = shrunk(values, pair.noise, deviation.shape)
    if not kept.any() or values[0] < _MARGIN * pair.noise * np.sqrt(deviation.shape).sum():
        return None
    return np.asarray(rows @ (u * kept) @ v @ columns.T)


def shrunk(values: Array, noise: float, shape: tuple[int, ...]) -> Array:
    """Singular values of a matrix of this shape, without what noise of this size adds to them."""
    if noise <= 0:
        return values
    long, short = max(shape), min(shape)
    y, ratio = values / (noise * np.sqrt(long)), short / long
    inside = (y**2 - ratio - 1.0) ** 2 - 4.0 * ratio
    is_signal = y > 1.0 + np.sqrt(ratio)
    best = np.sqrt(np.maximum(inside, 0.0)) / np.maximum(y, 1e-300)
    return np.where(is_signal, best * noise * np.sqrt(long), 0.0)


def interaction(deviation: Noisy) -> Array | None:
    """What a table says beyond all its smaller margins; None if it cannot be told from noise.

    deviation: the table less what a model of smaller tables expects. The part that no margin has
    is kept by the share of its energy that is not noise (James and Stein, 1961), if that energy
    exceeds four standard deviations of noise alone.
    """
    found = deviation.shares
    for place in range(found.ndim):
        found = found - found.mean(axis=place, keepdims=True)
    freedom = int(np.prod([size - 1 for size in found.shape]))
    expected = deviation.noise**2 * freedom
    energy = float((found**2).sum())
    if freedom == 0 or energy <= expected * (1.0 + 4.0 * np.sqrt(2.0 / freedom)):
        return None
    return found * (1.0 - expected / energy)


def possible(table: Array, margins: Sequence[tuple[tuple[int, ...], Array]]) -> Array:
    """The table nowhere negative and with these margins, by proportional fitting.

    margins: with the axes that each keeps, ascending. A trace of every cell keeps possible what the
    margins allow.
    """
    found = np.maximum(table, 0.0) + FLOOR / table.size
    for _ in range(_FITTING):
        worst = 0.0
        for axes, margin in margins:
            others = tuple(axis for axis in range(found.ndim) if axis not in axes)
            now = found.sum(axis=others, keepdims=True)
            wanted = margin.reshape(now.shape)
            worst = max(worst, float(np.abs(now - wanted).max()))
            found = found * np.where(now > 0, wanted / np.where(now > 0, now, 1.0), 0.0)
        if worst < _SETTLED:
            break
    return np.asarray(found / found.sum())


def information(pair: Array) -> float:
    """Mutual information of the two columns of a table of shares, in nats."""
    expected = np.outer(pair.sum(axis=1), pair.sum(axis=0))
    some = pair > 0
    return float((pair[some] * np.log(pair[some] / expected[some])).sum())
