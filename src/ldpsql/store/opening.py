"""Opening a store's file in DuckDB, and what can go wrong with it.

DuckDB makes files that everybody may read. What holds reports is for its owner alone: a new store
is made under a strict umask, its log before DuckDB makes it, and what does not fit into memory goes
into a folder that others cannot enter.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from ldpsql.reports.atomic import flush_file, lock_file
from ldpsql.sql.quoting import DUCKDB_SETTINGS
from ldpsql.sql.sandbox import is_ctrl_c
from ldpsql.store.layout import FORMAT, MARKER, MIGRATIONS, STORE_DDL
from ldpsql_device.errors import StoreError

Connection = duckdb.DuckDBPyConnection
Identity = tuple[int, int, int]

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
_MAGIC, _MAGIC_END = b"DUCK", 12  # after a checksum of eight bytes
_HEADERS = 3 * 4096
"""Bytes at the start of a file that every checkpoint changes, and that hold a random id."""
_LOGS = (".wal", ".wal.checkpoint")
_LOCKED = r"lock is held in (?P<program>.*?) \(PID (?P<pid>\d+)\)"
_OTHER_MODE, _DAMAGED = "different configuration", "Corrupt|checksum|Could not read"
_NOT_A_DATABASE = "{store} is not a DuckDB database; name another file"
# What DuckDB says, as a pattern, and what that means; named groups go into the message.
_EXPLANATIONS = (
    (
        _OTHER_MODE,
        "the store {store} is open in this process in another mode (reading or writing); close it "
        "there first",
    ),
    (
        "WAL",
        "the log {store}.wal is damaged; restore both files from a copy, or move the log away and "
        "ingest the last files again (those already stored are recognized)",
    ),
    ("not a valid DuckDB", _NOT_A_DATABASE),
    (
        _DAMAGED,
        "the store {store} is damaged; restore it from a copy, or ingest the report files into a "
        "new one",
    ),
    (r"\A(?P<line>.+)", "the store {store} cannot be used: {line}"),
)
_UMASK, _OPENING = threading.RLock(), threading.Lock()
_OPENED = dict[str, "_Opened"]()
"""The files of stores that this process has open."""


class LockedError(StoreError):
    """Another process, or this one in another mode, has the store open."""


class DamagedError(StoreError):
    """A file is not as it was written."""


_KINDS = {_OTHER_MODE: LockedError, _DAMAGED: DamagedError}


@dataclass
class _Opened:
    """A file that DuckDB has open in this process.

    descriptor: one more of it. The system takes DuckDB's lock from a process that closes any, so
    what is to be read of the file besides is read through this one, which is closed last.
    """

    descriptor: int
    times: int = 0


@cache
def _config() -> dict[str, Any]:
    """The same for all stores of a process, or DuckDB would refuse to open one twice."""
    return {**DUCKDB_SETTINGS, "temp_directory": _spill_folder()}


def _spill_folder() -> str:
    """Where all stores of a user put what does not fit into memory; "" where there is no place.

    DuckDB names its files after the process, and removes those of processes that are gone.
    """
    owner = os.getuid() if os.name == "posix" else 0
    folder = Path(tempfile.gettempdir(), f"ldpsql-{owner}")
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        is_closed = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
        if os.name != "posix" or (is_closed and found.st_uid == owner):
            return str(folder)
        return tempfile.mkdtemp(prefix="ldpsql-")  # somebody else was here first
    return ""


def connect(path: Path | None, *, read_only: bool, patience: float) -> Connection:
    """Open a store's file, or a store in memory for None; make a new one where there is none.

    A file locked by another process is tried again for `patience` seconds. Raises StoreError,
    which says what to do, for a file that is missing (read-only), locked, damaged, or no store.
    To be closed by `disconnect`.
    """
    if path is None:
        connection = open_memory()
        _make_tables(connection)
        return connection
    if read_only:
        require_file(path)
    while _is_missing(path):
        _make(path)
    connection = _open_patiently(path, read_only=read_only, patience=patience)
    try:
        with guard(path):
            _recognize(connection, path, read_only=read_only)
    except StoreError:
        disconnect(connection, path)
        raise
    return connection


def open_memory() -> Connection:
    """A database in memory, with nothing in it."""
    return duckdb.connect(":memory:", config=_config())


def disconnect(connection: Connection, path: Path | None) -> None:
    """Close what `connect` opened."""
    connection.close()
    if path is not None:
        with _OPENING:
            _let_go(os.path.realpath(path))


def require_file(path: Path, other_way: str | None = None) -> None:
    """StoreError where there is no store to read. other_way: to make one, beside `ingest`."""
    if _is_missing(path):
        ways = " or ".join(filter(None, ("`ldpsql ingest`", other_way)))
        raise StoreError(f"there is no store {path}; make one with {ways}, or name another")


def find_state(path: Path) -> str:
    """The state that every commit to a store changes: two equal ones are of equal contents.

    DuckDB adds a commit to its log, and writes a new header when it has moved the log into the
    file. The header holds a random id of the file, too, but is the same after other commits to a
    backup of it; the time of the last change is not.
    """
    place = os.path.realpath(path)
    with _OPENING, explain_failures(path):
        if place in _OPENED:
            os.lseek(_OPENED[place].descriptor, 0, os.SEEK_SET)
            headers = os.read(_OPENED[place].descriptor, _HEADERS)
        else:
            with path.open("rb") as file:
                headers = file.read(_HEADERS)
        state = [hashlib.sha256(headers).hexdigest(), str(path.stat().st_mtime_ns)]
    for log in _LOGS:
        with suppress(FileNotFoundError):
            found = Path(place + log).stat()
            if found.st_size:
                state.append(f"{log} {found.st_size} {found.st_mtime_ns}")
    return ", ".join(state)


def _is_missing(path: Path) -> bool:
    """Whether there is no file or an empty one, which holds no store either; StoreError for a pipe,
    a folder or a device."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return True
    except OSError as error:
        raise StoreError(f"the store {path} cannot be used: {error.strerror}") from None
    if not stat.S_ISREG(found.st_mode):
        raise StoreError(f"{path} is not an ordinary file; name another")
    return found.st_size == 0


