"""Public. Sees parameters. The accountant of the shuffle model: what a shuffled batch promises.

For records x0 and x1 of one of n honest people, whatever the others hold, a shuffled batch is
(epsilon, delta)-DP between the two with

    delta = 1/n E[(L_1 + ... + L_n)_+],   L = (R0(y) - e^epsilon R1(y)) / r(y) with probability r(y)

and 0 with the rest (Balle, Bell, Gascon, Nissim 2019, Lemma 5.3; specification shuffle, 2.1), and
the same with the records exchanged. Every figure here is an upper bound of that: see `expectation`.

Where a report goes into the batch only with a chance `share`, independently drawn, the number of
reports beside x's is binomial; averaging over it gives the same formula with probabilities
share * r and 1 / (n share) before it. No bound on the size of the batch is needed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ldpsql.shuffle.blanket import UNEVEN, Blanket
from ldpsql.shuffle.expectation import Jumps, positive_part
from ldpsql_device.epsilon import Epsilon, odds_below
from ldpsql_device.guarantee import Central

FEWEST, MOST = 2, 10**10
"""Honest people for whom the accountant works."""


def delta_of(blankets: Sequence[Blanket], people: int, epsilon: Epsilon | Decimal) -> float:
    """An upper bound of the delta that a shuffled batch has at a central epsilon, at most 1.

    people: honest people whose reports are shuffled together (over all shufflers).  ValueError for
    a number that is none, or without a blanket.
    """
    if type(people) is not int or not FEWEST <= people <= MOST:
        raise ValueError(f"the accountant takes {FEWEST} to {MOST} people")
    if not blankets:
        raise ValueError("without a blanket there is nothing to account for")
    value = epsilon.value if isinstance(epsilon, Epsilon) else epsilon
    return max(_delta(blanket, people, odds_below(value)) for blanket in blankets)


def keeps(blankets: Sequence[Blanket], central: Central, local: Epsilon) -> bool:
    """Whether shuffled batches of `central.people` reports, or more, keep the promise.

    local: what one report keeps by itself; shuffling does not take that away.
    """
    if local.value <= central.epsilon.value:
        return True
    return Fraction(delta_of(blankets, central.people, central.epsilon)) <= central.delta


@lru_cache(maxsize=256)
def _delta(blanket: Blanket, people: int, odds: Fraction) -> float:
    """The larger of both directions, which are the same for most channels."""
    forward = sorted(blanket.atoms)
    backward = sorted((r, other, one) for r, one, other in blanket.atoms)
    ways = [forward] if forward == backward else [forward, backward]
    return max(_one_way(atoms, blanket.share, people, odds) for atoms in ways)


def _one_way(
    atoms: list[tuple[Fraction, Fraction, Fraction]], share: Fraction, people: int, odds: Fraction
) -> float:
    """delta of telling the first record from the second.

    Atoms that the blanket does not cover are given away: they add what they say about the one
    report (the hockey-stick divergence is subadditive).
    """
    bare = sum(
        (max(one - odds * other, Fraction(0)) for r, one, other in atoms if r == 0),
        start=Fraction(0),
    )
    jumps: defaultdict[float, Fraction] = defaultdict(Fraction)
    for r, one, other in atoms:
        if r > 0:
            jumps[_above((one * (1 + UNEVEN) - odds * other * (1 - UNEVEN)) / r)] += r * share
    law = Jumps(
        np.array(list(jumps)),
        np.array([float(chance) for chance in jumps.values()]),
        float(1 - sum(jumps.values(), start=Fraction(0))),
        people,
    )
    covered = positive_part(law) / (people * float(share)) * (1.0 + 2.0**-48)
    return min(covered + _above(bare), 1.0)


def _above(value: Fraction) -> float:
    """A float not below an exact number."""
    return math.nextafter(float(value), math.inf) if value else 0.0
