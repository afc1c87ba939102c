"""Public. Sees parameters. Which names a query over estimates may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

Names = tuple[str, ...]


@dataclass(frozen=True)
class Scope:
    """What a query may name.

    ctes: columns of each CTE by lower-case name.  sources: columns of each relation in FROM by
    lower-case alias.  aliases: names given in the select list.  outside: the enclosing query's.
    """

    ctes: Mapping[str, Names] = field(default_factory=dict)
    sources: Mapping[str, Names] = field(default_factory=dict)
    aliases: frozenset[str] = frozenset()
    outside: Scope | None = None

    def knows(self, column: exp.Column) -> bool:
        """Whether a column can be found here or in an enclosing query."""
        name, table = column.name.lower(), column.table.lower()
        if table:
            found = name in (known.lower() for known in self.sources.get(table, ()))
        else:
            found = name in self.aliases or any(
                name == known.lower() for names in self.sources.values() for known in names
            )
        return found or (self.outside is not None and self.outside.knows(column))

    def names(self) -> list[str]:
        """Every column name in sight."""
        here = [name for names in self.sources.values() for name in names]
        return here + (self.outside.names() if self.outside else [])
