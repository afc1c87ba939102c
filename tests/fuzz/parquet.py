"""Report files in Parquet whose metadata and headers of pages are changed, field by field.

What decodes them is written in C++, and some of them end the process that does.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from fuzz.harness import Case, Door, Finding
from fuzz.mutate import change_bytes
from fuzz.people import Base, bases
from fuzz.reports import column_of, is_stored
from support import thrift

from ldpsql.store.incoming import AcceptedRows, read_file

_OPTIONS: tuple[Mapping[str, Any], ...] = (
    {},
    {"use_dictionary": False, "compression": "zstd", "row_group_size": 5},
    {"data_page_version": "2.0", "write_page_index": True, "data_page_size": 10},
    {"write_page_checksum": True, "compression": "gzip", "store_schema": False},
    {"column_encoding": "DELTA_LENGTH_BYTE_ARRAY", "use_dictionary": False},
    {"row_group_size": 3, "data_page_size": 20, "write_batch_size": 2},
)
_NUMBERS = (
    *(0, 1, -1, 2, 3, 4, 5, 6, 7, 8, 16, 100, 255, 1 << 15, 1 << 16, (1 << 16) + 11, 1 << 20),
    *((1 << 29) + 1, (1 << 31) - 1, 1 << 31, -(1 << 31), (1 << 32) + 4, 1 << 40, (1 << 63) - 1),
)
_KINDS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0)


class ParquetMetadata(Door):
    """Files that begin as reports of a survey, with changed metadata.

    What is taken are reports.
    """

    name = "parquet"

    def __init__(self) -> None:
        place = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self._folder = tempfile.TemporaryDirectory(dir=place)
        self._path = Path(self._folder.name, "file.parquet")
        self._files = list[tuple[Base, bytes, thrift.Struct]]()
        chosen = random.Random(0)
        self._bases = bases()[:3]
        for base in self._bases:
            for number, options in enumerate(_OPTIONS):
                rows = [base.draw(chosen) for _ in range(12)]
                columns = {
                    name: _typed(base, name, [row[name] for row in rows], is_text=number % 2 == 0)
                    for name in base.intake.file_columns
                }
                table, given = pa.table(columns), dict(options)
                if encoding := given.get("column_encoding"):
                    texts = [f.name for f in table.schema if f.type in (pa.string(), pa.binary())]
                    given["column_encoding"] = dict.fromkeys(texts, encoding)
                pq.write_table(table, self._path, **given)
                self._files.append((base, *thrift.split(self._path)))
        for base, body, metadata in self._files:  # what all of them load is loaded before
            thrift.join(self._path, body, metadata)
            if self._read(base) != "taken":
                raise AssertionError("a file without changes is not taken")

    def close(self) -> None:
        self._folder.cleanup()

    def draw(self, chosen: random.Random) -> Case:
        number = chosen.randrange(len(self._files))
        base, body, given = self._files[number]
        metadata = deepcopy(given)
        if chosen.random() < 0.5:
            body = _change_page(chosen, body, metadata)
        if chosen.random() < 0.7 or body == self._files[0][1]:
            for _ in range(chosen.choice((1, 1, 2, 4))):
                _change(chosen, metadata)
        try:
            written = thrift.write(metadata)
        except (TypeError, ValueError, AttributeError, RecursionError):
            return self.draw(chosen)  # a value of another kind than its own
        if chosen.random() < 0.1:
            written = change_bytes(chosen, written)
        thrift.join(self._path, body, written)
        return {"base": self._bases.index(base), "data": self._path.read_bytes()}

    def put(self, case: Case) -> str:
        self._path.write_bytes(case["data"])
        return self._read(self._bases[case["base"]])

    def _read(self, base: Base) -> str:
        found = 0
        for batch in AcceptedRows(base.intake, read_file(self._path), skip_invalid=True):
            for row in batch.to_pylist():
                found += 1
                if not is_stored(base, row):
                    raise Finding(f"taken, and no report: {row}")
        return "taken" if found else "nothing taken"


def _typed(base: Base, name: str, values: list[Any], *, is_text: bool) -> pa.Array:
    """A column of values, in the type that it should have."""
    if name == "ldpsql_id":
        return pa.array(values if is_text else [bytes.fromhex(value) for value in values])
    kinds = {column.name: column.type for column in base.intake.public}
    types = {"date": pa.date32(), "timestamp": pa.timestamp("us"), "float": pa.float64()}
    if kinds.get(name) in ("date", "timestamp"):
        # Days alone, in which all values can be written.
        days = [None if value is None else value[:10] for value in values]
        return pa.array(days, pa.string()).cast(pa.date32()).cast(types[kinds[name]])
    if kinds.get(name) == "float":
        return pa.array([None if value is None else float(value) for value in values])
    return column_of(random.Random(0), values) if name not in kinds else pa.array(values)


def _change(chosen: random.Random, struct: thrift.Struct) -> None:
    """Change something in a structure or in those within it."""
    places = list(_places(struct))
    holder, index = chosen.choice(places)
    what = chosen.randrange(10)
    if isinstance(holder, tuple):  # an element of a list
        _, values = holder
        if what < 3:
            del values[index]
        elif what < 6:
            values[index:index] = [deepcopy(values[index])] * chosen.choice((1, 1, 2, 50))
        elif isinstance(values[index], int):
            values[index] = _number(chosen, values[index])
        elif isinstance(values[index], bytes):
            values[index] = change_bytes(chosen, values[index])
        return
    number, kind, value = field = holder[index]
    if what == 0:
        del holder[index]
    elif what == 1:
        holder.insert(chosen.randrange(len(holder) + 1), deepcopy(field))
    elif what == 2:
        field[0] = max(-5, number + chosen.choice((1, -1, 2, 1 << 16, 100)))
    elif what == 3:
        field[1] = chosen.choice(_KINDS)
    elif what == 4:
        other, at = chosen.choice(places)
        if isinstance(other, list) and other[at][1] == kind:
            field[2] = deepcopy(other[at][2])
    elif what == 5 and isinstance(value, tuple):
        field[2] = (chosen.choice(_KINDS), value[1])
    elif isinstance(value, bool):
        field[2] = not value
    elif isinstance(value, int):
        field[2] = _number(chosen, value)
    elif isinstance(value, bytes):
        field[2] = change_bytes(chosen, value)


def _number(chosen: random.Random, value: int) -> int:
    if chosen.random() < 0.4:
        return value + chosen.choice((1, -1, 2, -2, 10, -10, 1 << 32, 1 << 16))
    return chosen.choice(_NUMBERS)


def _places(struct: thrift.Struct) -> Any:
    """Whatever holds a field or an element, and its index."""
    for index, (_, _, value) in enumerate(struct):
        yield struct, index
        if isinstance(value, list):
            yield from _places(value)
        elif isinstance(value, tuple):
            for at, each in enumerate(value[1]):
                yield value, at
                if isinstance(each, list):
                    yield from _places(each)


def _change_page(chosen: random.Random, body: bytes, metadata: thrift.Struct) -> bytes:
    """A body with a changed header of a page, or bytes of a page, of a column; its pages are
    written again at the end, and its metadata name their places."""
    groups = thrift.field(metadata, 4)[1]
    column = chosen.choice(thrift.columns(metadata, chosen.randrange(len(groups))))
    numbers = [number for number, _, _ in column]
    data = thrift.field(column, 9)
    start = min([data, *([thrift.field(column, 11)] if 11 in numbers else [])])
    chunk, parts, place = body[start : start + thrift.field(column, 7)], list[Any](), 0
    while place < len(chunk):
        header, after = thrift.read(chunk, place)
        end = after + thrift.field(header, 3)
        parts.append([place + start == data, header, chunk[after:end]])
        place = end
    for _ in range(chosen.choice((1, 1, 2))):
        part = chosen.choice(parts)
        if chosen.random() < 0.6:
            _change(chosen, part[1])
        elif chosen.random() < 0.5:
            part[2] = change_bytes(chosen, part[2])
            if chosen.random() < 0.7 and any(n == 3 for n, _, _ in part[1]):
                thrift.put(part[1], 3, len(part[2]))
        else:
            parts.insert(chosen.randrange(len(parts)), deepcopy(part))
    pages = b""
    for is_data, header, content in parts:
        if is_data:
            thrift.put(column, 9, len(body) + len(pages))
        try:
            pages += thrift.write(header) + content
        except (TypeError, ValueError, AttributeError):  # a value of another kind than its own
            return body
    if 11 in numbers:
        thrift.put(column, 11, len(body))
    thrift.put(column, 7, len(pages))
    return body + pages
