"""ARR-SS: one randomized response over the cells of all marginals.

Each device draws one of the survey's marginals in secret, and answers among the cells of all of
them with its own cell there. The marginal is not part of the report: a lie lands anywhere.
Its authors take the odds e of the randomized response for those of a report, which are only
1 + (e - 1) / d for d marginals: `calibration = "published"` spends that little,
`calibration = "tight"` what was asked for. Source: Liu, Wang, Wang, Journal of Software 33(3),
2022; docs/spec/shuffle.md#3.2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from ldpsql.boxes import Weight, cardinality
from ldpsql.decoders.linear import CellQuery, Codes, GroupCells
from ldpsql.decoders.marginals import Boxes, CollectedMarginals
from ldpsql.estimate import Array
from ldpsql.numerics import epsilon_of
from ldpsql.recipes.base import Task
from ldpsql.recipes.marginals import (
    CERTAIN,
    MarginalOptions,
    MarginalRecipe,
    NamedAnswer,
    choose_marginals,
    marginal_terms,
    published_local,
    read_marginals,
)
from ldpsql.record_domain import RecordDomain
from ldpsql.shuffle import UNEVEN, Atom, Blanket, largest_local, merged
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.guarantee import Central
from ldpsql_device.plan import (
    HALVES,
    WORDS,
    Arcs,
    Digit,
    Face,
    Part,
    Plan,
    Step,
    subset_words,
    varying,
)

MOST_ODDS = WORDS << 30
"""The largest odds that a plan may have."""


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
    def _step(self) -> Step:
        return Step(self.weights, secret=True)

    @cached_property
    def chances(self) -> tuple[Fraction, ...]:
        """Exact probability of each marginal."""
        return tuple(Fraction(halves, HALVES) for halves in self._step.choice.preimages)

    @cached_property
    def odds(self) -> int:
        """Those of the randomized response, in parts of 2^64."""
        return secret_odds(self.epsilon, max(self.chances), self.starts[-1])

    @cached_property
    def plan(self) -> Plan:
        """One question; which marginal it is about is drawn in secret."""
        starts, cells = varying(0, self.starts[:-1]), self.starts[-1]
        digit = Digit(marginal_terms(self.marginals, self.domain.sizes), cells, starts)
        part = Part((digit,), Arcs(0, (1,)))
        return Plan(self.domain.sizes, (self.odds,), (Face(1, (part,), (self._step,)),))

    def direct(self, known: float, boxes: Boxes, weight: Weight | None) -> CellQuery:
        """See `CollectedMarginals.direct`; what the sum to one tells is known without asking."""
        if self.sum_to_one:
            for share, box in boxes:
                sides = zip(box.sides, self.domain.sizes, strict=True)
                parts = [cardinality(side) / size for side, size in sides if side is not None]
                known += share * math.prod(parts)
        return super().direct(known, boxes, weight)

    def group_cells(self, marginal: int, cells: Codes, weights: Array) -> GroupCells:
        """Cells among those of all marginals; each person's is drawn with the marginal's chance."""
        start, size = self.starts[marginal], self.sizes[marginal]
        if self.sum_to_one:
            full = np.zeros(size)
            np.add.at(full, cells, weights)
            cells, weights = np.arange(size), full - full.mean()
        return GroupCells(0, start + cells, weights / float(self.chances[marginal]))

    def describe_group(self, number: int) -> str:
        """All marginals at once."""
        return f"{self.starts[-1]} cells of {len(self.chances)} marginals, grr"

    def spread_evenly(self) -> list[Array]:
        """See `CollectedMarginals.spread_evenly`: all cells are nodes of one group."""
        shares = zip(super().spread_evenly(), self.chances, strict=True)
        return [np.concatenate([even * float(chance) for even, chance in shares])]

    def blankets(self) -> tuple[Blanket, ...]:
        """Of two people who differ in all attributes: each holds one cell of every marginal.

        Cells that both hold tell less: they leave the mean of the accountant's sum and make it
        narrower.
        """
        cells = self.starts[-1]
        if cells == 1:
            return (Blanket(CERTAIN),)
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
        return (Blanket(merged(atoms), uneven=UNEVEN + named.uneven),)

    def to_json(self) -> Mapping[str, Any]:
        """What the recipe needs besides name, domain and epsilon."""
        return {**super().to_json(), "sum_to_one": self.sum_to_one}


def secret_odds(epsilon: Epsilon, chance: Fraction, cells: int) -> int:
    """Odds n / 2^64 of randomized response over so many cells whose reports keep e^epsilon.

    A person's cell of a marginal is the true answer with that marginal's chance w only, at most
    `chance`. So a report is sent with at most w inside + (1 - w) (outside + rest) by its holders
    and with at least outside by others (inside, outside, rest: the words of `subset_words`): about
    1 + w (n / 2^64 - 1), from which n follows; it is lowered for what rounding takes.
    """
    exact = 1 + (epsilon.odds - 1) / chance

    def reached(odds: int) -> Fraction:
        inside, outside = subset_words(1, cells, odds)
        last = WORDS - inside - (cells - 2) * outside
        return Fraction(max(chance * inside + (1 - chance) * last, Fraction(last)) / outside)

    odds, lower = min(int(exact * WORDS), MOST_ODDS), 1
    while cells > 1 and reached(odds) > epsilon.odds and odds > WORDS:
        odds, lower = max(odds - lower, WORDS), 2 * lower
    return odds


@dataclass(frozen=True)
class ArrOptions(MarginalOptions):
    """sum_to_one: see `ArrDesign`."""

    sum_to_one: bool = False


class ArrSs(MarginalRecipe[ArrOptions]):
    """COUNT over private dimensions."""

    name = "arr-ss"
    options = ArrOptions

    def make(self, task: Task[ArrOptions]) -> ArrDesign:
        """The randomized response as truthful as epsilon allows; as `calibration` says."""
        first = self._first(task)
        if task.options.calibration == "tight":
            return first
        return replace(first, epsilon=local_budget(task.epsilon, len(first.marginals)))

    def calibrate(self, task: Task[ArrOptions], central: Central) -> ArrDesign:
        """See `Recipe.calibrate`."""
        first = self._first(task)
        if task.options.calibration == "published":
            answered = published_local(central, central.people, first.starts[-1])
            return replace(first, epsilon=local_budget(answered, len(first.marginals)))
        best = largest_local(lambda local: replace(first, epsilon=local).blankets(), central)
        return replace(first, epsilon=best)

    def _first(self, task: Task[ArrOptions]) -> ArrDesign:
        marginals = choose_marginals(task.domain, task.options.ways, task.workload)
        weights = (1,) * len(marginals)
        shifted = task.options.sum_to_one
        return ArrDesign(self.name, task.domain, task.epsilon, marginals, weights, shifted)

    def remake(self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]) -> ArrDesign:
        """See `Recipe.remake`."""
        if type(data["sum_to_one"]) is not bool:
            raise SurveyError(f"the design does not fit {self.name}")
        return ArrDesign(self.name, domain, epsilon, *read_marginals(data), data["sum_to_one"])


def local_budget(answered: Epsilon, marginals: int) -> Epsilon:
    """The local epsilon of randomized response with budget `answered` over a secret marginal:
    ln(1 + (e - 1) / d), rounded up. Source: docs/spec/shuffle.md#3.2."""
    return Epsilon(epsilon_of(1 + (answered.odds - 1) / marginals))


ARR_SS = ArrSs()
