"""Answers from one non-negative summary of Fourier estimates.

Source: docs/spec/fourier.md#8; the shrinkage is that of `prior`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.estimate import Array
from ldpsql.algebra.numerics import number_rows
from ldpsql.algebra.workload import Workload
from ldpsql.estimators.base import SmoothingEstimator
from ldpsql.mechanisms.fourier.estimator import FourierEstimator
from ldpsql.mechanisms.fourier.group import Axes, parts_of, spread_faces
from ldpsql.mechanisms.fourier.prior import fit_power
from ldpsql.mechanisms.fourier.projection import (
    FINE,
    Block,
    CoefficientLayout,
    Coefficients,
    Indices,
    Projected,
    Stop,
    project,
)
from ldpsql.mechanisms.fourier.spectra import BoxQuery, demand

# The specification's floor of the workload metric; a higher one ruins the projection.
_FLOOR = 1e-6
# Share of the largest weight below which a weight is a rounding error.
_NOTHING = 1e-13
SHARE = 0.75
"""Of the information that thinning gives to the half that candidates work on."""
AVERAGE, _AVERAGED = "avg", ("ht+i", "ind+i")
# Cells of all blocks together, above which less is tried.
LARGE, HUGE = 1 << 14, 1 << 17
WORK = 1.2e7
"""Cells that the steps of all projections of one summary may visit together, in each of its three
parts: the choice, the answer, and the replicates."""
_FEWEST_STEPS, _MARGIN = 20, 2.0
REPLICATES, FEW_REPLICATES = 20, 5
_DRAWS, _DRAWS_ALONE, _DRAWS_GAPS = 2, 8, 4
"""How often data are thinned: usually, of one axis, and where the workload has gaps."""


# -- the answers ----------------------------------------------------------------------------------


@dataclass(eq=False)
class SmoothEstimator(SmoothingEstimator):
    """Answers from a smoothed table per block of the group."""

    unbiased: FourierEstimator
    workload: Workload

    @property
    def people(self) -> float:
        """Number of reports."""
        return self.unbiased.people

    def count(self, queries: Sequence[BoxQuery]) -> Array:
        """Answers of every smoothed table, shape (tables, k)."""
        if not queries:
            return np.empty((len(self._tables[0]), 0))
        return np.stack([self._sum(query) for query in queries], axis=1)

    def values(self, queries: Sequence[BoxQuery]) -> Array:
        """The values (k,) alone: the unbiased covariance takes longer than smoothing."""
        if not self.people:
            return self.unbiased.values(queries)
        own = (self._sum(q) if q.weight is None else self.unbiased.values([q]) for q in queries)
        return np.array([values[0] for values in own])

    def _sum(self, query: BoxQuery) -> Array:
        """The query on the summary and on every replicate, shape (1 + r,)."""
        group = self.unbiased.collected.group
        total = np.full(len(self._tables[0]), query.known * float(self.people))
        sign = () if query.measure is None else (group.dimensions + query.measure,)
        for term in query.terms:
            axes = group.block_of((*term.axes, *sign)) or group.blocks[0]
            people = self._tables[group.blocks.index(axes)]
            for weights in reversed(query.cell_weights(term, axes, group)):
                people = np.tensordot(people, weights, axes=(-1, 0))
            total += people
        return total

    @cached_property
    def _tables(self) -> list[Array]:
        """Per block the summary and its replicates, shape (1 + r, *sizes)."""
        unbiased = self.unbiased
        group = unbiased.collected.group
        unordered = [axis for axis, is_ordered in enumerate(group.is_ordered) if not is_ordered]
        siblings = unbiased.histogram.siblings
        found = smooth(self._blocks(), unbiased.people, frozenset(unordered), siblings)
        pairs = zip(found.tables, found.replicates, strict=True)
        return [np.concatenate([table[None], drawn]) for table, drawn in pairs]

    def _blocks(self) -> list[Block]:
        """Every block of the group; a frequency that several share is weighted in the first."""
        collected = self.unbiased.collected
        group, spectrum = collected.group, self.unbiased.spectrum(None)
        weights = demand(self.workload, group)
        seen: set[Axes] = set()
        blocks = []
        for axes in group.blocks:
            shape = group.shape(axes)
            own = {part: weights[part] for part in parts_of((axes,))[1:] if part not in seen}
            seen |= own.keys()
            blocks.append(
                Block(
                    axes,
                    spread_faces(spectrum, axes, shape).astype(np.complex128),
                    spread_faces(collected.information, axes, shape),
                    spread_faces(own, axes, shape),
                    tuple(group.bins[a] if a < group.dimensions else 2 for a in axes),
                )
            )
        return blocks


# -- the candidates -------------------------------------------------------------------------------


class SmoothingProblem:
    """Observed coefficients with their noise and weight in answers, each of shape (K,), and the
    candidates for a summary of them.

    observed: coefficient 0 is the exact number of people.  information: lambda, 0 = never observed.
    noise: variance, 0 for the number of people, inf if never observed.  workload: weight of each
    coefficient's squared error.
    has_gaps: whether the workload leaves observed frequencies out; then a wrong choice costs most.

    A candidate shrinks the coefficients, possibly towards independent attributes, and projects them
    onto non-negative tables. Its name is "shrinkage+metric": "eb" shrinks every coefficient by its
    fitted prior, "ht" only those of bands without significant energy, and "ind" the difference from
    independent attributes; the projection is in the metric of the information, "i", or of the
    workload, "g". "avg" is the mean of two. With one axis there is no independence prior.
    unordered: axes of categories and signs.
    """

    def __init__(
        self, blocks: Sequence[Block], people: float, unordered: frozenset[int] = frozenset()
    ) -> None:
        self.people, self.layout = float(people), CoefficientLayout(blocks)
        axes = sorted({axis for block in blocks for axis in block.axes})
        self.is_ordered = [axis not in unordered for axis in axes]
        starts = self.layout.starts
        information = self.layout.join_spectra([block.information for block in blocks])
        spectrum = self.layout.join_spectra([block.spectrum for block in blocks])
        spectrum = np.where(self.layout.flipped, spectrum.conj(), spectrum)
        # Blocks that share a coefficient hold the same estimate of it; one that never observed it
        # counts only where no other did.
        weights = np.where(information > 0.0, 1.0, 1e-12)
        mean = np.add.reduceat(spectrum * weights, starts) / np.add.reduceat(weights, starts)
        self.observed: Coefficients = mean.astype(np.complex128)
        self.observed[0] = people
        self.information: Array = np.maximum.reduceat(information, starts)
        workload = self.layout.join_spectra([block.workload for block in blocks])
        self.workload: Array = np.add.reduceat(workload, starts)
        with np.errstate(divide="ignore"):
            self.noise = self.people / self.information
        self.noise[0] = 0.0
        self.is_observed = np.isfinite(self.noise)
        # The number of people is known whatever its weight. Ranges over three axes of a hundred
        # codes have weights down to 1e-11 of the largest; what is left out has rounding errors.
        weight = self.workload[1:][self.is_observed[1:]]
        self.has_gaps = bool((weight <= _NOTHING * weight.max(initial=0.0)).any())
        self.shrinkages = ("ind", "eb", "ht") if len(self.layout.orders) > 1 else ("eb", "ht")

    def metric(self, name: str) -> Array:
        """kappa of a projection: "i", the information, or "g", the workload's; shape (K,)."""
        if name == "i":
            return self.information
        weighed = self.workload + _FLOOR * self.workload.max()
        return np.where(self.is_observed, weighed, 0.0)

    def draw(self, random: np.random.Generator, count: int) -> Coefficients:
        """Noise of the observed coefficients as the reports have it, shape (count, K)."""
        shape = (count, len(self.noise))
        real, imaginary = random.standard_normal(shape), random.standard_normal(shape)
        # Of a pair f, -f the real and the imaginary part have half of the variance each.
        is_real = self.layout.multiplicity == 1.0
        noise = np.where(is_real, real, (real + 1j * imaginary) / np.sqrt(2.0))
        return noise * np.sqrt(np.where(self.is_observed, self.noise, 0.0))

    def error(self, vectors: Coefficients, reference: Coefficients) -> Array:
        """Workload-weighted squared distance over the observed coefficients, shape (R,)."""
        weight = np.where(self.is_observed, self.workload * self.layout.multiplicity, 0.0)
        return np.asarray(np.abs(vectors - reference) ** 2 @ weight)

    def deviation(self, differences: Coefficients, spread: float) -> float:
        """Standard error of the difference of two errors about a reference of `spread` times the
        noise, from the differences of what is judged, shape (R, K)."""
        # |x - r|^2 - |y - r|^2 varies as 2 Re((y - x) r*), and Re of a complex one by half.
        is_used = self.is_observed & (self.noise > 0.0)
        weight = np.where(is_used, self.workload**2 * self.layout.multiplicity, 0.0)
        square = np.abs(differences.mean(axis=0)) ** 2
        noise = np.where(is_used, self.noise, 0.0)
        return 2.0 * math.sqrt(float((weight * noise) @ square) * spread)

    def run(
        self,
        names: Sequence[str],
        vectors: Coefficients,
        *,
        inflation: float = 1.0,
        stop: Stop = FINE,
    ) -> Mapping[str, Projected]:
        """Each named candidate's tables from R vectors with noise `inflation` x the problem's."""
        noise = self.noise * inflation
        wanted = (*names, *(_AVERAGED if AVERAGE in names else ()))
        simple = {name: name.split("+") for name in dict.fromkeys(wanted) if name != AVERAGE}
        targets = {
            kind: self._shrink(kind, vectors, noise)
            for kind in dict.fromkeys(kind for kind, _ in simple.values())
        }
        # All candidates are projected together: rows of one batch share their transforms.
        stacked = np.concatenate([targets[kind] for kind, _ in simple.values()])
        kappa = np.stack([self.metric(metric) for _, metric in simple.values()])
        kappa = np.repeat(kappa, len(vectors), axis=0)
        done = project(self.layout, stacked, kappa, self.people, stop)
        results = {}
        for number, name in enumerate(simple):
            own = slice(number * len(vectors), (number + 1) * len(vectors))
            tables = tuple(table[own] for table in done.tables)
            results[name] = Projected(tables, done.iterations[own], done.converged[own])
        if AVERAGE in names:
            # It has converged where both have, in as many steps as both together.
            one, other = (results[name] for name in _AVERAGED)
            results[AVERAGE] = Projected(
                tuple((a + b) / 2.0 for a, b in zip(one.tables, other.tables, strict=True)),
                one.iterations + other.iterations,
                one.converged & other.converged,
            )
        return {name: results[name] for name in names}

    def _shrink(self, kind: str, vectors: Coefficients, noise: Array) -> Coefficients:
        if kind != "ind":
            return self.shrink(vectors, noise, significant_stay=kind == "ht")
        prior = self._independent(vectors, noise)
        away = np.where(self.is_observed, vectors - prior, 0.0)
        return prior + self.shrink(away, noise)

    def shrink(
        self, vectors: Coefficients, noise: Array, *, significant_stay: bool = False
    ) -> Coefficients:
        """Every coefficient of R vectors about one truth times s / (s + noise), shape (R, K), s the
        prior variance that they make likeliest.

        noise: variance of each coefficient, inf where it was not observed, 0 where it is exact;
        both are left alone.
        significant_stay: leave alone a band whose energy is beyond what noise explains, z >= K +
        2 sqrt(2 K) with K real numbers: better where few cells hold everybody.
        """
        layout, square = self.layout, self.people**2
        used = np.isfinite(noise) & (noise > 0.0)
        energy = np.abs(vectors) ** 2
        power = square * fit_power(
            energy.mean(axis=0) / square,
            noise / square,
            layout.multiplicity,
            layout.frequencies,
            layout.orders,
            self.is_ordered,
        )
        factor = np.divide(power, power + noise, out=np.ones_like(noise), where=used)
        if not significant_stay:
            return vectors * factor
        number = self._bands
        weight = np.where(used, layout.multiplicity, 0.0)
        degrees = np.bincount(number, weight)
        precision = np.divide(weight, noise, out=np.zeros_like(noise), where=used)
        z = np.stack([np.bincount(number, row) for row in energy * precision])
        stays = z >= degrees + 2.0 * np.sqrt(2.0 * degrees)
        return vectors * np.where(stays[:, number], 1.0, factor)

    @cached_property
    def _bands(self) -> Indices:
        return bands(self.layout)

    def _independent(self, vectors: Coefficients, noise: Array) -> Coefficients:
        """Coefficients of independent attributes with the vectors' shrunk marginals, shape (R, K):
        people x the product over the axes of p^(f), p the marginal's shares.

        noise: variance of `vectors`, shape (K,).
        """
        layout, people = self.layout, self.people
        marginals = self.shrink(vectors, noise)
        prior = np.full(vectors.shape, complex(people))
        for column, order in enumerate(layout.orders):
            is_own = (np.delete(layout.frequencies, column, axis=1) == 0).all(axis=1)
            own = np.zeros((len(vectors), order), dtype=np.complex128)
            at = layout.frequencies[is_own, column]
            own[:, -at % order] = marginals[:, is_own].conj()
            own[:, at] = marginals[:, is_own]
            prior *= own[:, layout.frequencies[:, column]] / people
        return prior


