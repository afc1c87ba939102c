"""Public. Sees parameters. The accountant the other way round: which epsilon goes with a delta.

Both searches end at a decimal of few digits at which the accountant was asked: where its figures
are not quite monotone, being upper bounds, the answer may be a little off the best, to the safe
side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from ldpsql.shuffle.accountant import delta_of, keeps
from ldpsql.shuffle.blanket import Blanket, clones
from ldpsql_device.epsilon import LARGEST_EPSILON, Epsilon, epsilon_of
from ldpsql_device.guarantee import Central

STEP = Decimal("0.001")
"""Local epsilons are multiples of it."""
_SMALLEST_DECADE = -6
_PER_DECADE = 9000


def epsilon_of_batch(
    blankets: Sequence[Blanket], people: int, delta: Fraction, local: Epsilon | None = None
) -> Decimal | None:
    """The central epsilon that a shuffled batch of `people` honest reports achieves at `delta`,
    rounded up to four significant digits, at least 0.000001; None if there is none up to 20.

    local: what one report keeps by itself, which is never exceeded; None for the odds of the
    blankets. ValueError as `delta_of`.
    """

    def suffices(place: int) -> bool:
        return Fraction(delta_of(blankets, people, _decimal(place))) <= delta

    limit = _local(blankets) if local is None else local.value
    low, high = -1, _place_above(limit if limit is not None else LARGEST_EPSILON)
    if not suffices(high):
        return limit
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    found = _decimal(high)
    return found if limit is None else min(found, limit)


def largest_local(blankets_at: Callable[[Epsilon], Sequence[Blanket]], central: Central) -> Epsilon:
    """The largest local epsilon, a multiple of 0.001 up to 20, that keeps a central promise.

    blankets_at: of the mechanism at a local epsilon.  The central epsilon itself always does,
    without any shuffling: it is returned where no larger one is found.
    """
    low, high = int(central.epsilon.value / STEP), int(LARGEST_EPSILON / STEP) + 1
    while high - low > 1:
        middle = (low + high) // 2
        local = Epsilon(middle * STEP)
        if keeps(blankets_at(local), central, local):
            low = middle
        else:
            high = middle
    return max(Epsilon(max(low, 1) * STEP), central.epsilon, key=lambda found: found.value)


@lru_cache(maxsize=64)
def largest_local_of_any(central: Central) -> Epsilon:
    """The same for a mechanism of which only its local epsilon is known (clones)."""
    return largest_local(lambda local: (clones(local.odds),), central)


def _local(blankets: Sequence[Blanket]) -> Decimal | None:
    odds = [blanket.odds for blanket in blankets]
    known = [value for value in odds if value is not None]
    return epsilon_of(max(known)) if len(known) == len(odds) else None


def _decimal(place: int) -> Decimal:
    """Decimals of four significant digits in order; place 0 is the smallest."""
    decade, step = divmod(place, _PER_DECADE)
    return Decimal(1000 + step).scaleb(decade + _SMALLEST_DECADE - 3)


def _place_above(value: Decimal) -> int:
    """The place of a value, or of the next larger one; 0 for values below the smallest."""
    if value <= _decimal(0):
        return 0
    decade = value.adjusted()
    scaled = value.scaleb(3 - decade)
    step = int(scaled) + (scaled != int(scaled)) - 1000
    return (decade - _SMALLEST_DECADE) * _PER_DECADE + step
