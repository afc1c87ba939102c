"""A small share of what `python -m fuzz` does, and broken checks that it finds."""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable

import pyarrow as pa
import pytest
from fuzz import __main__ as program
from fuzz.bodies import Bodies
from fuzz.doors import DOORS
from fuzz.harness import (
    CASES,
    RAW,
    Case,
    Door,
    Finding,
    Outcome,
    draw_case,
    find_faults,
    keep_case,
    kept_cases,
    read_case,
    try_case,
    write_case,
)
from fuzz.mutate import change_bytes, change_tree
from fuzz.reports import ReportFiles
from fuzz.sql import Statements
from fuzz.surveys import Surveys

from ldpsql.parser import outer
from ldpsql.store import incoming
from ldpsql_device import survey as device_survey
from ldpsql_device.errors import DataError, InternalError

FEW = {
    "sql": 60,
    "calls": 120,
    "reports": 100,
    "parquet": 40,
    "bodies": 120,
    "requests": 60,
    "surveys": 200,
    "records": 200,
    "ledgers": 60,
    "tables": 40,
    "exports": 15,
}


@pytest.fixture
def opened():
    """Opens a door, and closes it."""
    doors = list[Door]()

    def open_door(make: Callable[[], Door]) -> Door:
        doors.append(make())
        return doors[-1]

    yield open_door
    for door in doors:
        door.close()


@pytest.mark.parametrize("name", DOORS)
def test_nothing_is_found(name, opened):
    door = opened(DOORS[name])
    mended = Outcome()
    for case in kept_cases(door):
        try_case(door, case, mended)
    assert mended.findings == []
    outcome = find_faults(door, FEW[name], seed=0)
    assert outcome.findings == []
    assert outcome.attempts == FEW[name]
    # Some are taken and some refused, or nothing would be tried.
    assert len(outcome.ends) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("name", DOORS)
def test_nothing_is_found_in_thousands(name, opened):
    assert find_faults(opened(DOORS[name]), 5_000, seed=2).findings == []


def is_found(what: str, door: Door, most: int) -> bool:
    """Whether this is found sooner or later."""
    for first in range(0, most, 100):
        outcome = find_faults(door, 100, seed=0, first=first)
        if any(what in found for _, found in outcome.findings):
            return True
    return False


def test_a_file_whose_unknown_keys_are_dropped_is_found(opened, monkeypatch):
    flat = incoming._flat

    def careless(intake, name, rows):
        known = {*intake.columns, incoming.ID_COLUMN}
        return flat(intake, name, [{k: row[k] for k in row if k in known} for row in rows])

    monkeypatch.setattr(incoming, "_flat", careless)
    assert is_found("None reports in it", opened(ReportFiles), 2_000)


def test_a_body_whose_unknown_keys_are_dropped_is_found(opened, monkeypatch):
    monkeypatch.setattr(incoming, "_SENT_KEYS", incoming._SENT_KEYS | {"more", RAW, "ldpsql_more"})
    assert is_found("reports taken of", opened(Bodies), 2_000)


@pytest.mark.slow
def test_a_survey_whose_odds_nobody_checks_is_found(opened, monkeypatch):
    monkeypatch.setattr(device_survey, "check_promise", lambda *_: None)
    assert is_found("tells more than", opened(Surveys), 20_000)


def test_a_statement_that_calls_what_it_should_not_is_found(opened, monkeypatch):
    door = opened(Statements)
    monkeypatch.setattr(outer, "is_outer", lambda _: True)
    monkeypatch.setattr(door, "_words", ("current_setting('threads')",) * 60)
    simple = "WITH t AS (SELECT COUNT(*) AS n FROM shoppers) SELECT n, 1, 2, 3 FROM t"
    monkeypatch.setattr(door, "_statements", [simple])
    assert is_found("answered {'current_setting'}", door, 2_000)


def test_what_is_in_a_file_is_found_in_an_answer(opened):
    door = opened(Statements)
    with pytest.raises(Finding, match="in a file"):
        door.require("SELECT a FROM shoppers", pa.table({"a": [RAW]}))


class Long(DataError):
    def __str__(self) -> str:
        return "x" * 3_000


class Broken(Door):
    """Goes wrong in a way of its own at every number."""

    name = "broken"

    def draw(self, chosen: random.Random) -> Case:
        return {"data": chosen.randbytes(3)}

    def __init__(self) -> None:
        self.ways = [
            KeyError("x"),
            InternalError("x"),
            DataError(f"it was {RAW}"),
            Long(),
        ]

    def put(self, case: Case) -> str:
        if self.ways:
            raise self.ways.pop()
        return "well"


