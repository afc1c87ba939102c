"""Functions that Spark's executors run: reading report files by the rules of every store, and
decoding counts of reports.

Executors need `ldpsql` installed, of the version that asks them. They give Arrow.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from ldpsql.estimators.base import Decoding
from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql.reports.report import Reals
from ldpsql.spark.columns import PLACE, ROW, SAID, arriving_schema, sums_schema
from ldpsql.sql.arrow_arrays import gather
from ldpsql.store.base import Selection
from ldpsql.store.decoded import add_arrays
from ldpsql.store.incoming import read_file
from ldpsql.store.intake import Intake
from ldpsql.store.layout import Layout
from ldpsql.store.opening import open_memory
from ldpsql.store.reading import Reading
from ldpsql.store.rules import IngestPolicy, admit, batch_id, choose_survey
from ldpsql.survey import Survey
from ldpsql_device.errors import Error, InternalError

Key = tuple[Any, ...]
Sums = dict[Key, dict[str, Reals]]
"""Arrays that add up over people, by key and name."""

_ROWS = 1 << 20
"""Histogram rows that are decoded at once."""


@dataclass(frozen=True)
class Arriving:
    """Settings for reading report files.

    intake: of the survey whose reports they are.  places: of every file that is read, by what Spark
    calls it: its number, and its name for messages.  is_table: whether there is but one, which was
    no file.
    """

    intake: Intake
    policy: IngestPolicy
    today: date
    places: Mapping[str, tuple[int, str]]
    is_table: bool = False

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The reports of whole files, (path, content) each, and what is said of every file."""
        for batch in batches:
            for path, content in zip(*batch.columns, strict=True):
                yield from self._read(path.as_py(), content.as_buffer())

    def _read(self, path: str, content: pa.Buffer) -> Iterator[pa.RecordBatch]:
        intake, said = self.intake, dict[str, object]()
        (place, name), schema, first = self.places[path], arriving_schema(intake), 0
        with TemporaryDirectory(prefix="ldpsql-") as folder:
            file = Path(folder, f"reports{Path(path).suffix}")
            file.write_bytes(content)
            try:
                incoming = read_file(file, name)
                choose_survey(incoming, intake, (), Intake.read)
                said["batch"] = batch_id(incoming, None if self.is_table else file)
                reports = admit(intake, incoming, self.policy, self.today)
                for piece in reports:
                    yield _arrange(piece, schema, place, first)
                    first += piece.num_rows
                said |= {"accepted": reports.accepted, "skipped": reports.skipped}
            except Error as error:
                said |= {"error": type(error).__name__, "message": str(error)}
        own = {PLACE: place, SAID: json.dumps(said)}
        row = [pa.array([own.get(field.name)], field.type) for field in schema]
        yield pa.RecordBatch.from_arrays(row, schema=schema)


def _arrange(piece: pa.RecordBatch, schema: pa.Schema, place: int, first: int) -> pa.RecordBatch:
    """Reports of one file as Spark takes them."""
    rows = piece.num_rows
    beside = {
        PLACE: pa.array(np.full(rows, place, dtype=np.int32)),
        ROW: pa.array(np.arange(first, first + rows)),
        SAID: pa.nulls(rows, pa.string()),
        ID_COLUMN: pa.nulls(rows, pa.binary()),
    }
    given = beside | dict(zip(piece.schema.names, piece.columns, strict=True))
    columns = [given[field.name].cast(field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


@dataclass(frozen=True)
class CountDecoder:
    """Settings for decoding counts of reports.

    survey: with both parts; fingerprint: of it.  selection: whose counts, by which keys; without
    sums of public columns.
    """

    survey: str
    fingerprint: str
    selection: Selection

    def decode(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Histogram rows to one row per combination of keys and name of an array."""
        table, decoding = _restore(self.survey, self.fingerprint)
        sums: Sums = {}
        with open_memory() as connection:
            connection.execute("SET threads = 1")
            for rows in gather(batches, _ROWS):
                connection.register("counts", rows)
                reading = Reading(connection, table, self.selection, "counts")
                found = [(key, own) for key, own in reading.histograms() if own.counts.size]
                each = decoding.decode([own for _, own in found])
                for (key, _), own in zip(found, each, strict=True):
                    add_up(sums, key, own)
        rows = [
            (*key, name, own.astype("<f8").tobytes())
            for key, arrays in sums.items()
            for name, own in arrays.items()
        ]
        schema = sums_schema(table, self.selection)
        columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
        arrays = [pa.array(own, f.type) for own, f in zip(columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def add_up(sums: Sums, key: Key, arrays: Mapping[str, Reals]) -> None:
    """Add arrays to those of a key."""
    sums[key] = add_arrays(sums.get(key, {}), arrays)


@lru_cache(maxsize=4)
def _restore(text: str, fingerprint: str) -> tuple[Layout, Decoding]:
    """The columns of a survey's reports and their decoder, made once in a process."""
    survey = Survey.from_kept(text, fingerprint)
    decoding = survey.design.decoding
    if decoding is None:
        raise InternalError(f"reports of {survey.table} are not decoded")
    return Layout(Intake.of(survey)), decoding
