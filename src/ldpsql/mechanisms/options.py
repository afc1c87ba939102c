"""Public. Sees parameters. Reading a mechanism's options and its design's JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldpsql.errors import SurveyError
from ldpsql.mechanisms.groups import Group, GroupTable
from ldpsql.mechanisms.levels import LevelDesign
from ldpsql.privacy import Epsilon
from ldpsql.schema import RecordDomain
from ldpsql.trees.hierarchy import Hierarchy, Leaves, Tree, balanced

DEFAULT_FANOUT = 5


def take(options: Mapping[str, Any], known: Mapping[str, Any], mechanism: str) -> dict[str, Any]:
    """The options with their defaults; SurveyError for an unknown one or one of another type."""
    for key, value in options.items():
        if key not in known:
            names = ", ".join(known) or "none"
            raise SurveyError(f"{mechanism} has no option {key!r}; it knows: {names}")
        if type(value) is not type(known[key]):
            raise SurveyError(f"option {key} of {mechanism} must be like {known[key]!r}")
    return {**known, **options}


def trees_for(domain: RecordDomain, fanout: int) -> tuple[Tree, ...]:
    """A balanced tree for every dimension."""
    return tuple(balanced(size, fanout) for size in domain.sizes)


def no_measures(domain: RecordDomain, mechanism: str) -> None:
    """Refuse private measures where a mechanism has no place for them."""
    if domain.measure_names:
        raise SurveyError(
            f"{mechanism} takes no private measure ({domain.measure_names[0]}); declare it "
            "public, or use ahio, ehio or hgrr"
        )


def restore(
    name: str, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
) -> LevelDesign:
    """A level design from what its `to_json` wrote."""
    trees: tuple[Hierarchy, ...]
    if "fanouts" in data:
        pairs = zip(domain.sizes, data["fanouts"], strict=True)
        trees = tuple(Tree(size, tuple(fanouts)) for size, fanouts in pairs)
    else:
        trees = tuple(Leaves(size) for size in domain.sizes)
    groups = tuple(
        Group(tuple(levels), sign, frame, int(weight))
        for levels, sign, frame, weight in data["groups"]
    )
    for group in groups:
        fits = len(group.levels) == len(trees) and all(
            0 <= level < len(tree.counts) for level, tree in zip(group.levels, trees, strict=True)
        )
        if not fits or not (group.sign is None or 0 <= group.sign < len(domain.bounds)):
            raise SurveyError("a group of the design does not fit the schema")
    return level_design(name, domain, epsilon, trees, groups, data["oracle"])


def level_design(
    name: str,
    domain: RecordDomain,
    epsilon: Epsilon,
    trees: tuple[Hierarchy, ...],
    groups: tuple[Group, ...],
    oracle: str,
) -> LevelDesign:
    """A level design; the fan-outs are kept for its JSON."""
    design = LevelDesign(name, domain, epsilon, GroupTable(trees, groups), oracle)
    design.oracles.limits  # noqa: B018  an oracle that cannot serve the groups says so at birth
    return design
