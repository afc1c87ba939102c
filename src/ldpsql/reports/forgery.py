"""Signs that reports are forged, which no honest crowd leaves.

Anybody can send whatever fits the report format, and estimates that are unbiased for honest reports
may then be anything. Devices draw their questions, and coins such as hash functions, without
looking at the record, and give no answer with more than a known chance. So counts that no crowd of
devices makes, whoever the people are, say that reports were lost by group, or forged. They are no
proof, and whoever forges with care leaves none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpsql.reports.report import Histogram, Integers, Reals, question_shares
from ldpsql_device.plan import WORDS, Bits, Part, Plan, RowsOfWords, Subset

SUSPICIOUS = 6.0
"""Standard errors from which on chance is not an explanation: one in a thousand million."""
FALSE_ALARM = 1e-6
"""Probability that honest reports are called too alike, at most."""


@dataclass(frozen=True)
class Spread:
    """How reports are spread over the questions of a plan: Pearson's chi-square.

    degrees: of freedom; 0 where there are too few reports to tell.  farthest: the reports of the
    question that is farthest from what is expected, and how many are.
    """

    statistic: float
    degrees: int
    farthest: tuple[int, float]

    @classmethod
    def of(cls, shares: Reals, sizes: Integers) -> Spread:
        """Of reports by question, shape (questions,); rare questions count together.  shares:
        probability of every question."""
        expected = shares * int(sizes.sum())
        rare = expected < 5.0
        observed = np.append(sizes[~rare], sizes[rare].sum()).astype(np.float64)
        wanted = np.append(expected[~rare], expected[rare].sum())
        observed, wanted = observed[wanted >= 5.0], wanted[wanted >= 5.0]
        statistic = float(np.sum((observed - wanted) ** 2 / wanted))
        far = int(np.argmax(np.abs(sizes - expected) / np.sqrt(np.maximum(expected, 1.0))))
        return cls(statistic, max(len(wanted) - 1, 0), (int(sizes[far]), float(expected[far])))

    @property
    def score(self) -> float:
        """The statistic on its normal scale: standard deviations above what chance makes."""
        if not self.degrees:
            return 0.0
        # (chi2 / df)^(1/3) is normal with mean 1 - 2 / (9 df) and variance 2 / (9 df), nearly
        # (Wilson and Hilferty). SciPy knows the exact law, but a question must not wait for its
        # import.
        spread = 2.0 / (9.0 * self.degrees)
        return float(((self.statistic / self.degrees) ** (1.0 / 3.0) - 1.0 + spread) / spread**0.5)

    @property
    def signs(self) -> list[str]:
        """A sign of forgery where questions are not as frequent as devices draw them."""
        if self.score <= SUSPICIOUS:
            return []
        reports, expected = self.farthest
        return [
            "reports are not spread over the groups as devices draw them (a group has "
            f"{reports:,} reports, {expected:,.0f} expected)"
        ]


def find_signs(plan: Plan, histogram: Histogram) -> list[str]:
    """All signs that the reports of a survey show by themselves."""
    spread = Spread.of(question_shares(plan), histogram.sizes)
    return [*spread.signs, *signs_within_groups(plan, histogram)]


def signs_within_groups(plan: Plan, histogram: Histogram) -> list[str]:
    """The signs that are not in how many reports every question has."""
    coins = [] if histogram.unary else uneven_coins(plan, histogram)
    return [*coins, *uneven_bits(plan, histogram), *alike_reports(plan, histogram)]


def uneven_coins(plan: Plan, histogram: Histogram) -> Iterator[str]:
    """A sign of forgery where coins are not as even as devices draw them: Pearson's chi-square
    over the coins of all questions that expect at least 5 reports of each."""
    coins = plan.limits[:, : plan.coin_columns]
    kinds = coins.astype(np.float64).prod(axis=1)
    expected = histogram.sizes / kinds
    used = (kinds > 1.0) & (expected >= 5.0)
    questions = np.asarray(histogram.columns[0]).astype(np.int64)
    chosen = used[questions]
    if not chosen.any():
        return
    place = np.zeros(int(chosen.sum()), dtype=np.int64)
    for column in range(plan.coin_columns):
        drawn = np.asarray(histogram.columns[1 + column])[chosen].astype(np.int64)
        place = place * coins[questions[chosen], column] + drawn
    starts = np.cumsum(np.where(used, kinds, 0.0)).astype(np.int64)
    place += starts[questions[chosen]] - kinds[questions[chosen]].astype(np.int64)
    counts = np.bincount(place, histogram.counts[chosen], int(starts[-1]))
    wanted = np.repeat(expected[used], kinds[used].astype(np.int64))
    statistic = float(np.sum((counts - wanted) ** 2 / wanted))
    far = int(np.argmax(np.abs(counts - wanted) / np.sqrt(wanted)))
    spread = Spread(statistic, len(wanted) - int(used.sum()), (int(counts[far]), wanted[far]))
    if spread.score > SUSPICIOUS:
        yield (
            "coins are not as even as devices draw them (one fell in "
            f"{int(counts[far]):,} reports, {wanted[far]:,.0f} expected)"
        )


def uneven_bits(plan: Plan, histogram: Histogram) -> Iterator[str]:
    """A sign of forgery where the bits of a group are set more often, or less, than those of
    whoever the people are."""
    for first, face in zip(plan.first_questions, plan.faces, strict=False):
        for choice in range(face.questions):
            people = int(histogram.sizes[first + choice])
            column = plan.coin_columns
            for part in face.parts:
                columns = slice(column, column + part.columns)
                column += part.columns
                if not isinstance(part.response, Bits) or not people:
                    continue
                bits = count_bits(part, choice)
                low, high = expect_set(part.response, bits, people, len(histogram.sizes))
                found = _count_set(histogram, first + choice, columns)
                if low <= found <= high:
                    continue
                yield (
                    f"{found / people:.2f} bits of a report of a group are set on average, where "
                    f"{max(low, 0.0) / people:.2f} to {high / people:.2f} are expected"
                )


def expect_set(response: Bits, bits: int, people: int, groups: int = 1) -> tuple[float, float]:
    """Between which numbers it lies how many bits are set in all reports of a group.

    Every bit is set or not by itself, so their number has a mean and a variance that follow from a
    person's own bit alone, and by Bernstein's bound it is further from the mean than
    sqrt(2 v l) + l / 3 with a probability of at most 2 e^-l; v the variance. Of all groups together
    that is at most FALSE_ALARM.
    """
    own, other = (
        np.resize(np.array(each, dtype=np.float64), bits) / WORDS
        for each in (response.own, response.other)
    )
    means = other.sum() + own - other
    variances = (other * (1.0 - other)).sum() + own * (1.0 - own) - other * (1.0 - other)
    rare = math.log(2.0 * groups / FALSE_ALARM)
    room = math.sqrt(2.0 * people * float(variances.max()) * rare) + rare / 3.0
    return people * float(means.min()) - room, people * float(means.max()) + room


def _count_set(histogram: Histogram, question: int, columns: slice) -> int:
    """How many bits are set in all reports to a question; columns: where they are after its
    number."""
    rows = histogram.load(question)
    if histogram.unary:  # a row counts one bit, or with -1 the reports
        return int(rows.counts[rows.columns[0] >= 0].sum())
    words = np.stack([column.astype(np.uint64) for column in rows.columns[columns]])
    return int(np.bitwise_count(words).sum(axis=0) @ rows.counts)


def count_bits(part: Part, choice: int) -> int:
    """How many bits a part has under a choice."""
    sizes = [each if isinstance(each, int) else int(each.array[choice]) for each in part.radices]
    return math.prod(sizes)


def alike_reports(plan: Plan, histogram: Histogram) -> Iterator[str]:
    """A sign of forgery where equal reports are more than any people send.

    A count of one report among the n of its question is at most binomial with the largest chance p
    that any record gives it, so by Chernoff's bound P(count >= k) <= exp(-n D(k / n || p)), D the
    relative entropy; of all reports together (a union bound) that is at most FALSE_ALARM. Bits
    are counted one by one, so equal reports are not known of them.
    """
    if histogram.unary or not len(histogram.counts):
        return
    questions = np.asarray(histogram.columns[0]).astype(np.int64)
    people, most = histogram.sizes[questions].astype(np.float64), largest_chances(plan)[questions]
    share = histogram.counts / people
    excess = np.where(share > most, people * _divergence(share, most), 0.0)
    kinds = float(np.log(plan.limits.astype(np.float64)).sum(axis=1).max() + math.log(len(most)))
    worst = int(np.argmax(excess))
    if excess[worst] > kinds - math.log(FALSE_ALARM):
        yield (
            f"{int(histogram.counts[worst]):,} of {int(people[worst]):,} reports of a group are "
            f"one and the same (about {float((people * most)[worst]):,.1f} at most are expected)"
        )


def largest_chances(plan: Plan) -> Reals:
    """For every question the largest probability that any record gives any report of it, or more,
    shape (questions,); 1 where the response has no simple one."""
    chances = 1.0 / plan.limits[:, : plan.coin_columns].astype(np.float64).prod(axis=1)
    for first, face in zip(plan.first_questions, plan.faces, strict=False):
        own = slice(first, first + face.questions)
        column = plan.coin_columns
        for part in face.parts:
            answers = plan.limits[own, column].astype(np.float64)
            if isinstance(part.response, Subset):
                odds = plan.odds[part.response.odds] / WORDS
                chances[own] *= odds / (odds + answers - 1.0)
            elif isinstance(part.response, RowsOfWords):
                chances[own] *= max(map(max, part.response.rows)) / WORDS
            column += part.columns
    return np.asarray(chances)


def _divergence(share: Reals, chance: Reals) -> Reals:
    """D(share || chance) of two Bernoulli laws, share > 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = (1.0 - share) * np.log((1.0 - share) / (1.0 - chance))
    found: NDArray[np.float64] = share * np.log(share / chance)
    return found + np.where(share < 1.0, rest, 0.0)


def suspect(table: str, seen: list[str], harm: str = "") -> list[str]:
    """One note on a survey of what was seen, if anything was; harm: what forgers could do."""
    if not seen:
        return []
    reasons = "reports may be forged, lost by group, or made for another survey"
    return ["; ".join(filter(None, [f"{table}: {', and '.join(seen)}", reasons, harm]))]
