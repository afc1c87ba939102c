"""Writers of a store wait for each other, first come, first served, and say who they are.

Beside a store `people.duckdb` lies `people.duckdb.lock`. Who wants to write draws a number there
and locks the byte of that number for as long as it waits and writes; it is its turn when no lower
number is locked. The system unlocks what a process held that was killed. The file's text is the
last number that was drawn, and who wrote last. It is never removed, or two processes could hold
two files of its name.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # there is none on Windows, where writers try again and again
    fcntl = None  # type: ignore[assignment]

_TEXT, _NUMBERS = 1 << 30, (1 << 30) + 1
"""The byte that is locked while the text is written, and that of number 0, which nobody draws."""
_LENGTH, _MOST = 512, 1 << 40
_WORD = re.compile(r"[a-z][a-z-]{0,30}")


@dataclass
class Turn:
    """A number in the queue of a store, which all threads of this process share.

    place: of the store.  descriptor: of the queue's file; the system forgets the locks of a process
    that closes any descriptor of a file, so there is but one.  members: who shares it.
    """

    place: str
    descriptor: int
    number: int
    members: int = 1

    def has_come(self) -> bool:
        """Whether nobody who drew a lower number waits or writes."""
        return not _is_locked(self.descriptor, _NUMBERS, self.number)

    def say_who(self) -> None:
        """Write down that this process writes from now on."""
        writer = {
            "number": self.number,
            "process": os.getpid(),
            "command": _command(),
            "since": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}",
        }
        with suppress(OSError):
            fcntl.lockf(self.descriptor, fcntl.LOCK_EX, 1, _TEXT)
            _write(self.descriptor, _read(self.descriptor)[0], writer)
            fcntl.lockf(self.descriptor, fcntl.LOCK_UN, 1, _TEXT)

    def leave(self) -> None:
        """Let the next one have its turn, once all who share the number have left."""
        with _JOINING:
            self.members -= 1
            if not self.members:
                del _TURNS[self.place]
                os.close(self.descriptor)


_TURNS = dict[str, Turn]()
"""The numbers of this process, by the place of the store."""
_JOINING = threading.Lock()


def join(place: str) -> Turn | None:
    """Draw a number for a store, or share that of this process; None where there is no queue."""
    if fcntl is None:
        return None
    with _JOINING, suppress(OSError):
        if place in _TURNS:
            _TURNS[place].members += 1
        else:
            _TURNS[place] = _draw(place)
        return _TURNS[place]
    return None


def find_writer(place: str) -> str | None:
    """Who writes to a store, and since when; None where nobody said so."""
    if fcntl is None:
        return None
    with _JOINING, suppress(OSError):
        if place in _TURNS:
            return _describe(_TURNS[place].descriptor)
        descriptor = _open(queue_of(place), os.O_RDONLY)
        try:
            return _describe(descriptor)
        finally:
            os.close(descriptor)
    return None


if hasattr(os, "register_at_fork"):  # no lock is the child's
    os.register_at_fork(after_in_child=_TURNS.clear)


def queue_of(place: str) -> str:
    """Where the queue of a store lies."""
    return f"{place}.lock"


def _open(path: str, flags: int, mode: int = 0) -> int:
    """Open the queue's file; OSError for anything else that somebody put there, such as a link to a
    file that would be written over."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, mode)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not an ordinary file", path)
    return descriptor


def _draw(place: str) -> Turn:
    mode = Path(place).stat().st_mode & 0o666
    descriptor = _open(queue_of(place), os.O_RDWR | os.O_CREAT, mode)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX, 1, _TEXT)
        last, writer = _read(descriptor)
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _NUMBERS + last + 1)
        _write(descriptor, last + 1, writer)
        fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, _TEXT)
    except BaseException:
        os.close(descriptor)
        raise
    return Turn(place, descriptor, last + 1)


def _is_locked(descriptor: int, first: int, length: int) -> bool:
    """Whether another process has locked one of some bytes."""
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB, length, first)
    except OSError:
        return True
    fcntl.lockf(descriptor, fcntl.LOCK_UN, length, first)
    return False


def _read(descriptor: int) -> tuple[int, dict[str, Any] | None]:
    """The last number that was drawn, and who wrote last."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    with suppress(ValueError, LookupError, TypeError):  # somebody else may have written it
        found = json.loads(os.read(descriptor, _LENGTH))
        last, writer = found["last"], found["writer"]
        numbers = (last,) if writer is None else (last, writer["number"])
        if all(type(number) is int and 0 <= number < _MOST for number in numbers):
            return last, writer
    return 0, None


def _write(descriptor: int, last: int, writer: dict[str, Any] | None) -> None:
    text = json.dumps({"last": last, "writer": writer}).ljust(_LENGTH - 1) + "\n"
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, text.encode())
    os.ftruncate(descriptor, _LENGTH)


def _describe(descriptor: int) -> str | None:
    _, writer = _read(descriptor)
    if writer is None or not _is_locked(descriptor, _NUMBERS + int(writer["number"]), 1):
        return None
    return f"process {writer['process']} ({writer['command']}) since {writer['since']} UTC"


def _command() -> str:
    """What this process runs: a program and the names of its commands, and nothing else that was
    given to it."""
    program, *words = sys.argv or [""]
    path = Path(program)
    name = path.parent.name if path.name == "__main__.py" else path.name
    if name in ("", "-", "-c"):
        name = Path(sys.executable).name
    names = []
    for word in words[:2]:
        if name != "ldpsql" or not _WORD.fullmatch(word):
            break
        names.append(word)
    return " ".join([name, *names])[:100]
