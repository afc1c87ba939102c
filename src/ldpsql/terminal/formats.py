"""The formats of output, an entry each, and the documents that are written in them."""

from __future__ import annotations

import io
import json
import math
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import click

from ldpsql.reports.atomic import replace_file
from ldpsql.terminal.table_files import write_parquet, write_separated
from ldpsql.terminal.text import markdown_lines, table_lines, upright_lines
from ldpsql.wording.texts import json_text, lines_of

if TYPE_CHECKING:
    import pyarrow as pa


Cells = tuple[Sequence[str], Sequence[Sequence[str]], Sequence[bool]]


@dataclass(frozen=True)
class Document:
    """The output of a command, to be written in any format.

    text: for people, as it is.  cells: for people, as a table: heads, rows, and which columns stand
    at the right.  schema, batches: rows for machines, under distinct names.  facts: what JSON
    alone says beside the rows.  width: of the terminal that it is for, if there is one.
    """

    text: str | None = None
    cells: Callable[[], Cells] | None = None
    schema: pa.Schema | None = None
    batches: Iterable[pa.Table] = ()
    facts: Callable[[], Mapping[str, Any]] = dict
    width: int | None = None

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows as JSON holds them: no NaN, dates as text, decimals as numbers."""
        for batch in self.batches:
            for row in batch.to_pylist():
                yield {name: json_value(value) for name, value in row.items()}


def json_value(value: Any) -> Any:
    """A value as JSON holds it: no NaN, a date as text, a decimal as a number."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return value.isoformat() if isinstance(value, date) else float(value)


@dataclass(frozen=True)
class Format:
    """A format of output.

    suffix: of its files, None where no suffix means it.  takes: "rows" where it writes the rows of
    a document batch by batch, "cells" where it needs a table, "all" where it can write anything.
    is_single: whether a file holds no more than one document.
    """

    name: str
    suffix: str | None
    write: Callable[[Document, BinaryIO], None]
    takes: Literal["all", "cells", "rows"] = "rows"
    is_binary: bool = False
    is_single: bool = False


def write_document(
    document: Document, form: str | None, target: Path | None, *, append: bool = False
) -> None:
    """Write to a file, whole or not at all, or to stdout.

    form: None for what the suffix of the file says, else a table.  append: leave what is in the
    file. UsageError for a binary format on a terminal, and where a file of the format holds one
    document. Where a terminal may not have the sign ±, +/- stands for it.
    """
    by_suffix = {known.suffix: known for known in FORMATS}
    suffix = target.suffix.lower() if target else ""
    chosen = BY_NAME[form] if form else by_suffix.get(suffix, BY_NAME["table"])
    if target is not None:
        if append and chosen.is_single:
            raise click.UsageError(f"{target} holds one answer as {chosen.name}; name another file")
        with replace_file(target) as temporary, temporary.open("wb") as stream:
            if append:
                with target.open("rb") as before:
                    shutil.copyfileobj(before, stream)
            chosen.write(document, stream)
        return
    if sys.stdout.isatty():
        if chosen.is_binary:
            raise click.UsageError(f"{chosen.name} is not for a terminal; name a file with -o")
        document = replace(document, width=shutil.get_terminal_size().columns)
    written = io.BytesIO()
    chosen.write(document, written)
    content = written.getvalue()
    if sys.stdout.isatty():  # a terminal obeys what a file only holds
        content = lines_of(content.decode()).encode()
    try:
        "±".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        content = content.replace("±".encode(), b"+/-")
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def _write_table(document: Document, stream: BinaryIO, *, as_markdown: bool = False) -> None:
    """Aligned columns; name and value on a line of their own where the terminal is too narrow."""
    lines = [lines_of(document.text or "")]
    if document.text is None and document.cells is not None:
        head, rows, right = document.cells()
        lines = table_lines(head, rows, right, has_rule=True)
        if as_markdown:
            lines = markdown_lines(head, rows, right)
        elif len(head) > 1 and max(map(len, lines)) > (document.width or math.inf):
            lines = upright_lines(head, rows)
    _write_lines(lines, stream)


def _write_lines(lines: Iterable[str], stream: BinaryIO) -> None:
    for line in lines:
        stream.write(f"{line}\n".encode())


def _write_json(document: Document, stream: BinaryIO) -> None:
    rows: dict[str, Any] = {}
    if document.schema is not None:
        rows = {"columns": document.schema.names, "rows": list(document.rows())}
    _write_lines([_json({**rows, **document.facts()}, indent=1)], stream)


def _json(value: Any, indent: int | None = None) -> str:
    return json_text(json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False))


def _write_arrow(document: Document, stream: BinaryIO) -> None:
    import pyarrow as pa  # noqa: PLC0415  (what is heavy is loaded when needed)

    with pa.ipc.new_stream(stream, document.schema) as writer:
        for batch in document.batches:
            writer.write_table(batch.cast(document.schema))


FORMATS = (
    Format("table", None, _write_table, "all"),
    Format("csv", ".csv", lambda d, stream: write_separated(d.schema, d.batches, stream)),
    Format("tsv", ".tsv", lambda d, stream: write_separated(d.schema, d.batches, stream, "\t")),
    Format("json", ".json", _write_json, "all", is_single=True),
    Format("jsonl", ".jsonl", lambda d, stream: _write_lines(map(_json, d.rows()), stream)),
    Format("markdown", ".md", partial(_write_table, as_markdown=True), "cells"),
    Format("arrow", ".arrow", _write_arrow, is_binary=True, is_single=True),
    Format(
        "parquet",
        ".parquet",
        lambda d, stream: write_parquet(d.schema, d.batches, stream),
        is_binary=True,
        is_single=True,
    ),
)
BY_NAME = {form.name: form for form in FORMATS}
TABLE_SUFFIXES = tuple(form.suffix for form in FORMATS if form.suffix and form.takes == "rows")
"""Files that hold the rows of a table, however many."""
