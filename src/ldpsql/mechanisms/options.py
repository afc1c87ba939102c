"""Reading groups of the older designs from their JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

from ldpsql.decoders.groups import whole
from ldpsql.mechanisms.groups import Group, GroupTable
from ldpsql.mechanisms.oracles import OracleTable
from ldpsql.trees.hierarchy import Hierarchy, Leaves, Tree
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import RecordDomain

__all__ = ["checked", "restored_table", "whole"]


def restored_table(domain: RecordDomain, data: Mapping[str, Any]) -> GroupTable:
    """Trees and groups from what a design's `to_json` wrote."""
    trees: tuple[Hierarchy, ...]
    if "fanouts" in data:
        pairs = zip(domain.sizes, data["fanouts"], strict=True)
        trees = tuple(Tree(size, tuple(map(whole, fanouts))) for size, fanouts in pairs)
    else:
        trees = tuple(Leaves(size) for size in domain.sizes)
    return GroupTable(trees, tuple(_group(entry, trees, domain) for entry in data["groups"]))


def _group(entry: Sequence[Any], trees: Sequence[Hierarchy], domain: RecordDomain) -> Group:
    """A group from its JSON; SurveyError if it does not fit the trees."""
    levels, sign, frame, weight = entry
    group = Group(
        tuple(map(whole, levels)),
        None if sign is None else whole(sign),
        whole(frame),
        int(weight),
    )
    fits = len(group.levels) == len(trees) and all(
        0 <= level < len(tree.counts) for level, tree in zip(group.levels, trees, strict=True)
    )
    if not fits or not (group.sign is None or 0 <= group.sign < len(domain.bounds)):
        raise SurveyError("a group of the design does not fit the schema")
    return group


class _WithOracles(Protocol):
    """A design that answers by frequency oracles."""

    @property
    def oracles(self) -> OracleTable: ...


_Made = TypeVar("_Made", bound=_WithOracles)


def checked(design: _Made) -> _Made:
    """The design, once its oracles have said that they can serve its groups, levels or grids."""
    design.oracles.limits  # noqa: B018  SurveyError at birth rather than at the first report
    return design
