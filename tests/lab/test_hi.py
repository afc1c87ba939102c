"""HI over several dimensions: privacy, the split of epsilon, refusals."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.audit.exact import worst_odds
from ldpsql.estimators.nodes import GroupDesign
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.channel import enumerate_law
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_lab.mechanisms.split import plan_of_split

TINY = RecordDomain(("x", "y"), (2, 2), ("y",), ((0.0, 1.0),), (1,))
PLANE = RecordDomain(("x", "y"), (5, 3), ("y", "pay"), ((0.0, 2.0), (2.0, 10.0)), (1, None))


def made(domain: RecordDomain, epsilon: str, options: dict[str, Any]) -> GroupDesign:
    design = mechanism("hi").design(domain, Epsilon.parse(epsilon), options)
    assert isinstance(design, GroupDesign)
    return design


@pytest.mark.parametrize("inference", ["direct", "consistent"])
def test_two_dimensions_with_a_measure_are_exactly_private(inference: str) -> None:
    """The whole channel, and the odds that are stated for larger ones; the negative control has
    one part a twentieth larger."""
    design = made(TINY, "1", {"oracle": "grr", "inference": inference})
    worst = enumerate_law(design.plan).worst().odds
    assert worst == worst_odds(design) <= design.epsilon.odds
    assert float(worst) == pytest.approx(np.e, rel=1e-9)
    larger = Epsilon(design.budgets[0].value * Decimal("1.05"))
    budgets = (larger, *design.budgets[1:])
    plan = plan_of_split(design.domain, design.table, design.oracle, budgets)
    loose = replace(design, plan=plan, budgets=budgets)
    assert enumerate_law(loose.plan).worst().odds > design.epsilon.odds


@pytest.mark.parametrize("inference", ["direct", "consistent"])
def test_parts_add_up_to_epsilon_in_every_frame(inference: str) -> None:
    """Exactly, and a design whose parts exceed it is refused."""
    design = made(PLANE, "0.7", {"inference": inference})
    for groups in design.table.members.values():
        assert sum(design.budgets[group].value for group in groups) == Decimal("0.7")
    data = dict(design.to_json())
    data["budgets"] = [str(Epsilon(b.value * Decimal("1.001"))) for b in design.budgets]
    with pytest.raises(SurveyError, match="add up to"):
        mechanism("hi").restore(PLANE, design.epsilon, data)


def test_too_many_level_combinations_or_records_are_refused() -> None:
    """A report with hundreds of answers, and a table of every record."""
    with pytest.raises(SurveyError, match="more than 64"):
        made(RecordDomain(("x", "y"), (256, 256), (), (), ()), "1", {"fanout": 2})
    with pytest.raises(SurveyError, match="combinations of codes"):
        made(RecordDomain(("x", "y"), (300, 300), (), (), ()), "1", {"fanout": 17})
