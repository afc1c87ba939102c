"""Runs at the shuffler. Sees reports, never keeps order or identity. Files of reports as they came
in: checked row by row, and stripped of everything else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ldpsql.report import Integers
from ldpsql.shuffle.batch import BATCH_KEY
from ldpsql.shuffler.permutation import Table
from ldpsql.survey import Survey
from ldpsql_device.errors import Error, FingerprintError, ReportError
from ldpsql_device.schema import RESERVED_PREFIX
from ldpsql_device.table import METADATA_KEY

SUFFIXES = (".parquet", ".pq")
CHUNK = 1 << 17
_SHOWN = 5
_FEWEST = 16
_BITS = 64.0


@dataclass(frozen=True)
class Spool:
    """A Parquet file of reports of one survey; `rows` is what its footer says."""

    path: Path
    rows: int


def row_type(survey: Survey) -> np.dtype[Any]:
    """A report as one packed record."""
    form = survey.design.report_format
    widths = zip(form.columns, form.widths, strict=True)
    return np.dtype([(RESERVED_PREFIX + name, f"<u{width // 8}") for name, width in widths])


def spools(survey: Survey, sources: Sequence[str | Path]) -> list[Spool]:
    """The files behind names of files and directories, each checked to be of this survey.

    Directories are searched in depth. ReportError for a name without a report file, for a file
    given twice, under whatever names, and for one that was shuffled before; FingerprintError for
    another survey's.
    """
    found = [path for source in sources for path in _files(Path(source))]
    seen: set[tuple[int, int]] = set()
    for path in found:
        try:
            place = path.stat()
        except OSError:
            raise _damaged(path) from None
        if (place.st_dev, place.st_ino) in seen:
            raise ReportError(f"{path} is given twice; the same reports hide nobody twice")
        seen.add((place.st_dev, place.st_ino))
    return [_spool(survey, path) for path in found]


def _files(source: Path) -> list[Path]:
    if source.is_file():
        return [source]
    if not source.is_dir():
        raise ReportError(f"there is no file {source}")
    found = sorted(p for p in source.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file())
    if not found:
        raise ReportError(f"there is no report file in {source} ({', '.join(SUFFIXES)})")
    return found


def _spool(survey: Survey, path: Path) -> Spool:
    try:
        with pq.ParquetFile(path) as file:
            rows, schema = file.metadata.num_rows, file.schema_arrow
    except (pa.ArrowException, OSError):
        raise _damaged(path) from None
    require_reports(survey, path, schema)
    return Spool(path, rows)


def require_reports(survey: Survey, path: Path | str, schema: pa.Schema) -> None:
    """ReportError unless a table has the columns of reports that were not shuffled before,
    FingerprintError unless they are of this survey; `path` is for messages."""
    metadata = schema.metadata or {}
    if BATCH_KEY.encode() in metadata:
        raise ReportError(f"{path} was shuffled before; shuffle the reports as they came in")
    for name in row_type(survey).names or ():
        if schema.names.count(name) != 1:
            raise ReportError(f"{path}: column {name!r} is missing or there twice")
    _require_survey(survey, path, metadata.get(METADATA_KEY))


def _require_survey(survey: Survey, path: Path | str, text: bytes | None) -> None:
    """FingerprintError unless the file carries this survey."""
    if text is None:
        raise FingerprintError(f"{path} does not say to which survey its reports belong")
    if text == survey.to_json().encode():
        return
    try:
        claimed = Survey.from_json(text.decode()).fingerprint
    except (Error, UnicodeDecodeError):
        raise FingerprintError(f"{path} carries a damaged survey") from None
    if claimed != survey.fingerprint:
        raise FingerprintError(
            f"{path} holds reports of another survey (fingerprint {claimed[:12]}, not "
            f"{survey.fingerprint[:12]} of {survey.table})"
        )


def read(survey: Survey, spool: Spool) -> Iterator[Table]:
    """The report columns of a file, and nothing else of it, piece by piece.

    ReportError, naming rows and columns, for anything that is no report of the survey.
    """
    kind = row_type(survey)
    first = 1
    try:
        with pq.ParquetFile(spool.path) as file:
            for batch in file.iter_batches(CHUNK, columns=list(kind.names or ())):
                yield checked(survey, spool.path, batch, first)
                first += batch.num_rows
    except (pa.ArrowException, OSError):
        raise _damaged(spool.path) from None
    if first - 1 != spool.rows:
        raise _damaged(spool.path)


@dataclass
class Contents:
    """Which reports came from which file: finds a file that is there twice under two names.

    Two people may send equal reports, and so may two small files. The same reports in the same
    order, with so many different ones among them that chance would need 2^64 attempts, are a copy.
    """

    _known: dict[bytes, Path] = field(default_factory=dict)

    def watched(self, spool: Spool, parts: Iterator[Table]) -> Iterator[Table]:
        """The same parts of a file; ReportError at their end where another file had them all."""
        digest, first = hashlib.sha256(), None
        for part in parts:
            first = part if first is None else first
            digest.update(part.tobytes())
            yield part
        if first is None or spool.rows < _FEWEST:
            return
        other = self._known.setdefault(digest.digest(), spool.path)
        if other != spool.path and _variety(first) >= _BITS:
            raise ReportError(
                f"{spool.path} holds the same reports as {other}, in the same order: it is a copy, "
                "and the same reports hide nobody twice; leave one of them out"
            )


def _variety(rows: Table) -> float:
    """Bits of so many independent reports that are spread as these are."""
    _, counts = np.unique(rows, return_counts=True)
    return float(np.sum(counts * np.log2(len(rows) / counts)))


def checked(survey: Survey, path: Path | str, batch: pa.RecordBatch, first: int) -> Table:
    """The report columns of a batch whose first row has the number `first`; `path` is for messages.

    ReportError for anything that is no report of the survey.
    """
    form = survey.design.report_format
    rows = np.empty(batch.num_rows, dtype=row_type(survey))
    for name in rows.dtype.names or ():
        column = batch.column(name)
        if not pa.types.is_integer(column.type) or column.null_count:
            raise ReportError(f"{path}: column {name!r} must hold whole numbers in every row")
        values = column.to_numpy(zero_copy_only=False)
        largest = np.iinfo(rows.dtype[name]).max
        if len(values) and (values.min() < 0 or values.max() > largest):
            wrong = np.flatnonzero((values < 0) | (values > largest))
            raise _misfit(path, wrong + first)
        rows[name] = values
    refused = form.refuse({name: rows[RESERVED_PREFIX + name] for name in form.columns})
    if len(refused):
        raise _misfit(path, refused + first)
    return rows


def _misfit(path: Path | str, rows: Integers) -> ReportError:
    shown = ", ".join(map(str, rows[:_SHOWN].tolist()))
    return ReportError(
        f"{path}: {len(rows)} row(s) are no reports of the survey, the first at {shown}; nothing "
        "was shuffled"
    )


def _damaged(path: Path) -> ReportError:
    return ReportError(f"{path} cannot be read: it is damaged or cut short; copy it again")
