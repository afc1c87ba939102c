"""Column names of a survey, looked up and checked for the role they play."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from sqlglot import exp

from ldpsql.domains import find_dimension, find_measure, find_public_column
from ldpsql.errors import QueryError
from ldpsql.parser.source import Source
from ldpsql_device.schema import Schema

_LISTED = 20


@dataclass(frozen=True)
class Columns:
    """The columns of one survey as one SELECT sees them.

    table: the survey's name.  alias: the name that may stand before a column.
    """

    schema: Schema
    table: str
    alias: str
    source: Source

    def find(self, name: str) -> str | None:
        """The declared spelling of a column's name; None if there is no such column."""
        for index, role in (
            (find_dimension(self.schema, name), self.schema.dimensions),
            (find_measure(self.schema, name), self.schema.measures),
        ):
            if index is not None:
                return role[index].name
        public = find_public_column(self.schema, name)
        return public.name if public else None

    def name(self, node: exp.Column) -> str:
        """The declared name of the column a node means; QueryError for an unknown one."""
        self._check_qualifier(node)
        declared = self.find(node.name)
        if declared is None:
            raise self.unknown(node)
        return declared

    def unknown(self, node: exp.Expr) -> QueryError:
        """The error for a name that is not a column, with the names that come close."""
        return self.source.wrong(
            f"{self.table} has no column {node.name!r}",
            node,
            hint=suggestion(node.name, self._names()),
        )

    def filterable(self, node: exp.Column) -> str:
        """The name of a dimension or public column; QueryError for a measure."""
        name = self.name(node)
        if (
            find_dimension(self.schema, name) is None
            and find_measure(self.schema, name) is not None
        ):
            raise self.source.wrong(
                f"{name} is a measure, not a dimension: it can be summed, not compared or grouped",
                node,
                hint=f"declare [dimension.{name}] in the survey to ask this of later reports",
            )
        return name

    def is_bool(self, name: str) -> bool:
        """Whether a dimension or public column is of type bool."""
        index = find_dimension(self.schema, name)
        if index is not None:
            return self.schema.dimensions[index].domain.type == "bool"
        public = find_public_column(self.schema, name)
        return public is not None and public.type == "bool"

    def summable(self, node: exp.Column) -> str:
        """The name of a measure or numeric public column; QueryError for anything else."""
        name = self.name(node)
        public = find_public_column(self.schema, name)
        if find_measure(self.schema, name) is not None or (public and public.is_numeric):
            return name
        if public:
            raise self.source.wrong(f"{name} is of type {public.type}: it has no sum", node)
        raise self.source.wrong(
            f"{name} is a dimension, not a measure, and cannot be summed",
            node,
            hint=f"declare [measure.{name}] with bounds in the survey to sum it in later reports",
        )

    def argument(self, node: exp.Column, takes: str) -> str:
        """The name of a column that an aggregate takes; see `Definition.takes`."""
        if takes == "number":
            return self.summable(node)
        name = self.name(node)
        if takes == "dimension" and find_dimension(self.schema, name) is None:
            raise self.source.wrong(f"{name} is not a dimension", node)
        return name

    def _names(self) -> list[str]:
        return [*self.schema.private_columns, *(column.name for column in self.schema.public)]

    def _check_qualifier(self, node: exp.Column) -> None:
        parts = [part.name for part in node.parts[:-1]]
        if parts and (len(parts) > 1 or parts[0].lower() != self.alias.lower()):
            raise self.source.wrong(
                f"there is no table {'.'.join(parts)!r} here",
                node,
                hint=f"write {self.alias}.{node.name}",
            )


def suggestion(name: str, known: Iterable[str]) -> str:
    """A hint that names the closest of the known names, then lists them."""
    names = list(dict.fromkeys(known))
    by_lower = {candidate.lower(): candidate for candidate in names}
    close = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    meant = f"did you mean {by_lower[close[0]]}? " if close else ""
    return f"{meant}there are {_listed(names)}" if names else "there are none"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")
