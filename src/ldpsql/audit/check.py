"""Whether a design keeps what its guarantee promises, alone and once reports are shuffled."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from ldpsql import extensions
from ldpsql.algebra.numerics import epsilon_of
from ldpsql.audit.exact import (
    EnumeratedChannel,
    Exposure,
    blankets_cover,
    enumerate_channel,
    exceeding,
    find_exposures,
    find_graded_exposures,
    worst_odds,
)
from ldpsql.audit.outside import GROUP, MOST_CODES, DeviceCheck, Empirical, RecordCheck
from ldpsql.errors import pluralize
from ldpsql.estimators.base import Auditor
from ldpsql.mechanisms.base import find_epsilon, keeps_promise
from ldpsql.reports.channel import Worst
from ldpsql.survey import Survey
from ldpsql_device.entropy import Entropy, OsEntropy
from ldpsql_device.errors import InternalError
from ldpsql_device.odds import excess
from ldpsql_device.shuffled import Shuffled
from ldpsql_device.survey import PERIODS, Schedule

Method = Literal["enumeration", "integers"]

METHODS: dict[Method, str] = {
    "enumeration": "enumeration of the whole channel, in exact fractions",
    "integers": "exact odds of every report that the definition limits, from the integers that "
    "devices compare",
}
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Audit:
    """The promise of a design to a person who answers, and whether it holds.

    enumerated: the channel that was enumerated, the design's or that of a smaller one of its kind;
    None where none is small enough.  odds: the largest odds that the integer thresholds give; None
    if unbounded.  divergence: where a delta is promised, the exact one at the nominal epsilon, over
    all sets of reports; None where none is.  empirical, device, records: what the device code did
    on made-up codes, how the interpreter compares with the plan's law, and what a device does with
    made-up records; None if nobody looked.
    """

    design: Auditor
    enumerated: EnumeratedChannel | None
    odds: Fraction | None
    divergence: Fraction | None
    empirical: Empirical | None
    device: DeviceCheck | None
    records: RecordCheck | None = None

    @property
    def method(self) -> Method:
        """How `odds` was established."""
        is_whole = self.enumerated is not None and self.enumerated.design is self.design
        return "enumeration" if is_whole else "integers"

    @property
    def holds(self) -> bool:
        """Whether the promise holds."""
        return not self.problems

    @property
    def _keeps_delta(self) -> bool:
        return self.divergence is not None and self.divergence <= self.design.guarantee.delta

    @property
    def epsilon(self) -> Decimal | None:
        """Log of the odds, rounded up to 12 decimals; None if unbounded.

        Never above the nominal epsilon where the odds are not above e^epsilon. Where a delta is
        promised besides and kept, the nominal epsilon.
        """
        nominal = self.design.epsilon
        if self.design.guarantee.delta:
            return nominal.value if self._keeps_delta else None
        if self.odds is None:
            return None
        exact = epsilon_of(self.odds)
        return min(exact, nominal.value) if self.odds <= nominal.odds else exact

    @property
    def witness(self) -> Worst | None:
        """Where the odds are unbounded, and no delta allows it: a report that one record can send
        and another never."""
        if self._keeps_delta or self.enumerated is None or self.enumerated.worst.odds is not None:
            return None
        return self.enumerated.worst

    @cached_property
    def exposures(self) -> tuple[Exposure, ...]:
        """Who is protected against which alternatives, where that differs from person to person
        and a channel was enumerated."""
        channel = self.enumerated
        if channel is not None and channel.design.limits:
            return tuple(find_graded_exposures(channel.law, channel.design.limits))
        if channel is None or self.design.guarantee.kind in ("local", "none"):
            return ()
        return tuple(find_exposures(channel.law, channel.design.domain))

    @cached_property
    def problems(self) -> tuple[str, ...]:
        """Why the promise does not hold; empty if it does."""
        found = [*self._exact_problems(), *self._empirical_problems()]
        found += self.records.problems if self.records else ()
        if self.device is not None:
            found += self.device.problems
            limit, nominal = self.design.guarantee, float(self.design.epsilon)
            is_limited = limit.kind != "none" and not limit.delta
            if is_limited and self.device.epsilon > nominal + _ROUNDING:
                found.append(
                    f"two records answer one question by odds above e^{self.design.epsilon}: "
                    f"e^{self.device.epsilon:.6g}"
                )
        return tuple(found)

    def _exact_problems(self) -> Iterator[str]:
        design, channel, nominal = self.design, self.enumerated, self.design.epsilon
        kind, delta = design.guarantee.kind, design.guarantee.delta
        if kind == "none":
            yield "the mechanism promises nothing"
        if self.divergence is not None:
            if not self._keeps_delta:
                yield (
                    f"some set of reports breaks ({nominal}, {float(delta):g})-LDP: it needs "
                    f"delta {float(self.divergence):.9g}"
                )
        elif self.odds is None:
            yield "the odds of some report are unbounded"
        elif self.odds > nominal.odds:
            yield f"the odds of some report are above e^{nominal}"
        if channel is None:
            return
        limits = channel.design.limits
        if limits and (above := exceeding(channel.law, limits)):
            yield f"a report speaks for {above[0]} by more than the epsilon of its own"
        worst = channel.worst.odds
        if self.method == "integers":
            if (worst is None or worst > nominal.odds) and not delta:
                yield f"on a reduced domain the odds of some report are not below e^{nominal}"
            # The definitions of sensitive values do not speak of questions.
            if kind in ("local", "none") and not channel.asks_blindly:
                yield "the question of a report depends on the record"
        stated = worst_odds(channel.design)
        if stated is not None and (worst is None or stated < worst):
            yield "the odds from the design's integers are below those of its enumerated channel"

    def _empirical_problems(self) -> Iterator[str]:
        empirical, nominal = self.empirical, self.design.epsilon
        if empirical is None:
            return
        if empirical.epsilon_at_least > float(nominal):
            yield (
                f"the device code does not keep epsilon {nominal}: its reports show "
                f"at least {empirical.epsilon_at_least:.4f}"
            )
        if not empirical.follows_law:
            yield "reports of the device code do not come as often as the law says"
        if empirical.dependent:
            yield (
                "reports of one record are not equal as often as independent ones would be: "
                "entropy is used again, or the device code does not follow the law"
            )

    @property
    def _device_epsilon(self) -> float | None:
        """The log of the odds found from outside, for JSON; None if unbounded."""
        found = self.device.epsilon if self.device else math.inf
        return None if math.isinf(found) else found

    @property
    def not_established(self) -> tuple[str, ...]:
        """The questions that this audit leaves open, in words."""
        return tuple(self._list_not_established())

    def _list_not_established(self) -> Iterator[str]:
        check, codes = self.device, sum(self.design.domain.record_sizes)
        if check is None:
            yield "anything about the code of a device, which was not run"
            return
        if self.records is None:
            yield "how a device encodes records: without a survey there are only codes"
        if codes > MOST_CODES:
            yield f"anything about {codes - MOST_CODES:,} of {codes:,} codes, which were not tried"
        if (rest := check.records - check.compared) > 0:
            yield (
                f"the exact law of {rest:,} of {check.records:,} made-up records, which were only "
                "seen not to repeat a report, and to be asked the same questions"
            )
        every = self.design.plan.questions
        if not check.is_whole and check.questions < every:
            unseen = every - check.questions
            yield f"the answers to {unseen:,} of {every:,} questions, which did not come up"
        elif not check.is_whole and self.design.plan.coin_columns:
            yield "the answers to questions with other coins than those that came up"
        if check.left_out:
            asked = pluralize(check.left_out, "question")
            yield f"the exact law of the answers to {asked}, of which there are too many"
        if len(self.design.domain.record_sizes) > 1:
            yield (
                "combinations of codes beyond those tried: every code of every column was, beside "
                "random codes of the other columns"
            )
        yield "that a person's device runs this code, and what it sends beside its report"

    def to_json(self) -> dict[str, Any]:
        """Plain data; fractions and decimals as text, so that nothing is rounded."""
        design, guarantee = self.design, self.design.guarantee
        channel, witness = self.enumerated, self.witness
        return {
            "mechanism": design.name,
            "domain": design.domain.to_json(),
            "nominal_epsilon": str(design.epsilon),
            "guarantee": guarantee.kind,
            "epsilon": _text(self.epsilon),
            "odds": _text(self.odds),
            "delta": str(guarantee.delta),
            "divergence": _text(self.divergence),
            "protects": guarantee.protects,
            "not_protected": list(guarantee.not_protected),
            "report_bits": design.report_format.bits_per_report,
            "established": {"method": self.method, "by": METHODS[self.method]},
            "enumerated": channel
            and {
                "domain": channel.design.domain.to_json(),
                "reports": len(channel.law.outputs),
                "odds": _text(channel.worst.odds),
                "question_independent": channel.asks_blindly,
            },
            "witness": witness
            and {
                "report": witness.report,
                "record": witness.record,
                "other": witness.other,
                "probability": str(witness.likely),
                "probability_other": str(witness.unlikely),
            },
            "empirical": self.empirical and self.empirical.to_json(),
            "device": self.device and {**asdict(self.device), "epsilon": self._device_epsilon},
            "records": self.records and asdict(self.records),
            "not_established": list(self.not_established),
            "holds": self.holds,
            "problems": list(self.problems),
            "exposures": list(map(asdict, self.exposures)),
        }


def _text(number: Fraction | Decimal | None) -> str | None:
    """All of its digits; None stays."""
    if isinstance(number, Decimal):
        return format(number, "f")
    return None if number is None else str(number)


def audit_design(
    design: Auditor,
    options: Mapping[str, Any] | None = None,
    *,
    reports: int = 0,
    device: bool = False,
    survey: Survey | None = None,
    entropy: Entropy | None = None,
) -> Audit:
    """Audit any design through its contract alone.

    options: the mechanism's, for a smaller design of its kind where the domain is too large to
    enumerate.  reports: how many to draw per made-up record from the real device code, 0 for
    none.  device: whether to find the exact law of the interpreter from outside, and compare it
    with that of the plan; and, where the design is that of a `survey`, to answer made-up records
    of every kind.  entropy: what to draw from; the operating system's unless a test says
    otherwise.

    NotSupportedError where `device` or `reports` asks for an audit from outside and none is
    installed.
    """
    source, nominal = entropy or OsEntropy(), design.epsilon.odds
    channel = enumerate_channel(design, options or {})
    own = channel if channel is not None and channel.design is design else None
    divergence = None
    if design.guarantee.delta:
        divergence = own.law.divergence(nominal) if own else excess(design.plan, nominal)
    check = _from_outside("device")(design, source) if device else None
    return Audit(
        design,
        channel,
        own.worst.odds if own else worst_odds(design),
        divergence,
        _from_outside("reports")(design, channel, reports, source) if reports else None,
        check,
        _from_outside("records")(survey, source) if survey and device else None,
    )


def _from_outside(name: str) -> Callable[..., Any]:
    """A part of the audit from outside; NotSupportedError where it is not installed."""
    found: Callable[..., Any] = extensions.require(GROUP, name, "the audit of a device's code")
    return found


# -- shuffled reports -----------------------------------------------------------------------------


@dataclass(frozen=True)
class CentralAudit:
    """The promise of a shuffled batch of `reports` reports.

    epsilon: achieved at the survey's delta, rounded up to four significant digits; None if there is
    no bound.  problems: why the promise does not hold.
    """

    trust: Shuffled
    reports: int
    epsilon: Decimal | None
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether the promise holds for a batch of this size."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """Plain data; decimals as text, so that nothing is rounded."""
        return {
            "model": "shuffle",
            **self.trust.to_json(),
            "reports": self.reports,
            "people": self.trust.people_of(self.reports),
            "achieved_epsilon": _text(self.epsilon),
            "holds": self.holds,
            "problems": list(self.problems),
        }


def audit_central(survey: Survey, reports: int | None = None) -> CentralAudit | None:
    """Audit the central promise for a batch of so many reports, or as many as the survey has users;
    None for a survey without one.

    The figure comes from the blankets that the design states, by the accountant. Where the channel
    can be enumerated, the statement itself is checked.
    """
    trust, design, problems = survey.shuffled, survey.design, []
    if trust is None:
        return None
    count = trust.users if reports is None else reports
    if not keeps_promise(design, trust, count):
        problems.append(
            f"a batch of {count:,} reports does not keep epsilon {trust.epsilon} at delta "
            f"{trust.delta}"
        )
    channel = enumerate_channel(design, survey.options)
    if channel is not None and not blankets_cover(channel.design, channel.law):
        problems.append(
            "the blankets that the design states are not those of its enumerated channel"
        )
    return CentralAudit(trust, count, find_epsilon(design, trust, count), tuple(problems))


def count_answers(schedule: Schedule) -> tuple[int, int]:
    """The most answers of one device in a year of periods in a row, and how many periods that is.

    Counted by the rule that devices follow, for every offset and every period to begin with: turns
    come back after `sample` periods, so that this is a proof. InternalError where the schedule
    states another number.
    """
    every, periods, day = schedule.sample or 1, PERIODS[str(schedule.period)], date(2024, 1, 1)
    turns = dict[date | None, int]()
    while len(turns) < every + periods:
        turns.setdefault(schedule.period_of(day), schedule.turn_of(day))
        day += timedelta(days=1)
    found = list(turns.values())
    windows = (found[start : start + periods] for start in range(every))
    most = max(Counter(window).most_common(1)[0][1] for window in windows)
    if most != schedule.answers_in(periods):
        raise InternalError(f"{most} answers in a year, not {schedule.answers_in(periods)}")
    return most, periods
