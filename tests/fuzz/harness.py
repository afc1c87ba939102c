"""Inputs that nobody meant, one after the other, and what must hold of whatever becomes of them.

A door takes inputs of one kind. An attempt draws a case, which holds the input and nothing but JSON
and bytes, and puts it to the door; it ends in a word that says how, in an error, or in a `Finding`:
something is accepted that should not be, an error is none of `ldpsql.Error` or is not one line, an
error tells what a raw value was, or it takes too long or too much memory. The same door, seed and
number make the same case. Cases that found something are kept as files, and put again by a test,
also when doors have come to draw other ones.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import resource
import signal
import sys
import traceback
import warnings
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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


Case = Mapping[str, Any]
"""An input and what has to be known to judge it, as `write_case` can write it."""
CASES = Path(__file__).with_name("cases")
_BYTES = "zlib, base85"


class Finding(AssertionError):
    """What should not be."""


@dataclass
class Outcome:
    """ends: how many attempts ended in which way.  findings: (number, what).  cases: those of the
    findings.  slowest: (processor seconds, number) of the slowest.  growth: bytes by which the
    process grew."""

    ends: Counter[str] = field(default_factory=Counter)
    findings: list[tuple[int, str]] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, -1)
    growth: int = 0

    @property
    def attempts(self) -> int:
        """How many there were."""
        return self.ends.total()


class Door(ABC):
    """Takes one kind of input.

    is_private: whether what it takes may be raw values, which no message may repeat.  seconds: of
    the processor, that a case may take.
    """

    name: str
    is_private = True
    seconds = SECONDS

    @abstractmethod
    def draw(self, chosen: random.Random) -> Case:
        """A case that nobody meant."""

    @abstractmethod
    def put(self, case: Case) -> str:
        """Put a case to the door: how it ended. Errors and findings are raised."""

    def close(self) -> None:  # noqa: B027
        """Let go of what the door holds."""


def find_faults(
    door: Door,
    count: int,
    seed: int,
    *,
    first: int = 0,
    ends: float = 1e18,
    begin: Callable[[int], None] = lambda _: None,
) -> Outcome:
    """Make attempts number first, first + 1, ... of a seed.

    ends: when to stop, of `processor_seconds`.  begin: is told each number beforehand.
    """
    outcome = Outcome()
    for number in range(first, first + count):
        if processor_seconds() > ends:
            break
        begin(number)
        try_case(door, draw_case(door, seed, number), outcome, number)
    return outcome


def draw_case(door: Door, seed: int, number: int) -> Case:
    """The case of an attempt."""
    return door.draw(random.Random(f"{door.name} {seed} {number}"))


def try_case(door: Door, case: Case, outcome: Outcome, number: int = 0) -> None:
    """Put one case, and add how it ended to an outcome."""
    before, started = _peak(), processor_seconds()
    found = list[str]()
    try:
        with _strictly():
            ending = _put(door, case)
    except Finding as finding:
        ending = "finding"
        found.append(str(finding))
    outcome.ends[ending] += 1
    took, growth = processor_seconds() - started, _peak() - before
    outcome.slowest = max(outcome.slowest, (took, number))
    if took > door.seconds:
        found.append(f"took {took:.1f} s of the processor")
    outcome.growth += growth
    if outcome.growth > MEMORY >= outcome.growth - growth:
        found.append(f"the process grew by {outcome.growth:,} bytes")
    outcome.findings += [(number, what) for what in found]
    outcome.cases += [case] * bool(found)


def processor_seconds() -> float:
    """Processor time of this process, and of those that it started and that ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def keep_case(door: Door, case: Case, folder: Path = CASES) -> Path:
    """Write a case to a file of the folder, named after the door and what it holds."""
    text = write_case(case)
    path = folder / f"{door.name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
    folder.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def kept_cases(door: Door, folder: Path = CASES) -> list[Case]:
    """The cases of a door that found something once."""
    paths = sorted(folder.glob(f"{door.name}-*.json"))
    return [read_case(path.read_text(encoding="utf-8")) for path in paths]


def write_case(case: Case) -> str:
    """A case as JSON; bytes are compressed."""

    def write(value: Any) -> Any:
        if isinstance(value, bytes):
            return {_BYTES: base64.b85encode(zlib.compress(value, 9)).decode("ascii")}
        raise TypeError(f"a case cannot hold {value!r}")

    return f"{json.dumps(case, indent=1, default=write)}\n"


def read_case(text: str) -> Case:
    """The inverse of `write_case`."""

    def read(found: dict[str, Any]) -> Any:
        if found.keys() == {_BYTES}:
            return zlib.decompress(base64.b85decode(found[_BYTES]))
        return found

    case: Case = json.loads(text, object_hook=read)
    return case


def _put(door: Door, case: Case) -> str:
    try:
        with _not_hanging(), _not_printing():
            return door.put(case)
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
