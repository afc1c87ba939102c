"""Runs at the collector. Sees reports. Half spectra of real tables, axes of two codes apart.

A transform of length two is a sum and a difference, and halving such an axis saves nothing. So
these axes come first, and the real transform runs over the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsql.estimate import Array
from ldpsql.mechanisms.fourier.smoothing.block import Coefficients


@dataclass(frozen=True)
class HalfSpectra:
    """The transform of tables of shape (R, blocks, *orders) and back.

    A half spectrum has the axes of order 2 first, then the others, the largest of them last and
    halved; both in ascending order apart from that.
    """

    orders: tuple[int, ...]

    @cached_property
    def turned(self) -> tuple[int, ...]:
        """The axes in the order they have in a half spectrum."""
        return (*self._twos, *self._others)

    @cached_property
    def _twos(self) -> tuple[int, ...]:
        return tuple(axis for axis, order in enumerate(self.orders) if order == 2)

    @cached_property
    def _others(self) -> tuple[int, ...]:
        others = [axis for axis, order in enumerate(self.orders) if order != 2]
        return tuple(sorted(others, key=lambda axis: self.orders[axis]))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Of the half spectrum of one table."""
        full = tuple(self.orders[axis] for axis in self.turned)
        return (*full[:-1], full[-1] // 2 + 1) if self._others else full

    def picked(self, full: NDArray[Any]) -> NDArray[Any]:
        """The half of a full spectrum of one table, numpy.fft.fftn's, that is kept."""
        return full.transpose(self.turned)[..., : self.shape[-1]]

    def forward(self, tables: Array) -> Coefficients:
        """Half spectra, shape (R, blocks, *shape)."""
        found = tables.transpose(0, 1, *(2 + axis for axis in self.turned))
        for place in range(len(self._twos)):
            found = _butterfly(found, 2 + place)
        if not self._others:
            return found.astype(np.complex128)
        return np.asarray(np.fft.rfftn(found, axes=self._places))

    def backward(self, halves: Coefficients) -> Array:
        """Tables, shape (R, blocks, *orders)."""
        found = halves.real
        if self._others:
            lengths = [self.orders[axis] for axis in self._others]
            found = np.fft.irfftn(halves, s=lengths, axes=self._places)
        for place in range(len(self._twos)):
            found = _butterfly(found, 2 + place)
        back = np.argsort(self.turned) + 2
        return np.multiply(found.transpose(0, 1, *back), 0.5 ** len(self._twos), order="C")

    @cached_property
    def _places(self) -> tuple[int, ...]:
        """Where the axes beyond the twos stand, from the end."""
        return tuple(range(-len(self._others), 0))


def _butterfly(tables: Array, place: int) -> Array:
    """Sum and difference along an axis of order 2."""
    found = np.empty(tables.shape)
    low, high = np.moveaxis(tables, place, 0)
    into = np.moveaxis(found, place, 0)
    np.add(low, high, out=into[0])
    np.subtract(low, high, out=into[1])
    return found
