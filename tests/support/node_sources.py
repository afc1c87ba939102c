"""Node frequencies without a histogram: as written down, or those of the specification's data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from ldpsql.estimators.groups import GroupTable
from ldpsql.estimators.linear import GroupAnswer, Moments, Source
from ldpsql.estimators.nodes import GroupDesign
from ldpsql.estimators.oracles import Grr
from ldpsql.mechanisms.oracles import choose_oracle, odds_words
from ldpsql.reports.report import question_shares
from ldpsql_device.epsilon import Epsilon

N = 100_000
INDEX = np.arange(N)
X1 = np.minimum(INDEX % 125, (INDEX // 125) % 125)
X2 = np.maximum(3 * INDEX % 125, (INDEX // 125) % 125)
"""The data of docs/spec/h4mda.md#13."""


class KnownAnswer(GroupAnswer):
    """Moments as written down; there are no reports."""

    def estimate(self, *reports: Any) -> np.ndarray:
        raise NotImplementedError

    def extremes(self, *queries: Any) -> np.ndarray:
        raise NotImplementedError


def known_answers(moments: Sequence[Moments]) -> list[KnownAnswer]:
    """One per group; how many nodes it has is not looked at."""
    return [KnownAnswer(group, 0, own) for group, own in enumerate(moments)]


class PlainSource:
    """People who all weigh 1."""

    count: float
    shape = ()
    weigh, weigh_products = Source.weigh, Source.weigh_products

    @property
    def people(self) -> float:
        return self.count

    def total(self, weight: Any) -> float:
        return self.count

    def mean(self, group: int, pair: Any) -> float:
        return 1.0

    def pseudo_count(self, group: int, pair: Any) -> float:
        return 0.0


@dataclass(frozen=True)
class GivenNodes(PlainSource):
    """Group sizes, node frequencies, and moments as written down."""

    sizes: Sequence[float]
    values: Sequence[np.ndarray]
    given: Sequence[Moments]
    count: float = 1.0

    def size(self, group: int) -> float:
        return self.sizes[group]

    @property
    def answers(self) -> list[KnownAnswer]:
        return known_answers(self.given)

    def at(self, group: int, nodes: np.ndarray, pair: Any) -> np.ndarray:
        return self.values[group][nodes]


@dataclass(frozen=True)
class TrueNodes(PlainSource):
    """Frequencies of the specification's data, in groups of expected size.

    part: of all people who are asked at all.
    """

    design: GroupDesign
    count: float = float(N)
    part: float = 1.0

    def size(self, group: int) -> float:
        shares = question_shares(self.design.plan)
        return float(N * self.part * shares[self.design.answers[group].question])

    @property
    def answers(self) -> Sequence[GroupAnswer]:
        return self.design.answers

    def at(self, group: int, nodes: np.ndarray, pair: Any) -> np.ndarray:
        table = self.design.table
        return true_nodes(table, group, self.design.domain.measured)[nodes]


@cache
def true_nodes(table: GroupTable, group: int, measured: tuple[int | None, ...]) -> np.ndarray:
    """The part of the people at every node; signs by their expectation."""
    sign, size = table.groups[group].sign, table.sizes[group]
    codes = np.stack([X1, X2], axis=1)[:, : len(table.trees)]
    if sign is None:
        return np.bincount(table.node(group, codes), minlength=size) / N
    fraction = (X1, X2)[measured[sign] or 0] / 124
    counted = np.zeros(size)
    for bit, share in ((0, 1 - fraction), (1, fraction)):
        private = np.hstack([codes, np.full((N, len(measured)), bit)])
        counted += np.bincount(table.node(group, private), share, minlength=size)
    return counted / N


def moments_of(design: GroupDesign) -> list[Moments]:
    """Those of every group of a design."""
    return [answer.oracle.moments for answer in design.answers]


def ideal_moments(oracle: str, epsilon: Epsilon, sizes: Sequence[int]) -> list[Moments]:
    """OLH with an ideal hash, as the specification's numbers assume; GRR as it is."""
    found = []
    for size in sizes:
        if choose_oracle(oracle, size, epsilon) == "grr":
            found.append(Grr.of(size, odds_words(epsilon)).moments)
            continue
        e = float(epsilon.odds)
        values = math.floor(e + 1.5)
        p = e / (e + values - 1)
        found.append(Grr(size, p, 1 / values, p / values, 1 / values**2).moments)
    return found


@dataclass(frozen=True)
class NodeVariance(Moments):
    """A contrast counts as much as a node that nobody is at."""

    def contrast_variance(self, nodes: int) -> float:
        return self.node_variance


def counted_by_node(moments: Sequence[Moments]) -> list[Moments]:
    """The same, with the variance of a node for that of a contrast."""
    return [NodeVariance(m.same, m.every, m.cross, m.own) for m in moments]


UNIT = Moments(1.0)
"""A contrast has variance 1, as in the specification's tables without an oracle."""


def of_sub_survey(planned: Any, number: int | None) -> Any:
    """A planned query that one sub-survey answers; all of them where None."""
    if number is None:
        return planned
    return replace(planned, alternatives=(planned.alternatives[number],))
