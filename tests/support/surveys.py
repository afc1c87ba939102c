"""Surveys, records and entropies for the tests of the device and of the command line."""

from __future__ import annotations

from datetime import date, datetime

import numpy as np
import pyarrow as pa

from ldpsql.designer import design
from ldpsql.survey import Survey

TOML = """
[survey]
table = "app"
epsilon = "2"
mechanism = "hgrr"

[dimension.age]
type = "int"
domain = [18, 90]

[dimension.state]
type = "category"
values = ["CA", "NY", "WA"]
nulls = "value"

[measure.spent]
bounds = [0, 500]

[public.day]
type = "date"

[public.version]
type = "text"
nulls = "value"
"""
EVERY_TYPE = """
[survey]
table = "mix"
epsilon = "1"
mechanism = "grr"

[dimension.i]
type = "int"
domain = [0, 9]
bin_width = 5
[dimension.f]
type = "float"
edges = [0, 0.5, 1]
[dimension.c]
type = "category"
values = [3, 5]
[dimension.b]
type = "bool"
[dimension.d]
type = "date"
range = [2026-01-01, 2026-01-02]
[dimension.t]
type = "timestamp"
range = [2026-01-01, 2026-01-01]
unit = "hour"
"""
SMALL = """
[survey]
table = "small"
epsilon = "1"
mechanism = "hio"

[dimension.age]
type = "int"
domain = [18, 90]
"""
SPARED = """
[survey]
table = "small"
epsilon = "2"

[dimension.age]
type = "int"
domain = [18, 90]
sensitive = [20]
[dimension.state]
type = "category"
values = ["CA", "NY", "WA"]
nulls = "value"
sensitive = {states}
"""
CLEAR = """
[survey]
table = "small"
epsilon = "1"
mechanism = "truthful"
[survey.options]
delta = 0.9

[dimension.state]
type = "category"
values = ["CA", "NY", "WA"]
nulls = "value"
"""
RECORD = {
    "age": 30,
    "state": "NY",
    "spent": 125.0,
    "day": date(2026, 1, 31),
    "version": "1.2",
    "diary": "nobody reads this",
}
MIXED_RECORD = {
    "i": 7,
    "f": 1.0,
    "c": 5,
    "b": True,
    "d": date(2026, 1, 2),
    "t": datetime(2026, 1, 1, 23, 59),
}


def app() -> Survey:
    return design(TOML)


def mix() -> Survey:
    return design(EVERY_TYPE)


def unsound() -> Survey:
    """A survey that promises nothing."""
    return design(SMALL, mechanism="lgrr-fd", accept_no_guarantee=True)


def spared(mechanism: str, states: int = 2) -> Survey:
    """A survey that fits the records and declares an age and so many states sensitive."""
    listed = ["CA", "NY", "WA"][:states]
    return design(SPARED.format(states=listed), mechanism=mechanism)


def clear() -> Survey:
    """A survey most of whose reports are the record itself."""
    return design(CLEAR)


def people(n: int, seed: int = 0) -> pa.Table:
    """n records that fit `app()`, with a column that it does not declare."""
    rng = np.random.default_rng(seed)
    states = np.array(["CA", "NY", "WA", None], dtype=object)
    return pa.table(
        {
            "diary": pa.array(["secret"] * n),
            "spent": rng.uniform(0, 500, n).round(2),
            "state": pa.array(states[rng.integers(0, 4, n)], pa.string()),
            "age": pa.array(rng.integers(18, 91, n), pa.int8()),
            "day": pa.array([date(2026, 1, 1 + i % 3) for i in range(n)]),
            "version": pa.array([None if i % 5 == 0 else "1.2" for i in range(n)], pa.string()),
        }
    )


class Seeded:
    """Predictable words, for tests only; counts what it gave."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.given = 0

    def words(self, count: int) -> np.ndarray:
        self.given += count
        return self.rng.integers(0, 2**64, size=count, dtype=np.uint64)
