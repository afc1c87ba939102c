"""Inputs that nobody meant, one after the other, and what must hold of whatever becomes of them.

A door takes inputs of one kind. An attempt draws an input and puts it to the door; it ends in a
word that says how, in an error, or in a `Finding`: something is accepted that should not be, an
error is none of `ldpsql.Error` or is not one line, an error tells what a raw value was, or it takes
too long or too much memory. The same door, seed and number make the same input.
"""

from __future__ import annotations

import random
import resource
import signal
import sys
import time
import traceback
import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ldpsql_device.errors import Error, InternalError

SECONDS = 10.0
"""Of the processor, that an input may take."""
HANGING = 60
"""Seconds after which an attempt is given up, whatever it waits for."""
MEMORY = 1 << 30
"""Bytes by which a process may grow over what it had before."""
LONGEST_MESSAGE = 2_000
RAW = "zq7secretzq7"
"""Stands for a raw value: no message may repeat it."""


class Finding(AssertionError):
    """What should not be."""


@dataclass
class Outcome:
    """ends: how many attempts ended in which way.  findings: (number, what).  slowest: (processor
    seconds, number) of the slowest.  growth: bytes by which the process grew."""

    ends: Counter[str] = field(default_factory=Counter)
    findings: list[tuple[int, str]] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, -1)
    growth: int = 0

    @property
    def attempts(self) -> int:
        """How many there were."""
        return self.ends.total()


class Door(ABC):
    """Takes one kind of input.

    is_private: whether what it takes may be raw values, which no message may repeat.
    """

    name: str
    is_private = True

    @abstractmethod
    def attempt(self, chosen: random.Random) -> str:
        """Draw an input and put it to the door: how it ended. Errors and findings are raised."""

    def close(self) -> None:  # noqa: B027
        """Let go of what the door holds."""


def find_faults(
    door: Door, count: int, seed: int, *, first: int = 0, ends: float = 1e18
) -> Outcome:
    """Make attempts number first, first + 1, ... of a seed.

    ends: when to stop, of `time.monotonic`.
    """
    outcome, before = Outcome(), _peak()
    with _strictly():
        for number in range(first, first + count):
            if time.monotonic() > ends:
                break
            started = time.process_time()
            try:
                ending = _attempt(door, random.Random(f"{door.name} {seed} {number}"))
            except Finding as finding:
                ending = "finding"
                outcome.findings.append((number, str(finding)))
            outcome.ends[ending] += 1
            took, growth = time.process_time() - started, _peak() - before
            outcome.slowest = max(outcome.slowest, (took, number))
            if took > SECONDS:
                outcome.findings.append((number, f"took {took:.1f} s of the processor"))
            if growth > MEMORY >= outcome.growth:
                outcome.findings.append((number, f"the process grew by {growth:,} bytes"))
            outcome.growth = growth
    return outcome


def _attempt(door: Door, chosen: random.Random) -> str:
    try:
        with _not_hanging(), _not_printing():
            return door.attempt(chosen)
    except Finding:
        raise
    except Error as error:
        require_error(error, is_private=door.is_private)
        return type(error).__name__
    except Exception:
        raise Finding(traceback.format_exc()) from None


def require_error(error: Error, *, is_private: bool = True) -> None:
    """Finding unless an error is one that people can be shown."""
    said = str(error)
    if isinstance(error, InternalError):
        raise Finding(f"an internal error: {said}")
    if len(said.splitlines()) != 1 or len(said) > LONGEST_MESSAGE:
        raise Finding(f"not a message of one line: {said!r:.500}")
    if is_private and RAW in "".join(traceback.format_exception(error)).lower():
        raise Finding(f"an error that tells a raw value: {said}")


@contextmanager
def _strictly() -> Iterator[None]:
    """Warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@contextmanager
def _not_hanging() -> Iterator[None]:
    def give_up(*_: object) -> None:
        raise Finding(f"took longer than {HANGING} s, at:\n{''.join(traceback.format_stack())}")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(HANGING)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _not_printing() -> Iterator[None]:
    """Finding for what Python only prints: errors in callbacks and in what is collected."""
    printed: list[object] = []
    before, sys.unraisablehook = sys.unraisablehook, lambda told: printed.append(told.exc_value)
    try:
        yield
    finally:
        sys.unraisablehook = before
        if printed:
            raise Finding(f"an error that is printed and not raised: {printed[0]!r}")


def _peak() -> int:
    """Bytes that this process had at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
