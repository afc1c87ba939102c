"""Public margins of a population: how many people it has by the values of some columns.

A file of margins is CSV with a header, or an Arrow table; lines above the header that start with #
are comments. Every column is one of a survey's
dimensions or public columns, but one, which holds the number of people; see docs/sql.md#everybody.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ldpsql_device.errors import DataError, InterfaceError, OperationalError

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 100_000
LARGEST_FILE = 1 << 26
"""The most rows that a file of margins may have."""


@dataclass(frozen=True)
class Margin:
    """One file of margins, as it is written.

    name: of the file, for messages.  columns: its header.  rows: the texts of every row; an empty
    one is NULL.
    """

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Margins = tuple[Margin, ...]
"""Margins of one population."""
MarginSource: TypeAlias = "str | Path | pa.Table | Margin"
MarginSources: TypeAlias = "MarginSource | Sequence[MarginSource] | None"


def read_margins(given: MarginSources) -> Margins:
    """The margins of one file or Arrow table, or of several; none for None.

    OperationalError for a file that cannot be read, DataError for one that is no table.
    """
    if given is None:
        return ()
    sources: Iterable[MarginSource] = [given]
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        sources = given
    return tuple(_read(source, number) for number, source in enumerate(sources, start=1))


def _read(source: MarginSource, number: int) -> Margin:
    if isinstance(source, Margin):
        return source
    if isinstance(source, str | Path):
        return _read_file(Path(source))
    if not hasattr(source, "column_names"):
        kind = type(source).__name__
        raise InterfaceError(f"weights are CSV files or Arrow tables, not a value of type {kind}")
    rows = zip(*(column.to_pylist() for column in source.columns), strict=True)
    texts = [[_text(value) for value in row] for row in rows]
    return _margin(f"margins {number}", [str(name) for name in source.column_names], texts)


def _read_file(path: Path) -> Margin:
    try:
        if (size := path.stat().st_size) > LARGEST_FILE:
            raise DataError(f"{path} has {size:,} bytes, the limit is {LARGEST_FILE:,}")
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = dropwhile(lambda line: line.startswith("#"), file)
            rows = [row for row in csv.reader(lines) if row]
    except OSError as error:
        raise OperationalError(f"cannot read {path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} is not CSV in UTF-8: {error}") from None
    except ValueError:
        raise OperationalError(f"cannot read {str(path)!a:.60}: it is no name of a file") from None
    if not rows:
        raise DataError(f"{path} is empty; its first line names the columns")
    return _margin(str(path), rows[0], rows[1:])


def _margin(name: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Margin:
    """DataError unless every row has a text for every column."""
    if not 0 < len(rows) <= MOST_ROWS:
        raise DataError(f"{name} has {len(rows)} rows; margins have from 1 to {MOST_ROWS}")
    for place, row in enumerate(rows, start=1):
        if len(row) != len(columns):
            raise DataError(
                f"{name}: row {place} has {len(row)} values, the header has {len(columns)}"
            )
    header = tuple(column.strip() for column in columns)
    return Margin(name, header, tuple(tuple(text.strip() for text in row) for row in rows))


def _text(value: object) -> str:
    """A value of an Arrow table as CSV would write it."""
    if value is None:
        return ""
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return str(int(value))
    return str(value)


def margins_to_json(margins: Margins) -> Any:
    """Margins of a population as JSON."""
    return [[margin.name, margin.columns, margin.rows] for margin in margins]


def margins_from_json(given: Any) -> Margins:
    """The inverse; ValueError for anything else."""
    try:
        found = tuple(
            Margin(name, tuple(columns), tuple(map(tuple, rows))) for name, columns, rows in given
        )
    except TypeError:
        raise ValueError("margins") from None
    texts = (text for each in found for row in (each.columns, *each.rows) for text in row)
    if not all(isinstance(text, str) for text in texts) or any(
        len(row) != len(each.columns) for each in found for row in each.rows
    ):
        raise ValueError("margins")
    return found
