"""Grids of single attributes and of pairs, made consistent, then one table: HDG, FELIP, CALM.

The people are dealt evenly to the grids. Two steps alternate: grids that share an attribute are
made to agree on how many people are in each of its coarsest slices (weighted by the number of cells
that are added up), and all cells are made non-negative. The table is the one of largest entropy
with these cells, by iterative proportional fitting (the papers' weighted update).

HDG: Yang, Wang, Li, Cheng, Su, VLDB 2021: a grid per attribute, a coarser one per pair, sizes by
its guideline with alpha .7 and .03 as powers of two, OLH.
FELIP: Costa Filho and Machado, EDBT 2023: the same grids, but of any size: the one with the least
sum of the same two errors for ranges of the expected selectivity (1/2 here), with GRR or OLH for
each.
CALM: Zhang, Wang, Li, He, Chen, CCS 2018: marginals of pairs in full, GRR or OLH for each.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from benchmarks.field.oracles import ask, choose, deal, oue_variance
from benchmarks.field.questions import Floats, Integers, LocalHash, Question
from ldpsql.numerics import project_on_simplex

_ALPHAS = (0.7, 0.03)
_ROUNDS, _MOST_STEPS = 100, 100


@dataclass(frozen=True, eq=False)
class Grid:
    """starts: per attribute of the grid the first codes of its cells."""

    axes: tuple[int, ...]
    starts: tuple[Integers, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells per attribute."""
        return tuple(map(len, self.starts))

    def number(self, sizes: Sequence[int]) -> Integers:
        """The cell of every cell of the table, flat."""
        places = np.indices(tuple(sizes)).reshape(len(sizes), -1)
        digits = [
            np.searchsorted(start, places[axis], side="right") - 1
            for axis, start in zip(self.axes, self.starts, strict=True)
        ]
        return np.ravel_multi_index(tuple(digits), self.shape)


def even(size: int, cells: int) -> Integers:
    """First codes of cells of equal or nearly equal length."""
    return np.arange(min(cells, size)) * size // min(cells, size)


def refine(starts: Integers, size: int, cells: int) -> Integers:
    """First codes of about so many cells, each within one of the given cells."""
    ends = np.append(starts[1:], size)
    parts = [
        low + even(int(high - low), max(1, round(cells / len(starts))))
        for low, high in zip(starts, ends, strict=True)
    ]
    return np.concatenate(parts)


class Gridded(ABC):
    """A mechanism of grids."""

    name: str
    biased = True
    adapts: bool

    @abstractmethod
    def layout(self, sizes: Sequence[int], people: float, epsilon: float) -> list[Grid]:
        """The grids. Those of one attribute lie within the cells of its pairs."""

    def refuses(self, sizes: Sequence[int]) -> str:
        """Nothing: any number of attributes."""
        return ""

    def estimate(self, counts: Floats, epsilon: float, random: np.random.Generator) -> Floats:
        """See `ranges.Method`."""
        grids = self.layout(counts.shape, counts.sum(), epsilon)
        numbers = [grid.number(counts.shape) for grid in grids]
        groups = deal(counts, len(grids), random)
        found = []
        for grid, number, own in zip(grids, numbers, groups, strict=True):
            held = np.bincount(number, own.ravel(), math.prod(grid.shape)).astype(np.int64)
            found.append(ask(held, epsilon, random, adapt=self.adapts).reshape(grid.shape))
        agree(grids, found)
        return fit(counts.shape, numbers, [cells.ravel() for cells in found], 1 / counts.sum())

    def questions(
        self, counts: Floats, epsilon: float, random: np.random.Generator
    ) -> list[Question]:
        """See `ranges.Method`."""
        grids = self.layout(counts.shape, counts.sum(), epsilon)
        sizes = [math.prod(grid.shape) for grid in grids]
        ways = [
            choose(size, epsilon) if self.adapts else LocalHash.optimal(size, epsilon)
            for size in sizes
        ]
        return [
            Question(1 / len(grids), grid.number(counts.shape), way)
            for grid, way in zip(grids, ways, strict=True)
        ]


def agree(grids: Sequence[Grid], found: list[Floats]) -> None:
    """Make the cells of the grids consistent and non-negative, in place: slices of an attribute
    between lines that all of its grids share get the weighted mean of the grids."""
    attributes = sorted({axis for grid in grids for axis in grid.axes})
    shared = [[g for g, grid in enumerate(grids) if axis in grid.axes] for axis in attributes]
    for _ in range(_ROUNDS):
        before = [cells.copy() for cells in found]
        for g, cells in enumerate(found):
            found[g] = project_on_simplex(cells.reshape(1, -1), 1.0).reshape(cells.shape)
        for axis, own in zip(attributes, shared, strict=True):
            if len(own) > 1:
                _share_slices(axis, [grids[g] for g in own], own, found)
        moved = max(float(np.abs(a - b).max()) for a, b in zip(found, before, strict=True))
        if moved < 1e-9:
            break
    for g, cells in enumerate(found):
        found[g] = project_on_simplex(cells.reshape(1, -1), 1.0).reshape(cells.shape)


