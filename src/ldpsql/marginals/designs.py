"""How a report is about one marginal of several, and how well it hides among others.

* `MarginalDesign`: a frequency oracle in every marginal, whose number is part of the report.
* `WalshDesign`: the sign of a random parity of binary attributes. For a set a of attributes the
  *coefficient* chi_a is the mean over people of (-1)^(how many of the attributes in a have code 1);
  the share of people in a cell of an m-attribute marginal is a sum of 2^m of them. Sources: Barak
  et al., PODS 2007; Cormode, Kulkarni, Srivastava, SIGMOD 2018; docs/spec/shuffle.md#3.6.
* `ArrDesign`: randomized response over the cells of all marginals, of which each device draws one
  in secret: a lie lands anywhere. Source: Liu, Wang, Wang, Journal of Software 33(3), 2022;
  docs/spec/shuffle.md#3.2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, combinations, groupby
from typing import Any, Self

import numpy as np

from ldpsql.algebra.boxes import Box, Weight, cardinality
from ldpsql.algebra.estimate import Array
from ldpsql.estimators.base import Codes
from ldpsql.estimators.linear import CellQuery, GroupCells
from ldpsql.estimators.oracles import prime_from
from ldpsql.marginals.decoder import Axes, Boxes, CollectedMarginals, axes_of
from ldpsql.mechanisms.oracles import LARGEST, odds_words, other_bit
from ldpsql.reports.survey_file import vary
from ldpsql.shuffle.accountant import UNEVEN, Atom, Blanket, merge_atoms
from ldpsql.shuffle.blankets import find_blanket
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import (
    HALVES,
    LARGEST_RADIX,
    WORDS,
    Arcs,
    Bits,
    Digit,
    Face,
    Hash,
    Integer,
    Part,
    Plan,
    Step,
    Term,
    subset_words,
)

MOST_ODDS = WORDS << 30
"""The largest odds that a plan may have."""
MOST_PAIRS = 1 << 22
"""Sets of attributes times coefficients that are gone through for the exact blanket."""
_COARSE = 1 << 16
"""Weights of groups are added up in these units, so that they fit into 64 bits."""
_SCALE = 10**40

# -- responses ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NamedAnswer:
    """Randomized response over so many answers, at least two, for odds n / 2^64."""

    answers: int
    odds: int

    @cached_property
    def truth(self) -> Fraction:
        """Probability of the true answer."""
        return Fraction(subset_words(1, self.answers, self.odds)[0], WORDS)

    @cached_property
    def least(self) -> Fraction:
        """Least probability of another one."""
        return Fraction(subset_words(1, self.answers, self.odds)[1], WORDS)

    @property
    def other(self) -> Fraction:
        """Mean probability of another one."""
        return (1 - self.truth) / (self.answers - 1)

    @property
    def uneven(self) -> Fraction:
        """By how much one of them may be likelier than another, relatively: the last one has the
        words that rounding leaves."""
        return (1 - self.truth - (self.answers - 1) * self.least) / self.least


def bit_thresholds(oracle: str, epsilon: Epsilon) -> tuple[int, int]:
    """Words that set the bit of a person's own cell, and of another one, by OUE or SUE.

    SUE: the own bit has the largest t with (t / (2^64 - t))^2 <= e^epsilon, and another one is as
    likely set as the own is not. Source: Erlingsson, Pihur, Korolova 2014;
    docs/spec/shuffle.md#3.6.
    """
    if oracle == "oue":
        return WORDS // 2, other_bit(epsilon)
    root = Fraction(math.isqrt(int(epsilon.odds * _SCALE**2)), _SCALE)
    own = int(WORDS * root / (1 + root))
    return own, WORDS - own


# -- designs ---------------------------------------------------------------------------------------


def make_marginal_terms(marginals: Sequence[Axes], sizes: Sequence[int]) -> tuple[Term, ...]:
    """The cell, row by row, of the marginal that a face's one step chooses."""
    strides = np.zeros((len(marginals), len(sizes)), dtype=np.int64)
    for row, axes in enumerate(marginals):
        for place, axis in enumerate(axes):
            strides[row, axis] = math.prod(sizes[later] for later in axes[place + 1 :])
    return tuple(
        Term(axis, vary(0, column)) for axis, column in enumerate(strides.T) if column.any()
    )


