"""The operating system's random bits, read in bulk."""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]


class Entropy(Protocol):
    """A source of random bits: `words(n)` gives n independent uniform 64-bit integers."""

    def words(self, count: int) -> Words:
        """`count` independent uniform 64-bit integers, shape (count,)."""
        ...


class OsEntropy:
    """Words from the operating system's CSPRNG.

    Nothing is kept between calls: no word is used twice, not even after a fork. There is no seed.
    """

    __slots__ = ()

    def words(self, count: int) -> Words:
        """`count` independent uniform 64-bit integers, shape (count,)."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
