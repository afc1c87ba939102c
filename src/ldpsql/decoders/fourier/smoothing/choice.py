"""The candidates for a summary, the choice among them, and simulated summaries beside it.

A candidate shrinks the coefficients, possibly towards independent attributes, and projects them
onto non-negative tables. Data thinning judges them: noise e of the reports' own law splits the
observed T into A = T + sqrt((1-a)/a) e and B = T - sqrt(a/(1-a)) e, which are independent if the
noise is normal; every candidate works on A and is judged by B, in the workload's metric. The best
one also runs on simulated reports of its own answer (a parametric bootstrap).
Source: docs/spec/fourier.md#8.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpsql.decoders.fourier.smoothing.layout import (
    Block,
    Coefficients,
    Indices,
    Layout,
    Smoothed,
    Tables,
)
from ldpsql.decoders.fourier.smoothing.problem import Problem, shrink
from ldpsql.decoders.fourier.smoothing.project import FINE, Projected, Stop, project
from ldpsql.estimate import Array

SHARE = 0.75
"""Of the information that thinning gives to the half that candidates work on."""
AVERAGE = "avg"
# What the average is the mean of.
_AVERAGED = ("ht+i", "ind+i")

# Cells of all blocks together, above which less is tried.
LARGE, HUGE = 1 << 14, 1 << 17
REPLICATES, FEWER_REPLICATES = 20, 5


@dataclass(frozen=True, eq=False)
class Candidates:
    """Runs the candidates of one problem.

    A name is "shrinkage+metric": "js" shrinks every band, "ht" only bands without significant
    energy, and "ind" every band's difference from independent attributes; the projection is in
    the metric of the information, "i", or of the workload, "g". "avg" is the mean of two.
    """

    problem: Problem

    @cached_property
    def shrinkages(self) -> tuple[str, ...]:
        """Their names; with one axis there is no independence prior."""
        return ("ht", "js", "ind") if len(self.problem.layout.axes) > 1 else ("ht", "js")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The candidates in the information metric, and the average where there is one.

        Every shrinkage has one in the workload metric besides, which takes several times the
        steps.
        """
        simple = tuple(f"{shrinkage}+i" for shrinkage in self.shrinkages)
        return (*simple, AVERAGE) if "ind" in self.shrinkages else simple

    def run(
        self,
        names: Sequence[str],
        vectors: Coefficients,
        *,
        inflation: float = 1.0,
        stop: Stop = FINE,
    ) -> Mapping[str, Projected]:
        """Each named candidate's tables from R vectors with noise `inflation` x the problem's."""
        simple = [name for name in names if name != AVERAGE]
        simple += [name for name in _AVERAGED if AVERAGE in names and name not in simple]
        noise = self.problem.noise * inflation
        kinds = dict.fromkeys(name.split("+")[0] for name in simple)
        targets = {kind: self._shrink(kind, vectors, noise) for kind in kinds}
        # All candidates are projected together: rows of one batch share their transforms.
        stacked = np.concatenate([targets[name.split("+")[0]] for name in simple])
        kappa = np.stack([self.problem.metric(name.split("+")[1]) for name in simple])
        done = project(
            self.problem.layout,
            stacked,
            np.repeat(kappa, len(vectors), axis=0),
            self.problem.people,
            stop,
        )
        results = {}
        for number, name in enumerate(simple):
            own = slice(number * len(vectors), (number + 1) * len(vectors))
            tables = tuple(table[own] for table in done.tables)
            results[name] = Projected(tables, done.iterations[own], done.converged[own])
        if AVERAGE in names:
            results[AVERAGE] = _mean([results[name] for name in _AVERAGED])
        return {name: results[name] for name in names}

    def _shrink(self, kind: str, vectors: Coefficients, noise: Array) -> Coefficients:
        layout = self.problem.layout
        if kind != "ind":
            return shrink(vectors, noise, layout, significant_stay=kind == "ht")
        prior = self._independent(vectors, noise)
        away = np.where(self.problem.is_observed, vectors - prior, 0.0)
        return prior + shrink(away, noise, layout, significant_stay=False)

    def _independent(self, vectors: Coefficients, noise: Array) -> Coefficients:
        """Coefficients of independent attributes with the vectors' shrunk marginals, shape (R, K):
        people x the product over the axes of p^(f), p the marginal's shares.

        noise: variance of `vectors`, shape (K,).
        """
        layout, people = self.problem.layout, self.problem.people
        prior = np.full(vectors.shape, complex(people))
        for column, (marginal, entries) in enumerate(self._marginals):
            target = shrink(vectors[:, entries], noise[entries], marginal, significant_stay=False)
            kappa = np.broadcast_to(self.problem.information[entries], target.shape)
            tables = project(marginal, target, kappa, people).tables[0]
            spectrum = np.fft.fft(tables[:, 0, :]) / people
            prior *= spectrum[:, layout.frequencies[:, column]]
        return prior

    @cached_property
    def _marginals(self) -> list[tuple[Layout, Indices]]:
        """Per axis the layout of its marginal, and the entries of the vector that are its own."""
        layout = self.problem.layout
        marginals = []
        for column, (order, size) in enumerate(zip(layout.orders, layout.sizes, strict=True)):
            is_own = (np.delete(layout.frequencies, column, axis=1) == 0).all(axis=1)
            blank = np.zeros(order)
            block = Block((column,), blank.astype(complex), blank, blank, (size,))
            marginals.append((Layout.of([block]), np.flatnonzero(is_own)))
        return marginals


