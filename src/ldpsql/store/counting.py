"""The SQL that counts equal reports, in DuckDB's dialect (`dialects` says it in others).

A histogram counts equal reports, or the set bits of unary ones. Counts add up: those of several
sets of reports may stand in one table, several rows for equal reports.
"""

from __future__ import annotations

from collections.abc import Sequence

from ldpsql.algebra.boxes import Weight
from ldpsql.store.base import Moment, Selection
from ldpsql.store.layout import COUNT_COLUMN, Layout, names
from ldpsql_device.schema import RESERVED_PREFIX

PEOPLE = f"{RESERVED_PREFIX}people"
KEY = f"{RESERVED_PREFIX}key"
_FIRST, _BYTE, _SHIFT = (RESERVED_PREFIX + name for name in ("first", "byte", "shift"))
_WORD_BITS = 32


def order_ascending(keys: Sequence[str]) -> str:
    """An SQL list of what to order by; NULL comes last."""
    return ", ".join(f"{key} ASC NULLS LAST" for key in keys)


# -- reports to counts -------------------------------------------------------------------------


def count_reports(table: Layout, reports: str) -> list[str]:
    """Queries whose rows together are the histogram of a subquery of reports."""
    if not table.format.unary:
        return [
            f"SELECT {table.keys}, count(*) AS {COUNT_COLUMN} FROM ({reports}) AS reports "
            f"GROUP BY {table.keys}"
        ]
    # Rows with bit -1 count the reports; the others, word by word, who set a bit.
    _, bit = table.counted_columns
    public = "".join(f", {column.sql}" for column in table.public_columns)
    people = (
        f"SELECT {table.report_type.sql}, -1 AS {bit.sql}{public}, count(*) AS {COUNT_COLUMN} "
        f"FROM ({reports}) AS reports GROUP BY {table.report_type.sql}{public}"
    )
    words = range(len(table.report_columns) - 1)
    return [people, *(_bits_of_word(table, word, reports) for word in words)]


def _bits_of_word(table: Layout, number: int, reports: str) -> str:
    """One row per bit of a word, by way of one count per byte: faster than one sum per bit."""
    word, (_, bit) = table.report_columns[number + 1].sql, table.counted_columns
    keys = names((table.report_type, *table.public_columns))
    public = "".join(f", {column.sql}" for column in table.public_columns)
    by_byte = " UNION ALL ".join(
        f"SELECT {keys}, {_WORD_BITS * number + first} AS {_FIRST}, "
        f"(CAST({word} AS BIGINT) >> {first}) & 255 AS {_BYTE}, count(*) AS {COUNT_COLUMN} "
        f"FROM ({reports}) AS reports "
        f"GROUP BY {keys}, (CAST({word} AS BIGINT) >> {first}) & 255"
        for first in range(0, _WORD_BITS, 8)
    )
    shifts = " UNION ALL ".join(f"SELECT {shift} AS {_SHIFT}" for shift in range(8))
    return (
        f"SELECT {table.report_type.sql}, {_FIRST} + {_SHIFT} AS {bit.sql}{public}, "
        f"CAST(sum({COUNT_COLUMN}) AS BIGINT) AS {COUNT_COLUMN} FROM ({by_byte}) AS bytes "
        f"CROSS JOIN ({shifts}) AS shifts WHERE (({_BYTE} >> {_SHIFT}) & 1) = 1 "
        f"GROUP BY {table.report_type.sql}, {_FIRST} + {_SHIFT}{public}"
    )


# -- counts of a selection -----------------------------------------------------------------------


class Counting:
    """The columns to select of histogram rows for a selection of people.

    keys: SQL expressions to group by, those that are no column with a name; key_names: their names.
    condition: SQL.  moments: those asked for, and each of their weights alone.
    """

    def __init__(self, table: Layout, selection: Selection) -> None:
        """InternalError for a name that is no public column of the table."""
        self.table = table
        self.keys, self.key_names = list[str](), list[str]()
        for place, key in enumerate(selection.keys):
            name = text = table.public(key) if isinstance(key, str) else f"{KEY}_{place}"
            if not isinstance(key, str):
                text = f"CAST({key.text} AS {key.kind}) AS {name}"
            self.keys.append(text)
            self.key_names.append(name)
        self.condition = f"({selection.condition})" if selection.condition else "true"
        single = [(w, None) for pair in selection.moments for w in pair if w is not None]
        self.moments: list[Moment] = list(dict.fromkeys([*selection.moments, *single]))

    def products(self) -> list[str]:
        """The amount that one person adds to every moment, as SQL."""
        return [
            " * ".join(self.weight(weight) for weight in pair if weight is not None)
            for pair in self.moments
        ]

    def weight(self, weight: Weight) -> str:
        """The SQL of a public weight of one person."""
        column = self.table.public(weight.column)
        if weight.kind == "present":
            return f"CAST(CASE WHEN {column} IS NULL THEN 0 ELSE 1 END AS DOUBLE)"
        return f"CAST(coalesce({column}, 0) AS DOUBLE)"


def moment(index: int) -> str:
    """The column of a moment by its place among those of a `Counting`."""
    return f"{RESERVED_PREFIX}moment_{index}"
