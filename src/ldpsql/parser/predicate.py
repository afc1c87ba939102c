"""WHERE: syntax tree to predicate.

Understood is what can be answered exactly from codes and public columns: a column against
constants, and NOT, AND, OR of those. Everything else is refused where it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from ldpsql.domains import COMPARISONS
from ldpsql.parser.allowed import function_name
from ldpsql.parser.columns import Columns
from ldpsql.parser.query import And, Comparison, Constant, Membership, Not, NullTest, Or, Predicate
from ldpsql.parser.source import Refusal, unsupported, wrong
from ldpsql.parser.values import fold, is_constant
from ldpsql_device.values import Value

_OPERATORS: Mapping[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def read_predicate(node: exp.Expr, columns: Columns) -> Predicate:
    """The predicate that a WHERE expression stands for.

    Errors for unknown columns and measures, and, with what to write instead, for anything outside
    the subset.
    """
    reader = _READERS.get(type(node))
    if reader is None:
        raise _refusal(node)
    return reader(node, columns)


def _connector(node: exp.Expr, columns: Columns) -> Predicate:
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
    read = tuple(read_predicate(operand, columns) for operand in operands)
    return And(read) if kind is exp.And else Or(read)


def _comparison(node: exp.Expr, columns: Columns) -> Predicate:
    op = _OPERATORS[type(node)]
    left, right = node.this.unnest(), node.expression.unnest()
    if is_constant(left) and is_constant(right):
        return _constant_comparison(node, op)
    if is_constant(left):
        left, right, op = right, left, _MIRRORED[op]
    column = _column(left, node, columns)
    value = _constant(right, node, columns)
    if op in ("=", "<>"):
        columns.check_declared(column, value, right)
    return Comparison(column, op, value, columns.place(node))


def _constant_comparison(node: exp.Expr, op: str) -> Constant:
    left, right = fold(node.this), fold(node.expression)
    if left is None or right is None:
        return Constant(None)
    kinds = [
        float if isinstance(each, int | float) and not isinstance(each, bool) else type(each)
        for each in (left, right)
    ]
    if kinds[0] != kinds[1]:
        raise wrong("these two constants are of different types", node)
    return Constant(COMPARISONS[op](left, right))


def _between(node: exp.Expr, columns: Columns) -> Predicate:
    column, place = _column(node.this.unnest(), node, columns), columns.place(node)
    ends = [_constant(node.args[end].unnest(), node, columns) for end in ("low", "high")]

    def between(low: Value | None, high: Value | None) -> And:
        return And((Comparison(column, ">=", low, place), Comparison(column, "<=", high, place)))

    if node.args.get("symmetric"):
        return Or((between(*ends), between(*reversed(ends))))
    return between(*ends)


def _membership(node: exp.Expr, columns: Columns) -> Predicate:
    if node.args.get("query") is not None:
        reason = "a subquery in WHERE is not answered"
        raise unsupported(reason, node, "write the values in the list")
    if any(node.args.get(key) for key in ("unnest", "field", "is_global")):
        raise unsupported("IN takes a list of constants", node, "write IN (1, 2, 3)")
    if not node.expressions:
        raise wrong("IN needs at least one value", node)
    column = _column(node.this.unnest(), node, columns)
    items = [item.unnest() for item in node.expressions]
    literals = tuple(_constant(item, node, columns) for item in items)
    for item, value in zip(items, literals, strict=True):
        columns.check_declared(column, value, item)
    return Membership(column, literals, columns.place(node))


def _is(node: exp.Expr, columns: Columns) -> Predicate:
    column, value = _column(node.this.unnest(), node, columns), node.expression
    if isinstance(value, exp.Null) or (isinstance(value, exp.Boolean) and columns.is_bool(column)):
        return _same(node, columns)
    reason = "IS takes NULL, or TRUE and FALSE for a bool column"
    raise unsupported(reason, node, "write = or <>")


def _same(node: exp.Expr, columns: Columns) -> Predicate:
    """IS NOT DISTINCT FROM: equality that takes NULL for a value, so that it is never NULL."""
    column, place = _column(node.this.unnest(), node, columns), columns.place(node)
    value = _constant(node.expression.unnest(), node, columns)
    columns.check_declared(column, value, node.expression)
    is_null = NullTest(column, place)
    return is_null if value is None else And((Comparison(column, "=", value, place), Not(is_null)))


def _bare_column(node: exp.Expr, columns: Columns) -> Predicate:
    column = _column(node, node, columns)
    if not columns.is_bool(column):
        raise wrong(f"{column} is not of type bool", node, f"compare it: {column} = ...")
    return Comparison(column, "=", True, columns.place(node))


_READERS: Mapping[type[exp.Expr], Callable[[exp.Expr, Columns], Predicate]] = {
    exp.And: _connector,
    exp.Or: _connector,
    exp.Not: lambda node, columns: Not(read_predicate(node.this, columns)),
    exp.Paren: lambda node, columns: read_predicate(node.this, columns),
    exp.Between: _between,
    exp.In: _membership,
    exp.Is: _is,
    exp.NullSafeEQ: _same,
    exp.NullSafeNEQ: lambda node, columns: Not(_same(node, columns)),
    exp.Boolean: lambda node, _: Constant(bool(node.this)),
    exp.Null: lambda *_: Constant(None),
    exp.Column: _bare_column,
    **dict.fromkeys(_OPERATORS, _comparison),
}


def _column(node: exp.Expr, whole: exp.Expr, columns: Columns) -> str:
    if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
        return columns.name(node, "key")
    raise _refusal(node if not is_constant(node) else whole)


def _constant(node: exp.Expr, whole: exp.Expr, columns: Columns) -> Value | None:
    if is_constant(node):
        return fold(node)
    if isinstance(node, exp.Column):
        columns.name(node)
        reason = "a comparison of two columns is not answered"
        raise unsupported(reason, whole, "compare a column with a constant")
    raise _refusal(node)


def _refusal(node: exp.Expr) -> Refusal:
    """Why a node is not part of a predicate, and what to write instead."""
    for kinds, reason, hint in _REASONS:
        if isinstance(node, kinds) or (
            kinds in _ANYWHERE and any(isinstance(part, kinds) for part in node.walk())
        ):
            return unsupported(reason, node, hint)
    return unsupported(f"{function_name(node)} is not understood in WHERE", node, _ON_COLUMN)


_ANYWHERE = (exp.Query, exp.Interval)
_ON_COLUMN = "compare the column itself with a constant"
_REASONS: tuple[tuple[type[exp.Expr] | tuple[type[exp.Expr], ...], str, str], ...] = (
    (exp.Query, "a subquery in WHERE is not answered", "ask it first and write its answer"),
    (
        (exp.Like, exp.ILike, exp.RegexpLike, exp.StartsWith, exp.SimilarTo),
        "patterns are not matched in WHERE",
        "list the values: column IN ('a', 'b')",
    ),
    (exp.AggFunc, "an aggregate cannot stand in WHERE", "write it in HAVING"),
    (exp.Interval, "intervals are not computed in WHERE", "write the date, or give a parameter"),
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
    (exp.Cast, "a column cannot be cast in WHERE", _ON_COLUMN),
    (exp.Literal, "a constant is not a condition", "write TRUE or FALSE"),
    (exp.Tuple, "rows are not compared", "compare each column, joined by AND"),
    (exp.Func, "a function cannot stand in WHERE", _ON_COLUMN),
)
