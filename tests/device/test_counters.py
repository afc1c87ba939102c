"""Counting events: what the file holds, whatever is counted and whoever is killed."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from support.executed_lines import lines_run

from ldpsql_device import counters as module
from ldpsql_device.counters import MOST_BINS, MOST_DAYS, MOST_NAMES, Counters, bin_of, middle_of
from ldpsql_device.errors import InterfaceError, StoreError
from ldpsql_device.events import value_of

TESTS = Path(__file__).parents[1]
VECTORS = json.loads((TESTS.parent / "vectors" / "events.json").read_text(encoding="utf-8"))
DAY = 20_780


class Clock:
    """Seconds since 1970, on a day that is set."""

    def __init__(self, day: int = DAY) -> None:
        self.day = day

    def __call__(self) -> float:
        return self.day * 86_400 + 43_200.5


def counted(counters: Counters, name: str, first: int = DAY, end: int = DAY + 1) -> int:
    return value_of("count", counters.read([name], range(first, end), closes=False)[name])


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def counters(tmp_path, clock):
    found = Counters(tmp_path / "counters", clock=clock)
    yield found
    found.close()


def run(code: str, *arguments: object) -> str:
    """What another process says."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["says"])
def test_vectors(case, counters, clock):
    for day, kind, name, *more in case["events"]:
        clock.day = day
        if kind == "close":
            counters.read([], range(name, *more), closes=True)
        elif kind == "flush":
            counters.flush()
        else:
            getattr(counters, kind)(name, *more)
    with counters.open() as (database, _):
        kept = dict(database.execute("SELECT day, content FROM days ORDER BY day"))
    assert {str(day): json.loads(text) for day, text in kept.items()} == case["days"]
    for record in case["records"]:
        days = range(record["first"], record["end"])
        found = counters.read([record["name"]], days, closes=False)[record["name"]]
        for what, value in record["values"].items():
            own = value_of(what, found)
            assert (own, type(own)) == (value, type(value)), what


def test_bins_of_durations():
    assert [[n, bin_of(n), middle_of(bin_of(n))] for n, _, _ in VECTORS["bins"]] == VECTORS["bins"]
    for place in range(MOST_BINS - 1):
        low, high = 1000 * middle_of(place), 1000 * middle_of(place + 1)
        assert 0 < high - low <= max(1.0, high / 8)


def test_a_block_is_timed_even_where_it_fails(counters):
    with pytest.raises(ZeroDivisionError), counters.time("request"):
        time.sleep(0.002)
        _ = 1 / 0
    [entry, _] = counters.read(["request"], range(DAY, DAY + 1), closes=False)["request"]
    assert entry["count"] == 1 == sum(entry["times"].values())
    assert entry["largest"] >= 2


@pytest.mark.parametrize("name", ["", "Runs", "2nd", "a-b", "é", "a" * 64, None, 7])
def test_names_are_those_of_columns(counters, name):
    with pytest.raises(InterfaceError, match="is not a name for events"):
        counters.seen(name)


@pytest.mark.parametrize("count", [-1, 1.0, True, None])
def test_counts_are_whole_numbers(counters, count):
    with pytest.raises(InterfaceError, match="whole number"):
        counters.add("runs", count)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**60, [1], object(), b"x", None])
def test_odd_values_are_missing_ones(counters, value):
    counters.set("size", value)
    assert (
        value_of("last", counters.read(["size"], range(DAY, DAY + 1), closes=False)["size"]) is None
    )


@pytest.mark.parametrize("taken", [float("nan"), -1, float("-inf")])
def test_odd_timings_took_no_time(counters, taken):
    counters.observe("request", taken)
    [entry, _] = counters.read(["request"], range(DAY, DAY + 1), closes=False)["request"]
    assert entry == {"count": 1, "largest": 0, "times": {"0": 1}}


def test_the_size_is_bounded_whatever_is_counted(counters, clock, tmp_path):
    """10^5 names, long texts, and timings of every length, for more days than are kept."""
    for name in range(100_000):
        counters.add(f"name_{name}")
    assert len(counters._pending) <= 2 * MOST_NAMES
    counters.flush()
    assert counters.dropped >= 100_000 - 2 * MOST_NAMES
    for day in range(DAY + 1, DAY + MOST_DAYS + 20):
        clock.day = day
        for name in range(MOST_NAMES + 10):
            counters.set(f"text_{day}_{name}", "\u20ac" * 10_000)
        counters.flush()
    with counters.open() as (database, _):
        rows = database.execute("SELECT content FROM days").fetchall()
    assert len(rows) == MOST_DAYS
    for (text,) in rows:
        content = json.loads(text)
        assert len(content["names"]) <= MOST_NAMES
        assert len(content["before"]) <= MOST_NAMES
    entry = {"times": {str(place): module.LARGEST for place in range(MOST_BINS)}}
    most_of_a_name = len(json.dumps({"last": "\u20ac" * 200, **entry}))
    assert max(len(text) for (text,) in rows) <= 2 * MOST_NAMES * most_of_a_name
    counters.close()
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 20 << 20


