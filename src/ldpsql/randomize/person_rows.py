"""Tables in which a person has several rows: one row of each, drawn evenly or by a rule.

A person's report is drawn from one row, which is drawn first. Whatever rows two persons have, no
report is more than e^epsilon times likelier of one than of the other: it is a mean over rows of
what single rows give. The column that tells persons apart is read here, and goes no further.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ldpsql.randomize.columns import Integers, Reals, read_reals, refuse_errors
from ldpsql.reports.persons import ORDER, PERSON, PersonRule
from ldpsql_device.entropy import Entropy, Words
from ldpsql_device.errors import RecordError
from ldpsql_device.schema import RESERVED_PREFIX

MOST_PERSONS = 1 << 20
"""Persons who are in memory at a time; more take more passes over the file."""
_KEY, _HASH = f"{RESERVED_PREFIX}key", f"{RESERVED_PREFIX}hash"
_HASHES = 1 << 64
_BYTES = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
_NO_PERSON = "the column that tells persons apart holds neither numbers nor texts"
_NO_ORDER = "the column by which rows are ordered holds nothing that has an order"


@dataclass
class RowsRead:
    """How many rows there were, and how many of them name no person: these are one person's."""

    rows: int = 0
    nameless: int = 0


def one_row_each(
    read: Callable[[], Iterable[pa.Table]],
    rule: PersonRule,
    entropy: Entropy,
    counted: RowsRead | None = None,
    most: int = MOST_PERSONS,
) -> Iterator[pa.Table]:
    """The rows of tables reduced to one per person, without the columns of the rule.

    read: gives the tables anew, with the columns `PERSON` and `ORDER`.  counted: is told what was
    read.  Memory holds about 2 `most` rows and a table. Where there are more persons, one pass over
    the tables takes those whose hashes are in a range that holds at most so many, and the next pass
    goes on above it.
    """
    low, width = 0, _HASHES
    while low < _HASHES:
        high, kept, waiting = min(_HASHES, low + width), list[pa.Table](), list[pa.Table]()
        for table in read():
            if low == 0 and counted is not None:
                counted.rows += table.num_rows
                counted.nameless += table.column(PERSON).null_count
            waiting.append(_within(_prepare(table, rule, entropy), low, high))
            # As many new rows as kept ones make every row be sorted a few times only.
            if sum(each.num_rows for each in waiting) >= most:
                kept, waiting = [_reduce([*kept, *waiting], rule)], []
                while kept[0].num_rows > most and high - low > 1:
                    width = (high - low) // 2
                    high = low + width
                    kept = [_within(kept[0], low, high)]
        if kept or waiting:
            yield _reduce([*kept, *waiting], rule).drop_columns([*rule.columns, _KEY, _HASH])
        low = high


def candidate_rows(table: pa.Table, rule: PersonRule) -> tuple[pa.Table, Integers]:
    """The rows any of which may be drawn for their person, who are numbered from 0, shape (n,).

    In all of them a measure that is reduced is so already.
    """
    persons = _number_persons(table.column(PERSON))
    for names, reduce in ((rule.sums, _sum_over), (rule.maxima, _largest_over)):
        for name in names:
            place = table.column_names.index(name)
            values = reduce(read_reals(name, table.column(name).combine_chunks()), persons)[persons]
            table = table.set_column(place, name, pa.array(values, from_pandas=True))
    if rule.last_by is None:
        return table, persons
    ranks = _ranks(table.column(ORDER))
    last = np.zeros(persons.max(initial=-1) + 1, dtype=np.int64)
    np.maximum.at(last, persons, ranks)
    is_last = ranks == last[persons]
    return table.filter(pa.array(is_last)), persons[is_last]


def draw_rows(persons: Integers, keys: Words) -> Integers:
    """Places of one row of each person, ascending by the persons' numbers.

    keys: independent words, one per row; the largest of a person's draws, evenly as far as no two
    are equal (of a thousand rows some are with probability 3e-14).
    """
    order: Integers = np.lexsort((keys, persons))
    ordered = persons[order]
    is_largest = np.ones(order.size, dtype=np.bool_)
    is_largest[:-1] = ordered[1:] != ordered[:-1]
    chosen: Integers = order[is_largest]
    return chosen


def _prepare(table: pa.Table, rule: PersonRule, entropy: Entropy) -> pa.Table:
    """The rows with a hash of their person, and a key by which one of them is drawn."""
    named = _name_persons(table.column(PERSON))
    coded = named.dictionary_encode(null_encoding="encode")
    # Python's hash of a text differs from process to process, and nothing here depends on it.
    hashes = np.array([hash(name) % _HASHES for name in coded.dictionary.to_pylist()], np.uint64)
    columns = {
        PERSON: named,
        _HASH: pa.array(hashes[coded.indices.to_numpy()]),
        _KEY: pa.array(entropy.words(table.num_rows)),
    }
    for name in (*rule.sums, *rule.maxima):
        columns[name] = pa.array(read_reals(name, table.column(name).combine_chunks()))
    kept = [name for name in table.column_names if name not in columns]
    return pa.table({**{name: table.column(name) for name in kept}, **columns})


def _reduce(tables: Sequence[pa.Table], rule: PersonRule) -> pa.Table:
    """One row of each person."""
    rows = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
    rows, persons = candidate_rows(rows, rule)
    return rows.take(pa.array(draw_rows(persons, rows.column(_KEY).to_numpy())))


def _within(table: pa.Table, low: int, high: int) -> pa.Table:
    """The rows whose hash is at least `low` and below `high`."""
    if (low, high) == (0, _HASHES):
        return table
    hashes = table.column(_HASH).to_numpy()
    return table.filter(pa.array((hashes >= low) & (hashes <= high - 1)))


def _name_persons(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """The names that tell persons apart, as texts or bytes; NULL is one person, and so is NaN."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(whole.type):
        whole = whole.dictionary_decode()
    if any(is_bytes(whole.type) for is_bytes in _BYTES):
        return whole.cast(pa.large_binary())
    with refuse_errors(pa.ArrowException, lambda _: RecordError(_NO_PERSON)):
        return whole.cast(pa.large_string())


def _number_persons(column: pa.ChunkedArray | pa.Array) -> Integers:
    """Every row's person as a number, in the order in which they appear, shape (n,)."""
    coded = _name_persons(column).dictionary_encode(null_encoding="encode")
    numbers: Integers = coded.indices.to_numpy().astype(np.int64)
    return numbers


def _sum_over(values: Reals, persons: Integers) -> Reals:
    """Sums of persons' values; NaN where all are missing."""
    known = ~np.isnan(values)
    sums = np.bincount(persons, np.where(known, values, 0.0))
    return np.where(np.bincount(persons, known) > 0, sums, np.nan)


def _largest_over(values: Reals, persons: Integers) -> Reals:
    """Largest of persons' values; NaN where all are missing."""
    largest = np.full(persons.max(initial=-1) + 1, np.nan)
    np.fmax.at(largest, persons, values)
    return largest


def _ranks(column: pa.ChunkedArray) -> Integers:
    """Places of values in their order from 1, equal ones together; 0 for missing ones."""
    whole = column.combine_chunks()
    with refuse_errors((pa.ArrowException, TypeError), lambda _: RecordError(_NO_ORDER)):
        ranks: Integers = pc.rank(whole, tiebreaker="dense").to_numpy().astype(np.int64)
    ranks[pc.is_null(whole, nan_is_null=True).to_numpy(zero_copy_only=False)] = 0
    return ranks
