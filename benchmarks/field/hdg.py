"""HDG: grids of single attributes and of pairs, made consistent, then one table.

Yang, Wang, Li, Cheng, Su, VLDB 2021: a grid per attribute and a coarser one per pair, of sizes by
the paper's guideline with alpha .7 and .03 as powers of two. The people are dealt evenly to the
grids and answer by OLH, which has the variance of OUE. Two steps alternate: grids that share an
attribute are made to agree on how many people are in each of its coarsest slices (weighted by the
number of cells that are added up), and all cells are made non-negative. The table is the one of
largest entropy with these cells, by iterative proportional fitting (the paper's weighted update).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.numerics import project_on_simplex

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
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


def oue(counts: Integers, epsilon: float, random: np.random.Generator) -> Floats:
    """Unbiased shares of cells by OUE from how many people hold each, shape (cells,), drawn from
    the exact law: bits are independent, so the set bits of a cell are a sum of two binomials."""
    people, low = counts.sum(), 1.0 / (math.exp(epsilon) + 1.0)
    held = random.binomial(counts, 0.5) + random.binomial(people - counts, low)
    return np.asarray((held / people - low) / (0.5 - low))


def deal(counts: Floats, groups: int, random: np.random.Generator) -> Iterator[Integers]:
    """The people of a table, dealt at random to groups of equal size: the table of each group."""
    left, shape = counts.ravel().astype(np.int64), counts.shape
    for group in range(groups, 1, -1):
        size = int(left.sum()) // group
        own = random.multivariate_hypergeometric(left, size, method="marginals")
        left = left - own
        yield own.reshape(shape)
    yield left.reshape(shape)


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


# -- the mechanism ---------------------------------------------------------------------------------


def granularities(
    people: float, epsilon: float, attributes: int = 2, most: int = 64
) -> tuple[int, int]:
    """HDG's guideline: cells of a grid of one attribute, and per attribute of a pair, as the
    nearest powers of two."""
    odds, share = math.exp(epsilon), people / (attributes + math.comb(attributes, 2))
    single = (share * (odds - 1) ** 2 * _ALPHAS[0] ** 2 / (2 * odds)) ** (1 / 3)
    double = math.sqrt(2 * _ALPHAS[1] * (odds - 1) * math.sqrt(share / odds))
    fine, coarse = (_power_of_two(min(cells, most)) for cells in (single, double))
    return max(fine, coarse), coarse


def _power_of_two(cells: float) -> int:
    """The nearest power of two, at least 2; the lower one of two that are equally near."""
    low = 2 ** max(0, math.floor(math.log2(max(cells, 1.0))))
    return max(2, low if cells - low <= 2 * low - cells else 2 * low)


def layout(sizes: Sequence[int], people: float, epsilon: float) -> list[Grid]:
    """The grids of single attributes, whose cells lie within those of the grids of pairs."""
    fine, coarse = granularities(people, epsilon, len(sizes), max(sizes))
    singles = [Grid((a,), (even(size, fine),)) for a, size in enumerate(sizes)]
    pairs = combinations(range(len(sizes)), 2)
    return singles + [Grid(two, tuple(even(sizes[a], coarse) for a in two)) for two in pairs]


def estimate(counts: Floats, epsilon: float, random: np.random.Generator) -> Floats:
    """The table of shares from one survey of the people who are counted."""
    grids = layout(counts.shape, counts.sum(), epsilon)
    numbers = [grid.number(counts.shape) for grid in grids]
    found = []
    for grid, number, own in zip(grids, numbers, deal(counts, len(grids), random), strict=True):
        held = np.bincount(number, own.ravel(), math.prod(grid.shape)).astype(np.int64)
        found.append(oue(held, epsilon, random).reshape(grid.shape))
    agree(grids, found)
    return fit(counts.shape, numbers, [cells.ravel() for cells in found], 1 / counts.sum())
