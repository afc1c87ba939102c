"""AHEAD: adaptive grids, refined round by round where people are.

Every round has its own people, who report by a frequency oracle which leaf of the present grid
holds them; the leaves that hold enough people are split for the next round (`Survey.next_round`).
One grid over one or two dimensions; with more, one per pair, and every person draws a pair (LLE).
The grid that a person sees depends on other people's reports only, so each report is epsilon-LDP.
Source: Du, Zhang, Bai, Liu, Ji, Cheng, Chen, CCS 2021; docs/spec/h4mda.md#6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np

from ldpsql.algebra.boxes import LinearQuery
from ldpsql.algebra.estimate import Array
from ldpsql.algebra.numerics import project_on_simplex
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.base import Bias, Design, Estimators
from ldpsql.estimators.cells import make_flat_terms
from ldpsql.estimators.linear import ReportedSource, describe_known, split_known
from ldpsql.estimators.nodes import answers_of
from ldpsql.mechanisms.base import Recipe, Takes, Task, read_options
from ldpsql.mechanisms.oracles import LARGEST, ask, choose_oracle, make_oracle, odds_words
from ldpsql.mechanisms.rounds import Rounds
from ldpsql.reports.report import Histogram
from ldpsql.wording.guarantees import StatedGuarantee, local_guarantee
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import Digit, Face, Plan
from ldpsql_lab.mechanisms.adaptive_grids import GridEstimator, GridQuery, MeasuredGrid, Partition

_BIAS = (
    "frequencies are made non-negative and leaves that were not split are spread evenly; the "
    "errors hold noise, sampling and what the grid lets expect of this bias"
)


@dataclass(frozen=True)
class AheadDesign(Design[GridQuery], Rounds):
    """One round: the grids so far, with the people of the rounds before."""

    name: str
    domain: RecordDomain
    epsilon: Epsilon
    oracle: str
    partitions: tuple[Partition, ...]

    def __post_init__(self) -> None:
        self.plan  # noqa: B018  SurveyError at birth for leaves that the oracle cannot serve

    @property
    def round(self) -> int:
        """Number of this round, from 1."""
        return len(self.partitions[0].people) + 1

    @property
    def earlier(self) -> int:
        """People who answered the rounds before."""
        return int(sum(sum(partition.people) for partition in self.partitions))

    @property
    def rounds(self) -> int:
        """How many rounds there are: one per depth of the grid."""
        return depth_for(self.domain)

    @property
    def axes(self) -> tuple[tuple[int, ...], ...]:
        """The dimensions of each grid."""
        return choose_grids(self.domain)

    @cached_property
    def plan(self) -> Plan:
        """A question per grid, all equally likely: which of its leaves holds the codes."""
        faces, tables = [], []
        for grid, (axes, partition) in enumerate(zip(self.axes, self.partitions, strict=True)):
            width, labels = partition.coarse_labels
            leaves = len(partition.leaves)
            digit = Digit(make_flat_terms(axes, labels.shape, width), leaves, table=grid)
            kind = choose_oracle(self.oracle, leaves, self.epsilon)
            part, coins = ask(kind, digit, [leaves], self.epsilon)
            faces.append(Face(1, (part,), (), coins))
            tables.append(tuple(labels.ravel().tolist()))
        return Plan(self.domain.sizes, (odds_words(self.epsilon),), tuple(faces), tuple(tables))

    @property
    def guarantee(self) -> StatedGuarantee:
        """Epsilon-LDP for the whole private record, for a person who answers one round."""
        plain = local_guarantee(self.epsilon)
        note = "a person who answers several rounds loses epsilon in each"
        return replace(plain, not_protected=(*plain.not_protected, note))

    def prepare(self, query: LinearQuery) -> GridQuery:
        """Its boxes as they are."""
        known, boxes = split_known(query)
        return GridQuery(known, tuple(boxes))

    def describe(self, planned: GridQuery) -> list[str]:
        """For EXPLAIN: how fine the grids are, and what the errors leave out."""
        lines = describe_known(planned.known)
        if planned.terms:
            leaves = sum(len(partition.leaves) for partition in self.partitions)
            lines.append(f"adaptive grids of {leaves} leaves, round {self.round} of {self.rounds}")
            lines.append(f"biased: {_BIAS}")
        return lines

    @property
    def estimators(self) -> Estimators[GridQuery]:
        """From this round's reports and what the rounds before have left."""

        def adapt(histogram: Histogram) -> GridEstimator:
            people = float(self.earlier + histogram.people)
            shares = self._estimate(histogram)
            return self._answer_from(self._measure(histogram, shares), people, shares)

        return {"adaptive": adapt}

    def _estimate(self, histogram: Histogram) -> tuple[Array, ...]:
        """The shares of the leaves of every grid by this round alone; 0 where nobody was asked."""
        source = ReportedSource(histogram, answers_of(self.plan))
        estimated = []
        for grid, partition in enumerate(self.partitions):
            shares = np.zeros(len(partition.leaves))
            if histogram.sizes[grid]:
                every = np.arange(len(shares))
                shares = project_on_simplex(source.at(grid, every, (None, None)))
            estimated.append(shares)
        return tuple(estimated)

    def _measure(self, histogram: Histogram, estimated: Sequence[Array]) -> tuple[Partition, ...]:
        """The grids after this round."""
        parts = zip(self.partitions, estimated, histogram.sizes.tolist(), strict=True)
        return tuple(partition.measure(shares, people) for partition, shares, people in parts)

    def _answer_from(
        self, partitions: tuple[Partition, ...], people: float, shares: Sequence[Array]
    ) -> GridEstimator:
        """Answers about `people` people from measured grids, with the noise that the oracle had on
        the leaves of each round; shares: of the leaves, by the last round alone."""

        def noise(leaves: int) -> float:
            kind = choose_oracle(self.oracle, leaves, self.epsilon)
            return make_oracle(kind, leaves, self.epsilon).moments.node_variance

        grids = (MeasuredGrid(p, [noise(n) for n in p.leaf_counts]) for p in partitions)
        return GridEstimator(self.axes, tuple(grids), people, answers_of(self.plan), shares)

    @property
    def biases(self) -> Mapping[str, Bias]:
        """That of the grids, which errors hold."""
        return {"adaptive": Bias(_BIAS)}

    @property
    def remarks(self) -> tuple[str, ...]:
        """Whether bits for every leaf may end a survey before its last round."""
        codes, most = max(math.prod(p.sizes) for p in self.partitions), LARGEST["oue"]
        if self.oracle != "oue" or codes <= most:
            return ()
        return (
            f"OUE sends a bit for each leaf of a grid, at most {most}; one of {codes} "
            "codes may come to need more, and its next round cannot be asked then (oracle = "
            '"olh" has no such limit)',
        )

    def variance(self, queries: Sequence[GridQuery], people: int) -> Array:
        """Predicted variance on the present leaves, records spread evenly, shape (k,).

        people: of all rounds. Those of earlier rounds are as they were, the others are spread
        evenly over this round and those that follow.
        """
        answers = self._spread_evenly(people).answer(queries)
        return np.diagonal(answers.covariance).copy()

    def influence(self, queries: Sequence[GridQuery], slopes: Array, people: int) -> Array:
        """The extremes over reports of this round; people as in `variance`."""
        return self._spread_evenly(people).influence(queries, slopes)

    def _spread_evenly(self, people: int) -> GridEstimator:
        left = max(people - self.earlier, 0) / (self.rounds - self.round + 1)
        spread = tuple(p.spread_evenly(left / len(self.partitions)) for p in self.partitions)
        shares = [p.codes[p.leaves] / math.prod(p.sizes) for p in self.partitions]
        return self._answer_from(spread, people, shares)

    def design_next(self, histogram: Histogram) -> AheadDesign:
        """The next round, from this one's reports; SurveyError after the last."""
        if self.round >= self.rounds:
            raise SurveyError(
                f"round {self.round} of {self.rounds} was the last one: ask its store, which "
                "answers for the people of all rounds"
            )
        if not histogram.sizes.all():
            raise SurveyError("a grid has no reports yet; ingest this round's reports first")
        odds, grown = float(self.epsilon.odds), []
        measured = self._measure(histogram, self._estimate(histogram))
        for partition, size in zip(measured, histogram.sizes, strict=True):
            threshold = splitting_threshold(len(partition.sizes), float(size), odds)
            grown.append(partition.grow(self.round, threshold))
        return replace(self, partitions=tuple(grown))

    def to_json(self) -> Mapping[str, Any]:
        """The oracle and the grids; domain and epsilon are written elsewhere."""
        grids = [partition.to_json() for partition in self.partitions]
        return {"oracle": self.oracle, "grids": grids}