def _share_slices(
    axis: int, grids: Sequence[Grid], own: Sequence[int], found: list[Floats]
) -> None:
    """Give every grid the weighted mean, over grids, of the people in each slice."""
    starts = [grid.starts[grid.axes.index(axis)] for grid in grids]
    coarse = reduce(np.intersect1d, starts)
    places = [np.searchsorted(coarse, start, side="right") - 1 for start in starts]
    sums, cells = [], []
    for grid, number, place in zip(grids, own, places, strict=True):
        at = grid.axes.index(axis)
        others = tuple(i for i in range(len(grid.axes)) if i != at)
        line = found[number].sum(axis=others)
        sums.append(np.bincount(place, line, len(coarse)))
        cells.append(np.bincount(place, minlength=len(coarse)) * (found[number].size / len(line)))
    weights = [1.0 / cell for cell in cells]
    mean = sum(w * s for w, s in zip(weights, sums, strict=True)) / sum(weights)
    for grid, number, place, total, cell in zip(grids, own, places, sums, cells, strict=True):
        at = grid.axes.index(axis)
        shape = [1] * len(grid.axes)
        shape[at] = len(place)
        found[number] = found[number] + ((mean - total) / cell)[place].reshape(shape)


def fit(
    shape: Sequence[int], numbers: Sequence[Integers], found: Sequence[Floats], change: float
) -> Floats:
    """The table of largest entropy whose cells have these shares, until it changes less than
    `change` in all."""
    table = np.full(math.prod(shape), 1 / math.prod(shape))
    for _ in range(_MOST_STEPS):
        before = table
        for number, wanted in zip(numbers, found, strict=True):
            now = np.bincount(number, table, len(wanted))
            factor = np.divide(wanted, now, out=np.zeros_like(now), where=now > 0.0)
            table = table * factor[number]
        if np.abs(table - before).sum() < change:
            break
    return table.reshape(tuple(shape))


# -- the mechanisms --------------------------------------------------------------------------------


def _groups(attributes: int) -> int:
    return attributes + math.comb(attributes, 2)


def granularities(
    people: float, epsilon: float, attributes: int = 2, most: int = 64
) -> tuple[int, int]:
    """HDG's guideline: cells of a grid of one attribute, and per attribute of a pair, as the
    nearest powers of two."""
    odds, share = math.exp(epsilon), people / _groups(attributes)
    single = (share * (odds - 1) ** 2 * _ALPHAS[0] ** 2 / (2 * odds)) ** (1 / 3)
    double = math.sqrt(2 * _ALPHAS[1] * (odds - 1) * math.sqrt(share / odds))
    fine, coarse = (_power_of_two(min(cells, most)) for cells in (single, double))
    return max(fine, coarse), coarse


def _power_of_two(cells: float) -> int:
    """The nearest power of two, at least 2; the lower one of two that are equally near."""
    low = 2 ** max(0, math.floor(math.log2(max(cells, 1.0))))
    return max(2, low if cells - low <= 2 * low - cells else 2 * low)


@dataclass(frozen=True)
class Hdg(Gridded):
    """Hybrid-dimensional grids."""

    name: str = "HDG"
    adapts: bool = False

    def layout(self, sizes: Sequence[int], people: float, epsilon: float) -> list[Grid]:
        """See `Gridded`."""
        fine, coarse = granularities(people, epsilon, len(sizes), max(sizes))
        singles = [Grid((a,), (even(size, fine),)) for a, size in enumerate(sizes)]
        pairs = combinations(range(len(sizes)), 2)
        doubles = [Grid(two, tuple(even(sizes[a], coarse) for a in two)) for two in pairs]
        return singles + doubles


@dataclass(frozen=True)
class Felip(Gridded):
    """Optimised hybrid grids for attributes of which a range takes `selectivity`."""

    selectivity: float = 0.5
    name: str = "FELIP"
    adapts: bool = True

    def layout(self, sizes: Sequence[int], people: float, epsilon: float) -> list[Grid]:
        """See `Gridded`."""
        share = people / _groups(len(sizes))
        coarse = self._pair(share, epsilon)
        singles, doubles = [], []
        for axis, size in enumerate(sizes):
            starts = even(size, min(coarse, size)) if len(sizes) > 1 else even(size, 1)
            single = refine(starts, size, self._single(share, epsilon, size))
            singles.append(Grid((axis,), (single,)))
        for two in combinations(range(len(sizes)), 2):
            doubles.append(Grid(two, tuple(even(sizes[a], min(coarse, sizes[a])) for a in two)))
        return singles + doubles

    def _single(self, share: float, epsilon: float, size: int) -> int:
        def error(cells: float) -> float:
            noise = self._noise(cells, epsilon, share)
            return (_ALPHAS[0] / cells) ** 2 + cells * self.selectivity * noise

        found = minimize_scalar(error, bounds=(1.0, float(size)), method="bounded")
        return max(2, math.floor(found.x))

    def _pair(self, share: float, epsilon: float) -> int:
        r = self.selectivity

        def error(log: Floats) -> float:
            x, y = np.exp(log)
            noise = self._noise(x * y, epsilon, share)
            return float((2 * _ALPHAS[1] * r * (x + y) / (x * y)) ** 2 + x * y * r * r * noise)

        found = minimize(error, np.log([4.0, 4.0]), method="Nelder-Mead")
        return max(2, math.ceil(float(np.exp(found.x).mean()) - 1e-3))

    def _noise(self, cells: float, epsilon: float, share: float) -> float:
        """Variance of the share of a cell, by GRR or OLH."""
        odds = math.exp(epsilon)
        by_grr = (odds + cells - 2) / (share * (odds - 1) ** 2)
        return min(by_grr, oue_variance(epsilon, share))


@dataclass(frozen=True)
class Calm(Gridded):
    """Marginals of pairs, or of the attribute itself if there is only one."""

    name: str = "CALM"
    adapts: bool = True

    def layout(self, sizes: Sequence[int], people: float, epsilon: float) -> list[Grid]:
        """See `Gridded`."""
        width = min(2, len(sizes))
        every = combinations(range(len(sizes)), width)
        return [Grid(axes, tuple(np.arange(sizes[a]) for a in axes)) for axes in every]
