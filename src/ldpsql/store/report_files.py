"""Files of reports: the rules that stores and shufflers share, above all which rows are reports.

A file comes in pieces, its columns as they stand there: Arrow values, text (CSV) or Python's values
(JSON). Reasons name a column and never a value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ldpsql.reports.arrow_types import ARROW_TYPES, HOLDS, ID_COLUMN, find_far, is_text
from ldpsql.store.intake import Intake
from ldpsql_device.errors import ReportError
from ldpsql_device.reports import ID_BYTES
from ldpsql_device.schema import LARGEST_PUBLIC
from ldpsql_device.survey import PERIOD_COLUMN, Schedule
from ldpsql_device.values import TYPES

Booleans = NDArray[np.bool_]
Values = tuple[pa.Array, Booleans]
"""Values of a type, NULL where there is none, and which rows hold nothing at all."""

SHOWN = 5
ID = "id"
"""How `read` of a `ReportPiece` is asked for ids, beside the types of columns."""
NO_ID = f"its id is not {2 * ID_BYTES} hexadecimal digits"
ID_TYPE = pa.binary(ID_BYTES)
WRITTEN_ID = re.compile(f"[0-9a-f]{{{2 * ID_BYTES}}}")
LONGEST_TEXT = 1 << 16
"""Bytes of a public text, as many as a whole body of a device may have."""


@dataclass(frozen=True)
class ReportPiece:
    """Some rows of a file.

    rows: how many.  columns: by name, of a form that `read` knows, which gives the values of a type
    (a key of `TYPES`, or `ID`).  faults: rows that are no reports for reasons other than a column's
    value.
    """

    rows: int
    columns: Mapping[str, Any]
    read: Callable[[Any, str], Values]
    faults: Sequence[tuple[Booleans, str]] = ()


@dataclass(frozen=True)
class CheckedRows:
    """The outcome of checking a piece.

    reports: the rows that are reports, with the columns of `Intake.columns` in the types they are
    stored in, and with their ids (`ID_COLUMN`) where the piece has them.
    refused: how many are not.  faults: (row, reason) of the first of these, from 0.
    """

    reports: pa.RecordBatch
    refused: int
    faults: list[tuple[int, str]]


def check_rows(intake: Intake, piece: ReportPiece, most: int = SHOWN + 1) -> CheckedRows:
    """Tell the reports of a survey from other rows; of several reasons a row gets the first.

    most: of how many refused rows the reasons are told.
    """
    cause, reasons = np.zeros(piece.rows, dtype=np.int64), [""]
    columns: list[pa.Array] = []

    def refuse(rows: Booleans, reason: str) -> None:
        if rows.any():
            cause[rows & (cause == 0)] = len(reasons)
            reasons.append(reason)

    for rows, reason in piece.faults:
        refuse(rows, reason)
    form, limits = intake.format, np.full(piece.rows, intake.format.types)
    for place, (name, width) in enumerate(zip(intake.report_columns, form.widths, strict=True)):
        values, missing = piece.read(piece.columns[name], "int")
        refuse(missing, f"{name} is missing")
        numbers = values.fill_null(-1).to_numpy(zero_copy_only=False)
        outside = (numbers < 0) | (numbers >= 1 << width)
        refuse(outside, f"{name} is not a whole number within its range")
        if place == 0:
            types = np.where(outside | (numbers >= form.types), 0, numbers)
        else:
            limits = form.limits[types, place - 1]
        refuse(numbers >= limits, f"{name} is out of range")
        columns.append(pa.array(numbers.astype(f"u{width // 8}")))
    for column in intake.public:
        values, missing = piece.read(piece.columns[column.name], column.type)
        refuse(
            _booleans(values.is_null()) & ~missing, f"{column.name} is not of type {column.type}"
        )
        if column.type == "float":
            amounts = values.fill_null(0.0).to_numpy(zero_copy_only=False)
            refuse(~np.isfinite(amounts), f"{column.name} is not finite")
            refuse(np.abs(amounts) > LARGEST_PUBLIC, f"{column.name} is too large to be summed")
        if column.bounds is not None:
            low, high = (pa.scalar(bound, values.type) for bound in column.bounds)
            compute = _compute()
            beyond = compute.or_(compute.less(values, low), compute.greater(values, high))
            refuse(_booleans(beyond.fill_null(False)), f"{column.name} is beyond its bounds")
        if column.type == "text":
            lengths = _compute().binary_length(values).fill_null(0).to_numpy(zero_copy_only=False)
            refuse(lengths > LONGEST_TEXT, f"{column.name} is longer than {LONGEST_TEXT:,} bytes")
        if column == PERIOD_COLUMN and intake.schedule.period:
            days = [day for day in values.unique().to_pylist() if day is not None]
            periods = [day for day in days if _is_period(intake.schedule, day)]
            strange = ~_booleans(_compute().is_in(values, pa.array(periods, values.type)))
            refuse(strange, f"{column.name} is not the first day of a period of the survey")
        columns.append(values)
    names = list(intake.columns)
    if ID_COLUMN in piece.columns:
        ids, _ = piece.read(piece.columns[ID_COLUMN], ID)
        refuse(_booleans(ids.is_null()), NO_ID)
        columns.append(ids)
        names.append(ID_COLUMN)
    batch, bad = pa.RecordBatch.from_arrays(columns, names=names), cause != 0
    first = np.flatnonzero(bad)[:most].tolist()
    faults = [(row, reasons[cause[row]]) for row in first]
    return CheckedRows(batch.filter(pa.array(~bad)) if first else batch, int(bad.sum()), faults)


def _is_period(schedule: Schedule, first: date) -> bool:
    """Whether a period that starts on this day has a day on which the survey is answered."""
    opening = None if schedule.start is None else schedule.period_of(schedule.start)
    return (
        schedule.period_of(first) == first
        and (opening is None or first >= opening)
        and not schedule.has_ended(first)
    )


def refuse_rows(name: str, faults: Sequence[tuple[int, str]], way_out: str) -> ReportError:
    """The error for a file with rows that are not reports; faults: (row from 0, reason)."""
    shown = "; ".join(f"row {row + 1}: {reason}" for row, reason in faults[:SHOWN])
    more = "; and more" if len(faults) > SHOWN else ""
    return ReportError(f"{name}: {shown}{more} (row 1 is the first); {way_out}")


# -- columns -----------------------------------------------------------------------------------


def require_columns(intake: Intake, name: str, columns: Sequence[str]) -> None:
    """ReportError for a column that is missing or appears twice, and for one that reports lack.

    name: of the file. The names of columns may be raw values, as in a CSV file without a header, so
    messages give positions; two names that differ in nothing but case are the same.
    """
    known = {*intake.columns, ID_COLUMN}
    places: dict[str, int] = {}
    for position, column in enumerate(columns, 1):
        first = places.setdefault(column.lower(), position)
        if first != position:
            raise ReportError(
                f"{name}: columns {first} and {position} have the same name (case does not count)"
            )
    for position, column in enumerate(columns, 1):
        if column not in known:
            raise refuse_column(intake, name, f"column {position}")
    for column in intake.columns:
        if column not in columns:
            raise ReportError(f"{name}: column {column!r} is missing")
    if ID_COLUMN in intake.file_columns and ID_COLUMN not in columns:
        raise refuse_without_ids(name)


def refuse_without_ids(name: str) -> ReportError:
    """The error for a file of reports that cannot be told from repeats of them."""
    return ReportError(
        f"{name}: its reports have no ids ({ID_COLUMN}), which tell repeats of a report from other "
        "people's equal ones; nothing was taken: take the files as devices wrote them, or have the "
        "survey answered anew, with format 1"
    )


def refuse_column(intake: Intake, name: str, which: str) -> ReportError:
    """The error for a column that no report has."""
    names = ", ".join(f'"{column}"' for column in intake.columns)
    return ReportError(
        f"{name}: {which} is not part of a report of {intake.key} and may hold raw values; nothing "
        f"was taken: remove it, or randomize the file first (a report has the columns {names})"
    )


def require_types(intake: Intake, name: str, schema: pa.Schema) -> None:
    """ReportError for an Arrow column of a type that cannot hold its values."""
    kinds = dict.fromkeys(intake.report_columns, "int")
    kinds |= {column.name: column.type for column in intake.public}
    kinds |= {column: ID for column in (ID_COLUMN,) if column in schema.names}
    for column, kind in kinds.items():
        given = schema.field(column).type
        if not (pa.types.is_null(given) or _READABLE[kind](given)):
            raise ReportError(
                f"{name}: column {column!r} is {str(given).split('<')[0]}, it must be {kind}"
            )


def _is_id(kind: pa.DataType) -> bool:
    return (
        kind == ID_TYPE
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or (pa.types.is_null(kind) or is_text(kind))
    )


_READABLE: Mapping[str, Callable[[pa.DataType], bool]] = {
    **HOLDS,
    "float": lambda kind: HOLDS["int"](kind) or HOLDS["float"](kind),
    "text": is_text,
    "timestamp": lambda kind: HOLDS["date"](kind) or HOLDS["timestamp"](kind),
    ID: _is_id,
}
"""Which Arrow types are read as a type of column, or as ids."""


# -- values ------------------------------------------------------------------------------------


def read_arrow(column: pa.Array, kind: str) -> Values:
    """Values of an Arrow column of a type that `require_types` lets through; others are NULL."""
    missing = _booleans(column.is_null())
    if kind == ID:
        return _read_ids(column), missing
    if not _READABLE[kind](column.type):
        return pa.nulls(len(column), ARROW_TYPES[kind]), missing
    if kind == "int" and column.type == pa.uint64():
        fits = _compute().less(column, pa.scalar(1 << 63, pa.uint64()))
        column = _compute().if_else(fits, column, None)
    return _drop_far(column).cast(ARROW_TYPES[kind], safe=False), missing


_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_WRITTEN = {
    "int": r"[+-]?[0-9]{1,20}",
    "float": r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?",
    "bool": "[Tt]rue|[Ff]alse|TRUE|FALSE",
    "date": _DAY,
    "timestamp": rf"{_DAY}([T ][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]+)?)?)?",
}
_PARSERS: Mapping[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
}


def read_text(column: pa.Array, kind: str) -> Values:
    """Values written as text, in UTF-8 (strings or binary)."""
    missing = _booleans(column.is_null())
    if kind == ID:
        return _hexadecimal(map(_decode, column.to_pylist())), missing
    try:
        texts = column.cast(pa.string())
    except pa.ArrowInvalid:
        texts = pa.array([_decode(value) for value in column.to_pylist()], pa.string())
    if kind == "text":
        return texts, missing
    is_written = _compute().match_substring_regex(texts, rf"\A({_WRITTEN[kind]})\z")
    texts = _compute().if_else(is_written, texts, None)
    try:
        values = texts.cast(ARROW_TYPES[kind])
    except pa.ArrowInvalid:  # a value that Arrow does not read, or that is none: one by one
        parsed = [_parse(text, kind) for text in texts.to_pylist()]
        values = pa.array(parsed, ARROW_TYPES[kind])
    return _drop_far(values), missing


def read_json(values: Sequence[Any], kind: str) -> Values:
    """Values from JSON, in which 0 and "0" differ; dates are text."""
    missing = np.array([value is None for value in values], dtype=np.bool_)
    if kind == ID:
        return _hexadecimal(values), missing
    if kind in ("date", "timestamp"):
        texts = [value if isinstance(value, str) else None for value in values]
        return read_text(pa.array(texts, pa.string()), kind)[0], missing
    fits = TYPES[kind]
    right = [value if fits(value) else None for value in values]
    if kind == "float":  # Arrow refuses whole numbers that a double does not hold exactly
        right = [None if value is None else float(value) for value in right]
    return pa.array(right, ARROW_TYPES[kind]), missing


def _read_ids(column: pa.Array) -> pa.Array:
    """Ids of an Arrow column: bytes, as written here or by others, or hexadecimal digits."""
    if column.type == ID_TYPE:
        return column
    if not (pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)):
        return _hexadecimal(column.to_pylist())
    is_long = _compute().equal(_compute().binary_length(column), ID_BYTES)
    return _compute().if_else(is_long, column, None).cast(ID_TYPE)


def _hexadecimal(values: Iterable[Any]) -> pa.Array:
    """Ids written as digits; NULL for anything else."""
    written = [
        bytes.fromhex(value) if isinstance(value, str) and WRITTEN_ID.fullmatch(value) else None
        for value in values
    ]
    return pa.array(written, ID_TYPE)


def _compute() -> Any:
    """Arrow's functions, which take as long to load as a short answer: for files alone."""
    import pyarrow.compute  # noqa: PLC0415

    return pyarrow.compute


def _booleans(array: pa.Array) -> Booleans:
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _decode(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _parse(text: str | None, kind: str) -> Any:
    try:
        value = None if text is None else _PARSERS[kind](text)
    except ValueError:
        return None
    return value if TYPES[kind](value) else None


def _drop_far(column: pa.Array) -> pa.Array:
    """Dates and timestamps outside the years 1 to 9999 as NULL."""
    if not (pa.types.is_timestamp(column.type) or pa.types.is_date(column.type)):
        return column
    far = find_far(column)
    return _compute().if_else(pa.array(far), None, column) if far.any() else column
