"""Public. Sees parameters. Which frequency oracle each group of a design uses.

`oracle = "grr" | "olh" | "oue" | "hrr"` uses one throughout; "auto" takes GRR for groups of at most
3 e^epsilon + 2 nodes, where its variance is the lower one, and OLH for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np

from ldpsql.estimate import Array
from ldpsql.mechanisms.base import Codes, Entropy, Outcome
from ldpsql.mechanisms.grr import Grr
from ldpsql.mechanisms.hrr import Hrr
from ldpsql.mechanisms.olh import Olh
from ldpsql.mechanisms.oracle import Oracle, Support
from ldpsql.mechanisms.oue import Oue, words_of
from ldpsql.report import Rows
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError

_Key = tuple[str, Decimal]

ORACLES = ("grr", "olh", "oue", "hrr", "auto")


@dataclass(frozen=True)
class OracleTable:
    """The oracle of every group; sizes[g] is the group's number of nodes.

    epsilons: the budget of every group where they differ; empty where each has `epsilon`.
    """

    name: str
    epsilon: Epsilon
    sizes: tuple[int, ...]
    epsilons: tuple[Epsilon, ...] = ()

    def __post_init__(self) -> None:
        if self.name not in ORACLES:
            raise SurveyError(f"oracle must be one of {', '.join(ORACLES)}, not {self.name!r}")

    def budget(self, group: int) -> Epsilon:
        """The epsilon that a group's answer spends."""
        return self.epsilons[group] if self.epsilons else self.epsilon

    def kind(self, group: int) -> str:
        """The name of a group's oracle."""
        if self.name != "auto":
            return self.name
        return "grr" if self.sizes[group] <= 3 * self.budget(group).odds + 2 else "olh"

    def is_unary(self, group: int) -> bool:
        """Whether a group's reports are independent bits, which a histogram counts one by one."""
        return self.kind(group) == "oue"

    @cached_property
    def _keys(self) -> tuple[_Key, ...]:
        return tuple((self.kind(group), self.budget(group).value) for group in self._numbers)

    @cached_property
    def _slots(self) -> Codes:
        """Position of each group among those of its kind and budget."""
        seen: dict[_Key, int] = {}
        slots = []
        for key in self._keys:
            slots.append(seen.get(key, 0))
            seen[key] = seen.get(key, 0) + 1
        return np.array(slots, dtype=np.int64)

    @cached_property
    def _members(self) -> dict[_Key, Oracle]:
        """One oracle per kind and budget in use, over the groups that have both."""
        return {
            key: self._make(
                *key, tuple(s for s, own in zip(self.sizes, self._keys, strict=True) if own == key)
            )
            for key in sorted(set(self._keys))
        }

    def _make(self, kind: str, budget: Decimal, sizes: tuple[int, ...]) -> Oracle:
        """The oracle of the groups of one kind and budget, over their sizes.

        Bits of a node stand in the same word whatever the budget of its group.
        """
        if kind == "oue":
            return Oue(Epsilon(budget), sizes, words_of(max(self.sizes)))
        makers: dict[str, Callable[[Epsilon, tuple[int, ...]], Oracle]]
        makers = {"grr": Grr, "olh": Olh, "hrr": Hrr}
        return makers[kind](Epsilon(budget), sizes)

    @cached_property
    def _places(self) -> Codes:
        """Position of each group's oracle among `_members`."""
        order = list(self._members)
        return np.array([order.index(key) for key in self._keys], dtype=np.int64)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of the oracle with the most; another one fills the last of them."""
        return max((oracle.columns for oracle in self._members.values()), key=len)

    @cached_property
    def limits(self) -> tuple[tuple[int, ...], ...]:
        """Exclusive upper limits of the columns, per group."""
        return tuple(self._widen(self._of(g).limits(self._slot(g)), 1) for g in self._numbers)

    @property
    def _numbers(self) -> range:
        return range(len(self.sizes))

    def _of(self, group: int) -> Oracle:
        return self._members[self._keys[group]]

    def _slot(self, group: int) -> int:
        return int(self._slots[group])

    def _widen(self, values: Sequence[int], filler: int) -> tuple[int, ...]:
        return (filler,) * (len(self.columns) - len(values)) + tuple(values)

    def respond(self, groups: Codes, nodes: Codes, entropy: Entropy) -> list[Codes]:
        """Device. The columns of one report per person, each of shape (n,)."""
        if len(self._members) == 1:
            (oracle,) = self._members.values()
            return oracle.respond(self._slots[groups], nodes, entropy)
        result = [np.zeros(len(groups), dtype=np.int64) for _ in self.columns]
        places = self._places[groups]
        for place, oracle in enumerate(self._members.values()):
            chosen = np.flatnonzero(places == place)
            answers = oracle.respond(self._slots[groups[chosen]], nodes[chosen], entropy)
            for column, answer in zip(result[-len(answers) :], answers, strict=True):
                column[chosen] = answer
        return result

    def law(self, group: int, node: int) -> Iterator[tuple[Outcome, Fraction]]:
        """Every report of the group with its exact probability."""
        for outcome, chance in self._of(group).law(self._slot(group), node):
            yield self._widen(outcome, 0), chance

    def odds(self, group: int) -> Fraction | None:
        """Exact worst odds of a group's reports; None if unbounded."""
        return self._of(group).odds(self._slot(group))

    def worst_odds(self) -> Fraction | None:
        """Largest odds over all groups; None if unbounded. Groups of one size and budget have the
        same."""
        worst = Fraction(1)
        alike = {(self.sizes[group], self._keys[group]): group for group in self._numbers}
        for group in alike.values():
            odds = self.odds(group)
            if odds is None:
                return None
            worst = max(worst, odds)
        return worst

    @cached_property
    def _supports(self) -> dict[int, Support]:
        return {}

    def support(self, group: int) -> Support:
        """The support probabilities of a group."""
        if group not in self._supports:
            self._supports[group] = self._of(group).support(self._slot(group))
        return self._supports[group]

    def supporters(self, group: int, rows: Rows, nodes: Codes, folds: Sequence[Array]) -> Array:
        """Sums of each fold over the reports that support each node, shape (folds, nodes)."""
        return self._of(group).supporters(self._slot(group), rows, nodes, folds)
