"""Public. Sees parameters. What the designs have in common whose report is drawn from a table.

One report per person: a number between 0 and the number of reports, drawn from the column of the
person's cell by one word. Designs differ in how they make the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np

from ldpsql.mechanisms.base import Codes, Entropy, Estimators, Law, Outcome
from ldpsql.mechanisms.cells.answers import TableDesign
from ldpsql.mechanisms.cells.matrix import MatrixChannel
from ldpsql.mechanisms.cells.query import cells_of
from ldpsql.mechanisms.cells.words import Table, WordTable
from ldpsql.mechanisms.channel import enumerate_law, in_blocks
from ldpsql.report import ReportFormat, Reports
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.guarantee import Guarantee, local_guarantee
from ldpsql_device.schema import RecordDomain


@dataclass(frozen=True, eq=False)
class WordDesign(TableDesign):
    """A table of words over the cells of a small domain."""

    domain: RecordDomain
    epsilon: Epsilon

    @property
    def answers(self) -> Literal["boxes", "nodes"]:
        """Boxes are summed cell by cell."""
        return "boxes"

    @cached_property
    def words(self) -> Table:
        """How many words of ALL_WORDS lead to which report, shape (reports, cells)."""
        raise NotImplementedError

    @cached_property
    def table(self) -> WordTable:
        """The words, laid out for drawing."""
        return WordTable(self.words)

    @cached_property
    def report_format(self) -> ReportFormat:
        """One part for everybody, and the answer."""
        return ReportFormat(("part", "answer"), np.array([[self.table.reports]], dtype=np.int64))

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon-LDP for the whole private record."""
        return local_guarantee(self.epsilon)

    def randomize(self, codes: Codes, entropy: Entropy) -> Reports:
        """Device. See `Design.randomize`. One word per person."""
        return in_blocks(self.report_format, codes, entropy, self._draw)

    def _draw(self, codes: Codes, entropy: Entropy) -> list[Codes]:
        answer = self.table.draw(cells_of(self.domain, codes), entropy.words(len(codes)))
        return [np.zeros(len(codes), dtype=np.int64), answer]

    def law(self) -> Law:
        """The exact channel over all codes and signs."""
        return enumerate_law(self.domain, self.table.reports, self._law_of)

    def _law_of(self, record: Outcome) -> dict[Outcome, Fraction]:
        cell = cells_of(self.domain, np.array([record], dtype=np.int64).reshape(1, -1))[0]
        return {(0, answer): chance for answer, chance in self.table.law(int(cell)).items()}

    def selector_odds(self) -> Fraction | None:
        """Those of the table. See `Design`."""
        return self.table.odds()

    @cached_property
    def channel(self) -> MatrixChannel:
        """The table as the collector uses it."""
        return MatrixChannel(self.table.channel)

    @property
    def estimators(self) -> Estimators:
        """The unbiased one only."""
        return {"unbiased": self.estimator}
