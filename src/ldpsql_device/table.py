"""Reports of a table of many people: a simulated fleet, whose reports come in random order."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ldpsql_device.arrow import ARROW_TYPES, FINGERPRINT_KEY, ID_COLUMN, arrow_types
from ldpsql_device.columns import (
    Misfit,
    dimension_codes,
    measure_numbers,
    public_column,
    refusing,
    round_to_levels,
)
from ldpsql_device.entropy import Entropy, OsEntropy
from ldpsql_device.errors import RecordError
from ldpsql_device.permutation import in_random_order
from ldpsql_device.policy import Policy
from ldpsql_device.respond import ID_BYTES
from ldpsql_device.schema import RESERVED_PREFIX, Schema
from ldpsql_device.survey import utc_today

if TYPE_CHECKING:
    from ldpsql_device.survey import Published


@dataclass(frozen=True)
class Tally:
    """How a randomization went.

    people: who got a report.  clamped: per measure, whose value was moved to a bound.
    skipped: whose record did not fit.
    """

    people: int = 0
    clamped: Mapping[str, int] = field(default_factory=dict)
    skipped: int = 0

    def __add__(self, other: Tally) -> Tally:
        """Both together."""
        clamped = dict(self.clamped)
        for name, count in other.clamped.items():
            clamped[name] = clamped.get(name, 0) + count
        return Tally(self.people + other.people, clamped, self.skipped + other.skipped)


@dataclass(frozen=True)
class _Encoded:
    """A batch as arrays: codes (n, d), numbers and clamped (n, k), public columns, misfits."""

    codes: NDArray[np.int64]
    numbers: NDArray[np.float64]
    clamped: NDArray[np.bool_]
    public: dict[str, pa.Array]
    misfits: list[Misfit]


def randomize(
    survey: Published, table: pa.Table, *, policy: Policy, keep_order: bool = False
) -> pa.Table:
    """One report per row of `table`, in random order, from the operating system's entropy.

    keep_order: a report's place tells whose it is; not for a collector who knows the people's.

    Raises PolicyError for a survey that takes more than the policy allows, or may not be answered
    today, and RecordError, which names the column and the rows but never a value, if any record
    does not fit; then there are no reports at all.
    """
    survey.require_open(utc_today())
    reports, _ = randomize_batch(survey, table, OsEntropy(), policy=policy)
    return reports if keep_order else in_random_order(reports, OsEntropy())


def randomize_batch(
    survey: Published,
    batch: pa.Table,
    entropy: Entropy,
    *,
    policy: Policy,
    first_row: int = 1,
    skip_invalid: bool = False,
    misfits: Sequence[Misfit] = (),
) -> tuple[pa.Table, Tally]:
    """Reports in the order of the people, for evaluation, and for parts of a file.

    entropy: any; `randomize` has the system's alone.  first_row: number of the batch's first row,
    for messages.  skip_invalid: leave people out whose record does not fit, instead of raising
    RecordError.  misfits: rows already known not to fit.
    """
    policy.require(survey)
    encoded = _encode(survey.record_schema, batch)
    rows = _find_fitting(batch, [*misfits, *encoded.misfits], first_row, skip_invalid=skip_invalid)
    codes, numbers, public = encoded.codes[rows], encoded.numbers[rows], encoded.public
    if len(codes) < batch.num_rows:
        public = {name: column.filter(pa.array(rows)) for name, column in public.items()}
    people, measures = len(codes), survey.schema.measures
    words = entropy.words(people * len(measures)).reshape(people, len(measures))
    levels = [
        round_to_levels(measure, numbers[:, i], words[:, i]) for i, measure in enumerate(measures)
    ]
    reports = survey.draw(np.column_stack([codes, *levels]), entropy)
    columns = {
        RESERVED_PREFIX + name: pa.array(column)
        for name, column in zip(survey.report_columns, reports, strict=True)
    }
    for name, first in survey.period_values(utc_today()).items():
        public[name] = pa.array([first] * people, pa.date32())
    ids = pa.py_buffer(os.urandom(ID_BYTES * people))
    named = {ID_COLUMN: pa.Array.from_buffers(pa.binary(ID_BYTES), people, [None, ids])}
    table = pa.table({**columns, **public, **named}, schema=report_schema(survey))
    names = [measure.name for measure in measures]
    clamped = dict(zip(names, encoded.clamped[rows].sum(axis=0).tolist(), strict=True))
    return table, Tally(people, clamped, batch.num_rows - people)


def fitting(
    schema: Schema,
    batch: pa.Table,
    *,
    first_row: int = 1,
    skip_invalid: bool = False,
    misfits: Sequence[Misfit] = (),
) -> pa.Table:
    """The declared columns of the people whose record fits, which `randomize_batch` would take.

    Arguments and errors as there.
    """
    require_columns(schema, batch.column_names)
    known = [*misfits, *_encode(schema, batch).misfits]
    rows = _find_fitting(batch, known, first_row, skip_invalid=skip_invalid)
    declared = batch.select(list(arrow_types(schema)))
    return declared if rows.all() else declared.filter(pa.array(rows))


def _find_fitting(
    batch: pa.Table, misfits: Sequence[Misfit], first_row: int, *, skip_invalid: bool
) -> NDArray[np.bool_]:
    """Whose record fits, shape (n,); RecordError for those who do not unless they are skipped."""
    if misfits and not skip_invalid:
        raise misfits[0].error(first_row)
    nobody = np.zeros(batch.num_rows, dtype=np.bool_)
    fits: NDArray[np.bool_] = ~np.logical_or.reduce([nobody, *(one.rows for one in misfits)])
    return fits


def report_schema(survey: Published) -> pa.Schema:
    """Columns of a report table: the numbers of the report, the public columns, and a random id.

    The metadata name the survey by its fingerprint.
    """
    widths = {8: pa.uint8(), 16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}
    fields = [
        pa.field(RESERVED_PREFIX + name, widths[width])
        for name, width in zip(survey.report_columns, survey.report_widths, strict=True)
    ]
    fields += [pa.field(column.name, ARROW_TYPES[column.type]) for column in survey.schema.public]
    fields.append(pa.field(ID_COLUMN, pa.binary(ID_BYTES)))
    return pa.schema(fields, metadata={FINGERPRINT_KEY: survey.fingerprint.encode()})


def require_columns(schema: Schema, names: Sequence[str]) -> None:
    """RecordError unless every declared column is there once, under its exact name."""
    for name in arrow_types(schema):
        if names.count(name) != 1:
            problem = "has no column" if name not in names else "has more than one column"
            raise RecordError(f"the data {problem} {name}, which the survey declares")


def _encode(schema: Schema, batch: pa.Table) -> _Encoded:
    require_columns(schema, batch.column_names)
    columns = {}
    for name in arrow_types(schema):
        with _about(name):
            columns[name] = _whole(batch.column(name))
    n, misfits = batch.num_rows, list[Misfit]()
    codes = np.empty((n, len(schema.dimensions)), dtype=np.int64, order="F")
    for i, dimension in enumerate(schema.dimensions):
        with _about(dimension.name):
            codes[:, i], misfit = dimension_codes(dimension, columns[dimension.name])
        misfits += misfit
    numbers = np.empty((n, len(schema.measures)), dtype=np.float64)
    clamped = np.empty((n, len(schema.measures)), dtype=np.bool_)
    for i, measure in enumerate(schema.measures):
        with _about(measure.name):
            values = measure_numbers(measure, columns[measure.name])
        numbers[:, i], clamped[:, i], misfit = values
        misfits += misfit
    public: dict[str, pa.Array] = {}
    for column in schema.public:
        with _about(column.name):
            public[column.name], misfit = public_column(column, columns[column.name])
        misfits += misfit
    return _Encoded(codes, numbers, clamped, public, misfits)


def _about(name: str) -> AbstractContextManager[None]:
    """Where Arrow cannot convert a column, name the column instead of the value."""
    misfit = f"{name} holds values that cannot be read as what the survey declares"
    return refusing(pa.ArrowException, lambda _: RecordError(misfit))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array."""
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
