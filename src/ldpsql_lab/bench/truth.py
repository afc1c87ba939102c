"""The people of a table that may be looked at, and true answers about them, by DuckDB.

A question is read by the parser that reads everybody's questions. What it says is then asked of
DuckDB, over the values as the survey encodes them: a measure clamped to its bounds, a GROUP
BY of a binned dimension by its bins. Nothing else of the engine has a part in it: no codes, no
boxes, no estimates.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ldpsql.algebra.estimate import Array
from ldpsql.parser.query import GroupKey, Predicate, condition
from ldpsql.randomize.columns import Integers
from ldpsql.randomize.files import read_people
from ldpsql.randomize.person_rows import candidate_rows, draw_rows
from ldpsql.randomize.table import Tally, encode_table
from ldpsql.reports.arrow_types import arrow_type, arrow_types
from ldpsql.reports.persons import PersonRule
from ldpsql.sql.aggregates import (
    Aggregate,
    Column,
    Leaf,
    ProductMoments,
    Ranked,
    find_aggregate,
    label,
)
from ldpsql.sql.domains import find_dimension, find_measure, labels
from ldpsql.sql.quoting import literal, quote
from ldpsql_device.description import Edges
from ldpsql_device.entropy import Entropy
from ldpsql_device.errors import InternalError, NotSupportedError
from ldpsql_device.schema import OTHER, RESERVED_PREFIX, Schema
from ldpsql_device.values import Listed, Ordered
from ldpsql_lab.bench.questions import Question
from ldpsql_lab.simulation import SeededEntropy

Key = tuple[Any, ...]
_WEIGHT = f"{RESERVED_PREFIX}weight"


@dataclass(frozen=True)
class People:
    """People as a survey sees them: its declared columns, as the types that it declares.

    Where a value is outside its domain or missing, a value of the code stands that it is given
    (which may be drawn, once for all comparisons), or NULL. A measure lies between its bounds;
    where it is missing it is NULL, or what it counts as.
    tally: how many such values there were; of nobody for a sample.  persons: whose every row is, as
    numbers from 0, ascending, shape (n,); None where every row is a person's own.
    """

    table: pa.Table
    tally: Tally = field(default_factory=Tally)
    persons: Integers | None = None

    @classmethod
    def read(
        cls, schema: Schema, source: Path, seed: int = 0, person: PersonRule | None = None
    ) -> People:
        """From Parquet or CSV. RecordError for a column that is not there or has another type."""
        return cls.of(schema, read_people(schema, source, person), seed, person)

    @classmethod
    def of(
        cls, schema: Schema, table: pa.Table, seed: int = 0, person: PersonRule | None = None
    ) -> People:
        """From a table. seed: of the drawn codes.  person: by which its rows are persons'."""
        persons: Integers | None = None
        if person is not None:
            table, numbers = candidate_rows(table.combine_chunks(), person)
            order = np.argsort(numbers, kind="stable")
            table, persons = (
                table.take(pa.array(order)).drop_columns([*person.columns]),
                numbers[order],
            )
        shape = (table.num_rows, schema.code_words)
        words = SeededEntropy(seed).words(shape[0] * shape[1]).reshape(shape)
        encoded = encode_table(schema, table, lambda word, rows: words[rows, word])
        columns: dict[str, pa.Array] = {**encoded.public}
        for measure, numbers in zip(schema.measures, encoded.numbers.T, strict=True):
            column = pa.array(numbers, from_pandas=True)
            known = column if measure.has_null else column.fill_null(measure.stand_in)
            columns[measure.name] = known
        for dimension, codes in zip(schema.dimensions, encoded.codes.T, strict=True):
            name, kind = dimension.name, arrow_type(dimension)
            drawn = pa.array(labels(dimension), kind).take(pa.array(codes))
            # Digits that a type has no room for are dropped, as on the device.
            given = table.column(name).combine_chunks().cast(kind, safe=False)
            unfit = pa.array(encoded.misfits["outside", name] | encoded.misfits["missing", name])
            columns[name] = pc.if_else(unfit, drawn, given)
        fields = list(arrow_types(schema).items())
        typed = pa.table({name: columns[name] for name, _ in fields}, schema=pa.schema(fields))
        return cls(typed.combine_chunks(), encoded.tally, persons)

    def __len__(self) -> int:
        """How many people there are."""
        if self.persons is None:
            return int(self.table.num_rows)
        return int(self.persons[-1]) + 1

    @property
    def weights(self) -> Array | None:
        """With which probability a row answers for its person, shape (n,); None where all do."""
        if self.persons is None:
            return None
        weights: Array = 1.0 / np.bincount(self.persons)[self.persons]
        return weights

    def draw(self, schema: Schema, entropy: Entropy) -> pa.Table:
        """One row of each person, drawn evenly, as devices hold them: whole numbers that are texts
        beside `(other)` are numbers, and an undeclared one stands for that."""
        table = self.table
        if self.persons is not None:
            chosen = draw_rows(self.persons, entropy.words(len(self.persons)))
            table = table.take(pa.array(chosen)).combine_chunks()
        for name, domain in ((each.name, each.domain) for each in schema.dimensions):
            if isinstance(domain, Listed) and domain.is_whole:
                free = min(set(range(domain.size + 1)).difference(domain.recorded))
                texts = pc.if_else(pc.equal(table[name], OTHER), str(free), table[name])
                numbers, place = texts.cast(pa.int64()), table.column_names.index(name)
                table = table.set_column(place, name, numbers)
        return table

    def sample(self, users: int | None, seed: int) -> People:
        """So many of them: without replacement where there are enough, else with it.

        None for all of them, as they are.
        """
        if users is None or users == len(self):
            return self
        random = np.random.default_rng([seed, users])
        chosen = np.sort(random.choice(len(self), users, replace=users > len(self)))
        if self.persons is None:
            return People(self.table.take(pa.array(chosen)).combine_chunks())
        counts = np.bincount(self.persons)
        starts = np.cumsum(counts) - counts
        rows = np.concatenate([np.arange(starts[p], starts[p] + counts[p]) for p in chosen])
        persons = np.repeat(np.arange(users), counts[chosen])
        return People(self.table.take(pa.array(rows)).combine_chunks(), persons=persons)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the values, and of whose they are."""
        digest = hashlib.sha256()
        for batch in self.table.combine_chunks().to_batches():
            digest.update(batch.serialize().to_pybytes())
        if self.persons is not None:
            digest.update(self.persons.tobytes())
        return digest.hexdigest()


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
        given = list(zip(*keys, strict=True)) if keys else [()]
        if not self.rows.keys() <= set(given):
            raise InternalError("an answer has no row for some of the people")
        return [self.of(key) for key in given]


class Truth:
    """Answers questions exactly. Holds the raw values, in memory."""

    def __init__(self, schema: Schema, table: pa.Table, weights: Array | None = None) -> None:
        """table: the declared columns with their declared types (`People.table`).  weights: with
        which probability each row answers, shape (n,); answers are expectations over that. None
        where all rows answer."""
        self._schema = schema
        self._people: float = table.num_rows if weights is None else float(weights.sum())
        self._is_weighted = weights is not None and bool((weights != 1.0).any())
        if self._is_weighted:
            table = table.append_column(_WEIGHT, pa.array(weights))
        self._bins: set[str] = set()
        self._database = duckdb.connect(":memory:")
        self._replace_table("SELECT * FROM new", table)

    def answer(self, question: Question) -> Answers:
        """The true rows of a question."""
        query = question.query
        keys = [self._key(key) for key in question.outputs if isinstance(key, GroupKey)]
        conditions = [_condition(each) for each in query.filters]

        def exact(call: Leaf) -> str:
            return self._exact(call, conditions)

        values = [
            f"({label(column.expression, exact, '{!r}::DOUBLE'.format)})::DOUBLE"
            for column in question.aggregates
        ]
        select = f"SELECT {', '.join([*keys, *values])} FROM people"
        where = "" if query.predicate is None else f" WHERE {_condition(query.predicate)}"
        grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
        found = self._database.execute(select + where + grouped).fetchall()
        rows = {row[: len(keys)]: _numbers(row[len(keys) :]) for row in found}
        nobody = f"SELECT {', '.join(values)} FROM people WHERE FALSE"
        return Answers(rows, _numbers(self._database.execute(nobody).fetchall()[0]))

    def scales(self, question: Question) -> Array:
        """The scales that errors are divided by, one number per aggregate: n for a COUNT, the sum
        of all absolute values for a SUM; NaN for anything else."""
        scales = []
        for column in question.aggregates:
            call, scale = column.expression, math.nan
            if isinstance(call, Aggregate) and call.function == "COUNT":
                scale = float(self._people)
            elif isinstance(call, Aggregate) and call.function == "SUM":
                values = self._write_summand(call.column)
                weighted = f" * {_WEIGHT}" if self._is_weighted else ""
                sql = f"SELECT COALESCE(SUM(ABS({values}){weighted}), 0) FROM people"
                ((scale,),) = self._database.execute(sql).fetchall()
            scales.append(scale)
        return np.array(scales)

    def _replace_table(self, select: str, new: pa.Table) -> None:
        """Make the table anew. select: over it and the table `new`."""
        self._database.register("new", new)
        self._database.execute(f"CREATE OR REPLACE TABLE people AS {select}")
        self._database.unregister("new")

    def _key(self, key: GroupKey) -> str:
        """The column of a key; bins have one of their own, made when they are first asked for."""
        if key.scalar is not None:
            return f"({key.scalar.text})"
        source, index = quote(key.column), find_dimension(self._schema, key.column)
        domain = None if index is None else self._schema.dimensions[index].domain
        if not isinstance(domain, Ordered):
            return source
        target = quote(f"{RESERVED_PREFIX}{key.width!r} {key.column}")
        if target not in self._bins:
            self._bins.add(target)
            distinct = f"SELECT DISTINCT {source} AS value FROM people WHERE {source} IS NOT NULL"
            column = self._database.sql(distinct).to_arrow_table().column("value")
            edges: list[Any] = list(Edges(domain))
            # The lower edge of each value's bin; the last bin of a float domain is closed.
            starts = [
                edges[min(bisect_right(edges, value), len(edges) - 1) - 1]
                for value in column.to_pylist()
            ]
            labels = pa.array(starts, column.type)
            if key.width is not None:
                labels = pa.array([_multiple(start, key.width) for start in starts], pa.float64())
            self._replace_table(
                f"SELECT people.*, new.label AS {target} FROM people "
                f"LEFT JOIN new ON people.{source} = new.value",
                pa.table({"value": column, "label": labels}),
            )
        return target

    def _exact(self, call: Leaf, conditions: Sequence[str]) -> str:
        """An aggregate over raw values; conditions: of FILTER."""
        assert isinstance(call, Aggregate)
        kind = find_aggregate(call.function)
        assert kind is not None
        columns = ["*"]
        if isinstance(call.column, Ranked):
            ordered = call.column.column
            columns = [quote(ordered) if isinstance(ordered, str) else f"({ordered})"]
        elif isinstance(call.column, ProductMoments):
            columns = [f"({text})::DOUBLE" for text in call.column.texts]
        elif kind.takes == "number":
            columns = [self._write_summand(call.column)]
        elif call.column is not None:
            is_name = isinstance(call.column, str)
            columns = [quote(str(call.column)) if is_name else f"({call.column})"]
        if call.filter is not None:
            counted = ["1" if column == "*" else column for column in columns]
            columns = [f"CASE WHEN {conditions[call.filter]} THEN {each} END" for each in counted]
        if isinstance(call.column, Ranked):
            columns.append(f"{'-' * call.column.is_descending}{call.column.share!r}")
        if self._is_weighted:
            return _expect(kind.names[0], columns)
        return kind.exact.format(", ".join(columns))

    def _write_summand(self, name: Column) -> str:
        """A column or expression as a number; a measure by itself clamped to its bounds, and
        where it is missing NULL, or what it counts as."""
        if not isinstance(name, str):
            return f"({name})::DOUBLE"
        index, column = find_measure(self._schema, name), f"{quote(name)}::DOUBLE"
        if index is None:
            return column
        measure = self._schema.measures[index]
        low, high = measure.bounds
        clamped = f"greatest({low!r}::DOUBLE, least({high!r}::DOUBLE, {column}))"
        missing = "NULL" if measure.has_null else repr(measure.stand_in)
        return f"CASE WHEN {column} IS NULL THEN {missing}::DOUBLE ELSE {clamped} END"


def _expect(function: str, columns: Sequence[str]) -> str:
    """An aggregate's expectation where every row answers with a probability; of an average, the
    quotient of the two. NotSupportedError for an aggregate that is not linear in rows."""
    if function not in ("COUNT", "SUM", "AVG"):
        raise NotSupportedError(
            f"{function} of persons who have several rows has no expectation over the row that is "
            "drawn; compare COUNT, SUM and AVG, or give each person one row"
        )
    [column] = columns
    value = "1" if column == "*" else f"({column})"
    # Thirds of persons make whole ones: an exact answer must not miss its truth by a rounding.
    count = f"COALESCE(ROUND(FSUM({_WEIGHT}) FILTER ({value} IS NOT NULL), 6), 0)"
    if function == "COUNT":
        return count
    total = f"COALESCE(FSUM({_WEIGHT} * {value}), 0)"
    return total if function == "SUM" else f"{total} / NULLIF({count}, 0)"


def _multiple(value: float, width: float) -> float:
    """The largest multiple of a width up to a value, of decimals as they are written: 0.1 is a
    tenth."""
    step = Fraction(repr(width))
    number = math.floor(Fraction(repr(value)) / step)
    return max(
        start for n in (number - 1, number, number + 1) if (start := float(n * step)) <= value
    )


def _condition(predicate: Predicate) -> str:
    return f"({condition(predicate, lambda _, value: literal(value))})"


def _numbers(row: Sequence[Any]) -> Array:
    numbers = np.array([math.nan if value is None else float(value) for value in row])
    return np.where(np.isfinite(numbers), numbers, math.nan)
