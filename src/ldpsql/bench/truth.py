"""The people of a table that may be looked at, and true answers about them, by DuckDB.

A question is read by the parser that reads everybody's questions. What it says is then asked of
DuckDB, over the raw values as the survey collects them: a measure clamped to its bounds, a GROUP
BY of a binned dimension by its bins. Nothing else of the engine has a part in it: no codes, no
boxes, no estimates.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb
import numpy as np
import pyarrow as pa

from ldpsql.aggregates import WRITTEN, Aggregate, Expression, Leaf, aggregate_called, evaluate
from ldpsql.bench.questions import Question
from ldpsql.domains import find_dimension
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
from ldpsql.sql import literal, quote
from ldpsql_device.arrow import arrow_types
from ldpsql_device.errors import InternalError
from ldpsql_device.files import read_people
from ldpsql_device.schema import Dimension, Measure, PublicColumn, Schema
from ldpsql_device.values import Ordered

Key = tuple[Any, ...]
_TABLE = "people"
# What a name means: d for a dimension, m for a measure, p for a public column, in this order ...
_FILTERED = "dp"  # in WHERE and GROUP BY
_SUMMED = "mp"  # in SUM and AVG
_COUNTED = "mdp"  # in COUNT(name)


@dataclass(frozen=True)
class People:
    """People whose records fit a schema: its declared columns, as the types that it declares.

    skipped: how many others the file held.
    """

    table: pa.Table
    skipped: int = 0

    @classmethod
    def read(cls, schema: Schema, source: Path, *, skip_invalid: bool = False) -> People:
        """From Parquet or CSV. RecordError for a column or a record that does not fit."""
        table, skipped = read_people(schema, source, skip_invalid=skip_invalid)
        return cls(_typed(schema, table), skipped)

    def sample(self, users: int | None, seed: int) -> People:
        """So many of them: without replacement where there are enough, else with it.

        None for all of them, as they are.
        """
        if users is None or users == self.table.num_rows:
            return self
        random = np.random.default_rng([seed, users])
        rows = self.table.num_rows
        chosen = np.sort(random.choice(rows, users, replace=users > rows))
        return People(self.table.take(pa.array(chosen)).combine_chunks())

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the values."""
        digest = hashlib.sha256()
        for batch in self.table.combine_chunks().to_batches():
            digest.update(batch.serialize().to_pybytes())
        return digest.hexdigest()


def _typed(schema: Schema, table: pa.Table) -> pa.Table:
    types = arrow_types(schema)
    # Records fit already; digits that a type has no room for are dropped, as on the device.
    wanted = pa.schema(list(types.items()))
    return table.select(list(types)).cast(wanted, safe=False).combine_chunks()


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
        values = [f"({text.expression(c.expression)})::DOUBLE" for c in question.aggregates]
        where = "" if query.predicate is None else f" WHERE {text.predicate(query.predicate)}"
        grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
        sql = f"SELECT {', '.join([*keys, *values])} FROM {_TABLE}{where}{grouped}"
        rows = {
            tuple(row[: len(keys)]): _numbers(row[len(keys) :])
            for row in self._database.execute(sql).fetchall()
        }
        return Answers(rows, self._of_nobody(values) if keys else np.full(len(values), math.nan))

    def _of_nobody(self, values: Sequence[str]) -> Array:
        sql = f"SELECT {', '.join(values)} FROM {_TABLE} WHERE FALSE"
        return _numbers(self._database.execute(sql).fetchall()[0])

    def _add_bins(self, key: GroupKey) -> None:
        """A column for bin(dimension, width): the largest multiple up to each value."""
        index = find_dimension(self._schema, key.column)
        if key.width is None or index is None:
            return
        dimension = self._schema.dimensions[index]
        target = quote(_bin_column(dimension, key.width))
        if target in self._binned:
            return
        self._binned.add(target)
        source = quote(f"{'b' if _is_binned(dimension) else 'd'}:{dimension.name}")
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
        column = _Text(self._schema).column(str(expression.column), _SUMMED)
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
    """SQL for the prepared table."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def predicate(self, node: Predicate) -> str:
        if isinstance(node, Not):
            return f"(NOT {self.predicate(node.operand)})"
        if isinstance(node, And | Or):
            word = " AND " if isinstance(node, And) else " OR "
            return f"({word.join(self.predicate(part) for part in node.operands)})"
        if isinstance(node, Constant):
            return "NULL::BOOLEAN" if node.value is None else literal(node.value)
        column = self.column(node.column, _FILTERED)
        if isinstance(node, NullTest):
            return f"({column} IS NULL)"
        if isinstance(node, Membership):
            return f"({column} IN ({', '.join(map(literal, node.literals))}))"
        assert isinstance(node, Comparison)
        return f"({column} {node.op} {literal(node.literal)})"

    def expression(self, node: Expression) -> str:
        return evaluate(node, self._aggregate, "{!r}::DOUBLE".format, WRITTEN)

    def _aggregate(self, call: Leaf) -> str:
        assert isinstance(call, Aggregate)
        definition = aggregate_called(call.function)
        if call.column is None:
            return definition.exact.format("*")
        if definition.takes == "rows":
            return definition.exact.format(self.column(call.column, _COUNTED))
        roles = _SUMMED if definition.takes == "number" else _FILTERED
        return definition.exact.format(f"{self.column(call.column, roles)}::DOUBLE")

    def key(self, key: GroupKey) -> str:
        index = find_dimension(self._schema, key.column)
        if index is not None and key.width is not None:
            return quote(_bin_column(self._schema.dimensions[index], key.width))
        if index is not None and _is_binned(self._schema.dimensions[index]):
            return quote(f"b:{self._schema.dimensions[index].name}")
        return self.column(key.column, _FILTERED)

    def column(self, name: str, roles: str) -> str:
        """The column of the first of some roles that the name has."""
        declared: dict[str, tuple[Dimension | Measure | PublicColumn, ...]] = {
            "d": self._schema.dimensions,
            "m": self._schema.measures,
            "p": self._schema.public,
        }
        for role in roles:
            for column in declared[role]:
                if column.name.lower() == name.lower():
                    return quote(f"{role}:{column.name}")
        raise InternalError(f"the survey has no column {name!r}")


def _numbers(row: Any) -> Array:
    numbers = np.array([math.nan if value is None else float(value) for value in row])
    return np.where(np.isfinite(numbers), numbers, math.nan)
