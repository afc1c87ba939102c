"""Sees raw values, for evaluation only. The true answers, by DuckDB over the raw table.

A question is read by the parser that reads everybody's questions. What it says is then asked of
DuckDB, over the raw values as the survey collects them: a measure clamped to its bounds, a GROUP
BY of a binned dimension by its bins. Nothing else of the engine has a part in it: no codes, no
boxes, no estimates.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import TracebackType
from typing import Any, Self

import duckdb
import numpy as np
import pyarrow as pa

from ldpsql.aggregates import WRITTEN, Aggregate, Expression, Leaf, aggregate_called, evaluate
from ldpsql.bench.questions import Question
from ldpsql.estimate import Array
from ldpsql.parser.query import (
    And,
    Comparison,
    Constant,
    GroupKey,
    Membership,
    Not,
    NullTest,
    Or,
    Predicate,
)
from ldpsql_device.errors import InternalError
from ldpsql_device.schema import Dimension, Schema
from ldpsql_device.values import Ordered

Key = tuple[Any, ...]
_TABLE = "people"


@dataclass(frozen=True)
class Answers:
    """The true answers to one question: values per key, and for a key that nobody has.

    Each is an array with one number per aggregate, NaN where SQL says NULL. Without GROUP BY there
    is one row, whose key is ().
    """

    rows: Mapping[Key, Array]
    nobody: Array

    def of(self, key: Key) -> Array:
        """The values of a row; a key that nobody has is a row of nobody."""
        return self.rows.get(key, self.nobody)

    def in_order(self, keys: Sequence[Sequence[Any]]) -> list[Array]:
        """The values of the rows that somebody else gave, by their columns of keys.

        No columns: of the only row. InternalError where people are in a row that was not given.
        """
        if not keys:
            return [self.of(())]
        given = list(zip(*keys, strict=True))
        if not self.rows.keys() <= set(given):
            raise InternalError("an answer has no row for some of the people")
        return [self.of(key) for key in given]


class Truth:
    """Answers questions exactly. Holds the raw values, in memory."""

    def __init__(self, schema: Schema, table: pa.Table) -> None:
        """table: the declared columns with their declared types (`People.table`)."""
        self._schema = schema
        self._people = table.num_rows
        self._binned: set[str] = set()
        self._database = duckdb.connect(":memory:")
        self._database.register("raw", _prepared(schema, table))
        self._database.execute(f"CREATE TABLE {_TABLE} AS SELECT * FROM raw")
        self._database.unregister("raw")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._database.close()

    def answer(self, question: Question) -> Answers:
        """The true rows of a question."""
        query, text = question.query, _Text(self._schema)
        for key in query.keys:
            self._add_bins(key)
        keys = [text.key(key) for key in query.keys]
        values = [_as_double(text.expression(c.expression)) for c in question.aggregates]
        where = "" if query.predicate is None else f" WHERE {text.predicate(query.predicate)}"
        grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
        sql = f"SELECT {', '.join([*keys, *values])} FROM {_TABLE}{where}{grouped}"
        found = self._database.execute(sql, text.parameters).fetchall()
        rows = {tuple(row[: len(keys)]): _numbers(row[len(keys) :]) for row in found}
        return Answers(rows, self._of_nobody(values) if keys else np.full(len(values), math.nan))

    def _of_nobody(self, values: Sequence[str]) -> Array:
        sql = f"SELECT {', '.join(values)} FROM {_TABLE} WHERE FALSE"
        return _numbers(self._database.execute(sql).fetchall()[0])

    def _add_bins(self, key: GroupKey) -> None:
        """A column for bin(dimension, width): the largest multiple up to each value."""
        index = self._schema.dimension(key.column)
        if key.width is None or index is None:
            return
        dimension = self._schema.dimensions[index]
        target = _quoted(_bin_column(dimension, key.width))
        if target in self._binned:
            return
        self._binned.add(target)
        source = _quoted(f"{'b' if _is_binned(dimension) else 'd'}:{dimension.name}")
        self._database.execute(f"ALTER TABLE {_TABLE} ADD COLUMN {target} DOUBLE")
        distinct = f"SELECT DISTINCT {source} FROM {_TABLE} WHERE {source} IS NOT NULL"
        values = [value for (value,) in self._database.execute(distinct).fetchall()]
        starts = pa.table({"v": values, "s": [_multiple(v, key.width) for v in values]})
        self._database.register("starts", starts)
        self._database.execute(f"UPDATE {_TABLE} SET {target} = s FROM starts WHERE {source} = v")
        self._database.unregister("starts")

    def scales(self, question: Question) -> Array:
        """What errors are divided by, one number per aggregate: n for a COUNT, the sum of all
        absolute values for a SUM; NaN for anything else."""
        return np.array([self._scale(column.expression) for column in question.aggregates])

    def _scale(self, expression: Expression) -> float:
        if not isinstance(expression, Aggregate) or expression.function not in ("COUNT", "SUM"):
            return math.nan
        if expression.function == "COUNT":
            return float(self._people)
        column = _Text(self._schema).summed(str(expression.column))
        sql = f"SELECT COALESCE(SUM(ABS({column}::DOUBLE)), 0) FROM {_TABLE}"
        return float(self._database.execute(sql).fetchall()[0][0])


def _prepared(schema: Schema, table: pa.Table) -> pa.Table:
    """One column per role: an attribute may be a dimension and a measure at once."""
    columns: dict[str, Any] = {}
    for dimension in schema.dimensions:
        column = table.column(dimension.name)
        columns[f"d:{dimension.name}"] = column
        if _is_binned(dimension):
            columns[f"b:{dimension.name}"] = _bins(dimension, column)
    for measure in schema.measures:
        values = table.column(measure.name).cast(pa.float64()).to_numpy()
        columns[f"m:{measure.name}"] = np.clip(values, *measure.bounds)
    for public in schema.public:
        columns[f"p:{public.name}"] = table.column(public.name)
    return pa.table(columns)


def _is_binned(dimension: Dimension) -> bool:
    """Whether some code stands for several values."""
    domain = dimension.domain
    if not isinstance(domain, Ordered):
        return False
    return domain.type != "int" or domain.points[-1] - domain.points[0] != domain.size


def _bins(dimension: Dimension, column: pa.ChunkedArray) -> pa.Array:
    """The lower edge of each value's bin; the last bin of a float domain is closed."""
    domain = dimension.domain
    assert isinstance(domain, Ordered)
    edges: list[Any] = list(domain.edges)

    def label(value: Any) -> Any:
        if value is None:
            return None
        return edges[min(bisect_right(edges, value), len(edges) - 1) - 1]

    distinct = column.unique()
    labels = pa.array([label(value) for value in distinct.to_pylist()], type=column.type)
    places = column.combine_chunks()
    if isinstance(places, pa.ChunkedArray):
        places = pa.concat_arrays(places.chunks)
    return labels.take(places.dictionary_encode(null_encoding="encode").indices)


