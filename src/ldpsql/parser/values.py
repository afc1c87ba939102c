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
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, NamedTuple

from sqlglot import Token, TokenType, exp

from ldpsql.errors import QueryError
from ldpsql.parser.source import Refusal, is_unicode, refuse, wrong
from ldpsql.sql.domains import read_moment
from ldpsql_device.values import Value

_OPERATORS: Mapping[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: lambda left, right: float(left) / float(right),
}
_WHOLE = {"TINYINT", "SMALLINT", "INT", "BIGINT", "HUGEINT"}
_REAL = {"FLOAT", "DOUBLE", "DECIMAL"}
_MOMENTS = {"DATE", "TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"}
_UNCHANGED = {("TEXT", str), ("VARCHAR", str), ("BOOLEAN", bool)}
_MAX_DIGITS = 100
_LARGEST = 10**300

_Number = int | float | Decimal
_Folded = Value | Decimal | None


# -- constants ------------------------------------------------------------------------------------


def is_constant(node: exp.Expr) -> bool:
    """Whether a node holds nothing but literals, casts of them, and + - * / between them."""
    if isinstance(node, exp.Paren | exp.Neg | exp.Cast):
        return is_constant(node.this)
    if type(node) in _OPERATORS:
        return is_constant(node.this) and is_constant(node.expression)
    return isinstance(node, exp.Literal | exp.Null | exp.Boolean)


