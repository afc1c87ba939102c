"""Names and types of SQL over estimates, as DuckDB's own binder finds them.

The relations of estimates are not there yet when a question is read, but their columns are known,
so DuckDB binds the outer SQL over empty relations in a database of its own. Its errors point into
the SQL that was written for it; they are traced back to the place in the user's text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from decimal import Decimal
from functools import cache

import duckdb
import pyarrow as pa
from sqlglot import exp

from ldpsql import limits
from ldpsql.errors import did_you_mean
from ldpsql.parser import catalog
from ldpsql.parser.query import ROW, Query, atoms
from ldpsql.parser.source import Refusal, wrong
from ldpsql.reports.arrow_types import ARROW_TYPES, arrow_type, arrow_types
from ldpsql.sql.aggregates import Target, expand
from ldpsql.sql.arrow_arrays import make_array
from ldpsql.sql.domains import find_dimension, find_public_column
from ldpsql.sql.lookups import PublicTable
from ldpsql.sql.quoting import DECLARED, DUCKDB_SETTINGS, DUCKDB_TYPES, Scalar
from ldpsql_device.schema import Schema
from ldpsql_device.values import Value

_CONFIG = {**DUCKDB_SETTINGS, "enable_external_access": "false", "threads": "1"}
_MARK = re.compile(r"/\* @(\d+) \*/")
_NAME = re.compile(r'"([^"]+)"')
_NO_COLUMN = re.compile(
    r'Referenced (?:column|table) "[^"]*"|.* does not have a column named|Table .* not found'
)
_NESTED_TYPES = ("struct", "list", "map", "array", "union", "row")


def list_relation_types(query: Query, schema: Schema) -> pa.Schema:
    """Names and types of the columns of a base query's relation of estimates.

    The keys, then every measurement, last the row number. How many people there are, told apart by
    public columns at most, is a whole number.
    """
    asked = [name for key in query.keys for name in key.columns]
    asked += [join.number for join in query.joins if not join.is_left]
    for atom in atoms(query.predicate):
        asked += atom.columns if isinstance(atom, Scalar) else [atom.column]
    is_public = all(find_public_column(schema, column) for column in asked)
    fields: list[tuple[str, pa.DataType]] = []
    for key in query.keys:
        if key.scalar is not None:
            fields.append((key.name, _ARROW_TYPES[key.scalar.kind]))
            continue
        index, public = find_dimension(schema, key.column), find_public_column(schema, key.column)
        if index is not None:
            fields.append((key.name, arrow_type(schema.dimensions[index])))
        elif public is not None:
            fields.append((key.name, ARROW_TYPES[public.type]))
    for column in query.columns:
        is_people = column.what == "value" and expand(column.expression, schema) == Target()
        fields.append((column.name, pa.int64() if is_public and is_people else pa.float64()))
    return pa.schema([*fields, (ROW, pa.int64())])


_ARROW_TYPES = {DUCKDB_TYPES[word]: kind for word, kind in ARROW_TYPES.items()}
"""The Arrow type of every kind of `Scalar`."""
_KINDS = {
    **dict.fromkeys(("BOOLEAN", "DATE", "TIMESTAMP", "VARCHAR"), ""),
    **dict.fromkeys(("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "TIMESTAMP"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), "DOUBLE"),
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UHUGEINT"), "BIGINT"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"), "BIGINT"),
}
"""The kind of a `Scalar` by DuckDB's name of its type, where that is another one."""


def find_scalar_kind(
    text: str,
    names: Sequence[str],
    schema: Schema,
    kinds: Mapping[str, str],
    tables: Collection[PublicTable],
    node: exp.Expr,
) -> str:
    """The kind of an expression over columns; an error at its node where it has none.

    names: of the survey's columns in it.  kinds: of columns of joined rows, by name.  tables: what
    its subqueries read.
    """
    limits.check()  # DuckDB takes milliseconds for each, and a text may hold thousands
    known = arrow_types(schema)
    types = [(name, known[name]) for name in names]
    types += [(name, _ARROW_TYPES[kind]) for name, kind in kinds.items()]
    with _database().cursor() as cursor:
        columns = types or [(ROW, pa.int64())]
        cursor.register(DECLARED, pa.schema(columns).empty_table())
        for table in tables:
            cursor.register(table.relation, table.rows.schema.empty_table())
        try:
            found = str(cursor.sql(f"SELECT {text} FROM {DECLARED}").types[0])
        except duckdb.Error as error:
            line = str(error).splitlines()[0].split(": ", 1)[-1].split(". ")[0].rstrip("!.")
            is_type = isinstance(error, duckdb.BinderException)
            checked = "types of what it is written over" if is_type else "constants in it"
            raise wrong(line, node, f"check the {checked}") from None
    return _kind(found, node)


