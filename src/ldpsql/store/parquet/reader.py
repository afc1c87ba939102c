"""Reads Parquet files of strangers by way of a process with limits; see `child`.

What arrives here are the columns that were asked for, in pieces of bounded size, as that process
wrote them: this one never opens a file. A process serves one file after the other. One that waits
for the next file is kept, and ends when this process does.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql.store.intake import describe_damage
from ldpsql.store.parquet import DAMAGED, EXCEEDED, TOO_LARGE
from ldpsql_device.errors import ReportError
from ldpsql_device.reports import ID_BYTES

ROWS = 1 << 17
"""Rows of a piece."""
MEMORY = 1 << 30
"""Bytes that decoding a file may take; a piece of it is there twice."""
SECONDS, SECONDS_PER_BYTE = 60.0, 2.0**-20
"""Time of the processor that a file may take in any case, and more for every byte of it."""
_LONGEST_SCHEMA = 1 << 22
_FREE_ROWS, _ROWS_PER_BYTE = 1 << 20, 32
"""Rows that a file may have in any case, and more for every byte of it where rows have no ids: a
report has at least some hundredths of a bit."""
_LONGEST_LINE = 1 << 10
_EXCEEDED = (EXCEEDED, -getattr(signal, "SIGXCPU", 0))
"""How a process ends that takes too much: by itself, or by the system."""
Process = subprocess.Popen[bytes]
_IDLE = list[Process]()
"""The process that waits for a file, if one does."""


@dataclass(frozen=True)
class ParquetContent:
    """A file whose metadata were read.

    name: for messages.  size: its bytes.  schema: with the values of dictionaries written out.
    rows: how many it says it has.
    """

    path: Path
    name: str
    size: int
    schema: pa.Schema
    rows: int

    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns, all rows; ReportError where the file is damaged, takes too much to decode,
        or is no longer what its metadata said."""
        schema = pa.schema([self.schema.field(column) for column in columns])
        missing = self.rows
        for _, content in _ask(self.path, self.name, self.size, columns):
            try:
                batch = pa.ipc.read_record_batch(content, schema)
                batch.validate(full=True)
            except (pa.ArrowException, OSError):
                raise describe_damage(self.name) from None
            missing -= batch.num_rows
            if missing < 0:
                break
            yield batch
        if missing:
            raise describe_damage(self.name)


def open_parquet(path: Path, name: str) -> ParquetContent:
    """Read the metadata of a file; ReportError where they are damaged, long, or tell of more rows
    than there is room for reports that differ.

    name: for messages.
    """
    try:
        size = path.stat().st_size
    except OSError:
        raise describe_damage(name) from None
    [(said, content)] = _ask(path, name, size, None)
    if len(content) > _LONGEST_SCHEMA:
        raise ReportError(f"{name} has more than {_LONGEST_SCHEMA:,} bytes of metadata")
    schema, rows = pa.ipc.read_schema(pa.py_buffer(content)), said["rows"]
    if len(set(schema.names)) < len(schema.names):
        raise ReportError(f"{name} has a column twice; give each a name of its own")
    per_byte = 1 / ID_BYTES if ID_COLUMN in schema.names else _ROWS_PER_BYTE
    if rows > _FREE_ROWS + per_byte * size:
        raise ReportError(
            f"{name} has {rows:,} rows, more than a file of its size can hold; write it again"
        )
    return ParquetContent(path, name, size, schema, rows)


def _ask(
    path: Path, name: str, size: int, columns: Sequence[str] | None
) -> Iterator[tuple[dict[str, Any], bytes]]:
    """The answers of a process to one request: lines, and the bytes that follow each of them."""
    seconds = SECONDS + SECONDS_PER_BYTE * size
    wanted = {"path": str(path.absolute()), "columns": columns, "rows": ROWS}
    process, end = _take(name), ""
    try:
        end = yield from _answers(process, json.dumps({"read": wanted, "seconds": seconds}))
    except (OSError, ValueError):  # its answer ends too early, so it has ended
        code = _end(process)
        if code == 1:  # that of an error in Python, and of no file
            raise _describe_failure(name) from None
        if code == -getattr(signal, "SIGKILL", 0):  # such as by a system that has no memory left
            raise ReportError(
                f"{name} was not read: the process that decodes it was killed; try again"
            ) from None
        end = TOO_LARGE if code in _EXCEEDED else DAMAGED
    except BaseException:  # nobody reads on
        _end(process)
        raise
    else:
        _IDLE.append(process)
        with suppress(IndexError):
            _end(_IDLE.pop(1))  # one is enough; each thread takes at most one, and never the first
    if end == TOO_LARGE:
        raise ReportError(
            f"{name} takes more than {MEMORY:,} bytes or {seconds:,.0f} s of the processor to "
            "decode; write smaller row groups and shorter texts, or less at once"
        )
    if end:
        raise describe_damage(name)


def _take(name: str) -> Process:
    """A process that waits for a file, or a new one."""
    with suppress(IndexError):
        while (process := _IDLE.pop()).poll() is not None:  # somebody has ended it
            _end(process)
        return process
    # It finds modules where this process does, and not in whatever folder this one works in.
    places = os.pathsep.join(filter(None, sys.path))
    # Allocators that reserve much more than they use would meet the limit early.
    alone = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}
    alone["OPENBLAS_NUM_THREADS"] = "1"
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "ldpsql.store.parquet.child", str(MEMORY)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **alone, "PYTHONPATH": places},
        )
    except OSError:
        raise _describe_failure(name) from None


def _describe_failure(name: str) -> ReportError:
    return ReportError(
        f"{name} cannot be read: no process can be started to decode it ({sys.executable})"
    )


def _answers(process: Process, request: str) -> Generator[tuple[dict[str, Any], bytes], None, str]:
    """Each line of an answer with what follows it; returns how it ends, ValueError or OSError where
    that is too early."""
    questions, answers = process.stdin, process.stdout
    assert questions is not None and answers is not None
    questions.write(f"{request}\n".encode())
    questions.flush()
    while "end" not in (said := json.loads(answers.readline(_LONGEST_LINE))):
        content = answers.read(min(said["size"], MEMORY))
        if len(content) != said["size"]:
            raise ValueError("it ended within a piece")
        yield said, content
    return str(said["end"])


def _end(process: Process) -> int:
    """End a process; returns its exit code."""
    process.kill()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            # Where nobody reads on, the collector of garbage may have closed it before.
            with suppress(OSError, ValueError):
                stream.close()
    return process.wait()


@atexit.register
def _end_idle() -> None:
    """End the processes that wait for a file."""
    with suppress(IndexError):
        while True:
            _end(_IDLE.pop())


if hasattr(os, "register_at_fork"):  # it is the parent's
    os.register_at_fork(after_in_child=_IDLE.clear)
