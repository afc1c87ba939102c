"""Reports of a file of many people, in bounded memory.

Parquet or CSV in, Parquet out, a batch at a time. Only declared columns are read, the reports come
in random order, and the target, which only its owner can read, appears whole or not at all. Rows
are counted from 1; the header of a CSV file is not one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from ldpsql_device.arrow import arrow_types
from ldpsql_device.atomic import replace_file
from ldpsql_device.columns import Misfit, refusing
from ldpsql_device.entropy import OsEntropy
from ldpsql_device.errors import RecordError
from ldpsql_device.permutation import permuted
from ldpsql_device.policy import Policy
from ldpsql_device.schema import Schema
from ldpsql_device.survey import utc_today
from ldpsql_device.table import (
    Tally,
    fitting,
    randomize_batch,
    report_schema,
    require_columns,
)

if TYPE_CHECKING:
    from ldpsql_device.survey import Published

BATCH_ROWS = 1 << 18
BLOCK_BYTES = 1 << 24
Progress = Callable[[int, int | None], None]


@dataclass(frozen=True)
class Chunk:
    """A part of a file: typed declared columns, rows known not to fit, and lines left out."""

    table: pa.Table
    misfits: tuple[Misfit, ...] = ()
    dropped: int = 0


def randomize_file(
    survey: Published,
    source: Path | str,
    target: Path | str,
    *,
    policy: Policy,
    skip_invalid: bool = False,
    keep_order: bool = False,
    progress: Progress | None = None,
) -> Tally:
    """Write one report per person of `source` to `target`, drawn from the system's entropy.

    policy: what the survey may take; PolicyError otherwise.  skip_invalid: leave people out whose
    record does not fit.  keep_order: as in `randomize`; otherwise memory is bounded as for
    `permuted`.  progress: called with the number of people done and their total, where that is
    known. Raises RecordError, which names the column and the rows but never a value, for a file or
    a record that does not fit.
    """
    policy.require(survey)
    survey.require_open(utc_today())
    source, target = Path(source), Path(target)
    if not source.is_file():
        raise RecordError(f"there is no file {source}")
    if target.exists() and target.samefile(source):
        raise RecordError(f"the reports would replace the data in {source}; name another file")
    read, total = _reader(survey.record_schema, source, skip_invalid=skip_invalid)
    tally, entropy, row = Tally(), OsEntropy(), 1

    def draw_reports() -> Iterator[pa.Table]:
        nonlocal tally, row
        for chunk in _guarded(read, source):
            reports, part = randomize_batch(
                survey,
                chunk.table,
                entropy,
                policy=policy,
                first_row=row,
                skip_invalid=skip_invalid,
                misfits=chunk.misfits,
            )
            row += chunk.table.num_rows
            tally += part + Tally(skipped=chunk.dropped)
            if progress is not None:
                progress(row - 1, total)
            yield reports

    drawn = draw_reports()
    with (
        _writable(target),
        replace_file(target, mode=0o600) as temporary,
        pq.ParquetWriter(temporary, report_schema(survey), compression="zstd") as writer,
    ):
        for reports in drawn if keep_order else permuted(drawn, target.parent, entropy):
            writer.write_table(reports)
    return tally


def read_people(
    schema: Schema, source: Path | str, *, skip_invalid: bool = False
) -> tuple[pa.Table, int]:
    """The declared columns of all people of a file, and how many were left out, for evaluation.

    Errors as for `randomize_file`: what it would refuse is refused here.
    """
    source = Path(source)
    if not source.is_file():
        raise RecordError(f"there is no file {source}")
    parts, row, dropped = [], 1, 0
    for chunk in _guarded(_reader(schema, source, skip_invalid=skip_invalid)[0], source):
        parts.append(
            fitting(
                schema,
                chunk.table,
                first_row=row,
                skip_invalid=skip_invalid,
                misfits=chunk.misfits,
            )
        )
        row += chunk.table.num_rows
        dropped += chunk.dropped + chunk.table.num_rows - parts[-1].num_rows
    if not sum(part.num_rows for part in parts):
        raise RecordError(f"{source} holds nobody whose record fits the survey")
    return pa.concat_tables(parts, promote_options="permissive"), dropped


def _readable(source: Path) -> AbstractContextManager[None]:
    """Turn what Arrow says of a bad file, which may quote it, into a plain refusal."""
    kind = "CSV" if _is_csv(source) else "Parquet"
    damage = f"cannot read {source} as {kind}: it is damaged or cut short"
    return refusing((pa.ArrowException, OSError, UnicodeDecodeError), lambda _: RecordError(damage))


def _writable(target: Path) -> AbstractContextManager[None]:
    def refuse(error: Exception) -> RecordError:
        reason = getattr(error, "strerror", None) or "the file cannot be written"
        return RecordError(f"cannot write {target}: {reason}")

    return refusing(OSError, refuse)


def _guarded(chunks: Iterator[Chunk], source: Path) -> Iterator[Chunk]:
    """The chunks, with errors of reading them, and of nothing else, made plain."""
    with _readable(source):
        yield from chunks


def _reader(
    schema: Schema, source: Path, *, skip_invalid: bool
) -> tuple[Iterator[Chunk], int | None]:
    with _readable(source):
        if _is_csv(source):
            return _csv_chunks(schema, source, skip_invalid=skip_invalid), None
        if source.suffix.lower() in (".parquet", ".pq"):
            file = pq.ParquetFile(source)
            require_columns(schema, file.schema_arrow.names)
            return _parquet_chunks(schema, file), file.metadata.num_rows
    raise RecordError(f"{source} is neither .parquet nor .csv")


def _is_csv(source: Path) -> bool:
    return source.suffix.lower() == ".csv"


def _parquet_chunks(schema: Schema, file: pq.ParquetFile) -> Iterator[Chunk]:
    with file:
        for batch in file.iter_batches(BATCH_ROWS, columns=list(arrow_types(schema))):
            yield Chunk(pa.Table.from_batches([batch]))


def _csv_chunks(schema: Schema, source: Path, *, skip_invalid: bool) -> Iterator[Chunk]:
    types = arrow_types(schema)
    ragged: list[int] = []

    def on_ragged(row: pacsv.InvalidRow) -> str:
        ragged.append(row.number)
        return "skip"

    require_columns(schema, _header(source))
    reader = pacsv.open_csv(
        source,
        read_options=pacsv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES),
        parse_options=pacsv.ParseOptions(newlines_in_values=True, invalid_row_handler=on_ragged),
        convert_options=pacsv.ConvertOptions(
            include_columns=list(types),
            column_types=dict.fromkeys(types, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    with reader:
        for batch in reader:
            yield _typed(types, batch, _dropped(ragged, skip_invalid=skip_invalid))
        dropped = _dropped(ragged, skip_invalid=skip_invalid)
        if dropped:
            yield Chunk(pa.schema(list(types.items())).empty_table(), (), dropped)


def _header(source: Path) -> list[str]:
    """The names in a CSV file's first row."""
    reader = pacsv.open_csv(
        source,
        read_options=pacsv.ReadOptions(use_threads=False),
        parse_options=pacsv.ParseOptions(invalid_row_handler=lambda _: "skip"),
    )
    with reader:
        names: list[str] = reader.schema.names
    return names


