"""A batch on its way to a file: its reports in their order, what is said of it, and no more."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ldpsql.reports.arrow_types import FINGERPRINT_KEY
from ldpsql.reports.atomic import replace_file
from ldpsql.store.intake import Intake
from ldpsql.store.shuffled_batch import BATCH_KEY, ShuffledBatch, pack_reports
from ldpsql_device.errors import ReportError, SurveyError
from ldpsql_device.shuffled import Shuffled
from ldpsql_device.signature import SigningKey


def require_trust(intake: Intake) -> Shuffled:
    """The promise of a survey once its reports are shuffled; SurveyError where there is none."""
    if intake.shuffled is None:
        raise SurveyError(
            f'survey {intake.table} trusts no shuffler (trust = "local"): its reports can go to '
            "the collector as they are"
        )
    return intake.shuffled


def require_crowd(intake: Intake, batch: ShuffledBatch) -> None:
    """ReportError for a batch of fewer reports than its survey was designed for."""
    if batch.reports < (users := require_trust(intake).users):
        raise ReportError(
            f"{batch.reports:,} reports are fewer than the {users:,} that survey {intake.table} "
            "was designed for; nothing was shuffled: wait for more"
        )


def batch_schema(intake: Intake) -> pa.Schema:
    """The columns of a batch."""
    widths = zip(intake.report_columns, intake.format.widths, strict=True)
    return pa.schema([pa.field(name, f"uint{width}") for name, width in widths])


def batch_metadata(batch: ShuffledBatch) -> dict[str, str]:
    """What stands beside the columns: whose reports they are, and what is said of the batch."""
    return {FINGERPRINT_KEY.decode(): batch.fingerprint, BATCH_KEY: batch.to_json()}


@contextmanager
def write_batch(
    intake: Intake, path: Path, batch: ShuffledBatch, key: SigningKey | None, day: date
) -> Iterator[Callable[[pa.Table], None]]:
    """Write a batch, a row group a call; its file appears whole or not at all.

    Only its owner may read it. batch: what is said of it.  key: with which the shuffler signs
    that, if at all.  day: on which the batch was full.
    """
    schema, found = batch_schema(intake), hashlib.sha256()
    with (
        replace_file(path, mode=0o600) as temporary,
        # Arrow's own copy of the schema would hide what is said at the end.
        pq.ParquetWriter(temporary, schema, compression="zstd", store_schema=False) as writer,
    ):

        def write(rows: pa.Table) -> None:
            writer.write_table(rows.cast(schema), rows.num_rows)
            found.update(pack_reports(intake, rows))

        yield write
        said = batch if key is None else batch.sign(key, found.hexdigest(), day)
        writer.add_key_value_metadata(batch_metadata(said))
