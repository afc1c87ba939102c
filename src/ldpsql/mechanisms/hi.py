"""Public. Sees parameters. HI: every user answers every level, with a part of the budget each.

The report has one answer per level combination but that of all roots, which is known, each by a
frequency oracle at its own part of epsilon (`split_budgets`); together they are epsilon-LDP by
composition. Nobody is assigned anything, so there is no sampling noise, but the noise of the
answers grows with the square of the number of parts. With measures, each user draws one of them
and answers all of its frame (see `ehio`). Answers to a query come from the nodes that cover it, or
by least squares over all levels (`consistent`). Source: Wang, Ding,
Zhou, Hong, Huang, Li, Jha, SIGMOD 2019; specification h4mda, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np

from ldpsql.boxes import LinearQuery
from ldpsql.estimate import Array
from ldpsql.mechanisms.allocation import Allocation, DirectAllocation
from ldpsql.mechanisms.base import Codes, Entropy, Estimator, Law, Outcome
from ldpsql.mechanisms.cell_query import CellQuery
from ldpsql.mechanisms.channel import enumerate_law, in_blocks
from ldpsql.mechanisms.consistent import (
    ConsistentEstimator,
    DetailQuery,
    described,
    detailed,
    refuse_unfit,
)
from ldpsql.mechanisms.draws import below, probability_below
from ldpsql.mechanisms.ehio import signed_combinations
from ldpsql.mechanisms.energies import workload_energies
from ldpsql.mechanisms.groups import GroupTable, evenly_by_frame
from ldpsql.mechanisms.levels_estimator import Frequencies, UniformFrequencies
from ldpsql.mechanisms.nodes import NodeDesign
from ldpsql.mechanisms.options import (
    ALLOCATIONS,
    GRR_OPTIONS,
    INFERENCES,
    checked,
    one_of,
    restored_table,
    take,
    trees_for,
)
from ldpsql.mechanisms.oracles import OracleTable
from ldpsql.mechanisms.split_budgets import (
    BestSplit,
    Criterion,
    even_budgets,
    refuse_overspending,
)
from ldpsql.mechanisms.split_estimator import SplitEstimator, SplitFrequencies
from ldpsql.recipes.base import NoOptions, Recipe
from ldpsql.report import Histogram, ReportFormat, Reports
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.guarantee import Guarantee, local_guarantee
from ldpsql_device.schema import RecordDomain

LARGEST_PARTS, LARGEST_RECORDS = 64, 1 << 16
ORACLES = ("auto", "grr", "olh", "hrr")


@dataclass(frozen=True)
class HiDesign(NodeDesign):
    """All levels of one frame per report."""

    oracle: str
    budgets: tuple[Epsilon, ...]

    def __post_init__(self) -> None:
        refuse_overspending(self.epsilon, self.members, self.budgets)
        if self.parts > LARGEST_PARTS:
            raise SurveyError(
                f"{self.name} asks for {self.parts} level combinations in every report, more than "
                f"{LARGEST_PARTS}; use a larger fanout, or a mechanism that asks for one"
            )
        records = math.prod(self.domain.sizes) * (2 if self.domain.bounds else 1)
        if records > LARGEST_RECORDS:
            raise SurveyError(
                f"{self.name} is for up to {LARGEST_RECORDS} combinations of codes and signs, not "
                f"{records}; use coarser bins, or a mechanism that asks for one level combination"
            )
        if any(max(self.table.sizes[group] for group in own) != records for own in self.members):
            raise SurveyError(f"{self.name} asks everybody for single records among other levels")

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """The groups that the users of each frame answer."""
        return members_of(self.table)

    @cached_property
    def parts(self) -> int:
        """How many answers a report has at most."""
        return max(map(len, self.members))

    @cached_property
    def oracles(self) -> OracleTable:
        """The oracle of every level, at its part of the budget."""
        return OracleTable(self.oracle, self.epsilon, self.table.sizes, self.budgets)

    @cached_property
    def report_format(self) -> ReportFormat:
        """The frame, then the columns of the oracle for every level of it."""
        names = self.oracles.columns
        columns = [f"{name}{place}" for place in range(self.parts) for name in names]
        limits = [
            [limit for group in groups for limit in self.oracles.limits[group]]
            + [1] * (self.parts - len(groups)) * len(names)
            for groups in self.members
        ]
        return ReportFormat(("frame", *columns), np.array(limits, dtype=np.int64))

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon-LDP for the whole private record, by composition over the levels."""
        return local_guarantee(self.epsilon)

    def randomize(self, codes: Codes, entropy: Entropy) -> Reports:
        """Device. See `Design.randomize`."""
        return in_blocks(self.report_format, codes, entropy, self._randomize_block)

    def _randomize_block(self, codes: Codes, entropy: Entropy) -> list[Codes]:
        frame = below(entropy.words(len(codes)), len(self.members))
        width = len(self.oracles.columns)
        columns = np.zeros((self.parts * width, len(codes)), dtype=np.int64)
        for number, groups in enumerate(self.members):
            chosen = np.flatnonzero(frame == number)
            for place, group in enumerate(groups):
                asked = np.full(len(chosen), group, dtype=np.int64)
                nodes = self.table.node(asked, codes[chosen])
                answers = self.oracles.respond(asked, nodes, entropy)
                columns[place * width : (place + 1) * width, chosen] = np.stack(answers)
        return [frame, *columns]

    def law(self) -> Law:
        """The exact channel over all codes and signs."""
        outputs = sum(math.prod(map(int, row)) for row in self.report_format.limits)
        return enumerate_law(self.domain, outputs, self._report_law)

    @property
    def selector_shares(self) -> Array:
        """Of the frames, which are drawn evenly. See `Design`."""
        return np.full(len(self.members), 1.0 / len(self.members))

    def selector_odds(self) -> Fraction | None:
        """The worst frame's odds: the product over its levels, which two records that share no
        node but the root attain."""
        worst = Fraction(1)
        for groups in self.members:
            product_of_levels = Fraction(1)
            for group in groups:
                odds = self.oracles.odds(group)
                if odds is None:
                    return None
                product_of_levels *= odds
            worst = max(worst, product_of_levels)
        return worst

    def _report_law(self, record: Outcome) -> dict[Outcome, Fraction]:
        law: dict[Outcome, Fraction] = {}
        for frame, groups in enumerate(self.members):
            asked = np.array(groups)
            nodes = self.table.node(asked, np.tile(np.array(record), (len(groups), 1)))
            parts = [self._level_law(g, int(node)) for g, node in zip(groups, nodes, strict=True)]
            filler = (0,) * (self.parts - len(groups)) * len(self.oracles.columns)
            for answers in product(*(part.items() for part in parts)):
                row = (frame, *(value for outcome, _ in answers for value in outcome), *filler)
                chance = math.prod(
                    (share for _, share in answers),
                    start=probability_below(frame, len(self.members)),
                )
                law[row] = law.get(row, Fraction(0)) + chance
        return law

    def _level_law(self, group: int, node: int) -> dict[Outcome, Fraction]:
        return dict(self.oracles.law(group, node))

    def _nodes_of(self, number: int) -> str:
        part = self.budgets[number]
        return f"{self.table.sizes[number]} nodes, {self.oracles.kind(number)} at {float(part):.3g}"

    def estimator(self, histogram: Histogram) -> Estimator:
        """Collector. Unbiased, by actual frame sizes."""
        return self._split(SplitFrequencies.of(self.oracles, self.members, histogram))

    def _split(self, frequencies: Frequencies) -> SplitEstimator:
        return SplitEstimator(self.table, self.oracles, frequencies, self.domain)

    @property
    def estimators(self) -> Mapping[str, Callable[[Histogram], Estimator]]:
        """By name, the default first."""
        return {"unbiased": self.estimator}

    def variance(self, queries: Sequence[CellQuery], people: int) -> Array:
        """Predicted variance if records are spread evenly over all cells, shape (k,)."""
        answer = self._split(self._evenly(people)).answer(queries)
        return np.diagonal(answer.covariance).copy()

    def _evenly(self, people: int) -> UniformFrequencies:
        sizes = np.full(len(self.table.groups), people / len(self.members))
        return UniformFrequencies(people, sizes, self.table)

    def to_json(self) -> Mapping[str, Any]:
        """What `restore` of the mechanism needs besides domain and epsilon."""
        return {
            **self._fanouts(),
            "oracle": self.oracle,
            "groups": [group.to_json() for group in self.table.groups],
            "budgets": [str(budget) for budget in self.budgets],
        }


