"""Ratios of times measured side by side: both sides in turn, the median of the pairs' ratios."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

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
    (pair,) = by_clocks(ours, other, (clock,), runs=runs)
    return pair


def by_clocks(ours: Work, other: Work, clocks: Sequence[Clock], *, runs: int = 7) -> list[Pair]:
    """The same by several clocks at once, one pair for each."""
    ours(), other()
    mine, theirs = [], []
    for _ in range(runs):
        mine.append(_seconds(ours, clocks))
        theirs.append(_seconds(other, clocks))
    pairs = []
    for left, right in zip(zip(*mine, strict=True), zip(*theirs, strict=True), strict=True):
        ratio = statistics.median(a / b for a, b in zip(left, right, strict=True))
        pairs.append(Pair(statistics.median(left), statistics.median(right), ratio))
    return pairs


def _seconds(work: Work, clocks: Sequence[Clock]) -> list[float]:
    starts = [clock() for clock in clocks]
    work()
    return [clock() - start for clock, start in zip(clocks, starts, strict=True)]


def run_python(*arguments: str) -> None:
    """Run a process of this Python whose modules are compiled, as those of a package are."""
    # Where no bytecode is written, every run would compile it.
    compiled = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": _compiled()}
    subprocess.run((sys.executable, *arguments), check=True, capture_output=True, env=compiled)


@cache
def _compiled() -> str:
    """A folder for bytecode, left to the system's care."""
    return tempfile.mkdtemp(prefix="ldpsql-bytecode-")


def children_seconds() -> float:
    """Processor seconds of all processes that this one has waited for: a clock of whole ones."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
