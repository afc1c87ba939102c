"""Designs that break their promise, or keep it in an unusual form, to try the audit on."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from support.partial_designs import PartialDesign

from ldpsql.mechanisms.base import Codes, Entropy, Law, Words
from ldpsql.mechanisms.draws import SPACE, below
from ldpsql.report import ReportFormat, Reports
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.guarantee import Guarantee
from ldpsql_device.schema import RecordDomain

LINE = RecordDomain(("x",), (4,), (), (), ())
ONE = Epsilon.parse("1")
LEVEL_AND_NODE = ReportFormat(("level", "node"), np.array([[2], [4]]))


class Bare:
    """A design that offers the contract and nothing besides: it does not state its odds."""

    def __init__(self, design: Any) -> None:
        self._design = design

    def __getattr__(self, name: str) -> Any:
        if name == "selector_odds":
            raise AttributeError(name)
        return getattr(self._design, name)


@dataclass(frozen=True)
class TrueAncestor(PartialDesign):
    """Reports the half, or the code itself, as it is, each half of the time."""

    kind: str = "none"
    name: str = "ancestor"
    domain: RecordDomain = LINE
    epsilon: Epsilon = ONE
    report_format: ReportFormat = LEVEL_AND_NODE

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.kind, None if self.kind == "none" else self.epsilon, "nothing")

    def randomize(self, codes: Codes, entropy: Entropy) -> Reports:
        level = below(entropy.words(len(codes)), 2)
        node = np.where(level == 0, codes[:, 0] // 2, codes[:, 0])
        return Reports.pack(self.report_format, [level, node])

    def law(self) -> Law:
        rows = ((0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (1, 3))
        half, never = Fraction(1, 2), Fraction(0)
        chances = tuple(
            tuple(half if row in ((0, code // 2), (1, code)) else never for row in rows)
            for code in range(4)
        )
        return Law(tuple((code,) for code in range(4)), rows, chances)


class SameWords:
    """Gives every report the same words."""

    def words(self, count: int) -> Words:
        return np.full(count, SPACE // 3, dtype=np.uint64)


class SeedReused:
    """Starts from the same seed at every call."""

    def words(self, count: int) -> Words:
        return np.random.default_rng(7).integers(0, 2**64, size=count, dtype=np.uint64)
