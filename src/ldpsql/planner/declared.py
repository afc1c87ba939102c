"""The declared values of dimensions as a table, over which DuckDB evaluates what SQL says of them.

The values are public. Whatever deterministic expression is written over them says for every cell
of the dimensions that it names which value it has there; cells of equal values are joined into
boxes, and these are all that the rest of the engine sees. A cell may stand for several values (a
bin); where the expression is not the same for all of them there is no exact answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from math import prod

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ldpsql.algebra import boxes
from ldpsql.algebra.boxes import Box, CodeSet
from ldpsql.errors import QueryError, UnsupportedSQL
from ldpsql.parser.query import ROW
from ldpsql.planner.disjoin import MAX_BOXES, disjoint, too_many_boxes
from ldpsql.reports.arrow_types import arrow_type
from ldpsql.sql import domains
from ldpsql.sql.domains import find_dimension
from ldpsql.sql.quoting import DECLARED, Join, Scalar
from ldpsql.sql.sandbox import Sandbox
from ldpsql_device.schema import Dimension, Schema
from ldpsql_device.values import Listed, Value, int_domain

MAX_CELLS = 1 << 20
"""The most combinations of values over which one expression is evaluated."""
_HOUR = 3_600_000_000
_MOST_RANGES = 3

Codes = NDArray[np.int64]
Region = tuple[Value | None, tuple[Box, ...]]


def regions(scalar: Scalar, schema: Schema, sql: str) -> list[Region]:
    """Where an expression over dimensions has which value: disjoint boxes for each, NULL last.

    sql: the text that errors point into. UnsupportedSQL for too many combinations of values, and
    where the expression tells values apart that share a code; QueryError where it fails for one.
    """
    try:
        return _regions(scalar, schema)
    except (QueryError, UnsupportedSQL) as error:
        raise error.at(sql, scalar.place) from None


def _regions(scalar: Scalar, schema: Schema) -> list[Region]:
    grid = _Grid.of(scalar, schema)
    axes, dimensions = grid.axes, grid.dimensions
    found = _evaluate(scalar, grid).dictionary_encode()
    if len(found) != np.prod(grid.sizes, dtype=np.int64):
        raise UnsupportedSQL("an aggregate cannot stand here", hint="write it in HAVING")
    values: list[Value | None] = [*found.dictionary.to_pylist(), None]
    numbers = np.asarray(found.indices.fill_null(len(values) - 1)).reshape(grid.sizes)
    truth = np.array([value is True for value in values])[numbers]
    is_condition = scalar.kind == "BOOLEAN" and len(axes) == 1
    columns = [codes for codes, _ in grid.columns]
    cells = _by_code(numbers, dimensions, columns, truth if is_condition else None)
    boxes: dict[int, list[Box]] = {}
    sizes = [dimension.size for dimension in schema.dimensions]
    for place, (number, piece) in enumerate(pieces(cells)):
        if place >= MAX_BOXES:
            raise too_many_boxes()
        box = Box.of(len(sizes), dict(zip(axes, piece, strict=True)))
        boxes.setdefault(number, []).append(box.normal(sizes))
    present = sorted(boxes, key=lambda number: _rank(values[number]))
    # The pieces are disjoint, and so few as can be where there is only one.
    return [
        (values[number], disjoint(own, sizes) if len(own := boxes[number]) > 1 else tuple(own))
        for number in present
    ]


@dataclass(frozen=True)
class _Grid:
    """All combinations of values of some dimensions, in row-major order.

    axes: the dimensions' indices; the smallest is cut first, so that the longest is one sort at
    the end.  columns: for each the codes and the values that are looked at.
    """

    schema: Schema
    axes: tuple[int, ...]

    @classmethod
    def of(cls, scalar: Scalar, schema: Schema) -> _Grid:
        """Over what an expression depends on; UnsupportedSQL for too many combinations."""
        names = [*scalar.columns, *(join.number for join in all_joins(scalar))]
        indices = {index for name in names if (index := find_dimension(schema, name)) is not None}
        axes = sorted(sorted(indices), key=lambda index: _count(schema, index))
        count = prod(_count(schema, index) for index in axes)
        if count > MAX_CELLS:
            raise UnsupportedSQL(
                f"{' and '.join(schema.dimensions[axis].name for axis in sorted(axes))} have "
                f"{count} combinations of values, and an expression takes at most {MAX_CELLS}",
                hint="write it over fewer columns, or as conditions on each joined by AND",
            )
        return cls(schema, tuple(axes))

    @property
    def dimensions(self) -> list[Dimension]:
        """The dimension of every axis."""
        return [self.schema.dimensions[axis] for axis in self.axes]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values of every axis are looked at."""
        return tuple(_count(self.schema, axis) for axis in self.axes)

    @cached_property
    def columns(self) -> list[tuple[Codes, pa.Array]]:
        """The codes and the values of every axis."""
        return [_values(dimension) for dimension in self.dimensions]

    def places(self, axis: int) -> Codes:
        """For every combination the place of its value on an axis."""
        at, sizes = self.axes.index(axis), self.sizes
        each = np.repeat(np.arange(sizes[at]), prod(sizes[at + 1 :]))
        return np.tile(each, prod(sizes[:at]))

    def table(self, joins: Sequence[Join]) -> pa.Table:
        """The values of the dimensions, and of the columns of joins, for every combination."""
        table = {ROW: pa.array(np.arange(prod(self.sizes)))}
        for axis, (_, values) in zip(self.axes, self.columns, strict=True):
            table[self.schema.dimensions[axis].name] = values.take(self.places(axis))
        for join in joins:
            matched = matches(join, self.schema)
            cell = np.zeros(prod(self.sizes), dtype=np.int64)
            for axis, size in zip(matched.grid.axes, matched.grid.sizes, strict=True):
                cell = cell * size + self.places(axis)
            own = find_dimension(self.schema, join.number)
            number = np.zeros_like(cell) if own is None else self.places(own)
            count = matched.counts[cell]
            rows = np.where(number < count, matched.starts[cell] + number, 0)
            known = pa.array(rows, mask=number >= count)
            for name, _ in join.columns:
                table[name] = matched.rows.column(name).take(known)
            least = 1 if join.is_left else 0
            table[f"{join.number}?"] = pa.array(number < np.maximum(count, least))
        return pa.table(table)


