"""Tokens to syntax tree: the call of sqlglot, and its errors."""

from __future__ import annotations

import logging
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlglot import Token, exp
from sqlglot.dialects import DuckDB
from sqlglot.errors import ParseError
from sqlglot.parsers.duckdb import DuckDBParser

from ldpsql.errors import Place, QueryError
from ldpsql.parser.source import Source, nesting

_FRAMES = 12_000
_SHALLOW = 8
_RAISING = threading.Lock()
_Expr = TypeVar("_Expr", bound=exp.Expr | None)
_TOKEN = re.compile(r"<Token token_type: [^,]*, text: (.*?), line: .*?>", re.S)


class _PlacingParser(DuckDBParser):
    """A parser that notes where expressions stand, which sqlglot does for names and literals only.

    The offsets of the first and last character are in `meta`, under sqlglot's own keys.
    """

    def _parse_disjunction(self) -> exp.Expr | None:
        return self._note(self._curr, super()._parse_disjunction())

    def _parse_range(self, this: exp.Expr | None = None, parse_is: bool = False) -> exp.Expr | None:
        return self._note(self._curr, super()._parse_range(this, parse_is), this)

    def _parse_unary(self) -> exp.Expr | None:
        return self._note(self._curr, super()._parse_unary())

    def _parse_function(self, *args: Any, **options: Any) -> exp.Expr | None:
        return self._note(self._curr, super()._parse_function(*args, **options))

    def _parse_table_alias(self, *args: Any, **options: Any) -> exp.TableAlias | None:
        return self._note(self._curr, super()._parse_table_alias(*args, **options))

    def _note(self, first: Token | None, node: _Expr, left: exp.Expr | None = None) -> _Expr:
        """The node, which starts at a token, or with what was parsed before it."""
        if first and node is not None:
            start = left.meta.get("start", first.start) if left else first.start
            node.meta.update(start=start, end=self._prev.end)
        return node


def syntax_tree(source: Source, tokens: tuple[Token, ...]) -> exp.Query:
    """The syntax tree of one query; QueryError where it does not parse."""
    try:
        with _quiet():
            parsed = _PlacingParser(dialect=DuckDB()).parse(list(tokens), source.sql)
    except ParseError as error:
        raise _syntax_error(source, error) from None
    except RecursionError:
        raise
    except Exception as error:
        # A parser that trips over odd input must still end in an error of this library.
        raise QueryError(f"the SQL does not parse ({type(error).__name__})") from None
    tree = parsed[0] if len(parsed) == 1 else None
    if not isinstance(tree, exp.Query):
        raise source.unsupported(
            "this statement is not a query", tree, hint="write SELECT ... FROM <survey>"
        )
    return tree


@contextmanager
def deep_stack(source: Source) -> Iterator[None]:
    """Room on Python's stack for a nested text; QueryError where it is not enough.

    sqlglot takes up to fifty frames for one level of parentheses, and Python's default limit is
    a thousand. The limit belongs to the whole process, hence the lock; flat queries, nearly all
    there are, leave it alone.
    """
    try:
        if nesting(source.tokens) <= _SHALLOW:
            yield
            return
        with _RAISING:
            before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(before, _FRAMES))
            try:
                yield
            finally:
                sys.setrecursionlimit(before)
    except RecursionError:
        raise QueryError(
            "the SQL is nested too deeply", sql=source.sql, hint="use fewer parentheses"
        ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what sqlglot would log in this thread off standard error: it ends in an error anyway."""
    mine = threading.get_ident()

    def from_others(record: logging.LogRecord) -> bool:
        return record.thread != mine

    logger = logging.getLogger("sqlglot")
    logger.addFilter(from_others)
    try:
        yield
    finally:
        logger.removeFilter(from_others)


def _syntax_error(source: Source, error: ParseError) -> QueryError:
    first = error.errors[0] if error.errors else {}
    text = _TOKEN.sub(lambda match: repr(match.group(1)), str(first.get("description") or ""))
    text = re.sub(r"<class '.*?(\w+)'>", r"\1", text).strip().rstrip(".")
    near = str(first.get("highlight") or "")
    line, last = first.get("line"), first.get("col")
    place = None
    if isinstance(line, int) and isinstance(last, int):
        place = Place(line, max(1, last - len(near) + 1), max(1, len(near)))
    reason = f"syntax error near {near[:40]!r}" if near.strip() else "syntax error"
    return QueryError(reason, sql=source.sql, place=place, hint=text[:1].lower() + text[1:])
