"""Survey files built from their columns, the surveys that many tests use, and people for them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from ldpsql.designer import design
from ldpsql.survey import Survey
from ldpsql_device.policy import Policy
from ldpsql_lab.simulation import SeededEntropy


def survey_toml(
    *columns: str,
    table: str = "app",
    epsilon: str = "1",
    mechanism: str | None = None,
    options: Mapping[str, Any] | None = None,
    workload: Mapping[str, Any] | None = None,
    **more: Any,
) -> str:
    """A survey file. columns: from the functions below; more: other keys of [survey], as trust.

    >>> print(survey_toml(integer("age", 0, 9), measure("pay", 0, 10), mechanism="hio"))
    [survey]
    table = "app"
    epsilon = "1"
    mechanism = "hio"
    [dimension.age]
    type = "int"
    domain = [0, 9]
    [measure.pay]
    bounds = [0, 10]
    required = true
    <BLANKLINE>
    """
    named = {} if mechanism is None else {"mechanism": mechanism}
    head = _section("survey", {"table": table, "epsilon": epsilon, **named, **more})
    parts = [_section("survey.options", options)] if options else []
    last = [_section("workload", workload)] if workload else []
    return "".join([head, *parts, *columns, *last])


def integer(name: str, low: int, high: int, **more: Any) -> str:
    """A dimension of whole numbers, both ends included. more: bin_width, missing, sensitive."""
    return dimension(name, "int", domain=[low, high], **more)


def category(name: str, *values: Any, **more: Any) -> str:
    """A dimension of listed values."""
    return dimension(name, "category", values=list(values), **more)


def boolean(name: str, **more: Any) -> str:
    """A dimension of two values."""
    return dimension(name, "bool", **more)


def dimension(name: str, kind: str, **keys: Any) -> str:
    """A dimension of any type."""
    return _section(f"dimension.{_key(name)}", {"type": kind, **keys})


def measure(name: str, low: float, high: float, **more: Any) -> str:
    """A private number to sum and average, and its bounds. more: required = False where it may be
    missing; missing_as, by default 0 or the nearer bound."""
    keys = {"bounds": [low, high], "required": True, **more}
    if keys["required"] and not low <= 0 <= high:
        keys.setdefault("missing_as", low if low > 0 else high)
    return _section(f"measure.{_key(name)}", keys)


def public(name: str, kind: str, **more: Any) -> str:
    """A column that travels in clear."""
    return _section(f"public.{_key(name)}", {"type": kind, **more})


def _section(title: str, keys: Mapping[str, Any]) -> str:
    return "".join([f"[{title}]\n", *(f"{key} = {_toml(value)}\n" for key, value in keys.items())])


def _key(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else json.dumps(name, ensure_ascii=False)


def _toml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, date | datetime):
        return value.isoformat()
    return json.dumps(value, ensure_ascii=False)


STATE = category("state", "CA", "NY", "WA", missing="code")
TOML = survey_toml(
    integer("age", 18, 90),
    STATE,
    measure("spent", 0, 500),
    public("day", "date"),
    public("version", "text"),
    epsilon="2",
    mechanism="hgrr",
)
LABELLED = survey_toml(
    integer("age", 18, 90, label="How old are you?"),
    category("state", "CA", "NY"),
    dimension("spent", "float", domain=[0, 500], bins=5),
    measure("spent", 0, 500, label="Ausgaben"),
    public("version", "text", label="App Version"),
    label='\u00c9tude "2026"',
    mechanism="hgrr",
)
"""Labels of the table and of some columns, one of which is a dimension and a measure."""
_DAY = date(2026, 1, 1)
EVERY_TYPE = survey_toml(
    integer("i", 0, 9, bin_width=5),
    dimension("f", "float", edges=[0, 0.5, 1]),
    category("c", 3, 5),
    boolean("b"),
    dimension("d", "date", range=[_DAY, date(2026, 1, 2)]),
    dimension("t", "timestamp", range=[_DAY, _DAY], unit="hour"),
    table="mix",
    mechanism="grr",
)
SMALL = survey_toml(integer("age", 18, 90), table="small", mechanism="hio")
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


ANYTHING = Policy(
    20,
    max_delta=1,
    disclosure=True,
    no_guarantee=True,
    public={
        *("amount", "beta", "cell", "cost", "d", "day", "pay", "price", "shop", "spent", "version")
    },
)
"""Allows whatever a survey of the tests takes."""


@cache
def app() -> Survey:
    return design(TOML)


@cache
def mix() -> Survey:
    return design(EVERY_TYPE)


@cache
def unsound() -> Survey:
    """A survey that promises nothing."""
    return design(SMALL, mechanism="lgrr-fd", accept_no_guarantee=True)


@cache
def for_a_shuffler() -> Survey:
    """A survey of one attribute with two values, whose reports are shuffled."""
    trust = {"trust": "shuffle", "users": 20_000, "delta": "1e-6"}
    return design(survey_toml(boolean("member"), epsilon="0.5", mechanism="grr", **trust))


@cache
def partly_sensitive(mechanism: str, states: int = 2) -> Survey:
    """A survey that fits the records and declares an age and so many states sensitive."""
    state = category(
        "state", "CA", "NY", "WA", missing="code", sensitive=["CA", "NY", "WA"][:states]
    )
    age = integer("age", 18, 90, sensitive=[20])
    return design(survey_toml(age, state, table="small", epsilon="2"), mechanism=mechanism)


@cache
def mostly_in_clear() -> Survey:
    """A survey most of whose reports are the record itself."""
    return design(survey_toml(STATE, table="small", mechanism="truthful", options={"delta": 0.9}))


def visitors(n: int, states: Sequence[str] = ("CA", "NY"), days: int = 3) -> pa.Table:
    """n people of ten ages and two states who came on the first days of a year."""
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "age": rng.integers(0, 10, n),
            "state": np.array(states)[rng.integers(0, 2, n)],
            "day": pa.array([date(2026, 1, 1 + i % days) for i in range(n)], pa.date32()),
        }
    )


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


class CountedEntropy(SeededEntropy):
    """Counts the words that it gave."""

    def __init__(self) -> None:
        super().__init__(0)
        self.given = 0

    def words(self, count: int) -> np.ndarray:
        self.given += count
        return super().words(count)
