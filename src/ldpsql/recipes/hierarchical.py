"""The mechanisms that ask about one node of trees over the dimensions, by a frequency oracle.

They differ in which groups there are (a level combination, with or without the sign of a measure)
and in the oracle; each is a row at the end of this file. The combination of all roots carries no
information and is left out unless an option asks for it (`root`, the papers' form).

name           groups                                                    source
hio            every level combination; counts only                      Wang et al. 2019
ahio           besides, each with the sign of every measure              Xu et al. 2020
ehio           per measure a sub-survey, its sign embedded in the trees  Xu et al. 2020
hgrr           as ehio, by GRR                                           H4MDA 2023, Algorithm 2
hh             as ehio, of one dimension, by OUE or HRR                  Cormode et al. 2019
lgrr-repaired  as ehio, by GRR, in proportion to K + e^epsilon - 1       H4MDA 2023, repaired
grr, olh, oue  all combinations of codes at once, per measure with its sign

Specification: docs/spec/h4mda.md#3, docs/spec/h4mda.md#4, docs/spec/h4mda.md#5,
docs/spec/h4mda.md#7, docs/spec/h4mda.md#9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from ldpsql.decoders.base import AnyDesign
from ldpsql.decoders.consistent import ConsistentDesign
from ldpsql.decoders.groups import (
    Combination,
    Group,
    GroupTable,
    all_levels,
    weigh_evenly,
    weigh_sub_surveys_evenly,
)
from ldpsql.decoders.linear import Moments
from ldpsql.decoders.nodes import NodeDesign
from ldpsql.recipes.allocation import allocation_for
from ldpsql.recipes.base import AnyOptions, NoOptions, Promise, Recipe, Takes, Task, read_options
from ldpsql.recipes.oracles import kind_for, oracle_for, plan_of_groups, sort_by_oracle
from ldpsql.record_domain import RecordDomain
from ldpsql.trees.hierarchy import Leaves, Tree, balanced, padded
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError

TREES: Mapping[str, Callable[[int, int], Tree]] = {"balanced": balanced, "padded": padded}
DESIGNS: Mapping[str, type[NodeDesign | ConsistentDesign]] = {
    "direct": NodeDesign,
    "consistent": ConsistentDesign,
}
_FANOUTS = (5, 4, 2)
_MOST_COMBINATIONS, _MOST_CELLS = 100, 1 << 13


ANY_DOMAIN = Takes()


# -- options --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TreeOptions:
    """How the codes of every dimension are cut into nodes.

    fanout: children per node, at most.  tree: "balanced", or "padded" for the same everywhere.
    """

    fanout: int = 5
    tree: Literal["balanced", "padded"] = "balanced"


class Grouped(Protocol):
    """Options of a mechanism with groups of nodes."""

    @property
    def fanout(self) -> int:
        """See `TreeOptions`."""
        ...

    @property
    def tree(self) -> str:
        """See `TreeOptions`."""
        ...

    @property
    def allocation(self) -> str:
        """How many users each group gets: "uniform", or "optimal" for the workload."""
        ...

    @property
    def inference(self) -> str:
        """From the nodes that cover a box ("direct"), or by least squares ("consistent")."""
        ...

    @property
    def oracle(self) -> str:
        """The frequency oracle."""
        ...

    @property
    def root(self) -> bool:
        """Whether the combination of all roots is asked for, too."""
        ...


@dataclass(frozen=True)
class GrrOptions(TreeOptions):
    """Options of mechanisms that answer by GRR; see `Grouped`."""

    allocation: Literal["uniform", "optimal"] = "uniform"
    inference: Literal["direct", "consistent"] = "direct"

    @property
    def oracle(self) -> str:
        """Always this one."""
        return "grr"

    @property
    def root(self) -> bool:
        """Never."""
        return False


@dataclass(frozen=True)
class OracleOptions(GrrOptions):
    """Options of mechanisms with any oracle; see `Grouped`."""

    oracle: Literal["grr", "olh", "oue", "hrr", "auto"] = "olh"
    root: bool = False


@dataclass(frozen=True)
class HhOptions(GrrOptions):
    """Options of hh; see `Grouped`."""

    oracle: Literal["oue", "hrr"] = "oue"


@dataclass(frozen=True)
class RepairedOptions(TreeOptions):
    """Options of lgrr-repaired; see `Grouped`. allocation: "forest" as randomized response over
    all nodes of a sub-survey gives; another one makes it hgrr with its root group."""

    allocation: Literal["forest", "uniform", "optimal"] = "forest"
    inference: Literal["direct", "consistent"] = "direct"

    @property
    def oracle(self) -> str:
        """Always this one."""
        return "grr"

    @property
    def root(self) -> bool:
        """Always."""
        return True


def trees_for(domain: RecordDomain, options: TreeOptions | Grouped) -> tuple[Tree, ...]:
    """A tree for every dimension."""
    return tuple(TREES[options.tree](size, options.fanout) for size in domain.sizes)


# -- groups ---------------------------------------------------------------------------------------

Rule = Callable[[RecordDomain, Sequence[Tree], bool], tuple[Group, ...]]
"""The groups for a domain and its trees; whether that of all roots is one of them."""


def collect_unsigned(
    domain: RecordDomain, trees: Sequence[Tree], root: bool, *, signed: bool = False
) -> tuple[Group, ...]:
    """Every level combination without a sign; all roots also where nothing else is asked.

    signed: whether groups with a sign will be asked besides.
    """
    levels = all_levels(trees)
    is_only = len(levels) == 1 and not signed
    return weigh_evenly((each, None, 0) for each in (levels if root or is_only else levels[1:]))


def collect_augmented(domain: RecordDomain, trees: Sequence[Tree], root: bool) -> tuple[Group, ...]:
    """Per level combination one shared group, as likely as all its signed ones together."""
    measures = range(len(domain.bounds))
    shared = collect_unsigned(domain, trees, root, signed=bool(measures))
    return (
        *(Group(group.levels, None, 0, max(len(measures), 1)) for group in shared),
        *(Group(levels, sign, 0) for levels in all_levels(trees) for sign in measures),
    )


def collect_embedded(domain: RecordDomain, trees: Sequence[Tree], root: bool) -> tuple[Group, ...]:
    """One sub-survey per measure, one group per level combination of its signed trees."""
    return weigh_sub_surveys_evenly(signed_combinations(domain, trees, root=root))


def signed_combinations(
    domain: RecordDomain, trees: Sequence[Tree], *, root: bool
) -> Iterator[Combination]:
    """(levels, sign, sub-survey) of every sub-survey; with `root` also all roots without a sign.

    The signed tree of a dimension has its root without a sign, and every level of the plain tree
    with one; a measure that is not a dimension has a tree of root and sign. Without measures there
    is one sub-survey of plain trees.
    """
    if not domain.bounds:
        groups = collect_unsigned(domain, trees, root)
        yield from ((group.levels, None, 0) for group in groups)
        return
    for measure, dimension in enumerate(domain.measured):
        for levels in all_levels(trees):
            at_root = dimension is None or levels[dimension] == 0
            if at_root and (root or any(levels)):
                yield levels, None, measure
            yield levels, measure, measure


def moments_of(table: GroupTable, oracle: str, epsilon: Epsilon) -> list[Moments]:
    """Second moments of a report's contributions, per group."""
    by_size = {
        size: oracle_for(kind_for(oracle, size, epsilon), size, epsilon).moments
        for size in set(table.sizes)
    }
    return [by_size[size] for size in table.sizes]


