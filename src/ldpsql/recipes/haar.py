"""HaarHRR: one Haar coefficient per user, by Hadamard response; over one dimension.

A user is assigned one level at random, where exactly one coefficient is not zero, +1 or -1; the
report is a uniform row j of the Hadamard matrix over the level's coefficients and the entry there,
times the sign, flipped with probability 1/(1 + e). As coefficients are independent and agree with
each other, consistent inference is the direct one. Source: Cormode, Kulkarni, Srivastava, VLDB
2019; specification: docs/spec/h4mda.md#4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ldpsql.decoders.base import AnyDesign
from ldpsql.decoders.groups import round_shares, whole
from ldpsql.decoders.haar import HaarDesign, HaarLayout
from ldpsql.numerics import Array
from ldpsql.recipes.allocation import share_by_roots, workload_energies
from ldpsql.recipes.base import AnyOptions, Recipe, Task
from ldpsql.recipes.hierarchical import ONE_DIMENSION
from ldpsql.recipes.oracles import LARGEST, odds_words, record_sizes
from ldpsql.record_domain import RecordDomain
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import Arcs, Digit, Face, Parity, Part, Plan, Step, Term, varying


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
    terms = [Term(0, 1, divide=varying(0, halves))]
    for measure in range(len(layout.domain.bounds)):
        own = np.array([question // layout.levels == measure for question in questions])
        terms.append(Term(1 + measure, varying(0, own * layout.tree.padded // halves)))
    orders = layout.order // halves
    part = Part(
        (Digit(tuple(terms), varying(0, orders)),), Arcs(0, (1,)), Parity(0, times=2, plus=1)
    )
    face = Face(sum(weights), (part,), (Step(weights),), (varying(0, orders // 2),))
    return Plan(record_sizes(layout.domain), (odds_words(epsilon),), (face,))


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
