"""Runs at the collector. Sees reports. The parametric bootstrap of a chosen candidate.

The answer is taken for the truth, reports of it are simulated in the Fourier domain, and the same
candidate is run on them. Specification: fourier, section 8.5.
"""

from __future__ import annotations

import numpy as np

from ldpsql.estimate import Array
from ldpsql.mechanisms.fourier.smoothing.candidates import Candidates
from ldpsql.mechanisms.fourier.smoothing.project import Stop


def replicates(
    candidates: Candidates,
    name: str,
    tables: tuple[Array, ...],
    random: np.random.Generator,
    count: int,
    stop: Stop,
) -> tuple[Array, ...]:
    """Per kind the tables of `count` replicates, shape (count, blocks, *orders)."""
    problem = candidates.problem
    truth = np.where(problem.is_observed, problem.layout.vectors(tables), 0.0)
    simulated = truth + problem.draw(random, count)
    return candidates.run([name], simulated, stop=stop)[name].tables
