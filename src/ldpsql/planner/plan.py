"""The passes that make a plan of a base query.

    Query --boxes--> QueryPlan --disjoin--> QueryPlan --cells--> QueryPlan

`disjoin` comes before `cells`, because a person in two boxes would be counted twice. `explain`
prints the plan after any pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, product
from math import isfinite, prod

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.boxes import (
    Box,
    CodeSet,
    LinearQuery,
    Side,
    Terms,
    cardinality,
    codes_of,
    meet,
    multiply,
)
from ldpsql.algebra.record_domain import space_levels, square_levels
from ldpsql.errors import QueryError, UnsupportedSQL
from ldpsql.estimators.base import CodeDecoder, PlannedQuery
from ldpsql.limits import check, in_time, require_numbers
from ldpsql.parser.query import And, GroupKey, Predicate, Query
from ldpsql.planner.declared import MAX_CELLS, Region, join_schema, pieces, regions
from ldpsql.planner.disjoin import disjoint, too_many_boxes
from ldpsql.planner.where import Slice, slices
from ldpsql.sql import domains
from ldpsql.sql.aggregates import Target, targets_of
from ldpsql.sql.domains import find_dimension
from ldpsql.sql.quoting import Scalar
from ldpsql.survey import Survey
from ldpsql_device.schema import Measure, Schema
from ldpsql_device.values import Value

MAX_ROWS, MAX_CODES = 100_000, 1 << 20
"""Rows of a GROUP BY, and of one by a single dimension."""
_MANY_CODES, _MOST_KINDS = 256, 64
"""Rows from which on all are answered at once, where the design can; by how many kinds of them."""
_MAX_STEPS = 2_000_000
_ROWS_AT_ONCE = 16

Key = tuple[Value | None, ...]
Row = tuple[Key, tuple[Box, ...]]

_LARGEST_AMOUNT = 1e100
"""Of what a person adds: far above any measurement, and its square times people is a number. The
largest of them must not be below its reciprocal, of which the square is not taken for 0."""


@dataclass(frozen=True)
class QueryPlan:
    """How one base query will be answered.

    schema: of what is grouped and counted: the survey's, and where public rows are joined of which
    several match a person, a dimension more that numbers these.
    public_keys: the GROUP BY keys that are public: columns, and expressions over them.
    private_rows: one per combination of private GROUP BY keys that WHERE leaves somebody in: the
    key values and the disjoint boxes that they stand for (a single row with no keys where nothing
    is grouped).
    targets: what each row needs; the arithmetic of the query is over these.  amounts: for each
    target what a person adds, or what multiplies that, by disjoint boxes; nothing outside of them.
    planned: after `cells`, planned[slice][row][target] is the design's form of the linear query;
    rows may be made when they are looked at.
    """

    survey: Survey
    schema: Schema
    query: Query
    slices: tuple[Slice, ...]
    public_keys: tuple[str | Scalar, ...]
    private_rows: tuple[Row, ...]
    targets: tuple[Target, ...]
    amounts: tuple[Terms, ...]
    planned: tuple[Sequence[tuple[PlannedQuery, ...]], ...] = ()

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Codes of every dimension of the schema."""
        return tuple(dimension.size for dimension in self.schema.dimensions)

    @property
    def pairs(self) -> int:
        """The most joined rows that a person may have."""
        return prod(self.sizes[len(self.survey.schema.dimensions) :])


def make_plans(query: Query, survey: Survey, sql: str) -> list[tuple[str, QueryPlan]]:
    """The plan of a base query after every pass, with the pass's name; errors as for `boxes`."""
    plans = [("boxes", boxes(query, survey, sql))]
    for name, rewrite in PASSES:
        plans.append((name, rewrite(plans[-1][1])))
    return plans


