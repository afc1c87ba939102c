"""Many files of reports into one batch in random order.

What leaves is the multiset of reports and nothing else: report columns alone, in a uniformly
random order drawn from the operating system's entropy, in row groups of one size, in a file whose
metadata holds the survey and how many reports there are. So the batch tells neither which file a
report came from nor when, nor how many files there were.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa

from ldpsql.reports.arrow_types import FINGERPRINT_KEY, ID_COLUMN
from ldpsql.reports.permutation import BUCKETS, in_random_order, permute_rows
from ldpsql.shuffler.batch_file import (
    batch_metadata,
    batch_schema,
    require_crowd,
    require_trust,
    write_batch,
)
from ldpsql.store.intake import Intake, describe_damage, expand
from ldpsql.store.parquet.reader import ParquetContent, open_parquet
from ldpsql.store.report_files import (
    ID,
    NO_ID,
    Booleans,
    ReportPiece,
    check_rows,
    read_arrow,
    refuse_rows,
    refuse_without_ids,
    require_types,
)
from ldpsql.store.shuffled_batch import BATCH_KEY, ShuffledBatch, pack_reports
from ldpsql.survey import Survey
from ldpsql_device.entropy import OsEntropy, Words
from ldpsql_device.errors import FingerprintError, ReportError
from ldpsql_device.signature import SigningKey
from ldpsql_device.survey import utc_today

SUFFIXES = (".parquet", ".pq")
Progress = Callable[[int, int | None], None]


def shuffle_reports(
    survey: Survey | Intake,
    sources: Sequence[str | Path],
    target: str | Path,
    *,
    key: SigningKey | None = None,
    progress: Progress | None = None,
) -> int:
    """Write the reports of Parquet files, directories of them and globs to `target` as one batch.

    Returns how many reports there are: of those with one id, whatever files hold them, the first
    counts, and no id is passed on. The target appears whole or not at all. key: with which the
    batch is signed, if at all.  progress: called with the number of rows read and their total.
    Memory is bounded as for `permute_rows`, but for a byte for each row; the rest waits in files
    without a name beside the target. Only its owner may read the target: a batch is for the
    collector, and what a killed shuffler leaves of one is smaller than was promised.

    Raises SurveyError for a survey that promises nothing of shuffled reports; ReportError for a row
    that is not a report, for files without ids, for fewer reports than the survey was designed for,
    and for files that cannot be read or written; FingerprintError for reports of another survey.
    """
    intake, place = Intake.of(survey), Path(target)
    require_trust(intake)
    files = _check_files(intake, sources)
    if any(place.resolve() == file.path.resolve() for file in files):
        raise ReportError(f"the batch would replace the reports in {target}; name another file")
    ids = chain.from_iterable(_ids(file.path, file.read([ID_COLUMN])) for file in files)
    try:
        repeats = _find_repeats(ids, sum(file.rows for file in files), place.parent)
        total = int(repeats.size - repeats.sum())
        batch = ShuffledBatch(intake.fingerprint, total)
        require_crowd(intake, batch)
        mixed = permute_rows(_read_all(intake, files, repeats, progress), place.parent, OsEntropy())
        with write_batch(intake, place, batch, key, utc_today()) as write:
            for group in mixed:
                write(group)
    except OSError as error:
        raise ReportError(f"cannot write {target}: {error.strerror or 'no reason given'}") from None
    return total


def shuffle_table(
    survey: Survey | Intake, reports: pa.Table, *, key: SigningKey | None = None
) -> pa.Table:
    """The same for reports in memory; errors as for `shuffle_reports`."""
    intake = Intake.of(survey)
    require_trust(intake)
    _require_reports(intake, "the table", reports.schema)
    parts = list(_check(intake, "the table", reports.select(intake.report_columns).to_batches()))
    ids = _ids("the table", reports.select([ID_COLUMN]).to_batches())
    repeats = _find_repeats(ids, reports.num_rows, Path(tempfile.gettempdir()))
    mixed = in_random_order(pa.concat_tables(parts).filter(pa.array(~repeats)), OsEntropy())
    batch = ShuffledBatch(intake.fingerprint, mixed.num_rows)
    require_crowd(intake, batch)
    if key is not None:
        digest = hashlib.sha256(pack_reports(intake, mixed)).hexdigest()
        batch = batch.sign(key, digest, utc_today())
    return mixed.cast(batch_schema(intake).with_metadata(batch_metadata(batch)))


# -- files of reports as they came in ----------------------------------------------------------


def _check_files(intake: Intake, sources: Sequence[str | Path]) -> list[ParquetContent]:
    """The files behind names of files, directories and globs.

    ReportError for a name without a report file, for a file given twice, under whatever names, and
    for one that was shuffled before; FingerprintError for another survey's.
    """
    files = list[ParquetContent]()
    seen: set[tuple[int, int]] = set()
    for path in expand(sources, SUFFIXES):
        try:
            place = path.stat()
        except OSError:
            raise describe_damage(path) from None
        if (place.st_dev, place.st_ino) in seen:
            raise ReportError(
                f"{path} is given twice; name it once: the same reports hide nobody twice"
            )
        seen.add((place.st_dev, place.st_ino))
        files.append(open_parquet(path, str(path)))
        _require_reports(intake, path, files[-1].schema)
    return files


def _require_reports(intake: Intake, path: Path | str, schema: pa.Schema) -> None:
    """ReportError unless a table has the columns of reports that were not shuffled before,
    FingerprintError unless they are of this survey; `path` is for messages."""
    metadata = schema.metadata or {}
    if BATCH_KEY.encode() in metadata:
        raise ReportError(f"{path} was shuffled before; shuffle the reports as they came in")
    for name in intake.report_columns:
        if schema.names.count(name) != 1:
            raise ReportError(f"{path}: column {name!r} is missing or appears twice")
    if schema.names.count(ID_COLUMN) != 1:
        raise refuse_without_ids(str(path))
    require_types(intake, str(path), schema)
    named = metadata.get(FINGERPRINT_KEY)
    if named is None:
        raise FingerprintError(f"{path} does not say to which survey its reports belong")
    if named != intake.fingerprint.encode():
        raise intake.refuse(path, named.decode(errors="replace"))


def _read_all(
    intake: Intake,
    files: Sequence[ParquetContent],
    repeats: Booleans,
    progress: Progress | None,
) -> Iterator[pa.Table]:
    """The reports of all files, piece by piece, without the rows that are repeats."""
    done, total = 0, sum(file.rows for file in files)
    for file in files:
        for part in _check(intake, file.path, file.read(intake.report_columns)):
            own = repeats[done : done + part.num_rows]
            done += part.num_rows
            yield part.filter(pa.array(~own))
            if progress is not None:
                progress(done, total)


def _find_repeats(ids: Iterable[Words], total: int, folder: Path) -> Booleans:
    """Which rows have the id of an earlier row, shape (total,).

    ids: of the rows in order, in pieces of shape (n, 2). Like the reports they wait in files
    without a name, spread by their first halves, which are random.
    """
    repeats, place = np.zeros(total, dtype=np.bool_), 0
    with ExitStack() as files:
        buckets = [files.enter_context(tempfile.TemporaryFile(dir=folder)) for _ in range(BUCKETS)]
        for own in ids:
            chosen = own[:, 0] % BUCKETS
            places = np.arange(place, place + len(own), dtype=np.uint64)
            rows = np.column_stack([own, places])[np.argsort(chosen, kind="stable")]
            ends = np.cumsum(np.bincount(chosen.astype(np.int64), minlength=BUCKETS))
            for bucket, some in zip(buckets, np.split(rows, ends[:-1]), strict=True):
                bucket.write(some.tobytes())
            place += len(own)
        for bucket in buckets:
            bucket.seek(0)
            rows = np.frombuffer(bucket.read(), dtype=np.uint64).reshape(-1, 3)
            rows = rows[np.lexsort(rows.T[::-1])]
            is_repeat = (rows[1:, :2] == rows[:-1, :2]).all(axis=1)
            repeats[rows[1:][is_repeat, 2]] = True
    return repeats


def _ids(path: Path | str, batches: Iterable[pa.RecordBatch]) -> Iterator[Words]:
    """The ids of a file, shape (n, 2) each; ReportError for a row without one."""
    first = 0
    for batch in batches:
        ids, _ = read_arrow(batch.column(0), ID)
        if ids.null_count:
            row = first + ids.is_null().index(True).as_py()
            raise refuse_rows(str(path), [(row, NO_ID)], "nothing was shuffled")
        words = np.frombuffer(ids.buffers()[1], dtype=np.uint64)
        yield words.reshape(-1, 2)[ids.offset : ids.offset + len(ids)]
        first += len(ids)


def _check(
    intake: Intake, path: Path | str, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.Table]:
    """The reports piece by piece; ReportError for a row that is none."""
    first = 0
    for batch in batches:
        columns = dict(zip(intake.report_columns, batch.columns, strict=True))
        checked = check_rows(intake, ReportPiece(batch.num_rows, columns, read_arrow))
        if checked.refused:
            faults = [(first + row, reason) for row, reason in checked.faults]
            raise refuse_rows(str(path), faults, "nothing was shuffled")
        yield pa.Table.from_batches([checked.reports])
        first += batch.num_rows
