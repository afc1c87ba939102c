"""When a claim holds, when it does not, and when there are too few runs to say.

Everything is judged by measured values with their standard errors over runs, at LEVEL: a value is
above another one if Welch's t-test of their difference says so on that side. A claim about every
case holds if each case confirms it, and does not hold if one contradicts it, at LEVEL over all
cases together (Bonferroni). A claim about what mostly happens is judged case by case: it holds if
`MOST` of them confirm it, and does not if more than the rest contradict it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import stdtrit

from benchmarks.figures.cases import Row

LEVEL, MOST = 0.05, 0.9
WORDS = {True: "holds", False: "does not hold", None: "undecided"}
Vote = bool | None
"""Whether something is confirmed or contradicted; None where it is undecided."""


@dataclass(frozen=True)
class Value:
    """A mean over runs with its standard error. runs: 0 where the value is exact."""

    mean: float
    stderr: float = 0.0
    runs: int = 0

    @classmethod
    def of(cls, row: Row, name: str = "error", error: str = "stderr") -> Value:
        """A column of a row, with another one of standard errors, and `runs`."""
        return cls(float(row[name]), float(row[error]), int(row["runs"]))

    @classmethod
    def over(cls, values: Sequence[float]) -> Value:
        """The mean of what the runs gave."""
        mean = math.fsum(values) / len(values)
        if len(values) < 2:
            return cls(mean, math.nan, len(values))
        squares = math.fsum((value - mean) ** 2 for value in values)
        return cls(mean, math.sqrt(squares / (len(values) - 1) / len(values)), len(values))


def is_above(one: Value, other: Value, factor: float = 1.0, cases: int = 1) -> Vote:
    """Whether one is above factor times the other; cases: among how many this is one."""
    difference = one.mean - factor * other.mean
    parts = [
        (scale * value.stderr, value.runs)
        for value, scale in ((one, 1.0), (other, factor))
        if value.runs
    ]
    if not math.isfinite(difference) or any(runs < 2 for _, runs in parts):
        return None
    spread = math.hypot(*(error for error, _ in parts)) if parts else 0.0
    if spread == 0.0:
        return difference > 0.0 if difference else None
    # Welch and Satterthwaite: the degrees of freedom of a sum of estimated variances.
    freedom = spread**4 / math.fsum(error**4 / (runs - 1) for error, runs in parts)
    far = float(stdtrit(freedom, 1.0 - LEVEL / 2.0 / cases)) * spread
    return True if difference > far else False if difference < -far else None


def is_near(one: Value, other: Value, share: float, cases: int = 1) -> Vote:
    """Whether one lies within a share of the other, or outside; None where that is undecided."""
    inside = (
        is_above(one, other, 1.0 - share, cases),
        is_above(other, one, 1.0 / (1.0 + share), cases),
    )
    return False if False in inside else True if inside == (True, True) else None


def in_every_case(votes: Sequence[Vote]) -> Vote:
    """Of a claim about every case; undecided if there is none."""
    if False in votes:
        return False
    return True if votes and None not in votes else None


def mostly(votes: Sequence[Vote], most: float = MOST) -> Vote:
    """Of a claim about what mostly happens."""
    if not votes:
        return None
    if votes.count(True) >= most * len(votes):
        return True
    return False if votes.count(False) > len(votes) - most * len(votes) else None


def tally(votes: Sequence[Vote]) -> str:
    """How many of each, in words."""
    parts = [f"{votes.count(True)} of {len(votes)} confirmed"]
    if votes.count(False):
        parts.append(f"{votes.count(False)} contradicted")
    if votes.count(None):
        parts.append(f"{votes.count(None)} undecided")
    return ", ".join(parts)


def band(values: Sequence[Value]) -> tuple[list[float], list[float]]:
    """The ends of the intervals at LEVEL, for a picture; the value itself where there is none."""
    low, high = [], []
    for value in values:
        half = 0.0
        if value.runs > 1 and math.isfinite(value.stderr):
            half = float(stdtrit(value.runs - 1, 1.0 - LEVEL / 2.0)) * value.stderr
        # Below a tenth of the value a logarithmic axis would show nothing else.
        low.append(max(value.mean - half, value.mean / 10.0))
        high.append(value.mean + half)
    return low, high
