"""HaarHRR: one Haar coefficient per user, by Hadamard response; over one dimension.

A user is assigned one level at random, where exactly one coefficient is not zero, +1 or -1; the
report is a uniform row j of the Hadamard matrix over the level's coefficients and the entry there,
times the sign, flipped with probability 1/(1 + e). As coefficients are independent and agree with
each other, consistent inference is the direct one.

Over P = 2^h >= m padded codes, level l = 1..h has P / 2^l coefficients, one per node of 2^l codes:
the share of people in its left half minus that in its right half. A query is its mean over all
codes plus its own coefficients times the estimated ones. A report of a level says r chi_j(k) s with
r = (e + 1)/(e - 1), row j, own node k and sign s: an unbiased estimate of every coefficient of the
level. As the row j is uniform and says nothing about the record, E[Y Y'] = r^2 sum over k of
a_k a'_k for queries with coefficients a and a', exactly and for any data. The sign of a measure is
one more bit above the codes. Source: Cormode, Kulkarni, Srivastava, VLDB 2019;
docs/spec/h4mda.md#4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from ldpsql.algebra.boxes import LinearQuery
from ldpsql.algebra.numerics import Array
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import Workload
from ldpsql.estimators.base import AnyDesign, Codes
from ldpsql.estimators.groups import round_shares, whole
from ldpsql.estimators.linear import (
    CellQuery,
    GroupAnswer,
    GroupCells,
    Moments,
    describe_known,
    split_known,
)
from ldpsql.estimators.linear_design import LinearDesign
from ldpsql.estimators.oracles import hadamard, power_from, transform
from ldpsql.estimators.trees import Tree
from ldpsql.mechanisms.base import AnyOptions, Recipe, Task
from ldpsql.mechanisms.hierarchical.allocation import share_by_roots, workload_energies
from ldpsql.mechanisms.hierarchical.recipe import ONE_DIMENSION
from ldpsql.mechanisms.oracles import LARGEST, odds_words
from ldpsql.reports.report import Pair, Rows
from ldpsql.reports.survey_file import vary
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import (
    WORDS,
    Arcs,
    Digit,
    Face,
    Parity,
    Part,
    Plan,
    Step,
    Term,
    subset_words,
)


@dataclass(frozen=True)
class HaarLayout:
    """The levels of Haar coefficients over the codes of one dimension and the signs of measures.

    Questions are numbered sub-survey by sub-survey (one per measure), level by level from 1.
    """

    domain: RecordDomain

    @cached_property
    def tree(self) -> Tree:
        """The binary tree of the codes, padded to a power of two."""
        size = self.domain.sizes[0]
        return Tree(size, (2,) * (power_from(max(size, 2)).bit_length() - 1))

    @property
    def order(self) -> int:
        """P: padded codes, with both signs where there are measures."""
        return self.tree.padded * (2 if self.domain.bounds else 1)

    @property
    def levels(self) -> int:
        """h: halvings of the padded codes, and one between the signs of a measure."""
        return self.order.bit_length() - 1

    @property
    def questions(self) -> int:
        """One per level, per measure where there are any."""
        return self.levels * max(len(self.domain.bounds), 1)

    def level_of(self, question: int) -> int:
        """The level of a question, from 1."""
        return question % self.levels + 1

    def coefficients(self, profile: Array) -> list[Array]:
        """Per level, (sum over the left half - sum over the right half) / 2^l of every node."""
        factors, sums = [], profile
        for level in range(1, self.levels + 1):
            halves = sums.reshape(-1, 2)
            factors.append((halves[:, 0] - halves[:, 1]) / (1 << level))
            sums = halves.sum(axis=1)
        return factors


@dataclass(frozen=True)
class HaarAnswer(GroupAnswer):
    """A Haar coefficient by a Hadamard response; scale: r."""

    scale: float
    adds_up: ClassVar[bool] = True

    def estimate(self, rows: Rows, pair: Pair, size: float, mean: float, nodes: Codes) -> Array:
        """By one Hadamard transform of the signed counts per row."""
        row, bit = rows.columns
        signed = np.bincount(row, rows.moment(*pair) * (1.0 - 2.0 * bit), minlength=self.nodes)
        return np.asarray(self.scale / size * hadamard(signed)[nodes])

    def contributions(self, rows: Rows, nodes: Codes, weights: Array) -> Array:
        """Contributions of each row's reports to queries, shape (m, r)."""
        row, bit = rows.columns
        signs = self.scale * (1.0 - 2.0 * bit)
        return np.asarray(transform(nodes, weights, self.nodes)[:, row] * signs)

    def extremes(self, nodes: Codes, weights: Array) -> Array:
        """The signs of a row, or against them."""
        most = self.scale * np.abs(transform(nodes, weights, self.nodes)).max(axis=1)
        return np.array([-most, most])


