"""Aggregates, arithmetic over them, and the columns they become."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sqlglot import exp

from ldpsql.aggregates import (
    Aggregate,
    Arithmetic,
    Definition,
    Expression,
    Number,
    Operator,
    find_aggregate,
)
from ldpsql.domains import find_public_column
from ldpsql.errors import UnsupportedSQL
from ldpsql.parser.allowed import function_name
from ldpsql.parser.columns import Columns
from ldpsql.parser.constants import fold, is_constant
from ldpsql.parser.query import Measurement

What = Literal["value", "stderr", "low", "high"]
ERROR_BARS: Mapping[str, What] = {"STDERR": "stderr", "CI_LOW": "low", "CI_HIGH": "high"}

_OPERATORS: Mapping[type[exp.Expr], Operator] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
}


@dataclass
class Measurements:
    """The measurement columns of one base query, each different one once."""

    columns: Columns
    all: list[Measurement] = field(default_factory=list)
    _names: dict[tuple[Expression, What, float | None], str] = field(default_factory=dict)

    def column(self, node: exp.Expr) -> str:
        """The relation's column for the value of a measurable node."""
        return self._add(self._expression(node), "value", None)

    def error_bar(self, node: exp.Anonymous) -> str:
        """The relation's column for STDERR(x), CI_LOW(x [, level]) or CI_HIGH(x [, level])."""
        name = function_name(node)
        most = 1 if name == "STDERR" else 2
        if not 1 <= len(node.expressions) <= most:
            takes = "one aggregate" if most == 1 else "an aggregate and a confidence level"
            raise self.columns.source.wrong(f"{name} takes {takes}", node)
        inner = node.expressions[0]
        if not is_measurable(inner):
            raise self.columns.source.unsupported(
                f"{name} takes an aggregate, or + - * / over aggregates",
                node,
                hint=f"write {name}(COUNT(*))",
            )
        level = self._level(node.expressions[1]) if len(node.expressions) == 2 else None
        return self._add(self._expression(inner), ERROR_BARS[name], level)

    def aggregate(self, node: exp.Expr) -> Aggregate:
        """A call of an aggregate: its name, the declared name of its column, and its place."""
        definition = definition_of(node)
        assert definition is not None
        name, place = definition.names[0], self.columns.source.place(node)
        arguments = _arguments(node)
        argument = arguments[0].unnest() if arguments else None
        if len(arguments) > 1 or isinstance(argument, exp.Distinct):
            raise self._refusal_of_argument(node, argument)
        if definition.takes == "rows" and _counts_everybody(argument):
            return Aggregate(name, None, place)
        if not isinstance(argument, exp.Column) or isinstance(argument.this, exp.Star):
            raise self._refusal_of_argument(node, argument)
        return Aggregate(name, self.columns.argument(argument, definition.takes), place)

    def _add(self, expression: Expression, what: What, level: float | None) -> str:
        key = (expression, what, level)
        if key not in self._names:
            self._names[key] = f"e{len(self.all)}"
            self.all.append(Measurement(expression, what, level, self._names[key]))
        return self._names[key]

    def _expression(self, node: exp.Expr) -> Expression:
        if is_constant(node):
            value = fold(node, self.columns.source)
            assert isinstance(value, int | float)
            return Number(float(value))
        if isinstance(node, exp.Paren):
            return self._expression(node.this)
        if isinstance(node, exp.Neg):
            return Arithmetic("-", Number(0.0), self._expression(node.this))
        if type(node) in _OPERATORS:
            left, right = self._expression(node.this), self._expression(node.expression)
            return Arithmetic(_OPERATORS[type(node)], left, right)
        return self.aggregate(node)

    def _level(self, node: exp.Expr) -> float:
        level = fold(node, self.columns.source) if is_constant(node) else None
        if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
            raise self.columns.source.wrong(
                "a confidence level is a number between 0 and 1", node, hint="write 0.95"
            )
        return float(level)

    def _refusal_of_argument(self, node: exp.Expr, argument: exp.Expr | None) -> UnsupportedSQL:
        name = function_name(node)
        if isinstance(argument, exp.Distinct):
            return self.columns.source.unsupported(
                f"{name}(DISTINCT ...) is not answered",
                node,
                hint=self._instead_of_distinct(argument),
            )
        return self.columns.source.unsupported(
            f"{name} takes one column", node, hint=f"write {name}(column)"
        )

    def _instead_of_distinct(self, argument: exp.Distinct) -> str:
        """Public values can be counted; of private ones GROUP BY returns all that are declared."""
        schema = self.columns.schema
        names = [column.name for column in argument.find_all(exp.Column)]
        if names and all(find_public_column(schema, name) for name in names):
            return "GROUP BY the column and count its rows in an outer query"
        return "reports cannot tell which declared values occur; write COUNT(column)"


def is_measurable(node: exp.Expr) -> bool:
    """Whether a node is arithmetic over at least one aggregate and nothing else."""
    has_aggregate = False
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if type(part) in _OPERATORS:
            waiting += [part.this, part.expression]
        elif isinstance(part, exp.Paren | exp.Neg):
            waiting.append(part.this)
        elif definition_of(part) is not None:
            has_aggregate = True
        elif not isinstance(part, exp.Literal) or part.is_string:
            return False
    return has_aggregate


def definition_of(node: exp.Expr) -> Definition | None:
    """The aggregate that a node calls; None for anything else."""
    if isinstance(node, exp.Anonymous):
        return find_aggregate(function_name(node))
    names = type(node).sql_names() if isinstance(node, exp.Func) else []
    return next((entry for name in names if (entry := find_aggregate(name))), None)


def _arguments(node: exp.Expr) -> list[exp.Expr]:
    """What stands in the brackets of a call."""
    return list(node.expressions if isinstance(node, exp.Anonymous) else node.iter_expressions())


def _counts_everybody(argument: exp.Expr | None) -> bool:
    """COUNT(*), COUNT() and COUNT of a constant that is not NULL."""
    if argument is None or isinstance(argument, exp.Star):
        return True
    return isinstance(argument, exp.Literal | exp.Boolean)
