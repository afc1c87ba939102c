"""Scalar expressions over columns: what DuckDB will evaluate over their declared values.

Expressions that are summed may also hold measures and public columns, in which they are linear:
what multiplies these is read off by putting numbers in their place.

Of an ordered dimension that is collected in bins the values inside a bin cannot all be listed
where it is of floats or moments. Such a column is compared with edges only; moments may also be
rounded to hours and more.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import combinations
from typing import TYPE_CHECKING

from sqlglot import exp

from ldpsql.errors import QueryError
from ldpsql.limits import check, in_time
from ldpsql.parser import binder
from ldpsql.parser.allowed import is_deterministic
from ldpsql.parser.columns import Columns, LookupColumn, outside_queries, own_columns
from ldpsql.parser.source import Refusal, refuse, wrong
from ldpsql.parser.values import fold, is_constant
from ldpsql.sql import domains
from ldpsql.sql.aggregates import Amount, Ordering, ProductMoments, Share
from ldpsql.sql.domains import find_dimension, find_measure, find_public_column
from ldpsql.sql.quoting import DECLARED, Join, Scalar, literal, quote
from ldpsql_device.description import Edges
from ldpsql_device.schema import Dimension, PublicColumn
from ldpsql_device.values import Listed, Ordered, Value

if TYPE_CHECKING:
    from ldpsql.sql.lookups import PublicTable

OPERATORS: Mapping[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
NOW = (exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp, exp.Localtimestamp)
WRITE_A_DAY = "write the day itself, such as DATE '2026-01-31', or pass it as a parameter"
Signed = list[tuple[int, Scalar]]
_MOST_NULLABLE = 2
"""Measures that may be missing in one expression: each doubles the sums that it takes."""
_MEASURED = "is_measured"
"""Of a column that is a measure and a dimension: here it is the measure."""
MOST_JOINED = 16
"""How often texts may be joined in one expression, or in all queries over results together: with
every name for a longer text, texts may double each time."""
_HOURS = {"HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "DOW", "ISODOW", "DOY", "DECADE"}
_HOURS |= {"ISOYEAR", "CENTURY", "YEARWEEK"}
_OF_HOURS = (
    *(exp.Year, exp.Quarter, exp.Month, exp.Week, exp.WeekOfYear, exp.Day, exp.DayOfMonth),
    *(exp.DayOfWeek, exp.DayOfWeekIso, exp.DayOfYear, exp.Hour, exp.Dayname, exp.Monthname),
)
_FORMAT_OF_HOURS = re.compile(r"(?:[^%]|%-?[YyGmbBdjaAuwUWVHIp%])*")
"""Formats of strftime that leave minutes and seconds out."""


def read_scalar(node: exp.Expr, columns: Columns) -> Scalar:
    """The expression that a node is over dimensions, or over public columns.

    An error for unknown columns, for measures, for what is not on the allow-list, for columns of
    both kinds together, and for types that do not fit.
    """
    return scalar_of(node.copy(), node, columns)


def scalar_of(tree: exp.Expr, node: exp.Expr, columns: Columns) -> Scalar:
    """As `read_scalar`, of a tree that may be changed; node: where it stands."""
    if sum(1 for _ in tree.find_all(exp.DPipe, exp.Concat)) > MOST_JOINED:
        reason = f"texts are joined more than {MOST_JOINED} times"
        raise refuse(reason, node, "join fewer of them")
    root, read = exp.Paren(this=tree), _Named(columns)
    waiting: list[exp.Expr] = [tree]
    while waiting:
        part = waiting.pop()
        check_declared(part, columns)
        by_edges = _by_edges(part, columns)
        if by_edges is not None:
            name, text = by_edges
            read.names[name] = None
            part.replace(exp.maybe_parse(text, dialect="duckdb"))
        elif isinstance(part, exp.Column | LookupColumn) and not isinstance(part.this, exp.Star):
            part.replace(exp.column(read.name(part), quoted=True))
        elif isinstance(part, exp.Query):
            query, tables = columns.public(part)
            read.tables.update(dict.fromkeys(tables))
            for column in _of_outer_rows(query, tables):
                column.replace(exp.column(read.name(column), table=DECLARED, quoted=True))
            part.replace(query)
        elif not is_deterministic(part):
            raise _refusal(part, columns)
        else:
            waiting += part.iter_expressions()
    read.check(node)
    ordered = tuple(sorted(read.names, key=columns.names.index))
    text = root.this.sql(dialect="duckdb", comments=False)
    kind = binder.find_scalar_kind(text, ordered, columns.schema, read.kinds, [*read.tables], node)
    return Scalar(text, ordered, kind, columns.place(node), tuple(read.joins), tuple(read.tables))


@dataclass
class _Named:
    """The columns, joins and tables that an expression names, each once.

    names: columns of the survey, those among them on which joined rows depend.  kinds: columns of
    joined rows, with their kinds.  joins: of these rows.  tables: what subqueries read.
    """

    columns: Columns
    names: dict[str, None] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    joins: dict[Join, None] = field(default_factory=dict)
    tables: dict[PublicTable, None] = field(default_factory=dict)

    def name(self, node: exp.Column | LookupColumn) -> str:
        """The name of a column in the text."""
        found = self.columns.lookup(node) if isinstance(node, exp.Column) else node
        if isinstance(node, exp.Column) and found is None:
            name = self.columns.name(node, "key")
            _check_bins(node, name, self.columns)
            self.names[name] = None
            return name
        assert found is not None
        rows = self.columns.rows_of(found)
        name = f"{rows.alias}.{found.name}"
        self.kinds[name] = rows.kinds[name]
        for join in self.columns.joins:
            if join.alias == rows.alias:
                self.joins[join] = None
                self.names.update(dict.fromkeys(join.on.columns))
        return name

    def check(self, node: exp.Expr) -> None:
        """Refuse private and public columns together, and joined rows that public ones choose."""
        schema = self.columns.schema
        private = [name for name in self.names if find_dimension(schema, name) is not None]
        public = [name for name in self.names if name not in private]
        if public and private:
            reason = (
                f"an expression cannot combine {private[0]}, which is private, and {public[0]}, "
                "which is public"
            )
            hint = "write a condition for each, joined by AND or OR"
            raise refuse(reason, node, hint)
        if public and (self.kinds or self.tables):
            raise refuse(
                f"{public[0]} is public, and look-up tables are joined on private columns",
                node,
                f"GROUP BY {public[0]} in a CTE, and join its rows with them",
            )


def _of_outer_rows(query: exp.Query, tables: Collection[PublicTable]) -> list[exp.Column]:
    """The columns in a query over look-up tables that are not its own."""
    own = {name.lower() for table in tables for name in table.rows.column_names}
    aliases = {node.alias_or_name.lower() for node in query.find_all(exp.Table, exp.Subquery)}
    for alias in query.find_all(exp.TableAlias):
        aliases.add(alias.name.lower())
        own.update(column.name.lower() for column in alias.columns)
    own.update(item.alias.lower() for item in query.find_all(exp.Alias))

    def is_own(column: exp.Column) -> bool:
        is_known = column.table.lower() in aliases if column.table else column.name.lower() in own
        return is_known or isinstance(column.this, exp.Star)

    return [column for column in query.find_all(exp.Column) if not is_own(column)]


def check_declared(node: exp.Expr, columns: Columns) -> None:
    """Refuse a comparison of a listed dimension with a literal that no declared value equals, and
    write others as the declared values are."""
    compared: list[exp.Expr] = []
    if isinstance(node, exp.EQ | exp.NEQ | exp.NullSafeEQ | exp.NullSafeNEQ):
        compared = [node.this, node.expression]
    elif isinstance(node, exp.In):
        compared = [node.this, *node.expressions]
    elif isinstance(node, exp.Case) and node.this:
        compared = [node.this, *(branch.this for branch in node.args["ifs"])]
    rows = [each.expressions if isinstance(each, exp.Tuple) else [each] for each in compared]
    for place in in_time(range(min(map(len, rows), default=0))):
        operands = [row[place].unnest() for row in rows]
        named = [columns.find(each.name) for each in operands if isinstance(each, exp.Column)]
        for each in operands:
            if named and named[0] and is_constant(each):
                given = fold(each)
                value = columns.check_declared(named[0], given, each)
                if type(value) is not type(given):
                    each.replace(exp.convert(value))


def read_amount(
    node: exp.Expr, columns: Columns, *, is_summed: bool, present: Collection[str] = ()
) -> Amount:
    """The expression that a node is to be summed, or only counted.

    A column that is a measure and a dimension is the measure where it is added up, and the
    dimension elsewhere, or everywhere if this is all that has an answer.
    present: public columns that are not NULL; of the others, and of measures that may be missing,
    there is one at most. An error as for `read_scalar`, and where it is not linear in measures and
    public columns.
    """
    measured, names = _mark_measures(node, columns)
    try:
        return _read_amount(measured, columns, is_summed, present)
    except Refusal:
        if not names or not all(_is_listed_out(name, columns) for name in names):
            raise
    return _read_amount(node, columns, is_summed, present)


def _mark_measures(node: exp.Expr, columns: Columns) -> tuple[exp.Expr, list[str]]:
    """The expression with columns that are measures and dimensions marked as the former where they
    are added up, and their names."""
    root, names = exp.Paren(this=node.copy()), dict[str, None]()
    waiting: list[exp.Expr] = [root]
    while waiting:
        part = waiting.pop()
        if isinstance(part, exp.Column) and not isinstance(part.this, exp.Star):
            name = columns.find(part.name) or ""
            schema = columns.schema
            if find_dimension(schema, name) is not None and find_measure(schema, name) is not None:
                part.meta[_MEASURED] = True
                names[name] = None
        elif isinstance(part, exp.Mul):
            factors = [each for each in (part.this, part.expression) if _is_summable(each, columns)]
            waiting += factors if len(factors) == 1 else []
        else:
            waiting += _added_up(part)
    return root.this, [*names]


def _added_up(node: exp.Expr) -> list[exp.Expr]:
    """The parts of a node in which it is linear, but for the factors of a product."""
    if isinstance(node, exp.Case):
        return [*(branch.args["true"] for branch in node.args["ifs"]), *_given(node, "default")]
    if isinstance(node, exp.If):
        return _given(node, "true", "false")
    if isinstance(node, exp.Paren | exp.Neg | exp.Add | exp.Sub | exp.Coalesce):
        return list(node.iter_expressions())
    return [node.this] if isinstance(node, exp.Div) else []


def _given(node: exp.Expr, *parts: str) -> list[exp.Expr]:
    return [node.args[part] for part in parts if node.args.get(part)]


def _is_summable(node: exp.Expr, columns: Columns) -> bool:
    """Whether a node holds a measure or a public column."""
    names = [columns.find(part.name) or "" for part in own_columns(node)]
    schema = columns.schema
    return any(find_measure(schema, each) is not None or _public(each, columns) for each in names)


def _is_listed_out(name: str, columns: Columns) -> bool:
    """Whether the dimension of this name has a code for every value."""
    index = find_dimension(columns.schema, name)
    return index is not None and domains.is_listed_out(columns.schema.dimensions[index].domain)


def _is_of_dimension(node: exp.Expr, columns: Columns) -> bool:
    """Whether a column stands for the values of a dimension."""
    return _MEASURED not in node.meta and find_dimension(columns.schema, node.name) is not None


def _read_amount(
    node: exp.Expr, columns: Columns, is_summed: bool, present: Collection[str] = ()
) -> Amount:
    """As `read_amount`, of an expression whose measures are marked."""
    found = list(dict.fromkeys(_collect(node, columns)))
    _check_linear(node, columns)

    def with_values(**values: float | None) -> Scalar:
        """The expression with numbers in place of measures and public columns, 0 if not given."""
        tree = exp.Paren(this=node.copy())
        for part in list(outside_queries(tree, exp.Column)):
            name = columns.find(part.name) or ""
            if name in found and not _is_of_dimension(part, columns):
                part.replace(exp.cast(exp.convert(values.get(name, 0.0)), "DOUBLE"))
        return scalar_of(tree.this, node, columns)

    at_zero = with_values()
    if is_summed and at_zero.kind not in ("BIGINT", "DOUBLE", "BOOLEAN"):
        raise wrong(f"this is of type {at_zero.kind}: it has no sum", node)
    everywhere, is_product = [at_zero], bool(found) and _is_product(node, found, columns)
    shares = [
        Share(_difference(with_values(**{name: 1.0}), at_zero), name) for name in found if is_summed
    ]
    counted = [Share(_is_known(at_zero))]
    nullable = [name for name in found if _is_nullable(name, columns) and name not in present]
    measured = [name for name in nullable if not _public(name, columns)]
    _check_nullable(nullable, measured, node)
    if len(measured) > 1 or any(_is_mixed(name, node, columns) for name in measured):
        return _read_by_presence(node, columns, found, measured, is_summed, with_values)
    for name in nullable:
        at_null = with_values(**{name: None})
        for place, other in enumerate(found if is_summed and len(found) > 1 else ()):
            if other != name and _has_null_code(name, columns):
                beside = _difference(with_values(**{name: None, other: 1.0}), at_null)
                factor = _by_presence(shares[place].factor, beside.text, name)
                shares[place] = Share(factor, other)
        more = _difference(_is_known(at_zero), _is_known(at_null))
        counted = [_of_present(more, name, columns), Share(_is_known(at_null))]
        shares.append(_of_present(_difference(at_zero, at_null), name, columns))
        everywhere = [at_null]
        if is_product:
            counted.pop()
    if is_product:
        shares = shares[: len(found)]
    elif is_summed and not found and (parts := _separate(node, columns)):
        shares = [Share(_convert(scalar_of(part, node, columns))) for part in parts]
        counted = [Share(_is_known(shares[0].factor))]
    elif is_summed:
        shares += [Share(_convert(scalar)) for scalar in everywhere]
    return Amount(_spell(node, columns), tuple(shares), tuple(counted))


def _spell(node: exp.Expr, columns: Columns) -> str:
    """An expression with its columns spelled as they are declared."""
    written = exp.Paren(this=node.copy())
    for each in list(outside_queries(written, exp.Column, LookupColumn)):
        plain = exp.column(columns.find(each.name) or "", quoted=True)
        each.replace(each.plain if isinstance(each, LookupColumn) else plain)
    return str(written.this.sql(dialect="duckdb"))


def read_moments(
    factors: Mapping[str, exp.Expr], products: Collection[str], columns: Columns
) -> ProductMoments:
    """Products of numbers, by letters that stand for them, of people for whom all are known.

    Numbers over dimensions are taken from their value in the middle of the declared domain.
    A column that is a measure and a dimension is the measure if its levels tell squares, or its
    values are not listed out. An error as for `read_amount`, and for the product of two measures or
    public columns.
    """
    marked = {letter: _mark_measures(node, columns) for letter, node in factors.items()}
    names = {name for _, own in marked.values() for name in own}
    are_listed = all(_is_listed_out(name, columns) for name in names)
    if names and (not are_listed or all(_has_squares(name, columns) for name in names)):
        try:
            measured = {letter: node for letter, (node, _) in marked.items()}
            return _read_moments(measured, products, columns)
        except Refusal:
            if not are_listed:
                raise
    return _read_moments(factors, products, columns)


def _read_moments(
    factors: Mapping[str, exp.Expr], products: Collection[str], columns: Columns
) -> ProductMoments:
    """As `read_moments`, of expressions whose measures are marked."""
    amounts = {letter: _read_amount(node, columns, True) for letter, node in factors.items()}
    collected = {letter: _collect(node, columns) for letter, node in factors.items()}
    measured = {name for names in collected.values() for name in names}
    nullable = {name for name in measured if _is_nullable(name, columns)}
    squared: set[str] = set()
    for product in sorted(products, key=lambda letters: -len(set(letters))):
        names = [collected[letter] for letter in product if collected[letter]]
        if len(names) > 1:
            if len(set(product)) > 1 or not _tells_squares(factors[product[0]], columns):
                raise _no_product(product, names[0][0], factors[product[0]], columns)
            squared.add(product[0])

    def centre_of(letter: str) -> float:
        if letter in squared:
            measure = find_measure(columns.schema, collected[letter][0])
            assert measure is not None
            return sum(columns.schema.measures[measure].bounds) / 2.0
        return 0.0 if collected[letter] else _centre(factors[letter], columns)

    centres = {letter: centre_of(letter) for letter in factors}

    def number(letter: str) -> exp.Expr:
        node: exp.Expr = exp.Paren(this=factors[letter].copy())
        if collected[letter] and letter not in squared:
            return node
        if letter not in squared:
            node = exp.cast(node, "DOUBLE")
        if not centres[letter]:
            return node
        return exp.Paren(this=exp.Sub(this=node, expression=exp.convert(centres[letter])))

    made = {}
    for product in sorted(products):
        # Of a square of a measure the measure itself is read first.
        is_square = len(product) > 1 and set(product) <= squared
        tree = reduce(
            lambda left, right: exp.Mul(this=left, expression=right),
            map(number, product[:1] if is_square else product),
        )
        for other in factors.keys() - set(product):
            # Where another number is NULL, so is the sum.
            if not _is_measure(factors[other], columns) or collected[other][0] in nullable:
                nothing = exp.Mul(this=exp.Literal.number(0), expression=number(other))
                tree = exp.Add(this=tree, expression=nothing)
        made[product] = _read_amount(tree, columns, True)
        if is_square:
            shares = made[product].summed
            [own] = [each for each in shares if each.column is not None and each.kind == "value"]
            text = f"POWER({made[product].text}, 2)"
            squares = (replace(own, kind="square"),)
            made[product] = replace(made[product], text=text, summed=squares)
    return ProductMoments(tuple(map(str, amounts.values())), centres, made)


def read_ordering(node: exp.Expr, columns: Columns, name: str) -> Ordering:
    """A number over the values of one dimension; an error for anything else. name: of the aggregate
    that puts people in order by it."""
    hint = f"write {name} of a dimension, or of numbers computed from one"
    names = [columns.name(part) for part in own_columns(node)]
    if len(set(names)) != 1 or node.find(LookupColumn, exp.Query):
        raise refuse(f"{name} takes a dimension, or a number over one", node, hint)
    columns.name(next(own_columns(node)), "key")
    scalar = read_scalar(node, columns)
    index = find_dimension(columns.schema, scalar.columns[0])
    if index is None:
        raise refuse(f"{names[0]} is public: its order is not kept", node, hint)
    dimension = columns.schema.dimensions[index]
    if scalar.kind not in ("BIGINT", "DOUBLE"):
        raise wrong(f"this is of type {scalar.kind}, and cannot be ordered as a number", node, hint)
    labels: list[Value | None] = [*domains.domain_labels(dimension.domain)]
    if not domains.is_listed_out(dimension.domain):
        hint = f"write {name}({dimension.name}), or count by it: GROUP BY {dimension.name}"
        raise refuse(f"{dimension.name} is collected in bins", node, hint)
    labels += [None] * len(domains.null_codes(dimension))
    values = binder.evaluate_over(scalar, {dimension.name: labels}, columns.schema, node)
    if any(value is not None and not math.isfinite(value) for value in values):
        raise wrong("this is infinite or NaN for some declared value", node, hint)
    if not any(value is not None for value in values):
        raise wrong("this is NULL for every declared value", node, hint)
    return Ordering(scalar.text, dimension.name, tuple(values))


def _centre(node: exp.Expr, columns: Columns) -> float:
    """A number over dimensions where each of them has the middle one of its values; 0 where this
    is NULL, and where the number also depends on look-up tables."""
    scalar = read_scalar(node, columns)
    if scalar.joins or scalar.tables:
        return 0.0
    middle: dict[str, Value] = {}
    for name in scalar.columns:
        index = find_dimension(columns.schema, name)
        assert index is not None
        domain = columns.schema.dimensions[index].domain
        values = domain.values if isinstance(domain, Listed) else Edges(domain)[:-1]
        middle[name] = values[len(values) // 2]
    return binder.number_at(scalar, middle, columns.schema)


def _collect(node: exp.Expr, columns: Columns) -> list[str]:
    """The measures and public columns in an expression."""
    named = [(part, columns.name(part)) for part in own_columns(node)]
    return [name for part, name in named if not _is_of_dimension(part, columns)]


def _is_measure(node: exp.Expr, columns: Columns) -> bool:
    """Whether a node is a measure."""
    if not isinstance(node, exp.Column):
        return False
    is_dimension = _is_of_dimension(node, columns)
    return not is_dimension and not _public(columns.find(node.name) or "", columns)


def _tells_squares(node: exp.Expr, columns: Columns) -> bool:
    """Whether a node is a measure that is rounded so that its levels tell squares."""
    return _is_measure(node, columns) and _has_squares(node.name, columns)


def _has_squares(name: str, columns: Columns) -> bool:
    """Whether the levels of a measure tell squares."""
    measure = find_measure(columns.schema, name)
    return measure is not None and columns.schema.measures[measure].rounding == "quadratic"


def _no_product(product: str, name: str, node: exp.Expr, columns: Columns) -> Refusal:
    what = "squares" if len(set(product)) == 1 else "products with other columns"
    if _public(name, columns):
        reason = f"{what} of the public column {name} are not kept"
        return refuse(reason, node, f"group by {name} and compute this in an outer query")
    reason = f"reports give sums of the measure {name}, not its {what}"
    hint = f"declare [dimension.{name}] in the survey to ask this of later reports"
    if find_dimension(columns.schema, name) is not None:
        hint = f"give every value of [dimension.{name}] a code of its own in a later survey"
    if what == "squares":
        hint += f", or design it for VAR_POP({name}) in [workload] queries"
    return refuse(reason, node, hint)


def _separate(node: exp.Expr, columns: Columns) -> list[exp.Expr]:
    """The terms of a sum, a part for every set of columns: none where it adds up nothing of
    different columns, or where a part might be NULL, so that the sum would be."""
    parts: dict[tuple[str, ...], exp.Expr] = {}
    waiting = [(node, False)]
    while waiting:
        part, is_negative = waiting.pop()
        if isinstance(part, exp.Paren | exp.Neg):
            waiting.append((part.this, is_negative ^ isinstance(part, exp.Neg)))
        elif isinstance(part, exp.Add | exp.Sub):
            right = is_negative ^ isinstance(part, exp.Sub)
            waiting += [(part.expression, right), (part.this, is_negative)]
        elif any(_may_be_null(each, columns) for each in part.walk()):
            return []
        else:
            names = sorted({columns.name(each) for each in part.find_all(exp.Column)})
            own: exp.Expr = exp.Paren(this=part.copy())
            own = exp.Neg(this=own) if is_negative else own
            before = parts.get(tuple(names))
            parts[tuple(names)] = exp.Add(this=before, expression=own) if before else own
    constant = parts.pop((), None)
    if len(parts) < 2:
        return []
    first, *others = parts.values()
    return [exp.Add(this=first, expression=constant) if constant else first, *others]


def _may_be_null(node: exp.Expr, columns: Columns) -> bool:
    """Whether a node is anything but a number, a column without NULL, or a product of these."""
    if isinstance(node, exp.Column):
        index = find_dimension(columns.schema, columns.name(node))
        return index is None or columns.schema.dimensions[index].has_null
    is_number = isinstance(node, exp.Literal) and not node.is_string
    return not (
        is_number
        or isinstance(node, exp.Identifier | exp.Mul | exp.Add | exp.Sub | exp.Paren | exp.Neg)
    )


def _convert(scalar: Scalar, text: str = "{}") -> Scalar:
    """A number computed from an expression."""
    return replace(scalar, text=f"CAST({text.format(f'({scalar.text})')} AS DOUBLE)", kind="DOUBLE")


def _is_known(scalar: Scalar) -> Scalar:
    """1 where an expression is not NULL, else 0."""
    return _convert(scalar, "{} IS NOT NULL")


def _of_present(factor: Scalar, name: str, columns: Columns) -> Share:
    """The share of those who have a value of a column. Of a measure that is also a dimension the
    latter tells it, as for COUNT of it."""
    if not _has_null_code(name, columns):
        return Share(factor, name, "present")
    return Share(_by_presence(factor, "NULL", name))


def _check_nullable(nullable: Sequence[str], measured: Sequence[str], node: exp.Expr) -> None:
    """Refuse what depends on which of too many columns are NULL; measured: the measures."""
    both = f"{nullable[0]} and {nullable[1]}" if len(nullable) > 1 else ""
    if both and len(nullable) > len(measured):
        hint = "write COUNT, SUM or AVG of their sum"
        if measured:
            hint = f"sum each of them: SUM({nullable[0]}) + SUM({nullable[1]})"
        raise refuse(f"{both} may both be NULL: this is not supported", node, hint)
    if len(measured) > _MOST_NULLABLE:
        reason = f"{', '.join(measured)} may all be NULL: this is not supported"
        raise refuse(reason, node, f"name {both}, and ask for the others by themselves")


def _is_mixed(name: str, node: exp.Expr, columns: Columns) -> bool:
    """Whether it depends on there being a value of a measure, and no dimension tells that, what
    else an expression counts."""
    if _has_null_code(name, columns):
        return False
    if any(
        _asks_presence(part, columns) and columns.find(part.this.unnest().name) == name
        for part in outside_queries(exp.Paren(this=node.copy()), exp.Is)
    ):
        return True
    for part in outside_queries(exp.Paren(this=node.copy()), exp.Add, exp.Sub, exp.Coalesce):
        inside = set(_collect(part, columns))
        if name in inside and len(inside) > 1:
            return True
    return False


def _read_by_presence(
    node: exp.Expr,
    columns: Columns,
    found: Sequence[str],
    nullable: Sequence[str],
    is_summed: bool,
    with_values: Callable[..., Scalar],
) -> Amount:
    """As `_read_amount`, of what depends on which of some measures have a value.

    A number g(P) that depends on which of them do is the sum over all sets S of a_S times 1 where
    all of S do, a_S being the alternating sum of g over the subsets of S (Moebius).
    """

    def at(present: Collection[str], **values: float) -> Scalar:
        nulls = {name: None for name in nullable if name not in (*present, *values)}
        return with_values(**nulls, **values)

    def shares_of(numbers: Callable[[Collection[str]], Signed], column: str | None) -> list[Share]:
        others, shares = [name for name in nullable if name != column], []
        for size in range(len(others) + 1):
            for names in combinations(others, size):
                parts = [
                    (sign * (-1) ** (size - own), scalar)
                    for own in range(size + 1)
                    for inside in combinations(names, own)
                    for sign, scalar in numbers(inside)
                ]
                factor = _add(parts)
                coded = [name for name in names if _has_null_code(name, columns)]
                for name in coded:
                    factor = _by_presence(factor, "NULL", name)
                rest = tuple(name for name in names if name not in coded)
                shares.append(Share(factor, column, present=rest))
        return shares

    def slopes_of(name: str) -> Callable[[Collection[str]], Signed]:
        return lambda present: [
            (1, at(present, **{name: 1.0})),
            (-1, at(present, **{name: 0.0})),
        ]

    summed = []
    if is_summed:
        summed = shares_of(lambda present: [(1, at(present))], None)
        summed += [share for name in found for share in shares_of(slopes_of(name), name)]
    counted = shares_of(lambda present: [(1, _is_known(at(present)))], None)
    return Amount(_spell(node, columns), tuple(summed), tuple(counted))


def _by_presence(factor: Scalar, beside: str, name: str) -> Scalar:
    text = f"CASE WHEN {quote(name)} IS NOT NULL THEN {factor.text} ELSE {beside} END"
    return replace(factor, text=text, columns=(*dict.fromkeys((*factor.columns, name)),))


def _has_null_code(name: str, columns: Columns) -> bool:
    """Whether there is a dimension of this name with a code for NULL."""
    index = find_dimension(columns.schema, name)
    return index is not None and columns.schema.dimensions[index].has_null


def _difference(left: Scalar, right: Scalar) -> Scalar:
    """The difference of two expressions over the same columns, NULL counting as 0."""
    return _add([(1, left), (-1, right)])


def _add(parts: Signed) -> Scalar:
    """The sum of expressions over the same columns by their signs, NULL counting as 0."""
    first = parts[0][1]
    texts = [
        f"{'-' if sign < 0 else '+' * bool(place)} COALESCE(CAST(({each.text}) AS DOUBLE), 0)"
        for place, (sign, each) in enumerate(parts)
    ]
    names = dict.fromkeys(name for _, each in parts for name in each.columns)
    joins = dict.fromkeys(join for _, each in parts for join in each.joins)
    tables = dict.fromkeys(table for _, each in parts for table in each.tables)
    text = " ".join(texts).strip()
    return Scalar(text, tuple(names), "DOUBLE", first.place, tuple(joins), tuple(tables))


def _is_nullable(name: str, columns: Columns) -> bool:
    """Whether a measure or public column may be NULL."""
    measure = find_measure(columns.schema, name)
    return measure is None or columns.schema.measures[measure].has_null


def _public(name: str, columns: Columns) -> PublicColumn | None:
    return find_public_column(columns.schema, name)


def _is_product(node: exp.Expr, found: Collection[str], columns: Columns) -> bool:
    """Whether an expression multiplies some columns, and adds nothing to what it multiplies."""
    if isinstance(node, exp.Column):
        return True
    if isinstance(node, exp.Paren | exp.Neg | exp.Mul | exp.Div):
        return all(_is_product(each, found, columns) for each in node.iter_expressions())
    return not any(columns.find(each.name) in found for each in node.find_all(exp.Column))


def _check_linear(node: exp.Expr, columns: Columns) -> bool:
    """Whether an expression holds measures or public columns; an error if it is not linear."""
    check()
    if isinstance(node, exp.Column):
        name = columns.name(node)
        if _is_of_dimension(node, columns):
            return False
        public = _public(name, columns)
        if public is not None and not public.is_numeric:
            hint = f"write conditions on {name} in FILTER (WHERE ...)"
            raise refuse(f"{name} is of type {public.type}: it has no sum", node, hint)
        return True
    if isinstance(node, exp.Query) or _asks_presence(node, columns):
        return False
    linear = _added_up(node)
    if isinstance(node, exp.Mul):
        linear = [node.this if _check_linear(node.this, columns) else node.expression]
    if isinstance(node, exp.Coalesce):
        # Which of several columns are NULL is told of measures alone.
        names = (columns.find(each.name) or "" for each in own_columns(node))
        linear = linear[:1] if any(_public(name, columns) for name in names) else linear
    parts = list(node.iter_expressions())
    if isinstance(node, exp.Case):
        parts = [*_given(node, "this"), *(branch.this for branch in node.args["ifs"])]
    others = [each for each in parts if not any(each is own for own in linear)]
    for other in others:
        if _check_linear(other, columns):
            hint = "sum them times expressions over dimensions; put conditions into FILTER"
            own = [columns.find(each.name) or "" for each in own_columns(other)]
            measured = [each for each in own if find_measure(columns.schema, each) is not None]
            if isinstance(node, exp.Div) and _check_linear(node.this, columns):
                hint = "divide sums: SUM(a) / SUM(b), the average of the quotient weighted by b"
            elif isinstance(node, exp.Coalesce):
                first, second = (each.sql("duckdb") for each in (node.this, other))
                hint = f"write SUM({first}) + SUM({second}) FILTER (WHERE {first} IS NULL)"
            elif measured and find_dimension(columns.schema, measured[0]) is None:
                hint = (
                    "sum them times expressions over dimensions, or declare "
                    f"[dimension.{measured[0]}] in the survey to ask this of later reports"
                )
            raise refuse("this is not linear in measures and public columns", other, hint)
    return sum(_check_linear(each, columns) for each in linear) > 0


def split_presence(
    conditions: Iterable[exp.Expr], columns: Columns
) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Conditions joined by AND, apart: those on other columns, and those on whether measures
    that may be missing are NULL."""
    others, presence = list[exp.Expr](), list[exp.Expr]()
    waiting = [*conditions][::-1]
    while waiting:
        node = waiting.pop()
        if isinstance(plain := node.unnest(), exp.And):
            waiting += [plain.expression, plain.this]
            continue
        asks = any(
            _asks_presence(part, columns)
            for part in outside_queries(exp.Paren(this=node.copy()), exp.Is)
        )
        (presence if asks else others).append(node)
    return others, presence


