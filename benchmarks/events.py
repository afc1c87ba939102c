"""What counting events costs a program: an event, the import, the way out, and the file.

An event is processor time of 20,000 in a row, the writing thread's included. The import is
processor time of a process over one that imports nothing. The way out is the wall-clock time that
the counters' own exit handler takes in a process of its own that has counted three events, which
writes them; the first run, which makes the file, is left out.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.tables import print_table

TURNS, EXITS = 7, 40
EVENT = """
import sys, time
from ldpsql_device.counters import Counters
counters = Counters(sys.argv[1])
counters.add("warm")
counters.flush()
start = time.process_time()
for number in range(20_000):
    {event}
print((time.process_time() - start) * 50)
"""
EVENTS = {
    'add("runs")': 'counters.add("runs")',
    'set("version", "2.1")': 'counters.set("version", "2.1")',
    'seen("feature")': 'counters.seen("feature")',
    'with time("request")': 'with counters.time("request"): pass',
    'observe("request", ms), all bins': 'counters.observe("request", 1.1 ** (number % 260))',
}
IMPORT = """
import sys, time
start = time.process_time()
import ldpsql_device.counters
print((time.process_time() - start) * 1e3)
"""
EXIT = """
import atexit, sys, time
from ldpsql_device import counters as module
atexit.unregister(module._end)
def end():
    start = time.perf_counter()
    module._end()
    print((time.perf_counter() - start) * 1e3)
atexit.register(end)
counters = module.Counters(sys.argv[1])
counters.add("runs")
counters.set("version", "2.1")
with counters.time("request"):
    time.sleep(0.05)
"""


def run() -> None:
    """Print the table."""
    head = ("what", "unit", "median", "largest", "allowed")
    print_table("Counting events", head, _rows())


def _rows() -> Iterator[tuple[str, ...]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "counters"
        for name, event in EVENTS.items():
            code = EVENT.format(event=event)
            yield _row(name, "µs", [_run(code, path) for _ in range(TURNS)], "20")
        yield _row("import", "ms", [_run(IMPORT, path) for _ in range(TURNS)][1:], "15")
        ends = [_run(EXIT, Path(folder) / "own") for _ in range(EXITS + 1)][1:]
        yield _row(f"exit, {EXITS} processes", "ms", ends, "5")
        size = sum(each.stat().st_size for each in Path(folder).glob("own*")) / 1024
        yield "the file with its journal, after them", "kB", f"{size:.0f}", f"{size:.0f}", ""


def _row(what: str, unit: str, found: list[float], allowed: str) -> tuple[str, ...]:
    return what, unit, f"{statistics.median(found):.2f}", f"{max(found):.2f}", allowed


def _run(code: str, path: Path) -> float:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return float(done.stdout)
