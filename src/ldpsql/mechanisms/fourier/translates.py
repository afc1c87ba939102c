"""Answers to many rows that are one row moved about the group, as those of GROUP BY are.

If a query is moved by u, so are its contributions: c(j, phi) becomes c(j, phi - theta_j(u)). A sum
over reports of products of contributions is then, for all u at once, a correlation over the phases
of every family, and one transform of all families together.

Source: docs/spec/fourier.md#1.2 and docs/spec/fourier.md#5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from math import prod

import numpy as np

from ldpsql.mechanisms.fourier.contributions import (
    SecondMoments,
    bare,
    find_asked_faces,
)
from ldpsql.mechanisms.fourier.group import (
    Axes,
    Complexes,
    Group,
    Reals,
    Spectrum,
    face_slices,
    zero_parts,
)
from ldpsql.mechanisms.fourier.questions import SampledSums
from ldpsql.mechanisms.fourier.spectra import BoxQuery, BoxTerm

LARGEST = 1 << 23
"""Numbers that the sums of all translates of one row may take."""


@dataclass(frozen=True)
class Translate:
    """A row of queries as another one, moved by some bins.

    pattern: the row that lies at the beginning of every axis it can be moved along, without what
    its queries know.  moved: these axes, ascending.  bins: by how many, one number per such axis.
    """

    pattern: tuple[BoxQuery, ...]
    moved: Axes
    bins: tuple[int, ...]

    @classmethod
    def of(cls, row: Iterable[BoxQuery], group: Group) -> Translate:
        """Along every axis on which all sides of the row consist of whole bins of one width."""
        queries = tuple(row)
        starts: dict[int, int] = {}
        fixed: set[int] = set()
        for query in queries:
            for term in query.terms:
                for axis, side in zip(term.axes, term.sides, strict=True):
                    width, end = group.width(axis), group.sizes[axis]
                    if width > 1:  # the last bin may have fewer codes, others one alone
                        end -= group.unordered[axis]
                        end -= end % width
                    if not side or side[-1][1] > end:
                        fixed.add(axis)
                    else:
                        first = side[0][0] // width
                        starts[axis] = min(first, starts.get(axis, first))
        moved = tuple(sorted(axis for axis in starts if axis not in fixed))
        by = {axis: starts[axis] * group.width(axis) for axis in moved}
        pattern = tuple(_move(query, by) for query in queries)
        return cls(pattern, moved, tuple(starts[axis] for axis in moved))

    @property
    def row(self) -> tuple[tuple[BoxQuery, ...], Axes]:
        """The same for all rows that are one row moved."""
        return self.pattern, self.moved


def _move(query: BoxQuery, by: Mapping[int, int]) -> BoxQuery:
    """A query some codes further down its axes, without what it knows."""
    terms = []
    for term in query.terms:
        sides = tuple(
            side
            if side is None or not by.get(axis)
            else tuple((low - by[axis], high - by[axis]) for low, high in side)
            for axis, side in zip(term.axes, term.sides, strict=True)
        )
        terms.append(BoxTerm(term.coefficient, term.axes, sides))
    return replace(query, known=0.0, terms=tuple(terms))


def numbers(translate: Translate, group: Group) -> int:
    """How many numbers the sums of all its translates are."""
    queries = len(translate.pattern)
    return group.cells(translate.moved) * queries * (queries + 2)


@dataclass(frozen=True)
class TranslateSums:
    """Of all translates of a row of T queries, at every place of the axes it is moved along.

    estimated: sums of contributions, from decoding, shape (*orders, T).
    first, second: what the sampled families add to the even sums of contributions and of their
    products, as in `SecondMoments.sums`; shapes (*orders, T) and (*orders, T, T).
    """

    estimated: Reals
    first: Reals
    second: Reals


def sum_translates(
    row: tuple[BoxQuery, ...], moved: Axes, known: Sequence[Spectrum], moments: SecondMoments
) -> TranslateSums:
    """For a row at its first place. known: T^ in the weight of each query."""
    collected, orders = moments.collected, moments.collected.group.shape(moved)
    spectra = [collected.spectrum(query) for query in row]
    divided = [collected.divide(own) for own in spectra]
    kinds, count = [query.weight for query in row], len(row)
    first = np.zeros((count, *orders), dtype=np.complex128)
    second = np.zeros((count, count, *orders), dtype=np.complex128)
    spread = cache(lambda *blocks: collected.group.spread(divided, *blocks))
    faces, whole = find_asked_faces(spectra, collected), zero_parts(divided)
    pairs = {*product(kinds, (None, *kinds))}
    for part, amounts, excess in moments.look_at(faces, tuple(map(bare, row)), pairs):
        sampled = SampledSums(kinds, whole * part.zero_apart, amounts, excess, spread)
        part.add_translates(first, second, sampled, moved)
    estimated = [
        _decode_moved(own, each, moved, collected.group)
        for own, each in zip(spectra, known, strict=True)
    ]
    return TranslateSums(
        np.stack([evaluate_everywhere(own, moved) for own in estimated], axis=-1),
        np.moveaxis(evaluate_everywhere(first, moved), 0, -1),
        np.moveaxis(evaluate_everywhere(second, moved), (0, 1), (-2, -1)),
    )


def _decode_moved(asked: Spectrum, known: Spectrum, moved: Axes, group: Group) -> Complexes:
    """The spectrum of sum over f of q^(f) conj(T^(f)) as the query moves."""
    total = np.zeros(group.shape(moved), dtype=np.complex128)
    for face, own in asked.items():
        if face in known:
            product = np.conj(own) * known[face]
            still = tuple(place for place, axis in enumerate(face) if axis not in moved)
            there = face_slices(tuple(axis for axis in face if axis in moved), moved)
            total[there] += product.sum(axis=still)
    return total


def evaluate_everywhere(spectra: Complexes, moved: Axes) -> Reals:
    """sum over f of the last axes of G(f) exp(2 pi i f u / m), at every u."""
    if not moved:
        return np.asarray(spectra.real)
    axes = tuple(range(-len(moved), 0))
    cells = prod(spectra.shape[axis] for axis in axes)
    return np.asarray(np.fft.ifftn(spectra, axes=axes).real * cells)
