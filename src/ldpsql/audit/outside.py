"""The results of an audit from outside, of a device that is run rather than read.

Whoever finds them joins by entry points of the group `ldpsql.audits`: `device`, which compares the
interpreter with the law of a design's plan; `reports`, which draws and counts reports; and
`records`, which answers made-up records.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.reports.channel import Outcome

GROUP = "ldpsql.audits"
MOST_CODES = 1 << 13
"""Codes of all attributes together that such an audit tries one by one."""


@dataclass(frozen=True)
class Empirical:
    """The behaviour of the device code on made-up records.

    domain: of the design that ran.  epsilon_at_least: lower bound, >= 0, too high with probability
    at most alpha.  record, other: the two records told apart.  seen, seen_other: how many of
    `trials` reports of each fell into the event.
    pairs, equal: pairs of reports of one record that were compared, and how many were equal;
    expected_equal: how many would be if every report were drawn anew.  dependent: whether equal
    is further from that than chance allows, except with probability alpha.
    fit: probability that reports of the law, or questions of their shares, are as far from what is
    expected as these of the worst record, at most.
    """

    domain: RecordDomain
    reports_per_record: int
    alpha: float
    epsilon_at_least: float
    record: Outcome
    other: Outcome
    trials: int
    seen: int
    seen_other: int
    pairs: int
    equal: int
    expected_equal: float
    dependent: bool
    fit: float

    @property
    def follows_law(self) -> bool:
        """Whether reports came as often as they should."""
        return self.fit >= self.alpha

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "domain": self.domain.to_json()}


@dataclass(frozen=True)
class DeviceCheck:
    """How what a device runs for a plan compares with the plan's exact law.

    problems: where it differs.  is_whole: whether every report was looked at, of every record.
    records, compared: how many made-up records there were, and of how many of them the law of the
    answers was compared.  questions: how many were looked at.  left_out: those of them whose
    answers were too many.  epsilon: log of the largest odds between two records in what was looked
    at.
    """

    problems: tuple[str, ...]
    is_whole: bool
    records: int = 0
    compared: int = 0
    questions: int = 0
    left_out: int = 0
    epsilon: float = 0.0


@dataclass(frozen=True)
class RecordCheck:
    """How made-up records are answered.

    problems: records of which the answer, or whether there is one, depends on more than codes and
    fresh words.  inside, outside, missing: how many records had one value of each kind tried in
    them; those of a wrong type are missing.
    """

    problems: tuple[str, ...]
    inside: int
    outside: int
    missing: int
