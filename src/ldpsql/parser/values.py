"""Values in SQL: constant expressions folded to one, and placeholders bound to them.

Numbers with a point are decimals, as in DuckDB: 0.1 + 0.2 is 0.3.

Placeholders (`?`, `$1`, `:name`, `$name`) are found among the tokens. Each is read as the number 0
and replaced in the syntax tree, found again by its offset. No value ever becomes SQL text before
it is parsed. sqlglot's own placeholders have no place in the text, and its `?` is an operator
between two columns.
"""

from __future__ import annotations

import math
import operator
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from sqlglot import Token, TokenType, exp

from ldpsql.errors import QueryError
from ldpsql.limits import check, in_time
from ldpsql.parser import binder
from ldpsql.parser.allowed import is_deterministic
from ldpsql.parser.source import Refusal, is_unicode, wrong
from ldpsql.reports.arrow_types import is_far
from ldpsql.sql.domains import read_moment
from ldpsql.sql.quoting import DUCKDB_TYPES
from ldpsql_device.values import Value, plain

_OPERATORS: Mapping[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: lambda left, right: float(left) / float(right),
}
_READ: Mapping[str, type[Value]] = {
    **dict.fromkeys(("TEXT", "VARCHAR"), str),
    "DATE": date,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"), datetime),
}
"""Types that a text is cast to without DuckDB's help, and what such values are."""
_COMPUTED = (exp.Func, exp.Interval, exp.Binary, exp.Unary)
_OF_ROWS = (exp.Column, exp.Query, exp.Star, exp.AggFunc)
_NOW = (exp.CurrentDate, exp.CurrentTimestamp, exp.Localtimestamp)
_NAMES_OF_NOW = {"NOW", "GET_CURRENT_TIMESTAMP", "TRANSACTION_TIMESTAMP"}
_ZONED = re.compile(r":\d\d.*?(?:[A-Za-z]|[+-]\d\d)")
"""Of a moment, where its time of day is followed by a time zone or an offset."""
_MAX_DIGITS = 100
_LARGEST = 10**300

_Number = int | float | Decimal
_Folded = Value | Decimal | None


# -- constants ------------------------------------------------------------------------------------


def is_constant(node: exp.Expr) -> bool:
    """Whether a node holds nothing but literals, and functions and operators over them that give a
    value and not a condition."""
    if isinstance(node, exp.Paren | exp.Neg | exp.Cast):
        return is_constant(node.this)
    if type(node) in _OPERATORS:
        return is_constant(node.this) and is_constant(node.expression)
    if isinstance(node, exp.Literal | exp.Null | exp.Boolean):
        return True
    return (
        isinstance(node, _COMPUTED)
        and not isinstance(node, exp.Connector | exp.Predicate)
        and (all(is_deterministic(part) and not isinstance(part, _OF_ROWS) for part in node.walk()))
    )


def fold(node: exp.Expr) -> Value | None:
    """The value of a constant expression; None is SQL's NULL.

    DuckDB computes what is not a number, a text, a moment, or arithmetic on numbers. An error for a
    division by zero, a number too large, and for what DuckDB cannot compute.
    """
    folded = _fold(node)
    value = float(folded) if isinstance(folded, Decimal) else folded
    too_large = isinstance(value, int) and abs(value) > _LARGEST
    if too_large or (isinstance(value, float) and not math.isfinite(value)):
        raise wrong("this number is too large", node)
    return value


def number(node: exp.Expr) -> float | None:
    """The value of a constant number; None for anything else."""
    value = fold(node) if is_constant(node) else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None  # type: ignore[arg-type]


def _fold(node: exp.Expr) -> _Folded:
    if isinstance(node, exp.Literal):
        return str(node.this) if node.is_string else _literal_number(node)
    if isinstance(node, exp.Boolean | exp.Null):
        return bool(node.this) if isinstance(node, exp.Boolean) else None
    if isinstance(node, exp.Paren):
        return _fold(node.this)
    if isinstance(node, exp.Neg):
        value = _fold(node.this)
        return -value if _is_number(value) else _compute(node)
    if isinstance(node, exp.Cast):
        return _cast(node)
    return _arithmetic(node) if type(node) in _OPERATORS else _compute(node)


