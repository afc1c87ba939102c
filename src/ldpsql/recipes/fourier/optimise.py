"""From a workload to the table of families: optimise, prune, round.

F = sum_f gamma_f / lambda_f is convex in the weights; the multiplicative update
w_j <- w_j (gain_j / F)^p with p = 1/2 never raises it, and gain_j <= F for all j at the optimum.
Source: docs/spec/fourier.md#2.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from ldpsql.decoders.fourier.families import UNITS, FamilyTable
from ldpsql.decoders.fourier.group import Group, Integers
from ldpsql.decoders.fourier.information import RealCells
from ldpsql.decoders.fourier.queries import demand, floor
from ldpsql.decoders.fourier.transforms import Reals
from ldpsql.recipes.fourier.components import ArcBundle, Component, Emitted, Products
from ldpsql.recipes.fourier.dictionary import Dictionary
from ldpsql.recipes.fourier.folding import Folding, Symmetry
from ldpsql.workload import Workload

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


MOST_CELLS = 1 << 25
MOST_FAMILIES = 40_000
_CANDIDATES = 1500
_COVERED, _SPANNING = 0.3, 8
_LARGE, _MANY_HARMONICS, _HUGE_HARMONICS = 8000, 1 << 21, 1 << 22
_STEPS = ((100, 300, 150), (60, 140, 60), (25, 35, 20))
_ROUNDS = 4
_FAINT = 1e-6


def designed(
    group: Group, workload: Workload, odds: float, restricted: bool = False
) -> FamilyTable:
    """The table of families that answers a workload best at odds E.

    restricted: whether answers are least squares over the cells that exist.
    """
    listed, wanted = listed_axes(workload, group), demand(workload, group)
    folding = Folding(group, Symmetry.of(group, wanted, listed))
    needed = folding.folded(wanted)
    if not needed.any():
        needed[:-1] = 1.0
    if restricted:
        needed[:-1] = np.maximum(needed[:-1], _FAINT * needed.max())
    dictionary = Dictionary(folding, needed, odds, listed)
    problem = Problem(folding, needed, floor(workload, group), dictionary.components())
    if restricted:
        cells = RealCells(group)
        problem = RestrictedProblem.of(problem, cells, cells.grams(workload))
    first, rest, polish = _STEPS[_size(problem)]
    problem, weights = problem.narrowed(problem.solve(problem.start(), first), _FAINT)
    weights = problem.solve(weights, rest)
    problem, weights = _pruned(problem, weights, polish)
    return table_of(weights, problem.components, folding.symmetry)


def _size(problem: Problem) -> int:
    """0, or 1 or 2 where a step costs so much that fewer must do."""
    arcs = sum(c.harmonics.size for c in problem.components if isinstance(c, ArcBundle))
    if arcs > _HUGE_HARMONICS:
        return 2
    return int(problem.folding.classes > _LARGE or arcs > _MANY_HARMONICS)


def listed_axes(workload: Workload, group: Group) -> frozenset[int]:
    """Dimensions that the workload's classes ask by equality only, and no declared query asks."""
    kinds: dict[int, set[str]] = {}
    for entry in workload.classes:
        for axis, kind in entry.predicates:
            kinds.setdefault(axis, set()).add(kind)
    declared = {axis for query in workload.queries for axis in query.constrained}
    return frozenset(
        axis for axis, own in kinds.items() if own == {"equality"} and axis not in declared
    )


def _pruned(problem: Problem, weights: list[Reals], steps: int) -> tuple[Problem, list[Reals]]:
    """The heaviest candidates within the budgets, re-optimised; nothing needed is lost."""
    before = problem.information(weights)
    full = weights
    problem, kept = problem.narrowed(_heaviest(problem, weights), 0.0)
    for _ in range(_ROUNDS):
        lost = np.flatnonzero(
            (problem.information(kept) < _COVERED * before) & (problem.demand > 0.0)
        )
        if not lost.size:
            break
        kept = problem.solve(_restored(problem.components, full, kept, lost), steps)
    return problem, problem.solve(kept, steps)


