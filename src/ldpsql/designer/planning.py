"""Public. Sees parameters. How many people, or how much epsilon, a wanted precision takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal

from ldpsql.designer.forecast import Forecast
from ldpsql_device.epsilon import LARGEST_EPSILON, SMALLEST_EPSILON, Epsilon
from ldpsql_device.errors import Error

ForecastAt = Callable[[Epsilon], Forecast]

_PER_DECADE = 900


def least_users(forecast: Forecast, half_width: float) -> int:
    """The fewest people whose typical count has an interval of at most this half-width (a share
    of the people): variances grow with their number, so half-widths shrink with its root."""
    return max(1, math.ceil(forecast.people * (forecast.half_width / half_width) ** 2))


def least_epsilon(forecast: Forecast, half_width: float, at: ForecastAt) -> Epsilon | None:
    """The smallest epsilon of three significant digits that gives this half-width to as many
    people as in `forecast`; None if none up to 20 does.

    at: the forecast of a new design, which may cost a second each. The search starts where the
    error of one randomized bit would be the wanted one, and is a bisection from there.
    """
    known: dict[int, bool] = {}

    def suffices(place: int) -> bool:
        if place not in known:
            known[place] = _suffices(place, half_width, at)
        return known[place]

    first, last = _place(Epsilon(SMALLEST_EPSILON)), _place(Epsilon(LARGEST_EPSILON))
    low, high = _bracket(_guess(forecast, half_width), first, last, suffices)
    if not suffices(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return epsilon_at(high)


def epsilon_at(place: int) -> Epsilon:
    """The epsilons of three significant digits in order; place 0 is 0.001."""
    decade, step = divmod(place, _PER_DECADE)
    return Epsilon(Decimal(100 + step).scaleb(decade - 5))


def _place(epsilon: Epsilon) -> int:
    """The place of an epsilon, or of the next smaller one."""
    decade = math.floor(epsilon.value.log10())
    step = int(epsilon.value.scaleb(2 - decade)) - 100
    return (decade + 3) * _PER_DECADE + step


def _suffices(place: int, half_width: float, at: ForecastAt) -> bool:
    """Whether an epsilon gives the half-width; one at which there is no design does not."""
    try:
        return at(epsilon_at(place)).half_width <= half_width
    except Error:
        return False


def _guess(forecast: Forecast, half_width: float) -> int:
    """Where the noise of one randomized bit, (E - 1)^2 / E in precision, would be as wanted."""
    epsilon = float(forecast.design.epsilon)
    wanted = (2.0 * math.sinh(epsilon / 2.0) * forecast.half_width / half_width) / 2.0
    value = min(max(2.0 * math.asinh(wanted), float(SMALLEST_EPSILON)), float(LARGEST_EPSILON))
    return _place(Epsilon.parse(f"{value:.3g}"))


def _bracket(guess: int, first: int, last: int, suffices: Callable[[int], bool]) -> tuple[int, int]:
    """(low, high) around the first place that suffices: low does not (or lies before `first`),
    high does (or is `last`)."""
    step = 8
    if suffices(guess):
        low = high = guess
        while low >= first and suffices(low):
            low, high, step = max(low - step, first - 1), low, 4 * step
        return low, high
    low = high = guess
    while high < last and not suffices(high):
        low, high, step = high, min(high + step, last), 4 * step
    return low, high
