"""Bodies of requests that bring reports: lines and Arrow streams, as they are and compressed."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import tempfile
import zlib
from collections.abc import Sequence
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
from fuzz.harness import RAW, Case, Door, Finding
from fuzz.mutate import change_bytes
from fuzz.people import ID, Base, Row, bases, parse, payload
from fuzz.reports import change_line, change_rows, column_of
from support.http import Answer, ask

from ldpsql.server import writer
from ldpsql.server.app import make_app
from ldpsql.server.bodies import ARROW
from ldpsql.server.devices import BYTES, REPORTS
from ldpsql.server.tokens import Tokens
from ldpsql.server.writer import Writer
from ldpsql.store.intake import Intake
from ldpsql_device.statement import Statement

_STATUSES = {200, 400, 401, 403, 408, 410, 413, 415, 422, 429}


class Counter:
    """A receiver of the reports of one survey that keeps their ids and nothing else."""

    shuffles = False

    def __init__(self, base: Base) -> None:
        self.base, self.ids = base, set[bytes]()

    def intake(self, table: str) -> Intake:
        return self.base.intake

    def intake_of(self, fingerprint: str) -> Intake | None:
        return self.base.intake if fingerprint == self.base.intake.fingerprint else None

    def find_statement(self, intake: Intake) -> str | None:
        return None

    def keep_statement(self, statement: Statement) -> None:
        raise AssertionError

    def take(self, intake: Intake, reports: Sequence[pa.RecordBatch], source: str) -> int:
        before = len(self.ids)
        self.ids.update(own for batch in reports for own in batch[ID].to_pylist())
        return len(self.ids) - before

    def tidy(self) -> None:
        pass


class Bodies(Door):
    """Requests to a collector.

    Each is answered with a status of `_STATUSES`, in JSON, and as many reports are taken as there
    are new ones among the lines by `Base.is_report`.
    """

    name = "bodies"

    def __init__(self) -> None:
        self._opened = ExitStack()
        self._before, writer.SECONDS = writer.SECONDS, 0.0
        self._bases = bases()
        self._counters = [Counter(base) for base in self._bases]
        folder = self._opened.enter_context(tempfile.TemporaryDirectory())
        self._tokens = Tokens.beside(Path(folder, "s.duckdb"))
        self._token = self._tokens.add("relay", "relay")
        self._runner = self._opened.enter_context(asyncio.Runner())
        self._apps = []
        for counter in self._counters:
            own = Writer(counter, "http")
            self._opened.callback(own.close)
            self._apps.append(make_app(counter, own, self._tokens))

    def close(self) -> None:
        self._opened.close()
        writer.SECONDS = self._before

    def draw(self, chosen: random.Random) -> Case:
        place = chosen.randrange(len(self._bases))
        base = self._bases[place]
        rows = [base.draw(chosen) for _ in range(chosen.randint(0, 5))]
        headers = {"content_type": "application/x-ndjson"}
        if stream := chosen.random() < 0.3:
            headers = {"content_type": ARROW, "authorization": "Bearer"}
            body = _stream(chosen, base, rows)
        else:
            lines = [change_line(chosen, payload(base, row).encode()) for row in rows]
            body = chosen.choice((b"\n", b"\r\n", b"\n\n")).join(lines)
        if chosen.random() < 0.01:
            body = chosen.choice((b"a" * (1 << 21), b"\n" * (1 << 22), b"{}\n" * (REPORTS + 1)))
        is_whole = True
        if chosen.random() < 0.35:
            body, is_whole = change_bytes(chosen, body), not stream
        sent = body
        if chosen.random() < 0.3:
            headers["content_encoding"] = "gzip"
            sent = _compress(chosen, body)
            if chosen.random() < 0.4:
                sent = change_bytes(chosen, sent, 2)
            try:
                stream_of = zlib.decompressobj(31)
                body = stream_of.decompress(sent)
                if not stream_of.eof or stream_of.unused_data:
                    body = b""
            except zlib.error:
                body = b""
        if chosen.random() < 0.05:
            name = chosen.choice(("content_type", "content_encoding", "content_length", "origin"))
            headers[name] = chosen.choice(("", "gzip, gzip", "br", "-1", "9" * 30, "x/y", "*", RAW))
        case = {"sent": sent, "body": body, "is_whole": is_whole, "stream": stream}
        return {"base": place, "headers": headers, **case}

    def put(self, case: Case) -> str:
        place, sent, body = case["base"], case["sent"], case["body"]
        headers = dict(case["headers"])
        if "authorization" in headers:  # which every collector has its own
            headers["authorization"] = f"Bearer {self._token}"
        base = self._bases[place]
        address = f"/v1/surveys/{base.intake.fingerprint}/reports"
        ids = self._counters[place].ids
        before = set(ids)
        parts = [sent[at : at + 700] for at in range(0, len(sent), 700)] or [b""]
        answer = ask(
            self._apps[place], address, parts, client="127.0.0.1", runner=self._runner, **headers
        )
        came = len(ids) - len(before)
        self._require(answer, came)
        # A stream of other columns or types is refused as a whole.
        if case["is_whole"] and (answer.status == 200 or b'"refused"' in answer.body):
            held = _streamed(base, body) if case["stream"] else _expect(base, body)
            wanted = len({bytes.fromhex(own) for own in held} - before)
            if came != wanted:
                raise Finding(f"{came} reports taken of {wanted}: {body[:300]!r}, {headers}")
        if answer.status == 200:
            return "taken" if came else "repeats"
        return f"{answer.status} {answer.json['type'].rsplit(':', 1)[-1]}"

    def _require(self, answer: Answer, came: int) -> None:
        said = answer.body.decode()
        if answer.status not in _STATUSES:
            raise Finding(f"answered {answer.status}: {said}")
        if RAW in said.lower():
            raise Finding(f"an answer that tells a raw value: {said}")
        if answer.status != 200 and (came or json.loads(said)["status"] != answer.status):
            raise Finding(f"{came} reports taken and {answer.status} answered: {said}")


@lru_cache
def _compress_blanks(size: int) -> bytes:
    return gzip.compress(b" " * size, 1, mtime=0)


def _compress(chosen: random.Random, body: bytes) -> bytes:
    """Compressed; now and then far more than fits, which takes little compressed."""
    if chosen.random() < 0.02:
        packed = _compress_blanks(chosen.choice((BYTES, 1 << 24, 1 << 27)))
    else:
        packed = gzip.compress(body, 1, mtime=0)
    return packed + chosen.choice((b"", packed, b"more")) if chosen.random() < 0.1 else packed


def _stream(chosen: random.Random, base: Base, rows: list[Row]) -> bytes:
    """Rows as a relay sends them."""
    for _ in range(chosen.choice((0, 0, 1, 2))):
        rows = change_rows(chosen, rows)
    names = list(dict.fromkeys([*base.intake.file_columns, *(n for row in rows for n in row)]))
    columns = [column_of(chosen, [row.get(name) for row in rows]) for name in names]
    table = pa.Table.from_arrays(columns, names=names)
    sink = pa.BufferOutputStream()
    packing = chosen.choice((None, None, None, "lz4", "zstd"))
    with pa.ipc.new_stream(
        sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=packing)
    ) as out:
        for batch in table.to_batches(max_chunksize=chosen.choice((1, 2, 100))):
            out.write_batch(batch)
    return bytes(sink.getvalue())


def _expect(base: Base, body: bytes) -> set[str]:
    """The ids of the reports that the lines of a body hold."""
    declared, ids = {column.name for column in base.intake.public}, set[str]()
    for line in body.split(b"\n"):
        raw = parse(line, sent=False, base=base) if line.strip() else None
        if raw is None or not raw.keys() <= {"id", "report", "public"}:
            continue
        given = raw.get("public")
        if isinstance(given, dict) and not given.keys() <= declared:
            continue
        row = parse(line, sent=True, base=base)
        if row and base.is_report(row):
            ids.add(row[ID])
    return ids


def _streamed(base: Base, body: bytes) -> set[str]:
    """The same of an Arrow stream that was taken: its rows are all of types that fit."""
    rows = pa.ipc.open_stream(body).read_all().to_pylist()
    return {own for row in rows if (own := _id_of_report(base, row)) is not None}


def _id_of_report(base: Base, row: Row) -> str | None:
    """The id of a row that is a report, as JSON would have it."""
    row = {
        name: value.isoformat() if hasattr(value, "isoformat") else value
        for name, value in row.items()
    }
    own = row.get(ID)
    row[ID] = own.hex() if isinstance(own, bytes) and len(own) == 16 else own
    for column in base.intake.public:
        value = row.get(column.name)
        if column.type == "float" and type(value) is int:
            row[column.name] = float(value)
    return row[ID] if base.is_report(row) else None
