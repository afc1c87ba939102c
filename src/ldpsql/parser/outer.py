"""Queries over estimates: CTEs, subqueries, joins of results, windows.

Every SELECT over a survey's table inside is taken out as a base query. What remains is checked
against the allow-list, bound by DuckDB over empty relations, and left to DuckDB.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Protocol, TypeVar

from sqlglot import Token, exp

from ldpsql import limits
from ldpsql.errors import QueryError
from ldpsql.parser import catalog
from ldpsql.parser.allowed import function_name, is_outer
from ldpsql.parser.columns import Columns, PublicQuery, outside_queries
from ldpsql.parser.joins import all_of, read_joins
from ldpsql.parser.query import Query
from ldpsql.parser.scalars import MOST_JOINED
from ldpsql.parser.select import (
    ERROR_BARS,
    MAX_NODES,
    SelectReader,
    alias_of,
    check_parts,
    has_aggregate,
    require_items,
)
from ldpsql.parser.source import Refusal, SourceText, refuse, write_pivot, wrong
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import RESERVED_PREFIX, Dimension, PublicColumn, Schema

if TYPE_CHECKING:
    from ldpsql.sql.lookups import PublicTable


class Askable(Protocol):
    """As much of a survey as a question needs; there may be no design yet."""

    @property
    def table(self) -> str:
        """The name under which SQL asks it."""

    @property
    def schema(self) -> Schema:
        """Its attributes."""


@dataclass(frozen=True)
class PublicRelation:
    """A CTE over look-up tables alone, as it was read."""

    query: exp.Query
    tables: tuple[PublicTable, ...]


_Column = TypeVar("_Column", Dimension, PublicColumn)


@dataclass(frozen=True)
class _Surveys:
    """Several surveys that are asked as one table, under the name of the first."""

    table: str
    schema: Schema

    @classmethod
    def of(cls, surveys: Sequence[Askable], where: exp.Expr) -> _Surveys:
        """With the columns that all of them declare alike; an error where that are none."""
        first, *others = (survey.schema for survey in surveys)
        if len({survey.table for survey in surveys}) < len(surveys):
            reason = "UNION ALL names a survey twice, whose people would count twice"
            raise wrong(reason, where, f"write FROM {surveys[0].table}")
        measures = [{measure.name for measure in other.measures} for other in others]
        try:
            schema = Schema(
                tuple(d for d in first.dimensions if all(_has(o.dimensions, d) for o in others)),
                tuple(m for m in first.measures if all(m.name in names for names in measures)),
                tuple(p for p in first.public if all(_has(o.public, p) for o in others)),
            )
        except SurveyError:
            reason = f"{' and '.join(s.table for s in surveys)} declare no column alike"
            raise wrong(reason, where, "ask each by itself") from None
        return cls(surveys[0].table, schema)


def _has(columns: Sequence[_Column], column: _Column) -> bool:
    """Whether a column is among others, whatever its label."""
    return replace(column, label=None) in (replace(other, label=None) for other in columns)


SurveyOf = Callable[[str], Askable]
LookupOf = Callable[[str], "PublicTable | None"]
Names = Mapping[str, exp.Query | PublicRelation | None]
"""The CTEs in sight, in lower case; with its query each that is over records of a survey."""

_PARTS: Mapping[type[exp.Expr], frozenset[str]] = {
    kind: frozenset(parts.split())
    for kind, parts in {
        exp.Select: "distinct expressions from_ group having joins limit offset order qualify "
        "where windows with_",
        exp.SetOperation: "by_name distinct expression limit offset order this with_",
        exp.Subquery: "this alias with_",
        exp.CTE: "this alias materialized",
        exp.Table: "this alias",
        exp.Values: "expressions alias",
        exp.Join: "this on using side kind method",
    }.items()
}
"""The parts of a query that may be there."""

_MOST_WRITTEN_OUT = 60_000  # nodes; DuckDB binds as many in about a second
_JOINS = {"", "LEFT", "RIGHT", "FULL", "INNER", "OUTER", "CROSS"}


@dataclass
class OuterReader:
    """Takes the base queries out of a query, one by one.

    bases: those found so far.  schemas: of the survey that each asks.  is_bound: whether nothing
    is left whose names only DuckDB knows.  asks_catalog: whether a relation of the catalog is read.
    tables: the look-up tables that are read.  _nodes: of their queries, where a name stands for
    one.  _written_out: of expressions, where DuckDB writes out what an alias stands for.
    _joined: how often texts are joined.
    """

    source: SourceText
    survey_of: SurveyOf
    lookup_of: LookupOf
    bases: list[Query] = field(default_factory=list)
    schemas: list[Schema] = field(default_factory=list)
    is_bound: bool = True
    asks_catalog: bool = False
    tables: dict[PublicTable, None] = field(default_factory=dict)
    _nodes: int = 0
    _written_out: int = 0
    _joined: int = 0

    def root(self, tree: exp.Query) -> exp.Query:
        """The outer query for a whole statement."""
        while isinstance(tree, exp.Subquery) and set(_present(tree)) == {"this"}:
            tree = tree.this
        catalog.unqualify(tree)
        _check_reserved(tree)
        return self._query(tree, {})

    def _query(self, tree: exp.Expr, names: Names) -> exp.Query:
        """The outer query that is left of a query; names: the CTEs in sight, its own not among
        them."""
        limits.check()
        if isinstance(tree, exp.Values):
            tree = exp.Select(expressions=[exp.Star()], from_=exp.From(this=tree.copy()))
        if not isinstance(tree, exp.Query):
            raise refuse("this is not a query", tree, "write SELECT ... FROM <survey>")
        return self._body(tree, self._with(tree, names))

    def _body(self, tree: exp.Query, names: Names) -> exp.Query:
        table = self._survey_table(tree, names)
        if table is not None:
            assert isinstance(tree, exp.Select)
            return self._base(tree, table, names)
        self.is_bound = False
        _check_parts(tree)
        if isinstance(tree, exp.Subquery):
            tree.set("this", self._query(tree.this, names))
        elif isinstance(tree, exp.SetOperation):
            for part in ("this", "expression"):
                tree.set(part, self._query(tree.args[part], names))
            for part in ("order", "limit", "offset"):
                self._check(tree.args.get(part), names)
        elif isinstance(tree, exp.Select):
            self._select(tree, names)
        else:
            raise refuse(f"{function_name(tree)} is not supported", tree, "write SELECT")
        return tree

    def _with(self, tree: exp.Query, names: Names) -> Names:
        """Read the CTEs of a query; the names in sight behind them."""
        clause = tree.args.get("with_")
        if clause is None:
            return names
        if clause.args.get("recursive"):
            raise refuse("recursive queries are not supported", clause, "write WITH")
        evaluated = []
        for cte in limits.in_time(clause.expressions):
            _check_parts(cte)
            kept: exp.Query | PublicRelation | None = None
            if not cte.alias_column_names and self._is_filter(cte.this, names):
                kept = cte.this
                for table in _sources(cte.this):
                    # WITH app AS (SELECT * FROM app ...): the name inside is not the CTE's.
                    if not _is_cte(table, names):
                        catalog.mark_stored(table)
            elif self._is_public(cte.this, names):
                kept = self._public_cte(cte, names)
            else:
                cte.set("this", self._query(cte.this, names))
                evaluated.append(cte)
            _check_alias(cte)
            names = {**names, cte.alias.lower(): kept}
        clause.set("expressions", evaluated)
        if not evaluated:
            tree.set("with_", None)
        return names

    # -- look-up tables -------------------------------------------------------------------

    def _is_public(self, tree: exp.Expr, names: Names) -> bool:
        """Whether a query reads look-up tables alone, or nothing."""
        return self._not_public(tree, names) is None

    def _not_public(self, tree: exp.Expr, names: Names) -> exp.Table | None:
        """The first table in a query that is neither a look-up table nor a query over some."""
        own = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
        for table in limits.in_time(tree.find_all(exp.Table)):
            name = table.name.lower()
            is_own = _is_cte(table, dict.fromkeys(own))
            is_public = _is_cte(table, names) and isinstance(names[name], PublicRelation)
            if not (is_own or is_public or self._lookup(table, names)):
                return table
        return None

    def _public(self, tree: exp.Query, names: Names) -> PublicQuery:
        """A query over look-up tables alone as DuckDB reads it, and the tables."""
        table = self._not_public(tree, names)
        if table is not None:
            if not _is_cte(table, names) and not catalog.relation_of(table):
                self._survey(table)
            what = "a JOIN with a survey's table, or a subquery, takes look-up tables only"
            reason = f"{table.name} holds estimates: {what}"
            hint = "aggregate in a CTE, and join the results of both; or write the values"
            raise refuse(reason, table, hint)
        reader = OuterReader(self.source, self.survey_of, self.lookup_of)
        return reader._query(tree.copy(), names), tuple(reader.tables)

    def _public_cte(self, cte: exp.CTE, names: Names) -> PublicRelation:
        """The query of a CTE, with the names that it gives to columns."""
        query, tables = self._public(cte.this, names)
        if cte.alias_column_names:
            renamed = exp.Subquery(this=query, alias=cte.args["alias"].copy())
            query = exp.Select(expressions=[exp.Star()], from_=exp.From(this=renamed))
        return PublicRelation(query, tables)

    def _lookup(self, table: exp.Table, names: Names) -> PublicTable | None:
        """The look-up table that a table in FROM names."""
        is_plain = isinstance(table.this, exp.Identifier) and not table.args.get("db")
        if not is_plain or _is_cte(table, names):
            return None
        return self.lookup_of(table.name)

    # -- base queries ---------------------------------------------------------------------

    def _base(self, select: exp.Select, table: exp.Table, names: Names) -> exp.Select:
        """Take the base query out of a SELECT over a survey's table; the SELECT over its
        relation."""
        survey = self._survey(table)
        others = table.meta.get("others", ())
        self._check_joins(select, survey, names)
        columns = Columns(
            survey.schema,
            survey.table,
            table.alias or survey.table,
            self.source,
            lambda tree: self._public(tree, names),
        )
        if select.args.get("joins"):
            columns = read_joins(select, columns)
        position, relation = len(self.bases), f"{RESERVED_PREFIX}base_{len(self.bases)}"
        # The place in the list is taken first: subqueries inside add base queries of their own.
        self.bases.append(Query(relation, survey.table, None, (), ()))
        self.schemas.append(survey.schema)
        for part in select.meta.get("projected", ()):
            for column in part.find_all(exp.Column):
                columns.name(column)
        reader = SelectReader(
            select, columns, relation, lambda node: self._query(node.copy(), names)
        )
        parts, rest = reader.read()
        named = tuple(self.find(other.name, other).table for other in others)
        self.bases[position : position + 1] = [replace(part, others=named) for part in parts]
        self.schemas[position : position + 1] = [survey.schema] * len(parts)
        if select.args.get("with_"):
            self.is_bound = False
            rest.set("with_", select.args["with_"])
        return rest

    def _check_joins(self, select: exp.Select, survey: Askable, names: Names) -> None:
        """Refuse to join a survey's table with another one, or with itself."""
        for join in select.args.get("joins") or ():
            if self._is_survey(join.this, names):
                other = self._survey(join.this).table
                is_same = other == survey.table
                whom = "itself" if is_same else f"the survey {other}"
                way_out = "ask each survey by itself and join the results"
                raise refuse(
                    f"{survey.table} is joined with {whom}: no report says whose it is",
                    join.this,
                    f"ask it in CTEs: WITH a AS (SELECT COUNT(*) AS n FROM {survey.table}) "
                    "SELECT * FROM a, a AS b"
                    if is_same
                    else f"{way_out}, or all as one by UNION ALL",
                )

    def _survey(self, table: exp.Table) -> Askable:
        """The survey of a name in the schema main, without renamed columns."""
        if not isinstance(table.this, exp.Identifier):
            raise refuse("a table function is not supported", table, "name a survey or a CTE")
        if table.args.get("db") or table.args.get("catalog"):
            schema = ".".join(filter(None, (table.catalog, table.db)))
            reason = f"there is no schema {schema!r:.60}"
            raise wrong(reason, table, "surveys and look-up tables are in main: ask SHOW TABLES")
        for pivot in table.args.get("pivots") or ():
            hint = write_pivot(pivot)
            if hint:
                raise refuse("PIVOT is not supported", pivot, hint)
        _check_parts(table)
        alias = table.args.get("alias")
        if alias and alias.args.get("columns"):
            raise refuse("a table's columns cannot be renamed", table, "write only the alias")
        first = self.find(table.name, table)
        others = [self.find(other.name, other) for other in table.meta.get("others", ())]
        return _Surveys.of([first, *others], table) if others else first

    def find(self, name: str, where: exp.Expr | Token) -> Askable:
        """The survey of a name that stands somewhere; an error there if there is none."""
        try:
            return self.survey_of(name)
        except QueryError as error:
            raise wrong(error.reason, where, error.hint) from None

    def _survey_table(self, tree: exp.Query, names: Names) -> exp.Table | None:
        """The table of a SELECT's FROM if it is a survey's; None for CTEs, look-up tables and
        tables of the catalog."""
        if not isinstance(tree, exp.Select) or tree.args.get("from_") is None:
            return None
        self._put_people_first(tree, names)
        self._unfold_filters(tree, names)
        table = tree.args["from_"].this
        return table if self._is_survey(table, names) else None

    def _is_survey(self, node: exp.Expr, names: Names) -> bool:
        """Whether a survey's table stands in FROM, or a name that there is not."""
        if not isinstance(node, exp.Table) or _is_cte(node, names):
            return False
        return not catalog.relation_of(node) and self._lookup(node, names) is None

    def _is_people(self, node: exp.Expr, names: Names) -> bool:
        """Whether a survey's table stands in FROM, or a query that filters it."""
        if isinstance(node, exp.Subquery):
            return self._is_filter(node.this, names)
        is_filter = isinstance(node, exp.Table) and _is_cte(node, names)
        return (
            isinstance(names[node.name.lower()], exp.Query)
            if is_filter
            else (self._is_survey(node, names))
        )

    def _put_people_first(self, tree: exp.Select, names: Names) -> None:
        """FROM public JOIN people as FROM people JOIN public, where that is the same."""
        clause, joins = tree.args["from_"], tree.args.get("joins") or []
        if not joins or not self._is_public(clause.this, names):
            return
        first = joins[0]
        words = {str(first.args.get(part) or "").upper() for part in ("method", "side", "kind")}
        if self._is_people(first.this, names) and words <= {"", "INNER", "CROSS", "RIGHT"}:
            public, people = clause.this, first.this
            clause.set("this", people)
            first.set("this", public)
            if "RIGHT" in words:
                first.set("side", "LEFT")

    def _is_filter(self, tree: exp.Expr, names: Names) -> bool:
        """Whether a query selects columns of single records from a survey's table, or from such a
        query, with at most a WHERE; or all columns of several surveys, by UNION ALL."""
        if self._union(tree, names):
            return True
        parts = {*_present(tree)}
        if not isinstance(tree, exp.Select) or not parts <= {"expressions", "from_", "where"}:
            return False
        table = tree.args["from_"].this if tree.args.get("from_") else None
        if not isinstance(table, exp.Table | exp.Subquery) or table.args.get("joins"):
            return False
        if table.alias_column_names or not all(map(_is_of_records, tree.expressions)):
            return False
        return self._is_people(table, names)

    def _union(self, tree: exp.Expr, names: Names) -> list[exp.Table]:
        """The surveys' tables of SELECT * FROM a UNION ALL SELECT * FROM b; none for other
        queries."""
        if not isinstance(tree, exp.Union) or not _present(tree).keys() <= {"this", "expression"}:
            return []
        tables: list[exp.Table] = []
        for part in (tree.this, tree.expression):
            below = self._union(part, names)
            if not below:
                if not self._is_filter(part, names) or part.args.get("where"):
                    return []
                table = part.args["from_"].this
                is_whole = [type(item) for item in part.expressions] == [exp.Star]
                if not is_whole or not self._is_survey(table, names):
                    return []
                below = [table]
            tables += below
        return tables

    def _unfold_filters(self, tree: exp.Select, names: Names) -> None:
        """Put the survey's table into FROM in place of queries over its records, with their WHERE
        and the columns that they select."""
        clause, budget = tree.args["from_"], MAX_NODES
        while True:
            limits.check()
            source, inner = clause.this, None
            if isinstance(source, exp.Table) and _is_cte(source, names):
                inner = names[source.name.lower()]
            elif isinstance(source, exp.Subquery) and self._is_filter(source.this, names):
                inner = source.this
            if not isinstance(inner, exp.Query):
                return
            if source.alias_column_names or source.args.get("joins"):
                return
            joined = self._union(inner, names)
            table = (joined[0] if joined else inner.args["from_"].this).copy()
            if joined:
                table.meta["others"] = joined[1:]
            own, where = table.alias_or_name.lower(), inner.args.get("where")
            name = source.alias_or_name or table.alias_or_name
            table.set("alias", exp.TableAlias(this=exp.to_identifier(name)))
            if isinstance(inner, exp.Select):
                budget = _rename(tree, inner, own, name, budget)
            clause.set("this", table)
            if where is None:
                continue
            condition = exp.Paren(this=_move(where.this, own, name))
            outer = tree.args.get("where")
            both = [condition, exp.Paren(this=outer.this)] if outer else [condition]
            tree.set("where", exp.Where(this=all_of(both)))

    # -- queries over results -------------------------------------------------------------

    def _select(self, tree: exp.Select, names: Names) -> None:
        clause, joins = tree.args.get("from_"), tree.args.get("joins") or []
        aggregates = (outside_queries(item, exp.AggFunc) for item in tree.expressions)
        if clause is None and any(chain.from_iterable(aggregates)):
            raise wrong("an aggregate needs a FROM", tree.expressions[0], "write FROM <survey>")
        aliases: set[str] = set()
        for node in limits.in_time(([clause] if clause else []) + joins):
            alias = self._relation(node.this, names)
            if alias and alias in aliases:
                raise wrong(f"two relations are called {alias!r}", node.this)
            aliases.add(alias)
        for join in joins:
            _check_parts(join)
            words = [str(join.args.get(part) or "").upper() for part in ("method", "side", "kind")]
            if words[0] or not _JOINS.issuperset(words):
                reason = f"{' '.join(filter(None, words))} JOIN is not supported"
                raise refuse(reason, join.this, "write JOIN ... USING or ON")
            self._check(join.args.get("on"), names)
        self._items(tree, names)
        for part, value in tree.args.items():
            if part not in ("expressions", "from_", "joins", "with_"):
                self._check(value, names)

    def _relation(self, node: exp.Expr, names: Names) -> str:
        """Read what stands in FROM; its name in lower case, or an empty text."""
        if isinstance(node, exp.Table) and (relation := catalog.relation_of(node)):
            self.asks_catalog = True
            alias = node.alias or node.name
            check_parts(node, {"this", "db", "catalog", "alias"})
            node.set("this", exp.to_identifier(relation))
            node.set("db", None)
            node.set("catalog", None)
            node.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
            return alias.lower()
        if isinstance(node, exp.Table) and (lookup := self._lookup(node, names)):
            _check_parts(node)
            self.tables[lookup] = None
            if not node.alias:
                node.set("alias", exp.TableAlias(this=exp.to_identifier(node.name, quoted=True)))
            node.set("this", exp.to_identifier(lookup.relation))
        elif isinstance(node, exp.Table):
            kept = names[node.name.lower()] if _is_cte(node, names) else None
            _check_parts(node)
            if isinstance(kept, PublicRelation):
                self._put_in(node, kept)
            elif kept is not None or not _is_cte(node, names):
                if kept is None:
                    self._survey(node)
                raise refuse(
                    "JOIN with a survey's table is not supported",
                    node,
                    "aggregate each survey in a CTE, then join the results",
                )
        elif isinstance(node, exp.Values):
            _check_parts(node)
            self._check(node.expressions, names)
        elif isinstance(node, exp.Subquery):
            _check_parts(node)
            node.set("this", self._query(node.this, self._with(node, names)))
            _check_alias(node)
        else:
            hint = "name a survey, a CTE or a subquery"
            raise refuse("a table function is not supported", node, hint)
        return str(node.alias_or_name).lower()

    def _put_in(self, node: exp.Table, public: PublicRelation) -> None:
        """Write the query of a CTE over look-up tables in place of its name."""
        self.tables.update(dict.fromkeys(public.tables))
        self._nodes += sum(1 for _ in public.query.walk())
        if self._nodes > MAX_NODES:
            raise refuse("the queries over look-up tables are too large", node, "use fewer")
        alias = node.args.get("alias") or exp.TableAlias(this=node.this.copy())
        node.replace(exp.Subquery(this=public.query.copy(), alias=alias.copy()))

    def _items(self, tree: exp.Select, names: Names) -> None:
        """Check the select list, and name every column of it as it is written."""
        if not tree.expressions:
            raise wrong("SELECT names no column", tree, "name at least one")
        require_items(tree.expressions)
        items: list[exp.Expr] = []
        for item in limits.in_time(tree.expressions):
            written = item.unalias()
            star = written.this if isinstance(written, exp.Column) else written
            if isinstance(star, exp.Star):
                if isinstance(item, exp.Alias):
                    raise wrong("* has no single name", item, "leave AS out")
                if _present(star):
                    reason = "EXCLUDE, REPLACE and RENAME are not supported"
                    raise refuse(reason, item, "name the columns")
                if tree.args.get("from_") is None:
                    raise wrong("* needs a FROM", item)
                items.append(item)
                continue
            self._check(written, names)
            name = alias_of(item) or (
                item.name if isinstance(item, exp.Column) else self.source.text(written)
            )
            named = exp.to_identifier(name, quoted=True)
            items.append(exp.alias_(item.unalias(), named, copy=False))
        self._check_size(items)
        tree.set("expressions", items)

    def _check_size(self, items: Sequence[exp.Expr]) -> None:
        """Refuse aliases that stand for too large an expression.

        An item may name those before it, and DuckDB writes out what they stand for, so that chains
        of aliases may double at every step; nothing ends that but the largest expression.
        """
        sizes: dict[str, int] = {}
        for item in limits.in_time(items):
            size = 1
            for node in item.walk():
                is_alias = isinstance(node, exp.Column) and not node.table
                meant = sizes.get(node.name.lower(), 0) if is_alias else 0
                self._written_out += meant
                size += 1 + meant
            if self._written_out > _MOST_WRITTEN_OUT:
                reason = "the aliases unfold into too large an expression"
                raise refuse(reason, item.unalias(), "use fewer")
            sizes[item.alias_or_name.lower()] = size

    # -- the allow-list -------------------------------------------------------------------

    def _check(self, part: object, names: Names) -> None:
        """Refuse whatever is not allowed over estimates; go into nested queries."""
        waiting = list(part) if isinstance(part, list) else [part]
        while waiting:
            limits.check()
            node = waiting.pop()
            if not isinstance(node, exp.Expr):
                continue
            if isinstance(node, exp.Query):
                query = self._query(node, names)
                if query is not node:
                    node.replace(query)
            elif isinstance(node, exp.Column):
                if isinstance(node.this, exp.Star) or len(node.parts) > 2:
                    raise refuse("this column is not supported", node, "name it")
            elif isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count):
                raise wrong("* stands only by itself or in COUNT(*)", node)
            elif not is_outer(node):
                raise self._refusal(node)
            else:
                self._joined += isinstance(node, exp.DPipe)
                if self._joined > MOST_JOINED:
                    reason = f"texts are joined more than {MOST_JOINED} times"
                    raise refuse(reason, node, "join fewer of them")
                waiting += node.iter_expressions()

    def _refusal(self, node: exp.Expr) -> Refusal:
        name, what = self.source.name_call(node)
        if name in ERROR_BARS or name == "BIN":
            reason = f"{name} is answered only in the SELECT over a survey's table"
            return refuse(reason, node, "name it there and use its name here")
        hint = "use plain SQL functions over the result"
        if isinstance(node, exp.Concat):
            hint = "join texts by ||"
        return refuse(f"{what} is not supported", node, hint)


