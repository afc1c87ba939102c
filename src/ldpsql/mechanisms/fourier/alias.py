"""Public. Sees parameters. Drawing a family from 32 bits in a fixed number of steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpsql.mechanisms.fourier.group import Integers


@dataclass(frozen=True, eq=False)
class Alias:
    """2^bits slots of equal probability, each shared by at most two families.

    A slot stands for 2^(32 - bits) of the 2^32 units of weight: the first `cuts` of them belong to
    the family of the slot's number, the others to `second`. Source: Walker 1977, Vose 1991, in
    whole numbers.
    """

    bits: int
    cuts: NDArray[np.uint32]
    second: Integers

    @classmethod
    def of(cls, weights: Sequence[int]) -> Alias:
        """From whole weights that sum to 2^32."""
        bits = max(len(weights) - 1, 1).bit_length()
        room = 1 << (32 - bits)
        left = [*weights, *(0 for _ in range((1 << bits) - len(weights)))]
        cuts, second = [0] * len(left), list(range(len(left)))
        small = [slot for slot, weight in enumerate(left) if weight < room]
        large = [slot for slot, weight in enumerate(left) if weight >= room]
        while small:
            slot, donor = small.pop(), large[-1]
            cuts[slot], second[slot] = left[slot], donor
            left[donor] -= room - left[slot]
            if left[donor] < room:
                small.append(large.pop())
        return cls(
            bits,
            np.array([min(cut, room - 1) for cut in cuts], dtype=np.uint32),
            np.array(second),
        )

    def chances(self, families: int) -> list[int]:
        """Units of weight that lead to each family."""
        room = 1 << (32 - self.bits)
        found = [0] * families
        for slot, (cut, second) in enumerate(zip(self.cuts, self.second, strict=True)):
            if cut:
                found[slot] += int(cut)
            if room - cut:
                found[int(second)] += room - int(cut)
        return found
