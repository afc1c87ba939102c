"""Later rounds of designs that ask in rounds."""

from __future__ import annotations

import numpy as np

from ldpsql.bench.entropy import SeededEntropy
from ldpsql.bench.memory import histogram_of
from ldpsql.mechanisms.base import Design, StagedDesign


def at_round(design: Design, number: int, people: int = 200_000) -> Design:
    """The design of a later round, after people that are spread evenly have answered each."""
    sizes = design.domain.sizes
    codes = np.random.default_rng(1).integers(0, sizes, (people, len(sizes)))
    while isinstance(design, StagedDesign) and design.round < number:
        reports = design.randomize(codes, SeededEntropy(design.round))
        design = design.following(histogram_of(reports))
    return design
