"""Smooth answers of designs that count people in cells of a table or of marginals, or at nodes of
trees, or ask for Haar coefficients.

Unbiased estimates of all cells are transformed, and from there on they are frequencies with noise,
as those of the Fourier response: shrunk, projected and simulated by the same code
(`fourier.smoothing`). Estimates of nodes are first combined by least squares (`consistent`), whose
errors are independent in the detail basis of the trees; the noise of a frequency is what these add
up to. Answers are what the same linear estimator makes of the nodes of the smoothed table. Source:
docs/spec/fourier.md#8, docs/spec/h4mda.md#10.1.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from typing import Any

import numpy as np

from ldpsql.decoders.base import AnyEstimator, SmoothingEstimator
from ldpsql.decoders.cells import TableDesign
from ldpsql.decoders.consistent import ConsistentEstimator
from ldpsql.decoders.fourier.group import Axes, parts_of, spread_faces
from ldpsql.decoders.fourier.projection import Block, Coefficients
from ldpsql.decoders.fourier.smoothing import smooth
from ldpsql.decoders.groups import InformationTable
from ldpsql.decoders.linear import (
    CellQuery,
    LinearEstimator,
    ReportedSource,
    merge_entries,
)
from ldpsql.decoders.linear_design import LinearDesign
from ldpsql.decoders.marginals import CollectedMarginals
from ldpsql.decoders.nodes import GroupDesign
from ldpsql.estimate import Array
from ldpsql.record_domain import RecordDomain
from ldpsql.trees import AxisDetails, Tree
from ldpsql.workload import spectrum
from ldpsql_device.frozen import frozen

_NOTHING = 1e-9


@dataclass(eq=False)
class SmoothNodes(SmoothingEstimator):
    """Answers of nodes from smoothed tables.

    unbiased: the design's estimator on the source.
    """

    tables: Tables
    source: ReportedSource
    unbiased: AnyEstimator

    @property
    def people(self) -> float:
        """See `SmoothingEstimator`."""
        return self.source.people

    def _cells(self, query: Any) -> CellQuery:
        """The query by weights of nodes."""
        if isinstance(self.unbiased, ConsistentEstimator):
            return self.unbiased.weigh_nodes(query)
        assert isinstance(query, CellQuery)
        return query

    def count(self, queries: Sequence[Any]) -> Array:
        """See `SmoothingEstimator`."""
        people, own = self.people, self.unbiased
        linear = own.direct if isinstance(own, ConsistentEstimator) else own
        assert isinstance(linear, LinearEstimator)
        cells = [self._cells(query) for query in queries]
        known = np.array([query.known for query in cells])
        pieces, _ = linear.pieces(cells)
        values = np.tile(people * known, (len(self._shares[0]), 1))
        for group, entries in pieces.items():
            asked = np.unique([number for number, _, _ in entries])
            nodes, weights = merge_entries(entries, asked)
            values[:, asked] += people * (self._shares[group][:, nodes] @ weights.T)
        return values

    @cached_property
    def _shares(self) -> list[Array]:
        """By group the shares of people at its nodes, shape (1 + r, nodes)."""
        unordered = frozenset(
            axis
            for axis, size in enumerate(self.tables.domain.record_sizes)
            if axis >= len(self.tables.domain.sizes) or self.tables.domain.unordered_codes(axis)
        )
        people, histogram = int(self.source.people), self.source.histogram
        found = smooth(self.tables.blocks(self.source), people, unordered, histogram.siblings)
        pairs = zip(found.tables, found.replicates, strict=True)
        return self.tables.shares(
            [np.concatenate([table[None], drawn]) / people for table, drawn in pairs]
        )


class Tables(ABC):
    """Tables of cells that a design tells about, in both directions."""

    design: LinearDesign[Any]

    @property
    def domain(self) -> RecordDomain:
        """Of the design."""
        return self.design.domain

    @abstractmethod
    def blocks(self, source: ReportedSource) -> list[Block]:
        """Frequencies of estimated cells, with the information about each."""

    @abstractmethod
    def shares(self, tables: Sequence[Array]) -> list[Array]:
        """By group the shares of people at its nodes, (R, nodes), from those in cells, (R, *sizes)
        per block."""


def _block(
    domain: RecordDomain,
    axes: Sequence[int],
    spectrum_: Coefficients,
    noise: Array,
    people: float,
) -> Block:
    """noise: variance of every frequency; 0 where nothing is known of it."""
    information = np.divide(people, noise, out=np.zeros_like(noise), where=noise > 0.0)
    information.flat[0] = 1.0
    demand = _demand(domain, axes, spectrum_.shape)
    sizes = tuple(domain.record_sizes[axis] for axis in axes)
    return Block(tuple(axes), np.asarray(spectrum_, np.complex128), information, demand, sizes)


def _demand(domain: RecordDomain, axes: Sequence[int], orders: Sequence[int]) -> Array:
    """Ranges over what has an order, single codes of the rest, alike for all levels."""
    weights = np.ones(())
    for axis, order in zip(axes, orders, strict=True):
        if axis >= len(domain.sizes):
            own = np.ones(order)
        else:
            kind = "equality" if domain.unordered_codes(axis) else "range"
            own = spectrum(kind, domain.sizes[axis], order)
        weights = np.multiply.outer(weights, own)
    return weights


# -- tables of cells -------------------------------------------------------------------------------


@frozen
class CellTables(Tables):
    """One table of all cells, levels of measures included."""

    design: TableDesign

    def blocks(self, source: ReportedSource) -> list[Block]:
        """See `Tables`."""
        sizes, channel = self.domain.record_sizes, self.design.channel
        cells, people = channel.cells, source.people
        shares = source.at(0, np.arange(cells), (None, None)).reshape(sizes)
        # Second moments of a report's contributions for people spread evenly, transformed on both
        # sides; what the mean takes off is at the frequency 0 alone.
        second = channel.second(np.full(cells, 1.0 / cells), np.eye(cells), np.eye(cells))
        axes = tuple(range(len(sizes)))
        there = np.fft.fftn(second.reshape(*sizes, cells), axes=axes).reshape(cells, cells)
        both = np.fft.fftn(there.conj().reshape(cells, *sizes), axes=[1 + axis for axis in axes])
        noise = people * np.diagonal(both.reshape(cells, cells)).real.reshape(sizes)
        spectrum_ = people * np.fft.fftn(shares)
        return [_block(self.domain, axes, spectrum_, noise, people)]

    def shares(self, tables: Sequence[Array]) -> list[Array]:
        """See `Tables`."""
        (table,) = tables
        return [table.reshape(len(table), -1)]


# -- nodes of trees --------------------------------------------------------------------------------


@frozen
class _Details:
    """The details of every single code of a tree.

    sums: by level j, how much of what a node of the level says goes to a code by each detail level
    up to j, shape (codes, j + 1, nodes).  energies: of every frequency by detail level, shape
    (levels, codes).
    """

    sums: tuple[Array, ...]
    energies: Array

    @classmethod
    @lru_cache(maxsize=8)
    def of(cls, tree: Tree) -> _Details:
        """Of a tree."""
        codes = [AxisDetails(tree, ((code, code + 1),)).sums for code in range(tree.size)]
        sums = tuple(np.stack(level) for level in zip(*codes, strict=True))
        characters = np.fft.fft(np.eye(tree.size))
        projections = np.moveaxis(sums[-1], 1, 0)
        energies = [((characters @ own) * characters.conj()).sum(axis=1) for own in projections]
        return cls(sums, np.real(energies))


def _spread(inverse: Array, shares: Array, sums: Sequence[Array]) -> Array:
    """sum over detail levels l and nodes b of inverse_l shares_b x the product over the axes of
    sums_(u l b), for every cell u."""
    letters = [(chr(97 + i), chr(107 + i), chr(65 + i)) for i in range(len(sums))]
    levels, nodes, cells = ("".join(letter[kind] for letter in letters) for kind in range(3))
    terms = ",".join([levels, nodes, *(cell + level + node for level, node, cell in letters)])
    return np.asarray(np.einsum(f"{terms}->{cells}", inverse, shares, *sums, optimize="greedy"))


@frozen
class NodeTables(Tables):
    """One table of codes, or with measures one per measure, with its sign."""

    design: GroupDesign[Any]

    @property
    def _signs(self) -> Sequence[int | None]:
        return self.design.table.signs or (None,)

    def blocks(self, source: ReportedSource) -> list[Block]:
        """See `Tables`."""
        table, people = self.design.table, source.people
        information = InformationTable(table, [answer.moments for answer in source.answers])
        reports = np.array([source.size(group) for group in range(len(table.groups))])
        axes = tuple(range(len(table.trees)))
        every = range(len(table.groups))
        level, noise = self._solve(source, information, reports, every, is_contrast=False)
        if table.signs == ():
            return [_block(self.domain, axes, level, noise, people)]
        blocks = []
        for sign in table.signs:
            members = [number for number in every if table.groups[number].sign == sign]
            own, spread = self._solve(source, information, reports, members, is_contrast=True)
            place = (*axes, len(axes) + sign)
            # The character of a sign is -1 at the upper bound.
            both = np.stack([level, -own], axis=-1)
            noises = np.stack([noise, spread], axis=-1)
            blocks.append(_block(self.domain, place, both, noises, people))
        return blocks

    def _solve(
        self,
        source: ReportedSource,
        information: InformationTable,
        reports: Array,
        members: Sequence[int],
        *,
        is_contrast: bool,
    ) -> tuple[Coefficients, Array]:
        """Least squares from some groups: the frequencies of the people in every cell, or of those
        at the upper bound less those at the lower one, and their variances."""
        table, people = self.design.table, source.people
        total = information.total(reports, members)
        inverse = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0.0)
        is_known = not is_contrast and any(tree.fanouts for tree in table.trees)
        missing = total <= 0.0
        if is_known:  # the mean over all codes
            inverse[(0,) * inverse.ndim], missing[(0,) * missing.ndim] = 0.0, False
        details = [_Details.of(tree) for tree in table.trees]
        cells = np.zeros(tuple(tree.size for tree in table.trees))
        if is_known:
            cells += 1.0 / math.prod(tree.padded for tree in table.trees)
        for number in members:
            group, factor = table.groups[number], reports[number] * information.precisions[number]
            if not factor:
                continue
            shares = source.at(number, np.arange(table.sizes[number]), (None, None))
            if group.sign is not None:
                lower, upper = shares.reshape(2, -1)
                shares = upper - lower if is_contrast else upper + lower
            counts = [t.counts[j] for t, j in zip(table.trees, group.levels, strict=True)]
            part = inverse[tuple(slice(level + 1) for level in group.levels)]
            sums = [each.sums[j] for each, j in zip(details, group.levels, strict=True)]
            cells += factor * _spread(part, shares.reshape(counts), sums)
        energies = [each.energies for each in details]
        noise = reduce(lambda left, own: np.tensordot(left, own, (0, 0)), energies, inverse)
        blind = reduce(lambda left, own: np.tensordot(left, own, (0, 0)), energies, missing * 1.0)
        scale = float(cells.size)
        noise = np.where(blind > _NOTHING * scale, 0.0, people**2 * noise)
        return np.asarray(people * np.fft.fftn(cells)), np.asarray(noise)

    def shares(self, tables: Sequence[Array]) -> list[Array]:
        """See `Tables`."""
        table = self.design.table
        signs = {sign: place for place, sign in enumerate(self._signs)}
        found = []
        for number, group in enumerate(table.groups):
            own = tables[signs.get(group.sign, 0)]
            codes = np.indices(own.shape[1:]).reshape(own.ndim - 1, -1).T
            whole = np.zeros((len(codes), len(self.domain.record_sizes)), dtype=np.int64)
            whole[:, : len(table.trees)] = codes[:, : len(table.trees)]
            if group.sign is not None:
                whole[:, len(table.trees) + group.sign] = codes[:, -1]
            nodes, flat = table.node(number, whole), own.reshape(len(own), -1)
            size = table.sizes[number]
            counted = [np.bincount(nodes, row, size) for row in flat]
            found.append(np.array(counted, dtype=np.float64))
        return found


# -- Haar coefficients -----------------------------------------------------------------------------


@frozen
class HaarTables(Tables):
    """One table of the codes of one dimension, or one per measure, with its sign.

    design: its answers are those of every level of coefficients, from the finest, measure by
    measure: the share of people in the left half of a node less that in its right half.
    order: padded codes, a power of two, with both signs where there are measures; a lower bound
    comes first.
    """

    design: LinearDesign[CellQuery]
    order: int

    @property
    def _levels(self) -> int:
        return self.order.bit_length() - 1

    @property
    def _codes(self) -> int:
        return self.order // 2 if self.domain.bounds else self.order

    def blocks(self, source: ReportedSource) -> list[Block]:
        """See `Tables`."""
        people, signs = source.people, 2 if self.domain.bounds else 1
        halvings = self._codes.bit_length() - 1
        surveys = [
            [self._read(source, number * self._levels + level) for level in range(self._levels)]
            for number in range(max(len(self.domain.bounds), 1))
        ]
        # People at both signs together, from all sub-surveys by their precision.
        details, precisions = [], []
        for level in range(halvings):
            found = [
                (own.reshape(signs, -1).sum(axis=0), known / signs)
                for own, known in (survey[level] for survey in surveys)
            ]
            total = sum(known for _, known in found)
            mean = sum(own * known for own, known in found) / (total or 1.0)
            details.append(np.asarray(mean))
            precisions.append(total)
        cells, noise = self._add_up(1.0, details, 0.0, precisions)
        level_, spread = people * np.fft.fft(cells), people**2 * noise
        if not self.domain.bounds:
            return [_block(self.domain, (0,), level_, spread, people)]
        blocks = []
        for number, survey in enumerate(surveys):
            top, known = survey[halvings]
            pairs = [own.reshape(2, -1) for own, _ in survey[:halvings]]
            contrast, noise = self._add_up(
                float(top[0]),
                [lower - upper for lower, upper in pairs],
                1.0 / known if known else math.inf,
                [precision / 2.0 for _, precision in survey[:halvings]],
            )
            # The character of a sign is -1 at the upper bound.
            both = np.stack([level_, people * np.fft.fft(contrast)], axis=-1)
            noises = np.stack([spread, people**2 * noise], axis=-1)
            blocks.append(_block(self.domain, (0, 1 + number), both, noises, people))
        return blocks

    def _read(self, source: ReportedSource, group: int) -> tuple[Array, float]:
        """The coefficients of a level, and their precision; 0 of what nobody was asked."""
        answer, reports = self.design.answers[group], source.size(group)
        if not reports:
            return np.zeros(answer.nodes), 0.0
        found = source.at(group, np.arange(answer.nodes), (None, None))
        return found, reports / answer.moments.node_variance

    def _add_up(
        self, mean: float, details: Sequence[Array], spread: float, precisions: Sequence[float]
    ) -> tuple[Array, Array]:
        """What coefficients say of every code, and the variance of every frequency of it; 0 where
        some coefficient that enters is unknown.

        mean, spread: of all codes together, and its variance.
        """
        cells = np.full(self._codes, mean / self._codes)
        noise = np.zeros(self._codes)
        noise[0] = spread
        for level, (own, known) in enumerate(zip(details, precisions, strict=True), start=1):
            step = np.repeat([1.0, -1.0], 1 << (level - 1)) / (1 << level)
            cells += np.kron(own, step)
            energy = len(own) * np.abs(np.fft.fft(step, self._codes)) ** 2
            unknown = np.where(energy > _NOTHING * energy.max(), math.inf, 0.0)
            noise += energy / known if known else unknown
        return cells, np.where(np.isfinite(noise), noise, 0.0)

    def shares(self, tables: Sequence[Array]) -> list[Array]:
        """See `Tables`."""
        found = []
        for table in tables:
            # By sign, then by padded code.
            own = np.moveaxis(table.reshape(len(table), table.shape[1], -1), 2, 1)
            padded = np.zeros((len(table), own.shape[1], self._codes))
            padded[:, :, : own.shape[2]] = own
            sums = padded.reshape(len(table), -1)
            for _ in range(self._levels):
                left, right = np.moveaxis(sums.reshape(len(table), -1, 2), 2, 0)
                found.append(left - right)
                sums = left + right
        return found


# -- marginals -------------------------------------------------------------------------------------


@frozen
class MarginalTables(Tables):
    """One table per marginal. What several say of attributes that they share is one estimate."""

    design: CollectedMarginals

    def blocks(self, source: ReportedSource) -> list[Block]:
        """See `Tables`."""
        people, sums, precisions = source.people, dict[Axes, Coefficients](), dict[Axes, float]()
        for number, axes in enumerate(self.design.marginals):
            group, nodes, factor = self.design.find_nodes(number)
            answer, reports = source.answers[group], source.size(group)
            if not reports:
                continue
            shares = factor * source.at(group, nodes, (None, None))
            found = np.fft.fftn(shares.reshape(self._shape(axes)))
            # A character has the squared norm of its cells.
            variance = answer.moments.contrast_variance(answer.nodes)
            known = reports / (factor**2 * len(nodes) * variance)
            for face in parts_of((axes,))[1:]:
                own = found[tuple(slice(1, None) if axis in face else 0 for axis in axes)]
                sums[face] = sums.get(face, 0.0) + known * own
                precisions[face] = precisions.get(face, 0.0) + known
        spectra = {face: people * own / precisions[face] for face, own in sums.items()}
        noises = {
            face: np.full(own.shape, people**2 / precisions[face]) for face, own in sums.items()
        }
        blocks = []
        for axes in self.design.marginals:
            shape = self._shape(axes)
            spectrum_ = spread_faces(spectra, axes, shape).astype(np.complex128)
            spectrum_.flat[0] = people
            noise = spread_faces(noises, axes, shape)
            blocks.append(_block(self.domain, axes, spectrum_, noise, people))
        return blocks

    def _shape(self, axes: Axes) -> tuple[int, ...]:
        return tuple(self.domain.sizes[axis] for axis in axes)

    def shares(self, tables: Sequence[Array]) -> list[Array]:
        """See `Tables`."""
        found = [np.zeros((len(tables[0]), answer.nodes)) for answer in self.design.answers]
        for number, table in enumerate(tables):
            group, nodes, factor = self.design.find_nodes(number)
            found[group][:, nodes] = table.reshape(len(table), -1) / factor
        return found
