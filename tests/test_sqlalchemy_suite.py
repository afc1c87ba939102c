"""SQLAlchemy's own suite for dialects: nothing fails, and what is left out has a reason.

It brings its own options and plugins to pytest, and runs in a process of its own, in
tests/sqlalchemy_suite.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest

import ldpsql

FOLDER = Path(__file__).parent / "sqlalchemy_suite"
DOCUMENTED = Path(__file__).parents[1] / "docs" / "python.md"


@pytest.mark.slow
@pytest.mark.skipif(find_spec("sqlalchemy") is None, reason="sqlalchemy is not installed")
def test_nothing_fails_and_what_is_left_out_has_a_reason(tmp_path):
    sys.path.insert(0, str(FOLDER.parent))
    from sqlalchemy_suite import left_out  # noqa: PLC0415

    junit = tmp_path / "suite.xml"
    paths = [str(Path(ldpsql.__file__).parents[1]), str(FOLDER.parent)]  # as it is tested here
    subprocess.run(
        [sys.executable, "-m", "pytest", "-c", "setup.cfg", "--rootdir=.", f"--junitxml={junit}"],
        cwd=FOLDER,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        check=False,
    )
    cases = list(ElementTree.parse(junit).iter("testcase"))
    failed = [case.get("name") for case in cases if case.find("failure") is not None]
    failed += [case.get("name") for case in cases if case.find("error") is not None]
    assert failed == []
    skips = [case.find("skipped") for case in cases]
    skipped = Counter(skip.get("message").split(" : ")[-1] for skip in skips if skip is not None)
    known = {why for name, why in vars(left_out).items() if name.isupper() and isinstance(why, str)}
    # Of its own it names no reason: a feature that no dialect has unless it claims it.
    own = ("marked as skip", "custom function", "ldpsql doesn't support")
    unknown = {why for why in skipped if why not in known and not why.startswith(own)}
    assert unknown == set()
    page = DOCUMENTED.read_text("utf-8")
    passed = len(cases) - sum(skipped.values())
    assert f"{passed} of {len(cases)} tests pass" in " ".join(page.split())
    rows = dict(re.findall(r"^\| (\d+) \| (.*) \|$", page, re.MULTILINE))
    assert {why: str(skipped[why]) for why in known} == {
        why: count for count, why in rows.items() if why in known
    }
