"""Public. Sees parameters. What a query over estimates may be made of, part by part.

Each check takes the source for the place of what it refuses.
"""

from __future__ import annotations

from sqlglot import exp

from ldpsql.parser.allowed import function_name
from ldpsql.parser.scope import Names
from ldpsql.parser.source import Source
from ldpsql_device.errors import UnsupportedSQL
from ldpsql_device.schema import RESERVED_PREFIX


def check_table(source: Source, table: exp.Table) -> None:
    """A plain name, without schema and renamed columns."""
    if not isinstance(table.this, exp.Identifier):
        raise source.unsupported(
            "a table function is not answered", table, hint="name a survey or a CTE"
        )
    if table.args.get("db") or table.args.get("catalog"):
        raise source.wrong(
            "a survey's table has no schema or catalog", table, hint=f"write {table.name}"
        )
    check_parts(source, table, {"this", "alias"})
    alias = table.args.get("alias")
    if alias and alias.args.get("columns"):
        raise source.unsupported(
            "a table's columns cannot be renamed", table, hint="write only the alias"
        )


def check_parts(source: Source, node: exp.Expr, allowed: set[str]) -> None:
    """Refuse the parts of a node that are not allowed."""
    for part, value in present(node).items():
        if part not in allowed:
            first = value[0] if isinstance(value, list) else value
            raise source.unsupported(
                f"{part.strip('_').upper()} is not answered",
                first if isinstance(first, exp.Expr) else node,
                hint="leave it out",
            )


def check_name(source: Source, alias: exp.Expr) -> None:
    """Refuse names that are reserved."""
    if alias.name.lower().startswith(RESERVED_PREFIX):
        raise source.wrong(
            f"names that start with {RESERVED_PREFIX} are reserved", alias, hint="rename it"
        )


def renamed(source: Source, alias: exp.Expr, names: Names) -> Names:
    """The names of columns under an alias that may rename the first of them."""
    columns = [column.name for column in alias.args.get("columns") or ()]
    if len(columns) > len(names):
        raise source.wrong(f"there are {len(names)} columns to name", alias)
    return (*columns, *names[len(columns) :])


def refused(source: Source, node: exp.Expr) -> UnsupportedSQL:
    """What to say of a node that is not on the allow-list."""
    name = function_name(node)
    if name in ("STDERR", "CI_LOW", "CI_HIGH", "BIN"):
        return source.unsupported(
            f"{name} is answered only in the SELECT over a survey's table",
            node,
            hint="name it there and use its name here",
        )
    what = f"the function {name}" if isinstance(node, exp.Func) else name
    return source.unsupported(
        f"{what} is not answered", node, hint="use plain SQL functions over the result"
    )


def present(node: exp.Expr) -> dict[str, object]:
    """The parts of a node that are there."""
    return {part: value for part, value in node.args.items() if value not in (None, False, [])}
