"""What is known of the coefficients of some blocks, and their shrinkage band by band.

A band is a product of octaves {0}, {1}, {2, 3}, {4..7}, ... of min(f, m - f) on every axis; an
axis of order 2 has two. Source: docs/spec/fourier.md#8; James and Stein (1961).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpsql.decoders.fourier.smoothing.layout import Block, Coefficients, Indices, Layout
from ldpsql.estimate import Array

# The specification's floor of the workload metric; a higher one ruins the projection.
_FLOOR = 1e-6
# Share of the largest weight below which a weight is a rounding error.
_NOTHING = 1e-13


@dataclass(frozen=True, eq=False)
class Problem:
    """Observed coefficients with their noise and weight in answers, each of shape (K,).

    observed: coefficient 0 is the exact number of people.  information: lambda, 0 = never
    observed.  workload: weight of each coefficient's squared error.
    """

    layout: Layout
    people: float
    observed: Coefficients
    information: Array
    workload: Array

    @classmethod
    def of(cls, blocks: Sequence[Block], people: float) -> Problem:
        """The problem that blocks pose."""
        layout = Layout.of(blocks)
        information = layout.strung([block.information for block in blocks])
        spectrum = layout.strung([block.spectrum for block in blocks])
        spectrum = np.where(layout.flipped, spectrum.conj(), spectrum)
        # Blocks that share a coefficient hold the same estimate of it; one that never observed it
        # counts only where no other did.
        weights = np.where(information > 0.0, 1.0, 1e-12)
        total = np.add.reduceat(weights, layout.starts)
        mean = np.add.reduceat(spectrum * weights, layout.starts) / total
        observed = mean.astype(np.complex128)
        observed[0] = people
        return cls(
            layout,
            float(people),
            observed,
            np.maximum.reduceat(information, layout.starts),
            np.add.reduceat(layout.strung([block.workload for block in blocks]), layout.starts),
        )

    @cached_property
    def noise(self) -> Array:
        """Variance of each coefficient: 0 for the number of people, inf if never observed."""
        with np.errstate(divide="ignore"):
            noise = self.people / self.information
        noise[0] = 0.0
        return noise

    @cached_property
    def is_observed(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Which coefficients the reports tell something about."""
        return np.isfinite(self.noise)

    @cached_property
    def has_gaps(self) -> bool:
        """Whether the workload leaves observed frequencies out; then a wrong choice costs most.

        The number of people is known whatever its weight. Ranges over three axes of a hundred codes
        have weights down to 1e-11 of the largest; what is left out has rounding errors.
        """
        weight = self.workload[1:][self.is_observed[1:]]
        return bool((weight <= _NOTHING * weight.max(initial=0.0)).any())

    def metric(self, name: str) -> Array:
        """kappa of a projection: "i", the information, or "g", the workload's; shape (K,)."""
        if name == "i":
            return self.information
        weighed = self.workload + _FLOOR * self.workload.max()
        return np.where(self.is_observed, weighed, 0.0)

    def draw(self, random: np.random.Generator, count: int) -> Coefficients:
        """Noise of the observed coefficients as the reports have it, shape (count, K)."""
        shape = (count, len(self.noise))
        real, imaginary = random.standard_normal(shape), random.standard_normal(shape)
        # Of a pair f, -f the real and the imaginary part have half of the variance each.
        is_real = self.layout.multiplicity == 1.0
        noise = np.where(is_real, real, (real + 1j * imaginary) / np.sqrt(2.0))
        return noise * np.sqrt(np.where(self.is_observed, self.noise, 0.0))

    def error(self, vectors: Coefficients, reference: Coefficients) -> Array:
        """Workload-weighted squared distance over the observed coefficients, shape (R,)."""
        weight = np.where(self.is_observed, self.workload * self.layout.multiplicity, 0.0)
        return np.asarray(np.abs(vectors - reference) ** 2 @ weight)


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
    # Per band: K real numbers, and z = sum |T_f|^2 / noise_f, about K where there is only noise.
    weight = np.where(used, layout.multiplicity, 0.0)
    degrees = np.bincount(number, weight, count)
    precision = np.divide(weight, noise, out=np.zeros_like(noise), where=used)
    energy = np.abs(vectors) ** 2 * precision
    z = np.stack([np.bincount(number, row, count) for row in energy])
    # James and Stein's positive part, 1 - (K - 2) / z; bands without energy stay at 0 anyway.
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.maximum(0.0, 1.0 - (degrees - 2.0) / z)
    stays = np.broadcast_to(degrees <= 2.0, z.shape)
    if significant_stay:
        stays = stays | (z >= degrees + 2.0 * np.sqrt(2.0 * degrees))
    factor = np.where(stays, 1.0, factor)
    return vectors * np.where(used, factor[:, number], 1.0)
