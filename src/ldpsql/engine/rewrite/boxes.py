"""The first pass: WHERE and GROUP BY to boxes of codes.

What WHERE says of private attributes becomes boxes, which may still overlap. What it says of
public columns stays SQL and is exact: people are split by which public conditions hold, and each
part, a slice, has boxes of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from ldpsql import domains
from ldpsql.aggregates import targets_of
from ldpsql.boxes import Box, CodeSet, Side, intersect
from ldpsql.domains import find_dimension
from ldpsql.engine.plan import QueryPlan, Slice
from ldpsql.engine.rewrite.disjoin import cut, outside
from ldpsql.engine.rewrite.formula import (
    All,
    Compiler,
    Formula,
    Some,
    Within,
    assume,
    conditions,
    locate,
    negate,
)
from ldpsql.errors import Place, QueryError, UnsupportedSQL
from ldpsql.parser.query import And as AndPredicate
from ldpsql.parser.query import Atom, Constant, GroupKey, Not, Predicate, Query
from ldpsql.parser.query import Or as OrPredicate
from ldpsql.record_domain import RecordDomain
from ldpsql.survey import Survey
from ldpsql_device.errors import InternalError
from ldpsql_device.schema import Schema
from ldpsql_device.values import Value

MAX_CONDITIONS = 8
MAX_ROWS = 100_000
_COMPACTED = 64

Row = tuple[tuple[Value | None, ...], Box]
_Label = tuple[Value | None, CodeSet]


def boxes(query: Query, survey: Survey, sql: str) -> QueryPlan:
    """Compile a base query for a survey; `sql` is the text that error messages point into.

    QueryError where a literal does not fit its column; UnsupportedSQL where WHERE or GROUP BY
    fall apart into too many parts.
    """
    schema = survey.schema
    public_keys = tuple(
        key.column for key in query.keys if find_dimension(schema, key.column) is None
    )
    return QueryPlan(
        survey,
        query,
        slices(query.predicate, schema, sql),
        public_keys,
        rows(query.keys, schema, sql),
        tuple(dict.fromkeys(t for c in query.columns for t in targets_of(c.expression, schema))),
    )


# -- WHERE --------------------------------------------------------------------------------


def slices(predicate: Predicate | None, schema: Schema, sql: str) -> tuple[Slice, ...]:
    """WHERE as slices with their boxes, which may overlap; errors as for `boxes`."""
    sizes = RecordDomain.of(schema).sizes
    if predicate is None:
        return (Slice(None, (Box.whole(len(sizes)),)),)
    formula = Compiler(schema, sql).formula(predicate)
    try:
        public = len(set(conditions(formula)))
        if public > MAX_CONDITIONS:
            raise UnsupportedSQL(
                f"WHERE mixes {public} conditions on public columns with private ones, "
                f"at most {MAX_CONDITIONS} can be told apart",
                hint="join conditions on public columns by AND or OR in one place",
            )
        parts = _split(formula, sizes)
    except UnsupportedSQL as error:
        place = _first_place(predicate)
        raise UnsupportedSQL(error.reason, sql=sql, place=place, hint=error.hint) from None
    by_boxes: dict[tuple[Box, ...], list[tuple[str, ...]]] = {}
    for literals, inside in parts:
        if inside:
            by_boxes.setdefault(inside, []).append(literals)
    parted = (Slice(_condition(texts), inside) for inside, texts in by_boxes.items())
    return tuple(parted) or (Slice(None, ()),)


def _split(formula: Formula, sizes: Sequence[int]) -> list[tuple[tuple[str, ...], tuple[Box, ...]]]:
    """The private boxes under every truth assignment of the public conditions that matters."""
    text = next(conditions(formula), None)
    if text is None:
        return [((), tuple(_private(formula, sizes)))]
    yes = _split(assume(formula, text, True, sizes), sizes)
    no = _split(assume(formula, text, False, sizes), sizes)
    if yes == no:
        return yes
    return [((f"({text})", *literals), inside) for literals, inside in yes] + [
        ((f"({text}) IS NOT TRUE", *literals), inside) for literals, inside in no
    ]


def _condition(assignments: list[tuple[str, ...]]) -> str | None:
    texts = [" AND ".join(literals) for literals in assignments]
    if "" in texts:
        return None
    return texts[0] if len(texts) == 1 else " OR ".join(f"({text})" for text in texts)


def _private(formula: Formula, sizes: Sequence[int]) -> list[Box]:
    """The boxes of a formula without public conditions; they may overlap."""
    if isinstance(formula, bool):
        return [Box.whole(len(sizes))] if formula else []
    if isinstance(formula, Within):
        return [_side_box(formula, sizes)]
    if isinstance(formula, Some):
        union = [box for operand in formula.operands for box in _private(operand, sizes)]
        return _compact(union, sizes)
    if isinstance(formula, All):
        return _intersection(formula, sizes)
    raise InternalError("a public condition was left undecided")


def _side_box(within: Within, sizes: Sequence[int]) -> Box:
    sides: list[Side] = [None] * len(sizes)
    sides[within.dimension] = within.codes
    return Box(tuple(sides))


def _intersection(formula: All, sizes: Sequence[int]) -> list[Box]:
    """AND of sets and of ORs. Several ORs are not multiplied out, which may take exponential
    time: they hold outside of where one of them fails."""
    common = Box.whole(len(sizes))
    unions: list[Formula] = []
    for operand in formula.operands:
        if isinstance(operand, Within):
            common = common & _side_box(operand, sizes)
        else:
            unions.append(operand)
    if not unions:
        return [common]
    if len(unions) == 1:
        candidates = _private(unions[0], sizes)
    else:
        failing = [box for one in unions for box in _private(negate(one, sizes), sizes)]
        candidates = outside(failing, sizes)
    inside = (common & box for box in candidates)
    return [box for box in inside if not box.is_empty]


def _compact(boxes: list[Box], sizes: Sequence[int]) -> list[Box]:
    """The same records in few boxes."""
    different = list(dict.fromkeys(boxes))
    return different if len(different) <= _COMPACTED else cut(different, sizes)


def _first_place(predicate: Predicate) -> Place | None:
    if isinstance(predicate, Constant):
        return None
    if isinstance(predicate, Not):
        return _first_place(predicate.operand)
    if isinstance(predicate, AndPredicate | OrPredicate):
        places = map(_first_place, predicate.operands)
        return next((place for place in places if place), None)
    atom: Atom = predicate
    return atom.place


# -- GROUP BY -----------------------------------------------------------------------------


def rows(keys: Sequence[GroupKey], schema: Schema, sql: str) -> tuple[Row, ...]:
    """One row per combination of private keys, with its box; only those that can hold a record.

    UnsupportedSQL for more than MAX_ROWS combinations.
    """
    private = [
        (key, index) for key in keys if (index := find_dimension(schema, key.column)) is not None
    ]
    labels = [_labels(key, schema, sql) for key, _ in private]
    count = prod(map(len, labels))
    if count > MAX_ROWS:
        raise UnsupportedSQL(
            f"GROUP BY would give {count} rows, the limit is {MAX_ROWS}",
            sql=sql,
            place=private[0][0].place,
            hint="group by fewer columns, or by bin(column, width)",
        )
    kept: list[Row] = []
    for combination in product(*labels):
        sides: list[Side] = [None] * len(schema.dimensions)
        for (_, index), (_, codes) in zip(private, combination, strict=True):
            side = sides[index]
            sides[index] = codes if side is None else intersect(side, codes)
        box = Box(tuple(sides))
        if not box.is_empty:
            kept.append((tuple(value for value, _ in combination), box))
    return tuple(kept)


def _labels(key: GroupKey, schema: Schema, sql: str) -> list[_Label]:
    """The values of one private key with their codes."""
    index = find_dimension(schema, key.column)
    assert index is not None
    dimension = schema.dimensions[index]
    if key.width is None:
        return [
            (value, ((code, code + 1),)) for code, value in enumerate(domains.labels(dimension))
        ]
    try:
        bins: list[_Label] = list(domains.bins(dimension.domain, key.width))
    except QueryError as error:
        raise locate(error, sql, key.place) from None
    nulls = domains.null_codes(dimension)
    return bins + ([(None, nulls)] if nulls else [])
