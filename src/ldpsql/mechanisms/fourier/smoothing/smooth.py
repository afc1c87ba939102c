"""Runs at the collector. Sees reports. From noisy blocks to one summary of non-negative tables."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldpsql.estimate import Array
from ldpsql.mechanisms.fourier.smoothing.block import Block, Smoothed, Tables
from ldpsql.mechanisms.fourier.smoothing.bootstrap import replicates
from ldpsql.mechanisms.fourier.smoothing.candidates import Candidates
from ldpsql.mechanisms.fourier.smoothing.layout import Layout
from ldpsql.mechanisms.fourier.smoothing.problem import Problem
from ldpsql.mechanisms.fourier.smoothing.project import CAP
from ldpsql.mechanisms.fourier.smoothing.select import select

LARGE = 1 << 17
REPLICATES, FEWER_REPLICATES = 20, 5


@dataclass(frozen=True)
class _Effort:
    """How much to try: candidates' metrics, cap of steps, thinning draws, replicates."""

    metrics: tuple[str, ...]
    cap: int
    draws: int
    replicates: int

    @classmethod
    def for_problem(cls, problem: Problem) -> _Effort:
        if problem.layout.cells > LARGE:
            return cls(("i",), CAP // 10, 1, FEWER_REPLICATES)
        if problem.has_gaps:
            return cls(("i", "g"), CAP, 4, REPLICATES)
        return cls(("i", "g"), 3 * CAP // 10, 2, REPLICATES)


def smooth(blocks: Sequence[Block], people: int) -> Smoothed:
    """One non-negative table per block, all of the same `people`, agreeing on shared margins.

    The candidates {ht, js, ind} x {+i, +g} and their average compete on thinned data: 2 draws of
    at most 1500 steps, or 4 of 5000 where the workload's spectrum has zeros. The best one is run
    on the data themselves and then on 20 simulated summaries. Where the blocks have more than
    2^17 cells together, only the +i candidates compete, in 1 draw of at most 500 steps, and there
    are 5 replicates. Blocks agree on shared margins to 1e-5 of the people. The random draws come
    from a hash of the coefficients: the same histogram gives the same answer.

    ValueError for blocks that do not fit each other. Specification: fourier, section 8.
    """
    if not blocks:
        raise ValueError("there must be a block to smooth")
    if people < 1:
        return _nobody(blocks)
    problem = Problem.of(blocks, people)
    effort = _Effort.for_problem(problem)
    random = np.random.default_rng(_seed(problem))
    candidates = Candidates(problem, effort.cap, effort.metrics)
    branch = select(candidates, random, effort.draws)[0]
    answer = candidates.run([branch], problem.observed[None, :])[branch]
    repeated = replicates(candidates, branch, answer.tables, random, effort.replicates)
    return Smoothed(
        tuple(table[0] for table in _by_block(answer.tables, problem.layout)),
        tuple(table.astype(np.float32) for table in _by_block(repeated, problem.layout)),
        branch,
        int(answer.iterations[0]),
        bool(answer.converged[0]),
    )


def _by_block(tables: Sequence[Array], layout: Layout) -> list[Array]:
    """Tables per kind as tables per block, without padding: (R, *sizes)."""
    found: dict[int, Array] = {}
    for table, kind in zip(tables, layout.kinds, strict=True):
        inside = table[kind.inside]
        found |= {block: inside[:, place] for place, block in enumerate(kind.members)}
    return [found[block] for block in sorted(found)]


def _nobody(blocks: Sequence[Block]) -> Smoothed:
    empty = tuple(np.zeros(block.sizes) for block in blocks)
    cells = sum(block.spectrum.size for block in blocks)
    count = FEWER_REPLICATES if cells > LARGE else REPLICATES
    none: tuple[Tables, ...] = tuple(np.zeros((count, *b.sizes), dtype=np.float32) for b in blocks)
    return Smoothed(empty, none, "empty", 0, True)


def _seed(problem: Problem) -> int:
    """A number that the data fix; the last digits, which may differ between machines, do not."""
    digest = hashlib.sha256(np.round(problem.observed, 3).tobytes())
    digest.update(str(int(problem.people)).encode())
    return int.from_bytes(digest.digest()[:16], "little")
