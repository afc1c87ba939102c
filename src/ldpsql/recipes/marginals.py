"""Mechanisms that ask each person about one marginal of several.

A *marginal* is a set of attributes whose combinations of codes are counted together. Each device
draws one of the survey's marginals, without looking at the record, and reports the own cell of it
through a frequency oracle. A question on some attributes is answered from every marginal that
holds them, independently, by inverse variance; questions whose attributes no marginal holds are
refused.

| name | oracle | who knows the marginal of a report |
|---|---|---|
| srr-ss | randomized response over the marginal's own cells | nobody: one shuffler |
| psrr-ss | the same over as many cells as the largest marginal has | nobody |
| solh | randomized response over a hash of the cell | nobody |
| srr-ms | as srr-ss, each marginal with a budget of its own | whoever runs a shuffler: one each |
| sue-ms, oue-ms | a bit for every cell | the same |

In the shuffle model a group's local budget follows from how well its reports hide among others, so
groups may differ in it, in how many answers there are (padding), or in how many values a hash has.
All of them are plain local mechanisms as well. Sources: Liu, Wang, Wang, Journal of Software 33(3),
2022; Wang et al., PVLDB 13(12), 2020 (SOLH); CALM: Zhang et al., CCS 2018, for marginals of several
attributes; docs/spec/shuffle.md#3.1, docs/spec/shuffle.md#3.3, docs/spec/shuffle.md#3.4,
docs/spec/shuffle.md#3.6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations
from typing import Any, Literal, TypeVar

import numpy as np

from ldpsql.boxes import Box, LinearQuery, Weight
from ldpsql.decoders.base import Estimators
from ldpsql.decoders.marginals import (
    BIAS,
    Fit,
    FittedQuery,
    MarginalEstimator,
    MaxEntEstimator,
    UnbiasedEstimator,
)
from ldpsql.estimate import Array
from ldpsql.mechanisms.base import Codes
from ldpsql.mechanisms.cell_query import Alternative, CellQuery, GroupCells, split_known
from ldpsql.mechanisms.draws import SPACE, least_preimages
from ldpsql.mechanisms.groups import GroupTable, evenly
from ldpsql.mechanisms.grr import Grr
from ldpsql.mechanisms.grr import odds as grr_odds
from ldpsql.mechanisms.levels import LevelDesign
from ldpsql.mechanisms.levels_estimator import ReportedFrequencies, UniformFrequencies
from ldpsql.mechanisms.olh import Solh
from ldpsql.mechanisms.options import checked, restored_table, whole
from ldpsql.mechanisms.oracle import Oracle
from ldpsql.mechanisms.oracles import OracleTable
from ldpsql.mechanisms.oue import Oue, Sue, words_of
from ldpsql.recipes.base import Recipe, Takes, Task
from ldpsql.report import Histogram
from ldpsql.shuffle import UNEVEN, Atom, Blanket, largest_local, merged, unary
from ldpsql.shuffle.accountant import balle_local
from ldpsql.trees.hierarchy import Tree
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError, UnsupportedSQL
from ldpsql_device.guarantee import Central
from ldpsql_device.schema import RecordDomain

Axes = tuple[int, ...]
Atoms = tuple[Atom, ...]
O = TypeVar("O")  # noqa: E741
LARGEST_FIT = 10
"""Attributes of a conjunction that is fitted."""
MOST_OTHERS = int(SPACE * UNEVEN / 2)
"""Answers among which one that is not the true one is drawn: of k, each has 2^64 / k words, up to
one word."""
_DIGITS = Decimal("1e-9")

# -- oracles with a budget for every group -------------------------------------------------------


@dataclass(frozen=True)
class PaddedGrr(Grr):
    """GRR over as many answers for every slot, of which the slot's nodes are the first.

    held: nodes per slot.
    """

    held: tuple[int, ...] = ()

    def odds(self, slot: int) -> Fraction | None:
        """Those of randomized response, where only the first answers are somebody's own."""
        return grr_odds(self.thresholds[slot], self.sizes[slot], self.held[slot])