def _mean(parts: Sequence[Projected]) -> Projected:
    """Tables averaged; it has converged where all have, in as many steps as all together."""
    converged: NDArray[np.bool_] = np.all([part.converged for part in parts], axis=0)
    return Projected(
        tuple(np.mean(tables, axis=0) for tables in zip(*(p.tables for p in parts), strict=True)),
        np.sum([part.iterations for part in parts], axis=0),
        converged,
    )


def select(
    candidates: Candidates, random: np.random.Generator, draws: int, finalists: int, stop: Stop
) -> list[str]:
    """The candidates' names, best first; those that did not converge in some draw come last.

    finalists: how many of the shrinkages, the best in the information metric, also compete in the
    workload metric. Source: docs/spec/fourier.md#8.
    """
    problem = candidates.problem
    # Data thinning: both halves have the right mean and independent noise, of 1 / SHARE and
    # 1 / (1 - SHARE) times the variance, since Cov = Var T - sqrt(..) sqrt(..) Var e = 0.
    noise = problem.draw(random, draws)
    worked = problem.observed + math.sqrt((1.0 - SHARE) / SHARE) * noise
    judge = problem.observed - math.sqrt(SHARE / (1.0 - SHARE)) * noise
    marks: dict[str, tuple[bool, float]] = {}

    def compete(names: Sequence[str]) -> None:
        results = candidates.run(names, worked, inflation=1.0 / SHARE, stop=stop)
        for name, result in results.items():
            error = problem.error(problem.layout.vectors(result.tables), judge)
            marks[name] = not result.converged.all(), float(error.sum())

    compete(candidates.names)
    shrinkages = sorted(candidates.shrinkages, key=lambda shrinkage: marks[f"{shrinkage}+i"])
    if finalists:
        compete([f"{shrinkage}+g" for shrinkage in shrinkages[:finalists]])
    return sorted(marks, key=lambda name: marks[name])


def replicates(
    candidates: Candidates,
    name: str,
    tables: tuple[Array, ...],
    random: np.random.Generator,
    count: int,
    stop: Stop,
) -> tuple[Array, ...]:
    """Per kind the tables of `count` replicates, shape (count, blocks, *orders).

    A parametric bootstrap: the answer is taken for the truth, reports of it are simulated in the
    Fourier domain, and the same candidate is run on them. Source: docs/spec/fourier.md#8.
    """
    problem = candidates.problem
    truth = np.where(problem.is_observed, problem.layout.vectors(tables), 0.0)
    simulated = truth + problem.draw(random, count)
    return candidates.run([name], simulated, stop=stop)[name].tables


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
        count = _replicate_count(cells)
        if cells > HUGE:
            return cls(1, 0, count, Stop(200, 1e-3), Stop(1000, 1e-4))
        if problem.has_gaps:
            return cls(4, 0 if cells > LARGE else 3, count, Stop(FINE.cap, 1e-4))
        return cls(2, 0 if cells > LARGE else 1, count, Stop(600, 1e-4))


def _replicate_count(cells: int) -> int:
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

    ValueError for blocks that do not fit each other. Source: docs/spec/fourier.md#8.
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
    by_block: dict[int, Array] = {}
    for table, kind in zip(tables, layout.kinds, strict=True):
        inside = table[kind.inside]
        by_block |= {block: inside[:, place] for place, block in enumerate(kind.members)}
    return [by_block[block] for block in sorted(by_block)]


def _nobody(blocks: Sequence[Block]) -> Smoothed:
    empty = tuple(np.zeros(block.sizes) for block in blocks)
    count = _replicate_count(sum(block.spectrum.size for block in blocks))
    none: tuple[Tables, ...] = tuple(np.zeros((count, *b.sizes), dtype=np.float32) for b in blocks)
    return Smoothed(empty, none, "empty", 0, True)


def _seed(problem: Problem) -> int:
    """A number that the data fix; rounded, since last digits may differ between machines."""
    digest = hashlib.sha256(np.round(problem.observed, 3).tobytes())
    digest.update(str(int(problem.people)).encode())
    return int.from_bytes(digest.digest()[:16], "little")
