"""`staircase`: the channel of least variance for a workload over a small domain.

A report is the number of a pattern of cells, E times as likely from a cell inside it as from one
outside. Which patterns there are, and their weights, is public. Source:
docs/spec/rr-optimum.md#2.2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ldpsql.algebra.estimate import Array
from ldpsql.algebra.least_error import BOUND_BELOW
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import Workload
from ldpsql.estimators.cells import RowsDesign
from ldpsql.estimators.groups import whole
from ldpsql.mechanisms.base import Recipe, Retuner, Takes, Task
from ldpsql.mechanisms.staircase.bound_of_totals import least_variance
from ldpsql.mechanisms.staircase.optimise import Patterns, cell_gram, optimise, raise_eigenvalues
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import WORDS, Staircase
from ldpsql_device.schema import MOST_LEVELS

MOST_CELLS = 256
FAST_CELLS = 48
LEVELS = (2, 3, 5, 7, 9, 11, 13, 17)
"""Numbers of levels that are tried for measures; 2 not where squares are asked."""
LEAST_INFORMATION = 1e-12
_MOST_REPORTS = 1 << 14
_SPARE = 1e-12


@dataclass(frozen=True)
class StaircaseOptions:
    """levels: of every measure; 0 for those with which the workload has the least mean variance, of
    LEVELS, as far as there are not more than FAST_CELLS combinations."""

    levels: int = 0


@dataclass(frozen=True, eq=False)
class StaircaseDesign(RowsDesign):
    """Weighted patterns over the cells of a record domain.

    workload: what the weights are best for.  patterns: which cells each favours, shape (reports,
    cells).  weights: words that lead to each report from a cell outside its pattern, before
    rounding is made up for.
    """

    workload: Workload
    patterns: Patterns
    weights: tuple[int, ...]
    name: str = "staircase"

    def __post_init__(self) -> None:
        least = float(np.linalg.eigvalsh(self.channel.information)[0])
        if not least > LEAST_INFORMATION:
            raise SurveyError("the patterns of the design do not tell all cells apart")

    @cached_property
    def response(self) -> Staircase:
        """The patterns as the device draws them: a bit per cell, 32 of them to a number."""
        reports, cells = self.patterns.shape
        bits = np.zeros((reports, -(-cells // 32) * 32), dtype=np.uint8)
        bits[:, :cells] = self.patterns
        numbers = np.packbits(bits, axis=1, bitorder="little").view("<u4").tolist()
        return Staircase(
            cells, int(self.epsilon.odds * WORDS), self.weights, tuple(map(tuple, numbers))
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """The certificate, where there is one: the variance against the bound on all channels."""
        over = self.over_bound
        if over is None:
            return ()
        return (
            f"its mean variance over the workload is {over:.3f} of the least that any "
            f"{self.epsilon}-LDP survey with unbiased answers can have",
        )

    @property
    def mean_variance(self) -> float:
        """Over the workload's queries, per person, people counting as a sample spread evenly over
        all codes, and between the bounds of measures."""
        gram, shares = cell_gram(self.workload), self.domain.cell_shares
        second = float(np.sum(self.channel.inverse * gram)) / len(gram)
        return second - float(shares @ gram @ shares)

    @property
    def over_bound(self) -> float | None:
        """Mean variance over the least there can be; None where it is unknown or says nothing."""
        if float(self.epsilon) >= BOUND_BELOW:
            return None
        bound = least_variance(self.workload, self.epsilon)
        return self.mean_variance / bound if bound else None

    def to_json(self) -> Mapping[str, Any]:
        """Patterns as hexadecimal bits, the first cell's first."""
        packed = np.packbits(self.patterns, axis=1)
        return {
            "workload": self.workload.to_json(),
            "patterns": [row.tobytes().hex() for row in packed],
            "weights": list(self.weights),
        }