MAKERS: Mapping[str, Callable[[Epsilon, tuple[int, ...], int], Oracle]] = {
    "grr": lambda budget, sizes, _: Grr(budget, sizes),
    "padded": lambda budget, sizes, values: PaddedGrr(
        budget, tuple(values for _ in sizes), held=sizes
    ),
    "solh": lambda budget, sizes, values: Solh(budget, sizes, hash_values=values),
    "oue": Oue,
    "sue": Sue,
}
UNARY = ("oue", "sue")


@dataclass(frozen=True)
class CalibratedOracles(OracleTable):
    """The oracle of every group, all of one kind, each with its budget.

    epsilon: the largest of `epsilons`.  values: answers of padded GRR, hash
    values of SOLH; 0 for the others.
    """

    values: int = 0

    def __post_init__(self) -> None:
        if self.name not in MAKERS:
            raise SurveyError(f"a calibrated oracle is one of {', '.join(MAKERS)}")
        if len(self.epsilons) != len(self.sizes):
            raise SurveyError("a design needs a budget for every group")
        if any(budget.value > self.epsilon.value for budget in self.epsilons):
            raise SurveyError("a group's budget exceeds the epsilon of the design")
        if self.name == "padded" and self.values < max(self.sizes):
            raise SurveyError("a padded domain is at least as large as every attribute")
        if self.name == "solh" and not 2 <= self.values < 1 << 31:
            raise SurveyError("hash functions need at least 2 values, and less than 2^31")

    def kind(self, group: int) -> str:
        """The same for all groups."""
        return self.name

    def is_unary(self, group: int) -> bool:
        """See `OracleTable.is_unary`."""
        return self.name in UNARY

    def _make(self, kind: str, budget: Decimal, sizes: tuple[int, ...]) -> Oracle:
        """Bits of a node stand in the same word whatever the budget of its group."""
        unary = self.name in UNARY
        values = words_of(max(self.sizes)) if unary else self.values
        return MAKERS[kind](Epsilon(budget), sizes, values)

    def truth(self, group: int) -> Fraction:
        """The exact probability with which randomized response names a group's true node."""
        oracle = self._of(group)
        if not isinstance(oracle, Grr):
            raise ValueError(f"{self.name} is no randomized response")
        return Fraction(oracle.thresholds[self._slot(group)], SPACE)

    def atoms(self, group: int) -> Atoms:
        """The blanket of a group's reports for two people at different nodes of it.

        (r, R0, R1) as in `Blanket`, without the draw of the group.
        """
        oracle, slot = self._of(group), self._slot(group)
        if self.sizes[group] == 1:
            return ((Fraction(1), Fraction(1), Fraction(1)),)
        if isinstance(oracle, Grr):
            return answered(self.truth(group), oracle.sizes[slot])
        if isinstance(oracle, Solh):
            return _hashed(oracle, oracle.collision(slot))
        assert isinstance(oracle, Oue)
        return unary(*oracle.chances, self.sizes[group]).atoms


def least_other(truth: Fraction, answers: int) -> Fraction:
    """The least probability of an answer under a record that would truthfully give another one.

    SurveyError for more answers than draws of 64 bits are even enough for (see `UNEVEN`).
    """
    if answers - 1 > MOST_OTHERS:
        raise SurveyError(
            f"the accountant of shuffled reports takes at most {MOST_OTHERS + 1:,} answers, not "
            f"{answers:,}: use coarser bins, fewer attributes together, or solh with fewer values"
        )
    return (1 - truth) * Fraction(least_preimages(answers - 1), SPACE)


def answered(truth: Fraction, answers: int) -> Atoms:
    """Randomized response by two people who would truthfully answer differently.

    Under a record all other answers have their mean probability, which the real ones differ from by
    less than the accountant allows for; the blanket has the least.
    """
    least, other = least_other(truth, answers), (1 - truth) / (answers - 1)
    pair = ((least, truth, other), (least, other, truth))
    rest = answers - 2
    return (*pair, (rest * least, rest * other, rest * other)) if rest else pair