@dataclass(frozen=True)
class ConsistentHiDesign(HiDesign):
    """HI whose estimator is least squares over all levels."""

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_unfit(self.table, self.oracles)

    def prepare(self, query: LinearQuery) -> DetailQuery:  # type: ignore[override]
        """The details of every box that is not the whole."""
        return detailed(query, self.domain, self.table)

    def describe(self, planned: DetailQuery) -> list[str]:  # type: ignore[override]
        """For EXPLAIN: all levels take part."""
        return described(planned, self.table)

    def estimator(self, histogram: Histogram) -> ConsistentEstimator:  # type: ignore[override]
        """Collector. Weights by the parts of the budget and actual frame sizes."""
        frequencies = SplitFrequencies.of(self.oracles, self.members, histogram)
        return ConsistentEstimator(self.table, self._split(frequencies))

    def variance(self, queries: Sequence[DetailQuery], people: int) -> Array:  # type: ignore[override]
        """Predicted variance if records are spread evenly over all cells, shape (k,)."""
        estimator = ConsistentEstimator(self.table, self._split(self._evenly(people)))
        return np.diagonal(estimator.answer(queries).covariance).copy()

    def to_json(self) -> Mapping[str, Any]:
        """As HI, with its inference."""
        return {**super().to_json(), "inference": "consistent"}