def _dropped(ragged: list[int], *, skip_invalid: bool) -> int:
    """How many lines were left out since last asked; RecordError unless that is wanted."""
    if ragged and not skip_invalid:
        raise RecordError(f"row {ragged[0] - 1} has more or fewer fields than the header")
    count = len(ragged)
    ragged.clear()
    return count


def _typed(types: dict[str, pa.DataType], batch: pa.RecordBatch, dropped: int) -> Chunk:
    """A batch of text columns as the types the survey asks for."""
    columns, misfits = {}, []
    for name, kind in types.items():
        text = batch.column(name)
        columns[name] = pa.chunked_array(_parse(text, kind), type=kind)
        bad = columns[name].is_null().to_numpy() & text.is_valid().to_numpy(zero_copy_only=False)
        if bad.any():
            misfits.append(Misfit(name, f"is not of type {kind}", bad))
    return Chunk(pa.table(columns), tuple(misfits), dropped)


def _parse(text: pa.Array, kind: pa.DataType) -> list[pa.Array]:
    """The text as `kind`, in pieces; what cannot be read becomes NULL.

    Halving finds the few bad values among many good ones in few steps.
    """
    try:
        return [text.cast(kind)]
    except pa.ArrowInvalid:
        if len(text) == 1:
            return [pa.nulls(1, kind)]
    half = len(text) // 2
    return _parse(text[:half], kind) + _parse(text[half:], kind)
