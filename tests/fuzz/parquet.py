"""Report files in Parquet whose metadata and headers of pages are changed, field by field.

What reads them is written in C++ and may end its process, so another one does it.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from fuzz.harness import MEMORY, SECONDS, Door, Finding, require_error
from fuzz.mutate import change_bytes
from fuzz.people import Base, bases
from fuzz.reports import column_of, is_stored
from support import thrift

from ldpsql.store.incoming import AcceptedRows, read_file
from ldpsql_device.errors import Error

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


class Reader:
    """A process that is asked to do something again and again, until it dies of it."""

    def __init__(self, child: int, asked: int, told: int) -> None:
        self._child, self._asked = child, asked
        self._told = os.fdopen(told, encoding="utf-8")

    @classmethod
    def start(cls, work: Callable[[int], str]) -> Reader:
        """A copy of this process that does some work with the numbers that it is told."""
        (questions, asked), (told, answers) = os.pipe(), os.pipe()
        child = os.fork()
        if not child:
            os.close(asked)
            with os.fdopen(questions, encoding="utf-8") as lines:
                for line in lines:
                    os.write(answers, f"{json.dumps(_measure(work, int(line)))}\n".encode())
            os._exit(0)
        os.close(questions)
        os.close(answers)
        return cls(child, asked, told)

    def ask(self, number: int) -> dict[str, Any]:
        """What the work came to; EOFError where the process died of it."""
        os.write(self._asked, f"{number}\n".encode())
        if line := self._told.readline():
            answer: dict[str, Any] = json.loads(line)
            return answer
        raise EOFError

    def end(self) -> int:
        """End it; the code that it ended with."""
        os.close(self._asked)
        self._told.close()
        with suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])


def _measure(work: Callable[[int], str], number: int) -> dict[str, Any]:
    """How work ends, by an ending or a finding, in how much time, and in how many bytes more."""
    started, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        said = {"ending": work(number)}
    except BaseException:
        said = {"finding": traceback.format_exc()[-5_000:]}
    grew = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {**said, "took": time.process_time() - started, "grew": grew * 1024}


class ParquetMetadata(Door):
    """Files that begin as reports of a survey, with changed metadata.

    What is taken are reports. A process that dies, takes long or grows is a finding.
    """

    name = "parquet"

    def __init__(self) -> None:
        place = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self._folder = tempfile.TemporaryDirectory(dir=place)
        self._path = Path(self._folder.name, "file.parquet")
        self._files = list[tuple[Base, bytes, thrift.Struct]]()
        chosen = random.Random(0)
        for base in bases()[:3]:
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
        self._reader: Reader | None = None

    def close(self) -> None:
        if self._reader is not None:
            self._reader.end()
        self._folder.cleanup()

    def attempt(self, chosen: random.Random) -> str:
        number = chosen.randrange(len(self._files))
        _, body, given = self._files[number]
        metadata = deepcopy(given)
        if chosen.random() < 0.5:
            body = _change_page(chosen, body, metadata)
        if chosen.random() < 0.7 or body == self._files[0][1]:
            for _ in range(chosen.choice((1, 1, 2, 4))):
                _change(chosen, metadata)
        try:
            written = thrift.write(metadata)
        except (TypeError, ValueError, AttributeError, RecursionError):
            return "cannot be written"  # a value of another kind than its own
        if chosen.random() < 0.1:
            written = change_bytes(chosen, written)
        thrift.join(self._path, body, written)
        return self._ask(number)

    def _ask(self, number: int) -> str:
        """How it ends that another process reads the file, as one of a survey."""
        if self._reader is None:
            self._reader = Reader.start(lambda own: self._judge(self._files[own][0]))
        try:
            said = self._reader.ask(number)
        except EOFError:
            code, self._reader = self._reader.end(), None
            said = {"finding": f"the process ended with {code}"}
        except BaseException:  # such as an end of patience
            self._reader.end()
            self._reader = None
            raise
        if "finding" not in said and (said["grew"] > MEMORY or said["took"] > SECONDS):
            said["finding"] = f"took {said['took']:.1f} s, grew by {said['grew']:,} bytes"
        if "finding" in said:
            raise Finding(f"{said['finding']}: {self._path.read_bytes().hex()}")
        return str(said["ending"])

    def _judge(self, base: Base) -> str:
        try:
            return self._read(base)
        except Error as error:
            require_error(error)
            return type(error).__name__

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