MAKERS: Mapping[str, type[HiDesign]] = {"direct": HiDesign, "consistent": ConsistentHiDesign}


class Hi(Recipe[NoOptions]):
    """COUNT, and SUM and AVG of private measures."""

    name = "hi"

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> HiDesign:
        """All level combinations below the roots, per measure."""
        chosen = take(options, {**GRR_OPTIONS, "oracle": "auto"}, self.name)
        one_of("oracle", chosen["oracle"], ORACLES)
        one_of("inference", chosen["inference"], INFERENCES)
        one_of("allocation", chosen["allocation"], ALLOCATIONS)
        trees = trees_for(domain, chosen)
        groups = evenly_by_frame(signed_combinations(domain, trees, root=False))
        table = GroupTable(trees, groups)
        even = even_budgets(self.name, epsilon, members_of(table))
        make = partial(MAKERS[chosen["inference"]], self.name, domain, epsilon, table)
        design = make(chosen["oracle"], even)
        if chosen["allocation"] == "optimal":
            asked = workload or Workload.everyday(domain)
            split = _best_split(design, asked, consistent=chosen["inference"] == "consistent")
            design = make(chosen["oracle"], split.budgets())
        return checked(design)

    def restore(self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]) -> HiDesign:
        """From a survey's JSON."""
        one_of("oracle", data["oracle"], ORACLES)
        maker = MAKERS[data.get("inference", "direct")]
        table, budgets = restored_table(domain, data), tuple(map(Epsilon.parse, data["budgets"]))
        return checked(maker(self.name, domain, epsilon, table, data["oracle"], budgets))


def members_of(table: GroupTable) -> tuple[tuple[int, ...], ...]:
    """The groups of each frame."""
    return tuple(
        tuple(n for n, group in enumerate(table.groups) if group.frame == frame)
        for frame in table.frames
    )


def _best_split(design: HiDesign, workload: Workload, *, consistent: bool) -> BestSplit:
    """For a workload and an inference; the criterion is that of users shared among groups."""
    criterion: Criterion
    if consistent:
        energies = workload_energies(workload, design.table.trees)
        criterion = Allocation(design.table, design.oracles, energies)
    else:
        criterion = DirectAllocation(design.table, design.oracles, workload)
    return BestSplit(design.oracles, design.members, criterion, consistent)
