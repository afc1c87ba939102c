"""From a person's record to codes and levels.

Only declared columns are read: a device may pass its whole record, and whatever the survey does
not name is never looked at.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ldpsql_device.entropy import Entropy
from ldpsql_device.errors import RecordError
from ldpsql_device.schema import Schema
from ldpsql_device.types import Value

Record = Mapping[str, Value | None]
Codes = NDArray[np.int64]


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


def public_values(schema: Schema, record: Record) -> dict[str, Value | None]:
    """What travels in clear, by column; RecordError for a value that does not fit."""
    return {column.name: column.checked(_look_up(record, column.name)) for column in schema.public}


def _look_up(record: Record, name: str) -> Value | None:
    if name not in record:
        raise RecordError(f"the record has no column {name} (give None for a missing value)")
    return record[name]
