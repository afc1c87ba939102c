"""How long a statement may take and how many rows it may give, wherever it is worked on."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from ldpsql.errors import QueryError
from ldpsql_device.errors import Error

T = TypeVar("T")

SECONDS = 60.0
"""How long a statement may take where nobody says otherwise."""
MOST_ROWS = 1 << 20
"""Rows that an answer, or what it is computed from, may have."""
MOST_NUMBERS = 1 << 26
"""Numbers that the estimates of one base query may hold, half a gigabyte of them."""

_WARM, _HOPE = 64, 2.0
"""Items after which their pace is looked at, and how much faster the others may yet be."""

Late = Callable[[float], Error]
"""The error for work that took longer than so many seconds."""

Clock = Callable[[], float]
"""Seconds from any beginning, of the wall or of the processor."""

_ENDS: ContextVar[tuple[float, float, Late, Clock] | None] = ContextVar("_ENDS", default=None)
_GIVEN_UP: ContextVar[threading.Event | None] = ContextVar("_GIVEN_UP", default=None)
_STEP: ContextVar[Callable[[], None] | None] = ContextVar("_STEP", default=None)


def late_statement(seconds: float) -> Error:
    """The error for a statement that took longer."""
    hint = "ask for fewer groups, or about fewer columns at once"
    return QueryError(f"the statement took longer than {seconds:g} s", hint=hint)


@contextmanager
def deadline(
    seconds: float, late: Late = late_statement, clock: Clock = time.monotonic
) -> Iterator[None]:
    """Have `check` raise once so much time is over, and `find_remaining` tell how much is left. A
    deadline around this one that is over before holds on."""
    around = _ENDS.get()
    is_within = around is not None and around[0] - around[3]() < seconds
    token = _ENDS.set(around if is_within else (clock() + seconds, seconds, late, clock))
    try:
        yield
    finally:
        _ENDS.reset(token)


@contextmanager
def ending_with(given_up: threading.Event) -> Iterator[None]:
    """Have every deadline be over once another thread says that nobody waits for the answer."""
    token = _GIVEN_UP.set(given_up)
    try:
        yield
    finally:
        _GIVEN_UP.reset(token)


@contextmanager
def stepping(step: Callable[[], None]) -> Iterator[None]:
    """Have something called at every `check`, such as a pause in favour of others."""
    token = _STEP.set(step)
    try:
        yield
    finally:
        _STEP.reset(token)


def find_remaining() -> float:
    """Seconds that are left to this statement; infinite where there is no deadline."""
    ends, given_up = _ENDS.get(), _GIVEN_UP.get()
    if given_up is not None and given_up.is_set():
        return 0.0
    return math.inf if ends is None else max(0.0, ends[0] - ends[3]())


def check() -> None:
    """The error of the deadline if it is over; to be called wherever much is done step by step."""
    step = _STEP.get()
    if step is not None:
        step()
    if find_remaining() <= 0.0:
        raise too_late()


def in_time(items: Iterable[T]) -> Iterator[T]:
    """The items one by one, with a check before each."""
    for item in items:
        check()
        yield item


def at_pace(items: Sequence[T], what: str, hint: str) -> Iterator[T]:
    """The items one by one; QueryError as soon as the pace says that the last ones would come long
    after the deadline.  what: the items, for the message."""
    begun = 0.0
    for done, item in enumerate(items):
        check()
        left = find_remaining()
        if done == _WARM:
            begun = left
        elif done > _WARM and not done & (done - 1) and math.isfinite(left):
            needed = (begun - left) / (done - _WARM) * (len(items) - done)
            if needed > _HOPE * left:
                raise QueryError(
                    f"{len(items):,} {what} one by one would take some {needed:,.0f} s, and "
                    f"{left:.0f} s are left",
                    hint=hint,
                )
        yield item


def too_late() -> Error:
    """The error to raise where the deadline is over."""
    ends = _ENDS.get()
    return late_statement(math.inf) if ends is None else ends[2](ends[1])


def require_numbers(rows: int, sums: int) -> None:
    """QueryError where there are too many rows, or too many sums in them with their covariance."""
    if rows > MOST_ROWS:
        raise too_many_rows()
    if rows * sums * (sums + 1) > MOST_NUMBERS:
        raise QueryError(
            f"{sums} sums in each of {rows:,} rows are too many at once",
            hint="group by fewer columns, or ask for fewer aggregates",
        )


def too_many_rows() -> QueryError:
    """The error to raise where there are more rows than an answer may have."""
    hint = "group by fewer columns, join fewer rows, or add LIMIT"
    return QueryError(f"there are more than {MOST_ROWS:,} rows", hint=hint)
