"""Whether a design keeps what its guarantee promises: what is established, and how."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from ldpsql.audit.bisection import DeviceCheck, check_device
from ldpsql.audit.exact import EnumeratedChannel, Exposure, enumerate_channel, find_exposures
from ldpsql.audit.sampling import Empirical, corners, random_records, run_device
from ldpsql.decoders.base import AnyDesign as Design
from ldpsql.decoders.law import Worst
from ldpsql.numerics import epsilon_of
from ldpsql.record_domain import RecordDomain
from ldpsql_device.entropy import Entropy, OsEntropy
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.guarantee import Guarantee
from ldpsql_device.odds import excess

Method = Literal["enumeration", "integers"]

METHODS: dict[Method, str] = {
    "enumeration": "enumeration of the whole channel, in exact fractions",
    "integers": "exact odds of every report that the definition limits, from the integers that "
    "devices compare",
}
_DEVICE_RECORDS = 4


@dataclass(frozen=True)
class Enumerated:
    """A channel that was enumerated: its domain and the worst that it allows.

    reports: number of different reports.  asks_blindly: whether the question is drawn
    independently of the record.
    """

    domain: RecordDomain
    reports: int
    worst: Worst
    asks_blindly: bool

    @property
    def epsilon(self) -> Decimal | None:
        """Log of the worst odds, rounded up to 12 decimals; None if unbounded."""
        return None if self.worst.odds is None else epsilon_of(self.worst.odds)


@dataclass(frozen=True)
class Audit:
    """What a person who answers is promised, and whether it holds.

    mechanism, domain, nominal, guarantee: the design's.  report_bits: size of a report.
    method: how `odds` was established.  odds: the largest odds that the integer thresholds give;
    None if unbounded.  divergence: where a delta is promised, the exact one at the nominal epsilon,
    over all sets of reports; None where none is.  enumerated: the channel that was enumerated, if
    any.
    problems: why the promise does not hold; empty if it does.  exposures: who is protected against
    which alternatives, where values are declared sensitive and a channel was enumerated.
    device: how the interpreter compares with the plan's law; None if nobody looked.
    """

    mechanism: str
    domain: RecordDomain
    nominal: Epsilon
    guarantee: Guarantee
    report_bits: float
    method: Method
    odds: Fraction | None
    divergence: Fraction | None
    enumerated: Enumerated | None
    empirical: Empirical | None
    problems: tuple[str, ...]
    exposures: tuple[Exposure, ...] = ()
    device: DeviceCheck | None = None

    @property
    def holds(self) -> bool:
        """Whether the promise holds."""
        return not self.problems

    @property
    def _keeps_delta(self) -> bool:
        return self.divergence is not None and self.divergence <= self.guarantee.delta

    @property
    def epsilon(self) -> Decimal | None:
        """Log of the odds, rounded up to 12 decimals; None if unbounded.

        Never above the nominal epsilon where the odds are not above e^epsilon. Where a delta is
        promised besides and kept, the nominal epsilon.
        """
        if self.guarantee.delta:
            return self.nominal.value if self._keeps_delta else None
        if self.odds is None:
            return None
        exact = epsilon_of(self.odds)
        return min(exact, self.nominal.value) if self.odds <= self.nominal.odds else exact

    @property
    def witness(self) -> Worst | None:
        """Where the odds are unbounded, and no delta allows it: a report that one record can send
        and another never."""
        if self._keeps_delta:
            return None
        worst = self.enumerated.worst if self.enumerated else None
        return worst if worst and worst.odds is None else None

    def to_json(self) -> dict[str, Any]:
        """Plain data; fractions and decimals as text, so that nothing is rounded."""
        return {
            "mechanism": self.mechanism,
            "domain": self.domain.to_json(),
            "nominal_epsilon": str(self.nominal),
            "guarantee": self.guarantee.kind,
            "epsilon": None if self.epsilon is None else format(self.epsilon, "f"),
            "odds": None if self.odds is None else str(self.odds),
            "delta": str(self.guarantee.delta),
            "divergence": None if self.divergence is None else str(self.divergence),
            "protects": self.guarantee.protects,
            "not_protected": list(self.guarantee.not_protected),
            "report_bits": self.report_bits,
            "established": {"method": self.method, "by": METHODS[self.method]},
            "enumerated": None if self.enumerated is None else _enumerated_json(self.enumerated),
            "witness": None if self.witness is None else _witness_json(self.witness),
            "empirical": None if self.empirical is None else _empirical_json(self.empirical),
            "device": None if self.device is None else asdict(self.device),
            "holds": self.holds,
            "problems": list(self.problems),
            "exposures": [row.to_json() for row in self.exposures],
        }


def _enumerated_json(enumerated: Enumerated) -> dict[str, Any]:
    return {
        "domain": enumerated.domain.to_json(),
        "reports": enumerated.reports,
        "odds": None if enumerated.worst.odds is None else str(enumerated.worst.odds),
        "question_independent": enumerated.asks_blindly,
    }


def _witness_json(worst: Worst) -> dict[str, Any]:
    return {
        "report": list(worst.report),
        "record": list(worst.record),
        "other": list(worst.other),
        "probability": str(worst.likely),
        "probability_other": str(worst.unlikely),
    }


def _empirical_json(empirical: Empirical) -> dict[str, Any]:
    data = asdict(empirical)
    return {
        "domain": empirical.domain.to_json(),
        "reports_per_record": data.pop("reports"),
        "epsilon_at_least": data.pop("epsilon"),
        "record": list(data.pop("record")),
        "other": list(data.pop("other")),
        "expected_equal": data.pop("expected"),
        **{key: value for key, value in data.items() if key != "domain"},
    }


def audit_design(
    design: Design,
    options: Mapping[str, Any] | None = None,
    *,
    reports: int = 0,
    device: bool = False,
    entropy: Entropy | None = None,
) -> Audit:
    """Audit any design through its contract alone.

    options: the mechanism's, for a smaller design of its kind where the domain is too large to
    enumerate.  reports: how many to draw per made-up record from the real device code, 0 for
    none.  device: whether to find the exact law of the interpreter from outside, and compare it
    with that of the plan.  entropy: what to draw from; the
    operating system's unless a test says otherwise.
    """
    source = entropy or OsEntropy()
    channel = enumerate_channel(design, options or {})
    enumerated = None
    if channel is not None:
        number = len(channel.law.outputs)
        enumerated = Enumerated(channel.design.domain, number, channel.worst, channel.asks_blindly)
    is_whole = channel is not None and channel.design is design
    method: Method = "enumeration" if is_whole else "integers"
    odds = channel.worst.odds if channel is not None and is_whole else design.worst_odds()
    divergence = _divergence(design, channel)
    empirical = run_device(design, channel, reports, source) if reports else None
    seen = _look_at_device(design, source) if device else None
    return Audit(
        design.name,
        design.domain,
        design.epsilon,
        design.guarantee,
        design.report_format.bits_per_report,
        method,
        odds,
        divergence,
        enumerated,
        empirical,
        (
            *_promise_problems(design, odds, divergence),
            *(_channel_problems(design, method, channel) if channel else ()),
            *(_empirical_problems(design, empirical) if empirical else ()),
            *(seen.problems if seen else ()),
        ),
        _exposures(design, channel),
        seen,
    )


def _exposures(design: Design, channel: EnumeratedChannel | None) -> tuple[Exposure, ...]:
    """Who is protected against whom, where that differs from person to person."""
    if channel is None or design.guarantee.kind in ("local", "none"):
        return ()
    return tuple(find_exposures(channel.law, channel.design.domain))


def _divergence(design: Design, channel: EnumeratedChannel | None) -> Fraction | None:
    """What the reports have of the delta that is promised; None where none is."""
    if not design.guarantee.delta:
        return None
    if channel is not None and channel.design is design:
        return channel.law.divergence(design.epsilon.odds)
    return excess(design.plan, design.epsilon.odds)


def _look_at_device(design: Design, entropy: Entropy) -> DeviceCheck:
    """How the interpreter compares with the law of the plan, on corners and random records."""
    random = random_records(design.domain, entropy)
    records = (*corners(design.domain)[:_DEVICE_RECORDS], *random[:_DEVICE_RECORDS])
    return check_device(design.plan, tuple(dict.fromkeys(records)), entropy)


def _promise_problems(
    design: Design, odds: Fraction | None, divergence: Fraction | None
) -> Iterator[str]:
    if design.guarantee.kind == "none":
        yield "the mechanism promises nothing"
    delta = design.guarantee.delta
    if divergence is not None:
        if divergence > delta:
            yield (
                f"some set of reports breaks ({design.epsilon}, {float(delta):g})-LDP: it needs "
                f"delta {float(divergence):.9g}"
            )
    elif odds is None:
        yield "the odds of some report are unbounded"
    elif odds > design.epsilon.odds:
        yield f"the odds of some report are above e^{design.epsilon}"


def _channel_problems(design: Design, method: Method, channel: EnumeratedChannel) -> Iterator[str]:
    """What the enumerated channel says against the design."""
    worst = channel.worst.odds
    is_above = worst is None or worst > design.epsilon.odds
    if method == "integers" and is_above and not design.guarantee.delta:
        yield f"on a reduced domain the odds of some report are not below e^{design.epsilon}"
    # The definitions of sensitive values do not speak of questions.
    is_plain = design.guarantee.kind in ("local", "none")
    if method == "integers" and is_plain and not channel.asks_blindly:
        yield "the question of a report depends on the record"
    stated = channel.design.worst_odds()
    if stated is not None and (worst is None or stated < worst):
        yield "the odds from the design's integers are below those of its enumerated channel"


def _empirical_problems(design: Design, empirical: Empirical) -> Iterator[str]:
    if empirical.epsilon > float(design.epsilon):
        yield (
            f"the device code does not keep epsilon {design.epsilon}: its reports show "
            f"at least {empirical.epsilon:.4f}"
        )
    if not empirical.follows_law:
        yield "reports of the device code do not come as often as the law says"
    if empirical.dependent:
        yield (
            "reports of one record are not equal as often as independent ones would be: entropy is "
            "used again, or the device code does not follow the law"
        )
