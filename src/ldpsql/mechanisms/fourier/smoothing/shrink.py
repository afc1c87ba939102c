"""Runs at the collector. Sees reports. Shrinkage of noisy Fourier coefficients, band by band.

A band is a product of octaves {0}, {1}, {2, 3}, {4..7}, ... of min(f, m - f) on every axis; an
axis of order 2 has two. Specification: fourier, section 8.1 and 8.3; James and Stein (1961).
"""

from __future__ import annotations

import numpy as np

from ldpsql.estimate import Array
from ldpsql.mechanisms.fourier.smoothing.block import Coefficients
from ldpsql.mechanisms.fourier.smoothing.layout import Indices, Layout


def bands(layout: Layout) -> Indices:
    """The number of every coefficient's band, shape (K,)."""
    folded = np.minimum(layout.frequencies, np.array(layout.orders) - layout.frequencies)
    octaves = np.frexp(folded.astype(np.float64))[1]
    _, numbers = np.unique(octaves, axis=0, return_inverse=True)
    return numbers.reshape(-1)


def shrink(
    vectors: Coefficients, noise: Array, layout: Layout, *, significant_stay: bool
) -> Coefficients:
    """James-Stein shrinkage towards 0 in every band of R vectors, shape (R, K).

    noise: variance of each coefficient, inf where it was not observed, 0 where it is exact;
    both are left alone, and so are bands of one or two real numbers.
    significant_stay: leave alone a band whose energy is beyond what noise explains, z >= K +
    2 sqrt(2 K): better where few cells hold everybody.
    """
    used = np.isfinite(noise) & (noise > 0.0)
    number = bands(layout)
    count = number.max() + 1
    weight = np.where(used, layout.multiplicity, 0.0)
    degrees = np.bincount(number, weight, count)
    precision = np.divide(weight, noise, out=np.zeros_like(noise), where=used)
    energy = np.abs(vectors) ** 2 * precision
    z = np.stack([np.bincount(number, row, count) for row in energy])
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.maximum(0.0, 1.0 - (degrees - 2.0) / z)
    stays = np.broadcast_to(degrees <= 2.0, z.shape)
    if significant_stay:
        stays = stays | (z >= degrees + 2.0 * np.sqrt(2.0 * degrees))
    factor = np.where(stays, 1.0, factor)
    return vectors * np.where(used, factor[:, number], 1.0)
