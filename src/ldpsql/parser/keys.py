"""GROUP BY: the keys of a base query, and where SELECT repeats them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from ldpsql.domains import find_dimension
from ldpsql.parser.allowed import function_name
from ldpsql.parser.columns import Columns
from ldpsql.parser.constants import fold, is_constant
from ldpsql.parser.measurements import is_measurable
from ldpsql.parser.query import GroupKey


@dataclass(frozen=True)
class Keys:
    """The GROUP BY keys of one base query, each once, in the order written."""

    columns: Columns
    all: tuple[GroupKey, ...]

    def repeated(self, node: exp.Expr) -> GroupKey | None:
        """The key that a node repeats; QueryError for an unknown column inside bin()."""
        if is_bin(node):
            wanted: tuple[str | None, float | None] = _bin(node, self.columns)
        elif isinstance(node, exp.Column):
            wanted = self.columns.find(node.name), None
        else:
            return None
        return next((key for key in self.all if (key.column, key.width) == wanted), None)


def group_keys(select: exp.Select, columns: Columns) -> Keys:
    """Read GROUP BY: columns and bin(column, width), by themselves, by alias or by position.

    GROUP BY ALL takes every column and bin() of the select list.
    """
    group = select.args.get("group")
    if not group:
        return Keys(columns, ())
    for part, value in group.args.items():
        if value and part not in ("expressions", "all"):
            raise columns.source.unsupported(
                f"GROUP BY {part.upper()} is not answered", group, hint="list the keys"
            )
    wanted = [_unfold(node, select, columns) for node in group.expressions]
    if group.args.get("all"):
        items = (item.unalias().unnest() for item in select.expressions)
        wanted += [item for item in items if isinstance(item, exp.Column) or is_bin(item)]
    keys: dict[tuple[str, float | None], GroupKey] = {}
    for node in wanted:
        column, width = _parts(node, columns)
        key = GroupKey(column, width, f"k{len(keys)}", columns.source.place(node))
        keys.setdefault((column, width), key)
    return Keys(columns, tuple(keys.values()))


def item_at(position: exp.Expr, select: exp.Select, columns: Columns) -> exp.Expr:
    """The select item at a position given as a literal, counted from 1."""
    items: list[exp.Expr] = select.expressions
    text = str(position.this)
    if not text.isdigit() or not 1 <= int(text) <= len(items):
        raise columns.source.wrong(
            f"there is no column {text[:20]}", position, hint=f"positions are 1 to {len(items)}"
        )
    return items[int(text) - 1]


def alias_of(item: exp.Expr) -> str:
    """The name that AS gives a select item, or an empty string.

    sqlglot also calls the named window of OVER an alias.
    """
    return item.alias if isinstance(item, exp.Alias | exp.Subquery) else ""


def is_bin(node: exp.Expr) -> bool:
    """Whether a node is a call of bin()."""
    return isinstance(node, exp.Anonymous) and function_name(node) == "BIN"


def _unfold(node: exp.Expr, select: exp.Select, columns: Columns) -> exp.Expr:
    """What a GROUP BY item means; a column comes before an alias of the same name."""
    if isinstance(node, exp.Literal) and not node.is_string:
        return item_at(node, select, columns).unalias().unnest()
    if isinstance(node, exp.Column) and not node.table and columns.find(node.name) is None:
        for item in select.expressions:
            if alias_of(item).lower() == node.name.lower():
                meant: exp.Expr = item.unalias().unnest()
                return meant
    return node.unnest()


def _parts(node: exp.Expr, columns: Columns) -> tuple[str, float | None]:
    if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
        return columns.filterable(node), None
    if is_bin(node):
        return _bin(node, columns)
    if is_measurable(node) or isinstance(node, exp.AggFunc):
        raise columns.source.wrong("an aggregate cannot be a GROUP BY key", node)
    raise columns.source.unsupported(
        "GROUP BY takes columns and bin(column, width)", node, hint="group by the column itself"
    )


def _bin(node: exp.Expr, columns: Columns) -> tuple[str, float]:
    arguments = [argument.unnest() for argument in node.expressions]
    if len(arguments) != 2 or not isinstance(arguments[0], exp.Column):
        raise columns.source.wrong(
            "bin() takes a column and a width", node, hint="write bin(age, 10)"
        )
    name = columns.filterable(arguments[0])
    if find_dimension(columns.schema, name) is None:
        raise columns.source.unsupported(
            f"bin() takes a dimension, and {name} is public",
            node,
            hint=f"group by {name} and bin it in an outer query",
        )
    width = fold(arguments[1], columns.source) if is_constant(arguments[1]) else None
    if isinstance(width, bool) or not isinstance(width, int | float) or not width > 0:
        raise columns.source.wrong("the width of bin() must be a positive number", arguments[1])
    return name, float(width)
