"""Public. Sees parameters. ARR-SS: one randomized response over the cells of all marginals.

Source: Liu, Wang, Wang, Journal of Software 33(3), 2022; specification shuffle, section 3.2. Its
authors take the odds of the randomized response for those of a report, which are only
1 + (e - 1) / d for d marginals: `calibration = "published"` spends that little,
`calibration = "tight"` what was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ldpsql.mechanisms.groups import GroupTable
from ldpsql.mechanisms.marginals.arr_design import ArrDesign
from ldpsql.mechanisms.marginals.collected import marginals_of, table_of
from ldpsql.mechanisms.marginals.published import CALIBRATIONS, published_local
from ldpsql.mechanisms.options import no_measures, one_of, restored_table, take
from ldpsql.recipes.base import NoOptions, Recipe
from ldpsql.shuffle import largest_local
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon, epsilon_of
from ldpsql_device.errors import SurveyError
from ldpsql_device.guarantee import Central
from ldpsql_device.schema import RecordDomain

OPTIONS = {"ways": 1, "calibration": "tight", "sum_to_one": False}


@dataclass(frozen=True)
class ArrSs(Recipe[NoOptions]):
    """COUNT over private dimensions."""

    calibrates = True
    name: str = "arr-ss"

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> ArrDesign:
        """The randomized response as truthful as epsilon allows; as `calibration` says."""
        chosen = take(options, OPTIONS, self.name)
        one_of("calibration", chosen["calibration"], CALIBRATIONS)
        table = self._table(domain, chosen, workload)
        if chosen["calibration"] == "published":
            epsilon = local_budget(epsilon, len(table.groups))
        return self._made(domain, table, epsilon, chosen["sum_to_one"])

    def shuffled(
        self,
        domain: RecordDomain,
        central: Central,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> ArrDesign:
        """See `Recipe.shuffled`."""
        chosen = take(options, OPTIONS, self.name)
        one_of("calibration", chosen["calibration"], CALIBRATIONS)
        table = self._table(domain, chosen, workload)
        first = self._made(domain, table, central.epsilon, chosen["sum_to_one"])
        if chosen["calibration"] == "published":
            answered = published_local(central, central.people, first.starts[-1])
            return replace(first, epsilon=local_budget(answered, len(table.groups)))
        best = largest_local(lambda local: replace(first, epsilon=local).blankets(), central)
        return replace(first, epsilon=best)

    def _table(
        self, domain: RecordDomain, chosen: Mapping[str, Any], workload: Workload | None
    ) -> GroupTable:
        no_measures(domain, self.name)
        return table_of(domain, marginals_of(domain, chosen["ways"], workload))

    def _made(
        self, domain: RecordDomain, table: GroupTable, epsilon: Epsilon, sum_to_one: bool
    ) -> ArrDesign:
        return ArrDesign(self.name, domain, epsilon, table, "grr", sum_to_one)

    def restore(self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]) -> ArrDesign:
        """From a survey's JSON."""
        no_measures(domain, self.name)
        if type(data["sum_to_one"]) is not bool or data["oracle"] != "grr":
            raise SurveyError(f"the design does not fit {self.name}")
        return self._made(domain, restored_table(domain, data), epsilon, data["sum_to_one"])


def local_budget(answered: Epsilon, marginals: int) -> Epsilon:
    """The local epsilon of randomized response with budget `answered` over a secret marginal:
    ln(1 + (e - 1) / d), rounded up. Specification: shuffle, section 3.2."""
    return Epsilon(epsilon_of(1 + (answered.odds - 1) / marginals))
