"""Public. Sees parameters. Marginals with a frequency oracle in each, and their blankets.

Specification: shuffle, sections 2.1, 3.1, 3.3, 3.4 and 3.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from ldpsql.mechanisms.draws import SPACE
from ldpsql.mechanisms.marginals.calibrated import CalibratedOracles, scaled
from ldpsql.mechanisms.marginals.collected import CollectedMarginals
from ldpsql.shuffle import Blanket, merged
from ldpsql_device.epsilon import Epsilon


@dataclass(frozen=True)
class MarginalDesign(CollectedMarginals):
    """Marginals with a frequency oracle in each.

    budgets: local epsilon of every group.  values: see `CalibratedOracles`.  visible: whether
    whoever sees the reports may know who reports on which marginal, as where each has a shuffler
    of its own.
    """

    budgets: tuple[Epsilon, ...] = ()
    values: int = 0
    visible: bool = False
    states_blankets = True

    @cached_property
    def oracles(self) -> CalibratedOracles:
        """The oracle of every marginal."""
        return CalibratedOracles(
            self.oracle, self.epsilon, self.table.sizes, self.budgets, self.values
        )

    def blankets(self) -> tuple[Blanket, ...]:
        """Of two people who differ in all attributes; see `Design`."""
        groups = range(len(self.table.groups))
        if self.visible:
            return tuple(dict.fromkeys(self.blanket_of(number) for number in groups))
        parts = (scaled(self.oracles.atoms(number), self._chance(number)) for number in groups)
        return (Blanket(merged(atom for part in parts for atom in part)),)

    def blanket_of(self, group: int) -> Blanket:
        """That of one marginal, where whoever looks knows who reports on it."""
        return Blanket(self.oracles.atoms(group), self._chance(group))

    def _chance(self, group: int) -> Fraction:
        return Fraction(self.table.groups[group].weight, SPACE)

    def to_json(self) -> Mapping[str, Any]:
        """What `restored` needs besides name, domain and epsilon."""
        return {
            **super().to_json(),
            "budgets": [str(budget) for budget in self.budgets],
            "values": self.values,
        }
