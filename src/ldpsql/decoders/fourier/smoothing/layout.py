"""Blocks of Fourier coefficients, and the coefficients that they share as one vector.

A *vector* holds every coefficient of every block once, and of each pair f, -f only one (the
tables are real); row 0 is f = 0. Blocks of equal shape are transformed together. Everything has a
leading axis of R independent rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

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


@dataclass(frozen=True)
class HalfSpectra:
    """The transform of tables of shape (R, blocks, *orders) and back.

    A half spectrum has the axes of order 2 first, then the others, the largest of them last and
    halved; both in ascending order apart from that.
    """

    orders: tuple[int, ...]

    @cached_property
    def _twos(self) -> tuple[int, ...]:
        return tuple(axis for axis, order in enumerate(self.orders) if order == 2)

    @cached_property
    def _others(self) -> tuple[int, ...]:
        others = [axis for axis, order in enumerate(self.orders) if order != 2]
        return tuple(sorted(others, key=lambda axis: self.orders[axis]))

    @cached_property
    def turned(self) -> tuple[int, ...]:
        """The axes in the order they have in a half spectrum."""
        return (*self._twos, *self._others)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Of the half spectrum of one table."""
        full = tuple(self.orders[axis] for axis in self.turned)
        return (*full[:-1], full[-1] // 2 + 1) if self._others else full

    def halve(self, full: NDArray[Any]) -> NDArray[Any]:
        """The half of a full spectrum of one table, numpy.fft.fftn's, that is kept."""
        return full.transpose(self.turned)[..., : self.shape[-1]]

    def forward(self, tables: Array) -> Coefficients:
        """Half spectra, shape (R, blocks, *shape)."""
        spectra = tables.transpose(0, 1, *(2 + axis for axis in self.turned))
        for place in range(len(self._twos)):
            spectra = _butterfly(spectra, 2 + place)
        if not self._others:
            return spectra.astype(np.complex128)
        return np.asarray(np.fft.rfftn(spectra, axes=self._places))

    def backward(self, halves: Coefficients) -> Array:
        """Tables, shape (R, blocks, *orders)."""
        tables = halves.real
        if self._others:
            lengths = [self.orders[axis] for axis in self._others]
            tables = np.fft.irfftn(halves, s=lengths, axes=self._places)
        for place in range(len(self._twos)):
            tables = _butterfly(tables, 2 + place)
        # A butterfly is its own inverse but for a factor of 2.
        back = np.argsort(self.turned) + 2
        return np.multiply(tables.transpose(0, 1, *back), 0.5 ** len(self._twos), order="C")

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


Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Kind:
    """Blocks of one shape: their numbers, group orders and sizes."""

    members: tuple[int, ...]
    orders: tuple[int, ...]
    sizes: tuple[int, ...]

    @cached_property
    def spectra(self) -> HalfSpectra:
        """Transforms its tables."""
        return HalfSpectra(self.orders)

    @property
    def inside(self) -> tuple[slice, ...]:
        """Selects the cells that are not padding."""
        return (slice(None), slice(None), *(slice(0, size) for size in self.sizes))

    @property
    def is_padded(self) -> bool:
        """Whether some cells are padding."""
        return self.sizes != self.orders


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the coefficients of blocks stand in the vector.

    axes: numbers of all axes.  orders, sizes: theirs.  frequencies: (K, d), one row per
    coefficient.  multiplicity: (K,), 1 where f = -f, else 2.  kinds: blocks by shape, in whose
    order the half spectra of all blocks are strung together, H numbers.  source: (H,), entry of
    [vector, conjugate vector] that stands at each place.  gather: places of the coefficients of
    every block, by coefficient.  starts: first of them for each coefficient.  flipped: whether the
    conjugate stands there.
    """

    axes: tuple[int, ...]
    orders: tuple[int, ...]
    sizes: tuple[int, ...]
    frequencies: Indices
    multiplicity: Array
    kinds: tuple[Kind, ...]
    source: Indices
    gather: Indices
    starts: Indices
    flipped: NDArray[np.bool_]

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> Layout:
        """The layout of some blocks; ValueError where they do not agree on an axis."""
        extents = _extents(blocks)
        axes = tuple(sorted(extents))
        orders = np.array([extents[axis][0] for axis in axes])
        kinds = _kinds(blocks)
        grids = [_grid(blocks[b], axes, kind) for kind in kinds for b in kind.members]
        rows = np.concatenate(grids)
        # f and -f are one entry: the one whose first coordinate that differs is the smaller.
        mirrored = (orders - rows) % orders
        difference = rows - mirrored
        first = (difference != 0).argmax(axis=1)
        flipped = difference[np.arange(len(rows)), first] > 0
        frequencies, index = np.unique(
            np.where(flipped[:, None], mirrored, rows), axis=0, return_inverse=True
        )
        index = index.reshape(-1)
        gather, starts = _gathering(index, [len(grid) for grid in grids])
        is_real = ((2 * frequencies) % orders == 0).all(axis=1)
        return cls(
            axes,
            tuple(extents[axis][0] for axis in axes),
            tuple(extents[axis][1] for axis in axes),
            frequencies,
            np.where(is_real, 1.0, 2.0),
            kinds,
            index + len(frequencies) * flipped,
            gather,
            starts,
            flipped[gather],
        )

    @cached_property
    def copies(self) -> Array:
        """How many blocks hold each coefficient, shape (K,)."""
        return np.diff(np.append(self.starts, len(self.gather))).astype(np.float64)

    @cached_property
    def cells(self) -> int:
        """Cells of all blocks together, padding included."""
        return sum(len(kind.members) * math.prod(kind.orders) for kind in self.kinds)

    def tables(self, vectors: Coefficients) -> list[Array]:
        """Per kind the tables of its blocks, shape (R, blocks, *orders)."""
        # Every place of the half spectra holds a coefficient of the vector or its conjugate.
        both = np.concatenate([vectors, vectors.conj()], axis=1)
        strung = np.take(both, self.source, axis=1)
        tables, place = [], 0
        for kind in self.kinds:
            half = kind.spectra.shape
            length = len(kind.members) * math.prod(half)
            halves = strung[:, place : place + length].reshape(-1, len(kind.members), *half)
            tables.append(kind.spectra.backward(halves))
            place += length
        return tables

    def sums(self, tables: Sequence[Array]) -> Coefficients:
        """The sum over blocks of every coefficient of their tables, shape (R, K)."""
        strung = np.concatenate(
            [
                kind.spectra.forward(table).reshape(len(table), -1)
                for table, kind in zip(tables, self.kinds, strict=True)
            ],
            axis=1,
        )
        picked = np.take(strung, self.gather, axis=1)
        np.conjugate(picked, out=picked, where=self.flipped)
        if len(self.gather) == len(self.starts):
            return picked
        return np.asarray(np.add.reduceat(picked, self.starts, axis=1))

    def vectors(self, tables: Sequence[Array]) -> Coefficients:
        """The coefficients of tables, averaged over the blocks that hold them, shape (R, K)."""
        return self.sums(tables) / self.copies

    def strung(self, arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Full spectra, one per block, at the places of `gather`: shape (len(gather),)."""
        halves = [
            kind.spectra.halve(arrays[b]).reshape(-1) for kind in self.kinds for b in kind.members
        ]
        at_places: NDArray[Any] = np.concatenate(halves)[self.gather]
        return at_places


def _extents(blocks: Sequence[Block]) -> dict[int, tuple[int, int]]:
    """Order and size of every axis."""
    extents: dict[int, tuple[int, int]] = {}
    for block in blocks:
        for axis, order, size in zip(block.axes, block.orders, block.sizes, strict=True):
            if extents.setdefault(axis, (order, size)) != (order, size):
                raise ValueError(f"two blocks disagree about the order or size of axis {axis}")
    return extents


def _kinds(blocks: Sequence[Block]) -> tuple[Kind, ...]:
    members: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
    for number, block in enumerate(blocks):
        members.setdefault((block.orders, block.sizes), []).append(number)
    return tuple(Kind(tuple(b), orders, sizes) for (orders, sizes), b in members.items())


def _grid(block: Block, axes: tuple[int, ...], kind: Kind) -> Indices:
    """The frequencies of a block's half spectrum over all axes, shape (H, d)."""
    rows = np.zeros((math.prod(kind.spectra.shape), len(axes)), dtype=np.int64)
    for axis, column in zip(block.axes, np.indices(kind.orders), strict=True):
        rows[:, axes.index(axis)] = kind.spectra.halve(column).reshape(-1)
    return rows


def _gathering(index: Indices, lengths: Sequence[int]) -> tuple[Indices, Indices]:
    """One place per block and coefficient, sorted by coefficient, and where each one starts."""
    block = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((block, index))
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (np.diff(index[order]) != 0) | (np.diff(block[order]) != 0)
    gather = order[is_new]
    _, starts = np.unique(index[gather], return_index=True)
    return gather, starts