def _make(path: Path) -> None:
    """Make a new store, which appears whole or not at all, unless somebody else makes it.

    Whoever makes it has locked an empty file in its place. What is killed meanwhile leaves that
    file, and an unfinished one, which the next one removes.
    """
    place = Path(os.path.realpath(path))
    with strict_umask(), explain_failures(path):
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            lock_file(descriptor, wait=True)
            if not _is_empty(place, descriptor):
                return
            try:
                with (
                    write_whole(path) as unfinished,
                    duckdb.connect(unfinished, config=_config()) as connection,
                ):
                    _make_tables(connection)
                    connection.execute("CHECKPOINT")  # closing does it too, and hides failures
            except BaseException:
                if _is_empty(place, descriptor):
                    place.unlink()
                raise
        finally:
            os.close(descriptor)


def _is_empty(place: Path, descriptor: int) -> bool:
    """Whether an open file is still the one of that name, and empty."""
    try:
        found = place.stat()
    except FileNotFoundError:
        return False
    return found.st_size == 0 and os.path.samestat(found, os.fstat(descriptor))


def remove_unfinished(unfinished: Path) -> None:
    """Remove what is left of a file that was not finished, and its log."""
    for path in (unfinished, unfinished.with_name(f"{unfinished.name}.wal")):
        path.unlink(missing_ok=True)


@contextmanager
def write_whole(target: Path) -> Iterator[Path]:
    """A file beside another one, whose place it takes when it is finished; else nothing is left of
    it."""
    place = Path(os.path.realpath(target))
    unfinished = place.with_name(f".{place.name}.new")
    with explain_failures(target), strict_umask():
        try:
            remove_unfinished(unfinished)
            yield unfinished
            flush_file(unfinished)
            unfinished.replace(place)
        except BaseException:
            remove_unfinished(unfinished)
            raise
        if os.name == "posix":
            flush_file(place.parent)


