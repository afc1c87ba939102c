"""Completions of what somebody writes in the shell: commands, tables, columns, values, SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldpsql.parser.catalog import describe, describe_lookup
from ldpsql.sql.aggregates import AGGREGATES
from ldpsql.sql.quoting import literal
from ldpsql_device.values import Listed

if TYPE_CHECKING:
    from ldpsql.sql.lookups import PublicTable
    from ldpsql.survey import Survey


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


KEYWORDS = _words(
    """
    SELECT FROM WHERE GROUP BY ORDER HAVING LIMIT AND OR NOT IN BETWEEN LIKE IS NULL AS DISTINCT
    CASE WHEN THEN ELSE END JOIN LEFT USING ON WITH UNION ALL FILTER EXISTS WINDOW QUALIFY OFFSET
    NULLS FIRST LAST INTERVAL VALUES CAST OVER PARTITION DESC ASC EXPLAIN DESCRIBE SHOW TABLES
    ROLLUP CUBE DATE TIMESTAMP TRUE FALSE
    """
)
FUNCTIONS = (
    *dict.fromkeys(kind.names[0] for kind in AGGREGATES),
    *_words("STDERR CDF HISTOGRAM DATE_TRUNC ROUND"),
)
_MOST = 500  # values of a column
_TABLE = re.compile(r"\b(?:FROM|JOIN|DESCRIBE|DESC)\s+(?:[\w\"]+\s*,\s*)*(\w*)$", re.I)
_VALUE = re.compile(
    r"([a-z_]\w*|\"[^\"]+\")\s*(?:=|<>|!=|<=?|>=?|\bLIKE\b|\bIN\s*\((?:[^()]*,)?)\s*"
    r"('(?:[^']|'')*|[\w.-]*)$",
    re.I,
)


@dataclass(frozen=True)
class AskableColumn:
    """A column that can be asked about.

    detail: its role, in words.  values: as SQL literals, where they are written out.
    """

    name: str
    detail: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Offer:
    """A text that may take the place of the last `taken` characters, and what it is."""

    text: str
    taken: int
    detail: str = ""


@dataclass(frozen=True)
class Names:
    """The tables that can be asked, with their columns."""

    tables: Mapping[str, tuple[AskableColumn, ...]]

    @classmethod
    def of(cls, surveys: Iterable[Survey], lookups: Iterable[PublicTable]) -> Names:
        """Those of surveys and look-up tables."""
        tables = {survey.table: tuple(_columns(survey)) for survey in surveys}
        for table in lookups:
            own = describe_lookup(table)
            tables[table.name] = tuple(AskableColumn(name, f"lookup, {kind}") for name, kind in own)
        return cls(tables)

    def offers(self, before: str) -> Iterator[Offer]:
        """Completions of an unfinished statement."""
        words = {word.lower() for word in re.findall(r"\w+", before)}
        asked = {name: own for name, own in self.tables.items() if name.lower() in words}
        columns = {column.name: column for own in (asked or self.tables).values() for column in own}
        if values := _offer_values(before, columns):
            yield from values
            return
        if before.count("'") % 2:  # within a text nothing else can stand
            return
        if table := _TABLE.search(before):
            yield from _starting(table[1], self.tables, "table")
            return
        match = re.search(r"\w*$", before)
        word = match[0] if match else ""
        for column in columns.values():
            yield from _starting(word, [column.name], column.detail)
        yield from _starting(word, self.tables, "table")
        # Who writes in small letters gets small letters.
        is_small = word != "" and word == word.lower()
        for names, detail in ((FUNCTIONS, "function"), (KEYWORDS, "")):
            yield from _starting(word, (n.lower() if is_small else n for n in names), detail)


def offer_commands(before: str, known: Mapping[str, Sequence[str]]) -> Iterator[Offer]:
    """Completions of an unfinished command.

    known: the commands, with what may stand behind each of them.
    """
    word, blank, rest = before.partition(" ")
    if not blank:
        yield from _starting(word, known)
    else:
        yield from _starting(rest.lstrip(), known.get(word, ()))


def _starting(begun: str, names: Iterable[str], detail: str = "") -> Iterator[Offer]:
    for name in names:
        if name.lower().startswith(begun.lower()):
            yield Offer(name, len(begun), detail)


def _offer_values(before: str, columns: Mapping[str, AskableColumn]) -> list[Offer]:
    """The values of a column with which a comparison at the end of a statement may go on."""
    value = _VALUE.search(before)
    column = columns.get(value[1].strip('"').lower()) if value else None
    if value is None or column is None:
        return []
    begun = value[2]
    return [Offer(each, len(begun), "value") for each in column.values if _starts(each, begun)]


def _starts(value: str, begun: str) -> bool:
    """Whether a literal begins so; the quote may be missing."""
    return value.lower().startswith(begun.lower()) or value[1:].lower().startswith(begun.lower())


def _columns(survey: Survey) -> Iterator[AskableColumn]:
    listed = {
        dimension.name: dimension.domain.values
        for dimension in survey.schema.dimensions
        if isinstance(dimension.domain, Listed)
    }
    for column in describe(survey.schema):
        name = column["column_name"]
        values = tuple(map(literal, listed.get(name, ())[:_MOST]))
        yield AskableColumn(name, f"{column['role']}, {column['type']}", values)
