"""Files that appear whole or not at all, for everything that writes results."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # there is none on Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def replace_file(target: Path, mode: int = 0o666) -> Iterator[Path]:
    """A new, empty file beside `target` that takes its place when the block ends well.

    After an error or an interruption nothing is left behind and `target` is as it was; what a
    process that was killed left is removed by the next one. `mode` is subject to the umask. A
    symbolic link stays one: the file that it points to is replaced. Raises OSError as the file
    system does, and for a target that exists and is not an ordinary file (a device, a pipe).
    """
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "not an ordinary file; name another", str(target))
    place = Path(os.path.realpath(target))
    _remove_leftovers(place)
    temporary, descriptor = _create(target, place, mode)
    try:
        try:
            yield temporary
            flush_file(temporary)
            temporary.replace(place)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        finally:
            if descriptor is not None:
                os.close(descriptor)
    except OSError as error:
        if str(error.filename) == str(temporary):
            error.filename, error.filename2 = str(target), None
        raise
    if os.name == "posix":
        flush_file(place.parent)


def lock_file(descriptor: int, *, wait: bool) -> bool:
    """Lock an open file for as long as it stays open; the system unlocks it for who was killed.

    False where another process has locked it (wait: then this one waits), and where there are no
    such locks.
    """
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _create(target: Path, place: Path, mode: int) -> tuple[Path, int | None]:
    """A new file beside `place`, and the descriptor that keeps it locked, where there are locks."""
    while True:
        temporary = place.with_name(f".{place.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
        try:
            descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        except OSError as error:
            error.filename = str(target)  # errors name the file that the caller knows of
            raise
        if not lock_file(descriptor, wait=True):
            os.close(descriptor)
            return temporary, None
        if temporary.exists():
            return temporary, descriptor
        os.close(descriptor)  # taken for a leftover before it was locked


def _remove_leftovers(place: Path) -> None:
    """Remove what processes that were killed left of a file: it is not locked."""
    pattern = re.compile(rf"\.{re.escape(place.name)}\.\d+\.[0-9a-f]{{8}}\.tmp")
    with suppress(OSError):
        for path in place.parent.iterdir():
            if pattern.fullmatch(path.name) and path.is_file() and not path.is_symlink():
                _remove_if_free(path)


def _remove_if_free(path: Path) -> None:
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDWR)
        try:
            if lock_file(descriptor, wait=False):
                path.unlink()
        finally:
            os.close(descriptor)


def flush_file(path: Path) -> None:
    """Have the system write a file, or a directory's entries, to the disk."""
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
