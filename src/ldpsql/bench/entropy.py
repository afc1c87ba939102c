"""For evaluation only. Repeatable random bits, so that a simulation can be run again."""

from __future__ import annotations

import numpy as np

from ldpsql.mechanisms.base import Words


class SeededEntropy:
    """Words from a seeded generator. Predictable: no report of a real person may come from it."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def words(self, count: int) -> Words:
        """`count` pseudo-random 64-bit integers, shape (count,)."""
        return self._generator.integers(0, 2**64, size=count, dtype=np.uint64)
