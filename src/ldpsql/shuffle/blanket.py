"""The blanket of a local channel: what it does without looking.

Whatever the record, a report y comes out with probability r(y) at least. So every person's report
is, with probability sum r, one drawn from r without looking at the record: among those the report
of one person hides.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

Atom = tuple[Fraction, Fraction, Fraction]
UNEVEN = Fraction(1, 1 << 43)
"""By how much the probabilities of reports in one atom may differ, relatively, unless a blanket
says more; the accountant counts with the worse. Half of it is for uneven draws, half for what
`merged` puts together."""


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
    atoms = [(right, left, right), (right, right, left), (none, none, none)]
    atoms.append((both * full, both * full, both * full))
    if size > 2:
        # Else somebody at a 0 among the others sends them with less: the ratio of 0 at an own bit.
        least, partly = (1 - one) / (1 - zero), both * (1 - full)
        atoms.append((zero * zero * least * (1 - full), partly, partly))
    return Blanket(tuple(atoms))


def merged(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
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
