"""Rows of tables in a uniformly random order, also where there are more than fit into memory.

First pass: every row goes to one of 2^b buckets, drawn independently and uniformly. Second pass:
the rows of each bucket are put in the order of independent 64-bit random keys, and the buckets
follow one another. The result is that of sorting all rows by independent random keys whose first b
bits are the bucket, so all orders are equally likely. Equal keys would be the only exception; keys
of a bucket are drawn again until none are equal, which given that they differ leaves all orders of
the bucket equally likely. So the permutation is exactly uniform as far as the random words are (Rao
1961, Sandelius 1962). How many words are drawn depends on nothing but the number of rows and on
earlier words.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ldpsql_device.entropy import Entropy, Words

CAPACITY = 1 << 20
"""Rows that stay in memory; where there are more, all are spread over the buckets."""
BUCKETS = 1 << 7
"""A power of two below 2^8, as a byte is drawn for each row; each is an open file."""
ROW_GROUP = 1 << 17
"""Rows in every piece but the last."""


Mix = Callable[[pa.Table, Entropy], pa.Table]


def permute_rows(
    tables: Iterable[pa.Table], folder: Path, entropy: Entropy, mix: Mix | None = None
) -> Iterator[pa.Table]:
    """The rows of tables of one schema in a uniformly random order, in pieces of `ROW_GROUP` rows.

    mix: what puts rows in memory into such an order, if not `in_random_order`; it may add columns.

    Only the last piece has fewer, so pieces tell nothing of the tables. Memory holds `CAPACITY`
    rows, or a bucket where that is more; the rest waits in files without a name in `folder`, which
    the system removes even if this process is killed. Raises OSError as the file system does.
    """
    waiting: list[pa.Table] = []
    for bucket in _buckets(tables, folder, entropy):
        rows = pa.concat_tables([*waiting, (mix or in_random_order)(bucket, entropy)])
        full = rows.num_rows - rows.num_rows % ROW_GROUP
        yield from (rows.slice(start, ROW_GROUP) for start in range(0, full, ROW_GROUP))
        waiting = [rows.slice(full)]
    yield from (rows for rows in waiting if rows.num_rows)


def in_random_order(rows: pa.Table, entropy: Entropy) -> pa.Table:
    """The rows, all in memory, in a uniformly random order."""
    order, _ = random_order(rows.num_rows, entropy)
    return rows.combine_chunks().take(pa.array(order))


def random_order(count: int, entropy: Entropy) -> tuple[NDArray[np.int64], Words]:
    """A uniformly random order of so many rows, and the keys by which they are in it: independent
    words that differ, ascending. Shape (count,) each; neither tells anything of the other."""
    while True:
        keys = entropy.words(count)
        # The rows' numbers in the place of the lowest bits: twice as fast as `argsort`.
        bits = np.uint64(count.bit_length())
        marked = keys >> bits << bits | np.arange(count, dtype=np.uint64)
        marked.sort()
        order = (marked & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.int64)
        keys = keys.take(order)
        if (keys[1:] < keys[:-1]).any():  # the lowest bits decide
            rest = np.argsort(keys, kind="stable")
            order, keys = order.take(rest), keys.take(rest)
        if (keys[1:] > keys[:-1]).all():
            return order, keys


def _buckets(tables: Iterable[pa.Table], folder: Path, entropy: Entropy) -> Iterator[pa.Table]:
    """The rows by buckets; all in one where they fit into memory."""
    rest, first, count = iter(tables), list[pa.Table](), 0
    for table in rest:
        first.append(table)
        count += table.num_rows
        if count > CAPACITY:
            break
    else:
        if first:
            yield pa.concat_tables(first)
        return
    with ExitStack() as files:
        buckets = [files.enter_context(tempfile.TemporaryFile(dir=folder)) for _ in range(BUCKETS)]
        with ExitStack() as open_streams:
            streams = [
                open_streams.enter_context(pa.ipc.new_stream(bucket, table.schema))
                for bucket in buckets
            ]
            for part in chain(first, rest):
                _scatter(part, streams, entropy)
        for bucket in buckets:
            bucket.seek(0)
            rows = pa.ipc.open_stream(bucket).read_all()
            bucket.close()
            yield rows


def _scatter(
    table: pa.Table, buckets: list[pa.ipc.RecordBatchStreamWriter], entropy: Entropy
) -> None:
    """Append every row to a bucket drawn for it alone."""
    drawn = entropy.words(-(-table.num_rows // 8)).view(np.uint8)[: table.num_rows]
    chosen = drawn % len(buckets)
    rows = table.combine_chunks().take(pa.array(np.argsort(chosen, kind="stable")))
    counts = np.bincount(chosen, minlength=len(buckets)).tolist()
    start = 0
    for bucket, count in zip(buckets, counts, strict=True):
        if count:
            bucket.write_table(rows.slice(start, count))
        start += count
