"""Public. Sees parameters. What shuffling reports is worth: the accountant of the shuffle model."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

Atom = tuple[Fraction, Fraction, Fraction]


@dataclass(frozen=True)
class Blanket:
    """The blanket of a local channel, for one worst pair of records x0 and x1.

    atoms: (r, R0, R1) for every class of reports with equal ratios: its probability under the
    blanket, the pointwise least of the channel over all records, and under the two records.  The
    R0 add up to 1, so do the R1.  share: the part of all people whose reports go into the same
    batch; 1 where there is one shuffler.
    Source: Balle, Bell, Gascon, Nissim 2019, section 5; specification shuffle, section 2.1.
    """

    atoms: tuple[Atom, ...]
    share: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if any(not 0 <= r <= min(one, other) for r, one, other in self.atoms):
            raise ValueError("a blanket is nowhere above the channel")
        if any(sum(atom[side] for atom in self.atoms) != 1 for side in (1, 2)):
            raise ValueError("the reports of a record have probability 1 together")
        if not 0 < self.share <= 1:
            raise ValueError("a batch holds a positive share of the people")
