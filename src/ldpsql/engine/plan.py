"""Public. Sees parameters. What becomes of a base query on its way to an answer.

    Query --boxes--> Plan --disjoin--> Plan --cells--> Plan

Every pass takes a plan and returns a plan (`rewrite.PASSES`); `explain` prints any of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ldpsql import domains
from ldpsql.boxes import Box, LinearQuery, Weight
from ldpsql.parser.query import Query
from ldpsql.survey import Survey
from ldpsql_device.schema import Schema
from ldpsql_device.types import Value


@dataclass(frozen=True)
class Target:
    """A sum that the reports must give: people (both None), a private measure, or a weight.

    present: index of a dimension that must not be NULL (COUNT(column)), or None.
    """

    measure: int | None = None
    weight: Weight | None = None
    present: int | None = None


@dataclass(frozen=True)
class Slice:
    """The people who satisfy one public condition, and the private boxes asked of them.

    condition: DuckDB SQL over the public columns, or None for everybody. The conditions of a
    plan's slices exclude one another.
    boxes: the private part of WHERE; may overlap before `disjoin`, are disjoint after it.
    """

    condition: str | None
    boxes: tuple[Box, ...]


@dataclass(frozen=True)
class Plan:
    """How one base query will be answered.

    public_keys: GROUP BY columns that are public, with their names in the relation.
    private_rows: one per combination of private GROUP BY keys: the key values and the box that
    they stand for (a single row with no keys where nothing is grouped).
    targets: what each row needs; the arithmetic of the query is over these.
    planned: after `cells`, planned[slice][row][target] is the design's form of the linear query.
    """

    survey: Survey
    query: Query
    slices: tuple[Slice, ...]
    public_keys: tuple[str, ...]
    private_rows: tuple[tuple[tuple[Value | None, ...], Box], ...]
    targets: tuple[Target, ...]
    planned: tuple[tuple[tuple[Any, ...], ...], ...] = ()

    def with_slices(self, slices: tuple[Slice, ...]) -> Plan:
        """The same plan with other slices."""
        return replace(self, slices=slices)

    def linear(self, piece: Slice, row: Box, target: Target) -> LinearQuery:
        """The linear query for one target in one row of one slice."""
        return linear(piece, row, target, self.survey.schema)


def linear(piece: Slice, row: Box, target: Target, schema: Schema) -> LinearQuery:
    """The linear query for one target in one row of one slice of a question to a schema."""
    boxes = [box & row for box in piece.boxes]
    if target.present is not None:
        sides = list(Box.whole(len(schema.dimensions)).sides)
        sides[target.present] = domains.present_codes(schema.dimensions[target.present])
        boxes = [box & Box(tuple(sides)) for box in boxes]
    sizes = schema.record_domain.sizes
    terms = tuple((1.0, box.normal(sizes)) for box in boxes if not box.is_empty)
    return LinearQuery(terms, target.measure, target.weight)
