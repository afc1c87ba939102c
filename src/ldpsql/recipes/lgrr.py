"""LGRR and LGRR-FD exactly as published (NOT PRIVATE).

A person picks one node uniformly on the own path (the own node in every level combination of a
sub-survey), replaces it by randomized response *among the nodes of the same path*, and adds `fakes`
nodes drawn uniformly from the whole forest; the collection is sent without order. So what is sent
is uniform on the path whatever epsilon, and every report contains a true ancestor of the record: it
may be possible under one record and impossible under another, and nothing is promised. LGRR has no
fakes, leaves out the leaf level of every tree, and answers a leaf as its share of the parent
("virtual leaves"). They are here because they were published, and to be compared with; a survey
with them must say `accept_no_guarantee = true`. The repair is a row of `recipes.hierarchical`.
Source: H4MDA (Sci. Sin. Inform. 53, 2023), Algorithms 3 and 4; specification:
docs/spec/h4mda.md#8, docs/spec/h4mda.md#9, docs/spec/h4mda.md#11.
"""

from __future__ import annotations

from dataclasses import dataclass

from ldpsql.decoders.base import AnyDesign
from ldpsql.decoders.groups import GroupTable, weigh_evenly, whole
from ldpsql.decoders.paths import LgrrDesign, forests_of
from ldpsql.recipes.base import AnyOptions, Recipe, Task
from ldpsql.recipes.hierarchical import TreeOptions, signed_combinations, trees_for
from ldpsql.recipes.oracles import odds_words, record_sizes
from ldpsql.record_domain import RecordDomain
from ldpsql.trees import balanced
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import Face, Keep, Part, Plan, Step

LARGEST_FAKES, LARGEST_FOREST = 8, 1 << 24


@dataclass(frozen=True)
class FakeOptions(TreeOptions):
    """fakes: fake nodes per report."""

    fakes: int = 1


class Lgrr(Recipe[TreeOptions]):
    """LGRR with virtual leaves: COUNT, and SUM and AVG of private measures. Not private."""

    name = "lgrr"
    estimator_names = ("by_share", "published")
    options = TreeOptions

    def make(self, task: Task[TreeOptions]) -> AnyDesign:
        """As LGRR-FD, without leaves and fakes.

        A dimension that one level of `fanout` nodes would cover gets a binary tree, for without
        its leaves nothing else would be left of it.
        """
        trees = tuple(
            tree if len(tree.fanouts) > 1 else balanced(tree.size, 2)
            for tree in trees_for(task.domain, task.options)
        )
        inner = [
            combination
            for combination in signed_combinations(task.domain, trees, root=True)
            if not any(
                level and level == len(tree.fanouts)
                for level, tree in zip(combination[0], trees, strict=True)
            )
        ]
        table = GroupTable(trees, weigh_evenly(inner))
        if max(table.sizes) == 1:
            raise SurveyError(
                "lgrr leaves out the leaves, and nothing but the roots is left; a dimension needs "
                "three codes or more"
            )
        return build(self.name, task.domain, task.epsilon, table, 0, True)

    def remake(self, domain: RecordDomain, epsilon: Epsilon, data: AnyOptions) -> AnyDesign:
        """From the design's data."""
        table, leafless = GroupTable.from_json(domain, data), data["virtual_leaves"] is True
        return build(self.name, domain, epsilon, table, whole(data["fakes"]), leafless)


class LgrrFd(Lgrr):
    """LGRR with fake nodes."""

    name = "lgrr-fd"
    estimator_names = ("unbiased", "published")
    options = FakeOptions

    def make(self, task: Task[TreeOptions]) -> AnyDesign:
        """One sub-survey per measure, a path through all its level combinations."""
        assert isinstance(task.options, FakeOptions)
        trees = trees_for(task.domain, task.options)
        chosen = signed_combinations(task.domain, trees, root=True)
        table = GroupTable(trees, weigh_evenly(chosen))
        return build(self.name, task.domain, task.epsilon, table, task.options.fakes, False)


def build(
    name: str,
    domain: RecordDomain,
    epsilon: Epsilon,
    table: GroupTable,
    fakes: int,
    virtual_leaves: bool,
) -> LgrrDesign:
    """A design: per sub-survey a face whose secret step is the place on the path.

    A uniform pick followed by randomized response among the picks is a uniform pick: epsilon has
    no effect on devices (docs/spec/h4mda.md#11, rows 2 and 3).
    """
    if not 0 <= fakes <= LARGEST_FAKES:
        raise SurveyError(f"fakes must lie between 0 and {LARGEST_FAKES}, not {fakes}")
    forests = forests_of(table, fakes, epsilon)
    if max(forest.nodes for forest in forests) > LARGEST_FOREST:
        raise SurveyError(
            f"the forest has more than {LARGEST_FOREST} nodes; use coarser bins or fewer dimensions"
        )
    faces = []
    for forest in forests:
        digit = table.digit(forest.groups, plus=forest.starts.tolist(), radix=forest.nodes)
        places = (Step((1,) * forest.path, secret=True),) if forest.path > 1 else ()
        faces.append(Face(1, (Part((digit,), Keep(), fakes=fakes),), places))
    plan = Plan(record_sizes(domain), (odds_words(epsilon),), tuple(faces))
    return LgrrDesign(name, domain, epsilon, plan, table, fakes, virtual_leaves)


LGRR, LGRR_FD = Lgrr(), LgrrFd()
