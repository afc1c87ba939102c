"""Frequencies up to symmetry: the unknowns of a design.

Source: docs/spec/fourier.md#2.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import chain, combinations, product
from math import comb, prod

import numpy as np

from ldpsql.mechanisms.fourier.group import (
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
    """Where two axes may be exchanged without changing the demand, one design of a face serves all
    faces that exchanges make of it: its candidates stand for their images, which share their
    weight. Ten attributes of eight codes, three predicates at most, are 175 faces of three kinds.

    kinds: of every axis, named by the first axis that is like it.
    """

    kinds: tuple[int, ...]

    @classmethod
    def of(cls, group: Group, demand: Mapping[Axes, Reals], listed: frozenset[int]) -> Symmetry:
        """Of a demand by face; where there are FEW_FACES or less there is nothing to gain."""
        kinds: list[int] = []
        for axis, order in enumerate(group.orders):
            # What axes must have in common before their demands are compared.
            own = order, group.bins[axis : axis + 1], axis in listed
            alike = (
                first
                for first in sorted(set(kinds))
                if (group.orders[first], group.bins[first : first + 1], first in listed) == own
                and len(group.faces) > FEW_FACES
                and _can_exchange(demand, first, axis)
            )
            kinds.append(next(alike, axis))
        return cls(tuple(kinds))

    def _by_kind(self, axes: Axes) -> list[tuple[list[int], list[int]]]:
        """(those of some axes, all axes) of each kind among them."""
        return [
            (
                [axis for axis in axes if self.kinds[axis] == kind],
                [axis for axis, own in enumerate(self.kinds) if own == kind],
            )
            for kind in dict.fromkeys(self.kinds[axis] for axis in axes)
        ]

    def first(self, axes: Axes) -> dict[int, int]:
        """Axis of a face -> axis of the face that stands for it, made of the first of each kind."""
        pairs = (zip(own, alike, strict=False) for own, alike in self._by_kind(axes))
        return dict(chain(*pairs))

    def stands_for_itself(self, face: Axes) -> bool:
        """Whether a face is the one that stands for all like it."""
        return all(axis == other for axis, other in self.first(face).items())

    def count(self, axes: Axes) -> int:
        """How many faces are like one over these axes, itself among them."""
        return prod(comb(len(alike), len(own)) for own, alike in self._by_kind(axes))

    def images(self, axes: Axes) -> list[dict[int, int]]:
        """Axis -> axis, one map for each of the faces that are like one over these axes."""
        by_kind = self._by_kind(axes)
        choices = [combinations(alike, len(own)) for own, alike in by_kind]
        sources = list(chain(*(own for own, _ in by_kind)))
        return [dict(zip(sources, chain(*chosen), strict=True)) for chosen in product(*choices)]


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


class Folding:
    """The classes of the frequencies of a group: those that differ in signs of coordinates only.

    A workload's spectrum is the same for all of a class, so a design may be, too. Classes are
    numbered over all faces; the last number stands for the zero frequency, which needs nothing.

    symmetry: of its axes, none by default; only faces that stand for themselves have classes of
    their own.
    faces, blocks: one of every kind, small ones first.
    offsets: number of the first class of every face.
    classes: their number, that of the zero frequency not counted.
    multiplicity: frequencies per class, shape (classes + 1,).
    alike: how many faces each class stands for, of the same shape; both are 1 for the last.
    """

    def __init__(self, group: Group, symmetry: Symmetry | None = None) -> None:
        self.group = group
        self.symmetry = symmetry or Symmetry(tuple(range(len(group.orders))))
        self.faces = tuple(filter(self.symmetry.stands_for_itself, group.faces))
        self.blocks = tuple(filter(self.symmetry.stands_for_itself, group.blocks))
        self.offsets, self.classes = {}, 0
        members, alike = [], []
        for face in self.faces:
            own = self.members_over(face).reshape(self.shape(face))[face_slices(face, face)]
            self.offsets[face] = self.classes
            self.classes += own.size
            members.append(own.ravel())
            alike.append(np.full(own.size, self.symmetry.count(face), dtype=np.float64))
        self.multiplicity = np.concatenate([*members, [1.0]])
        self.alike = np.concatenate([*alike, [1.0]])

    def shape(self, axes: Axes) -> tuple[int, ...]:
        """Classes per axis, the zero coordinate included."""
        return tuple(order // 2 + 1 for order in self.group.shape(axes))

    @cached_property
    def frequencies(self) -> Reals:
        """How many each class stands for in all faces, shape (classes + 1,)."""
        return np.asarray(self.multiplicity * self.alike)

    def members_over(self, axes: Axes) -> Reals:
        """Frequencies behind each class of the dense folded array over some axes, flat.

        On one axis f and -f, but for 0 and order / 2, which are their own negatives.
        """
        own = [np.bincount(self.fold(np.arange(self.group.orders[a]), a)) for a in axes]
        return np.asarray(reduce(np.multiply.outer, own, np.ones(())).ravel())

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
        folded = [self.fold(np.arange(self.group.orders[axis]), axis) for axis in axes]
        return np.ravel_multi_index(np.ix_(*folded), self.shape(axes)).ravel()

    def fold_faces(self, faces: Mapping[Axes, Reals]) -> Reals:
        """Arrays that are symmetric in every axis, and alike for faces of one kind, as one flat
        array; 0 for the last class."""
        # Coordinates 1 .. order // 2: a face's array has no zeros.
        corners = [
            faces[face][tuple(slice(order // 2) for order in self.group.shape(face))].ravel()
            for face in self.faces
        ]
        return np.concatenate([*corners, [0.0]])

    def fold(self, coordinates: Integers, axis: int) -> Integers:
        """Class coordinate of frequencies on one axis."""
        order = self.group.orders[axis]
        reduced = coordinates % order
        return np.minimum(reduced, order - reduced)