def _asks_presence(node: exp.Expr, columns: Columns) -> bool:
    """Whether a node is whether a measure that may be missing is NULL."""
    if not (isinstance(node, exp.Is) and isinstance(node.expression, exp.Null)):
        return False
    tested = node.this.unnest()
    name = columns.find(tested.name) if isinstance(tested, exp.Column) else None
    is_measure = name is not None and find_measure(columns.schema, name) is not None
    if name is None or not is_measure or _is_of_dimension(tested, columns):
        return False
    return _is_nullable(name, columns)


def _dimension(node: exp.Expr, columns: Columns) -> Dimension | None:
    """The dimension that a node names, if its values inside a bin cannot be listed."""
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        return None
    index = find_dimension(columns.schema, node.name)
    found = None if index is None else columns.schema.dimensions[index]
    return found if found and found.domain.type in ("float", "timestamp") else None


def _by_edges(node: exp.Expr, columns: Columns) -> tuple[str, str] | None:
    """A comparison of such a dimension with constants: its name, and the same between edges."""
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        sides = [(">=", node.args["low"]), ("<=", node.args["high"])]
        dimension = _dimension(node.this.unnest(), columns)
    elif type(node) in OPERATORS:
        left, right, op = node.this.unnest(), node.expression.unnest(), OPERATORS[type(node)]
        if is_constant(left):
            left, right, op = right, left, MIRRORED[op]
        sides = [(op, right)]
        dimension = _dimension(left, columns)
    else:
        return None
    if dimension is None or not all(is_constant(end.unnest()) for _, end in sides):
        return None
    columns.name(next(each for each in node.find_all(exp.Column)))
    texts = [_edges(dimension, op, end, node) for op, end in sides]
    return dimension.name, " AND ".join(f"({text})" for text in texts)