def _hashed(oracle: Solh, collision: Fraction) -> Atoms:
    """Two nodes with different hash values, or with the same.

    A collision tells nothing: it leaves the mean of the accountant's sum and makes it narrower. So
    the least probability of one is the one to count with. Some functions are drawn a little more
    often than others, by all records alike.
    """
    truth, values = Fraction(oracle.threshold, SPACE), oracle.values
    least, lie = least_other(truth, values), 1 - truth
    apart = scaled(answered(truth, values), 1 - collision)
    alike = ((least, truth, truth), ((values - 1) * least, lie, lie))
    return (*apart, *(scaled(alike, collision) if collision else ()))


def scaled(atoms: Atoms, share: Fraction) -> Atoms:
    """The blanket's part of a channel that is entered with probability `share`."""
    return tuple((share * r, share * one, share * two) for r, one, two in atoms)


# -- designs ---------------------------------------------------------------------------------------


def choose_marginals(
    domain: RecordDomain, ways: int, workload: Workload | None
) -> tuple[Axes, ...]:
    """The sets of attributes to collect: all of `ways` attributes, or the workload's for 0.

    Attributes of one code tell nothing and are left out, unless there are no others.
    SurveyError where there are fewer attributes than ways.
    """
    asked = [axis for axis, size in enumerate(domain.sizes) if size > 1]
    if not asked:
        return ((),)
    if ways < 0 or ways > len(asked):
        raise SurveyError(
            f"ways must lie between 1 and the number of attributes, {len(asked)}, or be 0 for the "
            f"workload's, not {ways}"
        )
    if ways:
        return tuple(combinations(asked, ways))
    wanted = (workload or Workload.everyday(domain)).supports
    found = {tuple(axis for axis in support if axis in asked) for support in wanted} - {()}
    if not found:
        return tuple((axis,) for axis in asked)
    return tuple(sorted(s for s in found if not any(set(s) < set(other) for other in found)))


def group_marginals(domain: RecordDomain, marginals: Sequence[Axes]) -> GroupTable:
    """A group for every marginal, all equally likely: a tree has a root and its codes."""
    trees = tuple(Tree(size, (size,) if size > 1 else ()) for size in domain.sizes)
    chosen = [tuple(int(axis in axes) for axis in range(len(trees))) for axes in marginals]
    return GroupTable(trees, evenly((levels, None, 0) for levels in chosen))