def _compute(node: exp.Expr) -> _Folded:
    """The value that DuckDB gives a constant expression."""
    return binder.evaluate_constant(node.sql(dialect="duckdb", comments=False), node)


def _arithmetic(node: exp.Expr) -> _Folded:
    sides = node.this, node.expression
    left, right = (None if isinstance(each, exp.Interval) else _fold(each) for each in sides)
    if not (_is_number(left) and _is_number(right)):
        return _compute(node)
    if isinstance(node, exp.Div) and not right:
        raise wrong("division by zero", node)
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    try:
        result: _Number = _OPERATORS[type(node)](left, right)
    except ArithmeticError:
        raise wrong("this number is too large", node) from None
    return result


def _is_number(value: object) -> TypeGuard[_Number]:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _literal_number(node: exp.Expr) -> _Number:
    text = str(node.this)
    if len(text) > _MAX_DIGITS:
        raise wrong("this number has too many digits", node)
    try:
        if text.isdigit():
            return int(text)
        return float(text) if "e" in text.lower() else Decimal(text)
    except (ValueError, ArithmeticError):
        raise wrong(f"{text[:40]} is not a number", node) from None


def _cast(node: exp.Cast) -> _Folded:
    kind = str(node.args["to"].this.value).upper()
    if isinstance(node, exp.TryCast) or kind not in _READ:
        return _compute(node)
    value = _fold(node.this)
    if not isinstance(value, str):
        return value if type(value) is _READ[kind] else _compute(node)
    if _READ[kind] is str:
        return value
    moment = read_text(value, "date" if kind == "DATE" else "timestamp")
    if isinstance(moment, date):
        is_day = kind == "DATE" or isinstance(moment, datetime)
        return moment if is_day else datetime.combine(moment, time.min)
    try:
        read_moment(value, kind.lower())
    except QueryError as error:
        raise wrong(error.reason, node, error.hint) from None
    return _compute(node)


def read_text(text: str, kind: str) -> Value:
    """A text as a value of a type of columns, as DuckDB reads it where they are compared; as it is
    where it is none of that type, or names a time zone. A timestamp without a time is a date."""
    if kind == "timestamp" and ":" not in text:
        return read_text(text, "date")
    if kind in ("date", "timestamp"):
        with suppress(QueryError):
            moment = read_moment(text, kind)
            return moment.date() if kind == "date" else moment
        if _ZONED.search(text):
            return text
    said = exp.TryCast(this=exp.Literal.string(text), to=exp.DataType.build(DUCKDB_TYPES[kind]))
    with suppress(Refusal):
        value = _compute(said)
        return text if value is None else value  # type: ignore[return-value]
    return text


# -- parameters -----------------------------------------------------------------------------------

Parameters = Sequence[object] | Mapping[str, object] | None
_WORD = re.compile(r"\w+")
_OPERANDS = {
    TokenType.VAR,
    TokenType.IDENTIFIER,
    TokenType.NUMBER,
    TokenType.STRING,
    TokenType.R_PAREN,
    TokenType.R_BRACKET,
}


class Placeholder(NamedTuple):
    """A place for a value.

    key: a name, or a place in the sequence of values.  mark: what it begins with, one of ?, : and
    $.  name: what is written behind that, or "".  start, end: its offsets in the text.
    """

    key: str | int
    mark: str
    name: str
    start: int
    end: int

    def error(self, reason: str) -> Refusal:
        """An error at the placeholder; {} in the reason is how it is written."""
        return wrong(reason.format(self.mark + self.name), self.place)

    @property
    def place(self) -> tuple[int, int]:
        """Both offsets."""
        return self.start, self.end


