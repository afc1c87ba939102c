"""How the outputs of an outer query depend on the estimates that it reads.

The query is differentiated as it stands (automatic differentiation, forward mode). Behind every
column that is computed from estimates there runs a hidden one with its *gradient*: a list of pairs
(i, c), derivative c by estimate i, that goes through CTEs, joins, unions, aggregates and windows as
the value does. A sum of rows has their gradients put together, a product follows the chain rule,
ROUND and CAST keep the gradient of what they round. What has no derivative (MAX, comparisons,
whatever is computed from rows that estimates choose or order) loses it, and the reason is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from sqlglot import exp

from ldpsql.limits import check, in_time
from ldpsql.parser.allowed import function_name, is_aggregate
from ldpsql.parser.query import DISPLACED, ROW, TOO_FEW, UNKNOWN, Query, number_terms
from ldpsql_device.schema import RESERVED_PREFIX

_CHOSEN = "estimates choose the rows that it is computed from"
_ORDERED = "estimates order the rows that it is computed from"
_GROUPED = "GROUP BY compares estimates"
_UNSEEN = "the query around it is not followed"
_TOO_LONG = "its expression is too long to follow"
_LONGEST = 50_000
"""Characters of a gradient's SQL: aliases of aliases may double it at every step."""

_NUMBERS = (
    *("BIGINT", "DECIMAL", "DOUBLE", "FLOAT", "HUGEINT", "INT", "INT128", "SMALLINT", "TINYINT"),
    *("UBIGINT", "UINT"),
)
_OF_A_ROW = ("FIRST_VALUE", "LAG", "LAST_VALUE", "LEAD", "NTH_VALUE")
_OF_ONE_VALUE = ("ANY_VALUE", "FIRST", "LAST", "MAX", "MEDIAN", "MIN")
"""Aggregates that give the value itself where there is only one."""


@dataclass(frozen=True)
class Trace:
    """How an expression depends on estimates.

    terms: pairs (factor, gradient) in SQL, which add up to its gradient.  lost: why it is not
    known, else empty. Without either, estimates have no part in it.
    """

    terms: tuple[tuple[str, str], ...] = ()
    lost: str = ""

    @property
    def is_exact(self) -> bool:
        """Whether the expression is the same whatever the estimates are."""
        return not self.terms and not self.lost

    def scale(self, factor: str) -> Trace:
        """The trace of the expression times a factor."""
        return _short((f"({factor}) * ({own})", each) for own, each in self.terms)

    def __add__(self, other: Trace) -> Trace:
        lost = self.lost or other.lost
        return Trace(lost=lost) if lost else _short((*self.terms, *other.terms))

    @property
    def sql(self) -> str:
        """The gradient as one list."""
        parts = [_product(factor, gradient) for factor, gradient in self.terms]
        if not parts:
            return "[]::STRUCT(i BIGINT, c DOUBLE)[]"
        return parts[0] if len(parts) == 1 else f"flatten([{', '.join(parts)}])"


_EXACT = Trace()


@dataclass(frozen=True)
class Table:
    """The columns of a relation or a query, in order, and whether estimates choose its rows.

    sides: of a set operation, both queries, each with the places of the columns in it.
    """

    columns: tuple[tuple[str, Trace], ...]
    is_chosen: bool = False
    sides: tuple[tuple[Table, tuple[int | None, ...]], ...] = ()

    def alias(self, alias: str, names: Sequence[str]) -> Table:
        """The table as FROM reads it: its first columns by other names, no name twice (DuckDB's
        numbering), and gradients as columns of the alias."""
        prefix = f"{exp.to_identifier(alias, quoted=True).sql(dialect='duckdb')}." if alias else ""
        columns: dict[str, Trace] = {}
        for place, (own, trace) in enumerate(self.columns):
            name = names[place] if place < len(names) else own
            numbered_names = (f"{name}_{number}" for number in count(1))
            name = next(numbered_names) if name in columns else name
            terms = tuple((factor, f"{prefix}{gradient}") for factor, gradient in trace.terms)
            columns[name] = Trace(terms, trace.lost)
        return Table(tuple(columns.items()), self.is_chosen)


