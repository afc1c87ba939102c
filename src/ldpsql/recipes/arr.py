"""ARR-SS: one randomized response over the cells of all marginals.

Each device draws one of the survey's marginals in secret, and answers among the cells of all of
them with its own cell there. The marginal is not part of the report: a lie lands anywhere.
Its authors take the odds e of the randomized response for those of a report, which are only
1 + (e - 1) / d for d marginals: `calibration = "published"` spends that little,
`calibration = "tight"` what was asked for. Source: Liu, Wang, Wang, Journal of Software 33(3),
2022; docs/spec/shuffle.md#3.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from ldpsql.boxes import Box, Weight, cardinality
from ldpsql.estimate import Array
from ldpsql.mechanisms.base import Codes, Entropy, Law, Outcome
from ldpsql.mechanisms.cell_query import CellQuery, GroupCells
from ldpsql.mechanisms.channel import enumerate_law
from ldpsql.mechanisms.draws import SPACE, extremes_below, probability_below
from ldpsql.mechanisms.groups import GroupTable
from ldpsql.mechanisms.grr import Grr
from ldpsql.mechanisms.grr import law as grr_law
from ldpsql.mechanisms.levels_estimator import UniformFrequencies
from ldpsql.mechanisms.options import restored_table
from ldpsql.mechanisms.oracles import OracleTable
from ldpsql.recipes.base import Task
from ldpsql.recipes.marginals import (
    CollectedMarginals,
    MarginalOptions,
    MarginalRecipe,
    choose_marginals,
    group_marginals,
    least_other,
    published_local,
)
from ldpsql.report import Pair, ReportFormat
from ldpsql.shuffle import Atom, Blanket, largest_local, merged
from ldpsql_device.epsilon import Epsilon, epsilon_of
from ldpsql_device.errors import SurveyError
from ldpsql_device.guarantee import Central
from ldpsql_device.schema import RecordDomain


@dataclass(frozen=True)
class HotGrr(Grr):
    """Randomized response whose true answer is a person's own only with a chance.

    chance: at most so likely is each of a person's cells to be the true answer.
    """

    chance: Fraction = Fraction(1)

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        """The largest t with w t + (1 - w) (1 - t) most <= odds (1 - t) least, w the chance."""
        return tuple(self._threshold(size) for size in self.sizes)

    def _threshold(self, size: int) -> int:
        if size == 1:
            return SPACE - 1
        least, most = extremes_below(size - 1, size - 1)
        bound = self.epsilon.odds * least - (1 - self.chance) * most
        return int(SPACE * bound / (self.chance + bound))


@dataclass(frozen=True)
class SecretOracles(OracleTable):
    """The one oracle over the cells of all marginals."""

    chance: Fraction = Fraction(1)

    def _make(self, kind: str, budget: Decimal, sizes: tuple[int, ...]) -> HotGrr:
        return HotGrr(Epsilon(budget), sizes, chance=self.chance)

    @cached_property
    def threshold(self) -> int:
        """Words below it mean: answer truthfully."""
        return self._make(self.name, self.epsilon.value, self.sizes).thresholds[0]


@dataclass(frozen=True, kw_only=True)
class SecretEvenly(UniformFrequencies):
    """Everybody spread evenly over the cells of each marginal. chances: of each cell, (K,)."""

    chances: Array

    def at(self, group: int, nodes: Codes, pair: Pair) -> Array:
        """The chance of the marginal over its number of cells."""
        return np.asarray(self.chances[nodes])


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
        return tuple(accumulate(self.table.sizes, initial=0))

    @cached_property
    def chances(self) -> tuple[Fraction, ...]:
        """Exact probability of each marginal."""
        return tuple(Fraction(group.weight, SPACE) for group in self.table.groups)

    @cached_property
    def oracles(self) -> SecretOracles:
        """The one oracle."""
        return SecretOracles("grr", self.epsilon, self.starts[-1:], chance=max(self.chances))

    @cached_property
    def report_format(self) -> ReportFormat:
        """One group, and the number of a cell."""
        return ReportFormat(("group", "y"), np.array([[self.starts[-1]]], dtype=np.int64))

    @property
    def selector_shares(self) -> Array:
        """All reports are of one group: the marginal is not seen."""
        return np.ones(1)

    def _randomize_block(self, codes: Codes, entropy: Entropy) -> list[Codes]:
        drawn = self.table.assign(entropy.words(len(codes)))
        cells = np.array(self.starts)[drawn] + self.table.node(drawn, codes)
        batch = np.zeros(len(codes), dtype=np.int64)
        return [batch, *self.oracles.respond(batch, cells, entropy)]

    def law(self) -> Law:
        """The exact channel over all codes."""
        return enumerate_law(self.domain, self.starts[-1], self._report_law)

    def _report_law(self, record: Outcome) -> dict[Outcome, Fraction]:
        groups = np.arange(len(self.chances))
        codes = np.tile(np.array(record, dtype=np.int64), (len(groups), 1))
        found: dict[Outcome, Fraction] = {}
        cells = np.array(self.starts[:-1]) + self.table.node(groups, codes)
        for chance, cell in zip(self.chances, cells.tolist(), strict=True):
            for answer, share in grr_law(self.oracles.threshold, self.starts[-1], cell):
                row = (0, answer)
                found[row] = found.get(row, Fraction(0)) + chance * share
        return found

    def selector_odds(self) -> Fraction | None:
        """The worst cell's odds between records that hold it and others.

        A lie from a cell of another marginal lands on this one with a probability that only
        depends on whether that marginal's cells come before.
        """
        cells = self.starts[-1]
        if cells == 1:
            return Fraction(1)
        truth = Fraction(self.oracles.threshold, SPACE)
        worst = Fraction(1)
        for number, size in enumerate(self.table.sizes):
            before = sum(self.chances[:number], start=Fraction(0))
            own, after = self.chances[number], 1 - before - self.chances[number]
            for cell in range(self.starts[number], self.starts[number] + size if size > 1 else 0):
                low = probability_below(cell - 1, cells - 1) if cell else Fraction(0)
                high = probability_below(cell, cells - 1) if cell < cells - 1 else Fraction(0)
                others = (1 - truth) * (before * low + after * high)
                lies = [low] if cell > self.starts[number] else []
                lies += [high] if cell < self.starts[number] + size - 1 else []
                holds = own * truth + others
                misses = [own * (1 - truth) * lie + others for lie in lies]
                least, most = min(holds, *misses), max(holds, *misses)
                if least <= 0:
                    return None
                worst = max(worst, most / least)
        return worst

    def direct(
        self, known: float, boxes: Sequence[tuple[float, Box]], weight: Weight | None
    ) -> CellQuery:
        """See `CollectedMarginals.direct`; what the sum to one tells is known without asking."""
        if self.sum_to_one:
            known += sum(share * _part(box, self.domain.sizes) for share, box in boxes)
        return super().direct(known, boxes, weight)

    def group_cells(self, marginal: int, cells: Codes, weights: Array) -> GroupCells:
        """Cells among those of all marginals; each person's is drawn with the marginal's chance."""
        start, size = self.starts[marginal], self.table.sizes[marginal]
        if self.sum_to_one:
            full = np.zeros(size)
            np.add.at(full, cells, weights)
            cells, weights = np.arange(size), full - full.mean()
        return GroupCells(0, start + cells, weights / float(self.chances[marginal]))

    def describe_group(self, number: int) -> str:
        """All marginals at once."""
        return f"{self.starts[-1]} cells of {len(self.chances)} marginals, grr"

    def _evenly(self, people: int) -> SecretEvenly:
        spread = [
            np.full(size, float(chance) / size)
            for size, chance in zip(self.table.sizes, self.chances, strict=True)
        ]
        return SecretEvenly(
            people, np.array([float(people)]), self.table, chances=np.concatenate(spread)
        )

    def blankets(self) -> tuple[Blanket, ...]:
        """Of two people who differ in all attributes: each holds one cell of every marginal.

        Cells that both hold tell less: they leave the mean of the accountant's sum and make it
        narrower. Without rounding of the marginals' chances this is `privacy.shuffle.hot_cells`.
        """
        cells = self.starts[-1]
        if cells == 1:
            return (Blanket(((Fraction(1), Fraction(1), Fraction(1)),)),)
        truth = Fraction(self.oracles.threshold, SPACE)
        least, other = least_other(truth, cells), (1 - truth) / (cells - 1)
        atoms: list[Atom] = []
        rest = cells
        for chance, size in zip(self.chances, self.table.sizes, strict=True):
            hot = other + chance * (truth - other)
            pair = [(least, hot, other), (least, other, hot)]
            atoms += pair if size > 1 else [(least, hot, hot)]
            rest -= min(size, 2)
        if rest:
            atoms.append((rest * least, rest * other, rest * other))
        return (Blanket(merged(atoms)),)

    def to_json(self) -> Mapping[str, Any]:
        """What `restore` needs besides name, domain and epsilon."""
        return {**super().to_json(), "sum_to_one": self.sum_to_one}


def _part(box: Box, sizes: Sequence[int]) -> float:
    """The share of all combinations of codes that lies in a box."""
    part = 1.0
    for side, size in zip(box.sides, sizes, strict=True):
        part *= 1.0 if side is None else cardinality(side) / size
    return part


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
        return replace(first, epsilon=local_budget(task.epsilon, len(first.table.groups)))

    def calibrate(self, task: Task[ArrOptions], central: Central) -> ArrDesign:
        """See `Recipe.calibrate`."""
        first = self._first(task)
        if task.options.calibration == "published":
            answered = published_local(central, central.people, first.starts[-1])
            return replace(first, epsilon=local_budget(answered, len(first.table.groups)))
        best = largest_local(lambda local: replace(first, epsilon=local).blankets(), central)
        return replace(first, epsilon=best)

    def _first(self, task: Task[ArrOptions]) -> ArrDesign:
        marginals = choose_marginals(task.domain, task.options.ways, task.workload)
        table = group_marginals(task.domain, marginals)
        return self._design(task.domain, table, task.epsilon, task.options.sum_to_one)

    def _design(
        self, domain: RecordDomain, table: GroupTable, epsilon: Epsilon, sum_to_one: bool
    ) -> ArrDesign:
        return ArrDesign(self.name, domain, epsilon, table, "grr", sum_to_one)

    def remake(self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]) -> ArrDesign:
        """See `Recipe.remake`."""
        if type(data["sum_to_one"]) is not bool or data["oracle"] != "grr":
            raise SurveyError(f"the design does not fit {self.name}")
        return self._design(domain, restored_table(domain, data), epsilon, data["sum_to_one"])


def local_budget(answered: Epsilon, marginals: int) -> Epsilon:
    """The local epsilon of randomized response with budget `answered` over a secret marginal:
    ln(1 + (e - 1) / d), rounded up. Source: docs/spec/shuffle.md#3.2."""
    return Epsilon(epsilon_of(1 + (answered.odds - 1) / marginals))


ARR_SS = ArrSs()
