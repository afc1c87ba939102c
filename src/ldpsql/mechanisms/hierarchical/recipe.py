"""The mechanisms that ask about one node of trees over the dimensions, by a frequency oracle.

The combination of all roots carries no information and is left out unless an option asks for it
(`root`, the papers' form). Specification: docs/spec/h4mda.md#3, docs/spec/h4mda.md#4,
docs/spec/h4mda.md#5, docs/spec/h4mda.md#7, docs/spec/h4mda.md#9.

name           groups                                                    source
hio            every level combination; counts only                      Wang et al. 2019
ahio           besides, each with the sign of every measure              Xu et al. 2020
ehio           per measure a sub-survey, its sign embedded in the trees  Xu et al. 2020
hgrr           as ehio, by GRR                                           H4MDA 2023, Algorithm 2
hh             as ehio, of one dimension, by OUE or HRR                  Cormode et al. 2019
lgrr-repaired  as ehio, by GRR, in proportion to K + e^epsilon - 1       H4MDA 2023, repaired
grr, olh, oue, hrr  all combinations of codes at once, per measure with its sign
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ldpsql.algebra.numerics import Array
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import Workload
from ldpsql.estimators.base import AnyDesign
from ldpsql.estimators.consistent import ConsistentDesign
from ldpsql.estimators.groups import Combination, GroupTable, LevelGroup, all_levels, weigh_evenly
from ldpsql.estimators.linear import Moments
from ldpsql.estimators.nodes import FlatDesign, NodeDesign
from ldpsql.estimators.trees import Tree, balance, pad
from ldpsql.mechanisms.base import AnyOptions, NoOptions, Promise, Recipe, Takes, Task, read_options
from ldpsql.mechanisms.hierarchical.allocation import make_allocation
from ldpsql.mechanisms.oracles import (
    choose_oracle,
    make_oracle,
    plan_of_groups,
    sort_by_oracle,
)
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError


def flatten(size: int, _fanout: int) -> Tree:
    """A tree without levels between its root and its codes."""
    return Tree(size, (size,)) if size > 1 else balance(size, _fanout)


TREES = {"balanced": balance, "padded": pad, "flat": flatten}
DESIGNS: Mapping[str, type[NodeDesign | ConsistentDesign]] = {
    "direct": NodeDesign,
    "consistent": ConsistentDesign,
}
ANY_DOMAIN = Takes()
ONE_DIMENSION = Takes(dimensions=(1, 1), instead="hio, ahio or ehio")
_FANOUTS = (5, 4, 2)
_MOST_COMBINATIONS, _MOST_CELLS = 100, 1 << 13


# -- options --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TreeOptions:
    """How the codes of every dimension are cut into nodes.

    fanout: children per node, at most.  tree: "balanced", or "padded" for the same everywhere;
    "flat" for codes right below the root.
    """

    fanout: int = 5
    tree: Literal["balanced", "padded", "flat"] = "balanced"


@dataclass(frozen=True)
class GroupOptions(TreeOptions):
    """Options of mechanisms with groups of nodes; allocation, oracle and root are options of some.

    inference: from the nodes that cover a box ("direct"), or by least squares ("consistent").
    """

    inference: Literal["direct", "consistent"] = "direct"

    @property
    def allocation(self) -> str:
        """How many users each group gets."""
        return "uniform"

    @property
    def oracle(self) -> str:
        """The frequency oracle."""
        return "grr"

    @property
    def root(self) -> bool:
        """Whether the combination of all roots is asked for, too."""
        return False


@dataclass(frozen=True)
class AllocatedOptions(GroupOptions):
    """Options of mechanisms that ask each user about one group.

    allocation: how many users each group gets, evenly or the best for the workload.
    """

    allocation: Literal["uniform", "optimal"] = "uniform"


@dataclass(frozen=True)
class OracleOptions(AllocatedOptions):
    """Options of mechanisms with any oracle."""

    oracle: Literal["grr", "olh", "oue", "hrr", "auto"] = "olh"
    root: bool = False


@dataclass(frozen=True)
class RepairedOptions(AllocatedOptions):
    """Options of lgrr-repaired. allocation: "forest" as randomized response over all nodes of a
    sub-survey gives; another one makes it hgrr with its root group."""

    allocation: Literal["forest", "uniform", "optimal"] = "forest"  # type: ignore[assignment]

    @property
    def root(self) -> bool:
        """Always."""
        return True


def trees_for(domain: RecordDomain, options: TreeOptions) -> tuple[Tree, ...]:
    """A tree for every dimension."""
    return tuple(TREES[options.tree](size, options.fanout) for size in domain.sizes)


# -- groups ---------------------------------------------------------------------------------------

Groups = tuple[LevelGroup, ...]
Rule = Callable[[RecordDomain, Sequence[Tree], bool], Groups]
"""The groups for a domain and its trees; whether that of all roots is one of them."""


def collect_augmented(domain: RecordDomain, trees: Sequence[Tree], root: bool) -> Groups:
    """Every level combination without a sign, as likely as all its signed ones together; all roots
    without a sign also where nothing else is asked."""
    levels, measures = all_levels(trees, domain), range(len(domain.bounds))
    shared = levels if root or (len(levels) == 1 and not measures) else levels[1:]
    return (
        *(LevelGroup(each, None, 0, max(len(measures), 1)) for each in shared),
        *(LevelGroup(each, sign, 0) for each in levels for sign in measures),
    )


def collect_embedded(domain: RecordDomain, trees: Sequence[Tree], root: bool) -> Groups:
    """One sub-survey per measure, one group per level combination of its signed trees."""
    return weigh_evenly(list_signed_combinations(domain, trees, root=root))


def list_signed_combinations(
    domain: RecordDomain, trees: Sequence[Tree], *, root: bool
) -> Iterator[Combination]:
    """(levels, sign, sub-survey) of every sub-survey; with `root` also all roots without a sign.

    The signed tree of a dimension has its root without a sign, and every level of the plain tree
    with one; a measure that is not a dimension has a tree of root and sign. Without measures there
    is one sub-survey of plain trees.
    """
    if not domain.bounds:
        groups = collect_augmented(domain, trees, root)
        yield from ((group.levels, None, 0) for group in groups)
        return
    for measure, dimension in enumerate(domain.measured):
        for levels in all_levels(trees, domain):
            at_root = dimension is None or levels[dimension] == 0
            if at_root and (root or any(levels)):
                yield levels, None, measure
            yield levels, measure, measure


def moments_of(table: GroupTable, oracle: str, epsilon: Epsilon) -> list[Moments]:
    """Second moments of a report's contributions, per group."""
    by_size = {
        size: make_oracle(choose_oracle(oracle, size, epsilon), size, epsilon).moments
        for size in set(table.sizes)
    }
    return [by_size[size] for size in table.sizes]


