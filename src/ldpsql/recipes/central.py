"""Designs that keep a promise made for a shuffled batch.

The survey promises (epsilon, delta) against whoever sees the batch; the accountant says which
local epsilon goes with it. A recipe that chooses its local budgets itself does (`calibrates`); a
design that states its blankets is accounted for by them; of any other only the local epsilon
counts (clones).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from ldpsql.decoders.base import AnyDesign as Design
from ldpsql.recipes.base import AnyRecipe as Mechanism
from ldpsql.recipes.base import Promise, require_local
from ldpsql.record_domain import RecordDomain
from ldpsql.shuffle import Blanket, epsilon_of_batch, keeps
from ldpsql.workload import Workload
from ldpsql_device.errors import SurveyError
from ldpsql_device.guarantee import Shuffled


def design_for(
    maker: Mechanism,
    domain: RecordDomain,
    promise: Promise,
    options: Mapping[str, Any],
    workload: Workload | None = None,
) -> Design:
    """See `Recipe.design_for`."""
    return maker.design_for(domain, promise, options, workload)


def blankets_of(design: Design) -> Sequence[Blanket]:
    """Those that the design states, or those of any mechanism of its local epsilon.

    SurveyError for a design that makes no promise for one report, and for one that asks in rounds.
    """
    require_local(design)
    return design.blankets()


def check_promise(design: Design, trust: Shuffled) -> None:
    """SurveyError unless shuffled batches of the designed size keep what the survey promises."""
    if not keeps_promise(design, trust, trust.users):
        found = achieved(design, trust, trust.users)
        raise SurveyError(
            f"{design.name} at local epsilon {design.epsilon} does not keep epsilon "
            f"{trust.epsilon} at delta {trust.delta} once shuffled among {trust.users:,} users: "
            f"it is {found if found is not None else 'unbounded'}"
        )


def keeps_promise(design: Design, trust: Shuffled, reports: int) -> bool:
    """Whether a shuffled batch of so many reports keeps what the survey promises."""
    people = trust.people_of(reports)
    if people < 2:
        return design.epsilon.value <= trust.epsilon.value
    central = replace(trust.central, people=people)
    return keeps(blankets_of(design), central, design.epsilon)


def achieved(design: Design, trust: Shuffled, reports: int) -> Decimal | None:
    """The central epsilon of a shuffled batch of so many reports at the survey's delta.

    Rounded up to four significant digits; the local epsilon where others hide nothing, None where
    there is no bound. Fewer than two honest people hide nobody.
    """
    people = trust.people_of(reports)
    if people < 2:
        return design.epsilon.value
    return epsilon_of_batch(blankets_of(design), people, trust.central.delta, design.epsilon)
