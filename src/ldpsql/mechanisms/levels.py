"""Public. Sees parameters. The design shared by the mechanisms that report one node of trees.

A user is assigned to one group (a level combination, see `groups`), and reports the own node of
that group through a frequency oracle. A query is broken into nodes; each group estimates its
nodes from its own reports. HIO, AHIO, EHIO, HGRR and the flat mechanisms differ only in their
trees, groups and oracle. Specification: h4mda, sections 1, 3, 5 and 7.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ldpsql.estimate import Array
from ldpsql.mechanisms.base import Codes, Entropy, Estimators, Law, Outcome
from ldpsql.mechanisms.cell_query import CellQuery
from ldpsql.mechanisms.channel import enumerate_law, in_blocks
from ldpsql.mechanisms.draws import SPACE
from ldpsql.mechanisms.levels_estimator import (
    LevelEstimator,
    ReportedFrequencies,
    UniformFrequencies,
)
from ldpsql.mechanisms.nodes import NodeDesign
from ldpsql.mechanisms.oracles import OracleTable
from ldpsql.report import Histogram, ReportFormat, Reports
from ldpsql_device.guarantee import Guarantee, local_guarantee


@dataclass(frozen=True)
class LevelDesign(NodeDesign):
    """Groups of level combinations with a frequency oracle in each."""

    oracle: str

    @cached_property
    def oracles(self) -> OracleTable:
        """The oracle of every group."""
        return OracleTable(self.oracle, self.epsilon, self.table.sizes)

    @cached_property
    def report_format(self) -> ReportFormat:
        """The group, then the columns of the oracle."""
        limits = np.array(self.oracles.limits, dtype=np.int64).reshape(len(self.table.groups), -1)
        unary = self.oracles.is_unary(0)
        columns = ("group", *self.oracles.columns)
        return ReportFormat(columns, limits, unary=unary, bits=self.table.sizes if unary else ())

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon-LDP for the whole private record; the group is drawn without looking at it."""
        return local_guarantee(self.epsilon)

    def randomize(self, codes: Codes, entropy: Entropy) -> Reports:
        """Device. See `Design.randomize`."""
        return in_blocks(self.report_format, codes, entropy, self._randomize_block)

    def _randomize_block(self, codes: Codes, entropy: Entropy) -> list[Codes]:
        groups = self.table.assign(entropy.words(len(codes)))
        nodes = self.table.node(groups, codes)
        return [groups, *self.oracles.respond(groups, nodes, entropy)]

    def law(self) -> Law:
        """The exact channel over all codes and signs."""
        outputs = sum(math.prod(map(int, row)) for row in self.report_format.limits)
        return enumerate_law(self.domain, outputs, self._report_law)

    @property
    def selector_shares(self) -> Array:
        """Of the groups. See `Design`."""
        return self.shares

    def selector_odds(self) -> Fraction | None:
        """The worst group's odds: every node of a group is some record's, and groups are drawn
        without looking at the record. See `Design`."""
        return self.oracles.worst_odds()

    @cached_property
    def _parts(self) -> list[Mapping[int, Mapping[Outcome, Fraction]]]:
        return [dict(self._node_laws(number)) for number in range(len(self.table.groups))]

    def _node_laws(self, number: int) -> Iterator[tuple[int, dict[Outcome, Fraction]]]:
        """For every node of a group, its reports with their probabilities."""
        chance = Fraction(self.table.groups[number].weight, SPACE)
        for node in range(self.table.sizes[number]):
            law = self.oracles.law(number, node)
            yield node, {(number, *outcome): chance * share for outcome, share in law}

    def _report_law(self, record: Outcome) -> dict[Outcome, Fraction]:
        codes = np.tile(np.array(record, dtype=np.int64), (len(self._parts), 1))
        nodes = self.table.node(np.arange(len(self._parts)), codes)
        law: dict[Outcome, Fraction] = {}
        for part, node in zip(self._parts, nodes, strict=True):
            law.update(part[int(node)])
        return law

    def _nodes_of(self, number: int) -> str:
        return f"{self.table.sizes[number]} nodes, {self.oracles.kind(number)}"

    def estimator(self, histogram: Histogram) -> LevelEstimator:
        """Collector. Unbiased, by actual group sizes."""
        return LevelEstimator(
            self.oracles, ReportedFrequencies(oracles=self.oracles, histogram=histogram)
        )

    @property
    def estimators(self) -> Estimators:
        """The unbiased one only."""
        return {"unbiased": self.estimator}

    def variance(self, queries: Sequence[CellQuery], people: int) -> Array:
        """Predicted variance if records are spread evenly over all cells, shape (k,)."""
        evenly = UniformFrequencies(people, self.shares * people, self.table)
        return np.diagonal(LevelEstimator(self.oracles, evenly).answer(queries).covariance).copy()

    def to_json(self) -> Mapping[str, Any]:
        """What `restore` of the mechanism needs besides domain and epsilon."""
        return {
            **self._fanouts(),
            "oracle": self.oracle,
            "groups": [group.to_json() for group in self.table.groups],
        }
