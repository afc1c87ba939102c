"""A SELECT over a survey's table, to a base query and what is left of it.

The base query is what randomized reports can answer: aggregates under WHERE and GROUP BY. What is
left, a SELECT over the relation of estimates that the base query gives, is DuckDB's to evaluate.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import combinations, islice, product

from sqlglot import exp

from ldpsql.errors import did_you_mean
from ldpsql.limits import check, in_time
from ldpsql.parser.allowed import function_name, is_deterministic, is_outer, is_scalar
from ldpsql.parser.columns import Columns, LookupColumn, outside_queries
from ldpsql.parser.predicate import read_predicate
from ldpsql.parser.query import And, GroupKey, Measurement, Predicate, Query, What
from ldpsql.parser.scalars import (
    NOW,
    WRITE_A_DAY,
    check_declared,
    read_amount,
    read_moments,
    read_ordering,
    read_scalar,
    split_presence,
)
from ldpsql.parser.source import Refusal, refuse, wrong
from ldpsql.parser.values import is_constant, number
from ldpsql.sql import aggregates
from ldpsql.sql.aggregates import (
    Aggregate,
    AggregateKind,
    Amount,
    Arithmetic,
    Column,
    Expression,
    Number,
    Operator,
    Ordering,
    ProductMoments,
    Ranked,
    find_aggregate,
)
from ldpsql.sql.domains import find_dimension, find_measure, find_public_column
from ldpsql_device.values import Listed

MAX_NODES = 10_000
MAX_SHARES = 256
MOST_ITEMS, _MOST_KEYS, _MOST_TERMS = 4_096, 256, 1_000
"""Items of a SELECT, each of which DuckDB binds; keys of GROUP BY, and terms of ORDER BY, each of
which takes milliseconds to read."""
MAX_SETS, _MOST_BITS, _LONGEST_POSITION = 128, 63, 10

_LEFT_OUT = "_left_out"
"""What follows the name of a key in the column that tells whether it is left out of a row's set."""
ERROR_BARS: Mapping[str, What] = {"STDERR": "stderr", "CI_LOW": "low", "CI_HIGH": "high"}
_AGGREGATE_NAMES = {*ERROR_BARS, "HISTOGRAM", "CDF"}
_OPERATORS: Mapping[type[exp.Expr], Operator] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
}
_PARTS = {"expressions", "from_", "where", "group", "having", "order", "limit", "offset"}
_PARTS |= {"distinct", "with_", "qualify", "windows"}
_REFUSED_PARTS: Mapping[str, tuple[str, str]] = {
    "laterals": ("LATERAL is not supported", "aggregate in a CTE first"),
    "sample": ("sampling is not supported", "leave it out: every report is used"),
    "pivots": ("PIVOT is not supported", "write GROUP BY"),
}
_REFUSED_GROUPS: Mapping[str, tuple[str, str]] = {
    "rollup": ("WITH ROLLUP is not supported", "write GROUP BY ROLLUP (...)"),
    "cube": ("WITH CUBE is not supported", "write GROUP BY CUBE (...)"),
}
_REFUSED_NODES: tuple[tuple[tuple[type[exp.Expr], ...], str, str], ...] = (
    (
        (exp.Star, exp.Column),
        "* would show single people",
        "name aggregates: COUNT(*), AVG(column)",
    ),
)


