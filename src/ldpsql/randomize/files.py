"""Reports of a file of many people, in bounded memory.

Parquet or CSV in, Parquet out, a batch at a time. Only declared columns are read, every row is
answered, the reports come in random order, and the target, which only its owner can read, appears
whole or not at all. Rows are counted from 1; the header of a CSV file is not one. A moment with a
time zone is what the clocks of that zone showed; where a survey asks for a day, it is that day.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ldpsql.reports.arrow_types import ID_COLUMN, arrow_types

# isort: split
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ldpsql.randomize.columns import cast_column, refuse_errors
from ldpsql.randomize.person_rows import RowsRead, one_row_each
from ldpsql.randomize.table import Tally, append_ids, draw_part, match_columns, mix, report_schema
from ldpsql.reports.atomic import replace_file
from ldpsql.reports.permutation import permute_rows
from ldpsql.reports.persons import ORDER, PersonRule
from ldpsql_device.entropy import OsEntropy
from ldpsql_device.errors import RecordError
from ldpsql_device.policy import Policy
from ldpsql_device.schema import Schema
from ldpsql_device.survey import utc_today

if TYPE_CHECKING:
    from ldpsql_device.survey import Published

BATCH_ROWS = 1 << 18
BLOCK_BYTES = 1 << 24
Progress = Callable[[int, int | None], None]
_ZONED = r"^(\d{4}-\d\d-\d\d[T ]\d\d(?::[\d:.]*)?) ?(?:Z|[+-]\d\d(?::?\d\d)?)$"
"""A moment with its offset from UTC; the group is what the clock showed."""
_BEYOND_MICROSECONDS = r"(\.\d{6})\d+$"
"""A fraction of a second of more digits than are read."""
Choose = Callable[[int, int], NDArray[np.bool_]]
"""Which of so many rows from a row on, counted from 0, are asked."""


def randomize_file(
    survey: Published,
    source: Path | str,
    target: Path | str,
    *,
    policy: Policy,
    person: PersonRule | None = None,
    keep_order: bool = False,
    choose: Choose | None = None,
    progress: Progress | None = None,
) -> Tally:
    """Write one report per person of `source` to `target`, drawn from the system's entropy.

    policy: what the survey may take; NotAllowed otherwise.  person: which rows are one person's;
    every row is one's own if left out.  keep_order: as in `randomize`; otherwise memory is bounded
    as for `permute_rows`. It needs rows that are persons', and so does choose: who is asked, by the
    number of the row alone; everybody if left out.  progress: called with the number of people read
    and their total, where that is known. Raises RecordError, which never shows a value, for a
    file that cannot be read, or has no such column, or one of another type.
    """
    policy.require(survey)
    survey.require_open(today := utc_today())
    survey.refuse_without_ledger()
    source, target = Path(source), Path(target)
    _require_file(source)
    if target.exists() and target.samefile(source):
        raise RecordError(f"the reports would replace the data in {source}; name another file")
    if person is not None:
        person.require(survey.record_schema)
        if keep_order:
            raise RecordError("the report of a person with several rows has no place to keep")
        if choose is not None:
            raise RecordError(
                "persons with several rows are not dealt to rounds; deal a table of one row each"
            )
    schema = survey.record_schema
    chunks, total = _reader(schema, source, person)
    tally, counted = Tally(), RowsRead()

    def read_again() -> Iterator[pa.Table]:
        return _refuse_damaged_chunks(_reader(schema, source, person)[0], source)

    def records() -> Iterator[pa.Table]:
        if person is None:
            yield from _refuse_damaged_chunks(chunks, source)
            return
        for rows in one_row_each(read_again, person, OsEntropy(), counted):
            starts = range(0, rows.num_rows, BATCH_ROWS)
            yield from (rows.slice(start, BATCH_ROWS) for start in starts)

    def draw_reports() -> Iterator[pa.Table]:
        nonlocal tally
        done = 0
        for chunk in records():
            count = chunk.num_rows
            asked = chunk if choose is None else chunk.filter(pa.array(choose(done, count)))
            reports, part = draw_part(survey, asked, today)
            tally, done = tally + part, done + count
            if progress is not None:
                progress(done, None if person else total)
            yield reports

    drawn = draw_reports()
    with_ids = (
        map(append_ids, drawn)
        if keep_order
        else permute_rows(drawn, target.parent, OsEntropy(), mix)
    )
    with (
        _writable(target),
        replace_file(target, mode=0o600) as temporary,
        report_writer(temporary, report_schema(survey)) as writer,
    ):
        for reports in with_ids:
            writer.write_table(reports)
    return replace(tally, rows=counted.rows, nameless=counted.nameless)


def report_writer(target: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """A writer of reports. Ids are random: there is nothing in them to compress or to look up."""
    others = [name for name in schema.names if name != ID_COLUMN]
    return pq.ParquetWriter(
        target,
        schema,
        compression={**dict.fromkeys(others, "zstd"), ID_COLUMN: "none"},
        use_dictionary=others,
        write_statistics=others,
    )


def read_people(schema: Schema, source: Path | str, person: PersonRule | None = None) -> pa.Table:
    """The declared columns of all rows of a file, and those of a rule, for evaluation.

    Errors as `randomize_file`.
    """
    source = Path(source)
    _require_file(source)
    parts = list(_refuse_damaged_chunks(_reader(schema, source, person)[0], source))
    if not sum(part.num_rows for part in parts):
        raise RecordError(f"{source} holds nobody")
    return pa.concat_tables(parts, promote_options="permissive")


def _require_file(source: Path) -> None:
    """RecordError where there is no file, and for a pipe, a folder or a device."""
    if not source.exists():
        raise RecordError(f"there is no file {source}")
    if not source.is_file():
        raise RecordError(f"{source} is a folder, a pipe or a device; give an ordinary file")


def _readable(source: Path) -> AbstractContextManager[None]:
    """Turn what Arrow says of a bad file, which may quote it, into a plain refusal."""
    kind = "CSV" if _is_csv(source) else "Parquet"
    other = ", or not UTF-8 text" if kind == "CSV" else ""
    damage = f"cannot read {source} as {kind}: it is damaged or cut short{other}"
    return refuse_errors(
        (pa.ArrowException, OSError, UnicodeDecodeError), lambda _: RecordError(damage)
    )


def _writable(target: Path) -> AbstractContextManager[None]:
    def refuse(error: Exception) -> RecordError:
        reason = getattr(error, "strerror", None) or "the file cannot be written"
        return RecordError(f"cannot write {target}: {reason}")

    return refuse_errors(OSError, refuse)


def _refuse_damaged_chunks(chunks: Iterator[pa.Table], source: Path) -> Iterator[pa.Table]:
    """The chunks, with errors of reading them, and of nothing else, made plain."""
    with _readable(source):
        yield from chunks


def column_names(source: Path) -> list[str]:
    """The names of a file's columns; RecordError as `randomize_file`."""
    with _readable(source):
        return list(_file_schema(source).names)


