"""Public. Sees parameters. How HI splits epsilon among the level combinations of a frame.

Everybody of a frame answers all of them, so the parts add up to epsilon, exactly, in decimals.
The information of an answer grows about with the square of its part. Under consistent inference
the best split is therefore lopsided and has several local optima: the objective is that of
`allocation`, with the information that each part buys in place of a share of users, and
multiplicative updates start from an even split and from one towards every level combination.
Specification: h4mda, sections 2 and 10.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from functools import cached_property
from typing import Protocol

import numpy as np

from ldpsql.estimate import Array
from ldpsql.mechanisms.allocation import SHARE_FOR_ALL
from ldpsql.mechanisms.oracles import OracleTable
from ldpsql_device.epsilon import LARGEST_PRECISION, SMALLEST_EPSILON, Epsilon
from ldpsql_device.errors import SurveyError

Members = Sequence[Sequence[int]]
_EXACT = Context(prec=60)
_POINTS, _STEPS, _LEAN = 24, 200, 0.9
_GAP = 1e-5
_DIGITS = Decimal("1e-9")


class Criterion(Protocol):
    """What an allocation minimises, in the precision that every group has been given."""

    def gains(self, shares: Array) -> tuple[Array, float]:
        """-dF/dshare of every group, shape (groups,), and F."""
        ...


def even_budgets(name: str, epsilon: Epsilon, members: Members) -> tuple[Epsilon, ...]:
    """An equal part for every level combination of a frame, rounded down.

    members: the groups of every frame, all groups in ascending order. SurveyError where the parts
    would be too small.
    """
    divide = Context(prec=LARGEST_PRECISION, rounding=ROUND_FLOOR).divide
    parts = [divide(epsilon.value, len(groups)) for groups in members for _ in groups]
    if min(parts) < SMALLEST_EPSILON:
        levels = max(map(len, members))
        raise SurveyError(
            f"{name} splits epsilon {epsilon} over {levels} levels, and each part must be at least "
            f"{SMALLEST_EPSILON}; take a larger epsilon or fan-out, or a mechanism that does not "
            "split it"
        )
    return tuple(map(Epsilon, parts))


def refuse_overspending(epsilon: Epsilon, members: Members, budgets: Sequence[Epsilon]) -> None:
    """SurveyError unless there is a part for every group and those of a frame add up to at most
    epsilon."""
    if len(budgets) != sum(map(len, members)):
        raise SurveyError("a design with a split budget needs a part for every level combination")
    for groups in members:
        spent = Decimal(0)
        for group in groups:
            spent = _EXACT.add(spent, budgets[group].value)
        if spent > epsilon.value:
            raise SurveyError(f"the parts of epsilon {epsilon} add up to {spent}")


@dataclass(frozen=True)
class BestSplit:
    """The split of epsilon that minimises a criterion, for one oracle.

    even: the oracles under an even split, for which `criterion` holds.  consistent: whether a
    group counts by the variance of a contrast rather than of a node.
    """

    even: OracleTable
    members: Members
    criterion: Criterion
    consistent: bool

    def budgets(self) -> tuple[Epsilon, ...]:
        """Per group; one hundredth of epsilon is spread evenly, or what the smallest part needs."""
        starts = [self._fractions(self._even_shares())]
        for place in range(max(map(len, self.members))):
            starts.append(self._fractions(self._leaning(place)))
        found = [self._descend(start) for start in starts]
        best, _ = min(found, key=lambda pair: pair[1])
        return self._exactly(best)

    def _even_shares(self) -> Array:
        return self._leaning(None)

    def _leaning(self, place: int | None) -> Array:
        """Shares of epsilon per group: even, or most of it for one group of every frame."""
        shares = np.zeros(len(self.even.sizes))
        for groups in self.members:
            part = np.full(len(groups), 1.0 / len(groups))
            if place is not None and len(groups) > 1:
                part[:] = (1.0 - _LEAN) / (len(groups) - 1)
                part[place % len(groups)] = _LEAN
            shares[list(groups)] = part
        return shares

    @cached_property
    def _floors(self) -> Array:
        """The least fraction of epsilon of every group."""
        floors = np.zeros(len(self.even.sizes))
        smallest = float(SMALLEST_EPSILON) / float(self.even.epsilon) * (1.0 + 1e-6)
        for groups in self.members:
            least = min(max(SHARE_FOR_ALL / len(groups), smallest), 1.0 / len(groups))
            floors[list(groups)] = least
        return floors

    def _fractions(self, shares: Array) -> Array:
        """Fractions of epsilon from shares of what lies above the floors."""
        fractions = np.zeros(len(shares))
        for groups in self.members:
            own = list(groups)
            free = 1.0 - float(self._floors[own].sum())
            fractions[own] = self._floors[own] + free * shares[own]
        return fractions

    def _descend(self, fractions: Array) -> tuple[Array, float]:
        """Multiplicative updates; the best fractions met and their objective."""
        shares = self._fractions_above(fractions)
        best, least = fractions, np.inf
        for _ in range(_STEPS):
            precision, slope = self._bought(fractions)
            gain, objective = self.criterion.gains(precision / len(self.members))
            improved = objective < least * (1.0 - _GAP)
            if objective < least:
                best, least = fractions, objective
            if not improved:
                break
            pull = shares * np.sqrt(gain * slope)
            for groups in self.members:
                own = list(groups)
                total = float(pull[own].sum())
                if total > 0.0:
                    shares[own] = pull[own] / total
            fractions = self._fractions(shares)
        return best, least

    def _fractions_above(self, fractions: Array) -> Array:
        """The inverse of `_fractions`."""
        shares = np.zeros(len(fractions))
        for groups in self.members:
            own = list(groups)
            above = np.maximum(fractions[own] - self._floors[own], 0.0)
            shares[own] = above / (above.sum() or 1.0)
        return shares

    def _bought(self, fractions: Array) -> tuple[Array, Array]:
        """What fractions of epsilon buy in precision, even parts being 1, and the slope of it."""
        ends, logs = self._curves
        place = np.log(fractions)
        precision, slope = np.empty(len(place)), np.empty(len(place))
        for group, at in enumerate(place):
            left = min(max(int(np.searchsorted(ends, at)) - 1, 0), len(ends) - 2)
            steep = (logs[left + 1, group] - logs[left, group]) / (ends[left + 1] - ends[left])
            precision[group] = np.exp(logs[left, group] + steep * (at - ends[left]))
            slope[group] = max(steep, 0.0) * precision[group] / fractions[group]
        return precision, slope

    @cached_property
    def _curves(self) -> tuple[Array, Array]:
        """Logarithms of fractions, ascending, and of the precision that each group has there."""
        points = np.geomspace(0.5 * float(self._floors.min()), 1.0, _POINTS)
        base = self._variances(self.even)
        rows = []
        for fraction in points:
            budget = max(
                _rounded_down(Decimal(float(fraction)) * self.even.epsilon.value), SMALLEST_EPSILON
            )
            table = OracleTable(self.even.name, Epsilon(budget), self.even.sizes)
            rows.append(np.log(base / self._variances(table)))
        return np.log(points), np.array(rows)

    def _variances(self, oracles: OracleTable) -> Array:
        """Of what counts in every group; 1 where one node holds everybody."""
        found = np.ones(len(oracles.sizes))
        for group, size in enumerate(oracles.sizes):
            support = oracles.support(group)
            if size > 1:
                contrast = support.contrast_variance(size)
                found[group] = contrast if self.consistent else support.node_variance
        return found

    def _exactly(self, fractions: Array) -> tuple[Epsilon, ...]:
        """Decimals that add up to epsilon in every frame: the largest part takes the rest."""
        budgets: dict[int, Decimal] = {}
        for groups in self.members:
            most = max(groups, key=lambda group: float(fractions[group]))
            rest = self.even.epsilon.value
            for group in groups:
                if group != most:
                    exact = Decimal(float(fractions[group])) * self.even.epsilon.value
                    budgets[group] = max(_rounded_down(exact), SMALLEST_EPSILON)
                    rest = _EXACT.subtract(rest, budgets[group])
            budgets[most] = rest
        return tuple(Epsilon(budgets[group]) for group in sorted(budgets))


def _rounded_down(value: Decimal) -> Decimal:
    return value.quantize(_DIGITS, rounding=ROUND_FLOOR)
