"""Public. Sees parameters. FT: signs of random parities of binary attributes.

For a set a of attributes the *coefficient* chi_a is the mean over people of (-1)^(how many of the
attributes in a have code 1). Each device draws one of the survey's sets, without looking at the
record, and reports the own sign by randomized response; the share of people in a cell of an
m-attribute marginal is a sum of 2^m coefficients. Sources: Barak et al., PODS 2007; Cormode,
Kulkarni, Srivastava, SIGMOD 2018; specification shuffle, section 3.6.
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
from ldpsql.mechanisms.marginals.calibrated import Atoms, answered, scaled
from ldpsql.mechanisms.marginals.collected import (
    Axes,
    axes_of,
    marginals_of,
    table_of,
)
from ldpsql.mechanisms.marginals.design import MarginalDesign
from ldpsql.mechanisms.options import no_measures, restored_table, take
from ldpsql.recipes.base import NoOptions, Recipe
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


def coefficients_of(domain: RecordDomain, ways: int, workload: Workload | None) -> ParityTable:
    """All sets inside the marginals; SurveyError for an attribute of more than two codes."""
    for name, size in zip(domain.names, domain.sizes, strict=True):
        if size > 2:
            raise SurveyError(f"ft is for attributes of two codes; {name} has {size}: use srr-ss")
    inside = {
        part
        for axes in marginals_of(domain, ways, workload)
        for size in range(1, len(axes) + 1)
        for part in combinations(axes, size)
    }
    table = table_of(domain, sorted(inside, key=lambda axes: (len(axes), axes)) or [()])
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
        makes it narrower (specification shuffle, section 3.3, proof part ii).
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
class Ft(Recipe[NoOptions]):
    """COUNT over private binary attributes."""

    calibrates = True
    name: str = "ft"

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> WalshDesign:
        """Every coefficient at the whole epsilon."""
        chosen = take(options, {"ways": 2}, self.name)
        no_measures(domain, self.name)
        ways = min(chosen["ways"], sum(size > 1 for size in domain.sizes)) or chosen["ways"]
        return self._made(domain, coefficients_of(domain, ways, workload), epsilon)

    def shuffled(
        self,
        domain: RecordDomain,
        central: Central,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> WalshDesign:
        """See `Recipe.shuffled`."""
        first = self.design(domain, central.epsilon, options, workload)
        best = largest_local(lambda e: self._made(domain, first.table, e).blankets(), central)
        return self._made(domain, first.table, best)

    def _made(self, domain: RecordDomain, table: GroupTable, epsilon: Epsilon) -> WalshDesign:
        budgets = (epsilon,) * len(table.groups)
        return WalshDesign(self.name, domain, epsilon, table, "grr", budgets)

    def restore(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> WalshDesign:
        """From a survey's JSON."""
        no_measures(domain, self.name)
        plain = restored_table(domain, data)
        made = self._made(domain, ParityTable(plain.trees, plain.groups), epsilon)
        if made.to_json() != data or max(domain.sizes, default=1) > 2:
            raise SurveyError("the design does not fit ft")
        return made
