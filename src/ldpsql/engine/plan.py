"""What becomes of a base query on its way to an answer.

    Query --boxes--> QueryPlan --disjoin--> QueryPlan --cells--> QueryPlan

Every pass takes a plan and returns a plan (`rewrite.PASSES`); `explain` prints any of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ldpsql.aggregates import Target
from ldpsql.boxes import Box, LinearQuery, Side, intersect
from ldpsql.decoders.base import PlannedQuery
from ldpsql.parser.query import Query
from ldpsql.record_domain import RecordDomain
from ldpsql.survey import Survey
from ldpsql_device.schema import Schema
from ldpsql_device.values import Value

Key = tuple[Value | None, ...]


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
class QueryPlan:
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
    private_rows: tuple[tuple[Key, Box], ...]
    targets: tuple[Target, ...]
    planned: tuple[tuple[tuple[PlannedQuery, ...], ...], ...] = ()


def linear(piece: Slice, row: Box, target: Target, schema: Schema) -> LinearQuery:
    """The linear query for one target in one row of one slice of a question to a schema."""
    sizes = RecordDomain.of(schema).sizes
    amounts: list[tuple[float, Box]] = [(1.0, row)]
    if target.amounts is not None:
        index, by_codes = target.amounts
        amounts = []
        for amount, codes in by_codes:
            sides: list[Side] = list(row.sides)
            side = sides[index]
            sides[index] = codes if side is None else intersect(side, codes)
            amounts.append((amount, Box(tuple(sides))))
    terms = tuple(
        (amount, (box & part).normal(sizes)) for amount, part in amounts for box in piece.boxes
    )
    kept = tuple((amount, box) for amount, box in terms if amount and not box.is_empty)
    return LinearQuery(kept, target.measure, target.weight)
