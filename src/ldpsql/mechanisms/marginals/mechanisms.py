"""Public. Sees parameters. SRR-MS, PSRR-SS, SRR-SS, SUE-MS, SOLH and OUE over marginals.

| name | oracle | who knows the marginal of a report |
|---|---|---|
| srr-ss | randomized response over the marginal's own cells | nobody: one shuffler |
| psrr-ss | the same over as many cells as the largest marginal has | nobody |
| solh | randomized response over a hash of the cell | nobody |
| srr-ms | as srr-ss, each marginal with a budget of its own | whoever runs a shuffler: one each |
| sue-ms, oue-ms | a bit for every cell | the same |

All of them are plain local mechanisms as well. Sources: Liu, Wang, Wang, Journal of Software 33(3),
2022; Wang et al., PVLDB 13(12), 2020 (SOLH); CALM: Zhang et al., CCS 2018, for marginals of several
attributes; specification shuffle, sections 3.1 to 3.6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ldpsql.mechanisms.groups import GroupTable
from ldpsql.mechanisms.marginals.collected import marginals_of, table_of
from ldpsql.mechanisms.marginals.design import MarginalDesign
from ldpsql.mechanisms.marginals.hash_values import best_hash_values
from ldpsql.mechanisms.marginals.published import CALIBRATIONS, published_local
from ldpsql.mechanisms.options import checked, no_measures, one_of, restored_table, take, whole
from ldpsql.recipes.base import NoOptions, Recipe
from ldpsql.shuffle import Blanket, largest_local
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.guarantee import Central
from ldpsql_device.schema import RecordDomain


@dataclass(frozen=True)
class Marginals(Recipe[NoOptions]):
    """One line of the table above.

    oracle: a key of `calibrated.MAKERS`.  visible: see `MarginalDesign`.
    """

    calibrates = True
    name: str
    oracle: str
    visible: bool = False

    @property
    def _known(self) -> dict[str, Any]:
        known: dict[str, Any] = {"ways": 1, "calibration": "tight"}
        return {**known, "values": 0} if self.oracle == "solh" else known

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> MarginalDesign:
        """Every marginal at the whole epsilon."""
        table, chosen = self._prepared(domain, options, workload)
        values = chosen.get("values") or self._values(table, epsilon)
        return checked(self._made(domain, table, epsilon, values))

    def shuffled(
        self,
        domain: RecordDomain,
        central: Central,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> MarginalDesign:
        """See `Recipe.shuffled`."""
        table, chosen = self._prepared(domain, options, workload)
        if chosen["calibration"] == "published":
            return self._published(domain, table, central)
        if self.oracle == "solh":
            return self._hashed(domain, table, central, chosen["values"])
        first = self._made(domain, table, central.epsilon, self._values(table, central.epsilon))
        if not self.visible:
            return checked(at(first, largest_local(lambda e: at(first, e).blankets(), central)))
        budgets = {
            size: largest_local(partial(_alone, first, table.sizes.index(size)), central)
            for size in set(table.sizes)
        }
        return checked(budgeted(first, tuple(budgets[size] for size in table.sizes)))

    def _prepared(
        self, domain: RecordDomain, options: Mapping[str, Any], workload: Workload | None
    ) -> tuple[GroupTable, dict[str, Any]]:
        """The marginals, and the options; SurveyError for what cannot be."""
        chosen = take(options, self._known, self.name)
        one_of("calibration", chosen["calibration"], CALIBRATIONS)
        no_measures(domain, self.name)
        if chosen["calibration"] == "published":
            self._check_published()
        return table_of(domain, marginals_of(domain, chosen["ways"], workload)), chosen

    def _check_published(self) -> None:
        if self.oracle == "sue":
            raise SurveyError(
                "sue-ms as published counts on every bit's being shuffled alone; here the bits of "
                "a person travel together, and its bound does not hold for them: at 10^6 people, "
                "epsilon 1 and delta 10^-6 the real delta is 0.48. Leave out calibration"
            )
        if self.oracle not in ("grr", "padded") or self.name == "srr-ss":
            raise SurveyError(f"{self.name} has no published calibration; leave out calibration")

    def _published(
        self, domain: RecordDomain, table: GroupTable, central: Central
    ) -> MarginalDesign:
        people = central.people // len(table.groups) if self.visible else central.people
        answers = table.sizes if self.visible else (max(table.sizes),) * len(table.sizes)
        budgets = tuple(published_local(central, people, size) for size in answers)
        first = self._made(domain, table, central.epsilon, self._values(table, central.epsilon))
        return checked(budgeted(first, budgets))

    def _hashed(
        self, domain: RecordDomain, table: GroupTable, central: Central, values: int
    ) -> MarginalDesign:
        """With so many hash values as make the variance least, unless their number is given."""

        def calibrated(number: int) -> MarginalDesign:
            first = self._made(domain, table, central.epsilon, number)
            return at(first, largest_local(lambda e: at(first, e).blankets(), central))

        return checked(calibrated(values) if values else best_hash_values(calibrated))

    def _values(self, table: GroupTable, epsilon: Epsilon) -> int:
        """Answers of a padded domain, hash values of OLH; 0 for the others."""
        if self.oracle == "padded":
            return max(table.sizes)
        return max(2, math.floor(epsilon.odds + 1)) if self.oracle == "solh" else 0

    def _made(
        self, domain: RecordDomain, table: GroupTable, epsilon: Epsilon, values: int
    ) -> MarginalDesign:
        budgets = (epsilon,) * len(table.groups)
        return MarginalDesign(
            self.name, domain, epsilon, table, self.oracle, budgets, values, self.visible
        )

    def restore(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> MarginalDesign:
        """From a survey's JSON."""
        no_measures(domain, self.name)
        if data["oracle"] != self.oracle:
            raise SurveyError(f"{self.name} uses the oracle {self.oracle}")
        budgets = tuple(map(Epsilon.parse, data["budgets"]))
        made = self._made(domain, restored_table(domain, data), epsilon, whole(data["values"]))
        return checked(replace(made, budgets=budgets))


def at(design: MarginalDesign, epsilon: Epsilon) -> MarginalDesign:
    """The same design with another local epsilon for every marginal."""
    return replace(design, epsilon=epsilon, budgets=(epsilon,) * len(design.budgets))


def budgeted(design: MarginalDesign, budgets: tuple[Epsilon, ...]) -> MarginalDesign:
    """The same design with a local epsilon per marginal."""
    largest = max(budgets, key=lambda budget: budget.value)
    return replace(design, epsilon=largest, budgets=budgets)


def _alone(design: MarginalDesign, group: int, epsilon: Epsilon) -> tuple[Blanket, ...]:
    """The blanket of one marginal at an epsilon."""
    return (at(design, epsilon).blanket_of(group),)
