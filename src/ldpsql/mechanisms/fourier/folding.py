"""Public. Sees parameters. Frequencies up to the sign of every coordinate.

A workload's spectrum is the same at (f1, f2) and (f1, -f2), so a design may be looked for among
those that share this symmetry: one unknown per *class* of frequencies. Classes are numbered over
all faces; one more number, the last, stands for the zero frequency, which needs nothing.
Specification: fourier, section 2.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np

from ldpsql.mechanisms.fourier.group import Axes, Group, Integers, face_slices, parts_of
from ldpsql.mechanisms.fourier.symmetry import Symmetry, reordered
from ldpsql.mechanisms.fourier.transforms import Reals


@dataclass(frozen=True, eq=False)
class Folding:
    """The classes of the frequencies of a group.

    symmetry: of its axes; only faces that stand for themselves have classes of their own.
    """

    group: Group
    symmetry: Symmetry = field(default_factory=lambda: Symmetry(()))

    def __post_init__(self) -> None:
        if not self.symmetry.kinds:
            object.__setattr__(self, "symmetry", Symmetry.none(self.group))

    @cached_property
    def faces(self) -> tuple[Axes, ...]:
        """One of every kind, small ones first."""
        return tuple(filter(self.symmetry.stands_for_itself, self.group.faces))

    @cached_property
    def blocks(self) -> tuple[Axes, ...]:
        """One of every kind."""
        return tuple(filter(self.symmetry.stands_for_itself, self.group.blocks))

    def shape(self, axes: Axes) -> tuple[int, ...]:
        """Classes per axis, the zero coordinate included."""
        return tuple(order // 2 + 1 for order in self.group.shape(axes))

    @cached_property
    def offsets(self) -> dict[Axes, int]:
        """Number of the first class of every face."""
        offsets, total = {}, 0
        for face in self.faces:
            offsets[face] = total
            total += prod(size - 1 for size in self.shape(face))
        return offsets

    @cached_property
    def classes(self) -> int:
        """Number of classes, that of the zero frequency not counted."""
        last = self.faces[-1]
        return self.offsets[last] + prod(size - 1 for size in self.shape(last))

    @cached_property
    def multiplicity(self) -> Reals:
        """Frequencies per class, shape (classes + 1,); 1 for the last."""
        flat = np.ones(self.classes + 1)
        for face, start in self.offsets.items():
            members = self.members_over(face).reshape(self.shape(face))
            own = members[face_slices(face, face)].ravel()
            flat[start : start + own.size] = own
        return flat

    @cached_property
    def alike(self) -> Reals:
        """How many faces each class stands for, shape (classes + 1,); 1 for the last."""
        flat = np.ones(self.classes + 1)
        for face, start in self.offsets.items():
            size = prod(own - 1 for own in self.shape(face))
            flat[start : start + size] = self.symmetry.count(face)
        return flat

    def members_over(self, axes: Axes) -> Reals:
        """Frequencies behind each class of the dense folded array over some axes, flat."""
        grid = np.ones(())
        for order in self.group.shape(axes):
            grid = np.multiply.outer(grid, self.members(order))
        return grid.ravel()

    @staticmethod
    def members(order: int) -> Reals:
        """Frequencies behind each class of one axis, the zero included, shape (order//2 + 1,)."""
        members = np.full(order // 2 + 1, 2.0)
        members[0] = 1.0
        if order % 2 == 0:
            members[-1] = 1.0
        return members

    def numbers(self, axes: Axes) -> Integers:
        """Class numbers of the dense folded array over some axes, of shape `shape(axes)`."""
        dense = np.full(self.shape(axes), self.classes, dtype=np.int64)
        for part in parts_of((axes,)):
            slices = face_slices(part, axes)
            names = self.symmetry.first(part)
            first = tuple(sorted(names.values()))
            sizes = [size - 1 for size in self.shape(first)]
            own = self.offsets[first] + np.arange(prod(sizes)).reshape(sizes)
            dense[slices] = reordered(own, part, names)
        return dense

    def places(self, axes: Axes) -> Integers:
        """Where each frequency of the dense array over some axes lies in the folded one, flat."""
        found = np.zeros((), dtype=np.int64)
        for axis, classes in zip(axes, self.shape(axes), strict=True):
            own = self.fold(np.arange(self.group.orders[axis]), axis)
            found = np.add.outer(found * classes, own)
        return np.asarray(found.ravel())

    def folded(self, faces: Mapping[Axes, Reals]) -> Reals:
        """Arrays that are symmetric in every axis, and alike for faces of one kind, as one flat
        array; 0 for the last class."""
        flat = np.zeros(self.classes + 1)
        for face, start in self.offsets.items():
            corner = faces[face][tuple(slice(0, order // 2) for order in self.group.shape(face))]
            flat[start : start + corner.size] = corner.ravel()
        return flat

    def fold(self, coordinates: Integers, axis: int) -> Integers:
        """Class coordinate of frequencies on one axis."""
        order = self.group.orders[axis]
        reduced = coordinates % order
        return np.minimum(reduced, order - reduced)
