"""The parts of a parsed question.

A `ParsedSQL` is one SQL text. It holds one or more *base queries*, each an aggregate SELECT over
a survey's table, and an outer SQL text that DuckDB evaluates over the relations of estimates
which the base queries give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Literal

from ldpsql.errors import Place
from ldpsql.sql.aggregates import Expression
from ldpsql.sql.domains import find_public_column
from ldpsql.sql.quoting import Join, Scalar, literal, quote
from ldpsql_device.schema import Schema
from ldpsql_device.values import Value

if TYPE_CHECKING:
    from ldpsql.sql.lookups import PublicTable

ROW = "ldpsql_row"
"""The column of every relation of estimates that numbers its rows."""

DISPLACED, UNKNOWN = -1, -2
"""Two values that stand in a gradient for the number of an estimate: by how much a rounded number
lies above the plain one; and, as every number below it, that there is no error bar."""

TOO_FEW = "too few reports"
"""Why an estimate is unknown; also the first of the reasons for which a number may be."""

What = Literal["value", "stderr", "low", "high"]
Mode = Literal["answer", "explain", "explain verbose"]


@dataclass(frozen=True)
class Comparison:
    """column <op> literal; op is one of = <> < <= > >=. A None literal is SQL's NULL.

    ends_day: whether the comparison was written with a date and <= or >, which in SQL tell the
    first moment of that day from the rest of it; what stands here is < or >=.
    ends: those of the BETWEEN that it is a side of.
    """

    column: str
    op: str
    literal: Value | None
    place: Place = field(compare=False)
    ends_day: bool = field(default=False, compare=False)
    ends: tuple[Value | None, Value | None] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Membership:
    """column IN (literals); a None literal is SQL's NULL."""

    column: str
    literals: tuple[Value | None, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True)
class NullTest:
    """column IS NULL."""

    column: str
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Constant:
    """TRUE, FALSE, or NULL (None)."""

    value: bool | None


@dataclass(frozen=True)
class Not:
    """Negation."""

    operand: Predicate


@dataclass(frozen=True)
class NotTrue:
    """FALSE or NULL."""

    operand: Predicate


@dataclass(frozen=True)
class And:
    """Conjunction of two or more."""

    operands: tuple[Predicate, ...]


@dataclass(frozen=True)
class Or:
    """Disjunction of two or more."""

    operands: tuple[Predicate, ...]


OfColumn = Comparison | Membership | NullTest
"""A condition on one column, told from its codes."""

Atom = OfColumn | Scalar
"""A condition that is not composed of others; a `Scalar` is of type BOOLEAN."""

Predicate = Atom | Constant | Not | NotTrue | And | Or


def atoms(predicate: Predicate | None) -> Iterator[Atom]:
    """The comparisons of a predicate, from left to right."""
    if isinstance(predicate, Not | NotTrue):
        yield from atoms(predicate.operand)
    elif isinstance(predicate, And | Or):
        for operand in predicate.operands:
            yield from atoms(operand)
    elif predicate is not None and not isinstance(predicate, Constant):
        yield predicate


def condition(  # noqa: PLR0911
    node: Predicate, written: Callable[[OfColumn, Value | None], str]
) -> str:
    """A predicate as DuckDB SQL; written: the text of a literal that stands in an atom."""
    if isinstance(node, Not):
        return f"NOT ({condition(node.operand, written)})"
    if isinstance(node, NotTrue):
        return f"({condition(node.operand, written)}) IS NOT TRUE"
    if isinstance(node, And | Or):
        word = "AND" if isinstance(node, And) else "OR"
        return f" {word} ".join(f"({condition(each, written)})" for each in node.operands)
    if isinstance(node, Constant):
        return "NULL::BOOLEAN" if node.value is None else literal(node.value)
    if isinstance(node, Scalar):
        return node.text
    if isinstance(node, NullTest):
        return f"{quote(node.column)} IS NULL"
    if isinstance(node, Membership):
        return f"{quote(node.column)} IN ({', '.join(written(node, v) for v in node.literals)})"
    return f"{quote(node.column)} {node.op} {written(node, node.literal)}"