def bind(
    tokens: Sequence[Token], parameters: Parameters
) -> tuple[tuple[Token, ...], Mapping[int, exp.Expr]]:
    """The tokens with every placeholder read as 0, and the values by the placeholders' offsets.

    QueryError where their number does not fit, a name is missing or unused, or a value is of a
    type that SQL has no literal for.
    """
    bound: list[Token] = []
    placeholders: list[Placeholder] = []
    position = 0
    while position < len(tokens):
        check()
        token, name = tokens[position], _name_at(tokens, position)
        if name is not None:
            end = tokens[position + bool(name)].end
            if name.isdecimal() and len(name) > _MAX_DIGITS:
                raise wrong("this number has too many digits", (token.start, end))
            key = int(name) - 1 if name.isdecimal() else name or len(placeholders)
            placeholders.append(Placeholder(key, token.text, name, token.start, end))
            token = Token(TokenType.NUMBER, "0", token.line, token.col, token.start, end)
        bound.append(token)
        position += 2 if name else 1
    _require_order(parameters)
    given = _find_values(placeholders, parameters)
    pairs = zip(placeholders, given, strict=True)
    return tuple(bound), {at.start: _literal(at, value) for at, value in in_time(pairs)}


def _require_order(parameters: object) -> None:
    """QueryError for what is neither a sequence nor a mapping, nor None. A set is neither: nobody
    knows its order."""
    is_text = isinstance(parameters, str | bytes | bytearray | memoryview)
    is_one = getattr(parameters, "ndim", 1) == 0  # an array of one number says that it is iterable
    is_row = isinstance(parameters, Iterable) and not isinstance(parameters, Set)
    if parameters is not None and (is_text or is_one or not is_row):
        given = "a string" if is_text else f"a value of type {type(parameters).__name__}"
        raise wrong(f"parameters must be a sequence or a mapping, not {given}")


def substitute(tree: exp.Query, values: Mapping[int, exp.Expr]) -> None:
    """Put the values of placeholders into the tree that was parsed from the bound tokens."""
    waiting, parts = set(values), dict[tuple[int, str], exp.Expr]()
    for node in in_time(list(tree.find_all(exp.Literal)) if waiting else ()):
        start = node.meta.get("start", -1)
        if start in values and node.parent is not None and node.arg_key is not None:
            parts[id(node.parent), node.arg_key] = node.parent
            waiting.discard(start)

    def find_value(node: object) -> object:
        start = node.meta.get("start", -1) if isinstance(node, exp.Literal) else -1
        return values[start].copy() if start in values else node

    for (_, key), parent in parts.items():  # a list at once: one by one would be quadratic
        part = parent.args[key]
        found = map(find_value, in_time(part)) if isinstance(part, list) else None
        parent.set(key, find_value(part) if found is None else list(found))
    if waiting:
        raise wrong(
            "a parameter cannot stand here",
            (min(waiting), min(waiting)),
            "parameters stand for values, not for names or keywords",
        )


def write_now(tree: exp.Expr, now: datetime) -> None:
    """Write the day and the moment of the question in place of the functions that tell them."""
    for node in list(tree.find_all(*_NOW, exp.Anonymous)):
        is_named = node.name.upper() in _NAMES_OF_NOW or not isinstance(node, exp.Anonymous)
        if not is_named or node.expressions or node.args.get("zone"):
            continue
        is_day = isinstance(node, exp.CurrentDate)
        text = exp.Literal.string(str(now.date() if is_day else now))
        value = exp.cast(text, "DATE" if is_day else "TIMESTAMP")
        value.meta.update(node.meta)
        node.replace(value)


def _name_at(tokens: Sequence[Token], position: int) -> str | None:
    """The name of the placeholder that starts at a token; None where there is none."""
    token = tokens[position]
    following = tokens[position + 1] if position + 1 < len(tokens) else None
    touches = following is not None and following.start == token.end + 1
    word = following.text if following and touches and _WORD.fullmatch(following.text) else None
    if token.token_type == TokenType.PLACEHOLDER:
        return word if word and word.isdecimal() else ""
    if token.token_type == TokenType.PARAMETER and token.text == "$":
        return word
    if token.token_type == TokenType.COLON:
        before = tokens[position - 1].token_type if position else None
        return None if before in _OPERANDS else word
    return None


def _read_name(key: object) -> str:
    """A key of a mapping of parameters, if it is a name."""
    name = plain(key)
    if not isinstance(name, str):
        reason = (
            f"the name of a parameter must be a string, not a value of type {type(key).__name__}"
        )
        raise wrong(reason)
    return name


