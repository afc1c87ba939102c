"""Public. Sees parameters. What each kind of guarantee limits, in an enumerated channel.

Every definition says, for each report, which records it compares: no two of them may differ in that
report's probability by more than e^epsilon.

* LDP (kinds "local" and "none"): all records.
* ULDP (kind "uldp"): all records, unless only one record can send the report and has no sensitive
  value. On several attributes a record is sensitive if any of its values is (product ULDP).
* ULDP per attribute (kind "uldp-joint"): the records that agree with all senders of the report in
  every attribute in which these have one common value that is not sensitive. For two attributes
  that is Definition 3 of the specification: a report of two sensitive values compares all records,
  one with a value v that is not sensitive those with v, and one of two such values has a single
  sender. Besides, a report that names a value which is not sensitive comes from its holders only.

Specification: uldp, sections 1.1 to 1.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ldpsql.mechanisms.base import Law, Outcome, Worst
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.schema import RecordDomain


@dataclass(frozen=True)
class Definition:
    """The definition that a kind of guarantee names, over one record domain."""

    kind: str
    domain: RecordDomain

    @cached_property
    def _sensitive(self) -> tuple[frozenset[int], ...]:
        return tuple(
            frozenset(self.domain.sensitive_codes(j)) for j in range(len(self.domain.sizes))
        )

    def held(self, record: Outcome) -> tuple[bool, ...]:
        """Which values of a record are sensitive, dimension by dimension."""
        return tuple(code in codes for code, codes in zip(record, self._sensitive, strict=False))

    def protects(self, record: Outcome) -> bool:
        """Whether the owner of a record is protected against every other record."""
        if self.kind in ("local", "none"):
            return True
        held = self.held(record)
        return any(held) if self.kind == "uldp" else all(held)

    def compared(self, inputs: Sequence[Outcome], column: Sequence[Fraction]) -> list[int]:
        """The records, by number, among which a report is limited; its probabilities as given."""
        senders = [record for record, chance in zip(inputs, column, strict=True) if chance]
        everybody = list(range(len(inputs)))
        if not senders or self.kind in ("local", "none"):
            return everybody
        if self.kind == "uldp":
            if len(senders) > 1 or any(self.held(senders[0])):
                return everybody
            return [inputs.index(senders[0])]
        given = [
            j
            for j, codes in enumerate(self._sensitive)
            if senders[0][j] not in codes and len({sender[j] for sender in senders}) == 1
        ]
        return [i for i in everybody if all(inputs[i][j] == senders[0][j] for j in given)]

    def worst(self, law: Law) -> Worst:
        """The report that tells two of the records that it compares apart best."""
        return law.worst(lambda column: self.compared(law.inputs, column))

    def strays(self, law: Law) -> bool:
        """Whether a report names a value that is not sensitive and comes from a record without it.

        Definition 3 forbids it (its conditions 2 to 4); the others do not speak of it.
        """
        if self.kind != "uldp-joint":
            return False
        for report, column in zip(law.outputs, zip(*law.probabilities, strict=True), strict=True):
            named = [int(code) for code in np.unravel_index(report[-1], self.domain.sizes)]
            spared = [j for j, held in enumerate(self.held(tuple(named))) if not held]
            for record, chance in zip(law.inputs, column, strict=True):
                if chance and any(record[j] != named[j] for j in spared):
                    return True
        return False

    def holds(self, law: Law, epsilon: Epsilon) -> bool:
        """Whether the channel meets the definition at an epsilon, in exact fractions."""
        odds = self.worst(law).odds
        return odds is not None and odds <= epsilon.odds and not self.strays(law)
