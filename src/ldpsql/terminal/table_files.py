"""Tables as files that other programs read: separated values, and Parquet."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from datetime import date
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, BinaryIO

from ldpsql.wording.numbers import plain

if TYPE_CHECKING:
    import pyarrow as pa

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def write_separated(
    schema: pa.Schema | None, batches: Iterable[pa.Table], stream: BinaryIO, delimiter: str = ","
) -> None:
    """All digits of a number, nothing for NULL and NaN; texts that a spreadsheet shows as they are.

    A ' stands before a text that spreadsheets would take for a formula: anybody can send reports.
    """

    def text_of(value: Any) -> Any:
        if isinstance(value, str):
            return f"'{value}" if value.startswith(_FORMULA_STARTS) else value
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        return plain(value) if isinstance(value, bool | date) else value

    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    # Before Python 3.13 a cell is quoted for the characters of the line's end alone, so a bare \r
    # would begin a row for most readers.
    lines = SimpleNamespace(write=lambda line: text.write(f"{line[:-2]}\n"))
    writer = csv.writer(lines, delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(map(text_of, schema.names if schema else ()))
    for batch in batches:
        columns = [map(text_of, column.to_pylist()) for column in batch.columns]
        writer.writerows(zip(*columns, strict=True))
    text.detach()


def write_parquet(schema: pa.Schema | None, batches: Iterable[pa.Table], stream: BinaryIO) -> None:
    """All of the columns and their metadata, batch by batch."""
    import pyarrow.parquet as pq  # noqa: PLC0415  (what is heavy is loaded when needed)

    with pq.ParquetWriter(stream, schema) as writer:
        for batch in batches:
            writer.write_table(batch.cast(schema))