def number_at(scalar: Scalar, values: Mapping[str, Value], schema: Schema) -> float:
    """An expression as a number where columns have some values; 0 where it has none there."""
    with suppress(Refusal):
        rows = {name: [value] for name, value in values.items()} or {ROW: [0]}
        (found,) = evaluate_over(scalar, rows, schema)
        return found if found is not None and math.isfinite(found) else 0.0
    return 0.0


def evaluate_over(
    scalar: Scalar,
    rows: Mapping[str, Sequence[Value | None]],
    schema: Schema,
    node: exp.Expr | None = None,
) -> list[float | None]:
    """An expression as a number over rows of columns, None where it is NULL; an error at its node
    where it cannot be evaluated."""
    types = {**arrow_types(schema), ROW: pa.int64()}
    table = {name: make_array(values, types[name]) for name, values in rows.items()}
    with _database().cursor() as cursor:
        cursor.register(DECLARED, pa.table(table))
        sql = f"SELECT CAST({scalar.text} AS DOUBLE) FROM {DECLARED}"
        try:
            return [value for (value,) in cursor.execute(sql).fetchall()]
        except duckdb.Error as error:
            line = str(error).splitlines()[0].split(": ", 1)[-1]
            raise wrong(line, node, "this is said of declared values") from None


def evaluate_constant(text: str, node: exp.Expr) -> Value | Decimal | None:
    """The value of an expression without columns; an error at its node where it has none that
    Python has, too."""
    limits.check()
    try:
        with _database().cursor() as cursor:
            kind = _kind(str(cursor.sql(f"SELECT {text}").types[0]), node)
            is_moment = kind in ("DATE", "TIMESTAMP")
            finite = "isfinite(x)" if is_moment else "TRUE"
            found = cursor.execute(f"SELECT x, {finite} FROM (SELECT {text} AS x)").fetchone()
    except duckdb.Error as error:
        line = str(error).splitlines()[0].split(": ", 1)[-1].split(". ")[0].rstrip("!.")
        raise wrong(line, node, "write the value out") from None
    value, is_finite = found or (None, True)
    if value is not None and is_moment and not (is_finite and isinstance(value, date)):
        reason = "this lies outside of the years 1 to 9999"
        raise wrong(reason, node, "write DATE '0001-01-01' or DATE '9999-12-31'")
    return value  # type: ignore[no-any-return]


def public_columns(
    query: exp.Query, sql: str, tables: Collection[PublicTable], node: exp.Expr
) -> list[tuple[str, str]]:
    """The columns of a query over look-up tables, with their kinds; an error at its node."""
    with _database().cursor() as cursor:
        bound = _bind(cursor, query, sql, tables)
        return [
            (name, _kind(str(kind), node))
            for name, kind in zip(bound.columns, bound.types, strict=True)
        ]


def _bind(
    cursor: duckdb.DuckDBPyConnection, query: exp.Query, sql: str, tables: Collection[PublicTable]
) -> duckdb.DuckDBPyRelation:
    """A query, bound and not run, over what is registered and look-up tables."""
    limits.check()
    for table in tables:
        cursor.register(table.relation, table.rows.schema.empty_table())
    try:
        return cursor.sql(sql)
    except duckdb.Error:
        raise _locate(cursor, query) from None


def _kind(found: str, node: exp.Expr) -> str:
    """The kind that stands for a type of DuckDB."""
    plain = found.partition("(")[0].strip('"')
    if plain == "NULL":
        return "BOOLEAN"
    if plain not in _KINDS:
        hint = "write a number, a text, a date or a condition"
        if plain.endswith("TIME ZONE"):
            hint = "write local time without a time zone"
        raise wrong(f"this is of type {plain}", node, hint)
    return _KINDS[plain] or plain


