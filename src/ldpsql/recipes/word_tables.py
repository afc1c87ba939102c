"""Designs over small domains whose report is drawn from a table of whole numbers.

A report is drawn by one word of WORD_BITS bits; of the 2^WORD_BITS words, words[o, u] give the
report o to a person in cell u. A *staircase* channel has two levels per report, z outside a
pattern of cells and a = floor(E z) inside it, which are within the odds E whatever the rest. What
rounding leaves of a cell's words goes to reports whose pattern the cell is not in, up to a: so
every report stays within [z, a]. Source: docs/spec/rr-optimum.md#2.2.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpsql.decoders.base import Estimators
from ldpsql.decoders.cells import CellSum, MatrixChannel, number_cells
from ldpsql.mechanisms.base import Codes, Entropy, Law, Outcome
from ldpsql.mechanisms.base import Words as Words64
from ldpsql.mechanisms.channel import enumerate_law, in_blocks
from ldpsql.recipes.cells import TableDesign
from ldpsql.report import ReportFormat, Reports
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.guarantee import Guarantee, local_guarantee
from ldpsql_device.schema import RecordDomain

WORD_BITS = 63
ALL_WORDS = 1 << WORD_BITS
_SHIFT = np.uint64(64 - WORD_BITS)
_LOW_BITS = 32

Table = NDArray[np.uint64]
Patterns = NDArray[np.bool_]


def make_staircase(
    weights: Sequence[int], patterns: Patterns, odds: Fraction, total: int = ALL_WORDS
) -> Table:
    """words[o, u], shape (reports, cells): every column sums to `total`, every row within `odds`.

    weights: z of every report, at least 1.  patterns: which cells it favours, shape (reports,
    cells).  SurveyError where the weights leave too much, or take more than there is.
    """
    if min(weights) < 1 or sum(weights) > total:
        raise SurveyError("the weights of the design are not those of a channel")
    low = np.array(weights, dtype=np.uint64)
    favoured = [odds.numerator * weight // odds.denominator for weight in weights]
    high = np.array([min(a, total) for a in favoured], dtype=np.uint64)
    table = np.where(patterns, high[:, None], low[:, None])
    left = [total - column for column in _column_sums(table)]
    if min(left) < 0:
        raise SurveyError("the weights of the design take more words than there are")
    room = high - low
    order = np.argsort(-room.astype(np.float64), kind="stable").tolist()
    for cell in range(len(left)):
        # Reports that do not favour the cell take what is left, those with most room first.
        for report in order:
            if not left[cell]:
                break
            if not patterns[report, cell]:
                more = min(left[cell], int(room[report]))
                table[report, cell] += np.uint64(more)
                left[cell] -= more
        if left[cell]:
            raise SurveyError("the weights of the design leave words without a report")
    return table


def _column_sums(table: Table) -> list[int]:
    """Exact sums of the columns, in two halves that cannot overflow."""
    high = (table >> np.uint64(_LOW_BITS)).sum(axis=0, dtype=np.uint64).tolist()
    low = (table & np.uint64((1 << _LOW_BITS) - 1)).sum(axis=0, dtype=np.uint64).tolist()
    return [(h << _LOW_BITS) + lower for h, lower in zip(high, low, strict=True)]


@dataclass(frozen=True, eq=False)
class WordTable:
    """words[o, u], every column with the sum ALL_WORDS."""

    words: Table

    def __post_init__(self) -> None:
        if any(column != ALL_WORDS for column in _column_sums(self.words)):
            raise SurveyError("the reports of a cell have not probability 1 together")

    @property
    def reports(self) -> int:
        """How many different reports there are."""
        return len(self.words)

    @cached_property
    def channel(self) -> NDArray[np.float64]:
        """Probability of every report from every cell, shape (reports, cells)."""
        return self.words / float(ALL_WORDS)

    @cached_property
    def _starts(self) -> Table:
        """The first word of every report, cell by cell, flat."""
        ends = np.cumsum(self.words.T, axis=1, dtype=np.uint64)
        return np.ascontiguousarray(ends - self.words.T).ravel()

    def draw(self, cells: Codes, words: Words64) -> Codes:
        """Device. The report whose words hold the person's, by a search of a fixed number of
        steps: the last one that does not start behind it."""
        reports, word = len(self.words), words >> _SHIFT
        drawn, first = np.zeros(len(cells), dtype=np.int64), cells * reports
        for bit in reversed(range(max(reports - 1, 0).bit_length())):
            candidate = drawn + (1 << bit)
            inside = candidate < reports
            start = self._starts[first + np.minimum(candidate, reports - 1)]
            drawn = np.where(inside & (start <= word), candidate, drawn)
        return drawn

    def law(self, cell: int) -> dict[int, Fraction]:
        """The reports that a cell can send, with their exact probabilities."""
        column = self.words[:, cell].tolist()
        return {report: Fraction(own, ALL_WORDS) for report, own in enumerate(column) if own}

    def odds(self) -> Fraction | None:
        """Largest odds of a report between two cells; None if unbounded."""
        high, low = self.words.max(axis=1).tolist(), self.words.min(axis=1).tolist()
        pairs = [(a, b) for a, b in zip(high, low, strict=True) if a]
        if any(not b for _, b in pairs):
            return None
        return max(Fraction(a, b) for a, b in pairs)


@dataclass(frozen=True, eq=False)
class WordDesign(TableDesign):
    """A table of words over the cells of a small domain."""

    domain: RecordDomain
    epsilon: Epsilon

    @property
    @abstractmethod
    def words(self) -> Table:
        """How many words of ALL_WORDS lead to which report, shape (reports, cells)."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and (
            (self.domain, self.epsilon, self.to_json())
            == (other.domain, other.epsilon, other.to_json())
        )

    __hash__ = None  # type: ignore[assignment]

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
        answer = self.table.draw(number_cells(self.domain, codes), entropy.words(len(codes)))
        return [np.zeros(len(codes), dtype=np.int64), answer]

    def law(self) -> Law:
        """The exact channel over all codes and signs."""
        return enumerate_law(self.domain, self.table.reports, self._law_of)

    def _law_of(self, record: Outcome) -> dict[Outcome, Fraction]:
        cell = number_cells(self.domain, np.array([record], dtype=np.int64).reshape(1, -1))[0]
        return {(0, answer): chance for answer, chance in self.table.law(int(cell)).items()}

    def selector_odds(self) -> Fraction | None:
        """Those of the table."""
        return self.table.odds()

    @cached_property
    def channel(self) -> MatrixChannel:
        """The table as the collector uses it."""
        return MatrixChannel(self.table.channel)

    @property
    def estimators(self) -> Estimators[CellSum]:
        """The unbiased one only."""
        return {"unbiased": self.estimator}
