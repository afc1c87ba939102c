"""What a survey promises once its reports are shuffled, and whether.

The figure comes from the blankets that the design states, by the accountant. Where the channel can
be enumerated, the statement itself is checked: no pair of records of the enumerated channel may be
told apart better than the stated blankets say.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from ldpsql.audit.exact import enumerate_channel
from ldpsql.decoders.base import AnyDesign as Design
from ldpsql.decoders.law import Law
from ldpsql.recipes.base import achieved, keeps_promise
from ldpsql.shuffle import Blanket, delta_of
from ldpsql.survey import Survey
from ldpsql_device.guarantee import Shuffled

_CROWDS = ((50, Decimal("0.5")), (5000, Decimal("0.1")))
"""People and central epsilons at which stated and enumerated blankets are compared."""
_MOST_WORK = 200_000
_BEYOND = 1e-6


@dataclass(frozen=True)
class CentralAudit:
    """What a shuffled batch of `reports` reports promises.

    epsilon: achieved at the survey's delta, rounded up to four significant digits; None if there is
    no bound.  by: what the accountant was given.  problems: why the promise does not hold.
    """

    trust: Shuffled
    reports: int
    epsilon: Decimal | None
    by: str
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether the promise holds for a batch of this size."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """Plain data; decimals as text, so that nothing is rounded."""
        return {
            **self.trust.to_json(),
            "reports": self.reports,
            "people": self.trust.people_of(self.reports),
            "achieved_epsilon": None if self.epsilon is None else format(self.epsilon, "f"),
            "by": self.by,
            "holds": self.holds,
            "problems": list(self.problems),
        }


def audit_central(survey: Survey, reports: int | None = None) -> CentralAudit | None:
    """Audit the central promise for a batch of so many reports, or as many as the survey has users;
    None for a survey without one."""
    trust = survey.shuffled
    if trust is None:
        return None
    count = trust.users if reports is None else reports
    stated = survey.design.states_blankets
    return CentralAudit(
        trust,
        count,
        achieved(survey.design, trust, count),
        "the blankets of the design" if stated else "clones: the local epsilon alone",
        tuple(_problems(survey, trust, count)),
    )


def _problems(survey: Survey, trust: Shuffled, reports: int) -> Iterator[str]:
    if not keeps_promise(survey.design, trust, reports):
        yield (
            f"a batch of {reports:,} reports does not keep epsilon {trust.epsilon} at delta "
            f"{trust.delta}"
        )
    if not survey.design.states_blankets:
        return
    channel = enumerate_channel(survey.design, survey.options)
    if channel is not None and not blankets_cover(channel.design, channel.law):
        yield "the blankets that the design states are not those of its enumerated channel"


def blankets_cover(design: Design, law: Law) -> bool:
    """Whether the blankets that a design states cover every pair of records of its channel; also
    where it states none."""
    if not design.states_blankets:
        return True
    stated = design.blankets()
    exact = enumerated_blankets(law)
    return all(
        delta_of(exact, people, epsilon) <= delta_of(stated, people, epsilon) * (1 + _BEYOND)
        for people, epsilon in _CROWDS
    )


def enumerated_blankets(law: Law) -> tuple[Blanket, ...]:
    """The blankets of pairs of records, those that differ by the rounding of draws only once.

    Of all pairs, or of evenly many of them where the channel is large.
    """
    # The blanket of a pair is the least probability of every report over all records, beside its
    # probabilities under the two. Reports with equal ratios of these are one atom: nothing that
    # the accountant computes can tell them apart.
    every = math.ceil(math.comb(len(law.inputs), 2) * len(law.outputs) / _MOST_WORK)
    pairs = itertools.islice(itertools.combinations(law.probabilities, 2), None, None, every)
    least = [min(column) for column in zip(*law.probabilities, strict=True)]
    kinds: dict[tuple[tuple[float, ...], ...], Blanket] = {}
    for one, other in pairs:
        merged: defaultdict[tuple[float, float], list[Fraction]] = defaultdict(
            lambda: [Fraction(0)] * 3
        )
        for r, first, second in zip(least, one, other, strict=True):
            if first or second:
                ratios = _rounded(first, r), _rounded(second, r)
                merged[ratios] = [
                    a + b for a, b in zip(merged[ratios], (r, first, second), strict=True)
                ]
        atoms = sorted(merged.values())
        key = tuple(tuple(round(float(part), 12) for part in atom) for atom in atoms)
        kinds.setdefault(key, Blanket(tuple((a, b, c) for a, b, c in atoms)))
    return tuple(kinds.values())


def _rounded(chance: Fraction, least: Fraction) -> float:
    """A ratio to ten digits; what the blanket does not cover is a class of its own."""
    return float(f"{float(chance / least):.10g}") if least else -1.0