def _check_parts(node: exp.Expr) -> None:
    kind = exp.SetOperation if isinstance(node, exp.SetOperation) else type(node)
    check_parts(node, _PARTS.get(kind, ()))


def _check_reserved(tree: exp.Query) -> None:
    """Refuse names for tables and columns that stand for relations and gradients."""
    for alias in tree.find_all(exp.Alias, exp.TableAlias):
        named = alias.args.get("alias") or alias.this
        for name in filter(None, [named, *(alias.args.get("columns") or ())]):
            if name.name.lower().startswith(RESERVED_PREFIX):
                reason = f"names that start with {RESERVED_PREFIX} are reserved"
                raise wrong(reason, name, "rename it")


def _check_alias(node: exp.Expr) -> None:
    """Refuse more names of columns than there are columns."""
    items = node.this.selects
    if len(node.alias_column_names) > len(items) and not any(item.is_star for item in items):
        raise wrong(f"there are {len(items)} columns to name", node.args["alias"])


def _present(node: exp.Expr) -> dict[str, object]:
    """The parts of a node that are there."""
    return {part: value for part, value in node.args.items() if value not in (None, False, [])}


def _is_of_records(item: exp.Expr) -> bool:
    """Whether a select item is *, or an expression over the columns of single records."""
    if isinstance(item, exp.Star):
        return not _present(item)
    return item.find(exp.Star, exp.Window) is None and not has_aggregate(item)