@dataclass(frozen=True)
class Scope:
    """The names that one SELECT sees, with the traces behind them.

    ctes: those in sight, by name in lower case.  tables: of FROM, by alias in lower case, in order.
    merged: the columns of USING.  is_chosen: whether estimates choose the rows that aggregates see,
    `is_kept` those that windows see.  is_grouped: whether its rows are groups.
    """

    ctes: Mapping[str, Table]
    parent: Scope | None = None
    tables: dict[str, Table] = field(default_factory=dict)
    merged: set[str] = field(default_factory=set)
    aliases: dict[str, Trace] = field(default_factory=dict)
    windows: dict[str, exp.Expr] = field(default_factory=dict)
    is_chosen: bool = False
    is_kept: bool = False
    is_grouped: bool = False

    def own(self, column: exp.Column) -> Trace | None:
        """The trace of a column of FROM; None if there is no such column."""
        for alias, table in self.tables.items():
            for name, trace in table.columns if column.table.lower() in ("", alias) else ():
                if name.lower() == column.name.lower():
                    return trace
        return None

    def find(self, column: exp.Column) -> Trace:
        """The trace of a column or an alias."""
        found = self.own(column)
        if found is not None:
            return Trace(lost=_GROUPED) if self.is_grouped and not found.is_exact else found
        if not column.table and column.name.lower() in self.aliases:
            return self.aliases[column.name.lower()]
        return self.parent.find(column) if self.parent else Trace(lost=_UNSEEN)

    def star(self, qualifier: str) -> Iterator[tuple[str, Trace]]:
        """The columns of * or of table.*; those of USING once."""
        seen: set[str] = set()
        for alias, table in self.tables.items():
            for name, trace in table.columns if qualifier in ("", alias) else ():
                if qualifier or name.lower() not in self.merged & seen:
                    yield name, trace
                seen.add(name.lower())