@dataclass(frozen=True)
class GroupKey:
    """A GROUP BY key: a column, bin(column, width), or an expression over columns of one kind.

    column: a declared name, or the expression's text.  name: its column in the relation.
    """

    column: str
    width: float | None
    name: str
    place: Place
    scalar: Scalar | None = None

    def is_private(self, schema: Schema) -> bool:
        """Whether it is of dimensions, not of a public column."""
        public = [find_public_column(schema, name) is not None for name in self.columns]
        return not public or not all(public)

    @property
    def columns(self) -> tuple[str, ...]:
        """The declared names of the columns that it is of."""
        return (self.column,) if self.scalar is None else self.scalar.columns


@dataclass(frozen=True)
class Measurement:
    """One column of a relation of estimates: a number computed from aggregates.

    level: the confidence level of low and high; None for the answer's own.
    """

    expression: Expression
    what: What
    level: float | None
    name: str


@dataclass(frozen=True)
class Query:
    """A base query: aggregates over one survey's table.

    relation: the name under which the outer SQL reads its relation of estimates.
    table: the survey's name.  others: of surveys asked together with it as one table.
    predicate: its WHERE, or None.  keys: its GROUP BY.
    columns: what its relation holds after the keys.  filters: the conditions of FILTER.
    sets: of GROUPING SETS, ROLLUP and CUBE: the indices of the keys of each; None for all keys.
    joins: the public rows that people are joined with, in the order of FROM.
    part_of: the relation that its rows are a part of, those of one grouping set; empty elsewhere.
    """

    relation: str
    table: str
    predicate: Predicate | None
    keys: tuple[GroupKey, ...]
    columns: tuple[Measurement, ...]
    filters: tuple[Predicate, ...] = ()
    sets: tuple[tuple[int, ...], ...] | None = None
    joins: tuple[Join, ...] = ()
    others: tuple[str, ...] = ()
    part_of: str = ""

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """The comparisons of WHERE and of every FILTER."""
        return tuple(chain.from_iterable(map(atoms, (self.predicate, *self.filters))))

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of all surveys that it asks."""
        return (self.table, *self.others)


@dataclass(frozen=True)
class Output:
    """A column of the final result.

    name: as the user asked.  is_estimate: whether it is computed from estimates, and its gradient
    is known.  lost: why it has no error bar though it is computed from estimates, else empty.
    """

    name: str
    is_estimate: bool = False
    lost: str = ""


@dataclass(frozen=True)
class ParsedSQL:
    """One parsed SQL text.

    sql: as written.  mode: what to do with it.  bases: the base queries.  outer: DuckDB SQL over
    the relations of the bases. It selects the outputs, in order.
    traced: the same with the gradients of those outputs that are estimates behind them, in order;
    see `gradients`. The number of an estimate is r M + m: row r of the relation that holds the m-th
    of the M measurements of all bases, see `number_terms`.  reasons: why single values may have no
    error bar; the first stands for UNKNOWN in their gradients, the next for one less.
    projection: (column, name) pairs where `outer` only picks and names columns of the one relation,
    so that there is nothing to trace, else None.  asks_catalog: whether `outer` also reads the
    relations of `catalog`.  tables: the look-up tables that it reads.
    is_chosen: whether estimates choose which rows are shown.
    """

    sql: str
    mode: Mode
    bases: tuple[Query, ...]
    outer: str
    outputs: tuple[Output, ...]
    traced: str = ""
    reasons: tuple[str, ...] = (TOO_FEW,)
    projection: tuple[tuple[str, str], ...] | None = None
    asks_catalog: bool = False
    tables: tuple[PublicTable, ...] = ()
    is_chosen: bool = False


def number_terms(bases: Sequence[Query]) -> list[tuple[Query, int]]:
    """All measurements of some base queries, each with its place in `columns`."""
    return [(base, index) for base in bases for index in range(len(base.columns))]
