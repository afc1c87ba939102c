"""The SQL of a workload as declared queries.

The same parser and the same first passes of the engine read it as will read the analyst's
questions, so that what is designed for is what will be asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product

from ldpsql.algebra.boxes import Box, CodeSet
from ldpsql.algebra.workload import RATIO_COUNT, RATIO_SUM, DeclaredQuery
from ldpsql.designer.forecast import take_evenly
from ldpsql.errors import QueryError, UnsupportedSQL
from ldpsql.parser import parse
from ldpsql.parser.query import ParsedSQL, Query
from ldpsql.planner.disjoin import find_needed_sides
from ldpsql.planner.plan import (
    amounts_of,
    disjoint_slice,
    find_key_regions,
    linear,
    over_levels,
    rows,
)
from ldpsql.planner.where import slices
from ldpsql.sql.aggregates import (
    Aggregate,
    Amount,
    Target,
    aggregates,
    targets_of,
)
from ldpsql.sql.quoting import Scalar
from ldpsql_device.schema import Schema

MOST_PARTS = 256


@dataclass(frozen=True)
class UndesignedSurvey:
    """A survey whose schema can be asked before there is a design.

    Measures that cannot be missing are such that all may be asked of them: how they are rounded,
    the design decides.
    """

    table: str
    schema: Schema

    def __post_init__(self) -> None:
        measures = (
            m if m.has_null else replace(m, levels=3, rounding="quadratic")
            for m in self.schema.measures
        )
        object.__setattr__(self, "schema", replace(self.schema, measures=tuple(measures)))

    def find(self, name: str) -> UndesignedSurvey:
        """Itself; QueryError for any other table."""
        if name.lower() != self.table.lower():
            raise QueryError(
                f"a workload cannot ask {name}", hint=f"it asks its own survey: FROM {self.table}"
            )
        return self

    def read(self, sql: str) -> ParsedSQL:
        """One SQL text; errors as of `parse`."""
        return parse(sql, None, self.find)


@contextmanager
def _name_question(number: int) -> Iterator[None]:
    """Errors name the text by its number."""
    try:
        yield
    except (QueryError, UnsupportedSQL) as error:
        raise type(error)(
            f"[workload] query {number}: {error.reason}",
            sql=error.sql,
            place=error.place,
            hint=error.hint,
        ) from None


def declare_queries(sql: str, number: int, survey: UndesignedSurvey) -> tuple[DeclaredQuery, ...]:
    """The declared queries of one SQL text, their weights summing to 1; none for a text that asks
    for nothing that reports must tell.

    Every base query and every aggregate in it counts alike, and so does every row of its private
    GROUP BY and every slice of public conditions (at most MOST_PARTS, taken evenly). What is
    known exactly anyway is left out. number: how an error names the text. QueryError and
    UnsupportedSQL carry the place in it.
    """

    with _name_question(number):
        statement = survey.read(sql)
        queries = [
            replace(query, weight=query.weight / len(statement.bases), text=number)
            for base in statement.bases
            for query in _declare(base, survey.schema, sql)
        ]
    total = sum(query.weight for query in queries)
    return tuple(replace(query, weight=query.weight / total) for query in queries)


def find_squared(sql: str, number: int, survey: UndesignedSurvey) -> Iterator[str]:
    """The measures whose squares one SQL text asks for. Errors as for `declare_queries`."""
    with _name_question(number):
        for query in survey.read(sql).bases:
            for column in query.columns:
                for target in targets_of(column.expression, survey.schema):
                    if target.is_square and target.measure is not None:
                        yield survey.schema.measures[target.measure].name


def find_sides(sql: str, number: int, survey: UndesignedSurvey) -> tuple[frozenset[CodeSet], ...]:
    """Per dimension the sets of codes that one SQL text tells from all others: those of its
    conditions, a row of a GROUP BY, a value that is summed; of conditions that nobody meets none.
    Errors as for `declare_queries`.
    """
    sides: list[set[CodeSet]] = [set() for _ in survey.schema.dimensions]
    with _name_question(number):
        for query in survey.read(sql).bases:
            for found in _find_sides(query, survey.schema, sql):
                for own, more in zip(sides, found, strict=True):
                    own.update(more)
    return tuple(map(frozenset, sides))


def _find_sides(query: Query, schema: Schema, sql: str) -> Iterator[Sequence[Iterable[CodeSet]]]:
    """Conditions together, but key by key: each is answered alone before they are joined."""
    pieces = slices(query.predicate, schema, sql, query.filters)
    if any(isinstance(atom, Scalar) for atom in query.atoms):
        # Over bins an expression is answered only where it tells none of their values apart.
        for atom in query.atoms:
            for piece in slices(atom, schema, sql):
                yield from map(_sides_of, piece.boxes)
    else:
        for piece in pieces:
            for boxes in (piece.boxes, *piece.filtered):
                yield find_needed_sides(boxes, _sizes(schema))
    if any(piece.boxes for piece in pieces):
        yield from map(_sides_of, _find_boxes(query, schema, sql))


def _sides_of(box: Box) -> list[tuple[CodeSet, ...]]:
    return [() if side is None else (side,) for side in box.sides]


def _find_boxes(query: Query, schema: Schema, sql: str) -> Iterator[Box]:
    """Of the rows of every key, and of what is summed."""
    for key in query.keys:
        if key.is_private(schema):
            for _, boxes in find_key_regions(key, schema, sql):
                yield from boxes
    for column in query.columns:
        for aggregate in aggregates(column.expression):
            for target in targets_of(aggregate, schema):
                yield from (box for _, box in amounts_of(target, schema, sql))


def _declare(query: Query, schema: Schema, sql: str) -> Iterator[DeclaredQuery]:
    """The sums of one base query: by aggregate, row and slice, unless they are known exactly."""
    sizes = _sizes(schema)
    found = slices(query.predicate, schema, sql, query.filters)
    pieces = [disjoint_slice(piece, sizes) for piece in found if piece.boxes]
    if not pieces:
        return
    boxes = [box for _, box in rows(query, schema, sql)]
    parts = take_evenly(list(product(pieces, boxes)), MOST_PARTS)
    asked = {
        (aggregate.function, aggregate.column, aggregate.filter): aggregate
        for column in query.columns
        for aggregate in aggregates(column.expression)
    }
    for aggregate in asked.values():
        for share, target, *counted in _sums_of(aggregate, schema):
            weight = share / (len(asked) * len(parts))
            amounts = amounts_of(target, schema, sql)
            scaled, level, contrast = _scale(schema, target, *counted)
            largest = max((abs(amount) for amount, _ in amounts), default=1.0)
            for piece, row in parts:
                of_people = linear(piece, row, target, amounts)
                linear_query = over_levels(of_people, target, scaled)
                terms = tuple((factor / largest, box.sides) for factor, box in linear_query.terms)
                is_exact = linear_query.measure is None and any(
                    box.is_whole for _, box in linear_query.terms
                )
                if terms and not is_exact:
                    yield DeclaredQuery(
                        weight,
                        terms,
                        linear_query.measure,
                        level,
                        contrast,
                        is_square=linear_query.is_square,
                    )


def _sums_of(aggregate: Aggregate, schema: Schema) -> list[tuple[float, Target, float, float]]:
    """The sums that an aggregate takes: the share of each, the sum over people, and their level and
    contrast."""
    targets = targets_of(aggregate, schema)
    if any(target.is_square for target in targets):
        # Sums about the middle of the bounds, and of squares about it, weigh alike.
        return [
            (1.0 / len(targets), target, *((0.0, 1.0) if target.is_of_amounts else (1.0, 0.0)))
            for target in targets
        ]
    if not isinstance(aggregate.column, Amount):
        if not targets[0].is_of_amounts:
            return [(1.0, targets[-1], 1.0, 0.0)]
        if len(targets) > 1:
            total, count = targets
            return [(RATIO_COUNT, count, 1.0, 0.0), (RATIO_SUM, total, 0.0, 1.0)]
    return [(1.0 / len(targets), target, *_levels(target, schema)) for target in targets]


def _levels(target: Target, schema: Schema) -> tuple[float, float]:
    """The amount that a person adds to a sum, in units of the largest bound: the middle of the
    bounds, and half their distance more or less by the sign."""
    low, high = target.bounds(schema)
    largest = max(abs(low), abs(high))
    return (high + low) / 2.0 / largest, (high - low) / 2.0 / largest


def _sizes(schema: Schema) -> tuple[int, ...]:
    return tuple(dimension.size for dimension in schema.dimensions)


def _scale(
    schema: Schema, target: Target, level: float, contrast: float
) -> tuple[Schema, float, float]:
    """The schema in which the levels of a target's measure, if that may be missing, stand for what
    a person is to count; with the level and contrast that are left."""
    own = None if target.measure is None else schema.measures[target.measure]
    if own is None or not own.has_null:
        return schema, level, contrast
    if target.is_present:
        return schema, 1.0, 0.0
    scaled = replace(own, bounds=(level - contrast, level + contrast), missing_as=None)
    measures = tuple(scaled if each is own else each for each in schema.measures)
    return replace(schema, measures=measures), 1.0, 0.0
