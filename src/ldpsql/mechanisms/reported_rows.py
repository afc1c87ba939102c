"""Runs at the collector. Sees reports. A histogram read selector by selector, each once.

What the estimators of the hierarchical mechanisms have in common: sizes, totals and means come
straight from the counts; what the rows say about nodes is the estimator's own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from ldpsql.boxes import Weight
from ldpsql.estimate import Array
from ldpsql.mechanisms.doubt import doubt_of
from ldpsql.report import Histogram, Pair, Rows


@dataclass(kw_only=True)
class ReportedRows:
    """The rows of a histogram; remembers those it has fetched."""

    histogram: Histogram
    _rows: dict[int, Rows] = field(default_factory=dict)

    @property
    def people(self) -> float:
        """Number of reports."""
        return float(self.histogram.people)

    def total(self, weight: Weight | None) -> float:
        """Sum of a public weight over all people."""
        return self.histogram.total(weight)

    def size(self, selector: int) -> float:
        """Reports of a selector."""
        return float(self.histogram.sizes[selector])

    def rows(self, selector: int) -> Rows:
        """The histogram rows of a selector."""
        if selector not in self._rows:
            self._rows[selector] = self.histogram.load(selector)
        return self._rows[selector]

    @cached_property
    def all_rows(self) -> Rows:
        """The histogram rows of all selectors, which are their first column."""
        return self.histogram.load_all()

    def mean(self, selector: int, pair: Pair) -> float:
        """Mean of u v over the people of a selector."""
        if pair == (None, None):
            return 1.0
        return float(self.moments_of_people(selector, pair).sum()) / self.size(selector)

    def doubt(self, selector: int, pair: Pair) -> float:
        """What two more people of a selector add to its mean of u v; see `doubt`."""
        return doubt_of(self.histogram, self.size(selector), pair)

    def moments_of_people(self, selector: int, pair: Pair) -> Array:
        """Sums of u v over rows that hold every person once."""
        return self.rows(selector).moment(*pair)
