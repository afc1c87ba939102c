"""Public. Sees parameters. From a workload to the table of families: optimise, prune, round.

Specification: fourier, section 2.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ldpsql.mechanisms.fourier.components import ArcBundle, Component, Emitted, Products
from ldpsql.mechanisms.fourier.demand import demand, floor
from ldpsql.mechanisms.fourier.dictionary import Dictionary
from ldpsql.mechanisms.fourier.families import UNITS, FamilyTable
from ldpsql.mechanisms.fourier.folding import Folding
from ldpsql.mechanisms.fourier.group import Group, Integers
from ldpsql.mechanisms.fourier.optimise import Problem, RestrictedProblem
from ldpsql.mechanisms.fourier.restricted import RealCells
from ldpsql.mechanisms.fourier.symmetry import Symmetry
from ldpsql.mechanisms.fourier.transforms import Reals
from ldpsql.workload import Workload

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
