"""Public. Sees parameters. A linear query in terms of the nodes of groups."""

from __future__ import annotations

from dataclasses import dataclass

from ldpsql.boxes import Weight
from ldpsql.estimate import Array
from ldpsql.mechanisms.base import Codes


@dataclass(frozen=True, eq=False)
class GroupCells:
    """Nodes of one group and the weight of each, both of shape (c,)."""

    group: int
    nodes: Codes
    weights: Array


Alternative = tuple[GroupCells, ...]


@dataclass(frozen=True, eq=False)
class CellQuery:
    """What `LevelDesign.plan` makes of a linear query.

    known: coefficient of what is known without asking: the number of people, or the total of
    the weight.  alternatives: independent ways to answer the rest, one per frame.  is_asked:
    whether there is a rest.
    """

    known: float
    is_asked: bool
    alternatives: tuple[Alternative, ...]
    weight: Weight | None