def forest_shares(table: GroupTable, epsilon: Epsilon) -> Array:
    """The share of each level combination in randomized response over a sub-survey's nodes."""
    numbers = np.array([group.sub_survey for group in table.groups])
    odds = np.array(table.sizes) + float(epsilon.odds) - 1.0
    totals = np.bincount(numbers, odds)
    return np.asarray(odds / totals[numbers] / len(totals))


# -- recipes --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hierarchical(Recipe[GroupOptions]):
    """COUNT over private dimensions, and SUM and AVG of private measures unless `takes` says no.

    collect: its groups.
    """

    name: str
    collect: Rule
    options: type[GroupOptions]
    takes: Takes = ANY_DOMAIN
    estimator_names = ("unbiased",)

    def make(self, task: Task[GroupOptions]) -> AnyDesign:
        """Groups allocated to users as the options say."""
        options, table = task.options, self.tabulate(task)
        if options.allocation == "forest":
            table = table.reweigh(forest_shares(table, task.epsilon))
        elif options.allocation == "optimal":
            moments = moments_of(table, options.oracle, task.epsilon)
            criterion = make_allocation(table, moments, task.asked, options.inference)
            table = table.reweigh(criterion.optimal())
        return self._build(task.domain, task.epsilon, table, options.oracle, options.inference)

    def remake(self, domain: RecordDomain, epsilon: Epsilon, data: AnyOptions) -> AnyDesign:
        """From the design's data."""
        return self._build(domain, epsilon, *self.read(domain, data))

    def read(self, domain: RecordDomain, data: AnyOptions) -> tuple[GroupTable, str, str]:
        """Groups, oracle and inference from a design's data; SurveyError for another oracle."""
        if data["oracle"] != self.options().oracle:
            read_options(self.options, {"oracle": data["oracle"]}, self.name)
        table = GroupTable.from_json(domain, data)
        return table, data["oracle"], data.get("inference", "direct")

    def tabulate(self, task: Task[GroupOptions]) -> GroupTable:
        """The groups before any allocation."""
        trees = trees_for(task.domain, task.options)
        return GroupTable(trees, self.collect(task.domain, trees, task.options.root))

    def _build(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        table: GroupTable,
        oracle: str,
        inference: str,
    ) -> AnyDesign:
        table = sort_by_oracle(table, oracle, epsilon)
        plan = plan_of_groups(domain, table, oracle, epsilon)
        return DESIGNS[inference](self.name, domain, epsilon, plan, table, oracle)

    def least_variance(self, workload: Workload, epsilon: Epsilon) -> float:
        """Where the only variant has as many groups as there are level combinations: each is asked
        of its share of the people, and an answer takes at least one node of one group.

        A node's variance per report is at least E / (E - 1)^2 (randomized response over two nodes).
        """
        if math.prod(workload.domain.sizes) <= _MOST_CELLS:
            return 0.0
        trees = trees_for(workload.domain, self.options())
        combinations = math.prod(len(tree.counts) for tree in trees)
        odds = float(epsilon.odds)
        return (combinations - 1) * odds / (odds - 1.0) ** 2

    def variants(self, workload: Workload, promise: Promise, people: int) -> Iterator[AnyOptions]:
        """The defaults; beside an attribute of very many codes flat trees, which have few groups;
        for small domains least squares with several fan-outs.

        Consistent inference decodes every cell, so it is tried for small domains only.
        """
        sizes = workload.domain.sizes
        yield {}
        if max(sizes, default=0) > _MOST_CELLS and len(sizes) > 1 and self.options is OracleOptions:
            yield {"tree": "flat", "oracle": "auto", "allocation": "optimal"}
        if math.prod(sizes) > _MOST_CELLS:
            return
        best: dict[str, object] = {"inference": "consistent"}
        for option, value in (("allocation", "optimal"), ("oracle", "auto")):
            try:
                read_options(self.options, {option: value}, "")
            except SurveyError:
                continue  # it has no such choice, or not this one
            best[option] = value
        for fanout in _FANOUTS:
            levels = (1 + math.ceil(math.log(s, fanout)) if s > 1 else 1 for s in sizes)
            if math.prod(levels) <= _MOST_COMBINATIONS:
                yield {"fanout": fanout, **best}


