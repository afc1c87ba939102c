"""FROM one survey JOIN another: aggregates over pairs of different people.

A pair of people meets a condition that compares columns of both where their values do, and the
number of pairs with two values is the product of the numbers of people with each. So every
survey is asked by itself, grouped by its columns in such conditions and in GROUP BY, and the
answers are multiplied and added up in an outer query:

    SELECT a.g, SUM(a.x) FROM a JOIN b ON a.k = b.k WHERE p(a) AND q(b) GROUP BY a.g

is the sum over the values of k of SUM(x) FILTER (p) in a times COUNT(*) FILTER (q) in b. Reports of
different people are independent, so products of unbiased answers are unbiased.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce

from sqlglot import exp

from ldpsql.domains import find_dimension, find_measure, find_public_column, is_listed_out
from ldpsql.parser.allowed import is_aggregate
from ldpsql.parser.columns import Columns, own_columns
from ldpsql.parser.joins import all_of, conjuncts
from ldpsql.parser.select import alias_of, check_parts
from ldpsql.parser.source import Refusal, Source, refuse, wrong
from ldpsql_device.schema import RESERVED_PREFIX

MAX_SURVEYS = 4
MAX_TERMS = 64
_ADD = "add COUNT(*), or SUM or AVG of a column"
_PARTS = {"distinct", "expressions", "from_", "group", "having", "joins", "limit", "offset"}
_PARTS |= {"order", "qualify", "where", "with_"}
_LINEAR = (exp.Add, exp.Column, exp.Identifier, exp.Literal, exp.Mul, exp.Neg, exp.Paren, exp.Sub)
_SEPARATELY = "write JOIN ... ON or USING, or aggregate each survey in a CTE and join the results"


@dataclass
class _Side:
    """One of the surveys. keys: its columns that are grouped by.  sums: its aggregates, and their
    names.  conditions: those that speak of it alone."""

    table: exp.Table
    columns: Columns
    keys: dict[str, str] = field(default_factory=dict)
    sums: dict[exp.Expr, str] = field(default_factory=dict)
    conditions: list[exp.Expr] = field(default_factory=list)

    def column(self, name: str) -> exp.Column:
        """A column of the side's answers."""
        return exp.column(name, table=exp.to_identifier(self.columns.alias, quoted=True))

    def key(self, node: exp.Column) -> exp.Column:
        """The key for a column of the survey, by which its answers are grouped."""
        name = self.columns.name(node, "key")
        return self.column(self.keys.setdefault(name, f"{RESERVED_PREFIX}k{len(self.keys)}"))

    def has_bins(self, node: exp.Column) -> bool:
        """Whether a column is a dimension of which several values share a code."""
        schema = self.columns.schema
        index = find_dimension(schema, self.columns.name(node, "key"))
        return index is not None and not is_listed_out(schema.dimensions[index].domain)

    def may_be_null(self, node: exp.Column) -> bool:
        """Whether somebody may have NULL in a column."""
        schema, name = self.columns.schema, self.columns.name(node)
        index = find_dimension(schema, name)
        if index is None:
            return find_public_column(schema, name) is not None
        return schema.dimensions[index].has_null

    def list_known(self, factor: exp.Expr) -> list[exp.Expr]:
        """The conditions under which a factor is not NULL; an error where a measure is chosen."""
        columns = list(own_columns(exp.Paren(this=factor.copy())))
        if all(isinstance(part, _LINEAR) for part in factor.walk()):
            return [_is_known(column) for column in columns if self.may_be_null(column)]
        schema = self.columns.schema
        if any(find_measure(schema, column.name) is not None for column in columns):
            reason = "this may be NULL, and so is the sum that it stands in"
            raise refuse(reason, factor, "write the sum of several aggregates")
        return [_is_known(factor)]

    def sum(self, aggregate: exp.Expr, condition: exp.Expr | None) -> exp.Column:
        """The column for an aggregate over the survey, of whom the condition holds."""
        if condition is not None:
            where = exp.Where(this=condition.copy())
            aggregate = exp.Filter(this=aggregate, expression=where)
        name = self.sums.setdefault(aggregate, f"{RESERVED_PREFIX}s{len(self.sums)}")
        return self.column(name)

    def write(self) -> exp.Subquery:
        """The survey's own answers."""
        wanted = {exp.column(key, quoted=True): name for key, name in self.keys.items()}
        asked = wanted | (self.sums or {exp.Count(this=exp.Star()): f"{RESERVED_PREFIX}s0"})
        select = exp.Select(
            expressions=[exp.alias_(what, name, quoted=True) for what, name in asked.items()],
            from_=exp.From(this=self.table),
            where=exp.Where(this=all_of(self.conditions)) if self.conditions else None,
            group=exp.Group(expressions=[key.copy() for key in wanted]) if wanted else None,
        )
        alias = exp.TableAlias(this=exp.to_identifier(self.columns.alias, quoted=True))
        return exp.Subquery(this=select, alias=alias)


