"""Look-up tables: rows that everybody may see, which queries join with private columns.

Whatever a file or a program gives becomes a `PublicTable`: of bounded size, of the types that SQL
over estimates knows, and with names that need no quotes.
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from ldpsql.errors import list_some
from ldpsql.reports.arrow_types import ARROW_TYPES, HOLDS, is_far
from ldpsql_device.errors import DataError, SurveyError
from ldpsql_device.schema import RESERVED_PREFIX, check_name
from ldpsql_device.values import plain

MAX_ROWS = 1 << 20
MAX_BYTES = 1 << 26
"""Of a table in memory, and of the file that it is read from."""

_WHOLE, _NUMBER = r"^-?(0|[1-9][0-9]{0,17})$", r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$"
_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TEXTS: tuple[tuple[str, pa.DataType], ...] = (
    (_WHOLE, pa.int64()),
    (_NUMBER, pa.float64()),
    (r"^(?i:true|false)$", pa.bool_()),
    (f"{_DAY}$", pa.date32()),
    (rf"{_DAY}[ T][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}(\.[0-9]{{1,6}})?)?$", pa.timestamp("us")),
)
"""The types as which texts of a CSV file are read, if all of a column match; 0042 stays a text."""

_NUMBERS = {int, float, Decimal}


class ArrowStream(Protocol):
    """A table that Arrow reads: of pyarrow, pandas, polars, DuckDB, or an answer."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as Arrow's C stream."""


Columns = ArrowStream | Mapping[str, Sequence[object]]
"""Data for a table: what Arrow reads, or lists by the names of columns."""


@dataclass(frozen=True)
class PublicTable:
    """A table that everybody may see. Two with one name and digest hold the same rows.

    name: of the table, as columns are named: lower case, and no quotes needed.
    """

    name: str
    rows: pa.Table = field(compare=False, repr=False)
    digest: str

    def __repr__(self) -> str:
        """Its name, and the names of its columns."""
        names = list_some(self.rows.column_names, 5)
        return f"<ldpsql.PublicTable {self.name}: {self.rows.num_rows:,} rows of {names}>"

    @property
    def relation(self) -> str:
        """The name under which DuckDB finds it."""
        return f"{RESERVED_PREFIX}lookup_{self.name}"

    @classmethod
    def of(cls, name: str, data: Columns) -> PublicTable:
        """A table from Arrow, pandas, or anything else that Arrow can read.

        DataError for a name that is no identifier, for a column of a type that SQL has no plain
        value for, for two columns of one name, and for too many rows or bytes.
        """
        _check(name, "table")
        rows = _as_table(name, data)
        names = [column.lower() for column in rows.column_names]
        for column in names:
            _check(column, "column")
        if len(set(names)) < len(names) or not names:
            twice = next((each for each in names if names.count(each) > 1), None)
            what = f"two columns {twice}" if twice else "no columns"
            raise DataError(f"look-up table {name} has {what}; rename one, or add one")
        if rows.num_rows > MAX_ROWS:
            raise DataError(
                f"look-up table {name} has {rows.num_rows} rows, the limit is {MAX_ROWS}; "
                "keep the rows that you need"
            )
        arrays = [_plain(name, *column) for column in zip(names, rows.columns, strict=True)]
        plain = pa.Table.from_arrays(arrays, names=names)
        if plain.nbytes > MAX_BYTES:
            raise DataError(
                f"look-up table {name} has {plain.nbytes} bytes, the limit is {MAX_BYTES}; "
                "leave columns out"
            )
        return cls(name, plain, _digest(plain))

    @classmethod
    def read(cls, source: str | Path, name: str | None = None) -> PublicTable:
        """A table from a CSV or Parquet file; its name is that of the file unless one is given.

        DataError as `of`, and for a file that is missing, too large, damaged, or of another kind.
        """
        source = Path(source)
        given = source.stem if name is None else name
        reader = _READERS.get(source.suffix.lower())
        if not source.is_file():
            raise DataError(f"there is no file {source}; name a CSV or Parquet file")
        if reader is None:
            raise DataError(f"{source} is neither .csv nor .parquet; write it as one of them")
        _check(given, "table", "--name gives another")
        if source.stat().st_size > MAX_BYTES:
            raise DataError(
                f"{source} has more than {MAX_BYTES} bytes; keep the rows that you need"
            )
        try:
            table = reader(source)
        except (pa.ArrowException, OSError, UnicodeDecodeError):
            kind = source.suffix.lower().lstrip(".").upper()
            raise DataError(f"cannot read {source} as {kind}: it is damaged or cut short") from None
        return cls.of(given, table)


def _check(name: str, what: str, hint: str = "") -> None:
    try:
        check_name(name, what)
    except SurveyError as error:
        raise DataError(f"{error}{hint and '; '}{hint}") from None