class StaircaseRecipe(Retuner[StaircaseOptions], Recipe[StaircaseOptions]):
    """COUNT, and SUM and AVG of private measures, over small domains."""

    name = "staircase"
    takes = Takes(cells=MOST_CELLS, levels=True)
    options = StaircaseOptions
    estimator_names = ("unbiased",)
    can_be_reserved = True

    def make(self, task: Task[StaircaseOptions]) -> StaircaseDesign:
        """The patterns that answer the workload best, over the levels that do."""
        domain, chosen = task.domain, task.options.levels
        if domain.roundings or not (domain.bounds or domain.nullable):
            return self._make(task, domain)
        squared = task.asked.squared
        tried = (chosen,) if chosen else LEVELS[1:] if squared else LEVELS
        levelled = (
            replace(domain.with_levels(count), roundings=_round(count, domain, squared))
            for count in tried
        )
        domains = list(dict.fromkeys(levelled))
        if refusal := self.refusal(domains[0]):
            raise SurveyError(refusal)
        # The fewest are tried in any case.
        fast = [own for own in domains if math.prod(own.record_sizes) <= FAST_CELLS]
        designs = [self._make(task, own) for own in fast or domains[:1]]
        return min(designs, key=lambda design: design.mean_variance)

    def _make(self, task: Task[StaircaseOptions], domain: RecordDomain) -> StaircaseDesign:
        """The patterns for these levels."""
        asked = task.asked.over(domain)
        if math.prod(domain.record_sizes) == 1:
            # A single cell tells nothing; its report is a coin's.
            patterns, theta = np.zeros((2, 1), dtype=bool), np.full(2, 0.5)
        else:
            gram = raise_eigenvalues(cell_gram(asked))
            program = optimise(gram, float(task.epsilon.odds), domain.cell_shares * len(gram))
            patterns, theta = program.patterns, program.weights
        weights = _count_words(theta, patterns, task.epsilon)
        return StaircaseDesign(domain, task.epsilon, asked, patterns, weights)

    def retune(self, design: StaircaseDesign, epsilon: Epsilon) -> StaircaseDesign:
        """The same patterns. Each cell is favoured by the same share of their weights, so that all
        of these change alike."""
        theta = np.array(design.weights, dtype=np.float64)
        weights = _count_words(theta, design.patterns, epsilon)
        return replace(design, epsilon=epsilon, weights=weights)

    def remake(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> StaircaseDesign:
        """The channel is made and checked anew."""
        cells = math.prod(domain.record_sizes)
        rows, weights = (
            list(map(bytes.fromhex, data["patterns"])),
            tuple(map(whole, data["weights"])),
        )
        if not 0 < len(weights) <= _MOST_REPORTS or len(rows) != len(weights):
            raise SurveyError("the design has not one pattern per weight")
        bits = np.unpackbits(np.frombuffer(b"".join(rows), dtype=np.uint8)).astype(bool)
        is_even = {len(row) for row in rows} == {-(-cells // 8)}
        if not is_even or bits.reshape(len(rows), -1)[:, cells:].any():
            raise SurveyError("a pattern of the design does not fit the schema")
        patterns = bits.reshape(len(rows), -1)[:, :cells]
        workload = Workload.from_json(domain, data["workload"])
        return StaircaseDesign(domain, epsilon, workload, patterns, weights)

    def reserved(self, workload: Workload) -> str | None:
        """Left out of `auto` where its design is slow, unless squares are asked for, which it alone
        tells."""
        cells = math.prod(workload.domain.record_sizes)
        if workload.squared or not FAST_CELLS < cells <= MOST_CELLS:
            return None
        # To one digit: measured 1.5 s for 64 cells, 55 s for 256.
        seconds = 1.5 * math.pow(cells / 64, 2.6)
        shown = max(1, int(round(seconds, -math.floor(math.log10(seconds)))))
        return f"its design takes about {shown} s for {cells} combinations; ask for it by name"


def _count_words(theta: Array, patterns: Patterns, epsilon: Epsilon) -> tuple[int, ...]:
    """Weights in proportion to theta as whole numbers of words, a trifle smaller so that no cell's
    words run over."""
    levels = 1.0 + (float(epsilon.odds) - 1.0) * patterns
    spare = _SPARE if len(levels[0]) > 1 else 0.0
    scale = WORDS * (1.0 - spare) / (theta @ levels).max()
    return tuple(max(1, int(weight)) for weight in theta * scale)


def _round(
    count: int, domain: RecordDomain, squared: frozenset[int]
) -> tuple[tuple[int, str], ...]:
    """So many levels for every measure; nothing for two, which is what a domain has anyway.

    squared: the measures whose levels are to tell squares.
    """
    least = 3 if squared else 2
    if not least <= count <= MOST_LEVELS:
        raise SurveyError(
            f"levels must lie between {least} and {MOST_LEVELS}, or be 0 for the best"
        )
    if count == 2:
        return ()
    measures = range(len(domain.bounds))
    return tuple((count, "quadratic" if m in squared else "linear") for m in measures)


STAIRCASE = StaircaseRecipe()