def bands(layout: CoefficientLayout) -> Indices:
    """The number of every coefficient's band, shape (K,).

    A band is a product of octaves {0}, {1}, {2, 3}, {4..7}, ... of min(f, m - f) on every axis; an
    axis of order 2 has two.
    """
    folded = np.minimum(layout.frequencies, np.array(layout.orders) - layout.frequencies)
    octaves = np.frexp(folded.astype(np.float64))[1].astype(np.int64)
    numbers = number_rows(octaves, [int(octaves.max(initial=0)) + 1] * len(layout.orders))
    return np.unique(numbers, return_inverse=True)[1].reshape(-1)


# -- the choice ---------------------------------------------------------------------------------


def select(
    problem: SmoothingProblem, random: np.random.Generator, draws: int, finalists: int, stop: Stop
) -> list[str]:
    """The candidates' names, best first; +g ones that did not converge in some draw come last.

    Data thinning judges them: noise e of the reports' own law splits the observed T into
    A = T + sqrt((1-a)/a) e and B = T - sqrt(a/(1-a)) e, which are independent if the noise is
    normal; every candidate works on A and is judged by B, in the workload's metric. B is noise
    mostly, and a candidate that looks better by chance may be much worse, so all are compared with
    the usual choice, whose prior fits most data, and marked down by two standard errors of the
    difference. With one axis there are few candidates, and none is that much worse.
    finalists: how many of the shrinkages, the best in the information metric, also compete in the
    workload metric, which takes several times the steps. Source: docs/spec/fourier.md#8.
    """
    # Data thinning: both halves have the right mean and independent noise, of 1 / SHARE and
    # 1 / (1 - SHARE) times the variance, since Cov = Var T - sqrt(..) sqrt(..) Var e = 0.
    noise = problem.draw(random, draws)
    worked = problem.observed + math.sqrt((1.0 - SHARE) / SHARE) * noise
    judge = problem.observed - math.sqrt(SHARE / (1.0 - SHARE)) * noise
    # Of the mean of the draws of B: the noise of T is in all of them.
    spread = 1.0 + SHARE / (1.0 - SHARE) / draws
    margin = _MARGIN if "ind" in problem.shrinkages else 0.0
    marks: dict[str, tuple[bool, float]] = {}

    def compete(names: Sequence[str], usual: Coefficients | None) -> Coefficients:
        results = problem.run(names, worked, inflation=1.0 / SHARE, stop=stop)
        found = {name: problem.layout.vectors(each.tables) for name, each in results.items()}
        usual = found[names[0]] if usual is None else usual
        for name, result in results.items():
            error = problem.error(found[name], judge).mean()
            deviation = problem.deviation(found[name] - usual, spread)
            # In the workload's metric what has not converged can be anything.
            is_open = name.endswith("+g") and not result.converged.all()
            marks[name] = is_open, float(error + margin * deviation)
        return usual

    simple = [f"{shrinkage}+i" for shrinkage in problem.shrinkages]
    usual = compete([*simple, AVERAGE] if "ind" in problem.shrinkages else simple, None)
    best = sorted(simple, key=lambda name: marks[name])[:finalists]
    if best:
        compete([name.replace("+i", "+g") for name in best], usual)
    return sorted(marks, key=lambda name: marks[name])


