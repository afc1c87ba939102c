"""From a person's record, whatever it holds, to codes and levels.

Only declared columns of a record are read: a device may pass the whole, and whatever the survey
does not name is never looked at. Every record has a code: nothing here raises on a value, and
time and randomness are the same for values inside the domain, outside of it, missing, and of
another type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ldpsql_device.entropy import Entropy
from ldpsql_device.plan import Integers
from ldpsql_device.schema import WORDS, Schema
from ldpsql_device.values import Value

Record = Mapping[str, Any]


def encode(schema: Schema, record: Record, entropy: Entropy) -> Integers:
    """One person's codes, shape (1, d + k), from `schema.words` random words.

    A value outside its domain, or missing, gets the code that the survey says, which may be drawn
    (`Schema.draws`). A measure's level is one of those beside its value, with probabilities that
    make its expectation the value; a missing value has a code of its own, or the level of what it
    counts as. Every measure takes one word, in the order of the schema.
    """
    words = entropy.words(schema.words).tolist()
    row = []
    for dimension, (word, place) in zip(schema.dimensions, schema.draws, strict=True):
        drawn = (words[word] * place % WORDS) * dimension.declared // WORDS
        row.append(dimension.code(look_up(record, dimension.name), drawn)[0])
    for measure, level_word in zip(schema.measures, words[schema.code_words :], strict=True):
        found = measure.threshold(look_up(record, measure.name))
        row.append(measure.code(*found, level_word))
    return np.array([row], dtype=np.int64)


def public_values(schema: Schema, record: Record) -> dict[str, Value | None]:
    """The values that travel in clear, by column; None for what is missing or of another type."""
    return {column.name: column.read(look_up(record, column.name)) for column in schema.public}


def look_up(record: Record, name: str) -> Any:
    """The value of a column; None for one that is not there or cannot be had."""
    try:
        return record.get(name)
    except Exception:  # whatever a stranger's mapping does, it gives no value
        return None
