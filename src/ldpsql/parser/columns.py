"""Names of columns, of a survey and of what it is joined with, looked up and checked for the role
they play."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from ldpsql.errors import Place, did_you_mean, list_some
from ldpsql.parser.source import Refusal, SourceText, refuse, wrong
from ldpsql.sql.domains import find_dimension, find_measure, find_public_column, is_listed_out
from ldpsql.sql.quoting import Join, literal
from ldpsql_device.description import Edges
from ldpsql_device.schema import OTHER, Schema
from ldpsql_device.values import Listed, Value

if TYPE_CHECKING:
    from ldpsql.sql.lookups import PublicTable

_LISTED = 20
_WHOLE = re.compile(r"\s*[-+]?\d{1,18}\s*", re.ASCII)


def _as_written(domain: Listed, value: Value | None) -> Value | None:
    """A whole number in a text as a number, or a number as the text that says it, where the values
    of a domain are of the other type; any other literal as it is."""
    if isinstance(domain.values[0], str) and type(value) is int:
        said = [each for each in domain.values if _WHOLE.fullmatch(str(each))]
        own = [each for each in said if int(str(each)) == value]
        return (own or [str(value)])[0] if {*domain.values} <= {*said, OTHER} else value
    is_text = isinstance(value, str) and type(domain.values[0]) is int
    return int(str(value)) if is_text and _WHOLE.fullmatch(str(value)) else value


class LookupColumn(exp.Expression, exp.Func):
    """A column of joined rows: their name in the query (`table`), and its own (`this`)."""

    arg_types = {"this": True, "table": True}  # noqa: RUF012

    @property
    def plain(self) -> exp.Column:
        """The same as an ordinary column."""
        return exp.column(self.name, table=self.text("table"), quoted=True)


@dataclass(frozen=True)
class PublicRows:
    """Public rows that people are joined with.

    alias: their name in the query.  sql: the SELECT over `tables` that gives them.  columns: their
    names and kinds.
    """

    alias: str
    sql: str
    tables: tuple[PublicTable, ...]
    columns: tuple[tuple[str, str], ...]

    def find(self, name: str) -> str | None:
        """The spelling of a column's name; None if there is no such column."""
        return next((known for known, _ in self.columns if known.lower() == name.lower()), None)

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of every column, by the name that stands for it in a `Scalar`."""
        return {f"{self.alias}.{name}": kind for name, kind in self.columns}


def own_columns(node: exp.Expr) -> Iterator[exp.Column]:
    """The ordinary columns of a node, without those of queries inside of it."""
    for part in outside_queries(node, exp.Column):
        assert isinstance(part, exp.Column)
        yield part


PublicQuery = tuple[exp.Query, tuple["PublicTable", ...]]


def outside_queries(node: exp.Expr, *kinds: type[exp.Expr]) -> Iterator[exp.Expr]:
    """The parts of some kinds of a node, without those of queries inside of it."""
    for part in node.walk(prune=lambda part: isinstance(part, exp.Query) and part is not node):
        if isinstance(part, kinds):
            yield part


@dataclass(frozen=True)
class Columns:
    """The columns of one survey, and of what it is joined with, as one SELECT sees them.

    table: the survey's name.  alias: the name that may stand before a column.  public: reads a
    query over look-up tables alone, and refuses others.  rows: what is joined.  joins: how, of
    those rows whose ON has been read.  merged: the names in USING, in lower case.
    """

    schema: Schema
    table: str
    alias: str
    source: SourceText
    public: Callable[[exp.Query], PublicQuery]
    rows: tuple[PublicRows, ...] = ()
    joins: tuple[Join, ...] = ()
    merged: frozenset[str] = frozenset()

    @property
    def names(self) -> list[str]:
        """All declared names."""
        return [*self.schema.private_columns, *(column.name for column in self.schema.public)]

    def find(self, name: str) -> str | None:
        """The declared spelling of a column's name; None if there is no such column."""
        return next((known for known in self.names if known.lower() == name.lower()), None)

    def lookup(self, node: exp.Column) -> LookupColumn | None:
        """The column of joined rows that a node means; None for one of the survey.

        An error for a name that several have, and for one that the named rows have not.
        """
        qualifier = node.table.lower()
        owners = [rows for rows in self.rows if qualifier in ("", rows.alias.lower())]
        if isinstance(node.this, exp.Star) or len(node.parts) > 2 or not owners:
            return None
        found = [(rows, name) for rows in owners if (name := rows.find(node.name))]
        if qualifier and not found:
            names = [name for name, _ in owners[0].columns]
            hint = f"{did_you_mean(node.name, names)}there are {list_some(names, _LISTED)}"
            raise wrong(f"{owners[0].alias} has no column {node.name!r}", node, hint)
        if not qualifier:
            self._check_unique(node, [rows.alias for rows, _ in found])
        if not found or (not qualifier and self.find(node.name)):
            return None
        rows, name = found[0]
        table, this = exp.to_identifier(rows.alias), exp.to_identifier(name, quoted=True)
        this.meta.update(node.this.meta)
        if qualifier:
            table.meta.update(node.args["table"].meta)
        return LookupColumn(this=this, table=table)

    def _check_unique(self, node: exp.Column, owners: list[str]) -> None:
        """Refuse a name without a table that the survey and joined rows, or several of them, have
        and that USING does not merge; owners: the joined rows with such a column."""
        sides = [self.alias, *owners] if self.find(node.name) else owners
        if len(sides) > 1 and node.name.lower() not in self.merged:
            hint = f"write {' or '.join(f'{side}.{node.name}' for side in sides)}"
            raise wrong(f"several tables have a column {node.name!r}", node, hint)

    def rows_of(self, node: LookupColumn) -> PublicRows:
        """The rows that a column belongs to; an error if they are joined later."""
        for rows in self.rows:
            if rows.alias == node.text("table"):
                return rows
        raise wrong(f"{node.text('table')} is joined later", node, "join it first")

    def name(self, node: exp.Column, takes: str = "rows") -> str:
        """The declared name of the column that a node means.

        takes: which columns may stand there: of an aggregate (`AggregateKind.takes`), or "key", a
        dimension or public column. An error for an unknown column and for one that may not.
        """
        parts = [part.name for part in node.parts[:-1]]
        if parts and (len(parts) > 1 or parts[0].lower() != self.alias.lower()):
            reason = f"there is no table {'.'.join(parts)!r} here"
            raise wrong(reason, node, f"write {self.alias}.{node.name}")
        name = self.find(node.name)
        if name is None:
            raise self.unknown(node)
        is_dimension = find_dimension(self.schema, name) is not None
        is_measure = find_measure(self.schema, name) is not None
        public = find_public_column(self.schema, name)
        if takes == "key" and is_measure and not is_dimension:
            hint = f"ask AVG({name}) of everybody"
            if isinstance(node.parent, exp.Is):
                hint = f"ask COUNT({name}), and COUNT(*) - COUNT({name}) for who has none"
            raise wrong(
                f"{name} is a measure, not a dimension: it can be summed, not compared or grouped",
                node,
                f"{hint}, or declare [dimension.{name}] in the survey to ask this of later reports",
            )
        if takes == "number" and public and not public.is_numeric:
            raise wrong(f"{name} is of type {public.type}: it has no sum", node)
        if takes == "number" and not public and not is_measure:
            raise wrong(
                f"{name} is a dimension, not a measure, and cannot be summed",
                node,
                f"{self._instead_of_sum(name)}, or declare [measure.{name}] with bounds in the "
                "survey to sum it in later reports",
            )
        if takes in ("order", "share"):
            self._check_order(name, node)
        return name

    def _instead_of_sum(self, name: str) -> str:
        """What can be asked of a dimension that cannot be summed."""
        index = find_dimension(self.schema, name)
        assert index is not None
        if self.schema.dimensions[index].domain.type == "float":
            return f"ask MEDIAN({name})"
        return f"ask SELECT {name}, COUNT(*) FROM {self.table} GROUP BY {name}"

    def _check_order(self, name: str, node: exp.Expr) -> None:
        """Refuse a column whose people cannot be put in order by a number."""
        index = find_dimension(self.schema, name)
        if index is None and find_public_column(self.schema, name):
            hint = f"group by {name} and compute this in an outer query"
            raise refuse(f"{name} is public: its order is not kept", node, hint)
        if index is None:
            hint = (
                f"ask AVG({name}), or declare [dimension.{name}] in the survey to ask this of "
                "later reports"
            )
            raise refuse(f"{name} is a measure: reports give its sum, not its order", node, hint)
        domain = self.schema.dimensions[index].domain
        first = domain.values[0] if isinstance(domain, Listed) else Edges(domain)[0]
        if isinstance(first, bool) or not isinstance(first, int | float):
            hint = f"count by it: GROUP BY {name}"
            if domain.type == "date" and is_listed_out(domain):
                hint = f"ask for a number of days: {name} - DATE '{first}'"
            raise refuse(f"{name} is of type {domain.type}, not a number", node, hint)

    def unknown(self, node: exp.Expr) -> Refusal:
        """The error for a name that is not a column, with the names that come close."""
        names = [*self.names, *(name for rows in self.rows for name, _ in rows.columns)]
        names = list(dict.fromkeys(names))
        hint = self._text_meant(node.name)
        hint = hint or f"{did_you_mean(node.name, names)}there are {list_some(names, _LISTED)}"
        tables = " and ".join([self.table, *(rows.alias for rows in self.rows)])
        verb = "have" if self.rows else "has"
        return wrong(f"{tables} {verb} no column {node.name!r}", node, hint)

    def _text_meant(self, name: str) -> str:
        """A hint where a name that is no column is a declared text, which takes single quotes."""
        for dimension in self.schema.dimensions:
            values = dimension.domain.values if isinstance(dimension.domain, Listed) else ()
            meant = next((v for v in values if str(v).lower() == name.lower()), None)
            if isinstance(meant, str):
                return f"write {literal(meant)}, a value of {dimension.name}, in single quotes"
        return ""

    def check_declared(self, name: str, value: Value | None, node: exp.Expr) -> Value | None:
        """A literal, as the declared values of a listed dimension are written: 1 and '1' are
        equal, as in DuckDB. Refuses one, at its node, that no declared value equals.

        One of another type is left to whoever compares it.
        """
        index = find_dimension(self.schema, name)
        domain = None if index is None else self.schema.dimensions[index].domain
        if not isinstance(domain, Listed):
            return value
        value = _as_written(domain, value)
        if type(value) is not type(domain.values[0]) or value in domain.values:
            return value
        assert value is not None
        meant = ""
        if isinstance(value, str):
            meant = did_you_mean(value.strip(), map(str, domain.values), repr)
        shown = [f"{each!r:.40}" for each in domain.values[: _LISTED + 1]]
        declared = list_some(shown, _LISTED, count=len(domain.values))
        raise wrong(f"{name} has no value {value!r:.40}", node, f"{meant}declared are {declared}")

    def is_bool(self, name: str) -> bool:
        """Whether a dimension or public column is of type bool."""
        index, public = find_dimension(self.schema, name), find_public_column(self.schema, name)
        if index is not None:
            return self.schema.dimensions[index].domain.type == "bool"
        return public is not None and public.type == "bool"

    def place(self, node: exp.Expr) -> Place:
        """Where a node stands."""
        return self.source.place(node)
