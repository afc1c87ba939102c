"""Scalar expressions over columns: what DuckDB will evaluate over their declared values.

Of an ordered dimension that is collected in bins the values inside a bin cannot all be listed
where it is of floats or moments. Such a column is compared with edges only; moments may also be
rounded to hours and more.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from ldpsql import domains
from ldpsql.domains import find_dimension
from ldpsql.errors import QueryError
from ldpsql.parser.allowed import is_deterministic
from ldpsql.parser.columns import Columns
from ldpsql.parser.source import Refusal, unsupported, wrong
from ldpsql.parser.values import fold, is_constant
from ldpsql.sql import Scalar, literal, quote
from ldpsql_device.schema import Dimension
from ldpsql_device.values import Ordered

OPERATORS: Mapping[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_HOURS = {"HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "DOW", "ISODOW", "DOY", "DECADE"}
_HOURS |= {"ISOYEAR", "CENTURY", "YEARWEEK"}
_OF_HOURS = (
    *(exp.Year, exp.Quarter, exp.Month, exp.Week, exp.WeekOfYear, exp.Day, exp.DayOfMonth),
    *(exp.DayOfWeek, exp.DayOfWeekIso, exp.DayOfYear, exp.Hour, exp.Dayname, exp.Monthname),
)


def read_scalar(node: exp.Expr, columns: Columns) -> Scalar:
    """The expression that a node is over dimensions, or over public columns.

    An error for unknown columns, for measures, for what is not on the allow-list, for columns of
    both kinds together, and for types that do not fit.
    """
    return scalar_of(node.copy(), node, columns)


def scalar_of(tree: exp.Expr, node: exp.Expr, columns: Columns) -> Scalar:
    """As `read_scalar`, of a tree that may be changed; node: where it stands."""
    from ldpsql.parser import binder  # noqa: PLC0415  (DuckDB and Arrow, where needed)

    root = exp.Paren(this=tree)
    names: dict[str, None] = {}
    waiting: list[exp.Expr] = [tree]
    while waiting:
        part = waiting.pop()
        check_declared(part, columns)
        by_edges = _by_edges(part, columns)
        if by_edges is not None:
            name, text = by_edges
            names[name] = None
            part.replace(exp.maybe_parse(text, dialect="duckdb"))
        elif isinstance(part, exp.Column) and not isinstance(part.this, exp.Star):
            name = columns.name(part, "key")
            _check_bins(part, name, columns)
            names[name] = None
            part.replace(exp.column(name, quoted=True))
        elif not is_deterministic(part):
            raise _refusal(part, columns)
        else:
            waiting += part.iter_expressions()
    private = [name for name in names if find_dimension(columns.schema, name) is not None]
    if private and len(private) < len(names):
        public = next(name for name in names if name not in private)
        reason = f"an expression of {private[0]}, private, and {public}, public, is not answered"
        raise unsupported(reason, node, "write a condition for each, joined by AND or OR")
    ordered = tuple(sorted(names, key=columns.names.index))
    text = root.this.sql(dialect="duckdb", comments=False)
    kind = binder.scalar_kind(text, ordered, columns.schema, node)
    return Scalar(text, ordered, kind, columns.place(node))


def check_declared(node: exp.Expr, columns: Columns) -> None:
    """Refuse a comparison of a listed dimension with a literal that no declared value equals."""
    compared: list[exp.Expr] = []
    if isinstance(node, exp.EQ | exp.NEQ | exp.NullSafeEQ | exp.NullSafeNEQ):
        compared = [node.this, node.expression]
    elif isinstance(node, exp.In):
        compared = [node.this, *node.expressions]
    elif isinstance(node, exp.Case) and node.this:
        compared = [node.this, *(branch.this for branch in node.args["ifs"])]
    rows = [each.expressions if isinstance(each, exp.Tuple) else [each] for each in compared]
    for place in range(min(map(len, rows), default=0)):
        operands = [row[place].unnest() for row in rows]
        named = [columns.find(each.name) for each in operands if isinstance(each, exp.Column)]
        for each in operands:
            if named and named[0] and is_constant(each):
                columns.check_declared(named[0], fold(each), each)


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
        codes = domains.matching(domain, op, value)
    except QueryError as error:
        raise wrong(error.reason, node, error.hint) from None
    ranges = [
        f"{name} >= {literal(domain.edges[low])}"
        + (f" AND {name} < {literal(domain.edges[high])}" if high < domain.size else "")
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
        raise unsupported(
            f"{reason}: this has no exact answer", node, "compare it with their edges"
        )
    unit: object = None
    if isinstance(parent, exp.TimestampTrunc | exp.DateTrunc):
        unit = parent.args["unit"]
    elif isinstance(parent, exp.Extract):
        unit = parent.this
    elif isinstance(parent, exp.Anonymous) and parent.name.upper() == "DATE_PART":
        unit = parent.expressions[0]
    is_date = isinstance(parent, exp.Cast) and parent.args["to"].is_type("date")
    is_unit = isinstance(unit, exp.Expr) and unit.name.upper() in _HOURS
    if not (is_unit or is_date or isinstance(parent, _OF_HOURS)):
        raise unsupported(
            f"moments of {name} within an hour are not told apart here",
            node,
            f"write date_trunc('hour', {name}), EXTRACT(day FROM {name}) or CAST({name} AS DATE)",
        )


def _refusal(node: exp.Expr, columns: Columns) -> Refusal:
    """Why a node cannot stand in an expression over columns."""
    if isinstance(node, exp.Query) or node.find(exp.Query):
        hint = "ask it first and write its answer"
        return unsupported("a subquery in an expression over columns is not answered", node, hint)
    if isinstance(node, exp.AggFunc):
        return unsupported("an aggregate cannot stand here", node, "write it in HAVING")
    _, what = columns.source.name_call(node)
    hint = "use functions of the values alone, such as lower, abs, date_trunc or CASE"
    return unsupported(f"{what} is not answered over columns", node, hint)
