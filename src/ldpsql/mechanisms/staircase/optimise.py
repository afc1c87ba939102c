"""Public. Sees parameters. The staircase design of a workload: rounds of weighing and looking."""

from __future__ import annotations

import numpy as np

from ldpsql.estimate import Array
from ldpsql.mechanisms.staircase.patterns import first_patterns, missing_patterns
from ldpsql.mechanisms.staircase.program import Program

MOST_PATTERNS = 4096
_SEED = 1
_FIRST_STEPS, _STEPS, _LAST_STEPS = 20, 12, 20
_ROUNDS, _WORTH = 60, 1e-4
_NEW_SHARE = 0.05
_FAINT, _LIGHT = 1e-7, 0.05


def optimal(gram: Array, odds: float) -> Program:
    """A channel whose mean variance is within about a hundredth of the least.

    gram: positive definite, shape (cells, cells) with at least two cells.  Deterministic.
    """
    random = np.random.default_rng(_SEED)
    patterns = first_patterns(gram, odds, random)
    even = np.full(len(patterns), 2.0 / ((odds + 1.0) * len(patterns)))
    program = Program(gram, odds, patterns, even).improved(_FIRST_STEPS, _FAINT)
    for _ in range(_ROUNDS):
        missing = missing_patterns(program, random)
        if not len(missing):
            break
        before = program.variance
        program = _heaviest(program.extended(missing, _NEW_SHARE), MOST_PATTERNS + len(missing))
        program = _heaviest(program.improved(_STEPS, _FAINT), MOST_PATTERNS)
        if before - program.variance < _WORTH * program.variance:
            break
    shares = program.weights * program.totals
    return program.kept(shares > _LIGHT * shares.mean()).improved(_LAST_STEPS, _FAINT)


def _heaviest(program: Program, most: int) -> Program:
    if len(program.weights) <= most:
        return program
    shares = program.weights * program.totals
    chosen = np.zeros(len(shares), dtype=bool)
    chosen[np.argsort(-shares, kind="stable")[:most]] = True
    return program.kept(chosen)
