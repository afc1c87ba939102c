"""Public. Sees parameters. Oracles whose budgets were chosen group by group.

In the shuffle model a group's local budget follows from how well its reports hide among others,
so groups may differ in it, in how many answers there are (padding), or in how many values a hash
has. Specification: shuffle, sections 3.1 to 3.6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from ldpsql.mechanisms.draws import SPACE, least_preimages
from ldpsql.mechanisms.grr import Grr
from ldpsql.mechanisms.grr import odds as grr_odds
from ldpsql.mechanisms.olh import Solh
from ldpsql.mechanisms.oracle import Oracle
from ldpsql.mechanisms.oracles import OracleTable
from ldpsql.mechanisms.oue import Oue, Sue, words_of
from ldpsql.shuffle import UNEVEN, Atom, unary
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError

Atoms = tuple[Atom, ...]
MOST_OTHERS = int(SPACE * UNEVEN / 2)
"""Answers among which one that is not the true one is drawn: of k, each has 2^64 / k words, up to
one word."""


@dataclass(frozen=True)
class PaddedGrr(Grr):
    """GRR over as many answers for every slot, of which the slot's nodes are the first.

    held: nodes per slot.
    """

    held: tuple[int, ...] = ()

    def odds(self, slot: int) -> Fraction | None:
        """Those of randomized response, where only the first answers are somebody's own."""
        return grr_odds(self.thresholds[slot], self.sizes[slot], self.held[slot])


def _grr(budget: Epsilon, sizes: tuple[int, ...], values: int) -> Oracle:
    return Grr(budget, sizes)


def _padded(budget: Epsilon, sizes: tuple[int, ...], values: int) -> Oracle:
    return PaddedGrr(budget, tuple(values for _ in sizes), held=sizes)


def _solh(budget: Epsilon, sizes: tuple[int, ...], values: int) -> Oracle:
    return Solh(budget, sizes, hash_values=values)


def _oue(budget: Epsilon, sizes: tuple[int, ...], values: int) -> Oracle:
    return Oue(budget, sizes, values)


def _sue(budget: Epsilon, sizes: tuple[int, ...], values: int) -> Oracle:
    return Sue(budget, sizes, values)


MAKERS: Mapping[str, Callable[[Epsilon, tuple[int, ...], int], Oracle]] = {
    "grr": _grr,
    "padded": _padded,
    "solh": _solh,
    "oue": _oue,
    "sue": _sue,
}
UNARY = ("oue", "sue")


@dataclass(frozen=True)
class CalibratedOracles(OracleTable):
    """The oracle of every group, all of one kind, each with its budget.

    epsilon: the largest of `epsilons`.  values: answers of padded GRR, hash
    values of SOLH; 0 for the others.
    """

    values: int = 0

    def __post_init__(self) -> None:
        if self.name not in MAKERS:
            raise SurveyError(f"a calibrated oracle is one of {', '.join(MAKERS)}")
        if len(self.epsilons) != len(self.sizes):
            raise SurveyError("a design needs a budget for every group")
        if any(budget.value > self.epsilon.value for budget in self.epsilons):
            raise SurveyError("a group's budget exceeds the epsilon of the design")
        if self.name == "padded" and self.values < max(self.sizes):
            raise SurveyError("a padded domain is at least as large as every attribute")
        if self.name == "solh" and not 2 <= self.values < 1 << 31:
            raise SurveyError("hash functions need at least 2 values, and less than 2^31")

    def kind(self, group: int) -> str:
        """The same for all groups."""
        return self.name

    def is_unary(self, group: int) -> bool:
        """See `OracleTable.is_unary`."""
        return self.name in UNARY

    def _make(self, kind: str, budget: Decimal, sizes: tuple[int, ...]) -> Oracle:
        """Bits of a node stand in the same word whatever the budget of its group."""
        unary = self.name in UNARY
        values = words_of(max(self.sizes)) if unary else self.values
        return MAKERS[kind](Epsilon(budget), sizes, values)

    def truth(self, group: int) -> Fraction:
        """The exact probability with which randomized response names a group's true node."""
        oracle = self._of(group)
        if not isinstance(oracle, Grr):
            raise ValueError(f"{self.name} is no randomized response")
        return Fraction(oracle.thresholds[self._slot(group)], SPACE)

    def atoms(self, group: int) -> Atoms:
        """The blanket of a group's reports for two people at different nodes of it.

        (r, R0, R1) as in `Blanket`, without the draw of the group.
        """
        oracle, slot = self._of(group), self._slot(group)
        if self.sizes[group] == 1:
            return ((Fraction(1), Fraction(1), Fraction(1)),)
        if isinstance(oracle, Grr):
            return answered(self.truth(group), oracle.sizes[slot])
        if isinstance(oracle, Solh):
            return _hashed(oracle, oracle.collision(slot))
        assert isinstance(oracle, Oue)
        return unary(*oracle.chances, self.sizes[group]).atoms


def least_other(truth: Fraction, answers: int) -> Fraction:
    """The least probability of an answer under a record that would truthfully give another one.

    SurveyError for more answers than draws of 64 bits are even enough for (see `UNEVEN`).
    """
    if answers - 1 > MOST_OTHERS:
        raise SurveyError(
            f"the accountant of shuffled reports takes at most {MOST_OTHERS + 1:,} answers, not "
            f"{answers:,}: use coarser bins, fewer attributes together, or solh with fewer values"
        )
    return (1 - truth) * Fraction(least_preimages(answers - 1), SPACE)


def answered(truth: Fraction, answers: int) -> Atoms:
    """Randomized response by two people who would truthfully answer differently.

    Under a record all other answers have their mean probability, which the real ones differ from by
    less than the accountant allows for; the blanket has the least.
    """
    least, other = least_other(truth, answers), (1 - truth) / (answers - 1)
    pair = ((least, truth, other), (least, other, truth))
    rest = answers - 2
    return (*pair, (rest * least, rest * other, rest * other)) if rest else pair


def _hashed(oracle: Solh, collision: Fraction) -> Atoms:
    """Two nodes with different hash values, or with the same.

    A collision tells nothing: it leaves the mean of the accountant's sum and makes it narrower. So
    the least probability of one is the one to count with. Some functions are drawn a little more
    often than others, by all records alike.
    """
    truth, values = Fraction(oracle.threshold, SPACE), oracle.values
    least, lie = least_other(truth, values), 1 - truth
    apart = scaled(answered(truth, values), 1 - collision)
    alike = ((least, truth, truth), ((values - 1) * least, lie, lie))
    return (*apart, *(scaled(alike, collision) if collision else ()))


def scaled(atoms: Atoms, share: Fraction) -> Atoms:
    """The blanket's part of a channel that is entered with probability `share`."""
    return tuple((share * r, share * one, share * two) for r, one, two in atoms)
