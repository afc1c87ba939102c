"""What families do in the Fourier domain.

With x = 1 + (E - 1) 1_B on a phase group H, X its discrete Fourier transform and s = sum of x,
a family of probability w gives the frequency f = h k the information w |X(h)|^2 / s^2. Real
arrays over H are transformed by half spectra: the last factor keeps h = 0..r/2, and what is
scattered to frequencies is completed by its mirror image. Source: docs/spec/fourier.md#1.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpsql.decoders.fourier.families import Cluster, FamilyTable
from ldpsql.decoders.fourier.group import Axes, Integers, Numbers, add, gather_faces

Complexes = NDArray[np.complex128]
Reals = NDArray[np.float64]

_BATCH = 1 << 20


@dataclass(frozen=True, eq=False)
class Batch:
    """Some families of one cluster, small enough to be worked on at once.

    numbers: of the families within the cluster, shape (f,).  odds: E.
    """

    cluster: Cluster
    numbers: Integers
    odds: float

    @property
    def shape(self) -> tuple[int, ...]:
        """Families, then the orders of the factors."""
        return (len(self.numbers), *self.cluster.orders)

    @cached_property
    def sums(self) -> Reals:
        """s of every family, shaped to be broadcast over H."""
        sizes = self.cluster.sizes[self.numbers].astype(np.float64)
        sums = self.cluster.phases + (self.odds - 1.0) * sizes
        return sums.reshape((-1,) + (1,) * len(self.cluster.orders))

    @cached_property
    def transform(self) -> Complexes:
        """X(h) / s of every family, half spectrum: (f, r_1, ..., r_P // 2 + 1)."""
        if self.cluster.base == "arcs":
            inside = self._arcs()
        else:
            masks = np.array([self.cluster.mask(int(number)) for number in self.numbers])
            inside = np.fft.rfftn(masks.reshape(self.shape), axes=self._factor_axes)
        # X = DFT of 1 + (E - 1) 1_B: the ones add |H| at h = 0 and nothing elsewhere.
        inside *= self.odds - 1.0
        inside.reshape(len(inside), -1)[:, 0] += self.cluster.phases
        inside /= self.sums
        return inside

    @cached_property
    def conjugate(self) -> NDArray[np.complex64]:
        """conj(X(h)) / s in single precision: enough for a variance."""
        return np.conj(self.transform).astype(np.complex64)

    def _arcs(self) -> Complexes:
        """Transform of the base sets: a product of geometric sums."""
        inside = np.ones((len(self.numbers),), dtype=np.complex128)
        last = len(self.cluster.orders) - 1
        for place, order in enumerate(self.cluster.orders):
            harmonics = np.arange(order // 2 + 1 if place == last else order)
            lengths = self.cluster.parameters[self.numbers, place]
            side = arc_transform(order, lengths, harmonics)
            inside = inside[..., None] * side.reshape((len(side),) + (1,) * place + (-1,))
        return inside

    @property
    def _factor_axes(self) -> tuple[int, ...]:
        return tuple(range(1, len(self.cluster.orders) + 1))

    @cached_property
    def frequencies(self) -> Integers:
        """Where f = h k lies in the dense array over the cluster's axes; as `transform`."""
        cluster, group = self.cluster, self.cluster.group
        strides = _strides(group.shape(cluster.axes))
        places = np.zeros((len(self.numbers),), dtype=np.int64)
        last = len(cluster.orders) - 1
        for place, (factor, order) in enumerate(zip(cluster.factors, cluster.orders, strict=True)):
            harmonics = np.arange(order // 2 + 1 if place == last else order)
            side = np.zeros((len(self.numbers), len(harmonics)), dtype=np.int64)
            for axis in factor:
                character = cluster.characters[self.numbers, cluster.columns[axis]]
                coordinates = np.outer(character, harmonics) % group.orders[axis]
                side += coordinates * strides[cluster.axes.index(axis)]
            places = places[..., None] + side.reshape((len(side),) + (1,) * place + (-1,))
        return places

    @cached_property
    def halves(self) -> Reals:
        """1/2 where a half spectrum holds both h and -h (or they coincide), else 1."""
        order = self.cluster.orders[-1]
        halves = np.ones(order // 2 + 1)
        halves[0] = 0.5
        if order % 2 == 0:
            halves[-1] = 0.5
        return halves

    def scatter(self, values: Numbers) -> Numbers:
        """Sum of half-spectrum values at their frequencies: a dense array over the axes."""
        shape = self.cluster.group.shape(self.cluster.axes)
        cells = self.cluster.group.cells(self.cluster.axes)
        index = self.frequencies.ravel()
        flat = (values * self.halves).ravel()
        dense: Numbers = np.bincount(index, flat.real, cells)
        if np.iscomplexobj(flat):
            dense = dense + 1j * np.bincount(index, flat.imag, cells)
        dense = dense.reshape(shape)
        whole: Numbers = dense + np.conj(mirror(dense))
        return whole

    def transform_counts(self, counts: Reals) -> Complexes:
        """Half spectrum of real arrays over H, shape (f, |H|) or `shape`."""
        return np.fft.rfftn(counts.reshape(self.shape), axes=self._factor_axes)

    def restore(self, spectrum: NDArray[np.complexfloating]) -> NDArray[np.floating]:
        """Real arrays over H from half spectra, shape (..., r_1, ..., r_P)."""
        axes = tuple(range(-len(self.cluster.orders), 0))
        real: NDArray[np.floating] = np.fft.irfftn(spectrum, s=self.cluster.orders, axes=axes)
        return real


def correlate(batch: Batch, spectra: Numbers, conjugate: Numbers) -> NDArray[np.floating]:
    """c of every phase: the correlation of X / s with spectra, shape (..., r_1, ..., r_P).

    spectra: q^ / (N lambda) over the cluster's axes, flat, shape (..., cells).  conjugate: that of
    the batch's transform, in the precision wanted.
    """
    # c(phi) = (1 / s) sum_u a(u) x(theta(u) - phi), with a = X^-1 q: in the Fourier domain of H the
    # product of a^ at f = h k with the conjugate of X. irfftn divides by |H|, which is taken back.
    spectrum = spectra[..., batch.frequencies] * conjugate
    scale = spectra.real.dtype.type(batch.cluster.phases)
    contributions: NDArray[np.floating] = batch.restore(spectrum) * scale
    return contributions


def arc_transform(order: int, lengths: Integers, harmonics: Integers) -> Complexes:
    """sum over o < L of exp(-2 pi i h o / r), shape (lengths, harmonics)."""
    # The geometric sum e^(-i (L-1) a) sin(L a) / sin(a) with a = pi h / r. Its zeros are set, for
    # sin of a multiple of pi is only nearly 0, and what is never informed must be recognised.
    angles = np.pi * harmonics / order
    zero = harmonics % order == 0
    below = np.where(zero, 1.0, np.sin(angles))
    size = np.where(zero, lengths[:, None], np.sin(np.outer(lengths, angles)) / below)
    size[~zero & (np.outer(lengths, harmonics) % order == 0)] = 0.0
    return np.asarray(size * np.exp(-1j * np.outer(lengths - 1, angles)))


def mirror(dense: Numbers) -> Numbers:
    """The array at -f: every axis reversed, its zero left in place."""
    axes = tuple(range(dense.ndim))
    return np.roll(np.flip(dense, axes), 1, axes)


def batches(
    table: FamilyTable, odds: float, chosen: Integers | None = None, most: int = _BATCH
) -> Iterator[tuple[int, Batch]]:
    """(number of the cluster's first family, batch) for all or the chosen families, in order.

    chosen: numbers of families, ascending.  most: phases of a batch, if it has several families.
    """
    for start, cluster in zip(table.starts, table.clusters, strict=False):
        numbers = np.arange(len(cluster))
        if chosen is not None:
            low, high = np.searchsorted(chosen, [start, start + len(cluster)])
            numbers = chosen[low:high] - start
        step = max(1, most // cluster.phases)
        for first in range(0, len(numbers), step):
            yield int(start), Batch(cluster, numbers[first : first + step], odds)


def information(table: FamilyTable, odds: float) -> dict[Axes, Reals]:
    """lambda_f of every face, where it is not zero by construction."""
    dense: dict[Axes, Reals] = {}
    for start, batch in batches(table, odds):
        shares = table.shares[start + batch.numbers].reshape((-1,) + (1,) * len(batch.shape[1:]))
        power = shares * np.abs(batch.transform) ** 2
        add(dense, batch.cluster.axes, batch.scatter(power).real)
    return {face: np.asarray(array) for face, array in gather_faces(dense).items()}


def _strides(shape: tuple[int, ...]) -> list[int]:
    strides = [1]
    for size in reversed(shape[1:]):
        strides.append(strides[-1] * size)
    return strides[::-1]
