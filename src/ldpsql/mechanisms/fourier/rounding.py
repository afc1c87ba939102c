"""Weights of questions as whole numbers."""

from __future__ import annotations

import numpy as np

from ldpsql.mechanisms.fourier.group import Integers, Reals

_LEAST_SHARE = 2.0**-30
"""Lighter weights are raised to this part of all: a device tells parts of 2^-32 apart."""


def round_weights(weights: Reals, bits: int) -> tuple[Integers, Integers]:
    """Mantissas below 2^bits and exponents from 0: whole weights in proportion to the given ones.

    Each is rounded to `bits` significant bits; very small ones are raised.
    """
    fractions, exponents = np.frexp(np.maximum(weights, weights.sum() * _LEAST_SHARE))
    mantissas = np.rint(fractions * (1 << bits)).astype(np.int64)
    # A fraction just below 1 is rounded up to 2^bits: half of that, and one more exponent.
    is_full = mantissas == 1 << bits
    mantissas[is_full] >>= 1
    exponents = exponents.astype(np.int64) + is_full
    return mantissas, exponents - exponents.min()
