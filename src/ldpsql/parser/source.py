"""One SQL text: its limits, its tokens, and the places in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Literal

from sqlglot import Token, TokenType, exp
from sqlglot.dialects import DuckDB
from sqlglot.errors import TokenError

from ldpsql.errors import Place, QueryError, UnsupportedSQL
from ldpsql.parser.allowed import function_name

MAX_LENGTH = 100_000
MAX_DEPTH = 100
_SURROGATE = re.compile(r"[\ud800-\udfff]")  # Python's stand-in for bytes that are no UTF-8

Mode = Literal["answer", "explain", "explain verbose"]

_GAP = r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/)"
_EXPLAIN = re.compile(rf"{_GAP}*(explain\b(?:{_GAP}+(verbose|analyze)\b)?)", re.I | re.S)
_CALL = re.compile(r"([A-Za-z_]\w*)\s*\(")
_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
_PREFIXES = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE}


@dataclass(frozen=True)
class Source:
    """An SQL text and its tokens; makes the errors that point into it.

    sql: as written.  tokens: of the statement without EXPLAIN and outer semicolons, each with
    its offsets into `sql`.
    """

    sql: str
    tokens: tuple[Token, ...]

    def wrong(self, reason: str, node: exp.Expr | None = None, *, hint: str = "") -> QueryError:
        """An error for SQL that is wrong, at a node."""
        return QueryError(reason, sql=self.sql, place=self._place(node), hint=hint)

    def unsupported(
        self, reason: str, node: exp.Expr | None = None, *, hint: str = ""
    ) -> UnsupportedSQL:
        """An error for SQL outside the subset, at a node."""
        return UnsupportedSQL(reason, sql=self.sql, place=self._place(node), hint=hint)

    def place(self, node: exp.Expr) -> Place:
        """Where a node stands; the start of the text for a node without any trace in it."""
        return self._place(node) or Place(1, 1)

    def at(self, start: int, end: int) -> Place:
        """The place of the characters start..end (inclusive offsets)."""
        line = bisect_right(self._line_starts, start) - 1
        return Place(line + 1, start - self._line_starts[line] + 1, end - start + 1)

    def text(self, node: exp.Expr) -> str:
        """A node as it is written; as sqlglot would write it where it has no trace in the text."""
        span = _span(node)
        return self.sql[span[0] : span[1] + 1] if span else node.sql(dialect="duckdb")

    def function_name(self, node: exp.Expr) -> str:
        """A function's name in capitals, as it is written (VAR_POP, not sqlglot's VARIANCE_POP);
        the kind of node for anything else."""
        written = _CALL.match(self.text(node)) if isinstance(node, exp.Func) else None
        return written[1].upper() if written else function_name(node)

    @cached_property
    def _line_starts(self) -> list[int]:
        lines = self.sql.splitlines(keepends=True)
        return list(accumulate((len(line) for line in lines), initial=0))

    def _place(self, node: exp.Expr | None) -> Place | None:
        while node is not None:
            span = _span(node)
            if span is not None:
                return self.at(*span)
            node = node.parent
        return None


def _span(node: exp.Expr) -> tuple[int, int] | None:
    """The offsets of a node's first and last character, its own or those of its parts."""
    metas = [node.meta] if "start" in node.meta else [part.meta for part in node.walk()]
    spans = [(meta["start"], meta["end"]) for meta in metas if "start" in meta]
    return (min(spans)[0], max(end for _, end in spans)) if spans else None