def _edges(dimension: Dimension, op: str, end: exp.Expr, node: exp.Expr) -> str:
    """A comparison with one constant, written so that it holds of the lower edges of bins."""
    domain, value, name = dimension.domain, fold(end.unnest()), quote(dimension.name)
    assert isinstance(domain, Ordered)
    if value is None:
        return "NULL"
    try:
        codes = domains.match_codes(domain, op, value)
    except QueryError as error:
        raise wrong(error.reason, node, error.hint) from None
    ranges = [
        f"{name} >= {literal(Edges(domain)[low])}"
        + (f" AND {name} < {literal(Edges(domain)[high])}" if high < domain.size else "")
        for low, high in codes
    ]
    return " OR ".join(f"({text})" for text in ranges) or f"{name} <> {name}"


def _check_bins(node: exp.Column, name: str, columns: Columns) -> None:
    """Refuse a use of a dimension that could tell values apart which share a code."""
    dimension, parent = _dimension(node, columns), node.parent
    while isinstance(parent, exp.Paren):
        parent = parent.parent
    if dimension is None or (
        isinstance(parent, exp.Is) and isinstance(parent.expression, exp.Null)
    ):
        return
    if dimension.domain.type == "float":
        reason = f"{name} is collected in bins of real numbers"
        raise refuse(f"{reason}: this has no exact answer", node, "compare it with their edges")
    is_date = isinstance(parent, exp.Cast) and parent.args["to"].is_type("date")
    is_of_hours = isinstance(parent, _OF_HOURS) or (
        isinstance(parent, exp.Anonymous) and parent.name.upper() in (*_HOURS, "WEEKDAY")
    )
    is_text = (
        isinstance(parent, exp.TimeToStr)
        and isinstance(wanted := parent.args["format"], exp.Literal)
        and _FORMAT_OF_HOURS.fullmatch(wanted.name) is not None
    )
    if not (_unit_of(parent) in _HOURS or is_date or is_of_hours or is_text):
        raise refuse(
            f"times of {name} within an hour cannot be told apart here",
            node,
            f"write date_trunc('hour', {name}), EXTRACT(day FROM {name}) or CAST({name} AS DATE)",
        )


def _unit_of(node: exp.Expr | None) -> str:
    """The unit of a function of moments, in capitals; empty for anything else."""
    unit: object = None
    if isinstance(node, exp.TimestampTrunc | exp.DateTrunc):
        unit = node.args["unit"]
    elif isinstance(node, exp.Extract):
        unit = node.this
    elif isinstance(node, exp.Anonymous) and node.name.upper() == "DATE_PART":
        unit = node.expressions[0]
    return unit.name.upper() if isinstance(unit, exp.Expr) else ""


def _refusal(node: exp.Expr, columns: Columns) -> Refusal:
    """Why a node cannot stand in an expression over columns."""
    if isinstance(node, exp.AggFunc):
        return refuse("an aggregate cannot stand here", node, "write it in HAVING")
    _, what = columns.source.name_call(node)
    hint = "use functions of the values alone, such as lower, abs, date_trunc or CASE"
    if isinstance(node, NOW):
        hint = WRITE_A_DAY
    if isinstance(node, exp.ArrayOverlaps):  # a && b
        what, hint = "&&", "write AND"
    return refuse(f"{what} is not supported over columns", node, hint)
