"""How much work a call is, without a clock: the lines of Python that it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


def lines_run(work: Callable[[], object]) -> int:
    """Lines, calls and returns; the same in every run of one version of Python."""
    with counting_lines() as so_far:
        work()
    return so_far()


@contextmanager
def counting_lines() -> Iterator[Callable[[], int]]:
    """What tells how many lines this thread has run in functions called since."""
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lambda: count
    finally:
        sys.settrace(before)