def forest_shares(table: GroupTable, epsilon: Epsilon) -> np.ndarray:
    """What randomized response over all nodes of a sub-survey gives each level combination."""
    numbers = np.array([group.sub_survey for group in table.groups])
    odds = np.array(table.sizes) + float(epsilon.odds) - 1.0
    totals = np.bincount(numbers, odds)
    return np.asarray(odds / totals[numbers] / len(totals))


# -- recipes --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hierarchical(Recipe[Grouped]):
    """COUNT over private dimensions, and SUM and AVG of private measures unless `takes` says no.

    collect: its groups.
    """

    name: str
    collect: Rule
    options: type[Grouped]
    takes: Takes = ANY_DOMAIN

    def make(self, task: Task[Grouped]) -> AnyDesign:
        """Groups allocated to users as the options say."""
        domain, epsilon, options = task.domain, task.epsilon, task.options
        trees = trees_for(domain, options)
        table = GroupTable(trees, self.collect(domain, trees, options.root))
        if options.allocation == "forest":
            table = table.reweigh(forest_shares(table, epsilon))
        elif options.allocation == "optimal":
            moments = moments_of(table, options.oracle, epsilon)
            best = allocation_for(table, moments, task.asked, options.inference)
            table = table.reweigh(best.optimal())
        return self._build(domain, epsilon, table, options.oracle, options.inference)

    def remake(self, domain: RecordDomain, epsilon: Epsilon, data: AnyOptions) -> AnyDesign:
        """From the design's data."""
        check_oracle(self, data["oracle"])
        table = GroupTable.from_json(domain, data)
        return self._build(domain, epsilon, table, data["oracle"], data.get("inference", "direct"))

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

    def variants(self, workload: Workload, promise: Promise, people: int) -> Iterator[AnyOptions]:
        """The defaults; for small domains least squares with several fan-outs.

        Consistent inference decodes every cell, so it is tried for small domains only.
        """
        return tree_variants(self.options, workload)