@dataclass(frozen=True)
class HaarDesign(LinearDesign[CellQuery]):
    """One level of Haar coefficients per question; one sub-survey of levels per measure."""

    name: str
    domain: RecordDomain
    epsilon: Epsilon
    plan: Plan

    @property
    def layout(self) -> HaarLayout:
        """Levels and sub-surveys."""
        return HaarLayout(self.domain)

    @cached_property
    def answers(self) -> tuple[HaarAnswer, ...]:
        """How every question is answered."""
        # (e + 1) / (e - 1) = 1 / (2 p - 1), p the probability of the true entry.
        scale = 1.0 / (2.0 * subset_words(1, 2, self.plan.odds[0])[0] / WORDS - 1.0)
        layout, moments = self.layout, Moments(scale**2)
        nodes = (layout.order >> layout.level_of(q) for q in range(layout.questions))
        return tuple(
            HaarAnswer(question, count, moments, scale, has_shares=False)
            for question, count in enumerate(nodes)
        )

    def even_shares(self, group: int, nodes: Codes) -> Array:
        """Every coefficient is 0 for people spread evenly over all padded codes."""
        return np.zeros(len(nodes))

    def prepare(self, query: LinearQuery) -> CellQuery:
        """The Haar coefficients of the query, in every sub-survey that can answer it."""
        known, boxes = split_known(query)
        if not boxes:
            return CellQuery(known, False, (), query.weight)
        layout = self.layout
        profile = sum((c * layout.tree.indicate(box.sides[0]) for c, box in boxes), np.zeros(1))
        sub_surveys: Sequence[int] = range(layout.questions // layout.levels)
        if query.measure is not None:
            low, high = self.domain.bounds[query.measure]
            profile, sub_surveys = np.concatenate([low * profile, high * profile]), [query.measure]
        elif self.domain.bounds:
            profile = np.tile(profile, 2)
        factors = layout.coefficients(profile)
        alternatives = tuple(
            tuple(
                GroupCells(sub_survey * layout.levels + level, nodes, own[nodes])
                for level, own in enumerate(factors)
                if (nodes := np.flatnonzero(own)).size
            )
            for sub_survey in sub_surveys
        )
        return CellQuery(known + float(profile.mean()), True, alternatives, query.weight)

    def describe(self, planned: CellQuery) -> list[str]:
        """How many coefficients of each level take part."""
        lines = [] if planned.is_asked else describe_known(planned.known)
        for cells in (cells for alternative in planned.alternatives for cells in alternative):
            nodes = f"nodes of {1 << self.layout.level_of(cells.group)} codes"
            used = f"{len(cells.nodes)} of {self.answers[cells.group].nodes} coefficients"
            lines.append(f"group {cells.group} ({nodes}): {used}")
        return lines

    def to_json(self) -> Mapping[str, Any]:
        """How often each question is asked."""
        return {"weights": list(self.plan.faces[0].steps[0].weights)}


@dataclass(frozen=True)
class HaarOptions:
    """inference: the two are one.  allocation: of users to levels."""

    inference: Literal["direct", "consistent"] = "direct"
    allocation: Literal["uniform", "optimal"] = "uniform"


class HaarHrr(Recipe[HaarOptions]):
    """COUNT, and SUM and AVG of private measures, over one dimension."""

    name = "haarhrr"
    takes = ONE_DIMENSION
    options = HaarOptions

    def make(self, task: Task[HaarOptions]) -> AnyDesign:
        """One question per level, per measure."""
        layout = HaarLayout(task.domain)
        weights = [1] * layout.questions
        if task.options.allocation == "optimal":
            weights = round_shares(optimal_shares(task.asked))
        return self._build(task.domain, task.epsilon, tuple(weights))

    def remake(self, domain: RecordDomain, epsilon: Epsilon, data: AnyOptions) -> AnyDesign:
        """From the design's data."""
        return self._build(domain, epsilon, tuple(map(whole, data["weights"])))

    def _build(
        self, domain: RecordDomain, epsilon: Epsilon, weights: tuple[int, ...]
    ) -> HaarDesign:
        layout = HaarLayout(domain)
        if layout.order > LARGEST["hrr"]:
            raise SurveyError(f"{self.name} takes at most {LARGEST['hrr']} codes; use coarser bins")
        if len(weights) != layout.questions or min(weights) < 1:
            raise SurveyError(f"{self.name} needs {layout.questions} positive weights")
        return HaarDesign(self.name, domain, epsilon, plan_of_levels(layout, weights, epsilon))


def plan_of_levels(layout: HaarLayout, weights: tuple[int, ...], epsilon: Epsilon) -> Plan:
    """One face, with a column per question.

    Of level l the digit is the padded code without its last l - 1 bits: node k of the level and,
    in its last bit, the half that it is in, hence the sign of the coefficient. The parity with a
    row 2 j + 1 is the entry of row j at k, times that sign.
    """
    questions = range(len(weights))
    halves = np.array([1 << (layout.level_of(question) - 1) for question in questions])
    terms = [Term(0, 1, divide=vary(0, halves))]
    for measure in range(len(layout.domain.bounds)):
        own = np.array([question // layout.levels == measure for question in questions])
        terms.append(Term(1 + measure, vary(0, own * layout.tree.padded // halves)))
    orders = layout.order // halves
    part = Part((Digit(tuple(terms), vary(0, orders)),), Arcs(0, (1,)), Parity(0, times=2, plus=1))
    face = Face(sum(weights), (part,), (Step(weights),), (vary(0, orders // 2),))
    return Plan(layout.domain.record_sizes, (odds_words(epsilon),), (face,))


def optimal_shares(workload: Workload) -> Array:
    """Shares of the questions that minimise the mean variance of a workload, shape (questions,).

    A level whose factors have the mean sum of squares a costs a / share, so the best shares are in
    proportion to the roots; one hundredth is spread evenly. Factors follow from the energies of
    the binary tree's details: those between nodes of 2^l codes and their halves have energy 2^l
    times the sum of squared factors. Both signs of a measure double it, and its sum has a factor
    above: the mean over all codes. A count weighs all sub-surveys evenly.
    """
    domain, tree = workload.domain, HaarLayout(workload.domain).tree
    depth, energies = len(tree.fanouts), workload_energies(workload, (tree,))
    halves = 0.5 ** np.arange(1, depth + 1)
    counts = energies.counts[:0:-1] * halves
    if not domain.bounds:
        return share_by_roots(counts)
    counts = np.append(2.0 * counts, 0.0) / len(domain.bounds) ** 2
    rows = [
        counts + np.append(2.0 * contrast[:0:-1] * halves, contrast[0] * 0.5**depth)
        for contrast in energies.contrasts
    ]
    return share_by_roots(np.concatenate(rows))


HAARHRR = HaarHrr()
