"""FT: signs of random parities of binary attributes.

For a set a of attributes the *coefficient* chi_a is the mean over people of (-1)^(how many of the
attributes in a have code 1). Each device draws one of the survey's sets, without looking at the
record, and reports the own sign by randomized response; the share of people in a cell of an
m-attribute marginal is a sum of 2^m coefficients. Sources: Barak et al., PODS 2007; Cormode,
Kulkarni, Srivastava, SIGMOD 2018; docs/spec/shuffle.md#3.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np

from ldpsql.boxes import Box, Weight
from ldpsql.mechanisms.base import Codes
from ldpsql.mechanisms.cell_query import CellQuery, GroupCells
from ldpsql.mechanisms.draws import SPACE
from ldpsql.mechanisms.groups import GroupTable
from ldpsql.mechanisms.options import restored_table
from ldpsql.recipes.base import Takes, Task
from ldpsql.recipes.marginals import (
    Atoms,
    Axes,
    MarginalDesign,
    MarginalRecipe,
    answered,
    axes_of,
    choose_marginals,
    group_marginals,
    scaled,
)
from ldpsql.shuffle import Blanket, largest_local, merged
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.guarantee import Central
from ldpsql_device.schema import RecordDomain

MOST_PAIRS = 1 << 22
"""Sets of attributes times coefficients that are gone through for the exact blanket."""
_COARSE = 1 << 16
"""Weights of groups are added up in these units, so that they fit into 64 bits."""


class ParityTable(GroupTable):
    """Groups whose two nodes are the parities of the attributes at level 1."""

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Even and odd; one node where a group holds no attribute."""
        return tuple(2 if any(group.levels) else 1 for group in self.groups)

    @cached_property
    def _bits(self) -> Codes:
        """1 for every attribute of a group, shape (groups, d)."""
        rows = [group.levels for group in self.groups]
        return np.array(rows, dtype=np.int64).reshape(len(rows), len(self.trees))

    def node(self, groups: Codes, codes: Codes) -> Codes:
        """Device. The parity of each person in the given group, shape (n,)."""
        own: Codes = (codes * self._bits[groups]).sum(axis=1)
        return own & 1


def choose_coefficients(domain: RecordDomain, ways: int, workload: Workload | None) -> ParityTable:
    """All sets inside the marginals."""
    inside = {
        part
        for axes in choose_marginals(domain, ways, workload)
        for size in range(1, len(axes) + 1)
        for part in combinations(axes, size)
    }
    table = group_marginals(domain, sorted(inside, key=lambda axes: (len(axes), axes)) or [()])
    return ParityTable(table.trees, table.groups)


@dataclass(frozen=True)
class WalshDesign(MarginalDesign):
    """Parities with randomized response in each."""

    def holds(self, axes: Axes) -> bool:
        """Whether all coefficients inside were collected."""
        parts = (part for size in range(1, len(axes) + 1) for part in combinations(axes, size))
        return all(part in self._number for part in parts)

    def direct(
        self, known: float, boxes: Sequence[tuple[float, Box]], weight: Weight | None
    ) -> CellQuery:
        """The coefficients whose sum answers a query."""
        weights: dict[Axes, float] = {}
        for share, box in boxes:
            for axes, factor in self._expanded(box):
                weights[axes] = weights.get(axes, 0.0) + share * factor
        known += weights.pop((), 0.0)
        used = {self._number[axes]: total for axes, total in weights.items() if total}
        cells = tuple(
            GroupCells(group, np.arange(2), total * np.array([1.0, -1.0]))
            for group, total in sorted(used.items())
        )
        return CellQuery(known, bool(cells), (cells,) if cells else (), weight)

    @cached_property
    def _number(self) -> Mapping[Axes, int]:
        return {axes: number for number, axes in enumerate(self.marginals)}

    def _expanded(self, box: Box) -> list[tuple[Axes, float]]:
        """A box's indicator in coefficients: the product of (1 +- chi) / 2 over its attributes."""
        asked = axes_of(box)
        signs = [1.0 if box.sides[axis] == ((0, 1),) else -1.0 for axis in asked]
        parts = []
        for chosen in product((False, True), repeat=len(asked)):
            axes = tuple(axis for axis, used in zip(asked, chosen, strict=True) if used)
            sign = float(np.prod([s for s, used in zip(signs, chosen, strict=True) if used]))
            parts.append((axes, sign / 2.0 ** len(asked)))
        return parts

    def describe_group(self, number: int) -> str:
        """A coefficient in words."""
        names = ", ".join(self.domain.names[axis] for axis in self.marginals[number])
        return f"parity of {names or 'nothing'} ({self._nodes_of(number)})"

    def blankets(self) -> tuple[Blanket, ...]:
        """Of two people between whom as many parities differ as can.

        A parity that does not differ tells less: it changes no mean of the accountant's sum and
        makes it narrower (docs/spec/shuffle.md#3.3, part ii of the proof).
        """
        if self.oracles.sizes == (1,):
            return super().blankets()
        truth = self.oracles.truth(0)
        differ = self._most_flipped
        alike: Atoms = ((1 - truth, truth, truth), (1 - truth, 1 - truth, 1 - truth))
        parts = [*scaled(answered(truth, 2), differ), *scaled(alike, 1 - differ)]
        return (Blanket(merged(atom for atom in parts if atom[0])),)

    @property
    def _most_flipped(self) -> Fraction:
        """The largest chance, a little rounded up, to be asked for a parity that a change of a
        record turns; 1 where there are too many sets of attributes to look at."""
        axes = sorted({axis for marginal in self.marginals for axis in marginal})
        if len(self.marginals) << len(axes) > MOST_PAIRS:
            return Fraction(1)
        changed = (np.arange(1 << len(axes))[:, None] >> np.arange(len(axes))) & 1
        members = np.array([[axis in own for axis in axes] for own in self.marginals])
        weights = np.array([-(-group.weight // _COARSE) for group in self.table.groups])
        turned = int((((changed @ members.T) & 1) @ weights).max())
        return min(Fraction(turned * _COARSE, SPACE), Fraction(1))


@dataclass(frozen=True)
class FtOptions:
    """ways: attributes per marginal, 0 for those of the workload."""

    ways: int = 2


class Ft(MarginalRecipe[FtOptions]):
    """COUNT over private binary attributes."""

    name = "ft"
    takes = Takes(measures=False, codes=2, instead="srr-ss")
    options = FtOptions

    def make(self, task: Task[FtOptions]) -> WalshDesign:
        """Every coefficient at the whole epsilon."""
        ways = task.options.ways
        ways = min(ways, sum(size > 1 for size in task.domain.sizes)) or ways
        coefficients = choose_coefficients(task.domain, ways, task.workload)
        return self._design(task.domain, coefficients, task.epsilon)

    def calibrate(self, task: Task[FtOptions], central: Central) -> WalshDesign:
        """See `Recipe.calibrate`."""
        first = self.make(task)
        best = largest_local(
            lambda e: self._design(task.domain, first.table, e).blankets(), central
        )
        return self._design(task.domain, first.table, best)

    def _design(self, domain: RecordDomain, table: GroupTable, epsilon: Epsilon) -> WalshDesign:
        budgets = (epsilon,) * len(table.groups)
        return WalshDesign(self.name, domain, epsilon, table, "grr", budgets)

    def remake(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> WalshDesign:
        """See `Recipe.remake`."""
        plain = restored_table(domain, data)
        design = self._design(domain, ParityTable(plain.trees, plain.groups), epsilon)
        if design.to_json() != data:
            raise SurveyError(f"the design does not fit {self.name}")
        return design


FT = Ft()
