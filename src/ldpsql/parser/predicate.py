"""WHERE: syntax tree to predicate.

Understood is what can be answered exactly from codes and public columns: a column against
constants, and NOT, AND, OR of those. Everything else is refused where it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from ldpsql.domains import COMPARISONS
from ldpsql.errors import UnsupportedSQL
from ldpsql.parser.columns import Columns
from ldpsql.parser.constants import fold, is_constant
from ldpsql.parser.query import (
    And,
    Comparison,
    Constant,
    Membership,
    Not,
    NullTest,
    Or,
    Predicate,
)
from ldpsql_device.types import Value

_OPERATORS: Mapping[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def predicate(node: exp.Expr, columns: Columns) -> Predicate:
    """The predicate that a WHERE expression stands for.

    QueryError for unknown columns and measures; UnsupportedSQL, with what to write instead, for
    anything outside the subset.
    """
    return _Reader(columns).read(node)


@dataclass(frozen=True)
class _Reader:
    columns: Columns

    def read(self, node: exp.Expr) -> Predicate:
        reader = self._readers.get(type(node))
        if reader is None:
            raise self._refusal(node)
        return reader(node)

    @cached_property
    def _readers(self) -> Mapping[type[exp.Expr], Callable[[exp.Expr], Predicate]]:
        return {
            exp.And: self._connector,
            exp.Or: self._connector,
            exp.Not: lambda node: Not(self.read(node.this)),
            exp.Paren: lambda node: self.read(node.this),
            exp.Between: self._between,
            exp.In: self._membership,
            exp.Is: self._is,
            exp.NullSafeEQ: self._same,
            exp.NullSafeNEQ: lambda node: Not(self._same(node)),
            exp.Boolean: lambda node: Constant(bool(node.this)),
            exp.Null: lambda node: Constant(None),
            exp.Column: self._bare_column,
            **dict.fromkeys(_OPERATORS, self._comparison),
        }

    def _connector(self, node: exp.Expr) -> Predicate:
        """AND or OR; a chain of thousands is one node of thousands of operands."""
        kind = type(node)
        operands: list[exp.Expr] = []
        waiting = [node]
        while waiting:
            current = waiting.pop()
            if type(current) is kind:
                waiting += [current.expression, current.this]
            else:
                operands.append(current)
        read = tuple(map(self.read, operands))
        return And(read) if kind is exp.And else Or(read)

    def _comparison(self, node: exp.Expr) -> Predicate:
        op = _OPERATORS[type(node)]
        left, right = node.this.unnest(), node.expression.unnest()
        if is_constant(left) and is_constant(right):
            return self._constant_comparison(node, op)
        if is_constant(left):
            left, right, op = right, left, _MIRRORED[op]
        column = self._column(left, node)
        return Comparison(column, op, self._constant(right, node), self.columns.source.place(node))

    def _constant_comparison(self, node: exp.Expr, op: str) -> Constant:
        left = fold(node.this, self.columns.source)
        right = fold(node.expression, self.columns.source)
        if left is None or right is None:
            return Constant(None)
        if _kind(left) != _kind(right):
            raise self.columns.source.wrong("these two constants are of different types", node)
        return Constant(COMPARISONS[op](left, right))

    def _between(self, node: exp.Expr) -> Predicate:
        column = self._column(node.this.unnest(), node)
        low = self._constant(node.args["low"].unnest(), node)
        high = self._constant(node.args["high"].unnest(), node)
        place = self.columns.source.place(node)

        def between(low: Value | None, high: Value | None) -> And:
            return And(
                (Comparison(column, ">=", low, place), Comparison(column, "<=", high, place))
            )

        if node.args.get("symmetric"):
            return Or((between(low, high), between(high, low)))
        return between(low, high)

    def _membership(self, node: exp.Expr) -> Predicate:
        if node.args.get("query") is not None:
            raise self.columns.source.unsupported(
                "a subquery in WHERE is not answered", node, hint="write the values in the list"
            )
        if any(node.args.get(key) for key in ("unnest", "field", "is_global")):
            raise self.columns.source.unsupported(
                "IN takes a list of constants", node, hint="write IN (1, 2, 3)"
            )
        if not node.expressions:
            raise self.columns.source.wrong("IN needs at least one value", node)
        column = self._column(node.this.unnest(), node)
        literals = tuple(self._constant(item.unnest(), node) for item in node.expressions)
        return Membership(column, literals, self.columns.source.place(node))

    def _is(self, node: exp.Expr) -> Predicate:
        place = self.columns.source.place(node)
        column = self._column(node.this.unnest(), node)
        if isinstance(node.expression, exp.Null):
            return NullTest(column, place)
        if isinstance(node.expression, exp.Boolean) and self.columns.is_bool(column):
            return _known(Comparison(column, "=", bool(node.expression.this), place))
        raise self.columns.source.unsupported(
            "IS takes NULL, or TRUE and FALSE for a bool column", node, hint="write = or <>"
        )

    def _same(self, node: exp.Expr) -> Predicate:
        """IS NOT DISTINCT FROM: equality that takes NULL for a value."""
        column = self._column(node.this.unnest(), node)
        value = self._constant(node.expression.unnest(), node)
        place = self.columns.source.place(node)
        if value is None:
            return NullTest(column, place)
        return _known(Comparison(column, "=", value, place))

    def _bare_column(self, node: exp.Expr) -> Predicate:
        column = self._column(node, node)
        if not self.columns.is_bool(column):
            raise self.columns.source.wrong(
                f"{column} is not of type bool", node, hint=f"compare it: {column} = ..."
            )
        return Comparison(column, "=", True, self.columns.source.place(node))

    def _column(self, node: exp.Expr, whole: exp.Expr) -> str:
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            return self.columns.filterable(node)
        raise self._refusal(node if not is_constant(node) else whole)

    def _constant(self, node: exp.Expr, whole: exp.Expr) -> Value | None:
        if is_constant(node):
            return fold(node, self.columns.source)
        if isinstance(node, exp.Column):
            self.columns.name(node)
            raise self.columns.source.unsupported(
                "a comparison of two columns is not answered",
                whole,
                hint="compare a column with a constant",
            )
        raise self._refusal(node)

    def _refusal(self, node: exp.Expr) -> UnsupportedSQL:
        reason, hint = _reason(node)
        return self.columns.source.unsupported(reason, node, hint=hint)


def _known(comparison: Comparison) -> And:
    """The comparison, FALSE rather than NULL where the column is NULL."""
    return And((comparison, Not(NullTest(comparison.column, comparison.place))))


def _kind(value: Value) -> type:
    if isinstance(value, bool):
        return bool
    return float if isinstance(value, int | float) else type(value)


def _reason(node: exp.Expr) -> tuple[str, str]:
    """Why a node is not part of a predicate, and what to write instead."""
    for kinds, reason, hint in _REASONS:
        if isinstance(node, kinds) or (kinds in _ANYWHERE and node.find(*kinds)):
            return reason, hint
    return f"{type(node).__name__.upper()} is not understood in WHERE", _CONSTANT


_CONSTANT = "compare the column itself with a constant"
_QUERY = (exp.Query,)
_INTERVAL = (exp.Interval,)
_ANYWHERE = (_QUERY, _INTERVAL)
_REASONS: tuple[tuple[tuple[type[exp.Expr], ...], str, str], ...] = (
    (_QUERY, "a subquery in WHERE is not answered", "ask it first and write its answer"),
    (
        (exp.Like, exp.ILike, exp.RegexpLike, exp.StartsWith, exp.SimilarTo),
        "patterns are not matched in WHERE",
        "list the values: column IN ('a', 'b')",
    ),
    ((exp.AggFunc,), "an aggregate cannot stand in WHERE", "write it in HAVING"),
    (
        _INTERVAL,
        "intervals are not computed in WHERE",
        "write the date, or give it as a parameter",
    ),
    (
        (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Pow, exp.Neg),
        "arithmetic on columns is not answered in WHERE",
        "move it to the constant's side",
    ),
    (
        (*_OPERATORS, exp.Between, exp.Is, exp.In),
        "a comparison of comparisons is not answered",
        "write BETWEEN, or AND of two",
    ),
    ((exp.Cast,), "a column cannot be cast in WHERE", _CONSTANT),
    ((exp.Literal,), "a constant is not a condition", "write TRUE or FALSE"),
    ((exp.Tuple,), "rows are not compared", "compare each column, joined by AND"),
    ((exp.Func,), "a function cannot stand in WHERE", _CONSTANT),
)