def _heaviest(problem: Problem, weights: list[Reals]) -> list[Reals]:
    """Weights with all but the heaviest candidates set to 0; again with sum 1."""
    flat = np.concatenate([own.ravel() for own in weights])
    pairs = list(zip(problem.components, weights, strict=True))
    symmetry = problem.folding.symmetry
    images = np.concatenate(
        [np.full(own.size, symmetry.count(component.axes)) for component, own in pairs]
    )
    copies = images * np.concatenate([_flat(component.copies, own) for component, own in pairs])
    phases = np.concatenate([_flat(component.phases, own) for component, own in pairs])
    ranked = np.argsort(-flat, kind="stable")
    ranked = ranked[flat[ranked] > 0.0]
    fits = np.cumsum((copies * phases)[ranked]) <= MOST_CELLS
    fits &= np.cumsum(copies[ranked]) <= MOST_FAMILIES
    fits &= np.cumsum(images[ranked]) <= _CANDIDATES + int(problem.folding.alike[:-1].sum())
    chosen = np.concatenate([ranked[fits], *_spanning(pairs, flat, ranked[fits])])
    pruned = np.zeros_like(flat)
    pruned[chosen] = flat[chosen]
    pruned /= pruned.sum()
    bounds = np.cumsum([own.size for own in weights])[:-1]
    return [
        part.reshape(own.shape) for part, own in zip(np.split(pruned, bounds), weights, strict=True)
    ]


def _spanning(
    pairs: Sequence[tuple[Component, Reals]], flat: Reals, chosen: Integers
) -> Iterator[Integers]:
    """The heaviest products of components that would lose all of them: where characters are too
    many for an arc each, only products tell about every frequency."""
    end = 0
    for component, own in pairs:
        start, end = end, end + own.size
        is_lost = not ((chosen >= start) & (chosen < end)).any()
        if is_lost and own.any() and isinstance(component, Products):
            heaviest = np.argsort(-flat[start:end], kind="stable")[:_SPANNING]
            yield start + heaviest[flat[start:end][heaviest] > 0.0]


def _flat(values: Integers, weights: Reals) -> Integers:
    """One value per candidate, flat."""
    return np.broadcast_to(values, weights.shape).ravel()


def _restored(
    components: Sequence[Component], full: list[Reals], kept: list[Reals], lost: Integers
) -> list[Reals]:
    """Weights with one arc for every lost character, its heaviest, with the weight of them all, or
    a tenth of a mean one."""
    positive = sum(int((own > 0.0).sum()) for own in kept)
    least = 0.1 / max(positive, 1)
    changed = []
    for component, whole, own in zip(components, full, kept, strict=True):
        if isinstance(component, ArcBundle):
            rows = np.isin(component.harmonics[:, 0], lost) & ~own.any(axis=1)
            again = np.zeros_like(own)
            again[rows, whole[rows].argmax(axis=1)] = np.maximum(whole[rows].sum(axis=1), least)
            changed.append(own + again)
        else:
            changed.append(own)
    total = sum(float(own.sum()) for own in changed)
    return [own / total for own in changed]


def table_of(
    weights: Sequence[Reals], components: Sequence[Component], symmetry: Symmetry | None = None
) -> FamilyTable:
    """Families with whole weights: the heaviest takes what rounding leaves.

    symmetry: under which every component stands for its images; None where it is itself alone.
    """
    emitted = list(_emitted(weights, components, symmetry))
    shares = np.concatenate([part.weights for part in emitted])
    units = np.maximum((shares / shares.sum() * UNITS).astype(np.int64), 1)
    units[np.argmax(shares)] += UNITS - units.sum()
    return FamilyTable(tuple(part.cluster for part in emitted), tuple(units.tolist()))


def _emitted(
    weights: Sequence[Reals], components: Sequence[Component], symmetry: Symmetry | None = None
) -> Iterator[Emitted]:
    for component, own in zip(components, weights, strict=True):
        if not own.any():
            continue
        images = [None] if symmetry is None else symmetry.images(component.axes)
        for part in component.emit(own):
            for names in images:
                cluster = part.cluster if names is None else part.cluster.renamed(names)
                yield Emitted(cluster, part.weights / len(images))
