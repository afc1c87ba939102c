"""A SELECT over a survey's table, to a base query and what is left of it.

The base query is what randomized reports can answer: aggregates under WHERE and GROUP BY. What is
left, a SELECT over the relation of estimates that the base query gives, is DuckDB's to evaluate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from ldpsql import aggregates
from ldpsql.errors import QueryError, UnsupportedSQL
from ldpsql.parser.allowed import function_name, is_scalar
from ldpsql.parser.columns import Columns
from ldpsql.parser.constants import is_constant
from ldpsql.parser.keys import alias_of, group_keys, is_bin, item_at
from ldpsql.parser.measurements import ERROR_BARS, Measurements, is_measurable
from ldpsql.parser.predicate import predicate
from ldpsql.parser.query import ROW, Output, Query

MAX_NODES = 10_000

_KNOWN_PARTS = {
    "expressions",
    "from_",
    "where",
    "group",
    "having",
    "order",
    "limit",
    "offset",
    "distinct",
    "with_",
}
_REFUSED_PARTS: Mapping[str, tuple[str, str]] = {
    "joins": ("JOIN with a survey's table is not answered", "join results of aggregates in a CTE"),
    "laterals": ("LATERAL is not answered", "aggregate in a CTE first"),
    "sample": ("sampling is not answered", "leave it out: every report is used"),
    "qualify": ("QUALIFY is not answered here", "write HAVING, or filter in an outer query"),
    "windows": ("window functions are not answered here", "use them over a CTE of aggregates"),
    "pivots": ("PIVOT is not answered", "write GROUP BY"),
}
_REFUSED_NODES: tuple[tuple[tuple[type[exp.Expr], ...], str, str], ...] = (
    (
        (exp.Star, exp.Column),
        "* would show single people",
        "name aggregates: COUNT(*), AVG(column)",
    ),
    ((exp.Window,), *_REFUSED_PARTS["windows"]),
    ((exp.Filter,), "FILTER is not answered", "put the condition into WHERE"),
)


@dataclass(frozen=True)
class Base:
    """A base query, the SELECT over its relation, and that SELECT's columns."""

    query: Query
    select: exp.Select
    outputs: tuple[Output, ...]

    def with_error_bars(self) -> exp.Select:
        """The SELECT with <name>_stderr, _low and _high of every estimate, and ROW, at the end."""
        extra: list[exp.Expr] = []
        for output in self.outputs:
            if output.estimate:
                column = self.query.columns[output.estimate[1]].name
                extra += [
                    self._pick(f"{column}_{suffix}", f"{output.name}_{suffix}")
                    for suffix in ("stderr", "low", "high")
                ]
        if not extra:
            return self.select
        return self.select.select(*extra, self._pick(ROW, ROW), copy=False)

    def _pick(self, column: str, name: str) -> exp.Expr:
        source = exp.column(column, table=self.query.relation)
        return exp.alias_(source, exp.to_identifier(name, quoted=True))


def base(
    select: exp.Select, columns: Columns, relation: str, subquery: Callable[[exp.Expr], exp.Expr]
) -> Base:
    """Read a SELECT over a survey's table.

    relation: the name of the relation of estimates.  subquery: what becomes of a scalar subquery.
    QueryError and UnsupportedSQL point at whatever cannot be answered.
    """
    return _Reader(select, columns, relation, subquery).read()


