"""Answers from one non-negative summary.

The values are those of the post-processed tables, biased but usually much closer; the covariance
stays that of the unbiased estimates. A sum of a public column has no table of people behind it and
stays unbiased; its replicates lie one standard error to either side.
Source: docs/spec/fourier.md#8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpsql.decoders.fourier.estimator import FourierEstimator
from ldpsql.decoders.fourier.group import Axes, Reals, parts_of, spread_faces
from ldpsql.decoders.fourier.queries import BoxQuery, BoxTerm, demand
from ldpsql.decoders.fourier.smoothing import Block, Smoothed, smooth
from ldpsql.estimate import Array, Estimates
from ldpsql.workload import Workload


@dataclass(eq=False)
class SmoothEstimator:
    """Smooths at the first question."""

    unbiased: FourierEstimator
    workload: Workload

    def answer(self, queries: Sequence[BoxQuery]) -> Estimates:
        """Post-processed values, replicates beside them, unbiased covariance."""
        return self.answer_rows([queries])[0]

    def answer_rows(self, rows: Sequence[Sequence[BoxQuery]]) -> list[Estimates]:
        """One joint answer per row."""
        plain = self.unbiased.answer_rows(rows)
        return [self._smoothed(row, own) for row, own in zip(rows, plain, strict=True)]

    def values(self, queries: Sequence[BoxQuery]) -> Array:
        """The values (k,) alone: the unbiased covariance takes longer than smoothing."""
        if not self.unbiased.people:
            return self.unbiased.values(queries)
        return np.array([self._value(query) for query in queries])

    def _value(self, query: BoxQuery) -> float:
        is_public = query.weight is not None
        return float(self.unbiased.values([query])[0] if is_public else self._sum(query)[0])

    def _smoothed(self, row: Sequence[BoxQuery], plain: Estimates) -> Estimates:
        if not self.unbiased.people:
            return plain
        values, drawn = plain.values.copy(), []
        for number, query in enumerate(row):
            if query.weight is not None:
                drawn.append(values[number] + plain.stderr[number] * self._sides)
            else:
                values[number], *replicates = self._sum(query)
                drawn.append(np.array(replicates))
        return Estimates(values, plain.covariance, np.stack(drawn, axis=1) if drawn else None)

    @cached_property
    def _sides(self) -> Array:
        """+1 and -1 in turn, one per replicate."""
        return np.where(np.arange(len(self._summary.replicates[0])) % 2, -1.0, 1.0)

    def _sum(self, query: BoxQuery) -> Array:
        """The query on the summary and on every replicate, shape (1 + r,)."""
        total = np.full(1 + len(self._sides), query.known * float(self.unbiased.people))
        for term in query.terms:
            total += term.coefficient * self._term(term, query)
        return total

    def _term(self, term: BoxTerm, query: BoxQuery) -> Array:
        group = self.unbiased.collected.group
        sign = () if query.measure is None else (group.dimensions + query.measure,)
        block = group.block_of((*term.axes, *sign))
        place = 0 if block is None else group.blocks.index(block)
        tables, axes = self._tables[place], group.blocks[place]
        for position in reversed(range(len(axes))):
            weights = self._weights(axes[position], term, query)
            tables = np.tensordot(tables, weights, axes=(position + 1, 0))
        return np.asarray(tables)

    def _weights(self, axis: int, term: BoxTerm, query: BoxQuery) -> Reals:
        """What each element of an axis counts."""
        group = self.unbiased.collected.group
        if axis in term.axes:
            return group.bin_weights(term.sides[term.axes.index(axis)], axis)
        if axis < group.dimensions:
            return np.ones(group.bins[axis])
        if query.measure is not None and axis == group.dimensions + query.measure:
            return np.array([query.level - query.contrast, query.level + query.contrast])
        return np.full(2, query.level)

    @cached_property
    def _tables(self) -> list[Array]:
        """Per block the summary and its replicates, shape (1 + r, *sizes)."""
        pairs = zip(self._summary.tables, self._summary.replicates, strict=True)
        return [np.concatenate([table[None], drawn]) for table, drawn in pairs]

    @cached_property
    def _summary(self) -> Smoothed:
        return smooth(self._blocks(), self.unbiased.people)

    def _blocks(self) -> list[Block]:
        """Every block of the group; a frequency that several share is weighted in the first."""
        collected = self.unbiased.collected
        group, people = collected.group, self.unbiased.people
        spectrum = self.unbiased.spectrum(None)
        weights = demand(self.workload, group)
        seen: set[Axes] = set()
        blocks = []
        for axes in group.blocks:
            shape = group.shape(axes)
            own = {part: weights[part] for part in parts_of((axes,)) if part not in seen}
            seen |= own.keys()
            blocks.append(
                Block(
                    axes,
                    spread_faces(spectrum, axes, shape, people).astype(np.complex128),
                    spread_faces(collected.information, axes, shape, 1.0),
                    spread_faces(own, axes, shape, 0.0),
                    tuple(group.bins[a] if a < group.dimensions else 2 for a in axes),
                )
            )
        return blocks
