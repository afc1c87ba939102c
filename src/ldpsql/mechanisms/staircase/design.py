"""Public. Sees parameters. The staircase channel made ready for a record domain.

A report is the number of a pattern of cells, E times as likely from a cell inside it as from one
outside. Which patterns there are, and their weights, is public. Specification: rr-optimum,
section 2.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ldpsql.bounds import BOUND_BELOW, spectral_bound
from ldpsql.mechanisms.cells.design import WordDesign
from ldpsql.mechanisms.cells.words import Patterns, Table, staircase_words
from ldpsql.mechanisms.staircase.demand import cell_gram
from ldpsql.workload import Workload
from ldpsql_device.errors import SurveyError

LEAST_INFORMATION = 1e-12


@dataclass(frozen=True, eq=False)
class StaircaseDesign(WordDesign):
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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaircaseDesign) and (
            (self.domain, self.epsilon, self.to_json())
            == (other.domain, other.epsilon, other.to_json())
        )

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def words(self) -> Table:
        """See `WordDesign.words`."""
        return staircase_words(self.weights, self.patterns, self.epsilon.odds)

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
        """Over the workload's queries, per person, people counting as a sample spread evenly."""
        gram = cell_gram(self.workload)
        cells = len(gram)
        second = float(np.sum(self.channel.inverse * gram)) / cells
        return second - float(gram.sum()) / cells**2

    @property
    def over_bound(self) -> float | None:
        """Mean variance over the spectral bound; None where that is unknown or says nothing."""
        if float(self.epsilon) >= BOUND_BELOW:
            return None
        bound = spectral_bound(self.workload, self.epsilon)
        return self.mean_variance / bound.noise if bound and bound.noise else None

    def to_json(self) -> Mapping[str, Any]:
        """What `restore` needs besides domain and epsilon; patterns as hexadecimal bits, the
        first cell's first."""
        packed = np.packbits(self.patterns, axis=1)
        return {
            "workload": self.workload.to_json(),
            "patterns": [row.tobytes().hex() for row in packed],
            "weights": list(self.weights),
        }
