"""Runs at the collector. Sees reports. The independence prior: people x product of 1-D marginals.

Every axis' marginal is smoothed on its own (James-Stein bands, projection in the information
metric). Specification: fourier, section 8.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpsql.estimate import Array
from ldpsql.mechanisms.fourier.smoothing.block import Block, Coefficients
from ldpsql.mechanisms.fourier.smoothing.layout import Indices, Layout
from ldpsql.mechanisms.fourier.smoothing.problem import Problem
from ldpsql.mechanisms.fourier.smoothing.project import project
from ldpsql.mechanisms.fourier.smoothing.shrink import shrink


@dataclass(frozen=True, eq=False)
class Independence:
    """Makes the prior of R vectors of one problem."""

    problem: Problem

    @cached_property
    def _marginals(self) -> tuple[tuple[Layout, Indices], ...]:
        """Per axis the layout of its marginal, and the entries of the vector that are its own."""
        layout = self.problem.layout
        found = []
        for column, order in enumerate(layout.orders):
            own = (np.delete(layout.frequencies, column, axis=1) == 0).all(axis=1)
            blank = np.zeros(order)
            marginal = Layout.of(
                [Block((column,), blank.astype(complex), blank, blank, (layout.sizes[column],))]
            )
            entries = np.flatnonzero(own)
            found.append((marginal, entries))
        return tuple(found)

    def prior(self, vectors: Coefficients, noise: Array) -> Coefficients:
        """The prior's coefficients, shape (R, K); noise: variance of `vectors`, shape (K,)."""
        layout, people = self.problem.layout, self.problem.people
        result = np.full(vectors.shape, complex(people))
        for column, (marginal, entries) in enumerate(self._marginals):
            target = shrink(vectors[:, entries], noise[entries], marginal, significant_stay=False)
            kappa = np.broadcast_to(self.problem.information[entries], target.shape)
            tables = project(marginal, target, kappa, people).tables[0]
            spectrum = np.fft.fft(tables[:, 0, :]) / people
            result *= spectrum[:, layout.frequencies[:, column]]
        return result