class Tracer:
    """Writes gradients into one outer query, in place.

    reasons: why single values may have no error bar; the first stands for the number UNKNOWN in
    their gradients, the next for one less, and so on.  is_chosen: whether estimates choose which
    rows are shown, by HAVING or LIMIT or otherwise, as far as queries were traced.
    """

    def __init__(self, bases: Sequence[Query], others: Mapping[str, Sequence[str]]) -> None:
        """For a query over the relations of some base queries.

        others: the columns of other relations, whose values are known, by name.
        """
        self.reasons, self.is_chosen = [TOO_FEW], False
        self._others, self._bases = others, dict[str, Table]()
        measured = number_terms(bases)
        for base in bases:
            columns = [(key.name, _EXACT) for key in base.keys]
            for number, (_, place) in (e for e in enumerate(measured) if e[1][0] is base):
                column, trace = base.columns[place], _EXACT
                if column.what == "value":
                    pair = _pair(f"{base.relation}.{ROW} * {len(measured)} + {number}")
                    is_missing = f"{base.relation}.{column.name} IS NULL"
                    missing = self._unknown(TOO_FEW)
                    trace = Trace(
                        (("1.0", f"CASE WHEN {is_missing} THEN {missing} ELSE {pair} END"),)
                    )
                columns.append((column.name, trace))
            self._bases[base.relation] = Table((*columns, (ROW, _EXACT)))
        self._numbers = count()
        self._tables: dict[int, tuple[exp.Expr, Table]] = {}

    def trace(self, query: exp.Query) -> list[Trace]:
        """Write the gradients behind the outputs of a query, in order; what each depends on."""
        table = self._query(query, Scope({}))
        self.is_chosen = self.is_chosen or table.is_chosen
        self._expose(query, table)
        return [trace for _, trace in table.columns]

    def _expose(self, query: exp.Expr, table: Table) -> Table:
        """Write the gradients of a query behind its columns; the table with their names."""
        columns, wanted = list(table.columns), list[tuple[int, str]]()
        for place, (name, trace) in enumerate(table.columns):
            if trace.terms:
                wanted.append((place, f"{RESERVED_PREFIX}d{next(self._numbers)}"))
                columns[place] = name, Trace((("1.0", wanted[-1][1]),))
        _append(query, table, wanted)
        return Table(tuple(columns), table.is_chosen)

    # -- queries --------------------------------------------------------------------------

    def _query(self, tree: exp.Expr, outer: Scope) -> Table:
        """The columns of a query, which is changed once, however often it is looked at: gradients
        are written behind the columns of whatever it reads."""
        check()
        if id(tree) not in self._tables:
            self._tables[id(tree)] = tree, self._read(tree, outer)
        return self._tables[id(tree)][1]

    def _read(self, tree: exp.Expr, outer: Scope) -> Table:
        clause, scope = tree.args.get("with_"), Scope(dict(outer.ctes), outer)
        for cte in in_time(clause.expressions if clause else ()):
            inside = self._query(cte.this, scope)
            table = self._expose(cte.this, inside).alias("", cte.alias_column_names)
            scope = Scope({**scope.ctes, cte.alias.lower(): table}, outer)
        if isinstance(tree, exp.Subquery):
            return self._query(tree.this, scope)
        if isinstance(tree, exp.SetOperation):
            return self._set_operation(tree, scope)
        assert isinstance(tree, exp.Select)
        return self._select(tree, scope)

    def _set_operation(self, tree: exp.SetOperation, scope: Scope) -> Table:
        left, right = (self._query(side, scope) for side in (tree.this, tree.expression))
        pairs = _pair_columns(left, right, by_name=bool(tree.args.get("by_name")))
        columns = []
        for first, second in pairs:
            own = [left.columns[first]] if first is not None else []
            own += [right.columns[second]] if second is not None else []
            columns.append((own[0][0], sum((trace for _, trace in own[1:]), own[0][1])))
        if pairs[-1][0] is None:  # gradients of the left side would stand before these columns
            lost = Trace(lost=f"{tree.key.upper()} BY NAME adds columns")
            columns = [(name, trace if trace.is_exact else lost) for name, trace in columns]
        is_chosen = left.is_chosen or right.is_chosen
        if not isinstance(tree, exp.Union) or tree.args.get("distinct"):
            columns, is_compared = _list_compared(columns, tree.key.upper())
            is_chosen = is_chosen or is_compared
        is_chosen = self._is_limited(tree, columns, scope) or is_chosen
        sides = tuple(zip((left, right), zip(*pairs, strict=True), strict=True))
        return Table(tuple(columns), is_chosen, sides)

    def _select(self, tree: exp.Select, scope: Scope) -> Table:
        is_chosen = self._is_source_chosen(tree, scope)
        group, having = tree.args.get("group"), tree.args.get("having")
        qualify, order = tree.args.get("qualify"), tree.args.get("order")
        shown = filter(None, [*tree.expressions, having, qualify, order])
        scope = replace(
            scope,
            is_chosen=self._are_groups_chosen(tree, group, scope) or is_chosen,
            is_grouped=group is not None or any(map(_has_aggregate, shown)),
            windows={each.name.lower(): each for each in tree.args.get("windows") or ()},
        )
        scope = replace(scope, is_kept=self._depends(having, scope) or scope.is_chosen)
        columns = self._items(tree, scope)
        is_chosen = self._depends(qualify, scope) or scope.is_kept
        distinct = tree.args.get("distinct")
        if distinct and distinct.args.get("on"):
            is_chosen = self._depends([distinct.args["on"], order], scope) or is_chosen
        elif distinct:
            columns, is_compared = _list_compared(columns, "DISTINCT")
            is_chosen = is_chosen or is_compared
        is_chosen = self._is_limited(tree, columns, scope) or is_chosen
        for query in in_time(tree.find_all(exp.Query)):  # those that tell nothing about the columns
            if query is not tree:
                self._query(query, scope)
        return Table(tuple(columns), is_chosen)

    def _is_source_chosen(self, tree: exp.Select, scope: Scope) -> bool:
        """Whether estimates choose the rows of FROM, JOIN and WHERE, whose tables it puts into the
        scope."""
        joins = tree.args.get("joins") or []
        for node in filter(None, [tree.args.get("from_"), *joins]):
            scope.tables[str(node.this.alias_or_name).lower()] = self._table(node.this, scope)
        is_chosen = any(table.is_chosen for table in scope.tables.values())
        for join in in_time(joins):
            using = join.args.get("using") or ()
            scope.merged.update(name.name.lower() for name in using)
            compared = [join.args.get("on"), *(exp.column(name.copy()) for name in using)]
            is_chosen = self._depends(compared, scope) or is_chosen
        return self._depends(tree.args.get("where"), scope) or is_chosen

    def _table(self, node: exp.Expr, scope: Scope) -> Table:
        """A relation in FROM."""
        names = node.alias_column_names
        if isinstance(node, exp.Subquery):
            table = self._expose(node, self._query(node, scope))
        elif isinstance(node, exp.Values):
            cells = zip(*(row.expressions for row in node.expressions), strict=False)
            sums = (self._sum(list(column), scope) for column in cells)
            lost = Trace(lost="VALUES of estimates")
            traces = (trace if trace.is_exact else lost for trace in sums)
            table = Table(tuple((f"col{place}", trace) for place, trace in enumerate(traces)))
        elif node.name.lower() in scope.ctes:
            table = scope.ctes[node.name.lower()]
        elif node.name in self._bases:
            return self._bases[node.name]
        else:
            table = Table(tuple((name, _EXACT) for name in self._others[node.name]))
        return table.alias(str(node.alias_or_name), names)

    def _items(self, tree: exp.Select, scope: Scope) -> list[tuple[str, Trace]]:
        """The columns of a select list; * is kept from showing gradients."""
        columns: list[tuple[str, Trace]] = []
        for item in in_time(list(tree.expressions)):
            if not item.is_star:
                trace = self._trace(item.unalias(), scope)
                columns.append((item.alias_or_name, trace))
                scope.aliases.setdefault(item.alias_or_name.lower(), trace)
                continue
            qualifier = item.table.lower() if isinstance(item, exp.Column) else ""
            columns += scope.star(qualifier)
            tables = [t for alias, t in scope.tables.items() if qualifier in ("", alias)]
            traces = [trace for table in tables for _, trace in table.columns]
            hidden = dict.fromkeys(g.rpartition(".")[2] for t in traces for _, g in t.terms)
            if hidden:
                shown = f"{item.sql(dialect='duckdb')} EXCLUDE ({', '.join(hidden)})"
                item.replace(exp.Var(this=shown))
        return columns

    def _are_groups_chosen(self, tree: exp.Select, group: exp.Expr | None, scope: Scope) -> bool:
        """Whether GROUP BY is of estimates."""
        if group is None:
            return False
        keys, items = list(group.iter_expressions()), tree.expressions
        named = {item.alias_or_name.lower(): item.unalias() for item in items}
        if group.args.get("all"):
            keys += [item for item in items if not _has_aggregate(item)]
        for key in in_time(keys):
            is_position = isinstance(key, exp.Literal) and not key.is_string
            meant = items[int(key.name) - 1].unalias() if is_position else key
            for leaf in meant.find_all(exp.Column):
                is_own = leaf.table or scope.own(leaf) is not None
                if self._depends(leaf if is_own else named.get(leaf.name.lower(), leaf), scope):
                    return True
        return False

    def _is_limited(
        self, tree: exp.Expr, columns: Sequence[tuple[str, Trace]], scope: Scope
    ) -> bool:
        """Whether LIMIT keeps some rows in an order that depends on estimates."""
        order, parts = tree.args.get("order"), [tree.args.get("limit"), tree.args.get("offset")]
        if not any(parts):
            return False
        named = {name.lower(): trace for name, trace in columns}
        traces = [self._trace(part, scope) for part in parts if part]
        for item in order.expressions if order else ():
            if isinstance(item.this, exp.Literal) and not item.this.is_string:
                traces.append(columns[int(item.this.name) - 1][1])
            elif isinstance(item.this, exp.Var):
                traces += named.values()
            elif isinstance(item.this, exp.Column) and item.this.name.lower() in named:
                traces.append(named[item.this.name.lower()])
            else:
                traces.append(self._trace(item.this, scope))
        is_limited = not all(trace.is_exact for trace in traces)
        self.is_chosen = self.is_chosen or is_limited
        return is_limited

    # -- expressions ----------------------------------------------------------------------

    def _depends(self, part: object, scope: Scope) -> bool:
        """Whether a part of a query depends on estimates."""
        return not self._sum(part, scope).is_exact

    def _trace(self, node: exp.Expr, scope: Scope) -> Trace:
        check()
        if isinstance(node, exp.Column):
            return scope.find(node)
        if isinstance(node, exp.Query | exp.Exists):
            return self._subquery(node, scope)
        if isinstance(node, exp.Case | exp.If):
            return self._case(node, scope)
        if isinstance(node, exp.Coalesce):
            return self._coalesce([node.this, *node.expressions], scope)
        if isinstance(node, exp.Window) or is_aggregate(_find_called(node)):
            return self._call(node, scope)
        traces = {part: self._sum(value, scope) for part, value in node.args.items()}
        return _combine(traces.values()) or _derivative(node, traces)

    def _sum(self, value: object, scope: Scope) -> Trace:
        """The sum of the traces of all nodes of a part."""
        nodes = value if isinstance(value, list) else [value]
        traces = (self._trace(node, scope) for node in nodes if isinstance(node, exp.Expr))
        return sum(traces, _EXACT)

    def _case(self, node: exp.Expr, scope: Scope) -> Trace:
        """CASE whose conditions do not depend on estimates."""
        branches = node.args["ifs"] if isinstance(node, exp.Case) else [node]
        operand = node.this if isinstance(node, exp.Case) else None
        default = node.args.get("default" if isinstance(node, exp.Case) else "false")
        conditions = [operand, *(branch.this for branch in branches)]
        if self._depends(conditions, scope):
            return Trace(lost="CASE chooses by estimates")
        values = [branch.args["true"] for branch in branches] + ([default] if default else [])
        traces = [self._trace(value, scope) for value in values]
        combined = _combine(traces)
        if combined is not None:
            return combined
        words = [f"WHEN {_text(branch.this)} THEN" for branch in branches] + ["ELSE"]
        parts = (f"{word} {trace.sql}" for word, trace in zip(words, traces, strict=False))
        return _short([("1.0", f"CASE {_text(operand)} {' '.join(parts)} END")])

    def _coalesce(self, nodes: Sequence[exp.Expr], scope: Scope) -> Trace:
        """COALESCE; what stands for an estimate that the reports cannot tell has no error bar."""
        first, *rest = nodes
        trace = self._trace(first, scope)
        if not rest:
            return trace
        other = self._coalesce(rest, scope)
        combined = _combine([trace, other])
        if combined is not None:
            return combined
        missing = f"list_filter({trace.sql}, lambda ldpsql_t: ldpsql_t.i <= {UNKNOWN})"
        instead = f"flatten([{missing}, {other.sql}])"
        either = f"CASE WHEN {_text(first)} IS NOT NULL THEN {trace.sql} ELSE {instead} END"
        return _short([("1.0", either)])

    def _subquery(self, node: exp.Expr, scope: Scope) -> Trace:
        """A subquery that stands for a value, or EXISTS."""
        is_value = isinstance(node, exp.Query)
        table = self._query(node if is_value else node.this, scope)
        trace = table.columns[0][1] if is_value else _EXACT
        if table.is_chosen or not trace.terms:
            return Trace(lost=trace.lost or _CHOSEN * table.is_chosen)
        copy, name = node.copy(), f"{RESERVED_PREFIX}d{next(self._numbers)}"
        _append(copy, table, [(0, name)])
        inner = copy.this if isinstance(copy, exp.Subquery) else copy
        return _short([("1.0", f"(SELECT {name} FROM ({inner.sql(dialect='duckdb')}))")])

    def _call(self, node: exp.Expr, scope: Scope) -> Trace:
        """An aggregate or a window function, with its FILTER and OVER."""
        call, is_window = _find_called(node), isinstance(node, exp.Window)
        inside = scope if is_window else replace(scope, is_grouped=False)
        traces = [self._trace(argument, inside) for argument in call.iter_expressions()]
        filters = [each.expression for each in node.find_all(exp.Filter) if each.this is call]
        if self._depends(filters, inside) or (scope.is_kept if is_window else scope.is_chosen):
            return Trace(lost=_CHOSEN)
        for window in [node, scope.windows.get(node.alias.lower(), node)] if is_window else ():
            parts = [*(window.args.get("partition_by") or ()), window.args.get("order")]
            if self._depends([*parts, window.args.get("spec")], scope):
                return Trace(lost=_ORDERED)
        combined = _combine(traces)
        if combined is None and function_name(call) == "COUNT":
            combined = _EXACT
        return combined or self._of_rows(node, traces)

    def _of_rows(self, node: exp.Expr, traces: Sequence[Trace]) -> Trace:
        """The trace of an aggregate or a window function from those of its arguments."""
        call = _find_called(node)
        name, arguments = function_name(call), list(call.iter_expressions())
        x, gradient = _text(arguments[0]), traces[0].sql
        if not all(trace.is_exact for trace in traces[1:]):
            return Trace(lost=f"this {name} of estimates")
        together = f"flatten({_instead(node, f'list({gradient})')})"
        if name == "SUM":
            return _short([("1.0", together)])
        if name in ("AVG", "MEAN"):
            return _short([(f"1.0 / {_instead(node, f'COUNT({x})')}", together)])
        if name in _OF_A_ROW and isinstance(node, exp.Window):
            known = f"CASE WHEN {x} IS NOT NULL THEN {gradient} END"
            # An offset stays as it is, a default has no gradient.
            rest = [_text(argument) for argument in arguments[1:2]] + ["[]"] * len(arguments[2:])
            return _short([("1.0", _instead(node, f"{name}({', '.join([known, *rest])})"))])
        if name in _OF_ONE_VALUE:
            single = f"{_instead(node, f'COUNT({x})')} <= 1"
            several = self._unknown(f"{name} of several estimates")
            return _short([("1.0", f"CASE WHEN {single} THEN {together} ELSE {several} END")])
        return Trace(lost=f"{name} of estimates")

    def _unknown(self, reason: str) -> str:
        """The gradient of a value that has no error bar, and why."""
        if reason not in self.reasons:
            self.reasons.append(reason)
        return _pair(str(UNKNOWN - self.reasons.index(reason)))