@dataclass
class SelectReader:
    """Reads one SELECT over a survey's table.

    relation: the name of the relation of estimates.  subquery: what becomes of a scalar subquery.
    keys: the GROUP BY keys, each once, in the order written.  measurements: the columns of
    estimates, each different one once, with their names.
    """

    select: exp.Select
    columns: Columns
    relation: str
    subquery: Callable[[exp.Expr], exp.Expr]
    keys: dict[tuple[str, float | None], GroupKey] = field(default_factory=dict)
    measurements: dict[tuple[Expression, What, float | None], Measurement] = field(
        default_factory=dict
    )
    filters: dict[Predicate, int] = field(default_factory=dict)
    sets: tuple[tuple[int, ...], ...] | None = None
    _tells_sets: bool = False
    _aliases: dict[str, exp.Expr] = field(default_factory=dict)
    _presence: list[exp.Expr] = field(default_factory=list)
    _nodes: int = 0
    _has_lists: bool = False

    def read(self) -> tuple[tuple[Query, ...], exp.Select]:
        """The base query, or those of its grouping sets, and the SELECT over their relation."""
        args = self.select.args
        self._check_parts()
        require_items(self.select.expressions)
        self._write_out_windows()
        self._unfold_distributions()
        where, having = args.get("where"), args.get("having")
        asked = [] if where is None else [self._name_meant(where.this)]
        asked, self._presence = split_presence(asked, self.columns)
        condition = read_predicate(exp.and_(*asked, copy=False), self.columns) if asked else None
        self._read_keys()
        self._mark_totals()
        rest = exp.Select(
            expressions=[],
            from_=exp.From(this=exp.Table(this=exp.to_identifier(self.relation))),
            distinct=exp.Distinct() if args.get("distinct") else None,
        )
        self._read_items(rest)
        if having:
            meant = self._unfold(having.this, keep=lambda node: self._key(node) is not None)
            rest.set("where", exp.Where(this=self._outer(meant)))
        qualify = args.get("qualify")
        if qualify:
            meant = self._unfold(qualify.this, keep=lambda node: self._key(node) is not None)
            kept, met = self._outer(meant), rest.args.get("where")
            if rest.find(exp.Window) or kept.find(exp.Window):
                rest.set("qualify", exp.Qualify(this=kept))
            else:  # of totals alone, which are columns of the relation
                both = exp.And(this=exp.Paren(this=met.this), expression=kept) if met else kept
                rest.set("where", exp.Where(this=both))
        if self._are_rows_shown_apart(rest):
            rest.set("distinct", None)
        self._read_order(rest)
        for part in ("limit", "offset"):
            rest.set(part, _constant_count(args.get(part)))
        if not self.measurements and not self.keys:
            raise refuse(
                "a query without an aggregate is not supported",
                next(iter(self.select.expressions), self.select),
                f"add COUNT(*), or one of {_aggregates()} of a column",
            )
        keys, measurements = tuple(self.keys.values()), tuple(self.measurements.values())
        query = Query(
            self.relation,
            self.columns.table,
            condition,
            keys,
            measurements,
            tuple(self.filters),
            self.sets,
            self.columns.joins,
        )
        parts = self._split(query)
        if len(parts) > 1:
            rest.set("from_", exp.From(this=self._unite(parts)))
        return parts, rest

    def _split(self, query: Query) -> tuple[Query, ...]:
        """The query of each grouping set by itself, where GROUPING tells sets apart, or a public
        key is not in all of them; else the one of all sets.

        People are counted by the public keys of a query, those of a set without them by none.
        """
        sets, schema = query.sets or (), self.columns.schema
        public = [p for p, key in enumerate(query.keys) if not key.is_private(schema)]
        if not sets or (not self._tells_sets and all(p in own for own in sets for p in public)):
            return (query,)
        if len(sets) * (len(query.keys) + len(query.columns)) > MOST_ITEMS:
            reason = f"the grouping sets have more than {MOST_ITEMS:,} columns together"
            raise refuse(reason, self.select.args["group"], "ask for fewer, or in several queries")
        return tuple(
            replace(
                query,
                relation=f"{self.relation}_{number}",
                part_of=self.relation,
                keys=tuple(query.keys[place] for place in sorted(own)),
                sets=None,
            )
            for number, own in enumerate(sets)
        )

    def _unite(self, parts: Sequence[Query]) -> exp.Subquery:
        """The rows of all grouping sets, with NULL for a key that is not in a set, and beside it
        whether that is so."""
        sides = list[exp.Query]()
        for part in in_time(parts):
            side = exp.Select(from_=exp.From(this=exp.Table(this=exp.to_identifier(part.relation))))
            for key in self.keys.values():
                is_own = key in part.keys
                is_left_out = exp.cast(exp.Literal.number(int(not is_own)), "BIGINT")
                value = exp.column(key.name) if is_own else exp.null()
                side.append("expressions", exp.alias_(value, key.name))
                side.append("expressions", exp.alias_(is_left_out, f"{key.name}{_LEFT_OUT}"))
            for column in part.columns:
                side.append("expressions", exp.column(column.name))
            sides.append(side)
        union = reduce(lambda a, b: exp.Union(this=a, expression=b, distinct=False), sides)
        name = exp.TableAlias(this=exp.to_identifier(self.relation))
        return exp.Subquery(this=union, alias=name)

    def _name_meant(self, condition: exp.Expr) -> exp.Expr:
        """WHERE with what the aliases of keys in it stand for, as DuckDB reads it."""
        for part in in_time(list(outside_queries(condition, exp.Column))):
            meant = self._key_meant(part)
            if meant is not part and not has_aggregate(meant):
                meant = exp.Paren(this=meant.copy())
                condition = meant if part is condition else condition
                part.replace(meant)
        return condition

    def _are_rows_shown_apart(self, rest: exp.Select) -> bool:
        """Whether all keys are shown, so that no two rows are equal, whatever the estimates."""
        shown = {item.this.name for item in rest.expressions if isinstance(item.this, exp.Column)}
        return self.sets is None and {key.name for key in self.keys.values()} <= shown

    def _check_parts(self) -> None:
        check_parts(self.select, _PARTS, _REFUSED_PARTS)
        distinct = self.select.args.get("distinct")
        if distinct and distinct.args.get("on"):
            raise refuse("DISTINCT ON is not supported", distinct, "write GROUP BY")

    def _write_out_windows(self) -> None:
        """Write what WINDOW w AS (...) says into every OVER that names w."""
        named: dict[str, exp.Expr] = {}
        called = list(outside_queries(self.select, exp.Window))
        for window in [*(self.select.args.get("windows") or ()), *called]:
            known = named.get(window.alias.lower())
            if window.alias and known is None:
                hint = f"{did_you_mean(window.alias, named)}write OVER (...)"
                raise wrong(f"there is no window {window.alias!r} here", window, hint)
            for part, value in known.copy().args.items() if known else ():
                if part in ("partition_by", "order", "spec") and not window.args.get(part):
                    window.set(part, value)
            window.set("alias", None)
            if isinstance(window.this, exp.Identifier):
                named[window.name.lower()] = window
        self.select.set("windows", None)

    def _unfold_distributions(self) -> None:
        """Write CDF(x, v) as AVG(x <= v), and HISTOGRAM(x) as x, COUNT(x) ... GROUP BY x."""
        items: list[exp.Expr] = []
        for item in self.select.expressions:
            written, call = self.columns.source.text(item.unalias()), item.unalias().unnest()
            if _is_call(call, "HISTOGRAM", 1):
                items += self._histogram(call.expressions[0].unnest(), alias_of(item) or written)
            elif any(_is_call(part, "CDF", 2) for part in item.walk()):
                meant = item.unalias().transform(_as_average)
                items.append(_name(meant, alias_of(item) or written))
            else:
                items.append(item)
        self.select.set("expressions", items)
        for part in ("having", "qualify", "order"):
            if self.select.args.get(part):
                self.select.set(part, self.select.args[part].transform(_as_average))

    def _histogram(self, column: exp.Expr, name: str) -> list[exp.Expr]:
        """The two select items that HISTOGRAM of a column is; its NULLs have no part in it."""
        if not isinstance(column, exp.Column):
            raise refuse("HISTOGRAM takes a column", column, "write HISTOGRAM(column)")
        self.columns.name(column, "key")
        others = [item.unalias() for item in self.select.expressions if has_aggregate(item)]
        if len(others) > 1 or any(self.select.args.get(part) for part in ("having", "qualify")):
            reason = "HISTOGRAM stands beside keys alone"
            raise refuse(reason, column, f"GROUP BY {column.name}, and aggregate as you like")
        self.select.group_by(column.copy(), copy=False)
        known = exp.Not(this=exp.Is(this=column.copy(), expression=exp.Null()))
        self.select.where(known, copy=False)
        return [column.copy(), _name(exp.Count(this=column.copy()), name)]

    # -- GROUP BY -------------------------------------------------------------------------

    def _read_keys(self) -> None:
        """Columns, bin(column, width) and expressions, by themselves, by alias or by position.

        GROUP BY ALL takes every item of the select list without an aggregate.
        """
        group = self.select.args.get("group")
        items = [item.unalias() for item in self.select.expressions]
        if not group and self.select.args.get("distinct") and not any(map(has_aggregate, items)):
            for item in items:
                self._add_key(item.unnest())
        if not group:
            return
        check_parts(group, ("expressions", "all"), _REFUSED_GROUPS)
        wanted = list(group.expressions)
        if group.args.get("all"):
            named = (item for item in items if item.find(exp.Column, LookupColumn))
            wanted += [item for item in named if not has_aggregate(item)]
        if len(wanted) > _MOST_KEYS:
            raise _refuse_keys(len(wanted), group)
        sets = self._cross_sets(wanted)
        self.sets = tuple(sets) if len(sets) > 1 else None

    def _cross_sets(self, wanted: Sequence[exp.Expr]) -> list[tuple[int, ...]]:
        """The grouping sets of the items of GROUP BY: each joins one set of every item."""
        sets: list[tuple[int, ...]] = [()]
        for node in wanted:
            is_sets = isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets)
            own = self._sets(node) if is_sets else [(self._add_key(self._key_meant(node)),)]
            sets = [tuple(dict.fromkeys((*left, *right))) for left in sets for right in own]
            if len(sets) > MAX_SETS:
                raise _refuse_many(node)
        return sets

    def _mark_totals(self) -> None:
        """Note of every SUM(COUNT(...)) OVER (PARTITION BY keys) over which keys it is.

        Such a total of rows is a sum over people. Not so where HAVING takes rows away, or where
        rows of different people, by public columns, are added.
        """
        if self.select.args.get("having") or self.sets is not None:
            return
        public = [key for key in self.keys.values() if not key.is_private(self.columns.schema)]
        for window in self.select.find_all(exp.Window):
            call, kind = window.this, None
            if isinstance(call, exp.Sum) and window.find_ancestor(exp.Query) is self.select:
                kind = _kind_of(call.this)
            keys = window.args.get("partition_by") or ()
            by = [self._key(self._key_meant(each)) for each in keys]
            is_plain = not (window.args.get("order") or window.args.get("spec"))
            is_sum = kind is not None and kind.names[0] in ("COUNT", "SUM")
            if is_sum and is_plain and None not in by and all(key in by for key in public):
                window.meta["over"] = tuple(sorted(key.name for key in by if key))

    def _sets(self, clause: exp.Expr) -> list[tuple[int, ...]]:
        """The sets of keys of one GROUPING SETS, ROLLUP or CUBE."""
        groups, count = [], len(clause.expressions)
        listed = 1 << min(count, MAX_SETS) if isinstance(clause, exp.Cube) else count
        if listed + isinstance(clause, exp.Rollup) > MAX_SETS:  # before they are
            raise _refuse_many(clause)
        for item in clause.expressions:
            if isinstance(item, exp.Rollup | exp.Cube | exp.GroupingSets):
                raise refuse("nested grouping sets are not supported", item, "list the sets")
            members = item.expressions if isinstance(item, exp.Tuple) else [item.unnest()]
            if len(members) > _MOST_KEYS:
                raise _refuse_keys(len(members), item)
            groups.append(tuple(self._add_key(self._key_meant(member)) for member in members))
        if isinstance(clause, exp.GroupingSets):
            return groups
        if isinstance(clause, exp.Rollup):
            chosen = [tuple(range(length)) for length in range(count, -1, -1)]
        else:
            sizes = range(count, -1, -1)
            chosen = [each for size in sizes for each in combinations(range(count), size)]
        return [tuple(key for place in each for key in groups[place]) for each in chosen]

    def _add_key(self, node: exp.Expr) -> int:
        """The index of a key, which is added if it is new."""
        name, place = f"k{len(self.keys)}", self.columns.place(node)
        if isinstance(node, exp.Column) or _is_bin(node):
            column, width = self._key_parts(node)
            new = GroupKey(column, width, name, place)
        else:
            if has_aggregate(node):
                hint = "leave it out, or write conditions on it in HAVING"
                raise wrong("an aggregate cannot be a GROUP BY key", node, hint)
            is_constant = all(map(is_deterministic, node.walk()))
            if is_constant and not node.find(exp.Column, LookupColumn):
                raise refuse("a constant is not a GROUP BY key", node, "leave it out")
            scalar = read_scalar(node, self.columns)
            used = next(iter(scalar.columns), "")
            is_joined = bool(scalar.joins or scalar.tables)
            if is_joined and find_public_column(self.columns.schema, used) is not None:
                reason = (
                    "GROUP BY takes public columns by themselves, not what they are joined with"
                )
                raise refuse(reason, node, f"group by {used}")
            column, width = self._canonical(node), None
            new = GroupKey(column, width, name, place, scalar)
        self.keys.setdefault((column, width), new)
        return list(self.keys).index((column, width))

    def _canonical(self, node: exp.Expr) -> str:
        """An expression in one spelling."""
        copy = exp.Paren(this=node.unnest().copy())
        for part in list(copy.find_all(exp.Column)):
            part.replace(exp.column(self.columns.find(part.name) or part.name, quoted=True))
        for looked_up in list(copy.find_all(LookupColumn)):
            looked_up.replace(looked_up.plain)
        return copy.sql(dialect="duckdb", comments=False)

    def _key_meant(self, node: exp.Expr) -> exp.Expr:
        """The expression that a GROUP BY item means; a column comes before an alias of the same
        name."""
        meant: exp.Expr = node
        if isinstance(node, exp.Literal) and not node.is_string:
            meant = self._item_at(node)
        elif isinstance(node, exp.Column) and not node.table and not self.columns.find(node.name):
            same = (i for i in self.select.expressions if alias_of(i).lower() == node.name.lower())
            meant = next(same, node)
        return meant.unalias().unnest()

    def _key_parts(self, node: exp.Expr) -> tuple[str, float | None]:
        """The column of a GROUP BY key, and the width of bin()."""
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            return self.columns.name(node, "key"), None
        arguments = [argument.unnest() for argument in node.expressions]
        if len(arguments) != 2 or not isinstance(arguments[0], exp.Column):
            raise wrong("bin() takes a column and a width", node, "write bin(age, 10)")
        name = self.columns.name(arguments[0], "key")
        if find_dimension(self.columns.schema, name) is None:
            reason = f"bin() takes a dimension, and {name} is public"
            raise refuse(reason, node, f"group by {name} and bin it in an outer query")
        width = number(arguments[1])
        if width is None or not width > 0:
            raise wrong("the width of bin() must be a positive number", arguments[1])
        return name, width

    def _key(self, node: exp.Expr) -> GroupKey | None:
        """The key that a node repeats."""
        if _is_bin(node):
            return self.keys.get(self._key_parts(node))
        if isinstance(node, exp.Column):
            return self.keys.get((self.columns.find(node.name) or "", None))
        if any(key.scalar for key in self.keys.values()) and not has_aggregate(node):
            return self.keys.get((self._canonical(node), None))
        return None

    # -- SELECT and ORDER BY --------------------------------------------------------------

    def _read_items(self, rest: exp.Select) -> None:
        items = [part for item in self.select.expressions for part in _one_by_one(item)]
        self._has_lists = len(items) > len(self.select.expressions)
        for item in in_time(items):
            written = item.unalias()
            meant = self._unfold(written, keep=lambda node: bool(self.columns.find(node.name)))
            outer = self._outer(meant)
            name, suffix = alias_of(item), item.meta.get("suffix", "")
            if name:
                self._aliases.setdefault(f"{name}{suffix}".lower(), meant)
            else:
                inner = written.unnest()
                key = self._key(inner) if isinstance(inner, exp.Column) else None
                name = key.column if key else self.columns.source.text(written)
                name = inner.name if isinstance(inner, LookupColumn) else name
            name += suffix
            rest.append("expressions", _name(outer, name))

    def _read_order(self, rest: exp.Select) -> None:
        order = self.select.args.get("order")
        ordered: list[exp.Expr] = []
        if order and len(order.expressions) > _MOST_TERMS:
            count = len(order.expressions)
            reason = f"ORDER BY takes at most {_MOST_TERMS:,} terms, and these are {count:,}"
            raise refuse(reason, order, "order by fewer")
        for item in in_time(order.expressions if order else ()):
            if item.args.get("with_fill") or not isinstance(item, exp.Ordered):
                raise refuse("this ORDER BY is not supported", item)
            directions = {part: item.args.get(part) for part in ("desc", "nulls_first")}
            targets = self._order_targets(item.this)
            ordered += [exp.Ordered(this=target, **directions) for target in targets]
        if ordered:
            rest.set("order", exp.Order(expressions=ordered))

    def _order_targets(self, node: exp.Expr) -> list[exp.Expr]:
        if isinstance(node, exp.Var) and node.name.upper() == "ALL":
            count = len(self.select.expressions)
            return [exp.Literal.number(position + 1) for position in range(count)]
        if isinstance(node, exp.Literal):
            self._item_at(node)
            if self._has_lists:
                reason = "positions are not supported beside a list of shares"
                raise refuse(reason, node, "order by a name")
            return [node.copy()]
        meant = self._unfold(node, keep=lambda _: False)
        # The alias of a constant orders nothing; written out it would be read as a position.
        return [] if is_constant(meant) else [self._outer(meant)]

    def _item_at(self, position: exp.Expr) -> exp.Expr:
        """The select item at a position given as a literal, counted from 1."""
        items: list[exp.Expr] = self.select.expressions
        text = str(position.this)
        is_whole = text.isdecimal() and len(text) < _LONGEST_POSITION
        if not is_whole or not 1 <= int(text) <= len(items):
            hint = f"positions are 1 to {len(items)}"
            raise wrong(f"there is no column {text[:20]}", position, hint)
        return items[int(text) - 1]

    def _unfold(self, node: exp.Expr, keep: Callable[[exp.Column], bool]) -> exp.Expr:
        """The expression with aliases replaced by what they stand for.

        keep: columns that are not aliases here. Chains of aliases may double at every step,
        hence the limit on nodes.
        """
        copy = node.copy()
        for part in in_time(list(copy.find_all(exp.Column))):
            meant = None if part.table or keep(part) else self._aliases.get(part.name.lower())
            if meant is None or part.find_ancestor(exp.AggFunc, exp.Query):
                continue
            self._nodes += sum(1 for _ in meant.walk())
            if self._nodes > MAX_NODES:
                reason = "the aliases unfold into too large an expression"
                raise refuse(reason, node, "use fewer")
            replacement = exp.Paren(this=meant.copy())
            if part is copy:
                copy = replacement
            else:
                part.replace(replacement)
        return copy

    # -- expressions over aggregates and keys ---------------------------------------------

    def _outer(self, node: exp.Expr) -> exp.Expr:  # noqa: PLR0911
        """An expression over aggregates and keys, rewritten over the relation of estimates."""
        check()
        key = self._key(node)
        if key:
            if isinstance(node, exp.Column):
                self.columns.name(node)
            return self._column(key.name)
        if _is_measurable(node):
            return self._column(self._measurement(self._expression(node), "value", None))
        if isinstance(node, exp.Anonymous) and function_name(node) in ERROR_BARS:
            return self._column(self._error_bar(node))
        if isinstance(node, exp.Subquery):
            return self.subquery(node)
        if isinstance(node, exp.Window):
            return self._window(node)
        if isinstance(node, exp.Grouping | exp.GroupingId):
            return self._grouping(node)
        if not is_scalar(node):
            raise self._refusal(node)
        check_declared(node, self.columns)
        if isinstance(node, exp.IntDiv) and has_aggregate(node):
            # Estimates are no integers, and DuckDB's // of others does not round.
            node = exp.Trunc(this=exp.Div(this=node.this, expression=node.expression))
        return type(node)(**{part: self._rebuild(value) for part, value in node.args.items()})

    def _window(self, node: exp.Window) -> exp.Window:
        """A window function, over the rows of the relation."""
        call = node.this
        if not isinstance(call, exp.Func) or not is_outer(call):
            raise self._refusal(call)
        if isinstance(call, exp.Count) and isinstance(call.this, exp.Star):
            reason = "COUNT(*) OVER would count single people"
            raise refuse(reason, call, "write SUM(COUNT(*))")
        parts = {part: self._rebuild(value) for part, value in call.args.items() if value}
        check_parts(node, ("this", "partition_by", "order", "spec", "over"))
        order = node.args.get("order")
        return exp.Window(
            this=type(call)(**parts),
            partition_by=[self._outer(key) for key in node.args.get("partition_by") or ()],
            order=exp.Order(
                expressions=[
                    exp.Ordered(
                        this=self._outer(item.this),
                        desc=item.args.get("desc"),
                        nulls_first=item.args.get("nulls_first"),
                    )
                    for item in order.expressions
                ]
            )
            if order
            else None,
            spec=node.args["spec"].copy() if node.args.get("spec") else None,
            over=node.args.get("over"),
        )

    def _grouping(self, node: exp.Expr) -> exp.Expr:
        """GROUPING: a number with one bit for each key, the last one's lowest, which is set where
        the key is not in the set of a row."""
        meant = [e if isinstance(e, exp.Literal) else self._key_meant(e) for e in node.expressions]
        keys = [*map(self._key, meant)] or [*self.keys.values()]
        if not 1 <= len(keys) <= _MOST_BITS or None in keys:
            reason = f"{function_name(node)} takes 1 to {_MOST_BITS} GROUP BY keys"
            raise wrong(reason, node, "write GROUPING(key)")
        bits: exp.Expr = exp.cast(exp.Literal.number(0), "BIGINT")
        for key in filter(None, keys) if self.sets else ():
            bits, self._tells_sets = exp.Mul(this=bits, expression=exp.Literal.number(2)), True
            bits = exp.Paren(this=exp.Add(this=bits, expression=self._column(key.name + _LEFT_OUT)))
        return bits

    def _column(self, name: str) -> exp.Column:
        """A column of the relation; with its table, lest an alias of the user's take its place."""
        return exp.column(name, table=self.relation)

    def _rebuild(self, value: object) -> object:
        if isinstance(value, list):
            return [self._rebuild(part) for part in value]
        if isinstance(value, exp.Query) and not isinstance(value, exp.Subquery):
            hint = "use a CTE and an outer query"
            raise refuse("this subquery is not supported", value, hint)
        return self._outer(value) if isinstance(value, exp.Expr) else value

    def _measurement(self, expression: Expression, what: What, level: float | None) -> str:
        """The relation's column for an expression, or for an end of its error bar."""
        new = Measurement(expression, what, level, f"e{len(self.measurements)}")
        return self.measurements.setdefault((expression, what, level), new).name

    def _error_bar(self, node: exp.Anonymous) -> str:
        """The relation's column for STDERR(x), CI_LOW(x [, level]) or CI_HIGH(x [, level])."""
        name, arguments = function_name(node), node.expressions
        if not 1 <= len(arguments) <= (1 if name == "STDERR" else 2):
            takes = "one aggregate" if name == "STDERR" else "an aggregate and a confidence level"
            raise wrong(f"{name} takes {takes}", node)
        if not _is_measurable(arguments[0]):
            reason = f"{name} takes an aggregate, or + - * / over aggregates"
            raise refuse(reason, node, f"write {name}(COUNT(*))")
        level = None
        if len(arguments) == 2:
            level = number(arguments[1])
            if level is None or not 0 < level < 1:
                reason = "a confidence level is a number between 0 and 1"
                raise wrong(reason, arguments[1], "write 0.95")
        return self._measurement(self._expression(arguments[0]), ERROR_BARS[name], level)

    def _expression(self, node: exp.Expr) -> Expression:
        """Arithmetic over aggregates."""
        constant = number(node)
        if constant is not None:
            return Number(constant)
        if isinstance(node, exp.Paren):
            return self._expression(node.this)
        if isinstance(node, exp.Neg):
            return Arithmetic("-", Number(0.0), self._expression(node.this))
        if type(node) in _OPERATORS:
            left, right = self._expression(node.this), self._expression(node.expression)
            return Arithmetic(_OPERATORS[type(node)], left, right)
        return self._aggregate(node)

    def _aggregate(self, node: exp.Expr) -> Expression:
        """A call of an aggregate: its name, what it is of, and its place.

        The conditions of FILTER, COUNT_IF and of a CASE with one WHEN are one condition. Whether a
        measure is NULL, in WHERE too, is a condition on what is summed.
        """
        kind, call, conditions = _kind_of(node), node, list[exp.Expr]()
        assert kind is not None
        if isinstance(node, exp.Window):
            inner = self._aggregate(node.this.this)
            assert isinstance(inner, Aggregate)
            return replace(inner, over=node.meta["over"])
        if isinstance(node, exp.Filter):
            call, conditions = node.this, [node.expression.this]
        is_within = isinstance(call, exp.WithinGroup)
        called = _arguments(call)
        call = call.this if is_within else call
        argument, *others = [*called] or [exp.Star()]
        column = argument.unnest()
        if isinstance(call, exp.CountIf):
            conditions.append(column)
            column = exp.Star()
        if isinstance(column, exp.Distinct):
            raise self._distinct(call, column)
        is_pair = "y" in "".join(kind.products)
        conditions, presence = split_presence(conditions, self.columns)
        if presence := [*presence, *(each.copy() for each in self._presence)]:
            column = self._where_present(kind, column, presence)
        if is_pair or (kind.takes == "share" and not isinstance(column, exp.Star)):
            read = self._pair if is_pair else self._read_rank
            return self._call(kind.names[0], read(kind, column, others, call), conditions, node)
        if others:
            written = function_name(call)
            raise refuse(f"{written} takes one column", node, f"write {written}(column)")
        parts = self._parts(column, conditions, kind.names[0])
        if len(parts) == 1:
            return self._of_part(kind, parts[0], node)

        def total(name: str) -> Expression:
            of_name = find_aggregate(name)
            assert of_name is not None
            sums = [self._of_part(of_name, part, node) for part in parts]
            return reduce(lambda left, right: Arithmetic("+", left, right), sums)

        if kind.names[0] == "AVG":
            return Arithmetic("/", total("SUM"), total("COUNT"))
        return total(kind.names[0])

    def _where_present(
        self, kind: AggregateKind, column: exp.Expr, presence: list[exp.Expr]
    ) -> exp.Expr:
        """The argument of an aggregate, NULL where measures are not as these conditions ask."""
        if kind.names[0] not in ("COUNT", "SUM", "AVG"):
            reason = f"{kind.names[0]} of people by whether they have a measure is not supported"
            raise refuse(reason, presence[0], "ask COUNT, SUM or AVG of them")
        of_all = isinstance(column, exp.Star) or column.is_star
        value = exp.Literal.number(1) if of_all else column.copy()
        return exp.Case().when(exp.and_(*presence, copy=False), value, copy=False)

    def _of_part(self, kind: AggregateKind, part: _Part, node: exp.Expr) -> Expression:
        """An aggregate over one part of the people."""
        column, conditions, function = part.value, part.conditions, kind.names[0]
        is_condition = function in ("SUM", "AVG") and self._is_condition(column)
        if is_condition and split_presence([column], self.columns)[1]:
            zero, one = map(exp.Literal.number, (0, 1))
            told = exp.Case().when(column.copy(), one, copy=False)
            column = told.when(exp.Not(this=exp.Paren(this=column.copy())), zero, copy=False)
        elif is_condition:
            met = self._call("COUNT", None, [*conditions, column], node)
            alone = exp.Paren(this=column.copy())
            known = exp.Or(this=alone, expression=exp.Not(this=alone.copy()))
            everybody = self._call("COUNT", None, [*conditions, known], node)
            return met if function == "SUM" else Arithmetic("/", met, everybody)
        # COUNT(*), COUNT() and COUNT of a constant that is not NULL count everybody.
        if kind.takes == "rows" and isinstance(column, exp.Star | exp.Literal | exp.Boolean):
            return self._call("COUNT", None, conditions, node)
        if isinstance(column.this if isinstance(column, exp.Column) else column, exp.Star):
            written = function_name(node)
            raise refuse(f"{written} takes one column", node, f"write {written}(column)")
        if kind.products:
            moments = read_moments({"x": column}, kind.products, self.columns)
            return self._call(function, moments, conditions, node)
        return self._call(function, self._amount(column, kind, part.present), conditions, node)

    def _parts(self, column: exp.Expr, conditions: list[exp.Expr], function: str) -> list[_Part]:
        """The parts of the people over which a total is taken, where public columns tell them
        apart."""
        plain, found = column.unnest(), _branches(column, function)
        asked = [plain.this, *(branch.this for branch in plain.args.get("ifs") or ())]
        by_public = any(isinstance(each, exp.Expr) and self._public_in(each) for each in asked)
        is_total = function in ("COUNT", "SUM", "AVG")
        branches = [*in_time(found if is_total and by_public else islice(found, 2))]
        if split_presence([each for each in asked if isinstance(each, exp.Expr)], self.columns)[1]:
            branches = []
        if len(branches) != 1 and not (branches and is_total and by_public):
            branches = [_Part(column, [])]
        parts = []
        for branch in branches:
            names = self._public_in(branch.value)
            used = {part.name for part in branch.value.find_all(exp.Column)}
            has_measure = any(find_measure(self.columns.schema, name) is not None for name in used)
            is_split = is_total and len(names) + has_measure > 1
            by_nulls = _by_nulls(branch.value, names) if is_split else [branch]
            parts += [
                replace(each, conditions=[*conditions, *branch.conditions, *each.conditions])
                if each is not branch
                else replace(branch, conditions=[*conditions, *branch.conditions])
                for each in by_nulls
            ]
        return parts

    def _public_in(self, node: exp.Expr) -> list[str]:
        """The public columns of an expression, which may be NULL."""
        names = (self.columns.find(part.name) or "" for part in node.find_all(exp.Column))
        found = dict.fromkeys(filter(None, names))
        return [name for name in found if find_public_column(self.columns.schema, name)]

    def _call(
        self, function: str, column: Column, conditions: list[exp.Expr], node: exp.Expr
    ) -> Aggregate:
        """An aggregate under conditions."""
        number = None
        if conditions:
            read = tuple(read_predicate(each, self.columns) for each in conditions)
            predicate = read[0] if len(read) == 1 else And(read)
            number = self.filters.setdefault(predicate, len(self.filters))
        return Aggregate(function, column, self.columns.place(node), number)

    def _pair(
        self, kind: AggregateKind, column: exp.Expr, others: list[exp.Expr], call: exp.Expr
    ) -> ProductMoments:
        """The moments of y and x."""
        if len(others) != 1 or isinstance(column, exp.Star):
            name = kind.names[0]
            raise wrong(f"{name} takes two columns", call, f"write {name}(y, x)")
        factors = {"y": column, "x": others[0].unnest()}
        return read_moments(factors, kind.products, self.columns)

    def _read_rank(
        self, kind: AggregateKind, column: exp.Expr, others: list[exp.Expr], call: exp.Expr
    ) -> Ranked:
        """A dimension and a share; a negative one counts from the highest value."""
        name = kind.names[0]
        hint = f"write {name}(column, 0.5)"
        if any(other.find(exp.Array) for other in others):
            reason = "a list of shares stands by itself in the select list"
            raise refuse(reason, call, f"write {name} once for each share")
        share = number(others[0]) if len(others) == 1 else None
        if share is None or abs(share) > 1.0:
            raise wrong(f"{name} takes a dimension and a share from 0 to 1", call, hint)
        is_descending = share < 0.0 or isinstance(others[0], exp.Neg)
        written = others[0].find(exp.Literal)
        together = written.meta.get("together", ()) if written else ()
        found = self._read_ordering(column, kind)
        return Ranked(found, abs(share), is_descending, tuple(map(abs, together)))

    def _read_ordering(self, node: exp.Expr, kind: AggregateKind) -> str | Ordering:
        """The order in which people are put: the declared name of a dimension, or a number over the
        values of one."""
        if isinstance(node, exp.Column):
            return self.columns.name(node, kind.takes)
        return read_ordering(node, self.columns, kind.names[0])

    def _amount(
        self, node: exp.Expr, kind: AggregateKind, present: Collection[str]
    ) -> str | Amount | Ordering:
        """The argument of an aggregate: the declared name of a column, or an expression; present:
        public columns that are not NULL."""
        if kind.takes == "order":
            return self._read_ordering(node, kind)
        if not isinstance(node, exp.Column):
            is_summed = kind.takes == "number"
            return read_amount(node, self.columns, is_summed=is_summed, present=present)
        schema, name = self.columns.schema, self.columns.name(node)
        index = find_dimension(schema, name)
        if kind.takes == "number" and index is not None and find_measure(schema, name) is None:
            domain = schema.dimensions[index].domain
            of_numbers = isinstance(domain, Listed) and isinstance(domain.values[0], int)
            if domain.type == "int" or of_numbers:
                return read_amount(node, self.columns, is_summed=True)
        return self.columns.name(node, kind.takes)

    def _is_condition(self, node: exp.Expr) -> bool:
        """Whether a node is TRUE or FALSE, as far as its form tells."""
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            return self.columns.is_bool(self.columns.name(node))
        return isinstance(node, exp.Predicate | exp.Connector | exp.Not | exp.Boolean)

    def _distinct(self, node: exp.Expr, column: exp.Distinct) -> Refusal:
        # Public values can be counted; of private ones GROUP BY returns all that are declared.
        names = [part.name for part in column.find_all(exp.Column)]
        is_public = all(find_public_column(self.columns.schema, each) for each in names)
        return refuse(
            f"{function_name(node)}(DISTINCT ...) is not supported",
            node,
            f"ask SELECT COUNT(*) FROM (SELECT {names[0]} FROM {self.columns.table} GROUP BY "
            f"{names[0]})"
            if names and is_public
            else "reports cannot tell which declared values occur; write COUNT("
            f"{next(iter(names), '*')})",
        )

    def _refusal(self, node: exp.Expr) -> Refusal:
        """Why a node does not stand beside aggregates, and what to write instead."""
        if isinstance(node, exp.Column | LookupColumn) and not isinstance(node.this, exp.Star):
            return self._refuse_column(node)
        for kinds, reason, hint in _REFUSED_NODES:
            if isinstance(node, kinds):
                return refuse(reason, node, hint)
        call = node.this if isinstance(node, exp.IgnoreNulls | exp.RespectNulls) else node
        name, what = self.columns.source.name_call(call)
        if isinstance(call, exp.AggFunc):
            reason, hint = (
                f"{name} cannot be answered from randomized reports",
                f"use {_aggregates()}",
            )
            if isinstance(call, exp.Min | exp.Max):
                reason = f"{name} depends on single people, whom reports do not reveal"
                hint = self._instead_of_extreme(call)
            return refuse(reason, node, hint)
        if _is_bin(node):
            return refuse("this bin() is not a GROUP BY key", node, "add it to GROUP BY")
        hint = "use aggregates and arithmetic over them"
        if isinstance(call, NOW):
            hint = WRITE_A_DAY
        if isinstance(call, exp.DPipe | exp.Concat):
            what, hint = "joining texts", "join them in a query around this one"
        return refuse(f"{what} is not supported here", node, hint)

    def _refuse_column(self, node: exp.Expr) -> Refusal:
        """Why a column does not stand beside aggregates, and what to write instead."""
        is_bare = isinstance(node, exp.Column) and not node.table
        if is_bare and self.columns.find(node.name) is None and self._aliases:
            error = self.columns.unknown(node)
            meant = did_you_mean(node.name, self._aliases)
            return wrong(error.reason, node, meant + error.hint)
        name, schema = node.name, self.columns.schema
        if isinstance(node, exp.Column):
            name = self.columns.name(node)
        hint = f"add GROUP BY {name}, or aggregate it"
        if find_measure(schema, name) is not None and find_dimension(schema, name) is None:
            hint = f"write AVG({name})"
        for window in outside_queries(self.select, exp.Window):
            if _kind_of(window.this) is not None:
                call = window.this.sql(dialect="duckdb", comments=False)
                hint = f"ask SELECT {name}, {call} FROM {self.columns.table} GROUP BY {name}"
        return refuse(
            f"{name} stands outside of an aggregate and is not a GROUP BY key", node, hint
        )

    def _instead_of_extreme(self, node: exp.Min | exp.Max) -> str:
        """A hint at what can be asked instead of MIN or MAX of a column."""
        made, schema = "make a table with ldpsql synthesize", self.columns.schema
        name = self.columns.find(node.this.name) if isinstance(node.this, exp.Column) else None
        index = find_dimension(schema, name) if name else None
        if name and find_public_column(schema, name):
            return f"GROUP BY {name} in a CTE, and ask it of its rows"
        if name is None or index is None:
            return made
        if schema.dimensions[index].domain.type not in ("int", "float"):
            return f"count by it: GROUP BY {name}; or {made}"
        share = 0.01 if isinstance(node, exp.Min) else 0.99
        return f"ask QUANTILE_DISC({name}, {share}), or {made}"


