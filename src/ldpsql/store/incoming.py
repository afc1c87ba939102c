"""Report files on their way in: Parquet, CSV, JSON lines and tables in memory, piece by piece.

What a parser says of a bad file may quote it, so none of that is passed on.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import json
import re
import struct
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from ldpsql import limits
from ldpsql.reports.arrow_types import FINGERPRINT_KEY, ID_COLUMN
from ldpsql.store.intake import Intake, describe_damage
from ldpsql.store.parquet.reader import open_parquet
from ldpsql.store.report_files import (
    SHOWN,
    Booleans,
    ReportPiece,
    Values,
    check_rows,
    read_arrow,
    read_json,
    read_text,
    refuse_column,
    refuse_rows,
    refuse_without_ids,
    require_columns,
    require_types,
)
from ldpsql.store.shuffled_batch import BATCH_KEY, BatchSignature, pack_reports
from ldpsql_device.errors import ReportError
from ldpsql_device.schema import RESERVED_PREFIX

SUFFIXES = (".parquet", ".csv", ".jsonl", ".ndjson")
"""How names of report files end, in lower case."""
ROWS = 1 << 17
"""Rows of a piece."""
_JSON_ROWS = 1 << 14
_BYTES = "latin-1"
"""An encoding with a letter for every byte."""
_BLOCK, _LONGEST_LINE = 1 << 23, 1 << 24

T = TypeVar("T")


@dataclass(frozen=True)
class Incoming:
    """A file or table of reports.

    name: for messages.  pieces: its rows, for a survey; takes a list to which it adds the numbers
    of lines that are no rows at all.  claim, rows, batch: the fingerprint of the survey, how many
    rows there are, and what is said of their shuffling, in files that say so.  line: what every
    line must do.
    """

    name: str
    pieces: Callable[[Intake, list[int]], Generator[ReportPiece, None, None]]
    line: str
    claim: str | None = None
    rows: int | None = None
    batch: str | None = None

    def tell(
        self, progress: Callable[[int, int | None], None], before: int, total: int | None
    ) -> Incoming:
        """The same file, of which `progress` is told how many rows are read, `before` and those of
        this file, of how many in all."""

        def pieces(intake: Intake, broken: list[int]) -> Generator[ReportPiece, None, None]:
            done = before
            for piece in self.pieces(intake, broken):
                yield piece
                done += piece.rows
                progress(done, total)

        return replace(self, pieces=pieces)


class AcceptedRows:
    """The reports among the rows of a file, piece by piece.

    Counts the rows that are `accepted` and those that are `skipped`. Reports have their ids in the
    last column, unless a shuffler was there. Raises ReportError, which names the first few, for
    rows that are no reports, unless they are to be skipped, and for others than a shuffler signed.
    """

    def __init__(
        self,
        intake: Intake,
        incoming: Incoming,
        *,
        skip_invalid: bool,
        signed: BatchSignature | None = None,
    ) -> None:
        self.intake, self.incoming, self.skip_invalid = intake, incoming, skip_invalid
        self._signed = signed
        self.name, self.accepted, self.skipped = incoming.name, 0, 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        first, faults, broken, found = 0, list[tuple[int, str]](), list[int](), hashlib.sha256()
        self.accepted = self.skipped = 0
        with closing(self.incoming.pieces(self.intake, broken)) as pieces:  # by a process, perhaps
            for piece in limits.in_time(pieces):
                checked = check_rows(self.intake, piece)
                if self.skip_invalid or not (faults or broken or checked.refused):
                    if self._signed is not None:
                        found.update(pack_reports(self.intake, checked.reports))
                    yield checked.reports
                    self.accepted += checked.reports.num_rows
                faults += [(first + row, reason) for row, reason in checked.faults]
                first += piece.rows
                self.skipped += checked.refused
        self.skipped += len(broken)
        if self._signed is not None and found.hexdigest() != self._signed.digest:
            raise ReportError(
                f"{self.name}: its reports are not the ones that the shuffler signed; nothing was "
                "taken. Take the batch as the shuffler wrote it"
            )
        if self.skip_invalid or not self.skipped:
            return
        way_out = "nothing was taken (skip invalid rows to take the others)"
        if not broken:
            raise refuse_rows(self.name, faults, way_out)
        lines = ", ".join(map(str, broken[:SHOWN]))
        raise ReportError(
            f"{self.name}: {len(broken)} broken line(s), the first at {lines}: each line must "
            f"{self.incoming.line}; {way_out}"
        )


@dataclass(frozen=True)
class ArrivedRows:
    """Reports that came one by one, checked, with their ids.

    name: of the source they came from.  batches: their rows.  skipped: none, for what was no report
    was refused when it came.
    """

    name: str
    batches: Sequence[pa.RecordBatch]
    skipped: int = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return iter(self.batches)

    def __len__(self) -> int:
        return sum(batch.num_rows for batch in self.batches)


Read: TypeAlias = tuple[pa.RecordBatch | None, list[tuple[int, str]]]
"""The reports among rows, None if there are none, and the others, each with its place and the
reason."""


def check_sent(intake: Intake, lines: Sequence[bytes]) -> Read:
    """Read lines as devices send them."""
    rows, places, refused = list[dict[str, Any]](), list[int](), list[tuple[int, str]]()
    declared = {column.name for column in intake.public}
    for place, line in enumerate(lines):
        row = parse_object(line)
        if row is None:
            refused.append((place, "it is not a JSON object with distinct keys"))
        elif not _has_sent_keys(row, declared):
            refused.append((place, "it has a key that no report has, and may hold raw values"))
        else:
            rows.append(row)
            places.append(place)
    if not rows:
        return None, refused
    columns, faults = _read_sent(intake, "the body", rows)
    piece = ReportPiece(len(rows), columns, read_json, faults)
    checked = check_rows(intake, piece, most=len(rows))
    refused += [(places[row], reason) for row, reason in checked.faults]
    return checked.reports if checked.reports.num_rows else None, refused


def check_stream(intake: Intake, name: str, data: bytes, most: int) -> Read:
    """The same of an Arrow stream of a table of reports with their ids.

    name: for messages.  most: rows that it may have. ReportError for one that cannot be read, has
    more, has other columns than reports have, or would be much larger in memory than it is;
    FingerprintError for another survey's.
    """
    try:
        # Before it is read: half a megabyte may be compressed from what no machine can hold.
        if is_compressed(data):
            raise ReportError(
                f"{name} is compressed on the inside; compress it as a whole, with gzip"
            )
        table = pa.ipc.open_stream(data).read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, struct.error, UnicodeDecodeError):
        raise describe_damage(name) from None
    if table.num_rows > most:
        raise ReportError(f"{name} holds more than {most:,} reports; send them in several")
    require_columns(intake, name, table.column_names)  # before one of them is named
    if ID_COLUMN not in table.column_names:
        raise refuse_without_ids(name)
    for column in table.schema:
        if pa.types.is_dictionary(column.type) or column.type == pa.string_view():
            raise ReportError(f"{name}: column {column.name!r} shares texts; write each one out")
    require_types(intake, name, table.schema)
    claim = (table.schema.metadata or {}).get(FINGERPRINT_KEY)
    if claim not in (None, intake.fingerprint.encode()):
        raise intake.refuse(name, claim.decode(errors="replace"))
    [batch] = table.combine_chunks().to_batches() or [None]
    if batch is None:
        return None, []
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    checked = check_rows(
        intake, ReportPiece(batch.num_rows, columns, read_arrow), most=batch.num_rows
    )
    return checked.reports if checked.reports.num_rows else None, checked.faults


def is_compressed(data: bytes) -> bool:
    """Whether any buffers of an Arrow stream are; pyarrow's errors and struct.error where it is
    damaged."""
    return any(_is_compressed(message) for message in pa.ipc.MessageReader.open_stream(data))


def _is_compressed(message: pa.Message) -> bool:
    """Whether the buffers of a message of an Arrow stream are; struct.error where it is damaged.

    Its metadata is a FlatBuffer: a table starts with how far back its list of fields is, and a
    field that is left out has the place 0 in there. See Message.fbs of Arrow's format.
    """
    if message.type not in ("record batch", "dictionary"):
        return False
    data = message.metadata.to_pybytes()

    def read(kind: str, place: int) -> int:
        number: int = struct.unpack_from(kind, data, place)[0]
        return number

    def follow(place: int) -> int:
        return place + read("<I", place)

    def find(table: int, field: int) -> int:
        fields = table - read("<i", table)
        place = 4 + 2 * field
        inside = read("<H", fields + place) if place < read("<H", fields) else 0
        return table + inside if inside else 0

    if find(follow(0), 4):  # Message.custom_metadata, where Arrow 0.17 named its compression
        return True
    batch = follow(find(follow(0), 2))  # Message.header
    if message.type == "dictionary":
        batch = follow(find(batch, 1))  # DictionaryBatch.data
    return find(batch, 3) != 0  # RecordBatch.compression


def read_file(path: Path, name: str | None = None) -> Incoming:
    """Open a report file; ReportError if it is damaged.

    name: for messages, where that is not its path.
    """
    suffix, shown = path.suffix.lower(), name or str(path)
    if suffix not in SUFFIXES:
        raise ReportError(
            f"{shown} is not a report file: its name must end in {', '.join(SUFFIXES)}"
        )
    reader = {".parquet": _parquet, ".csv": _csv}.get(suffix, _json_lines)
    return next(_guard(shown, (reader(own, shown) for own in [path])))


def count_rows(paths: Sequence[Path]) -> int | None:
    """How many rows report files have; None where one of them does not say so, or is damaged."""
    if any(path.suffix.lower() != ".parquet" for path in paths):
        return None
    with suppress(ReportError):  # of which `read_file` speaks when its turn comes
        return sum(read_file(path).rows or 0 for path in paths)
    return None


def read_table(table: pa.Table) -> Incoming:
    """Reports in memory."""

    def batches(columns: Sequence[str], _: list[int]) -> Iterator[pa.RecordBatch]:
        yield from table.select(columns).to_batches(ROWS)

    names, rows = table.column_names, table.num_rows
    return _columnar("the table", names, batches, read_arrow, table.schema, rows)


def digest(path: Path) -> str:
    """SHA-256 of a file's content, in hexadecimal; ReportError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ReportError(f"cannot read {path}: {error.strerror}") from None