def _combine(traces: Iterable[Trace]) -> Trace | None:
    """The trace of something with such parts, where it does not take their gradients: if one of
    them is lost, or all are exact."""
    parts = list(traces)
    lost = next((trace.lost for trace in parts if trace.lost), "")
    return Trace(lost=lost) if lost or all(trace.is_exact for trace in parts) else None


_RULES: Mapping[type[exp.Expr], Callable[[Trace, Trace, str, str], Trace]] = {
    exp.Add: lambda own, other, x, y: own + other,
    exp.Alias: lambda own, other, x, y: own,
    exp.Cbrt: lambda own, other, x, y: own.scale(f"1.0 / (3.0 * POWER(CBRT({x}), 2))"),
    exp.Div: lambda own, other, x, y: (
        own.scale(f"1.0 / {y}") + other.scale(f"-1.0 * {x} / ({y} * {y})")
    ),
    exp.Exp: lambda own, other, x, y: own.scale(f"EXP({x})"),
    exp.Ln: lambda own, other, x, y: own.scale(f"1.0 / {x}"),
    exp.Log: lambda own, other, x, y: (
        own.scale(f"-1.0 * LN({y}) / ({x} * POWER(LN({x}), 2))")
        + other.scale(f"1.0 / ({y} * LN({x}))")
        if y
        else own.scale(f"1.0 / (LN(10) * {x})")
    ),
    exp.Mul: lambda own, other, x, y: own.scale(y) + other.scale(x),
    exp.Neg: lambda own, other, x, y: own.scale("-1.0"),
    exp.Nullif: lambda own, other, x, y: own,
    exp.Paren: lambda own, other, x, y: own,
    exp.Pow: lambda own, other, x, y: (
        own.scale(f"{y} * POWER({x}, {y} - 1)") + other.scale(f"LN({x}) * POWER({x}, {y})")
    ),
    exp.Sqrt: lambda own, other, x, y: own.scale(f"0.5 / SQRT({x})"),
    exp.Sub: lambda own, other, x, y: own + other.scale("-1.0"),
}
"""The chain rule: the trace of an expression from those of its first and second operand, and from
the SQL of both."""
_ROUNDING: Mapping[type[exp.Expr], Callable[[str, str], str]] = {
    exp.IntDiv: lambda x, y: f"{x} / {y}",
    **dict.fromkeys(
        (exp.Cast, exp.Ceil, exp.Floor, exp.Round, exp.Trunc, exp.TryCast), lambda x, y: x
    ),
}
"""Functions that round, by what they round. The interval stays that of the plain number, wherever
the rounded one lies."""