@dataclass(frozen=True, eq=False)
class Smoothed:
    """One summary, consistent with itself.

    tables: per block a table of counts, shape = the block's sizes, >= 0, sum = people.
    replicates: the same for simulated reports of these tables, shape (r, *sizes).  branch: which
    candidate was chosen.  iterations: steps of its projection.  converged: False where no candidate
    reached the stop rule, so that the least unconverged one stands here.
    """

    tables: tuple[Array, ...]
    replicates: tuple[NDArray[np.float32], ...]
    branch: str
    iterations: int
    converged: bool


def smooth(
    blocks: Sequence[Block],
    people: int,
    unordered: frozenset[int] = frozenset(),
    siblings: int = 1,
) -> Smoothed:
    """One non-negative table per block, all of the same `people`, agreeing on shared margins.

    The candidates {ht, eb, ind}+i, their average and the +g of the best of the three (of every one,
    where the workload's spectrum has zeros) compete on thinned data. The best one is run on the
    data themselves and then on simulated summaries. Above LARGE cells no +g competes, which takes
    several times the steps: on 36 simulated tables of 64 x 64 that cost 1 % of mean squared error
    in the geometric mean and a quarter at worst. Blocks agree on shared margins to the tolerance.
    The random draws come from a hash of the coefficients: the same histogram gives the same answer.
    unordered: axes of categories and signs.  siblings: how many summaries are made together, which
    share the work that one may take.
    """
    if not any(block.axes for block in blocks):
        # A survey of measures without signs has one cell, which holds everybody.
        tables = tuple(np.full((), float(people)) for _ in blocks)
        drawn = tuple(np.full(FEW_REPLICATES, people, np.float32) for _ in blocks)
        return Smoothed(tables, drawn, AVERAGE, 0, True)
    problem = SmoothingProblem(blocks, people, unordered)
    layout = problem.layout
    # Rounded, since last digits may differ between machines.
    digest = hashlib.sha256(np.round(problem.observed, 3).tobytes() + str(int(people)).encode())
    random = np.random.default_rng(int.from_bytes(digest.digest()[:16], "little"))
    # With one axis the choice is between prior and none, which differ most and cost least.
    is_alone = len(layout.orders) == 1 and layout.cells <= LARGE
    draws = _DRAWS_ALONE if is_alone else _DRAWS
    finalists = int(layout.cells <= LARGE)
    trial, final = Stop(600, 1e-4), FINE
    if layout.cells > HUGE:
        draws, finalists = 1, 0
        trial, final = Stop(200, 1e-3), Stop(1000, 1e-4)
    elif problem.has_gaps:
        draws, finalists = max(draws, _DRAWS_GAPS), 3 * finalists
        trial = Stop(FINE.cap, 1e-4)

    # As many as may take the fewest steps.
    most = int(WORK / (siblings * layout.cells * _FEWEST_STEPS))
    count = min(max(most, FEW_REPLICATES), REPLICATES)

    def within_work(stop: Stop, rows: int) -> Stop:
        steps = int(WORK / (siblings * layout.cells * rows))
        return Stop(min(stop.cap, max(steps, _FEWEST_STEPS)), stop.tolerance)

    rows = draws * (len(problem.shrinkages) + finalists)
    branch = select(problem, random, draws, finalists, within_work(trial, rows))[0]
    answer = problem.run([branch], problem.observed[None, :], stop=within_work(final, 1))[branch]
    # A parametric bootstrap: the answer is taken for the truth, reports of it are simulated in the
    # Fourier domain, and the same candidate is run on them.
    truth = np.where(problem.is_observed, layout.vectors(answer.tables), 0.0)
    simulated = truth + problem.draw(random, count)
    repeated = problem.run([branch], simulated, stop=within_work(trial, count))[branch].tables
    return Smoothed(
        tuple(table[0] for table in _by_block(answer.tables, layout)),
        tuple(table.astype(np.float32) for table in _by_block(repeated, layout)),
        branch,
        int(answer.iterations[0]),
        bool(answer.converged[0]),
    )


def _by_block(tables: Sequence[Array], layout: CoefficientLayout) -> list[Array]:
    """Tables per kind as tables per block, without padding: (R, *sizes)."""
    by_block: dict[int, Array] = {}
    for table, kind in zip(tables, layout.kinds, strict=True):
        inside = table[kind.inside]
        by_block |= {block: inside[:, place] for place, block in enumerate(kind.members)}
    return [by_block[block] for block in sorted(by_block)]
