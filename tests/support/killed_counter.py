"""Processes that count and are killed: `python -m support.killed_counter FOLDER KILLS MODE`.

Four processes count into one file in batches of random sizes, each under a name of its own. Before
a batch is flushed its size is announced, and once `flush` has returned it is acknowledged. One of
them after the other is killed at a random moment; then its count in the file must be what was
acknowledged, or that and the batch that was on its way. MODE is "product", "early" (a batch is
acknowledged before it is written) or "twice" (a batch is written again after it was written).
Writes, as JSON, how many kills lost or doubled something ("contradicted"), in how many the last
batch had been written and not acknowledged ("unheard"), and how many events were counted.
"""

from __future__ import annotations

import json
import os
import random
import signal
import struct
import sys
import time
from pathlib import Path
from select import select

from ldpsql_device import counters as module
from ldpsql_device.counters import Counters

PROCESSES = 4
_WORD = struct.Struct("=q")


def count(path: Path, name: str, pipe: int, mode: str) -> None:
    """Count until the process is killed; negative numbers announce, others acknowledge."""
    counters, draw = Counters(path), random.Random(os.urandom(8))
    if mode == "twice":
        written = module._add

        def add_again(database, pending, today):
            written(database, dict(pending), today)
            return written(database, pending, today) if draw.random() < 0.05 else 0

        module._add = add_again
    while True:
        size = draw.randrange(1, 1 << 20)
        os.write(pipe, _WORD.pack(-size))
        for part in (size // 3, size - size // 3):
            counters.add(name, part)
        if mode == "early":
            os.write(pipe, _WORD.pack(size))
        counters.flush()
        if mode != "early":
            os.write(pipe, _WORD.pack(size))


def start(path: Path, name: str, mode: str) -> tuple[int, int]:
    """A process that counts: its number, and the end of its pipe."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        count(path, name, writing, mode)
    os.close(writing)
    return child, reading


def said(reading: int) -> tuple[int, int]:
    """How much was acknowledged in all, and the batch that was announced and was not."""
    with os.fdopen(reading, "rb") as pipe:
        words = [word for (word,) in _WORD.iter_unpack(pipe.read())]
    acknowledged = sum(word for word in words if word > 0)
    return acknowledged, -words[-1] if words and words[-1] < 0 else 0


def counted(path: Path, name: str) -> int:
    """What the file holds under a name."""
    reader = Counters(path)
    today = int(time.time() // module.DAY)
    entries = reader.read([name], range(today - 1, today + 1), closes=False)[name]
    return sum(entry.get("count", 0) for entry in entries)


def main(folder: str, kills: str, mode: str) -> None:
    path = Path(folder) / "counters"
    found = {"contradicted": 0, "unheard": 0, "counted": 0}
    names = [f"process_{number}" for number in range(PROCESSES)]
    running = [start(path, name, mode) for name in names]
    before = [0] * PROCESSES
    for kill in range(int(kills)):
        which = kill % PROCESSES
        child, reading = running[which]
        select([reading], [], [])  # until it counts
        time.sleep(random.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        acknowledged, announced = said(reading)
        now = counted(path, names[which])
        came = now - before[which]
        found["contradicted"] += came not in (acknowledged, acknowledged + announced)
        found["unheard"] += came == acknowledged + announced != acknowledged
        before[which] = now
        running[which] = start(path, names[which], mode)
    for child, _ in running:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    found["counted"] = sum(before)
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