def _derivative(node: exp.Expr, traces: Mapping[str, Trace]) -> Trace:
    """The trace of an expression from those of its parts, of which some are estimates."""
    own, other = traces.get("this", _EXACT), traces.get("expression", _EXACT)
    x, y = (_text(node.args.get(part)) for part in ("this", "expression"))
    is_of_first = all(part == "this" or trace.is_exact for part, trace in traces.items())
    found = _EXACT
    if type(node) in _RULES:
        found = _RULES[type(node)](own, other, x, y)
    elif type(node) in _ROUNDING and is_of_first and _is_number(node.args.get("to")):
        plain = _ROUNDING[type(node)](x, y)
        above = f"({_text(node)})::DOUBLE - ({plain})::DOUBLE"
        slope = own.scale(f"1.0 / {y}") if isinstance(node, exp.IntDiv) else own
        found = slope + Trace((("1.0", _pair(str(DISPLACED), above)),))
    if not found.is_exact:
        return found
    if isinstance(node, exp.DPipe):
        return Trace(lost="a text of estimates")
    name = "a comparison" if isinstance(node, exp.Predicate) else function_name(node)
    return Trace(lost=f"{name} of estimates")


def _pair_columns(
    left: Table, right: Table, *, by_name: bool
) -> list[tuple[int | None, int | None]]:
    """The places in both sides of every column of a set operation; None where a side lacks it."""
    names, others = ([name.lower() for name, _ in side.columns] for side in (left, right))
    if not by_name:
        return [(place, place) for place in range(len(names))]
    return [
        *((p, others.index(n) if n in others else None) for p, n in enumerate(names)),
        *((None, p) for p, n in enumerate(others) if n not in names),
    ]