def bind(
    query: exp.Query,
    sql: str,
    bases: Sequence[Query],
    schemas: Sequence[Schema],
    tables: Collection[PublicTable] = (),
) -> list[str]:
    """The names of the columns that a query over relations of estimates gives.

    sql: the query as text.  bases: the base queries, each with the schema that it asks.  tables:
    the look-up tables that it reads.  An error at its node for an unknown name and for types that
    do not fit.
    """
    with _database().cursor() as cursor:
        for base, schema in zip(bases, schemas, strict=True):
            cursor.register(base.relation, list_relation_types(base, schema).empty_table())
        for name, relation in catalog.relations({}).items():
            cursor.register(name, relation)
        bound = _bind(cursor, query, sql, tables)
        for name, kind in zip(bound.columns, bound.types, strict=True):
            if str(kind.id) in _NESTED_TYPES:
                raise wrong(f"there is no column {name!r} here", _find_named(query, [name]))
        return list(bound.columns)


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(":memory:", config=dict(_CONFIG))


def _locate(cursor: duckdb.DuckDBPyConnection, query: exp.Query) -> Refusal:
    """The binder's error about a query, at the node that it is about.

    The query is written once more with a comment behind every node that has a place, and the
    error's offset tells which comment is meant.
    """
    limits.check()
    nodes, copy = list(query.walk()), query.copy()
    for index, each in enumerate(copy.walk()):
        is_placed = isinstance(each, exp.Column | exp.Func | exp.Literal)
        each.comments = [f"@{index}"] if is_placed else None
    for alias in list(copy.find_all(exp.Alias)):
        if alias.this.name == alias.alias:  # n AS n would be blamed for itself
            alias.replace(alias.this)
    text = copy.sql(dialect="duckdb")
    cursor.execute("SET errors_as_json = true")
    said: dict[str, str] = {}
    try:
        cursor.execute(f"DESCRIBE {text}")
    except duckdb.Error as error:
        with suppress(ValueError):  # not every error of DuckDB is written as JSON
            said = json.loads(str(error)[str(error).find("{") :])
    lines = str(said.get("exception_message") or "the query cannot be answered").splitlines()
    message, names = lines[0].split(". ")[0].rstrip("!."), _NAME.findall(lines[0])
    node = _at(said, text, nodes)
    if node is None and "Set operation" in message:
        operation = query.find(exp.SetOperation)
        node = operation.expression if operation else None
    if node is None or not isinstance(node, exp.Column):
        node = _find_named(query, names) or node
    if isinstance(node, exp.Column) and _NO_COLUMN.match(message):
        what = (
            f"relation {node.table!r}"
            if node.find(exp.Star)
            else f"column {'.'.join(part.name for part in node.parts)!r}"
        )
        near = str(said.get("candidates") or "")
        hint = f"did you mean {near}?" if near else did_you_mean(node.name, _names(query, node))
        hint = hint.strip() or "name a column of the relations in FROM"
        return wrong(f"there is no {what} here", node, hint)
    return wrong(message, node, "check the query over the estimates")


def _names(query: exp.Query, column: exp.Column) -> Iterator[str]:
    """The columns of the CTE or subquery that stands before a column's name."""
    for source in query.find_all(exp.CTE, exp.Subquery):
        if source.alias and source.alias.lower() == column.table.lower():
            yield from source.alias_column_names or source.this.named_selects


def _at(said: Mapping[str, str], text: str, nodes: Sequence[exp.Expr]) -> exp.Expr | None:
    """The node whose comment is nearest to where an error is; None where it does not say where."""
    if "position" not in said:
        return None
    # Offsets count bytes. The comment of a node stands right behind its text.
    start, length = json.loads(said.get("location") or f"[{said['position']}, 0]")
    end = len(text.encode()[: start + length].decode(errors="replace"))
    marks = list(_MARK.finditer(text))
    nearest = min(marks, key=lambda mark: abs(mark.start() - end), default=None)
    return nodes[int(nearest[1])] if nearest else None


def _find_named(query: exp.Query, names: Sequence[str]) -> exp.Expr | None:
    """The column of some names, or else the first identifier of one of them."""
    wanted = [name.lower() for name in names]
    for column in query.find_all(exp.Column):
        if column.this.meta and [part.name.lower() for part in column.parts] == wanted:
            return column
    for identifier in query.find_all(exp.Identifier):
        if identifier.meta and identifier.name.lower() in wanted:
            parent = identifier.parent
            return parent if isinstance(parent, exp.Column) else identifier
    return None