_Term = dict[int, list[exp.Expr]]
"""A product: the factors over each side, by its place."""


def write_pairs(select: exp.Select, sides: Sequence[Columns], source: Source) -> exp.Select:
    """A SELECT over a join of surveys as one over the answers of each.

    sides: of FROM and of every JOIN, in order.

    An error for other joins than INNER and CROSS, for a survey that is there twice, for columns
    that nobody or several have, and for aggregates that are not sums over pairs.
    """
    return _PairWriter(select, sides, source).write()


class _PairWriter:
    def __init__(self, select: exp.Select, sides: Sequence[Columns], source: Source) -> None:
        self.select, self.source = select, source
        self.joins: list[exp.Join] = select.args["joins"]
        tables = [select.args["from_"].this, *(join.this for join in self.joins)]
        _check_sides(select, sides, self.joins)
        self.sides = [_Side(table, columns) for table, columns in zip(tables, sides, strict=True)]
        self.joint: list[tuple[set[int], exp.Expr]] = []
        self.merged = {
            name.name.lower() for join in self.joins for name in join.args.get("using") or ()
        }

    def write(self) -> exp.Select:
        self._read_conditions()
        args = self.select.args
        items = [self._item(item) for item in self.select.expressions]
        rest = exp.Select(expressions=items, with_=args.get("with_"))
        for part in ("distinct", "group", "having", "qualify", "limit", "offset"):
            if args.get(part):
                rest.set(part, self._outer(args[part].copy()))
        if args.get("order"):
            rest.set("order", self._order(args["order"].copy()))
        if not any(side.sums for side in self.sides):
            where = next(iter(self.select.expressions), self.select)
            raise refuse("a join of surveys without an aggregate is not supported", where, _ADD)
        rest.set("from_", exp.From(this=self.sides[0].write()))
        waiting, joins = self.joint, list[exp.Join]()
        for place in range(1, len(self.sides)):
            ready = [node for met, node in waiting if max(met, default=0) <= place]
            waiting = [(met, node) for met, node in waiting if max(met, default=0) > place]
            on = {"on": all_of(ready)} if ready else {"kind": "CROSS"}
            joins.append(exp.Join(this=self.sides[place].write(), **on))
        rest.set("joins", joins)
        return rest

    # -- conditions -----------------------------------------------------------------------

    def _read_conditions(self) -> None:
        """Take WHERE, ON and USING apart: what speaks of one survey, and what compares several."""
        merged = set[str]()
        for place, join in enumerate(self.joins, 1):
            for name in join.args.get("using") or ():
                own = self.sides[place]
                if own.columns.find(name.name) is None:
                    raise own.columns.unknown(name)
                found = [s for s in range(place) if self.sides[s].columns.find(name.name)]
                if not found:
                    raise self.sides[0].columns.unknown(name)
                if len(found) > 1 and name.name.lower() not in merged:
                    raise self._ambiguous(name, found)
                merged.add(name.name.lower())
                left, right = (
                    exp.column(name.copy(), table=self.sides[s].columns.alias)
                    for s in (found[0], place)
                )
                self._add_condition(exp.EQ(this=left, expression=right))
            if join.args.get("on"):
                self._add_condition(join.args["on"])
        if self.select.args.get("where"):
            self._add_condition(self.select.args["where"].this)

    def _add_condition(self, condition: exp.Expr) -> None:
        for node in conjuncts(condition):
            met = self._sides_of(node)
            if len(met) == 1:
                self.sides[met.pop()].conditions.append(exp.Paren(this=node.copy()))
            else:
                self.joint.append((met, self._compare(node.copy())))

    def _compare(self, node: exp.Expr) -> exp.Expr:
        """A condition on columns of several surveys, or none, over the keys of their answers."""
        root = exp.Paren(this=node)
        for column in list(own_columns(root)):
            side = self.sides[self._side_of(column)]
            if side.has_bins(column):
                raise refuse(
                    f"{column.name} is in bins, whose values nothing tells apart",
                    column,
                    "compare columns of which every value is declared",
                )
            column.replace(side.key(column))
        return root

    def _sides_of(self, node: exp.Expr) -> set[int]:
        root = exp.Paren(this=node.copy())
        return {self._side_of(column) for column in own_columns(root)}

    def _side_of(self, column: exp.Column) -> int:
        """The place of the survey that a column is of."""
        name, qualifier = column.name, column.table.lower()
        named = [
            place
            for place, side in enumerate(self.sides)
            if qualifier in ("", side.columns.alias.lower())
        ]
        found = [place for place in named if self.sides[place].columns.find(name)]
        if not named or (qualifier and not found):
            self.sides[named[0] if named else 0].columns.name(column)
        if not found:
            raise self._unknown(column)
        if len(found) > 1 and name.lower() not in self.merged:
            raise self._ambiguous(column, found)
        return found[0]

    def _ambiguous(self, node: exp.Expr, places: Sequence[int]) -> Refusal:
        hint = " or ".join(f"{self.sides[place].columns.alias}.{node.name}" for place in places)
        return wrong(f"several surveys have a column {node.name!r}", node, f"write {hint}")

    def _unknown(self, column: exp.Column) -> Refusal:
        tables = " and ".join(side.columns.table for side in self.sides)
        hint = "DESCRIBE lists the columns of each"
        return wrong(f"{tables} have no column {column.name!r}", column, hint)

    # -- the select list and what is behind it --------------------------------------------

    def _item(self, item: exp.Expr) -> exp.Expr:
        written = item.unalias()
        if isinstance(written.this if isinstance(written, exp.Column) else written, exp.Star):
            raise refuse("* would show single people", item, _ADD)
        name = alias_of(item)
        if not name:
            is_column = isinstance(written, exp.Column)
            name = written.name if is_column else self.source.text(written)
        return exp.alias_(
            self._outer(written.copy()), exp.to_identifier(name, quoted=True), copy=False
        )

    def _outer(self, node: exp.Expr) -> exp.Expr:
        """An expression with aggregates over pairs written as sums over products of answers."""
        if isinstance(node, exp.Query):
            return node
        if isinstance(node, exp.Filter | exp.AggFunc) or is_aggregate(node):
            return self._aggregate(node)
        if isinstance(node, exp.Column):
            return self._named(node)
        if isinstance(node, exp.Window):
            called = node.this
            if isinstance(called, exp.Filter):
                called.set("expression", self._rebuild(called.expression))
                called = called.this
            for part, value in list(called.args.items()):
                called.set(part, self._rebuild(value))
            for part in ("partition_by", "order"):
                node.set(part, self._rebuild(node.args.get(part)))
            return node
        for part, value in list(node.args.items()):
            node.set(part, self._rebuild(value))
        return node

    def _rebuild(self, value: object) -> object:
        if isinstance(value, list):
            return [self._rebuild(part) for part in value]
        return self._outer(value) if isinstance(value, exp.Expr) else value

    def _order(self, order: exp.Expr) -> exp.Expr:
        """ORDER BY, in which the name of a select item goes before a column's."""
        for item in order.expressions:
            if not (isinstance(item.this, exp.Column) and self._is_alias(item.this)):
                self._outer(item)
        return order

    def _is_alias(self, node: exp.Column) -> bool:
        """Whether a select item has the name."""
        names = {alias_of(item).lower() for item in self.select.expressions}
        return not node.table and node.name.lower() in names

    def _named(self, node: exp.Column) -> exp.Expr:
        """A column outside of aggregates: a key, or the name of a select item."""
        is_column = any(side.columns.find(node.name) for side in self.sides)
        if not is_column and self._is_alias(node):
            return node
        side = self.sides[self._side_of(node)]
        outside = node.find_ancestor(exp.Binary, exp.Func, exp.Predicate, exp.Neg)
        if outside is not None and side.has_bins(node):
            reason = f"{node.name} is in bins, of which an expression cannot be worked out"
            raise refuse(reason, node, "group by the column itself")
        return side.key(node)

    # -- aggregates -----------------------------------------------------------------------

    def _aggregate(self, node: exp.Expr) -> exp.Expr:
        """A call of COUNT, SUM, AVG or COUNT_IF, perhaps with FILTER."""
        call, conditions = node, list[exp.Expr]()
        if isinstance(node, exp.Filter):
            call, conditions = node.this, list(conjuncts(node.expression.this))
        if isinstance(call, exp.CountIf):
            conditions += conjuncts(call.this)
            call = exp.Count(this=exp.Star())
        is_known = isinstance(call, exp.Count | exp.Sum | exp.Avg)
        if not is_known or call.find(exp.Distinct) or call.expressions:
            what = "DISTINCT" if call.find(exp.Distinct) else self.source.name_call(call)[1]
            hint = "COUNT, SUM and AVG are; or aggregate each survey in a CTE and join the results"
            raise refuse(f"{what} is not supported over a join of surveys", call, hint)
        own: dict[int, exp.Expr] = {}
        joint: list[exp.Expr] = []
        for condition in conditions:
            met = self._sides_of(condition)
            if len(met) == 1:
                place = met.pop()
                own[place] = all_of([*([own[place]] if place in own else []), condition.copy()])
            else:
                joint.append(self._compare(condition.copy()))
        argument = call.this
        if argument is None or isinstance(argument, exp.Star):
            return self._total(exp.Count, [({}, 1)], own, joint)
        terms = self._terms(argument)
        if isinstance(call, exp.Sum):
            if len(terms) > 1:
                self._require_known(terms, own)
            return self._total(exp.Sum, terms, own, joint)
        if len(terms) > 1:
            hint = "write the sum of several aggregates"
            raise refuse("this is a sum over columns of several surveys", argument, hint)
        count = self._total(exp.Count, [(terms[0][0], 1)], own, joint)
        if isinstance(call, exp.Count):
            return count
        total = self._total(exp.Sum, terms, own, joint)
        return exp.Paren(this=exp.Div(this=total, expression=_null_if_zero(count)))

    def _require_known(self, terms: Sequence[tuple[_Term, int]], own: dict[int, exp.Expr]) -> None:
        """Leave out pairs with a NULL in any product: the sum of all is NULL then, and adds
        nothing."""
        for place, side in enumerate(self.sides):
            factors = dict.fromkeys(part for term, _ in terms for part in term.get(place, ()))
            known = dict.fromkeys(each for factor in factors for each in side.list_known(factor))
            if known:
                own[place] = all_of([*([own[place]] if place in own else []), *known])

    def _total(
        self,
        kind: type[exp.Count] | type[exp.Sum],
        terms: Sequence[tuple[_Term, int]],
        own: dict[int, exp.Expr],
        joint: Sequence[exp.Expr],
    ) -> exp.Expr:
        """The sum over pairs of answers of the products of every term; 0 for nobody."""
        written: list[exp.Expr] = []
        for term, sign in terms:
            factors: list[exp.Expr] = []
            for place, side in enumerate(self.sides):
                parts = [part.copy() for part in term.get(place, ())]
                of = _product(exp.Paren(this=part) for part in parts) if parts else exp.Star()
                aggregate = kind(this=of) if parts else exp.Count(this=of)
                factors.append(side.sum(aggregate, own.get(place)))
            product = _product(factors)
            written.append(product if sign > 0 else exp.Neg(this=exp.Paren(this=product)))
        total: exp.Expr = exp.Sum(
            this=reduce(lambda left, right: exp.Add(this=left, expression=right), written)
        )
        if joint:
            total = exp.Filter(this=total, expression=exp.Where(this=all_of(joint)))
        return exp.Coalesce(this=total, expressions=[exp.Literal.number(0)])

    def _terms(self, node: exp.Expr) -> list[tuple[_Term, int]]:
        """An expression as a sum of products of expressions that each are of one survey."""
        met = self._sides_of(node)
        if len(met) <= 1:
            return [({next(iter(met), 0): [node]}, 1)]
        if isinstance(node, exp.Paren):
            return self._terms(node.this)
        if isinstance(node, exp.Neg):
            return [(term, -sign) for term, sign in self._terms(node.this)]
        if isinstance(node, exp.Add | exp.Sub):
            turned = -1 if isinstance(node, exp.Sub) else 1
            right = [(term, turned * sign) for term, sign in self._terms(node.expression)]
            return [*self._terms(node.this), *right]
        if isinstance(node, exp.Mul):
            pairs = [
                (_merge(left, right), first * second)
                for left, first in self._terms(node.this)
                for right, second in self._terms(node.expression)
            ]
            if len(pairs) <= MAX_TERMS:
                return pairs
            raise refuse(f"more than {MAX_TERMS} products", node, "write several aggregates")
        raise refuse(
            "this expression is not a sum of products of the surveys' own columns",
            node,
            "multiply, add or subtract expressions over one survey each",
        )


