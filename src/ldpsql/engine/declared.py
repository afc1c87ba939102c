"""The declared values of dimensions as a table, over which DuckDB evaluates what SQL says of them.

The values are public. Whatever deterministic expression is written over them says for every cell
of the dimensions that it names which value it has there; cells of equal values are joined into
boxes, and these are all that the rest of the engine sees. A cell may stand for several values (a
bin); where the expression is not the same for all of them there is no exact answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import prod

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ldpsql import domains
from ldpsql.boxes import Box, CodeSet, Side
from ldpsql.domains import find_dimension
from ldpsql.engine.disjoin import MAX_BOXES, disjoint, too_many_boxes
from ldpsql.errors import QueryError, UnsupportedSQL
from ldpsql.sql import Scalar
from ldpsql.store.duckdb.sandbox import Sandbox
from ldpsql_device.arrow import arrow_type
from ldpsql_device.schema import Dimension, Schema
from ldpsql_device.values import Listed, Value

MAX_CELLS = 1 << 20
"""The most combinations of values over which one expression is evaluated."""
_TABLE = "declared"
_HOUR = 3_600_000_000

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
    indices = [find_dimension(schema, name) for name in scalar.columns]
    # The smallest axis is cut first, so that the longest is one sort at the end.
    axes = sorted(
        (index for index in indices if index is not None), key=lambda i: _count(schema, i)
    )
    dimensions = [schema.dimensions[index] for index in axes]
    sizes = [_count(schema, index) for index in axes]
    if prod(sizes) > MAX_CELLS:
        raise UnsupportedSQL(
            f"{' and '.join(scalar.columns)} have {prod(sizes)} combinations of values, "
            f"an expression over them may have {MAX_CELLS}",
            hint="write it over fewer columns, or as conditions on each joined by AND",
        )
    columns = [_values(dimension) for dimension in dimensions]
    found = _evaluate(scalar, dimensions, [values for _, values in columns]).dictionary_encode()
    values: list[Value | None] = [*found.dictionary.to_pylist(), None]
    numbers = np.asarray(found.indices.fill_null(len(values) - 1)).reshape(sizes)
    cells = _by_code(numbers, dimensions, [codes for codes, _ in columns])
    boxes: dict[int, list[Box]] = {}
    for place, (number, piece) in enumerate(_pieces(cells)):
        if place >= MAX_BOXES:
            raise too_many_boxes()
        sides: list[Side] = [None] * len(schema.dimensions)
        for axis, side in zip(axes, piece, strict=True):
            sides[axis] = None if side == ((0, schema.dimensions[axis].size),) else side
        boxes.setdefault(number, []).append(Box(tuple(sides)))
    present = sorted(boxes, key=lambda number: _rank(values[number]))
    codes_of = [dimension.size for dimension in schema.dimensions]
    return [(values[number], disjoint(boxes[number], codes_of)) for number in present]


def _rank(value: Value | None) -> tuple[bool, bool, Value | None]:
    """Sorts values as SQL does: NaN behind the numbers, NULL last; None is never compared."""
    is_nan = value != value  # noqa: PLR0124
    return (value is None, is_nan, None if value is None or is_nan else value)


def _count(schema: Schema, index: int) -> int:
    """How many values of a dimension are looked at: all, or one per hour or bin of reals."""
    dimension = schema.dimensions[index]
    domain = dimension.domain
    count = domain.size
    if not isinstance(domain, Listed) and domain.is_discrete:
        span = int(domain.points[-1]) - int(domain.points[0])
        count = span // (_HOUR if domain.type == "timestamp" else 1)
    return count + bool(domains.null_codes(dimension))


def _values(dimension: Dimension) -> tuple[Codes, pa.Array]:
    """The values that are looked at, in the order of their codes, with these."""
    domain, kind = dimension.domain, arrow_type(dimension)
    if isinstance(domain, Listed) or not domain.is_discrete:
        codes = np.arange(domain.size)
        values = pa.array(domains.domain_labels(domain), type=kind)
    else:
        step = _HOUR if domain.type == "timestamp" else 1
        points = np.arange(domain.points[0], domain.points[-1], step, dtype=np.int64)
        codes, _ = domain.find_many(points)
        is_date = domain.type == "date"
        values = pa.array(points.astype(np.int32) if is_date else points).cast(kind)
    nulls = domains.null_codes(dimension)
    if nulls:
        codes = np.append(codes, nulls[0][0])
        values = pa.concat_arrays([values, pa.nulls(1, kind)])
    return codes, values


def _evaluate(
    scalar: Scalar, dimensions: Sequence[Dimension], columns: Sequence[pa.Array]
) -> pa.Array:
    """The values of an expression over all combinations, in row-major order."""
    sizes = [len(values) for values in columns]
    table = {"ldpsql_row": pa.array(np.zeros(prod(sizes), dtype=np.int8))}
    for place, (dimension, values) in enumerate(zip(dimensions, columns, strict=True)):
        each = np.repeat(np.arange(sizes[place]), prod(sizes[place + 1 :]))
        table[dimension.name] = values.take(np.tile(each, prod(sizes[:place])))
    sql = f"SELECT CAST({scalar.text} AS {scalar.kind}) AS value FROM {_TABLE}"
    return _sandbox().evaluate(sql, {_TABLE: pa.table(table)}).column(0).combine_chunks()


@cache
def _sandbox() -> Sandbox:
    return Sandbox(seconds=10.0, what="this expression", over="declared values")


def _by_code(numbers: Codes, dimensions: Sequence[Dimension], codes: Sequence[Codes]) -> Codes:
    """The value of every cell, from that of every combination of values."""
    for axis, (dimension, own) in enumerate(zip(dimensions, codes, strict=True)):
        firsts = np.flatnonzero(np.diff(own, prepend=-1))
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
                hint=f"compare {dimension.name} with the edges of its bins",
            )
        numbers = by_code
    return numbers


def _pieces(cells: Codes) -> Iterator[tuple[int, tuple[CodeSet, ...]]]:
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
            for number, others in _pieces(row.reshape(cells.shape[1:])):
                yield number, (side, *others)


def _sides(which: Codes) -> Iterator[CodeSet]:
    """For each of the numbers 0, 1, ... the codes where it stands."""
    which = which.ravel()
    order = np.argsort(which, kind="stable")
    for codes in np.split(order, np.flatnonzero(np.diff(which[order])) + 1):
        breaks = np.flatnonzero(np.diff(codes) != 1) + 1
        lows, ends = np.append(0, breaks), np.append(breaks, len(codes)) - 1
        yield tuple(zip(codes[lows].tolist(), (codes[ends] + 1).tolist(), strict=True))
