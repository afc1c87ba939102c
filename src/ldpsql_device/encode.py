"""From a person's record to codes and levels.

Only declared columns are read: a device may pass its whole record, and whatever the survey does
not name is never looked at.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ldpsql_device.entropy import Entropy, Words
from ldpsql_device.errors import RecordError
from ldpsql_device.schema import Measure, Schema
from ldpsql_device.types import Value

Record = Mapping[str, Value | None]
Codes = NDArray[np.int64]

_CLOSE = 2.0**14


def encode(schema: Schema, record: Record, entropy: Entropy) -> Codes:
    """One person's codes and levels, shape (1, d + k).

    A measure's level is 1 (its upper bound) with the probability that makes its expectation the
    value, else 0; every measure takes one word, in the order of the schema. RecordError, which
    names the column and never shows the value, for a column that is missing or does not fit.
    """
    codes = [dimension.code(_look_up(record, dimension.name)) for dimension in schema.dimensions]
    numbers = [measure.number(_look_up(record, measure.name)) for measure in schema.measures]
    words = entropy.words(len(numbers)).tolist()
    levels = [
        int(word < measure.threshold(number))
        for measure, number, word in zip(schema.measures, numbers, words, strict=True)
    ]
    return np.array([[*codes, *levels]], dtype=np.int64)


def round_to_levels(measure: Measure, numbers: NDArray[np.float64], words: Words) -> Codes:
    """`word < measure.threshold(number)` of many people, shape (n,), for numbers within bounds.

    (number - low) / (high - low) 2^64 in floating point is off by less than 3 * 2^11 (three
    roundings of 2^-53, relative to at most 2^64), a word by at most 2^10. Only where the two are
    closer than 2^14 can the comparison be wrong; those people's are made exactly.
    """
    low, high = measure.bounds
    gaps = words.astype(np.float64) - np.ldexp((numbers - low) / (high - low), 64)
    levels = (gaps < 0).astype(np.int64)
    for row in np.flatnonzero(np.abs(gaps) <= _CLOSE):
        levels[row] = int(words[row]) < measure.threshold(float(numbers[row]))
    return levels


def public_values(schema: Schema, record: Record) -> dict[str, Value | None]:
    """What travels in clear, by column; RecordError for a value that does not fit."""
    return {column.name: column.checked(_look_up(record, column.name)) for column in schema.public}


def _look_up(record: Record, name: str) -> Value | None:
    if name not in record:
        raise RecordError(f"the record has no column {name} (give None for a missing value)")
    return record[name]
