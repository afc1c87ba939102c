"""The staircase channel of least variance for a workload: an A-optimal design problem.

A staircase channel draws the report S from a cell u with probability theta_S x_S[u], where x_S is
E = e^epsilon inside the pattern S of cells and 1 outside. With
X = sum of theta_S x_S x_S' / (p'x_S), p the people of every cell (with mean 1), its mean variance
over these people is tr(X^-1 G) up to constants, G the workload's Gram matrix, which is convex in
theta; the cells' probabilities sum to 1 where sum of theta_S x_S = 1. With
w_S = x_S' X^-1 G X^-1 x_S / (p'x_S) weights are optimal where w_S <= lambda'x_S for all S, with
equality where theta_S > 0. The multiplicative step

    theta_S <- theta_S (w_S / lambda'x_S)^p

keeps the constraint if lambda minimises 1'lambda - sum of theta_S w_S^p (lambda'x_S)^(1-p) / (1-p);
with p = 1/2 it never raises the variance. There are 2^n patterns, so rounds of such steps alternate
with a search for patterns that violate w_S <= lambda'x_S. Source: docs/spec/rr-optimum.md#2.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.estimate import Array
from ldpsql.algebra.least_error import amounts_of, pattern_gram
from ldpsql.algebra.workload import Workload

Patterns = NDArray[np.bool_]

LEAST_SHARE = 1e-3
MOST_PATTERNS = 4096
_SEED = 1

# -- what a workload asks ----------------------------------------------------------------------


def cell_gram(workload: Workload) -> Array:
    """Mean of q q' over a workload's queries, shape (cells, cells), levels of measures included.

    A sum counts in units of half the distance of its measure's bounds, about their middle, and one
    of squares in units of its square.
    """
    blocks, domain = pattern_gram(workload), workload.domain
    # factors[p, a]: the factor of a cell with the levels a in a query of pattern p: 1 for counts,
    # and for the sum of measure p - 1 what its level stands for, the first measure's being the
    # slowest.
    centred = replace(domain, bounds=((-1.0, 1.0),) * len(domain.bounds))
    factors = np.ones((blocks.shape[0], 1))
    for measure, count in enumerate(domain.levels):
        own = np.ones((len(factors), count))
        own[1 + measure] = centred.level_values(measure)
        factors = (factors[:, :, None] * own[:, None, :]).reshape(len(factors), -1)
    whole = np.einsum("piqj,pa,qb->iajb", blocks, factors, factors, optimize=True)
    cells = blocks.shape[1] * factors.shape[1]
    gram = np.asarray(whole.reshape(cells, cells))
    for query in workload.queries:
        if query.is_square:
            counted: Array = amounts_of(query, domain.sizes).ravel()
            for measure, count in enumerate(domain.levels):
                is_own = measure == query.measure
                values = centred.level_squares(measure) if is_own else np.ones(count)
                counted = np.multiply.outer(counted, values).ravel()
            gram += query.weight * np.outer(counted, counted)
    return gram


def raise_eigenvalues(gram: Array, share: float = LEAST_SHARE) -> Array:
    """The Gram matrix with no eigenvalue below a share of their mean.

    What a workload does not ask about stays answerable, at an honest and large variance.
    """
    values, vectors = np.linalg.eigh(gram)
    least = share * max(float(values.mean()), np.finfo(float).tiny)
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)


# -- weights of given patterns -----------------------------------------------------------------

_CAREFUL = 5
_EXACT = 1e-11
_NEWTON_STEPS, _HALVINGS = 40, 40


@dataclass(frozen=True, eq=False)
class Program:
    """Weighted patterns for a Gram matrix.

    gram: shape (cells, cells).  odds: E.  patterns: shape (reports, cells).  weights: theta,
    shape (reports,).  people: p, shape (cells,).  start: lambda from which the next is sought, or
    None.
    """

    gram: Array
    odds: float
    patterns: Patterns
    weights: Array
    people: Array
    start: Array | None = None

    @cached_property
    def levels(self) -> Array:
        """x_S by rows, shape (reports, cells)."""
        return np.asarray(1.0 + (self.odds - 1.0) * self.patterns)

    @cached_property
    def totals(self) -> Array:
        """p'x_S, shape (reports,)."""
        return np.asarray(self.levels @ self.people)

    @cached_property
    def inverse(self) -> Array:
        """X^-1."""
        scaled = self.levels * (self.weights / self.totals)[:, None]
        return np.asarray(np.linalg.inv(scaled.T @ self.levels), dtype=np.float64)

    @cached_property
    def objective(self) -> float:
        """tr(X^-1 G)."""
        return float(np.sum(self.inverse * self.gram))

    @property
    def variance(self) -> float:
        """Mean over the queries, per person, of exactly these people."""
        return (self.objective - float(np.diagonal(self.gram) @ self.people)) / len(self.gram)

    @cached_property
    def slopes(self) -> Array:
        """H = X^-1 G X^-1."""
        return np.asarray(self.inverse @ self.gram @ self.inverse)

    @cached_property
    def gains(self) -> Array:
        """w_S, shape (reports,)."""
        quadratic = np.einsum("si,si->s", self.levels @ self.slopes, self.levels)
        return np.asarray(quadratic / self.totals)

    def prices(self, power: float) -> Array:
        """lambda for a power p, shape (cells,), by damped Newton steps.

        The function is convex and finite only where every lambda'x_S is positive, so a step is
        halved until it stays there and lowers the function.
        """
        scaled = self.weights * self.gains**power

        def rest(sums: Array) -> float:
            return float(scaled @ sums ** (1.0 - power)) / (1.0 - power)

        prices = np.full(len(self.gram), self.objective / len(self.gram))
        if self.start is not None and (self.levels @ self.start).min() > 0.0:
            prices = self.start
        sums = self.levels @ prices
        for _ in range(_NEWTON_STEPS):
            # Gradient 1 - sum c_S x_S and Hessian sum p c_S / (lambda'x_S) x_S x_S', with
            # c_S = theta_S w_S^p (lambda'x_S)^-p.
            terms = scaled * sums**-power
            slope = 1.0 - terms @ self.levels
            if np.abs(slope).max() < _EXACT:
                break
            curvature = (self.levels * (power * terms / sums)[:, None]).T @ self.levels
            step = np.linalg.solve(curvature, slope)
            change = self.levels @ step
            value = prices.sum() - rest(sums)
            for share in 0.5 ** np.arange(_HALVINGS):
                after, moved = prices - share * step, sums - share * change
                if moved.min() > 0.0 and after.sum() - rest(moved) <= value + _EXACT * abs(value):
                    break
            else:
                break
            prices, sums = after, moved
        return np.asarray(prices)

    def improve(self, steps: int, least: float) -> Program:
        """After so many steps; patterns whose probability falls below `least` are dropped.

        The first steps have power 1/2, which is monotone; then every second one is faster.
        """
        program = self
        for step in range(steps):
            power = 0.9 if step >= _CAREFUL and step % 2 else 0.5
            prices = program.prices(power)
            weights = program.weights * (program.gains / (program.levels @ prices)) ** power
            program = replace(program, weights=weights, start=prices)
            program = program.keep(program.weights * program.totals >= least * len(self.gram))
        return program

    def keep(self, chosen: Patterns) -> Program:
        """Some of the patterns; they need not satisfy the constraint, the next step does."""
        if chosen.all():
            return self
        return replace(self, patterns=self.patterns[chosen], weights=self.weights[chosen])

    def keep_heaviest(self, most: int) -> Program:
        """The patterns of the largest probabilities."""
        chosen = np.zeros(len(self.weights), dtype=bool)
        chosen[np.argsort(-self.weights * self.totals, kind="stable")[:most]] = True
        return self.keep(chosen)

    def extend(self, patterns: Patterns, share: float) -> Program:
        """With more patterns, which get a share of the weight evenly."""
        old, cells = self.weights * (1.0 - share), len(self.gram)
        totals = cells + (self.odds - 1.0) * (patterns @ self.people)
        new = share * cells / (len(patterns) * totals)
        return replace(
            self,
            patterns=np.concatenate([self.patterns, patterns]),
            weights=np.concatenate([old, new]),
        )


