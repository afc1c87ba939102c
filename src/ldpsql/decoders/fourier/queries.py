"""Linear queries in the form that Fourier designs answer, and the spectrum of a workload of them.

gamma_f = mean of |q^(f)|^2 / N^2 over the queries of a workload, so that the mean second moment of
one report's contributions is sum_f gamma_f / lambda_f.
Source: docs/spec/fourier.md#1.2, docs/spec/fourier.md#2.1 and docs/spec/fourier.md#6.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ldpsql.boxes import Side, Weight
from ldpsql.decoders.base import PlannedQuery
from ldpsql.decoders.fourier.group import Axes, Group, add, face_slices, parts_of
from ldpsql.decoders.fourier.transforms import Complexes, Reals
from ldpsql.errors import UnsupportedSQL
from ldpsql.workload import DeclaredQuery, QueryClass, Workload, mean_square, spectrum


def demand(workload: Workload, group: Group) -> dict[Axes, Reals]:
    """gamma_f of every face of the group, symmetric in every axis."""
    faces: dict[Axes, Reals] = {
        face: np.zeros([order - 1 for order in group.shape(face)]) for face in group.faces
    }
    for entry in workload.classes:
        _add_class(faces, entry, group)
    for query in workload.queries:
        _add_query(faces, query, group)
    return faces


def _add_class(faces: dict[Axes, Reals], entry: QueryClass, group: Group) -> None:
    powers = {
        axis: spectrum(kind, group.bins[axis], group.orders[axis])
        for axis, kind in entry.predicates
    }
    if entry.measure is not None:
        powers[group.dimensions + entry.measure] = np.array([0.0, 1.0])
    for face in parts_of((tuple(sorted(powers)),)):
        product = np.asarray(
            entry.weight * prod(powers[axis][0] for axis in powers if axis not in face)
        )
        for axis in face:
            product = np.multiply.outer(product, powers[axis][1:])
        faces[face] += product


def _add_query(faces: dict[Axes, Reals], query: DeclaredQuery, group: Group) -> None:
    axes = query.constrained
    power = np.abs(query_transform(query.terms, axes, group)) ** 2 * query.weight
    for face in parts_of((axes,)):
        piece = power[face_slices(face, axes)]
        for axis in range(piece.ndim):
            piece = (piece + np.flip(piece, axis)) / 2.0
        faces[face] += query.level**2 * piece
        if query.measure is not None:
            faces[(*face, group.dimensions + query.measure)] += query.contrast**2 * piece[..., None]
    if query.measure is not None:
        whole = float(power[(0,) * len(axes)])
        faces[(group.dimensions + query.measure,)] += query.contrast**2 * whole


def query_transform(
    terms: Sequence[tuple[float, Sequence[Side]]], axes: Axes, group: Group
) -> Complexes:
    """q^(f) / N of a sum of boxes that constrain these dimensions only: dense over the axes."""
    total = np.zeros(group.shape(axes), dtype=np.complex128)
    for share, sides in terms:
        total += share * box_transform([sides[axis] for axis in axes], axes, group)
    return total


def box_transform(sides: Sequence[Side], axes: Axes, group: Group) -> Complexes:
    """q^(f) / N of a box with these sides: dense over the axes."""
    product = np.ones((), dtype=np.complex128)
    for side, axis in zip(sides, axes, strict=True):
        product = np.multiply.outer(product, side_transform(side, axis, group))
    return product


def side_transform(side: Side, axis: int, group: Group) -> Complexes:
    """DFT of one side over its circle, divided by the order; None is everything, padding too."""
    order = group.orders[axis]
    if side is None:
        return np.asarray(np.eye(1, order, dtype=np.complex128)[0])
    return np.asarray(np.fft.fft(group.bin_weights(side, axis), n=order) / order)


def floor(workload: Workload, group: Group) -> float:
    """Mean over the queries of (q^(0) / N)^2 minus the mean of q^2: at most 0.

    With F = sum over f != 0 of gamma_f / lambda_f the mean variance per person is F + floor, types
    spread evenly over the group.
    """
    total = 0.0
    for entry in workload.classes:
        whole, square = 1.0, 1.0
        for axis, kind in entry.predicates:
            size, order = group.bins[axis], group.orders[axis]
            whole *= float(spectrum(kind, size, order)[0])
            square *= mean_square(kind, size) * size / order
        total += entry.weight * ((whole if entry.measure is None else 0.0) - square)
    for query in workload.queries:
        power = np.abs(query_transform(query.terms, query.constrained, group)) ** 2
        whole, square = float(power[(0,) * power.ndim]), float(power.sum())
        level, contrast = query.level**2, query.contrast**2
        total += query.weight * (level * whole - (level + contrast) * square)
    return total


NO_ENERGY = 1e-20


_FAR = 100.0


@dataclass(frozen=True)
class BoxTerm:
    """coefficient x box, whose sides constrain the given dimensions and no others."""

    coefficient: float
    axes: Axes
    sides: tuple[Side, ...]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """q^(f) / N of a query, the zero frequency apart (`whole`), by face."""

    faces: Mapping[Axes, Complexes]
    whole: float


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
    weight: Weight | None

    @property
    def is_far(self) -> bool:
        """Whether a measure's bounds are far from 0, as seen from their distance."""
        return self.measure is not None and abs(self.level) > _FAR * abs(self.contrast)

    def whole(self, group: Group) -> float:
        """q^(0) / N: the mean of the query over the group, sign apart."""
        total = 0.0
        for term in self.terms:
            share = term.coefficient
            for side, axis in zip(term.sides, term.axes, strict=True):
                share *= float(group.bin_weights(side, axis).sum()) / group.orders[axis]
            total += share
        return self.level * total

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

    def spectrum(self, group: Group) -> Spectrum:
        """The query as it is; 0 on padding."""
        return Spectrum(self.faces(group), self.whole(group))

    def faces(self, group: Group) -> dict[Axes, Complexes]:
        """q^(f) / N of every face that the query touches, the zero frequency apart."""
        faces: dict[Axes, Complexes] = {}
        for term in self.terms:
            dense = term.coefficient * box_transform(term.sides, term.axes, group)
            for part in parts_of((term.axes,)):
                piece = dense[face_slices(part, term.axes)]
                if self.level:
                    add(faces, part, self.level * piece)
                if self.measure is not None:
                    # The character of a sign axis is -1 at the upper bound.
                    signed = (*part, group.dimensions + self.measure)
                    add(faces, signed, -self.contrast * piece[..., None])
            if self.measure is not None:
                alone = (group.dimensions + self.measure,)
                corner = dense[(0,) * dense.ndim]
                add(faces, alone, np.array([-self.contrast * corner]))
        return faces


def unsupported(dimensions: Sequence[str], measure: str | None) -> UnsupportedSQL:
    """The error for a query that the design does not collect, by what it asks about."""
    constrained = " and ".join(dimensions) or "everybody"
    asked = constrained if measure is None else f"{measure} by {constrained}"
    needed = f"whose queries ask about {asked}"
    if dimensions:
        needed = f"whose max_predicates is at least {len(dimensions)}, or {needed}"
    return UnsupportedSQL(
        f"this survey was not designed for questions about {asked}",
        hint=f"design it with a [workload] {needed}",
    )
