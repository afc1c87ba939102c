"""`?`, `$1`, `:name` and `$name`: found among the tokens, bound as values.

Each placeholder is read as the number 0 and replaced in the syntax tree, found again by its
offset. No value ever becomes SQL text before it is parsed. sqlglot's own placeholders have no
place in the text, and its `?` is an operator between two columns.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from numbers import Integral, Real

from sqlglot import Token, TokenType, exp

from ldpsql.errors import QueryError
from ldpsql.parser.source import Source, is_unicode

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
        for node in list(tree.find_all(exp.Literal)) if waiting else ():
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
    placeholders: list[Placeholder] = []
    position = 0
    while position < len(source.tokens):
        token, name = source.tokens[position], _name_at(source.tokens, position)
        if name is not None:
            end = source.tokens[position + bool(name)].end
            placeholders.append(Placeholder(name, token.start, end))
            token = Token(TokenType.NUMBER, "0", token.line, token.col, token.start, end)
        tokens.append(token)
        position += 2 if name else 1
    if isinstance(parameters, str | bytes):
        raise QueryError("parameters must be a sequence or a mapping, not a string")
    given = (
        _by_name(source, placeholders, parameters)
        if isinstance(parameters, Mapping)
        else _by_position(source, placeholders, list(parameters or ()))
    )
    values = {
        placeholder.start: _literal(source, placeholder, value)
        for placeholder, value in zip(placeholders, given, strict=True)
    }
    return Binding(source, tuple(tokens), values)


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
    source: Source, placeholders: Sequence[Placeholder], parameters: Mapping[str, object]
) -> list[object]:
    for placeholder in placeholders:
        if not placeholder.name or placeholder.is_numbered:
            raise _bad(source, placeholder, f"{placeholder} takes a sequence of parameters")
        if placeholder.name not in parameters:
            raise _bad(source, placeholder, f"no value for the parameter {placeholder}")
    unused = set(parameters) - {placeholder.name for placeholder in placeholders}
    if unused:
        raise QueryError(
            f"the parameter {min(map(str, unused))!r} does not occur in the SQL", sql=source.sql
        )
    return [parameters[placeholder.name] for placeholder in placeholders]


def _by_position(
    source: Source, placeholders: Sequence[Placeholder], parameters: Sequence[object]
) -> list[object]:
    for placeholder in placeholders:
        if placeholder.name and not placeholder.is_numbered:
            raise _bad(source, placeholder, f"no value for the parameter {placeholder}")
        if placeholder.is_numbered != placeholders[0].is_numbered:
            raise _bad(source, placeholder, "? and numbered parameters are mixed")
    numbers = [int(each.name or index + 1) - 1 for index, each in enumerate(placeholders)]
    if set(numbers) != set(range(len(parameters))):
        first = placeholders[0] if placeholders else None
        raise QueryError(
            f"the SQL takes {max(numbers, default=-1) + 1} parameters, "
            f"{len(parameters)} were given",
            sql=source.sql,
            place=source.at(first.start, first.end) if first else None,
        )
    return [parameters[number] for number in numbers]


def _literal(source: Source, placeholder: Placeholder, value: object) -> exp.Expr:
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


def _node(value: object) -> exp.Expr | None:  # noqa: PLR0911
    """A value as a syntax node; None for one that SQL has no plain literal for."""
    # In this order: a bool is an Integral, a datetime is a date, a Decimal must stay exact.
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, str):
        return exp.Literal.string(value)
    if isinstance(value, datetime):
        return None if value.tzinfo else _cast(value.isoformat(" "), "TIMESTAMP")
    if isinstance(value, date):
        return _cast(value.isoformat(), "DATE")
    if isinstance(value, Decimal):
        return _number(format(value, "f")) if value.is_finite() else None
    if isinstance(value, Integral):
        return _number(str(int(value)))
    if isinstance(value, Real):
        return _number(repr(float(value))) if math.isfinite(value) else None
    return None


def _number(text: str) -> exp.Expr:
    if not text.startswith("-"):
        return exp.Literal.number(text)
    return exp.Paren(this=exp.Neg(this=exp.Literal.number(text[1:])))


def _cast(text: str, kind: str) -> exp.Expr:
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build(kind, dialect="duckdb"))


def _bad(source: Source, placeholder: Placeholder, reason: str) -> QueryError:
    return QueryError(reason, sql=source.sql, place=source.at(placeholder.start, placeholder.end))
