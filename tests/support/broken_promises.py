"""Designs that break their promise, or keep it in an unusual form, to try the audit on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from support.partial_designs import PartialDesign

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.base import Codes, Design
from ldpsql.mechanisms.oracles import ask
from ldpsql.reports.report import Reports
from ldpsql.reports.survey_file import vary
from ldpsql.wording.guarantees import StatedGuarantee
from ldpsql_device.draw import draw
from ldpsql_device.entropy import Entropy, Words
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.plan import WORDS, Digit, Face, Keep, Part, Plan, Step, Term

LINE = RecordDomain(("x",), (4,), (), (), ())
ONE = Epsilon.parse("1")
_LEVEL = Digit((Term(0, divide=vary(0, (2, 1))),), vary(0, (2, 4)))
LEVELS = Plan((4,), (), (Face(1, (Part((_LEVEL,), Keep()),), (Step((1, 1)),)),))


@dataclass(frozen=True)
class TrueAncestor(PartialDesign):
    """Reports the half, or the code itself, as it is, each half of the time."""

    kind: str = "none"
    name: str = "ancestor"
    domain: RecordDomain = LINE
    epsilon: Epsilon = ONE
    plan: Plan = LEVELS

    @property
    def guarantee(self) -> StatedGuarantee:
        return StatedGuarantee(self.kind, None if self.kind == "none" else self.epsilon)


def with_odds(design: Any, factor: Fraction) -> Any:
    """The same design, but devices answer by odds that are higher or lower by a factor."""
    odds = tuple(int(number * factor) for number in design.plan.odds)
    return replace(design, plan=replace(design.plan, odds=odds))


def with_response(design: Any, change: Callable[[Any], Any]) -> Any:
    """The same design with another response in every part of its plan."""
    faces = tuple(
        replace(
            face,
            parts=tuple(replace(part, response=change(part.response)) for part in face.parts),
        )
        for face in design.plan.faces
    )
    return replace(design, plan=replace(design.plan, faces=faces))


def telling_group(design: Any, group: int) -> Any:
    """The same design by GRR, but one group tells its node as it is, nearly always."""
    table, faces = design.table, []
    for number, size in enumerate(table.sizes):
        odds = int(number == group)
        part, _ = ask("grr", table.digit([number]), [size], design.epsilon, odds=odds, first=0)
        faces.append(Face(table.groups[number].weight, (part,)))
    odds = (*design.plan.odds, WORDS << 30)
    return replace(design, plan=replace(design.plan, odds=odds, faces=tuple(faces)))


def obey_another_plan(monkeypatch: Any, change: Callable[[Any], Any]) -> None:
    """Devices draw by the plan of a changed design; laws and odds stay those of the right one."""

    def randomize(self: Any, codes: Codes, entropy: Entropy) -> Reports:
        return Reports.pack(self.report_format, draw(change(self).plan, codes, entropy))

    monkeypatch.setattr(Design, "randomize", randomize)


class SameWords:
    """Gives every report the same words."""

    def words(self, count: int) -> Words:
        return np.full(count, WORDS // 3, dtype=np.uint64)


class SeedReused:
    """Starts from the same seed at every call."""

    def words(self, count: int) -> Words:
        return np.random.default_rng(7).integers(0, 2**64, size=count, dtype=np.uint64)
