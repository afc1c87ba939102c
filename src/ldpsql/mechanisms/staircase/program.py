"""Public. Sees parameters. Weights of staircase patterns that minimise a workload's variance.

A staircase channel draws the report S from a cell u with probability theta_S x_S[u], where x_S is
E inside the pattern S and 1 outside. With X = sum of theta_S x_S x_S' / (1'x_S) its mean variance
is tr(X^-1 G) up to constants, which is convex in theta; the cells' probabilities sum to 1 where
sum of theta_S x_S = 1. With w_S = x_S' X^-1 G X^-1 x_S / (1'x_S) weights are optimal where w_S <=
lambda'x_S for all S, with equality where theta_S > 0. The multiplicative step

    theta_S <- theta_S (w_S / lambda'x_S)^p

keeps the constraint if lambda minimises 1'lambda - sum of theta_S w_S^p (lambda'x_S)^(1-p) / (1-p);
with p = 1/2 it never raises the variance. Specification: rr-optimum, section 2.2.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ldpsql.estimate import Array
from ldpsql.mechanisms.cells.words import Patterns

_CAREFUL = 5
_EXACT = 1e-11
_NEWTON_STEPS, _HALVINGS = 40, 40


@dataclass(frozen=True, eq=False)
class Program:
    """Weighted patterns for a Gram matrix.

    gram: shape (cells, cells).  odds: E.  patterns: shape (reports, cells).  weights: theta,
    shape (reports,).  start: lambda from which the next is sought, or None.
    """

    gram: Array
    odds: float
    patterns: Patterns
    weights: Array
    start: Array | None = field(default=None)

    @cached_property
    def levels(self) -> Array:
        """x_S by rows, shape (reports, cells)."""
        return np.asarray(1.0 + (self.odds - 1.0) * self.patterns)

    @cached_property
    def totals(self) -> Array:
        """1'x_S, shape (reports,)."""
        return np.asarray(self.levels.sum(axis=1))

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
        """Mean over the queries, per person, of exactly these people spread evenly."""
        return (self.objective - float(np.trace(self.gram))) / len(self.gram)

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
        """lambda for a power p, shape (cells,), by damped Newton steps."""
        scaled = self.weights * self.gains**power
        prices = self._first_prices()
        sums = self.levels @ prices
        for _ in range(_NEWTON_STEPS):
            terms = scaled * sums**-power
            slope = 1.0 - terms @ self.levels
            if np.abs(slope).max() < _EXACT:
                break
            curvature = (self.levels * (power * terms / sums)[:, None]).T @ self.levels
            step = np.linalg.solve(curvature, slope)
            change = self.levels @ step
            value = prices.sum() - float(scaled @ sums ** (1.0 - power)) / (1.0 - power)
            share = 1.0
            for _ in range(_HALVINGS):
                moved = sums - share * change
                if moved.min() > 0.0:
                    rest = float(scaled @ moved ** (1.0 - power)) / (1.0 - power)
                    if (prices - share * step).sum() - rest <= value + _EXACT * abs(value):
                        break
                share /= 2.0
            else:
                break
            prices, sums = prices - share * step, moved
        return np.asarray(prices)

    def _first_prices(self) -> Array:
        if self.start is not None and (self.levels @ self.start).min() > 0.0:
            return self.start
        return np.full(len(self.gram), self.objective / len(self.gram))

    def improved(self, steps: int, least: float) -> Program:
        """After so many steps; patterns whose probability falls below `least` are dropped."""
        found = self
        for step in range(steps):
            power = 0.9 if step >= _CAREFUL and step % 2 else 0.5
            found = found._step(power)._without(least)
        return found

    def _step(self, power: float) -> Program:
        prices = self.prices(power)
        weights = self.weights * (self.gains / (self.levels @ prices)) ** power
        return replace(self, weights=weights, start=prices)

    def _without(self, least: float) -> Program:
        return self.kept(self.weights * self.totals >= least * len(self.gram))

    def kept(self, chosen: Patterns) -> Program:
        """Some of the patterns; they need not satisfy the constraint, the next step does."""
        if chosen.all():
            return self
        return replace(self, patterns=self.patterns[chosen], weights=self.weights[chosen])

    def extended(self, patterns: Patterns, share: float) -> Program:
        """With more patterns, which get a share of the weight evenly."""
        old, cells = self.weights * (1.0 - share), len(self.gram)
        totals = cells + (self.odds - 1.0) * patterns.sum(axis=1)
        new = share * cells / (len(patterns) * totals)
        return replace(
            self,
            patterns=np.concatenate([self.patterns, patterns]),
            weights=np.concatenate([old, new]),
        )