def _find_values(placeholders: Sequence[Placeholder], parameters: Parameters) -> list[object]:
    """The value of every placeholder."""
    by_name = isinstance(parameters, Mapping)
    pairs = (
        ((_read_name(key), value) for key, value in parameters.items())
        if isinstance(parameters, Mapping)
        else enumerate(() if parameters is None else parameters)
    )
    given: dict[object, object] = dict(in_time(pairs))
    spelled = {str(key).lower(): str(key) for key in given} if by_name else {}
    placeholders = [
        each if each.key in given else each._replace(key=spelled.get(each.name.lower(), each.key))
        for each in in_time(placeholders)
    ]
    for each in in_time(placeholders):
        if by_name and isinstance(each.key, int):
            raise each.error("{} takes a sequence of parameters")
        if isinstance(each.key, str) and each.key not in given:
            raise each.error("no value for the parameter {}")
        if not by_name and bool(each.name) != bool(placeholders[0].name):
            raise each.error("? and numbered parameters are mixed")
    keys = [each.key for each in placeholders]
    if by_name and set(given) != set(keys):
        unused = min(map(str, given.keys() - set(keys)))
        raise wrong(f"the parameter {unused!r} does not occur in the SQL")
    if set(given) != set(keys):
        taken = max((int(key) + 1 for key in keys), default=0)
        where = placeholders[0].place if placeholders else None
        raise wrong(f"the SQL takes {taken} parameters, {len(given)} were given", where)
    return [given[key] for key in keys]


def _literal(at: Placeholder, value: object) -> exp.Expr:
    if isinstance(value, str) and not is_unicode(value):
        raise at.error("the value of a parameter is not valid UTF-8")
    if _count_digits(value) > _MAX_DIGITS:  # before they are written: an exponent may ask for any
        raise at.error("the value of {} has too many digits")
    try:
        node = _node(plain_parameter(value))
    except (TypeError, ValueError, ArithmeticError):  # such as a signaling NaN, or a duration
        refusal = at.error(f"a parameter cannot be this value of type {type(value).__name__}")
        if isinstance(value, list | tuple | set):
            refusal.hint = "write a ? for every value of it, as in IN (?, ?)"
        raise refusal from None
    leaf = node.find(exp.Literal) or node
    leaf.meta.update(start=at.start, end=at.end)
    return node


def plain_parameter(value: object) -> Value | Decimal | None:
    """A parameter as a value of Python's own, and None for NULL; TypeError for one that SQL has no
    plain literal for."""
    pandas_na = getattr(sys.modules.get("pandas"), "NA", None)
    is_moment = isinstance(value, date | np.datetime64)
    if value is None or value is pandas_na or (is_moment and value != value):  # noqa: PLR0124  (NaT)
        return None
    if isinstance(value, Decimal):  # which must stay exact
        own: Value | Decimal | None = value
        is_known = value.is_finite()
    else:
        own = None if isinstance(value, np.datetime64) and is_far(value) else plain(value)
        is_known = own is not None and getattr(own, "tzinfo", None) is None
        is_known &= not isinstance(own, float) or math.isfinite(own)
    if not is_known:
        raise TypeError
    return own


def _node(value: Value | Decimal | None) -> exp.Expr:
    """A value as a syntax node."""
    if value is None or isinstance(value, bool | str):
        return exp.convert(value)
    if isinstance(value, date):  # or a datetime, which is one
        kind = "TIMESTAMP" if isinstance(value, datetime) else "DATE"
        return exp.cast(exp.Literal.string(str(value)), kind, dialect="duckdb")
    return _number_node(format(value, "f") if isinstance(value, Decimal) else repr(value))


def _number_node(digits: str) -> exp.Expr:
    if not digits.startswith("-"):
        return exp.Literal.number(digits)
    return exp.Paren(this=exp.Neg(this=exp.Literal.number(digits[1:])))


def _count_digits(value: object) -> int:
    """About how many digits an exact number has that is written without an exponent."""
    if isinstance(value, Decimal) and value.is_finite():
        _, digits, exponent = value.as_tuple()
        return len(digits) + abs(int(exponent))
    if isinstance(value, int):
        return math.ceil(int.bit_length(value) * math.log10(2.0))
    return 0
