"""WF: the workload factorization of McKenna, Maity, Mazumdar, Miklau (VLDB 2020).

A matrix of report probabilities with four reports per code is optimised for all ranges of a line by
projected gradient descent, as the paper does: least mean variance of the unbiased estimate under
the bounds of epsilon-LDP. Answers are unbiased, or, with WNNLS, those of the non-negative table
whose ranges are nearest to them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import nnls

from benchmarks.field.questions import Floats, Question, Table, alone

_REPORTS, _STEPS, _TRIAL, _LARGEST, _BISECTIONS = 4, 250, 20, 256, 32


def ranges_gram(codes: int) -> Floats:
    """W^T W of all ranges: how many ranges hold both codes."""
    place = np.arange(codes)
    low, high = np.minimum.outer(place, place) + 1, codes - np.maximum.outer(place, place)
    return (low * high).astype(float)


def project(wanted: Floats, lowest: Floats, epsilon: float) -> Floats:
    """The nearest matrix whose columns sum to 1 with every row within [z, e^epsilon z]."""
    high = math.exp(epsilon) * lowest
    below = (lowest[:, None] - wanted).min(axis=0)
    above = (high[:, None] - wanted).max(axis=0)
    for _ in range(_BISECTIONS):
        middle = (below + above) / 2
        is_over = np.clip(wanted + middle, lowest[:, None], high[:, None]).sum(axis=0) > 1.0
        above, below = np.where(is_over, middle, above), np.where(is_over, below, middle)
    return np.clip(wanted + (below + above) / 2, lowest[:, None], high[:, None])


def variance_and_gradient(matrix: Floats, gram: Floats) -> tuple[float, Floats]:
    """tr((Q^T D^-1 Q)^-1 G) with D the row sums of Q, and its gradient."""
    sums = matrix.sum(axis=1)
    scaled = matrix / sums[:, None]
    inverse = np.linalg.inv(matrix.T @ scaled)
    middle = inverse @ gram @ inverse
    right = scaled @ middle
    gradient = -2.0 * right + np.einsum("ij,ij->i", right, scaled)[:, None]
    return float(np.vdot(inverse, gram)), gradient


@cache
def optimise(codes: int, epsilon: float) -> Floats:
    """The matrix, reports (rows) by codes; kept, as it takes half a minute of CPU time."""
    gram = ranges_gram(codes)
    random, rows = np.random.default_rng(0), _REPORTS * codes
    lowest = np.full(rows, (1.0 + math.exp(-epsilon)) / 2 / rows)
    start = project(random.random((rows, codes)), lowest, epsilon)
    # The rate is doubled for as long as the first steps get further with it.
    _, gradient = variance_and_gradient(start, gram)
    rate = 0.1 / rows / np.abs(gradient).max()
    begun, further = (math.inf, start), _descend(start, gram, epsilon, rate, _TRIAL)
    while further[0] < begun[0]:
        begun, rate = further, 2.0 * rate
        further = _descend(start, gram, epsilon, rate, _TRIAL)
    return _descend(begun[1], gram, epsilon, rate / 2.0, _STEPS)[1]


def _descend(
    matrix: Floats, gram: Floats, epsilon: float, rate: float, steps: int
) -> tuple[float, Floats]:
    """The best matrix on the way, and its variance."""
    lowest, odds = matrix.min(axis=1), math.exp(epsilon)
    best = (math.inf, matrix)
    for step in range(steps):
        try:
            value, gradient = variance_and_gradient(matrix, gram)
        except np.linalg.LinAlgError:
            break
        if not math.isfinite(value) or value < 0.0 or value > 4.0 * best[0]:
            break
        if value < best[0]:
            best = (value, matrix)
        own = rate * 0.5 ** (step // 50)
        is_low, is_high = matrix <= lowest[:, None], matrix >= odds * lowest[:, None]
        pull = (gradient * is_low).sum(axis=1) + odds * (gradient * is_high).sum(axis=1)
        moved = np.clip(lowest - own / len(gram) / odds * pull, 0.0, 1.0)
        # Columns can sum to 1 only if all lows do not exceed it and all highs reach it.
        lowest = moved * (np.clip(moved.sum(), 1.0001 / odds, 0.9999) / moved.sum())
        matrix = project(matrix - own * gradient, lowest, epsilon)
        is_kept = lowest > 1e-10
        matrix, lowest = matrix[is_kept], lowest[is_kept]
    return best


@dataclass(frozen=True)
class Factorization:
    """The mechanism, of one dimension."""

    biased: bool

    @property
    def name(self) -> str:
        """WF, or WF + WNNLS."""
        return "WF + WNNLS" if self.biased else "WF"

    def refuses(self, sizes: Sequence[int]) -> str:
        """Why the mechanism cannot be used for these codes, or an empty text."""
        if len(sizes) == 1 and sizes[0] <= _LARGEST:
            return ""
        cells = math.prod(sizes)
        return f"a matrix of {_REPORTS * cells:,} x {cells:,} is too large to optimise"

    def estimate(self, counts: Floats, epsilon: float, random: np.random.Generator) -> Floats:
        """See `ranges.Method`."""
        matrix = optimise(len(counts), epsilon)
        reports = np.zeros(len(matrix))
        for own, column in zip(counts.astype(np.int64).tolist(), matrix.T, strict=True):
            reports += random.multinomial(own, column / column.sum())
        scaled = matrix / matrix.sum(axis=1)[:, None]
        shares = np.linalg.solve(matrix.T @ scaled, scaled.T @ reports) / counts.sum()
        if not self.biased:
            return np.asarray(shares)
        root = np.linalg.cholesky(ranges_gram(len(counts))).T
        return np.asarray(nnls(root, root @ shares)[0])

    def questions(
        self, counts: Floats, epsilon: float, random: np.random.Generator
    ) -> list[Question]:
        """See `ranges.Method`."""
        return alone(Table(optimise(len(counts), epsilon)))