def _check_sides(select: exp.Select, sides: Sequence[Columns], joins: Sequence[exp.Join]) -> None:
    """Refuse what is not an inner join of a few different surveys."""
    if len(sides) > MAX_SURVEYS:
        raise refuse(f"more than {MAX_SURVEYS} surveys are joined", joins[MAX_SURVEYS - 1].this)
    check_parts(select, _PARTS)
    for place, (join, own) in enumerate(zip(joins, sides[1:], strict=True), 1):
        words = [str(join.args.get(part) or "").upper() for part in ("method", "side", "kind")]
        if words[0] or words[1] or words[2] not in ("", "INNER", "CROSS"):
            reason = f"{' '.join(filter(None, words))} JOIN of surveys is not supported"
            raise refuse(reason, join.this, _SEPARATELY)
        check_parts(join, ("this", "on", "using", "kind"))
        before = sides[:place]
        if any(side.table == own.table for side in before):
            reason = f"{own.table} is joined with itself: its people would meet themselves"
            raise refuse(reason, join.this, "join surveys of different people")
        if any(side.alias.lower() == own.alias.lower() for side in before):
            raise wrong(f"two relations are called {own.alias!r}", join.this)


def _is_known(node: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=exp.Paren(this=node.copy()), expression=exp.Null()))


def _merge(left: _Term, right: _Term) -> _Term:
    """The product of two products."""
    return {place: [*left.get(place, ()), *right.get(place, ())] for place in {*left, *right}}


def _product(factors: Iterable[exp.Expr]) -> exp.Expr:
    return reduce(lambda left, right: exp.Mul(this=left, expression=right), factors)


def _null_if_zero(node: exp.Expr) -> exp.Expr:
    return exp.Nullif(this=node, expression=exp.Literal.number(0))
