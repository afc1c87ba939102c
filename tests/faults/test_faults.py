"""A store whose system calls fail, or whose process is killed at them: nothing is lost, nothing
doubled, and the next one goes on.

Every call of an operation that opens for writing, writes, flushes, truncates, renames or removes in
its folder fails once: with EIO, as on a full disk from then on (ENOSPC), and by a kill. The
operations are those of `harness`; `shim.c` says which calls are counted and what is left out.
"""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from itertools import cycle
from pathlib import Path

import pytest

HERE = Path(__file__).parent
OPERATIONS = (
    "create",
    "ingest",
    "refresh",
    "forget",
    "import",
    "merge",
    "export",
    "vacuum",
    "migrate",
)
KINDS = {
    "killed": {"error": 0},
    "EIO": {"error": errno.EIO},
    "ENOSPC": {"error": errno.ENOSPC, "lasting": True},
}
KILLS = 1_000
SHARED = Path("/dev/shm")

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("gcc") is None,
    reason="calls are failed by a library that gcc makes for Linux",
)


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    made = tmp_path_factory.mktemp("shim") / "shim.so"
    command = ["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*command, "-o", made, HERE / "shim.c", "-ldl"], check=True)
    return made


@pytest.fixture
def run(shim, tmp_path):
    """Runs cases one after the other."""

    def run_cases(cases):
        # In memory where the system has such a folder: no disk is waited for.
        place = SHARED if SHARED.is_dir() else tmp_path
        with tempfile.TemporaryDirectory(dir=place) as folder:
            done = subprocess.run(
                [sys.executable, "-W", "ignore", HERE / "harness.py", shim, folder],
                input="".join(f"{json.dumps(case)}\n" for case in cases),
                env={**os.environ, "LD_PRELOAD": str(shim)},
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
        results = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(results) == len(cases)
        return results

    return run_cases


def require_whole(results):
    wrong = [result for result in results if result["faults"]]
    assert not wrong, "\n".join(json.dumps(result) for result in wrong[:5])
    killed = [result["code"] for result in results if result["error"] == 0 and result["at"]]
    assert set(killed) <= {-9, 0}
    assert all(result["code"] in (0, 3) for result in results if result["error"])


@pytest.mark.parametrize(
    "operations", [OPERATIONS[:3], pytest.param(OPERATIONS, marks=pytest.mark.slow)], ids=len
)
def test_some_calls_of_every_operation_fail(run, operations):
    chosen = random.Random(7)
    cases = [
        {"operation": name, "at": chosen.randrange(1, 30), **kind}
        for name, kind in zip(operations, cycle(KINDS.values()), strict=False)
    ]
    results = run(cases)
    require_whole(results)
    assert all(result["code"] == -9 for result in results if result["error"] == 0)
    assert any(result["code"] == 3 for result in results)


@pytest.mark.slow
def test_a_store_that_is_made_carelessly_is_found_out(run):
    """Negative control."""
    results = run([{"operation": "create", "at": 3, "error": 0, "careless": True}])
    assert any("done again: DamagedError" in fault for fault in results[0]["faults"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_call_of_an_operation_fails_once(run, operation, kind):
    [counted] = run([{"operation": operation, "at": 0, "error": 0}])
    assert counted["calls"] > 10
    numbers = range(1, counted["calls"] + 1)
    results = run([{"operation": operation, "at": number, **KINDS[kind]} for number in numbers])
    require_whole(results)
    if kind == "killed":
        assert all(result["code"] == -9 for result in results[:-2])


@pytest.mark.slow
@pytest.mark.parametrize("operation", ["create", "ingest", "refresh", "forget", "migrate"])
def test_a_process_may_be_killed_at_any_time(run, operation):
    """A thousand processes in all, each at a moment of its own, by which some have ended."""
    chosen = random.Random(operation)
    cases = [
        {"operation": operation, "at": 0, "error": 0, "share": chosen.uniform(0.0, 1.1)}
        for _ in range(KILLS // 5)
    ]
    results = run(cases)
    require_whole(results)
    assert sum(result["code"] == -9 for result in results) > KILLS // 50