def boxes(query: Query, survey: Survey, sql: str) -> QueryPlan:
    """WHERE and GROUP BY as boxes of codes; `sql` is the text that error messages point into.

    QueryError where a literal does not fit its column, or there are too many sums; UnsupportedSQL
    where WHERE or GROUP BY fall apart into too many parts.
    """
    schema = join_schema(query.joins, survey.schema, sql) if query.joins else survey.schema
    predicate = where(query)
    pieces = slices(predicate, schema, sql, query.filters)
    # Of nobody nothing needs to be told apart.
    is_possible = any(piece.boxes for piece in pieces)
    met = pieces if query.keys and predicate is not None else ()
    groups = rows(query, schema, sql, met) if is_possible or not query.keys else ()
    targets = dict.fromkeys(t for c in query.columns for t in targets_of(c.expression, schema))
    require_numbers(len(groups), len(targets))  # before any of them is made into nodes
    return QueryPlan(
        survey,
        schema,
        query,
        pieces,
        tuple(key.scalar or key.column for key in query.keys if not key.is_private(schema)),
        groups,
        tuple(targets),
        tuple(amounts_of(target, schema, sql) if is_possible else () for target in targets),
    )


def where(query: Query) -> Predicate | None:
    """The condition that a pair of a person and joined rows must satisfy."""
    asked = [join.is_met for join in query.joins]
    every = (*([] if query.predicate is None else [query.predicate]), *asked)
    return And(every) if len(every) > 1 else next(iter(every), None)


def disjoin(plan: QueryPlan) -> QueryPlan:
    """The boxes of every slice disjoint, in an order that does not depend on how the question was
    put; UnsupportedSQL where that takes too many boxes."""
    return replace(plan, slices=tuple(disjoint_slice(each, plan.sizes) for each in plan.slices))


def disjoint_slice(piece: Slice, sizes: Sequence[int]) -> Slice:
    """The slice with disjoint boxes."""
    filtered = tuple(disjoint(boxes, sizes) for boxes in piece.filtered)
    return Slice(piece.condition, disjoint(piece.boxes, sizes), filtered)


def cells(plan: QueryPlan) -> QueryPlan:
    """The linear query of every slice, row and target in the design's own form.

    Mechanisms that answer from tree nodes cover each box with the fewest nodes; mechanisms that
    answer boxes take them as they are.
    """
    prepare = plan.survey.design.prepare
    planned = tuple(
        _prepare_codes(plan, piece)
        or tuple(tuple(map(prepare, row)) for row in make_linear_queries(plan, piece))
        for piece in plan.slices
    )
    return replace(plan, planned=planned)


def _prepare_codes(plan: QueryPlan, piece: Slice) -> Sequence[tuple[PlannedQuery, ...]] | None:
    """The rows of a GROUP BY a dimension, and maybe other keys, where the design answers the people
    of all its codes at once; None elsewhere.

    Rows are of one kind where they differ in that code alone, and the same conditions hold it.
    """
    design, schema, rows = plan.survey.design, plan.schema, plan.private_rows
    if not isinstance(design, CodeDecoder) or len(rows) < _MANY_CODES:
        return None
    axis = _find_largest_key(plan.query, schema)
    is_plain = schema is plan.survey.schema and all(own.over is None for own in plan.targets)
    if axis is None or not is_plain or not plan.targets:
        return None
    others: dict[tuple[Side, ...], int] = {}
    codes, groups = (np.empty(len(rows), dtype=np.int64) for _ in range(2))
    for row, (_, inside) in enumerate(rows):
        side = inside[0].sides[axis]
        if len(inside) > 1 or side is None or cardinality(side) != 1:
            return None
        sides = inside[0].sides
        codes[row] = side[0][0]
        groups[row] = others.setdefault((*sides[:axis], None, *sides[axis + 1 :]), len(others))
    kinds, numbers = list[list[LinearQuery]](), np.empty(len(rows), dtype=np.int64)
    for own, group in in_time(others.items()):
        places = np.flatnonzero(groups == group)
        queries = [
            linear(piece, (Box(own),), *asked)
            for asked in zip(plan.targets, plan.amounts, strict=True)
        ]
        found = _free_axis(queries, axis, codes[places])
        if found is None or len(kinds) + len(found[0]) > _MOST_KINDS:
            return None
        numbers[places] = len(kinds) + found[1]
        kinds += [
            [over_levels(*pair, schema) for pair in zip(free, plan.targets, strict=True)]
            for free in found[0]
        ]
    return design.prepare_codes(kinds, axis, numbers, codes)


def _find_largest_key(query: Query, schema: Schema) -> int | None:
    """The dimension with the most codes of those by which a query groups; None where it has none,
    or groups by several sets."""
    keys = (key for key in query.keys if not key.scalar and not key.width)
    found = [axis for key in keys if (axis := find_dimension(schema, key.column)) is not None]
    if not found or query.sets is not None:
        return None
    return max(found, key=lambda axis: schema.dimensions[axis].size)


