"""Public. Sees parameters. Queries over estimates: CTEs, subqueries, joins of results, windows.

Every SELECT over a survey's table inside is taken out as a base query; what remains is checked
against the allow-list and left to DuckDB.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from sqlglot import exp

from ldpsql.parser.allowed import function_name, is_outer
from ldpsql.parser.base import Base, base
from ldpsql.parser.columns import Columns, suggestion
from ldpsql.parser.keys import alias_of
from ldpsql.parser.parts import check_name, check_parts, check_table, present, refused, renamed
from ldpsql.parser.query import Output, Query
from ldpsql.parser.scope import Names, Scope
from ldpsql.parser.source import Source
from ldpsql_device.errors import QueryError
from ldpsql_device.schema import RESERVED_PREFIX, Schema


class Asked(Protocol):
    """As much of a survey as a question needs; there may be no design yet."""

    @property
    def table(self) -> str:
        """The name under which SQL asks it."""
        ...

    @property
    def schema(self) -> Schema:
        """Its attributes."""
        ...


SurveyOf = Callable[[str], Asked]

_SELECT_PARTS = {
    "distinct",
    "expressions",
    "from_",
    "group",
    "having",
    "joins",
    "limit",
    "offset",
    "order",
    "qualify",
    "where",
    "windows",
    "with_",
}
_UNION_PARTS = {
    "by_name",
    "distinct",
    "expression",
    "limit",
    "offset",
    "order",
    "this",
    "with_",
}
_CHECKED = tuple(sorted(_SELECT_PARTS - {"expressions", "from_", "joins", "with_"}))
_SIDES = {"", "LEFT", "RIGHT", "FULL"}
_KINDS = {"", "INNER", "OUTER", "CROSS"}


@dataclass
class Outer:
    """Takes the base queries out of a query, one by one."""

    source: Source
    survey_of: SurveyOf
    bases: list[Query] = field(default_factory=list)

    def root(self, tree: exp.Query) -> tuple[exp.Query, tuple[Output, ...]]:
        """The outer query for a whole statement, with its outputs.

        Where the statement is itself a base query, the error bars of its estimates stand at the
        end of its select list.
        """
        while isinstance(tree, exp.Subquery) and set(present(tree)) == {"this"}:
            tree = tree.this
        scope = self._with_ctes(tree, Scope())
        if isinstance(tree, exp.Select) and self._survey_table(tree, scope):
            found = self._base(tree, scope)
            return found.with_error_bars(), found.outputs
        query, names = self._body(tree, scope)
        return query, tuple(Output(name, None, is_bare=True) for name in names)

    def _query(self, tree: exp.Expr, scope: Scope) -> tuple[exp.Query, Names]:
        """What a nested query becomes, and its columns."""
        if not isinstance(tree, exp.Query):
            raise self.source.unsupported(
                "this is not a query", tree, hint="write SELECT ... FROM <survey>"
            )
        return self._body(tree, self._with_ctes(tree, scope))

    def _body(self, tree: exp.Query, scope: Scope) -> tuple[exp.Query, Names]:
        if isinstance(tree, exp.Subquery):
            check_parts(self.source, tree, {"this", "with_"})
            inner, names = self._query(tree.this, scope)
            tree.set("this", inner)
            return tree, names
        if isinstance(tree, exp.SetOperation):
            return self._set_operation(tree, scope)
        if not isinstance(tree, exp.Select):
            raise self.source.unsupported(
                f"{function_name(tree)} is not answered", tree, hint="write SELECT"
            )
        if self._survey_table(tree, scope):
            found = self._base(tree, scope)
            return found.select, tuple(output.name for output in found.outputs)
        return self._select(tree, scope)

    # -- base queries ---------------------------------------------------------------------

    def _survey_table(self, select: exp.Select, scope: Scope) -> exp.Table | None:
        """The table of FROM if it is no CTE, hence a survey's."""
        table = select.args["from_"].this if select.args.get("from_") else None
        if isinstance(table, exp.Table) and not _is_cte(table, scope):
            return table
        return None

    def _base(self, select: exp.Select, scope: Scope) -> Base:
        table = self._survey_table(select, scope)
        assert table is not None
        survey = self._survey(table)
        alias = table.alias or survey.table
        columns = Columns(survey.schema, survey.table, alias, self.source)
        relation = f"{RESERVED_PREFIX}base_{len(self.bases)}"
        position = len(self.bases)
        found: Base | None = None

        def subquery(node: exp.Expr) -> exp.Expr:
            return self._query(node.copy(), Scope(ctes=scope.ctes))[0]

        # The place in the list is taken first: subqueries inside add base queries of their own.
        self.bases.append(Query(relation, survey.table, None, (), ()))
        found = base(select, columns, relation, subquery)
        self.bases[position] = found.query
        if select.args.get("with_"):
            found.select.set("with_", select.args["with_"])
        return found

    def _survey(self, table: exp.Table) -> Asked:
        check_table(self.source, table)
        try:
            return self.survey_of(table.name)
        except QueryError as error:
            raise self.source.wrong(error.reason, table, hint=error.hint) from None

    # -- queries over results -------------------------------------------------------------

    def _with_ctes(self, tree: exp.Query, scope: Scope) -> Scope:
        clause = tree.args.get("with_")
        if clause is None:
            return scope
        if clause.args.get("recursive"):
            raise self.source.unsupported(
                "recursive queries are not answered", clause, hint="write WITH"
            )
        for cte in clause.expressions:
            check_parts(self.source, cte, {"this", "alias", "materialized"})
            query, names = self._query(cte.this, scope)
            cte.set("this", query)
            check_name(self.source, cte.args["alias"])
            names = renamed(self.source, cte.args["alias"], names)
            scope = replace(scope, ctes={**scope.ctes, cte.alias.lower(): names})
        return scope

    def _set_operation(self, tree: exp.SetOperation, scope: Scope) -> tuple[exp.Query, Names]:
        check_parts(self.source, tree, _UNION_PARTS)
        left, names = self._query(tree.this, scope)
        right, others = self._query(tree.expression, scope)
        if tree.args.get("by_name"):
            names += tuple(name for name in others if name not in names)
        elif len(names) != len(others):
            raise self.source.wrong(
                f"the two sides have {len(names)} and {len(others)} columns", tree.expression
            )
        tree.set("this", left)
        tree.set("expression", right)
        inner = Scope(scope.ctes, {"": names})
        for part in ("order", "limit", "offset"):
            self._check(tree.args.get(part), inner)
        return tree, names

    def _select(self, tree: exp.Select, scope: Scope) -> tuple[exp.Query, Names]:
        check_parts(self.source, tree, _SELECT_PARTS)
        sources, visible = self._sources(tree, scope)
        inner = Scope(scope.ctes, sources, outside=scope if scope.sources else scope.outside)
        if not sources and any(item.find(exp.AggFunc) for item in tree.expressions):
            raise self.source.wrong(
                "an aggregate needs a FROM", tree.expressions[0], hint="write FROM <survey>"
            )
        names = self._items(tree, replace(inner, aliases=_aliases(tree)), visible)
        for part in _CHECKED:
            self._check(tree.args.get(part), replace(inner, aliases=_aliases(tree)))
        for join in tree.args.get("joins") or ():
            self._check(join.args.get("on"), inner)
        return tree, names

    def _sources(self, tree: exp.Select, scope: Scope) -> tuple[dict[str, Names], list[Names]]:
        """The relations of FROM: columns by alias, and the columns that * adds for each."""
        sources: dict[str, Names] = {}
        visible: list[Names] = []
        clause = tree.args.get("from_")
        joins = tree.args.get("joins") or []
        for node, join in [(clause, None)] * bool(clause) + [(join, join) for join in joins]:
            alias, names = self._relation(node.this, scope)
            if alias in sources:
                raise self.source.wrong(f"two relations are called {alias!r}", node.this)
            sources[alias] = names
            shared = self._join_columns(join) if join else set()
            visible.append(tuple(name for name in names if name.lower() not in shared))
        return sources, visible

    def _relation(self, node: exp.Expr, scope: Scope) -> tuple[str, Names]:
        if isinstance(node, exp.Table):
            if not _is_cte(node, scope):
                self._survey(node)
                raise self.source.unsupported(
                    "JOIN with a survey's table is not answered",
                    node,
                    hint="aggregate each survey in a CTE, then join the results",
                )
            check_parts(self.source, node, {"this", "alias"})
            names = scope.ctes[node.name.lower()]
            alias = node.args.get("alias")
            return node.alias_or_name.lower(), renamed(
                self.source, alias, names
            ) if alias else names
        if isinstance(node, exp.Subquery):
            check_parts(self.source, node, {"this", "alias", "with_"})
            query, names = self._query(node.this, self._with_ctes(node, Scope(scope.ctes)))
            node.set("this", query)
            alias = node.args.get("alias")
            if alias is None:
                return f" {id(node)}", names
            check_name(self.source, alias)
            return node.alias.lower(), renamed(self.source, alias, names)
        raise self.source.unsupported(
            "a table function is not answered", node, hint="name a survey, a CTE or a subquery"
        )

    def _join_columns(self, join: exp.Expr) -> set[str]:
        """The columns that USING merges into those on the left."""
        check_parts(self.source, join, {"this", "on", "using", "side", "kind", "method"})
        side, kind = (str(join.args.get(part) or "").upper() for part in ("side", "kind"))
        if side not in _SIDES or kind not in _KINDS or join.args.get("method"):
            words = " ".join(filter(None, (str(join.args.get("method") or "").upper(), side, kind)))
            raise self.source.unsupported(
                f"{words} JOIN is not answered", join.this, hint="write JOIN ... USING or ON"
            )
        return {column.name.lower() for column in join.args.get("using") or ()}

    def _items(self, tree: exp.Select, scope: Scope, visible: list[Names]) -> Names:
        """Check the select list, give every column of it a name, and list the names."""
        if not tree.expressions:
            raise self.source.wrong("SELECT names no column", tree, hint="name at least one")
        texts = self.source.item_texts(tree)
        names: list[str] = []
        items: list[exp.Expr] = []
        for index, item in enumerate(tree.expressions):
            star = self._star(item, scope, visible)
            if star is not None:
                names += star
                items.append(item)
                continue
            self._check(item.unalias(), scope)
            text = texts[index] if texts else item.sql(dialect="duckdb")
            name = alias_of(item) or (item.name if isinstance(item, exp.Column) else text)
            names.append(name)
            named = exp.to_identifier(name, quoted=True)
            items.append(exp.alias_(item.unalias(), named, copy=False))
        tree.set("expressions", items)
        return tuple(names)

    def _star(self, item: exp.Expr, scope: Scope, visible: list[Names]) -> list[str] | None:
        """The columns that * or t.* stands for; None for anything else."""
        written = item.unalias()
        star = written.this if isinstance(written, exp.Column) else written
        if not isinstance(star, exp.Star):
            return None
        if written is not item:
            raise self.source.wrong("* has no single name", item, hint="leave AS out")
        if present(star):
            raise self.source.unsupported(
                "EXCLUDE, REPLACE and RENAME are not answered", item, hint="name the columns"
            )
        if isinstance(item, exp.Column):
            if item.table.lower() not in scope.sources:
                raise self.source.wrong(f"there is no relation {item.table!r} here", item)
            return list(scope.sources[item.table.lower()])
        if not visible:
            raise self.source.wrong("* needs a FROM", item)
        return [name for names in visible for name in names]

    # -- the allow-list -------------------------------------------------------------------

    def _check(self, part: object, scope: Scope) -> None:
        """Refuse whatever is not allowed over estimates; go into nested queries."""
        waiting = list(part) if isinstance(part, list) else [part]
        while waiting:
            node = waiting.pop()
            if not isinstance(node, exp.Expr):
                continue
            if isinstance(node, exp.Query):
                query, _ = self._query(node, scope)
                if query is not node:
                    node.replace(query)
                continue
            if isinstance(node, exp.Column):
                self._check_column(node, scope)
                continue
            if isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count):
                raise self.source.wrong("* stands only by itself or in COUNT(*)", node)
            if not is_outer(node):
                raise refused(self.source, node)
            waiting += node.iter_expressions()

    def _check_column(self, node: exp.Column, scope: Scope) -> None:
        if isinstance(node.this, exp.Star) or len(node.parts) > 2:
            raise self.source.unsupported("this column is not answered", node, hint="name it")
        if not scope.knows(node):
            names = scope.names()
            table = f"{node.table}." if node.table else ""
            raise self.source.wrong(
                f"there is no column '{table}{node.name}' here",
                node,
                hint=suggestion(node.name, names),
            )


def _is_cte(table: exp.Table, scope: Scope) -> bool:
    return (
        isinstance(table.this, exp.Identifier)
        and not table.args.get("db")
        and table.name.lower() in scope.ctes
    )


def _aliases(tree: exp.Select) -> frozenset[str]:
    return frozenset(alias_of(item).lower() for item in tree.expressions if alias_of(item))
