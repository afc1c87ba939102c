"""Linear queries, and what the families of a table tell about them, frequency by frequency.

Source: docs/spec/fourier.md#1.2, docs/spec/fourier.md#2.1 and docs/spec/fourier.md#6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import chain
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.boxes import Side, Weight
from ldpsql.algebra.numerics import sum_outer_products
from ldpsql.algebra.workload import DeclaredQuery, QueryClass, Workload, gram, spectrum
from ldpsql.estimators.base import PlannedQuery
from ldpsql.mechanisms.fourier.families import FamilyTable
from ldpsql.mechanisms.fourier.group import (
    Axes,
    Complexes,
    Faces,
    Group,
    Integers,
    Reals,
    Spectrum,
    add,
    face_slices,
    gather_faces,
    parts_of,
    spread_faces,
)
from ldpsql.mechanisms.fourier.listed import ListedQuestions
from ldpsql.mechanisms.fourier.products import ProductQuestions
from ldpsql_device.errors import SurveyError

BLIND = 1e-20
"""Below this share of a perfect report's information a frequency counts as not collected:
transforms leave 1e-32 of it where there is none; a single cell of 2^24 leaves 1e-15."""
NO_POWER = 1e-24
"""A query's |q^(f)|^2 / N^2 times its weight below this is what rounding leaves of a zero."""
LARGEST_RESTRICTED = 2048
_ROUNDING = 1e-16


_Profile = tuple[tuple[float, Side], ...]
"""A function of one dimension: the sum of coefficient x side."""
_Pairs = tuple[tuple[_Profile, _Profile], ...]
"""Of every axis of a face those of two terms."""


@dataclass(frozen=True)
class BoxTerm:
    """coefficient x box, whose sides constrain the given dimensions and no others."""

    coefficient: float
    axes: Axes
    sides: tuple[Side, ...]


@dataclass(frozen=True)
class CutBin:
    """A bin that a range cuts.

    part: the query of the whole bin, within the other sides.  people: whose bin it is.  excess: by
    code of the bin, what a person there adds over the part that is counted of everybody, (codes,).
    """

    part: BoxQuery
    people: tuple[Axes, tuple[Side, ...]]
    excess: Reals


def make_box_terms(boxes: Iterable[tuple[float, Sequence[Side]]]) -> tuple[BoxTerm, ...]:
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

    def cut_bins(self, group: Group) -> Iterator[CutBin]:
        """Every bin that a side of a term cuts."""
        for term in self.terms:
            for place, axis in enumerate(term.axes):
                if group.width(axis) < 2:
                    continue
                weights, edges = group.bin_weights(term.sides[place], axis), group.edges(axis)
                for own in np.flatnonzero((weights > 0.0) & (weights < 1.0)).tolist():
                    low, high = int(edges[own]), int(edges[own + 1])
                    held = np.zeros(high - low)
                    for start, stop in term.sides[place] or ():
                        held[max(start - low, 0) : max(stop - low, 0)] = 1.0
                    sides = list(term.sides)
                    sides[place] = ((low, high),)
                    whole = replace(term, sides=tuple(sides))
                    part = replace(self, known=0.0, terms=(whole,))
                    yield CutBin(part, (term.axes, whole.sides), held - weights[own])

    @classmethod
    def declare(cls, query: DeclaredQuery) -> BoxQuery:
        """One of a workload."""
        return cls(0.0, make_box_terms(query.terms), query.measure, query.level, query.contrast)

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
    """gamma_f, the mean of |q^(f)|^2 / N^2 over the queries, of every face of the group; symmetric
    in every axis. One report's contributions have the mean second moment sum_f gamma_f / lambda_f.

    Where no query asks anything it is 0, and nowhere else.
    """
    faces: dict[Axes, Reals] = {
        face: np.zeros([order - 1 for order in group.shape(face)]) for face in group.faces
    }
    for entry in workload.classes:
        for face, power in class_power(entry, group):
            faces[face] += power
    declared = ((query.weight, BoxQuery.declare(query)) for query in workload.queries)
    for face, power in mean_power(declared, group).items():
        faces[face] += power
    return faces


