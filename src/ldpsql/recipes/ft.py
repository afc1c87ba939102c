"""FT: signs of random parities of binary attributes.

For a set a of attributes the *coefficient* chi_a is the mean over people of (-1)^(how many of the
attributes in a have code 1). Each device draws one of the survey's sets, without looking at the
record, and reports the own sign by randomized response; the share of people in a cell of an
m-attribute marginal is a sum of 2^m coefficients. Sources: Barak et al., PODS 2007; Cormode,
Kulkarni, Srivastava, SIGMOD 2018; docs/spec/shuffle.md#3.6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from ldpsql.boxes import Box, Weight
from ldpsql.decoders.linear import CellQuery, GroupCells
from ldpsql.decoders.marginals import Axes, Boxes, axes_of
from ldpsql.recipes.base import Takes, Task
from ldpsql.recipes.marginals import (
    Atoms,
    MarginalDesign,
    MarginalRecipe,
    choose_marginals,
    read_marginals,
    scale,
)
from ldpsql.record_domain import RecordDomain
from ldpsql.shuffle import Blanket, merged
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.guarantee import Central
from ldpsql_device.plan import WORDS, Digit, Term, varying

MOST_PAIRS = 1 << 22
"""Sets of attributes times coefficients that are gone through for the exact blanket."""
_COARSE = 1 << 16
"""Weights of groups are added up in these units, so that they fit into 64 bits."""


@dataclass(frozen=True)
class WalshDesign(MarginalDesign):
    """Parities with randomized response in each; the sets of attributes are its `marginals`."""

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Even and odd; one node where a set holds no attribute."""
        return tuple(2 if axes else 1 for axes in self.marginals)

    def digit(self, members: Sequence[int]) -> Digit:
        """How many of the set's attributes have code 1, modulo 2."""
        chosen = [set(self.marginals[number]) for number in members]
        terms = tuple(
            Term(axis, varying(0, [int(axis in axes) for axes in chosen]))
            for axis in sorted(set().union(*chosen))
        )
        sizes = varying(0, [self.sizes[number] for number in members])
        return Digit(terms, sizes, modulus=True)

    def holds(self, axes: Axes) -> bool:
        """Whether all coefficients inside were collected."""
        parts = (part for size in range(1, len(axes) + 1) for part in combinations(axes, size))
        return all(part in self._number for part in parts)

    def direct(self, known: float, boxes: Boxes, weight: Weight | None) -> CellQuery:
        """The coefficients whose sum answers a query."""
        weights: dict[Axes, float] = {}
        for share, box in boxes:
            for axes, factor in _expand(box):
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

    def describe_group(self, number: int) -> str:
        """A coefficient in words."""
        names = ", ".join(self.domain.names[axis] for axis in self.marginals[number])
        return f"parity of {names or 'nothing'} ({self.sizes[number]} nodes, {self.oracle})"

    def blankets(self) -> tuple[Blanket, ...]:
        """Of two people between whom as many parities differ as can.

        A parity that does not differ tells less: it changes no mean of the accountant's sum and
        makes it narrower (docs/spec/shuffle.md#3.3, part ii of the proof).
        """
        if self.sizes == (1,):
            return super().blankets()
        named = self.named(0)
        truth = named.truth
        differ = self._most_flipped
        alike: Atoms = ((1 - truth, truth, truth), (1 - truth, 1 - truth, 1 - truth))
        parts = [*scale(named.atoms, differ), *scale(alike, 1 - differ)]
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
        weights = np.array([math.ceil(chance * WORDS / _COARSE) for chance in self.chances])
        turned = int((((changed @ members.T) & 1) @ weights).max())
        return min(Fraction(turned * _COARSE, WORDS), Fraction(1))


def _expand(box: Box) -> list[tuple[Axes, float]]:
    """A box's indicator in coefficients: the product of (1 +- chi) / 2 over its attributes."""
    asked = axes_of(box)
    parts: list[tuple[Axes, float]] = [((), 0.5 ** len(asked))]
    for axis in asked:
        sign = 1.0 if box.sides[axis] == ((0, 1),) else -1.0
        parts += [((*axes, axis), sign * factor) for axes, factor in parts]
    return parts


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
        """All sets of attributes inside the marginals, each at the whole epsilon."""
        ways = task.options.ways
        ways = min(ways, sum(size > 1 for size in task.domain.sizes)) or ways
        inside = {
            part
            for axes in choose_marginals(task.domain, ways, task.workload)
            for size in range(1, len(axes) + 1)
            for part in combinations(axes, size)
        }
        sets = tuple(sorted(inside, key=lambda axes: (len(axes), axes))) or ((),)
        return self._design(task.domain, task.epsilon, sets, (1,) * len(sets))

    def calibrate(self, task: Task[FtOptions], central: Central) -> WalshDesign:
        """See `Recipe.calibrate`."""
        return self.make(task).keeping(central)

    def remake(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> WalshDesign:
        """See `Recipe.remake`."""
        design = self._design(domain, epsilon, *read_marginals(data))
        if {**data, **design.to_json()} != data:
            raise SurveyError(f"the design does not fit {self.name}")
        return design

    def _design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        sets: tuple[Axes, ...],
        weights: tuple[int, ...],
    ) -> WalshDesign:
        budgets = (epsilon,) * len(sets)
        return WalshDesign(self.name, domain, epsilon, sets, weights, "grr", budgets)


FT = Ft()
