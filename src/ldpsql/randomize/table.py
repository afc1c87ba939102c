"""Reports of a table of many people: a simulated fleet, whose reports come in random order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ldpsql.reports.arrow_types import ARROW_TYPES, FINGERPRINT_KEY, ID_COLUMN, arrow_types

# isort: split
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ldpsql.randomize.columns import (
    Mask,
    dimension_codes,
    measure_numbers,
    public_column,
    refuse_errors,
    round_to_levels,
)
from ldpsql.reports.permutation import random_order
from ldpsql_device.entropy import Entropy, OsEntropy, Words
from ldpsql_device.errors import RecordError
from ldpsql_device.policy import Policy
from ldpsql_device.reports import ID_BYTES
from ldpsql_device.schema import RESERVED_PREFIX, Schema
from ldpsql_device.survey import utc_today

if TYPE_CHECKING:
    from ldpsql_device.survey import Published

PART_ROWS = 1 << 18
WordsOf = Callable[[int, Mask], Words]
"""Of the words that encoding takes, those of a number, for the rows of a mask, one each."""


MISFITS = ("clamped", "outside", "missing")
"""Why a value did not fit: a measure's or a public column's was moved to a bound, a dimension's lay
outside its domain, any other was missing or could not be read."""
Misfit = tuple[str, str]
"""One of these, and a column."""


@dataclass(frozen=True)
class Tally:
    """How many people got a report, and how many of their values did not fit.

    misfits: how many values there were of a kind in a column. rows, nameless: where persons have
    several rows, how many were read, and how many of them name no person.
    """

    people: int = 0
    misfits: Counter[Misfit] = field(default_factory=Counter)
    rows: int = 0
    nameless: int = 0

    def __add__(self, other: Tally) -> Tally:
        """Both together."""
        return Tally(
            self.people + other.people,
            self.misfits + other.misfits,
            self.rows + other.rows,
            self.nameless + other.nameless,
        )


@dataclass(frozen=True)
class Encoded:
    """A batch as arrays: codes (n, d) and numbers (n, k), NaN where one is missing; public columns;
    and by kind and column the masks, shape (n,), of values that did not fit."""

    codes: NDArray[np.int64]
    numbers: NDArray[np.float64]
    public: Mapping[str, pa.Array]
    misfits: Mapping[Misfit, Mask]

    @property
    def tally(self) -> Tally:
        """How many there were of each."""
        counts = {misfit: int(mask.sum()) for misfit, mask in self.misfits.items() if mask.any()}
        return Tally(len(self.codes), Counter(counts))


def randomize(
    survey: Published, table: pa.Table, *, policy: Policy, keep_order: bool = False
) -> pa.Table:
    """One report per row of `table`, in random order, from the operating system's entropy.

    keep_order: a report's place tells whose it is; not for a collector who knows the people's.

    Every row is answered, as a device would: see `randomize_batch` for how many values did not
    fit. Raises NotAllowed for a survey that takes more than the policy allows, or may not be
    answered today, and RecordError, which names the column, if one is not there or has another
    type.
    """
    policy.require(survey)
    survey.require_open(today := utc_today())
    survey.refuse_without_ledger()
    # Of a part after another, so that the memory of one serves the next.
    starts = range(0, max(table.num_rows, 1), PART_ROWS)
    parts = (table.slice(start, PART_ROWS) for start in starts)
    drawn = (draw_part(survey, part, today) for part in parts)
    reports = pa.concat_tables(part for part, _ in drawn)
    return append_ids(reports) if keep_order else mix(reports, OsEntropy())


def draw_part(survey: Published, part: pa.Table, today: date) -> tuple[pa.Table, Tally]:
    """Reports without ids, in the order of the people, from the operating system's entropy.

    A policy has allowed the survey, which is open today.
    """
    entropy = OsEntropy()

    def words_of(_: int, rows: Mask) -> Words:
        return entropy.words(int(rows.sum()))

    return _draw_reports(survey, part, entropy, words_of, today)


def mix(reports: pa.Table, entropy: Entropy) -> pa.Table:
    """Reports without ids in random order, with ids. The first halves of these are the keys of that
    order, which tell nothing of it."""
    order, keys = random_order(reports.num_rows, entropy)
    return append_ids(reports.combine_chunks().take(pa.array(order)), keys)


def randomize_batch(
    survey: Published, batch: pa.Table, entropy: Entropy, *, policy: Policy
) -> tuple[pa.Table, Tally]:
    """Reports in the order of the people, for evaluation.

    entropy: any; `randomize` has the system's alone, and so have the ids. A seed has each person
    draw the same words whatever the others' values are.
    """
    policy.require(survey)
    shape = (batch.num_rows, survey.record_schema.words)
    words = entropy.words(shape[0] * shape[1]).reshape(shape)
    today = utc_today()
    reports, tally = _draw_reports(survey, batch, entropy, lambda n, rows: words[rows, n], today)
    return append_ids(reports), tally


def _draw_reports(
    survey: Published, batch: pa.Table, entropy: Entropy, words_of: WordsOf, today: date
) -> tuple[pa.Table, Tally]:
    """Reports without ids, in the order of the people. words_of: for `encode_table`."""
    schema, people = survey.record_schema, batch.num_rows
    encoded, everybody = encode_table(schema, batch, words_of), np.ones(people, dtype=np.bool_)
    levels = [
        round_to_levels(measure, encoded.numbers[:, i], words_of(schema.code_words + i, everybody))
        for i, measure in enumerate(schema.measures)
    ]
    reports = survey.draw(np.column_stack([encoded.codes, *levels]), entropy)
    columns = {
        RESERVED_PREFIX + name: pa.array(column)
        for name, column in zip(survey.plan.columns, reports, strict=True)
    }
    periods = {
        name: pa.repeat(pa.scalar(first, pa.date32()), people)
        for name, first in survey.period_values(today).items()
    }
    without_ids = report_schema(survey)
    without_ids = without_ids.remove(without_ids.get_field_index(ID_COLUMN))
    table = pa.table({**columns, **encoded.public, **periods}, schema=without_ids)
    return table, encoded.tally


def append_ids(reports: pa.Table, halves: Words | None = None) -> pa.Table:
    """The reports with an id each, whose first half may be given, a random word of its own."""
    people, entropy = reports.num_rows, OsEntropy()
    first = entropy.words(people) if halves is None else halves
    words = np.column_stack([first, entropy.words(people)])
    ids = pa.Array.from_buffers(pa.binary(ID_BYTES), people, [None, pa.py_buffer(words)])
    return reports.append_column(ID_COLUMN, ids)


def report_schema(survey: Published) -> pa.Schema:
    """Columns of a report table: the numbers of the report, the public columns, and a random id.

    The metadata name the survey by its fingerprint.
    """
    widths = {8: pa.uint8(), 16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}
    fields = [
        pa.field(RESERVED_PREFIX + name, widths[width])
        for name, width in zip(survey.plan.columns, survey.report_widths, strict=True)
    ]
    fields += [pa.field(column.name, ARROW_TYPES[column.type]) for column in survey.schema.public]
    fields.append(pa.field(ID_COLUMN, pa.binary(ID_BYTES)))
    return pa.schema(fields, metadata={FINGERPRINT_KEY: survey.fingerprint.encode()})


def match_columns(
    schema: Schema, names: Sequence[str], source: Path | str = "the data"
) -> dict[str, str]:
    """The column of the data for every declared one, which is called by its name or by its label.

    A column in clear is called by its name alone: that is what a policy allows, and a label that
    stands for another column would let that out. Capitals A-Z of a name count as small letters, and
    spaces around a label do not count. source: where the names are from, for the RecordError unless
    there is exactly one column.
    """
    places: dict[str, set[int]] = {}
    for place, given in enumerate(names):
        for key in {given.lower() if given.isascii() else given, given.strip()}:
            places.setdefault(key, set()).add(place)
    found = {}
    for name in arrow_types(schema):
        label = schema.labels.get(name) if name in schema.private_columns else None
        alike = places.get(name, set()) | (places.get(label, set()) if label else set())
        if len(alike) != 1:
            known = f"{name} (or {label!a:.60})" if label else name
            problem = (
                f"has more than one column {known}: leave one of them"
                if alike
                else f"has no column {known}, which the survey declares: give its column that name"
            )
            raise RecordError(f"{source} {problem}")
        [place] = alike
        found[name] = names[place]
    return found


def encode_table(schema: Schema, batch: pa.Table, words_of: WordsOf) -> Encoded:
    """A batch as its survey sees it. words_of: asked for the rows whose codes are drawn alone, for
    whoever has the table knows which these are."""
    columns = {}
    for name, given in match_columns(schema, batch.column_names).items():
        with _about(name):
            columns[name] = _whole(batch.column(given))
    n = batch.num_rows
    misfits: dict[Misfit, Mask] = {}
    codes = np.empty((n, len(schema.dimensions)), dtype=np.int64, order="F")
    for i, (dimension, (word, place)) in enumerate(
        zip(schema.dimensions, schema.draws, strict=True)
    ):
        name = dimension.name
        with _about(name):
            column = dimension_codes(dimension, columns[name], partial(words_of, word), place)
        codes[:, i] = column.values
        misfits["outside", name], misfits["missing", name] = column.outside, column.missing
    numbers = np.empty((n, len(schema.measures)), dtype=np.float64, order="F")
    for i, measure in enumerate(schema.measures):
        with _about(name := measure.name):
            column = measure_numbers(measure, columns[name])
        numbers[:, i], misfits["clamped", name] = column.values, column.outside
        missing = misfits.get(("missing", name), column.missing)  # of a dimension of that name
        misfits["missing", name] = missing | column.missing
    public: dict[str, pa.Array] = {}
    for declared in schema.public:
        with _about(declared.name):
            typed = public_column(declared, columns[declared.name])
        public[declared.name] = typed.values
        misfits["clamped", declared.name] = typed.outside
        misfits["missing", declared.name] = typed.missing
    return Encoded(codes, numbers, public, misfits)


def _about(name: str) -> AbstractContextManager[None]:
    """Where Arrow cannot convert a column, name the column instead of the value."""
    misfit = f"{name} holds values that cannot be read as what the survey declares"
    return refuse_errors(pa.ArrowException, lambda _: RecordError(misfit))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array."""
    if column.num_chunks == 1:
        return column.chunk(0)
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