def _guard(name: str, items: Iterator[T]) -> Iterator[T]:
    """The items; ReportError where reading them fails, without what went wrong."""
    try:
        yield from items
    except (pa.ArrowException, OSError, UnicodeDecodeError, csv.Error):
        pass
    else:
        return
    # Outside the handler: what went wrong may quote the file and must not hang on to this error.
    raise describe_damage(name)


# -- columns: Parquet, Arrow and CSV -----------------------------------------------------------

Batches = Callable[[Sequence[str], list[int]], Iterator[pa.RecordBatch]]
"""Reads these columns; takes a list for the numbers of broken lines."""


def _parquet(path: Path, name: str) -> Incoming:
    content = open_parquet(path, name)
    return _columnar(
        name,
        content.schema.names,
        lambda columns, _: content.read(columns),
        read_arrow,
        content.schema,
        content.rows,
    )


def _csv(path: Path, name: str) -> Incoming:
    _require_bytes_of_letters(path, name)
    # Arrow tells of a line with too few or too many values in UTF-8, and of no other one.
    encoding = "utf-8-sig" if _is_utf8(path) else _BYTES
    with path.open(encoding=encoding, newline="") as file:
        header, is_alone = next(csv.reader(file), []), not file.read(1)
    if not header:
        raise ReportError(f"{name} is empty: its first line must name the columns")

    def batches(columns: Sequence[str], broken: list[int]) -> Iterator[pa.RecordBatch]:
        def skip(row: pacsv.InvalidRow) -> str:
            broken.append(row.number)
            return "skip"

        if is_alone:  # which Arrow refuses, unless its line ends
            return
        # Names of columns may repeat until they are checked, so they are read by their places.
        places = [str(place) for place in range(len(header))]
        with pacsv.open_csv(
            path,
            pacsv.ReadOptions(
                use_threads=False,
                column_names=places,
                skip_rows=1,
                block_size=_BLOCK,
                encoding="utf8" if encoding != _BYTES else _BYTES,
            ),
            pacsv.ParseOptions(newlines_in_values=True, invalid_row_handler=skip),
            pacsv.ConvertOptions(
                column_types=dict.fromkeys(places, pa.binary()),
                include_columns=[places[header.index(column)] for column in columns],
                strings_can_be_null=True,
                null_values=[""],
            ),
        ) as file:
            for batch in file:
                yield batch if encoding != _BYTES else _restore_bytes(batch)

    return _columnar(name, header, batches, read_text)


