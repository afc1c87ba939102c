"""The SQL of stores in other dialects than DuckDB's, in which all of it is written.

Counting is the same in every dialect. What an analyst writes about public columns is not: functions
of one name differ. So only comparisons of columns with constants are said in another dialect
(`split_condition`); whatever else a condition holds is left to DuckDB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from ldpsql_device.errors import InternalError

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_KINDS = {"int": "number", "float": "number", "text": "text", "bool": "truth", "date": "day"}
"""What can be compared with each other, by types of columns: of timestamps dialects mean different
things."""


def translate(sql: str, dialect: str) -> str:
    """A statement of DuckDB's dialect in another one; InternalError where that has no words for it.

    dialect: a name of sqlglot's, such as "spark".
    """
    try:
        return sqlglot.parse_one(sql, read="duckdb").sql(
            dialect, unsupported_level=ErrorLevel.RAISE
        )
    except SqlglotError as error:
        raise InternalError(f"{dialect} cannot say {sql!r:.80}: {error}") from None


def split_condition(condition: str | None, types: Mapping[str, str]) -> tuple[str, bool]:
    """Of a condition on public columns what every dialect means the same by, and whether that is
    all of it.

    condition: in DuckDB's dialect, as the first result is; that holds for everybody for whom the
    condition does.  types: of the public columns, by name in lower case, as surveys call them.

    >>> split_condition('"pay" > 3 AND upper("state") = \'NY\'', {"pay": "float", "state": "text"})
    ('("pay" > 3)', False)
    """
    if condition is None:
        return "TRUE", True
    every = list(_conjuncts(sqlglot.parse_one(condition, read="duckdb")))
    plain = [each for each in every if _is_plain(each, types)]
    text = " AND ".join(f"({each.sql('duckdb')})" for each in plain)
    return text or "TRUE", len(plain) == len(every)


def find_columns(condition: str) -> set[str]:
    """The columns that a condition of DuckDB's dialect names, in lower case."""
    found = sqlglot.parse_one(condition, read="duckdb").find_all(exp.Column)
    return {column.name.lower() for column in found}


def _conjuncts(tree: exp.Expr) -> Iterator[exp.Expr]:
    tree = tree.unnest()
    if isinstance(tree, exp.And):
        yield from _conjuncts(tree.left)
        yield from _conjuncts(tree.right)
    else:
        yield tree


def _is_plain(tree: exp.Expr, types: Mapping[str, str]) -> bool:
    """Whether a condition is made of comparisons of columns and constants of one kind."""
    tree = tree.unnest()
    if isinstance(tree, exp.And | exp.Or):
        return _is_plain(tree.left, types) and _is_plain(tree.right, types)
    if isinstance(tree, exp.Not):
        return _is_plain(tree.this, types)
    if isinstance(tree, exp.Is):
        return _kind(tree.left, types) is not None and isinstance(tree.right, exp.Null)
    sides: list[exp.Expr]
    if isinstance(tree, exp.Between) and not tree.args.get("symmetric"):
        sides = [tree.this, tree.args["low"], tree.args["high"]]
    elif isinstance(tree, exp.In) and tree.expressions:
        sides = [tree.this, *tree.expressions]
    elif isinstance(tree, _COMPARISONS):
        sides = [tree.left, tree.right]
    else:
        return False
    kinds = {_kind(side, types) for side in sides}
    return len(kinds) == 1 and None not in kinds


def _kind(tree: exp.Expr, types: Mapping[str, str]) -> str | None:
    """The kind of values that a column or a constant can be compared with; None for anything
    else."""
    tree = tree.unnest()
    if isinstance(tree, exp.Neg):
        tree = tree.this
        return "number" if isinstance(tree, exp.Literal) and not tree.is_string else None
    if isinstance(tree, exp.Cast):
        is_day = isinstance(tree.this, exp.Literal) and tree.to.this == exp.DType.DATE
        return "day" if is_day else None
    if isinstance(tree, exp.Column):
        return _KINDS.get(types.get(tree.name.lower(), ""))
    if isinstance(tree, exp.Literal):
        return "text" if tree.is_string else "number"
    return "truth" if isinstance(tree, exp.Boolean) else None
