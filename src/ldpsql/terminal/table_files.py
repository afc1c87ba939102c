"""Tables as files that other programs read: separated values, and Parquet."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING, Any, BinaryIO

from ldpsql.wording.numbers import plain
from ldpsql.wording.texts import spreadsheet_text

if TYPE_CHECKING:
    import pyarrow as pa


def write_separated(
    schema: pa.Schema | None, batches: Iterable[pa.Table], stream: BinaryIO, delimiter: str = ","
) -> None:
    """All digits of a number, nothing for NULL and NaN, "" for an empty text; texts that a
    spreadsheet shows as they are.

    Anybody can send reports: no text is a formula of a spreadsheet (`spreadsheet_text`).
    """

    def text_of(value: Any) -> Any:
        if isinstance(value, str):
            return spreadsheet_text(value)
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        return plain(value) if isinstance(value, bool | date) else value

    def quote(value: Any) -> str:
        """A cell; in quotes where a reader would take it for NULL, or for more than a cell."""
        cell = text_of(value)
        if cell is None:
            return ""
        written = str(cell)
        is_plain = written and marks.isdisjoint(written)
        return written if is_plain else '"{}"'.format(written.replace('"', '""'))

    marks = {delimiter, '"', "\r", "\n"}

    def write(rows: Iterable[Iterable[Any]]) -> None:
        for row in rows:
            stream.write(f"{delimiter.join(map(quote, row))}\n".encode())

    write([schema.names if schema else ()])
    for batch in batches:
        write(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def write_parquet(schema: pa.Schema | None, batches: Iterable[pa.Table], stream: BinaryIO) -> None:
    """All of the columns and their metadata, batch by batch."""
    import pyarrow.parquet as pq  # noqa: PLC0415  (what is heavy is loaded when needed)

    with pq.ParquetWriter(stream, schema) as writer:
        for batch in batches:
            writer.write_table(batch.cast(schema))
