"""Public. Sees parameters. The designs whose reports name a cell of the table of all combinations.

They differ in their responses only: `mechanisms` says which. A report is a cell drawn by one 64-bit
word per response. Specification: uldp.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, Literal

import numpy as np

from ldpsql.mechanisms.base import Codes, Entropy, Estimators, Law, Outcome
from ldpsql.mechanisms.cells.answers import TableDesign
from ldpsql.mechanisms.cells.query import cells_of
from ldpsql.mechanisms.channel import enumerate_law, in_blocks
from ldpsql.mechanisms.uldp.channel import CellChannel
from ldpsql.mechanisms.uldp.layout import Layout
from ldpsql.mechanisms.uldp.promise import promise
from ldpsql.mechanisms.uldp.smoothing import SmoothTable, likeliest, nearest
from ldpsql.report import ReportFormat, Reports
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.guarantee import Guarantee
from ldpsql_device.schema import RecordDomain

LARGEST_TABLE = 1 << 14


@dataclass(frozen=True, eq=False)
class CellDesign(TableDesign):
    """A layout of responses over a record domain.

    kind: of the guarantee where some value is not sensitive.  data: what `restore` of the mechanism
    needs besides domain and epsilon, from which the layout follows.
    """

    name: str
    domain: RecordDomain
    epsilon: Epsilon
    layout: Layout
    kind: str
    data: Mapping[str, Any]
    answers: Literal["boxes", "nodes"] = "boxes"

    def __post_init__(self) -> None:
        check_table(self.name, self.domain)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CellDesign) and (
            (self.name, self.domain, self.epsilon, self.data)
            == (other.name, other.domain, other.epsilon, other.data)
        )

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def channel(self) -> CellChannel:
        """What the collector knows of the reports."""
        return CellChannel(self.layout)

    @cached_property
    def report_format(self) -> ReportFormat:
        """One selector, and the cell."""
        return ReportFormat(("table", "cell"), np.array([[self.layout.cells]], dtype=np.int64))

    @property
    def guarantee(self) -> Guarantee:
        """For sensitive values; plain LDP where all are."""
        return promise(self.kind, self.domain, self.epsilon, self._disclosures)

    @property
    def _disclosures(self) -> Sequence[float]:
        """Per axis the largest probability that a value which is not sensitive is given away."""
        return [
            response.disclosure(attribute)
            for response in self.layout.responses
            for attribute in range(len(response.shape.sizes))
        ]

    # -- device ---------------------------------------------------------------------------------

    def randomize(self, codes: Codes, entropy: Entropy) -> Reports:
        """Device. See `Design.randomize`."""
        return in_blocks(self.report_format, codes, entropy, self._randomize_block)

    def _randomize_block(self, codes: Codes, entropy: Entropy) -> list[Codes]:
        ranks = self.layout.ranks(cells_of(self.domain, codes))
        words = entropy.words(len(codes) * len(self.layout.responses))
        drawn = [
            response.draw(ranks[:, first:end], words[number :: len(self.layout.responses)])
            for number, (response, (first, end)) in enumerate(
                zip(self.layout.responses, self.layout.spans, strict=True)
            )
        ]
        cells = self.layout.cells_at(np.concatenate(drawn, axis=1))
        return [np.zeros(len(codes), dtype=np.int64), cells]

    def law(self) -> Law:
        """The exact channel over all codes."""
        return enumerate_law(self.domain, self.layout.cells, self._report_law)

    def _report_law(self, record: Outcome) -> dict[Outcome, Fraction]:
        ranks = self.layout.ranks(cells_of(self.domain, np.array([record], dtype=np.int64)))[
            0
        ].tolist()
        parts = [
            _summed(response.law(tuple(ranks[first:end])))
            for response, (first, end) in zip(self.layout.responses, self.layout.spans, strict=True)
        ]
        law: dict[Outcome, Fraction] = {}
        for outcome in product(*(part.items() for part in parts)):
            reported = np.array([[rank for ranks, _ in outcome for rank in ranks]])
            chance = Fraction(1)
            for _, share in outcome:
                chance *= share
            law[0, int(self.layout.cells_at(reported)[0])] = chance
        return law

    def selector_odds(self) -> Fraction | None:
        """Largest odds that the definition of the guarantee limits; see `Design`."""
        odds = Fraction(1)
        for response in self.layout.responses:
            odds *= response.odds()
        return odds

    # -- questions ------------------------------------------------------------------------------

    @property
    def estimators(self) -> Estimators:
        """The unbiased one; the nearest table of people to it; the likeliest table of people."""
        return {
            "unbiased": self.estimator,
            "smooth": lambda histogram: SmoothTable(self.estimator(histogram), nearest),
            "em": lambda histogram: SmoothTable(self.estimator(histogram), likeliest),
        }

    def to_json(self) -> Mapping[str, Any]:
        """What `restore` of the mechanism needs besides domain and epsilon."""
        return dict(self.data)


def check_table(name: str, domain: RecordDomain) -> None:
    """SurveyError for private measures, no dimension, and too many combinations of codes."""
    if domain.measure_names:
        raise SurveyError(
            f"{name} takes no private measure ({domain.measure_names[0]}); declare it public, or "
            "use grr or hgrr"
        )
    cells = int(np.prod(domain.sizes, dtype=object))
    if not domain.sizes or cells > LARGEST_TABLE:
        raise SurveyError(
            f"{name} reports a combination of codes of all dimensions, of which there may be "
            f"1 to {LARGEST_TABLE}, not {cells}; use fewer or coarser dimensions"
        )


def _summed(law: Any) -> dict[Outcome, Fraction]:
    found: dict[Outcome, Fraction] = {}
    for outcome, chance in law:
        found[outcome] = found.get(outcome, Fraction(0)) + chance
    return found