def _require_bytes_of_letters(path: Path, name: str) -> None:
    """ReportError for text whose letters are of two or four bytes."""
    with path.open("rb") as opened:
        start = opened.read(64)
    # Every other byte of what JSON and headings begin with is 0 then; one 0 is a bad line's.
    halves = start[::2], start[1::2]
    has_wide_letters = len(start) > 3 and any(halves) and not all(map(any, halves))
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or has_wide_letters:
        raise ReportError(f"{name} is text in UTF-16 or UTF-32; save it in UTF-8")


def _is_utf8(path: Path) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        try:
            for block in iter(partial(file.read, _BLOCK), b""):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _restore_bytes(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Values as they stand in a file every byte of which was read as a letter."""
    columns = [
        pa.array([None if v is None else v.decode().encode(_BYTES) for v in column.to_pylist()])
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(
        [column.cast(pa.binary()) for column in columns], names=batch.schema.names
    )


def _columnar(
    name: str,
    header: Sequence[str],
    batches: Batches,
    read: Callable[[Any, str], Values],
    schema: pa.Schema | None = None,
    rows: int | None = None,
) -> Incoming:
    """A file of columns.  schema: with their types and metadata, for those that have any."""
    metadata = {} if schema is None else schema.metadata or {}
    said = {key: value.decode(errors="replace") for key, value in metadata.items()}

    def pieces(intake: Intake, broken: list[int]) -> Generator[ReportPiece, None, None]:
        require_columns(intake, name, header)
        if schema is not None:
            require_types(intake, name, schema)
        for batch in _guard(name, batches(intake.file_columns, broken)):
            columns = dict(zip(intake.file_columns, batch.columns, strict=True))
            yield ReportPiece(batch.num_rows, columns, read)

    line, batch = "have as many values as the first line", said.get(BATCH_KEY.encode())
    return Incoming(name, pieces, line, said.get(FINGERPRINT_KEY), rows, batch)


# -- JSON lines --------------------------------------------------------------------------------


def _json_lines(path: Path, name: str) -> Incoming:
    _require_bytes_of_letters(path, name)

    def pieces(intake: Intake, broken: list[int]) -> Generator[ReportPiece, None, None]:
        lines, unpack = limits.in_time(_guard(name, _lines(path))), None
        while some := list(islice(lines, _JSON_ROWS)):
            broken += [number for number, row in some if row is None]
            if rows := [row for _, row in some if row is not None]:
                if unpack is None:
                    is_flat = any(key.startswith(RESERVED_PREFIX) for key in rows[0])
                    unpack = _flat if is_flat else _read_sent
                columns, faults = unpack(intake, name, rows)
                yield ReportPiece(len(rows), columns, read_json, faults)

    return Incoming(name, pieces, "be a JSON object with distinct keys")


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Numbers and objects of the lines that hold something; None for what is no object."""
    with path.open("rb") as file:
        for number, line in enumerate(iter(partial(file.readline, _LONGEST_LINE), b""), 1):
            if len(line) == _LONGEST_LINE:
                raise OSError("a line that no report has")
            if line.strip():
                yield number, parse_object(line)


def parse_object(line: bytes) -> dict[str, Any] | None:
    """A JSON object whose keys are distinct, and those within; None for anything else."""
    try:
        row = json.loads(
            line.decode("utf-8-sig"), object_pairs_hook=_distinct, parse_constant=_refuse_constant
        )
        if b"\\u" in line:  # half of a surrogate pair is no text
            json.dumps(row, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise ValueError("a key twice")
    return row


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_SENT_KEYS = {"id", "report", "public"}
Rows = Sequence[Mapping[str, Any]]
Unpacked = tuple[dict[str, list[Any]], list[tuple[Booleans, str]]]


def _flat(intake: Intake, name: str, rows: Rows) -> Unpacked:
    """Lines whose members are the columns of a report."""
    keys = set[str]().union(*rows)
    if not keys <= {*intake.columns, ID_COLUMN}:
        raise refuse_column(intake, name, "one of the keys")
    if ID_COLUMN not in keys:
        raise refuse_without_ids(name)
    columns = {column: [row.get(column) for row in rows] for column in intake.file_columns}
    return columns, _absent(intake, rows)


def _absent(intake: Intake, rows: Rows) -> list[tuple[Booleans, str]]:
    """Rows without the key of a public column; one without a value has null there."""
    return [
        (
            np.array([column.name not in row for row in rows]),
            f"the key {column.name} is missing; write null where there is no value",
        )
        for column in intake.public
    ]


def _read_sent(intake: Intake, name: str, rows: Rows) -> Unpacked:
    """Lines {"id": ..., "report": ..., "public": {...}} as devices send them.

    The numbers of a report are cut from its hexadecimal digits.
    """
    public = [row["public"] if isinstance(row.get("public"), dict) else None for row in rows]
    declared = [column.name for column in intake.public]
    if not all(_has_sent_keys(row, declared) for row in rows):
        raise refuse_column(intake, name, "one of the keys")
    digits = 2 * intake.packing.itemsize
    written = re.compile(f"[0-9a-f]{{{digits}}}")
    reports = [_match(written, row.get("report")) for row in rows]
    packed = bytes.fromhex("".join(report or "0" * digits for report in reports))
    numbers = np.frombuffer(packed, intake.packing)
    columns = {column: numbers[column].tolist() for column in intake.report_columns}
    columns |= {key: [(values or {}).get(key) for values in public] for key in declared}
    columns[ID_COLUMN] = [row.get("id") for row in rows]
    reasons = (
        (reports, f"its report is not the {digits} hexadecimal digits of one of {intake.table}"),
        (public, "its public values are not a JSON object"),
    )
    faults = [(np.array([v is None for v in values]), reason) for values, reason in reasons]
    return columns, [*faults, *_absent(intake, [values or {} for values in public])]


def _has_sent_keys(row: Mapping[str, Any], declared: Collection[str]) -> bool:
    """Whether a line has no key but those of a report, and of public columns."""
    public = row.get("public")
    inside = public.keys() if isinstance(public, dict) else set[str]()
    return row.keys() <= _SENT_KEYS and all(key in declared for key in inside)


def _match(pattern: re.Pattern[str], value: object) -> str | None:
    return value if isinstance(value, str) and pattern.fullmatch(value) else None