def zoned_columns(schema: Schema, source: Path) -> list[str]:
    """The declared dates and timestamps that a file has with a zone; a CSV file by its start."""
    with _readable(source):
        found = _file_schema(source)
    given = match_columns(schema, found.names, source)
    return [
        name
        for name, kind in arrow_types(schema).items()
        if pa.types.is_temporal(kind) and getattr(found.field(given[name]).type, "tz", None)
    ]


def _reader(
    schema: Schema, source: Path, person: PersonRule | None = None
) -> tuple[Iterator[pa.Table], int | None]:
    with _readable(source):
        if _is_csv(source):
            given = _match(schema, person, _file_schema(source).names, source)
            return _csv_chunks(schema, given, source), None
        if source.suffix.lower() in (".parquet", ".pq"):
            # Milliseconds hold every moment of INT96; nanoseconds wrap around every 585 years.
            file = pq.ParquetFile(source, coerce_int96_timestamp_unit="ms")
            given = _match(schema, person, file.schema_arrow.names, source)
            return _parquet_chunks(schema, given, file), file.metadata.num_rows
    raise RecordError(f"{source} is neither .parquet nor .csv")


def _match(
    schema: Schema, person: PersonRule | None, names: Sequence[str], source: Path
) -> dict[str, str]:
    """The file's column for every declared one, and for those of a rule."""
    given = match_columns(schema, names, source)
    for name, wanted in (person.columns if person else {}).items():
        alike = [each for each in names if each == wanted] or [
            each for each in names if each.lower() == wanted.lower()
        ]
        if len(alike) != 1:
            problem = "more than one column" if alike else "no column"
            raise RecordError(
                f"{source} has {problem} {wanted!a:.60}, which the rule about persons names"
            )
        given[name] = alike[0]
    return given


