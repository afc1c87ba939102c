"""Public. Sees parameters. AHEAD: adaptive grids, refined round by round where people are.

Every round has its own people, who report by a frequency oracle which leaf of the present grid
holds them. After a round the leaves that hold enough people are split, and the next round's
survey is made from that (`Survey.next_round`); the last round's survey answers best. One grid
over one or two dimensions; with more, one per pair, and every person draws a pair (LLE). The grid
that a person sees depends on other people's reports only, so each report is epsilon-LDP.
Estimates are biased, and their error bars leave the bias out. Source: Du, Zhang, Bai, Liu, Ji,
Cheng, Chen, "AHEAD: adaptive hierarchical decomposition for range query under local differential
privacy", CCS 2021; specification h4mda, section 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np

from ldpsql.boxes import LinearQuery
from ldpsql.errors import SurveyError
from ldpsql.estimate import Array
from ldpsql.mechanisms.ahead_estimator import GridEstimator, GridQuery
from ldpsql.mechanisms.base import Codes, Entropy, Estimator, Law, Outcome
from ldpsql.mechanisms.cell_query import known_lines, split_known
from ldpsql.mechanisms.channel import enumerate_law, in_blocks
from ldpsql.mechanisms.draws import below, probability_below
from ldpsql.mechanisms.levels_estimator import ReportedFrequencies
from ldpsql.mechanisms.options import no_measures, one_of, take, whole
from ldpsql.mechanisms.oracles import OracleTable
from ldpsql.mechanisms.partitions import Partition, on_simplex, splitting_threshold
from ldpsql.privacy import Epsilon, Guarantee, local_guarantee
from ldpsql.report import Histogram, ReportFormat, Reports
from ldpsql.schema import RecordDomain
from ldpsql.workload import Workload

ORACLES = ("grr", "olh", "oue", "auto")


@dataclass(frozen=True)
class AheadDesign:
    """One round: the grids so far, and how many people the rounds before had."""

    name: str
    domain: RecordDomain
    epsilon: Epsilon
    oracle: str
    round: int
    partitions: tuple[Partition, ...]
    earlier: int = 0

    @property
    def answers(self) -> Literal["boxes", "nodes"]:
        """Boxes are taken as they are."""
        return "boxes"

    @property
    def rounds(self) -> int:
        """How many rounds there are: one per depth of the grid."""
        return depth_for(self.domain)

    @cached_property
    def axes(self) -> tuple[tuple[int, ...], ...]:
        """The dimensions of each grid."""
        return grids_for(self.domain)

    @cached_property
    def oracles(self) -> OracleTable:
        """The oracle over the leaves of each grid."""
        return OracleTable(self.oracle, self.epsilon, tuple(len(p.leaves) for p in self.partitions))

    @cached_property
    def report_format(self) -> ReportFormat:
        """The grid, then the columns of the oracle."""
        limits = np.array(self.oracles.limits, dtype=np.int64).reshape(len(self.partitions), -1)
        bits = self.oracles.sizes if self.oracle == "oue" else ()
        columns = ("grid", *self.oracles.columns)
        return ReportFormat(columns, limits, unary=self.oracle == "oue", bits=bits)

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon-LDP for the whole private record, for a person who answers one round."""
        made = local_guarantee(self.epsilon)
        note = "a person who answers several rounds loses epsilon in each"
        return replace(made, not_protected=(*made.not_protected, note))

    def randomize(self, codes: Codes, entropy: Entropy) -> Reports:
        """Device. See `Design.randomize`."""
        return in_blocks(self.report_format, codes, entropy, self._randomize_block)

    def _randomize_block(self, codes: Codes, entropy: Entropy) -> list[Codes]:
        grid = below(entropy.words(len(codes)), len(self.partitions))
        leaf = np.zeros(len(codes), dtype=np.int64)
        for number in range(len(self.partitions)):
            leaf = np.where(grid == number, self._leaf(number, codes), leaf)
        return [grid, *self.oracles.respond(grid, leaf, entropy)]

    def _leaf(self, grid: int, codes: Codes) -> Codes:
        """The leaf that holds each person."""
        place = tuple(codes[:, axis] for axis in self.axes[grid])
        return np.asarray(self.partitions[grid].labels[place], dtype=np.int64)

    def law(self) -> Law:
        """The exact channel over all codes."""
        outputs = sum(math.prod(map(int, row)) for row in self.report_format.limits)
        return enumerate_law(self.domain, outputs, self._report_law)

    def _report_law(self, record: Outcome) -> dict[Outcome, Fraction]:
        law: dict[Outcome, Fraction] = {}
        for grid in range(len(self.partitions)):
            chosen = probability_below(grid, len(self.partitions))
            leaf = int(self._leaf(grid, np.array([record]))[0])
            for outcome, chance in self.oracles.law(grid, leaf):
                law[grid, *outcome] = chosen * chance
        return law

    def selector_odds(self) -> Fraction | None:
        """The worst grid's odds: every leaf holds some record, and grids are drawn without looking
        at the record. See `StatesOdds`."""
        return self.oracles.worst_odds()

    def plan(self, query: LinearQuery) -> GridQuery:
        """Its boxes as they are."""
        known, boxes = split_known(query)
        return GridQuery(known, tuple(boxes))

    def describe(self, planned: GridQuery) -> list[str]:
        """For EXPLAIN: how fine the grids are, and what the error bars leave out."""
        lines = known_lines(planned.known)
        if planned.terms:
            leaves = sum(self.oracles.sizes)
            lines.append(f"adaptive grids of {leaves} leaves, round {self.round} of {self.rounds}")
            lines.append("biased: error bars are those of the noise alone")
        return lines

    def estimator(self, histogram: Histogram) -> Estimator:
        """Collector. From this round's reports and what the rounds before have left."""
        measured = self._measured(histogram)
        sizes = [float(size) for size in histogram.sizes]
        return self._on(measured, sizes, float(self.earlier + histogram.people))

    def _measured(self, histogram: Histogram) -> tuple[Partition, ...]:
        """The grids after this round; a grid without reports stays as it was."""
        source = ReportedFrequencies(self.oracles, histogram)
        made = []
        for grid, partition in enumerate(self.partitions):
            if not histogram.sizes[grid]:
                made.append(partition)
                continue
            every = np.arange(len(partition.leaves))
            made.append(partition.measured(on_simplex(source.at(grid, every, (None, None)))))
        return tuple(made)

    def _on(
        self, partitions: tuple[Partition, ...], sizes: Sequence[float], people: float
    ) -> GridEstimator:
        """sizes: people per grid and round."""
        frequencies, variances = [], []
        for grid, partition in enumerate(partitions):
            frequency, rounds = partition.settled()
            with np.errstate(divide="ignore"):
                noise = self.oracles.support(grid).node_variance / (
                    rounds * np.float64(sizes[grid])
                )
            noise[0] = 0.0
            frequencies.append(frequency)
            variances.append(noise)
        return GridEstimator(
            self.axes, partitions, np.concatenate(frequencies), np.concatenate(variances), people
        )

    @property
    def estimators(self) -> Mapping[str, Callable[[Histogram], Estimator]]:
        """By name, the default first."""
        return {"adaptive": self.estimator}

    def variance(self, queries: Sequence[GridQuery], people: int) -> Array:
        """Predicted noise on the present leaves, people spread over all rounds, shape (k,)."""
        measured = tuple(
            partition.measured(np.full(len(partition.leaves), 1.0 / len(partition.leaves)))
            for partition in self.partitions
        )
        share = people / self.rounds / len(self.partitions)
        estimator = self._on(measured, [share] * len(self.partitions), people)
        return np.diagonal(estimator.answer(queries).covariance).copy()

    def following(self, histogram: Histogram) -> AheadDesign:
        """Collector. The next round, from this one's reports; SurveyError after the last."""
        if self.round >= self.rounds:
            raise SurveyError(f"round {self.round} of {self.rounds} was the last one")
        if not histogram.sizes.all():
            raise SurveyError("a grid has no reports yet; ingest this round's reports first")
        odds = float(self.epsilon.odds)
        grown = tuple(
            partition.grown(self.round, splitting_threshold(len(axes), float(size), odds))
            for partition, axes, size in zip(
                self._measured(histogram), self.axes, histogram.sizes, strict=True
            )
        )
        people = self.earlier + histogram.people
        return replace(self, round=self.round + 1, partitions=grown, earlier=people)

    def to_json(self) -> Mapping[str, Any]:
        """What `restore` of the mechanism needs besides domain and epsilon."""
        return {
            "oracle": self.oracle,
            "round": self.round,
            "earlier": self.earlier,
            "grids": [[node.to_json() for node in p.nodes] for p in self.partitions],
        }


