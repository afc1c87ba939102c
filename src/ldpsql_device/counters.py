"""Counts of a program's events, in one SQLite file on the device, by day.

Events are counted in memory and written once a second, by a thread that alone writes. So an event
costs microseconds, no signal interrupts a write, and a process that ends waits for one write. The
file is in SQLite's WAL mode: a process may be killed at any moment, several write at once, and none
waits for the disk; a loss of power may cost the latest writes, and nothing else.

Nothing leaves the device from here, and nothing of this loads numpy: `ldpsql_device.events` answers
surveys. docs/format.md says what is counted, and what becomes of it.
"""

from __future__ import annotations

import atexit
import json
import os
import sqlite3
import sys
import time
from contextlib import closing, contextmanager, suppress
from threading import Condition, RLock, Thread

from ldpsql_device.errors import InterfaceError, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:  # what `typing` takes to load is a fifth of what this may
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    Entry = dict[str, Any]
    """What was counted under one name on one day, of which what is missing did not happen: `count`,
    a whole number; `last`, the value that was set last; `largest`, the largest number that was set
    or timed; `times`, how many timings fell into each bin, by its number as a text."""
    Counted = dict[str, dict[str, Any]]
    """What was counted on one day: `names`, an entry by name; `before`, the last values by name."""
    State = dict[str, Any]
    """Days, counted from 1970-01-01 on: `born`, the first one of the file; `closed`, the first one
    after the last period that was answered; by author and table `answered`, the first one of the
    latest period of which a collector has the report; by table `next`, the first one on which there
    may be something to do."""

FORMAT = 1
MOST_NAMES = MOST_DAYS = 64
"""Names that are counted on one day, and days with events that are kept: of a month that has ended,
and of the running one."""
LONGEST_TEXT, LARGEST = 200, 1 << 53
LONGEST_TIME = (1 << 36) - 1
"""Microseconds: 19 hours, which longer timings count as."""
DAY = 86_400

