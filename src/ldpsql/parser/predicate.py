"""WHERE: syntax tree to predicate.

A column against constants, and NOT, AND, OR of those, are told from codes alone. Any other
condition is an expression that is evaluated over the declared values of the columns that it names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sqlglot import exp

from ldpsql.limits import in_time
from ldpsql.parser.columns import Columns
from ldpsql.parser.query import (
    And,
    Comparison,
    Constant,
    Membership,
    Not,
    NotTrue,
    NullTest,
    Or,
    Predicate,
)
from ldpsql.parser.scalars import MIRRORED, OPERATORS, read_scalar
from ldpsql.parser.source import refuse, wrong
from ldpsql.parser.values import fold, is_constant, read_text
from ldpsql.sql.domains import COMPARISONS, as_day, find_dimension
from ldpsql.sql.quoting import DUCKDB_TYPES
from ldpsql_device.values import Value


def read_predicate(node: exp.Expr, columns: Columns) -> Predicate:
    """The predicate that a WHERE expression stands for.

    Errors for unknown columns and measures, and, with what to write instead, for anything that
    cannot be evaluated over declared values.
    """
    reader = _READERS.get(type(node))
    if reader is None or not _is_told_from_codes(node):
        return _condition(node, columns)
    return reader(node, columns)


def _is_told_from_codes(node: exp.Expr) -> bool:
    """Whether a node composes conditions, or holds one column and otherwise constants."""
    if isinstance(node, exp.Is):
        is_true = isinstance(node.expression, exp.Boolean) and node.expression.this
        return isinstance(node.this.unnest(), exp.Column) or (is_true and _composes(node.this))
    if isinstance(node, exp.In) and node.args.get("query"):
        return False
    plain = [each.unnest() for each in _operands(node)]
    others = [each for each in plain if not is_constant(each)]
    is_one_column = len(others) == 1 and isinstance(others[0], exp.Column)
    if isinstance(node, exp.Between | exp.In):
        return not others or (is_one_column and others[0] is plain[0])
    return not others or is_one_column


def _operands(node: exp.Expr) -> list[exp.Expr]:
    """The expressions that a comparison compares; none for anything else."""
    if type(node) in OPERATORS or isinstance(node, exp.NullSafeEQ | exp.NullSafeNEQ):
        return [node.this, node.expression]
    if isinstance(node, exp.Between):
        return [node.this, node.args["low"], node.args["high"]]
    if isinstance(node, exp.In) and not any(node.args.get(part) for part in _NOT_A_LIST):
        return [node.this, *node.expressions]
    return []


def _composes(node: exp.Expr) -> bool:
    """Whether a node is a condition of a form that is read."""
    plain = node.unnest()
    return type(plain) in _READERS and not isinstance(plain, exp.Column)


def _condition(node: exp.Expr, columns: Columns) -> Predicate:
    """An expression of type BOOLEAN."""
    if isinstance(node, exp.Literal):
        raise refuse("a constant is not a condition", node, "write TRUE or FALSE")
    if type(node) in _ORDERINGS and type(node.this) in _ORDERINGS:
        hint = "write BETWEEN, or AND of two"
        raise refuse("a comparison of comparisons is not supported", node.this, hint)
    scalar = read_scalar(node, columns)
    if scalar.kind != "BOOLEAN":
        raise wrong("this is not a condition", node, "compare it with something")
    return scalar


_ORDERINGS = (exp.LT, exp.LTE, exp.GT, exp.GTE)
_NOT_A_LIST = ("query", "unnest", "field", "is_global")


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
    read = tuple(read_predicate(operand, columns) for operand in in_time(operands))
    return And(read) if kind is exp.And else Or(read)


def _comparison(node: exp.Expr, columns: Columns) -> Predicate:
    op = OPERATORS[type(node)]
    left, right = node.this.unnest(), node.expression.unnest()
    if is_constant(left) and is_constant(right):
        return _constant_comparison(node, op)
    if is_constant(left):
        left, right, op = right, left, MIRRORED[op]
    column = _column(left, node, columns)
    value = _value(column, right, columns)
    if op in ("=", "<>"):
        value = columns.check_declared(column, value, right)
    return _compare(column, op, value, node, columns)


def _value(column: str, node: exp.Expr, columns: Columns) -> Value | None:
    """The constant that a column is compared with, as a value of the column's type where DuckDB
    reads it as one."""
    value, index = fold(node), find_dimension(columns.schema, column)
    kind = "" if index is None else columns.schema.dimensions[index].domain.type
    if isinstance(value, str) and kind in DUCKDB_TYPES:
        return read_text(value, kind)
    if kind == "bool" and type(value) is int and value in (0, 1):
        return value == 1
    return int(value) if kind == "int" and isinstance(value, bool) else value


def _compare(
    column: str, op: str, value: Value | None, node: exp.Expr, columns: Columns
) -> Comparison:
    """A comparison with a constant; a moment is at or before a date if it is before its midnight,
    but for that one moment, which no survey tells from the rest of its bin."""
    index, place = find_dimension(columns.schema, column), columns.place(node)
    of_moments = index is not None and columns.schema.dimensions[index].domain.type == "timestamp"
    if of_moments and op in _WITHOUT_THE_MOMENT and as_day(value) is not None:
        return Comparison(column, _WITHOUT_THE_MOMENT[op], value, place, ends_day=True)
    return Comparison(column, op, value, place)


_WITHOUT_THE_MOMENT = {"<=": "<", ">": ">="}


def _constant_comparison(node: exp.Expr, op: str) -> Constant:
    left, right = fold(node.this), fold(node.expression)
    if left is None or right is None:
        return Constant(None)
    kinds = [
        float if isinstance(each, int | float) and not isinstance(each, bool) else type(each)
        for each in (left, right)
    ]
    if kinds[0] != kinds[1]:
        compared = fold(exp.Paren(this=exp.cast(node.copy(), "BOOLEAN")))
        return Constant(None if compared is None else bool(compared))
    return Constant(COMPARISONS[op](left, right))


def _between(node: exp.Expr, columns: Columns) -> Predicate:
    column = _column(node.this.unnest(), node, columns)
    ends = [_value(column, node.args[end].unnest(), columns) for end in ("low", "high")]

    def between(low: Value | None, high: Value | None) -> And:
        sides = ((">=", low), ("<=", high))
        compared = (_compare(column, op, end, node, columns) for op, end in sides)
        return And(tuple(replace(each, ends=(low, high)) for each in compared))

    if node.args.get("symmetric"):
        return Or((between(*ends), between(*reversed(ends))))
    return between(*ends)


def _membership(node: exp.Expr, columns: Columns) -> Predicate:
    if any(node.args.get(key) for key in _NOT_A_LIST):
        raise refuse("IN takes a list of constants", node, "write IN (1, 2, 3)")
    if not node.expressions:
        raise wrong("IN needs at least one value", node)
    column = _column(node.this.unnest(), node, columns)
    items = [item.unnest() for item in node.expressions]
    literals = tuple(
        columns.check_declared(column, _value(column, item, columns), item)
        for item in in_time(items)
    )
    return Membership(column, literals, columns.place(node))


def _is(node: exp.Expr, columns: Columns) -> Predicate:
    if not isinstance(node.this.unnest(), exp.Column):
        return NotTrue(NotTrue(read_predicate(node.this, columns)))
    column, value = _column(node.this.unnest(), node, columns), node.expression
    if isinstance(value, exp.Null) or (isinstance(value, exp.Boolean) and columns.is_bool(column)):
        return _same(node, columns)
    reason = "IS takes NULL, or TRUE and FALSE for a bool column"
    is_text = isinstance(value, exp.Literal)
    written = f"write {column} = {columns.source.text(value)}"
    raise refuse(reason, node, written if is_text else "write = or <>")


def _same(node: exp.Expr, columns: Columns) -> Predicate:
    """IS NOT DISTINCT FROM: equality that takes NULL for a value, so that it is never NULL."""
    column, place = _column(node.this.unnest(), node, columns), columns.place(node)
    given = _value(column, node.expression.unnest(), columns)
    value = columns.check_declared(column, given, node.expression)
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
    **dict.fromkeys(OPERATORS, _comparison),
}


def _column(node: exp.Expr, whole: exp.Expr, columns: Columns) -> str:
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        raise refuse("this compares no column", whole, "compare a column with a constant")
    return columns.name(node, "key")