@dataclass(frozen=True)
class CollectedMarginals(LevelDesign):
    """Questions broken into cells of marginals; how these are reported is left open."""

    states_blankets = True

    def __post_init__(self) -> None:
        if any(
            tree.widths != ((tree.size, 1) if tree.size > 1 else (1,)) for tree in self.table.trees
        ):
            raise SurveyError("a marginal holds whole attributes")

    @cached_property
    def marginals(self) -> tuple[Axes, ...]:
        """The attributes of every group."""
        return tuple(
            tuple(axis for axis, level in enumerate(group.levels) if level)
            for group in self.table.groups
        )

    @cached_property
    def fits(self) -> bool:
        """Whether conjunctions that were not collected can be fitted to those that were."""
        return any(len(marginal) > 1 for marginal in self.marginals)

    def holds(self, axes: Axes) -> bool:
        """Whether a question on these attributes together can be answered."""
        return bool(self._holding(axes))

    def prepare(self, query: LinearQuery) -> CellQuery:
        """The cells that answer a query, in every marginal that can.

        UnsupportedSQL for attributes that no marginal holds together; where there are marginals of
        several attributes, only once the unbiased estimator is asked.
        """
        known, boxes = split_known(normal(query, self.domain.sizes))
        if not boxes:
            return CellQuery(known, False, (), query.weight)
        missing = [axes for axes in (axes_of(box) for _, box in boxes) if not self.holds(axes)]
        if not missing:
            return self.direct(known, boxes, query.weight)
        refusal = uncollected(self.domain, missing[0], self.name)
        alone = all(self.holds((axis,)) for axes in missing for axis in axes)
        crowded = max(map(len, missing)) > LARGEST_FIT
        if query.weight is not None or not self.fits or not alone or crowded:
            raise refusal
        fits = tuple(self._fit(share, box) for share, box in boxes)
        return FittedQuery(known, True, (), None, fits, refusal)

    def direct(
        self, known: float, boxes: Sequence[tuple[float, Box]], weight: Weight | None
    ) -> CellQuery:
        """The cells of boxes whose attributes were collected together."""
        return CellQuery(known, True, self.answering(boxes), weight)

    def _fit(self, share: float, box: Box) -> Fit:
        """What the marginals tell of a box: all of it, or its parts on fewer attributes."""
        axes = axes_of(box)
        places = range(len(axes))
        subsets = [tuple(places)]
        if not self.holds(axes):
            every = (part for size in places for part in combinations(places, size) if part)
            subsets = [part for part in every if self.holds(tuple(axes[i] for i in part))]
        queries = []
        for part in subsets:
            kept = {axes[i] for i in part}
            sides = (side if axis in kept else None for axis, side in enumerate(box.sides))
            queries.append(self.direct(0.0, [(1.0, Box(tuple(sides)))], None))
        return Fit(share, len(axes), tuple(subsets), tuple(queries))

    def answering(self, boxes: Sequence[tuple[float, Box]]) -> tuple[Alternative, ...]:
        """Independent ways to answer the boxes; where none holds them all, one that takes the
        first marginal that holds each."""
        constrained = [axes_of(box) for _, box in boxes]
        union = tuple(sorted(set().union(*constrained)))
        together = self._holding(union)
        if together:
            return tuple(self._cells([(group, boxes)]) for group in together)
        parts: dict[int, list[tuple[float, Box]]] = {}
        for part, axes in zip(boxes, constrained, strict=True):
            parts.setdefault(self._holding(axes)[0], []).append(part)
        return (self._cells(sorted(parts.items())),)

    def _holding(self, axes: Axes) -> list[int]:
        """The marginals that hold the attributes."""
        return [n for n, marginal in enumerate(self.marginals) if set(axes) <= set(marginal)]

    def _cells(self, parts: Sequence[tuple[int, Sequence[tuple[float, Box]]]]) -> Alternative:
        """The cells of boxes in the marginals that answer them."""
        found = []
        for group, boxes in parts:
            covers = [cells_in(box, self.marginals[group], self.domain.sizes) for _, box in boxes]
            weights = [
                np.full(len(cells), share) for (share, _), cells in zip(boxes, covers, strict=True)
            ]
            found.append(self.group_cells(group, np.concatenate(covers), np.concatenate(weights)))
        return tuple(found)

    def group_cells(self, marginal: int, cells: Codes, weights: Array) -> GroupCells:
        """Weighted cells of a marginal as weighted nodes of a group of reports."""
        return GroupCells(marginal, cells, weights)

    def describe_group(self, number: int) -> str:
        """A marginal in words."""
        names = " x ".join(self.domain.names[axis] for axis in self.marginals[number])
        return f"marginal of {names or 'nothing'} ({self._nodes_of(number)})"

    def describe(self, planned: CellQuery) -> list[str]:
        """See `Design.describe`; what can only be fitted says so."""
        if isinstance(planned, FittedQuery):
            return [f"{planned.refusal.reason}: estimator maxent fits it to what was collected"]
        return super().describe(planned)

    def _reported(self, histogram: Histogram) -> ReportedFrequencies:
        return ReportedFrequencies(oracles=self.oracles, histogram=histogram)

    def estimator(self, histogram: Histogram) -> UnbiasedEstimator:
        """Collector. Unbiased, by the actual number of reports of each marginal."""
        return UnbiasedEstimator(self.oracles, self._reported(histogram))

    def fitted(self, histogram: Histogram) -> MaxEntEstimator:
        """Collector. Biased: conjunctions of any attributes."""
        return MaxEntEstimator(MarginalEstimator(self.oracles, self._reported(histogram)))

    @property
    def estimators(self) -> Estimators[CellQuery]:
        """The unbiased one, and `maxent` where marginals hold several attributes."""
        unbiased = {"unbiased": self.estimator}
        return {**unbiased, "maxent": self.fitted} if self.fits else unbiased

    @property
    def biases(self) -> Mapping[str, str]:
        """See `Design.biases`."""
        return {"maxent": BIAS} if self.fits else {}

    def variance(self, queries: Sequence[CellQuery], people: int) -> Array:
        """Predicted variance if records are spread evenly over all cells, shape (k,); infinite for
        what was not collected."""
        evenly = MarginalEstimator(self.oracles, self._evenly(people))
        return np.diagonal(evenly.answer(queries).covariance).copy()

    def _evenly(self, people: int) -> UniformFrequencies:
        return UniformFrequencies(people, self.shares * people, self.table)


