"""Frequencies up to symmetry: the unknowns of a design.

A workload's spectrum is the same at (f1, f2) and (f1, -f2), so a design may be looked for among
those that share this symmetry: one unknown per *class* of frequencies up to the sign of every
coordinate. Classes are numbered over all faces; one more number, the last, stands for the zero
frequency, which needs nothing. Source: docs/spec/fourier.md#2.2.

Where two axes may also be exchanged without changing the demand, one design of a face serves all
faces that exchanges make of it: its candidates stand for their images, which share their weight.
Ten attributes of eight codes, three predicates at most, are 175 faces, but three kinds of faces.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from math import comb, prod

import numpy as np

from ldpsql.decoders.fourier.group import (
    Axes,
    Group,
    Integers,
    Numbers,
    Reals,
    face_slices,
    parts_of,
)

FEW_FACES = 7
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Symmetry:
    """kinds: of every axis, named by the first axis that is like it."""

    kinds: tuple[int, ...]

    @classmethod
    def none(cls, group: Group) -> Symmetry:
        """Every axis is like itself alone."""
        return cls(tuple(range(len(group.orders))))

    @classmethod
    def of(cls, group: Group, demand: Mapping[Axes, Reals], listed: frozenset[int]) -> Symmetry:
        """Of a demand by face; where there are FEW_FACES or less there is nothing to gain."""
        if len(group.faces) <= FEW_FACES:
            return cls.none(group)

        def alone(axis: int) -> tuple[object, ...]:
            """What axes must have in common before their demands are compared."""
            return group.orders[axis], group.bins[axis : axis + 1], axis in listed

        kinds: list[int] = []
        for axis in range(len(group.orders)):
            alike = (
                first
                for first in sorted(set(kinds))
                if alone(first) == alone(axis) and _can_exchange(demand, first, axis)
            )
            kinds.append(next(alike, axis))
        return cls(tuple(kinds))

    def _members(self, kind: int) -> list[int]:
        return [axis for axis, own in enumerate(self.kinds) if own == kind]

    def _by_kind(self, axes: Iterable[int]) -> dict[int, list[int]]:
        by_kind: dict[int, list[int]] = {}
        for axis in sorted(axes):
            by_kind.setdefault(self.kinds[axis], []).append(axis)
        return by_kind

    def first(self, axes: Axes) -> dict[int, int]:
        """Axis of a face -> axis of the face that stands for it, made of the first of each kind."""
        return {
            axis: first
            for kind, own in self._by_kind(axes).items()
            for axis, first in zip(own, self._members(kind), strict=False)
        }

    def stands_for_itself(self, face: Axes) -> bool:
        """Whether a face is the one that stands for all like it."""
        return all(axis == other for axis, other in self.first(face).items())

    def count(self, axes: Axes) -> int:
        """How many faces are like one over these axes, itself among them."""
        kinds = self._by_kind(axes).items()
        return prod(comb(len(self._members(kind)), len(own)) for kind, own in kinds)

    def images(self, axes: Axes) -> list[dict[int, int]]:
        """Axis -> axis, one map for each of the faces that are like one over these axes."""
        by_kind = self._by_kind(axes)
        choices = [combinations(self._members(kind), len(own)) for kind, own in by_kind.items()]
        sources = [axis for own in by_kind.values() for axis in own]
        return [
            dict(zip(sources, (axis for part in chosen for axis in part), strict=True))
            for chosen in product(*choices)
        ]


def reorder(array: Numbers, axes: Axes, names: Mapping[int, int]) -> Numbers:
    """An array over the sorted images of some axes, as one over the axes themselves."""
    images = sorted(names[axis] for axis in axes)
    return np.transpose(array, [images.index(names[axis]) for axis in axes])


def _can_exchange(demand: Mapping[Axes, Reals], one: int, other: int) -> bool:
    """Whether exchanging two axes leaves the demand as it is."""
    for face, own in demand.items():
        if one not in face and other not in face:
            continue
        names = {axis: {one: other, other: one}.get(axis, axis) for axis in face}
        image = demand.get(tuple(sorted(names.values())))
        if image is None or not np.allclose(own, reorder(image, face, names), _ROUNDING, 0.0):
            return False
    return True


@dataclass(frozen=True, eq=False)
class Folding:
    """The classes of the frequencies of a group.

    symmetry: of its axes, none where it is empty; only faces that stand for themselves have
    classes of their own.
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

    @property
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
        """Frequencies behind each class of one axis, the zero included, shape (order//2 + 1,).

        f and -f, but for 0 and, on an even circle, order / 2, which are their own negatives.
        """
        members = np.full(order // 2 + 1, 2.0)
        members[0] = 1.0
        if order % 2 == 0:
            members[-1] = 1.0
        return members

    def numbers(self, axes: Axes) -> Integers:
        """Class numbers of the dense folded array over some axes, of shape `shape(axes)`."""
        dense = np.full(self.shape(axes), self.classes, dtype=np.int64)
        for part in parts_of((axes,))[1:]:
            names = self.symmetry.first(part)
            first = tuple(sorted(names.values()))
            sizes = [size - 1 for size in self.shape(first)]
            own = self.offsets[first] + np.arange(prod(sizes)).reshape(sizes)
            dense[face_slices(part, axes)] = reorder(own, part, names)
        return dense

    def places(self, axes: Axes) -> Integers:
        """Where each frequency of the dense array over some axes lies in the folded one, flat."""
        places = np.zeros((), dtype=np.int64)
        for axis, classes in zip(axes, self.shape(axes), strict=True):
            own = self.fold(np.arange(self.group.orders[axis]), axis)
            places = np.add.outer(places * classes, own)
        return np.asarray(places.ravel())

    def fold_faces(self, faces: Mapping[Axes, Reals]) -> Reals:
        """Arrays that are symmetric in every axis, and alike for faces of one kind, as one flat
        array; 0 for the last class."""
        flat = np.zeros(self.classes + 1)
        for face, start in self.offsets.items():
            # Coordinates 1 .. order // 2: a face's array has no zeros.
            corner = faces[face][tuple(slice(0, order // 2) for order in self.group.shape(face))]
            flat[start : start + corner.size] = corner.ravel()
        return flat

    def fold(self, coordinates: Integers, axis: int) -> Integers:
        """Class coordinate of frequencies on one axis."""
        order = self.group.orders[axis]
        reduced = coordinates % order
        return np.minimum(reduced, order - reduced)
