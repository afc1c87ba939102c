"""The process that decodes Parquet files of strangers, under limits of memory and time.

`reader` starts it as `python -m ldpsql.store.parquet.child MEMORY`; it imports pyarrow alone.
Every line of its input is a request, a JSON object: what to `read`, which is the `path` of a file
and its `columns`, so many `rows` at a time, or no columns but its schema; and how many `seconds` of
the processor that may take. It answers with lines of JSON, each followed by as many bytes as its
`size` says: a schema, with the number of `rows`, or record batches. An answer ends with a line that
has an `end`, which is empty where all went well, and else `DAMAGED` or `TOO_LARGE`.

The system limits its memory (RLIMIT_AS) and time (RLIMIT_CPU) where it can. macOS does not keep the
former and Windows has neither, so a thread watches both everywhere, and ends the process.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ldpsql.store.parquet import DAMAGED, EXCEEDED, TOO_LARGE

try:
    import resource
except ImportError:  # there is none on Windows
    resource = None  # type: ignore[assignment]

_PAUSE = 0.01
_LATER = 2
"""Seconds after which the system ends a process that its own thread does not."""
_BUFFER = 1 << 20
"""Bytes of a column that are read from the file at once."""


class _Request:
    """The present request: whether there is one, and the processor time, in seconds, at which it
    has to be done."""

    is_there, end = threading.Event(), 0.0


def main(memory: int) -> None:
    """Answer requests until the input ends.  memory: bytes that decoding may take."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with the process that asks
    pa.set_cpu_count(1)  # threads have memory of their own
    threading.Thread(target=_watch, args=[memory], daemon=True).start()
    _limit_memory(memory)
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        request = json.loads(line)
        _limit_time(request["seconds"])
        end = ""
        try:
            for said, content in _answer(**request["read"]):
                out.write(json.dumps(said | {"size": content.size}).encode() + b"\n")
                out.write(content)
        except MemoryError:
            end = TOO_LARGE
        except BrokenPipeError:
            return
        except Exception:  # whatever pyarrow says of damage, which may quote the file
            end = DAMAGED
        out.write(json.dumps({"end": end}).encode() + b"\n")
        out.flush()
        _Request.is_there.clear()


def _answer(
    path: str, columns: Sequence[str] | None, rows: int
) -> Iterator[tuple[dict[str, Any], pa.Buffer]]:
    with pq.ParquetFile(path, page_checksum_verification=True, buffer_size=_BUFFER) as file:
        if columns is None:
            yield {"rows": file.metadata.num_rows}, _written_out(file.schema_arrow).serialize()
            return
        _require_all(file.metadata, columns)
        for batch in file.iter_batches(rows, columns=columns, use_threads=False):
            yield {}, batch.cast(_written_out(batch.schema)).serialize()


def _require_all(metadata: pq.FileMetaData, columns: Sequence[str]) -> None:
    """ValueError for a row group that has more values of a column than rows, which would be left
    unread, or fewer."""
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            if column.path_in_schema in columns and column.num_values != group.num_rows:
                raise ValueError("a column of other rows")


def _written_out(schema: pa.Schema) -> pa.Schema:
    """The schema with every value in its place, where rows share those of a dictionary."""
    for place, column in enumerate(schema):
        if pa.types.is_dictionary(column.type):
            schema = schema.set(place, column.with_type(column.type.value_type))
    return schema


def _limit_memory(memory: int) -> None:
    if resource is None:
        return
    taken = 0
    with suppress(OSError):  # there is no such file but on Linux
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        taken = pages * resource.getpagesize()
    _lower(resource.RLIMIT_AS, taken + memory)
    _lower(resource.RLIMIT_CORE, 0)


def _limit_time(seconds: float) -> None:
    """Give a request so many seconds from now."""
    _Request.end = time.process_time() + seconds
    if resource is not None:
        _lower(resource.RLIMIT_CPU, int(_Request.end) + _LATER)
    _Request.is_there.set()


def _lower(limit: int, value: int) -> None:
    """Set a limit that may be raised again, unless a lower one may not."""
    _, most = resource.getrlimit(limit)
    resource.setrlimit(limit, (value if most == resource.RLIM_INFINITY else min(value, most), most))


def _watch(memory: int) -> None:
    """End the process where it takes more, of what Arrow counts, or longer."""
    while _Request.is_there.wait():
        if pa.total_allocated_bytes() > memory or time.process_time() > _Request.end:
            os._exit(EXCEEDED)
        time.sleep(_PAUSE)


if __name__ == "__main__":
    main(int(sys.argv[1]))
