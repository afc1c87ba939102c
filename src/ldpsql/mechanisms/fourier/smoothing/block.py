"""Runs at the collector. Sees reports. What smoothing takes and what it gives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpsql.estimate import Array

Coefficients = NDArray[np.complex128]
Tables = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Block:
    """One table of estimates in the Fourier domain, over some of a survey's axes.

    axes: numbers of the axes, ascending.  spectrum: estimated coefficients of the table of
    counts, numpy.fft.fftn's convention, shape = the group orders m_i; where two blocks share a
    coefficient, both hold it.  information: lambda, so that the noise of a coefficient has variance
    people / lambda; 0 = never observed.  workload: this block's part of E|q^(f)|^2 / cells^2, the
    weight of each coefficient's squared error in the expected error of an answer; the parts of
    several blocks add up.  sizes: codes per axis, at most the orders; cells beyond them are padding
    and hold nobody.
    """

    axes: tuple[int, ...]
    spectrum: Coefficients
    information: Array
    workload: Array
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        orders = self.spectrum.shape
        if not orders or len(self.axes) != len(orders) or len(self.sizes) != len(orders):
            raise ValueError(f"axes {self.axes}, sizes {self.sizes}, orders {orders} do not fit")
        if list(self.axes) != sorted(set(self.axes)):
            raise ValueError(f"axes must ascend: {self.axes}")
        if self.information.shape != orders or self.workload.shape != orders:
            raise ValueError("spectrum, information and workload must have one shape")
        if any(not 1 <= size <= order for size, order in zip(self.sizes, orders, strict=True)):
            raise ValueError(f"sizes {self.sizes} must lie between 1 and the orders {orders}")
        if self.information.min() < 0.0 or self.workload.min() < 0.0:
            raise ValueError("information and workload cannot be negative")

    @property
    def orders(self) -> tuple[int, ...]:
        """The group's orders, one per axis."""
        return self.spectrum.shape


@dataclass(frozen=True, eq=False)
class Smoothed:
    """One summary, consistent with itself.

    tables: per block a table of counts, shape = the block's sizes, >= 0, sum = people.
    replicates: per block the tables that the same steps gave for simulated reports of these
    tables, shape (r, *sizes).  branch: which candidate was chosen, such as "ind+i".  iterations:
    steps of its projection.  converged: False where no candidate reached the stop rule, so that
    the least unconverged one stands here.
    """

    tables: tuple[Array, ...]
    replicates: tuple[Tables, ...]
    branch: str
    iterations: int
    converged: bool
