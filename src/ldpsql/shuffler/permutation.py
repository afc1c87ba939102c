"""Uniform permutations of more rows than fit into memory.

First pass: every row goes to one of 2^b buckets, drawn independently and uniformly from b random
bits. Second pass: the rows of each bucket are put in the order of independent 64-bit random keys,
and the buckets follow one another. The result is that of sorting all rows by independent random
keys whose first b bits are the bucket, so all orders are equally likely. Equal keys would be the
only exception; keys of a bucket are drawn again until none are equal, which given that they differ
leaves all orders of the bucket equally likely. So the permutation is exactly uniform as far as the
random words are (Rao 1961, Sandelius 1962). How many words are drawn depends on nothing but the
number of rows and on earlier words.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ldpsql_device.entropy import Entropy

Table = NDArray[np.void]
"""Rows as one structured array."""

CAPACITY = 1 << 19
"""Rows that a bucket is meant to hold."""
MOST_BITS = 8
_DRAW = 16


def permuted(parts: Iterable[Table], total: int, folder: Path, entropy: Entropy) -> Iterator[Table]:
    """The rows of all parts in a uniformly random order, in pieces of arbitrary size.

    parts: with `total` rows of one type together.  folder: where buckets are kept, in files without
    a name, which the system removes even if this process is killed. Raises OSError as the
    file system does.
    """
    bits = _bits(total)
    if bits == 0:
        whole = list(parts)
        if whole:
            yield in_random_order(np.concatenate(whole), entropy)
        return
    with ExitStack() as open_files:
        buckets = [
            open_files.enter_context(tempfile.TemporaryFile(dir=folder)) for _ in range(1 << bits)
        ]
        kinds = {_scatter(part, buckets, bits, entropy) for part in parts}
        (kind,) = kinds
        for bucket in buckets:
            bucket.seek(0)
            rows = np.frombuffer(bytearray(bucket.read()), dtype=kind)
            bucket.close()
            yield in_random_order(rows, entropy)


def _bits(total: int) -> int:
    """Buckets, as a power of two, for so many rows."""
    return min(max((total - 1).bit_length() - (CAPACITY - 1).bit_length(), 0), MOST_BITS)


def _scatter(
    part: Table, buckets: Sequence[IO[bytes]], bits: int, entropy: Entropy
) -> np.dtype[Any]:
    """Append every row to a bucket drawn for it alone."""
    per_word = 64 // _DRAW
    drawn = entropy.words(-(-len(part) // per_word)).view(np.uint16)[: len(part)]
    chosen = drawn >> np.uint16(_DRAW - bits)
    sorted_rows = part[np.argsort(chosen, kind="stable")]
    ends = np.cumsum(np.bincount(chosen, minlength=len(buckets)))
    for bucket, rows in zip(buckets, np.split(sorted_rows, ends[:-1]), strict=True):
        bucket.write(rows.tobytes())
    return part.dtype


def in_random_order(rows: Table, entropy: Entropy) -> Table:
    """The rows, all in memory, in a uniformly random order."""
    while True:
        keys = entropy.words(len(rows))
        order = np.argsort(keys)
        ranked = keys[order]
        if not (ranked[1:] == ranked[:-1]).any():
            return rows[order]


def regrouped(pieces: Iterable[Table], size: int) -> Iterator[Table]:
    """The same rows in the same order, in pieces of exactly `size` rows but for the last."""
    waiting: list[Table] = []
    count = 0
    for piece in pieces:
        waiting.append(piece)
        count += len(piece)
        if count < size:
            continue
        whole = np.concatenate(waiting)
        full = count - count % size
        yield from (whole[start : start + size] for start in range(0, full, size))
        waiting, count = [whole[full:]], count - full
    if count:
        yield np.concatenate(waiting)