def test_errors_that_nobody_can_be_shown_are_found_and_their_cases_kept(tmp_path):
    door = Broken()
    outcome = find_faults(door, 5, seed=0)
    assert [number for number, _ in outcome.findings] == [0, 1, 2, 3]
    assert outcome.ends["well"] == 1
    paths = {keep_case(door, case, tmp_path) for case in outcome.cases}
    assert len(paths) == 4
    assert sorted(map(write_case, kept_cases(door, tmp_path))) == sorted(
        map(write_case, outcome.cases)
    )


def test_a_case_is_read_as_it_was_written():
    case = {"data": b"\0\xff" * 99, "text": "\ud800\u202e", "more": [{"data": b""}, None, 0.5]}
    assert read_case(write_case(case)) == case


def test_every_case_is_of_a_door():
    assert {path.name.split("-")[0] for path in CASES.iterdir()} <= DOORS.keys()


def test_the_program_draws_a_seed_and_keeps_what_it_finds(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(program, "DOORS", {"broken": Broken})
    monkeypatch.setattr(program, "limit_memory", lambda: None)

    def run(command, **_):
        monkeypatch.setattr("sys.argv", ["fuzz", *command[len(program.COMMAND) :]])
        return subprocess.CompletedProcess(command, program.main())

    monkeypatch.setattr(subprocess, "run", run)
    seeds = set()
    for status in (1, 1):
        monkeypatch.setattr("sys.argv", ["fuzz", "--count", "5", "--cases", str(tmp_path)])
        assert program.main() == status
        said = capfd.readouterr().out
        assert "5 cases, 4 findings" in said
        assert any(str(kept) in said for kept in tmp_path.iterdir())
        seeds.add(said.split()[1])
    assert len(seeds) == 2


class Fatal(Door):
    """Ends its process at some cases."""

    name = "fatal"

    def draw(self, chosen: random.Random) -> Case:
        return {"what": chosen.randrange(20)}

    def put(self, case: Case) -> str:
        if case["what"] == 0:
            os.kill(os.getpid(), signal.SIGSEGV)
        return "well"


def test_a_case_that_ends_the_process_is_found_and_the_doors_behind_it_are_tried(
    tmp_path, monkeypatch, capfd
):
    monkeypatch.setattr(program, "DOORS", {"fatal": Fatal, "broken": Broken})
    script = (
        "import sys; from fuzz import __main__ as program, test_fuzz; "
        "program.DOORS = {'fatal': test_fuzz.Fatal, 'broken': test_fuzz.Broken}; "
        "program.limit_memory = lambda: None; sys.exit(program.main())"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    asked = {"doors": ["fatal", "broken"], "count": 60, "first": 0, "seconds": 60, "seed": 0}
    given = argparse.Namespace(**asked, cases=tmp_path)
    assert program.watch(given, (sys.executable, "-c", script)) == 1
    cases = [draw_case(Fatal(), 0, number)["what"] for number in range(60)]
    said = capfd.readouterr().out
    assert f"fatal: FOUND, number {cases.index(0)}: the process ended by signal 11" in said
    assert "broken: numbers 0 to 59" in said
    assert kept_cases(Fatal(), tmp_path) == [{"what": 0}]
    assert len(kept_cases(Broken(), tmp_path)) == 4


class Large(Door):
    name = "large"

    def draw(self, chosen: random.Random) -> Case:
        return {}

    def put(self, case: Case) -> str:
        self.held = bytearray(1 << 26)
        return "well"


def test_memory_and_time_are_found(monkeypatch):
    monkeypatch.setattr("fuzz.harness.MEMORY", 1 << 24)
    monkeypatch.setattr(Large, "seconds", 0.0)
    # This process may have been larger before, and the system knows only how large it was.
    peaks = iter([1 << 30, (1 << 30) + (1 << 26)])
    monkeypatch.setattr("fuzz.harness._peak", lambda: next(peaks))
    found = [what for _, what in find_faults(Large(), 1, seed=0).findings]
    assert any("grew by 67,108,864 bytes" in what for what in found)
    assert any("of the processor" in what for what in found)


def test_the_same_number_makes_the_same_input():
    assert change_bytes(random.Random(1), b"abcdef") == change_bytes(random.Random(1), b"abcdef")
    trees = [change_tree(random.Random(7), {"a": [1, {"b": "x"}], "c": None}) for _ in range(2)]
    assert trees[0] == trees[1]
