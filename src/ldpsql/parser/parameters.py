"""Public. Sees parameters. `?`, `$1`, `:name` and `$name`: found among the tokens, bound as values.

Each placeholder is read as the number 0 and replaced in the syntax tree, found again by its
offset. No value ever becomes SQL text before it is parsed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

from sqlglot import Token, TokenType, exp

from ldpsql.parser.source import Source, is_unicode
from ldpsql_device.errors import QueryError

Parameters = Sequence[Any] | Mapping[str, Any] | None
_WORD = re.compile(r"\w+", re.A)
_OPERANDS = {
    TokenType.VAR,
    TokenType.IDENTIFIER,
    TokenType.NUMBER,
    TokenType.STRING,
    TokenType.R_PAREN,
    TokenType.R_BRACKET,
}


@dataclass(frozen=True)
class Placeholder:
    """A place for a value: its name ("" for `?`, digits for `$1`) and its offsets in the text."""

    name: str
    start: int
    end: int

    @property
    def is_numbered(self) -> bool:
        """Whether it counts from the left, as `$1` does."""
        return self.name.isdigit()

    def __str__(self) -> str:
        return f":{self.name}" if self.name else "?"


@dataclass(frozen=True)
class Binding:
    """The tokens with placeholders read as 0, and the value of each by its offset."""

    source: Source
    tokens: tuple[Token, ...]
    values: Mapping[int, exp.Expr]

    def substitute(self, tree: exp.Query) -> None:
        """Put the values into the tree that was parsed from `tokens`."""
        waiting = set(self.values)
        for node in list(tree.find_all(exp.Literal)):
            start = node.meta.get("start", -1)
            if start in self.values:
                node.replace(self.values[start].copy())
                waiting.discard(start)
        if waiting:
            start = min(waiting)
            raise QueryError(
                "a parameter cannot stand here",
                sql=self.source.sql,
                place=self.source.at(start, start),
                hint="parameters stand for values, not for names or keywords",
            )


def bind(source: Source, parameters: Parameters) -> Binding:
    """Give every placeholder its value.

    QueryError where their number does not fit, a name is missing or unused, or a value is of a
    type that SQL has no literal for.
    """
    tokens: list[Token] = []
    found: list[Placeholder] = []
    for token, placeholder in _scan(source.tokens):
        tokens.append(token)
        if placeholder:
            found.append(placeholder)
    if isinstance(parameters, Mapping):
        given = _by_name(source, found, parameters)
    else:
        if isinstance(parameters, str | bytes):
            raise QueryError("parameters must be a sequence or a mapping, not a string")
        given = _by_position(source, found, list(parameters or ()))
    values = {
        placeholder.start: _literal(source, placeholder, value)
        for placeholder, value in zip(found, given, strict=True)
    }
    return Binding(source, tuple(tokens), values)


def _scan(tokens: Sequence[Token]) -> Iterator[tuple[Token, Placeholder | None]]:
    position = 0
    while position < len(tokens):
        name = _name_at(tokens, position)
        token = tokens[position]
        if name is None:
            yield token, None
            position += 1
            continue
        width = 1 if name == "" else 2
        end = tokens[position + width - 1].end
        stand_in = Token(
            TokenType.NUMBER, "0", token.line, token.col, token.start, end, token.comments
        )
        yield stand_in, Placeholder(name, token.start, end)
        position += width


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


def _by_name(
    source: Source, found: Sequence[Placeholder], parameters: Mapping[str, Any]
) -> list[Any]:
    for placeholder in found:
        if not placeholder.name or placeholder.is_numbered:
            raise _bad(source, placeholder, f"{placeholder} takes a sequence of parameters")
        if placeholder.name not in parameters:
            raise _bad(source, placeholder, f"no value for the parameter {placeholder}")
    unused = set(parameters) - {placeholder.name for placeholder in found}
    if unused:
        raise QueryError(
            f"the parameter {min(map(str, unused))!r} does not occur in the SQL", sql=source.sql
        )
    return [parameters[placeholder.name] for placeholder in found]


def _by_position(
    source: Source, found: Sequence[Placeholder], parameters: Sequence[Any]
) -> list[Any]:
    for placeholder in found:
        if placeholder.name and not placeholder.is_numbered:
            raise _bad(source, placeholder, f"no value for the parameter {placeholder}")
        if placeholder.is_numbered != found[0].is_numbered:
            raise _bad(source, placeholder, "? and numbered parameters are mixed")
    numbers = [
        int(placeholder.name) - 1 if placeholder.name else index
        for index, placeholder in enumerate(found)
    ]
    if set(numbers) != set(range(len(parameters))):
        wanted = len(found) if not found or not found[0].name else max(numbers) + 1
        raise QueryError(
            f"the SQL takes {wanted} parameters, {len(parameters)} were given",
            sql=source.sql,
            place=source.at(found[0].start, found[0].end) if found else None,
        )
    return [parameters[number] for number in numbers]


def _literal(source: Source, placeholder: Placeholder, value: Any) -> exp.Expr:
    if isinstance(value, str) and not is_unicode(value):
        raise _bad(source, placeholder, "the value of a parameter is not valid UTF-8")
    node = _node(value)
    if node is None:
        raise _bad(
            source, placeholder, f"a parameter cannot be this value of type {type(value).__name__}"
        )
    leaf = node.find(exp.Literal) or node
    leaf.meta.update(start=placeholder.start, end=placeholder.end)
    return node


def _node(value: Any) -> exp.Expr | None:
    """A value as a syntax node; None for one that SQL has no plain literal for."""
    return next((make(value) for kind, make in _NODES if isinstance(value, kind)), None)


def _moment(value: datetime) -> exp.Expr | None:
    return None if value.tzinfo else _cast(value.isoformat(" "), "TIMESTAMP")


def _decimal(value: Decimal) -> exp.Expr | None:
    return _number(format(value, "f")) if value.is_finite() else None


def _real(value: Real) -> exp.Expr | None:
    number = float(value)
    return _number(repr(number)) if math.isfinite(number) else None


def _number(text: str) -> exp.Expr:
    if not text.startswith("-"):
        return exp.Literal.number(text)
    return exp.Paren(this=exp.Neg(this=exp.Literal.number(text[1:])))


def _cast(text: str, kind: str) -> exp.Expr:
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build(kind, dialect="duckdb"))


def _bad(source: Source, placeholder: Placeholder, reason: str) -> QueryError:
    return QueryError(reason, sql=source.sql, place=source.at(placeholder.start, placeholder.end))


# In this order: a bool is an Integral, a datetime is a date, a Decimal must stay exact.
_NODES: tuple[tuple[type, Callable[[Any], exp.Expr | None]], ...] = (
    (type(None), lambda _: exp.Null()),
    (bool, lambda value: exp.Boolean(this=value)),
    (str, exp.Literal.string),
    (datetime, _moment),
    (date, lambda value: _cast(value.isoformat(), "DATE")),
    (Decimal, _decimal),
    (Integral, lambda value: _number(str(int(value)))),
    (Real, _real),
)
