"""Ratios of times measured side by side: both sides in turn, the median of the pairs' ratios."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

Work = Callable[[], object]


@dataclass(frozen=True)
class Pair:
    """Median seconds of two kinds of work and the median of their ratios."""

    ours: float
    other: float
    ratio: float


def side_by_side(ours: Work, other: Work, *, runs: int = 7) -> Pair:
    """Time the two in turn after one warm-up of each."""
    ours(), other()
    mine, theirs = [], []
    for _ in range(runs):
        mine.append(_seconds(ours))
        theirs.append(_seconds(other))
    ratio = statistics.median(a / b for a, b in zip(mine, theirs, strict=True))
    return Pair(statistics.median(mine), statistics.median(theirs), ratio)


def _seconds(work: Work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
