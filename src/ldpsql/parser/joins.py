"""FROM people JOIN public rows: which rows, and when one of them matches a person.

Of what a SELECT joins a survey's table with nothing is left in it: columns of joined rows become
`LookupColumn`s, ON a condition of a `Join`, and a SEMI or ANTI JOIN an EXISTS in WHERE.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ldpsql.limits import in_time
from ldpsql.parser import binder
from ldpsql.parser.columns import Columns, LookupColumn, PublicRows, outside_queries, own_columns
from ldpsql.parser.scalars import scalar_of
from ldpsql.parser.source import refuse, write_sql, wrong
from ldpsql.sql.quoting import Join
from ldpsql_device.schema import identifier

MAX_JOINS = 8
_KINDS = {"", "INNER", "CROSS", "LEFT", "SEMI", "ANTI"}


@dataclass(frozen=True)
class _Joined:
    """One JOIN as it is written. rows: of INNER and LEFT."""

    node: exp.Join
    kind: str
    rows: PublicRows | None


def read_joins(select: exp.Select, columns: Columns) -> Columns:
    """Take the joins out of a SELECT over a survey's table; the columns that it sees with them.

    An error for rows that are not public, for joins of other kinds, and as `read_scalar` for ON.
    """
    written = select.args.get("joins") or []
    if len(written) > MAX_JOINS:
        raise refuse(f"more than {MAX_JOINS} joins", written[MAX_JOINS].this, "join fewer")
    found = [_read_join(node, columns) for node in written]
    rows = tuple(join.rows for join in found if join.rows)
    names = [columns.alias.lower(), *(each.alias.lower() for each in rows)]
    for place, each in enumerate(rows, 1):
        if names[place] in names[:place]:
            raise wrong(f"two relations are called {each.alias!r}", found[place - 1].node.this)
    merged = {name.name.lower() for join in found for name in join.node.args.get("using") or ()}
    columns = replace(columns, rows=rows, merged=frozenset(merged))
    for join in found:
        if join.rows is None:
            _filter_by(select, join, columns)
    _mark(select, columns)
    read = columns
    for place, join in enumerate(each for each in found if each.rows):
        so_far = replace(columns, rows=rows[: place + 1], joins=read.joins)
        read = replace(columns, joins=(*read.joins, _join(select, join, so_far)))
    select.set("joins", None)
    return read


def _read_join(node: exp.Join, columns: Columns) -> _Joined:
    words = [str(node.args.get(part) or "").upper() for part in ("method", "side", "kind")]
    method, side, kind = words
    kind = side or ("" if kind == "OUTER" else kind)
    if method or kind not in _KINDS:
        raise refuse(
            f"{' '.join(filter(None, words))} JOIN with a survey's table is not supported",
            node.this,
            "write JOIN or LEFT JOIN, the survey's table first, with ON or USING",
        )
    for part, value in node.args.items():
        if value and part not in ("this", "on", "using", "side", "kind"):
            raise refuse(f"{part.upper()} is not supported in a JOIN", node.this)
    if not isinstance(node.this, exp.Table | exp.Subquery | exp.Values):
        raise refuse(
            "this cannot be joined with a survey's table", node.this, "name a look-up table"
        )
    if kind in ("SEMI", "ANTI"):
        return _Joined(node, kind, None)
    alias = node.this.alias_or_name
    if not alias:
        raise wrong("joined rows need a name", node.this, "write JOIN (...) AS name")
    return _Joined(node, kind, _public_rows(node.this, alias, columns))


def _public_rows(node: exp.Expr, alias: str, columns: Columns) -> PublicRows:
    """The rows behind JOIN, with the names and kinds of its columns."""
    every = exp.Select(expressions=[exp.Star()], from_=exp.From(this=node.copy()))
    query, tables = columns.public(every)
    sql = write_sql(query)
    return PublicRows(alias, sql, tables, tuple(binder.public_columns(query, sql, tables, node)))


def _filter_by(select: exp.Select, join: _Joined, columns: Columns) -> None:
    """Write a SEMI or ANTI JOIN as a condition in WHERE."""
    node, alias = join.node, join.node.this.alias_or_name
    conditions: list[exp.Expr] = []
    for name in node.args.get("using") or ():
        left, right = exp.column(name.copy()), exp.column(name.copy(), table=alias)
        left.set("table", exp.to_identifier(columns.alias))
        conditions.append(exp.EQ(this=left, expression=right))
    if node.args.get("on"):
        conditions.append(exp.Paren(this=node.args["on"].copy()))
    if not conditions:
        raise wrong(f"a {join.kind} JOIN needs ON or USING", node.this)
    rows = exp.Select(
        expressions=[exp.Literal.number(1)],
        from_=exp.From(this=node.this.copy()),
        where=exp.Where(this=all_of(conditions)),
    )
    exists: exp.Expr = exp.Exists(this=rows)
    _add_condition(select, exists if join.kind == "SEMI" else exp.Not(this=exists))


def _add_condition(select: exp.Select, condition: exp.Expr) -> None:
    where = select.args.get("where")
    both = [exp.Paren(this=where.this), condition] if where else [condition]
    select.set("where", exp.Where(this=all_of(both)))


def all_of(conditions: Sequence[exp.Expr]) -> exp.Expr:
    """The conditions joined by AND; TRUE for none."""
    first, *others = conditions or [exp.true()]
    for condition in others:
        first = exp.And(this=first, expression=condition)
    return first


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that AND joins in this one, through brackets.

    A loop, because a thousand of them nest a thousand deep.
    """
    waiting = [condition]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.And):
            waiting += [node.expression, node.this]
        elif isinstance(node, exp.Paren) and isinstance(node.this, exp.And | exp.Paren):
            waiting.append(node.this)
        else:
            yield node