class Ahead:
    """COUNT over private dimensions, in rounds."""

    name = "ahead"

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> AheadDesign:
        """The first round: every grid split once."""
        chosen = take(options, {"oracle": "olh"}, self.name)
        one_of("oracle", chosen["oracle"], ORACLES)
        _countable(domain, self.name)
        partitions = tuple(
            Partition.first(tuple(domain.sizes[axis] for axis in axes), depth_for(domain))
            for axes in grids_for(domain)
        )
        return _checked(AheadDesign(self.name, domain, epsilon, chosen["oracle"], 1, partitions))

    def restore(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> AheadDesign:
        """From a survey's JSON."""
        _countable(domain, self.name)
        one_of("oracle", data["oracle"], ORACLES)
        depth = depth_for(domain)
        partitions = tuple(
            Partition.from_json(tuple(domain.sizes[axis] for axis in axes), depth, nodes)
            for axes, nodes in zip(grids_for(domain), data["grids"], strict=True)
        )
        number, earlier = whole(data["round"]), whole(data["earlier"])
        if not 1 <= number <= depth or earlier < 0:
            raise SurveyError(f"a round is one of 1 to {depth}")
        return _checked(
            AheadDesign(self.name, domain, epsilon, data["oracle"], number, partitions, earlier)
        )


def depth_for(domain: RecordDomain) -> int:
    """Halvings until every axis is down to single codes; at least one."""
    return max(1, (max(domain.sizes) - 1).bit_length())


def grids_for(domain: RecordDomain) -> tuple[tuple[int, ...], ...]:
    """One grid over up to two dimensions, else one per pair."""
    dimensions = range(len(domain.sizes))
    if len(dimensions) <= 2:
        return (tuple(dimensions),)
    return tuple(combinations(dimensions, 2))


def _countable(domain: RecordDomain, name: str) -> None:
    no_measures(domain, name)
    if not domain.sizes:
        raise SurveyError(f"{name} needs a dimension")


def _checked(design: AheadDesign) -> AheadDesign:
    """The design, once its oracles have said that they can serve its grids."""
    design.oracles.limits  # noqa: B018  SurveyError at birth rather than at the first report
    return design
