"""Answers to many rows that are one row moved about the group, as those of GROUP BY are.

If a query is moved by u, so are its contributions: c(j, phi) becomes c(j, phi - theta_j(u)). A sum
over reports of products of contributions is then, for all u at once, a correlation over the phases
of every family, and one transform of all families together.

Source: docs/spec/fourier.md#1.2 and docs/spec/fourier.md#5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from ldpsql import limits
from ldpsql.boxes import Weight
from ldpsql.decoders.fourier.contributions import SecondMoments
from ldpsql.decoders.fourier.families import Complexes, FamilyBatch
from ldpsql.decoders.fourier.group import Axes, Group, Reals, face_slices, zero_parts
from ldpsql.decoders.fourier.spectra import BoxQuery, BoxTerm, Spectrum
from ldpsql.report import Pair
from ldpsql_device.frozen import frozen

LARGEST = 1 << 23
"""Numbers that the sums of all translates of one row may take."""


@frozen
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
        """What rows that are moved onto each other have in common."""
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


@frozen
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
    row: Sequence[BoxQuery],
    moved: Axes,
    spectra: Sequence[Spectrum],
    known: Sequence[Spectrum],
    moments: SecondMoments,
) -> TranslateSums:
    """For a row at its first place. spectra: of its queries.  known: T^ in the weight of each."""
    collected, group = moments.collected, moments.collected.group
    orders = group.shape(moved)
    kinds, count = [query.weight for query in row], len(row)
    estimated = [
        _decode_moved(own, each, moved, group) for own, each in zip(spectra, known, strict=True)
    ]
    divided = [collected.divide(own) for own in spectra]
    first = np.zeros((count, *orders), dtype=np.complex128)
    second = np.zeros((count, count, *orders), dtype=np.complex128)
    dense: dict[Axes, NDArray[np.complexfloating]] = {}
    sample, pairs = moments.sample(row), {*product(kinds, (None, *kinds))}
    for batch, shares in limits.in_time(zip(sample.batches, sample.shares, strict=True)):
        axes = batch.cluster.axes
        if axes not in dense:
            dense[axes] = collected.spread(divided, axes)
        cells = batch.correlate(dense[axes])
        excess = moments.excess(batch, (axes,), shares, pairs)
        for one in range(count):
            correlate_moved(first[one], batch, excess[kinds[one], None], cells[one], moved)
            for other in range(one, count):
                own = excess[kinds[one], kinds[other]]
                both = cells[one] * cells[other]
                correlate_moved(second[one, other], batch, own, both, moved)
    for one in range(count):
        for other in range(one):
            second[one, other] = second[other, one]
    sums = TranslateSums(
        np.stack([evaluate_everywhere(own, moved) for own in estimated], axis=-1),
        np.moveaxis(evaluate_everywhere(first, moved), 0, -1),
        np.moveaxis(evaluate_everywhere(second, moved), (0, 1), (-2, -1)),
    )
    whole = zero_parts(divided)
    for reports, shares in sample.products:
        axes = reports.face.axes
        if axes not in dense:
            dense[axes] = collected.spread(divided, axes)
        # Along axes that the face does not have, nothing changes.
        there = [slice(None) if axis in axes else None for axis in moved]
        excess = moments.excess_of_products(reports, shares, pairs)
        for part, found in reports.move_rows(list(dense[axes]), moved):
            scale = len(shares) / len(shares[:: part.step])
            some = {pair: own[part] * scale for pair, own in excess.items()}
            constant = whole.reshape(-1, *(1 for _ in found[0].shape[1:]))
            one_part = _sum_contributions(kinds, some, found, constant)
            sums.first[...] += np.moveaxis(one_part[0], 0, -1)[(*there, ...)]
            sums.second[...] += np.moveaxis(one_part[1], (0, 1), (-2, -1))[(*there, ...)]
    return sums


def _sum_contributions(
    kind: Sequence[Weight | None],
    excess: Mapping[Pair, Reals],
    cells: Sequence[Reals] | Reals,
    whole: Reals,
) -> tuple[Reals, Reals]:
    """What reports add to the even sums of contributions to T queries in their weights, shape
    (T, ...), and of products of two, shape (T, T, ...).

    excess: how many more there are, shape (n,).  cells: contributions besides those at f = 0, of
    every query, shape (n, ...).  whole: those at f = 0, shape (T, ...).
    """
    count, shape = len(kind), cells[0].shape[1:]
    first, second = np.empty((count, *shape)), np.empty((count, count, *shape))
    for one, left in enumerate(kind):
        first[one] = np.tensordot(excess[left, None], cells[one], 1)
        for other, right in enumerate(kind[: one + 1]):
            more = excess[left, right]
            both = np.tensordot(more, cells[one] * cells[other], 1)
            both += whole[other] * np.tensordot(more, cells[one], 1)
            both += whole[one] * np.tensordot(more, cells[other], 1)
            second[one, other] = second[other, one] = both
    return first, second


def correlate_moved(
    total: Complexes,
    batch: FamilyBatch,
    excess: Reals,
    product: Reals,
    moved: Axes,
    factors: tuple[int, ...] | None = None,
) -> None:
    """Add the spectrum, over the axes that are moved, of sum over phi of e(phi) p(phi - theta(u)).

    It is that of e times the conjugate of that of p, over |H|, at f = h k.  factors: of whose
    phases e and p are given, all by default.
    """
    cluster = batch.cluster
    transforms = [batch.transform_counts(own, factors) for own in (excess, product)]
    own = tuple(axis for axis in cluster.axes if axis in moved)
    # What is not moved stays at 0 there: a sum over its frequencies.
    both = transforms[0] * np.conj(transforms[1]) / product[0].size
    scattered = batch.scatter(both, own, factors)
    total[tuple(slice(None) if axis in own else 0 for axis in moved)] += scattered


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