def check_parts(
    node: exp.Expr, allowed: Collection[str], refused: Mapping[str, tuple[str, str]] | None = None
) -> None:
    """Refuse the parts of a node that are not allowed; refused: why, and what to write instead."""
    for part, value in node.args.items():
        if value not in (None, False, []) and part not in allowed:
            general = f"{part.strip('_').upper()} is not supported", "leave it out"
            reason, hint = (refused or _REFUSED_PARTS).get(part, general)
            first = value[0] if isinstance(value, list) else value
            raise refuse(reason, first if isinstance(first, exp.Expr) else node, hint)


def alias_of(item: exp.Expr) -> str:
    """The name that AS gives a select item, or an empty string.

    sqlglot also calls the named window of OVER an alias.
    """
    return item.alias if isinstance(item, exp.Alias | exp.Subquery) else ""


def _refuse_many(clause: exp.Expr) -> Refusal:
    """For more sets of keys than are answered."""
    return refuse(f"more than {MAX_SETS} grouping sets", clause, "list fewer")


def _refuse_keys(count: int, clause: exp.Expr) -> Refusal:
    """For more keys than are answered."""
    reason = f"GROUP BY takes at most {_MOST_KEYS} keys, and these are {count:,}"
    return refuse(reason, clause, "group by fewer")