def _append(query: exp.Expr, table: Table, wanted: Sequence[tuple[int, str]]) -> None:
    """Write gradients behind the columns of a query; wanted: their places and names."""
    if isinstance(query, exp.Subquery):
        _append(query.this, table, wanted)
    elif isinstance(query, exp.SetOperation):
        for side, (own, places) in zip((query.this, query.expression), table.sides, strict=True):
            _append(side, own, [(p, name) for w, name in wanted if (p := places[w]) is not None])
    elif isinstance(query, exp.Select):
        for place, name in wanted:
            gradient = exp.Var(this=table.columns[place][1].sql)
            query.append("expressions", exp.alias_(gradient, name))


def _list_compared(
    columns: list[tuple[str, Trace]], by: str
) -> tuple[list[tuple[str, Trace]], bool]:
    """Columns of rows that are compared with each other, and whether estimates decide."""
    lost = Trace(lost=f"{by} compares estimates")
    is_compared = not all(trace.is_exact for _, trace in columns)
    return [(n, trace if trace.is_exact else lost) for n, trace in columns], is_compared


def _pair(number: str, factor: str = "1.0") -> str:
    return f"[{{'i': ({number})::BIGINT, 'c': ({factor})::DOUBLE}}]"


def _product(factor: str, gradient: str) -> str:
    """A gradient times a factor, which is bound to a name: no lambda may hold a subquery."""
    if factor == "1.0":
        return gradient
    bound = f"[{{'d': {gradient}, 'f': ({factor})::DOUBLE}}]"
    pair = "{'i': ldpsql_t.i, 'c': ldpsql_t.c * ldpsql_s.f}"
    inner = f"list_transform(ldpsql_s.d, lambda ldpsql_t: {pair})"
    return f"list_transform({bound}, lambda ldpsql_s: {inner})[1]"


