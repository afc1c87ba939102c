"""Public. Sees parameters. How well a survey will answer, before there is any data."""

from __future__ import annotations

import math

from ldpsql.cli.figures import about, significant
from ldpsql.designer import DesignedSurvey
from ldpsql.designer.forecast import least_users
from ldpsql_device.epsilon import LARGEST_EPSILON

_MOST_KINDS = 12


def forecast(designed: DesignedSurvey) -> list[str]:
    """Lines: the expected standard error of every kind of query, and how far it is from the best.

    Sums are those about the middle of the measure's bounds, which is what an average needs.
    """
    entries = designed.forecast.expected(_MOST_KINDS)
    figures = [significant(entry.error) for entry in entries]
    width, room = max(len(entry.text) for entry in entries), max(map(len, figures))
    lines = [
        f"  {entry.text:<{width}}  ± {figure:>{room}}  ({100 * entry.share:.2g}% of {entry.limit})"
        for entry, figure in zip(entries, figures, strict=True)
    ]
    return [
        f"expected standard error with {designed.people} people:",
        *lines,
        *distance(designed),
    ]


def distance(designed: DesignedSurvey) -> list[str]:
    """A line: the least error that any survey can have, and how far this one is from it.

    No line where `DesignedSurvey.bound` is unknown, or there is nothing to tell.
    """
    bound = designed.bound
    ratio = None if bound is None else designed.forecast.ratio(bound)
    if bound is None or ratio is None:
        return []
    least = significant(math.sqrt(bound.noise * designed.people))
    return [
        f"no {designed.survey.epsilon}-LDP survey with unbiased answers can do better than "
        f"± {least} on the whole workload with {designed.people} people; this one is at "
        f"{ratio:.2f} of it"
    ]


def plan(designed: DesignedSurvey, half_width: float) -> list[str]:
    """Lines: what the wanted half-width of a typical count takes.

    half_width: of the 95 % interval, as a share of the people.
    """
    found = designed.forecast
    survey, people = designed.survey, designed.people
    # Fewer than the promise for shuffled reports was made for would void it.
    users = max(least_users(found, half_width), survey.shuffled.users if survey.shuffled else 1)
    epsilon = designed.epsilon_for(half_width)
    wanted = percent(half_width)
    promised = survey.epsilon if survey.shuffled is None else f"{survey.shuffled.epsilon} (central)"
    smallest = (
        f"no epsilon up to {LARGEST_EPSILON} is enough; ask more people"
        if epsilon is None
        else f"epsilon {epsilon} is the smallest that is enough"
    )
    return [
        f"a typical count to within ±{wanted} of the people (95 % interval), {survey.design.name}:",
        f"  {people} people, epsilon {promised}: ±{percent(found.half_width)}",
        f"  {people} people: {smallest}",
        f"  epsilon {promised}: {about(users)} people are enough",
    ]


def percent(share: float) -> str:
    """A share with three significant digits: 2.31%."""
    return f"{significant(100 * share)}%"
