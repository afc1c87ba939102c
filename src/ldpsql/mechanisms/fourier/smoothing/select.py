"""Runs at the collector. Sees reports. The choice among candidates, by data thinning.

Noise e of the reports' own law splits the observed T into A = T + sqrt((1-a)/a) e and
B = T - sqrt(a/(1-a)) e, which are independent if the noise is normal. Every candidate works on A
and is judged by B, in the workload's metric. Specification: fourier, section 8.4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ldpsql.mechanisms.fourier.smoothing.candidates import Candidates
from ldpsql.mechanisms.fourier.smoothing.project import Stop

SHARE = 0.75


def select(
    candidates: Candidates, random: np.random.Generator, draws: int, finalists: int, stop: Stop
) -> list[str]:
    """The candidates' names, best first; those that did not converge in some draw come last.

    finalists: how many of the shrinkages, the best in the information metric, also compete in the
    workload metric.
    """
    problem = candidates.problem
    noise = problem.draw(random, draws)
    worked = problem.observed + math.sqrt((1.0 - SHARE) / SHARE) * noise
    judge = problem.observed - math.sqrt(SHARE / (1.0 - SHARE)) * noise
    marks: dict[str, tuple[bool, float]] = {}

    def compete(names: Sequence[str]) -> None:
        found = candidates.run(names, worked, inflation=1.0 / SHARE, stop=stop)
        for name, result in found.items():
            error = problem.error(problem.layout.vectors(result.tables), judge)
            marks[name] = not result.converged.all(), float(error.sum())

    compete(candidates.names)
    shrinkages = sorted(candidates.shrinkages, key=lambda shrinkage: marks[f"{shrinkage}+i"])
    if finalists:
        compete([f"{shrinkage}+g" for shrinkage in shrinkages[:finalists]])
    return sorted(marks, key=lambda name: marks[name])
