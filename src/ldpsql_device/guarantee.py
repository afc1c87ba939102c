"""Public. Sees parameters. What a design promises to the person behind one report."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError

KINDS = {
    "local": "LDP",
    "uldp": "ULDP",
    "uldp-joint": "ULDP per attribute",
    "none": "",
}
"""Kind of guarantee -> the name of the property."""


@dataclass(frozen=True)
class Central:
    """A promise against whoever sees only the shuffled batch of many people's reports.

    epsilon, delta: of replacing one person's whole record.  people: how many honest reports the
    batch must hold at least.
    """

    epsilon: Epsilon
    delta: Fraction
    people: int

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise SurveyError(f"delta must lie between 0 and 1, not {float(self.delta):g}")
        if type(self.people) is not int or self.people < 2:
            raise SurveyError("a shuffled batch needs at least 2 people")

    def __str__(self) -> str:
        return (
            f"({self.epsilon}, {float(self.delta):g})-DP once shuffled among at least "
            f"{self.people:,} honest people"
        )


@dataclass(frozen=True)
class Guarantee:
    """What a design promises to the person behind one report.

    kind: "local" (epsilon-LDP for the whole private record); "uldp" (utility-optimised LDP: a
    record with at least one sensitive value is protected against every alternative, others are
    not; specification uldp, sections 1.1 and 1.3); "uldp-joint" (the weaker promise of section
    1.2, per pair of attributes); or "none".
    epsilon: the nominal budget; None where nothing is promised.
    delta: the probability with which the promise may fail; 0 for every mechanism but `truthful`.
    central: what holds besides once the report is one of many in a shuffled batch, if anything.
    protects: in words, what is covered.  not_protected: in words, what is not.
    witness: where nothing is promised, two records and a report that one of them can send and the
    other never, in words; else empty.
    """

    kind: str
    epsilon: Epsilon | None
    protects: str
    not_protected: tuple[str, ...] = ()
    delta: Fraction = Fraction(0)
    witness: str = ""
    central: Central | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SurveyError(f"unknown kind of guarantee: {self.kind}")
        if (self.epsilon is None) != (self.kind == "none"):
            raise SurveyError("a guarantee has an epsilon exactly when it promises something")

    def __str__(self) -> str:
        if self.epsilon is None:
            return "not differentially private"
        delta = f", delta {float(self.delta):g}" if self.delta else ""
        central = f"; {self.central}" if self.central else ""
        return f"{self.epsilon}-{KINDS[self.kind]}{delta}{central}"


def local_guarantee(epsilon: Epsilon) -> Guarantee:
    """The promise of a mechanism that is epsilon-LDP for the whole private record."""
    return Guarantee(
        "local",
        epsilon,
        "every private attribute of one person's report together: no report is more than "
        f"e^{epsilon} times likelier under one record than under another",
        (
            "public columns travel in clear",
            "that a person took part, and when, is visible",
            "a person who answers several surveys loses the sum of their epsilons",
        ),
    )
