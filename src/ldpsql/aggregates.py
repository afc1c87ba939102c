"""Aggregates: which there are, what each is computed from, and arithmetic over them.

An aggregate is one entry of `AGGREGATES` and nothing else, which the parser, EXPLAIN, the answers,
their error bars and their notes read. It says which function of sums over people it is:

- The sums (`Target`) become the linear queries that reports answer.
- The function is an `Expression` over these sums. Its shape decides the interval: a linear form of
  sums has a normal interval, a quotient of two linear forms has Fieller's, and anything else has
  that of the delta method (`ldpsql.engine.arithmetic`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Literal, TypeVar

from ldpsql import domains
from ldpsql.boxes import CodeSet, Weight
from ldpsql.domains import find_dimension, find_measure, find_public_column
from ldpsql.errors import Place
from ldpsql.sql import Scalar
from ldpsql_device.errors import InternalError
from ldpsql_device.schema import Schema

T = TypeVar("T")

Operator = Literal["+", "-", "*", "/"]
Amounts = tuple[tuple[float, CodeSet], ...]


@dataclass(frozen=True)
class Share:
    """What a person adds to a sum: an expression over dimensions, NULL for nothing, times a column.

    column: a measure or a numeric public column, or None for 1.  kind: of a public column whether
    its value counts (0 for NULL), or 1 where it has one.
    """

    factor: Scalar
    column: str | None = None
    kind: Literal["value", "present"] = "value"


@dataclass(frozen=True)
class Amount:
    """An expression that is summed: linear in measures and public columns, anything in dimensions.

    text: as DuckDB SQL over raw values.  summed: shares that add up to SUM of it, none where it is
    no number.  counted: to COUNT of it.
    """

    text: str
    summed: tuple[Share, ...]
    counted: tuple[Share, ...]

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Aggregate:
    """A call of an aggregate as parsed.

    column: a declared name, an expression, or None for COUNT(*).  filter: index of the condition
    of FILTER among those of the query.  over: for a sum over rows that agree in some keys, the
    names of these keys in the relation.
    """

    function: str
    column: str | Amount | None
    place: Place = field(compare=False)
    filter: int | None = None
    over: tuple[str, ...] | None = None

    @property
    def label(self) -> str:
        """The call as it would be written."""
        return _label_under(f"{self.function}({self.column or '*'})", self)


@dataclass(frozen=True)
class Target:
    """A sum over people that the reports must give; with all defaults, how many people there are.

    measure: index of the private measure that is summed.  weight: the public column that is
    summed.  amounts: what each person adds, or what multiplies that: (dimension, ((amount, codes),
    ...)), the amount that belongs to the code of one dimension, nothing for codes that are not
    listed; or an expression over dimensions.  filter, over: as of `Aggregate`.
    label: the sum in words, for EXPLAIN; two targets may differ in it and be the same sum.
    """

    measure: int | None = None
    weight: Weight | None = None
    amounts: tuple[int, Amounts] | Scalar | None = None
    filter: int | None = None
    over: tuple[str, ...] | None = None
    label: str = field(default="COUNT(*)", compare=False)


@dataclass(frozen=True)
class Number:
    """A numeric constant."""

    value: float


@dataclass(frozen=True)
class Arithmetic:
    """left <op> right; unary minus is 0 - x."""

    op: Operator
    left: Expression
    right: Expression


Leaf = Aggregate | Target
Expression = Leaf | Number | Arithmetic

_OPERATORS: Mapping[Operator, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def evaluate(
    expression: Expression,
    leaf: Callable[[Leaf], T],
    number: Callable[[float], T],
    combine: Callable[[Operator, T, T], T] = lambda op, left, right: _OPERATORS[op](left, right),
) -> T:
    """Evaluate an expression in the arithmetic of whatever the leaves are.

    leaf, number: the value of an aggregate or sum, and of a constant.  combine: of an operator and
    two values; by Python's own operators unless another way is given.
    """
    if isinstance(expression, Number):
        return number(expression.value)
    if isinstance(expression, Arithmetic):
        left = evaluate(expression.left, leaf, number, combine)
        return combine(expression.op, left, evaluate(expression.right, leaf, number, combine))
    return leaf(expression)


def label(
    expression: Expression,
    leaf: Callable[[Leaf], str] = lambda leaf: leaf.label,
    number: Callable[[float], str] = "{:g}".format,
) -> str:
    """An expression as it would be written, every operation in brackets; leaf and number: the
    texts of an aggregate or sum, and of a constant."""
    return evaluate(expression, leaf, number, "({1} {0} {2})".format)


def leaves(expression: Expression) -> Iterator[Leaf]:
    """The aggregates, or sums, of an expression, from left to right."""
    if isinstance(expression, Arithmetic):
        yield from leaves(expression.left)
        yield from leaves(expression.right)
    elif not isinstance(expression, Number):
        yield expression


def aggregates(expression: Expression) -> Iterator[Aggregate]:
    """The aggregates of a parsed expression, from left to right."""
    return (leaf for leaf in leaves(expression) if isinstance(leaf, Aggregate))


def expand(expression: Expression, schema: Schema) -> Expression:
    """The expression with every aggregate replaced by its function of sums."""
    if isinstance(expression, Aggregate):
        kind = find_aggregate(expression.function)
        assert kind is not None
        value = kind.value(schema, expression.column)
        is_plain = expression.filter is None and expression.over is None
        return value if is_plain else _under(value, expression)
    if isinstance(expression, Arithmetic):
        left, right = expand(expression.left, schema), expand(expression.right, schema)
        return Arithmetic(expression.op, left, right)
    return expression


def _under(expression: Expression, call: Aggregate) -> Expression:
    """The expression with every sum under the FILTER of a call, and over its rows."""

    def under(leaf: Leaf) -> Expression:
        assert isinstance(leaf, Target)
        text = _label_under(leaf.label, call)
        return replace(leaf, filter=call.filter, over=call.over, label=text)

    return evaluate(expression, under, Number, Arithmetic)


def _label_under(text: str, call: Aggregate) -> str:
    if call.filter is not None:
        text = f"{text} under filter {call.filter + 1}"
    return text if call.over is None else f"{text} of {'several' if call.over else 'all'} rows"


def targets_of(expression: Expression, schema: Schema) -> tuple[Target, ...]:
    """The different sums that an expression needs, in order of their first use."""
    sums = (leaf for leaf in leaves(expand(expression, schema)) if isinstance(leaf, Target))
    return tuple(dict.fromkeys(sums))


# -- sums of columns ----------------------------------------------------------------------------


def people_with(schema: Schema, column: str | Amount | None) -> Expression:
    """How many people have a value in a column, or how many there are where it is None.

    NULLs are left out as SQL has it: of a dimension by asking only for codes that are not NULL,
    of a public column by its weight. A measure is never NULL.
    """
    if isinstance(column, Amount):
        return _total(column.counted, f"COUNT({column})", schema)
    if column is None or find_measure(schema, column) is not None:
        return Target()
    index = find_dimension(schema, column)
    if index is not None:
        dimension = schema.dimensions[index]
        if not domains.null_codes(dimension):
            return Target()
        amounts = ((1.0, domains.present_codes(dimension)),)
        return Target(amounts=(index, amounts), label=f"COUNT({dimension.name})")
    public = find_public_column(schema, column)
    if public is None:
        raise InternalError(f"the survey has no column {column!r}")
    return Target(weight=Weight(public.name, "present"), label=f"COUNT({public.name}), public")


def sum_of(schema: Schema, column: str | Amount | None) -> Expression:
    """The sum of a measure, a numeric public column or an expression; NULLs add nothing."""
    if isinstance(column, Amount):
        return _total(column.summed, f"SUM({column})", schema)
    measure = find_measure(schema, column or "")
    if measure is not None:
        return Target(measure=measure, label=f"SUM({schema.measures[measure].name})")
    public = find_public_column(schema, column or "")
    if public is None or not public.is_numeric:
        raise InternalError(f"the survey has no numeric column {column!r}")
    return Target(weight=Weight(public.name), label=f"SUM({public.name}), public")


def _total(shares: tuple[Share, ...], label: str, schema: Schema) -> Expression:
    """The sum of shares, each a sum over people."""
    targets: list[Expression] = []
    for share in shares:
        measure = find_measure(schema, share.column or "")
        is_public = share.column is not None and measure is None
        weight = Weight(str(share.column), share.kind) if is_public else None
        targets.append(Target(measure, weight, share.factor, label=label))
    return reduce(lambda left, right: Arithmetic("+", left, right), targets)


# -- the aggregates -----------------------------------------------------------------------------


@dataclass(frozen=True)
class AggregateKind:
    """One aggregate.

    names: what SQL calls it, in capitals; the first is its own.
    takes: what stands in its brackets: "rows" is a column of any kind, * or nothing; "number" a
    measure, a numeric public column or a number computed from columns; "dimension" a dimension.
    value: the expression over sums that it is, for a schema and the declared name of its column, or
    the amount that is computed.
    exact: the same over raw values as SQL, with {} for the column; `bench` asks DuckDB for it.
    """

    names: tuple[str, ...]
    takes: Literal["rows", "number", "dimension"]
    value: Callable[[Schema, Any], Expression]
    exact: str


AGGREGATES: tuple[AggregateKind, ...] = (
    AggregateKind(("COUNT",), "rows", people_with, "COUNT({})"),
    # The sum of nobody is 0, where SQL says NULL: reports cannot tell that nobody is there.
    AggregateKind(("SUM",), "number", sum_of, "COALESCE(SUM({}), 0)"),
    AggregateKind(
        ("AVG",),
        "number",
        lambda schema, column: Arithmetic("/", sum_of(schema, column), people_with(schema, column)),
        "AVG({})",
    ),
)


def find_aggregate(name: str) -> AggregateKind | None:
    """The aggregate of a name, in any case; None where there is none."""
    return next((entry for entry in AGGREGATES if name.upper() in entry.names), None)
