"""Public. Sees parameters. Local budgets as the mechanisms' authors calibrated them.

From the closed form of Balle, Bell, Gascon, Nissim 2019, which gives away most of what shuffling is
worth; to compare with. Specification: shuffle, section 1.
"""

from __future__ import annotations

from decimal import ROUND_FLOOR, Decimal

from ldpsql.shuffle.closed import balle_local
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.guarantee import Central

CALIBRATIONS = ("tight", "published")
_DIGITS = Decimal("1e-9")


def published_local(central: Central, people: int, answers: int) -> Epsilon:
    """The local epsilon of randomized response over so many answers, by so many people.

    The central epsilon where the theorem has no solution, or only a smaller one.
    """
    found = balle_local(float(central.epsilon), people, float(central.delta), answers)
    if found is None or found <= float(central.epsilon):
        return central.epsilon
    return Epsilon(Decimal(found).quantize(_DIGITS, rounding=ROUND_FLOOR))