@dataclass(frozen=True)
class MarginalDesign(CollectedMarginals):
    """Marginals with a frequency oracle in each.

    oracle: grr, padded, solh, oue or sue.  budgets: local epsilon of every marginal.  values:
    answers of a padded domain, hash values of SOLH; 0 for the others.  visible: whether whoever
    sees the reports may know who reports on which marginal, as where each has a shuffler of its
    own.
    """

    oracle: str
    budgets: tuple[Epsilon, ...]
    values: int = 0
    visible: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.budgets) != len(self.marginals):
            raise SurveyError("a design needs a budget for every marginal")
        if any(budget.value > self.epsilon.value for budget in self.budgets):
            raise SurveyError("a marginal's budget exceeds the epsilon of the design")
        if self.oracle == "padded" and self.values < max(self.sizes):
            raise SurveyError("a padded domain is at least as large as every attribute")
        if self.oracle == "solh" and not 2 <= self.values < LARGEST_RADIX:
            raise SurveyError("hash functions need at least 2 values, and less than 2^31")
        most = LARGEST.get({"solh": "olh", "sue": "oue"}.get(self.oracle, self.oracle))
        if most is not None and max(self.sizes) > most:
            raise SurveyError(
                f"a marginal has {max(self.sizes)} cells, more than the {most} of "
                f"{self.oracle.upper()}; use srr-ss, coarser bins or fewer attributes together"
            )

    @cached_property
    def plan(self) -> Plan:
        """A question per marginal, a face for neighbours of one budget."""
        budgets = list(dict.fromkeys(self.budgets))
        faces = []
        for budget, run in groupby(range(len(self.marginals)), self.budgets.__getitem__):
            members = list(run)
            weights = tuple(self.weights[number] for number in members)
            part, coins = self._ask(members, budget, budgets.index(budget))
            steps = (Step(weights),) if len(members) > 1 else ()
            faces.append(Face(sum(weights), (part,), steps, coins))
        return Plan(self.domain.sizes, tuple(map(odds_words, budgets)), tuple(faces))

    def _ask(
        self, members: Sequence[int], budget: Epsilon, odds: int
    ) -> tuple[Part, tuple[Integer, ...]]:
        """The part of a face, and its coins."""
        digit = self.digit(members)
        if self.oracle in ("oue", "sue"):
            own, other = bit_thresholds(self.oracle, budget)
            return Part((digit,), Bits((own,), (other,))), ()
        if self.oracle != "solh":
            return Part((digit,), Arcs(odds, (1,))), ()
        primes = [prime_from(self.sizes[number]) for number in members]
        prime, slope = vary(0, primes), vary(0, [prime - 1 for prime in primes])
        return Part((digit,), Arcs(odds, (1,)), Hash(prime, self.values, 0, 1)), (slope, prime)

    def digit(self, members: Sequence[int]) -> Digit:
        """The symbol of the marginal that a face's step chooses."""
        terms = make_marginal_terms([self.marginals[n] for n in members], self.domain.sizes)
        sizes = vary(0, [self.sizes[number] for number in members])
        return Digit(terms, self.values if self.oracle == "padded" else sizes)

    def describe_group(self, number: int) -> str:
        """A marginal in words."""
        names = " x ".join(self.domain.names[axis] for axis in self.marginals[number])
        return f"marginal of {names or 'nothing'} ({self.sizes[number]} nodes, {self.oracle})"

    @cached_property
    def chances(self) -> tuple[Fraction, ...]:
        """Exact probability of every question; faces have one step at most."""
        return tuple(
            Fraction(halves * choice, HALVES**2)
            for face, halves in zip(self.plan.faces, self.plan.face_choice.preimages, strict=True)
            for choice in (face.steps[0].preimages if face.steps else (HALVES,))
        )

    def blankets(self) -> tuple[Blanket, ...]:
        """Of all reports, or of those of each marginal where whoever looks knows who reports on
        which."""
        if not self.visible:
            return (find_blanket(self.plan),)
        numbers = range(len(self.marginals))
        return tuple(dict.fromkeys(self.blanket_of(number) for number in numbers))

    def blanket_of(self, group: int) -> Blanket:
        """That of one marginal, where whoever looks knows who reports on it."""
        budget = self.budgets[group]
        only = (self.marginals[group],), (1,), self.oracle, (budget,), self.values
        own = type(self)(self.name, self.domain, budget, *only)
        return replace(find_blanket(own.plan), share=self.chances[group])

    def at(self, epsilon: Epsilon) -> Self:
        """The same design with another local epsilon for every marginal."""
        return self.with_budgets([epsilon] * len(self.budgets))

    def with_budgets(self, budgets: Sequence[Epsilon]) -> Self:
        """The same design with a local epsilon per marginal."""
        largest = max(budgets, key=lambda budget: budget.value)
        return replace(self, epsilon=largest, budgets=tuple(budgets))

    @property
    def cell_variance(self) -> float:
        """Mean variance per report of a cell's frequency, for records spread evenly."""
        variances = []
        for answer, size in zip(self.answers, self.sizes, strict=True):
            moments, mean = answer.moments, 1.0 / size
            own = (moments.own + 2.0 * moments.cross) * mean
            variances.append(moments.node_variance + own - mean**2)
        return float(np.mean(variances))

    def to_json(self) -> Mapping[str, Any]:
        """Plain data for the recipe, besides name, domain and epsilon."""
        budgets = [str(budget) for budget in self.budgets]
        rest = {"oracle": self.oracle, "budgets": budgets, "values": self.values}
        return {**super().to_json(), **rest}