def class_power(entry: QueryClass, group: Group) -> Iterator[tuple[Axes, Reals]]:
    """The part of the demand that a class of queries has: a product on every face."""
    powers = {
        axis: spectrum(kind, group.bins[axis], group.orders[axis])
        for axis, kind in entry.predicates
    }
    if entry.measure is not None:
        powers[group.dimensions + entry.measure] = np.array([0.0, 1.0])
    for face in parts_of((tuple(sorted(powers)),))[1:]:
        others = prod(powers[axis][0] for axis in powers if axis not in face)
        if others:
            product = np.asarray(entry.weight * others)
            for axis in face:
                product = np.multiply.outer(product, powers[axis][1:])
            yield face, product


def mean_power(queries: Iterable[tuple[float, BoxQuery]], group: Group) -> dict[Axes, Reals]:
    """sum of weight x |q^(f)|^2 / N^2 over queries, by face without the empty one, averaged over
    reflections of the axes.

    Averaged so, the power of a sum of products is the sum over pairs of its terms, s and t, of the
    products over the axes of Re s^_i conj(t^_i): a sum of products again, and many queries are one
    product of matrices. Where no query asks anything it is 0, and nowhere else.
    """
    transforms: dict[tuple[_Profile, int], Complexes] = {}

    def transform(profile: _Profile, axis: int) -> Complexes:
        if (profile, axis) not in transforms:
            sides = (share * side_transform(side, axis, group) for share, side in profile)
            transforms[profile, axis] = np.asarray(sum(sides))
        return transforms[profile, axis]

    products: dict[Axes, dict[_Pairs, float]] = {}
    crossed: set[Axes] = set()
    for weight, query in queries:
        sign = () if query.measure is None else (group.dimensions + query.measure,)
        for amount, pairs, is_crossed in _pair_terms(query, transform):
            face = tuple(axis for axis, _ in pairs)
            for place, factor in ((face, query.level), ((*face, *sign), query.contrast)):
                if place and factor:
                    own, key = products.setdefault(place, {}), tuple(both for _, both in pairs)
                    own[key] = own.get(key, 0.0) + weight * amount * factor**2
                    if is_crossed:
                        crossed.add(place)
    faces = {}
    for face, own in products.items():
        power = _sum_products(face, own, transform, group)
        # What rounding leaves of a zero is none of the demand; between terms nothing
        # distinguishes it from a little of it, which then counts.
        faint = _ROUNDING * float(power.max(initial=0.0)) if face in crossed else 0.0
        power = np.maximum(np.where(power > NO_POWER, power, 0.0), faint)
        coordinates = ((np.arange(1, order), order) for order in group.shape(face))
        folded = [np.minimum(own, order - own) - 1 for own, order in coordinates]
        faces[face] = np.asarray(power[np.ix_(*folded)])
    return faces


