"""The behaviour of a device on any record at all, seen from outside: encoding and drawing, by given
words.

The odds of a plan are those of codes. They are odds of records if every record has codes, whatever
it holds, and if nothing but these and words of its own decides on its report.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from ldpsql.audit.outside import RecordCheck
from ldpsql_device.answer import randomize_record
from ldpsql_device.description import Edges
from ldpsql_device.draw import draw
from ldpsql_device.encode import encode
from ldpsql_device.entropy import Entropy
from ldpsql_device.schema import Dimension, Measure
from ldpsql_device.survey import Published
from ldpsql_device.survey import Survey as DeviceSurvey
from ldpsql_device.values import INSIDE, MISSING, OUTSIDE, Listed, plain
from ldpsql_lab.audit.bisection import Given

ABSENT = object()
"""In place of a value: the record has no such column."""
MOST_VALUES, _TRIES = 256, 4
ODD_VALUES: tuple[Any, ...] = (
    *(ABSENT, None, math.nan, math.inf, -math.inf, 10**400, -(10**400), True, False, 0, 1.5),
    *("", "x" * 1000, "\ud800", b"x", 1j, Decimal("NaN"), [], {}, object(), int, ...),
    *(date.min, date.max, datetime.min, datetime.max, datetime(2000, 1, 1, tzinfo=UTC)),
    *(np.float32("nan"), np.int8(3), np.datetime64("NaT", "s"), np.array([1, 2])),
)
"""Values that are missing or of a wrong type for most columns, and far outside of all others."""


class _Unreadable(dict[str, Any]):
    """A record that raises an error whatever is asked of it."""

    def get(self, *_: Any) -> Any:
        raise LookupError

    __getitem__ = __contains__ = get


def check_records(survey: Published, entropy: Entropy) -> RecordCheck:
    """Answer made-up records as `respond` does, with words that are given, in place of random ones.

    In records of declared values, one column after the other takes every value that stands for a
    code (of at most MOST_VALUES codes), the values next to the domain, and ODD_VALUES. Every record
    must be answered, with all words and no others, by a report that follows from the codes and from
    words that encoding did not use.
    """
    # Read from its text, as devices do.
    device = DeviceSurvey.from_json(survey.device_text)
    schema, found = device.schema, dict.fromkeys((INSIDE, OUTSIDE, MISSING), 0)
    columns: tuple[Dimension | Measure, ...] = (*schema.dimensions, *schema.measures)
    random = np.random.default_rng(entropy.words(2))
    problems: dict[str, None] = {}

    def ordinary() -> dict[str, Any]:
        """Somebody whose values all fit."""
        values = {m.name: float(random.uniform(*m.bounds)) for m in schema.measures}
        for d in schema.dimensions:
            values[d.name] = declared_values(d)[int(random.integers(d.declared))]
        return values

    for column in columns:
        for value in (*_inside(column), *_beside(column), *ODD_VALUES):
            record = {**ordinary(), column.name: value}
            if value is ABSENT:
                del record[column.name]
            standing = _find_threshold(column, None if value is ABSENT else value)
            found[standing] += 1
            for problem in _try(device, record, entropy):
                problems[f"{column.name}, {_KINDS[standing]}: {problem}"] = None
    everything = ({c.name: value for c in columns} for value in ODD_VALUES if value is not ABSENT)
    for record in ({}, _Unreadable(ordinary()), *everything):
        for problem in _try(device, record, entropy):
            problems[f"all columns missing: {problem}"] = None
    return RecordCheck(tuple(problems), found[INSIDE], found[OUTSIDE], found[MISSING])


_KINDS = {INSIDE: "a value of its domain", OUTSIDE: "a value outside", MISSING: "missing"}


def declared_values(dimension: Dimension) -> tuple[Any, ...]:
    """A value of every declared code."""
    domain = dimension.domain
    values = domain.recorded if isinstance(domain, Listed) else Edges(domain)
    return tuple(values[: dimension.declared])


def _inside(column: Dimension | Measure) -> Iterator[Any]:
    if isinstance(column, Measure):
        yield from np.linspace(*column.bounds, 9).tolist()
    else:
        values = declared_values(column)
        yield from values[:: -(-len(values) // MOST_VALUES)]


def _beside(column: Dimension | Measure) -> Iterator[Any]:
    """Values next to the domain, where it is one of numbers or texts."""
    if isinstance(column, Measure):
        low, high = column.bounds
        yield from (math.nextafter(low, -math.inf), math.nextafter(high, math.inf))
    elif not isinstance(column.domain, Listed):
        first, last = Edges(column.domain)[0], Edges(column.domain)[-1]
        if isinstance(first, int | float) and isinstance(last, int | float):
            yield from (first - 1, last + 1)
    elif isinstance(text := column.domain.recorded[0], str):
        yield from (text + " ", text.swapcase(), "\u0430")


def _find_threshold(column: Dimension | Measure, value: Any) -> int:
    try:
        if isinstance(column, Measure):
            return column.threshold(value)[1]
        return column.domain.find(plain(value))[1]
    except Exception:  # a broken device, which will not answer either
        return MISSING


def _try(device: Published, record: Mapping[str, Any], entropy: Entropy) -> Iterator[str]:
    """Faults in how a record is answered."""
    plan, schema = device.plan, device.schema
    for words in entropy.words(_TRIES * (schema.words + plan.words)).reshape(_TRIES, -1):
        given = Given(words)
        try:
            sent = tuple(randomize_record(device, record, given))
            codes = encode(schema, record, Given(words[: schema.words]))
        except Exception as error:  # whatever it is, a device must not raise it
            yield f"the device does not answer, it raises {type(error).__name__}"
            return
        if given.left or given.is_short:
            yield "the device does not draw as many random words as its plan says"
        elif (codes < 0).any() or (codes >= schema.sizes).any():
            yield "encoding gives a code that does not exist"
        elif sent != tuple(int(c[0]) for c in draw(plan, codes, Given(words[schema.words :]))):
            yield "the report does not follow from the codes and from fresh words"
