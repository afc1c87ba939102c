"""Blankets of well-known channels, and published closed forms to compare the accountant with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ldpsql.shuffle.accountant import Atom, Blanket


@dataclass(frozen=True)
class Response:
    """Randomized response over `size` values, one of the secretly drawn parts of a report.

    truth: the probability of the true value; every other has the same.  chance: of this part.
    """

    size: int
    truth: Fraction
    chance: Fraction = Fraction(1)

    @property
    def other(self) -> Fraction:
        """The probability of each other value."""
        return (1 - self.truth) / (self.size - 1)


def responses(parts: Sequence[Response], share: Fraction = Fraction(1)) -> Blanket:
    """One of several randomized responses, drawn secretly and independently of the record, its
    number being part of the report. The worst pair of records differs in all of them.

    Their chances add up to 1. Source: docs/spec/shuffle.md#3.3 and 3.4.
    """
    atoms: list[Atom] = []
    for part in parts:
        chance, p, q = part.chance, part.truth, part.other
        atoms += [(chance * q, chance * p, chance * q), (chance * q, chance * q, chance * p)]
        rest = chance * (part.size - 2) * q
        atoms += [(rest, rest, rest)] if rest else []
    return Blanket(tuple(atoms), share)


def randomized_response(size: int, truth: Fraction, share: Fraction = Fraction(1)) -> Blanket:
    """Randomized response over `size` values that tells the truth with a probability."""
    return responses([Response(size, truth)], share)


def hot_cells(cells: int, hot: int, truth: Fraction) -> Blanket:
    """Randomized response over `cells` values, of which a record holds `hot` and one is drawn.

    At most half of all are hot. Source: docs/spec/shuffle.md#3.2 (ARR-SS: one value per attribute).
    """
    q = Response(cells, truth).other
    high = hot * q + truth - q
    rest = (cells - 2 * hot) * q
    atoms: list[Atom] = [(hot * q, high, hot * q), (hot * q, hot * q, high)]
    return Blanket((*atoms, (rest, rest, rest)) if rest else tuple(atoms))


def balle(local: float, people: int, delta: float, size: int) -> float | None:
    """The central epsilon of randomized response over `size` values; None where the theorem does
    not apply (above 1).

    Source: Balle, Bell, Gascon, Nissim 2019, Theorem 3.1, with both terms of its condition.
    """
    noise = (math.exp(local) + size - 1) / (people - 1)
    found = max(math.sqrt(14 * math.log(2 / delta) * noise), 27 * noise)
    return found if found <= 1 and size <= math.exp(local) + size - 1 else None


def clones_2021(local: float, people: int, delta: float) -> float | None:
    """The central epsilon of any local mechanism; None outside the theorem's range.

    Source: Feldman, McMillan, Talwar 2021, Theorem 3.1, with ln(4/delta) in the condition.
    """
    odds = math.exp(local)
    if odds > people / (16 * math.log(4 / delta)):
        return None
    inner = 8 * math.sqrt(odds * math.log(4 / delta) / people) + 8 * odds / people
    return math.log1p((odds - 1) / (odds + 1) * inner)
