"""The catalog: surveys and look-up tables, and their columns, as two tables of
information_schema.

SHOW TABLES and DESCRIBE are written as SELECTs over these tables, which DuckDB evaluates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import Token, TokenType, exp

from ldpsql.parser.source import refuse
from ldpsql.reports.arrow_types import ARROW_TYPES
from ldpsql.sql import domains
from ldpsql.sql.quoting import DUCKDB_TYPES, literal, quote
from ldpsql_device.description import describe_extent, describe_missing, describe_outside
from ldpsql_device.schema import RESERVED_PREFIX, Attribute, Schema
from ldpsql_device.values import Listed

if TYPE_CHECKING:
    from ldpsql.sql.lookups import PublicTable

_LONGEST = 1000
_SCHEMA = "information_schema"
MAIN = "ldpsql", "main"
"""The catalog and the schema in which every table is."""
HEAD = {"table_catalog": "text", "table_schema": "text", "table_name": "text"}
"""The columns that say of which table a row is."""
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "tables": HEAD
    | {
        "table_type": "text",
        "mechanism": "text",
        "epsilon": "float",
        "guarantee": "text",
        "label": "text",
    },
    "columns": HEAD
    | {
        "column_name": "text",
        "ordinal_position": "int",
        "column_default": "text",
        "is_nullable": "text",
        "data_type": "text",
        "role": "text",
        "type": "text",
        "domain": "text",
        "declared_values": "text",
        "bins": "int",
        "outside": "text",
        "missing": "text",
        "epsilon": "float",
        "label": "text",
    },
}
"""The tables of information_schema: their columns with their types."""

_TOLD = ("count", "avg", "median")
_FALSE = ("FALSE", "1 = 0", "0 = 1", "1 <> 1")
_DESCRIBED = (
    "column_name",
    "role",
    "type",
    "domain",
    "declared_values",
    "bins",
    "is_nullable",
    "outside",
    "missing",
    "epsilon",
    "label",
)


def relation_of(table: exp.Table) -> str | None:
    """The name of the relation that a table of information_schema is read from; None for others."""
    is_known = table.db.lower() == _SCHEMA and table.name.lower() in COLUMNS
    is_ours = table.catalog.lower() in ("", MAIN[0])
    return f"{RESERVED_PREFIX}{table.name.lower()}" if is_known and is_ours else None


def unqualify(tree: exp.Expr) -> None:
    """Take the schema off the names of tables and columns, where it is the one in which
    information_schema has all of them: tools write main.app and "ldpsql"."main"."app".

    Such a table is no CTE of that name.
    """
    for node in tree.find_all(exp.Table, exp.Column):
        qualifiers = node.text("catalog").lower(), node.text("db").lower()
        if qualifiers in (MAIN, ("", MAIN[1])):
            node.set("catalog", None)
            node.set("db", None)
            mark_stored(node)


def mark_stored(table: exp.Expr) -> None:
    """Note of a table that it is no CTE, whatever CTEs its name may meet."""
    table.meta["is_stored"] = True


def is_stored(table: exp.Table) -> bool:
    """Whether a table is noted to be no CTE."""
    return bool(table.meta.get("is_stored"))


def relation_columns() -> dict[str, list[str]]:
    """The columns of these tables, by the names of the relations that they are read from."""
    return {f"{RESERVED_PREFIX}{name}": [*columns] for name, columns in COLUMNS.items()}


def is_command(tokens: Sequence[Token]) -> bool:
    """Whether a statement asks what can be asked."""
    return bool(tokens) and tokens[0].text.upper() in ("SHOW", "DESCRIBE", "DESC")


def command(tokens: Sequence[Token]) -> tuple[exp.Query, Token | None]:
    """SHOW TABLES or DESCRIBE as a SELECT, and the name of the table that it asks about."""
    words = [token.text.upper() for token in tokens]
    for start in (("LDPSQL", ".", "MAIN", "."), ("MAIN", ".")):
        if tuple(words[-1 - len(start) : -1]) == start:
            del words[-1 - len(start) : -1]
    if words == ["SHOW", "TABLES"]:
        names = exp.select("table_name").from_(f"{_SCHEMA}.tables").order_by("table_name")
        return names, None
    last = tokens[-1]
    is_name = last.token_type in (TokenType.VAR, TokenType.IDENTIFIER)
    if is_name and words[:-1] in (["DESCRIBE"], ["DESC"], ["SHOW", "COLUMNS", "FROM"]):
        wanted = exp.func("lower", exp.column("table_name")).eq(last.text.lower())
        columns = exp.select(*_DESCRIBED).from_(f"{_SCHEMA}.columns").where(wanted)
        return columns.order_by("ordinal_position"), last
    raise refuse(
        f"this {words[0]} is not supported", tokens[0], "write SHOW TABLES, or DESCRIBE <survey>"
    )


def surveyed(tree: exp.Expr) -> exp.Table | None:
    """The table of a SELECT * that asks for no rows, by LIMIT 0 or WHERE 1 = 0: so tools ask which
    columns a table has. None for any other query."""
    parts = {name for name, value in tree.args.items() if value}
    if not isinstance(tree, exp.Select) or parts - {"expressions", "from_", "where", "limit"}:
        return None
    table = tree.args["from_"].this if tree.args.get("from_") else None
    where, limit = tree.args.get("where"), tree.args.get("limit")
    is_empty = (where is not None and where.this.sql() in _FALSE) or (
        limit is not None and limit.expression.sql() == "0"
    )
    is_whole = [type(item) for item in tree.expressions] == [exp.Star]
    if not (is_empty and is_whole and isinstance(table, exp.Table)):
        return None
    return table if table.db.lower() in ("", MAIN[1]) else None


def write_empty(schema: Schema) -> exp.Query:
    """A SELECT that gives the columns of a survey, and no row."""
    columns = describe(schema)
    empty = [exp.cast(exp.null(), c["data_type"]).as_(c["column_name"]) for c in columns]
    return exp.select(*empty).where("1 = 0")


def summarized(tokens: Sequence[Token]) -> Token | None:
    """The name of the survey that SUMMARIZE asks about; None for another statement."""
    if len(tokens) == 2 and tokens[0].text.upper() == "SUMMARIZE":
        return tokens[1]
    return None


def write_summary(table: str, schema: Schema) -> exp.Query:
    """A SELECT of what is declared of every column of a survey, and what the reports say of it: how
    many people have a value, the average, and the median, where these can be told."""
    parts = list[str]()
    for column in describe(schema):
        name = column["column_name"]
        index = domains.find_dimension(schema, name)
        domain = None if index is None else schema.dimensions[index].domain
        is_number = domain is not None and domain.type in ("int", "float")
        is_summed = domains.find_measure(schema, name) is not None or (
            domain is not None and domain.type == "int" and domains.is_listed_out(domain)
        )
        said = [
            literal(column.get(part))
            for part in ("column_name", "role", "data_type", "domain", "is_nullable")
        ]
        said.append(f"COUNT({quote(name)})")
        said += [
            f"{function}({quote(name)})" if is_told else "CAST(NULL AS DOUBLE)"
            for function, is_told in (("AVG", is_summed), ("MEDIAN", is_number))
        ]
        heads = ("column_name", "role", "column_type", "declared", "is_nullable", *_TOLD)
        items = ", ".join(f"{each} AS {head}" for each, head in zip(said, heads, strict=True))
        parts.append(f"SELECT {items} FROM {quote(table)}")
    query: exp.Query = exp.maybe_parse(" UNION ALL ".join(parts), dialect="duckdb")
    return query


def relations(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, pa.Table]:
    """The tables of information_schema by the names of their relations; rows: of each, by its
    name, none where it is left out."""
    return {
        f"{RESERVED_PREFIX}{name}": pa.Table.from_pylist(
            rows.get(name, ()), pa.schema([(key, ARROW_TYPES[kind]) for key, kind in types.items()])
        )
        for name, types in COLUMNS.items()
    }


def describe_lookup(table: PublicTable) -> Iterator[tuple[str, str]]:
    """The columns of a look-up table, each with its type as a survey file calls it."""
    words = {arrow: word for word, arrow in ARROW_TYPES.items()}
    return ((field.name, words[field.type]) for field in table.rows.schema)


def describe(schema: Schema) -> Iterator[dict[str, Any]]:
    """The columns of a survey, each once: those of its entry in `COLUMNS` that a schema knows."""
    measures = {measure.name: measure for measure in schema.measures}
    for dimension in schema.dimensions:
        domain, bounds = dimension.domain, measures.pop(dimension.name, None)
        values: str | None = None
        kind = domain.type
        if isinstance(domain, Listed):
            values = ", ".join(map(repr, domain.values))
            kind = "text" if isinstance(domain.values[0], str) else kind
        yield {
            "column_name": dimension.name,
            "role": "dimension, measure" if bounds else "dimension",
            "type": domain.type,
            "data_type": DUCKDB_TYPES.get(kind, "BIGINT"),
            "domain": describe_extent(domain),
            "declared_values": values and _cut(values),
            "bins": domain.size,
            "is_nullable": "YES" if domains.null_codes(dimension) else "NO",
            **_rules(schema, dimension),
        }
    for measure in measures.values():
        low, high = measure.bounds
        yield {
            "column_name": measure.name,
            "role": "measure",
            "type": "float",
            "data_type": "DOUBLE",
            "domain": f"[{low:g}, {high:g}]",
            "is_nullable": "YES" if measure.has_null else "NO",
            **_rules(schema, measure),
        }
    for column in schema.public:
        yield {
            "column_name": column.name,
            "role": "public",
            "type": column.type,
            "data_type": DUCKDB_TYPES[column.type],
            "is_nullable": "YES",
            **_rules(schema, column),
        }


def _rules(schema: Schema, column: Attribute) -> dict[str, str | None]:
    """How values beside the declared ones are counted, and the label."""
    return {
        "outside": describe_outside(column) or None,
        "missing": describe_missing(column),
        "label": schema.labels.get(column.name),
    }


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
