"""The time that a device takes: the same for values inside, outside, missing and of another type.

Words are given, so that nothing but the value differs. The kinds of values take turns in an order
that is drawn anew for every turn, so that whatever else the machine does meets all of them alike.
What a time tells is the advantage of whoever sees one and knows both distributions: by how much the
best threshold between two kinds of values is right more often for one than for the other, which is
their Kolmogorov-Smirnov distance. A device answers once, so there is one time to see.

Not even compiled code takes the same time whatever its caches and predictors met before, so the
limit is not 0: it is what the report itself tells where epsilon is 0.1, (e^0.1 - 1) / (e^0.1 + 1).
The nanosecond clock stands beside the device here; no network has one. A distance counts where all
of three runs of 20,000 calls show it beyond the limit and what chance adds (1e-6 per run and pair,
by the inequality of Dvoretzky, Kiefer and Wolfowitz for each of two samples).
"""

from __future__ import annotations

import gc
import math
import time
from datetime import date

import numpy as np
import pytest
from support.surveys import category, dimension, integer, measure, survey_toml

from ldpsql.designer import design
from ldpsql_device.encode import encode
from ldpsql_device.schema import Dimension, Measure
from ldpsql_device.survey import Survey
from ldpsql_device.values import INSIDE, MISSING, OUTSIDE, plain

CALLS, RUNS = 20_000, 3
LIMIT = math.tanh(0.1 / 2)
CHANCE = 2 * math.sqrt(math.log(4 / 1e-6) / (2 * CALLS))
MONTH = [date(2026, 1, 1), date(2026, 1, 31)]
ODD = [math.inf, math.nan, 2**70, 10**300, "y" * 10_000]
COLUMNS = {
    "int": (integer("x", 18, 90), [40, 140, None, "40", 40.0, *ODD]),
    "float": (
        dimension("x", "float", edges=[0.0, 0.5, 2.0, 7.5]),
        [1.1, 9.9, None, "1.1", 1, *ODD],
    ),
    "category": (category("x", "CA", "NY", "WA"), ["NY", "TX", None, 7, 7.5, *ODD]),
    "date": (
        dimension("x", "date", range=MONTH),
        [date(2026, 1, 9), date(2031, 1, 9), None, "2026", 5.0, *ODD],
    ),
    "measure": (measure("x", 0, 500), [123.4, 623.4, None, "123.4", -5.0, 5, *ODD]),
}


class Words:
    """Words that were drawn before."""

    def __init__(self, count: int) -> None:
        self._all = np.random.default_rng(1).integers(0, 2**64, (CALLS, count), np.uint64)
        self._row, self._place = 0, 0

    def start(self, row: int) -> None:
        self._row, self._place = row, 0

    def words(self, count: int) -> np.ndarray:
        self._place += count
        return self._all[self._row, self._place - count : self._place]


def times_of(kind: str, values: list) -> np.ndarray:
    """Nanoseconds of every call, shape (values, CALLS)."""
    column, _ = COLUMNS[kind]
    survey = Survey.from_json(design(survey_toml(column, mechanism="grr")).device_text)
    entropy = Words(survey.schema.words + survey.plan.words)
    records = [{"x": value} for value in values]
    times = np.zeros((len(values), CALLS))
    clock, random = time.perf_counter_ns, np.random.default_rng(2)
    gc.collect()
    gc.disable()
    try:
        for call in range(-100, CALLS):
            for which in random.permutation(len(values)).tolist():
                entropy.start(call)
                record = records[which]
                begun = clock()
                survey.draw(encode(survey.schema, record, entropy), entropy)
                times[which, call] = clock() - begun
    finally:
        gc.enable()
    return times


def advantages(times: np.ndarray) -> np.ndarray:
    """Of one who sees a time, between two kinds of values, of shape (values, values)."""
    seen = np.unique(times)
    shares = [np.searchsorted(np.sort(row), seen, side="right") / CALLS for row in times]
    return np.array([[np.abs(one - other).max() for other in shares] for one in shares])


def tells(kind: str, values: list) -> bool:
    """Whether times tell kinds of values apart, run after run."""
    return all(advantages(times_of(kind, values)).max() > LIMIT + CHANCE for _ in range(RUNS))


@pytest.mark.slow
@pytest.mark.parametrize("kind", COLUMNS)
def test_time_does_not_tell_where_a_value_stands(kind):
    assert not tells(kind, COLUMNS[kind][1])


def hasty_code(self, value, drawn):
    """Looks no further where nothing is to be found."""
    if value is None:
        return drawn, 2
    nearest, standing = self.domain.find(plain(value))
    return (nearest, drawn, self.declared, self.domain.size)[self.choices[standing]], standing


def hasty_threshold(self, value):
    if value is None:
        return 1 << 63, 2
    return THRESHOLD(self, value)


THRESHOLD = Measure.threshold


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["int", "measure"])
def test_control_a_device_that_stops_early_is_told_by_its_time(kind, monkeypatch):
    monkeypatch.setattr(Dimension, "code", hasty_code)
    monkeypatch.setattr(Measure, "threshold", hasty_threshold)
    assert tells(kind, COLUMNS[kind][1][:3])


def test_the_values_stand_where_they_should():
    for column, values in COLUMNS.values():
        schema = design(survey_toml(column, mechanism="grr")).schema
        standings = [
            *(d.code(value, 0)[1] for d in schema.dimensions for value in values),
            *(m.threshold(value)[1] for m in schema.measures for value in values),
        ]
        assert standings[:4] == [INSIDE, OUTSIDE, MISSING, MISSING]