# -- which patterns ----------------------------------------------------------------------------

_PER_CELL = 10
_FROM_HEAVIEST, _FROM_RANDOM = 300, 200
_PAYS = 1e-4
_FLIPS_PER_CELL = 3


def make_first_patterns(gram: Array, odds: float, random: np.random.Generator) -> Patterns:
    """Level sets and their complements, each once, shape (patterns, cells).

    They are level sets of mixtures of neighbouring eigenvectors of the workload, of about
    n / (E + 1) cells. With their complements every cell is favoured as often as not, so that equal
    weights are a channel.
    """
    cells = len(gram)
    # Eigenvectors without the constant direction, by rows, and roots of their eigenvalues.
    centred = gram - gram.mean(axis=0)
    centred = centred - centred.mean(axis=1, keepdims=True)
    values, columns = np.linalg.eigh(centred)
    chosen = values > 1e-9 * values[-1]
    vectors, roots = columns[:, chosen][:, ::-1].T, np.sqrt(values[chosen][::-1])
    near = cells / (odds + 1.0)
    sizes = sorted({min(max(int(size), 1), cells - 1) for size in (near, near + 1.0)})
    rows = [~np.eye(cells, dtype=bool)]
    for place, share in enumerate(roots / roots.sum()):
        count = max(2, int(np.ceil(_PER_CELL * cells * share)))
        for angle in 2.0 * np.pi * (np.arange(count) + random.random(count)) / count:
            beside = place + 1 if (random.random() < 0.5 or not place) else place - 1
            other = vectors[min(beside, len(roots) - 1)]
            mixed = np.cos(angle) * vectors[place] + np.sin(angle) * other
            ranks = np.argsort(-mixed - 1e-9 * random.random(cells))  # ties fall at random
            level = np.zeros((1, cells), dtype=bool)
            level[0, ranks[: random.choice(sizes)]] = True
            rows.append(level)
    patterns = np.concatenate(rows)
    return np.unique(np.concatenate([patterns, ~patterns]), axis=0)