def normal(query: LinearQuery, sizes: Sequence[int]) -> LinearQuery:
    """The same query with every full side left free."""
    return replace(query, terms=tuple((share, box.normal(sizes)) for share, box in query.terms))


def axes_of(box: Box) -> Axes:
    """The attributes that a box constrains."""
    return tuple(axis for axis, side in enumerate(box.sides) if side is not None)


def cells_in(box: Box, axes: Axes, sizes: Sequence[int]) -> Codes:
    """The cells of a marginal that lie in a box, flattened row-major, shape (c,)."""
    cells = np.zeros(1, dtype=np.int64)
    for axis in axes:
        side = box.sides[axis]
        runs = ((0, sizes[axis]),) if side is None else side
        codes = np.concatenate([np.arange(low, high, dtype=np.int64) for low, high in runs])
        cells = (cells[:, None] * sizes[axis] + codes).ravel()
    return cells


def uncollected(domain: RecordDomain, axes: Axes, mechanism: str) -> UnsupportedSQL:
    """The error for a question whose attributes no marginal holds, and what would have to be."""
    asked = " and ".join(domain.names[axis] for axis in axes)
    together, fewer = "", ""
    if len(axes) > 1:
        together = " together"
        fewer = "; where fewer at once will do, say so by max_predicates under [workload]"
    return UnsupportedSQL(
        f"this survey does not collect {asked}{together}",
        hint=f"design it with mechanism {mechanism} and the option ways = {len(axes)}, or ways = 0 "
        f"and a [workload] whose queries ask about {asked}{fewer}",
    )


@dataclass(frozen=True)
class MarginalDesign(CollectedMarginals):
    """Marginals with a frequency oracle in each.

    budgets: local epsilon of every group.  values: see `CalibratedOracles`.  visible: whether
    whoever sees the reports may know who reports on which marginal, as where each has a shuffler
    of its own.
    """

    budgets: tuple[Epsilon, ...] = ()
    values: int = 0
    visible: bool = False

    @cached_property
    def oracles(self) -> CalibratedOracles:
        """The oracle of every marginal."""
        return CalibratedOracles(
            self.oracle, self.epsilon, self.table.sizes, self.budgets, self.values
        )

    def blankets(self) -> tuple[Blanket, ...]:
        """Of two people who differ in all attributes; see `Design.blankets`."""
        groups = range(len(self.table.groups))
        if self.visible:
            return tuple(dict.fromkeys(self.blanket_of(number) for number in groups))
        parts = (scaled(self.oracles.atoms(number), self._chance(number)) for number in groups)
        return (Blanket(merged(atom for part in parts for atom in part)),)

    def blanket_of(self, group: int) -> Blanket:
        """That of one marginal, where whoever looks knows who reports on it."""
        return Blanket(self.oracles.atoms(group), self._chance(group))

    def _chance(self, group: int) -> Fraction:
        return Fraction(self.table.groups[group].weight, SPACE)

    def to_json(self) -> Mapping[str, Any]:
        """What `restored` needs besides name, domain and epsilon."""
        return {
            **super().to_json(),
            "budgets": [str(budget) for budget in self.budgets],
            "values": self.values,
        }


