"""Public. Sees parameters. Weights that minimise a workload's expected error.

F = sum_f gamma_f / lambda_f is convex in the weights; the multiplicative update
w_j <- w_j (gain_j / F)^p with p = 1/2 never raises it, and gain_j <= F for all j at the optimum.
Specification: fourier, section 2.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from ldpsql.mechanisms.fourier.components import Component
from ldpsql.mechanisms.fourier.folding import Folding
from ldpsql.mechanisms.fourier.group import Integers
from ldpsql.mechanisms.fourier.restricted import RealCells
from ldpsql.mechanisms.fourier.transforms import Reals

GAP = 1e-3
_CAREFUL = 20
_FEW_CELLS, _TURN, _LONG_TURN = 200, 5, 15


@dataclass(frozen=True, eq=False)
class Problem:
    """demand: gamma by class.  floor: mean over the queries of (q^(0) / N)^2 - mean of q^2; the
    mean variance per person is F + floor."""

    folding: Folding
    demand: Reals
    floor: float
    components: Sequence[Component]

    def information(self, weights: Sequence[Reals]) -> Reals:
        """lambda by class; 1 for the zero frequency."""
        found = np.zeros(len(self.demand))
        for component, own in zip(self.components, weights, strict=True):
            component.inform(own, found)
        found[-1] = 1.0
        return found

    def objective(self, information: Reals) -> float:
        """F; infinite where something needed is not informed."""
        needed = self.demand > 0.0
        if (information[needed] <= 0.0).any():
            return float("inf")
        terms = self._sizes[needed] * self.demand[needed] / information[needed]
        return float(terms.sum())

    @cached_property
    def _sizes(self) -> Reals:
        """Frequencies of every class, those of all faces like its own."""
        return self.folding.multiplicity * self.folding.alike

    def start(self) -> list[Reals]:
        """Weights that sum to 1."""
        return _normal([component.start(self.demand) for component in self.components])

    def narrowed(self, weights: list[Reals], share: float) -> tuple[Self, list[Reals]]:
        """The problem and weights without candidates below a share of the heaviest."""
        least = share * max(float(own.max(initial=0.0)) for own in weights)
        kept = _normal([np.where(own > least, own, 0.0) for own in weights])
        pairs = [
            component.narrowed(own) for component, own in zip(self.components, kept, strict=True)
        ]
        components = [component for component, _ in pairs]
        return replace(self, components=components), [own for _, own in pairs]

    def solve(self, weights: list[Reals], steps: int) -> list[Reals]:
        """Updated weights, once no candidate's gain exceeds F by more than GAP of the error."""
        for step in range(steps):
            information = self.information(weights)
            objective = self.objective(information)
            slope = np.zeros(len(self.demand))
            needed = self.demand > 0.0
            slope[needed] = self.demand[needed] / information[needed] ** 2
            gains = [component.gains(slope) for component in self.components]
            best = max(
                float(gain[own > 0.0].max(initial=0.0))
                for gain, own in zip(gains, weights, strict=True)
            )
            if best - objective <= GAP * (objective + self.floor):
                break
            power = 0.9 if step >= _CAREFUL and step % 2 else 0.5
            weights = _normal(
                [
                    own * (gain / objective) ** power
                    for own, gain in zip(weights, gains, strict=True)
                ]
            )
        return weights


@dataclass(frozen=True, eq=False)
class RestrictedProblem(Problem):
    """The same where queries may be continued over padding in whatever way suits the information.

    F is then convex in both, and lowered in turns: a few updates of the weights, and the best
    continuation for what they tell. The demand is that of the queries as they are, which serves
    for a start and says which frequencies may not be lost.  grams: see `RealCells.grams`.
    """

    cells: RealCells
    grams: Reals

    @classmethod
    def of(cls, problem: Problem, cells: RealCells, grams: Reals) -> RestrictedProblem:
        """The restricted form of a problem."""
        return cls(problem.folding, problem.demand, problem.floor, problem.components, cells, grams)

    def solve(self, weights: list[Reals], steps: int) -> list[Reals]:
        """At most so many updates in all."""
        turn = _TURN if self.cells.count <= _FEW_CELLS else _LONG_TURN
        for _ in range(-(-steps // turn)):
            continued = self._continued(self.information(weights))
            weights = Problem.solve(continued, weights, turn)
        return weights

    def _continued(self, information: Reals) -> Problem:
        """The problem of the queries continued as suits the information."""
        shape = self.folding.group.shape(self.cells.axes)
        needed = self.cells.needed(information[self._numbers].reshape(shape), self.grams)
        found = np.zeros(len(self.demand))
        found[self._numbers] = needed.ravel()
        found[-1] = 0.0
        return Problem(self.folding, found, self.floor, self.components)

    @cached_property
    def _numbers(self) -> Integers:
        """Class of every frequency of the block, flat."""
        axes = self.cells.axes
        return self.folding.numbers(axes).ravel()[self.folding.places(axes)]


def _normal(weights: list[Reals]) -> list[Reals]:
    total = sum(float(own.sum()) for own in weights)
    return [own / total for own in weights]
