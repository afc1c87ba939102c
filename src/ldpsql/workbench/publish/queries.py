"""A file of named queries, and their answers as tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from ldpsql.engine.collector import Answering
from ldpsql.engine.result import Result
from ldpsql.errors import Located, QueryError, pluralize
from ldpsql.parser.source import is_blank, split_statements
from ldpsql_device.errors import Error, NotSupportedError, ProgrammingError

INDEX = "ldpsql_published"
"""The table that lists the others, a row each; no query has its name."""
INDEX_COLUMNS = pa.schema(
    {
        "table_name": pa.string(),
        "sql": pa.string(),
        "survey": pa.string(),
        "guarantee": pa.string(),
        "reports": pa.int64(),
        "confidence": pa.float64(),
        "notes": pa.string(),
    }
)
_TABLE_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_NAME_LINE = re.compile(r"^[ \t]*--[ \t]*name[ \t]*:[ \t]*(.*?)[ \t]*\r?$", re.MULTILINE)


@dataclass(frozen=True)
class NamedQuery:
    """A query, and the table that its answer becomes. where: its place in the file, for errors."""

    name: str
    sql: str
    where: str


def read_queries(path: Path) -> list[NamedQuery]:
    """Queries of a file: each behind a line `-- name: revenue_by_region`, which names its table.

    QueryError, with the place in the file, for anything else.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise QueryError(f"{path.name} is not UTF-8") from None
    marks = list(_NAME_LINE.finditer(text))
    ends = [mark.start() for mark in marks]
    if not is_blank(text[: ends[0] if ends else None]):
        raise QueryError(
            f"{path.name} has SQL without a name", hint="write -- name: TABLE above each query"
        )
    if not marks:
        raise QueryError(f"{path.name} holds no query", hint="write -- name: TABLE above each")
    queries: list[NamedQuery] = []
    for mark, end in zip(marks, [*ends[1:], len(text)], strict=True):
        name, line = mark[1], text.count("\n", 0, mark.start()) + 1
        where = f"{path.name}, line {line}"
        if not _TABLE_NAME.fullmatch(name):
            raise QueryError(
                f"{where}: {name!a:.60} is not the name of a table",
                hint="write at most 63 of a-z, 0-9 and _, no digit first",
            )
        if name == INDEX or any(name == other.name for other in queries):
            raise QueryError(f"{where}: there is another table {name}; give another name")
        statements = [s for s in split_statements(text[mark.end() : end]) if not is_blank(s)]
        if len(statements) != 1:
            raise QueryError(
                f"{where}: {name} has {pluralize(len(statements), 'statement')}, not one"
            )
        queries.append(NamedQuery(name, statements[0].strip(), where))
    return queries


def answer_queries(
    session: Answering,
    queries: Sequence[NamedQuery],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, pa.Table]:
    """The answers by name, and `INDEX`, which says what they are answers to.

    progress: called with how many queries are answered and how many there are. Errors as of
    `Session.execute`, with the place in the file; NotSupportedError for an EXPLAIN.
    """
    tables: dict[str, pa.Table] = {}
    index: list[dict[str, object]] = []
    for query in queries:
        progress(len(tables), len(queries))
        try:
            result = session.execute(query.sql)
            if result.explain is not None:
                raise NotSupportedError("a plan is not a table; leave EXPLAIN out")
        except (ProgrammingError, NotSupportedError) as error:
            raise _placed(error, query.where) from None
        tables[query.name] = _with_errors(result)
        index.append(_index_row(query, result))
    return {**tables, INDEX: pa.Table.from_pylist(index, INDEX_COLUMNS)}


def _with_errors(result: Result) -> pa.Table:
    """The rows with the errors as columns; estimates are doubles, whether whole or not."""
    table = result.table
    for place in result.intervals:
        estimates = table.column(place).cast(pa.float64())
        table = table.set_column(place, table.schema.names[place], estimates)
    return replace(result, table=table).distinct(intervals=True)


def _index_row(query: NamedQuery, result: Result) -> dict[str, object]:
    return {
        "table_name": query.name,
        "sql": query.sql,
        "survey": ", ".join(f"{s.table} ({s.fingerprint[:12]})" for s in result.surveys),
        "guarantee": ", ".join(map(str, result.promised)),
        "reports": result.reports,
        "confidence": result.level,
        "notes": "\n".join([*result.notes, *result.weak_notes()]),
    }


def _placed(error: Error, where: str) -> Error:
    """The same error, which names the file and the line."""
    if isinstance(error, Located):
        return type(error)(
            f"{where}: {error.reason}", sql=error.sql, place=error.place, hint=error.hint
        )
    return type(error)(f"{where}: {error}")
