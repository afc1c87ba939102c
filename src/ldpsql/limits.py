"""How long a statement may take and how many rows it may give, wherever it is worked on."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from ldpsql.errors import QueryError

T = TypeVar("T")

MOST_ROWS = 1_000_000
"""Rows that an answer, or what it is computed from, may have."""

_ENDS: ContextVar[tuple[float, float] | None] = ContextVar("_ENDS", default=None)


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Have `check` raise once so much time is over, and `remaining` tell how much is left."""
    token = _ENDS.set((time.monotonic() + seconds, seconds))
    try:
        yield
    finally:
        _ENDS.reset(token)


def remaining() -> float:
    """Seconds that are left to this statement; infinite where there is no deadline."""
    ends = _ENDS.get()
    return math.inf if ends is None else max(0.0, ends[0] - time.monotonic())


def check() -> None:
    """QueryError if the deadline is over; to be called wherever much is done step by step."""
    if remaining() <= 0.0:
        raise too_late()


def in_time(items: Iterable[T]) -> Iterator[T]:
    """The items one by one, with a check before each."""
    for item in items:
        check()
        yield item


def too_late() -> QueryError:
    """What to raise where the deadline is over."""
    ends = _ENDS.get()
    seconds = math.inf if ends is None else ends[1]
    hint = "ask for fewer groups, or about fewer columns at once"
    return QueryError(f"the statement took longer than {seconds:g} s", hint=hint)


def too_many_rows() -> QueryError:
    """What to raise where there are more rows than an answer may have."""
    hint = "group by fewer columns, join fewer rows, or add LIMIT"
    return QueryError(f"there are more than {MOST_ROWS:,} rows", hint=hint)
