"""Runs at the collector. Sees reports. Which rows of a file are reports of a survey, in SQL.

Every check is one SQL condition over the file's columns (alias `r`) and the limits of the
report's group (alias `l`), with a reason that names the column and never the value. A row is
taken if it meets none of the conditions; `accepted` and `faulty` are both made from the same list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ldpsql.store.duckdb.files import JSON, Incoming
from ldpsql.store.duckdb.layout import SURVEY_COLUMN, Column, Layout, stored, text
from ldpsql.store.duckdb.opening import Connection
from ldpsql_device.errors import ReportError
from ldpsql_device.schema import RESERVED_PREFIX, PublicColumn

_LIMITS, _ROW, _FAULT = (RESERVED_PREFIX + name for name in ("limits", "row", "fault"))
_SHOWN = 5
_WHOLE = r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?"
_TYPES = {
    "int": _WHOLE,
    "float": rf"{_WHOLE}|FLOAT|DOUBLE|DECIMAL\(.*\)",
    "text": r"VARCHAR|ENUM\(.*\)",
    "bool": r"BOOLEAN",
    "date": r"DATE",
    "timestamp": r"TIMESTAMP(_S|_MS|_NS)?|DATE",
}
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TEXTS = {
    "int": r"[+-]?[0-9]{1,20}",
    "float": r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?",
    "bool": r"[Tt]rue|[Ff]alse|TRUE|FALSE",
    "date": _DAY,
    "timestamp": rf"{_DAY}([T ][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]+)?)?)?",
}
_JSON_TYPES = {
    "int": ("UBIGINT", "BIGINT"),
    "float": ("UBIGINT", "BIGINT", "DOUBLE"),
    "text": ("VARCHAR",),
    "bool": ("BOOLEAN",),
    "date": ("VARCHAR",),
    "timestamp": ("VARCHAR",),
}
# Far above any measurement, and far enough below the largest double that sums of products of two
# such values over any number of people stay finite: one report must not void a sum for all.
_LARGEST_FLOAT = "1e100"
_NULL_TYPE = '"NULL"'


@dataclass(frozen=True)
class Fault:
    """An SQL condition under which a row is no report, and what to say of it."""

    condition: str
    reason: str


@dataclass(frozen=True)
class Checks:
    """The reports in a file, and the rest.

    accepted: SELECT of the report's and public columns, typed as they are stored.
    """

    incoming: Incoming
    faults: tuple[Fault, ...]
    accepted: str

    def count_rows(self, cursor: Connection) -> int:
        """Rows in the file, good or bad."""
        row = cursor.execute(f"SELECT count(*) FROM {self.incoming.relation}").fetchone()
        return 0 if row is None else int(row[0])

    def error(self, cursor: Connection, layout: Layout) -> ReportError:
        """Names the first few rows that are no reports, and why."""
        name, limit = self.incoming.name, f"LIMIT {_SHOWN + 1}"
        if self.incoming.broken:
            lines = ", ".join(map(str, self.incoming.first_broken))
            return ReportError(
                f"{name}: {self.incoming.broken} broken line(s), the first at {lines}; "
                "nothing was taken (skip invalid rows to take the others)"
            )
        arms = " ".join(f"WHEN {fault.condition} THEN {i}" for i, fault in enumerate(self.faults))
        rows = cursor.execute(
            f"SELECT r.{_ROW}, CASE {arms} END AS {_FAULT} FROM (SELECT *, row_number() OVER () "
            f"AS {_ROW} FROM {self.incoming.relation}) r {_join(layout, self.incoming)} "
            f"WHERE {_FAULT} IS NOT NULL ORDER BY r.{_ROW} {limit}"
        ).fetchall()
        shown = "; ".join(f"row {row}: {self.faults[fault].reason}" for row, fault in rows[:_SHOWN])
        more = "; and more" if len(rows) > _SHOWN else ""
        return ReportError(
            f"{name}: {shown}{more} (row 1 is the first); nothing was taken "
            "(skip invalid rows to take the others)"
        )


def checks(cursor: Connection, layout: Layout, incoming: Incoming) -> Checks:
    """Prepare to tell reports from other rows.

    Raises ReportError for a column that is missing or too many, and for a column of a type that
    no report has.
    """
    _require_columns(layout, incoming)
    cursor.register(_LIMITS, _limits(layout))
    faults = tuple(_faults(layout, incoming))
    values = [
        *(_report_value(column, incoming) for column in layout.report_columns),
        *(_public_value(column, incoming) for column in layout.schema_public),
    ]
    kept = (*layout.report_columns, *layout.public_columns)
    selected = ", ".join(
        f"{value} AS {column.sql}" for value, column in zip(values, kept, strict=True)
    )
    bad = " OR ".join(f"({fault.condition})" for fault in faults)
    accepted = (
        f"SELECT {selected} FROM {incoming.relation} r {_join(layout, incoming)} WHERE NOT ({bad})"
    )
    return Checks(incoming, faults, accepted)


def _require_columns(layout: Layout, incoming: Incoming) -> None:
    known = {column.name for column in (*layout.report_columns, *layout.public_columns)}
    unknown = [name for name in incoming.types if name not in known | {SURVEY_COLUMN}]
    if unknown:
        raise ReportError(
            f"{incoming.name}: {_place(incoming, unknown[0])} is no part of a report of "
            f"{layout.key} and may hold raw values; nothing was taken: remove it, or randomize "
            f"the file first (a report has the columns {layout.report_names})"
        )
    for column in (*layout.report_columns, *layout.public_columns):
        if column.name not in incoming.types:
            raise ReportError(f"{incoming.name}: column {column.name!r} is missing")
    if not incoming.is_text:
        _require_types(layout, incoming)


def _place(incoming: Incoming, name: str) -> str:
    """Where an unknown column stands. Its name may be a raw value, as in a CSV without header."""
    if incoming.types[name] == JSON:
        return "one of the keys"
    return f"column {list(incoming.types).index(name) + 1}"


def _require_types(layout: Layout, incoming: Incoming) -> None:
    wanted = {column.name: "int" for column in layout.report_columns}
    wanted |= {column.name: column.type for column in layout.schema_public}
    for name, kind in wanted.items():
        given = incoming.types[name]
        if given != _NULL_TYPE and not re.fullmatch(_TYPES[kind], given):
            shown = given.split("(")[0]
            raise ReportError(f"{incoming.name}: column {name!r} is {shown}, it must be {kind}")


def _limits(layout: Layout) -> pa.Table:
    """The largest value of every report column, by selector."""
    form = layout.format
    columns = {"selector": np.arange(form.selectors)}
    columns |= {f"largest_{j}": limits - 1 for j, limits in enumerate(form.limits.T)}
    return pa.table(
        {
            name: values.astype(f"u{width // 8}")
            for (name, values), width in zip(columns.items(), form.widths, strict=True)
        }
    )


def _join(layout: Layout, incoming: Incoming) -> str:
    return f"LEFT JOIN {_LIMITS} l ON {_report_value(layout.selector, incoming)} = l.selector"


def _faults(layout: Layout, incoming: Incoming) -> Iterator[Fault]:
    if SURVEY_COLUMN in incoming.types:
        yield Fault(
            f"r.{SURVEY_COLUMN}::VARCHAR IS DISTINCT FROM {text(layout.fingerprint)}",
            "it belongs to another survey, or to none",
        )
    for column in layout.report_columns:
        raw, value = f"r.{column.sql}", _report_value(column, incoming)
        yield Fault(f"{raw} IS NULL", f"{column.name} is missing")
        if value != raw:
            yield Fault(f"{value} IS NULL", f"{column.name} is no whole number within its range")
    yield Fault("l.selector IS NULL", f"{layout.selector.name} is out of range")
    for position, column in enumerate(layout.report_columns[1:]):
        yield Fault(
            f"{_report_value(column, incoming)} > l.largest_{position}",
            f"{column.name} is out of range",
        )
    for public in layout.schema_public:
        yield from _public_faults(public, incoming)


def _public_faults(column: PublicColumn, incoming: Incoming) -> Iterator[Fault]:
    raw, value = f"r.{stored(column).sql}", _public_value(column, incoming)
    if column.nulls == "reject":
        yield Fault(f"{raw} IS NULL", f"{column.name} is missing")
    if value != raw:
        unread = f"{raw} IS NOT NULL AND {value} IS NULL"
        yield Fault(unread, f"{column.name} is not of type {column.type}")
    if column.type in ("float", "date", "timestamp"):
        infinite = f"{value} IS NOT NULL AND NOT isfinite({value})"
        yield Fault(infinite, f"{column.name} is not finite")
    if column.type == "float":
        large = f"{value} IS NOT NULL AND abs({value}) > {_LARGEST_FLOAT}"
        yield Fault(large, f"{column.name} is too large to be summed")


def _report_value(column: Column, incoming: Incoming) -> str:
    return _value(column, "int", incoming)


def _public_value(column: PublicColumn, incoming: Incoming) -> str:
    return _value(stored(column), column.type, incoming)


def _value(column: Column, kind: str, incoming: Incoming) -> str:
    """SQL for a column's value as it is stored; NULL where there is none."""
    raw = f"r.{column.sql}"
    if incoming.types[column.name] == JSON:
        return _json_value(raw, column, kind)
    if incoming.types[column.name] == column.type:
        return raw
    cast = f"TRY_CAST({raw} AS {column.type})"
    if not incoming.is_text:
        return cast
    return f"CASE WHEN regexp_full_match({raw}, {text(_TEXTS[kind])}) THEN {cast} END"


def _json_value(raw: str, column: Column, kind: str) -> str:
    plain = f"({raw} ->> '$')"
    conditions = [f"json_type({raw}) IN ({', '.join(map(text, _JSON_TYPES[kind]))})"]
    if kind in _TEXTS:
        conditions.append(f"regexp_full_match({plain}, {text(_TEXTS[kind])})")
    return f"CASE WHEN {' AND '.join(conditions)} THEN TRY_CAST({plain} AS {column.type}) END"
