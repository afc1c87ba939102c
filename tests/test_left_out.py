"""What a run says of tests that it leaves out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = (
    "tests/browser/test_client.py::test_two_pages_at_once_give_one_report",
    "tests/spark/test_store.py::test_files_are_read_once_and_may_go",
)


def run_without_programs(*options):
    """Without a browser, and without Java."""
    command = [sys.executable, "-m", "pytest", *options, *TESTS]
    environment = {**os.environ, "PATH": "", "JAVA_HOME": "", "LDPSQL_BROWSER": ""}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_without_a_browser_and_spark_their_tests_are_left_out_and_the_run_says_so():
    done = run_without_programs()
    assert done.returncode == 0, done.stdout
    assert "tests in a browser left out: 1 (" in done.stdout
    assert "tests with Spark left out: 1 (" in done.stdout


@pytest.mark.slow
def test_where_a_browser_and_spark_are_required_their_absence_fails():
    done = run_without_programs("--require-browser", "--require-spark")
    assert done.returncode == 1, done.stdout
    assert "2 errors" in done.stdout
    assert "tests in a browser left out" not in done.stdout
    assert "tests with Spark left out" not in done.stdout
