"""Runs at the shuffler. Sees reports, never keeps order or identity. Many files of reports into one
batch in random order.

What leaves is the multiset of reports and nothing else: report columns alone, in a uniformly
random order drawn from the operating system's entropy, in row groups of one size, in a file whose
metadata holds the survey and how many reports there are. So the batch tells neither which file a
report came from nor when, nor how many files there were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ldpsql.shuffle.batch import BATCH_KEY, ShuffledBatch
from ldpsql.shuffler.permutation import Table, in_random_order, permuted, regrouped
from ldpsql.shuffler.spools import (
    Contents,
    Spool,
    checked,
    read,
    require_reports,
    row_type,
    spools,
)
from ldpsql.survey import Survey
from ldpsql_device.atomic import replace_file
from ldpsql_device.entropy import OsEntropy
from ldpsql_device.errors import ReportError, SurveyError
from ldpsql_device.guarantee import Shuffled
from ldpsql_device.table import METADATA_KEY

ROW_GROUP = 1 << 17
"""Rows in every row group but the last, whatever the files were like."""
Progress = Callable[[int, int | None], None]


def shuffle_reports(
    survey: Survey,
    sources: Sequence[str | Path],
    target: str | Path,
    *,
    progress: Progress | None = None,
) -> int:
    """Write the reports of Parquet files, and of directories of them, to `target` as one batch.

    Returns how many reports there are. The target appears whole or not at all. progress: called
    with the number of reports read and their total. Memory holds a bucket of about
    `permutation.CAPACITY` reports, however many there are; the rest waits in files without a name
    beside the target. Only its owner may read the target: a batch is for the collector, and what a
    killed shuffler leaves of one is smaller than was promised.

    Raises SurveyError for a survey that promises nothing of shuffled reports; ReportError for a row
    that is no report, for a copy of another file, for fewer reports than the survey was designed
    for, and for files that cannot be read or written; FingerprintError for reports of another
    survey.
    """
    place = Path(target)
    _require_trust(survey)
    found = spools(survey, sources)
    if any(place.resolve() == spool.path.resolve() for spool in found):
        raise ReportError(f"the batch would replace the reports in {target}; name another file")
    total = sum(spool.rows for spool in found)
    _require_crowd(survey, total)
    try:
        _write(survey, _parts(survey, found, total, progress), total, place)
    except OSError as error:
        raise ReportError(f"cannot write {target}: {error.strerror or 'no reason given'}") from None
    return total


def shuffle_table(survey: Survey, reports: pa.Table) -> pa.Table:
    """The same for reports in memory; errors as for `shuffle_reports`."""
    _require_trust(survey)
    require_reports(survey, "the table", reports.schema)
    _require_crowd(survey, reports.num_rows)
    parts = [checked(survey, "the table", batch, 1) for batch in reports.to_batches()]
    rows = in_random_order(np.concatenate(parts), OsEntropy())
    return _table(rows, _schema(survey, len(rows)))


def _require_trust(survey: Survey) -> Shuffled:
    if survey.shuffled is None:
        raise SurveyError(
            f'survey {survey.table} trusts no shuffler (trust = "local"): its reports can go to '
            "the collector as they are"
        )
    return survey.shuffled


def _require_crowd(survey: Survey, total: int) -> None:
    users = _require_trust(survey).users
    if total < users:
        raise ReportError(
            f"{total:,} reports are fewer than the {users:,} that survey {survey.table} was "
            "designed for; nothing was shuffled: wait for more"
        )


def _parts(
    survey: Survey, found: Sequence[Spool], total: int, progress: Progress | None
) -> Iterator[Table]:
    done, contents = 0, Contents()
    for spool in found:
        for part in contents.watched(spool, read(survey, spool)):
            yield part
            done += len(part)
            if progress is not None:
                progress(done, total)


def _write(survey: Survey, parts: Iterator[Table], total: int, target: Path) -> None:
    schema = _schema(survey, total)
    mixed = permuted(parts, total, target.parent, OsEntropy())
    with (
        replace_file(target, mode=0o600) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd") as writer,
    ):
        for group in regrouped(mixed, ROW_GROUP):
            writer.write_table(_table(group, schema), ROW_GROUP)


def _schema(survey: Survey, total: int) -> pa.Schema:
    kind = row_type(survey)
    fields = [pa.field(name, pa.from_numpy_dtype(kind[name])) for name in kind.names or ()]
    metadata = {
        METADATA_KEY: survey.to_json().encode(),
        BATCH_KEY.encode(): ShuffledBatch(survey.fingerprint, total).to_json().encode(),
    }
    return pa.schema(fields, metadata=metadata)


def _table(rows: Table, schema: pa.Schema) -> pa.Table:
    columns = [pa.array(rows[name].copy()) for name in schema.names]
    return pa.Table.from_arrays(columns, schema=schema)
