"""Runs at the collector. Sees reports. The candidates: shrinkage, then projection.

Specification: fourier, section 8.4, restricted to candidates that are non-negative tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpsql.estimate import Array
from ldpsql.mechanisms.fourier.smoothing.block import Coefficients
from ldpsql.mechanisms.fourier.smoothing.independence import Independence
from ldpsql.mechanisms.fourier.smoothing.problem import Problem
from ldpsql.mechanisms.fourier.smoothing.project import FINE, Projected, Stop, project
from ldpsql.mechanisms.fourier.smoothing.shrink import shrink

AVERAGE = "avg"
# What the average is the mean of.
_AVERAGED = ("ht+i", "ind+i")


@dataclass(frozen=True, eq=False)
class Candidates:
    """Runs the candidates of one problem."""

    problem: Problem

    @cached_property
    def shrinkages(self) -> tuple[str, ...]:
        """Their names; with one axis there is no independence prior."""
        return ("ht", "js", "ind") if len(self.problem.layout.axes) > 1 else ("ht", "js")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The candidates in the information metric, and the average where there is one.

        Every shrinkage has one in the workload metric besides, which takes several times the
        steps.
        """
        simple = tuple(f"{shrinkage}+i" for shrinkage in self.shrinkages)
        return (*simple, AVERAGE) if "ind" in self.shrinkages else simple

    def run(
        self,
        names: Sequence[str],
        vectors: Coefficients,
        *,
        inflation: float = 1.0,
        stop: Stop = FINE,
    ) -> Mapping[str, Projected]:
        """Each named candidate's tables from R vectors with noise `inflation` x the problem's."""
        simple = [name for name in names if name != AVERAGE]
        simple += [name for name in _AVERAGED if AVERAGE in names and name not in simple]
        noise = self.problem.noise * inflation
        targets: dict[str, Coefficients] = {}
        for kind in dict.fromkeys(name.split("+")[0] for name in simple):
            targets[kind] = self._shrunk(kind, vectors, noise)
        stacked = np.concatenate([targets[name.split("+")[0]] for name in simple])
        kappa = np.stack([self.problem.metric(name.split("+")[1]) for name in simple])
        done = project(
            self.problem.layout,
            stacked,
            np.repeat(kappa, len(vectors), axis=0),
            self.problem.people,
            stop,
        )
        found = {name: _part(done, i, len(vectors)) for i, name in enumerate(simple)}
        if AVERAGE in names:
            found[AVERAGE] = _mean([found[name] for name in _AVERAGED])
        return {name: found[name] for name in names}

    def _shrunk(self, kind: str, vectors: Coefficients, noise: Array) -> Coefficients:
        layout = self.problem.layout
        if kind != "ind":
            return shrink(vectors, noise, layout, significant_stay=kind == "ht")
        prior = self._independence.prior(vectors, noise)
        return prior + shrink(
            np.where(self.problem.is_observed, vectors - prior, 0.0),
            noise,
            layout,
            significant_stay=False,
        )

    @cached_property
    def _independence(self) -> Independence:
        return Independence(self.problem)


def _part(done: Projected, number: int, rows: int) -> Projected:
    here = slice(number * rows, (number + 1) * rows)
    return Projected(
        tuple(table[here] for table in done.tables), done.iterations[here], done.converged[here]
    )


def _mean(parts: Sequence[Projected]) -> Projected:
    """Tables averaged; it has converged where all have, in as many steps as all together."""
    converged: NDArray[np.bool_] = np.all([part.converged for part in parts], axis=0)
    return Projected(
        tuple(np.mean(tables, axis=0) for tables in zip(*(p.tables for p in parts), strict=True)),
        np.sum([part.iterations for part in parts], axis=0),
        converged,
    )
