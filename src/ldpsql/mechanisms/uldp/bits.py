"""Runs at the collector. Sees reports. The channel of reports of independent bits and a name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpsql.estimate import Array
from ldpsql.mechanisms.reported_rows import ReportedRows
from ldpsql.mechanisms.uldp.layout import Axis
from ldpsql.report import Pair


@dataclass(frozen=True)
class BitChannel:
    """own, other: probabilities that the own bit and another sensitive one is set.  named: that a
    value which is not sensitive is named by its owner.

    A report tells of each value j by its bit or name: (bit - off_j) / (on_j - off_j) is an unbiased
    estimate of "the person holds j", and given the person's value the bits are independent.
    """

    axis: Axis
    own: float
    other: float
    named: float

    @property
    def cells(self) -> int:
        """Number of values."""
        return len(self.axis.is_sensitive)

    @cached_property
    def on(self) -> Array:
        """Probability of each value's bit under the value itself."""
        return np.where(self.axis.is_sensitive, self.own, self.named)

    @cached_property
    def off(self) -> Array:
        """And under any other one."""
        return np.where(self.axis.is_sensitive, self.other, 0.0)

    def totals(self, reported: ReportedRows, pair: Pair) -> Array:
        """See `cells.estimator.Channel`."""
        rows, held = reported.all_rows, self.axis.held
        names, bits = rows.columns
        moments = rows.moment(*pair)
        people, is_bit = bits < 0, (bits >= 0) & (bits < held)
        seen = np.bincount(bits[is_bit], moments[is_bit], minlength=held)
        named = np.bincount(names[people], moments[people], minlength=self.cells - held + 1)
        set_ = np.concatenate([seen, named[1:]])[self.axis.rank]
        return self._behind(set_, float(moments[people].sum()))

    def _behind(self, set_: Array, people: Array | float) -> Array:
        return np.asarray((set_ - self.off * people) / (self.on - self.off))

    def second(self, totals: Array, left: Array, right: Array) -> Array:
        """See `cells.estimator.Channel`.

        Under value i a query's weight has mean w_i, and each bit adds its own variance.
        """
        width = (self.on - self.off) ** 2
        rest = self.off * (1.0 - self.off) / width * totals.sum()
        own = (self.on * (1.0 - self.on) - self.off * (1.0 - self.off)) / width * totals
        return np.asarray((left * (totals + rest + own)) @ right.T)

    def spread(self, weights: Array) -> Array:
        """See `cells.estimator.Channel`."""
        width = (self.on - self.off) ** 2
        own = (self.on * (1.0 - self.on) - self.off * (1.0 - self.off)) / width
        people = np.ptp(weights**2 * (1.0 + own), axis=1)
        named = (weights / self.on)[:, ~self.axis.is_sensitive] ** 2
        return np.asarray(np.maximum(people, named.max(axis=1, initial=0.0)))

    def simulated(self, people: Array, random: np.random.Generator, count: int) -> Array:
        """See `smoothing.Simulates`."""
        total = round(float(people.sum()))
        drawn = random.multinomial(total, people / people.sum(), count)
        set_ = random.binomial(drawn, self.on) + random.binomial(total - drawn, self.off)
        return self._behind(set_.astype(float), float(total))
