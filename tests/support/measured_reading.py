"""The cost of reading a survey: `python -m support.measured_reading < cases > results`.

A case is a line of JSON, [operation, text]. One process imports everything, reads a small survey,
and then forks for every case, so that what a case costs is its own: a result is a line of JSON with
the seconds of processor time, the megabytes of memory beyond what was there before, and what came
of it. A case that takes ten times what it may is killed.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.surveys import SMALL

from ldpsql.designer import design
from ldpsql.designer.file import read_file
from ldpsql.survey import Survey
from ldpsql_device import describe
from ldpsql_device.errors import Error
from ldpsql_device.shuffled import Shuffled  # noqa: F401  (loaded where it is needed)
from ldpsql_device.statement import Statement
from ldpsql_device.survey import Survey as DeviceSurvey

SECONDS, MEGABYTES = 20, 2_000


def _describe(text: str) -> None:
    describe(DeviceSurvey.from_json(text))


def _design(text: str) -> None:
    made = design(text)
    assert made.device_text
    assert made.to_json()


def _read_workload(text: str) -> None:
    file = read_file(text)
    assert file.workload
    assert file.notes is not None


OPERATIONS: dict[str, Callable[[str], Any]] = {
    "read": _read_workload,
    "design": _design,
    "device": DeviceSurvey.from_json,
    "collector": Survey.from_json,
    "statement": Statement.from_json,
    "describe": _describe,
}


def _memory() -> int:
    """Bytes of address space."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _run(operation: str, text: str, pipe: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_memory() + MEGABYTES * 10**6,) * 2)
    used = int(time.process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (used + SECONDS + 1, used + SECONDS + 1))
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    try:
        OPERATIONS[operation](text)
        said = "read"
    except Error as error:
        said = f"{type(error).__name__}: {error}"
    except BaseException as error:
        said = f"FAULT {type(error).__name__}: {error!s:.200}"
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = (time.process_time() - started, (after - before) / 1e3, said)
    os.write(pipe, json.dumps(found).encode()[:60_000])
    os._exit(0)


def main() -> None:
    made = design(SMALL)
    for operation in ("device", "describe"):
        OPERATIONS[operation](made.device_text)
    OPERATIONS["collector"](made.to_json())
    for line in sys.stdin:
        operation, text = json.loads(line)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            _run(operation, text, writing)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            said = pipe.read()
        os.waitpid(child, 0)
        sys.stdout.write(f"{said or json.dumps((SECONDS, 0, 'FAULT killed'))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
