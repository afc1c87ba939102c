"""The central promise of a shuffled batch, and the local epsilon that a promise needs.

For records x0 and x1 of one of n honest people, whatever the others hold, a shuffled batch is
(epsilon, delta)-DP between the two with

    delta = 1/n E[(L_1 + ... + L_n)_+],   L = (R0(y) - e^epsilon R1(y)) / r(y) with probability r(y)

and L = 0 with the remaining probability; and the same with the records exchanged (Balle, Bell,
Gascon, Nissim 2019, Lemma 5.3; docs/spec/shuffle.md#2.1). R0 and R1 are the laws of a report under
the two records and r is the blanket (see `Blanket`). Every figure here is an upper bound of that:
see `expectation`.

Where a report goes into the batch only with a chance `share`, independently drawn, the number of
reports beside x's is binomial; averaging over it gives the same formula with probabilities
share * r and 1 / (n share) before it. No bound on the size of the batch is needed.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ldpsql.algebra.numerics import epsilon_of
from ldpsql.shuffle.expectation import FEW_TERMS, TERMS, Jumps, positive_part
from ldpsql_device.epsilon import LARGEST_EPSILON, Epsilon, odds_below
from ldpsql_device.shuffled import Central

Atom = tuple[Fraction, Fraction, Fraction]
UNEVEN = Fraction(1, 1 << 43)
"""By how much the probabilities of reports in one atom may differ, relatively, unless a blanket
says more; the accountant counts with the worse. Half of it is for uneven draws, half for what
`merge_atoms` puts together."""

FEWEST, MOST = 2, 10**10
"""Honest people for whom the accountant works."""
STEP = Decimal("0.001")
"""Local epsilons are multiples of it."""
_SMALLEST_DECADE = -6
_PER_DECADE = 9000
_PLACES = 8 * _PER_DECADE
"""Decimals of four significant digits from 0.000001 to above the largest epsilon, 20."""


# -- blankets ----------------------------------------------------------------------------------
# What a local channel does without looking: whatever the record, a report y comes out with
# probability r(y) at least. So every person's report is, with probability sum r, one drawn from r
# without looking at the record: among those the report of one person hides.


@dataclass(frozen=True)
class Blanket:
    """The blanket of a local channel, for one worst pair of records x0 and x1.

    atoms: (r, R0, R1) for every class of reports with equal ratios: its probability under the
    blanket, at most the least of the channel over all records, and under the two records.  The R0
    add up to 1, so do the R1.  Reports whose ratios differ by less than `uneven`, as those of
    64-bit draws do, may be one class; r is then the least of them, times their number.
    share: the chance with which a person's report goes into the batch that is looked at,
    independently of the record; 1 where there is one shuffler. The atoms are given that it does.
    uneven: see `UNEVEN`.
    Source: Balle, Bell, Gascon, Nissim 2019, section 5; docs/spec/shuffle.md#2.1. Raises ValueError
    for atoms that are not a blanket.
    """

    atoms: tuple[Atom, ...]
    share: Fraction = Fraction(1)
    uneven: Fraction = UNEVEN

    def __post_init__(self) -> None:
        if any(not 0 <= r <= min(one, other) for r, one, other in self.atoms):
            raise ValueError("a blanket is nowhere above the channel")
        if any(sum(atom[side] for atom in self.atoms) != 1 for side in (1, 2)):
            raise ValueError("the reports of a record have probability 1 together")
        if not 0 < self.share <= 1:
            raise ValueError("a batch holds a positive share of the people")

    @property
    def odds(self) -> Fraction | None:
        """The largest ratio of an atom's probabilities under the two records; None if unbounded."""
        pairs = [(max(atom[1:]), min(atom[1:])) for atom in self.atoms if max(atom[1:])]
        if any(low == 0 for _, low in pairs):
            return None
        return max(high / low for high, low in pairs)