@dataclass(frozen=True, eq=False)
class Matches:
    """Which public rows match which values.

    rows: those that match the first combination of the grid, then those that match the second, and
    so on.  starts, counts: for every combination the place of the first, and how many there are.
    """

    grid: _Grid
    rows: pa.Table
    starts: Codes
    counts: Codes


def join_schema(joins: Sequence[Join], schema: Schema, sql: str) -> Schema:
    """The schema of pairs: that of people with a dimension for every join in which several rows
    match somebody, the number of the row; errors as `regions`."""
    for join in joins:
        try:
            most = int(matches(join, schema).counts.max(initial=0))
        except (QueryError, UnsupportedSQL) as error:
            raise error.at(sql, join.on.place) from None
        if most > 1:
            number = Dimension(join.number, int_domain(1, most))
            schema = replace(schema, dimensions=(*schema.dimensions, number))
    return schema


def all_joins(scalar: Scalar) -> list[Join]:
    """The joins that an expression reads, and those that these read, which come first."""
    found: dict[Join, None] = {}
    for join in scalar.joins:
        found |= dict.fromkeys([*all_joins(join.on), join])
    return list(found)


@lru_cache(maxsize=16)
def matches(join: Join, schema: Schema) -> Matches:
    """Which rows of a joined table match which values of the dimensions that ON names.

    UnsupportedSQL for too many matches or combinations.
    """
    grid, before = _Grid.of(join.on, schema), all_joins(join.on)
    tables = {each.relation: each.rows for each in (*join.tables, *join.on.tables)}
    found = _sandbox().evaluate(join.sql, tables)
    public = pa.Table.from_arrays(found.columns, names=[name for name, _ in join.columns])
    numbered = public.append_column(f"{ROW}_public", pa.array(np.arange(found.num_rows)))
    pairs = _sandbox().evaluate(
        f"SELECT {ROW}, {ROW}_public FROM {DECLARED} JOIN {DECLARED}_public ON {join.on.text} "
        f"LIMIT {MAX_CELLS + 1}",
        {**tables, DECLARED: grid.table(before), f"{DECLARED}_public": numbered},
    )
    if pairs.num_rows > MAX_CELLS:
        raise UnsupportedSQL(
            f"the rows of {join.alias} match more than {MAX_CELLS} times",
            hint="join fewer rows, or on more columns",
        )
    cells, rows = (np.asarray(column.combine_chunks()) for column in pairs.columns)
    order = np.lexsort((rows, cells))
    counts = np.bincount(cells, minlength=prod(grid.sizes))
    return Matches(grid, public.take(pa.array(rows[order])), np.cumsum(counts) - counts, counts)


def _rank(value: Value | None) -> tuple[bool, bool, Value | None]:
    """Sorts values as SQL does: NaN behind the numbers, NULL last; None is never compared."""
    is_nan = value != value  # noqa: PLR0124
    return (value is None, is_nan, None if value is None or is_nan else value)


def _count(schema: Schema, index: int) -> int:
    """How many values of a dimension are looked at: all, or one per hour or bin of reals."""
    dimension = schema.dimensions[index]
    domain = dimension.domain
    count = domain.size
    if isinstance(domain, Listed):
        count = len(domain.values)
    elif domain.is_discrete:
        span = int(domain.points[-1]) - int(domain.points[0])
        count = span // (_HOUR if domain.type == "timestamp" else 1)
    return count + bool(domains.null_codes(dimension))


