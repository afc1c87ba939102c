"""Public. Sees parameters. Attributes that a workload treats alike.

Where two axes may be exchanged without changing the demand, one design of a face serves all faces
that exchanges make of it: its candidates stand for their images, which share their weight. Ten
attributes of eight codes, three predicates at most, are 175 faces, but three kinds of faces.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import comb, prod

import numpy as np

from ldpsql.mechanisms.fourier.group import Axes, Group, Numbers, Reals

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
        kinds: list[int] = []
        for axis in range(len(group.orders)):
            alike = (
                first
                for first in sorted(set(kinds))
                if _same(group, listed, first, axis) and _exchangeable(demand, first, axis)
            )
            kinds.append(next(alike, axis))
        return cls(tuple(kinds))

    @cached_property
    def _members(self) -> dict[int, list[int]]:
        members: dict[int, list[int]] = {}
        for axis, kind in enumerate(self.kinds):
            members.setdefault(kind, []).append(axis)
        return members

    def _by_kind(self, axes: Iterable[int]) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for axis in sorted(axes):
            found.setdefault(self.kinds[axis], []).append(axis)
        return found

    def first(self, axes: Axes) -> dict[int, int]:
        """Axis of a face -> axis of the face that stands for it, made of the first of each kind."""
        return {
            axis: self._members[kind][place]
            for kind, own in self._by_kind(axes).items()
            for place, axis in enumerate(own)
        }

    def stands_for_itself(self, face: Axes) -> bool:
        """Whether a face is the one that stands for all like it."""
        return all(axis == other for axis, other in self.first(face).items())

    def count(self, axes: Axes) -> int:
        """How many faces are like one over these axes, itself among them."""
        return prod(
            comb(len(self._members[kind]), len(own)) for kind, own in self._by_kind(axes).items()
        )

    def images(self, axes: Axes) -> list[dict[int, int]]:
        """Axis -> axis, one map for each of the faces that are like one over these axes."""
        groups = self._by_kind(axes)
        choices = [combinations(self._members[kind], len(own)) for kind, own in groups.items()]
        sources = [axis for own in groups.values() for axis in own]
        return [
            dict(zip(sources, (axis for part in chosen for axis in part), strict=True))
            for chosen in product(*choices)
        ]


def reordered(array: Numbers, axes: Axes, names: Mapping[int, int]) -> Numbers:
    """An array over the sorted images of some axes, as one over the axes themselves."""
    images = sorted(names[axis] for axis in axes)
    return np.transpose(array, [images.index(names[axis]) for axis in axes])


def _same(group: Group, listed: frozenset[int], one: int, other: int) -> bool:
    """Whether two axes are alike in themselves."""
    kinds = [
        (group.orders[axis], group.bins[axis : axis + 1], axis in listed) for axis in (one, other)
    ]
    return kinds[0] == kinds[1]


def _exchangeable(demand: Mapping[Axes, Reals], one: int, other: int) -> bool:
    """Whether exchanging two axes leaves the demand as it is."""
    for face, own in demand.items():
        if (one in face) == (other in face) and one not in face:
            continue
        names = {axis: {one: other, other: one}.get(axis, axis) for axis in face}
        image = demand.get(tuple(sorted(names.values())))
        if image is None:
            return False
        if not np.allclose(own, reordered(image, face, names), _ROUNDING, 0.0):
            return False
    return True
