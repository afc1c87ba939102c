"""Expressions without columns, folded to one value.

Numbers with a point are decimals, as in DuckDB: 0.1 + 0.2 is 0.3.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlglot import exp

from ldpsql.parser.source import Source
from ldpsql_device.types import Value

_OPERATORS: Mapping[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: lambda left, right: float(left) / float(right),
}
_WHOLE = {"TINYINT", "SMALLINT", "INT", "BIGINT", "HUGEINT"}
_REAL = {"FLOAT", "DOUBLE", "DECIMAL"}
_MOMENTS = {"TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"}
_UNCHANGED = {("TEXT", str), ("VARCHAR", str), ("BOOLEAN", bool)}
_MAX_DIGITS = 100
_LARGEST = 10**300

_Number = int | float | Decimal
_Folded = Value | Decimal | None


def is_constant(node: exp.Expr) -> bool:
    """Whether a node holds nothing but literals, casts of them, and + - * / between them."""
    if isinstance(node, exp.Paren | exp.Neg | exp.Cast):
        return is_constant(node.this)
    if type(node) in _OPERATORS:
        return is_constant(node.this) and is_constant(node.expression)
    return isinstance(node, exp.Literal | exp.Null | exp.Boolean)


def fold(node: exp.Expr, source: Source) -> Value | None:
    """The value of a constant expression; None is SQL's NULL.

    QueryError for arithmetic on anything but numbers, a division by zero, a number too large,
    and a text that is not a date where it is cast to one; UnsupportedSQL for other casts.
    """
    folded = _fold(node, source)
    value = float(folded) if isinstance(folded, Decimal) else folded
    too_large = isinstance(value, int) and abs(value) > _LARGEST
    if too_large or (isinstance(value, float) and not math.isfinite(value)):
        raise source.wrong("this number is too large", node)
    return value


def _fold(node: exp.Expr, source: Source) -> _Folded:
    if isinstance(node, exp.Literal):
        return str(node.this) if node.is_string else _number(node, source)
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Paren):
        return _fold(node.this, source)
    if isinstance(node, exp.Neg):
        value = _operand(node.this, source)
        return None if value is None else -value
    if isinstance(node, exp.Cast):
        return _cast(node, source)
    return None if isinstance(node, exp.Null) else _arithmetic(node, source)


def _arithmetic(node: exp.Expr, source: Source) -> _Folded:
    left, right = _operand(node.this, source), _operand(node.expression, source)
    if left is None or right is None:
        return None
    if isinstance(node, exp.Div) and not right:
        raise source.wrong("division by zero", node)
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    try:
        result: _Number = _OPERATORS[type(node)](left, right)
    except ArithmeticError:
        raise source.wrong("this number is too large", node) from None
    return result


def _operand(node: exp.Expr, source: Source) -> _Number | None:
    value = _fold(node, source)
    if value is None or (isinstance(value, _Number) and not isinstance(value, bool)):
        return value
    raise source.wrong("arithmetic takes numbers", node, hint="write the value out")


def _number(node: exp.Expr, source: Source) -> _Number:
    text = str(node.this)
    if len(text) > _MAX_DIGITS:
        raise source.wrong("this number has too many digits", node)
    try:
        if text.isdigit():
            return int(text)
        return float(text) if "e" in text.lower() else Decimal(text)
    except (ValueError, ArithmeticError):
        raise source.wrong(f"{text[:40]} is not a number", node) from None


def _cast(node: exp.Expr, source: Source) -> _Folded:
    value = _fold(node.this, source)
    kind = str(node.args["to"].this.value).upper()
    if value is None or (kind, type(value)) in _UNCHANGED:
        return value
    if (kind == "DATE" or kind in _MOMENTS) and isinstance(value, str | date):
        moment = _moment(value, node, source)
        return moment.date() if kind == "DATE" else moment
    if isinstance(value, _Number) and not isinstance(value, bool):
        if kind in _WHOLE and value == int(value):
            return int(value)
        if kind in _REAL and not node.args["to"].expressions:
            return value
    raise source.unsupported(
        f"this value cannot be cast to {kind} here", node, hint="write the value out"
    )


def _moment(value: str | date, node: exp.Expr, source: Source) -> datetime:
    if not isinstance(value, str):
        return value if isinstance(value, datetime) else datetime(*value.timetuple()[:3])
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        raise source.wrong(
            f"{value[:40]!r} is not a date or time", node, hint="write 2026-01-31"
        ) from None
    if moment.tzinfo is not None:
        raise source.wrong(
            f"{value[:40]!r} has a time zone", node, hint="write local time without one"
        )
    return moment