# -- recipes ---------------------------------------------------------------------------------------

FIRST, MOST, STEPS = 2, 1 << 16, 1
"""Numbers of hash values tried: powers of two, then so many refinements around the best."""


def best_hash_values(calibrate: Callable[[int], MarginalDesign]) -> MarginalDesign:
    """The design with the least mean variance of a cell's count.

    More values collide less, but randomized response lies more among many. The accountant says what
    each number allows; the variance for records spread evenly decides.

    calibrate: the design with so many hash values.
    """
    tried: dict[int, MarginalDesign] = {}

    def error(values: int) -> float:
        if values not in tried:
            tried[values] = calibrate(values)
        return cell_variance(tried[values])

    best, values = FIRST, 2 * FIRST
    while values <= MOST and error(values) <= error(best):
        best, values = values, 2 * values
    for step in range(STEPS):
        factor = 2.0 ** (0.5 ** (step + 1))
        nearby = (round(best / factor), best, round(best * factor))
        best = min(filter(lambda number: number >= FIRST, nearby), key=error)
    return tried[best]


def cell_variance(design: MarginalDesign) -> float:
    """Mean variance per report of a cell's frequency, for records spread evenly."""
    variances = []
    for group, size in enumerate(design.table.sizes):
        support = design.oracles.support(group)
        seen = support.q + (support.p - support.q) / size
        variances.append(seen * (1.0 - seen) / (support.p - support.q) ** 2)
    return float(np.mean(variances))


def published_local(central: Central, people: int, answers: int) -> Epsilon:
    """The local epsilon of randomized response over so many answers, by so many people.

    As the mechanisms' authors calibrated it, from the closed form of Balle, Bell, Gascon, Nissim
    2019, which gives away most of what shuffling is worth; to compare with. The central epsilon
    where the theorem has no solution, or only a smaller one. Source: docs/spec/shuffle.md#1.
    """
    local = balle_local(float(central.epsilon), people, float(central.delta), answers)
    if local is None or local <= float(central.epsilon):
        return central.epsilon
    return Epsilon(Decimal(local).quantize(_DIGITS, rounding=ROUND_FLOOR))


@dataclass(frozen=True)
class MarginalOptions:
    """ways: attributes per marginal, 0 for those of the workload.

    calibration: of local budgets in the shuffle model; "published" as the authors did.
    """

    ways: int = 1
    calibration: Literal["tight", "published"] = "tight"


@dataclass(frozen=True)
class HashOptions(MarginalOptions):
    """values: of the hash functions; 0 for as many as are best."""

    values: int = 0


class MarginalRecipe(Recipe[O]):
    """COUNT over private dimensions, in the shuffle model or without."""

    takes = Takes(measures=False)
    calibrates = True