@dataclass(frozen=True)
class WalshDesign(MarginalDesign):
    """Parities with randomized response in each; the sets of attributes are its `marginals`."""

    can_smooth = False

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Even and odd; one node where a set holds no attribute."""
        return tuple(2 if axes else 1 for axes in self.marginals)

    def digit(self, members: Sequence[int]) -> Digit:
        """How many of the set's attributes have code 1, modulo 2."""
        chosen = [set(self.marginals[number]) for number in members]
        terms = tuple(
            Term(axis, vary(0, [int(axis in axes) for axes in chosen]))
            for axis in sorted(set().union(*chosen))
        )
        sizes = vary(0, [self.sizes[number] for number in members])
        return Digit(terms, sizes, modulus=True)

    def holds(self, axes: Axes) -> bool:
        """Whether all coefficients inside were collected."""
        parts = (part for size in range(1, len(axes) + 1) for part in combinations(axes, size))
        return all(part in self._number for part in parts)

    def direct(self, known: float, boxes: Boxes, weight: Weight | None) -> CellQuery:
        """The coefficients whose sum answers a query."""
        weights: dict[Axes, float] = {}
        for share, box in boxes:
            for axes, factor in _expand(box):
                weights[axes] = weights.get(axes, 0.0) + share * factor
        known += weights.pop((), 0.0)
        used = {self._number[axes]: total for axes, total in weights.items() if total}
        cells = tuple(
            GroupCells(group, np.arange(2), total * np.array([1.0, -1.0]))
            for group, total in sorted(used.items())
        )
        return CellQuery(known, bool(cells), (cells,) if cells else (), weight)

    @cached_property
    def _number(self) -> Mapping[Axes, int]:
        return {axes: number for number, axes in enumerate(self.marginals)}

    def describe_group(self, number: int) -> str:
        """A coefficient in words."""
        names = ", ".join(self.domain.names[axis] for axis in self.marginals[number])
        return f"parity of {names or 'nothing'} ({self.sizes[number]} nodes, {self.oracle})"

    def blankets(self) -> tuple[Blanket, ...]:
        """Of two people between whom as many parities differ as can."""
        return (find_blanket(self.plan, 1 - self._most_flipped),)

    @property
    def _most_flipped(self) -> Fraction:
        """The largest chance, a little rounded up, to be asked for a parity that a change of a
        record turns; 1 where there are too many sets of attributes to look at."""
        axes = sorted({axis for marginal in self.marginals for axis in marginal})
        if len(self.marginals) << len(axes) > MOST_PAIRS:
            return Fraction(1)
        changed = (np.arange(1 << len(axes))[:, None] >> np.arange(len(axes))) & 1
        members = np.array([[axis in own for axis in axes] for own in self.marginals])
        weights = np.array([math.ceil(chance * WORDS / _COARSE) for chance in self.chances])
        turned = int((((changed @ members.T) & 1) @ weights).max())
        return min(Fraction(turned * _COARSE, WORDS), Fraction(1))


def _expand(box: Box) -> list[tuple[Axes, float]]:
    """A box's indicator in coefficients: the product of (1 +- chi) / 2 over its attributes."""
    asked = axes_of(box)
    parts: list[tuple[Axes, float]] = [((), 0.5 ** len(asked))]
    for axis in asked:
        sign = 1.0 if box.sides[axis] == ((0, 1),) else -1.0
        parts += [((*axes, axis), sign * factor) for axes, factor in parts]
    return parts