@dataclass(frozen=True)
class Flat(Recipe[NoOptions]):
    """One frequency oracle over all combinations of codes; `name` is that of the oracle.

    The right choice for one or two dimensions of few codes; ranges add up the noise of every
    code. With private measures, each user reports one of them as a sign beside the codes.

    instead: an oracle that never has more variance, and that `auto` takes.
    """

    name: str
    instead: str = ""
    estimator_names = ("unbiased",)

    def make(self, task: Task[NoOptions]) -> AnyDesign:
        """One group of all codes, or one per measure with its sign."""
        trees = tuple(map(Tree, task.domain.sizes))
        signs: list[int | None] = [*range(len(task.domain.bounds))] or [None]
        groups = weigh_evenly(((0,) * len(trees), sign, n) for n, sign in enumerate(signs))
        return self._build(task.domain, task.epsilon, GroupTable(trees, groups))

    def reserved(self, workload: Workload) -> str | None:
        """Why `auto` does not take it, where another mechanism has less variance."""
        return f"{self.instead} has less variance; ask for it by name" if self.instead else None

    def remake(self, domain: RecordDomain, epsilon: Epsilon, data: AnyOptions) -> AnyDesign:
        """From the design's data."""
        if data["oracle"] != self.name or "inference" in data:
            raise SurveyError(f"the design does not fit {self.name}")
        return self._build(domain, epsilon, GroupTable.from_json(domain, data))

    def _build(self, domain: RecordDomain, epsilon: Epsilon, table: GroupTable) -> FlatDesign:
        plan = plan_of_groups(domain, table, self.name, epsilon)
        return FlatDesign(self.name, domain, epsilon, plan, table, self.name)


HIO = Hierarchical("hio", collect_augmented, OracleOptions, Takes(measures=False))
AHIO = Hierarchical("ahio", collect_augmented, OracleOptions)
EHIO = Hierarchical("ehio", collect_embedded, OracleOptions)
HGRR = Hierarchical("hgrr", collect_embedded, AllocatedOptions)
LGRR_REPAIRED = Hierarchical("lgrr-repaired", collect_embedded, RepairedOptions)
GRR, OLH, OUE = Flat("grr"), Flat("olh"), Flat("oue")
HRR = Flat("hrr", instead="olh")
