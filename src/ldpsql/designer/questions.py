"""Public. Sees parameters. The SQL of a workload as declared queries.

The same parser and the same first passes of the engine read it as will read the analyst's
questions, so that what is designed for is what will be asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeVar

from ldpsql.aggregates import Aggregate, Target, aggregates, targets_of
from ldpsql.boxes import Box
from ldpsql.engine.plan import Slice, linear
from ldpsql.engine.rewrite.boxes import rows, slices
from ldpsql.engine.rewrite.disjoin import disjoint
from ldpsql.parser import parse
from ldpsql.parser.query import Query
from ldpsql.workload import DeclaredQuery
from ldpsql_device.errors import QueryError, UnsupportedSQL
from ldpsql_device.schema import Schema

MOST_PARTS = 256
AVG_COUNT, AVG_SUM = 0.25, 0.75
"""How an AVG weighs its COUNT and its sum about the middle (specification fourier, section 7)."""

_Entry = TypeVar("_Entry")


@dataclass(frozen=True)
class Draft:
    """A survey that can be asked before there is a design."""

    table: str
    schema: Schema


@dataclass(frozen=True)
class _Wanted:
    """A sum over people that an aggregate needs, with its share of the aggregate."""

    share: float
    target: Target
    level: float = 1.0
    contrast: float = 0.0


def declared(sql: str, number: int, draft: Draft) -> tuple[DeclaredQuery, ...]:
    """The declared queries of one SQL text, their weights summing to 1.

    Every base query and every aggregate in it counts alike, and so does every row of its private
    GROUP BY and every slice of public conditions (at most MOST_PARTS, taken evenly). What is
    known exactly anyway is left out. number: how an error names the text. QueryError and
    UnsupportedSQL carry the place in it.
    """
    try:
        statement = parse(sql, None, lambda name: _survey(name, draft))
        found = [
            replace(query, weight=query.weight / len(statement.bases))
            for base in statement.bases
            for query in _base(base, draft.schema, sql)
        ]
        if not found:
            raise QueryError(
                "it asks for nothing that reports must tell",
                hint="COUNT(*) of everybody is exact, and what cannot match is 0; leave it out",
            )
    except (QueryError, UnsupportedSQL) as error:
        raise type(error)(
            f"[workload] query {number}: {error.reason}",
            sql=error.sql,
            place=error.place,
            hint=error.hint,
        ) from None
    total = sum(query.weight for query in found)
    return tuple(replace(query, weight=query.weight / total) for query in found)


def evenly(entries: Sequence[_Entry], most: int) -> list[_Entry]:
    """All entries, or `most` of them at even distances."""
    if len(entries) <= most:
        return list(entries)
    return [entries[(2 * i + 1) * len(entries) // (2 * most)] for i in range(most)]


def _survey(name: str, draft: Draft) -> Draft:
    if name.lower() != draft.table.lower():
        raise QueryError(
            f"a workload cannot ask {name}", hint=f"it asks its own survey: FROM {draft.table}"
        )
    return draft


def _base(query: Query, schema: Schema, sql: str) -> Iterator[DeclaredQuery]:
    sizes = schema.record_domain.sizes
    pieces = [
        Slice(piece.condition, disjoint(piece.boxes, sizes))
        for piece in slices(query.predicate, schema, sql)
    ]
    parts = evenly(
        list(product(pieces, (box for _, box in rows(query.keys, schema, sql)))), MOST_PARTS
    )
    asked = {
        (aggregate.function, aggregate.column): aggregate
        for column in query.columns
        for aggregate in aggregates(column.expression)
    }
    for aggregate in asked.values():
        for wanted in _wanted(aggregate, schema):
            share = wanted.share / (len(asked) * len(parts))
            for piece, row in parts:
                yield from _part(piece, row, wanted, share, schema)


def _part(
    piece: Slice, row: Box, wanted: _Wanted, share: float, schema: Schema
) -> Iterator[DeclaredQuery]:
    """One sum of one row of one slice, unless it is known exactly."""
    query = linear(piece, row, wanted.target, schema)
    is_exact = query.measure is None and any(box.is_whole for _, box in query.terms)
    if query.terms and not is_exact:
        terms = tuple((coefficient, box.sides) for coefficient, box in query.terms)
        yield DeclaredQuery(share, terms, query.measure, wanted.level, wanted.contrast)


def _wanted(aggregate: Aggregate, schema: Schema) -> list[_Wanted]:
    targets = targets_of(aggregate, schema)
    measure = targets[0].measure
    if measure is None:
        return [_Wanted(1.0, targets[-1])]
    if aggregate.function == "AVG":
        total, count = targets
        return [_Wanted(AVG_COUNT, count), _Wanted(AVG_SUM, total, 0.0, 1.0)]
    low, high = schema.measures[measure].bounds
    largest = max(abs(low), abs(high))
    middle, half = (high + low) / 2.0, (high - low) / 2.0
    return [_Wanted(1.0, targets[0], middle / largest, half / largest)]
