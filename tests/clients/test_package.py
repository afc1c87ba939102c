"""The JavaScript client's own tests."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

CLIENT = Path(__file__).parents[2] / "clients" / "js"
NODE = shutil.which("node")


@pytest.mark.slow
@pytest.mark.skipif(NODE is None, reason="there is no node on this machine")
def test_the_clients_own_tests_pass() -> None:
    """`node --test`: the vectors, good and bad, and what a device does."""
    done = subprocess.run(
        [str(NODE), "--test"], cwd=CLIENT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout[-4000:]
    passed = re.search(r"^# pass (\d+)$", done.stdout, re.MULTILINE)
    assert passed and int(passed[1]) > 100
