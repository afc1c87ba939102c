"""Public. Sees parameters. Which staircase patterns to weigh: first ones, and missing ones.

The first ones are level sets of mixtures of neighbouring eigenvectors of the workload, of about
n / (E + 1) cells. A missing one is a pattern that would lower the variance; it is found by
changing single cells as long as that pays.  Specification: rr-optimum, section 2.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpsql.estimate import Array
from ldpsql.mechanisms.cells.words import Patterns
from ldpsql.mechanisms.staircase.program import Program

_PER_CELL = 10
_FROM_HEAVIEST, _FROM_RANDOM = 300, 200
_PAYS = 1e-4
_FLIPS_PER_CELL = 3


def first_patterns(gram: Array, odds: float, random: np.random.Generator) -> Patterns:
    """Level sets and their complements, each once, shape (patterns, cells).

    With their complements every cell is favoured as often as not, so that equal weights are a
    channel.
    """
    cells = len(gram)
    vectors, roots = _directions(gram)
    sizes = _sizes(cells, odds)
    found = [~np.eye(cells, dtype=bool)]
    for place, share in enumerate(roots / roots.sum()):
        count = max(2, int(np.ceil(_PER_CELL * cells * share)))
        for angle in 2.0 * np.pi * (np.arange(count) + random.random(count)) / count:
            beside = place + 1 if (random.random() < 0.5 or not place) else place - 1
            other = vectors[min(beside, len(roots) - 1)]
            mixed = np.cos(angle) * vectors[place] + np.sin(angle) * other
            ranks = np.argsort(-mixed - 1e-9 * random.random(cells))
            level = np.zeros((1, cells), dtype=bool)
            level[0, ranks[: random.choice(sizes)]] = True
            found.append(level)
    patterns = np.concatenate(found)
    return np.unique(np.concatenate([patterns, ~patterns]), axis=0)


def _directions(gram: Array) -> tuple[Array, Array]:
    """Eigenvectors without the constant direction, by rows, and roots of their eigenvalues."""
    centred = gram - gram.mean(axis=0)
    centred = centred - centred.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(centred)
    kept = values > 1e-9 * values[-1]
    return vectors[:, kept][:, ::-1].T, np.sqrt(values[kept][::-1])


def _sizes(cells: int, odds: float) -> list[int]:
    """The two numbers of cells next to n / (E + 1)."""
    near = cells / (odds + 1.0)
    return sorted({min(max(int(size), 1), cells - 1) for size in (near, near + 1.0)})


def missing_patterns(program: Program, random: np.random.Generator) -> Patterns:
    """Patterns that are not in the program and would lower its objective, shape (p, cells)."""
    cells = len(program.gram)
    heaviest = np.argsort(-program.weights, kind="stable")[:_FROM_HEAVIEST]
    drawn = random.random((_FROM_RANDOM, cells)) < 1.0 / (program.odds + 1.0)
    search = _Search.start(program, np.concatenate([program.patterns[heaviest], drawn]))
    for _ in range(_FLIPS_PER_CELL * cells):
        if not search.flip():
            break
    known = {row.tobytes() for row in program.patterns}
    found = {
        row.tobytes(): row
        for row, pays in zip(search.patterns, search.excess > _PAYS * search.gains, strict=True)
        if pays and row.any() and not row.all() and row.tobytes() not in known
    }
    return np.array([found[key] for key in sorted(found)], dtype=bool).reshape(-1, cells)


def worst_excess(program: Program, random: np.random.Generator) -> float:
    """Largest w_S / lambda'x_S - 1 that the search finds, 0 at the optimum; inf where no finite
    ratio is the largest."""
    drawn = random.random((_FROM_RANDOM, len(program.gram))) < 1.0 / (program.odds + 1.0)
    search = _Search.start(program, np.concatenate([program.patterns, drawn]))
    while search.flip():
        pass
    if search.costs.min() <= 0.0:
        return float("inf")
    return float((search.excess / search.costs).max())


@dataclass(eq=False)
class _Search:
    """Patterns on their way up, by rows: w_S - lambda'x_S with what a flip changes."""

    program: Program
    prices: Array
    patterns: Patterns
    products: Array
    quadratics: Array
    totals: Array
    costs: Array

    @classmethod
    def start(cls, program: Program, patterns: Patterns) -> _Search:
        prices = program.prices(0.5)
        levels = 1.0 + (program.odds - 1.0) * patterns
        products = levels @ program.slopes
        return cls(
            program,
            prices,
            patterns.copy(),
            products,
            np.einsum("si,si->s", products, levels),
            levels.sum(axis=1),
            levels @ prices,
        )

    @property
    def gains(self) -> Array:
        """w_S."""
        return np.asarray(self.quadratics / self.totals)

    @property
    def excess(self) -> Array:
        """w_S - lambda'x_S."""
        return np.asarray(self.gains - self.costs)

    def flip(self) -> bool:
        """The best change of one cell of every pattern; whether any paid."""
        slopes = self.program.slopes
        change = np.where(self.patterns, 1.0 - self.program.odds, self.program.odds - 1.0)
        quadratics = self.quadratics[:, None] + change * (
            2.0 * self.products + change * np.diagonal(slopes)
        )
        values = quadratics / (self.totals[:, None] + change)
        values -= self.costs[:, None] + change * self.prices
        best = values.argmax(axis=1)
        every = np.arange(len(best))
        better = values[every, best] - self.excess
        rows = np.flatnonzero(better > 1e-10 * self.program.objective)
        cells = best[rows]
        changed = change[rows, cells]
        self.quadratics[rows] = quadratics[rows, cells]
        self.totals[rows] += changed
        self.costs[rows] += changed * self.prices[cells]
        self.products[rows] += changed[:, None] * slopes[cells]
        self.patterns[rows, cells] ^= True
        return bool(len(rows))