def tree_variants(options: type[Grouped], workload: Workload) -> Iterator[AnyOptions]:
    """Options worth trying for mechanisms over trees: see `Hierarchical.variants`."""
    sizes = workload.domain.sizes
    yield {}
    if math.prod(sizes) > _MOST_CELLS:
        return
    best: dict[str, object] = {"inference": "consistent", "allocation": "optimal"}
    try:
        read_options(options, {"oracle": "auto"}, "")
        best["oracle"] = "auto"
    except SurveyError:
        pass  # it has no choice of oracles, or not this one
    for fanout in _FANOUTS:
        combinations = math.prod(
            1 + math.ceil(math.log(size, fanout)) if size > 1 else 1 for size in sizes
        )
        if combinations <= _MOST_COMBINATIONS:
            yield {"fanout": fanout, **best}


def check_oracle(recipe: Recipe[Grouped], oracle: str) -> None:
    """SurveyError unless a recipe's designs may have this oracle."""
    if oracle != recipe.options().oracle:
        read_options(recipe.options, {"oracle": oracle}, recipe.name)


@dataclass(frozen=True)
class Flat(Recipe[NoOptions]):
    """One frequency oracle over all combinations of codes; `name` is that of the oracle.

    The right choice for one or two dimensions of few codes; ranges add up the noise of every
    code. With private measures, each user reports one of them as a sign beside the codes.
    """

    name: str

    def make(self, task: Task[NoOptions]) -> AnyDesign:
        """One group of all codes, or one per measure with its sign."""
        trees = tuple(Leaves(size) for size in task.domain.sizes)
        levels = tuple(0 for _ in trees)
        signs: list[int | None] = [*range(len(task.domain.bounds))] or [None]
        groups = weigh_evenly((levels, sign, number) for number, sign in enumerate(signs))
        return self._build(task.domain, task.epsilon, GroupTable(trees, groups))

    def remake(self, domain: RecordDomain, epsilon: Epsilon, data: AnyOptions) -> AnyDesign:
        """From the design's data."""
        if data["oracle"] != self.name or "inference" in data:
            raise SurveyError(f"the design does not fit {self.name}")
        return self._build(domain, epsilon, GroupTable.from_json(domain, data))

    def _build(self, domain: RecordDomain, epsilon: Epsilon, table: GroupTable) -> NodeDesign:
        plan = plan_of_groups(domain, table, self.name, epsilon)
        return NodeDesign(self.name, domain, epsilon, plan, table, self.name)


ONE_DIMENSION = Takes(dimensions=(1, 1), instead="hio, ahio or ehio")

HIO = Hierarchical("hio", collect_unsigned, OracleOptions, Takes(measures=False))
AHIO = Hierarchical("ahio", collect_augmented, OracleOptions)
EHIO = Hierarchical("ehio", collect_embedded, OracleOptions)
HGRR = Hierarchical("hgrr", collect_embedded, GrrOptions)
HH = Hierarchical("hh", collect_embedded, HhOptions, ONE_DIMENSION)
LGRR_REPAIRED = Hierarchical("lgrr-repaired", collect_embedded, RepairedOptions)
GRR, OLH, OUE = Flat("grr"), Flat("olh"), Flat("oue")