def unary(one: Fraction, zero: Fraction, size: int) -> Blanket:
    """A vector of `size` bits sent as one message: a person's own bit is 1 with probability `one`,
    each other one with probability `zero`.

    The patterns of the two bits in which two records differ decide, and whether all others are 1.
    Of all records the least likely to send some bits are at a 0 of them; where no bit is 0, all
    send them alike. The paper takes the least over the two bits alone (docs/spec/shuffle.md#2.1),
    where people at a third bit set these as if they had no own one; but that bit is in the report
    as well, and tells that they are at a third. ValueError for fewer than two bits.
    """
    if not 0 < zero < one < 1:
        raise ValueError("a bit is 1 more often where it should be")
    if size < 2:
        raise ValueError("two records differ in two bits")
    # The four patterns of the two bits: only the first is set, only the second, none, both.
    left, right = one * (1 - zero), zero * (1 - one)
    none, both = (1 - one) * (1 - zero), one * zero
    # Both set: no other bit is 0 with probability `full`, whichever of the two is the person's own.
    full = zero ** (size - 2)
    atoms = [(right, left, right), (right, right, left), (none,) * 3, (both * full,) * 3]
    if size > 2:
        # Else somebody at a 0 among the others sends them with less: the ratio of 0 at an own bit.
        least, partly = (1 - one) / (1 - zero), both * (1 - full)
        atoms.append((zero * zero * least * (1 - full), partly, partly))
    return Blanket(tuple(atoms))