def _is_csv(source: Path) -> bool:
    return source.suffix.lower() == ".csv"


def _parquet_chunks(
    schema: Schema, given: Mapping[str, str], file: pq.ParquetFile
) -> Iterator[pa.Table]:
    types = arrow_types(schema)
    with file:
        for batch in file.iter_batches(BATCH_ROWS, columns=[*dict.fromkeys(given.values())]):
            columns = {name: batch.column(column) for name, column in given.items()}
            yield pa.table(
                {name: _read_moments(column, types.get(name)) for name, column in columns.items()}
            )


def _csv_chunks(schema: Schema, given: Mapping[str, str], source: Path) -> Iterator[pa.Table]:
    types = arrow_types(schema)
    ragged: list[int] = []

    def on_ragged(row: pacsv.InvalidRow) -> str:
        ragged.append(row.number)
        return "skip"

    # What an order is of is as the beginning of the file reads, unless the survey declares it.
    texts = {given[name] for name in given if name != ORDER}
    reader = pacsv.open_csv(
        source,
        read_options=pacsv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES),
        parse_options=pacsv.ParseOptions(newlines_in_values=True, invalid_row_handler=on_ragged),
        convert_options=pacsv.ConvertOptions(
            include_columns=[*dict.fromkeys(given.values())],
            column_types=dict.fromkeys(texts, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    declared = {given[name]: kind for name, kind in types.items()}
    with reader:
        for batch in reader:
            _require_fields(source, ragged)
            columns = {name: batch.column(column) for name, column in given.items()}
            yield pa.table(
                {
                    name: _read_text(column, declared[given[name]])
                    if given[name] in declared
                    else column
                    for name, column in columns.items()
                }
            )
        _require_fields(source, ragged)


def _file_schema(source: Path) -> pa.Schema:
    """The names of a file's columns with their types, which a CSV file tells by its beginning."""
    if not _is_csv(source):
        return pq.read_schema(source)
    reader = pacsv.open_csv(
        source,
        read_options=pacsv.ReadOptions(use_threads=False),
        parse_options=pacsv.ParseOptions(invalid_row_handler=lambda _: "skip"),
    )
    with reader:
        return reader.schema


def _require_fields(source: Path, ragged: list[int]) -> None:
    """RecordError for a line that has not as many fields as the header."""
    if ragged:
        raise RecordError(
            f"{source}: row {ragged[0] - 1} has more or fewer fields than the header; put what "
            "holds a comma, a quotation mark or a line break between quotation marks"
        )


def _read_text(text: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column of texts as the type the survey asks for; what cannot be read as such is missing."""
    if pa.types.is_temporal(kind):
        bare = pc.replace_substring_regex(text, _ZONED, r"\1")
        bare = pc.replace_substring_regex(bare, _BEYOND_MICROSECONDS, r"\1")
        return cast_column(cast_column(bare, pa.timestamp("us")), kind)
    typed = cast_column(text, kind)
    if pa.types.is_integer(kind) and typed.null_count > text.null_count:
        # 30.0 is a whole number, and 1e30 is one outside of every domain.
        doubles = cast_column(text, pa.float64())
        return doubles if doubles.null_count < typed.null_count else typed
    return typed


def _read_moments(column: pa.Array, kind: pa.DataType | None) -> pa.Array:
    """Moments of a zone as the clocks there showed them, and as days where these are asked for;
    anything else as it is. kind: what the survey asks for, None for what is none of its columns.

    Raises RecordError for a time zone that this machine does not know.
    """
    given = column.type
    if kind is None or not (pa.types.is_temporal(kind) and pa.types.is_timestamp(given)):
        return column
    if given.tz is not None:
        unknown = (
            f"a column is in the time zone {given.tz!a:.60}, which this machine does not know; "
            "install its time zones (tzdata), or write times without a zone"
        )
        with refuse_errors(pa.ArrowInvalid, lambda _: RecordError(unknown)):
            column = pc.local_timestamp(column)
    return cast_column(column, kind) if pa.types.is_date(kind) else column
