"""Public. Sees parameters. A linear query in terms of the nodes of groups."""

from __future__ import annotations

from dataclasses import dataclass

from ldpsql.boxes import Box, LinearQuery, Weight
from ldpsql.decoders.base import PlannedQuery
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
class CellQuery(PlannedQuery):
    """What `LevelDesign.prepare` makes of a linear query.

    known: coefficient of what is known without asking: the number of people, or the total of
    the weight.  alternatives: independent ways to answer the rest, one per frame.  is_asked:
    whether there is a rest.
    """

    known: float
    is_asked: bool
    alternatives: tuple[Alternative, ...]
    weight: Weight | None


def split_known(query: LinearQuery) -> tuple[float, list[tuple[float, Box]]]:
    """What is known without asking, and the (coefficient, box) terms that must be asked.

    known: coefficient of the number of people, or of the total of the weight, from the boxes that
    hold everybody. The sum of a private measure over everybody is not known.
    """
    boxes = [(share, box) for share, box in query.terms if not box.is_empty]
    if query.measure is not None:
        return 0.0, boxes
    known = sum(share for share, box in boxes if box.is_whole)
    return known, [(share, box) for share, box in boxes if not box.is_whole]


def known_lines(known: float) -> list[str]:
    """For EXPLAIN: what is known without asking."""
    return [f"known exactly: {known:g} x all reports"] if known else []
