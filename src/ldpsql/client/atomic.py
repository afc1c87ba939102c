"""Runs on the device. Sees raw values. Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(target: Path, mode: int = 0o666) -> Iterator[Path]:
    """A new, empty file beside `target` that takes its place when the block ends well.

    On an error, or an interruption, nothing is left behind and `target` stays as it was.
    `mode` is subject to the umask. A link stays one: what it points to is replaced. Raises OSError
    as the file system does, and for a target that is there and is no ordinary file (a device, a
    pipe).
    """
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "it is no ordinary file; name another", str(target))
    named, target = target, Path(os.path.realpath(target))
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    with _named(temporary, named):
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        try:
            yield temporary
            _flush(temporary)
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    if os.name == "posix":
        _flush(target.parent)


@contextmanager
def _named(temporary: Path, target: Path) -> Iterator[None]:
    """Have errors name the file that the caller knows of."""
    try:
        yield
    except OSError as error:
        if str(error.filename) == str(temporary):
            error.filename, error.filename2 = str(target), None
        raise


def _flush(path: Path) -> None:
    """Have the system write a file, or a directory's entries, to the disk."""
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
