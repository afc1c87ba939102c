"""Public. Sees parameters. HI: every user answers every level, with a part of the budget each.

The report has one answer per level of the tree (the root is known), each by a frequency oracle at
epsilon / levels; together they are epsilon-LDP by composition. Nobody is assigned anything, so
there is no sampling noise, but the noise of the answers grows with the square of the number of
levels. With measures, each user draws one of them and answers every level of its frame (see
`ehio`); all frames split the budget into as many parts as the longest one. Source: Wang, Ding,
Zhou, Hong, Huang, Li, Jha, SIGMOD 2019; specification h4mda, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from ldpsql.errors import SurveyError
from ldpsql.estimate import Array
from ldpsql.mechanisms.base import Codes, Entropy, Estimator, Law, Outcome
from ldpsql.mechanisms.cell_query import CellQuery
from ldpsql.mechanisms.channel import enumerate_law, in_blocks
from ldpsql.mechanisms.draws import below, probability_below
from ldpsql.mechanisms.ehio import signed_combinations
from ldpsql.mechanisms.groups import GroupTable, evenly_by_frame
from ldpsql.mechanisms.levels_estimator import UniformFrequencies
from ldpsql.mechanisms.nodes import NodeDesign
from ldpsql.mechanisms.options import (
    DEFAULT_FANOUT,
    checked,
    one_dimension,
    one_of,
    restored_table,
    take,
    trees_for,
)
from ldpsql.mechanisms.oracles import OracleTable
from ldpsql.mechanisms.split_estimator import SplitEstimator, SplitFrequencies
from ldpsql.privacy import LARGEST_PRECISION, SMALLEST_EPSILON, Epsilon, Guarantee, local_guarantee
from ldpsql.report import Histogram, ReportFormat, Reports
from ldpsql.schema import RecordDomain
from ldpsql.workload import Workload

ORACLES = ("auto", "grr", "olh", "hrr")


@dataclass(frozen=True)
class HiDesign(NodeDesign):
    """All levels of one frame per report."""

    oracle: str

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """The groups that the users of each frame answer."""
        groups = self.table.groups
        return tuple(
            tuple(n for n, group in enumerate(groups) if group.frame == frame)
            for frame in self.table.frames
        )

    @cached_property
    def parts(self) -> int:
        """Into how many parts the budget is split."""
        return max(map(len, self.members))

    @cached_property
    def oracles(self) -> OracleTable:
        """The oracle of every level, at its part of the budget, rounded down."""
        divide = Context(prec=LARGEST_PRECISION, rounding=ROUND_FLOOR).divide
        part = divide(self.epsilon.value, self.parts)
        if part < SMALLEST_EPSILON:
            raise SurveyError(
                f"{self.name} splits epsilon {self.epsilon} over {self.parts} levels, and each "
                f"part must be at least {SMALLEST_EPSILON}; take a larger epsilon or fan-out, or "
                "a mechanism that does not split it"
            )
        return OracleTable(self.oracle, Epsilon(part), self.table.sizes)

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
        part = self.oracles.epsilon
        return f"{self.table.sizes[number]} nodes, {self.oracles.kind(number)} at {float(part):.3g}"

    def estimator(self, histogram: Histogram) -> Estimator:
        """Collector. Unbiased, by actual frame sizes."""
        frequencies = SplitFrequencies.of(self.oracles, self.members, histogram)
        return SplitEstimator(self.table, self.oracles, frequencies, self.domain)

    @property
    def estimators(self) -> Mapping[str, Callable[[Histogram], Estimator]]:
        """By name, the default first."""
        return {"unbiased": self.estimator}

    def variance(self, queries: Sequence[CellQuery], people: int) -> Array:
        """Predicted variance if records are spread evenly over all cells, shape (k,)."""
        sizes = np.full(len(self.table.groups), people / len(self.members))
        evenly = UniformFrequencies(people, sizes, self.table.sizes)
        estimator = SplitEstimator(self.table, self.oracles, evenly, self.domain)
        return np.diagonal(estimator.answer(queries).covariance).copy()

    def to_json(self) -> Mapping[str, Any]:
        """What `restore` of the mechanism needs besides domain and epsilon."""
        return {
            **self._fanouts(),
            "oracle": self.oracle,
            "groups": [group.to_json() for group in self.table.groups],
        }


class Hi:
    """COUNT, and SUM and AVG of private measures, over one dimension."""

    name = "hi"

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> HiDesign:
        """All levels below the root, per measure."""
        chosen = take(options, {"fanout": DEFAULT_FANOUT, "oracle": "auto"}, self.name)
        one_of("oracle", chosen["oracle"], ORACLES)
        one_dimension(domain, self.name)
        trees = trees_for(domain, chosen["fanout"])
        groups = evenly_by_frame(signed_combinations(domain, trees, root=False))
        return checked(
            HiDesign(self.name, domain, epsilon, GroupTable(trees, groups), chosen["oracle"])
        )

    def restore(self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]) -> HiDesign:
        """From a survey's JSON."""
        one_dimension(domain, self.name)
        one_of("oracle", data["oracle"], ORACLES)
        table = restored_table(domain, data)
        return checked(HiDesign(self.name, domain, epsilon, table, data["oracle"]))
