"""Public. Sees parameters. What an audit found."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from ldpsql.audit.exposure import Exposure
from ldpsql.mechanisms.base import Outcome, Worst
from ldpsql_device.epsilon import Epsilon, epsilon_of
from ldpsql_device.guarantee import Guarantee
from ldpsql_device.schema import RecordDomain

Method = Literal["enumeration", "selectors", "tables", "reduced", "none"]

METHODS: dict[Method, str] = {
    "enumeration": "enumeration of the whole channel, in exact fractions",
    "selectors": "exact odds of every selector, from the thresholds of this very design",
    "tables": "exact odds of every report that the definition limits, from the integers of this "
    "very design",
    "reduced": "enumeration of the same mechanism, options and epsilon on a reduced domain, and "
    "the factorisation: a report depends on the record only through the node or phase that its "
    "selector asks for, and the selector is drawn independently of the record",
    "none": "nothing: no channel small enough to enumerate, and the design does not state its odds",
}


@dataclass(frozen=True)
class Enumerated:
    """A channel that was enumerated: its domain and the worst that it allows.

    reports: number of different reports.  independent: whether the selector is drawn
    independently of the record.
    """

    domain: RecordDomain
    reports: int
    worst: Worst
    independent: bool

    @property
    def epsilon(self) -> Decimal | None:
        """Log of the worst odds, rounded up to 12 decimals; None if unbounded."""
        return None if self.worst.odds is None else epsilon_of(self.worst.odds)


@dataclass(frozen=True)
class Empirical:
    """What the device code did on made-up records.

    domain: of the design that ran.  reports: per record.  epsilon: lower bound, >= 0, too high
    with probability at most alpha.  record, other: the two records told apart.  seen, seen_other:
    how many of `trials` reports of each fell into the event.
    pairs, equal: pairs of reports of one record that were compared, and how many were equal;
    expected: how many would be if every report were drawn anew.  dependent: whether equal
    is further from that than chance allows, except with probability alpha.
    """

    domain: RecordDomain
    reports: int
    alpha: float
    epsilon: float
    record: Outcome
    other: Outcome
    trials: int
    seen: int
    seen_other: int
    pairs: int
    equal: int
    expected: float
    dependent: bool


@dataclass(frozen=True)
class Audit:
    """What a person who answers is promised, and whether it holds.

    mechanism, domain, nominal, guarantee: the design's.  report_bits: size of a report.
    method: how `odds` was established.  odds: the largest odds that the integer thresholds give;
    None if unbounded or not established.  divergence: where a delta is promised, the exact one at
    the nominal epsilon, over all sets of reports; None if not established.  enumerated: the channel
    that was enumerated, if any.
    problems: why the promise does not hold; empty if it does.  exposures: who is protected against
    which alternatives, where values are declared sensitive and a channel was enumerated.
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

    @property
    def holds(self) -> bool:
        """Whether the promise holds."""
        return not self.problems

    @property
    def _keeps_delta(self) -> bool:
        return self.divergence is not None and self.divergence <= self.guarantee.delta

    @property
    def epsilon(self) -> Decimal | None:
        """Log of the odds, rounded up to 12 decimals; None if unbounded or not established.

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
            "enumerated": None if self.enumerated is None else _enumerated(self.enumerated),
            "witness": None if self.witness is None else _worst(self.witness),
            "empirical": None if self.empirical is None else _empirical(self.empirical),
            "holds": self.holds,
            "problems": list(self.problems),
            "exposures": [row.to_json() for row in self.exposures],
        }


def _enumerated(found: Enumerated) -> dict[str, Any]:
    return {
        "domain": found.domain.to_json(),
        "reports": found.reports,
        "odds": None if found.worst.odds is None else str(found.worst.odds),
        "selector_independent": found.independent,
    }


def _worst(worst: Worst) -> dict[str, Any]:
    return {
        "report": list(worst.report),
        "record": list(worst.record),
        "other": list(worst.other),
        "probability": str(worst.likely),
        "probability_other": str(worst.unlikely),
    }


def _empirical(found: Empirical) -> dict[str, Any]:
    return {
        "domain": found.domain.to_json(),
        "reports_per_record": found.reports,
        "epsilon_at_least": found.epsilon,
        "alpha": found.alpha,
        "record": list(found.record),
        "other": list(found.other),
        "trials": found.trials,
        "seen": found.seen,
        "seen_other": found.seen_other,
        "pairs": found.pairs,
        "equal": found.equal,
        "expected_equal": found.expected,
        "dependent": found.dependent,
    }