def _rename(tree: exp.Select, inner: exp.Select, own: str, source: str, budget: int) -> int:
    """Put what the select list of a subquery stands for in the place of its names in a query.

    own, source: what the table is called inside, and the subquery outside.  budget: how many nodes
    this may add; what is left of it is returned. Without it, queries that name a column twice, one
    inside the other, would grow exponentially.
    """
    items = [item for item in inner.expressions if not isinstance(item, exp.Star)]
    is_open = len(items) < len(inner.expressions)
    meant = {item.output_name.lower(): _move(item.unalias(), own, source) for item in items}
    _name_items(tree, meant)
    sizes = {name: sum(1 for _ in each.walk()) for name, each in meant.items()}
    projected = tree.meta.setdefault("projected", [])
    own_columns = list(outside_queries(tree, exp.Column))
    for column in chain(own_columns, *(list(part.find_all(exp.Column)) for part in projected)):
        is_own = column.text("table").lower() in ("", source.lower())
        if not is_own or isinstance(column.this, exp.Star):
            continue
        found = meant.get(column.name.lower())
        is_of_source = bool(column.text("table")) or not tree.args.get("joins")
        if found is None and not is_open and is_of_source:
            found = _find_item(tree, column, meant)
        if found is not None:
            budget -= sizes.get(column.name.lower(), 1)
            if budget < 0:
                reason = "the queries over records unfold into too large an expression"
                raise refuse(reason, column, "use fewer")
            is_column = isinstance(found, exp.Column)
            column.replace(found.copy() if is_column else exp.Paren(this=found.copy()))
    projected += [exp.Paren(this=each.copy()) for each in meant.values()]
    return budget


