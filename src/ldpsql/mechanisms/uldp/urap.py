"""Public. Sees parameters. Utility-optimised unary encoding (uRAP) of one attribute.

A report has one bit per sensitive value and names at most one value that is not sensitive. The own
bit is 1 with probability theta, any other sensitive one with d1; a value that is not sensitive is
named with probability 1 - d2 by its owners, and by nobody else:

    d1 = theta / ((1 - theta) E + theta),   d2 = ((1 - theta) E + theta) / E,   E = e^epsilon.

The named value is the selector of the report (0: none), so the histogram counts the bits of those
who named the same. Source: Murakami, Kawamoto, USENIX Security 2019; specification uldp, section 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Context
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, Literal

import numpy as np

from ldpsql.mechanisms.base import Codes, Entropy, Estimators, Law, Outcome
from ldpsql.mechanisms.cells.answers import TableDesign
from ldpsql.mechanisms.channel import enumerate_law, in_blocks
from ldpsql.mechanisms.draws import SPACE
from ldpsql.mechanisms.options import one_of, take, whole
from ldpsql.mechanisms.uldp.bits import BitChannel
from ldpsql.mechanisms.uldp.design import check_table
from ldpsql.mechanisms.uldp.layout import Axis, separate_axes
from ldpsql.mechanisms.uldp.promise import by_name, promise
from ldpsql.mechanisms.uldp.smoothing import SmoothTable, nearest
from ldpsql.recipes.base import NoOptions, Recipe
from ldpsql.report import ReportFormat, Reports
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.guarantee import Guarantee
from ldpsql_device.schema import RecordDomain

WORD, MOST_BITS = 32, 1024
FORMS = ("symmetric", "optimised")
_DIGITS = Context(prec=60)


@dataclass(frozen=True)
class UrapDesign(TableDesign):
    """Unary encoding with the threshold `theta` of the own bit, out of 2^64."""

    domain: RecordDomain
    epsilon: Epsilon
    theta: int
    name: str = "urap"
    answers: Literal["boxes", "nodes"] = "boxes"

    def __post_init__(self) -> None:
        check_table(self.name, self.domain)
        if len(self.domain.sizes) != 1:
            raise SurveyError(f"urap is for one dimension, not {len(self.domain.sizes)}; use cprr")
        if self.axis.held > MOST_BITS:
            raise SurveyError(
                f"urap sends a bit per sensitive value, at most {MOST_BITS}, not {self.axis.held}; "
                "use urr"
            )
        if not 0 < self.thresholds[1] < self.theta < SPACE or not 0 < self.thresholds[2] < SPACE:
            raise SurveyError("the own bit must be likelier than the others")

    @cached_property
    def axis(self) -> Axis:
        """The one dimension."""
        return separate_axes(self.domain)[0]

    @cached_property
    def thresholds(self) -> tuple[int, int, int]:
        """Words below which the own bit is set, another one is, and a value is not named.

        d1 is rounded up so that the two kinds of bits stay within E, then d2 so that a report
        without a name does.
        """
        odds, theta = self.epsilon.odds, Fraction(self.theta, SPACE)
        other = _up(theta / ((1 - theta) * odds + theta))
        d1 = Fraction(other, SPACE)
        unnamed = _up(max(theta / (d1 * odds), (1 - theta) / (1 - d1)))
        return self.theta, other, unnamed

    @cached_property
    def report_format(self) -> ReportFormat:
        """The named value, then words of 32 bits."""
        bits = self.axis.held
        widths = [min(WORD, bits - start) for start in range(0, bits, WORD)]
        selectors = len(self.axis.is_sensitive) - bits + 1
        limits = np.tile(np.array([1 << width for width in widths], dtype=np.int64), (selectors, 1))
        columns = ("named", *(f"w{index}" for index in range(len(widths))))
        return ReportFormat(columns, limits, unary=True, bits=(bits,) * selectors)

    @cached_property
    def channel(self) -> BitChannel:
        """What the collector knows of the reports."""
        own, other, unnamed = (threshold / SPACE for threshold in self.thresholds)
        return BitChannel(self.axis, own, other, 1.0 - unnamed)

    @property
    def guarantee(self) -> Guarantee:
        """For sensitive values; plain LDP where all are."""
        return promise("uldp", self.domain, self.epsilon, [1.0 - self.thresholds[2] / SPACE])

    def randomize(self, codes: Codes, entropy: Entropy) -> Reports:
        """Device. See `Design.randomize`."""
        return in_blocks(self.report_format, codes, entropy, self._randomize_block)

    def _randomize_block(self, codes: Codes, entropy: Entropy) -> list[Codes]:
        """A word per bit, and one for the name, for every person alike."""
        held, people = self.axis.held, len(codes)
        rank = self.axis.rank[codes[:, 0]]
        own, other, unnamed = map(np.uint64, self.thresholds)
        words = entropy.words(people * (held + 1)).reshape(people, held + 1)
        is_own = rank[:, None] == np.arange(held)
        bits = words[:, :held] < np.where(is_own, own, other)
        is_named = (rank >= held) & (words[:, held] >= unnamed)
        columns = [np.where(is_named, rank - held + 1, 0)]
        for start in range(0, held, WORD):
            chunk = bits[:, start : start + WORD]
            columns.append(chunk @ (1 << np.arange(chunk.shape[1], dtype=np.int64)))
        return columns

    def law(self) -> Law:
        """The exact channel over all codes."""
        held = self.axis.held
        outputs = (len(self.axis.is_sensitive) - held + 1) << min(held, 64)
        return enumerate_law(self.domain, outputs, lambda record: dict(self._report_law(record)))

    def _report_law(self, record: Outcome) -> Iterator[tuple[Outcome, Fraction]]:
        held, rank = self.axis.held, int(self.axis.rank[record[0]])
        own, other, unnamed = (Fraction(threshold, SPACE) for threshold in self.thresholds)
        names = {0: Fraction(1)} if rank < held else {0: unnamed, rank - held + 1: 1 - unnamed}
        for bits in product((0, 1), repeat=held):
            chance = Fraction(1)
            for place, bit in enumerate(bits):
                one = own if place == rank else other
                chance *= one if bit else 1 - one
            packed = tuple(
                sum(bit << i for i, bit in enumerate(bits[start : start + WORD]))
                for start in range(0, held, WORD)
            )
            for name, share in names.items():
                yield (name, *packed), chance * share

    def selector_odds(self) -> Fraction | None:
        """Largest odds of a report that names no value; see `Design`."""
        own, other, unnamed = (Fraction(threshold, SPACE) for threshold in self.thresholds)
        is_set, is_clear = own / other, (1 - own) / (1 - other)
        spared = [] if self.axis.held == len(self.axis.is_sensitive) else [unnamed]
        if self.axis.held > 1:
            kinds = [[is_set, is_clear, *spared]]
        else:
            kinds = [[is_set, *spared], [is_clear, *spared]]
        return max(max(kind) / min(kind) for kind in kinds)

    @property
    def estimators(self) -> Estimators:
        """The unbiased one, and the nearest table of people to it."""
        return {
            "unbiased": self.estimator,
            "smooth": lambda histogram: SmoothTable(self.estimator(histogram), nearest),
        }

    def to_json(self) -> Mapping[str, Any]:
        """What `restore` needs besides domain and epsilon."""
        return {"theta": self.theta}


class Urap(Recipe[NoOptions]):
    """COUNT of one attribute, SUM and AVG of public columns."""

    can_be_reserved = True
    name = "urap"

    def reserved(self, domain: RecordDomain) -> str | None:
        """See `Recipe.reserved`."""
        return by_name("uldp", domain)

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> UrapDesign:
        """Option `form`: "symmetric" (the own bit is as likely 1 as another is 0), or "optimised"
        (the own bit is a fair coin, as in OUE), which is better for many sensitive values."""
        form = take(options, {"form": FORMS[0]}, self.name)["form"]
        one_of("form", form, FORMS)
        if form == "optimised":
            return UrapDesign(domain, epsilon, SPACE // 2)
        root = _DIGITS.exp(_DIGITS.divide(epsilon.value, 2))
        theta = Fraction(_DIGITS.divide(root, _DIGITS.add(root, 1)))
        return UrapDesign(domain, epsilon, round(theta * SPACE))

    def restore(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> UrapDesign:
        """From a survey's JSON."""
        theta = whole(data["theta"])
        if not 0 < theta < SPACE:
            raise SurveyError("the threshold of the own bit lies between 0 and 2^64")
        return UrapDesign(domain, epsilon, theta)


def _up(chance: Fraction) -> int:
    exact = chance * SPACE
    return -(-exact.numerator // exact.denominator)