def test_a_file_is_its_owners_and_has_one_name(counters, tmp_path):
    counters.add("runs")
    counters.close()
    assert (tmp_path / "counters").stat().st_mode & 0o777 == 0o600
    (tmp_path / "link").symlink_to("counters")
    assert counted(Counters(tmp_path / "link", clock=counters.clock), "runs") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"counters", "link"}


def test_events_are_written_within_a_second_without_being_asked(counters, clock):
    counters.add("runs", 3)
    for _ in range(100):
        if module._KEPT and not counters._pending:
            break
        time.sleep(0.1)
    code = """
import sys
from ldpsql_device.counters import Counters
from ldpsql_device.events import value_of
day = int(sys.argv[2])
found = Counters(sys.argv[1]).read(["runs"], range(day, day + 1), closes=False)["runs"]
print(value_of("count", found))
"""
    assert run(code, counters.path, DAY) == "3\n"


def test_many_threads_and_processes_count_into_one_file(tmp_path):
    code = """
import sys
from threading import Thread
from ldpsql_device.counters import Counters
counters = Counters(sys.argv[1], clock=lambda: 1.8e9)
def work():
    for i in range(1, 501):
        counters.add("runs")
        with counters.time("request"):
            pass
        if i % 100 == 0:
            counters.flush()
threads = [Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    command = [sys.executable, "-c", code, str(tmp_path / "counters")]
    running = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    day, reader = int(1.8e9 // module.DAY), Counters(tmp_path / "counters")
    assert counted(reader, "runs", day, day + 1) == 6_000
    assert counted(reader, "request", day, day + 1) == 6_000


POOL = """
import multiprocessing, sys
from ldpsql_device import counters as module
module._PATIENCE_AT_EXIT = 30.0  # of a busy machine
counters = module.Counters(sys.argv[1])
counters.add("runs")

def count(_):
    counters.add("runs")

