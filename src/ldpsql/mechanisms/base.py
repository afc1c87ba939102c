"""What a report says of a record: the exact channel of a design, and its worst odds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ldpsql.decoders.base import AnyDesign as Design
from ldpsql.decoders.base import AnyEstimator as Estimator
from ldpsql.decoders.base import Estimators as _Estimators
from ldpsql.decoders.law import Compared, Law, Outcome, Worst
from ldpsql.recipes.base import AnyRecipe as Mechanism

__all__ = [
    "Codes",
    "Compared",
    "Design",
    "Entropy",
    "Estimator",
    "Estimators",
    "Law",
    "Mechanism",
    "Outcome",
    "StatesOdds",
    "Words",
    "Worst",
]

Codes = NDArray[np.int64]
Words = NDArray[np.uint64]
Estimators = _Estimators[Any]


class Entropy(Protocol):
    """A source of random bits: `words(n)` gives n independent uniform 64-bit integers."""

    def words(self, count: int) -> Words:
        """`count` independent uniform 64-bit integers, shape (count,)."""
        ...


@runtime_checkable
class StatesOdds(Protocol):
    """What a design may offer besides: its exact odds, for domains too large to enumerate."""

    def selector_odds(self) -> Fraction | None:
        """Largest odds of a report within one selector, over all selectors; None if unbounded.

        From the very integers that the sampler compares with. Where the selector is drawn without
        looking at the record this is `Law.worst_odds` of the whole domain. A design with sensitive
        values gives the largest odds that the definition of its guarantee limits, over all reports.
        """
        ...
