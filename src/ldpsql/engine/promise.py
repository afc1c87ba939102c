"""What the batches in a store keep of a survey's promise."""

from __future__ import annotations

from dataclasses import replace

from ldpsql.recipes.base import achieved
from ldpsql.survey import Survey
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.guarantee import Central, Guarantee


def guarantee_of_batches(survey: Survey, smallest: int | None) -> Guarantee:
    """What each person was promised and got; smallest: reports of the smallest batch, or None."""
    trust = survey.shuffled
    if trust is None or smallest is None or smallest >= trust.users:
        return survey.guarantee
    epsilon, people = achieved(survey.design, trust, smallest), trust.people_of(smallest)
    if epsilon is None or people < 2 or epsilon >= survey.epsilon.value:
        return replace(survey.guarantee, central=None)
    return replace(survey.guarantee, central=Central(Epsilon(epsilon), trust.central.delta, people))


def shortfall_notes(survey: Survey, got: Guarantee) -> tuple[str, ...]:
    """A note for whoever reads an answer, where a batch was smaller than designed."""
    if got == survey.guarantee:
        return ()
    promise = "no more than the local promise" if got.central is None else str(got.central)
    return (
        f"{survey.table}: a batch was smaller than designed, and the promise is {promise}, not "
        f"{survey.guarantee.central}",
    )