def is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8."""
    return _SURROGATE.search(text) is None


def read(sql: str) -> tuple[Mode, Source]:
    """Check an SQL text's limits, take EXPLAIN off, and split it into tokens.

    QueryError for a text that is not Unicode, empty, too long, nested too deeply, or leaves a
    quote open; UnsupportedSQL for several statements and for a statement that is not a query.
    """
    if len(sql) > MAX_LENGTH:
        raise QueryError(
            f"the SQL has {len(sql)} characters, the limit is {MAX_LENGTH}",
            hint="use ranges and IN instead of long chains",
        )
    broken = _SURROGATE.search(sql)
    if broken is not None:
        shown = _SURROGATE.sub("?", sql)
        raise QueryError(
            "the SQL is not valid UTF-8",
            sql=shown,
            place=Source(shown, ()).at(broken.start(), broken.start()),
            hint="save or type it as UTF-8",
        )
    mode, text = _without_explain(sql)
    try:
        tokens = DuckDB().tokenize(text)
    except TokenError:
        raise _unreadable(sql, text) from None
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    while tokens and tokens[0].token_type == TokenType.SEMICOLON:
        tokens.pop(0)
    source = Source(sql, tuple(tokens))
    _check_one_query(source)
    return mode, source


def nesting(tokens: Sequence[Token]) -> int:
    """How deep brackets, CASE and runs of prefix operators are nested."""
    deepest = depth = run = 0
    for token in tokens:
        kind = token.token_type
        run = run + 1 if kind in _PREFIXES else 0
        depth += (kind in _OPENING) - (kind in _CLOSING)
        deepest = max(deepest, depth + run)
    return deepest


def _without_explain(sql: str) -> tuple[Mode, str]:
    match = _EXPLAIN.match(sql)
    if match is None:
        return "answer", sql
    start, end = match.span(1)
    option = (match.group(2) or "").lower()
    if option == "analyze":
        place = Source(sql, ()).at(start, end - 1)
        raise UnsupportedSQL(
            "EXPLAIN ANALYZE is not offered",
            sql=sql,
            place=place,
            hint="write EXPLAIN or EXPLAIN VERBOSE",
        )
    # Blanks keep every place in the rest of the text as it is in the user's.
    blanks = re.sub(r"[^\r\n]", " ", match.group(1))
    mode: Mode = "explain verbose" if option else "explain"
    return mode, sql[:start] + blanks + sql[end:]


def _check_one_query(source: Source) -> None:
    tokens = source.tokens
    if not tokens:
        raise QueryError("the query is empty", hint="write SELECT COUNT(*) FROM <survey>")
    first = tokens[0]
    if first.token_type not in (
        TokenType.SELECT,
        TokenType.WITH,
        TokenType.FROM,
        TokenType.L_PAREN,
    ):
        raise _no_query(source, first)
    for token, following in pairwise(tokens):
        if token.token_type == TokenType.SEMICOLON:
            raise UnsupportedSQL(
                "more than one statement",
                sql=source.sql,
                place=source.at(following.start, following.end),
                hint="send one query at a time",
            )
    if nesting(tokens) > MAX_DEPTH:
        raise QueryError(
            f"the SQL is nested more than {MAX_DEPTH} levels deep",
            sql=source.sql,
            place=source.at(first.start, first.end),
            hint="use fewer parentheses",
        )


def _no_query(source: Source, first: Token) -> QueryError | UnsupportedSQL:
    place = source.at(first.start, first.end)
    word = first.text.upper()
    if first.token_type == TokenType.VAR and word not in _STATEMENTS:
        return QueryError(
            f"no query starts with {first.text[:40]!r}",
            sql=source.sql,
            place=place,
            hint="write SELECT ... FROM <survey>",
        )
    return UnsupportedSQL(
        f"{word[:40]} is not answered",
        sql=source.sql,
        place=place,
        hint="only queries are: write SELECT ... FROM <survey>",
    )


_STATEMENTS = {"CALL", "CHECKPOINT", "EXPORT", "IMPORT", "INSTALL", "LOAD", "VACUUM", "RESET"}


def _unreadable(sql: str, text: str) -> QueryError:
    """The error for a text that does not split into tokens, at the quote that is left open."""
    pattern = re.compile(
        r"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|(?P<open>'|"|/\*)|.""", re.S
    )
    for match in pattern.finditer(text):
        if match.group("open"):
            what = "comment" if match.group("open") == "/*" else "quote"
            place = Source(sql, ()).at(match.start(), match.end() - 1)
            return QueryError(
                f"a {what} is not closed", sql=sql, place=place, hint="close it, or double it"
            )
    return QueryError("the SQL cannot be split into words", sql=sql)


def split_statements(text: str) -> list[str]:
    """Split SQL at the semicolons that end statements; the last part is not finished yet.

    A text that leaves a quote or a comment open is one part, for it may go on.

    >>> split_statements("SELECT 'a;b'; SELECT 2")
    ["SELECT 'a;b'", ' SELECT 2']
    """
    try:
        tokens = DuckDB().tokenize(text)
    except TokenError:
        return [text]
    ends = [token.start for token in tokens if token.token_type == TokenType.SEMICOLON]
    starts = [0, *(end + 1 for end in ends)]
    return [text[start:end] for start, end in zip(starts, [*ends, len(text)], strict=True)]


def is_blank(text: str) -> bool:
    """Whether a text holds nothing but white space and comments."""
    try:
        return not DuckDB().tokenize(text)
    except TokenError:
        return False