if __name__ == "__main__":
    start = multiprocessing.get_context(sys.argv[2])
    pool = start.Pool(2)
    pool.map(count, range(20))
    pool.close()
    pool.join()
    processes = [start.Process(target=count, args=(n,)) for n in range(3)]
    for each in processes:
        each.start()
    for each in processes:
        each.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_processes_of_multiprocessing_that_end_by_themselves_lose_nothing(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(POOL, encoding="utf-8")
    subprocess.run([sys.executable, program, tmp_path / "counters", "fork"], check=True)
    with closing(Counters(tmp_path / "counters")) as counters:
        today = int(time.time() // 86_400)
        days = range(today - 1, today + 1)
        assert value_of("count", counters.read(["runs"], days, closes=False)["runs"]) == 24


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_that_is_forked_writes_only_its_own(counters):
    counters.add("runs", 5)
    counters.flush()
    counters.add("runs", 7)
    child = os.fork()
    if child == 0:
        counters.add("runs", 100)
        counters.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    counters.flush()
    assert counted(counters, "runs") == 112


def test_a_process_that_ends_writes_what_it_counted(tmp_path):
    code = """
import atexit, sys
atexit.register(lambda: counters.add("late"))  # called last, when nothing is written any more
from ldpsql_device.counters import Counters
counters = Counters(sys.argv[1], clock=lambda: 1.8e9)
atexit.register(lambda: counters.add("runs", 30))
counters.add("runs", 4)
print("numpy" in sys.modules)
"""
    assert run(code, tmp_path / "counters") == "False\n"
    day = int(1.8e9 // module.DAY)
    assert counted(Counters(tmp_path / "counters"), "runs", day, day + 1) == 34


def test_what_cannot_be_written_is_kept_and_written_later(counters, tmp_path):
    (tmp_path / "counters").mkdir()
    counters.add("runs")
    with pytest.raises(StoreError, match="cannot use the counters"):
        counters.flush()
    counters.add("runs")
    (tmp_path / "counters").rmdir()
    counters.flush()
    assert counted(counters, "runs") == 2


@pytest.mark.parametrize("damage", ["text", "state", "day"])
def test_a_damaged_file_is_refused_and_left_as_it_is(counters, damage):
    counters.add("runs")
    counters.close()
    if damage == "text":
        Path(counters.path).write_bytes(b"no database" * 1000)
    else:
        with module._open(counters.path) as database:
            table = {"state": "state", "day": "days"}[damage]
            database.execute(f"UPDATE {table} SET content = '{{'")
        database.close()
    before = Path(counters.path).read_bytes()
    counters.add("runs")
    with pytest.raises(StoreError, match="cannot use the counters"):
        counters.flush()
    counters._forget()
    assert Path(counters.path).read_bytes() == before


def test_reading_takes_as_many_steps_whatever_was_counted(counters, tmp_path, clock):
    names, days = ["runs", "request", "version", "dark"], range(DAY, DAY + 31)
    idle = Counters(tmp_path / "idle", clock=clock)
    idle.flush()
    for day in days:
        clock.day = day
        for taken in (1, 20, 300):
            counters.observe("request", taken * (1 + day - DAY))
        counters.add("runs", day)
        counters.set("version", f"2.{day}")
        if day % 3:
            counters.seen("dark")
    asked = ["count", "days", "seen", "last", "largest", "p50", "p99"]

    def record(of: Counters) -> list:
        found = of.read(names, days, closes=True)
        return [value_of(what, found[name]) for what in asked for name in names]

    for each in (idle, counters):  # as a program that starts anew; the first one takes more
        each.close()
        record(each)
    busy, none = record(counters), record(idle)
    assert busy != none
    assert lines_run(lambda: record(counters)) == lines_run(lambda: record(idle))


def kill(folder: Path, kills: int, mode: str) -> dict[str, int]:
    command = [sys.executable, "-m", "support.killed_counter", str(folder), str(kills), mode]
    paths = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("kills", [20, pytest.param(1_000, marks=pytest.mark.slow)])
def test_no_acknowledged_event_is_lost_or_counted_twice(tmp_path, kills):
    found = kill(tmp_path, kills, "product")
    assert found["contradicted"] == 0
    assert found["counted"] > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("mode", ["early", "twice"])
def test_control_events_that_are_lost_or_doubled_are_found(tmp_path, mode):
    assert kill(tmp_path, 20, mode)["contradicted"] > 0


def test_threads_that_count_do_not_wait_for_the_file(counters):
    """While the file is in use, an event is counted in memory."""
    counters.add("runs")
    with module._FILES:
        done = threading.Event()
        thread = threading.Thread(target=lambda: (counters.add("runs"), done.set()))
        thread.start()
        assert done.wait(30)
        thread.join()
    assert counted(counters, "runs") == 2


def test_a_clock_that_was_ahead_ends_no_counting(tmp_path):
    """Neither by the days that it counted on, nor by the day on which it began the file."""
    clock = Clock()
    counters = Counters(tmp_path / "counters", clock=clock)
    clock.day = DAY + 1000
    for _ in range(MOST_DAYS + 3):
        counters.add("ahead")
        counters.flush()
        clock.day += 1
    clock.day = DAY
    for _ in range(3):
        counters.add("runs")
        with counters.open():
            pass
        clock.day += 1
    counted = counters.read(["runs"], range(DAY, DAY + 3), closes=False)["runs"]
    assert [entry.get("count") for entry in counted[:-1]] == [1, 1, 1]
    with counters.open() as (database, state):
        assert state["born"] == DAY
        assert database.execute("SELECT COUNT(*) FROM days").fetchone() == (MOST_DAYS,)
    counters.close()


@pytest.mark.parametrize(
    ("table", "content"),
    [
        *(("state", text) for text in ("{", "{}", "[]", "null", "[" * 100_000, b"\xff\xfe")),
        *(
            (
                "state",
                json.dumps(
                    {"format": 1, "born": 1, "closed": 0, "answered": {}, "next": {}} | change
                ),
            )
            for change in (
                {"format": 2},
                {"born": "x"},
                {"born": float("nan")},
                {"closed": None},
                {"answered": []},
                {"next": {"app": "x"}},
            )
        ),
        *(("days", text) for text in ("{", "[]", '{"names": {}}', '{"names": [], "before": {}}')),
        *(
            ("days", json.dumps({"names": {"runs": entry}, "before": {}}))
            for entry in (1, {"count": "x"}, {"count": 1.5}, {"times": []}, {"times": {"1": "x"}})
        ),
        ("days", '{"names": {"runs": {"largest": "x"}}, "before": {}}'),
    ],
)
def test_a_damaged_file_is_refused_in_the_words_of_the_library(tmp_path, table, content):
    """Programs that count catch these errors, and no others; and nothing is taken for nothing."""
    with closing(Counters(tmp_path / "counters", clock=Clock())) as counters:
        counters.add("runs")
        counters.read(["runs"], range(DAY, DAY + 1), closes=False)
    with closing(sqlite3.connect(tmp_path / "counters")) as database, database:
        database.execute(f"UPDATE {table} SET content = ?", (content,))
    again = Counters(tmp_path / "counters", clock=Clock())
    with pytest.raises(StoreError, match="is damaged or of another version: delete it to count"):
        again.read(["runs"], range(DAY, DAY + 1), closes=False)
    again.add("runs")
    with pytest.raises(StoreError, match="is damaged or of another version: delete it to count"):
        again.flush()
    again._forget()
