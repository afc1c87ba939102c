"""Completions of what somebody writes in the shell: commands, tables, columns, values, SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prompt_toolkit.completion import Completion

from ldpsql.parser.catalog import describe, describe_lookup
from ldpsql.sql.aggregates import AGGREGATES
from ldpsql.sql.quoting import literal
from ldpsql.wording.texts import one_line
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

    def offers(self, before: str) -> Iterator[Completion]:
        """Completions of an unfinished statement."""
        words = {word.lower() for word in re.findall(r"\w+", before)}
        asked = {name: own for name, own in self.tables.items() if name.lower() in words}
        columns = {column.name: column for own in (asked or self.tables).values() for column in own}
        if found := _offer_values(before, columns):
            yield from found
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


def offer_commands(before: str, known: Mapping[str, Sequence[str]]) -> Iterator[Completion]:
    """Completions of an unfinished command.

    known: the commands, with what may stand behind each of them.
    """
    word, blank, rest = before.partition(" ")
    if not blank:
        yield from _starting(word, known)
    else:
        yield from _starting(rest.lstrip(), known.get(word, ()))


def _offer_values(before: str, columns: Mapping[str, AskableColumn]) -> list[Completion]:
    """Values of the column that a text compares, which begin as it ends; the quote may be
    missing."""
    match = _VALUE.search(before)
    column = columns.get(match[1].strip('"').lower()) if match else None
    if match is None or column is None:
        return []
    begun = match[2].lower()
    found = (each for each in column.values if each.lower().startswith((begun, f"'{begun}")))
    return [Completion(each, -len(begun), one_line(each), "value") for each in found]


def _starting(begun: str, names: Iterable[str], detail: str = "") -> Iterator[Completion]:
    for name in names:
        if name.lower().startswith(begun.lower()):
            yield Completion(name, -len(begun), display_meta=detail)


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