def merge_atoms(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
    """Atoms whose ratios agree to 16 digits, added up: these differ by less than 2^-49."""
    totals: dict[tuple[str, str], Atom] = {}
    zero = Fraction(0)
    for r, one, two in atoms:
        key = (f"{float(one / r):.15e}", f"{float(two / r):.15e}")
        total = totals.get(key, (zero, zero, zero))
        totals[key] = (total[0] + r, total[1] + one, total[2] + two)
    return tuple(totals.values())


def clones(odds: Fraction) -> Blanket:
    """Any local channel whose reports have odds of at most `odds` between any two records.

    Source: Feldman, McMillan, Talwar 2021 ("Hiding among the clones"), Theorem 3.1; Kairouz, Oh,
    Viswanath 2015 for the two-point form; docs/spec/shuffle.md#2.1.
    """
    if odds < 1:
        raise ValueError("odds are at least 1")
    high, low = odds / (1 + odds), 1 / (1 + odds)
    clone = 1 / (2 * odds)
    return Blanket(((clone, high, low), (clone, low, high)))


# -- delta at an epsilon -----------------------------------------------------------------------


def delta_of(
    blankets: Sequence[Blanket], people: int, epsilon: Epsilon | Decimal, terms: int = TERMS
) -> float:
    """An upper bound of the delta that a shuffled batch has at a central epsilon, at most 1.

    people: honest people whose reports are shuffled together (over all shufflers), from `FEWEST`
    to `MOST`. Raises ValueError for any other number, and without a blanket.  terms: of the series
    of `expectation`; fewer are faster and give a larger bound.
    """
    if type(people) is not int or not FEWEST <= people <= MOST:
        raise ValueError(f"the accountant takes {FEWEST} to {MOST} people")
    if not blankets:
        raise ValueError("without a blanket there is nothing to account for")
    value = epsilon.value if isinstance(epsilon, Epsilon) else epsilon
    # e^epsilon rounded down: a smaller factor makes every L, and so delta, larger.
    return max(_delta(blanket, people, odds_below(value), terms) for blanket in blankets)


def keeps(
    blankets: Sequence[Blanket], central: Central, local: Epsilon, terms: int = TERMS
) -> bool:
    """Whether shuffled batches of `central.people` reports, or more, keep the promise.

    local: what one report keeps by itself; shuffling does not take that away.
    """
    if local.value <= central.epsilon.value:
        return True
    return Fraction(delta_of(blankets, central.people, central.epsilon, terms)) <= central.delta


@lru_cache(maxsize=256)
def _delta(blanket: Blanket, people: int, odds: Fraction, terms: int) -> float:
    """The larger of both directions, which are the same for most channels."""
    backward = [(r, other, one) for r, one, other in blanket.atoms]
    ways = {tuple(sorted(blanket.atoms)), tuple(sorted(backward))}
    shared = blanket.share, people, odds, blanket.uneven, terms
    return max(_one_way(list(atoms), *shared) for atoms in ways)


def _one_way(
    atoms: list[Atom],
    share: Fraction,
    people: int,
    odds: Fraction,
    uneven: Fraction = UNEVEN,
    terms: int = TERMS,
) -> float:
    """delta of telling the first record from the second."""
    # Atoms that the blanket does not cover hide among nobody: they add their part of the
    # hockey-stick divergence of the one report, which is subadditive over parts of the outputs.
    bare = sum(
        (max(one - odds * other, Fraction(0)) for r, one, other in atoms if r == 0),
        start=Fraction(0),
    )
    # The values of L, exact until they are rounded up, R0 and R1 taken at the worse end of what
    # `uneven` allows. A larger L can only raise the expectation.
    jumps: defaultdict[float, Fraction] = defaultdict(Fraction)
    for r, one, other in atoms:
        if r > 0:
            jumps[_above((one * (1 + uneven) - odds * other * (1 - uneven)) / r)] += r * share
    law = Jumps(
        np.array(list(jumps)),
        np.array([float(chance) for chance in jumps.values()]),
        float(1 - sum(jumps.values(), start=Fraction(0))),
        people,
    )
    # Rounding share, product and quotient loses less than 2^-50 relatively; the last factor is
    # larger than that.
    covered = positive_part(law, terms) / (people * float(share)) * (1.0 + 2.0**-48)
    return min(covered + _above(bare), 1.0)


def _above(value: Fraction) -> float:
    """A float not below an exact number."""
    return math.nextafter(float(value), math.inf) if value else 0.0


# -- epsilon at a delta ------------------------------------------------------------------------
# Both searches bisect over decimals of few digits and end at one at which the accountant was asked:
# where its figures are not quite monotone, being upper bounds, the answer may be a little off the
# best one, to the safe side. They look with few terms of the series, and make sure with all.


def epsilon_of_batch(
    blankets: Sequence[Blanket], people: int, delta: Fraction, local: Epsilon | None = None
) -> Decimal | None:
    """The central epsilon that a shuffled batch of `people` honest reports achieves at `delta`,
    rounded up to four significant digits, at least 0.000001; None if there is none up to 20.

    local: what one report keeps by itself, which is never exceeded; None for the odds of the
    blankets. Raises ValueError as `delta_of`.
    """
    if local is not None:
        limit: Decimal | None = local.value
    else:
        odds = [blanket.odds for blanket in blankets]
        bounded = [value for value in odds if value is not None]
        limit = epsilon_of(max(bounded)) if len(bounded) == len(odds) else None

    def suffices(place: int, terms: int = FEW_TERMS) -> bool:
        return Fraction(delta_of(blankets, people, _decimal(place), terms)) <= delta

    high = bisect_left(range(_PLACES), LARGEST_EPSILON if limit is None else limit, key=_decimal)
    if not suffices(high):
        return limit
    place = bisect_left(range(high), True, key=suffices)
    while place > 0 and suffices(place - 1, TERMS):
        place -= 1
    found = _decimal(place)
    return found if limit is None else min(found, limit)


def largest_local(blankets_at: Callable[[Epsilon], Sequence[Blanket]], central: Central) -> Epsilon:
    """The largest local epsilon, a multiple of 0.001 up to 20, that keeps a central promise.

    blankets_at: of the mechanism at a local epsilon.  The central epsilon itself always does,
    without any shuffling: it is returned where no larger one is found. It is looked for with few
    terms of the series, whose bound is hardly larger.
    """

    def fails(thousandths: int, terms: int = FEW_TERMS) -> bool:
        local = Epsilon(thousandths * STEP)
        return not keeps(blankets_at(local), central, local, terms)

    low, high = int(central.epsilon.value / STEP), int(LARGEST_EPSILON / STEP)
    largest = low + bisect_left(range(low + 1, high + 1), True, key=fails)
    while largest > low and fails(largest, TERMS):
        largest -= 1
    return max(Epsilon(max(largest, 1) * STEP), central.epsilon, key=lambda epsilon: epsilon.value)


def _decimal(place: int) -> Decimal:
    """Decimals of four significant digits in order; place 0 is the smallest."""
    decade, step = divmod(place, _PER_DECADE)
    return Decimal(1000 + step).scaleb(decade + _SMALLEST_DECADE - 3)


# -- a published closed form -------------------------------------------------------------------


def balle_local(central: float, people: int, delta: float, size: int) -> float | None:
    """The largest local epsilon of randomized response over `size` values to which a published
    theorem gives a central one; None where it gives none.

    Source: Balle, Bell, Gascon, Nissim 2019, Theorem 3.1, with both terms of its condition
    (docs/spec/shuffle.md#1). Only the mechanism that is published with it is calibrated so.
    """
    if not 0 < central <= 1:
        return None
    inverse = min(
        central**2 * (people - 1) / (14 * math.log(2 / delta)), central * (people - 1) / 27
    )
    return math.log(inverse - size + 1) if inverse >= size else None