def _short(terms: Iterable[tuple[str, str]]) -> Trace:
    """A trace, unless it is too long."""
    trace = Trace(tuple(terms))
    length = sum(len(factor) + len(gradient) for factor, gradient in trace.terms)
    return trace if length <= _LONGEST else Trace(lost=_TOO_LONG)


def _text(node: object) -> str:
    return f"({node.sql(dialect='duckdb')})" if isinstance(node, exp.Expr) else ""


def _is_number(kind: exp.Expr | None) -> bool:
    """Whether a CAST is to a number; also where there is none."""
    return kind is None or str(getattr(kind.this, "value", kind.this)).upper() in _NUMBERS


def _find_called(node: exp.Expr) -> exp.Expr:
    """The function that stands in OVER, FILTER or IGNORE NULLS; else the node itself."""
    while isinstance(node, exp.Window | exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        node = node.this
    return node


def _has_aggregate(node: exp.Expr) -> bool:
    """Whether an aggregate that makes groups stands in a node; window functions do not."""
    waiting, windowed = [node], set[int]()
    while waiting:
        part = waiting.pop()
        if isinstance(part, exp.Query):
            continue
        if isinstance(part, exp.Window):
            windowed.add(id(_find_called(part)))
        elif is_aggregate(part) and id(part) not in windowed:
            return True
        waiting += part.iter_expressions()
    return False


def _instead(node: exp.Expr, call: str) -> str:
    """The SQL of a call with another function in its FILTER and OVER, and in the IGNORE NULLS of
    a window function that gives the value of a row."""
    holder = exp.Tuple(expressions=[node.copy()])
    target = _find_called(holder.expressions[0])
    around = target.parent
    if isinstance(around, exp.IgnoreNulls | exp.RespectNulls) and not call.startswith(
        tuple(_OF_A_ROW)
    ):
        target = around
    target.replace(exp.Var(this=call))
    return str(holder.expressions[0].sql(dialect="duckdb"))
