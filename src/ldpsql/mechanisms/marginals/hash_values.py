"""Public. Sees parameters. How many values the hash functions of SOLH should have.

More values collide less, but randomized response lies more among many. The accountant says what
each number allows; the variance for records spread evenly decides. Specification: shuffle, 3.6.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ldpsql.mechanisms.marginals.design import MarginalDesign

FIRST, MOST, STEPS = 2, 1 << 16, 1
"""Numbers tried: powers of two, then so many refinements around the best."""


def best_hash_values(calibrated: Callable[[int], MarginalDesign]) -> MarginalDesign:
    """The design with the least mean variance of a cell's count.

    calibrated: the design with so many hash values.
    """
    tried: dict[int, MarginalDesign] = {}

    def error(values: int) -> float:
        if values not in tried:
            tried[values] = calibrated(values)
        return cell_variance(tried[values])

    best, values = FIRST, 2 * FIRST
    while values <= MOST and error(values) <= error(best):
        best, values = values, 2 * values
    for step in range(STEPS):
        factor = 2.0 ** (0.5 ** (step + 1))
        nearby = (round(best / factor), best, round(best * factor))
        best = min(filter(lambda number: number >= FIRST, nearby), key=error)
    return tried[best]


def cell_variance(design: MarginalDesign) -> float:
    """Mean variance per report of a cell's frequency, for records spread evenly."""
    found = []
    for group, size in enumerate(design.table.sizes):
        support = design.oracles.support(group)
        share = 1.0 / size
        seen = support.q + (support.p - support.q) * share
        found.append(seen * (1.0 - seen) / (support.p - support.q) ** 2)
    return float(np.mean(found))
