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


Clock = Callable[[], float]


def side_by_side(
    ours: Work, other: Work, *, runs: int = 7, clock: Clock = time.perf_counter
) -> Pair:
    """Time the two in turn after one warm-up of each.

    clock: `time.process_time` for work of this process alone, on a machine with other work to do.
    """
    ours(), other()
    mine, theirs = [], []
    for _ in range(runs):
        mine.append(_seconds(ours, clock))
        theirs.append(_seconds(other, clock))
    ratio = statistics.median(a / b for a, b in zip(mine, theirs, strict=True))
    return Pair(statistics.median(mine), statistics.median(theirs), ratio)


def _seconds(work: Work, clock: Clock) -> float:
    start = clock()
    work()
    return clock() - start