def _bin_column(dimension: Dimension, width: float) -> str:
    return f"w:{width!r}:{dimension.name}"


def _multiple(value: float, width: float) -> float:
    """The largest multiple of a width up to a value, of decimals as they are written: 0.1 is a
    tenth."""
    step = Fraction(repr(width))
    number = math.floor(Fraction(repr(value)) / step)
    return max(
        start for n in (number - 1, number, number + 1) if (start := float(n * step)) <= value
    )


class _Text:
    """SQL for the prepared table; literals become parameters."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self.parameters: list[Any] = []

    def predicate(self, node: Predicate) -> str:
        if isinstance(node, Not):
            return f"(NOT {self.predicate(node.operand)})"
        if isinstance(node, And | Or):
            word = " AND " if isinstance(node, And) else " OR "
            return f"({word.join(self.predicate(part) for part in node.operands)})"
        if isinstance(node, Constant):
            return {True: "TRUE", False: "FALSE", None: "NULL::BOOLEAN"}[node.value]
        if isinstance(node, NullTest):
            return f"({self.filtered(node.column)} IS NULL)"
        if isinstance(node, Membership):
            listed = ", ".join(self._literal(literal) for literal in node.literals)
            return f"({self.filtered(node.column)} IN ({listed}))"
        assert isinstance(node, Comparison)
        return f"({self.filtered(node.column)} {node.op} {self._literal(node.literal)})"

    def expression(self, node: Expression) -> str:
        return evaluate(node, self._aggregate, "{!r}::DOUBLE".format, WRITTEN)

    def _aggregate(self, call: Leaf) -> str:
        assert isinstance(call, Aggregate)
        definition = aggregate_called(call.function)
        if call.column is None:
            return definition.exact.format("*")
        if definition.takes == "rows":
            return definition.exact.format(self.counted(call.column))
        column = self.summed if definition.takes == "number" else self.filtered
        return definition.exact.format(f"{column(call.column)}::DOUBLE")

    def key(self, key: GroupKey) -> str:
        index = self._schema.dimension(key.column)
        if index is not None and key.width is not None:
            return _quoted(_bin_column(self._schema.dimensions[index], key.width))
        if index is not None and _is_binned(self._schema.dimensions[index]):
            return _quoted(f"b:{self._schema.dimensions[index].name}")
        return self.filtered(key.column)

    def filtered(self, name: str) -> str:
        """The column that WHERE and GROUP BY mean."""
        return self._first(name, self._dimension, self._public)

    def summed(self, name: str) -> str:
        """The column that SUM and AVG mean."""
        return self._first(name, self._measure, self._public)

    def counted(self, name: str) -> str:
        """The column that COUNT(name) means."""
        return self._first(name, self._measure, self._dimension, self._public)

    def _first(self, name: str, *roles: Callable[[str], str | None]) -> str:
        for role in roles:
            found = role(name)
            if found is not None:
                return _quoted(found)
        raise InternalError(f"the survey has no column {name!r}")

    def _dimension(self, name: str) -> str | None:
        index = self._schema.dimension(name)
        return None if index is None else f"d:{self._schema.dimensions[index].name}"

    def _measure(self, name: str) -> str | None:
        index = self._schema.measure(name)
        return None if index is None else f"m:{self._schema.measures[index].name}"

    def _public(self, name: str) -> str | None:
        found = self._schema.public_column(name)
        return None if found is None else f"p:{found.name}"

    def _literal(self, value: Any) -> str:
        if value is None:
            return "NULL"
        self.parameters.append(value)
        return "?"


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _as_double(text: str) -> str:
    return f"({text})::DOUBLE"


def _numbers(row: Any) -> Array:
    numbers = np.array([math.nan if value is None else float(value) for value in row])
    return np.where(np.isfinite(numbers), numbers, math.nan)
