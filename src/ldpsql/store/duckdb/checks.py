"""Which rows of a file are reports of a survey, in SQL.

Every check is one SQL condition over the file's columns (alias `r`) and the limits of the
report's type (alias `l`), with a reason that names the column and never the value. A row is
taken if it meets none of the conditions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ldpsql.sql import literal
from ldpsql.store.duckdb.column_types import STORED_TYPES
from ldpsql.store.duckdb.files import JSON
from ldpsql.store.duckdb.layout import Column, Layout
from ldpsql.store.duckdb.opening import Connection
from ldpsql.store.rules import SURVEY_COLUMN, Incoming, refuse_rows
from ldpsql_device.errors import ReportError
from ldpsql_device.schema import RESERVED_PREFIX

_LIMITS, _ROW, _FAULT = (RESERVED_PREFIX + name for name in ("limits", "row", "fault"))
_ASKED_FOR = 6
# Far above any measurement, and far enough below the largest double that sums of products of two
# such values over any number of people stay finite: one report must not void a sum for all.
_LARGEST_FLOAT = "1e100"
_NULL_TYPE = '"NULL"'


@dataclass(frozen=True)
class Checks:
    """The reports in a file, and the rest.

    faults: SQL conditions under which a row is not a report, each with the reason.  join: puts the
    limits beside the rows.  accepted: SELECT of the report's and public columns of the reports,
    typed as they are stored.
    """

    incoming: Incoming
    faults: tuple[tuple[str, str], ...]
    join: str
    accepted: str

    @classmethod
    def of(cls, cursor: Connection, layout: Layout, incoming: Incoming) -> Checks:
        """Prepare to tell reports from other rows.

        Raises ReportError for a column of a type that cannot hold its values.
        """
        columns = (*layout.report_columns, *layout.public_columns)
        if not incoming.is_text:
            for column in columns:
                _require_type(column, incoming)
        cursor.register(_LIMITS, _limits(layout))
        values = {column.name: _value(column, incoming) for column in columns}
        join = f"LEFT JOIN {_LIMITS} l ON {values[layout.report_type.name]} = l.report_type"
        faults = tuple(_faults(layout, incoming, values))
        selected = ", ".join(f"{values[column.name]} AS {column.sql}" for column in columns)
        bad = " OR ".join(f"({condition})" for condition, _ in faults)
        accepted = f"SELECT {selected} FROM {incoming.relation} r {join} WHERE NOT ({bad})"
        return cls(incoming, faults, join, accepted)

    def error(self, cursor: Connection) -> ReportError:
        """Names the first few rows that are not reports, and why."""
        arms = " ".join(
            f"WHEN {condition} THEN {i}" for i, (condition, _) in enumerate(self.faults)
        )
        rows = cursor.execute(
            f"SELECT r.{_ROW}, CASE {arms} END AS {_FAULT} FROM (SELECT *, row_number() OVER () "
            f"AS {_ROW} FROM {self.incoming.relation}) r {self.join} "
            f"WHERE {_FAULT} IS NOT NULL ORDER BY r.{_ROW} LIMIT {_ASKED_FOR}"
        ).fetchall()
        return refuse_rows(self.incoming, [(row, self.faults[fault][1]) for row, fault in rows])


def _require_type(column: Column, incoming: Incoming) -> None:
    given = incoming.types[column.name]
    if given != _NULL_TYPE and not re.fullmatch(STORED_TYPES[column.kind].readable, given):
        raise ReportError(
            f"{incoming.name}: column {column.name!r} is {given.split('(')[0]}, it must be "
            f"{column.kind}"
        )


def _limits(layout: Layout) -> pa.Table:
    """The largest value of every report column, by report type."""
    form = layout.format
    columns = {"report_type": np.arange(form.types)}
    columns |= {f"largest_{j}": limits - 1 for j, limits in enumerate(form.limits.T)}
    return pa.table(
        {
            name: values.astype(f"u{width // 8}")
            for (name, values), width in zip(columns.items(), form.widths, strict=True)
        }
    )


def _faults(
    layout: Layout, incoming: Incoming, values: dict[str, str]
) -> Iterator[tuple[str, str]]:
    if SURVEY_COLUMN in incoming.types:
        yield (
            f"r.{SURVEY_COLUMN}::VARCHAR IS DISTINCT FROM {literal(layout.intake.fingerprint)}",
            "it belongs to another survey, or to none",
        )
    for column in layout.report_columns:
        wanted = "a whole number within its range"
        yield from _value_faults(column, values[column.name], wanted)
    yield "l.report_type IS NULL", f"{layout.report_type.name} is out of range"
    for position, column in enumerate(layout.report_columns[1:]):
        yield f"{values[column.name]} > l.largest_{position}", f"{column.name} is out of range"
    for column in layout.public_columns:
        yield from _value_faults(column, values[column.name], f"of type {column.kind}")


def _value_faults(column: Column, value: str, wanted: str) -> Iterator[tuple[str, str]]:
    raw = f"r.{column.sql}"
    if not column.nulls:
        yield f"{raw} IS NULL", f"{column.name} is missing"
    if value != raw:
        yield f"{raw} IS NOT NULL AND {value} IS NULL", f"{column.name} is not {wanted}"
    if column.kind in ("float", "date", "timestamp"):
        infinite = f"{value} IS NOT NULL AND NOT isfinite({value})"
        yield infinite, f"{column.name} is not finite"
    if column.kind == "float":
        large = f"{value} IS NOT NULL AND abs({value}) > {_LARGEST_FLOAT}"
        yield large, f"{column.name} is too large to be summed"


def _value(column: Column, incoming: Incoming) -> str:
    """SQL for a column's value as it is stored; NULL where there is none."""
    raw, given, kind = f"r.{column.sql}", incoming.types[column.name], STORED_TYPES[column.kind]
    if given == column.type:
        return raw
    if not incoming.is_text:
        return f"TRY_CAST({raw} AS {column.type})"
    conditions = []
    if given == JSON:
        conditions.append(f"json_type({raw}) IN ({', '.join(map(literal, kind.json_types))})")
        raw = f"({raw} ->> '$')"
    if kind.text is not None:
        conditions.append(f"regexp_full_match({raw}, {literal(kind.text)})")
    return f"CASE WHEN {' AND '.join(conditions)} THEN TRY_CAST({raw} AS {column.type}) END"
