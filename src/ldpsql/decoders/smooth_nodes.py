"""Smooth answers of designs that count people in cells, or at nodes of trees.

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

from ldpsql.decoders.base import AnyEstimator
from ldpsql.decoders.cells import TableDesign
from ldpsql.decoders.consistent import ConsistentEstimator, InformationTable
from ldpsql.decoders.fourier.projection import Block, Coefficients
from ldpsql.decoders.fourier.smoothing import smooth
from ldpsql.decoders.linear import (
    CellQuery,
    LinearDesign,
    LinearEstimator,
    ReportedSource,
    merge_entries,
)
from ldpsql.decoders.nodes import GroupDesign
from ldpsql.estimate import Array, Estimates
from ldpsql.record_domain import RecordDomain
from ldpsql.trees import AxisDetails, Tree
from ldpsql.workload import spectrum

_NOTHING = 1e-9


@dataclass(eq=False)
class SmoothNodes:
    """Smooths at the first question; see `fourier.smoothing.SmoothEstimator`.

    unbiased: the design's estimator on the source.
    """

    tables: Tables
    source: ReportedSource
    unbiased: AnyEstimator

    def answer(self, queries: Sequence[Any]) -> Estimates:
        """Post-processed values, replicates beside them, unbiased covariance."""
        return self.answer_rows([queries])[0]

    def answer_rows(self, rows: Sequence[Sequence[Any]]) -> list[Estimates]:
        """One joint answer per row."""
        plain = self.unbiased.answer_rows(rows)
        if not self.source.people:
            return plain
        return [self._smooth(row, own) for row, own in zip(rows, plain, strict=True)]

    def _smooth(self, row: Sequence[Any], plain: Estimates) -> Estimates:
        asked = [self._cells(query) for query in row]
        values = self._values(asked)
        sides = np.where(np.arange(len(values) - 1) % 2, -1.0, 1.0)
        for number, query in enumerate(asked):
            # A sum of a public column has no table of people behind it and stays unbiased.
            if query.weight is not None:
                values[0, number] = plain.values[number]
                values[1:, number] = plain.values[number] + plain.stderr[number] * sides
        return Estimates(values[0], plain.covariance, values[1:])

    def _cells(self, query: Any) -> CellQuery:
        """The query by weights of nodes."""
        if isinstance(self.unbiased, ConsistentEstimator):
            return self.unbiased.weigh_nodes(query)
        assert isinstance(query, CellQuery)
        return query

    def _values(self, queries: Sequence[CellQuery]) -> Array:
        """The queries on the smoothed table and its replicates, shape (1 + r, k)."""
        people, own = self.source.people, self.unbiased
        linear = own.direct if isinstance(own, ConsistentEstimator) else own
        assert isinstance(linear, LinearEstimator)
        known = np.array([query.known for query in queries])
        pieces, _ = linear.pieces(queries)
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


def tables_of(design: LinearDesign[Any]) -> Tables:
    """The tables of a design that can smooth."""
    if isinstance(design, TableDesign):
        return CellTables(design)
    assert isinstance(design, GroupDesign)
    return NodeTables(design)


class Tables(ABC):
    """Tables of cells that a design tells about, in both directions."""

    domain: RecordDomain

    @abstractmethod
    def blocks(self, source: ReportedSource) -> list[Block]:
        """Frequencies of estimated cells, with the information about each."""

    @abstractmethod
    def shares(self, tables: Sequence[Array]) -> list[Array]:
        """By group the shares of people at its nodes, (R, nodes), from those in cells, (R, *sizes)
        per block."""


def _block(
    axes: Sequence[int], spectrum_: Coefficients, noise: Array, people: float, on: Array
) -> Block:
    information = np.divide(people, noise, out=np.zeros_like(noise), where=noise > 0.0)
    information.flat[0] = 1.0
    return Block(
        tuple(axes), np.asarray(spectrum_, np.complex128), information, on, spectrum_.shape
    )


def _demand(domain: RecordDomain, axes: Sequence[int]) -> Array:
    """Ranges over what has an order, single codes of the rest, alike for all levels."""
    weights = np.ones(())
    for axis in axes:
        if axis >= len(domain.sizes):
            own = np.ones(domain.record_sizes[axis])
        else:
            kind = "equality" if domain.unordered_codes(axis) else "range"
            own = spectrum(kind, domain.sizes[axis], domain.sizes[axis])
        weights = np.multiply.outer(weights, own)
    return weights


# -- tables of cells -------------------------------------------------------------------------------


@dataclass(frozen=True)
class CellTables(Tables):
    """One table of all cells, levels of measures included."""

    design: TableDesign

    @property
    def domain(self) -> RecordDomain:  # type: ignore[override]
        """Of the design."""
        return self.design.domain

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
        return [_block(axes, spectrum_, noise, people, _demand(self.domain, axes))]

    def shares(self, tables: Sequence[Array]) -> list[Array]:
        """See `Tables`."""
        (table,) = tables
        return [table.reshape(len(table), -1)]


# -- nodes of trees --------------------------------------------------------------------------------


@dataclass(frozen=True)
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
    levels, nodes, cells = ("".join(each) for each in zip(*letters, strict=True))
    own = ",".join(f"{cell}{level}{node}" for level, node, cell in letters)
    return np.asarray(
        np.einsum(f"{levels},{nodes},{own}->{cells}", inverse, shares, *sums, optimize="greedy")
    )


@dataclass(frozen=True)
class NodeTables(Tables):
    """One table of codes, or with measures one per measure, with its sign."""

    design: GroupDesign[Any]

    @property
    def domain(self) -> RecordDomain:  # type: ignore[override]
        """Of the design."""
        return self.design.domain

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
            return [_block(axes, level, noise, people, _demand(self.domain, axes))]
        blocks = []
        for sign in table.signs:
            members = [number for number in every if table.groups[number].sign == sign]
            own, spread = self._solve(source, information, reports, members, is_contrast=True)
            place = (*axes, len(axes) + sign)
            # The character of a sign is -1 at the upper bound.
            both = np.stack([level, -own], axis=-1)
            noises = np.stack([noise, spread], axis=-1)
            blocks.append(_block(place, both, noises, people, _demand(self.domain, place)))
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
