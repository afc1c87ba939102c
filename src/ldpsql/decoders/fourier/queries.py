"""Linear queries in the form that Fourier designs answer, and the spectrum of a workload of them.

gamma_f = mean of |q^(f)|^2 / N^2 over the queries of a workload, so that the mean second moment of
one report's contributions is sum_f gamma_f / lambda_f.
Source: docs/spec/fourier.md#1.2, docs/spec/fourier.md#2.1 and docs/spec/fourier.md#6.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ldpsql.boxes import Side, Weight
from ldpsql.decoders.base import PlannedQuery
from ldpsql.decoders.fourier.families import Complexes
from ldpsql.decoders.fourier.group import Axes, Group, Reals, add, face_slices, parts_of
from ldpsql.workload import DeclaredQuery, Workload, spectrum

_FAR = 100.0


@dataclass(frozen=True)
class BoxTerm:
    """coefficient x box, whose sides constrain the given dimensions and no others."""

    coefficient: float
    axes: Axes
    sides: tuple[Side, ...]


def box_terms(boxes: Iterable[tuple[float, Sequence[Side]]]) -> tuple[BoxTerm, ...]:
    """Terms from boxes with one side per dimension."""
    terms = []
    for share, sides in boxes:
        axes = tuple(axis for axis, side in enumerate(sides) if side is not None)
        terms.append(BoxTerm(share, axes, tuple(sides[axis] for axis in axes)))
    return tuple(terms)


@dataclass(frozen=True)
class BoxQuery(PlannedQuery):
    """level x (people in the terms) + contrast x (their upper minus lower signs).

    known: coefficient of the number of people (or total weight) known without asking.
    measure: whose sign, or None; then contrast is 0.
    """

    known: float
    terms: tuple[BoxTerm, ...]
    measure: int | None
    level: float
    contrast: float
    weight: Weight | None = None

    @classmethod
    def declared(cls, query: DeclaredQuery) -> BoxQuery:
        """One of a workload."""
        return cls(0.0, box_terms(query.terms), query.measure, query.level, query.contrast)

    @property
    def is_far(self) -> bool:
        """Whether a measure's bounds are far from 0, as seen from their distance."""
        return self.measure is not None and abs(self.level) > _FAR * abs(self.contrast)

    def cell_weights(self, term: BoxTerm, axes: Axes, group: Group) -> list[Reals]:
        """A term over the real cells of some axes is the outer product of one array per axis."""
        sides = dict(zip(term.axes, term.sides, strict=True))
        weights = [
            group.bin_weights(sides.get(axis), axis) if axis < group.dimensions else np.ones(2)
            for axis in axes
        ]
        if self.measure is None:
            weights[0] = weights[0] * term.coefficient * self.level
        else:
            ends = np.array([self.level - self.contrast, self.level + self.contrast])
            weights[axes.index(group.dimensions + self.measure)] = term.coefficient * ends
        return weights

    def spectrum(self, group: Group) -> dict[Axes, Complexes]:
        """q^(f) / N by face, the empty one among them; 0 on padding where a side constrains."""
        faces: dict[Axes, Complexes] = {}
        for term in self.terms:
            dense = np.array(term.coefficient, dtype=np.complex128)
            for side, axis in zip(term.sides, term.axes, strict=True):
                dense = np.multiply.outer(dense, side_transform(side, axis, group))
            for part in parts_of((term.axes,)):
                piece = np.asarray(dense[face_slices(part, term.axes)])
                if self.level:
                    add(faces, part, self.level * piece)
                if self.measure is not None:
                    # The character of a sign axis is -1 at the upper bound.
                    signed = (*part, group.dimensions + self.measure)
                    add(faces, signed, -self.contrast * piece[..., None])
        return faces


def side_transform(side: Side, axis: int, group: Group) -> Complexes:
    """DFT of one side over its circle, divided by the order; None is everything, padding too."""
    order = group.orders[axis]
    if side is None:
        return np.asarray(np.eye(1, order, dtype=np.complex128)[0])
    return np.asarray(np.fft.fft(group.bin_weights(side, axis), n=order) / order)


def demand(workload: Workload, group: Group) -> dict[Axes, Reals]:
    """gamma_f of every face of the group, symmetric in every axis."""
    faces: dict[Axes, Reals] = {
        face: np.zeros([order - 1 for order in group.shape(face)]) for face in group.faces
    }
    for entry in workload.classes:
        powers = {
            axis: spectrum(kind, group.bins[axis], group.orders[axis])
            for axis, kind in entry.predicates
        }
        if entry.measure is not None:
            powers[group.dimensions + entry.measure] = np.array([0.0, 1.0])
        for face in parts_of((tuple(sorted(powers)),))[1:]:
            others = prod(powers[axis][0] for axis in powers if axis not in face)
            product = np.asarray(entry.weight * others)
            for axis in face:
                product = np.multiply.outer(product, powers[axis][1:])
            faces[face] += product
    for query in workload.queries:
        for face, piece in BoxQuery.declared(query).spectrum(group).items():
            power = query.weight * np.abs(piece) ** 2
            for axis in range(power.ndim):
                power = (power + np.flip(power, axis)) / 2.0
            if face:
                faces[face] += power
    return faces


def floor(needed: Mapping[Axes, Reals]) -> float:
    """Mean over the queries of a demand of (q^(0) / N)^2 minus the mean of q^2: at most 0.

    By Parseval's theorem the mean of q^2 over the group is the sum of |q^(f)|^2 / N^2. With
    F = sum over f != 0 of gamma_f / lambda_f the mean variance per person is F + floor, types
    spread evenly over the group.
    """
    return -sum(float(values.sum()) for values in needed.values())