def _sum_products(
    face: Axes,
    amounts: Mapping[_Pairs, float],
    transform: Callable[[_Profile, int], Complexes],
    group: Group,
) -> Reals:
    """sum of amount x the product over the axes of Re s^ conj(t^), for coordinates up to half of
    every order, as one product of matrices."""
    tables = [np.ones((len(amounts), 1)) for _ in face]
    for column, axis in enumerate(axis for axis in face if axis < group.dimensions):
        half = slice(1, group.orders[axis] // 2 + 1)
        sides = ([transform(each, axis)[half] for each in key[column]] for key in amounts)
        tables[column] = np.array([(s * np.conj(t)).real for s, t in sides])
    return sum_outer_products(np.array(list(amounts.values())), tables)


def _pair_terms(
    query: BoxQuery, transform: Callable[[_Profile, int], Complexes]
) -> Iterator[tuple[float, tuple[tuple[int, tuple[_Profile, _Profile]], ...], bool]]:
    """(amount, the axes of a face with the profiles of both terms there, whether these are two
    terms) of every pair of terms and every face on which both vary: off the face their transforms
    at 0, which are real, are in the amount; two terms count both ways round."""
    terms = _join_terms(query.terms)
    for number, (share, ones) in enumerate(terms):
        for again, (other, others) in enumerate(terms[number:]):
            common = tuple(axis for axis in sorted(ones) if axis in others)
            for face in parts_of((common,)):
                amount = share * other * (2.0 if again else 1.0)
                for profiles in (ones, others):
                    for axis in profiles:
                        if axis not in face:
                            amount *= float(transform(profiles[axis], axis)[0].real)
                yield amount, tuple((axis, (ones[axis], others[axis])) for axis in face), again > 0


def _join_terms(terms: Sequence[BoxTerm]) -> list[tuple[float, dict[int, _Profile]]]:
    """(coefficient, profile of every constrained axis) of every product; terms that differ on one
    axis alone, as those of a sum of a dimension's values do, are one."""
    joined: list[tuple[float, dict[int, _Profile]]] = []
    shortest: dict[Any, list[tuple[float, Side]]] = {}
    for axis in sorted({axis for term in terms for axis in term.axes}) or [-1]:
        alike: dict[Any, list[tuple[float, Side]]] = {}
        for term in terms:
            sides = dict(zip(term.axes, term.sides, strict=True))
            key = (
                axis if axis in sides else -1,
                tuple((a, s) for a, s in sides.items() if a != axis),
            )
            alike.setdefault(key, []).append((term.coefficient, sides.get(axis)))
        if not shortest or len(alike) < len(shortest):
            shortest = alike
    for (axis, others), parts in shortest.items():
        profiles: dict[int, _Profile] = {other: ((1.0, side),) for other, side in others}
        if axis < 0:
            joined.append((sum(share for share, _ in parts), profiles))
        else:
            joined.append((1.0, {**profiles, axis: tuple(parts)}))
    return joined


def floor(needed: Mapping[Axes, Reals]) -> float:
    """Mean over the queries of a demand of (q^(0) / N)^2 minus the mean of q^2: at most 0.

    By Parseval's theorem the mean of q^2 over the group is the sum of |q^(f)|^2 / N^2. With
    F = sum over f != 0 of gamma_f / lambda_f the mean variance per person is F + floor, types
    spread evenly over the group.
    """
    return -sum(float(values.sum()) for values in needed.values())


@dataclass(frozen=True, eq=False)
class Collected:
    """A table of families as the collector uses it.

    odds: E.  restricted: whether answers are least squares over the cells that exist.
    """

    group: Group
    table: FamilyTable
    odds: float
    restricted: bool = False

    @cached_property
    def information(self) -> dict[Axes, Reals]:
        """lambda_f by face, derived from the weights as they are drawn; 0 where it is only what
        rounding left of a transform."""
        dense: dict[Axes, Reals] = {}
        for axes, own in chain(*(kind.information() for kind in self.kinds)):
            add(dense, axes, own)
        return {face: np.where(own > BLIND, own, 0.0) for face, own in gather_faces(dense).items()}

    @cached_property
    def kinds(self) -> tuple[ListedQuestions, ProductQuestions]:
        """The questions of the table, by kind."""
        products = ProductQuestions(self.group, self.table.products, self.odds)
        return ListedQuestions(self.group, self.table, self.odds), products

    def recall(self, information: dict[Axes, Reals]) -> None:
        """Take `information` as it was worked out before."""
        vars(self).setdefault("information", information)

    @cached_property
    def _inverse(self) -> Mapping[Axes, Reals]:
        """1 / lambda_f; 0 where nothing is known."""

        def invert(face: Axes) -> Reals:
            known = self.information[face]
            return np.divide(1.0, known, out=np.zeros_like(known), where=known > 0.0)

        return Faces(self.information, invert)

    @cached_property
    def real(self) -> RealCells:
        """The cells that exist, where answers are restricted to them."""
        return RealCells(self.group)

    @cached_property
    def _dense(self) -> Reals:
        """lambda_f over the one block of a restricted design."""
        axes = self.real.axes
        return spread_faces(self.information, axes, self.group.shape(axes))

    @cached_property
    def dual(self) -> Reals:
        """The inverse of the bordered information of the real cells."""
        return self.real.dual(self._dense)

    def spectrum(self, query: BoxQuery) -> Spectrum:
        """q^(f) / N of the query on the whole group: continued over padding as the reports tell
        best where the design is restricted, else 0 there."""
        if not self.restricted or not query.terms:
            return query.spectrum(self.group)
        dense = self.real.continue_query(query, self.dual, self._dense)
        return gather_faces({self.real.axes: dense})

    def divide(self, faces: Spectrum) -> Spectrum:
        """Arrays over lambda_f; 0 where nothing is known. Faces without families are left out."""
        informed = [face for face in faces if face in self._inverse]
        return Faces(informed, lambda face: np.asarray(faces[face] * self._inverse[face]))

    def face_shape(self, face: Axes) -> tuple[int, ...]:
        """Of an array over a face."""
        return tuple(order - 1 for order in self.group.shape(face))

    def covariance(self, left: Spectrum, right: Spectrum) -> float:
        """sum over f != 0 of left conj(right) / lambda_f: of what one person from an even spread
        contributes to two queries."""
        return sum(
            float(np.sum((array * np.conj(right[face])).real * self._inverse[face]))
            for face, array in left.items()
            if face and face in right
        )

    def second_moment(self, power: Iterable[tuple[Axes, Reals]]) -> float:
        """sum over f of |q^(f)|^2 / (N^2 lambda_f), of what one person from an even spread
        contributes; infinite where something asked is not told."""
        total = 0.0
        for face, own in power:
            asked = own > 0.0
            known = self.information.get(face, np.zeros_like(own))[asked]
            if (known <= 0.0).any():
                return float("inf")
            total += float((own[asked] / known).sum())
        return total

    def find_untold(self, asked: Iterable[tuple[Axes, NDArray[np.bool_]]]) -> Axes | None:
        """The first face with a frequency that is asked and that no report informs."""
        for face, own in asked:
            known = self.information.get(face, np.zeros(own.shape))
            if (own & (known <= 0.0)).any():
                return face
        return None

    def typical_variance(self, face: Axes) -> float:
        """The part of one face, sum over f of |q^(f)|^2 / lambda_f, if |q^(f)|^2 is one over the
        product of the coordinates of f: something between a cell and a range."""
        power = np.ones(())
        for axis in face:
            power = np.multiply.outer(power, 1.0 / self._fold(axis))
        return float(np.sum(power * self._inverse[face]))

    def _fold(self, axis: int) -> Integers:
        """min(f, m - f) of the frequencies of an axis but 0."""
        order = self.group.orders[axis]
        own = np.arange(1, order)
        return np.minimum(own, order - own)

    def _bands(self, face: Axes) -> Integers:
        """The number of every frequency's band: a product of octaves 1, 2..3, 4..7, ... of
        min(f, m - f) on every axis."""
        number = np.zeros((), dtype=np.int64)
        for axis in face:
            octaves = np.frexp(self._fold(axis).astype(np.float64))[1] - 1
            number = np.add.outer(number * (int(octaves.max()) + 1), octaves)
        return number.ravel()

    def damp(self, spectrum: Spectrum, people: float, face: Axes) -> Reals:
        """The share of the energy of estimates of T^(f) on a face that their noise, of the variance
        people / lambda, leaves unexplained: of every band, at every frequency."""
        own, bands, known = spectrum[face], self._bands(face), self.information[face].ravel()
        # The noise of a band has about the energy of its K real numbers.
        explained = people * np.bincount(bands, known > 0.0)
        energy = np.bincount(bands, np.abs(own.ravel()) ** 2 * known)
        share = np.divide(explained, energy, out=np.ones_like(energy), where=energy > 0.0)
        return np.asarray(np.maximum(0.0, 1.0 - share)[bands].reshape(own.shape))


class RealCells:
    """The cells of the one block of a group on which there may be people.

    On a circle that its codes fill a one-sided question pays for two ends. Where the circle is
    larger, nobody is on the rest of it, so a question may take any values there: those that the
    reports tell best, with the least sum over f != 0 of |q^(f)|^2 / lambda_f. With X = F^-1 Lambda
    F, the information of the whole group, and r the real cells they are

        q on all cells = X_.r a + mu 1,    (X_rr  1) (a )   (q)
                                           (1'    0) (mu) = (0),

    where the second row keeps the number of people, which is known.

    axes: of the block.  shape: bins, then 2 for a sign.  count: of the cells.
    """

    def __init__(self, group: Group) -> None:
        if len(group.blocks) != 1:
            raise SurveyError("least squares over the real cells takes one block of attributes")
        self.group, (self.axes,) = group, group.blocks
        self.shape = tuple((*group.bins, 2)[min(axis, group.dimensions)] for axis in self.axes)
        self.count = prod(self.shape)
        if self.count > LARGEST_RESTRICTED:
            raise SurveyError(
                f"least squares over {self.count} cells takes too long; {LARGEST_RESTRICTED} are "
                "the most"
            )

    @cached_property
    def _lags(self) -> NDArray[np.int32]:
        """Flat place of u - u' in an array over the group, shape (cells, cells)."""
        flat: NDArray[np.int32] = np.zeros((1, 1), dtype=np.int32)
        for size, order in zip(self.shape, self.group.shape(self.axes), strict=True):
            own = np.subtract.outer(np.arange(size), np.arange(size)) % order
            joined = flat[:, None, :, None] * order + own[None, :, None, :]
            flat = joined.reshape(len(flat) * size, -1).astype(np.int32)
        return flat

    def dual(self, information: Reals) -> Reals:
        """The inverse of the bordered matrix; information: lambda, dense over the block.

        SurveyError where a frequency is not informed.
        """
        if (information <= 0.0).any():
            raise SurveyError("the families of the design do not tell all cells apart")
        # X = F^-1 diag(lambda) F is circulant: X_uu' depends on u - u' only, and its first column
        # is the inverse transform of lambda. X_rr is positive definite, for lambda > 0; bordered
        # by the constraint it is symmetric and regular, though indefinite.
        column = np.fft.ifftn(information).real.ravel()
        bordered = np.ones((self.count + 1, self.count + 1))
        bordered[:-1, :-1] = column[self._lags]
        bordered[-1, -1] = 0.0
        return np.asarray(np.linalg.inv(bordered))

    def demand(self, information: Reals, grams: Reals) -> Reals:
        """gamma_f, the mean over the queries of |q^(f)|^2 / N^2, if they are continued as suits
        the information; dense over the block, alike for all reflections, 0 at the zero.

        grams: mean of q q' over the real cells.
        """
        # The continued query is q^ = lambda F(a), a = D q on the real cells (see the class), D the
        # upper left of the dual. The mean of |F(a)|^2 at f is the transform of the sums of D G D
        # along its lags u - u'.
        dual = self.dual(information)[:-1, :-1]
        products = dual @ grams @ dual
        lags = np.bincount(self._lags.ravel(), products.ravel(), information.size)
        power = np.fft.fftn(lags.reshape(information.shape)).real * information**2
        power /= float(information.size) ** 2
        for axis in range(power.ndim):
            power = (power + np.roll(np.flip(power, axis), 1, axis)) / 2.0
        power[(0,) * power.ndim] = 0.0
        return np.maximum(power, 0.0)

    def continue_query(self, query: BoxQuery, dual: Reals, information: Reals) -> Complexes:
        """q^(f) / N of the continued query, dense over the block; mu at the zero."""
        solved = dual[:, :-1] @ self.values(query).ravel()
        padded = np.zeros(information.shape)
        padded[tuple(map(slice, self.shape))] = solved[:-1].reshape(self.shape)
        spectrum = np.fft.fftn(padded) * (information / information.size)
        spectrum[(0,) * spectrum.ndim] = solved[-1]
        return spectrum

    def values(self, query: BoxQuery) -> Reals:
        """The query on every real cell."""
        total = np.zeros(self.shape)
        for term in query.terms:
            total += reduce(np.multiply.outer, query.cell_weights(term, self.axes, self.group))
        return total

    def grams(self, workload: Workload) -> Reals:
        """Mean of q q' over a workload, shape (cells, cells)."""
        total = np.zeros((self.count, self.count))
        for entry in workload.classes:
            kinds, product = dict(entry.predicates), np.full((1, 1), entry.weight)
            for axis, size in zip(self.axes, self.shape, strict=True):
                own = gram(kinds[axis], size) if axis in kinds else np.ones((size, size))
                if axis >= self.group.dimensions and entry.measure is not None:
                    own = np.array([[1.0, -1.0], [-1.0, 1.0]])
                product = np.kron(product, own)
            total += product
        for query in workload.queries:
            values = self.values(BoxQuery.declare(query))
            total += query.weight * np.outer(values, values)
        return total
