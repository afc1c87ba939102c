"""The worked example of a tool that counts its events: from its survey to its chart."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import run

from ldpsql_device.counters import DAY, Counters

EXAMPLE = Path(__file__).parents[2] / "examples" / "telemetry"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def execute(*arguments: str, **environment: str) -> str:
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_its_commands_lead_to_a_chart(folder):
    commands = re.findall(r"^\$ (.+)$", (folder / "README.md").read_text(), re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        program, *arguments = command.replace(" 500 ", " 60 ").split()
        if program == "python":
            execute(*arguments)
        else:
            shown = run(*arguments, *["--min-people", "1"] * (arguments[0] == "report"))
            assert shown.exit_code == 0, shown.output
    reports = [json.loads(line) for line in Path("reports.jsonl").read_text().splitlines()]
    # Each answers at most one of four weeks, and 4 of 13 do: 18.5 expected, 60 draws, alpha 1e-6.
    assert 3 <= len(reports) <= 37
    assert len({each["public"]["period"] for each in reports}) <= 4
    page = (folder / "words.html").read_text()
    for title in ("Active", "Used", "version", "read_ms"):
        assert f"<h2>{title}" in page


def test_the_tool_counts_and_sends_nothing_without_a_collector(folder):
    (folder / "text").write_text("a few longestword")
    shown = execute("words.py", "--longest", "text", WORDS_HOME=str(folder / "home"))
    assert shown.split() == ["longestword", "3"]
    counters = Counters(folder / "home" / "counters")
    today = int(counters.clock() // DAY)
    found = counters.read(["run", "longest", "version"], range(today - 1, today + 1), closes=False)
    assert sum(entry.get("count", 0) for entry in found["run"]) == 1
    assert any(found["longest"][:-1])
    assert found["version"][-1]["last"] == "1.1"
    assert not (folder / "home" / "ledger").exists()


def test_the_tool_works_while_its_collector_is_away(folder):
    (folder / "text").write_text("a few words")
    away = {"WORDS_HOME": str(folder / "home"), "WORDS_COLLECTOR": "http://127.0.0.1:9"}
    assert execute("words.py", "text", **away).split() == ["3"]


def test_a_dozen_lines_are_about_counting():
    text = (EXAMPLE / "words.py").read_text()
    words = ("counters", "ldpsql_device", "policy", "COLLECTOR", "ledger", "suppress(")
    assert len([line for line in text.splitlines() if any(word in line for word in words)]) == 12
