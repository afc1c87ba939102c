"""The cyclic group of a record domain, and its frequencies by faces.

Source: docs/spec/fourier.md#1 and docs/spec/fourier.md#6.3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.boxes import Side
from ldpsql_device.errors import SurveyError

Axes = tuple[int, ...]
Integers = NDArray[np.int64]
Reals = NDArray[np.float64]
Complexes = NDArray[np.complex128]
Numbers = NDArray[Any]
"""float64 or complex128."""
Spectrum = Mapping[Axes, Complexes]
"""A query or a population by face, the empty one for the zero frequency."""

Look = tuple[int, int | None]
"""By how much a code is divided, and the number of the table it is cut at, if any."""

LARGEST_BLOCK, MOST_TOGETHER = 1 << 24, 1 << 24
"""Cells of one block, and those of all blocks of a new design."""


@dataclass(frozen=True)
class Group:
    """Axes, one per dimension and one per private measure for the sign it was rounded to.

    A survey answers queries that constrain the axes of one *block* at most. The frequencies it
    needs are those whose non-zero coordinates all lie in a block; they fall apart into *faces*, one
    per set of axes with exactly those coordinates non-zero, the empty one being the zero frequency.
    A dense array over a block has the shape of its orders and holds all its faces.

    orders: elements per axis; those of a dimension may exceed its bins (padding).
    bins: of every dimension.  sizes: codes of every dimension; a bin is one code, or on a coarse
    axis several, of which the last such bin may have fewer.
    unordered: how many codes of every dimension, the last ones, have no neighbours and so bins of
    their own in any case; none by default.
    blocks: sets of axes, ascending, none inside another, each with one sign at most.
    """

    orders: tuple[int, ...]
    bins: tuple[int, ...]
    sizes: tuple[int, ...]
    blocks: tuple[Axes, ...]
    unordered: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "unordered", self.unordered or (0,) * len(self.bins))
        for block in self.blocks:
            if self.cells(block) > LARGEST_BLOCK:
                raise SurveyError(
                    f"a query over {len(block)} attributes would need "
                    f"{self.cells(block)} cells, more than {LARGEST_BLOCK}: use coarser bins, or "
                    "a smaller max_predicates in [workload]"
                )

    @property
    def dimensions(self) -> int:
        """How many of the axes are dimensions; the others are signs."""
        return len(self.bins)

    @property
    def is_ordered(self) -> tuple[bool, ...]:
        """Of every axis whether its elements have neighbours: those of categories and signs have
        none."""
        signs = len(self.orders) - self.dimensions
        return (*(not own for own in self.unordered), *(False for _ in range(signs)))

    def width(self, axis: int) -> int:
        """Codes per bin of a dimension, those apart that have bins of their own."""
        joined = self.bins[axis] - self.unordered[axis]
        return -(-(self.sizes[axis] - self.unordered[axis]) // joined) if joined else 1

    def edges(self, axis: int) -> Integers:
        """First code of every bin of a dimension, and the number of its codes, shape (bins+1,)."""
        end = self.sizes[axis] - self.unordered[axis]
        joined = self.bins[axis] - self.unordered[axis]
        starts = np.minimum(np.arange(joined) * self.width(axis), end)
        return np.concatenate([starts, np.arange(end, self.sizes[axis] + 1)])

    def looks(self) -> tuple[tuple[Look, ...], tuple[tuple[int, ...], ...]]:
        """How a plan finds the element of every axis in a code, and the tables that this takes."""
        looks: list[Look] = []
        tables: list[tuple[int, ...]] = []
        for axis in range(len(self.orders)):
            width = self.width(axis) if axis < self.dimensions else 1
            if width > 1 and self.unordered[axis]:
                looks.append((1, len(tables)))
                tables.append(tuple(self.edges(axis)[1:-1].tolist()))
            else:
                looks.append((width, None))
        return tuple(looks), tuple(tables)

    @property
    def is_coarse(self) -> bool:
        """Whether some dimension is collected in bins of several codes."""
        return any(self.width(axis) > 1 for axis in range(self.dimensions))

    def bin_weights(self, side: Side, axis: int) -> Reals:
        """Share of every bin that a side covers, shape (bins,); codes inside a bin count alike."""
        if side is None:
            return np.ones(self.bins[axis])
        edges = self.edges(axis).astype(np.float64)
        covered = np.zeros(self.bins[axis] + 1)
        for low, high in side:
            covered += np.clip(edges, low, high)
        return np.diff(covered) / np.diff(edges)

    def shape(self, axes: Axes) -> tuple[int, ...]:
        """Orders of some axes."""
        return tuple(self.orders[axis] for axis in axes)

    def cells(self, axes: Axes) -> int:
        """Number of elements over some axes."""
        return prod(self.shape(axes))

    def cut(self, flat: Numbers, blocks: Iterable[Axes]) -> dict[Axes, Numbers]:
        """Dense arrays over some axes each, one after the other along the last axis, shape (...,
        cells), as views of the shape (..., *orders)."""
        parts, first = dict[Axes, Numbers](), 0
        for axes in blocks:
            last = first + self.cells(axes)
            parts[axes] = flat[..., first:last].reshape(*flat.shape[:-1], *self.shape(axes))
            first = last
        return parts

    def spread(self, spectra: Sequence[Spectrum], *blocks: Axes) -> NDArray[np.complexfloating]:
        """Spectra by face, dense over some axes, or one set of them after the other, and flat,
        shape (k, cells)."""
        dense = np.zeros((len(spectra), sum(map(self.cells, blocks))), dtype=np.complex128)
        for axes, own in self.cut(dense, blocks).items():
            for number, faces in enumerate(spectra):
                own[number] = spread_faces(faces, axes, self.shape(axes))
        return dense

    def block_of(self, axes: Iterable[int]) -> Axes | None:
        """The smallest block that holds all these axes, or None."""
        wanted = set(axes)
        fitting = [block for block in self.blocks if wanted <= set(block)]
        return min(fitting, key=self.cells, default=None)

    @cached_property
    def faces(self) -> tuple[Axes, ...]:
        """Every non-empty part of a block, small ones first."""
        return parts_of(self.blocks)[1:]


@lru_cache(maxsize=4096)
def parts_of(blocks: tuple[Axes, ...]) -> tuple[Axes, ...]:
    """Every subset of some sets of axes, small ones first; the empty one is the zero frequency."""
    sizes = ((block, size) for block in blocks for size in range(len(block) + 1))
    parts = {part for block, size in sizes for part in combinations(block, size)}
    return tuple(sorted(parts, key=lambda part: (len(part), part)))


def face_slices(face: Axes, block: Axes) -> tuple[slice | int, ...]:
    """Where a dense array over a block keeps a face: coordinates off the face are 0."""
    return tuple(slice(1, None) if axis in face else 0 for axis in block)


def add(arrays: dict[Axes, Any], axes: Axes, array: Numbers) -> None:
    """Add an array over some axes to the one already there, which is replaced."""
    arrays[axes] = arrays[axes] + array if axes in arrays else array


def gather_faces(dense: Mapping[Axes, Numbers]) -> dict[Axes, Numbers]:
    """Sum of dense arrays by faces: {block: array over it} to {face: array without zeros}."""
    faces: dict[Axes, Numbers] = {}
    for block, array in dense.items():
        for face in parts_of((block,)):
            add(faces, face, np.asarray(array[face_slices(face, block)]))
    return faces


def axes_of(spectra: Iterable[Spectrum]) -> Axes:
    """The axes that some spectra are about, ascending."""
    return tuple(sorted({axis for own in spectra for face in own for axis in face}))


def zero_parts(spectra: Sequence[Mapping[Axes, Numbers]]) -> Reals:
    """The zero frequency of each spectrum, shape (k,); 0 where it has none."""
    return np.array([own[()].real if () in own else 0.0 for own in spectra])


class Faces(Mapping[Axes, Any]):
    """Arrays by face, each made when it is first asked for."""

    def __init__(self, faces: Iterable[Axes], make: Callable[[Axes], Any]) -> None:
        self._made: dict[Axes, Any] = dict.fromkeys(faces)
        self._make = make

    def __getitem__(self, face: Axes) -> Any:
        if self._made[face] is None:
            self._made[face] = self._make(face)
        return self._made[face]

    def __iter__(self) -> Iterator[Axes]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    def __contains__(self, face: object) -> bool:
        return face in self._made


def leave_zero(spectrum: Spectrum) -> Spectrum:
    """The spectrum without its zero frequency."""
    return Faces(filter(None, spectrum), spectrum.__getitem__)


def spread_faces(faces: Mapping[Axes, Numbers], block: Axes, shape: tuple[int, ...]) -> Numbers:
    """The dense array over a block from faces, of which missing ones are 0."""
    known = [part for part in parts_of((block,)) if part in faces]
    dense = np.zeros(shape, dtype=np.result_type(np.float64, *(faces[p].dtype for p in known)))
    for part in known:
        dense[face_slices(part, block)] = faces[part]
    return dense


def mirror(dense: Numbers, first: int = 0) -> Numbers:
    """The array at -f: every axis from the first on reversed, its zero left in place."""
    axes = tuple(range(first, dense.ndim))
    return np.roll(np.flip(dense, axes), 1, axes) if axes else dense


class Spectral(ABC):
    """A design that asks about frequencies.

    group: of the codes.
    """

    group: Group

    @property
    @abstractmethod
    def spectral_information(self) -> Mapping[Axes, Reals]:
        """lambda_f by faces of the group: how much one report tells about every frequency, at most
        1."""


def is_coarse(design: object) -> bool:
    """Whether a design collects several codes as one bin: answers are then interpolated inside
    bins, and no predicted error contains that."""
    return isinstance(design, Spectral) and design.group.is_coarse