def find_missing_patterns(program: Program, random: np.random.Generator) -> Patterns:
    """Patterns that are not in the program and would lower its objective, shape (p, cells).

    Found by changing single cells of heavy and of random patterns as long as that pays.
    """
    cells = len(program.gram)
    heaviest = np.argsort(-program.weights, kind="stable")[:_FROM_HEAVIEST]
    drawn = random.random((_FROM_RANDOM, cells)) < 1.0 / (program.odds + 1.0)
    search = Search(program, np.concatenate([program.patterns[heaviest], drawn]))
    for _ in range(_FLIPS_PER_CELL * cells):
        if not search.flip():
            break
    known = {row.tobytes() for row in program.patterns}
    missing = {
        row.tobytes(): row
        for row, pays in zip(search.patterns, search.excess > _PAYS * search.gains, strict=True)
        if pays and row.any() and not row.all() and row.tobytes() not in known
    }
    return np.array([missing[key] for key in sorted(missing)], dtype=bool).reshape(-1, cells)


class Search:
    """Patterns on their way up, by rows: w_S - lambda'x_S with what a flip changes."""

    def __init__(self, program: Program, patterns: Patterns) -> None:
        levels = 1.0 + (program.odds - 1.0) * patterns
        self.program, self.patterns, self.prices = program, patterns.copy(), program.prices(0.5)
        self.products = levels @ program.slopes
        self.quadratics = np.einsum("si,si->s", self.products, levels)
        self.totals = levels @ program.people
        self.costs = levels @ self.prices

    @property
    def gains(self) -> Array:
        """w_S."""
        return np.asarray(self.quadratics / self.totals)

    @property
    def excess(self) -> Array:
        """w_S - lambda'x_S."""
        return np.asarray(self.gains - self.costs)

    def flip(self) -> bool:
        """The best change of one cell of every pattern; whether any paid.

        A change of x by d in cell u moves x'Hx by d (2 (Hx)_u + d H_uu), and p'x by d p_u, so all
        cells of all patterns are tried at once in O(patterns x cells).
        """
        slopes = self.program.slopes
        change = np.where(self.patterns, 1.0 - self.program.odds, self.program.odds - 1.0)
        quadratics = self.quadratics[:, None] + change * (
            2.0 * self.products + change * np.diagonal(slopes)
        )
        values = quadratics / (self.totals[:, None] + change * self.program.people)
        values -= self.costs[:, None] + change * self.prices
        best = values.argmax(axis=1)
        every = np.arange(len(best))
        better = values[every, best] - self.excess
        rows = np.flatnonzero(better > 1e-10 * self.program.objective)
        cells = best[rows]
        changed = change[rows, cells]
        self.quadratics[rows] = quadratics[rows, cells]
        self.totals[rows] += changed * self.program.people[cells]
        self.costs[rows] += changed * self.prices[cells]
        self.products[rows] += changed[:, None] * slopes[cells]
        self.patterns[rows, cells] ^= True
        return bool(len(rows))


# -- the rounds --------------------------------------------------------------------------------

_FIRST_STEPS, _STEPS, _LAST_STEPS = 20, 12, 20
_ROUNDS, _WORTH = 60, 1e-4
_NEW_SHARE = 0.05
_FAINT, _LIGHT = 1e-7, 0.05


def optimise(gram: Array, odds: float, people: Array | None = None) -> Program:
    """A channel whose mean variance is within about a hundredth of the least.

    gram: positive definite, shape (cells, cells) with at least two cells.  people: of every cell,
    with mean 1; as many in each by default.  Deterministic.
    """
    people = np.ones(len(gram)) if people is None else people
    random = np.random.default_rng(_SEED)
    patterns = make_first_patterns(gram, odds, random)
    even = np.full(len(patterns), 2.0 / ((odds + 1.0) * len(patterns)))
    program = Program(gram, odds, patterns, even, people).improve(_FIRST_STEPS, _FAINT)
    for _ in range(_ROUNDS):
        missing = find_missing_patterns(program, random)
        if not len(missing):
            break
        before = program.variance
        program = program.extend(missing, _NEW_SHARE).keep_heaviest(MOST_PATTERNS + len(missing))
        program = program.improve(_STEPS, _FAINT).keep_heaviest(MOST_PATTERNS)
        if before - program.variance < _WORTH * program.variance:
            break
    shares = program.weights * program.totals
    return program.keep(shares > _LIGHT * shares.mean()).improve(_LAST_STEPS, _FAINT)