def _name_items(tree: exp.Select, names: Container[str]) -> None:
    """Write AS behind the select items that are one of these columns, which keep its name."""
    for item in tree.expressions:
        if isinstance(item, exp.Column) and item.name.lower() in names:
            name = exp.to_identifier(item.name, quoted=True)
            item.replace(exp.alias_(item.copy(), name))


def _find_item(tree: exp.Select, column: exp.Column, known: Iterable[str]) -> exp.Expr:
    """The select item outside that a name means which is no column of the subquery; an error, with
    the columns that there are, if there is none, or if the item names itself."""
    named = (item for item in tree.expressions if alias_of(item).lower() == column.name.lower())
    found: exp.Expr | None = next((item.unalias() for item in named), None)
    if found is None or column.text("table") or column in found.find_all(exp.Column):
        hint = f"there are {', '.join(filter(None, known))}"
        raise wrong(f"there is no column {column.name!r} here", column, hint)
    return found


def _sources(tree: exp.Expr) -> Iterator[exp.Table]:
    """The tables in FROM of a query over single records."""
    if isinstance(tree, exp.Table):
        yield tree
    elif isinstance(tree, exp.SetOperation):
        yield from chain(_sources(tree.this), _sources(tree.expression))
    else:
        is_select = isinstance(tree, exp.Select)
        yield from _sources(tree.args["from_"].this if is_select else tree.this)


def _move(node: exp.Expr, own: str, name: str) -> exp.Expr:
    """A copy of an expression over a table, which is called by another name."""
    copy = exp.Paren(this=node.copy())
    for column in outside_queries(copy, exp.Column):
        if not column.args.get("db") and column.text("table").lower() in ("", own):
            column.set("table", exp.to_identifier(name))
    inner: exp.Expr = copy.this
    return inner


def _is_cte(table: exp.Table, names: Names) -> bool:
    is_plain = isinstance(table.this, exp.Identifier) and not table.args.get("db")
    return is_plain and table.name.lower() in names and not catalog.is_stored(table)