class Marginals(MarginalRecipe[MarginalOptions]):
    """One line of the table above.

    oracle: a key of `MAKERS`.  visible: see `MarginalDesign`.
    """

    def __init__(self, name: str, oracle: str, visible: bool = False) -> None:
        self.name, self.oracle, self.visible = name, oracle, visible
        self.options = HashOptions if oracle == "solh" else MarginalOptions

    def make(self, task: Task[MarginalOptions]) -> MarginalDesign:
        """Every marginal at the whole epsilon."""
        table = self._table(task)
        values = self._hash_values(task) or self._values(table, task.epsilon)
        return checked(self._design(task.domain, table, task.epsilon, values))

    def calibrate(self, task: Task[MarginalOptions], central: Central) -> MarginalDesign:
        """See `Recipe.calibrate`."""
        table = self._table(task)

        def start(values: int) -> MarginalDesign:
            return self._design(task.domain, table, central.epsilon, values)

        def common(first: MarginalDesign) -> MarginalDesign:
            return at(first, largest_local(lambda e: at(first, e).blankets(), central))

        if self.oracle == "solh":
            values = self._hash_values(task)
            chosen = (
                common(start(values)) if values else best_hash_values(lambda v: common(start(v)))
            )
            return checked(chosen)
        first = start(self._values(table, central.epsilon))
        if task.options.calibration == "published":
            people = central.people // len(table.groups) if self.visible else central.people
            answers = table.sizes if self.visible else (max(table.sizes),) * len(table.sizes)
            published = tuple(published_local(central, people, size) for size in answers)
            return checked(with_budgets(first, published))
        if not self.visible:
            return checked(common(first))
        budgets = {
            size: largest_local(partial(_alone, first, table.sizes.index(size)), central)
            for size in set(table.sizes)
        }
        return checked(with_budgets(first, tuple(budgets[size] for size in table.sizes)))

    def _table(self, task: Task[MarginalOptions]) -> GroupTable:
        """The marginals; SurveyError for a published calibration that there is not."""
        if task.options.calibration == "published":
            if self.oracle == "sue":
                raise SurveyError(
                    "sue-ms as published counts on every bit's being shuffled alone; here the bits "
                    "of a person travel together, and its bound does not hold for them: at 10^6 "
                    "people, epsilon 1 and delta 10^-6 the real delta is 0.48. Leave out "
                    "calibration"
                )
            if self.oracle not in ("grr", "padded") or self.name == "srr-ss":
                raise SurveyError(
                    f"{self.name} has no published calibration; leave out calibration"
                )
        marginals = choose_marginals(task.domain, task.options.ways, task.workload)
        return group_marginals(task.domain, marginals)

    def _hash_values(self, task: Task[MarginalOptions]) -> int:
        return task.options.values if isinstance(task.options, HashOptions) else 0

    def _values(self, table: GroupTable, epsilon: Epsilon) -> int:
        """Answers of a padded domain, hash values of OLH; 0 for the others."""
        if self.oracle == "padded":
            return max(table.sizes)
        return max(2, math.floor(epsilon.odds + 1)) if self.oracle == "solh" else 0

    def _design(
        self, domain: RecordDomain, table: GroupTable, epsilon: Epsilon, values: int
    ) -> MarginalDesign:
        budgets = (epsilon,) * len(table.groups)
        return MarginalDesign(
            self.name, domain, epsilon, table, self.oracle, budgets, values, self.visible
        )

    def remake(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> MarginalDesign:
        """See `Recipe.remake`."""
        if data["oracle"] != self.oracle:
            raise SurveyError(f"{self.name} uses the oracle {self.oracle}")
        budgets = tuple(map(Epsilon.parse, data["budgets"]))
        first = self._design(domain, restored_table(domain, data), epsilon, whole(data["values"]))
        return checked(replace(first, budgets=budgets))


def at(design: MarginalDesign, epsilon: Epsilon) -> MarginalDesign:
    """The same design with another local epsilon for every marginal."""
    return replace(design, epsilon=epsilon, budgets=(epsilon,) * len(design.budgets))


def with_budgets(design: MarginalDesign, budgets: tuple[Epsilon, ...]) -> MarginalDesign:
    """The same design with a local epsilon per marginal."""
    largest = max(budgets, key=lambda budget: budget.value)
    return replace(design, epsilon=largest, budgets=budgets)


def _alone(design: MarginalDesign, group: int, epsilon: Epsilon) -> tuple[Blanket, ...]:
    """The blanket of one marginal at an epsilon."""
    return (at(design, epsilon).blanket_of(group),)


SRR_SS = Marginals("srr-ss", "grr")
PSRR_SS = Marginals("psrr-ss", "padded")
SOLH = Marginals("solh", "solh")
SRR_MS = Marginals("srr-ms", "grr", visible=True)
SUE_MS = Marginals("sue-ms", "sue", visible=True)
OUE_MS = Marginals("oue-ms", "oue", visible=True)