def fold(node: exp.Expr) -> Value | None:
    """The value of a constant expression; None is SQL's NULL.

    An error for arithmetic on anything but numbers, a division by zero, a number too large, a
    text that is not a date where it is cast to one, and for other casts.
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
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Paren):
        return _fold(node.this)
    if isinstance(node, exp.Neg):
        value = _operand(node.this)
        return None if value is None else -value
    if isinstance(node, exp.Cast):
        return _cast(node)
    return None if isinstance(node, exp.Null) else _arithmetic(node)


def _arithmetic(node: exp.Expr) -> _Folded:
    left, right = _operand(node.this), _operand(node.expression)
    if left is None or right is None:
        return None
    if isinstance(node, exp.Div) and not right:
        raise wrong("division by zero", node)
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    try:
        result: _Number = _OPERATORS[type(node)](left, right)
    except ArithmeticError:
        raise wrong("this number is too large", node) from None
    return result


def _operand(node: exp.Expr) -> _Number | None:
    value = _fold(node)
    if value is None or (isinstance(value, _Number) and not isinstance(value, bool)):
        return value
    raise wrong("arithmetic takes numbers", node, "write the value out")


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


def _cast(node: exp.Expr) -> _Folded:
    value = _fold(node.this)
    kind = str(node.args["to"].this.value).upper()
    if value is None or (kind, type(value)) in _UNCHANGED:
        return value
    if kind in _MOMENTS and isinstance(value, str | date):
        return _moment(value, kind, node)
    if isinstance(value, _Number) and not isinstance(value, bool):
        if kind in _WHOLE and value == int(value):
            return int(value)
        if kind in _REAL and not node.args["to"].expressions:
            return value
    raise refuse(f"this value cannot be cast to {kind} here", node, "write the value out")


def _moment(value: str | date, kind: str, node: exp.Expr) -> date:
    """A date, or a datetime for any other kind."""
    try:
        moment = read_moment(value, kind.lower()) if isinstance(value, str) else value
    except QueryError as error:
        raise wrong(error.reason, node, error.hint) from None
    if not isinstance(moment, datetime):
        moment = datetime(*moment.timetuple()[:3])
    return moment.date() if kind == "DATE" else moment


# -- parameters -----------------------------------------------------------------------------------

Parameters = Sequence[object] | Mapping[str, object] | None
_WORD = re.compile(r"\w+", re.A)
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
        token, name = tokens[position], _name_at(tokens, position)
        if name is not None:
            end = tokens[position + bool(name)].end
            key = int(name) - 1 if name.isdigit() else name or len(placeholders)
            placeholders.append(Placeholder(key, token.text, name, token.start, end))
            token = Token(TokenType.NUMBER, "0", token.line, token.col, token.start, end)
        bound.append(token)
        position += 2 if name else 1
    require_parameters(parameters)
    given = _find_values(placeholders, parameters)
    pairs = zip(placeholders, given, strict=True)
    return tuple(bound), {at.start: _literal(at, value) for at, value in pairs}


def require_parameters(parameters: object) -> None:
    """QueryError for what is neither a sequence nor a mapping, nor None."""
    is_text = isinstance(parameters, str | bytes)
    if parameters is not None and (is_text or not isinstance(parameters, Iterable)):
        given = "a string" if is_text else f"a value of type {type(parameters).__name__}"
        raise wrong(f"parameters must be a sequence or a mapping, not {given}")


def substitute(tree: exp.Query, values: Mapping[int, exp.Expr]) -> None:
    """Put the values of placeholders into the tree that was parsed from the bound tokens."""
    waiting = set(values)
    for node in list(tree.find_all(exp.Literal)) if waiting else ():
        start = node.meta.get("start", -1)
        if start in values:
            node.replace(values[start].copy())
            waiting.discard(start)
    if waiting:
        raise wrong(
            "a parameter cannot stand here",
            (min(waiting), min(waiting)),
            "parameters stand for values, not for names or keywords",
        )


def _name_at(tokens: Sequence[Token], position: int) -> str | None:
    """The name of the placeholder that starts at a token; None where there is none."""
    token = tokens[position]
    following = tokens[position + 1] if position + 1 < len(tokens) else None
    touches = following is not None and following.start == token.end + 1
    word = following.text if following and touches and _WORD.fullmatch(following.text) else None
    if token.token_type == TokenType.PLACEHOLDER:
        return word if word and word.isdigit() else ""
    if token.token_type == TokenType.PARAMETER and token.text == "$":
        return word
    if token.token_type == TokenType.COLON:
        before = tokens[position - 1].token_type if position else None
        return None if before in _OPERANDS else word
    return None


def _find_values(placeholders: Sequence[Placeholder], parameters: Parameters) -> list[object]:
    """The value of every placeholder."""
    by_name = isinstance(parameters, Mapping)
    pairs = parameters.items() if isinstance(parameters, Mapping) else enumerate(parameters or ())
    given: dict[object, object] = dict(pairs)
    for each in placeholders:
        if by_name and isinstance(each.key, int):
            raise each.error("{} takes a sequence of parameters")
        if isinstance(each.key, str) and each.key not in given:
            raise each.error("no value for the parameter {}")
        if not by_name and bool(each.name) != bool(placeholders[0].name):
            raise each.error("? and numbered parameters are mixed")
    keys = [each.key for each in placeholders]
    if by_name and set(given) != set(keys):
        unused = min(str(key) for key in given if key not in keys)
        raise wrong(f"the parameter {unused!r} does not occur in the SQL")
    if set(given) != set(keys):
        taken = max((int(key) + 1 for key in keys), default=0)
        where = placeholders[0].place if placeholders else None
        raise wrong(f"the SQL takes {taken} parameters, {len(given)} were given", where)
    return [given[key] for key in keys]


def _literal(at: Placeholder, value: object) -> exp.Expr:
    if isinstance(value, str) and not is_unicode(value):
        raise at.error("the value of a parameter is not valid UTF-8")
    node = _node(value)
    if node is None:
        raise at.error(f"a parameter cannot be this value of type {type(value).__name__}")
    leaf = node.find(exp.Literal) or node
    leaf.meta.update(start=at.start, end=at.end)
    return node


def _node(value: object) -> exp.Expr | None:
    """A value as a syntax node; None for one that SQL has no plain literal for."""
    if value is None or isinstance(value, bool | str):
        return exp.convert(value)
    if isinstance(value, date):  # or a datetime, which is one
        kind = "TIMESTAMP" if isinstance(value, datetime) else "DATE"
        is_local = getattr(value, "tzinfo", None) is None
        text = exp.Literal.string(str(value))
        return exp.cast(text, kind, dialect="duckdb") if is_local else None
    if isinstance(value, Integral):
        digits = str(int(value))
    elif isinstance(value, Real | Decimal) and math.isfinite(value):
        # A Decimal must stay exact.
        digits = format(value, "f") if isinstance(value, Decimal) else repr(float(value))
    else:
        return None
    if not digits.startswith("-"):
        return exp.Literal.number(digits)
    return exp.Paren(this=exp.Neg(this=exp.Literal.number(digits[1:])))