@dataclass(frozen=True)
class ArrDesign(CollectedMarginals):
    """All cells of all marginals as the answers of one randomized response.

    sum_to_one: whether the frequencies of each marginal are shifted to add up to 1, which keeps
    them unbiased and helps cells that many people are in.
    """

    sum_to_one: bool = False

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The number of the first cell of each marginal, and that of all cells."""
        return tuple(accumulate(self.sizes, initial=0))

    @cached_property
    def chances(self) -> tuple[Fraction, ...]:
        """Exact probability of each marginal."""
        preimages = Step(self.weights, secret=True).preimages
        return tuple(Fraction(halves, HALVES) for halves in preimages)

    @cached_property
    def odds(self) -> int:
        """Those of the randomized response, in parts of 2^64."""
        return secret_odds(self.epsilon, max(self.chances), self.starts[-1])

    @cached_property
    def plan(self) -> Plan:
        """One question; which marginal it is about is drawn in secret."""
        starts, cells = vary(0, self.starts[:-1]), self.starts[-1]
        digit = Digit(make_marginal_terms(self.marginals, self.domain.sizes), cells, starts)
        face = Face(1, (Part((digit,), Arcs(0, (1,))),), (Step(self.weights, secret=True),))
        return Plan(self.domain.sizes, (self.odds,), (face,))

    def direct(self, known: float, boxes: Boxes, weight: Weight | None) -> CellQuery:
        """Independent ways to answer boxes by marginals; the part that the sum to one tells is
        known without asking."""
        if self.sum_to_one:
            for share, box in boxes:
                sides = zip(box.sides, self.domain.sizes, strict=True)
                parts = [cardinality(side) / size for side, size in sides if side is not None]
                known += share * math.prod(parts)
        return super().direct(known, boxes, weight)

    def find_nodes(self, marginal: int) -> tuple[int, Codes, float]:
        """Among the cells of all marginals; each person's is drawn with the marginal's chance."""
        start, end = self.starts[marginal : marginal + 2]
        return 0, np.arange(start, end), 1.0 / float(self.chances[marginal])

    def group_cells(self, marginal: int, cells: Codes, weights: Array) -> GroupCells:
        """Weighted cells of a marginal as nodes of a group, less the mean where the sum is
        known."""
        if self.sum_to_one:
            full = np.zeros(self.sizes[marginal])
            np.add.at(full, cells, weights)
            cells, weights = np.arange(len(full)), full - full.mean()
        return super().group_cells(marginal, cells, weights)

    def describe_group(self, number: int) -> str:
        """All marginals at once."""
        return f"{self.starts[-1]} cells of {len(self.chances)} marginals, grr"

    def spread_evenly(self) -> list[Array]:
        """The share of people at each node where records are even; all cells are nodes of one
        group."""
        shares = zip(super().spread_evenly(), self.chances, strict=True)
        return [np.concatenate([even * float(chance) for even, chance in shares])]

    def blankets(self) -> tuple[Blanket, ...]:
        """Of two people who differ in all attributes: each holds one cell of every marginal.

        Cells that both hold tell less: they leave the mean of the accountant's sum and make it
        narrower.
        """
        cells = self.starts[-1]
        if cells == 1:
            return (find_blanket(self.plan),)
        named = NamedAnswer(cells, self.odds)
        least, other = named.least, named.other
        atoms: list[Atom] = []
        rest = cells
        for chance, size in zip(self.chances, self.sizes, strict=True):
            hot = other + chance * (named.truth - other)
            pair = [(least, hot, other), (least, other, hot)]
            atoms += pair if size > 1 else [(least, hot, hot)]
            rest -= min(size, 2)
        if rest:
            atoms.append((rest * least, rest * other, rest * other))
        return (Blanket(merge_atoms(atoms), uneven=UNEVEN + named.uneven),)

    def to_json(self) -> Mapping[str, Any]:
        """Plain data for the recipe, besides name, domain and epsilon."""
        return {**super().to_json(), "sum_to_one": self.sum_to_one}


def secret_odds(epsilon: Epsilon, chance: Fraction, cells: int) -> int:
    """Odds n / 2^64 of randomized response over so many cells whose reports keep e^epsilon.

    A person's cell of a marginal is the true answer with that marginal's chance w only, at most
    `chance`. So a report is sent with at most w inside + (1 - w) (outside + rest) by its holders
    and with at least outside by others (inside, outside, rest: the words of `subset_words`): about
    1 + w (n / 2^64 - 1), from which n follows; it is lowered for what rounding takes.
    """
    exact = 1 + (epsilon.odds - 1) / chance

    def reach(odds: int) -> Fraction:
        inside, outside = subset_words(1, cells, odds)
        last = WORDS - inside - (cells - 2) * outside
        return Fraction(max(chance * inside + (1 - chance) * last, Fraction(last)) / outside)

    odds, lower = min(int(exact * WORDS), MOST_ODDS), 1
    while cells > 1 and reach(odds) > epsilon.odds and odds > WORDS:
        odds, lower = max(odds - lower, WORDS), 2 * lower
    return odds