def _as_table(name: str, data: Columns) -> pa.Table:
    """The data as an Arrow table, whose offsets and indices lead nowhere else."""
    frame: Any = data
    try:
        if isinstance(data, Mapping):
            table = pa.table({key: _as_array(values) for key, values in data.items()})
        elif hasattr(data, "iloc"):
            columns = (frame.iloc[:, place] for place in range(len(frame.columns)))
            table = pa.table([*map(_as_array, columns)], [str(each) for each in frame.columns])
        else:
            table = pa.table(data)
        table.validate(full=True)
    except (pa.ArrowException, TypeError, ValueError, AttributeError, ArithmeticError):
        raise DataError(
            f"look-up table {name} is not a table of plain columns; give Arrow, pandas, or a dict "
            "of lists"
        ) from None
    return table


def _as_array(values: Any) -> pa.Array | pa.ChunkedArray:
    """Values of any type as Arrow's: one by one, as Python's own and of one kind, unless they are
    numbers in memory or Arrow's already. Arrow ends the process on some lists of numpy's scalars,
    wherever they stand, and makes days of whole numbers that follow a day."""
    kind = getattr(values, "dtype", None)
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(kind, np.dtype) and not kind.hasobject:
        return pa.array(values)
    if hasattr(values, "__arrow_c_stream__") and not hasattr(values, "iloc"):
        return pa.chunked_array(values)
    if isinstance(values, str | bytes | Mapping):
        raise TypeError
    own = [_python_value(each, is_missing=kind is not None) for each in values]
    kinds = {type(each) for each in own if each is not None}
    if len(kinds) > 1 and not kinds <= _NUMBERS:
        raise TypeError
    return pa.array(own)


def _python_value(value: Any, *, is_missing: bool) -> Any:
    """A value as one of Python's own, or as a decimal, and None for NULL; ValueError for others.

    is_missing: whether NaN is NULL, as in pandas."""
    pandas_na = getattr(sys.modules.get("pandas"), "NA", None)
    if value is None or value is pandas_na:
        return None
    if isinstance(value, date | np.datetime64) and value != value:  # noqa: PLR0124  (NaT)
        return None
    own = value if type(value) is Decimal else plain(value)
    if own is None or (isinstance(value, np.datetime64) and is_far(value)):
        raise ValueError
    return None if is_missing and isinstance(own, float) and math.isnan(own) else own


def _plain(table: str, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column in the one type that stands for its kind."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kinds = (ARROW_TYPES[word] for word, holds in HOLDS.items() if holds(column.type))
    kind = pa.string() if pa.types.is_null(column.type) else next(kinds, None)
    if kind is None:
        raise DataError(
            f"column {name} of look-up table {table} is of type {column.type}; give numbers, "
            "texts, booleans, dates, or timestamps without a time zone"
        )
    try:
        if pa.types.is_decimal(column.type):
            column = column.cast(pa.string())  # the nearest double, which Arrow's own cast may miss
        return column.cast(kind)
    except pa.ArrowException:
        raise DataError(
            f"column {name} of look-up table {table} holds values that are not {kind}; convert them"
        ) from None


def _digest(table: pa.Table) -> str:
    """SHA-256 of the rows."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return hashlib.sha256(sink.getvalue()).hexdigest()


def _read_csv(source: Path) -> pa.Table:
    """A CSV file, its texts read as what all of a column can be; an empty field is NULL."""
    import pyarrow.csv as pacsv  # noqa: PLC0415  (for files alone)

    with pacsv.open_csv(source) as first:
        names = first.schema.names
    table = pacsv.read_csv(
        source,
        read_options=pacsv.ReadOptions(use_threads=False),
        parse_options=pacsv.ParseOptions(newlines_in_values=True),
        convert_options=pacsv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    return pa.Table.from_arrays([_convert_texts(column) for column in table.columns], names=names)


def _convert_texts(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts as numbers, truth values, dates or timestamps, if all of them are."""
    import pyarrow.compute as pc  # noqa: PLC0415

    for pattern, kind in _TEXTS:
        if (
            texts.null_count < len(texts)
            and pc.all(pc.match_substring_regex(texts, pattern)).as_py()
        ):
            try:
                return texts.cast(kind)
            except pa.ArrowException:  # such as 2026-02-30
                break
    return texts


def _read_parquet(source: Path) -> pa.Table:
    import pyarrow.parquet as pq  # noqa: PLC0415  (for files alone)

    with pq.ParquetFile(source) as file:
        if file.metadata.num_rows > MAX_ROWS:
            raise DataError(
                f"{source} has {file.metadata.num_rows} rows, the limit is {MAX_ROWS}; keep the "
                "rows that you need"
            )
        return file.read()


_READERS: Mapping[str, Callable[[Path], pa.Table]] = {
    ".csv": _read_csv,
    ".parquet": _read_parquet,
    ".pq": _read_parquet,
}
