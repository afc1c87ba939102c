"""Ids that a survey's reports may have: a Bloom filter in memory.

To look for a few thousand random ids among all that are remembered, DuckDB reads all of them. What
a filter has not seen is not there, so most commits look for nothing, and the others for the few ids
that it may have seen; the order of ids tells DuckDB where most of these could be. A filter follows
from the table of ids, and from nothing else; an id that is deleted, or whose commit fails, only
stays in it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql.store.layout import Layout
from ldpsql.store.opening import Connection

_BITS, _PROBES = 24, 6
"""Bits per id and how many of them it sets: a full filter takes some 12 of 100,000 ids that it has
not seen for some that it has."""
_LEAST, _CHUNK = 1 << 16, 1 << 17
_ODD = np.uint64(0x9E3779B97F4A7C15)

Hashes = NDArray[np.uint64]


def hash_ids(source: str, columns: str = "") -> str:
    """A query for the hashes of ids, by DuckDB, in a column `hashed`."""
    return f"SELECT hash({ID_COLUMN}) AS hashed{columns} FROM {source}"


class KnownIds:
    """Which ids may be among those that were added.

    room: how many more can be added; with more it would tell little, and is made anew.  version:
    of the survey, as of which none of its ids is missing here.
    """

    def __init__(self, ids: int) -> None:
        """An empty one, for so many ids and as many more."""
        capacity = max(_LEAST, 2 * ids)
        self._bits = np.zeros(_BITS * capacity // 8, dtype=np.uint8)
        self.room = capacity
        self.version = 0

    @classmethod
    def of(cls, cursor: Connection, layout: Layout) -> KnownIds:
        """Of all ids that are remembered of a survey."""
        [(count,)] = cursor.execute(f"SELECT count(*) FROM {layout.ids}").fetchall()
        known = cls(count)
        for batch in cursor.sql(hash_ids(layout.ids)).to_arrow_reader(_CHUNK):
            known.add(batch.column(0).to_numpy())
        return known

    def add(self, hashes: Hashes) -> None:
        """Add ids, by their hashes."""
        places = self._places(hashes).ravel()
        bytes_, bits = places >> np.uint64(3), places & np.uint64(7)
        for bit in range(8):  # what is set twice is set to the same, so that none is lost
            self._bits[bytes_[bits == bit]] |= np.uint8(1 << bit)
        self.room -= len(hashes)

    def find(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Which of these may have been added, shape (ids,)."""
        places = self._places(hashes)
        bits = np.left_shift(np.uint8(1), (places & np.uint64(7)).astype(np.uint8))
        found: NDArray[np.bool_] = (self._bits[places >> np.uint64(3)] & bits).all(axis=0)
        return found

    def _places(self, hashes: Hashes) -> Hashes:
        """Places of bits, shape (_PROBES, ids)."""
        probes = np.arange(_PROBES, dtype=np.uint64)[:, None]
        # From other bits than those that say where to start, or equal starts had equal steps.
        steps = (hashes * _ODD >> np.uint64(32)) | np.uint64(1)
        return (hashes + probes * steps) % np.uint64(8 * self._bits.size)
