"""Public. Sees parameters. Published closed forms, to compare the accountant with.

No survey is calibrated with them. Specification: shuffle, sections 1 and 2.2.
"""

from __future__ import annotations

import math


def balle(local: float, people: int, delta: float, size: int) -> float | None:
    """The central epsilon of randomized response over `size` values; None where the theorem does
    not apply (above 1).

    Source: Balle, Bell, Gascon, Nissim 2019, Theorem 3.1, with both terms of its condition.
    """
    noise = (math.exp(local) + size - 1) / (people - 1)
    found = max(math.sqrt(14 * math.log(2 / delta) * noise), 27 * noise)
    return found if found <= 1 and size <= math.exp(local) + size - 1 else None


def balle_local(central: float, people: int, delta: float, size: int) -> float | None:
    """The largest local epsilon to which the same theorem gives a central one; None if none."""
    if not 0 < central <= 1:
        return None
    inverse = min(
        central**2 * (people - 1) / (14 * math.log(2 / delta)), central * (people - 1) / 27
    )
    return math.log(inverse - size + 1) if inverse >= size else None


def clones_2021(local: float, people: int, delta: float) -> float | None:
    """The central epsilon of any local mechanism; None outside the theorem's range.

    Source: Feldman, McMillan, Talwar 2021, Theorem 3.1, with ln(4/delta) in the condition.
    """
    odds = math.exp(local)
    if odds > people / (16 * math.log(4 / delta)):
        return None
    inner = 8 * math.sqrt(odds * math.log(4 / delta) / people) + 8 * odds / people
    return math.log1p((odds - 1) / (odds + 1) * inner)


def clones_2022(local: float, people: int, delta: float) -> float | None:
    """For documentation only: no guarantee for an arbitrary mechanism, as its authors' erratum
    says. It does not hold for randomized response over more than two values.

    Source: Feldman, McMillan, Talwar 2022; specification: shuffle, section 2.2.
    """
    odds = math.exp(local)
    if odds + 1 > people / (8 * math.log(2 / delta)):
        return None
    inner = 4 * math.sqrt(2 * math.log(4 / delta) / ((odds + 1) * people)) + 4 / people
    return math.log1p((odds - 1) * inner)
