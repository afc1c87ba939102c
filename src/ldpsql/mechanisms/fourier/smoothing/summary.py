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
from ldpsql.mechanisms.fourier.smoothing.project import FINE, Stop
from ldpsql.mechanisms.fourier.smoothing.select import select

# Cells of all blocks together, above which less is tried.
LARGE, HUGE = 1 << 14, 1 << 17
REPLICATES, FEWER_REPLICATES = 20, 5


@dataclass(frozen=True)
class _Effort:
    """How much to try: thinning draws, shrinkages in the workload metric, replicates.

    trial: when to stop a projection that only serves to compare or to simulate.  final: the one
    that becomes the answer.
    """

    draws: int
    finalists: int
    replicates: int
    trial: Stop
    final: Stop = FINE

    @classmethod
    def for_problem(cls, problem: Problem) -> _Effort:
        cells = problem.layout.cells
        count = _replicates(cells)
        if cells > HUGE:
            return cls(1, 0, count, Stop(200, 1e-3), Stop(1000, 1e-4))
        if problem.has_gaps:
            return cls(4, 0 if cells > LARGE else 3, count, Stop(FINE.cap, 1e-4))
        return cls(2, 0 if cells > LARGE else 1, count, Stop(600, 1e-4))


def _replicates(cells: int) -> int:
    return FEWER_REPLICATES if cells > HUGE else REPLICATES


def smooth(blocks: Sequence[Block], people: int) -> Smoothed:
    """One non-negative table per block, all of the same `people`, agreeing on shared margins.

    The candidates {ht, js, ind}+i, their average and the +g of the best of the three compete on
    thinned data: 2 draws of at most 600 steps to 1e-4; or, where the workload's spectrum has zeros,
    with every +g, 4 draws of 5000. The best one is run on the data themselves (5000 steps, 1e-5)
    and then on 20 simulated summaries. Above 2^14 cells (of all blocks together) no +g competes,
    which takes several times the steps: on 36 simulated tables of 64 x 64 that cost 1 % of mean
    squared error in the geometric mean and a quarter at worst. Above 2^17 there is 1 draw of at
    most 200 steps to 1e-3, with 1000 to 1e-4 for the answer and 5 replicates. Blocks agree on
    shared margins to that share of the people. The random draws come from a hash of the
    coefficients: the same histogram gives the same answer.

    ValueError for blocks that do not fit each other. Specification: fourier, section 8.
    """
    if not blocks:
        raise ValueError("there must be a block to smooth")
    if people < 1:
        return _nobody(blocks)
    problem = Problem.of(blocks, people)
    effort = _Effort.for_problem(problem)
    random = np.random.default_rng(_seed(problem))
    candidates = Candidates(problem)
    branch = select(candidates, random, effort.draws, effort.finalists, effort.trial)[0]
    answer = candidates.run([branch], problem.observed[None, :], stop=effort.final)[branch]
    repeated = replicates(
        candidates, branch, answer.tables, random, effort.replicates, effort.trial
    )
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
    count = _replicates(sum(block.spectrum.size for block in blocks))
    none: tuple[Tables, ...] = tuple(np.zeros((count, *b.sizes), dtype=np.float32) for b in blocks)
    return Smoothed(empty, none, "empty", 0, True)


def _seed(problem: Problem) -> int:
    """A number that the data fix; rounded, since last digits may differ between machines."""
    digest = hashlib.sha256(np.round(problem.observed, 3).tobytes())
    digest.update(str(int(problem.people)).encode())
    return int.from_bytes(digest.digest()[:16], "little")