def _free_axis(
    queries: Sequence[LinearQuery], axis: int, codes: NDArray[np.int64]
) -> tuple[list[list[LinearQuery]], NDArray[np.int64]] | None:
    """Queries that constrain a dimension as lists of such as do not, each for the codes that meet
    the same conditions, and which list is that of each code; None for too many conditions."""
    sides = list(dict.fromkeys(box.sides[axis] for own in queries for _, box in own.terms))
    if len(sides) > _MOST_KINDS:
        return None
    met = np.array([_contains(side, codes) for side in sides]).reshape(len(sides), len(codes))
    patterns, numbers = np.unique(met, axis=1, return_inverse=True)
    freed = []
    for pattern in patterns.T:
        kept = {side for side, is_met in zip(sides, pattern.tolist(), strict=True) if is_met}
        freed.append(
            [
                replace(
                    own,
                    terms=tuple(
                        (amount, Box((*box.sides[:axis], None, *box.sides[axis + 1 :])))
                        for amount, box in own.terms
                        if box.sides[axis] in kept
                    ),
                )
                for own in queries
            ]
        )
    return freed, numbers.ravel()


def _contains(side: Side, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which codes a side holds."""
    if side is None:
        return np.ones(len(codes), dtype=bool)
    ends = np.array(side).ravel()  # ascending: inside after an odd number of them
    return np.asarray(np.searchsorted(ends, codes, side="right") % 2 == 1)


def make_linear_queries(plan: QueryPlan, piece: Slice) -> Iterator[list[LinearQuery]]:
    """The linear queries of a slice, one list per private row with one per target."""
    sizes, people = plan.sizes, len(plan.survey.schema.dimensions)
    by_keys = {target.over: _joined_rows(plan, target.over) for target in plan.targets}
    asked = tuple(zip(plan.targets, plan.amounts, strict=True))
    for row in range(len(plan.private_rows)):
        if not row % _ROWS_AT_ONCE:
            check()
        pairs = (linear(piece, by_keys[own.over][row], own, terms) for own, terms in asked)
        yield [
            over_levels(of_people(query, sizes, people), target, plan.schema)
            for query, (target, _) in zip(pairs, asked, strict=True)
        ]


def _joined_rows(plan: QueryPlan, over: tuple[str, ...] | None) -> Sequence[tuple[Box, ...]]:
    """The boxes of every private row; over: of all rows with the same values of these keys."""
    schema, boxes_of = plan.schema, [inside for _, inside in plan.private_rows]
    if over is None:
        return boxes_of
    if not over:
        return [(Box.whole(len(schema.dimensions)),)] * len(boxes_of)
    private = [key.name for key in plan.query.keys if key.is_private(schema)]
    places = [place for place, name in enumerate(private) if name in over]
    own = [tuple(values[place] for place in places) for values, _ in plan.private_rows]
    together: dict[Key, list[Box]] = {}
    for key, inside in zip(own, boxes_of, strict=True):
        together.setdefault(key, []).extend(inside)
    joined = {key: disjoint(inside, plan.sizes) for key, inside in together.items()}
    return [joined[key] for key in own]


PASSES: tuple[tuple[str, Callable[[QueryPlan], QueryPlan]], ...] = (
    ("disjoin", disjoin),
    ("cells", cells),
)


def amounts_of(target: Target, schema: Schema, sql: str) -> Terms:
    """The amounts that a person adds to a target by disjoint boxes, `QueryPlan.amounts`.

    UnsupportedSQL where an expression has no exact answer; QueryError where it is not finite.
    """
    if target.amounts is None:
        return ((1.0, Box.whole(len(schema.dimensions))),)
    if not isinstance(target.amounts, Scalar):
        index, by_codes = target.amounts
        return tuple((amount, _constrain(schema, index, codes)) for amount, codes in by_codes)
    terms: list[tuple[float, Box]] = []
    for value, inside in regions(target.amounts, schema, sql):
        amount = 0.0 if value is None else float(value)  # type: ignore[arg-type]
        if not isfinite(amount):
            reason, place = "this is not finite for every declared value", target.amounts.place
            raise QueryError(
                reason, sql=sql, place=place, hint="use NULLIF or CASE to leave it out"
            )
        terms += [(amount, box) for box in inside if amount]
    largest = max((abs(amount) for amount, _ in terms), default=1.0)
    if not 1.0 / _LARGEST_AMOUNT <= largest <= _LARGEST_AMOUNT:
        reason = f"this is too {'large' if largest > 1.0 else 'small'} to be summed"
        hint, place = "take another unit", target.amounts.place
        raise QueryError(reason, sql=sql, place=place, hint=hint)
    return tuple(terms)


def linear(piece: Slice, row: Sequence[Box], target: Target, amounts: Terms) -> LinearQuery:
    """The linear query for one target, with its amounts, in one row of one slice of a question.

    UnsupportedSQL where it falls apart into too many boxes.
    """
    boxes = piece.boxes if target.filter is None else piece.filtered[target.filter]
    terms: Terms = tuple((1.0, box) for box in row)
    factors = [] if target.amounts is None else [amounts]  # else it is 1 of everybody
    for more in (*factors, tuple((1.0, box) for box in boxes)):
        if len(terms) * len(more) > _MAX_STEPS:
            raise too_many_boxes()
        terms = multiply(terms, more)
    measure = target.measure if target.is_of_amounts else None
    return LinearQuery(terms, measure, target.weight, target.is_square)


def of_people(query: LinearQuery, sizes: Sequence[int], people: int) -> LinearQuery:
    """A linear query over pairs of people and joined rows as one over people, who count once for
    each of their pairs; sizes: of the dimensions; people: how many of them are theirs, the first
    ones.

    UnsupportedSQL where boxes overlap in too many ways.
    """
    if len(sizes) == people:
        return query
    amounts: dict[Box, float] = {}
    for amount, box in query.terms:
        own, pairs = Box(box.sides[:people]), Box(box.sides[people:]).volume(sizes[people:])
        amounts[own] = amounts.get(own, 0.0) + amount * pairs
    if len(amounts) < 2:
        return replace(query, terms=tuple((amount, box) for box, amount in amounts.items()))
    # Sums of amounts are looked at cell by cell of the dimensions in which the boxes differ.
    first, *others = amounts
    axes = [i for i, side in enumerate(first.sides) if any(o.sides[i] != side for o in others)]
    if prod(sizes[axis] for axis in axes) > MAX_CELLS:
        raise too_many_boxes()
    sums = np.zeros([sizes[axis] for axis in axes])
    for box, amount in amounts.items():
        sums[np.ix_(*(_members(box.sides[axis], sizes[axis]) for axis in axes))] += amount
    values, numbers = np.unique(sums, return_inverse=True)
    terms: list[tuple[float, Box]] = []
    for number, piece in pieces(numbers.reshape(sums.shape)):
        sides_of = list(first.sides)
        for axis, side in zip(axes, piece, strict=True):
            sides_of[axis] = side
        if values[number]:
            terms.append((float(values[number]), Box(tuple(sides_of)).normal(sizes[:people])))
    return replace(query, terms=tuple(terms))


def over_levels(query: LinearQuery, target: Target, schema: Schema) -> LinearQuery:
    """A linear query over a record domain: the sum of a measure that may be missing as amounts of
    its levels, to which NULL adds nothing; schema: of the measures."""
    free: tuple[Side, ...] = (None,) * sum(measure.has_null for measure in schema.measures)
    if not free:
        return query
    number, sides, own = target.measure, [(1.0, free)], query.measure
    if number is not None and (measure := schema.measures[number]).has_null:
        of_levels = amounts_of_levels(target, measure)
        sides = [(by, (*free[:number], codes, *free[number + 1 :])) for by, codes in of_levels]
        own = None
    for other in target.present:
        codes: Side = ((0, schema.measures[other].levels),)
        sides = [(by, (*more[:other], codes, *more[other + 1 :])) for by, more in sides]
    terms = tuple(
        (amount * by, Box((*box.sides, *more))) for amount, box in query.terms for by, more in sides
    )
    if own is None:
        return LinearQuery(terms, None, query.weight)
    return replace(query, terms=terms, measure=own - len(free))


def amounts_of_levels(target: Target, measure: Measure) -> list[tuple[float, CodeSet]]:
    """What each level of a measure that may be missing adds to a sum, unless that is nothing."""
    if target.is_present:
        return [(1.0, ((0, measure.levels),))]
    amounts = space_levels(*measure.bounds, measure.levels, measure.rounding)
    if target.is_square:
        amounts = square_levels(*measure.bounds, measure.levels)
    return [
        (amount, ((level, level + 1),)) for level, amount in enumerate(amounts.tolist()) if amount
    ]


def _members(side: Side, size: int) -> NDArray[np.int64]:
    """The codes of a side as an array."""
    return np.concatenate([np.arange(low, high) for low, high in codes_of(side, size)])


def rows(query: Query, schema: Schema, sql: str, met: Sequence[Slice] = ()) -> tuple[Row, ...]:
    """One row per combination of private keys, with its boxes; only those that can hold a record.

    With grouping sets those of one set after the other; a key that is not in a set is NULL.
    met: slices of which any must have people in a row.  UnsupportedSQL for more than MAX_ROWS
    combinations, or MAX_CODES codes of one dimension.
    """
    private = [place for place, key in enumerate(query.keys) if key.is_private(schema)]
    labels = {place: find_key_regions(query.keys[place], schema, sql) for place in private}
    everybody: list[Region] = [(None, (Box.whole(len(schema.dimensions)),))]
    sets = query.sets if query.sets is not None else (tuple(range(len(query.keys))),)
    by_set = [[labels[p] if p in own else everybody for p in private] for own in sets]
    count = sum(prod(map(len, each)) for each in by_set)
    is_one = len(labels) == 1 and _find_largest_key(query, schema) is not None
    most = MAX_CODES if is_one else MAX_ROWS
    if count > most:
        many = f"{count:,}" if count < 10**12 else "over a trillion"
        raise UnsupportedSQL(
            f"GROUP BY would give {many} rows, the limit is {most:,}",
            sql=sql,
            place=query.keys[private[0]].place,
            hint="group by fewer columns, or by bin(column, width)",
        )
    return tuple(_list_rows(chain.from_iterable(product(*each) for each in by_set), everybody, met))


def _list_rows(
    keys: Iterable[Sequence[Region]], everybody: Sequence[Region], met: Sequence[Slice]
) -> Iterator[Row]:
    """The rows of some combinations of keys; an error as soon as the deadline is over."""
    for each in in_time(keys):
        inside = each[0][1] if len(each) == 1 else _intersect(each or everybody)
        if inside and (not met or any(piece.meets(inside) for piece in met)):
            yield tuple(value for value, _ in each), inside


def _intersect(parts: Sequence[Region]) -> tuple[Box, ...]:
    """The disjoint boxes of whoever is in each of some regions."""
    (_, found), *others = parts
    for _, boxes in others:
        if len(found) * len(boxes) > _MAX_STEPS:
            raise too_many_boxes()
        found = tuple(meet(found, boxes))
    return found


def find_key_regions(key: GroupKey, schema: Schema, sql: str) -> Sequence[Region]:
    """The values of one private key with their boxes."""
    if key.scalar is not None:
        return regions(key.scalar, schema, sql)
    index = find_dimension(schema, key.column)
    assert index is not None
    dimension = schema.dimensions[index]
    found: list[tuple[Value | None, CodeSet]]
    try:
        if key.width is None:
            return _list_codes(schema, index)
        found = [*domains.bins(dimension.domain, key.width)]
        nulls = domains.null_codes(dimension)
        found += [(None, nulls)] if nulls else []
    except QueryError as error:
        raise error.at(sql, key.place) from None
    return [(value, (_constrain(schema, index, codes),)) for value, codes in found]


def _list_codes(schema: Schema, index: int) -> list[Region]:
    """The values of one dimension with their boxes; it may have a million."""
    dimension = schema.dimensions[index]
    left, right = (None,) * index, (None,) * (len(schema.dimensions) - index - 1)
    if dimension.size == 1:
        return [(value, (Box((*left, None, *right)),)) for value in domains.labels(dimension)]
    return [
        (value, (Box((*left, ((code, code + 1),), *right)),))
        for code, value in enumerate(domains.labels(dimension))
    ]


def _constrain(schema: Schema, index: int, codes: CodeSet) -> Box:
    """Some codes of one dimension as a box, whose full sides are None."""
    is_full = codes == ((0, schema.dimensions[index].size),)
    return Box.of(len(schema.dimensions), {} if is_full else {index: codes})
