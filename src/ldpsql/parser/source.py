"""One SQL text: its limits, its tokens, its syntax tree, and the places in it."""

from __future__ import annotations

import logging
import re
import sys
import threading
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise, takewhile
from typing import Any, ClassVar, TypeVar

from sqlglot import Token, TokenType, exp
from sqlglot.dialects import DuckDB
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError, TokenError
from sqlglot.parsers.duckdb import DuckDBParser

from ldpsql.errors import Place, QueryError, UnsupportedSQL
from ldpsql.limits import check
from ldpsql.parser.allowed import function_name
from ldpsql.parser.query import Mode
from ldpsql_device.errors import Error

MAX_LENGTH = 100_000
MAX_DEPTH = 100
_LONGEST_PIVOT = 200  # tokens, for which a hint is written
_FRAMES, _SHALLOW = 12_000, 8
_RAISING = threading.Lock()
_Expr = TypeVar("_Expr", bound=exp.Expr | None)
_Span = tuple[int, int]
_Where = exp.Expr | Token | _Span | None

# Atomic: a run of comments could else be split in exponentially many ways.
_GAP = r"(?>[\s\ufeff]+|--[^\r\n]*(?:[\r\n]|\Z)|/\*.*?\*/)"
_EXPLAIN = re.compile(rf"{_GAP}*+(explain\b(?:{_GAP}++(verbose|analyze)\b)?)", re.I | re.S)
_CALL = re.compile(r"([A-Za-z_]\w*)\s*\(")
_SURROGATE = re.compile(r"[\ud800-\udfff]")  # Python's stand-in for bytes that are no UTF-8
_TOKEN = re.compile(r"<Token token_type: [^,]*, text: (.*?), line: .*?>", re.S)
_QUOTED = re.compile(
    r"""--[^\r\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|(?P<open>'|"|/\*)|.""", re.S
)
_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
_PREFIXES = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE}
_QUERIES = {TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.L_PAREN}
_QUERIES |= {TokenType.SHOW, TokenType.DESCRIBE, TokenType.DESC, TokenType.SUMMARIZE}
_BEHIND = {TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET, TokenType.SEMICOLON}
_STRINGS = {TokenType.HEREDOC_STRING, TokenType.BYTE_STRING, TokenType.NATIONAL_STRING}
_MARK = "\ufeff"
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(.))|''", re.S)
_ESCAPES = {None: "'", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_STATEMENTS = {"CALL", "CHECKPOINT", "EXPORT", "IMPORT", "INSTALL", "LOAD", "VACUUM", "RESET"}


# -- errors and places ----------------------------------------------------------------------------


class Refusal(Exception):
    """An error about SQL at some offsets of its text; `parse` makes the located error of it."""

    def __init__(
        self, kind: type[QueryError | UnsupportedSQL], reason: str, where: _Where, hint: str
    ) -> None:
        self.kind, self.reason, self.hint = kind, reason, hint
        while isinstance(where, exp.Expr):  # a node without any trace stands where its parent does
            where = span(where) or where.parent
        self.span = (where.start, where.end) if isinstance(where, Token) else where

    def locate(self, sql: str) -> QueryError | UnsupportedSQL:
        """The error as users see it, with its line and column."""
        place = SourceText(sql, ()).at(*self.span) if self.span else None
        return self.kind(self.reason, sql=sql, place=place, hint=self.hint)


def wrong(reason: str, where: _Where = None, hint: str = "") -> Refusal:
    """An error for SQL that is wrong, at a node, a token, or inclusive offsets."""
    return Refusal(QueryError, reason, where, hint)


def refuse(reason: str, where: _Where = None, hint: str = "") -> Refusal:
    """An error for SQL outside the subset."""
    return Refusal(UnsupportedSQL, reason, where, hint)


def span(node: exp.Expr) -> _Span | None:
    """The offsets of a node's first and last character, its own or those of its parts."""
    metas = [node.meta] if "start" in node.meta else [part.meta for part in node.walk()]
    spans = [(meta["start"], meta["end"]) for meta in metas if "start" in meta]
    return (min(spans)[0], max(end for _, end in spans)) if spans else None


@dataclass(frozen=True)
class SourceText:
    """An SQL text and its tokens.

    sql: as written.  tokens: of the statement without EXPLAIN and outer semicolons, each with
    its offsets into `sql`.
    """

    sql: str
    tokens: tuple[Token, ...]

    def at(self, start: int, end: int) -> Place:
        """The place of the characters start..end (inclusive offsets)."""
        line = bisect_right(self._line_starts, start) - 1
        return Place(line + 1, start - self._line_starts[line] + 1, end - start + 1)

    def place(self, node: exp.Expr) -> Place:
        """Where a node stands; the start of the text for a node without any trace in it."""
        found = span(node)
        return self.at(*found) if found else Place(1, 1)

    def text(self, node: exp.Expr) -> str:
        """A node as it is written; as sqlglot would write it where it has no trace in the text."""
        found = span(node)
        return self.sql[found[0] : found[1] + 1] if found else node.sql(dialect="duckdb")

    def name_call(self, node: exp.Expr) -> tuple[str, str]:
        """A function's name in capitals, as it is written (VAR_POP, not sqlglot's VARIANCE_POP),
        the kind of node for anything else; and the same in words."""
        written = _CALL.match(self.text(node)) if isinstance(node, exp.Func) else None
        name = written[1].upper() if written else function_name(node)
        return name, f"the function {name}" if isinstance(node, exp.Func) else name

    @cached_property
    def _line_starts(self) -> list[int]:
        return list(accumulate(map(len, self.sql.splitlines(keepends=True)), initial=0))


# -- text to tokens -------------------------------------------------------------------------------


def read(sql: str) -> tuple[Mode, SourceText]:
    """Check an SQL text's limits, take EXPLAIN off, and split it into tokens.

    An error for a text that is not Unicode, empty, too long, nested too deeply, or leaves a quote
    open, for several statements, and for a statement that is not a query.
    """
    if len(sql) > MAX_LENGTH:
        raise wrong(
            f"the SQL has {len(sql)} characters, the limit is {MAX_LENGTH}",
            hint="use ranges and IN instead of long chains",
        )
    broken = _SURROGATE.search(sql)
    if broken is not None:
        refusal = wrong(
            "the SQL is not valid UTF-8",
            (broken.start(), broken.start()),
            "save or type it as UTF-8",
        )
        raise refusal.locate(_SURROGATE.sub("?", sql))
    mode, text = _without_explain(sql)
    tokens = _tokenize(text)
    if tokens is None:
        raise _unreadable(text)
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    if tokens and tokens[0].token_type == TokenType.SEMICOLON and mode != "answer":
        raise refuse("EXPLAIN without a query", tokens[0], "write the query after it")
    while tokens and tokens[0].token_type == TokenType.SEMICOLON:
        tokens.pop(0)
    _check_one_query(tokens)
    tokens = _write_out(tokens, sql)
    return mode, SourceText(sql, tuple(tokens))


def _tokenize(text: str) -> list[Token] | None:
    """The tokens of a text; None where a quote or a comment is left open.

    Byte order marks between words are blanks.
    """
    try:
        tokens = list(DuckDB().tokenize(text))
        marks = [token.start for token in tokens if text[token.start] == _MARK]
        if not marks:
            return tokens
        letters = list(text)
        for place in marks:
            letters[place] = " "
        return _tokenize("".join(letters))
    except TokenError:
        return None


def _write_out(tokens: Sequence[Token], text: str) -> list[Token]:
    """The tokens with texts in any of DuckDB's quotes as strings, and ?:: as two."""
    plain = list[Token]()
    for token in tokens:
        kind, start, end = token.token_type, token.start, token.end
        if kind == TokenType.QDCOLON:  # ?::DATE is a parameter that is cast
            plain += [
                Token(TokenType.PLACEHOLDER, "?", token.line, token.col, start, start),
                Token(TokenType.DCOLON, "::", token.line, token.col, start + 1, end),
            ]
        elif kind in _STRINGS:
            is_escaped = kind == TokenType.BYTE_STRING
            said = _unescape(text[start + 2 : end]) if is_escaped else token.text
            if said is None:
                raise wrong("this text is not valid UTF-8", token, "write its characters out")
            plain.append(Token(TokenType.STRING, said, token.line, token.col, start, end))
        else:
            plain.append(token)
    return plain


def _unescape(text: str) -> str | None:
    """The text between the quotes of E'...', as DuckDB reads it; None where that is no text."""

    def meant(match: re.Match[str]) -> bytes:
        octal, hexadecimal, letter = match.groups()
        if octal or hexadecimal:
            return bytes([int(octal, 8) & 255 if octal else int(hexadecimal, 16)])
        return _ESCAPES.get(letter, letter).encode()

    parts, end = list[bytes](), 0
    for match in _ESCAPE.finditer(text):
        parts += [text[end : match.start()].encode(), meant(match)]
        end = match.end()
    try:
        said = b"".join([*parts, text[end:].encode()]).decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in said else said


def is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8."""
    return _SURROGATE.search(text) is None


def _without_explain(sql: str) -> tuple[Mode, str]:
    match = _EXPLAIN.match(sql)
    if match is None:
        return "answer", sql
    start, end = match.span(1)
    option = (match.group(2) or "").lower()
    if option == "analyze":
        raise refuse(
            "EXPLAIN ANALYZE is not offered", (start, end - 1), "write EXPLAIN or EXPLAIN VERBOSE"
        )
    # Blanks keep every place in the rest of the text as it is in the user's.
    blanks = re.sub(r"[^\r\n]", " ", match.group(1))
    return "explain verbose" if option else "explain", sql[:start] + blanks + sql[end:]


def _check_one_query(tokens: Sequence[Token]) -> None:
    if not tokens:
        raise wrong("the query is empty", hint="write SELECT COUNT(*) FROM <survey>")
    first, word = tokens[0], tokens[0].text.upper()
    if first.token_type not in _QUERIES:
        if first.token_type == TokenType.VAR and word not in _STATEMENTS:
            raise wrong(
                f"no query starts with {first.text[:40]!r}", first, "write SELECT ... FROM <survey>"
            )
        hint = _read_pivot(tokens) if word == "PIVOT" else None
        hint = hint or "only queries are: write SELECT ... FROM <survey>"
        raise refuse(f"{word[:40]} is not supported", first, hint)
    for token, following in pairwise(tokens):
        if token.token_type == TokenType.SEMICOLON:
            raise refuse("more than one statement", following, "send one query at a time")
    if measure_nesting(tokens) > MAX_DEPTH:
        raise wrong(
            f"the SQL is nested more than {MAX_DEPTH} levels deep", first, "use fewer parentheses"
        )


def _read_pivot(tokens: Sequence[Token]) -> str | None:
    """The hint of a PIVOT that is a statement, without what follows it; None for what is none, and
    for a long one."""
    if len(tokens) > _LONGEST_PIVOT or measure_nesting(tokens) > MAX_DEPTH:
        return None
    own = list(takewhile(lambda token: token.token_type not in _BEHIND, tokens))
    try:
        with quiet():
            [tree] = DuckDBParser(dialect=DuckDB()).parse(own, "")
    except Exception:  # whatever a parser trips over
        return None
    return write_pivot(tree) if isinstance(tree, exp.Pivot) else None


def write_pivot(pivot: exp.Expr) -> str | None:
    """The hint for a PIVOT: a GROUP BY that gives the same numbers, one below the other; None for
    one of a subquery, for a long one, and for UNPIVOT."""
    table, fields, group = pivot.this or pivot.parent, *map(pivot.args.get, ("fields", "group"))
    if pivot.args.get("unpivot") or not isinstance(table, exp.Table):
        return None
    calls = pivot.expressions if fields else pivot.args.get("using")
    calls = calls or [exp.Count(this=exp.Star())]
    keys = [each.this if isinstance(each, exp.In) else each for each in fields or pivot.expressions]
    keys += group.expressions if group else []
    if len(keys) + len(calls) > _LONGEST_PIVOT:
        return None
    parts = {part: table.args.get(part) for part in ("this", "db", "catalog", "alias")}
    bare = exp.Table(**{part: own.copy() for part, own in parts.items() if own})
    chosen = exp.select(*keys, *calls).from_(bare).group_by(*keys)
    return f"write {chosen.sql(dialect='duckdb', comments=False)}"


def measure_nesting(tokens: Sequence[Token]) -> int:
    """How deep brackets, CASE and runs of prefix operators are nested."""
    deepest = depth = run = 0
    for token in tokens:
        kind = token.token_type
        run = run + 1 if kind in _PREFIXES else 0
        depth += (kind in _OPENING) - (kind in _CLOSING)
        deepest = max(deepest, depth + run)
    return deepest


def _unreadable(text: str) -> Refusal:
    """The error for a text that does not split into tokens, at the quote that is left open."""
    for match in _QUOTED.finditer(text):
        if match.group("open"):
            what = "comment" if match.group("open") == "/*" else "quote"
            where = (match.start(), match.end() - 1)
            return wrong(f"a {what} is not closed", where, "close it, or double it")
    return wrong("the SQL cannot be split into words")


def split_statements(text: str) -> list[str]:
    """Split SQL at the semicolons that end statements; the last part is not finished yet.

    A text that leaves a quote or a comment open is one part, for it may go on.

    >>> split_statements("SELECT 'a;b'; SELECT 2")
    ["SELECT 'a;b'", ' SELECT 2']
    """
    tokens = _tokenize(text)
    if tokens is None:
        return [text]
    ends = [token.start for token in tokens if token.token_type == TokenType.SEMICOLON]
    starts = [0, *(end + 1 for end in ends)]
    return [text[start:end] for start, end in zip(starts, [*ends, len(text)], strict=True)]


def is_blank(text: str) -> bool:
    """Whether a text holds nothing but white space and comments."""
    return _tokenize(text) == []


# -- tokens to syntax tree ------------------------------------------------------------------------


class _PlacingParser(DuckDBParser):
    """A parser that notes where expressions stand, which sqlglot does for names and literals only.

    The offsets of the first and last character are in `meta`, under sqlglot's own keys.
    """

    # The parsers that sqlglot has for quantiles drop what stands behind the first share.
    FUNCTION_PARSERS: ClassVar = {
        name: parser
        for name, parser in DuckDBParser.FUNCTION_PARSERS.items()
        if not name.startswith("QUANTILE")
    }

    def _parse_limit(self, *args: Any, **options: Any) -> exp.Expr | None:
        """LIMIT; FETCH FIRST n ROWS ONLY, which is the same; LIMIT ALL, which is none."""
        if self._match(TokenType.FETCH):
            self._match_set((TokenType.FIRST, TokenType.NEXT))
            is_bare = self._match_texts(("ROW", "ROWS"), advance=False)
            count = exp.Literal.number(1) if is_bare else self._parse_term(parse_mod=False)
            if not (self._match_texts(("ROW", "ROWS")) and self._match_texts(("ONLY",))):
                self.raise_error("write FETCH FIRST n ROWS ONLY")
            return self.expression(exp.Limit(expression=count))
        limit = super()._parse_limit(*args, **options)
        if isinstance(limit, exp.Limit) and limit.expression.sql().upper() == "ALL":
            limit.set("expression", exp.null())
        return limit

    def _advance(self, times: int = 1) -> None:
        check()
        super()._advance(times)

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


def parse_query(source: SourceText, tokens: tuple[Token, ...]) -> exp.Query:
    """The syntax tree of one query; an error where it does not parse."""
    try:
        with quiet():
            parsed = _PlacingParser(dialect=DuckDB()).parse(list(tokens), source.sql)
    except ParseError as error:
        raise _syntax_error(source, error) from None
    except (RecursionError, Error):
        raise
    except Exception as error:
        # A parser that trips over odd input must still end in an error of this library.
        raise wrong(f"the SQL does not parse ({type(error).__name__})") from None
    tree = parsed[0] if len(parsed) == 1 else None
    if not isinstance(tree, exp.Query):
        raise refuse("this statement is not a query", tree, "write SELECT ... FROM <survey>")
    return tree


def write_sql(query: exp.Query) -> str:
    """A query as DuckDB reads it; an error for one that DuckDB has no words for."""
    try:
        return query.sql(dialect="duckdb", unsupported_level=ErrorLevel.RAISE, comments=False)
    except SqlglotError as error:
        raise refuse(f"this query cannot be handed to DuckDB: {error}") from None


@contextmanager
def deep_stack(tokens: Sequence[Token]) -> Iterator[None]:
    """Room on Python's stack for a nested text; an error where it is not enough.

    sqlglot takes up to fifty frames for one level of parentheses, and Python's default limit is
    a thousand. The limit belongs to the whole process, hence the lock; flat queries, nearly all
    there are, leave it alone.
    """
    try:
        if measure_nesting(tokens) <= _SHALLOW:
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
        raise wrong(
            "the SQL is nested too deeply",
            hint="use fewer parentheses, or shorter chains of UNION, AND or +",
        ) from None


@contextmanager
def quiet() -> Iterator[None]:
    """Keep what sqlglot would log in this thread off standard error: what matters of it ends in an
    error anyway."""
    mine = threading.get_ident()

    def from_others(record: logging.LogRecord) -> bool:
        return record.thread != mine

    logger = logging.getLogger("sqlglot")
    logger.addFilter(from_others)
    try:
        yield
    finally:
        logger.removeFilter(from_others)


def _syntax_error(source: SourceText, error: ParseError) -> Refusal:
    first = error.errors[0] if error.errors else {}
    text = _TOKEN.sub(lambda match: repr(match.group(1)), str(first.get("description") or ""))
    text = re.sub(r"<class '.*?(\w+)'>", r"\1", text).strip().rstrip(".")
    at = first.get("line"), first.get("col")
    near = next((token for token in source.tokens if (token.line, token.col) == at), None)
    reason = (
        f"syntax error near {source.sql[near.start : near.end + 1][:40]!r}"
        if near
        else "syntax error"
    )
    if top := re.search(r"(?i)\bSELECT\s+TOP\s*\(?\s*(\d+)", source.sql):
        return wrong(
            reason, near, f"leave out {top.group(0)[6:].strip()}, and end with LIMIT {top.group(1)}"
        )
    return wrong(reason, near, text[:1].lower() + text[1:])
