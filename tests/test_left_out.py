"""What a run says of tests that it leaves out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEST = "tests/browser/test_client.py::test_two_pages_at_once_give_one_report"


def run_without_a_browser(*options):
    command = [sys.executable, "-m", "pytest", *options, TEST]
    environment = {**os.environ, "PATH": "", "LDPSQL_BROWSER": ""}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_without_a_browser_its_tests_are_left_out_and_the_run_says_so():
    done = run_without_a_browser()
    assert done.returncode == 0, done.stdout
    assert "tests in a browser left out: 1 (" in done.stdout


@pytest.mark.slow
def test_where_a_browser_is_required_its_absence_fails():
    done = run_without_a_browser("--require-browser")
    assert done.returncode == 1, done.stdout
    assert "left out" not in done.stdout
