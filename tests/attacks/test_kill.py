"""A device is killed (SIGKILL) at random points of its answer, and asked again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

if not hasattr(os, "fork"):
    pytest.skip("needs fork", allow_module_level=True)

TESTS = Path(__file__).parents[1]


def kill(folder, tries, mode):
    command = [sys.executable, "-m", "support.killed_device", str(folder), str(tries), mode]
    paths = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("tries", [20, pytest.param(500, marks=pytest.mark.slow)])
def test_no_draw_is_lost_or_doubled(memory_folder, tries):
    found = kill(memory_folder, tries, "product")
    assert found["contradicted"] == 0
    assert found["spent"] == tries
    assert min(found["sent"], found["silent"]) >= tries // 20
    assert {place.name for place in memory_folder.iterdir()} == {"ledger", "warm"}


@pytest.mark.slow
def test_a_ledger_that_is_being_made_is_whole_or_not_there(memory_folder):
    found = kill(memory_folder, 200, "new")
    assert found["contradicted"] == 0
    assert found["spent"] == 200


@pytest.mark.slow
def test_control_a_report_that_leaves_before_it_is_kept_is_contradicted(memory_folder):
    assert kill(memory_folder, 40, "early")["contradicted"] > 0