def _mark(select: exp.Select, columns: Columns) -> None:
    """Replace the columns of joined rows, wherever the SELECT names them.

    In ORDER BY, HAVING and QUALIFY a name that AS gives comes before that of a column.
    """
    aliases = {item.alias.lower() for item in select.expressions if isinstance(item, exp.Alias)}
    late = ("order", "having", "qualify")
    for part, value in select.args.items():
        if part in ("from_", "with_"):
            continue
        for root in value if isinstance(value, list) else [value]:
            if not isinstance(root, exp.Expr):
                continue
            within = root.args.get("on") if isinstance(root, exp.Join) else root
            for column in in_time(list(own_columns(within) if within else ())):
                is_alias = not column.table and column.name.lower() in aliases
                found = None if is_alias and part in late else columns.lookup(column)
                if found is not None:
                    column.replace(found)


def _join(select: exp.Select, written: _Joined, columns: Columns) -> Join:
    """One INNER or LEFT JOIN; columns: as ON sees them."""
    node, rows = written.node, columns.rows[-1]
    on: exp.Expr | None = node.args.get("on")
    using = node.args.get("using")
    if using:
        on = all_of([_equal(name, columns) for name in using])
    elif on is None and written.kind == "LEFT":
        raise wrong("a LEFT JOIN needs ON or USING", node.this)
    elif on is None:
        on = all_of(_taken_from_where(select, columns))
    scalar = scalar_of(exp.Paren(this=on.copy()), on if on.parent else node.this, columns)
    if scalar.kind != "BOOLEAN":
        raise wrong("this is not a condition", on, "compare two columns")
    taken = {*columns.names, *(join.number for join in columns.joins)}
    number = identifier(f"match_of_{rows.alias}")
    while number in taken:
        number = identifier(f"{number[:60]}_")
    kinds = tuple(rows.kinds.items())
    return Join(rows.alias, rows.sql, rows.tables, kinds, scalar, written.kind == "LEFT", number)


def _equal(name: exp.Identifier, columns: Columns) -> exp.Expr:
    """USING (name): equality of the column of joined rows with the first of that name before."""
    rows = columns.rows[-1]
    own = rows.find(name.name)
    if own is None:
        raise wrong(f"{rows.alias} has no column {name.name!r}", name)
    left: exp.Expr = exp.column(name.copy())
    if not columns.find(name.name):
        before = next((each for each in columns.rows[:-1] if each.find(name.name)), None)
        if before is None:
            raise columns.unknown(name)
        left = LookupColumn(this=name.copy(), table=exp.to_identifier(before.alias))
        left.set("this", exp.to_identifier(before.find(name.name), quoted=True))
    this, table = exp.to_identifier(own, quoted=True), exp.to_identifier(rows.alias)
    return exp.EQ(this=left, expression=LookupColumn(this=this, table=table))


def _taken_from_where(select: exp.Select, columns: Columns) -> list[exp.Expr]:
    """The conditions of WHERE that compare rows joined without ON with what is joined before."""
    where, own = select.args.get("where"), columns.rows[-1].alias
    known = {rows.alias for rows in columns.rows}
    private = {dimension.name for dimension in columns.schema.dimensions}
    if where is None:
        return []
    taken: list[exp.Expr] = []
    kept: list[exp.Expr] = []
    for node in in_time(_conjuncts(where.this)):
        named = {part.text("table") for part in outside_queries(node, LookupColumn)}
        people = {part.name.lower() for part in own_columns(node)}
        is_on = own in named and named <= known and people <= private
        (taken if is_on else kept).append(node)
    select.set("where", exp.Where(this=all_of(kept)) if kept else None)
    return taken