@dataclass(frozen=True)
class AheadOptions:
    """oracle: the frequency oracle of every round."""

    oracle: Literal["grr", "olh", "oue", "auto"] = "olh"


class Ahead(Recipe[AheadOptions]):
    """COUNT over private dimensions, in rounds."""

    name = "ahead"
    takes = Takes((1, None), measures=False)
    options = AheadOptions
    estimator_names = ("adaptive",)

    def make(self, task: Task[AheadOptions]) -> AheadDesign:
        """The first round: every grid split once."""
        shapes, depth = find_shapes(task.domain), depth_for(task.domain)
        partitions = tuple(Partition.first(sizes, depth) for sizes in shapes)
        return AheadDesign(self.name, task.domain, task.epsilon, task.options.oracle, partitions)

    def remake(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> AheadDesign:
        """The round that was written down; SurveyError where its grids do not fit."""
        oracle = read_options(AheadOptions, {"oracle": data["oracle"]}, self.name).oracle
        depth, pairs = depth_for(domain), zip(find_shapes(domain), data["grids"], strict=True)
        partitions = tuple(Partition.from_json(sizes, depth, grid) for sizes, grid in pairs)
        numbers = {len(partition.people) for partition in partitions}
        if len(numbers) != 1 or not max(numbers) < depth:
            raise SurveyError(
                f"the round must lie between 1 and {depth}, and be the same for every grid"
            )
        return AheadDesign(self.name, domain, epsilon, oracle, partitions)


def depth_for(domain: RecordDomain) -> int:
    """Halvings until every axis is down to single codes; at least one."""
    return max(1, (max(domain.sizes) - 1).bit_length())


def choose_grids(domain: RecordDomain) -> tuple[tuple[int, ...], ...]:
    """One grid over up to two dimensions, else one per pair."""
    dimensions = range(len(domain.sizes))
    return tuple(combinations(dimensions, min(len(dimensions), 2)))


def find_shapes(domain: RecordDomain) -> list[tuple[int, ...]]:
    """The codes of each grid's axes."""
    return [tuple(domain.sizes[axis] for axis in axes) for axes in choose_grids(domain)]


def splitting_threshold(axes: int, people: float, odds: float) -> float:
    """Share of people from which a node is worth splitting into 2^axes; see AHEAD, section 4."""
    noise = 4.0 * odds / (odds - 1.0) ** 2 / people
    return math.sqrt((2.0**axes + 1.0) * noise)


AHEAD = Ahead()