_SECONDS, _PATIENCE, _PATIENCE_AT_EXIT, _WAL_PAGES = 1.0, 30.0, 0.25, 256
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS state (content TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS days (day INTEGER PRIMARY KEY, content TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS surveys (fingerprint TEXT PRIMARY KEY, words TEXT NOT NULL)",
)


def bin_of(microseconds: int) -> int:
    """The number of a duration's bin: below 16 microseconds each whole one has its own, and from
    there on every power of two has 8 of one width."""
    shift = max(microseconds.bit_length() - 4, 0)
    return 8 * shift + (microseconds >> shift)


def middle_of(number: int) -> float:
    """The middle of a bin, in milliseconds."""
    shift = max(number // 8 - 1, 0)
    return ((2 * (number - 8 * shift) + 1) << shift) / 2000


MOST_BINS = bin_of(LONGEST_TIME) + 1


def merge(entry: Entry, later: Entry) -> Entry:
    """Add what was counted later to an entry, which is returned."""
    if "count" in later:
        entry["count"] = min(entry.get("count", 0) + later["count"], LARGEST)
    if "last" in later:
        entry["last"] = later["last"]
    if "largest" in later:
        entry["largest"] = max(entry.get("largest", later["largest"]), later["largest"])
    for place, count in later.get("times", {}).items():
        times = entry.setdefault("times", {})
        times[place] = min(times.get(place, 0) + count, LARGEST)
    return entry


class Counters:
    """The counters of one program, in a file that only its owner can read (mode 0600).

    Any number of threads and processes may count into one file. Once `flush` has returned, all that
    was counted before is in the file. No kill of a process loses it or has it counted twice; a loss
    of power may lose it. Other events are written within a second, and as the process ends by
    itself; one that is killed loses them. dropped: how many names had no place (`MOST_NAMES`).
    """

    def __init__(
        self, path: str | os.PathLike[str], *, clock: Callable[[], float] = time.time
    ) -> None:
        """path: of the file, which is made with the first write.  clock: seconds since 1970."""
        # Two names of one file must be one file, with one journal beside it.
        self.path, self.clock = os.path.realpath(path), clock
        self._forget()

    def _forget(self) -> None:
        """Have nothing in memory, as a process that was forked: its parent writes it."""
        self._pending: dict[tuple[int, str], Entry] = {}
        self.dropped = self._asked = self._done = 0
        self._problem: Exception | None = None

    def add(self, name: str, count: int = 1) -> None:
        """Count an event, or several."""
        if type(count) is not int or count < 0:
            raise InterfaceError("count is a whole number, at least 0")
        self._count(name, {"count": count})

    def set(self, name: str, value: Any) -> None:
        """Say what is so now: a text, a number up to 2^53, a truth value; others are missing."""
        is_number = isinstance(value, int | float) and abs(value) <= LARGEST
        kept = value[:LONGEST_TEXT] if isinstance(value, str) else value if is_number else None
        is_large = is_number and not isinstance(value, bool)
        self._count(name, {"last": kept, "largest": kept} if is_large else {"last": kept})

    @contextmanager
    def time(self, name: str) -> Iterator[None]:
        """Time a block, `with counters.time("request"): ...`, and count it."""
        start = time.perf_counter_ns()
        try:
            yield
        finally:
            self.observe(name, (time.perf_counter_ns() - start) / 1e6)

    def observe(self, name: str, milliseconds: float) -> None:
        """Count something that took so long; NaN counts as 0."""
        microseconds = int(min(max(0, milliseconds * 1000), LONGEST_TIME))
        place = str(bin_of(microseconds))
        self._count(name, {"count": 1, "largest": microseconds / 1000, "times": {place: 1}})

    def seen(self, name: str) -> None:
        """Say that something was there or was used."""
        self._count(name, {"count": 0})

    def _count(self, name: str, event: Entry) -> None:
        key = (max(int(self.clock() // DAY), 0), name)
        with _CHANGED:
            if (known := self._pending.get(key)) is not None:
                merge(known, event)
            elif not _is_name(name):
                raise InterfaceError(
                    f"{name!a:.60} is not a name for events: write at most 63 of a-z, 0-9 and _, "
                    "no digit first"
                )
            elif len(self._pending) >= 2 * MOST_NAMES:
                self.dropped += 1
            else:
                self._pending[key] = event
                _ALL.add(self)
                _wake()

    def flush(self) -> None:
        """Write everything that was counted before. StoreError where the file cannot be written:
        what was counted is kept in memory then, and tried again."""
        self._ask(_PATIENCE)
        if self._problem is not None:
            raise self._explain(self._problem) from None

    def _ask(self, patience: float) -> None:
        """Have everything written, and wait for that."""
        with _CHANGED:
            if self in _ALL:
                self._asked = mine = self._asked + 1
                _wake()
                if not _CHANGED.wait_for(lambda: self._done >= mine, patience):
                    self._problem = TimeoutError("another process uses it")

    def close(self) -> None:
        """Write everything, and let go of the file. An event that comes later opens it again."""
        self.flush()
        with _FILES, _CHANGED:
            if not self._pending:
                _ALL.discard(self)
            if self.path in _KEPT:
                _KEPT.pop(self.path).close()

    def _write(self) -> None:
        """Write what is in memory; called by the thread that writes."""
        with _CHANGED:
            asked, pending, self._pending = self._asked, self._pending, {}
        problem, dropped = None, 0
        try:
            if pending:
                with _FILES, _transaction(_open_kept(self.path)) as database:
                    dropped = _add(database, pending, int(self.clock() // DAY))
        except Exception as error:  # of the system, or whatever is wrong with the file
            problem = error
        with _CHANGED:
            if problem is not None:
                for key, later in self._pending.items():
                    pending[key] = merge(pending.get(key, {}), later)
                self._pending = pending
            self.dropped += dropped
            self._problem, self._done = problem, asked
            _CHANGED.notify_all()

    @contextmanager
    def open(self) -> Iterator[tuple[sqlite3.Connection, State]]:
        """The file, with everything that was counted, in a transaction, and its state, which is
        kept at the end. StoreError where it cannot be read or written."""
        self.flush()
        try:
            with _FILES, closing(_open(self.path)) as database, _transaction(database):
                state = _read_state(database, int(self.clock() // DAY))
                yield database, state
                database.execute("UPDATE state SET content = ?", (json.dumps(state),))
        except (sqlite3.Error, OSError) as error:
            raise self._explain(error) from None

    def read(self, names: Iterable[str], days: range, *, closes: bool) -> dict[str, list[Entry]]:
        """What was counted under some names on each of the days, empty where nothing was; and then
        an entry with the value that was set last, on them or before.

        closes: whether the days are over: what comes later, of a process that slept, is counted on
        the day on which it is written. It takes as many steps whatever was counted.
        """
        with self.open() as (database, state):
            if closes:
                state["closed"] = days.stop
            chosen = "SELECT day, content FROM days WHERE day < ? ORDER BY day DESC LIMIT ?"
            rows = dict(database.execute(chosen, (days.stop, len(days))).fetchall())
            latest = _load(rows[max(rows)] if rows else _NOTHING, _is_day)
            counted = [_load(rows.get(day, _NOTHING), _is_day)["names"] for day in days]
            found: dict[str, list[Entry]] = {}
            for name in sorted(set(names)):
                found[name] = [entries.get(name, {}) for entries in counted]
                last = latest["names"].get(name, {})
                if not all(map(_is_entry, [*found[name], last])):
                    raise _describe_damage()
                last = last.get("last", latest["before"].get(name))
                found[name].append({"last": last})
        return found

    def words(self) -> dict[str, str]:
        """By fingerprint, in plain words, the surveys that were answered latest."""
        with self.open() as (database, _):
            return dict(database.execute("SELECT fingerprint, words FROM surveys").fetchall())

    def _explain(self, error: Exception) -> StoreError:
        said = getattr(error, "strerror", None) or error
        return StoreError(f"cannot use the counters {self.path} ({said}); nothing was sent")


_NOTHING = '{"names": {}, "before": {}}'
_ALL: set[Counters] = set()
_CHANGED = Condition()  # whose lock its owner may take again, as the handler of a signal does
_FILES = RLock()
"""Held while a file is used: a fork copies what SQLite knows of its locks, and not the locks."""
_KEPT: dict[str, sqlite3.Connection] = {}
"""The connections of the thread that writes, by path."""
_THREADS: list[Thread] = []


def _is_name(text: object) -> bool:
    """Whether events can be counted under a text."""
    if type(text) is not str or not text.isascii() or len(text) > 63:
        return False
    return text.isidentifier() and text == text.lower()


def _wake() -> None:
    """Tell the thread that writes that there is something for it, and start it with the first."""
    if not _THREADS:
        thread = Thread(target=_keep_writing, name="ldpsql-counters", daemon=True)
        with suppress(RuntimeError):  # no thread starts any more as the process ends
            thread.start()
            _THREADS.append(thread)
            # Its processes end without `atexit` where they were forked.
            if (util := sys.modules.get("multiprocessing.util")) is not None:
                util.Finalize(None, _end, exitpriority=0)
    _CHANGED.notify_all()


def _keep_writing() -> None:
    """Write once a second where there is something to write, and at once where that is asked."""
    # As the process ends, nothing closes what this still holds: that would wait for the disk, and
    # to SQLite the process is one that was killed.
    held = _KEPT  # noqa: F841
    while True:
        with _CHANGED:
            _CHANGED.wait_for(lambda: any(c._pending or c._asked > c._done for c in _ALL))
            _CHANGED.wait_for(lambda: any(c._asked > c._done for c in _ALL), _SECONDS)
            due = [*_ALL]
        for counters in due:
            counters._write()


def _end() -> None:
    for counters in [*_ALL]:
        counters._ask(_PATIENCE_AT_EXIT)


def _before_fork() -> None:
    _FILES.acquire()
    while _KEPT:
        _KEPT.popitem()[1].close()


def _begin_child() -> None:
    global _CHANGED, _FILES  # which threads may hold that are not here
    _CHANGED, _FILES = Condition(), RLock()
    _THREADS.clear()
    for counters in _ALL:
        counters._forget()


def _after_fork() -> None:
    _FILES.release()


atexit.register(_end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_begin_child
    )


def _open(path: str) -> sqlite3.Connection:
    """A connection to a file of counters, which is made if there is none."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    database = sqlite3.connect(
        path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
    )
    try:
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute(f"PRAGMA wal_autocheckpoint = {_WAL_PAGES}")
        _make(database)
    except BaseException:
        database.close()
        raise
    return database


def _make(database: sqlite3.Connection) -> None:
    """Make the tables, where there are none. SQLite waits for others but for the first moments of a
    file, and for those after a process was killed in them."""
    last = time.monotonic() + _PATIENCE
    while True:
        try:
            if not database.execute("SELECT 1 FROM sqlite_schema").fetchone():
                database.execute("PRAGMA journal_mode = WAL")
                with _transaction(database):
                    for statement in _SCHEMA:
                        database.execute(statement)
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > last:
                raise
            time.sleep(0.002)


def _open_kept(path: str) -> sqlite3.Connection:
    if path not in _KEPT:
        _KEPT[path] = _open(path)
    return _KEPT[path]


@contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """A transaction beside which no other process writes; what is raised inside undoes it."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield database
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def _read_state(database: sqlite3.Connection, today: int) -> State:
    """The state of a file, which begins today if it has none."""
    found = database.execute("SELECT content FROM state").fetchone()
    if found is None:
        new = {"format": FORMAT, "born": today, "closed": 0, "answered": {}, "next": {}}
        database.execute("INSERT INTO state VALUES (?)", (json.dumps(new),))
        return new
    state: State = _load(found[0], _is_state)
    state["born"] = min(state["born"], today)
    return state


def _add(database: sqlite3.Connection, pending: dict[tuple[int, str], Entry], today: int) -> int:
    """Add what was counted to a file; how many names had no place."""
    closed, dropped = _read_state(database, today)["closed"], 0
    # A clock that was ahead has closed nothing.
    by_day = [(today if day < closed <= today else day, name) for day, name in pending]
    for day in sorted({day for day, _ in by_day}):
        content = _read_day(database, day)
        names = content["names"]
        for (counted, name), later in zip(by_day, pending.values(), strict=True):
            if counted == day and (name in names or len(names) < MOST_NAMES):
                names[name] = merge(names.get(name, {}), later)
            else:
                dropped += counted == day
        database.execute("REPLACE INTO days VALUES (?, ?)", (day, json.dumps(content)))
    # Days to come, of a clock that was ahead, go first.
    oldest = "SELECT day FROM days ORDER BY day > ?, day DESC LIMIT -1 OFFSET ?"
    database.execute(f"DELETE FROM days WHERE day IN ({oldest})", (today, MOST_DAYS))
    return dropped


def _read_day(database: sqlite3.Connection, day: int) -> Counted:
    """What was counted on a day; one that begins has the last values of the day before it."""
    chosen = "SELECT day, content FROM days WHERE day <= ? ORDER BY day DESC LIMIT 1"
    found = database.execute(chosen, (day,)).fetchone()
    content: Counted = _load(found[1] if found else _NOTHING, _is_day)
    if not all(map(_is_entry, content["names"].values())):
        raise _describe_damage()
    if found and found[0] == day:
        return content
    last = {name: entry["last"] for name, entry in content["names"].items() if "last" in entry}
    return {"names": {}, "before": dict([*(content["before"] | last).items()][-MOST_NAMES:])}


# -- what stands in a file ----------------------------------------------------------------------


def _load(text: Any, is_sound: Callable[[Any], bool]) -> Any:
    """The content of a cell; SQLite's error for one that nothing here has written."""
    try:
        content = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        content = None
    if not is_sound(content):
        raise _describe_damage()
    return content


def _is_state(content: Any) -> bool:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        return False
    tables = [content.get(key) for key in ("answered", "next")]
    days = [content.get(key) for key in ("born", "closed")]
    return _are_whole(days) and all(isinstance(t, dict) and _are_whole(t.values()) for t in tables)


def _is_day(content: Any) -> bool:
    """Whether there are names and values; `_is_entry` tells what they hold."""
    parts = ("names", "before")
    return isinstance(content, dict) and all(isinstance(content.get(key), dict) for key in parts)


def _is_entry(entry: Any) -> bool:
    """In as many steps for all that are sound."""
    times = entry.get("times", {}) if isinstance(entry, dict) else None
    return (
        isinstance(times, dict)
        and isinstance(entry.get("largest", 0), int | float)
        and _are_whole([entry.get("count", 0), *times.values()])
    )


def _are_whole(numbers: Iterable[Any]) -> bool:
    return set(map(type, numbers)) <= {int}


def _describe_damage() -> sqlite3.DatabaseError:
    return sqlite3.DatabaseError("it is damaged or of another version: delete it to count anew")