@dataclass
class _Reader:
    select: exp.Select
    columns: Columns
    relation: str
    subquery: Callable[[exp.Expr], exp.Expr]
    aliases: dict[str, exp.Expr] = field(default_factory=dict)
    nodes: int = 0

    def __post_init__(self) -> None:
        self.source = self.columns.source
        self.measurements = Measurements(self.columns)

    def read(self) -> Base:
        self._check_parts()
        where = self.select.args.get("where")
        condition = predicate(where.this, self.columns) if where else None
        self.keys = group_keys(self.select, self.columns)
        rest = exp.Select(
            expressions=[],
            from_=exp.From(this=exp.Table(this=exp.to_identifier(self.relation))),
            distinct=exp.Distinct() if self.select.args.get("distinct") else None,
        )
        outputs = self._read_items(rest)
        having = self.select.args.get("having")
        if having:
            meant = self._unfold(
                having.this, keep=lambda node: self.keys.repeated(node) is not None
            )
            rest.set("where", exp.Where(this=self._outer(meant)))
        self._read_order(rest)
        for part in ("limit", "offset"):
            rest.set(part, self._count(self.select.args.get(part)))
        if not self.measurements.all:
            raise self._no_aggregate()
        measured = tuple(self.measurements.all)
        query = Query(self.relation, self.columns.table, condition, self.keys.all, measured)
        return Base(query, rest, tuple(outputs))

    # -- the parts ------------------------------------------------------------------------

    def _check_parts(self) -> None:
        for part, value in self.select.args.items():
            if not value or part in _KNOWN_PARTS:
                continue
            reason, hint = _REFUSED_PARTS.get(
                part, (f"{part.strip('_').upper()} is not answered", "leave it out")
            )
            first = value[0] if isinstance(value, list) else value
            raise self.source.unsupported(
                reason, first if isinstance(first, exp.Expr) else self.select, hint=hint
            )
        distinct = self.select.args.get("distinct")
        if distinct and distinct.args.get("on"):
            raise self.source.unsupported(
                "DISTINCT ON is not answered", distinct, hint="write GROUP BY"
            )

    def _no_aggregate(self) -> UnsupportedSQL:
        return self.source.unsupported(
            "a query without an aggregate is not answered",
            self.select.expressions[0] if self.select.expressions else self.select,
            hint=f"add COUNT(*), or one of {_aggregates()} of a column",
        )

    # -- SELECT ---------------------------------------------------------------------------

    def _read_items(self, rest: exp.Select) -> list[Output]:
        outputs: list[Output] = []
        for item in self.select.expressions:
            written = item.unalias()
            meant = self._unfold(
                written, keep=lambda node: self.columns.find(node.name) is not None
            )
            outer = self._outer(meant)
            alias = alias_of(item)
            if alias:
                self.aliases.setdefault(alias.lower(), meant)
            name = alias or self._item_name(written)
            rest.append("expressions", exp.alias_(outer, exp.to_identifier(name, quoted=True)))
            estimate = self._estimate(outer)
            is_bare = estimate is None and self._uses_values(outer)
            outputs.append(Output(name, estimate, is_bare))
        return outputs

    def _item_name(self, node: exp.Expr) -> str:
        inner = node.unnest()
        key = self.keys.repeated(inner) if isinstance(inner, exp.Column) else None
        return key.column if key else self.source.text(node)

    def _estimate(self, outer: exp.Expr) -> tuple[str, int] | None:
        if self.select.args.get("distinct") or not isinstance(outer, exp.Column):
            return None
        for index, column in enumerate(self.measurements.all):
            if column.name == outer.name and column.what == "value":
                return self.relation, index
        return None

    def _uses_values(self, outer: exp.Expr) -> bool:
        """Whether an expression over the relation reads an estimate (and not its error bar)."""
        values = {column.name for column in self.measurements.all if column.what == "value"}
        return any(column.name in values for column in outer.find_all(exp.Column))

    def _unfold(self, node: exp.Expr, keep: Callable[[exp.Column], bool]) -> exp.Expr:
        """The expression with aliases replaced by what they stand for.

        keep: columns that are not aliases here. Chains of aliases may double at every step,
        hence the limit.
        """
        copy = node.copy()
        for part in list(copy.find_all(exp.Column)):
            meant = None if part.table or keep(part) else self.aliases.get(part.name.lower())
            if meant is None or part.find_ancestor(exp.AggFunc, exp.Query):
                continue
            self.nodes += sum(1 for _ in meant.walk())
            if self.nodes > MAX_NODES:
                raise self.source.unsupported(
                    "the aliases unfold into too large an expression", node, hint="use fewer"
                )
            replacement = exp.Paren(this=meant.copy())
            if part is copy:
                copy = replacement
            else:
                part.replace(replacement)
        return copy

    def _outer(self, node: exp.Expr) -> exp.Expr:
        """What an expression over aggregates and keys becomes over the relation."""
        key = self.keys.repeated(node)
        if key:
            if isinstance(node, exp.Column):
                self.columns.name(node)
            return self._column(key.name)
        if is_measurable(node):
            return self._column(self.measurements.column(node))
        if isinstance(node, exp.Anonymous) and function_name(node) in ERROR_BARS:
            return self._column(self.measurements.error_bar(node))
        if isinstance(node, exp.Paren):
            return exp.paren(self._outer(node.this), copy=False)
        if isinstance(node, exp.Subquery):
            return self.subquery(node)
        if not is_scalar(node):
            raise self._refusal(node)
        return type(node)(**{part: self._rebuild(value) for part, value in node.args.items()})

    def _column(self, name: str) -> exp.Column:
        """A column of the relation; with its table, lest an alias of the user's take its place."""
        return exp.column(name, table=self.relation)

    def _rebuild(self, value: object) -> object:
        if isinstance(value, list):
            return [self._rebuild(part) for part in value]
        if isinstance(value, exp.Query) and not isinstance(value, exp.Subquery):
            raise self.source.unsupported(
                "this subquery is not answered", value, hint="use a CTE and an outer query"
            )
        return self._outer(value) if isinstance(value, exp.Expr) else value

    def _refusal(self, node: exp.Expr) -> QueryError | UnsupportedSQL:
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            return self._refusal_of_column(node)
        for kinds, reason, hint in _REFUSED_NODES:
            if isinstance(node, kinds):
                return self.source.unsupported(reason, node, hint=hint)
        name = self.source.function_name(node)
        if isinstance(node, exp.AggFunc):
            return self.source.unsupported(
                f"{name} is not answered from randomized reports", node, hint=f"use {_aggregates()}"
            )
        if is_bin(node):
            return self.source.unsupported(
                "this bin() is not a GROUP BY key", node, hint="add it to GROUP BY"
            )
        what = f"the function {name}" if isinstance(node, exp.Func) else name
        return self.source.unsupported(
            f"{what} is not answered here", node, hint="use aggregates and arithmetic over them"
        )

    def _refusal_of_column(self, node: exp.Column) -> QueryError | UnsupportedSQL:
        if self.columns.find(node.name) is None and self.aliases and not node.table:
            return self.columns.unknown(node)
        name = self.columns.name(node)
        return self.source.unsupported(
            f"{name} stands outside of an aggregate and is not a GROUP BY key",
            node,
            hint=f"add GROUP BY {name}, or aggregate it",
        )

    # -- ORDER BY, LIMIT ------------------------------------------------------------------

    def _read_order(self, rest: exp.Select) -> None:
        order = self.select.args.get("order")
        if not order:
            return
        ordered: list[exp.Expr] = []
        for item in order.expressions:
            if item.args.get("with_fill") or not isinstance(item, exp.Ordered):
                raise self.source.unsupported("this ORDER BY is not answered", item)
            ordered += [
                exp.Ordered(
                    this=target,
                    desc=item.args.get("desc"),
                    nulls_first=item.args.get("nulls_first"),
                )
                for target in self._order_targets(item.this)
            ]
        if ordered:
            rest.set("order", exp.Order(expressions=ordered))

    def _order_targets(self, node: exp.Expr) -> list[exp.Expr]:
        if isinstance(node, exp.Var) and node.name.upper() == "ALL":
            count = len(self.select.expressions)
            return [exp.Literal.number(position + 1) for position in range(count)]
        if isinstance(node, exp.Literal):
            item_at(node, self.select, self.columns)
            return [node.copy()]
        meant = self._unfold(node, keep=lambda _: False)
        # The alias of a constant orders nothing; written out it would be read as a position.
        return [] if is_constant(meant) else [self._outer(meant)]

    def _count(self, node: exp.Expr | None) -> exp.Expr | None:
        """LIMIT or OFFSET with a constant."""
        if node is None:
            return None
        plain = isinstance(node, exp.Limit | exp.Offset) and not node.args.get("limit_options")
        if not plain or node.args.get("expressions") or not is_constant(node.expression):
            raise self.source.unsupported(
                "LIMIT and OFFSET take a constant", node, hint="write LIMIT 10"
            )
        return type(node)(expression=node.expression.copy())


def _aggregates() -> str:
    return ", ".join(definition.names[0] for definition in aggregates.AGGREGATES)
