"""The promise of a survey to the person behind one report."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError

if TYPE_CHECKING:
    from ldpsql_device.shuffled import Central

KINDS = {"local": "LDP", "uldp": "ULDP", "uldp-joint": "ULDP per attribute", "none": ""}
"""Kind of guarantee -> the name of the property."""


@dataclass(frozen=True)
class Guarantee:
    """The promise of a design to the person behind one report.

    kind: "local" (epsilon-LDP for the whole private record); "uldp" (utility-optimised LDP: a
    record with at least one sensitive value is protected against every alternative, others are
    not; docs/spec/uldp.md#1.1, docs/spec/uldp.md#1.3); "uldp-joint" (the weaker promise of
    docs/spec/uldp.md#1.2, per pair of attributes); or "none".
    epsilon: the nominal budget; None where nothing is promised.
    delta: the probability with which the promise may fail; 0 for every mechanism but `truthful`.
    central: what holds besides once the report is one of many in a shuffled batch, if anything.
    """

    kind: str
    epsilon: Epsilon | None
    delta: Fraction = Fraction(0)
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
