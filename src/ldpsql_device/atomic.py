"""Files that appear whole or not at all, for everything that writes results."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replace_file(target: Path, mode: int = 0o666) -> Iterator[Path]:
    """A new, empty file beside `target` that takes its place when the block ends well.

    After an error or an interruption nothing is left behind and `target` is as it was. `mode` is
    subject to the umask. A symbolic link stays one: the file that it points to is replaced. Raises
    OSError as the file system does, and for a target that exists and is not an ordinary file (a
    device, a pipe).
    """
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "not an ordinary file; name another", str(target))
    place = Path(os.path.realpath(target))
    temporary = place.with_name(f".{place.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        try:
            yield temporary
            _flush(temporary)
            temporary.replace(place)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        if str(error.filename) == str(temporary):  # errors name the file that the caller knows of
            error.filename, error.filename2 = str(target), None
        raise
    if os.name == "posix":
        _flush(place.parent)


def _flush(path: Path) -> None:
    """Have the system write a file, or a directory's entries, to the disk."""
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
