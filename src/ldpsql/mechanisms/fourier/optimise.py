"""From a workload to families and their weights: optimise, prune.

F = sum_f gamma_f / lambda_f is convex in the weights of the candidates. Multiplicative steps
(`numerics.optimise_weights`) lower it until no candidate's gain exceeds F by more than GAP of the
error. Source: docs/spec/fourier.md#2.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from math import prod

import numpy as np

from ldpsql.algebra.boxes import cardinality
from ldpsql.algebra.numerics import optimise_weights
from ldpsql.algebra.workload import Workload
from ldpsql.limits import check
from ldpsql.mechanisms.fourier.candidates import (
    ArcBundle,
    Component,
    Dictionary,
    Emitted,
    ListedSets,
    Products,
    find_arcs,
)
from ldpsql.mechanisms.fourier.folding import Folding, Symmetry
from ldpsql.mechanisms.fourier.group import Group, Integers, Reals
from ldpsql.mechanisms.fourier.prior import expected_power
from ldpsql.mechanisms.fourier.spectra import RealCells, demand, floor

GAP, STALL = 1e-3, 2e-5
MOST_CELLS, MOST_CROWDED = 1 << 25, 1 << 26
"""Phases of all families, and that where not every character has an arc."""
MOST_FAMILIES = 40_000
_FEW_CELLS, _TURN, _LONG_TURN = 200, 5, 15
_CANDIDATES = 1500
_COVERED, _SPANNING = 0.3, 8
_LEAST_COVERED, _MOST_ROUNDS = 1e-4, 12
_STEPS = ((100, 200, 100), (40, 30, 20), (25, 20, 12), (16, 12, 8), (12, 8, 6), (6, 6, 4))
_BRIEF = 2
"""Steps of a round that brings arcs back."""
_HARMONIC_COST, _PRODUCT_COST, _COMPONENT_COST, _MOST_SECONDS = 4e-8, 1e-9, 1e-4, 9.0
"""Rough seconds of one step per harmonic, multiplication and component, and of all steps."""
_ROUNDS = 4
_FAINT = 1e-6
UNBIASED, UNBIASED_ALONE = 0.2, 0.5
"""The part of a design for smooth answers that stays as it is best for unbiased ones; and where
only single axes are asked, of which a prior says less: values that very many people have are as
likely as a smooth distribution."""


@dataclass(frozen=True, eq=False)
class DesignProblem:
    """Weights for the candidates of some components, one after the other in one flat array.

    demand: gamma by class.  floor: mean over the queries of (q^(0) / N)^2 - mean of q^2; the
    mean variance per person is F + floor.

    continued: the real cells and the Gram matrix of the queries there (`RealCells.grams`), where
    queries may be continued over padding in whatever way suits the information. F is then convex in
    the weights and in the continuation, and lowered in turns: a few steps of the weights, and the
    best continuation for what they tell. The demand is that of the queries as they are, which
    serves for a start and says which frequencies may not be lost.

    known: information that is there besides, by class; F is then the sum of
    gamma / (known + lambda).
    """

    folding: Folding
    demand: Reals
    floor: float
    components: Sequence[Component]
    continued: tuple[RealCells, Reals] | None = None
    known: Reals | None = None

    def split(self, weights: Reals) -> list[Reals]:
        """One value per candidate as one array per component, of its shape."""
        return [weights[part].reshape(shape) for part, shape in self._parts]

    @cached_property
    def _parts(self) -> list[tuple[slice, tuple[int, ...]]]:
        """Where each component's weights are, and their shape."""
        shapes = [component.shape for component in self.components]
        ends = accumulate(map(prod, shapes), initial=0)
        return [(slice(*own), shape) for own, shape in zip(pairwise(ends), shapes, strict=True)]

    def information(self, weights: Reals) -> Reals:
        """lambda by class, linear in the weights; 1 for the zero frequency."""
        information, values = np.zeros(len(self.demand)), []
        for component, own in zip(self.components, self.split(weights), strict=True):
            if isinstance(component, ArcBundle):
                values.append((own @ component.powers).ravel())
            else:
                component.inform(own, information)
        if values:
            # All arcs at once: a sum over all classes for each of their many bundles takes longer.
            arcs = np.bincount(self._harmonics, np.concatenate(values), len(information))
            information += arcs / self.folding.frequencies
        information[-1] = 1.0
        return information

    @cached_property
    def _harmonics(self) -> Integers:
        """The classes that all arcs inform, one after the other."""
        arcs = [c.harmonics.ravel() for c in self.components if isinstance(c, ArcBundle)]
        return np.concatenate(arcs)

    def objective(self, information: Reals) -> float:
        """F; infinite where something needed is not informed."""
        known = information[self._needed]
        if (known <= 0.0).any():
            return float("inf")
        # A class stands for all its frequencies, and those of all faces like its own.
        return float((self._wanted / known).sum())

    @cached_property
    def _needed(self) -> Integers:
        """The classes of which something is asked."""
        return np.flatnonzero(self.demand > 0.0)

    @cached_property
    def _wanted(self) -> Reals:
        """The demand of all frequencies of each of these classes."""
        return self.folding.frequencies[self._needed] * self.demand[self._needed]

    @property
    def cost(self) -> float:
        """Rough seconds of one step."""
        total = len(self.components) * _COMPONENT_COST
        for component in self.components:
            if isinstance(component, ArcBundle):
                total += component.harmonics.size * _HARMONIC_COST
            elif isinstance(component, Products):
                total += component.work * _PRODUCT_COST
        return total

    def steps(self) -> tuple[int, int, int]:
        """How many to take before, between and after pruning: fewer where one costs much."""
        tier = 0
        while tier < len(_STEPS) - 1 and self.cost * sum(_STEPS[tier]) > _MOST_SECONDS:
            tier += 1
        return _STEPS[tier]

    def start(self) -> Reals:
        """Weights that sum to 1: without that the first comparison of gains with F says nothing."""
        roots = np.sqrt(self.demand)
        total = float(roots.sum())
        parts = [component.start(roots, total).ravel() for component in self.components]
        weights = np.concatenate(parts)
        return np.asarray(weights / weights.sum())

    def drop(self, weights: Reals) -> tuple[DesignProblem, Reals]:
        """The problem and weights without candidates that weigh nothing."""
        kept = weights / weights.sum()
        both = zip(self.components, self.split(kept), strict=True)
        # Arcs stay as they are: a lost character may be needed again.
        pairs = [c.drop(w) for c, w in both if isinstance(c, ArcBundle) or w.any()]
        return (
            replace(self, components=[component for component, _ in pairs]),
            np.concatenate([own.ravel() for _, own in pairs]),
        )

    def solve(self, weights: Reals, steps: int) -> Reals:
        """Better weights after at most so many steps."""
        if self.continued is None:
            return optimise_weights(
                self._gains, weights, steps=steps, gap=GAP, floor=self.floor, stall=STALL
            )
        cells, grams = self.continued
        turn = _TURN if cells.count <= _FEW_CELLS else _LONG_TURN
        shape = self.folding.group.shape(cells.axes)
        classes = self.folding.numbers(cells.axes).ravel()[self.folding.places(cells.axes)]
        for _ in range(-(-steps // turn)):
            information = self.information(weights)[classes].reshape(shape)
            own = np.zeros(len(self.demand))
            own[classes] = cells.demand(information, grams).ravel()  # alike for all of a class
            own[-1] = 0.0
            weights = replace(self, demand=own, continued=None).solve(weights, turn)
        return weights

    def _gains(self, weights: Reals) -> tuple[Reals, float]:
        """-dF/dw_j = sum_f power_j(f) gamma_f / lambda_f^2 of every candidate, and F."""
        check()
        information = self.information(weights)
        if self.known is not None:
            information = information + self.known
        slope, known = np.zeros(len(self.demand)), information[self._needed]
        slope[self._needed] = self.demand[self._needed] / known**2
        counted = slope * self.folding.multiplicity
        parts = [component.gains(slope, counted).ravel() for component in self.components]
        return np.concatenate(parts), self.objective(information)

    def emit(self, weights: Reals) -> Iterator[Emitted]:
        """The families of all candidates with positive weight, on all images of their faces."""
        for component, own in zip(self.components, self.split(weights), strict=True):
            images = self.folding.symmetry.images(component.axes)
            for part in component.emit(own) if own.any() else ():
                for names in images:
                    yield Emitted(part.cluster.rename(names), part.weights / len(images))


def design_families(
    group: Group, workload: Workload, odds: float, restricted: bool = False, smooth_for: int = 0
) -> list[Emitted]:
    """The families that answer a workload best at odds E, with their weights.

    restricted: whether answers are least squares over the cells that exist.  smooth_for: of how
    many people smooth answers are to be best; 0 for unbiased ones.
    """
    listed, wanted = find_equality_axes(workload), demand(workload, group)
    folding = Folding(group, Symmetry.of(group, wanted, listed))
    needed, continued = folding.fold_faces(wanted), None
    if not needed.any():
        needed[:-1] = 1.0
    if restricted:
        # The continuation may need any frequency, so none may be lost.
        needed[:-1] = np.maximum(needed[:-1], _FAINT * needed.max())
        cells = RealCells(group)
        continued = cells, cells.grams(workload)
    # Nothing else refers to the candidates, of which those that are dropped take much memory.
    problem = DesignProblem(
        folding,
        needed,
        floor(wanted),
        Dictionary(folding, needed, odds, listed).components(),
        continued,
    )
    first, rest, polish = problem.steps()
    weights = problem.solve(problem.start(), first)
    heavy = np.where(weights > _FAINT * weights.max(), weights, 0.0)
    problem, weights = problem.drop(_keep_informed(problem, weights, heavy))
    problem, weights = _prune(problem, problem.solve(weights, rest), polish)
    if smooth_for:
        weights = _lean(problem, weights, _expected_power(folding) * smooth_for, rest)
    return list(problem.emit(weights))


def _expected_power(folding: Folding) -> Reals:
    """`expected_power` by class; 0 for the zero frequency, which is known."""
    group, faces = folding.group, {}
    for face in group.faces:
        shape = [order - 1 for order in group.shape(face)]
        own = 1 + np.indices(shape).reshape(len(face), -1).T
        ordered = [group.is_ordered[axis] for axis in face]
        faces[face] = expected_power(own, group.shape(face), ordered).reshape(shape)
    return folding.fold_faces(faces)


def _lean(problem: DesignProblem, weights: Reals, power: Reals, steps: int) -> Reals:
    """Weights for answers that are shrunk towards what is likely, of candidates for unbiased ones.

    With n people and a prior of the power s of their shares, the best linear estimate of a
    frequency has the error n / (1 / (n s) + lambda): the prior counts as information. Of the
    weights UNBIASED stay, so that everything keeps an unbiased answer.
    """
    is_alone = all(len(face) == 1 for face in problem.folding.group.faces)
    kept = UNBIASED_ALONE if is_alone else UNBIASED
    prior = np.divide(1.0, power, out=np.zeros_like(power), where=power > 0.0)
    rest = 1.0 - kept
    known = (prior + kept * problem.information(weights)) / rest
    own = replace(problem, known=known, floor=0.0, continued=None).solve(weights, steps)
    return np.asarray(kept * weights + rest * own)


def find_single(workload: Workload) -> frozenset[int]:
    """Dimensions that a workload asks for single codes only, never for several together: a bin of
    such codes would tell nothing about any of them."""
    asked = [(axis, k != "equality") for entry in workload.classes for axis, k in entry.predicates]
    asked += [
        (axis, cardinality(side) > 1)
        for query in workload.queries
        for _, sides in query.terms
        for axis, side in enumerate(sides)
        if side is not None
    ]
    return frozenset(axis for axis, _ in asked) - {axis for axis, several in asked if several}


def find_equality_axes(workload: Workload) -> frozenset[int]:
    """Of those dimensions the ones that no declared query asks about."""
    return find_single(workload).difference(*(query.constrained for query in workload.queries))


# -- pruning --------------------------------------------------------------------------------------


def _prune(problem: DesignProblem, weights: Reals, steps: int) -> tuple[DesignProblem, Reals]:
    """The heaviest candidates within the budgets, re-optimised.

    The coverage rule: while some needed frequency has less than _COVERED of the information that
    all candidates gave it, its own arc comes back. Steps never take all of what informs a needed
    frequency, for its gain grows beyond any other then.
    """
    before, full = problem.information(weights), _weigh_arcs(problem, weights)
    heaviest = _keep_heaviest(problem, weights)
    problem, kept = problem.drop(_keep_informed(problem, weights, heaviest))
    for _ in range(_ROUNDS):
        known = problem.information(kept)
        is_lost = (known < _COVERED * before) & (problem.demand > 0.0)
        if np.count_nonzero(is_lost) > MOST_FAMILIES:
            is_lost &= known < _LEAST_COVERED * before
        if not is_lost.any():
            break
        kept = problem.solve(_restore_arcs(problem, full, kept, np.flatnonzero(is_lost)), _BRIEF)
    return problem, problem.solve(kept, steps)


def _keep_informed(problem: DesignProblem, weights: Reals, kept: Reals) -> Reals:
    """The weights that are kept, and those of what else it takes to inform every needed frequency:
    its own arc where it has one, else products; again with sum 1.

    Products come back a few at a time, those first that tell most of what is lost.
    """
    before, kept = problem.information(weights), kept.copy()
    pairs = list(zip(problem.components, problem.split(kept), problem.split(weights), strict=True))
    needed = (problem.demand > 0.0) & ~find_arcs(problem.components, len(problem.demand))
    # Sets that are listed point by point may have too many points together; they come back where
    # nothing else tells the same.
    others, listed = list[tuple[Products, Reals, Reals]](), list[tuple[Products, Reals, Reals]]()
    for component, left, own in pairs:
        if isinstance(component, Products):
            kind = listed if isinstance(component, ListedSets) else others
            kind.append((component, left, own))
    told = np.zeros_like(before)
    for component, _, own in others:
        component.inform(own, told)
    alone = needed & (told == 0.0)
    products = [*others, *(each for each in listed if alone[each[0].classes].any())]
    wanted, cells = _COVERED, MOST_CELLS / max(len(products), 1)
    known = problem.information(kept)  # of what is kept, and of what comes back beside it
    for _ in range(_MOST_ROUNDS):
        is_lost = needed & (known < kept.sum() * wanted * before)
        if not is_lost.any():
            break
        # What a candidate would add to the lost frequencies, as a part of what they had.
        slope = np.divide(1.0, before, out=np.zeros_like(before), where=is_lost & (before > 0.0))
        for component, left, own in products:
            wanting = np.where(alone, slope, 0.0) if isinstance(component, ListedSets) else slope
            if wanting[component.classes].any():
                gains = component.gains(wanting, wanting * problem.folding.multiplicity)
                chosen = _heaviest(component, own * gains, _SPANNING, cells)
                back = np.zeros_like(left)
                back.ravel()[chosen] = own.ravel()[chosen] - left.ravel()[chosen]
                component.inform(back, known)
                left.ravel()[chosen] = own.ravel()[chosen]  # a view of `kept`
        # Some inform a frequency well; more come back only to inform it at all.
        wanted = _LEAST_COVERED
    is_lost = known < kept.sum() * _LEAST_COVERED * before
    lost = np.flatnonzero(is_lost & (problem.demand > 0.0))
    kept = np.asarray(kept / kept.sum())
    return _restore_arcs(problem, _weigh_arcs(problem, weights), kept, lost) if lost.size else kept


def _keep_heaviest(problem: DesignProblem, weights: Reals) -> Reals:
    """Weights with all but the heaviest candidates set to 0; again with sum 1.

    Components of products that would lose all of them keep the heaviest few: where characters are
    too many for an arc each, only products tell about every frequency.
    """
    symmetry, parts = problem.folding.symmetry, problem.split(weights)
    pairs = list(zip(problem.components, parts, strict=True))
    # A candidate becomes one family for each of its reflections on each image of its face.
    images = np.concatenate([np.full(own.size, symmetry.count(c.axes)) for c, own in pairs])
    reflected = [np.broadcast_to(c.copies, own.shape).ravel() for c, own in pairs]
    families = images * np.concatenate(reflected)
    phases = np.concatenate([np.broadcast_to(c.phases, own.shape).ravel() for c, own in pairs])
    costs, budget = families * phases, MOST_CELLS
    # Where characters are too many for an arc each, large products alone would use up the cells.
    is_crowded = bool(
        ((problem.demand > 0.0) & ~find_arcs(problem.components, len(problem.demand))).any()
    )
    if is_crowded:
        budget = MOST_CROWDED
    ranked = np.argsort(-weights / costs if is_crowded else -weights, kind="stable")
    ranked = ranked[weights[ranked] > 0.0]
    fits = np.cumsum(costs[ranked]) <= budget
    fits &= np.cumsum(families[ranked]) <= MOST_FAMILIES
    fits &= np.cumsum(images[ranked]) <= _CANDIDATES + int(problem.folding.alike[:-1].sum())
    pruned = np.zeros_like(weights)
    pruned[ranked[fits]] = weights[ranked[fits]]
    for (component, own), left in zip(pairs, problem.split(pruned), strict=True):
        if not left.any() and not isinstance(component, ArcBundle | ListedSets):
            heaviest = _heaviest(component, own, _SPANNING, MOST_CELLS / len(pairs))
            left.ravel()[heaviest] = own.ravel()[heaviest]  # a view of `pruned`
    return np.asarray(pruned / pruned.sum())


def _heaviest(component: Component, weights: Reals, count: int, cells: float) -> Integers:
    """Numbers of the heaviest candidates of a component: at most so many, with at most so many
    phases together, but one in any case."""
    ranked = np.argsort(-weights.ravel(), kind="stable")[:count]
    phases = np.broadcast_to(component.phases, weights.shape).ravel()[ranked]
    return ranked[: max(int(np.searchsorted(np.cumsum(phases), cells, "right")), 1)]


def _weigh_arcs(problem: DesignProblem, weights: Reals) -> list[Reals]:
    """The weights of all arcs, by component."""
    pairs = zip(problem.components, problem.split(weights), strict=True)
    return [own for component, own in pairs if isinstance(component, ArcBundle)]


def _restore_arcs(
    problem: DesignProblem, full: Sequence[Reals], kept: Reals, lost: Integers
) -> Reals:
    """Weights with one arc for every lost character, its heaviest, with the weight that all its
    arcs had before pruning, or a tenth of a mean one. Sum 1.

    full: weights of all arcs before pruning (`_weigh_arcs`), which leaves arcs in their places.
    """
    least, weights = 0.1 / max(int(np.count_nonzero(kept)), 1), kept.copy()
    is_lost = np.zeros(len(problem.demand), dtype=bool)
    is_lost[lost] = True
    arcs = [component for component in problem.components if isinstance(component, ArcBundle)]
    for component, own, whole in zip(arcs, _weigh_arcs(problem, weights), full, strict=True):
        rows = is_lost[component.harmonics[:, 0]] & ~own.any(axis=1)
        own[rows, whole[rows].argmax(axis=1)] = np.maximum(whole[rows].sum(axis=1), least)
    return np.asarray(weights / weights.sum())