def require_items(items: Sequence[exp.Expr]) -> None:
    """Refuse more items of a SELECT than DuckDB binds in a moment, which nothing interrupts."""
    if len(items) > MOST_ITEMS:
        reason = f"SELECT takes at most {MOST_ITEMS:,} columns, and these are {len(items):,}"
        raise refuse(reason, items[-1], "ask for fewer, or in several queries")


def _name(node: exp.Expr, name: str) -> exp.Expr:
    return exp.alias_(node, exp.to_identifier(name, quoted=True), copy=False)


def _is_bin(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and function_name(node) == "BIN"


def _is_call(node: exp.Expr, name: str, arguments: int) -> bool:
    """Whether a node calls a function that sqlglot does not know, with so many arguments."""
    is_named = isinstance(node, exp.Anonymous) and function_name(node) == name
    return is_named and len(node.expressions) == arguments


def _as_average(node: exp.Expr) -> exp.Expr:
    """CDF(x, v) as AVG(x <= v), anything else as it is."""
    if not _is_call(node, "CDF", 2):
        return node
    return exp.Avg(this=exp.LTE(this=node.expressions[0], expression=node.expressions[1]))


def has_aggregate(node: exp.Expr) -> bool:
    """Whether an aggregate, or its error bar, stands somewhere in a node."""
    return any(
        isinstance(part, exp.AggFunc | exp.Query)
        or _kind_of(part) is not None
        or (isinstance(part, exp.Anonymous) and function_name(part) in _AGGREGATE_NAMES)
        for part in node.walk()
    )


def _is_measurable(node: exp.Expr) -> bool:
    """Whether a node is arithmetic over at least one aggregate and nothing else."""
    has_aggregate = False
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if type(part) in _OPERATORS:
            waiting += [part.this, part.expression]
        elif isinstance(part, exp.Paren | exp.Neg):
            waiting.append(part.this)
        elif _kind_of(part) is not None:
            has_aggregate = True
        elif not isinstance(part, exp.Literal) or part.is_string:
            return False
    return has_aggregate


@dataclass(frozen=True)
class _Part:
    """The value that a total adds up for the people who satisfy some conditions.

    present: public columns that are never NULL there.
    """

    value: exp.Expr
    conditions: list[exp.Expr]
    present: Sequence[str] = ()


def _branches(node: exp.Expr, function: str) -> Iterator[_Part]:
    """The branches of a CASE or IF that add something, or a node that is neither. Each repeats the
    conditions of those before it."""
    plain, met = node.unnest(), list[exp.Expr]()
    other = plain.args.get("default" if isinstance(plain, exp.Case) else "false")
    if not isinstance(plain, exp.Case | exp.If):
        yield _Part(node, [])
        return
    branches = plain.args["ifs"] if isinstance(plain, exp.Case) else [plain]
    for branch in [*branches, None]:
        condition, value = None, other
        if branch is not None:
            condition, value = branch.this, branch.args["true"]
            if isinstance(plain, exp.Case) and plain.this:
                condition = exp.EQ(this=plain.this, expression=condition)
        is_zero = function == "SUM" and isinstance(value, exp.Literal) and number(value) == 0.0
        if value is not None and not isinstance(value, exp.Null) and not is_zero:
            # Whoever satisfies one of the conditions before is not asked.
            before = (exp.Is(this=each.copy(), expression=exp.true()) for each in met)
            conditions = [exp.Not(this=each) for each in before]
            own = [] if condition is None else [condition.copy()]
            yield _Part(value.unnest(), conditions + own)
        if condition is not None:
            met.append(exp.Paren(this=condition.copy()))


def _by_nulls(node: exp.Expr, names: Sequence[str]) -> list[_Part]:
    """An expression for every set of public columns that are NULL; where it does not choose between
    columns, NULL in one makes all of it NULL, which adds nothing."""
    parts = []
    for is_present in product((True, False), repeat=len(names)):
        if not all(is_present) and node.find(exp.Case, exp.If) is None:
            continue
        present = [name for name, is_there in zip(names, is_present, strict=True) if is_there]
        copy, conditions = exp.Paren(this=node.copy()), list[exp.Expr]()
        for name in names:
            test = exp.Is(this=exp.column(name, quoted=True), expression=exp.null())
            conditions.append(exp.Not(this=test) if name in present else test)
        for part in list(copy.find_all(exp.Column)):
            if part.name.lower() in {name.lower() for name in names if name not in present}:
                part.replace(exp.cast(exp.null(), "DOUBLE"))
        parts.append(_Part(copy.this, conditions, present))
    return parts


def _kind_of(node: exp.Expr) -> AggregateKind | None:
    """The aggregate that a node calls; None for anything else."""
    if isinstance(node, exp.Filter):
        return _kind_of(node.this)
    if isinstance(node, exp.Window):
        return _kind_of(node.this.this) if "over" in node.meta else None
    if isinstance(node, exp.WithinGroup):
        return _kind_of(node.this)
    if isinstance(node, exp.CountIf):
        return find_aggregate("COUNT")
    if isinstance(node, exp.Anonymous):
        return find_aggregate(function_name(node))
    names = type(node).sql_names() if isinstance(node, exp.Func) else []
    return next((kind for name in names if (kind := find_aggregate(name))), None)


def _one_by_one(item: exp.Expr) -> list[exp.Expr]:
    """A select item; one for each share where it is an aggregate with a list of shares.

    Each share knows all of them, and each item what follows the name.
    """
    call = item.unalias().unnest()
    kind, lists = _kind_of(call), list(call.find_all(exp.Array))
    if kind is None or kind.takes != "share" or len(lists) != 1:
        return [item]
    if len(lists[0].expressions) > MAX_SHARES:
        raise refuse(f"more than {MAX_SHARES} shares in a list", lists[0], "list fewer")
    shares = [number(each) for each in lists[0].expressions]
    if not shares or any(share is None or abs(share) > 1.0 for share in shares):
        raise wrong("a list of shares holds numbers from 0 to 1", lists[0], "write [0.1, 0.5, 0.9]")
    if len({share < 0.0 for share in shares if share}) > 1:
        raise refuse(
            "the shares of one list must count from the same end", lists[0], "write two lists"
        )
    items = []
    for place, written in enumerate(lists[0].expressions):
        copy = item.copy()
        share = written.copy()
        for literal in share.find_all(exp.Literal):
            literal.meta["together"] = shares
        next(iter(copy.find_all(exp.Array))).replace(share)
        copy.meta["suffix"] = f"[{place + 1}]"
        items.append(copy)
    return items


def _arguments(call: exp.Expr) -> list[exp.Expr]:
    """The arguments of an aggregate; the column that WITHIN GROUP orders by comes first.

    With a descending order a share is counted from the highest value, as a negative one is.
    """
    if isinstance(call, exp.WithinGroup):
        (item, *more) = call.expression.expressions
        shares = [share.copy() for share in _arguments(call.this)]
        if more:
            raise refuse("WITHIN GROUP orders by one column", more[0], "leave it out")
        if item.args.get("desc"):
            shares = [exp.Neg(this=exp.Paren(this=share)) for share in shares]
        return [item.this, *shares]
    called = call.expressions if isinstance(call, exp.Anonymous) else call.iter_expressions()
    return list(called)


def _constant_count(node: exp.Expr | None) -> exp.Expr | None:
    """LIMIT or OFFSET with a constant."""
    if node is None:
        return None
    if node.args.get("expressions") or not is_constant(node.expression):
        raise refuse("LIMIT and OFFSET take a constant", node, "write LIMIT 10")
    share = node.args.get("limit_options")
    return type(node)(
        expression=node.expression.copy(), **({"limit_options": share.copy()} if share else {})
    )


def _aggregates() -> str:
    """Those of one column."""
    kinds = (kind for kind in aggregates.AGGREGATES if "y" not in "".join(kind.products))
    return ", ".join(kind.names[0] for kind in kinds)
