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
from ldpsql_device.survey import Published
from ldpsql_device.values import INSIDE, Value

Record = Mapping[str, Any]


def encode(schema: Schema, record: Record, entropy: Entropy) -> Integers:
    """One person's codes and levels, shape (1, d + k), from `schema.words` random words.

    A value outside its domain, or missing, gets the code that the survey says, which may be drawn
    (`Schema.draws`). A measure's level is one of those beside its value, with probabilities that
    make its expectation the value; every measure takes one word, in the order of the schema.
    """
    words = entropy.words(schema.words).tolist()
    row = []
    for dimension, (word, place) in zip(schema.dimensions, schema.draws, strict=True):
        drawn = (words[word] * place % WORDS) * dimension.declared // WORDS
        row.append(dimension.code(_look_up(record, dimension.name), drawn)[0])
    for measure, level_word in zip(schema.measures, words[schema.code_words :], strict=True):
        row.append(measure.level(measure.threshold(_look_up(record, measure.name))[0], level_word))
    return np.array([row], dtype=np.int64)


def public_values(schema: Schema, record: Record) -> dict[str, Value | None]:
    """What travels in clear, by column; None for what is missing or of another type."""
    return {column.name: column.read(_look_up(record, column.name)) for column in schema.public}


def check(survey: Published, record: Record) -> tuple[str, ...]:
    """The columns of a record that do not fit: missing, outside their domain, of another type.

    For whoever writes an app. A device answers such a record as any other, and must not show
    anybody what this says of a person's.
    """
    schema = survey.record_schema
    found = {d.name: d.code(_look_up(record, d.name), 0)[1] == INSIDE for d in schema.dimensions}
    for measure in schema.measures:
        standing = measure.threshold(_look_up(record, measure.name))[1]
        found[measure.name] = found.get(measure.name, True) and standing == INSIDE
    found |= {column.name: column.holds(_look_up(record, column.name)) for column in schema.public}
    return tuple(name for name, fits in found.items() if not fits)


def _look_up(record: Record, name: str) -> Any:
    """The value of a column; None for one that is not there or cannot be had."""
    try:
        return record.get(name)
    except Exception:  # whatever a stranger's mapping does, it gives no value
        return None