def _values(dimension: Dimension) -> tuple[Codes, pa.Array]:
    """The values that are looked at, in the order of their codes, with these."""
    domain, kind = dimension.domain, arrow_type(dimension)
    if isinstance(domain, Listed):
        codes = np.array(domain.codes)
        values = pa.array(domain.values, type=kind)
    elif not domain.is_discrete:
        codes = np.arange(domain.size)
        values = pa.array(domains.domain_labels(domain), type=kind)
    else:
        step = _HOUR if domain.type == "timestamp" else 1
        points = np.arange(domain.points[0], domain.points[-1], step, dtype=np.int64)
        codes = np.searchsorted(domain.edge_array, points, side="right") - 1
        is_date = domain.type == "date"
        values = pa.array(points.astype(np.int32) if is_date else points).cast(kind)
    nulls = domains.null_codes(dimension)
    if nulls:
        codes = np.append(codes, nulls[0][0])
        values = pa.concat_arrays([values, pa.nulls(1, kind)])
    return codes, values


def _evaluate(scalar: Scalar, grid: _Grid) -> pa.Array:
    """The values of an expression over all combinations, in row-major order."""
    tables = {each.relation: each.rows for each in scalar.tables}
    # Subqueries become joins, which keep no order.
    order = f" ORDER BY {ROW}" if tables else ""
    # -0.0 is 0.0 in SQL and another value to Arrow; a sum with 0.0 is never -0.0.
    plus = " + 0.0" * (scalar.kind == "DOUBLE")
    sql = f"SELECT CAST({scalar.text} AS {scalar.kind}){plus} AS value FROM {DECLARED}{order}"
    found = _sandbox().evaluate(sql, {**tables, DECLARED: grid.table(all_joins(scalar))})
    return found.column(0).combine_chunks()


@cache
def _sandbox() -> Sandbox:
    return Sandbox(what="this expression", over="declared values")


def _by_code(
    numbers: Codes,
    dimensions: Sequence[Dimension],
    codes: Sequence[Codes],
    truth: NDArray[np.bool_] | None,
) -> Codes:
    """The value of every cell, from that of every combination of values.

    truth: of a condition on one dimension, where it is TRUE; a hint then says what comes near.
    """
    for axis, (dimension, own) in enumerate(zip(dimensions, codes, strict=True)):
        _, firsts = np.unique(own, return_index=True)
        if len(firsts) == len(own):
            continue
        by_code = numbers.take(firsts, axis)
        differs = np.argwhere(by_code.take(own, axis) != numbers)
        if differs.size:
            code = int(own[differs[0][axis]])
            extent = domains.extent(dimension.domain, code, code + 1)
            raise UnsupportedSQL(
                f"this has no exact answer: it is not the same for all values of {dimension.name} "
                f"in {extent}, which share one code",
                hint=_hint(dimension, own, truth),
            )
        numbers = by_code
    return numbers


def _hint(dimension: Dimension, codes: Codes, truth: NDArray[np.bool_] | None) -> str:
    """What can be asked instead of an expression that cuts bins: ranges of whole bins, the larger
    one and the smaller one; or the bins themselves. codes: of every value."""
    domain = dimension.domain
    if truth is None or isinstance(domain, Listed):
        return f"GROUP BY {dimension.name}, of which the bins are told apart"
    some, every = (
        boxes.codes(code for code in np.unique(own).tolist() if code < domain.size)
        for own in (codes[truth], np.setdiff1d(codes, codes[~truth]))
    )
    is_told = (
        own and len(own) <= _MOST_RANGES and own != ((0, domain.size),) for own in (some, every)
    )
    found = [
        domains.list_ranges(dimension, own)
        for own, told in zip((some, every), is_told, strict=True)
        if told
    ]
    words = f"compare {dimension.name} with the edges of its bins"
    return f"write {', or '.join(dict.fromkeys(found))}" if found else words


def pieces(cells: Codes) -> Iterator[tuple[int, tuple[CodeSet, ...]]]:
    """Disjoint boxes of equal numbers, by a side for every axis."""
    if cells.ndim == 0:
        yield int(cells), ()
    elif cells.ndim == 1:
        numbers, which = np.unique(cells, return_inverse=True)
        for number, side in zip(numbers.tolist(), _sides(which), strict=True):
            yield number, (side,)
    else:
        rows, which = np.unique(cells.reshape(len(cells), -1), axis=0, return_inverse=True)
        for row, side in zip(rows, _sides(which), strict=True):
            for number, others in pieces(row.reshape(cells.shape[1:])):
                yield number, (side, *others)


def _sides(which: Codes) -> Iterator[CodeSet]:
    """For each of the numbers 0, 1, ... the codes where it stands."""
    which = which.ravel()
    order = np.argsort(which, kind="stable")
    for codes in np.split(order, np.flatnonzero(np.diff(which[order])) + 1):
        breaks = np.flatnonzero(np.diff(codes) != 1) + 1
        lows, ends = np.append(0, breaks), np.append(breaks, len(codes)) - 1
        yield tuple(zip(codes[lows].tolist(), (codes[ends] + 1).tolist(), strict=True))