@contextmanager
def explain_failures(path: Path) -> Iterator[None]:
    """Turn what DuckDB and the system say of a file into a StoreError."""
    try:
        with guard(path):
            yield
    except OSError as error:
        raise StoreError(f"the store {path} cannot be used: {error.strerror}") from None


@contextmanager
def strict_umask() -> Iterator[None]:
    """Let files that this process makes meanwhile be for its owner alone."""
    with _UMASK:
        before = os.umask(0o077)
        try:
            yield
        finally:
            os.umask(before)


def make_log(path: Path | None) -> None:
    """Make the log that DuckDB is about to write, for those alone who may read the store."""
    if path is not None:
        log = Path(f"{os.path.realpath(path)}.wal")
        with suppress(OSError):  # it is there, or DuckDB will fail too and say why
            os.close(os.open(log, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            permit_as(path, log)


def permit_as(path: Path, made: Path) -> None:
    """Let those who may use a store, and nobody else, use a file that was made for its owner alone.

    Where another user made it and may not give it to the store's group, it stays closed to all
    groups: those of who made it may be others.
    """
    found, own = path.stat(), made.stat()
    mode = found.st_mode & 0o777
    if os.name == "posix" and (found.st_uid, found.st_gid) != (own.st_uid, own.st_gid):
        try:
            owner = found.st_uid if os.geteuid() == 0 else -1
            os.chown(made, owner, found.st_gid)
        except PermissionError:
            mode &= 0o700
    made.chmod(mode)


def _require_database(path: Path) -> None:
    """StoreError for a file of anything else.

    DuckDB would take some of them (.csv, .json, .parquet) for data to look at, and open a database
    in memory that is gone afterwards.
    """
    with suppress(OSError):  # a file that is missing or closed to us is DuckDB's to tell of
        with path.open("rb") as file:
            start = file.read(_MAGIC_END)
        if start[-len(_MAGIC) :] != _MAGIC:
            raise StoreError(_NOT_A_DATABASE.format(store=path))


def _open_patiently(path: Path, *, read_only: bool, patience: float) -> Connection:
    """Open a store's file, again and again while another process has it."""
    deadline, pause, place = time.monotonic() + patience, _FIRST_PAUSE, os.path.realpath(path)
    while True:
        try:
            with _OPENING:
                connection = _open(path, place, read_only=read_only)
            if connection is not None:
                return connection
            continue
        except duckdb.Error as error:
            match = re.search(_LOCKED, str(error))
            if match is None:
                raise explain(error, path) from None
            locked = LockedError(
                f"the store {path} is locked by process {match['pid']} ({match['program']}); wait "
                "for it to end, or close the store there"
            )
        except LockedError as error:
            locked = error
        rest = deadline - time.monotonic()
        if rest <= 0:
            raise locked from None
        time.sleep(min(pause, rest))
        pause = min(2 * pause, _LONGEST_PAUSE)


def _open(path: Path, place: str, *, read_only: bool) -> Connection | None:
    """Open a file in DuckDB; None where another one has taken its place meanwhile (see `copying`).

    place: where the path leads to.
    """
    if place not in _OPENED:
        _require_database(path)
        with explain_failures(path):
            _OPENED[place] = _Opened(os.open(place, os.O_RDONLY))
    _OPENED[place].times += 1
    try:
        connection = duckdb.connect(place, read_only=read_only, config=_config())
    except BaseException:
        _let_go(place)
        raise
    with suppress(OSError):
        if os.path.samestat(path.stat(), os.fstat(_OPENED[place].descriptor)):
            return connection
    connection.close()
    _let_go(place)
    return None


def _let_go(place: str) -> None:
    """Count one opening of a file less."""
    _OPENED[place].times -= 1
    if not _OPENED[place].times:
        os.close(_OPENED.pop(place).descriptor)


def identify(path: Path) -> Identity | None:
    """Which file a path leads to, and in which state; None for none."""
    with suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino, found.st_mtime_ns
    return None


_FOREIGN = """
    SELECT view_name FROM system.main.duckdb_views() WHERE NOT internal
    UNION ALL SELECT function_name FROM system.main.duckdb_functions() WHERE NOT internal
    """


def _recognize(connection: Connection, path: Path, *, read_only: bool) -> None:
    """Make the tables of a new store; StoreError for a database that is something else.

    A view runs what its author wrote, and reads files that whoever asks may read; so does a macro,
    which may bear the name of any function, and is looked for with none.
    """
    if connection.execute(_FOREIGN).fetchone() is not None:
        raise StoreError(
            f"{path} has a view or a macro, which no ldpsql store has; nothing of it was run. Ask "
            "whoever made it for a copy by `ldpsql db export`"
        )
    tables = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    if (MARKER,) in tables:
        formats = connection.execute(f"SELECT format FROM {MARKER}").fetchall()
        if len(formats) != 1 or formats[0][0] is None:
            raise DamagedError(f"{path} does not say of which format it is; restore a copy of it")
        if formats != [(FORMAT,)]:
            _migrate(connection, path, formats[0][0], read_only=read_only)
        return
    if tables or read_only:
        raise StoreError(f"{path} is a DuckDB database, but not an ldpsql store; name another file")
    _make_tables(connection)


def _migrate(connection: Connection, path: Path, written: int, *, read_only: bool) -> None:
    """Bring a store of an earlier format up to this one, whole or not at all; StoreError for one of
    a format that cannot be, and for one that is open for reading only."""
    if written > FORMAT:
        raise StoreError(
            f"the store {path} was written by a later version of ldpsql (format {written}, and "
            f"{FORMAT} is the last one known here); install that version"
        )
    if written not in MIGRATIONS:
        raise StoreError(
            f"the store {path} was written by an unpublished version of ldpsql (format {written}); "
            "name another file, and ingest its reports there"
        )
    if read_only:
        raise StoreError(
            f"the store {path} was written by an earlier version of ldpsql; bring it up to this "
            f"one with `ldpsql db vacuum --db {path}`"
        )
    make_log(path)
    with transaction(connection):
        for before in range(written, FORMAT):
            for statement in MIGRATIONS[before]:
                connection.execute(statement)
        connection.execute(f"UPDATE {MARKER} SET format = {FORMAT}")


def _make_tables(connection: Connection) -> None:
    with transaction(connection):
        for statement in STORE_DDL:
            connection.execute(statement)


def has_table(cursor: Connection, name: str) -> bool:
    """Whether there is a table of that name."""
    query = "SELECT 1 FROM duckdb_tables() WHERE table_name = ?"  # also of what stays attached
    return bool(cursor.execute(query, [name]).fetchall())


@contextmanager
def transaction(cursor: Connection) -> Iterator[None]:
    """All of it or nothing; an interrupt rolls back as well."""
    cursor.begin()
    try:
        yield
        cursor.commit()
    except BaseException:
        with suppress(duckdb.Error):
            cursor.rollback()
        raise


@contextmanager
def guard(path: Path | None) -> Iterator[None]:
    """Turn what DuckDB says of the store into a StoreError, and Ctrl-C into KeyboardInterrupt."""
    try:
        yield
    except duckdb.Error as error:
        raise explain(error, path) from None
    except RuntimeError as error:
        if not is_ctrl_c(error):
            raise
        raise KeyboardInterrupt from None


def explain(error: duckdb.Error, path: Path | None) -> StoreError:
    """One line on what happened to the store, and what to do about it."""
    for pattern, message in _EXPLANATIONS:
        match = re.search(pattern, str(error))
        if match:
            kind = _KINDS.get(pattern, StoreError)
            return kind(message.format(store=path or "in memory", **match.groupdict()))
    return StoreError(f"the store {path or 'in memory'} cannot be used: DuckDB gave no reason")
